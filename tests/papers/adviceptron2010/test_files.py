"""Rule files: their keys, what is dropped, and those that ship with olbench."""

from dataclasses import replace

import numpy as np
import pytest

from olbench import UserError
from olbench.papers.adviceptron2010.names import Names
from olbench.papers.adviceptron2010.rules import compile_texts, parse_rules, read_rules, shipped_rules
from olbench.papers.adviceptron2010.sets import conflicts, is_empty, unsatisfiable
from olbench.structs import from_plain
from tests.refusals import refusal

SPACERS = tuple(f"spacer{k}" for k in range(1, 44))
#: Table 1 of adviceptron2010: pieces of positive and of negative advice.
PIECES = {
    "tb-east-asian": ("East-Asian", 1, 1),
    "tb-east-african-indian": ("East-African-Indian", 2, 4),
    "tb-euro-american": ("Euro-American", 1, 2),
    "tb-indo-oceanic": ("Indo-Oceanic", 5, 5),
    "tb-africanum": ("M. africanum", 1, 3),
    "tb-bovis": ("M. bovis", 1, 3),
    "pima": ("diabetes", 1, 1),
    "advice-synthetic": ("+", 2, 1),
}


@pytest.fixture
def rule_file(tmp_path):
    def write(text):
        path = tmp_path / "rules.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def spoligotypes(lineage, miru24):
    features = (*SPACERS, "miru24") if miru24 else SPACERS
    every = frozenset(range(len(features)))
    return Names(features, {lineage: 1}, binary=frozenset(range(43)), whole=every)


def test_the_rules_that_ship_have_the_papers_numbers_of_pieces_and_a_source():
    assert set(shipped_rules()) == set(PIECES)
    for name, (lineage, positive, negative) in PIECES.items():
        file = read_rules(name)
        if name.startswith("tb-"):
            names = spoligotypes(lineage, miru24=True)
        else:
            names = Names(("x1", "x2") if name == "advice-synthetic" else ("bmi", "glucose"), {lineage: 1})
        z = [each.z for each in file.compile(names)]
        assert (z.count(1), z.count(-1)) == (positive, negative), name
        assert all(rule.source.reference for rule in file.rules)


def test_the_papers_own_rules_for_africanum_contradict_each_other():
    """Spacers 8, 9, 39 absent and MIRU24 > 1 does not rule out the pattern of M. bovis."""
    advice = replace(read_rules("tb-africanum"), domain=True).compile(
        spoligotypes("M. africanum", miru24=True)
    )
    assert conflicts(advice) == [(0, 3)]


def test_missing_features_are_refused_unless_they_may_be_dropped(rule_file):
    path = rule_file("rules: [a >= 1 and b >= 2 => 1]\n")
    with pytest.raises(UserError, match=r"rules.yaml:1:\d+: the data has no feature 'b'.*missing: drop"):
        read_rules(path).compile(Names(("a",)))
    path = rule_file("missing: drop\nrules: [a >= 1 and b >= 2 => 1, b >= 3 => -1]\n")
    [each] = read_rules(path).compile(Names(("a",)))
    assert each.dropped == ("b >= 2",)
    np.testing.assert_array_equal(each.D, [[-1.0]])


def test_a_file_names_features_and_classes_that_the_data_does_not(rule_file):
    path = rule_file(
        "features: [weight, spacer(1-2)]\nclasses: {1: heavy, -1: light}\ndomain: false\n"
        "rules:\n  - weight >= 80 => heavy\n  - spacers(1-2) absent => light\n"
    )
    names = Names(("x1", "x2", "x3"))
    advice = read_rules(path).compile(names)
    assert [each.z for each in advice] == [1, -1]
    np.testing.assert_array_equal(advice.sets[0].D, [[-1, 0, 0]])
    said = refusal(read_rules(path).compile, Names(("x1", "x2")))
    assert "'features' names 3 features, but the data has 2" in said


def test_rules_within_a_config_are_a_mapping_or_a_list():
    plain = parse_rules(from_plain({"rules": ["a >= 1 => 1"], "domain": True}, "config.yaml:3"))
    assert plain.domain
    assert len(parse_rules(from_plain(["a >= 1 => 1", "a <= 0 => -1"], "config.yaml:3")).rules) == 2
    with pytest.raises(UserError, match=r"^config\.yaml:3: a rule cannot say 'or'"):
        parse_rules(from_plain(["a >= 1 or b >= 1 => 1"], "config.yaml:3"))


def test_a_broken_file_is_refused_with_its_line(rule_file):
    for text, message in (
        ("rules: []", ":1: rules must not be empty"),
        ("rule: [a >= 1 => 1]", ":1: unknown key 'rule' in a rule file (did you mean 'rules'?)"),
        ("title: x", ":1: a rule file needs the key 'rules'"),
        ("rules: a >= 1 => 1", ":1: rules must be a list"),
        ("rules:\n  - 5", ":2: rule must be text, not 5"),
        ("rules:\n  - {source: x}", ":2: a rule needs the key 'rule'"),
        ("rules:\n  - {rule: a >= 1 => 1, sauce: x}", ":2: unknown key 'sauce' in a rule (did you mean"),
        ("missing: forget\nrules: [a >= 1 => 1]", ":1: missing must be one of refuse, drop, not 'forget'"),
        ("domain: perhaps\nrules: [a >= 1 => 1]", ":1: domain must be true or false, not 'perhaps'"),
        ("classes: {2: x}\nrules: [a >= 1 => 1]", ":1: unknown key '2' in classes"),
        ("rules:\n  - >-\n    a >= 1 and\n    b ! 2 => 1\n", ":2: "),
        ("rules: [", ":1: not YAML"),
    ):
        path = rule_file(text)
        assert f"{path}{message}" in refusal(read_rules, path)
    assert "no rule file 'pimma' (did you mean 'pima'?); olbench ships" in refusal(read_rules, "pimma")


def test_empty_polyhedra_are_found_in_any_unit():
    for unit in (1e-6, 1.0, 1e6):
        assert is_empty(np.array([[unit], [-unit]]), np.array([10.0 * unit, -10.1 * unit]))
        assert not is_empty(np.array([[unit], [-unit]]), np.array([10.0 * unit, -10.0 * unit]))


def test_sets_with_the_origin_are_found_and_a_constant_feature_mends_them():
    advice = compile_texts(["a <= 3 => 1", "a >= 1 => -1", "a = 0 => 1"], Names(("a",)))
    assert (unsatisfiable(advice), unsatisfiable(advice.with_constant())) == ([0, 2], [])
