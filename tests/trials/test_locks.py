"""The lock of a results folder holds on every system, and the record notices when its file is gone."""

import importlib
import shutil
import subprocess
import sys
import types

import pytest

from olbench.errors import UserError
from olbench.trials import locks
from olbench.trials.ledger import LedgerFullError, open_ledger


class Bytes:
    """What Windows locks: bytes of a file, each by one descriptor."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self):
        self.taken = False

    def locking(self, descriptor, mode, count):
        if mode == self.LK_NBLCK and self.taken:
            raise OSError(13, "Permission denied")
        self.taken = mode == self.LK_NBLCK


@pytest.fixture(params=["posix", "windows", "neither"])
def system(request, monkeypatch):
    if request.param != "posix":
        monkeypatch.setattr(locks, "fcntl", None)
    monkeypatch.setattr(locks, "msvcrt", Bytes() if request.param == "windows" else None)
    return request.param


def test_a_folder_is_held_once_and_free_again_afterwards(tmp_path, system):
    with open_ledger(tmp_path), pytest.raises(UserError, match=r"in use by another run \(process \d+ on"):
        open_ledger(tmp_path).__enter__()
    with open_ledger(tmp_path):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock"]


def test_an_error_in_a_run_frees_its_folder(tmp_path, system):
    with pytest.raises(ZeroDivisionError), open_ledger(tmp_path):
        raise ZeroDivisionError
    with open_ledger(tmp_path):
        pass


def test_the_package_needs_no_fcntl(monkeypatch):
    hide = (
        "import sys; sys.modules['fcntl'] = None; import olbench.trials.locks as l; assert l.fcntl is None; "
    )
    subprocess.run([sys.executable, "-c", hide + "import olbench.trials.ledger"], check=True)
    monkeypatch.setitem(sys.modules, "msvcrt", types.ModuleType("msvcrt"))
    assert importlib.import_module("olbench.trials.locks") is locks


def test_a_folder_that_disappears_during_a_run_is_noticed_at_the_next_record(tmp_path):
    folder = tmp_path / "out"
    with open_ledger(folder) as ledger:
        ledger.append({"key": "a", "status": "ok"})
        shutil.rmtree(folder)
        with pytest.raises(
            LedgerFullError, match="was removed during the run, and its trials with it; the same"
        ):
            ledger.append({"key": "b", "status": "ok"})
