"""Baselines: the counts of an experiment in a committed file, with everything that decides them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from olbench.config.specs import AlgorithmSpec
from olbench.errors import UserError, is_unicode, shorten, show_name
from olbench.files import write_text
from olbench.protocols import Protocol
from olbench.protocols.definition import Cell, Known
from olbench.trials import ledger, provenance, run_file
from olbench.trials.record import is_number
from olbench.trials.run_file import RunFile
from olbench.trials.trial import Record
from olbench.trials.verify import Recorded

Row = dict[str, Any]
#: The keys that describe the cell of a row; every other key has a list of numbers, one per trial.
ABOUT = ("dataset", "algorithm", "params", "grid", "options", "setting", "fingerprint", "n", "seconds")
VERSION = 2
#: No trial takes more seconds.
LONGEST = 1e9


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
    except FileNotFoundError:
        raise UserError(f"there is no baseline {path}; write one with --update") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError, MemoryError):
        raise UserError(f"{path} is not a baseline; write a new one with --update") from None
    if reason := _find_fault(content):
        raise UserError(f"{path} is not a baseline: {reason}; write a new one with --update")
    if content.get("version", 1) > VERSION:
        raise UserError(f"{path} was written by a newer olbench; update this one")
    return Baseline(
        tuple(content["rows"]), content.get("protocol", ""), content.get("seed"), content.get("versions", {}),
        content.get("processor", ""), content.get("pace", 0.0),
    )  # fmt: skip


def _find_fault(content: Any) -> str:
    """Return what is wrong with the content of a file, or an empty text."""
    if not isinstance(content, dict) or not isinstance(content.get("rows"), list):
        return "it has no rows"
    for name, value, is_right in (
        ("version", content.get("version", 1), lambda value: _is_whole(value, 1)),
        ("protocol", content.get("protocol", ""), _is_text),
        ("seed", content.get("seed"), lambda value: value is None or _is_whole(value, 0)),
        ("versions", content.get("versions", {}), _is_mapping_of_text),
        ("processor", content.get("processor", ""), _is_text),
        ("pace", content.get("pace", 0.0), lambda value: is_number(value) and value >= 0),
    ):
        if not is_right(value):
            return f"its {name} is {shorten(repr(value))}"
    places = set()
    for number, row in enumerate(content["rows"], start=1):
        if fault := _find_fault_in_row(row):
            return f"in row {number}, {fault}"
        if (place := (row["dataset"], row["algorithm"])) in places:
            return f"in row {number}, {row['algorithm']} on {row['dataset']} comes a second time"
        places.add(place)
    return ""


def _find_fault_in_row(row: Any) -> str:
    if not isinstance(row, dict):
        return f"{shorten(repr(row))} is not a result"
    for name in ("dataset", "algorithm"):
        if not row.get(name) or not _is_text(row[name]):
            return f"the {name} is {shorten(repr(row.get(name)))}"
    for name in ("params", "grid", "options", "setting"):
        if not isinstance(row.get(name, {}), dict) or not is_unicode(repr(row.get(name))):
            return f"{name} is {shorten(repr(row[name]))}"
    if not _is_text(row.get("fingerprint", "")):
        return f"the fingerprint is {shorten(repr(row['fingerprint']))}"
    if not _is_whole(row.get("n", 1), 1):
        return f"n is {shorten(repr(row['n']))}"
    lists = {name: value for name, value in row.items() if name not in ABOUT or name == "seconds"}
    for name, numbers in lists.items():
        if not _is_text(name) or not isinstance(numbers, list) or not all(map(is_number, numbers)):
            return f"{show_name(name)} is not a list of numbers"
    if any(not 0 <= seconds <= LONGEST for seconds in row.get("seconds", [])):
        return "a time is negative or endless"
    if not lists.keys() - {"seconds"} or len({len(numbers) for numbers in lists.values()}) > 1:
        return "the counts are missing, or there are not as many of each"
    return ""


def _is_whole(value: Any, low: int) -> bool:
    return isinstance(value, int) and is_number(value) and value >= low


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and is_unicode(value)


def _is_mapping_of_text(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, (*value, *value.values())))


def read_run(folder: Path) -> Baseline:
    """Return the baseline of a recorded run, such as the reference results that ship with the code."""
    records = ledger.current(folder)
    run = run_file.read(folder)
    protocol = run_file.protocol_of(run.config)
    recorded = Recorded(folder, run, protocol, records)
    rows = []
    for cell in run.cells:
        own = recorded.trials_of(cell)
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
