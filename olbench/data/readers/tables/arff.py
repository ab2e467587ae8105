"""ARFF files, as Weka and OpenML write them: a header that declares the columns, then rows of values.

Numeric, nominal, string and date attributes are read, in dense and sparse rows; relational ones are refused,
and weights of instances too. A nominal or string attribute whose values are numbers is a column of numbers.
"""

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from olbench.data.prepare.labels import is_number
from olbench.data.readers.cells import GAPS, Table, TableBuilder
from olbench.data.readers.compressed import read_utf8
from olbench.data.readers.quoting import quote
from olbench.errors import UserError

#: One value: quoted with a backslash before what is meant literally, or up to a comma; and what follows it.
#: Nothing is tried twice (*+), so that the time grows with the length of the line alone.
_ONE_VALUE = r"""\s*+(?:'((?:[^'\\]|\\.)*+)'|"((?:[^"\\]|\\.)*+)"|([^,'"{}]*+))\s*+(,|$)"""
_VALUE = re.compile(_ONE_VALUE)
_NAME = re.compile(r"""(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(\S+))\s*(.*)""")
#: The same after the number of its attribute.
_ENTRY = re.compile(r"\s*+([0-9]{1,18})\s" + _ONE_VALUE)
_SPECIAL = re.compile(r"""['"{}]""")
_NUMERIC = ("numeric", "real", "integer")
SUFFIXES = (".arff",)


@dataclass(frozen=True)
class _Attribute:
    """A column: its name, and the values that a nominal one may have."""

    name: str
    is_numeric: bool
    values: frozenset[str] | None = None
    #: What a sparse row means that leaves it out: zero, or the first value of a nominal attribute.
    default: str = "0"


def read_table(path: str | Path, delimiter: str = "", limit: int | None = None) -> Table:
    """Return the cells of an ARFF file."""
    attributes: list[_Attribute] = []
    builder: TableBuilder | None = None
    for number, line in _lines(path, limit):
        place = f"{path}:{number}"
        if builder is not None:
            builder.add(number, _read_row(place, line, attributes))
            continue
        word, _, rest = line.partition(" ") if " " in line else line.partition("\t")
        match word.lower():
            case "@relation":
                continue
            case "@attribute":
                attributes.append(_read_attribute(place, rest.strip()))
            case "@data":
                if not attributes:
                    raise UserError(f"{place}: @data comes before any @attribute; this is not an ARFF file")
                builder = TableBuilder(str(path), [attribute.name for attribute in attributes])
            case _:
                raise UserError(
                    f"{place}: {quote(line)} is neither @relation, @attribute nor @data; is it an ARFF file?"
                )
    if builder is None:
        raise UserError(f"{path}: there is no @data in it; is it an ARFF file?")
    return builder.finish()


def _lines(path: str | Path, limit: int | None) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither blank nor comments, with their numbers."""
    text = io.TextIOWrapper(io.BytesIO(read_utf8(path, limit)), encoding="utf-8")
    for number, line in enumerate(text, 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("%"):
            yield number, stripped


def _read_attribute(place: str, text: str) -> _Attribute:
    match = _NAME.fullmatch(text)
    if match is None or not match[4]:
        raise UserError(f"{place}: an attribute needs a name and a type, as in @attribute size numeric")
    name = _unescape(next(group for group in match.groups()[:3] if group is not None))
    kind = match[4].strip()
    if kind.lower() in _NUMERIC:
        return _Attribute(name, True)
    if kind.startswith("{") and kind.endswith("}"):
        values = _split(place, kind[1:-1])
        return _Attribute(name, False, frozenset(values), values[0] if values else "0")
    if kind.lower() == "string" or kind.lower().split()[0] == "date":
        return _Attribute(name, False)
    raise UserError(
        f"{place}: the type {quote(kind)} is not read; attributes are numeric, nominal, string or date"
    )


def _read_row(place: str, line: str, attributes: Sequence[_Attribute]) -> list[str]:
    fields = _spread(place, line, attributes) if line.startswith("{") else _split(place, line)
    for attribute, field in zip(attributes, fields, strict=False):
        if field in GAPS:
            continue
        if attribute.is_numeric and not is_number(field):
            raise UserError(f"{place}: attribute {quote(attribute.name)} is numeric, but has {quote(field)}")
        if attribute.values is not None and field not in attribute.values:
            raise UserError(
                f"{place}: attribute {quote(attribute.name)} does not declare the value {quote(field)}"
            )
    return fields


def _spread(place: str, line: str, attributes: Sequence[_Attribute]) -> list[str]:
    """Return a sparse row, {index value, index value}, in full."""
    if not line.endswith("}"):
        raise UserError(f"{place}: a sparse row ends with a brace, and nothing may follow it")
    fields = [attribute.default for attribute in attributes]
    seen: set[int] = set()
    text, position = line[1:-1].strip(), 0
    while text:
        match = _ENTRY.match(text, position)
        index = int(match[1]) if match else -1
        if match is None or not index < len(fields) or index in seen:
            entry = text[position:].partition(",")[0].strip()
            raise UserError(
                f"{place}: {quote(entry)} must be the number of an attribute, once, and its value"
            )
        seen.add(index)
        fields[index] = _value_of(match.groups()[1:])
        if not match[5]:
            break
        position = match.end()
    return fields


def _split(place: str, text: str) -> list[str]:
    """Return the values between commas, without their quotes."""
    if not _SPECIAL.search(text):
        return [value.strip() for value in text.split(",")]
    fields, position = [], 0
    while True:
        match = _VALUE.match(text, position)
        if match is None:
            raise UserError(f"{place}: cannot read {quote(text[position:])}; a quote or a comma is missing")
        fields.append(_value_of(match.groups()))
        if not match[4]:
            return fields
        position = match.end()


def _value_of(groups: Sequence[str | None]) -> str:
    """Return the value in the groups of a match: in single quotes, in double quotes, or bare."""
    single, double, bare = groups[:3]
    quoted = single if single is not None else double
    return (bare or "").strip() if quoted is None else _unescape(quoted)


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
