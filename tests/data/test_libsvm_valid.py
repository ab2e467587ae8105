"""Valid files: the reader takes what real files contain, and gives what scikit-learn's reader gives."""

import bz2
import gzip
import lzma
import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

from olbench import UserError, load_dataset
from olbench.data.dataset import fingerprint
from olbench.data.libsvm import read_libsvm
from tests.changes import examples
from tests.data.libsvm_reference import rows_of


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("scratch") / "data"


def parsed(path):
    X, labels, *_ = read_libsvm([path])
    return X.toarray(), labels


FORMS = {
    "plain": "+1 1:2 3:4\n-1 2:5\n",
    "comments": "# head\n+1 1:2 3:4 # note 9:9\n-1 2:5#tight\n#tail\n",
    "blank lines": "\n\n+1 1:2 3:4\n  \n-1 2:5\n\n",
    "spaces": "  +1   1:2\t3:4  \t\n-1 2:5 \n",
    "CRLF": "+1 1:2 3:4\r\n-1 2:5\r\n",
    "no last newline": "+1 1:2 3:4\n-1 2:5",
    "unsorted": "+1 3:4 1:2\n-1 2:5\n",
    "query ids": "+1 qid:1 1:2 3:4\n-1 qid:-2 2:5\n",
    "numbers": "1.0 1:+2.0 3:.4e1\n-1.000 2:5.\n",
    "zeros": "+1 1:2 2:0 3:4\n-1 1:0.0 2:5 3:-0\n",
    "leading zeros": "+01 01:002 0003:4\n-1 2:5\n",
    "byte order mark": "\ufeff+1 1:2 3:4\n-1 2:5\n",
    "zero-based": "+1 0:2 2:4\n-1 1:5\n",
    "exponents": "1e0 1:200e-2 3:0.04E+2\n-1 2:50e-1\n",
}


def test_every_way_to_write_the_same_examples_gives_the_same_arrays(libsvm_file, monkeypatch):
    for form, text in FORMS.items():
        for block in (8, 2 << 20):
            monkeypatch.setattr("olbench.data.libsvm.BLOCK", block)
            path = libsvm_file(text)
            X, labels, last_file, _ = read_libsvm([path, path])
            assert X.toarray().tolist() == [[2, 0, 4], [0, 5, 0]] * 2, (form, block)
            assert (labels.tolist(), last_file) == ([1, -1] * 2, 2), (form, block)


def test_the_fingerprint_is_of_the_content_alone(libsvm_file):
    packers = {"data": bytes, "data.gz": gzip.compress, "data.txt": bz2.compress, "data.gzip": lzma.compress}
    fingerprints = {
        load_dataset(libsvm_file(pack(text.encode()), f"{k}{name}")).fingerprint
        for k, text in enumerate(FORMS.values())
        for name, pack in packers.items()  # compression is told by the content, not by the name
    }
    assert len(fingerprints) == 1
    changed = load_dataset(libsvm_file("+1 1:2 3:4\n-1 2:5.000001\n", "changed"))
    swapped = load_dataset(libsvm_file("-1 1:2 3:4\n+1 2:5\n", "swapped"))
    assert len(fingerprints | {changed.fingerprint, swapped.fingerprint}) == 3


def test_the_fingerprint_is_the_same_for_both_storages():
    X = np.random.default_rng(2).integers(0, 3, (9000, 7)).astype(float)
    y = np.where(X[:, 0] > 1, 1.0, -1.0)
    assert fingerprint(X, y) == fingerprint(sp.csr_matrix(X), y)
    assert fingerprint(X, y) != fingerprint(X[:, ::-1], y)
    assert fingerprint(X, y) != fingerprint(np.hstack([X, np.zeros((9000, 1))]), y)


def test_one_zero_anywhere_makes_all_indices_start_at_zero(libsvm_file):
    one = libsvm_file("+1 1:1\n-1 3:1\n", "one")
    zero = libsvm_file("+1 0:7\n-1 1:1\n", "zero")
    assert read_libsvm([one])[0].shape == (2, 3)
    X, _, last_file, first = read_libsvm([one, zero])
    assert (X.shape, last_file, first) == ((4, 4), 2, 0)
    wide = libsvm_file("+1 1:1 9:0\n-1 # nothing\n")  # the last feature counts even where it is zero
    assert read_libsvm([wide])[0].shape == (2, 9)


def test_a_long_row_in_any_order_is_sorted_in_time(libsvm_file):
    indices = np.arange(1, 300_001)[::-1]
    text = "+1 " + " ".join(f"{i}:{i}" for i in indices) + "\n-1 1:1\n"
    started = time.perf_counter()
    X, *_ = read_libsvm([libsvm_file(text)])
    assert time.perf_counter() - started < 5
    assert X.shape[1] == 300_000
    assert (np.diff(X.indices[:300_000]) == 1).all()
    assert (X.data[:300_000] == X.indices[:300_000] + 1).all()


def numbers():
    exact = st.floats(allow_nan=False, allow_infinity=False).map(repr)
    digits = st.from_regex(r"\A[+-]?([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?\Z")
    return exact | digits.filter(lambda text: abs(float(text)) < float("inf"))


@given(texts=st.lists(numbers(), min_size=1, max_size=20))
@example(texts=["1.7976931348623157e308", "5e-324", "2.4703282292062327e-324", "2.47e-324", "1e-400"])
@example(["9007199254740993", "9007199254740992.5", "1e23", "8.5e22", "123456789012345678901234567890"])
@example(texts=["1.00000000000000011102230246251565404236316680908203125", "2.2250738585072011e-308"])
@examples(100)
def test_numbers_are_rounded_as_python_rounds_them(scratch, texts):
    expected = np.array([float(text) for text in texts])
    entries = [f"{k}:{text}" for k, text in enumerate(texts, 1)]
    for order in (entries, entries[::-1]):
        scratch.write_text("1 " + " ".join(order))
        assert read_libsvm([scratch])[0].data.tobytes() == expected.tobytes()


ENTRY = st.tuples(st.integers(0, 30), st.floats(-1e6, 1e6))
ROWS = st.lists(st.tuples(st.sampled_from([-1, 1]), st.lists(ENTRY, max_size=8)), min_size=1, max_size=20)
LABELS = ["+1", "-1", "0", "2", "1.0", "1e1", ".", "-", "+", "nan", "x", "qid:3", "qid:"]
ENTRIES = [
    "1:", ":1", "1:1", "2:0.5", "0:3", "3:1e5", "7:-1", "2147483646:1", "4294967297:1", "1:2:3", "4:1e",
]  # fmt: skip
VALUED = ["1:nan", "5:1e999", "5:1e-999", "1:0.1234567890123456789012"]
SPACES = [" ", "  ", "\t", "\n", "\r\n", "#", "# c\n", "\ufeff", "\0", "\u00e9"]
PIECES = st.sampled_from([*LABELS, *ENTRIES, *VALUED, *SPACES])


@st.composite
def damaged_files(draw):
    rows = [f"{label} " + " ".join(f"{j}:{v:g}" for j, v in entries) for label, entries in draw(ROWS)]
    text = "\n".join(rows).encode()
    begin = draw(st.integers(0, len(text)))
    end = draw(st.integers(begin, min(len(text), begin + 5)))
    return text[:begin] + draw(st.binary(max_size=4)) + text[end:]


FUZZED = st.lists(PIECES, max_size=30).map("".join).map(str.encode) | st.binary(max_size=60) | damaged_files()


@given(content=FUZZED)
@pytest.mark.fuzz
@examples(400)
def test_odd_and_damaged_files_are_read_as_the_plain_reader_does_or_refused(scratch, content):
    if content[:2] in (b"\x1f\x8b", b"PK") or content[:3] == b"BZh":
        return
    scratch.write_bytes(content)
    expected = rows_of(content)
    for block in (5, 64, 2 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("olbench.data.libsvm.BLOCK", block)
            try:
                X, labels, *_ = read_libsvm([scratch])
            except UserError:
                assert expected is None
                continue
        assert expected is not None
        assert labels.tolist() == [label for label, _ in expected]
        first = 0 if any(0 in entries for _, entries in expected) else 1
        for i, (_, entries) in enumerate(expected):
            span = slice(X.indptr[i], X.indptr[i + 1])
            found = dict(zip((X.indices[span] + first).tolist(), X.data[span].tolist(), strict=True))
            assert found == entries
            assert (np.diff(X.indices[span]) > 0).all()
