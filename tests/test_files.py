"""Files are written whole or not at all, and never replace a device or a pipe."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from olbench.errors import UserError
from olbench.files import write_text, write_whole
from tests import ROOT


def test_a_report_to_a_device_or_pipe_does_not_replace_it(tmp_path, here):
    # A pipe instead of /dev/null: a failure of this test must not harm the machine.
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()), daemon=True)
    reader.start()
    assert here("report", ROOT / "tests/report/small", "--format", "json", "--output", pipe)[0] == 0
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    reader.join(20)
    assert received[0].endswith("}\n")


def test_a_written_file_follows_a_link_and_keeps_it(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("before")
    link.symlink_to(target)
    write_text(tmp_path / ("a" * 255), "x")  # a name as long as a name can be
    write_text(link, "after")
    assert link.is_symlink()
    assert target.read_text() == "after"


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path):
    path = tmp_path / "old.txt"
    path.write_text("old")

    def fill_the_disk():
        with write_whole(path) as draft:
            draft.write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(UserError, match=r"cannot write .*old.txt: No space left on device"):
        fill_the_disk()
    assert [each.name for each in tmp_path.iterdir()] == ["old.txt"]
    assert path.read_text() == "old"


@pytest.mark.parametrize("name", ["", ".", "file/x", "a" * 300])
def test_an_output_that_cannot_exist_is_refused_in_one_sentence(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    before = sorted(os.listdir())
    with pytest.raises(UserError, match=r"^cannot write ") as caught:
        write_text(Path(name), "x")
    assert "\n" not in str(caught.value)
    assert sorted(os.listdir()) == before


def test_a_full_disk_or_a_reader_who_leaves_behind_standard_output_shows_no_traceback(tmp_path):
    def run_into(output, *words):
        command = [sys.executable, "-m", "olbench", *words]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, env=environment, cwd=tmp_path)
        return done.returncode, done.stderr.decode()

    with open("/dev/full", "w") as full:
        assert run_into(full, "list") == (2, "olbench: No space left on device\n")
    reading, writing = os.pipe()
    os.close(reading)
    assert run_into(writing, "data", "list") == (1, "")
    os.close(writing)
