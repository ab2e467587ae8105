"""The lock of a results folder holds, and the record notices when its file is gone."""

import shutil

import pytest

from olbench.errors import UserError
from olbench.records.ledger import LedgerFullError, open_ledger


def test_a_folder_is_held_once_and_free_again_afterwards(tmp_path):
    with open_ledger(tmp_path), pytest.raises(UserError, match=r"in use by another run \(process \d+ on"):
        open_ledger(tmp_path).__enter__()
    with open_ledger(tmp_path):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock"]


def test_an_error_in_a_run_frees_its_folder(tmp_path):
    with pytest.raises(ZeroDivisionError), open_ledger(tmp_path):
        raise ZeroDivisionError
    with open_ledger(tmp_path):
        pass


def test_a_folder_that_disappears_during_a_run_is_noticed_at_the_next_record(tmp_path):
    folder = tmp_path / "out"
    with open_ledger(folder) as ledger:
        ledger.append({"key": "a", "status": "ok"})
        shutil.rmtree(folder)
        with pytest.raises(
            LedgerFullError, match="was removed during the run, and its trials with it; the same"
        ):
            ledger.append({"key": "b", "status": "ok"})
