"""Parts of one experiment, put together: what several people or machines have run becomes one record.

A trial that several parts have must be the same in all of them, count by count. Nothing is decided: any
conflict is reported, and then nothing is written.
"""

import os
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from olbench.config.specs import SELECTING, Config, DatasetSpec
from olbench.errors import UserError, shorten
from olbench.protocols import Protocol
from olbench.protocols.definition import label_of
from olbench.trials import arrays, ledger, run_file
from olbench.trials.arrays import read_array
from olbench.trials.bundle import digest_records, portable_config, refuse_first_version
from olbench.trials.container import name_of, read_piece
from olbench.trials.record import write_line
from olbench.trials.run_file import CellFacts, RunFile
from olbench.trials.trial import Record
from olbench.trials.verify import compare_arrays, compare_records

#: Which algorithm on which data set, and the end of its label where an entry has several cells.
Place = tuple[str, int, str]


@dataclass(frozen=True)
class RunPart:
    """One of the runs to merge."""

    folder: Path
    run: RunFile
    records: Mapping[str, Record]

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.folder)

    def provenance(self) -> list[dict[str, Any]]:
        """Return where its records come from: of a merged run, its parts."""
        if self.run.parts:
            return [dict(part) for part in self.run.parts]
        about = ("versions", "commit", "dirty", "machine", "start", "end")
        said = {name: getattr(self.run, name) for name in about}
        digest = digest_records(self.records.values())
        return [{"name": name_of(self.folder), "run": digest, "trials": len(self.records), **said}]


class ConflictError(UserError):
    """The parts contradict each other; the sentences say where."""

    exit_code = 1

    def __init__(self, conflicts: Sequence[str]):
        super().__init__("; ".join(conflicts))
        self.conflicts = tuple(conflicts)


@dataclass(frozen=True)
class Merged:
    """A run that was put together."""

    folder: Path
    parts: int
    trials: int
    #: How many trials more than one part has.
    shared: int
    is_complete: bool


@dataclass
class _Union:
    """The records of all parts, and what they disagree on."""

    protocol: Protocol
    records: dict[str, Record] = field(default_factory=dict)
    origins: dict[str, RunPart] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    conflicts: list[str] = field(default_factory=list)

    def add(self, part: RunPart) -> None:
        """Add the records of a part. Of equal ones the first stays; a success replaces a failure."""
        for key, record in part.records.items():
            known = self.records.get(key)
            if known is not None:
                self.shared.add(key)
            if known is not None and known["status"] == record["status"] == "ok":
                self.conflicts += self._compare(part, record)
            elif known is None or known["status"] != "ok":
                self.records[key], self.origins[key] = record, part

    def _compare(self, part: RunPart, record: Record) -> Iterator[str]:
        first = self.origins[record["key"]]
        known = self.records[record["key"]]
        found = list(compare_records(self.protocol, known, record))
        if known.get("arrays") and record.get("arrays"):
            found += compare_arrays(known, _arrays(first, known), _arrays(part, record))
        for each in found:
            before, now = each.values
            yield f"{each.place}: {each.name} is {before} in {first.name} and {now} in {part.name}"


def _arrays(part: RunPart, record: Record) -> dict[str, Any]:
    return {name: read_array(part.folder, each) for name, each in record["arrays"].items()}


def merge_runs(folders: Sequence[Path], target: Path) -> Merged:
    """Put parts of an experiment together in a new folder; refuse parts that contradict each other."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"{target} exists already; choose a new folder with --output")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UserError("the same run is named twice; name different parts")
    parts = [RunPart(each, run_file.read(each), ledger.current(each)) for each in folders]
    for part in parts:
        refuse_first_version(part.records.values(), part.folder)
    protocol = run_file.protocol_of(parts[0].run.config)
    config = merge_configs(parts, protocol)
    union = _Union(protocol)
    union.conflicts += _compare_data(parts)
    cells, other_cells = _merge_cells(parts, config, protocol)
    union.conflicts += other_cells
    for part in parts:
        union.add(part)
    if union.conflicts:
        raise ConflictError(union.conflicts)
    good = {key for key, record in union.records.items() if record["status"] == "ok"}
    complete = all(cell.params is not None and good.issuperset(cell.keys) for cell in cells)
    complete = complete and all(len(cell.keys) >= cell.planned for cell in cells)
    first = parts[0].run
    run = replace(
        first,
        config=config,
        data={name: facts for part in reversed(parts) for name, facts in part.run.data.items()},
        cells=cells,
        sources={name: each for part in reversed(parts) for name, each in part.run.sources.items()},
        titles={name: each for part in reversed(parts) for name, each in part.run.titles.items()},
        start=min(part.run.start for part in parts),
        end=max(part.run.end or part.run.start for part in parts) if complete else None,
        parts=tuple(about for part in parts for about in part.provenance()),
    )
    # The data sets in the order of the first part that has them.
    ordered = dict.fromkeys(name for part in parts for name in part.run.data)
    run = replace(run, data={name: run.data[name] for name in ordered})
    _write(target, run, union)
    return Merged(target, len(parts), len(union.records), len(union.shared), complete)


def merge_configs(parts: Sequence[RunPart], protocol: Protocol) -> Config:
    """Return the config of all parts; refuse those of another experiment.

    They may differ in which data sets and algorithms they have, and in how many trials: the most counts.
    """
    number = f"{protocol.numbered}s"
    free = {"datasets", *SELECTING}
    ours, *others = [portable_config(part.run) for part in parts]
    for part, theirs in zip(parts[1:], others, strict=True):
        for name in dict.fromkeys((*ours, *theirs)):
            values = ours.get(name), theirs.get(name)
            counted = name == number and all(isinstance(value, int) for value in values)
            if name not in free and not counted and values[0] != values[1]:
                shown = " and ".join(shorten(str(value)) for value in values)
                raise UserError(
                    f"{parts[0].name} and {part.name} are not the same experiment: their {name} differs "
                    f"({shown})"
                )
    configs = [part.run.config for part in parts]
    counts = [each.settings[number] for each in configs if isinstance(each.settings.get(number), int)]
    datasets: dict[DatasetSpec, DatasetSpec] = {}
    for spec in (spec for each in configs for spec in each.datasets):
        datasets.setdefault(replace(spec, path=""), spec)
    algorithms = []
    for entry in (entry for each in configs for entry in each.algorithms):
        if entry not in algorithms:
            algorithms.append(entry)
    plugins = {Path(path).name: path for each in reversed(configs) for path in each.plugins}
    return replace(
        configs[0].with_settings(**({number: max(counts)} if counts else {})),
        datasets=tuple(datasets.values()),
        algorithms=tuple(algorithms),
        plugins=tuple(plugins.values()),
    )


def _compare_data(parts: Sequence[RunPart]) -> Iterator[str]:
    """Yield the data sets that are others in other parts."""
    seen: dict[str, tuple[str, str]] = {}
    for part in parts:
        for name, facts in part.run.data.items():
            print_, where = seen.setdefault(name, (facts.fingerprint, part.name))
            if print_ != facts.fingerprint:
                prints = f"{print_[:12]} in {where} and {facts.fingerprint[:12]} in {part.name}"
                yield f"{name}: the data differs (fingerprint {prints})"


def _merge_cells(
    parts: Sequence[RunPart], config: Config, protocol: Protocol
) -> tuple[tuple[CellFacts, ...], list[str]]:
    """Return the cells of all parts in the order of the config, and what the parts disagree on."""
    found: dict[Place, tuple[CellFacts, RunPart]] = {}
    conflicts = []
    names = list(dict.fromkeys(cell.dataset for part in parts for cell in part.run.cells))
    for part in parts:
        for cell in part.run.cells:
            place, moved = _move(cell, part, config, protocol)
            known, origin = found.setdefault(place, (moved, part))
            chosen = _choose(known, moved)
            if chosen is None:
                conflicts.append(
                    f"{moved.label} on {moved.dataset}: {origin.name} and {part.name} report other "
                    f"trials (parameters {_show(known)} and {_show(moved)}); their tuning or the behaviour "
                    "of the code differs"
                )
            elif chosen is moved:
                found[place] = moved, part
    ordered = sorted(found, key=lambda place: (names.index(place[0]), place[1]))
    return tuple(found[place][0] for place in ordered), conflicts


def _move(cell: CellFacts, part: RunPart, config: Config, protocol: Protocol) -> tuple[Place, CellFacts]:
    """Return where a cell of a part is in the merged config, with its entry and label there."""
    spec, number = part.run.config.algorithms[cell.entry], f"{protocol.numbered}s"
    suffix = cell.label.removeprefix(label_of(part.run.config, spec))
    entry = config.algorithms.index(spec)
    own, most = part.run.config.settings.get(number), config.settings.get(number)
    planned = most if isinstance(most, int) and cell.planned == own else cell.planned
    label = label_of(config, spec) + suffix
    return (cell.dataset, entry, suffix), replace(cell, entry=entry, label=label, planned=planned)


def _choose(one: CellFacts, other: CellFacts) -> CellFacts | None:
    """Return which of two cells says more; None if they contradict each other."""
    if one.params is None or other.params is None:
        return other if one.params is None else one
    more, fewer = (one, other) if len(one.keys) >= len(other.keys) else (other, one)
    same = one.params == other.params and one.setting == other.setting
    return more if same and more.keys[: len(fewer.keys)] == fewer.keys else None


def _show(cell: CellFacts) -> str:
    return ", ".join(f"{name}={value}" for name, value in (cell.params or {}).items()) or "none"


def _write(target: Path, run: RunFile, union: _Union) -> None:
    """Write the folder of a run under another name, and move it to its place when it is whole."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{os.getpid()}.part")
        draft.mkdir()
        try:
            _write_records(draft, union)
            run_file.write(draft, run.plain())
            if target.exists():
                target.rmdir()
            draft.rename(target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise UserError(f"cannot write {target}: {error.strerror or error}") from None


def _write_records(folder: Path, union: _Union) -> None:
    """Write the ledger, and copy the arrays that its records refer to."""
    stored = any(record.get("arrays") for record in union.records.values())
    with open(folder / ledger.NAME, "wb") as lines:
        if not stored:
            lines.writelines(map(write_line, union.records.values()))
            return
        with open(folder / arrays.NAME, "wb") as file:
            for key, record in union.records.items():
                lines.write(write_line(_copy_arrays(union.origins[key], record, file)))


def _copy_arrays(part: RunPart, record: Record, file: IO[bytes]) -> Record:
    """Return a record that refers to its arrays in another file, to which they are appended."""
    if not record.get("arrays"):
        return record
    moved = {}
    for name, reference in record["arrays"].items():
        piece = read_piece(part.folder, arrays.NAME, reference["offset"], reference["bytes"])
        if zlib.crc32(piece) != reference["crc32"]:
            raise UserError(f"{part.name}: an array of the trial {record['key']} is damaged")
        moved[name] = {**reference, "offset": file.tell()}
        file.write(piece)
    return {**record, "arrays": moved}
