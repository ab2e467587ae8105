"""Records: the JSON lines of a ledger, each with a checksum of the text before it."""

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from olbench.errors import UserError, describe_error, escape_controls, find_line, shorten
from olbench.records import FORMAT
from olbench.records.quantities import COUNTS, CPU_SECONDS, LABELS, NONZEROS, SECONDS, STATE_BYTES
from olbench.records.trial import Outcome, Record, Trial, make_plain
from olbench.structs import is_number, is_whole

#: Fields of a record that are mappings but not curves; a run keeps them in memory.
MAPPINGS = ("params", "options", "setting", "arrays", "choice", "scores")

_KINDS: dict[str, type] = {
    **dict.fromkeys(
        ("key", "protocol", "dataset", "fingerprint", "algorithm", "role", "code", "status"), str
    ),
    **dict.fromkeys(("number", "seed"), int),
    **dict.fromkeys(("params", "options", "setting"), dict),
}
_NO_NUMBERS = {name for name, kind in _KINDS.items() if kind is not int} | {"timing", "error"}
TIMES = (SECONDS.name, CPU_SECONDS.name)
_CHECKSUM_DIGITS = 16
#: Made once: `json.dumps` would make one for every line.
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


class RecordError(ValueError):
    """A line that is not a record, or was changed after it was written."""


class BrokenRecordError(RecordError):
    """A whole record that olbench cannot have written, or that was changed."""


def success(trial: Trial, outcome: Outcome, numbered: str, seconds: float) -> Record:
    """The seconds are of the whole trial, unless the protocol measures a more relevant part of it.

    A UserError says what no record can hold.
    """
    measured: Record = {"seconds": round(seconds, 9), **outcome.measured, **outcome.series}
    if outcome.choice:
        measured["choice"] = outcome.choice
    if outcome.state_bytes is not None:
        measured[STATE_BYTES.name] = outcome.state_bytes
    told = {**_head(trial, numbered), "timing": "shared", "status": "ok", "error": None}
    if taken := sorted(told.keys() & measured.keys()):
        raise UserError(f"a record has a field {taken[0]} of its own; give the quantity another name")
    record = {**make_plain(measured), **told}
    try:
        _check_measured(record)
    except BrokenRecordError as error:
        raise UserError(str(error)) from None
    arrays = {name: np.asarray(each) for name, each in outcome.arrays.items()}
    if objects := [name for name, each in arrays.items() if each.dtype.hasobject]:
        raise UserError(f"the array {objects[0]} has Python objects; give it a dtype of numbers or text")
    return {**record, "arrays": arrays} if arrays else record


def failure(trial: Trial, error: BaseException, numbered: str, fields: Sequence[str]) -> Record:
    """Return the record of a trial that failed: every field that it would have measured is null."""
    empty, definition = dict.fromkeys((*fields, "seconds")), trial.definition
    is_raw = definition.is_own and not isinstance(error, UserError)
    line = find_line(error, definition.file) if is_raw else 0
    place = f"{Path(definition.file).name}:{line}: " if line else ""
    told = {"timing": "shared", "status": "failed", "error": f"{place}{describe_error(error)}"}
    return {**_head(trial, numbered), **empty, **told}


def _head(trial: Trial, numbered: str) -> Record:
    return {"key": trial.key, "format": FORMAT, **trial.identity(), numbered: trial.number}


def write_line(record: Mapping[str, Any]) -> bytes:
    text = _ENCODER.encode({name: value for name, value in record.items() if name != "checksum"})
    return f'{text[:-1]},"checksum":"{_checksum(text.encode())}"}}\n'.encode()


def read_line(line: bytes) -> Record:
    try:
        record = json.loads(line, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        raise RecordError("this line is not a trial") from None
    if not isinstance(record, dict) or not {"key", "status"} <= record.keys():
        raise RecordError("this line is not a trial")
    if record.get("format") != FORMAT:
        found = _show(record.get("format"))
        raise BrokenRecordError(f"its format is {found}, and this olbench reads format {FORMAT}")
    body, mark, rest = line.rstrip(b"\n").rpartition(b',"checksum":"')
    if not mark or rest != f'{_checksum(body + b"}")}"}}'.encode():
        raise BrokenRecordError(
            "this record does not match its checksum: it was changed after it was written"
        )
    del record["checksum"]
    check_fields(record)
    return record


def refuse_constant(word: str) -> NoReturn:
    """Refuse NaN and Infinity, which `write_line` does not write."""
    raise ValueError(word)


def check_fields(record: Mapping[str, Any]) -> None:
    for name, kind in _KINDS.items():
        value = record.get(name)
        # Not isinstance, which takes true for a number.
        if type(value) is not kind:
            raise BrokenRecordError(f"its {name} is {_show(value)}")
    if record.get("timing", "shared") not in ("shared", "exclusive"):
        raise BrokenRecordError(f"its timing is {_show(record['timing'])}")
    if not isinstance(record.get("error"), str | None):
        raise BrokenRecordError(f"its error is {_show(record['error'])}")
    if record["status"] not in ("ok", "failed"):
        raise BrokenRecordError(f"its status is {_show(record['status'])}")
    if not is_whole(record["number"]):
        raise BrokenRecordError(f"its number is {_show(record['number'])}")
    arrays = record.get("arrays") or {}
    if not isinstance(arrays, dict) or not all(map(_is_reference, arrays.values())):
        raise BrokenRecordError(f"its arrays is {_show(arrays)}")
    if record["status"] == "ok":
        _check_measured(record)


def _is_reference(value: Any) -> bool:
    """Return whether a value says where an array is, as `arrays.py` writes it."""
    is_complete = isinstance(value, dict) and {"offset", "bytes", "crc32"} <= value.keys()
    return is_complete and all(map(is_whole, value.values()))


def _check_measured(record: Mapping[str, Any]) -> None:
    most = record.get("n")
    # With one learner per class, updates are sums over the classes; a stream may learn more than it predicts.
    several, lessons = record["setting"].get("classes"), record.get(LABELS.name)
    times = several if is_whole(several, 1) else 1
    for name, value in record.items():
        if name in _NO_NUMBERS:
            continue
        if name in COUNTS:
            # The non-zero weights of an object are not counted.
            whole = is_whole(value) or (value is None and name == NONZEROS.name)
            limit = COUNTS[name].at_most_n
            bound = most
            if limit == "per class" and isinstance(most, int):
                bound = times * (max(most, int(lessons or 0)) if is_whole(lessons) else most)
            if not whole or (limit and isinstance(bound, int) and value > bound):
                raise BrokenRecordError(f"its {name} is {_show(value)}" + (f" of {most}" if whole else ""))
        elif name in TIMES:
            if not is_number(value) or value < 0:
                raise BrokenRecordError(f"its {name} is {_show(value)}")
        elif type(value) in (int, float) and not is_number(value):
            raise BrokenRecordError(f"its {_show_field(name)} is {_show(value)}")
        elif isinstance(value, dict) and name not in MAPPINGS:
            lengths = {len(column) if isinstance(column, list) else -1 for column in value.values()}
            if len(lengths) != 1 or min(lengths) < 0:
                shown = f"the columns of its {_show_field(name)}"
                raise BrokenRecordError(f"{shown} are not lists of one length")


def _show(value: Any) -> str:
    return "missing" if value is None else shorten(repr(value))


def _show_field(name: str) -> str:
    return escape_controls(shorten(name))


def _checksum(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:_CHECKSUM_DIGITS]


def without_series(record: Record) -> Record:
    """Return a record without its curves: a run of many trials keeps all records in memory.

    Their field names are shared, which takes 2 kB less per record.
    """
    return {
        sys.intern(name): None if isinstance(value, dict) and name not in MAPPINGS else value
        for name, value in record.items()
    }
