"""The CSV reader against a state machine that reads one character at a time."""

import math
import random
import re
from pathlib import Path
from typing import Any

from olbench.config.specs import Reading
from olbench.data.prepare.encode import encode
from olbench.data.readers.tables.csv import read_table
from olbench.errors import UserError
from tests.fuzz.harness import Difference, expect_sentence
from tests.fuzz.mutate import change_bytes, change_lines

CONTAINERS = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf")
NUMBER = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?")
#: The csv module gives up at longer fields.
LONGEST_FIELD = 131_072
FIELDS = ["1_000", "١", "nan", "inf", "", "x", "1e999", "0x1", "1,5", '"', "a b", "²", "1e", "--1", "\0"]
#: What stands for a missing value.
GAPS = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None")
LABELS = ["0", "1", "-1", "2", "1.0", "1e0", "+1", "yes", "no"]


class TableFuzzer:
    """Tables of numbers with a label in the last column, quoted or not, with headings or not."""

    name = "csv"

    def make(self, random: random.Random) -> bytes:
        """Return the content of a file."""
        width = random.choice((1, 2, 2, 3, 3, 5))
        lines = [_line(random, width) for _ in range(random.choice((0, 1, 2, 3, 5)))]
        if random.random() < 0.4:
            lines.insert(0, ",".join(random.choice(("a", "b c", '"d"', "é", "")) for _ in range(width)))
        end = random.choice(("\n", "\n", "\r\n", "\r"))
        text = end.join(lines) + random.choice((end, ""))
        content = random.choice(("", "", "", "\ufeff")).encode() + text.encode()
        match random.randrange(6):
            case 0 | 1 | 2:
                return content
            case 3:
                return change_lines(random, content)
            case _:
                return change_bytes(random, content)

    def check(self, content: bytes, folder: Path) -> str:
        """Compare the numbers with those of the reference."""
        if content.startswith(
            (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf")
        ):
            return "refused"  # containers are the matter of the LIBSVM fuzzer
        path = folder / "data.csv"
        path.write_bytes(content)
        expected = table_of(content)
        try:
            X, labels = read_csv(path, delimiter=",")
        except UserError as error:
            expect_sentence(error)
            if expected is not None:
                raise Difference(f"refused what the reference reads: {error}") from None
            return "refused"
        if expected is None:
            raise Difference("accepted what the reference refuses")
        found = [[*row, label] for row, label in zip(X.tolist(), labels.tolist(), strict=True)]
        if found != expected:
            raise Difference(f"another table: {found}, where the reference has {expected}")
        return "accepted"


def read_csv(path: Path, label: str = "last", delimiter: str = "") -> tuple[Any, Any]:
    """Return the features and labels of a file in which every feature is a number."""
    X, labels, *_ = encode(read_table(path, delimiter), Reading(label=label))
    return X, labels


def _line(random: random.Random, width: int) -> str:
    fields = [_field(random) for _ in range(width - 1)] + [random.choice(LABELS)]
    if random.random() < 0.05:
        fields[random.randrange(width)] = random.choice(FIELDS)
    if random.random() < 0.04:
        fields.append("1")
    return ",".join(fields) if random.random() > 0.03 else ""


def _field(random: random.Random) -> str:
    value = repr(random.uniform(-1, 1) * 10.0 ** random.randint(-20, 20))
    value = random.choice(
        (value, str(random.randint(-9, 9)), f".{random.randint(0, 9)}", f"{random.randint(0, 9)}.")
    )
    return random.choice((value, value, value, f" {value}", f'"{value}"', f"{value}\t"))


def table_of(content: bytes) -> list[list[Any]] | None:
    """Return the rows of numbers, or None where the content is not valid."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    table, width = [], 0
    records = _split(text)
    if records is None:
        return None
    for fields in records:
        if any(len(field) > LONGEST_FIELD for field in fields):
            return None
        if fields == [] or (len(fields) == 1 and not fields[0].strip()):
            continue
        is_first, width = not width, width or len(fields)
        if width < 2 or len(fields) != width:
            return None
        numbers = [field.strip() for field in fields]
        if is_first and not any(map(NUMBER.fullmatch, numbers)):
            continue
        row = [float(number) if NUMBER.fullmatch(number) else number for number in numbers]
        if (
            "\0" in numbers[-1]
            or numbers[-1] in GAPS
            or not all(isinstance(value, float) for value in row[:-1])
        ):
            return None
        if not all(math.isfinite(value) for value in row if isinstance(value, float)):
            return None
        table.append(row)
    return _as_labels(table) if table else None


def _as_labels(table: list[list[Any]]) -> list[list[Any]] | None:
    """Return the rows with labels of one kind: whole numbers, or texts if any label is a text."""
    labels = [row[-1] for row in table]
    small = all(not isinstance(label, float) or abs(label) <= 2**53 for label in labels)
    if not small or any(isinstance(label, str) and len(label) > 300 for label in labels):
        return None
    if all(isinstance(label, float) for label in labels):
        return table if all(label == math.floor(label) for label in labels) else None
    for row in table:
        if isinstance(row[-1], float):
            row[-1] = str(int(row[-1])) if row[-1] == math.floor(row[-1]) else repr(row[-1])
    return table


def _split(text: str) -> list[list[str]] | None:
    """Return the fields of each record, or None where a quote is not closed before a comma or a line's end.

    Only at its beginning does a quote open a field.
    """
    records: list[list[str]] = []
    fields: list[str] = []
    field, state, begun = "", "start", False
    for k, character in enumerate(text):
        if state == "quoted":
            if character == '"':
                state = "closed"
            else:
                field += character
            continue
        if state == "closed" and character == '"':
            field, state = field + '"', "quoted"
        elif state == "closed" and character not in ",\r\n":
            return None
        elif character == '"' and state == "start":
            state, begun = "quoted", True
        elif character == ",":
            fields.append(field)
            field, state, begun = "", "start", True
        elif character in "\r\n":
            if character == "\r" and text[k + 1 : k + 2] == "\n":
                continue
            records.append([*fields, field] if begun or state != "start" else [])
            fields, field, state, begun = [], "", "start", False
        else:
            field, state, begun = field + character, "open", True
    if state == "quoted":
        return None
    if begun or state != "start":
        records.append([*fields, field])
    return records
