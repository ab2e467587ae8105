"""Records: the JSON lines of a ledger, with a version and a checksum.

Version 2 ends with a checksum of the text before it, which is verified when the line is read. Version 1,
written by olbench 0.1, knew the online protocol only and had no checksum; it is read as what it says.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from olbench.trials.trial import Outcome, Record, Trial

VERSION = 2
#: What a record of version 1 called things.
_ONLINE_V1 = {"permutation": "number", "kernels": "code"}
_SETTING_V1 = ("part", "points")
#: Fields of a record that are mappings and no curves; a run keeps them in memory.
MAPPINGS = ("params", "options", "setting", "arrays", "choice", "scores")


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
        return _upgrade(record)
    if version != VERSION:
        raise RecordError(f"this record has version {version}, which a newer olbench wrote")
    body, mark, _ = line.rstrip(b"\n").rpartition(b',"checksum":"')
    if not mark or record.get("checksum") != _checksum(body + b"}"):
        raise ChecksumError("this record does not match its checksum: it was changed after it was written")
    return record


class ChecksumError(RecordError):
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
