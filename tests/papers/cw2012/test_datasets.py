"""Text as examples: posts, reviews and counted features, from small tar archives in any compression."""

import io
import lzma
import re
import tarfile
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from olbench.data.catalog import TextRecipe, find, parse_catalog
from olbench.data.entries import load_entry
from olbench.data.fetch import fetch
from olbench.papers.cw2012.datasets import (
    count_terms,
    keep_headers,
    read_feature_counts,
    read_members,
    read_posts,
    read_reviews,
)
from tests.refusals import find_wrong, refusal


@pytest.fixture
def archive(tmp_path):
    def pack(files, name="data.tar.xz", compression="xz"):
        path = tmp_path / name
        with tarfile.open(path, f"w:{compression}") as tar:
            for member, content in files.items():
                raw = content if isinstance(content, bytes) else content.encode()
                info = tarfile.TarInfo(member)
                info.size = len(raw)
                tar.addfile(info, io.BytesIO(raw))
        return path

    return pack


def entry(*patterns, labels=None, **recipe):
    members = labels or dict.fromkeys(patterns)
    return replace(find("news-sci"), members=members, text=TextRecipe(**recipe))


FILES = {"top/b/2": "two", "top/a/1": "one", "top/b/10": "ten", "top/c/3": "three"}


def test_files_are_ordered_by_pattern_and_name_in_any_compression(archive):
    expected = [("*/b/*", "top/b/10", b"ten"), ("*/b/*", "top/b/2", b"two"), ("*/a/*", "top/a/1", b"one")]
    for compression in ("", "gz", "bz2", "xz"):
        for files in (FILES, dict(reversed(FILES.items()))):
            members = read_members(archive(files, "data", compression), entry("*/b/*", "*/a/*"))
            assert [(m.pattern, m.name, m.content) for m in members] == expected


def test_folders_and_hidden_files_do_not_match_and_links_and_devices_are_refused(tmp_path):
    def read(*files, pattern="top/a*"):
        with tarfile.open(tmp_path / "data.tar", "w") as tar:
            for name, kind in files:
                info = tarfile.TarInfo(name)
                info.type, info.linkname = kind, "top/a/2"
                tar.addfile(info, io.BytesIO())
        return [member.name for member in read_members(tmp_path / "data.tar", entry(pattern))]

    hidden = ("top/a/.DS_Store", tarfile.REGTYPE)
    assert read(("top/a", tarfile.DIRTYPE), hidden, ("top/a/1", tarfile.REGTYPE)) == ["top/a/1"]
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
        assert "top/a/1 is a link or a device, not a file" in refusal(read, ("top/a/1", kind))


def test_a_broken_archive_is_refused(archive, tmp_path):
    whole = archive({"top/a/1": b"x" * 10_000}, "a.tar", "").read_bytes()
    damaged = "is not a tar archive, or it is damaged"
    cases = [
        *((whole[:keep], "*/a/*", damaged) for keep in (0, 100, 511, 600, 5000)),
        (lzma.compress(whole)[:-20], "*/a/*", "its xz data is damaged or truncated"),
        (b"+1 1:1\n" * 1000, "*", damaged),
        (whole, "*/x/*", "no file of the archive matches '*/x/*'"),
    ]

    def read(content, pattern):
        (tmp_path / "cut.tar").write_bytes(content)
        read_members(tmp_path / "cut.tar", entry("*", pattern))

    assert find_wrong(cases, read) == []
    assert "cannot read /none: No such file" in refusal(read_members, "/none", entry("*"))


POSTS = {
    "news/train/pc/2": "From: b\nSubject: Re: Disk\n\nThe disk\tis FULL\n",
    "news/train/pc/1": "Lines: 3\nFrom: a\nOrganization: x\n\nDisk disk\n",
    "news/test/mac/9": "From: c\n\nMouse\n",
    "news/test/other/9": "From: d\n\nIgnored\n",
}
LABELS = {"*/pc/*": 1, "*/mac/*": -1}


def test_a_post_is_a_row_and_a_folder_is_a_class(archive):
    recipe = {"headers": ("From", "Subject"), "lower": True, "values": "binary"}
    X, labels = read_posts(archive(POSTS), entry(labels=LABELS, **recipe))
    assert labels.tolist() == [1, 1, -1]
    words = sorted(["from:", "a", "b", "c", "subject:", "re:", "disk", "the", "is", "full", "mouse"])
    texts = ["from: a disk", "from: b subject: re: disk the is full", "from: c mouse"]
    assert (X.toarray() == [[word in text.split() for word in words] for text in texts]).all()
    few = {"*/pc/1": 1, "*/mac/*": -1}
    X, _ = read_posts(archive(POSTS), entry(labels=few))
    assert X.shape == (2, 10)
    X, _ = read_posts(archive(POSTS), entry(labels=few, headers=(), lower=True))
    assert X.toarray().tolist() == [[2, 0], [0, 1]]


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


def test_a_review_is_a_line_with_words_and_pairs(archive):
    X, labels = read_reviews(archive(REVIEWS), entry("*.train", "*.test", ngrams=2))
    assert labels.tolist() == [1, 0, 0]
    # bad, book, good, then the pairs in the order of their words
    assert X.toarray().tolist() == [[0, 1, 2, 0, 0, 1, 1], [1, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0]]


def test_the_split_into_words_does_not_depend_on_the_encoding(archive):
    lines = "1\tna\u00efve caf\u00e9\n".encode("latin-1") + "0\tna\u00efve\u00a0x\u0085y\n".encode()
    X, _ = read_reviews(archive({"a": lines}), entry("a"))
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


def test_counted_features_are_taken_as_they_are(archive):
    sides = ("*/positive.review", "*/negative.review")
    X, labels = read_feature_counts(archive(FEATURES), entry(*sides))
    assert labels.tolist() == [1, -1, -1]
    assert X.toarray().tolist() == [[1, 0, 2], [0, 1, 1], [0, 0, 0]]
    binary, _ = read_feature_counts(archive(FEATURES), entry(*sides, values="binary"))
    assert binary.toarray().tolist() == [[1, 0, 1], [0, 1, 1], [0, 0, 0]]


BROKEN = [
    (read_reviews, "1\tfine\n\n1 no tab\n", "3: there is no tab after the label"),
    *(
        (read_reviews, content, f"1: label '{label}' is not a whole number")
        for content, label in (("one\tx", "one"), ("\tx", ""), (b"\xff\t", "\\xff"), ("0.5\tx", "0.5"))
    ),
    (read_feature_counts, "good:1\n", "1: the line ends with 'good:1' instead of #label#:negative or"),
    (read_feature_counts, "good:1 #label#:neutral\n", "1: the line ends with '#label#:neutral' instead"),
    *(
        (read_feature_counts, f"{pair} #label#:positive", f"1: '{pair}' is not a feature:count pair")
        for pair in ("good", "good:x", "good:0", ":1")
    ),
    (
        read_feature_counts,
        "a:1 #label#:positive\nb:1 a:1 b:2 #label#:negative",
        "2: 'b:2' gives a feature a second time",
    ),
]


def test_a_broken_line_is_refused_with_its_place(archive):
    def read_text(read, content):
        read(archive({"a": content}), entry("a"))

    cases = [(read, content, f"{archive({})}: a:{words}") for read, content, words in BROKEN]
    empty = f"{archive({})}: a contains no examples"
    cases += [(read_reviews, " \n\r\n", empty), (read_feature_counts, "", empty)]
    assert find_wrong(cases, read_text) == []


TOY = """
datasets:
  toy:
    title: A toy
    format: reviews
    files: {files}
    page: https://example.org/
    members: ["*.train", "*.test"]
    text: {{ngrams: 2, values: counts}}
    preprocess: {preprocess}
    rows: 3
    features: 7
    labels: {{-1: 2, 1: 1}}
    source: made up
"""


def make_toy(preprocess="[]", files="toy.tar.gz"):
    return parse_catalog(TOY.format(preprocess=preprocess, files=files), "toy.yaml")["toy"]


def test_an_archive_is_loaded_and_cached_and_its_duplicates_are_dropped(archive, cache_folder, monkeypatch):
    path = archive({**REVIEWS, "data/books.test": "1\tbad\n0\tbook bad good\n1\tgood good book\n"})
    first = load_entry(make_toy("drop-duplicates"), [path])
    monkeypatch.setattr("olbench.data.entries.read_examples", lambda *_: pytest.fail("parsed again"))
    second = load_entry(make_toy("drop-duplicates"), [path])
    assert first.fingerprint == second.fingerprint
    assert second.y.tolist() == [1, -1, -1]
    assert second.test_from is None


def test_a_mirror_has_an_archive_in_any_compression(archive, tmp_path, cache_folder):
    toy, mirror = make_toy(files="text/toy.tar.gz"), tmp_path / "mirror" / "text"
    mirror.mkdir(parents=True)
    archive({**REVIEWS, "data/books.test": "1\tnew\n"}, "toy.tar.xz").rename(mirror / "toy.tar.xz")
    assert "differs from the catalogue: " in refusal(fetch, toy, str(mirror.parent))
    archive(REVIEWS, "toy.tar.xz").rename(mirror / "toy.tar.xz")
    assert fetch(toy, str(mirror.parent)) == [cache_folder / "downloads" / "text" / "toy.tar.xz"]
