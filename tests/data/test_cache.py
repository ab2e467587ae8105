"""The cache: a second load parses nothing; damage, haste, a full disk or a locked folder lose no data."""

import copy
import os
import subprocess
import sys

import numpy as np
import pytest

from olbench import load_dataset
from olbench.data import cache

SPARSE = "+1 1:2 30:4\n-1 20:5\n" * 50
DENSE = "+1 1:2 2:4\n-1 1:5 2:7\n" * 50


@pytest.fixture(params=[SPARSE, DENSE], ids=["sparse", "dense"])
def path(request, libsvm_file):
    return libsvm_file(request.param)


@pytest.fixture
def no_parsing(monkeypatch):
    def forbid():
        for name in ("read_examples", "_convert"):
            monkeypatch.setattr(f"olbench.data.entries.{name}", lambda *_: pytest.fail("parsed again"))

    return forbid


def arrays(data):
    """Return all arrays of a data set, which the cache maps."""
    X = [data.X] if isinstance(data.X, np.ndarray) else [data.X.data, data.X.indices, data.X.indptr]
    return [*X, data.y]


def same(one, other):
    pairs = zip(arrays(one), arrays(other), strict=True)
    return one.fingerprint == other.fingerprint and all(np.array_equal(*pair) for pair in pairs)


def entry_folder(folder):
    (found,) = (folder / "parsed").iterdir()
    return found


def test_a_second_load_parses_nothing_and_maps_the_same_pages(path, no_parsing):
    first = load_dataset(path)
    no_parsing()
    second = load_dataset(path)
    assert same(first, second)
    for data in (first, second):
        for array in arrays(data):
            assert cache.is_mapped(array)
            assert not array.flags.writeable


def test_the_content_counts_not_the_name_or_the_time(path, tmp_path, no_parsing, cache_folder):
    load_dataset(path)
    for file in entry_folder(cache_folder).glob("*.npy"):
        os.utime(file, (1, 1))  # as in a copy of the cache
    before = path.read_bytes()
    no_parsing()
    moved = path.rename(tmp_path / "moved")
    os.utime(moved, (1, 1))
    assert load_dataset(moved).name == "moved"
    moved.write_bytes(before + b"+1 1:9\n")
    with pytest.raises(pytest.fail.Exception, match="parsed again"):
        load_dataset(moved)


def test_a_large_file_is_hashed_once(libsvm_file, monkeypatch):
    monkeypatch.setattr(cache, "REMEMBERED_SIZE", 10)
    path = libsvm_file(DENSE)
    found = cache.content_hash(path)
    with monkeypatch.context() as patch:
        patch.setattr(cache, "_hash_file", lambda _: pytest.fail("hashed again"))
        assert cache.content_hash(path) == found
    libsvm_file(DENSE + "+1 1:1\n")
    assert cache.content_hash(path) != found


def flip_a_bit(content):
    return content[:-5] + bytes([content[-5] ^ 1]) + content[-4:]


@pytest.mark.parametrize("victim", ["y.npy", "largest", "meta.json"])
def test_a_damaged_entry_is_found_out_and_made_again(path, cache_folder, caplog, victim):
    expected = copy.deepcopy(load_dataset(path))
    folder = entry_folder(cache_folder)
    files = sorted(folder.glob("[!my]*.npy"), key=lambda file: file.stat().st_size)
    file = files[-1] if victim == "largest" else folder / victim
    for damage in (lambda c: c[: len(c) // 2], flip_a_bit, lambda c: b"", lambda c: b"\xff" * len(c), None):
        caplog.clear()
        content = file.read_bytes()
        file.unlink()
        if damage is not None:
            file.write_bytes(damage(content))
        assert same(load_dataset(path), expected)
        assert "is damaged" in caplog.text
        assert [file.name for file in (cache_folder / "parsed").iterdir()] == [folder.name]


def test_a_cache_folder_that_cannot_be_made_only_costs_time(path, tmp_path, monkeypatch, caplog):
    expected = load_dataset(path)
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("OLBENCH_CACHE", str(tmp_path / "file" / "cache"))
    data = load_dataset(path)
    assert same(data, expected)
    assert caplog.messages == [
        f"olbench: cannot write the cache in {tmp_path}/file/cache/parsed (Not a directory); continuing "
        "without it. Set OLBENCH_CACHE to a writable folder with free space to load faster next time."
    ]


FULL = """
import resource, signal, sys
from olbench import load_dataset
from olbench.data import libsvm
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
print(load_dataset(sys.argv[1]).fingerprint)
"""


def test_a_disk_that_takes_no_more_only_costs_time(libsvm_file, cache_folder):
    path = libsvm_file("".join(f"{(-1) ** k:+d} 1:{k} 2:{k * k} 3:1\n" for k in range(3000)))
    command = [sys.executable, "-c", FULL, str(path), "5000"]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert outcome.returncode == 0, outcome.stderr
    assert "cannot write the cache" in outcome.stderr
    assert list((cache_folder / "parsed").iterdir()) == []
    assert outcome.stdout.strip() == load_dataset(path).fingerprint


TWO = """
import sys, time
from olbench import load_dataset
import olbench.data.libsvm
print("ready", flush=True)
sys.stdin.readline()
data = load_dataset(sys.argv[1])
print(data.fingerprint, float(abs(data.X).sum()))
"""


def test_processes_that_load_the_same_file_at_once_agree(libsvm_file, cache_folder, no_parsing):
    path = libsvm_file("".join(f"{(-1) ** k:+d} {k % 40 + 1}:{k}\n" for k in range(40_000)))
    command = [sys.executable, "-c", TWO, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(3)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    outcomes = [process.communicate(timeout=120) for process in processes]
    assert len({out for out, _ in outcomes}) == 1
    assert [err for _, err in outcomes] == [""] * 3
    entry_folder(cache_folder)
    no_parsing()
    assert load_dataset(path).fingerprint == outcomes[0][0].split()[0]
