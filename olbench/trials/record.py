"""Records: the JSON lines of a ledger, with a version and a checksum.

Version 2 ends with a checksum of the text before it, which is verified when the line is read. Version 1,
written by olbench 0.1, knew the online protocol only and had no checksum; it is read as what it says.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from olbench.errors import shorten
from olbench.trials.trial import Outcome, Record, Trial

VERSION = 2
#: What a record of version 1 called things.
_ONLINE_V1 = {"permutation": "number", "kernels": "code"}
_SETTING_V1 = ("part", "points")
#: Fields of a record that are mappings and no curves; a run keeps them in memory.
MAPPINGS = ("params", "options", "setting", "arrays", "choice", "scores")


#: The kinds of the fields that every record has.
_KINDS: dict[str, type | tuple[type, ...]] = {
    "key": str, "dataset": str, "algorithm": str, "role": str, "status": str, "number": int, "seed": int,
    "params": dict, "options": dict, "setting": dict,
}  # fmt: skip
#: Fields that a record of version 1 may lack.
_SINCE_V2 = ("options", "seed")
#: Counts, and those of them that cannot exceed the number of examples.
PARTS_OF_N = ("mistakes", "updates", "effective_updates", "errors")
COUNTS = ("n", *PARTS_OF_N, "breakdowns", "training_n", "training_errors", "epochs")


class RecordError(ValueError):
    """A line that is no record, or not the record that was written."""


def success(trial: Trial, outcome: Outcome, numbered: str, seconds: float) -> Record:
    """Return the record of a trial that succeeded; `numbered` is the protocol's name for its number.

    The seconds are those of the whole trial, unless the protocol measures a more telling part of it.
    """
    measured: Record = {"seconds": round(seconds, 9), **outcome.measured, **outcome.series}
    if outcome.choice:
        measured["choice"] = dict(outcome.choice)
    return {**_head(trial, numbered), **measured, "timing": "shared", "status": "ok", "error": None}


def failure(trial: Trial, error: BaseException, numbered: str, fields: Sequence[str]) -> Record:
    """Return the record of a trial that failed: every field that it would have measured is null."""
    reason = f"{type(error).__name__}: {error}"
    empty = dict.fromkeys((*fields, "seconds"))
    return {**_head(trial, numbered), **empty, "timing": "shared", "status": "failed", "error": reason}


def _head(trial: Trial, numbered: str) -> Record:
    return {"key": trial.key, "version": VERSION, **trial.identity(), numbered: trial.number}


def write_line(record: Mapping[str, Any]) -> bytes:
    """Return a record as a line of the ledger, with its checksum last."""
    content = {name: value for name, value in record.items() if name != "checksum"}
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return f'{text[:-1]},"checksum":"{_checksum(text.encode())}"}}\n'.encode()


def read_line(line: bytes) -> Record:
    """Return the record of a line, verified and in the form of the current version."""
    try:
        record = json.loads(line)
    except ValueError:
        raise RecordError("this line is not a trial") from None
    if not isinstance(record, dict) or not {"key", "status"} <= record.keys():
        raise RecordError("this line is not a trial")
    version = record.get("version", 1)
    if version == 1:
        record = _upgrade(record)
        check_fields(record)
        return record
    if version != VERSION:
        raise RecordError(f"this record has version {version}, which a newer olbench wrote")
    body, mark, _ = line.rstrip(b"\n").rpartition(b',"checksum":"')
    if not mark or record.get("checksum") != _checksum(body + b"}"):
        raise ChecksumError("this record does not match its checksum: it was changed after it was written")
    check_fields(record)
    return record


def check_fields(record: Mapping[str, Any]) -> None:
    """Refuse a record with a field of the wrong kind, or with counts that no trial can have."""
    for name, kind in _KINDS.items():
        if record["version"] == 1 and name in _SINCE_V2 and name not in record:
            continue
        if not isinstance(record.get(name), kind) or isinstance(record.get(name), bool):
            raise BrokenRecordError(f"its {name} is {_show(record.get(name))}")
    if record["number"] < 0 or record["status"] not in ("ok", "failed"):
        name = "number" if record["number"] < 0 else "status"
        raise BrokenRecordError(f"its {name} is {_show(record[name])}")
    if record["status"] == "ok":
        _check_measured(record)


def _check_measured(record: Mapping[str, Any]) -> None:
    most = record.get("n")
    for name, value in record.items():
        if name in COUNTS:
            whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
            if not whole or (name in PARTS_OF_N and isinstance(most, int) and value > most):
                raise BrokenRecordError(f"its {name} is {_show(value)}" + (f" of {most}" if whole else ""))
        elif isinstance(value, float) and not math.isfinite(value):
            raise BrokenRecordError(f"its {name} is {_show(value)}")
        elif isinstance(value, dict) and name not in MAPPINGS:
            lengths = {len(column) if isinstance(column, list) else -1 for column in value.values()}
            if len(lengths) != 1 or min(lengths) < 1:
                raise BrokenRecordError(f"the columns of its {name} are not lists of one length")


def _show(value: Any) -> str:
    return "missing" if value is None else shorten(repr(value))


class BrokenRecordError(RecordError):
    """A whole record that no trial can have written."""


class ChecksumError(BrokenRecordError):
    """A whole record that is not as it was written."""


def _checksum(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]


def _upgrade(record: Record) -> Record:
    """Return a record of version 1 with the fields that version 2 has."""
    found = {_ONLINE_V1.get(name, name): value for name, value in record.items() if name not in _SETTING_V1}
    setting = {name: record[name] for name in _SETTING_V1 if name in record}
    return {
        "version": 1,
        "protocol": "online",
        "setting": setting,
        **found,
        "permutation": found.get("number"),
    }


def without_series(record: Record) -> Record:
    """Return a record without its curves: a run of many trials keeps all records in memory."""
    return {
        name: None if isinstance(value, dict) and name not in MAPPINGS else value
        for name, value in record.items()
    }
