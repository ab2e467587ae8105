"""A record says what was written, and nothing else."""

import io
import json
import re
import shutil
import zlib
from pathlib import Path

import numpy as np
import pytest

from olbench.errors import UserError
from olbench.protocols import get_protocol
from olbench.protocols.recorded import find_defect
from olbench.records import ledger, packed
from olbench.records.arrays import NAME as ARRAYS
from olbench.records.arrays import ArrayFile, read_array
from olbench.records.compare import Mismatch
from olbench.records.record import BrokenRecordError, RecordError, read_line, write_line
from olbench.records.trial import Trial
from tests.refusals import find_wrong, refusal

TRIAL = Trial("online", "d", "f", "arow", {"r": 1.0}, {"a": 1.0}, 3, "report", 2, {"part": "all"}, "c")
RECORD = {"key": TRIAL.key, "format": 2, **TRIAL.identity(), "status": "ok", "mistakes": 7}


def test_a_record_is_read_as_it_was_written():
    found = read_line(write_line(RECORD))
    assert {name: found[name] for name in RECORD} == RECORD
    assert (Trial.of(found), Trial.of(found).key) == (TRIAL, TRIAL.key)


def test_two_lists_are_shown_by_the_first_value_that_differs():
    assert Mismatch({}, "curve", [1, 2, 3], [1, 5, 4]).values == ("2", "5")


def test_a_changed_line_and_one_that_is_no_record_are_refused():
    line, broken = write_line(RECORD), "does not match its checksum"
    changes = {
        b'"mistakes":7': b'"mistakes":6', b'"seed":3': b'"seed":4', b'"status":"ok"': b'"status":"OK"',
        b'"}': b'" }',
    }  # fmt: skip
    assert all(each in line for each in changes)
    cases = [(line.replace(*pair), broken) for pair in changes.items()]
    assert find_wrong([*cases, (json.dumps(RECORD).encode(), "")], read_line, BrokenRecordError) == []
    lines = (b"", b"oops", b"[]", b'{"key": "12"}', b'{"key":' + b"[" * 100_000, line.replace(b":7", b":NaN"))
    assert find_wrong([(each, "not a trial") for each in lines], read_line, RecordError) == []


def test_a_record_of_another_format_is_refused_even_as_the_last_line(tmp_path):
    for version, shown in ((1, "1"), (3, "3"), ("\n", r"'\\n'"), (None, "missing")):
        line = json.dumps({**RECORD, "format": version}).encode() + b"\n"
        (tmp_path / ledger.NAME).write_bytes(line)
        with pytest.raises(UserError, match=rf"trials\.jsonl:1: its format is {shown}, .*; remove the line"):
            ledger.current(tmp_path)


def write(folder: Path, *records) -> Path:
    path = folder / ledger.NAME
    path.write_bytes(b"".join(map(write_line, records)))
    return path


def test_an_edited_record_is_refused_with_its_line_and_the_remedy(tmp_path):
    path = write(tmp_path, RECORD, {**RECORD, "key": "other"})
    first, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first.replace(b'"mistakes":7', b'"mistakes":0') + last)
    assert refusal(list, ledger.each(tmp_path)) == (
        f"{path}:1: this record does not match its checksum: it was changed after it was written; remove the "
        "line, and the next run computes that trial again"
    )
    # Neither is a torn last line: a kill leaves half a line at the end, and nothing behind it.
    path.write_bytes(first + last.replace(b'"mistakes":7', b'"mistakes":0'))
    assert ":2: this record does not match" in refusal(list, ledger.each(tmp_path))
    path.write_bytes(first + b"half a li\n\n")
    assert ":2: this line is not a trial" in refusal(list, ledger.each(tmp_path))


def test_the_last_record_of_a_trial_counts_in_memory_and_on_disk(tmp_path):
    """A trial that counts something else when timed alone stays failed when the ledger is read again."""
    failed = {**RECORD, "status": "failed", "timing": "exclusive", "error": "run again, mistakes is 8"}
    with ledger.open_ledger(tmp_path) as book:
        book.append({**RECORD, "timing": "shared"})
        book.append(failed)
        assert book.records[TRIAL.key]["status"] == "failed"
    assert ledger.current(tmp_path)[TRIAL.key]["status"] == "failed"
    with ledger.open_ledger(tmp_path) as book:
        assert book.records[TRIAL.key]["status"] == "failed"
        book.append(RECORD)
    assert ledger.current(tmp_path)[TRIAL.key] == RECORD


def test_a_packed_ledger_is_unpacked_when_a_run_goes_on_from_it(tmp_path):
    line = write_line(RECORD)
    (tmp_path / ledger.PACKED).write_bytes(packed.pack([read_line(line)]))
    assert list(ledger.current(tmp_path)) == ledger.keys(tmp_path) == [TRIAL.key]
    with ledger.open_ledger(tmp_path):
        pass
    assert not (tmp_path / ledger.NAME).exists()  # nothing to do leaves it alone
    with ledger.open_ledger(tmp_path) as book:
        assert list(book.records) == [TRIAL.key]
        book.append({**RECORD, "key": "more"})
    assert (tmp_path / ledger.NAME).read_bytes().startswith(line)
    assert list(ledger.current(tmp_path)) == ledger.keys(tmp_path) == [TRIAL.key, "more"]


def test_a_damaged_packed_ledger_is_refused_and_leaves_no_lines(tmp_path):
    content = packed.pack([read_line(write_line(RECORD))])
    (tmp_path / ledger.PACKED).write_bytes(content[:-9])
    for read in (ledger.keys, ledger.current, lambda folder: ledger.open_ledger(folder).__enter__()):
        with pytest.raises(UserError, match=r"trials\.json\.xz is damaged: .*; restore the file, or remove"):
            read(tmp_path)
    assert not (tmp_path / ledger.NAME).exists()


def test_a_folder_is_held_once_and_free_again_after_the_run_or_an_error(tmp_path):
    with ledger.open_ledger(tmp_path):
        said = refusal(ledger.open_ledger(tmp_path).__enter__)
    assert re.search(r"in use by another run \(process \d+ on .*\); wait until it ends", said)
    with pytest.raises(ZeroDivisionError), ledger.open_ledger(tmp_path):
        raise ZeroDivisionError
    with ledger.open_ledger(tmp_path):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock"]


def test_a_folder_that_disappears_during_a_run_is_noticed_at_the_next_record(tmp_path):
    folder = tmp_path / "out"
    with ledger.open_ledger(folder) as book:
        book.append({"key": "a", "status": "ok"})
        shutil.rmtree(folder)
        said = refusal(book.append, {"key": "b", "status": "ok"})
    assert "was removed during the run, and its trials with it; the same" in said


def test_an_array_comes_back_as_it_was_also_after_a_kill(tmp_path):
    arrays = {
        "floats": np.arange(12.0).reshape(3, 4),
        "empty": np.array([], np.int64),
        "bits": np.random.default_rng(1).random(80_000) < 0.5,
        "bit": np.array([True]),
        "bytes": np.arange(5, dtype=np.int8),
    }
    with ledger.open_ledger(tmp_path) as book:
        kept = book.append({**RECORD, "arrays": arrays})["arrays"]
    assert (tmp_path / ARRAYS).stat().st_size < 80_000 / 8 + 1000  # predictions take a bit each
    with open(tmp_path / ARRAYS, "ab") as file:
        file.write(b"half an array")
    with ledger.open_ledger(tmp_path) as book:
        after = book.append({**RECORD, "key": "more", "arrays": {"a": np.arange(9)}})["arrays"]["a"]
    for place, array in [(after, np.arange(9)), *((kept[name], arrays[name]) for name in arrays)]:
        again = read_array(tmp_path, place)
        assert again.dtype == array.dtype
        np.testing.assert_array_equal(again, array)
    assert ledger.current(tmp_path)[TRIAL.key]["arrays"] == kept


def test_a_damaged_array_is_refused(tmp_path):
    reference = ArrayFile(tmp_path).append_all({"a": np.arange(7)})["a"]
    content = bytearray((tmp_path / ARRAYS).read_bytes())
    content[5] ^= 1
    (tmp_path / ARRAYS).write_bytes(content)
    assert "its checksum; remove the line of its trial" in refusal(read_array, tmp_path, reference)
    (tmp_path / ARRAYS).unlink()
    assert "cannot read" in refusal(read_array, tmp_path, reference)


def test_an_array_that_claims_to_be_larger_than_any_memory_is_refused(tmp_path):
    """Anyone may have made a bundle, and its checksums fit."""

    def read(shape, header=b"", **changes):
        file = io.BytesIO()
        described = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, described)
        content = file.getvalue().replace(b"{'descr'", header or b"{'descr'") + b"ab"
        (tmp_path / ARRAYS).write_bytes(content)
        place = {"offset": 0, "bytes": len(content), "crc32": zlib.crc32(content), **changes}
        return read_array(tmp_path, place)

    assert read((2,)).tolist() == [97, 98]
    assert read((2,), bytes=2**62).tolist() == [97, 98]
    cases = [((10**15,), {}), ((2,), {"bits": 17}), ((2,), {"bits": 10**15}), ((2,), {"header": b"((descr'"})]
    words = "has an array that olbench cannot have written"
    assert find_wrong([(*each, words) for each in cases], lambda shape, changes: read(shape, **changes)) == []


IMPOSSIBLE = [
    ("mistakes", -3, "its mistakes is -3"),
    *((name, 99, f"its {name} is 99 of 10") for name in ("mistakes", "errors", "positives", "false_alarms")),
    ("updates", 2.5, "its updates is 2.5"),
    ("mistakes", None, "its mistakes is missing"),
    ("mistakes", True, "its mistakes is True"),
    ("number", -1, "its number is -1"),
    ("number", "x" * 500, f"its number is '{'x' * 59}... (502 characters)"),
    ("status", "fine", "its status is 'fine'"),
    ("dataset", None, "its dataset is missing"),
    ("params", [], "its params is []"),
    ("curve", {"t": [1, 2], "mistakes": [1]}, "the columns of its curve are not lists of one length"),
    ("curve", {"t": 7}, "the columns of its curve are not lists of one length"),
    ("protocol", None, "its protocol is missing"),
    ("fingerprint", 3, "its fingerprint is 3"),
    ("code", None, "its code is missing"),
    ("seconds", -0.5, "its seconds is -0.5"),
    ("seconds", None, "its seconds is missing"),
    ("n", 2**63, "its n is 9223372036854775808"),
    ("number", 2**64, "its number is 18446744073709551616"),
    ("timing", ["shared"], "its timing is ['shared']"),
    ("error", 7, "its error is 7"),
    ("arrays", 7, "its arrays is 7"),
    ("arrays", {"right": 7}, "its arrays is {'right': 7}"),
    ("arrays", {"right": {"offset": 0, "bytes": 1}}, "its arrays is {'right': {'offset': 0, 'bytes': 1}}"),
    ("arrays", {"right": {"offset": 2**63, "bytes": 1, "crc32": 0}}, "its arrays is {'right': {'offset': 9"),
    ("x" * 500, 10**400, f"its {'x' * 60}... (500 characters) is 1000"),
    ("a\nb", {"t": 7}, r"the columns of its a\nb are not lists of one length"),
]


def test_a_record_that_no_trial_can_have_written_is_refused():
    """Whoever edits a line may write a checksum that fits; impossible counts would become the best rates."""

    def read(field, value):
        return read_line(write_line({**RECORD, "n": 10, field: value}))

    assert find_wrong(IMPOSSIBLE, read, RecordError) == []
    # Only a number of classes allows more updates than examples.
    for classes, most in ((3, 30), (1, 10), (0, 10), (True, 10), ("3", 10)):
        record = {**RECORD, "n": 10, "setting": {"classes": classes}}
        assert read_line(write_line({**record, "updates": most}))["updates"] == most
        with pytest.raises(RecordError, match=f"its updates is {most + 1} of 10"):
            read_line(write_line({**record, "updates": most + 1}))


def test_a_count_out_of_nothing_is_a_defect_and_no_infinite_rate():
    protocol = get_protocol("crossval")
    quantities = (*protocol.quantities, *protocol.recorded)
    record = dict.fromkeys([name for each in quantities for name in each.ratio or (each.name,)], 1)
    assert find_defect(protocol, record) == ""
    reason = find_defect(protocol, {**record, "training_n": 0})
    assert reason == "it has training_errors, but its training_n is 0"
