"""Text as examples: posts, reviews and counted features, from small archives."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from olbench.data.catalog import TextRecipe, parse_catalog
from olbench.data.entries import load_entry
from olbench.data.fetch import fetch
from olbench.papers.cw2012.documents import (
    count_terms,
    keep_headers,
    read_feature_counts,
    read_posts,
    read_reviews,
)
from tests.refusals import find_wrong, refusal

POSTS = {
    "news/train/pc/2": "From: b\nSubject: Re: Disk\n\nThe disk\tis FULL\n",
    "news/train/pc/1": "Lines: 3\nFrom: a\nOrganization: x\n\nDisk disk\n",
    "news/test/mac/9": "From: c\n\nMouse\n",
    "news/test/other/9": "From: d\n\nIgnored\n",
}
LABELS = {"*/pc/*": 1, "*/mac/*": -1}


def columns(*words):
    return {word: k for k, word in enumerate(sorted(words))}


def test_a_post_is_a_row_and_a_folder_is_a_class(archive):
    recipe = TextRecipe(headers=("From", "Subject"), lower=True, values="binary")
    X, labels = read_posts(archive(POSTS), LABELS, recipe)
    assert labels.tolist() == [1, 1, -1]
    words = columns("from:", "a", "b", "c", "subject:", "re:", "disk", "the", "is", "full", "mouse")
    expected = np.zeros((3, len(words)))
    for row, text in enumerate(["from: a disk", "from: b subject: re: disk the is full", "from: c mouse"]):
        expected[row, [words[word] for word in text.split()]] = 1
    assert (X.toarray() == expected).all()


def test_counts_case_and_headers_are_kept_unless_the_recipe_says_otherwise(archive):
    X, _ = read_posts(archive(POSTS), {"*/pc/1": 1, "*/mac/*": -1}, TextRecipe())
    words = columns("Lines:", "3", "From:", "a", "Organization:", "x", "Disk", "disk", "c", "Mouse")
    assert X.shape == (2, len(words))
    assert X[0, words["Disk"]] == X[0, words["disk"]] == X[0, words["Lines:"]] == 1
    lower, _ = read_posts(archive(POSTS), {"*/pc/1": 1, "*/mac/*": -1}, TextRecipe(headers=(), lower=True))
    assert lower.toarray().tolist() == [[2, 0], [0, 1]]


def test_headers_are_kept_by_name_with_their_continuation():
    for post, names, kept in (
        (b"A: 1\nB: 2\n\nbody\n\nmore", ["B"], b"B: 2\n\nbody\n\nmore"),
        (b"A: 1\n 2\n\t3\nB: 4\n 5\n\nbody", ["a"], b"A: 1\n 2\n\t3\n\nbody"),
        (b"A: 1\r\nB: 2\r\n\r\nbody", ["B"], b"B: 2\n\nbody"),
        (b"A: 1\n\nA: quoted", [], b"\nA: quoted"),
        (b"AB: 1\n\nbody", ["A"], b"\nbody"),
        (b"A: 1", ["A"], b"A: 1\n"),
    ):
        assert keep_headers(post, names) == kept, post


REVIEWS = {"data/books.train": "1\tgood good book\n0\tbad\n", "data/books.test": "0\tbook bad good\n\n"}
PATTERNS = ["*.train", "*.test"]


def test_a_review_is_a_line_with_words_and_pairs(archive):
    X, labels = read_reviews(archive(REVIEWS), PATTERNS, TextRecipe(ngrams=2))
    assert labels.tolist() == [1, 0, 0]
    # bad, book, good, then the pairs in the order of their words
    assert X.toarray().tolist() == [[0, 1, 2, 0, 0, 1, 1], [1, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0]]
    binary, _ = read_reviews(archive(REVIEWS), PATTERNS, TextRecipe(ngrams=2, values="binary"))
    assert (binary.toarray() == np.minimum(X.toarray(), 1)).all()


def test_the_split_into_words_does_not_depend_on_the_encoding(archive):
    lines = (
        "1\tna\u00efve caf\u00e9".encode("latin-1") + b"\n" + "0\tna\u00efve\u00a0x\u0085y".encode() + b"\n"
    )
    X, _ = read_reviews(archive({"a": lines}), ["a"], TextRecipe())
    # Neither a no-break space nor a C1 control separates words.
    assert sorted(X.toarray().tolist()) == [[0, 1, 0], [1, 0, 1]]


words = st.text("aAbB\u00e9.", min_size=1, max_size=3)
texts = st.lists(st.lists(words, max_size=6).map(" ".join), min_size=1, max_size=8)


@settings(deadline=None)
@given(texts, st.sampled_from([1, 2]))
def test_counts_are_those_of_scikit_learn(documents, ngrams):
    recipe = TextRecipe(ngrams=ngrams)
    ours = count_terms((text.encode().split() for text in documents), recipe).toarray()
    if not any(text.split() for text in documents):
        assert not ours.any()
        return
    vectorizer = CountVectorizer(lowercase=False, tokenizer=re.compile(r"\S+").findall, token_pattern=None)
    vectorizer.set_params(ngram_range=(1, ngrams))
    theirs = vectorizer.fit_transform(documents).toarray()
    names = [tuple(name.encode().split()) for name in vectorizer.get_feature_names_out()]
    order = sorted(range(len(names)), key=lambda k: (len(names[k]), names[k]))
    assert (ours == theirs[:, order]).all()


FEATURES = {
    "acl/books/positive.review": "good:2 a:b:1 #label#:positive\n",
    "acl/books/negative.review": "bad:1 good:1 #label#:negative\n#label#:negative\n",
}
SIDES = ["*/positive.review", "*/negative.review"]


def test_counted_features_are_taken_as_they_are(archive):
    X, labels = read_feature_counts(archive(FEATURES), SIDES, TextRecipe())
    assert labels.tolist() == [1, -1, -1]
    assert X.toarray().tolist() == [[1, 0, 2], [0, 1, 1], [0, 0, 0]]
    binary, _ = read_feature_counts(archive(FEATURES), SIDES, TextRecipe(values="binary"))
    assert binary.toarray().tolist() == [[1, 0, 1], [0, 1, 1], [0, 0, 0]]


PAIR = "is not a feature:count pair"
BROKEN = [
    (read_reviews, "1\tfine\n\n1 no tab\n", ": a:3: there is no tab after the label"),
    (read_reviews, "one\tx\n", ": a:1: label 'one' is not a whole number"),
    (read_reviews, "\tx\n", ": a:1: label '' is not a whole number"),
    (read_reviews, b"\xff\x00\tx\n", ": a:1: label '\\xff\\x00' is not a whole number"),
    (read_reviews, "0.5\tx\n", ": a:1: label '0.5' is not a whole number"),
    (read_reviews, " \n\r\n", ": a contains no examples"),
    (read_feature_counts, "good:1\n", ": a:1: the line ends with 'good:1' instead of #label#:negative or"),
    (read_feature_counts, "good:1 #label#:neutral\n", ": a:1: the line ends with '#label#:neutral' instead"),
    (read_feature_counts, "good #label#:positive", f": a:1: 'good' {PAIR}"),
    (read_feature_counts, "good:x #label#:positive", f": a:1: 'good:x' {PAIR}"),
    (read_feature_counts, "good:0 #label#:positive", f": a:1: 'good:0' {PAIR}"),
    (read_feature_counts, ":1 #label#:positive", f": a:1: ':1' {PAIR}"),
    (
        read_feature_counts,
        "a:1 #label#:positive\nb:1 a:1 b:2 #label#:negative",
        ": a:2: 'b:2' gives a feature a second time",
    ),
    (read_feature_counts, "", ": a contains no examples"),
]


def test_a_broken_line_is_refused_with_its_place(archive):
    def read_text(read, content):
        read(archive({"a": content}), ["a"], TextRecipe())

    cases = [(read, content, f"{archive({})}{words}") for read, content, words in BROKEN]
    assert find_wrong(cases, read_text) == []


TOY = """
datasets:
  toy:
    title: A toy
    format: reviews
    files: toy.tar.gz
    page: https://example.org/
    members: ["*.train", "*.test"]
    text: {{ngrams: 2, values: counts}}
    preprocess: {preprocess}
    rows: {rows}
    features: 7
    labels: {labels}
    source: made up
"""


def test_an_archive_is_loaded_cached_and_checked_like_any_other_file(archive, cache_folder, monkeypatch):
    entry = parse_catalog(TOY.format(preprocess="[]", rows=3, labels="{-1: 2, 1: 1}"), "toy.yaml")["toy"]
    path = archive(REVIEWS, "toy.tar.xz")
    first = load_entry(entry, [path])
    monkeypatch.setattr("olbench.data.entries.read_examples", lambda *_: pytest.fail("parsed again"))
    second = load_entry(entry, [path])
    assert first.fingerprint == second.fingerprint
    assert (first.X.toarray() == second.X.toarray()).all()
    assert second.y.tolist() == [1, -1, -1]
    assert second.test_from is None


def test_duplicates_are_dropped_whatever_their_label(archive, cache_folder):
    files = {**REVIEWS, "data/books.test": "1\tbad\n0\tbook bad good\n1\tgood good book\n"}
    text = TOY.format(preprocess="drop-duplicates", rows=3, labels="{-1: 2, 1: 1}")
    data = load_entry(parse_catalog(text, "toy.yaml")["toy"], [archive(files)])
    assert data.y.tolist() == [1, -1, -1]


def test_a_mirror_has_an_archive_in_any_compression(archive, tmp_path, cache_folder):
    text = TOY.format(preprocess="[]", rows=3, labels="{-1: 2, 1: 1}")
    entry = parse_catalog(text.replace("toy.tar.gz", "text/toy.tar.gz"), "toy.yaml")["toy"]
    mirror = tmp_path / "mirror" / "text"
    mirror.mkdir(parents=True)
    archive({**REVIEWS, "data/books.test": "1\tnew\n"}, "toy.tar.xz").rename(mirror / "toy.tar.xz")
    assert "differs from the catalogue: " in refusal(fetch, entry, str(mirror.parent))
    archive(REVIEWS, "toy.tar.xz").rename(mirror / "toy.tar.xz")
    assert fetch(entry, str(mirror.parent)) == [cache_folder / "downloads" / "text" / "toy.tar.xz"]
