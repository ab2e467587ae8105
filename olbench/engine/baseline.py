"""Baselines: the counts of an experiment in a file that is committed, and what has changed since."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olbench.engine import ledger, runfile
from olbench.errors import UserError
from olbench.experiments.online import Cell, Known
from olbench.experiments.trial import Record

COUNTS = ("mistakes", "updates")
Row = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """A count of one permutation that is not what it was; None where it is there on one side only."""

    cell: str
    permutation: int
    count: str
    before: int | None
    now: int | None

    def __str__(self) -> str:
        place = f"{self.cell}, permutation {self.permutation}: {self.count}"
        if self.before is None or self.now is None:
            return f"{place} {self._side(self.before)} in the baseline, {self._side(self.now)} now"
        return f"{place} {self.before} in the baseline, {self.now} now ({self.now - self.before:+d})"

    @staticmethod
    def _side(count: int | None) -> str:
        return "not there" if count is None else str(count)


@dataclass(frozen=True)
class Comparison:
    """How many counts were compared, and those that differ by more than the tolerance."""

    compared: int
    changes: tuple[Change, ...]
    #: Cells that the baseline does not have yet.
    unknown: tuple[str, ...]


def rows(cells: Sequence[Cell], known: Known) -> list[Row]:
    """Return one row for each cell whose permutations all went well."""
    found = []
    for cell in cells:
        records = [known[trial.key] for trial in cell.reported(known) if trial.key in known]
        good = [record for record in records if record["status"] == "ok"]
        if len(good) == cell.config.permutations:
            found.append(_row(cell.source.name, cell.label, good))
    return found


def _row(dataset: str, label: str, records: list[Record]) -> Row:
    counts = {count: [record[count] for record in records] for count in COUNTS}
    about = {"dataset": dataset, "algorithm": label, "params": dict(records[0]["params"])}
    return {**about, "n": records[0]["n"], **counts}


def compare(before: Sequence[Row], now: Sequence[Row], tolerance: float) -> Comparison:
    """Compare rows, permutation by permutation; the tolerance is a share of the examples."""
    old, new = _by_cell(before), _by_cell(now)
    changes: list[Change] = []
    compared = 0
    for cell, row in old.items():
        for change in _pairs(cell, row, new.get(cell, {})):
            compared += change.now is not None and change.before is not None
            if _differs(change, tolerance * row["n"]):
                changes.append(change)
    return Comparison(compared, tuple(changes), tuple(cell for cell in new if cell not in old))


def _by_cell(found: Sequence[Row]) -> dict[str, Row]:
    return {f"{row['dataset']}, {row['algorithm']}": row for row in found}


def _pairs(cell: str, before: Row, now: Row) -> Iterator[Change]:
    """Yield every count of a cell on both sides."""
    for count in COUNTS:
        old, new = before[count], now.get(count, [])
        for p in range(max(len(old), len(new))):
            yield Change(cell, p, count, old[p] if p < len(old) else None, new[p] if p < len(new) else None)


def _differs(change: Change, allowed: float) -> bool:
    if change.before is None or change.now is None:
        return True
    return abs(change.now - change.before) > allowed


def read(path: Path) -> list[Row]:
    """Return the rows of a baseline: a file, or the folder of a run."""
    if path.is_dir():
        return recorded(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        found: list[Row] = content["rows"]
        _ = [(row["dataset"], row["algorithm"], row["n"], row["mistakes"], row["updates"]) for row in found]
    except FileNotFoundError:
        raise UserError(f"there is no baseline {path}; write one with --update") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"{path} is not a baseline; write a new one with --update") from None
    return found


def recorded(folder: Path) -> list[Row]:
    """Return the rows of a run, such as the reference results that ship with the code."""
    records = ledger.latest(ledger.read(folder))
    found = []
    for cell in runfile.read(folder)["cells"]:
        own = [records[key] for key in cell["keys"] if key in records]
        if own and all(record["status"] == "ok" for record in own):
            found.append(_row(cell["dataset"], cell["label"], own))
    return found


def write(path: Path, found: Sequence[Row]) -> None:
    """Write a baseline, a line a row so that a change shows well in a diff."""
    lines = ",\n".join(f"  {json.dumps(row)}" for row in found)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{{"rows": [\n{lines}\n]}}\n', encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None
