"""The catalogue: it is valid, complete, and mistakes in it are refused with their line."""

import re
from pathlib import Path

import numpy as np

from olbench import UserError, load_dataset
from olbench.data.catalog import catalog, find, parse_catalog
from olbench.data.synthetic import BUNDLED, read_bundled
from tests.refusals import find_wrong, refusal


def test_every_entry_says_what_must_come_out_and_where_it_is_from():
    for entry in catalog().values():
        assert entry.fingerprint, entry.name
        assert entry.is_generated or entry.page, entry.name
        assert not entry.is_generated or not entry.upstream, entry.name
        assert entry.upstream or entry.by_hand or not entry.files, entry.name
        assert list(entry.origin) == ["licence", "citation", "version", "page"]
        assert all(entry.origin.values()), entry.name
        if entry.is_generated:
            drawn = entry.origin["licence"] == "BSD-3-Clause, as olbench, which generates it"
            assert drawn or entry.name == "digits-spliced"


#: Generated documents have tests of their own: a million of them take minutes.
BUILT_IN = [entry.name for entry in catalog().values() if not entry.files and entry.format != "corpus"]


def test_what_needs_no_download_is_as_described():
    for name in BUILT_IN:
        data, entry = load_dataset(name), find(name)
        assert (data.name, data.fingerprint) == (name, entry.fingerprint)
        assert data.X.shape == (entry.rows, entry.features), name
        assert {int(k): int((data.y == k).sum()) for k in (-1, 1)} == entry.labels, name


def test_the_noisy_set_is_the_other_with_a_tenth_of_its_labels_turned():
    clean, noisy = load_dataset("synthetic"), load_dataset("synthetic-noise")
    assert (clean.X == noisy.X).all()
    assert np.count_nonzero(clean.y != noisy.y) == 500


def test_unknown_names_get_a_suggestion():
    assert "there is no data set 'covtyp' (did you mean 'covtype'?)" in refusal(find, "covtyp")
    assert "nor a data set 'mushroom' (did you mean 'mushrooms'?)" in refusal(load_dataset, "mushroom")


def test_a_name_comes_before_a_file_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("breast-cancer").write_text("+1 1:1\n-1 1:2\n")
    assert load_dataset("breast-cancer").X.shape == (569, 30)
    assert load_dataset("./breast-cancer").X.shape == (2, 1)
    assert load_dataset(Path("breast-cancer")).X.shape == (2, 1)


def test_labels_of_a_named_set_can_be_chosen():
    data = load_dataset("digits-1-vs-7", positive=3, negative=[8, 9])
    assert data.name == "digits-1-vs-7[3-vs-8-vs-9]"
    assert data.X.shape[0] == 183 + 174 + 180
    assert (load_dataset("synthetic", positive=-1).y == -load_dataset("synthetic").y).all()


FACTS = {
    "title": "A toy", "format": "libsvm", "files": "toy", "upstream": "https://example.org/", "rows": "2",
    "features": "1", "labels": "{-1: 1, 1: 1}", "source": "made up",
}  # fmt: skip
MISTAKES = [
    ({"filez": "x"}, "11: unknown key 'filez' in the data set 'toy' (did you mean 'files'?)"),
    ({"rows": "two"}, "7: rows must be a whole number from 1, not 'two'"),
    ({"rows": "3"}, "9: the labels add up to 2, not to 3 rows"),
    ({"labels": "{1: 2}"}, "9: 'labels' must give the number of examples for -1 and for 1"),
    ({"source": None}, "2: the data set 'toy' needs the key 'source'"),
    ({"format": "libsvn"}, "4: format must be one of libsvm, idx, csv, parquet"),
    ({"format": "synthetic"}, "5: the format 'synthetic' needs no 'files'"),
    ({"files": None}, "2: the format 'libsvm' needs 'files'"),
    ({"format": "idx"}, "5: IDX files come in pairs: images, labels"),
    ({"upstream": "ftp://x/"}, "6: 'ftp://x/' is not an http(s) address"),
    ({"upstream": "http://[x"}, "6: 'http://[x' is not an http(s) address"),
    ({"variant_of": "none"}, "11: no data set 'none' is defined above it"),
    ({"format": "posts", "members": "{a: 1, b: 1}"}, "11: members must give patterns whole numbers"),
    ({"text": "{ngram: 2}"}, "11: unknown key 'ngram' in text (did you mean 'ngrams'?)"),
    ({"split": "given"}, "11: 'split' and 'test_rows' need each other"),
    ({"split": "given", "test_rows": "1"}, "11: a given split needs a file for training and another"),
    ({"files": "[a, b]", "split": "given", "test_rows": "2"}, "12: 2 of 2 rows for testing leave none"),
    ({"sample": "per-run"}, "11: only a synthetic set can draw a sample per run"),
    ({"upstream": None}, "5: its files need an 'upstream' or a 'page'"),
    (None, "1: it is empty"),
    ("datasets: [a]", "1: a catalogue is a mapping with the key 'datasets'"),
    ("datasets:\n  a: {b", "2: not YAML (expected ',' or '}', but got '<stream end>')"),
    ("datasets:\n  A b: {}", "2: a name consists of lower-case letters, digits, dots and hyphens"),
    ("datasets:\n  toy: {}\n  toy: {}", "3: the key 'toy' is listed twice"),
]


def test_a_mistake_in_a_catalogue_is_refused_with_its_line():
    def read(given):
        if isinstance(given, dict):
            facts = {name: value for name, value in {**FACTS, **given}.items() if value is not None}
            given = "datasets:\n  toy:\n" + "".join(f"    {k}: {v}\n" for k, v in facts.items())
        try:
            parse_catalog(given or "", "cat.yaml")
        except UserError as error:
            raise UserError(re.sub("data set '(toy|A b)': ", "", str(error))) from None

    assert find_wrong([(given, f"cat.yaml:{message}") for given, message in MISTAKES], read) == []


def test_tables_of_scikit_learn_are_read_as_it_reads_them(monkeypatch):
    for name in list(BUNDLED):
        X, labels = read_bundled(name)
        monkeypatch.setitem(BUNDLED, name, ("moved.csv", 0))
        other, its_labels = read_bundled(name)
        assert (X.tobytes(), labels.tobytes()) == (other.tobytes(), its_labels.tobytes()), name
