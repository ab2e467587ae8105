"""An entry of `datasets` in a config: which data, and how its labels and columns are read and scaled."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Annotated, Any

from olbench import structs
from olbench.errors import UserError, show_name

MISSING = ("drop", "zero", "mean")
CATEGORICAL = ("onehot", "drop")
SCALES = ("unit", "minmax", "standard", "running")
FITTED_SCALES = ("minmax", "standard")
ALL_ROWS, TRAINING_ROWS, PAST_ROWS = "all rows", "training rows", "past rows"
RUNNING = "running"
ENCODINGS = ("number", "onehot", "ordinal", "date", "drop")
DATE_PARTS = ("days", "month", "weekday", "hour")
OTHERS = "*"
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " ", "pipe": "|", "\\t": "\t"}
#: The separators that are recognised.
DETECTED = ",;\t"
_PAIR = re.compile(r"(?:\d+|qid):[-+.\deE]+")


def read_column(node: structs.Node, name: str) -> str | int:
    if isinstance(node.value, bool) or not isinstance(node.value, str | int) or node.value == "":
        raise node.fail(f"{name} must be the heading or the number of a column, not {node.shown()}")
    return node.value


def read_class(node: structs.Node, name: str) -> float | str:
    if isinstance(node.value, bool):
        words = '"yes"' if node.value else '"no"'
        raise node.fail(f"YAML reads this word as {node.shown()}; write it in quotes, as in {name}: {words}")
    if not isinstance(node.value, int | float | str) or node.value == "":
        raise node.fail(f"{name} must be a label or a list of labels, not {node.shown()}")
    if isinstance(node.value, int) and not structs.is_number(node.value):
        raise node.fail("a whole number is too large for a label; write it in quotes")
    return node.value


structs.with_schema(read_column, {"type": ["string", "integer"], "minLength": 1})
structs.with_schema(read_class, {"type": ["number", "string"], "minLength": 1})


def read_day(node: structs.Node, name: str) -> str:
    try:
        return date.fromisoformat(str(node.value)).isoformat()
    except ValueError:
        raise node.fail(f"{name} must be a day such as 2024-01-31, not {node.shown()}") from None


structs.with_schema(read_day, {"type": "string", "format": "date"})


@dataclass(frozen=True)
class ColumnSpec:
    name: Annotated[str | int, read_column, "the heading or the number (from 1) of the column"]
    encode: Annotated[str, structs.choice(*ENCODINGS), "how its cells become features"] = ""
    order: Annotated[
        tuple[float | str, ...],
        structs.many(read_class),
        "ordinal: the values in their order, which become 0, 1, 2",
    ] = ()
    parts: Annotated[
        tuple[str, ...],
        structs.many(structs.choice(*DATE_PARTS)),
        "date: days since the origin, and indicators of the others",
    ] = ()
    origin: Annotated[str, read_day, "date: the day 0, by default 1970-01-01"] = ""
    place: str = field(default="", compare=False)


_ENCODE_OF = {"order": "ordinal", "parts": "date", "origin": "date"}
_ALONE = [each for each in ENCODINGS if each != "ordinal"]
_COLUMN_KEYS = structs.keys_of(ColumnSpec, "place")


def read_columns(node: structs.Node, name: str) -> tuple[ColumnSpec, ...]:
    """Return the specs of columns; the last entry is for all others.

    A mapping changes the columns that it names; a list keeps only the columns that it names.
    """
    if isinstance(node.value, dict) and node.value:
        pairs = node.value.items()
        specs = [_read_column_spec(item, node.keys[key], f"{name}.{key}", name=key) for key, item in pairs]
        others = ColumnSpec(OTHERS)
    else:
        specs = [_read_column_spec(item, item.place, name) for item in node.items(name)]
        others = ColumnSpec(OTHERS, "drop")
    named = [str(spec.name) for spec in specs]
    for number, spec in enumerate(specs):
        if str(spec.name) in named[:number]:
            raise UserError(f"{spec.place}: the column {show_name(str(spec.name))} is listed twice")
    ends = [spec for spec in specs if spec.name == OTHERS] or [others]
    return (*(spec for spec in specs if spec.name != OTHERS), *ends)


def _read_column_spec(node: structs.Node, place: str, what: str, **given: Any) -> ColumnSpec:
    """Return the spec of a column; in a mapping of columns, its name is given."""
    if isinstance(node.value, dict):
        keys = [key for key in _COLUMN_KEYS if key.name not in given]
        given |= structs.read_keys(keys, node, what if given else "a column")
    elif given:
        given["encode"] = structs.choice(*ENCODINGS)(node, what)
    else:
        given["name"] = read_column(node, what)
    encode = given.get("encode", "")
    for key, right in _ENCODE_OF.items():
        if key in given and encode != right:
            raise node.value[key].fail(f"{key} is only allowed with encode: {right}")
    if encode == "ordinal" and "order" not in given:
        raise node.fail(f"{what}: encode: ordinal needs order, the list of its values from low to high")
    for key in ("order", "parts"):
        values = given.get(key, ())
        if len(set(map(str, values))) < len(values):
            raise node.value[key].fail(f"{key} lists a value twice")
    return ColumnSpec(**given, place=place)


def _column_schema(*required: str) -> dict[str, Any]:
    keys = {key.name: key.schema for key in _COLUMN_KEYS if required or key.name != "name"}
    return {
        "type": "object", "properties": keys, "required": list(required), "additionalProperties": False,
        "dependentSchemas": {
            key: {"properties": {"encode": {"const": right}}, "required": ["encode"]}
            for key, right in _ENCODE_OF.items()
        },
        "if": {"properties": {"encode": {"const": "ordinal"}}, "required": ["encode"]},
        "then": {"required": ["order"]},
    }  # fmt: skip


structs.with_schema(
    read_columns,
    {
        "anyOf": [
            {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {"anyOf": [{"enum": _ALONE}, _column_schema()]},
            },
            {
                "type": "array",
                "minItems": 1,
                "items": {"anyOf": [structs.schema_of(read_column), _column_schema("name")]},
            },
        ]
    },
)


def read_delimiter(text: str) -> str:
    delimiter = DELIMITERS.get(text, text)
    if len(delimiter) != 1 or delimiter in '"\r\n' or delimiter.isalnum() or not delimiter.isascii():
        raise UserError(
            f"the delimiter must be one character or one of {', '.join(list(DELIMITERS)[:5])}, not {text!r}"
        )
    return delimiter


def detect_delimiter(line: str) -> str:
    """Return the separator that occurs most often in a line outside quotes; in a tie, the comma.

    >>> detect_delimiter("size;colour;yes, or no"), detect_delimiter("1\\t2\\t3"), detect_delimiter("1,5;2")
    (';', '\\t', ',')
    """
    outside = "".join(line.rstrip().split('"')[::2])
    return max(DETECTED, key=outside.count)


def is_table_line(line: bytes) -> bool:
    """Return whether the first line of a text has separated values rather than LIBSVM text.

    >>> [is_table_line(line) for line in (b"size,colour", b"1;2", b"1\\t3:0.5", b"+1")]
    [True, True, False, False]
    """
    text = line.decode(errors="replace").strip()
    return any(mark in text for mark in DETECTED) and not any(map(_PAIR.fullmatch, text.split()))


def read_characters(node: structs.Node, name: str) -> str:
    if isinstance(node.value, dict | list) or node.value in (None, ""):
        raise node.fail(f"{name} must be text, not {node.shown()}")
    return str(node.value)


structs.with_schema(read_characters, {"type": "string", "minLength": 1})
Classes = Annotated[tuple[float | str, ...] | None, structs.one_or_many(read_class)]


@dataclass(frozen=True)
class Reading:
    """How a user's file becomes examples; an empty value means the default."""

    label: Annotated[str | int, read_column, "the heading or the number (from 1) of the label column"] = ""
    time: Annotated[str | int, read_column, "the column with the time of each row, not a feature"] = ""
    arrival: Annotated[str | int, read_column, "the column with the time when a label becomes known"] = ""
    delimiter: Annotated[str, read_characters, "what separates columns"] = ""
    missing: Annotated[str, structs.choice(*MISSING), "what to do with missing values"] = ""
    categorical: Annotated[str, structs.choice(*CATEGORICAL), "what to do with columns of text"] = ""
    scale: Annotated[
        str,
        structs.choice(*SCALES),
        "unit: rows of length 1; minmax, standard: each feature; running: each feature by the rows so far",
    ] = ""
    bias: Annotated[bool, "whether to add a feature that is always 1"] = False
    columns: Annotated[
        tuple[ColumnSpec, ...],
        read_columns,
        "columns one by one: a mapping from headings to number, onehot, ordinal, date or drop; or a list of "
        "the only columns to use",
    ] = ()
    #: "training rows" if minmax and standard are fitted on those within each trial, not on all rows.
    fitted: Annotated[str, structs.choice(TRAINING_ROWS)] = ""

    @property
    def is_fitted_per_trial(self) -> bool:
        return self.scale in FITTED_SCALES and self.fitted == TRAINING_ROWS

    def before_trials(self) -> "Reading":
        return replace(self, scale="", bias=False, fitted="") if self.is_fitted_per_trial else self

    plain = structs.from_struct


DEFAULT = Reading()


@dataclass(frozen=True)
class DatasetSpec:
    name: Annotated[str, structs.name_text, "a name of the catalogue or a path"]
    path: str = ""
    positive: Classes = None
    negative: Classes = None
    labels: Annotated[str, structs.choice("all"), "every label is a class"] = ""
    reading: Annotated[Reading, structs.Flat()] = DEFAULT

    plain = structs.from_struct

    @classmethod
    def from_plain(cls, content: Mapping[str, Any]) -> "DatasetSpec":
        return structs.read_plain(cls, content, "the data set")
