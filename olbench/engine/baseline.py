"""Baselines: the counts of an experiment in a committed file, with everything that decides them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from olbench.engine import provenance, runfile
from olbench.engine.runfile import RunFile
from olbench.errors import UserError
from olbench.files import write_text
from olbench.protocols import Protocol
from olbench.protocols.definition import Cell, Known
from olbench.specs import AlgorithmSpec
from olbench.trials import ledger
from olbench.trials.trial import Record

Row = dict[str, Any]
#: The keys that describe the cell of a row; every other key has a list of numbers, one per trial.
ABOUT = ("dataset", "algorithm", "params", "grid", "options", "setting", "fingerprint", "n", "seconds")
VERSION = 2


@dataclass(frozen=True)
class Baseline:
    """The rows of a baseline and what they have in common; version 1 of the file had the rows alone."""

    rows: tuple[Row, ...]
    protocol: str = ""
    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    #: The processor, which times depend on.
    processor: str = ""
    #: The seconds of a fixed computation, taken among the times: how fast the machine was.
    pace: float = 0.0

    def plain(self) -> dict[str, Any]:
        """Return what the rows have in common as plain values."""
        head: dict[str, Any] = {"version": VERSION, "protocol": self.protocol, "seed": self.seed}
        head["versions"] = dict(self.versions)
        return {**head, "processor": self.processor, "pace": self.pace} if self.has_times else head

    @property
    def has_times(self) -> bool:
        """Whether the rows have exclusive times."""
        return any("seconds" in row for row in self.rows)


def baseline_numbers(protocol: Protocol) -> list[str]:
    """Return the numbers that a baseline keeps: those that are reported and must repeat exactly."""
    names = [each.ratio[0] if each.ratio else each.name for each in protocol.quantities if each.exact]
    return list(dict.fromkeys(names))


def baseline_of(
    cells: Sequence[Cell], known: Known, seconds: Mapping[str, float] | None = None, pace: float = 0.0
) -> Baseline:
    """Return the baseline of a run: one row per cell whose trials all succeeded.

    `seconds` has an exclusive time for each trial by its key, if times are kept.
    """
    rows = []
    for cell in cells:
        records = [cell.view(known[trial.key]) for trial in cell.reported(known) if trial.key in known]
        good = [record for record in records if record["status"] == "ok"]
        if len(good) == cell.repeats:
            row = _row(cell.protocol, cell.source.name, cell.label, cell.spec, good)
            if seconds:
                row["seconds"] = [round(seconds[record["key"]], 9) for record in good]
            rows.append(row)
    machine = provenance.machine()
    config = cells[0].config
    return Baseline(
        tuple(rows), config.protocol, config.seed, provenance.versions(), str(machine["processor"]), pace
    )


def _row(protocol: Protocol, dataset: str, label: str, spec: AlgorithmSpec, records: Sequence[Record]) -> Row:
    first = records[0]
    about: Row = {"dataset": dataset, "algorithm": label, "params": dict(first["params"])}
    if spec.grid:
        about["grid"] = {name: list(values) for name, values in spec.grid.items()}
    about |= {name: dict(first[name]) for name in ("options", "setting") if first.get(name)}
    about["fingerprint"] = first["fingerprint"]
    if "n" in first:
        about["n"] = first["n"]
    return {**about, **{name: [record[name] for record in records] for name in baseline_numbers(protocol)}}


def read(path: Path) -> Baseline:
    """Return a baseline from its file, or from the folder of a run."""
    if path.is_dir():
        return read_run(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        for row in content["rows"]:
            _check_row(row)
        if content.get("version", 1) > VERSION:
            raise UserError(f"{path} was written by a newer olbench; update this one")
        versions = dict(content.get("versions", {}))
        return Baseline(
            tuple(content["rows"]), str(content.get("protocol", "")), content.get("seed"), versions,
            str(content.get("processor", "")), float(content.get("pace", 0.0)),
        )  # fmt: skip
    except FileNotFoundError:
        raise UserError(f"there is no baseline {path}; write one with --update") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"{path} is not a baseline; write a new one with --update") from None


def _check_row(row: Row) -> None:
    """Raise KeyError or TypeError if this is not a row."""
    _ = row["dataset"], row["algorithm"]
    numbers = [value for name, value in row.items() if name not in ABOUT]
    if not numbers or not all(isinstance(value, list) for value in numbers):
        raise TypeError("a row needs lists of numbers")
    if not all(isinstance(row.get(name, {}), dict) for name in ("params", "grid", "options", "setting")):
        raise TypeError("what describes a row is a mapping")


def read_run(folder: Path) -> Baseline:
    """Return the baseline of a recorded run, such as the reference results that ship with the code."""
    records = ledger.current(folder)
    run = runfile.read(folder)
    protocol = runfile.protocol_of(run.config)
    rows = []
    for cell in run.cells:
        own = [protocol.view(records[key], cell.setting) for key in cell.keys if key in records]
        if own and all(record["status"] == "ok" for record in own):
            row = _row(protocol, cell.dataset, cell.label, run.config.algorithms[cell.entry], own)
            if all(record.get("timing") == "exclusive" for record in own):
                row["seconds"] = [record["seconds"] for record in own]
            rows.append(row)
    return Baseline(tuple(rows), run.config.protocol, run.config.seed, run.versions, _processor(run))


def _processor(run: RunFile) -> str:
    return str(run.machine.get("processor", ""))


def write(path: Path, baseline: Baseline) -> None:
    """Write a baseline, one line per row so that a change shows well in a diff."""
    head = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in baseline.plain().items())
    lines = ",\n".join(f"  {json.dumps(row)}" for row in baseline.rows)
    write_text(path, f'{{{head},\n"rows": [\n{lines}\n]}}\n')
