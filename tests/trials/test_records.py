"""A record says what was written, and nothing else."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from olbench.errors import UserError
from olbench.trials import ledger, packed
from olbench.trials.arrays import NAME as ARRAYS
from olbench.trials.arrays import ArrayFile, read_array
from olbench.trials.record import ChecksumError, RecordError, read_line, write_line
from olbench.trials.trial import Outcome, Trial
from tests.cases import for_each

TRIAL = Trial("online", "d", "f", "arow", {"r": 1.0}, {"a": 1.0}, 3, "report", 2, {"part": "all"}, "c")
RECORD = {"key": TRIAL.key, "version": 2, **TRIAL.identity(), "status": "ok", "mistakes": 7}


def test_a_record_is_read_as_it_was_written():
    found = read_line(write_line(RECORD))
    assert {name: found[name] for name in RECORD} == RECORD
    assert Trial.of(found) == TRIAL
    assert Trial.of(found).key == TRIAL.key


@pytest.mark.parametrize(
    ("before", "after"),
    [(b'"mistakes":7', b'"mistakes":6'), (b'"seed":3', b'"seed":4'), (b'"status":"ok"', b'"status":"OK"')],
)
def test_a_changed_number_does_not_match_the_checksum(before, after):
    line = write_line(RECORD)
    assert before in line
    with pytest.raises(ChecksumError, match="does not match its checksum"):
        read_line(line.replace(before, after))


def test_a_record_without_its_checksum_is_refused():
    with pytest.raises(ChecksumError):
        read_line(json.dumps(RECORD).encode())


@pytest.mark.parametrize("line", [b"", b"oops", b"[]", b'{"key": "12"}'])
def test_what_is_no_record_is_refused(line):
    with pytest.raises(RecordError, match="not a trial"):
        read_line(line)


def test_a_record_of_another_version_is_refused_even_as_the_last_line(tmp_path):
    for version, shown in ((1, "1"), (3, "3"), ("\n", r"'\\n'"), (None, "missing")):
        line = json.dumps({**RECORD, "version": version}).encode() + b"\n"
        with pytest.raises(RecordError, match=f"^its version is {shown}, and this olbench reads version 2$"):
            read_line(line)
        (tmp_path / ledger.NAME).write_bytes(line)
        with pytest.raises(UserError, match=rf"trials\.jsonl:1: its version is {shown}, .*; remove the line"):
            ledger.current(tmp_path)


def write(folder: Path, *records) -> Path:
    path = folder / ledger.NAME
    path.write_bytes(b"".join(map(write_line, records)))
    return path


def test_an_edited_record_is_refused_with_its_line_and_the_remedy(tmp_path):
    path = write(tmp_path, RECORD, {**RECORD, "key": "other"})
    path.write_bytes(path.read_bytes().replace(b'"mistakes":7', b'"mistakes":0', 1))
    with pytest.raises(UserError) as error:
        list(ledger.each(tmp_path))
    assert str(error.value) == (
        f"{path}:1: this record does not match its checksum: it was changed after it was written; remove the "
        "line, and the next run computes that trial again"
    )


def test_a_last_line_that_was_edited_is_refused_and_not_taken_for_a_torn_one(tmp_path):
    path = write(tmp_path, RECORD, {**RECORD, "key": "other"})
    first, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + last.replace(b'"mistakes":7', b'"mistakes":0'))
    with pytest.raises(UserError, match=":2: this record does not match"):
        list(ledger.each(tmp_path))


def test_the_last_record_of_a_trial_counts_in_memory_and_on_disk(tmp_path):
    """A trial that counts something else when timed alone stays failed when the ledger is read again."""
    failed = {**RECORD, "status": "failed", "timing": "exclusive", "error": "measured alone, mistakes is 8"}
    with ledger.open_ledger(tmp_path) as book:
        book.append({**RECORD, "timing": "shared"})
        book.append(failed)
        assert book.records[TRIAL.key]["status"] == "failed"
    assert ledger.current(tmp_path)[TRIAL.key]["status"] == "failed"
    with ledger.open_ledger(tmp_path) as book:
        assert book.records[TRIAL.key]["status"] == "failed"
        book.append(RECORD)
    assert ledger.current(tmp_path)[TRIAL.key]["status"] == "ok"


def test_a_packed_ledger_is_unpacked_when_a_run_goes_on_from_it(tmp_path):
    line = write_line(RECORD)
    (tmp_path / ledger.PACKED).write_bytes(packed.pack([read_line(line)]))
    assert list(ledger.current(tmp_path)) == ledger.keys(tmp_path) == [TRIAL.key]
    with ledger.open_ledger(tmp_path) as book:
        assert list(book.records) == [TRIAL.key]
        book.append({**RECORD, "key": "more"})
    assert (tmp_path / ledger.NAME).read_bytes().startswith(line)
    assert list(ledger.current(tmp_path)) == ledger.keys(tmp_path) == [TRIAL.key, "more"]


def test_a_run_with_nothing_to_do_leaves_a_packed_ledger_alone(tmp_path):
    (tmp_path / ledger.PACKED).write_bytes(packed.pack([read_line(write_line(RECORD))]))
    with ledger.open_ledger(tmp_path) as book:
        assert list(book.records) == [TRIAL.key]
    assert not (tmp_path / ledger.NAME).exists()


def test_a_damaged_packed_ledger_is_refused_and_leaves_no_lines(tmp_path):
    content = packed.pack([read_line(write_line(RECORD))])
    (tmp_path / ledger.PACKED).write_bytes(content[:-9])
    for read in (ledger.keys, ledger.current, lambda folder: ledger.open_ledger(folder).__enter__()):
        with pytest.raises(
            UserError, match=r"trials\.columns\.xz is damaged: .*; restore the file, or remove"
        ):
            read(tmp_path)
    assert not (tmp_path / ledger.NAME).exists()


# Arrays.


@for_each(
    "array",
    [
        np.arange(12.0).reshape(3, 4),
        np.array([], np.int64),
        np.random.default_rng(1).random(1001) < 0.3,
        np.array([True]),
        np.arange(5, dtype=np.int8),
    ],
)
def test_an_array_comes_back_as_it_was(array, tmp_path):
    with ledger.open_ledger(tmp_path) as book:
        kept = book.append({**RECORD, "arrays": {"first": np.zeros(3), "second": array}})
    again = read_array(tmp_path, kept["arrays"]["second"])
    assert again.dtype == array.dtype
    np.testing.assert_array_equal(again, array)
    assert ledger.current(tmp_path)[TRIAL.key]["arrays"] == kept["arrays"]


def test_predictions_take_a_bit_each(tmp_path):
    wrong = np.random.default_rng(1).random(80_000) < 0.5
    ArrayFile(tmp_path).append_all({"wrong": wrong})
    assert (tmp_path / ARRAYS).stat().st_size < 80_000 / 8 + 300


def test_what_a_kill_leaves_at_the_end_disturbs_nothing(tmp_path):
    with ledger.open_ledger(tmp_path) as book:
        first = book.append({**RECORD, "arrays": {"a": np.arange(7)}})["arrays"]["a"]
    with open(tmp_path / ARRAYS, "ab") as file:
        file.write(b"half an array")
    with ledger.open_ledger(tmp_path) as book:
        second = book.append({**RECORD, "key": "more", "arrays": {"a": np.arange(9)}})["arrays"]["a"]
    assert read_array(tmp_path, first).tolist() == list(range(7))
    assert read_array(tmp_path, second).tolist() == list(range(9))


def test_a_damaged_array_is_refused(tmp_path):
    reference = ArrayFile(tmp_path).append_all({"a": np.arange(7)})["a"]
    content = bytearray((tmp_path / ARRAYS).read_bytes())
    content[5] ^= 1
    (tmp_path / ARRAYS).write_bytes(content)
    with pytest.raises(UserError, match="does not match its checksum; run the trial again"):
        read_array(tmp_path, reference)
    (tmp_path / ARRAYS).unlink()
    with pytest.raises(UserError, match="cannot read"):
        read_array(tmp_path, reference)


def test_an_outcome_without_series_or_arrays_is_allowed():
    assert (Outcome({"hits": 3}).series, Outcome({"hits": 3}).arrays) == ({}, {})


@for_each(
    ("field", "value", "message"),
    [
        ("mistakes", -3, "its mistakes is -3"),
        ("mistakes", 99, "its mistakes is 99 of 10"),
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
    ],
)
def test_a_record_that_no_trial_can_have_written_is_refused(field, value, message):
    """Whoever edits a line may write a checksum that fits; impossible counts would become the best rates."""
    with pytest.raises(RecordError) as refused:
        read_line(write_line({**RECORD, "n": 10, field: value}))
    assert str(refused.value) == message


@for_each(
    ("field", "value", "message"),
    [
        ("protocol", None, "its protocol is missing"),
        ("fingerprint", 3, "its fingerprint is 3"),
        ("code", None, "its code is missing"),
        ("seconds", -0.5, "its seconds is -0.5"),
        ("seconds", None, "its seconds is missing"),
        ("n", 2**64, "its n is 18446744073709551616"),
        ("number", 2**64, "its number is 18446744073709551616"),
        ("timing", ["shared"], "its timing is ['shared']"),
        ("error", 7, "its error is 7"),
    ],
)
def test_a_record_without_what_a_run_or_a_report_reads_is_refused(field, value, message):
    with pytest.raises(RecordError) as refused:
        read_line(write_line({**RECORD, field: value}))
    assert str(refused.value) == message


def test_a_count_may_be_as_large_as_an_array_of_whole_numbers_holds():
    assert read_line(write_line({**RECORD, "n": 2**63 - 1}))["n"] == np.iinfo(np.int64).max
    with pytest.raises(RecordError, match="its n is"):
        read_line(write_line({**RECORD, "n": 2**63}))


@for_each(("classes", "most"), [(3, 30), (1, 10), (0, 10), (True, 10), ("3", 10)])
def test_only_a_number_of_classes_allows_more_updates_than_examples(classes, most):
    record = {**RECORD, "n": 10, "setting": {"classes": classes}}
    assert read_line(write_line({**record, "updates": most}))["updates"] == most
    with pytest.raises(RecordError, match=f"its updates is {most + 1} of 10"):
        read_line(write_line({**record, "updates": most + 1}))


def test_a_broken_line_before_an_empty_one_is_no_torn_last_line(tmp_path):
    """A kill leaves half a line at the end, and nothing behind it."""
    path = write(tmp_path, RECORD)
    path.write_bytes(path.read_bytes() + b"half a li\n\n")
    with pytest.raises(UserError, match=":2: this line is not a trial"):
        list(ledger.each(tmp_path))


def test_a_closed_ledger_holds_no_file_open(tmp_path):
    with ledger.open_ledger(tmp_path) as book:
        book.append(RECORD)
        file = book.lines.file
        assert os.fstat(file).st_size == len(write_line(RECORD))
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(file)


def test_not_even_a_space_behind_the_checksum_is_accepted():
    with pytest.raises(ChecksumError):
        read_line(write_line(RECORD).replace(b'"}', b'" }'))


def test_a_count_out_of_nothing_is_a_defect_and_no_infinite_rate():
    from olbench.protocols import get_protocol

    protocol = get_protocol("crossval")
    quantities = (*protocol.quantities, *protocol.recorded)
    record = dict.fromkeys([name for each in quantities for name in each.ratio or (each.name,)], 1)
    assert protocol.find_defect(record) == ""
    reason = protocol.find_defect({**record, "training_n": 0})
    assert reason == "it has training_errors, but its training_n is 0"


def test_a_ratio_of_nothing_is_no_number_and_no_warning():
    import pandas as pd

    from olbench.quantities import Quantity

    ratio = Quantity("rate", "rate", 4, ratio=("hits", "n"))
    rows = [{"hits": 0, "n": 0}, {"hits": 1, "n": 4}]
    assert [str(ratio.of(row)) for row in rows] == ["nan", "0.25"]
    assert [str(float(value)) for value in ratio.column(pd.DataFrame(rows))] == ["nan", "0.25"]
