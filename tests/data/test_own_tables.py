"""One's own tables: labels of text, gaps, separators, formats, frames; every refusal has a remedy."""

import doctest
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

from olbench import UserError, load_dataset
from olbench.data import scale as scaling
from olbench.data.look import look_at, look_at_data
from olbench.data.prepare import MOST_CATEGORIES
from olbench.data.scale import as_dense, scale_features, scale_running
from olbench.data.spec import Reading
from olbench.data.tables import read_table
from tests import ROOT
from tests.refusals import find_wrong, refusal

SHOP = """\
sold,size,colour,weight
yes,1.5,red,10
no,,blue,20
yes,2.5,red,NA
no,3.5,green,40
"""
HOW = {"label": "sold", "missing": "mean", "categorical": "onehot"}
FEATURES = ("size", "colour=blue", "colour=green", "colour=red", "weight")
X = [[1.5, 0, 0, 1, 10], [2.5, 1, 0, 0, 20], [2.5, 0, 0, 1, 70 / 3], [3.5, 0, 1, 0, 40]]


def test_a_table_with_text_and_gaps_becomes_numbers(table):
    data = load_dataset(table(SHOP), **HOW)
    np.testing.assert_allclose(data.X, X)
    assert data.y.tolist() == [1, -1, 1, -1]
    assert (data.name, data.about.features, data.about.label) == ("shop", FEATURES, "sold")
    assert data.about.steps == (
        "label: column 'sold'",
        "'yes' (2 rows) is +1; 'no' (2 rows) is -1 (of two labels, the later in the alphabet is +1)",
        "column 'colour' as 3 indicators",
        "2 missing values replaced by the mean of their column over all rows",
    )
    again = load_dataset(table(SHOP), **HOW)
    assert (again.about, again.fingerprint) == (data.about, data.fingerprint)


def test_the_label_is_a_column_called_like_one_or_else_the_last(table):
    for heading, place in (("a,Class,b", 1), ("a,y,label", 2), ("y,y,label", 2), ("a,b,c", 2)):
        path = table(f"{heading}\n0,1,2\n1,2,3\n")
        assert load_dataset(path).about.classes == load_dataset(path, label=place + 1).about.classes, heading
        assert look_at(path, Reading()).labels == ((place, 1), (place + 1, 1)), heading
    # The y of a pair is the label, whatever the columns of X are called.
    pair = pd.DataFrame({"class": [7, 8], "label": [9, 9]}), [0, 1]
    assert load_dataset(pair).about.classes == (("0", -1), ("1", 1))
    assert look_at_data(pair, Reading()).labels == ((0, 1), (1, 1))


@pytest.mark.parametrize(
    ("lines", "rows", "label"),
    [
        (["0,1,2,label", "1.5,3,4,yes", "2.5,3,4,no", "3.5,3,4,no"], 3, "label"),
        ([",0,1,sold", "0,3,4,1", "1,5,4,0", "2,6,4,1"], 3, "sold"),
        (["id,0,label", "7,4,1", "8,4,0", "9,4,1"], 3, "label"),
        (["0,1,yes", "1,0,no", "1,1,yes"], 3, ""),  # the word is a label
        (["0,ann,yes", "1,bob,no", "2,cid,yes", "1,dan,no"], 4, ""),
        (["0,ann,1", "1,bob,0", "2,cid,1", "1,dan,0"], 4, ""),  # the words are ids
        (["1,2,label", "1,2,no", "2,2,no"], 3, ""),
        (["0,label", "1"], 0, ""),
    ],
)
def test_numbers_from_0_and_a_word_that_does_not_recur_are_a_header(lines, rows, label, table):
    path = table("\n".join(lines) + "\n")
    if not rows:
        assert f"{path}:2: 1 field, but the first line has 2" in refusal(read_table, path)
        return
    found = read_table(path)
    assert (len(found.frame), found.has_heading) == (rows, bool(label))
    if label:
        assert load_dataset(path).about.label == label
        assert found.find_line(0) == 2


def test_separators_are_detected_or_given(table):
    expected = load_dataset(table(SHOP), **HOW).fingerprint
    given = [("|", "|"), (";", "semicolon"), ("\t", "tab")]
    for separator, delimiter in ((";", ""), ("\t", ""), *given):
        data = load_dataset(table(SHOP.replace(",", separator), "other.tsv"), **HOW, delimiter=delimiter)
        assert data.fingerprint == expected, (separator, delimiter)


def test_what_is_done_to_data_is_in_its_fingerprint(table):
    path = table(SHOP)
    changes = [{"positive": "no"}, {"scale": "unit"}, {"scale": "minmax"}, {"bias": True}]
    changes += [{}, {"missing": "zero"}, {"missing": "drop"}, {"categorical": "drop"}]
    found = {load_dataset(path, **{**HOW, **change}).fingerprint for change in changes}
    assert len(found) == len(changes)


def test_rows_with_gaps_can_be_left_out_and_text_too(table):
    data = load_dataset(table(SHOP), label="first", missing="drop", categorical="drop", positive="no")
    assert (data.X.tolist(), data.y.tolist()) == ([[1.5, 10], [3.5, 40]], [-1, 1])
    assert "2 of 4 rows with missing values left out" in data.about.steps
    assert "columns of text left out: 'colour'" in data.about.steps
    zeros = load_dataset(table(SHOP), label=-4, missing="zero", categorical="drop")
    assert zeros.X.tolist() == [[1.5, 10], [0, 20], [2.5, 0], [3.5, 40]]
    for missing, kept in (("zero", 4), ("drop", 2)):  # of a row without a label, nothing else counts
        data = load_dataset(table(SHOP + ",,red,50\n"), label=1, missing=missing, categorical="onehot")
        assert len(data.y) == kept
        assert "1 row without a label left out" in data.about.steps
    blank = load_dataset(table(SHOP.replace("blue", "")), **{**HOW, "missing": "zero"})
    assert "3 missing values replaced by 0" in blank.about.steps


def test_more_than_two_labels_want_to_be_told(table):
    path = table("1,a b\n2,b\n3,c\n4,a b\n")
    with pytest.raises(UserError, match=r"3 distinct labels \('a b', 'b', 'c'\).* as in --positive 'a b'"):
        load_dataset(path)
    assert load_dataset(path, positive="a b").y.tolist() == [1, -1, -1, 1]
    assert load_dataset(path, positive=["a b", "c"], negative="b").y.tolist() == [1, -1, 1, 1]
    mixed = table("1,1\n2,3+\n3,2\n", "mixed.csv")
    assert load_dataset(mixed, positive=["3+", 2]).y.tolist() == [-1, 1, 1]


MANY = "a,b\n" + "".join(f"t{k},{k % 2}\n" for k in range(MOST_CATEGORIES + 1))
REFUSED = [
    (SHOP, {}, ":3: column 'size' has no value; choose --missing drop, zero or mean"),
    (SHOP, {"missing": "zero", "label": "sold"}, ":2: column 'colour' has the text 'red', where"),
    (SHOP, {"label": "sale"}, "no column with the heading 'sale'; the headings are 'sold', 'size'"),
    (SHOP, {"label": 0}, "no column 0; columns are numbered 1 to 4, or -1 to -4 from the end; correct --"),
    ("a,a,b\n1,2,3\n", {"label": "a"}, "2 columns have the heading 'a'; give the number"),
    ("label,b,Label\n1,2,1\n0,3,0\n", {}, "2 columns are called 'label'; give the number of the label"),
    ("a,b\n1,0\nx,1\n", {"categorical": "onehot"}, ":3: column 'a' has numbers and the text 'x'"),
    ("a,b\nx,0\ny,1\n", {"categorical": "drop"}, "every feature is text, so --categorical drop"),
    ("1,2\n3,4\n", {"label": "y"}, "it has no headings, and 2 columns; name one"),
    ("a,b\n,0\n,1\n", {"missing": "drop"}, "every row has a missing value, so --missing drop"),
    ("a,b\n1,\n2,\n", {"missing": "zero"}, "column 'b' has no values; name another column with --label"),
    ("a,b\n1,0\n2,1\n", {"delimiter": "ab"}, "the delimiter must be one character or one of comma"),
    (MANY, {"categorical": "onehot"}, "has 1,001 distinct texts, more than the 1,000"),
    ('y,c\n1,a\n0,b\n1,"a\n0,b\n1,a\n', {"label": "y"}, "shop.csv:4: a quote is opened here or later"),
]
#: Files of other kinds, by name.
KINDS = [
    ("a.xlsx", "a.xlsx: olbench does not read .xlsx files; write a CSV file, or read it in Python"),
    ("a.pkl", "a.pkl: olbench does not read .pkl files; write a CSV file"),
    ("a.json.gz", "a.json: olbench does not read .json files"),
]


def test_every_refusal_names_its_remedy(table):
    assert find_wrong(REFUSED, lambda text, how: load_dataset(table(text), **how)) == []
    assert find_wrong(KINDS, lambda name: load_dataset(table("1 1:1\n-1 1:2\n", name))) == []
    assert find_wrong(KINDS, lambda name: look_at(table("1 1:1\n-1 1:2\n", name), Reading())) == []


def test_a_libsvm_file_has_no_label_column_but_can_be_scaled(table):
    path = table("0 1:3 2:4\n1 1:2\n", "my.libsvm")
    assert "--label applies only to tables; a table needs a name that ends in .csv" in refusal(
        load_dataset, path, label="y"
    )
    np.testing.assert_allclose(load_dataset(path, scale="unit", bias=True).X, [[0.6, 0.8, 1], [1, 0, 1]])
    assert load_dataset(path).about.steps == ("indices start at 1",)
    zero = table("0 0:3\n1 0:2\n", "zero.libsvm")
    assert load_dataset(zero, bias=True).about.steps[0] == "indices start at 0"
    assert look_at(zero, Reading()).lines()[0] == "2 rows, 1 feature"
    said = refusal(load_dataset, "breast-cancer", scale="unit")
    assert "'scale' is only allowed for your own files" in said


def test_parquet_gives_what_csv_gives(table, tmp_path):
    expected = load_dataset(table(SHOP), **HOW)
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pd.read_csv(table(SHOP)).to_parquet(tmp_path / "shop.parquet")
    assert load_dataset(tmp_path / "shop.parquet", **HOW).fingerprint == expected.fingerprint
    assert "is not a Parquet file that can be read" in refusal(load_dataset, table("no", "bad.parquet"))
    for metadata in ("{}", "[]"):  # pyarrow does not check what pandas writes there
        damaged = arrow.table({"a": [1]}).replace_schema_metadata({"pandas": metadata})
        parquet.write_table(damaged, tmp_path / "bad.parquet")
        assert "is not a Parquet file that can" in refusal(load_dataset, tmp_path / "bad.parquet")
    assert "leave out --delimiter" in refusal(load_dataset, tmp_path / "shop.parquet", delimiter=";")


def test_frames_pairs_and_bunches(table):
    frame = pd.read_csv(table(SHOP))
    expected = load_dataset(table(SHOP), **HOW).fingerprint
    assert load_dataset(frame, **HOW).fingerprint == expected
    assert load_dataset(frame.convert_dtypes(), **HOW).fingerprint == expected
    assert load_dataset(frame.astype({"colour": "category"}), **HOW).fingerprint == expected
    apart = frame.drop(columns="sold"), frame["sold"]
    pair = load_dataset(apart, missing="mean", categorical="onehot", name="shop")
    assert (pair.fingerprint, pair.name) == (expected, "shop")
    iris = load_iris()
    pairs = [(X, iris.target) for X in (iris.data, sp.csr_matrix(iris.data))]
    for given in (iris, load_iris(as_frame=True), *pairs):
        data = load_dataset(given, positive=2)
        assert data.X.shape == (150, 4)
        assert data.y.tolist() == np.where(iris.target == 2, 1, -1).tolist()
    assert load_dataset(pd.DataFrame({0: [3, 4], 1: [7, 8]}), label=0).X.tolist() == [[7], [8]]
    assert "name the column of the label, as in label='weight'" in refusal(load_dataset, frame)
    assert " not int" in refusal(load_dataset, 3)
    assert load_dataset((np.eye(2), [True, False])).y.tolist() == [1, -1]
    assert "X has no columns" in refusal(load_dataset, (sp.csr_matrix((2, 0)), [0, 1]), scale="minmax")
    assert "real numbers, not complex128" in refusal(load_dataset, (sp.csr_matrix([[1j], [2.0]]), [0, 1]))
    assert "must have the same length" in refusal(load_dataset, ([[1, 2], [3]], [0, 1]))
    for X in (sp.csr_matrix([[1.0], [2.0], [3.0]]), np.array([[1.0], [2.0], [3.0]])):
        gap = load_dataset((X, ["no", None, "yes"]))
        assert (gap.X.tolist(), gap.y.tolist()) == ([[1], [3]], [-1, 1])
        assert "1 row without a label left out" in gap.about.steps


def test_the_examples_of_the_page_on_data_hold():
    failed, tried = doctest.testfile(str(ROOT / "docs" / "data.md"), module_relative=False)
    assert failed == 0
    assert tried > 5


@pytest.mark.parametrize("scale", ["unit", "minmax", "standard"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_scaling_agrees_with_scikit_learn(scale, storage):
    rows = np.random.default_rng(0).normal(3, 5, (40, 4)) * (np.arange(160).reshape(40, 4) % 3 > 0)
    rows[:, 2] = 7.0
    theirs = {"unit": Normalizer, "minmax": MinMaxScaler, "standard": StandardScaler}[scale]()
    ours = scale_features(storage(rows), scale, False, np.arange(25))
    expected = theirs.fit(rows[:25]).transform(rows)
    np.testing.assert_allclose(ours.toarray() if sp.issparse(ours) else ours, expected, atol=1e-12)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_running_scaling_knows_the_rows_so_far_and_no_others(storage, monkeypatch):
    rows = np.random.default_rng(0).normal(3, 5, (60, 5)) * (np.arange(300).reshape(60, 5) % 3 > 0)
    rows[:, 2] = 7.0
    rows[30:, 3], rows[:30, 3] = np.arange(30), 1e9
    ours = scale_running(storage(rows))
    for row in range(60):
        past = rows[: row + 1]
        deviation = past.std(axis=0)
        expected = np.divide(past[-1] - past.mean(axis=0), deviation, out=np.zeros(5), where=deviation > 0)
        np.testing.assert_allclose(ours[row], expected, atol=1e-9)
        assert (abs(ours[row]) <= np.sqrt(row) + 1e-9).all()
    # To the last bit: later rows change nothing, and neither does how many features are scaled at once.
    assert np.array_equal(scale_running(storage(rows[:17])), ours[:17])
    monkeypatch.setattr(scaling, "VALUES_AT_ONCE", 130)
    assert np.array_equal(scale_running(storage(rows)), ours)
    for wrong in ([[1e300], [-1e300]], [[1e-200], [2e-200]], [[0.0], [1e-200], [1.0]]):
        with pytest.raises(UserError, match="feature 1 has values too large or too small to scale by runn"):
            scale_running(np.array(wrong))


def test_rows_with_tiny_and_huge_values_are_scaled_to_length_one_and_have_a_finite_mean(table):
    X = np.array([[3e-200, 4e-200], [3e200, -4e200], [5e-324, 0.0], [1.7e308, 1.7e308], [0.0, 0.0]])
    for rows in (X, sp.csr_matrix(X)):
        scaled = scale_features(rows, "unit", False)
        dense = scaled if isinstance(scaled, np.ndarray) else scaled.toarray()
        np.testing.assert_allclose(np.linalg.norm(dense, axis=1), [1, 1, 1, 1, 0], rtol=1e-12)
        assert np.array_equal(np.sign(dense), np.sign(X))
    column = np.random.default_rng(0).normal(0, 50, (200, 1))
    for rows in (column, sp.csr_matrix(column)):
        assert np.array_equal(as_dense(scale_features(rows, "unit", False)), np.sign(column))
    path = table("a,b,y\n1e308,1,0\n1.5e308,2,1\n,3,1\n")
    assert load_dataset(path, missing="mean").X[2, 0] == pytest.approx(1.25e308)
    path = table("a,y\n1e300,0\n-1e300,1\n")
    assert load_dataset(path, scale="standard").X.ravel().tolist() == [1, -1]
    path = table("a,y\n1.7e308,0\n-1.7e308,1\n")
    assert f"{path}: feature 1 has values too large" in refusal(load_dataset, path, scale="minmax")


def test_labels_of_many_digits_are_shown_in_full_or_refused(table):
    with pytest.raises(UserError, match=r"\(1000001, 1000002, 1000003\); .* --positive 1000001"):
        load_dataset(table("1,1000001\n2,1000002\n3,1000003\n"))
    data = load_dataset(table("1,1000001\n2,1000002\n"))
    assert data.about.classes == (("1000001", -1), ("1000002", 1))
    with pytest.raises(UserError, match="csv:2: label '9007199254740992' is too large to represent"):
        load_dataset(table("1,9007199254740991\n2,9007199254740993\n"))
    with pytest.raises(UserError, match=r"csv:2: label 'zz.*' has 100,000 characters"):
        load_dataset(table(f"1,a\n2,{'z' * 100_000}\n"))


def test_parquet_columns_of_lists_are_refused_and_decimals_are_numbers(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [[1], [2]], "y": ["no", "yes"]}).to_parquet(path)
    with pytest.raises(UserError, match=r"column 'a' has values of type \w+, neither numbers nor text"):
        load_dataset(path)
    pd.DataFrame({"a": [1, 2], "y": [0, 1]}, index=pd.Index([1, 2], name="a")).to_parquet(path)
    assert "the index and a column are both called 'a'" in refusal(load_dataset, path)
    pd.DataFrame({"a": [Decimal("1.5"), None, Decimal(2)], "y": [0, 1, 1]}).to_parquet(path)
    assert load_dataset(path, missing="zero").X.ravel().tolist() == [1.5, 0.0, 2.0]
