"""Packed records come back to the byte, and damage is noticed."""

import json
import lzma
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from olbench.records import ledger, run_file
from olbench.records.bundle import write_run
from olbench.records.packed import PackedError, pack, unpack
from olbench.records.record import read_line, write_line
from olbench.records.trial import key_of
from tests import ROOT
from tests.refusals import find_wrong, refusal

HEAD = {
    "key": "", "format": 2, "protocol": "online", "dataset": "toy", "fingerprint": "f", "algorithm": "cw",
    "params": {}, "options": {}, "seed": 1, "role": "report", "number": 0, "setting": {}, "code": "c",
}  # fmt: skip
NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
VALUES = st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=5))
SOME = st.one_of(
    VALUES, st.lists(VALUES, max_size=3), st.lists(st.lists(st.integers(0, 9), max_size=2), max_size=2)
)
#: Numbers whose text must stay.
ODD = [-0.0, 1e300, 5e-324, 0.1 + 0.2, 10**400, 1.5, 123456.789]


def record(number: int = 0, **fields) -> dict:
    plain = {**HEAD, "number": number, "status": "ok", **fields}
    plain["key"] = key_of(plain)
    return read_line(write_line(plain))


def change(content: bytes, edit) -> bytes:
    tree = json.loads(lzma.decompress(content))
    edit(tree)
    return lzma.compress(json.dumps(tree).encode())


def curves(count: int) -> list[dict]:
    return [
        record(number, n=197, seconds=number / 1000, error_rate=round(number / 197, 6), curve={
            "t": [50, 100], "mistakes": [number, 2 * number + 1], "rate": [0.5, round(3 / 197, 6)],
        })
        for number in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["cw-usps/reference", "shards-many/reference", "advice/flipped"])
def test_records_that_ship_come_back_to_the_byte(name):
    records = list(ledger.each(ROOT / "results" / name))
    content = pack(records)
    assert repr(list(unpack(content))) == repr(records)
    assert (ROOT / "results" / name / ledger.PACKED).read_bytes() == content


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.one_of(SOME, st.fixed_dictionaries({"x": SOME})))))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_fields_come_back_to_the_byte(many):
    plain = [{**HEAD, "status": "failed", **fields} for fields in (*many, {"other": ODD}, {"a": ODD[4]})]
    # The record of a trial of another version of olbench has a key that this one would not compute.
    records = [record(), *(read_line(write_line({**each, "key": key_of(each)})) for each in plain)]
    records.append(read_line(write_line({**record(1), "key": "k" * 20})))
    assert [write_line(each) for each in unpack(pack(records))] == [write_line(each) for each in records]


def test_every_damaged_byte_is_noticed():
    content = pack(curves(9))
    flips = range(0, len(content), 7)
    damaged = [content[:k] + bytes([content[k] ^ 16]) + content[k + 1 :] for k in flips]
    cases = [(each, "") for each in (*damaged, content[:-5], content + b"more", content + content)]
    assert find_wrong(cases, lambda content: list(unpack(content)), PackedError) == []


NOT_WRITTEN = [
    (lambda tree: tree.update(format=3), "does not hold records of format 2"),
    (lambda tree: tree.update(order=[[0, 5]]), "do not fit together"),
    (lambda tree: tree.update(order=[[7, 1]]), "do not fit together"),
    (lambda tree: tree.update(order=[[0, -1]]), "do not fit together"),
    (lambda tree: tree.update(groups=None), "do not fit together"),
    (lambda tree: tree["groups"][0].update(n=[1]), "do not fit together"),
    (lambda tree: tree["groups"][0].update(n=7), "do not fit together"),
    (lambda tree: tree["groups"][0].update(n=[-5] * 9), "olbench cannot have written"),
    (lambda tree: tree["groups"][0].update(loss=[float("nan")] * 9), "not JSON"),
    (lambda tree: tree["groups"][0].update(curve={"t": [[1]] * 9, "m": [[1, 2]] * 9}), "of one length"),
]


def test_content_that_pack_did_not_write_is_refused():
    content = pack(curves(9))
    assert find_wrong(NOT_WRITTEN, lambda edit: list(unpack(change(content, edit))), PackedError) == []
    cases = [(each, "") for each in (b"", b"text", lzma.compress(b"text"), lzma.compress(b"[" * 10**6))]
    cases += [(lzma.compress(bytes(20 << 20)), "far more than records do")]
    assert find_wrong(cases, lambda content: list(unpack(content)), PackedError) == []


@pytest.fixture
def usps(tmp_path):
    return Path(shutil.copytree(ROOT / "results/cw-usps/reference", tmp_path / "usps"))


def test_the_keys_of_a_run_that_ships_are_those_of_its_records(usps):
    run = run_file.read(usps)
    records = ledger.current(usps)
    for cell in run.cells:
        assert {records[key]["algorithm"] for key in cell.keys} == {cell.algorithm}
        assert [records[key]["number"] for key in cell.keys] == list(range(cell.planned))
    lines = run_file.refer_to_lines(run.plain(), ledger.keys(usps))
    assert lines["cells"] == json.loads((usps / "run.json").read_text())["cells"]
    (usps / ledger.NAME).write_bytes(b"".join(map(write_line, records.values())))
    (usps / ledger.PACKED).unlink()
    assert run_file.read(usps) == run


def test_a_run_is_packed_in_the_order_of_its_cells(usps, tmp_path):
    content, (first, *others) = run_file.read(usps).plain(), ledger.current(usps).values()
    (usps / ledger.PACKED).unlink()
    (usps / ledger.NAME).write_bytes(b"".join(map(write_line, [*others, first])))
    run_file.write(usps, content)
    write_run(usps, tmp_path / "again")
    for path in (ROOT / "results/cw-usps/reference").iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.fixture
def write_lines(usps):
    """Return a function that lets the first cell of the run name its records by these lines."""

    def write(lines):
        content = json.loads((usps / "run.json").read_text())
        content["cells"][0]["keys"] = {"lines": lines}
        (usps / "run.json").write_text(json.dumps(content))

    return write


def test_lines_are_looked_up_once_a_key_is_asked_for(usps, write_lines):
    """A report of a run that was read before needs no key, and reads no ledger."""
    write_lines([[1, 10**9]])
    keys = run_file.read(usps).cells[0].keys
    assert len(keys) == 10**9
    assert "run.json names lines that the ledger does not have" in refusal(list, keys)


def test_lines_that_are_none_out_of_range_or_named_twice_are_refused(usps, write_lines):
    cannot = "it names lines that cannot exist, or a line twice"
    cases = [(lines, cannot) for lines in ([[0, 1]], [[1, 2]] * 1000, [[2, 1]], [[3, 5], [1, 3]])]
    cases += [(lines, cannot) for lines in ([[1, 2**70]], [[1, 1e999]], [[1.5, 2.5]])]
    cases += [(lines, "") for lines in (None, [1, 2], [["a", "b"]], [[1]])]
    assert find_wrong(cases, lambda lines: (write_lines(lines), run_file.read(usps))) == []
