"""The rule language: what rules mean, and what is said about those that mean nothing."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from olbench import UserError
from olbench.papers.adviceptron2010.names import Names
from olbench.papers.adviceptron2010.rules import compile_texts, read_rules
from tests.refusals import refusal

FEATURES = ("glucose", "bmi", "mean radius", "miru24", *(f"spacer{k}" for k in range(1, 44)))
CLASSES = {"diabetes": 1, "East-Asian": 1, "M. bovis": 1}
NAMES = Names(FEATURES, CLASSES, binary=frozenset(range(4, 47)), whole=frozenset(range(3, 47)))


def rows(text, names=NAMES, **options):
    """Return the inequalities of one rule as (coefficients by name, bound), and the sign."""
    [each] = compile_texts([text], names, **options)
    return [
        ({names.features[k]: float(row[k]) for k in np.flatnonzero(row)}, float(bound))
        for row, bound in zip(each.D, each.d, strict=True)
    ], each.z


MEANINGS = [
    ("bmi >= 30 and glucose >= 126 => diabetes", [({"bmi": -1}, -30), ({"glucose": -1}, -126)], 1),
    ("bmi <= 25 and glucose <= 100 => not diabetes", [({"bmi": 1}, 25), ({"glucose": 1}, 100)], -1),
    ("18.5 <= bmi <= 25 => not diabetes", [({"bmi": -1}, -18.5), ({"bmi": 1}, 25)], -1),
    ("25 >= bmi >= 18.5 => diabetes", [({"bmi": 1}, 25), ({"bmi": -1}, -18.5)], 1),
    ("glucose + 2*bmi >= 180 => diabetes", [({"glucose": -1, "bmi": -2}, -180)], 1),
    ("glucose >= 4*bmi - 3 => diabetes", [({"glucose": -1, "bmi": 4}, 3)], 1),
    ("2*(bmi - 3)*0.25 - glucose <= bmi => diabetes", [({"bmi": -0.5, "glucose": -1}, 1.5)], 1),
    ("-bmi + 1e2 <= -.5*glucose => diabetes", [({"bmi": -1, "glucose": 0.5}, -100)], 1),
    ("bmi = 30 => diabetes", [({"bmi": 1}, 30), ({"bmi": -1}, -30)], 1),
    ("BMI ≥ 30 ∧ Glucose ≤ 100 ⇒ ¬Diabetes", [({"bmi": -1}, -30), ({"glucose": 1}, 100)], -1),
    ("bmi >= 30 =>\tnot\tdiabetes", [({"bmi": -1}, -30)], -1),
    ('"mean radius" <= 12 => diabetes', [({"mean radius": 1}, 12)], 1),
    ("mean_radius <= 12 and bmi <= 3 => diabetes", [({"mean radius": 1}, 12), ({"bmi": 1}, 3)], 1),
    ("x2 <= 3 => diabetes", [({"bmi": 1}, 3)], 1),
    ("spacers(1-3) absent => East-Asian", [({f"spacer{k}": 1}, 0) for k in (1, 2, 3)], 1),
    ("spacers(2, 5) present => East-Asian", [({f"spacer{k}": -1}, -1) for k in (2, 5)], 1),
    ("spacer 38 present => M. bovis", [({"spacer38": -1}, -1)], 1),
    ("spacer38 present => not M. bovis", [({"spacer38": -1}, -1)], -1),
    ("spacer(38) >= 1 => M. bovis", [({"spacer38": -1}, -1)], 1),
    ("at least one of spacers(29-32) present and miru24 <= 1 => not East-Asian",
     [({f"spacer{k}": -1 for k in (29, 30, 31, 32)}, -1), ({"miru24": 1}, 1)], -1),
    ("at least 2 of spacers(1-2) present => M. bovis", [({"spacer1": -1, "spacer2": -1}, -2)], 1),
    ("at least two of spacer1, spacers(4-5) absent => M. bovis",
     [({"spacer1": 1, "spacer4": 1, "spacer5": 1}, 1)], 1),
    ("at most 1 of spacers(1-3) present => M. bovis", [({f"spacer{k}": 1 for k in (1, 2, 3)}, 1)], 1),
    ("exactly 1 of spacers(1-2) present => M. bovis",
     [({"spacer1": 1, "spacer2": 1}, 1), ({"spacer1": -1, "spacer2": -1}, -1)], 1),
    ("miru24 > 1 => M. bovis", [({"miru24": -1}, -2)], 1),
    ("miru24 < 2.5 => M. bovis", [({"miru24": 1}, 2)], 1),
    ("2*miru24 + spacer1 < 3 => M. bovis", [({"miru24": 2, "spacer1": 1}, 2)], 1),
]  # fmt: skip


def test_rules_mean_what_they_say():
    assert [(text, *rows(text)) for text, _, _ in MEANINGS] == MEANINGS


ERRORS = [
    ("bmi >= 30 or glucose >= 126 => diabetes", 11, "cannot say 'or'; write two rules with the same class"),
    ("bmi != 30 => diabetes", 5, "cannot say '!=': the region is not convex; write one rule for below"),
    ("not bmi >= 30 => diabetes", 1, "a condition cannot be negated; turn the comparison"),
    ("bmi >= 30 and not spacer1 present => diabetes", 15, "write 'absent' for 'not present'"),
    ("bmi > 30 => diabetes", 5, "a strict < or > is only defined for features that are whole"),
    ("0.5*miru24 < 30 => diabetes", 12, "whole numbers; write <= or >="),
    ("bmi*glucose >= 30 => diabetes", 1, "a product of features is not linear; add it to the data"),
    ("bmi^2 >= 30 => diabetes", 4, "a power of a feature is not linear"),
    ("bmi/glucose >= 30 => diabetes", 4, "a rule cannot divide; write 0.5*bmi for bmi/2"),
    ("bmo >= 30 => diabetes", 1, "the data has no feature 'bmo' (did you mean 'bmi'?); correct"),
    ("spacers(44) absent => diabetes", 1, "the data has no feature 'spacer44'"),
    ("bmi >= 30 => diabets", 14, "there is no class 'diabets' (did you mean 'diabetes'?); the"),
    ("spacers(34-1) absent => M. bovis", 9, "the range 34-1 runs backwards; write 1-34"),
    ("at least 5 of spacers(1-4) present => M. bovis", 1, "5 of 4 features is impossible; name more"),
    ("at least 0 of spacers(1-4) present => M. bovis", 1, "is always true; leave the condition out"),
    ("at least 1.5 of spacers(1-4) present => M. bovis", 10, "'1.5' is not a whole number of features"),
    ("at spacers(1-4) present => M. bovis", 4, "'at' is followed by 'least' or 'most'"),
    ("at least one spacers(1-4) present => M. bovis", 14, "'of' is missing"),
    ("at least one of spacers(1-4) >= 1 => M. bovis", 30, "needs features and then 'present' or 'absent'"),
    ("3 <= 4 => diabetes", 1, "this compares constants only and says nothing"),
    ("bmi - x2 <= 4 => diabetes", 10, "the features cancel, so only constants are left"),
    ("bmi >= 30 and bmi <= 20 => diabetes", 1, "no example can satisfy all conditions of this rule"),
    ("spacers(1, 1) absent => M. bovis", 1, "'spacer1' is listed twice"),
    ("at least one of spacer1, x5 present => M. bovis", 26, "'x5' is listed twice"),
    ("bmi present => diabetes", 1, "'bmi' has values other than 0 and 1"),
    ("spacers(1-3) >= 1 => M. bovis", 1, "'spacers(...)' names 3 features; say 'present' or 'absent'"),
    ("bmi >= 30", 10, "the '=>' is missing; a rule is 'conditions => class'"),
    ("bmi => 30 => diabetes", 5, "'=>' comes once, before the class; 'at least' is written >="),
    ("bmi ⇒ 30 ⇒ diabetes", 5, "'=>' comes once, before the class"),
    ("bmi >= 30, glucose >= 3 => diabetes", 10, "',' is not expected here; join conditions with 'and'"),
    ("bmi >= => diabetes", 8, "'=>' is not a number or a feature"),
    ("bmi => diabetes", 5, "a comparison is missing here, such as bmi >= 30"),
    ("bmi >= 30 and => diabetes", 15, "a condition is missing here"),
    ("2 bmi >= 30 => diabetes", 1, "write 2*bmi for a multiple"),
    ("(bmi >= 30 => diabetes", 1, "the ')' is missing"),
    ("spacers(1-3 absent => M. bovis", 13, "the ')' of 'spacers(' is missing"),
    ("log(bmi) >= 3 => diabetes", 5, "numbers of features are written as in spacers(4-7, 23-24)"),
    ("1 <= bmi >= 3 => diabetes", 10, "a chain is 'low <= sum <= high'"),
    ("bmi >= 30 ~ 3 => diabetes", 11, "'~' has no meaning in a rule"),
    ("bmi >= 30 =>", 13, "the class after '=>' is missing"),
]  # fmt: skip


def test_a_wrong_rule_is_refused_with_file_line_column_and_a_remedy(tmp_path):
    path, wrong = tmp_path / "rules.yaml", []
    for text, column, message in ERRORS:
        path.write_text(
            f"title: some\nrules:\n  - bmi >= 1 => diabetes\n  - rule: {text}\n", encoding="utf-8"
        )
        said = refusal(lambda path=path: read_rules(path).compile(NAMES))
        if not said.startswith(f"{path}:4:{10 + column}: ") or message not in said:
            wrong.append((text, said))
    assert wrong == []


def test_without_a_file_the_rule_itself_is_the_place():
    with pytest.raises(UserError, match=r"^rule 2: a rule cannot say 'or'.*\(in 'bmi >= 3 or"):
        compile_texts(["bmi >= 1 => diabetes", "bmi >= 3 or bmi <= 1 => diabetes"], NAMES)


QUARTERS = st.integers(-36, 36).map(lambda number: number / 4)


@given(
    st.lists(st.tuples(st.sampled_from(FEATURES[:2]), QUARTERS), min_size=1, max_size=4),
    QUARTERS,
    st.sampled_from(["<=", ">="]),
    st.tuples(QUARTERS, QUARTERS),
)
def test_a_point_satisfies_the_row_exactly_if_it_satisfies_the_text(terms, bound, sign, point):
    names = FEATURES[:2]
    assume(any(sum(factor for name, factor in terms if name == each) for each in names))
    text = " + ".join(f"({factor})*{name}" for name, factor in terms) + f" {sign} {bound} => diabetes"
    [each] = compile_texts([text], Names(names, {"diabetes": 1}))
    total = sum(factor * point[names.index(name)] for name, factor in terms)
    assert each.covers(np.array([point]))[0] == (total <= bound if sign == "<=" else total >= bound)


def test_more_than_two_classes():
    """`not B` says nothing about whether an example is A; `B` says that it is not."""
    names = Names(("a",), {"A": 1, "B": -1, "C": -1}, two_classes=False)
    texts = ["a >= 1 => A", "a >= 2 => not A", "a >= 3 => B", "a >= 4 => not B"]
    assert [each.z for each in compile_texts(texts, names)] == [1, -1, -1]


def test_a_class_may_be_called_anything_and_numbers_are_compared_by_value():
    names = Names(("a",), {"not well": -1, "well": 1})
    assert [each.z for each in compile_texts(["a >= 1 => not well", "a >= 1 => WELL"], names)] == [-1, 1]
    names = Names(("a",), {"1": 1, "-1": -1})
    texts = ["a >= 1 => 1", "a >= 1 => +1", "a >= 1 => 1.0", "a >= 1 => -1", "a >= 1 => not 1"]
    assert [each.z for each in compile_texts(texts, names)] == [1, 1, 1, -1, -1]


def test_two_features_cannot_share_a_name():
    with pytest.raises(UserError, match="two features are called 'blood-pressure'"):
        Names(("Blood pressure", "blood-pressure"))


def test_a_rule_of_any_size_is_refused_in_one_sentence_that_can_be_read():
    for text, message in (
        ("(" * 3000 + "x1" + ")" * 3000 + " <= 1 => 1", "more than 50 parentheses are nested here"),
        ("spacers(1-99999999999) present => 1", "99999999999 has more than 6 digits"),
        ("at least " + "9" * 5000 + " of x1 present => 1", "has more than 6 digits"),
        ("x1 <= 1e400 => 1", "its numbers are too large for 64 bits together"),
        ("1e300*x1*1e300 <= 1 => 1", "its numbers are too large for 64 bits together"),
        ("x1 <= \u0661 => 1", "has no meaning in a rule"),
        ("x1 <= 1 => a\nb", "there is no class 'a b'"),
        ("y" * 5000 + " <= 1 => 1", "the data has no feature"),
    ):
        said = refusal(compile_texts, [text], Names(("x1", "x2")))
        assert message in said
        assert "\n" not in said
        assert len(said) < 1000
