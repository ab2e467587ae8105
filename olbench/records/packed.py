"""Records in columns: a ledger that ships or travels, at a fraction of the size of its lines.

The file is JSON, compressed by xz:

    {"format": "olbench records", "version": 1, "keys": "...", "lines": "...",
     "sequence": [[0, 40], [1, 7]], "groups": [...]}

Records with the same fields form a group. A group looks like such a record, with a column in place of every
value: one value per record of the group. By `sequence`, 40 records of group 0 come first, then 7 of group 1.
A column is a list that begins with its kind:

    ["all", v]                 v in every record
    ["of", column, [0, 0, 1]]  values by their place in a column of distinct ones
    ["plain", [...]]           the values themselves
    ["numbers", d, [...]]      whole numbers (d null), or decimals as whole numbers of the unit 10^-d
    ["steps", d, [...]]        the same, each number as its difference from the one before
    ["shares", d, [...]]       the same, each number k for the decimal k/n with d digits, n the record's field
    ["lists", column, column]  lists: their lengths, and the values of all lists, one after the other
    ["key"], ["checksum"]      what follows from the rest of the record

A record comes back with every byte of its line. `keys` and `lines` are the SHA-256 of all keys and of all
lines. They are verified on reading, and so tell whether what was computed anew is what it was.
"""

import hashlib
import io
import json
import lzma
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, chain, groupby, islice, pairwise, repeat
from typing import Any

from olbench.data.compressed import BUFFER, Decompressed
from olbench.records.record import BrokenRecordError, check_fields, checksum_of, write_line
from olbench.records.trial import FIELDS, Record, key_of

FORMAT, VERSION = "olbench records", 1
#: Columns are never this much larger than packed, with some room for a few; a bomb is.
MOST_RATIO, ROOM = 200, 16 << 20
#: Limits against columns that are made to fill the memory: values, bytes of lines.
MOST_VALUES, MOST_LINES = 2**27, 2**32
#: How many digits a decimal may have; more of them are no shorter as whole numbers.
_MOST_DIGITS = 9
#: The digits of a share, such as the accuracy at a point of a curve.
_SHARE_DIGITS = 6
_SAMPLE = 5000
_Column = list[Any]
#: The keys of one file by its hash: a run file that names its lines is read several times.
_kept_keys: dict[bytes, tuple[str, ...]] = {}


class PackedError(ValueError):
    """Content that is no packed ledger, or not the one that was written."""


def pack(records: Iterable[Record]) -> bytes:
    groups: dict[str, list[Record]] = {}
    order, lines, keys = [], hashlib.sha256(), hashlib.sha256()
    for record in records:
        lines.update(write_line(record))
        keys.update(record["key"].encode())
        outline = json.dumps(_outline(record))
        groups.setdefault(outline, []).append(record)
        order.append(outline)
    number = {outline: place for place, outline in enumerate(groups)}
    content = {
        "format": FORMAT,
        "version": VERSION,
        "keys": keys.hexdigest(),
        "lines": lines.hexdigest(),
        "sequence": [[number[outline], len(list(run))] for outline, run in groupby(order)],
        "groups": [
            _encode_mapping(json.loads(outline), group, [record.get("n") for record in group])
            for outline, group in groups.items()
        ],
    }
    return compress(json.dumps(content, allow_nan=False, separators=(",", ":")).encode())


def compress(content: bytes) -> bytes:
    # The bytes before predict the digits of numbers better than the place within a word, hence lc and pb. A
    # dictionary larger than the content takes time to set up and gains nothing.
    size = min(max(len(content), 2**12), 2**26)
    tuned = {"preset": 9 | lzma.PRESET_EXTREME, "dict_size": size, "lc": 4, "lp": 0, "pb": 0}
    return lzma.compress(content, check=lzma.CHECK_SHA256, filters=[{"id": lzma.FILTER_LZMA2, **tuned}])


def unpack(content: bytes) -> list[Record]:
    return [record for record, _ in unpack_lines(content)]


def unpack_lines(content: bytes) -> Iterator[tuple[Record, bytes]]:
    tree = _read(content)
    digest, size = hashlib.sha256(), 0
    with _refusal():
        for record in _each(tree):
            line = write_line(record)
            if record.get("checksum", "") is None:
                record["checksum"] = checksum_of(line)
            digest.update(line)
            size += len(line)
            if size > MOST_LINES:
                raise PackedError(f"it has more than {MOST_LINES:,} bytes of records")
            yield record, line
    if digest.hexdigest() != tree.get("lines"):
        raise PackedError("its lines do not match their checksum")


def unpack_briefly(content: bytes) -> Iterator[Record]:
    """With None for checksums, which take the most time; that of the file covers the records."""
    tree, keys = _read(content), []
    with _refusal():
        for record in _each(tree):
            keys.append(record["key"])
            yield record
    _keep_keys(content, keys)


def unpack_keys(content: bytes) -> tuple[str, ...]:
    if (mark := hashlib.sha256(content).digest()) in _kept_keys:
        return _kept_keys[mark]
    tree = _read(content)
    with _refusal():
        groups = [
            {name: group[name] for name in (*FIELDS, "key", "n") if name in group} for group in tree["groups"]
        ]
        return _keep_keys(content, [each["key"] for each in _Decoder().records(groups, tree["sequence"])])


def _keep_keys(content: bytes, keys: Iterable[str]) -> tuple[str, ...]:
    _kept_keys.clear()
    return _kept_keys.setdefault(hashlib.sha256(content).digest(), tuple(keys))


@contextmanager
def _refusal() -> Iterator[None]:
    try:
        yield
    except PackedError:
        raise
    except BrokenRecordError as error:
        raise PackedError(f"it has a record that no trial can have written: {error}") from None
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError):
        raise PackedError("its columns do not fit together") from None


def _each(tree: dict[str, Any]) -> Iterator[Record]:
    keys = hashlib.sha256()
    for record in _Decoder().records(tree["groups"], tree["sequence"]):
        check_fields(record)
        keys.update(record["key"].encode())
        yield record
    if keys.hexdigest() != tree.get("keys"):
        raise PackedError("its keys do not match their checksum")


class _Decoder:
    def __init__(self) -> None:
        self.left = MOST_VALUES

    def records(self, groups: Sequence[Any], runs: Sequence[Any]) -> Iterator[Record]:
        counts = [0] * len(groups)
        for place, length in runs:
            if length < 1:
                raise PackedError("its columns do not fit together")
            counts[place] += length
        made = [self._group(group, count) for group, count in zip(groups, counts, strict=True)]
        for place, length in runs:
            yield from islice(made[place], length)

    def _group(self, columns: Any, count: int) -> Iterator[Record]:
        sizes = self._column(columns["n"], count, []) if "n" in columns else []
        has_key = columns.get("key") == ["key"]
        for record in self._mappings(columns, count, sizes):
            if has_key:
                record["key"] = key_of(record)
            yield record

    def _mappings(self, columns: Any, count: int, sizes: Sequence[int]) -> Iterator[Record]:
        inner = [
            self._mappings(each, count, sizes) if isinstance(each, dict) else self._column(each, count, sizes)
            for each in columns.values()
        ]
        return (dict(zip(columns, row, strict=True)) for row in zip(*inner, strict=True))

    def _column(self, column: Any, count: int, sizes: Sequence[int]) -> Sequence[Any]:
        self.left -= count
        if self.left < 0:
            raise PackedError(f"it has more than {MOST_VALUES:,} values")
        values: Sequence[Any]
        match column:
            case ["all", value]:
                values = [value] * count
            case ["of", inner, list() as places]:
                distinct = self._column(inner, max(places) + 1, [])
                values = [distinct[place] for place in places]
            case ["plain", list() as values]:
                pass
            case ["numbers", digits, list() as whole]:
                values = _decimals(digits, whole)
            case ["steps", digits, list() as steps]:
                values = _decimals(digits, list(accumulate(steps)))
            case ["shares", digits, list() as shares]:
                values = _shares(digits, shares, sizes)
            case ["lists", inner, within]:
                values = self._lists(self._column(inner, count, []), within, sizes)
            case ["key" | "checksum"]:
                values = [None] * count
            case _:
                raise PackedError("it has a column of an unknown kind")
        if len(values) != count:
            raise PackedError("its columns do not fit together")
        return values

    def _lists(self, lengths: Sequence[int], column: Any, sizes: Sequence[int]) -> list[list[Any]]:
        total = sum(lengths)
        # The values are counted before the size of each is repeated for them.
        repeated = chain.from_iterable(map(repeat, sizes, lengths)) if total <= self.left else ()
        values = iter(self._column(column, total, list(repeated)))
        return [list(islice(values, length)) for length in lengths]


def _outline(record: Record) -> dict[str, Any]:
    """Return the fields of a record without values, but for a key and checksum that follow from the rest."""
    outline = _names(record)
    if all(name in record for name in FIELDS) and record.get("key") == key_of(record):
        outline["key"] = "key"
    if "checksum" in record:
        outline["checksum"] = "checksum"
    return outline


def _names(mapping: Record) -> dict[str, Any]:
    return {
        name: _names(value) if isinstance(value, dict) and value else None for name, value in mapping.items()
    }


def _encode_mapping(outline: dict[str, Any], rows: Sequence[Record], sizes: Sequence[Any]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name, inner in outline.items():
        if isinstance(inner, str):
            columns[name] = [inner]
            continue
        values = [row[name] for row in rows]
        columns[name] = _encode_mapping(inner, values, sizes) if inner else _encode(values, sizes)
    return columns


def _encode(values: Sequence[Any], sizes: Sequence[Any]) -> _Column:
    texts = [json.dumps(value) for value in values]
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    if len(places) == 1:
        return ["all", values[0]]
    if 4 * len(places) <= len(values):
        # The sizes differ between records of one value, so a column of distinct values has no shares.
        distinct = _encode_distinct([json.loads(text) for text in places], [])
        return ["of", distinct, [places[text] for text in texts]]
    return _encode_distinct(values, sizes)


def _encode_distinct(values: Sequence[Any], sizes: Sequence[Any]) -> _Column:
    if all(type(value) is list for value in values):
        lengths = [len(value) for value in values]
        if any(lengths):
            within = list(chain.from_iterable(map(repeat, sizes, lengths)))
            return [
                "lists",
                _encode(lengths, []),
                _encode_distinct(list(chain.from_iterable(values)), within),
            ]
    elif (shares := _as_shares(values, sizes)) is not None:
        return ["shares", *shares]
    elif (numbers := _as_whole(values)) is not None:
        digits, whole = numbers
        steps = [whole[0], *(after - before for before, after in pairwise(whole))]
        return min(["numbers", digits, whole], ["steps", digits, steps], key=_cost)
    return ["plain", list(values)]


def _cost(column: _Column) -> int:
    return len(zlib.compress(json.dumps(column[-1][:_SAMPLE]).encode(), 6))


def _as_whole(values: Sequence[Any]) -> tuple[int | None, list[int]] | None:
    """Return numbers as whole ones, and how many digits they have after the point (None: they are whole)."""
    if all(type(value) is int for value in values):
        return None, list(values)
    if not all(type(value) is float for value in values):
        return None
    for digits in range(_MOST_DIGITS + 1):
        whole = [round(value * 10**digits) for value in values]
        if all(map(_is_same, _decimals(digits, whole), values)):
            return digits, whole
    return None


def _as_shares(values: Sequence[Any], sizes: Sequence[Any]) -> tuple[int, list[int]] | None:
    """Return decimals as the counts of which they are shares, and the number of their digits."""
    if len(sizes) != len(values) or not all(type(size) is int and size > 0 for size in sizes):
        return None
    if not all(type(value) is float for value in values):
        return None
    counts = [round(value * size) for value, size in zip(values, sizes, strict=True)]
    if all(map(_is_same, _shares(_SHARE_DIGITS, counts, sizes), values)):
        return _SHARE_DIGITS, counts
    return None


def _is_same(one: float, other: float) -> bool:
    """Return whether two numbers have the same text; 0.0 and -0.0 do not."""
    return one == other and (one != 0 or str(one) == str(other))


def _decimals(digits: int | None, whole: list[int]) -> Sequence[float]:
    if digits is None:
        return whole
    # The unit is exact in floating point, so the division rounds as reading the decimal does.
    unit = 10.0 ** min(digits, _MOST_DIGITS)
    return [number / unit for number in whole]


def _shares(digits: int, counts: Iterable[int], sizes: Iterable[int]) -> list[float]:
    return [round(count / size, digits) for count, size in zip(counts, sizes, strict=True)]


def _read(content: bytes) -> Any:
    reader = io.BufferedReader(Decompressed(io.BytesIO(content), "xz"), BUFFER)
    most = ROOM + MOST_RATIO * len(content)
    try:
        text = reader.read(most + 1)
    except (lzma.LZMAError, EOFError) as error:
        raise PackedError(str(error).rstrip(".")) from None
    if len(text) > most:
        raise PackedError("it unpacks to far more than records do")
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        raise PackedError("it is not JSON") from None
    if not isinstance(tree, dict) or tree.get("format") != FORMAT:
        raise PackedError("it does not hold records")
    if tree.get("version") != VERSION:
        raise PackedError("a newer olbench wrote it")
    return tree
