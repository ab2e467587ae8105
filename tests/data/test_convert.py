"""Text of any size becomes the same cached arrays in blocks, in bounded memory, all or nothing."""

import bz2
import gzip
import lzma
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from olbench import UserError, load_dataset
from olbench.data import cache, entries
from olbench.data.readers.libsvm import read_libsvm

RNG = np.random.default_rng(13)


def lines(n, d, density, labels=(-1, 1), first=1):
    """Return LIBSVM text with explicit zeros, unsorted rows, comments, blank lines and empty rows."""
    text = []
    for k in range(n):
        columns = RNG.permutation(np.flatnonzero(RNG.random(d) < density))
        values = RNG.standard_normal(columns.size).round(3) * (RNG.random(columns.size) < 0.9)
        entries = " ".join(f"{j + first}:{v:g}" for j, v in zip(columns, values, strict=True))
        text.append(f"{RNG.choice(labels)} {entries}" + (" # note" if k % 7 == 0 else ""))
        if k % 11 == 0:
            text.append("# a comment" if k % 2 else "  ")
    return "\n".join(text) + "\n"


CASES = {
    "sparse": lines(700, 300, 0.03),
    "dense": lines(700, 12, 0.9),
    "from zero": lines(300, 60, 0.1, first=0),
    "other labels": lines(300, 60, 0.1, labels=(1, 2)),
    "empty rows": "+1\n-1\n+1 3:0\n",
}


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("olbench.data.readers.libsvm.BLOCK", 64)
    monkeypatch.setattr("olbench.data.readers.convert.AT_ONCE", 37)


def whole(path, monkeypatch, **labels):
    """Return the data set as reading it in one piece into memory gives it."""
    with monkeypatch.context() as patch:
        patch.setattr("olbench.data.entries._convert", lambda *_: None)
        patch.setattr("olbench.data.cache.load", lambda *_: None)
        return load_dataset(path, **labels)


def assert_same(one, other):
    assert one.storage == other.storage
    assert one.X.shape == other.X.shape
    if one.storage == "sparse":
        for name in ("data", "indices", "indptr"):
            a, b = getattr(one.X, name), getattr(other.X, name)
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    else:
        np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.y, other.y)


@pytest.mark.parametrize("case", CASES)
def test_blocks_give_the_arrays_of_the_whole(libsvm_file, small_blocks, monkeypatch, case):
    path = libsvm_file(CASES[case])
    expected = whole(path, monkeypatch)
    data = load_dataset(path)
    assert_same(data, expected)
    assert cache.is_mapped(data.y)
    assert load_dataset(path).fingerprint == data.fingerprint


def test_rows_with_other_labels_are_dropped_as_they_come(libsvm_file, small_blocks, monkeypatch):
    path = libsvm_file(lines(400, 50, 0.1, labels=(1, 2, 3, 4)))
    for labels in ({"positive": 1}, {"positive": [1, 3]}, {"positive": [1, 4], "negative": 2}):
        assert_same(load_dataset(path, **labels), whole(path, monkeypatch, **labels))


@pytest.mark.parametrize("labels", [{}, {"positive": 9}, {"positive": 1, "negative": 1}, {"negative": 1}])
def test_wrong_labels_are_refused_as_before(libsvm_file, small_blocks, monkeypatch, labels):
    path = libsvm_file(lines(50, 50, 0.1, labels=(1, 2, 3)))
    with pytest.raises(UserError) as expected:
        whole(path, monkeypatch, **labels)
    with pytest.raises(UserError) as found:
        load_dataset(path, **labels)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("cut", [*range(60, 400, 23)])
def test_a_file_that_is_cut_gives_the_usual_error_with_its_line(libsvm_file, small_blocks, cut, cache_folder):
    text = "".join(f"{(-1) ** k:+d} {k + 1}:1.5 {k + 2}:2\n" for k in range(30))[:cut]
    path = libsvm_file(text)
    message = refusal(lambda: read_libsvm([path]))
    assert refusal(lambda: load_dataset(path)) == message
    if message:
        assert f"{path}:{text.count(chr(10)) + 1}:" in message
        assert list(cache_folder.glob("parsed/*")) == []
    else:
        assert load_dataset(path).y.size == len(text.splitlines())


def refusal(read):
    """Return the message of a UserError, or nothing."""
    try:
        read()
    except UserError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_text_is_read_in_blocks_too(libsvm_file, small_blocks, pack):
    plain, packed = libsvm_file(CASES["sparse"]), libsvm_file(pack(CASES["sparse"].encode()), "packed")
    assert load_dataset(packed).fingerprint == load_dataset(plain).fingerprint
    path = libsvm_file(pack(CASES["sparse"].encode())[:-40], "cut")
    with pytest.raises(UserError, match=r"cut: its .* data is damaged or truncated"):
        load_dataset(path)


PEAK = """
import sys
from pathlib import Path
from olbench import load_dataset
import olbench.data.readers.convert
def anonymous():
    fields = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(fields["RssAnon"].split()[0]) * 1024
import threading, time
peak, done = [0], threading.Event()
def watch():
    while not done.wait(0.005):
        peak[0] = max(peak[0], anonymous())
load_dataset(sys.argv[1])
before = anonymous()
threading.Thread(target=watch, daemon=True).start()
data = load_dataset(sys.argv[2])
done.set()
print(peak[0] - before, data.X.nnz * 12)
"""


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the system does not tell anonymous memory"
)
def test_memory_does_not_grow_with_the_file(libsvm_file):
    warm = libsvm_file("+1 1:1\n-1 2:2\n", "warm")
    row = " ".join(f"{7 * j}:{j % 9}.5" for j in range(1, 400))
    large = libsvm_file(f"+1 {row}\n-1 {row} 10000000:1\n" * 6000, "large")
    command = [sys.executable, "-c", PEAK, str(warm), str(large)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    held, arrays = map(int, done.stdout.split())
    assert arrays > 55e6
    assert held < 30e6


SLOW = """
import sys, time
from olbench import load_dataset
import signal
# A test run in the background of a shell has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
from olbench.data.readers import convert
append = convert._Conversion._append
def slowly(self, block):
    append(self, block)
    print("block", flush=True)
    time.sleep(0.2)
convert._Conversion._append = slowly
load_dataset(sys.argv[1])
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_conversion_that_is_killed_leaves_no_entry_and_its_draft_is_removed(
    libsvm_file, cache_folder, number, monkeypatch
):
    path = libsvm_file("".join(f"{(-1) ** k:+d} {k % 99 + 1}:1.5\n" for k in range(500_000)))
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout.readline() == b"block\n"
    process.send_signal(number)
    process.wait(20)
    process.stdout.close()
    left = [folder.name for folder in cache_folder.glob("parsed/*")]
    assert all(name.startswith(".draft-") for name in left)
    assert len(left) == (number == signal.SIGKILL)
    for folder in cache_folder.glob("parsed/*"):
        os.utime(folder, (time.time() - 3600,) * 2)
    assert load_dataset(path).y.size == 500_000
    (entry,) = cache_folder.glob("parsed/*")
    assert not entry.name.startswith(".")


def test_a_draft_at_work_is_left_alone(cache_folder):
    with cache.open_draft() as first:
        os.utime(first.folder, (1, 1))
        with cache.open_draft():
            assert first.folder.is_dir()
    assert list(cache_folder.glob("parsed/*")) == []


def test_arrays_that_grow_are_ordinary_npy_files(cache_folder):
    with cache.open_draft() as draft:
        table = draft.start("table", np.float64, 3)
        for k in range(5):
            table.append(np.full((k, 3), float(k)))
        assert draft.finish("table").shape == (10, 3)
        draft.add("empty", np.empty(0, np.int32))
        assert np.load(draft.folder / "table.npy")[-1].tolist() == [4, 4, 4]
        assert np.load(draft.folder / "empty.npy").dtype == np.int32


def test_a_large_file_without_room_in_the_cache_is_refused(libsvm_file, tmp_path, monkeypatch):
    path = libsvm_file(CASES["sparse"])
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("OLBENCH_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr("olbench.memory.available_memory", lambda: 1000)
    with pytest.raises(UserError, match=r"more than the 0\.0 MiB of memory .* set OLBENCH_CACHE"):
        load_dataset(path)


def test_offsets_of_64_bits_do_not_make_the_indices_64_bits_long():
    from olbench.data.readers.rows import csr
    from olbench.learn.examples import as_examples

    data, indices, indptr = np.array([1.0, 2.0]), np.array([3, 1], np.int32), np.array([0, 1, 1, 2])
    X = csr(data, indices, indptr, 5)
    examples = as_examples(X)
    assert np.shares_memory(X.indices, indices)
    assert np.shares_memory(examples.columns, indices)
    assert X[1:3].toarray().tolist() == [[0, 0, 0, 0, 0], [0, 2, 0, 0, 0]]
    for wrong in ([3, 5], [3, -1]):
        with pytest.raises(UserError, match="not a valid sparse matrix: indices must be"):
            as_examples(csr(data, np.array(wrong, np.int32), indptr, 5))


def test_the_arrays_are_those_of_earlier_versions(libsvm_file):
    """The version is part of the names of all entries: it changes only with the arrays."""
    data = load_dataset(libsvm_file("+1 1:2 30:4\n-1 20:5\n" * 50))
    assert entries.READER_VERSION == 1
    assert data.fingerprint == "eefb5aa3876011d7651d0d2865159aaf"
    assert sp.issparse(data.X)
