"""The data of the Adviceptron paper, and the names that rules use."""

import lzma

import numpy as np
import pytest

from olbench import UserError, load_dataset
from olbench.data.catalog import find
from olbench.papers.adviceptron2010.datasets import lineage_of, read_isolates, simulate_miru24
from olbench.papers.adviceptron2010.names import load_named
from tests.refusals import refusal

HEADER = "StrainID,Spoligo Binary,Spoligo Octal,Lineage (SITVIT2),SIT,Country Distribution (SITVIT2)\n"
BEIJING, ALL = "o" * 34 + "n" * 9, "n" * 43
#: Isolates of the country US in the list, by the number of the lineage.
ISOLATES = {
    "tb-east-asian": 2175, "tb-east-african-indian": 523, "tb-euro-american": 8940, "tb-indo-oceanic": 1380,
    "tb-africanum": 137, "tb-bovis": 203,
}  # fmt: skip


@pytest.fixture
def spoligotypes(tmp_path):
    def write(*lines):
        path = tmp_path / "list.csv.xz"
        path.write_bytes(lzma.compress((HEADER + "".join(f"{line}\n" for line in lines)).encode()))
        return path

    return write


def test_a_line_of_the_list_becomes_as_many_examples_as_the_country_has_isolates(spoligotypes):
    path = spoligotypes(
        f"A1,{BEIJING},'0,Beijing,1,[CN=7 US=3]",
        f"A2,{ALL},'7,T1,53,[AUS=4 US=2 FR=1]",
        f"A3,{ALL},'7,Manu2,54,[US=9]",
        f"A4,{ALL},'7,LAM9,42,[BR=5]",
        f"A5,{ALL[:-1]}?,'7,X1,8,[US=6]",
        f"A6,{ALL},'7,T2,9,ND",
    )
    X, labels = read_isolates(path, find("tb-bovis"))
    assert labels.tolist() == [1, 1, 1, 3, 3]
    np.testing.assert_array_equal(X[0], [0] * 34 + [1] * 9)
    np.testing.assert_array_equal(X[3], [1] * 43)


def test_a_broken_list_is_refused(tmp_path, spoligotypes):
    for line, message in (
        (f"A1,{'n' * 42},'7,T1,53,[US=2]", "list.csv.xz:2: 'nnn"),
        (f"A1,{ALL},'7,T1,53,[BR=2]", "has no isolates of the country US"),
    ):
        assert message in refusal(read_isolates, spoligotypes(line), find("tb-bovis"))
    path = tmp_path / "list.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match=r"list\.csv:1: there is no column with the heading 'Spoligo Binary'"):
        read_isolates(path, find("tb-bovis"))


def test_families_belong_to_six_lineages_or_to_none():
    others = {"Beijing": 1, "CAS1-Delhi": 2, "EAI8-MDG": 4, "AFRI_2": 5, "BOV_4-CAPRAE": 6}
    assert {family: lineage_of(family) for family in others} == others
    euro_american = ["H", "H3", "LAM", "LAM-RUS", "T1", "T-H37Rv", "X2", "S", "Cameroon", "Turkey", "Ural-1"]
    assert {lineage_of(family) for family in euro_american} == {3}
    left_out = ["Manu2", "Manu_ancestor", "Unknown", "PINI1", "microti", "mungi", "CANETTII", "Zero-copy"]
    assert {lineage_of(family) for family in [*left_out, "ATYPIC", "Ethiopian"]} == {None}


def test_a_simulated_miru24_follows_the_lineage_but_for_two_percent():
    labels = np.repeat([1.0, 4.0, 6.0], 5000)
    repeats = simulate_miru24(labels, seed=2010, flips=0.02)
    assert set(repeats) == {1.0, 2.0}
    wrong = (repeats == 2.0) != (labels > 3)
    assert 0.015 < wrong.mean() < 0.025
    np.testing.assert_array_equal(repeats, simulate_miru24(labels, seed=2010, flips=0.02))


@pytest.mark.parametrize("name", ISOLATES)
def test_the_real_list_gives_the_isolates_of_each_lineage(mirror, name):
    data = load_dataset(name, mirror=str(mirror))
    assert data.X.shape == (13358, 43)
    assert (data.y > 0).sum() == ISOLATES[name]
    assert data.fingerprint == find(name).fingerprint
    assert load_dataset(f"{name}-miru24", mirror=str(mirror)).X.shape == (13358, 44)


def test_catalogued_sets_have_names():
    named = load_named("breast-cancer")
    assert named.names.features[:2] == ("mean radius", "mean texture")
    assert named.names.column(["mean_radius"]) == 0
    assert load_named("digits-1-vs-7").names.features[0] == "x1"
    assert find("pima").class_names == {1: "diabetes"}


def test_pima_has_zeros_for_missing_values(mirror):
    named = load_named("pima")
    assert [named.names.features[k] for k in named.missing_zeros] == [
        "glucose", "blood_pressure", "skin", "insulin", "bmi",
    ]  # fmt: skip
    assert named.names.title(-1) == "not diabetes"


def test_a_csv_header_names_features_and_the_positive_class(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("weight,smoker,dose,ill\n80,1,0.5,1\n60.5,0,0,0\n")
    names = load_named(path).names
    assert names.features == ("weight", "smoker", "dose")
    assert (names.title(1), names.title(-1)) == ("ill", "not ill")
    assert (names.sign("0", False), names.sign("1", False), names.sign("ill", True)) == (-1, 1, -1)
    assert (names.binary, names.whole) == (frozenset({1}), frozenset({1}))


def test_files_without_a_header_are_numbered_and_keep_their_labels(tmp_path):
    path = tmp_path / "plain.txt"
    path.write_text("1 1:0.5 3:2 # one\n2 2:1\n\n1 1:3\n")
    names = load_named(path).names
    assert names.features == ("x1", "x2", "x3")
    assert (names.sign("1", False), names.sign("2", False)) == (-1, 1), (
        "the smaller label is the negative one"
    )
    many = tmp_path / "many.csv"
    many.write_text("1,0\n2,3\n3,7\n")
    names = load_named(many, positive=3, features=("size",)).names
    assert (names.features, names.sign("3", False)) == (("size",), 1)
    assert names.sign("7", False) == -1
    assert "many has 1 feature, but 2 are named" in refusal(load_named, many, positive=3, features=("a", "b"))
