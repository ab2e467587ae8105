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

from olbench import load_dataset
from olbench.data import cache
from olbench.data.formats import FORMATS
from olbench.data.libsvm import read_libsvm
from olbench.data.scale import fit_scale
from tests.data.test_cache import arrays
from tests.refusals import refusal

RNG = np.random.default_rng(13)


def lines(n, d, density, labels=(-1, 1), first=1):
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
    monkeypatch.setattr("olbench.data.libsvm.BLOCK", 64)
    monkeypatch.setattr("olbench.data.dataset.BLOCK_VALUES", 90)
    monkeypatch.setattr("olbench.data.dataset.MOST_TAKEN", 700)


def whole(path, monkeypatch, **labels):
    with monkeypatch.context() as patch:
        patch.setattr("olbench.data.entries._convert", lambda *_: None)
        patch.setattr("olbench.data.cache.load", lambda *_: None)
        return load_dataset(path, **labels)


def assert_same(one, other):
    assert (one.storage, one.X.shape) == (other.storage, other.X.shape)
    for a, b in zip(arrays(one), arrays(other), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_blocks_give_the_arrays_of_the_whole_and_drop_rows_with_other_labels(
    libsvm_file, small_blocks, monkeypatch
):
    path = libsvm_file(lines(400, 50, 0.1, labels=(1, 2, 3, 4)))
    for labels in ({"positive": 1}, {"positive": [1, 3]}, {"positive": [1, 4], "negative": 2}):
        assert_same(load_dataset(path, **labels), whole(path, monkeypatch, **labels))
    for text in CASES.values():
        path = libsvm_file(text)
        expected = whole(path, monkeypatch)
        data = load_dataset(path)
        assert_same(data, expected)
        assert cache.is_mapped(data.y)
        for pack in (gzip.compress, bz2.compress, lzma.compress):
            packed = libsvm_file(pack(text.encode()), "packed")
            assert load_dataset(packed).fingerprint == data.fingerprint


def test_what_is_refused_in_one_piece_is_refused_in_the_same_words(libsvm_file, small_blocks, monkeypatch):
    path = libsvm_file(lines(50, 50, 0.1, labels=(1, 2, 3)))
    for labels in ({}, {"positive": 9}, {"positive": 1, "negative": 1}, {"negative": 1}):
        message = refusal(whole, path, monkeypatch, **labels)
        assert refusal(load_dataset, path, **labels) == message
    text = "".join(f"{(-1) ** k:+d} {k + 1}:1.5 {k + 2}:2\n" for k in range(30))
    for cut in (text.index(" 9:") + 3, text.index("20:2") + 3, len(text) - 2):  # in the middle of a pair
        path = libsvm_file(text[:cut], f"cut{cut}")
        message = refusal(read_libsvm, [path])
        assert refusal(load_dataset, path) == message
        assert f"{path}:{text[:cut].count(chr(10)) + 1}:" in message


@pytest.mark.parametrize("scale", ["", "unit", "minmax", "standard", "running"])
def test_blocks_are_scaled_as_the_whole(scale, libsvm_file, small_blocks, monkeypatch):
    one = "".join(f"{(-1) ** k} 1:{k % 7 + 0.1}\n" for k in range(500))
    shifts = {"flips": "+1 1:3\n-1 1:3 2:1\n" * 40, "one": one, "tiny": "+1 1:5e-324 2:1e300\n-1 1:1\n" * 9}
    for name, text in (CASES | shifts).items():
        if (scale, name) == ("running", "tiny"):
            continue  # refused
        path = libsvm_file(text, name)
        for bias in (False, True):
            data = load_dataset(path, scale=scale, bias=bias)
            with monkeypatch.context() as patch:
                patch.setattr("olbench.data.dataset.BLOCK_VALUES", 1 << 20)
                assert_same(data, whole(path, monkeypatch, scale=scale, bias=bias))
            assert cache.is_mapped(data.y)


@pytest.mark.parametrize("d", [1, 2, 3, 40])
def test_features_are_fitted_to_blocks_as_numpy_fits_them_to_all_rows(d, monkeypatch):
    X = RNG.standard_normal((3000, d)) * 10.0 ** RNG.integers(-3, 9, d) + RNG.integers(0, 9, d)
    X *= RNG.random((3000, d)) < 0.7
    expected = X.mean(axis=0), 1 / X.std(axis=0)
    for rows in (X, sp.csr_matrix(X)):
        for size in (1 << 20, 1000, 1):
            monkeypatch.setattr("olbench.data.dataset.BLOCK_VALUES", size)
            for ours, numpys in zip(fit_scale(rows, "standard"), expected, strict=True):
                np.testing.assert_allclose(ours, numpys, rtol=1e-15)
            shift, factor = fit_scale(rows, "minmax")
            np.testing.assert_array_equal(shift, X.min(axis=0))
            np.testing.assert_array_equal(factor, 1 / (X.max(axis=0) - X.min(axis=0)))


PEAK = """
import sys
from olbench import load_dataset
import olbench.data.libsvm
def anonymous():
    fields = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(fields["RssAnon"].split()[0]) * 1024
import threading, time
peak, done = [0], threading.Event()
def watch():
    while not done.wait(0.005):
        peak[0] = max(peak[0], anonymous())
from pathlib import Path
from olbench.data.look import look_at
from olbench.data.spec import Reading
def read(path):
    look_at(path, Reading())
    return load_dataset(path, scale="unit", bias=True)
read(Path(sys.argv[1]))
before = anonymous()
threading.Thread(target=watch, daemon=True).start()
data = read(Path(sys.argv[2]))
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
    assert held < 60e6


SLOW = """
import sys, time
from olbench import load_dataset
import signal
# A test run in the background of a shell has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
from olbench.data.libsvm import BlockReader
blocks = BlockReader.blocks
def slowly(*given):
    for block in blocks(*given):
        yield block
        print("block", flush=True)
        time.sleep(0.2)
BlockReader.blocks = slowly
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


def test_the_arrays_are_those_of_earlier_versions(libsvm_file):
    """The version is part of the names of all entries: it changes only with the arrays."""
    data = load_dataset(libsvm_file("+1 1:2 30:4\n-1 20:5\n" * 50))
    assert FORMATS["libsvm"].version == 1
    assert data.fingerprint == "eefb5aa3876011d7651d0d2865159aaf"
    assert sp.issparse(data.X)
