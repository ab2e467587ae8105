"""Which recorded trials a run reuses, from its own folder or from other runs, and why not the others."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from olbench.errors import UserError
from olbench.protocols import Protocol
from olbench.protocols.definition import Cell, Stage, numbers_of
from olbench.protocols.measuring import list_missing
from olbench.protocols.recorded import find_defect, read_run, refuse_record
from olbench.records import ledger
from olbench.records.arrays import with_arrays
from olbench.records.bundle import digest_records
from olbench.records.compare import Recorded, compare_ledgers
from olbench.records.run_file import RunFile
from olbench.records.trial import Record, Trial

#: A record must agree in these fields to be compared; the other fields may explain why it does not fit.
SAME = ("protocol", "dataset", "algorithm", "role", "number")


class ConflictError(UserError):
    exit_code = 1


@dataclass(frozen=True)
class OtherRun:
    folder: Path
    run: RunFile
    records: Mapping[str, Record]

    def read(self, key: str) -> Record:
        return with_arrays(self.folder, self.records[key])

    def describe(self) -> list[Mapping[str, Any]]:
        """Return the origins of its records: this run, and the runs that it reused."""
        about = ("versions", "commit", "dirty", "machine", "start", "end")
        origin = {name: getattr(self.run, name) for name in about}
        digest = digest_records(self.records.values())
        own = {"name": self.folder.name, "run": digest, "trials": len(self.records), **origin}
        return [own, *self.run.reused]


def open_runs(folders: Sequence[Path], own: Sequence[Path], protocol: Protocol) -> list[OtherRun]:
    """Return the runs in some folders; refuse trials that these and the own folder count differently."""
    runs = [OtherRun(folder, read_run(folder).file, ledger.current(folder)) for folder in folders]
    conflicts = list(_find_conflicts(runs, own, protocol))
    if conflicts:
        more = f" (and {len(conflicts) - 1:,} more)" if len(conflicts) > 1 else ""
        raise ConflictError(f"{conflicts[0]}{more}; nothing was written")
    return runs


def _find_conflicts(runs: Sequence[OtherRun], own: Sequence[Path], protocol: Protocol) -> Iterator[str]:
    recorded = [Recorded(folder, ledger.current(folder)) for folder in own if runs]
    recorded += [Recorded(run.folder, run.records) for run in runs]
    same = [
        Recorded(folder, {key: each for key, each in records.items() if each["protocol"] == protocol.id})
        for folder, records in recorded
    ]
    for one, other in combinations(same, 2):
        for each in compare_ledgers(numbers_of(protocol), one, other):
            before, now = each.values
            yield f"{each.place}: {each.name} is {before} in {one.folder} and {now} in {other.folder}"


def select_usable(records: Iterable[Record], cell: Cell, path: Path) -> dict[str, Record]:
    """Return by key the records that succeeded and have every number that the config of a cell asks for."""
    usable = {}
    for record in records:
        if record["status"] == "ok" and record["protocol"] == cell.protocol.id:
            if defect := find_defect(cell.protocol, record):
                raise refuse_record(record, path, "reused", defect)
            if not list_missing(cell.protocol, record):
                usable[record["key"]] = record
    return usable


@dataclass(frozen=True)
class CellReuse:
    """How many trials of a cell are reused, how many would run, and why other records do not fit."""

    cell: Cell
    keys: frozenset[str]
    would_run: int
    reasons: Counter[str]


def explain_cells(cells: Sequence[Cell], records: Sequence[Record], folder: Path) -> list[CellReuse]:
    usable = select_usable(records, cells[0], folder)
    stages = [cell.stage(usable) for cell in cells]
    nearby: dict[tuple[Any, ...], list[Record]] = {}
    if any(trial.key not in usable for stage in stages for trial in stage.trials):
        for record in records:
            nearby.setdefault(tuple(record[name] for name in SAME), []).append(record)
    return [_explain_stage(stage, usable, nearby) for stage in stages]


def _explain_stage(
    stage: Stage, usable: Mapping[str, Record], nearby: Mapping[tuple[Any, ...], Sequence[Record]]
) -> CellReuse:
    cell, trials = stage.cell, {trial.key: trial for trial in stage.trials}
    reused = frozenset(trials.keys() & usable.keys())
    reasons: Counter[str] = Counter()
    for trial in (trials[key] for key in trials if key not in reused):
        if found := nearby.get(tuple(getattr(trial, name) for name in SAME)):
            reasons[explain_trial(cell, trial, found)] += 1
    is_tuned = len(stage.reported) == cell.repeats
    planned = len(trials) if is_tuned else stage.passes + cell.repeats
    would_run = max(0, planned - len(reused))
    if reasons and (later := would_run - len(trials.keys() - reused)) > 0:
        reasons["the tuning comes first"] += later
    return CellReuse(cell, reused, would_run, reasons)


def explain_trial(cell: Cell, trial: Trial, nearby: Sequence[Record]) -> str:
    for record in nearby:
        if record["key"] == trial.key:
            missing = ", ".join(list_missing(cell.protocol, record))
            return (
                f"it failed before ({record['error']})" if record["error"] else f"its record has no {missing}"
            )
    differences = [list_differences(trial, record) for record in nearby]
    fewest = min(map(len, differences))
    return ", ".join(next(each for each in differences if len(each) == fewest))


def list_differences(trial: Trial, record: Record) -> list[str]:
    words = []
    for name, wanted in trial.identity().items():
        if name in SAME or wanted == record[name]:
            continue
        if name == "setting":
            pairs = {key: (wanted.get(key), record[name].get(key)) for key in (*wanted, *record[name])}
            words += [f"{key} is {one}, not {other}" for key, (one, other) in pairs.items() if one != other]
        elif name == "code":
            words += _compare_codes(wanted, record[name])
        elif name == "fingerprint":
            words.append("the data has changed")
        else:
            words.append(f"{name} is {_show(wanted)}, not {_show(record[name])}")
    return words


def _compare_codes(wanted: str, recorded: str) -> Iterator[str]:
    (code, _, version), (old_code, _, old_version) = wanted.partition("-"), recorded.partition("-")
    if code != old_code:
        has_versions = code.isdigit() and old_code.isdigit()
        change = f"has version {code} now, not {old_code}" if has_versions else "has other code now"
        yield f"its algorithm {change}"
    if version != old_version:
        yield f"its protocol has version {version or 1} now, not {old_version or 1}"


def _show(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={item}" for key, item in value.items()) or "none"
    return str(value)
