"""Given splits: the rows of the last file are for testing, through labels, steps and the cache."""

import pytest

from olbench.data.catalog import parse_catalog
from olbench.data.entries import load_entry
from tests.refusals import refusal

TRAIN = "1 1:1 2:5\n2 1:2\n3 1:3\n1 1:4\n"
TEST = "3 1:5\n2 1:2\n1 1:7\n"
TOY = """
datasets:
  toy:
    title: A toy
    format: {format}
    files: [train, test]
    page: https://example.org/
    positive: 1
    negative: {negative}
    preprocess: {preprocess}
    split: given
    test_rows: {test_rows}
    rows: {rows}
    features: {features}
    labels: {labels}
    source: made up
"""


def toy(**changes):
    facts = {"format": "libsvm", "negative": 2, "preprocess": "[]", "rows": 5, "test_rows": 2, "features": 2}
    facts |= {"labels": "{-1: 2, 1: 3}", **changes}
    return parse_catalog(TOY.format(**facts), "toy.yaml")["toy"]


@pytest.fixture
def files(libsvm_file):
    return [libsvm_file(TRAIN, "train"), libsvm_file(TEST, "test")]


def test_the_test_file_starts_where_the_training_file_ends(files, monkeypatch):
    data = load_entry(toy(), files)
    assert (data.X[:, 0].tolist(), data.test_from) == ([1, 2, 4, 2, 7], 3)
    monkeypatch.setattr("olbench.data.entries.read_examples", lambda *_: pytest.fail("parsed again"))
    assert load_entry(toy(), files).test_from == 3
    refused = refusal(load_entry, toy(test_rows=3), files)
    assert "differs from the catalogue: 2 rows for testing instead of 3" in refused


def test_a_csv_split_counts_the_rows_that_are_kept(libsvm_file):
    paths = [libsvm_file("1,0,1\n2,0,3\n", "train"), libsvm_file("5,1,2\n6,1,1\n7,1,3\n", "test")]
    data = load_entry(toy(format="csv", rows=3, labels="{-1: 1, 1: 2}"), paths)
    assert (data.X.tolist(), data.test_from) == ([[1, 0], [5, 1], [6, 1]], 1)


def test_a_test_row_that_repeats_a_training_row_is_dropped_from_the_test(files):
    data = load_entry(toy(preprocess="drop-duplicates", rows=4, test_rows=1, labels="{-1: 1, 1: 3}"), files)
    assert (data.X[:, 0].tolist(), data.test_from) == ([1, 2, 4, 7], 3)


def test_steps_that_add_features_do_not_see_the_final_number_of_features(files):
    data = load_entry(toy(preprocess="pixel-products", features=3), files)
    assert data.X.toarray().tolist() == [[1, 5, 5], [2, 0, 0], [4, 0, 0], [2, 0, 0], [7, 0, 0]]
