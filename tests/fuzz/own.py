"""One's own tables under every reading, and the config that `olbench init` makes of them."""

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np

from olbench.cli.init import make_config
from olbench.config.reading import read_config
from olbench.config.specs import Reading
from olbench.data.load import load_spec
from olbench.data.prepare.encode import prepare_table
from olbench.data.readers.tables import read_table_file
from olbench.errors import UserError
from tests.fuzz.harness import Difference, expect_sentence
from tests.fuzz.mutate import change_bytes, change_lines

CELLS = ("0", "1", "-2.5", "1e3", "1e-200", "1e200", "-1e308", "1e308", "7", "red", "blue", "?", "", "NA",
         '"a, b"', '"a\nb"', "'", "x: y", "# z", "é", "2020-01-31", "2020-01-31T10:00Z")  # fmt: skip
PLAIN = CELLS[:9]
NAMES = (
    "size",
    "date",
    "known",
    "colour",
    "label",
    "y",
    "a b",
    '"c,d"',
    '"e\nf"',
    "size",
    "# g",
    "9" * 50,
    "é",
    "{h}",
)
LABELS = (("0", "1"), ("yes", "no"), ("1", "2", "3"), ("a", "1"), ("null", "x"), ("1.0", "1"), ("~", "[b"))
OPTIONS: dict[str, tuple[Any, ...]] = {
    "label": ("", "label", "first", "1", "-1", 2, "9" * 5000, "-", "size", "é", "0"),
    "time": ("", "", "date", "size", "label", 1, "colour", -2),
    "arrival": ("", "", "", "known", "date", 2),
    "delimiter": ("", ",", ";", "tab", " "),
    "missing": ("", "drop", "zero", "mean"),
    "categorical": ("", "onehot", "drop"),
    "scale": ("", "unit", "minmax", "standard"),
    "bias": (False, True),
}
POSITIVE = (*[None] * 20, (1.0,), ("yes",), ("x", "y"), (1.0, "yes"), (1e308,))
#: How far from 1 a length or a deviation may be.
ROUNDING = 1e-6


class OwnTableFuzzer:
    """A table with gaps, text and labels of several kinds, and a reading; damaged now and then."""

    name = "own"

    def make(self, random: random.Random) -> bytes:
        """Return the reading as a line of JSON, and then the file."""
        about = {name: random.choice(values) for name, values in OPTIONS.items()}
        common = {"label": 0.2, "delimiter": 0.15, "time": 0.2, "arrival": 0.1}
        about = {name: value for name, value in about.items() if random.random() < common.get(name, 0.6)}
        about["positive"] = random.choice(POSITIVE)
        about["multiclass"] = random.random() < 0.2
        content = _csv(random, bool(about.get("categorical"))).encode()
        if random.random() < 0.2:
            content = random.choice((change_bytes, change_lines))(random, content)
        return json.dumps(about).encode() + b"\n" + content

    def check(self, content: bytes, folder: Path) -> str:
        """Read the table and check what the reading promises; what `init` writes must be a config."""
        head, _, content = content.partition(b"\n")
        about = json.loads(head)
        positive, multiclass = about.pop("positive"), about.pop("multiclass")
        path = folder / "own.csv"
        path.write_bytes(content)
        reading = Reading(**about)
        try:
            table = read_table_file(path, "csv", reading.delimiter)
            X, y, found, arrivals = prepare_table(
                table, None if multiclass else positive and tuple(positive), None, reading, multiclass
            )
        except UserError as error:
            expect_sentence(error)
            return self._look(path, reading, "refused")
        dense = X if isinstance(X, np.ndarray) else X.toarray()
        _check_examples(dense, y, len(table.numbers), multiclass)
        if arrivals is not None and not (arrivals > np.arange(len(y))).all():
            raise Difference("a label that arrives before its row")
        if len(found.features) != dense.shape[1]:
            raise Difference(f"{len(found.features)} names for {dense.shape[1]} features")
        _check_scale(dense[:, :-1] if reading.bias else dense, reading)
        return self._look(path, reading, "accepted")

    def _look(self, path: Path, reading: Reading, verdict: str) -> str:
        """Let `init` look at the file; the config that it writes must be read, and load the same file."""
        config = path.with_suffix(".yaml")
        try:
            text, _ = make_config(path, config, str(reading.label), (), reading.delimiter)
        except UserError as error:
            expect_sentence(error)
            return verdict
        config.write_text(text, encoding="utf-8")
        [spec] = read_config(config).datasets
        load_spec(spec)
        return verdict


def _check_examples(X: Any, y: Any, rows: int, multiclass: bool) -> None:
    if not np.isfinite(X).all():
        raise Difference("accepted values that are not finite")
    if not 0 < len(X) == len(y) <= rows:
        raise Difference(f"{len(X)} examples and {len(y)} labels from {rows} rows")
    expected = set(range(len(set(y.tolist())))) if multiclass else {-1.0, 1.0}
    if set(y.tolist()) != expected or len(expected) < 2:
        raise Difference(f"labels {sorted(set(y.tolist()))}")


def _check_scale(X: Any, reading: Reading) -> None:
    """Check what each scale promises, in exact sums."""
    if reading.scale == "unit":
        for row in X.tolist():
            if not (row == [0.0] * len(row) or abs(math.hypot(*row) - 1) < ROUNDING):
                raise Difference(f"a row of length {math.hypot(*row)}")
    if reading.scale == "minmax" and not (X.min() >= -ROUNDING and X.max() <= 1 + ROUNDING):
        raise Difference(f"values from {X.min()} to {X.max()}")
    if reading.scale == "standard":
        for column in X.T.tolist():
            mean = math.fsum(column) / len(column)
            deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in column) / len(column))
            if abs(mean) > ROUNDING or min(abs(deviation - 1), deviation) > ROUNDING:
                raise Difference(f"a feature of mean {mean} and deviation {deviation}")


def _csv(random: random.Random, has_text: bool) -> str:
    width, comma = random.choice((1, 2, 3, 3, 4)), random.choice((",", ",", ";", "\t"))
    labels = random.choice(LABELS)
    texts = [has_text and random.random() < 0.3 for _ in range(width)]
    lines = [comma.join([*(_cell(random, text) for text in texts), random.choice(labels)])
             for _ in range(random.choice((1, 4, 6, 8)))]  # fmt: skip
    names = [random.choice(NAMES) for _ in range(width + 1)]
    if random.random() < 0.2:
        lines = [f"2020-01-{day:02}{comma}{line}" for day, line in enumerate(lines, start=1)]
        names.insert(0, "date")
    if random.random() < 0.6:
        lines.insert(0, comma.join(names))
    return "\n".join(lines) + "\n"


def _cell(random: random.Random, is_text: bool) -> str:
    if random.random() < 0.03:
        return random.choice(CELLS)
    return random.choice(("red", "blue", '"a, b"')) if is_text else random.choice(PLAIN)
