"""Records in columns: the ledger of a run that ships or travels, at a fraction of the size of its lines.

The file is JSON, compressed by xz:

    {"format": 2, "order": [[0, 40], [1, 7]],
     "groups": [{"dataset": ["splice", ...], "params": {"C": [1.0, ...]}, ...}, ...]}

Records with the same fields form a group, which looks like one of them with a list in place of every value.
By `order`, 40 records of group 0 come first, then 7 of group 1. Keys and checksums follow from the rest.
Where all values are lists of whole numbers, such as curves, "steps of NAME" has their differences.
"""

import json
import lzma
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby, islice, pairwise
from typing import Any

from olbench.records import FORMAT
from olbench.records.record import BrokenRecordError, check_fields, refuse_constant
from olbench.records.trial import Record, key_of

#: Columns are never this much larger than packed, with some allowance for a few; a bomb is.
MOST_RATIO, ALLOWANCE = 200, 16 << 20
MOST_MEMORY = 1 << 28
STEPS = "steps of "


class PackedError(ValueError):
    """Content that is not a packed ledger, or was changed after it was written."""


def pack(records: Iterable[Record]) -> bytes:
    groups: dict[str, list[Record]] = {}
    order = []
    for record in records:
        stored = {name: value for name, value in record.items() if name != "key"}
        # A setting of a user's own protocol may have numbers as keys, which JSON makes text.
        if record["key"] != key_of(record):
            stored["key"] = record["key"]
        outline = json.dumps(_outline(stored))
        groups.setdefault(outline, []).append(stored)
        order.append(outline)
    number = {outline: place for place, outline in enumerate(groups)}
    content = {
        "format": FORMAT,
        "order": [[number[outline], len(list(run))] for outline, run in groupby(order)],
        "groups": [_to_columns(json.loads(outline), rows) for outline, rows in groups.items()],
    }
    return compress(json.dumps(content, allow_nan=False, separators=(",", ":")).encode())


def compress(content: bytes) -> bytes:
    # The bytes before predict the digits of numbers better than the place within a word, hence lc and pb. A
    # dictionary larger than the content takes time to set up and gains nothing.
    size = min(max(len(content), 2**12), 2**26)
    tuned = {"preset": 9 | lzma.PRESET_EXTREME, "dict_size": size, "lc": 4, "lp": 0, "pb": 0}
    return lzma.compress(content, check=lzma.CHECK_SHA256, filters=[{"id": lzma.FILTER_LZMA2, **tuned}])


def unpack(content: bytes) -> Iterator[Record]:
    tree = _read(content)
    try:
        groups = [iter(_to_rows(columns)) for columns in tree["groups"]]
        for place, length in tree["order"]:
            for stored in islice(groups[place], length):
                key = stored.pop("key", None) or key_of(stored)
                record = {"key": key, **stored}
                check_fields(record)
                yield record
        if any(next(rows, None) for rows in groups):
            raise PackedError("its columns do not fit together")
    except BrokenRecordError as error:
        raise PackedError(f"it has a record that olbench cannot have written: {error}") from None
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError):
        raise PackedError("its columns do not fit together") from None


def _outline(record: Record) -> dict[str, Any]:
    return {
        name: _outline(value) if isinstance(value, dict) and value else None for name, value in record.items()
    }


def _to_columns(outline: dict[str, Any], rows: Sequence[Record]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name, inner in outline.items():
        values = [row[name] for row in rows]
        if inner:
            columns[name] = _to_columns(inner, values)
        elif all(type(each) is list and all(type(number) is int for number in each) for each in values):
            columns[STEPS + name] = [
                [after - before for before, after in pairwise((0, *each))] for each in values
            ]
        else:
            columns[name] = values
    return columns


def _to_rows(columns: dict[str, Any]) -> Iterator[Record]:
    names, values = [], list[Iterable[Any]]()
    for name, column in columns.items():
        names.append(name.removeprefix(STEPS))
        if isinstance(column, dict):
            values.append(_to_rows(column))
        else:
            values.append([list(accumulate(steps)) for steps in column] if name.startswith(STEPS) else column)
    return (dict(zip(names, row, strict=True)) for row in zip(*values, strict=True))


def _read(content: bytes) -> Any:
    most = ALLOWANCE + MOST_RATIO * len(content)
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, MOST_MEMORY)
    try:
        text = unpacker.decompress(content, most + 1)
    except lzma.LZMAError as error:
        raise PackedError(str(error).rstrip(".")) from None
    if len(text) > most:
        raise PackedError("it unpacks to far more than records do")
    if not unpacker.eof or unpacker.unused_data:
        raise PackedError("it is cut off, or something follows it")
    try:
        tree = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        raise PackedError("it is not JSON") from None
    if not isinstance(tree, dict) or tree.get("format") != FORMAT:
        raise PackedError(f"it does not hold records of format {FORMAT}")
    return tree
