"""Baselines: the counts of an experiment in a committed file, and what has changed since."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olbench.engine import runfile
from olbench.errors import UserError
from olbench.files import write_text
from olbench.protocols import Protocol
from olbench.protocols.definition import Cell, Known
from olbench.trials import ledger
from olbench.trials.trial import Record

Row = dict[str, Any]
#: The keys that describe the cell of a row; every other key has a list of numbers, one per trial.
ABOUT = ("dataset", "algorithm", "params", "setting", "n")


@dataclass(frozen=True)
class Change:
    """A number of one trial that has changed; None where only one side has the trial."""

    cell: str
    #: Such as "permutation 3".
    trial: str
    quantity: str
    before: float | None
    now: float | None

    def __str__(self) -> str:
        place = f"{self.cell}, {self.trial}: {self.quantity}"
        if self.before is None or self.now is None:
            return f"{place} {self._show(self.before)} in the baseline, {self._show(self.now)} now"
        return f"{place} {self.before} in the baseline, {self.now} now ({self.now - self.before:+})"

    @staticmethod
    def _show(value: float | None) -> str:
        return "missing" if value is None else str(value)


@dataclass(frozen=True)
class Comparison:
    """How many numbers were compared, and the changes beyond the tolerance."""

    compared: int
    changes: tuple[Change, ...]
    #: Cells that are not in the baseline yet.
    unknown: tuple[str, ...]


def baseline_numbers(protocol: Protocol) -> list[str]:
    """Return the numbers that a baseline keeps: those that are reported and must repeat exactly."""
    names = [each.ratio[0] if each.ratio else each.name for each in protocol.quantities if each.exact]
    return list(dict.fromkeys(names))


def rows_of(cells: Sequence[Cell], known: Known) -> list[Row]:
    """Return one row per cell whose trials all succeeded."""
    rows = []
    for cell in cells:
        records = [cell.view(known[trial.key]) for trial in cell.reported(known) if trial.key in known]
        good = [record for record in records if record["status"] == "ok"]
        if len(good) == cell.repeats:
            rows.append(_row(cell.protocol, cell.source.name, cell.label, good))
    return rows


def _row(protocol: Protocol, dataset: str, label: str, records: list[Record]) -> Row:
    numbers = {name: [record[name] for record in records] for name in baseline_numbers(protocol)}
    about: Row = {"dataset": dataset, "algorithm": label, "params": dict(records[0]["params"])}
    if "n" in records[0]:
        about["n"] = records[0]["n"]
    return {**about, **numbers}


def compare(before: Sequence[Row], now: Sequence[Row], tolerance: float, numbered: str) -> Comparison:
    """Compare rows trial by trial; the tolerance is a fraction of the number of examples."""
    old, new = _by_cell(before), _by_cell(now)
    changes: list[Change] = []
    compared = 0
    for cell, row in old.items():
        for change in _pairs(cell, row, new.get(cell, {}), numbered):
            compared += change.now is not None and change.before is not None
            if _differs(change, tolerance * row.get("n", 1)):
                changes.append(change)
    return Comparison(compared, tuple(changes), tuple(cell for cell in new if cell not in old))


def _by_cell(rows: Sequence[Row]) -> dict[str, Row]:
    return {f"{row['dataset']}, {row['algorithm']}": row for row in rows}


def _pairs(cell: str, before: Row, now: Row, numbered: str) -> Iterator[Change]:
    """Yield every number of a cell, before and now."""
    for name in (name for name in before if name not in ABOUT):
        old, new = before[name], now.get(name, [])
        for p in range(max(len(old), len(new))):
            sides = (side[p] if p < len(side) else None for side in (old, new))
            yield Change(cell, f"{numbered} {p}", name, *sides)


def _differs(change: Change, allowed: float) -> bool:
    if change.before is None or change.now is None:
        return True
    return abs(change.now - change.before) > allowed


def read(path: Path) -> list[Row]:
    """Return the rows of a baseline: a file, or the folder of a run."""
    if path.is_dir():
        return read_run(path)
    try:
        rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))["rows"]
        for row in rows:
            _check_row(row)
    except FileNotFoundError:
        raise UserError(f"there is no baseline {path}; write one with --update") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"{path} is not a baseline; write a new one with --update") from None
    return rows


def _check_row(row: Row) -> None:
    """Raise KeyError or TypeError if this is not a row."""
    _ = row["dataset"], row["algorithm"]
    numbers = [value for name, value in row.items() if name not in ABOUT]
    if not numbers or not all(isinstance(value, list) for value in numbers):
        raise TypeError("a row needs lists of numbers")


def read_run(folder: Path) -> list[Row]:
    """Return the rows of a run, such as the reference results that ship with the code."""
    records = ledger.current(folder)
    run = runfile.read(folder)
    protocol = runfile.protocol_of(run.config)
    rows = []
    for cell in run.cells:
        own = [protocol.view(records[key], cell.setting) for key in cell.keys if key in records]
        if own and all(record["status"] == "ok" for record in own):
            rows.append(_row(protocol, cell.dataset, cell.label, own))
    return rows


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write a baseline, one line per row so that a change shows well in a diff."""
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    write_text(path, f'{{"rows": [\n{lines}\n]}}\n')
