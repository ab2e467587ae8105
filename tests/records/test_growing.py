"""Lines reach the disk together, within a second, and what the disk refuses is never silent."""

import os
import time

import pytest

from olbench.records import growing
from olbench.records.growing import GrowingFile


@pytest.fixture
def synced(monkeypatch):
    """The size of the file at every fsync."""
    sizes, fsync = [], os.fsync

    def note(file):
        sizes.append(os.fstat(file).st_size)
        fsync(file)

    monkeypatch.setattr("os.fsync", note)
    return sizes


def append_many(file):
    return [file.append(b"a line\n") for _ in range(200)]


def test_many_lines_share_an_fsync_and_the_end_waits_for_it(tmp_path, synced):
    file = GrowingFile(tmp_path / "lines", "a line")
    assert append_many(file) == list(range(0, 1400, 7))
    assert (tmp_path / "lines").stat().st_size == 1400, "a kill loses none of them"
    file.close()
    assert len(synced) < 5
    assert synced[-1] == 1400


def test_lines_reach_the_disk_when_no_other_follows(tmp_path, synced, monkeypatch):
    monkeypatch.setattr(growing, "SYNC_SECONDS", 0.05)
    file = GrowingFile(tmp_path / "lines", "a line")
    append_many(file)
    deadline = time.monotonic() + 20
    while not synced or synced[-1] < 1400:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    before = len(synced)
    file.close()
    assert len(synced) == before, "there was nothing left"


def test_a_disk_that_refuses_later_is_reported_with_the_next_line_and_at_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(growing, "SYNC_SECONDS", 0.01)

    def refuse(file):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", refuse)
    file = GrowingFile(tmp_path / "lines", "a line")
    file.append(b"a line\n")
    file._timer.join()
    with pytest.raises(OSError, match="no space left"):
        file.append(b"another\n")
    with pytest.raises(OSError, match="no space left"):
        file.close()
    assert (tmp_path / "lines").read_bytes() == b"a line\n"
