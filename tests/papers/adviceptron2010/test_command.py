"""olbench algorithms adviceptron --rules FILE --data DATA."""

import pytest

SHOW = ("algorithms", "adviceptron", "--rules")

RULES = """\
rules:
  - weight >= 70 => ill
  - weight <= 65 and smoker absent => not ill
  - rule: 60 <= weight <= 75 => not ill
    source: a book
"""
DATA = "weight,smoker,ill\n80,1,1\n90,0,1\n60,0,0\n72,0,0\n50,1,1\n"
EXPECTED = """\
mine: 5 rows, 2 features; 3 ill (60.0%), 2 not ill

1. weight >= 70 => ill
     -weight <= -70
   rules.yaml:2

2. weight <= 65 and smoker absent => not ill
     weight <= 65
     smoker <= 0
   rules.yaml:3

3. 60 <= weight <= 75 => not ill
     -weight <= -60
     weight <= 75
   rules.yaml:4; a book

rule   class     covers   of all rows   right   precision
─────────────────────────────────────────────────────────
   1   ill            3         60.0%       2      66.66%
   2   not ill        1         20.0%       1     100.00%
   3   not ill        2         40.0%       2     100.00%

1 of 5 rows covered by no rule
1 row covered by rules of both classes
where rules of one class only apply, 100.0% of 3 rows have that class

warning: rules 1 and 3 contradict each other: their conditions can hold together, and one says ill,
the other not ill; 1 row of the data satisfies both

warning: rule 2 cannot be satisfied without a constant feature: the origin satisfies the conditions,
and w.x is zero there for every w; learn with a bias
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.yaml").write_text(RULES)
    (tmp_path / "mine.csv").write_text(DATA)
    return tmp_path


def test_three_rules_for_a_file_of_ones_own(here, folder):
    code, out, err = here(*SHOW, "rules.yaml", "--data", "mine.csv")
    assert (code, err, out) == (0, "", EXPECTED)


def test_every_inequality_is_shown_but_those_of_the_domain(here, folder):
    (folder / "rules.yaml").write_text("domain: true\nrules:\n  - x(1-9) absent => 1\n")
    (folder / "bits.txt").write_text("1 1:1 9:1\n-1 2:1\n2 3:1\n")
    out = here.out(*SHOW, "rules.yaml", "--data", "bits.txt", "--positive", 1, "--positive", 2)
    assert "     x8 <= 0\n     x9 <= 0\n     and 18 rows for 0 <= x <= 1\n" in out


def test_what_is_dropped_is_listed(here, folder):
    (folder / "rules.yaml").write_text(
        "missing: drop\nrules:\n  - weight >= 70 and age >= 50 => ill\n  - age <= 20 => not ill\n"
    )
    out = here.out(*SHOW, "rules.yaml", "--data", "mine.csv")
    assert "   dropped: age >= 50 (the data has no such feature)\n" in out
    assert (
        "warning: the rule at rules.yaml:4 is left out: the data has none of its features ('age <= 20" in out
    )


def test_mistakes_get_a_sentence_with_file_and_line(here, folder):
    for text, message in (
        ("weight >= 3 or smoker >= 1 => ill", "olbench: rules.yaml:2:17: a rule cannot say 'or'"),
        ("wait >= 3 => ill", "rules.yaml:2:5: the data has no feature 'wait' (did you mean 'weight'?)"),
        ("weight >= 3 => sick", "rules.yaml:2:20: there is no class 'sick'"),
    ):
        (folder / "rules.yaml").write_text(f"rules:\n  - {text}\n")
        code, out, err = here(*SHOW, "rules.yaml", "--data", "mine.csv")
        assert (code, out, message in err) == (2, "", True), err
    for words, message in (
        ((*SHOW, "rules.yaml"), "--rules and --data go together"),
        (("algorithms", "--rules", "rules.yaml", "--data", "mine.csv"), "such as adviceptron"),
    ):
        assert message in here.err(*words)
