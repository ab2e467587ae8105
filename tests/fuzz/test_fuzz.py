"""A brief round of every fuzzer and every torture, and what shows that they would notice a defect."""

import random
from pathlib import Path

import pytest

from tests.fuzz import torture
from tests.fuzz.__main__ import replay
from tests.fuzz.fuzzers import NAMES, make_fuzzers
from tests.fuzz.harness import Difference, fuzz, judge, save

#: Inputs in CI, and the seconds after which a slow machine stops earlier.
INPUTS = {
    "libsvm": 1500,
    "csv": 2500,
    "own": 300,
    "baseline": 2000,
    "config": 300,
    "record": 4000,
    "results": 40,
    "command": 20,
    "fetch": 200,
    "rules": 400,
}
SECONDS = 3.0


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """No fuzzer sees the data or the network of the machine."""
    monkeypatch.setenv("OLBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OLBENCH_MIRROR", raising=False)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "*")


@pytest.mark.parametrize("name", NAMES)
def test_no_input_crashes_or_hangs_a_reader_or_differs_from_the_reference(name, tmp_path):
    [fuzzer] = make_fuzzers(name)
    fuzz(fuzzer, 0, tmp_path, 1, SECONDS)  # imports and compiles
    tally = fuzz(fuzzer, 1, tmp_path, INPUTS[name], SECONDS)
    assert tally.failed == 0, f"{tally.kinds}; replay {save(tally, Path('fuzz-failures'))}"
    assert tally.tried == INPUTS[name] or tally.seconds > SECONDS


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_makes_the_same_input(name):
    [fuzzer] = make_fuzzers(name)
    assert fuzzer.make(random.Random(5)) == fuzzer.make(random.Random(5))


class Planted:
    """A fuzzer of a reader with a defect of each kind."""

    name = "libsvm"

    def make(self, random):
        return bytes([random.randrange(4)])

    def check(self, content, folder):
        match content[0]:
            case 0:
                raise Difference("3 rows, where the reference has 4")
            case 1:
                raise KeyError("n")
            case 2:
                while True:
                    pass
        return "accepted"


def test_crashes_hangs_and_differences_are_counted_and_saved(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.fuzz.harness.PATIENCE", 0.01)
    tally = fuzz(Planted(), 0, tmp_path, 40, 10.0)
    assert all(tally.verdicts[verdict] > 0 for verdict in ("accepted", "crash", "hang", "difference"))
    assert tally.failed == 40 - tally.verdicts["accepted"]
    assert len(tally.kinds) == 3
    assert {path.read_bytes() for path in save(tally, tmp_path)} == {b"\0", b"\1", b"\2"}


@pytest.mark.parametrize(
    ("name", "content", "defect"),
    [
        ("libsvm", b"+1 1:2\n", ("read_libsvm", lambda paths: (_ for _ in ()).throw(IndexError()))),
        ("csv", b"1,2,1\n3,4,0\n", None),
    ],
)
def test_a_reader_that_loses_a_row_or_crashes_is_noticed(name, content, defect, tmp_path, monkeypatch):
    [fuzzer] = make_fuzzers(name)
    assert judge(fuzzer, content, tmp_path) == ("accepted", "")
    if defect:
        monkeypatch.setattr("olbench.data.readers.libsvm." + defect[0], defect[1])
        assert judge(fuzzer, content, tmp_path)[0] == "crash"
    else:
        import tests.fuzz.table as table

        real = table.read_csv
        monkeypatch.setattr(
            table, "read_csv", lambda path, **options: tuple(part[1:] for part in real(path, **options))
        )
        assert judge(fuzzer, content, tmp_path)[0] == "difference"


def test_a_saved_input_is_replayed(tmp_path, capsys, monkeypatch):
    path = tmp_path / "record-0123456789ab"
    path.write_bytes(b"oops")
    assert replay(path, tmp_path) == 0
    assert capsys.readouterr().out == f"{path}: refused\n"
    monkeypatch.setattr("tests.fuzz.ledger.read_line", lambda line: line[99])
    assert replay(path, tmp_path) == 1
    assert "IndexError" in capsys.readouterr().err


def write_records(folder, *records):
    folder.mkdir()
    lines = [f'{{"key": "{key}", "status": "ok", "mistakes": {count}}}\n' for key, count in records]
    (folder / "trials.jsonl").write_text("".join(lines))
    return folder


def test_torture_notices_what_is_lost_doubled_or_changed(tmp_path):
    whole = write_records(tmp_path / "whole", ("a", 1), ("b", 2), ("c", 3))
    losses = torture.Losses("kills")
    losses.compare(whole, whole)
    assert losses.is_clean
    losses.compare(write_records(tmp_path / "bad", ("a", 1), ("a", 1), ("b", 7)), whole)
    assert (losses.lost, losses.doubled, losses.changed) == (1, 1, 1)
    assert not losses.is_clean
