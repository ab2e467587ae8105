"""run.json: what was asked for, with what, where and when; and which trials belong to the answer."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from olbench.algorithms.plugins import load_plugin
from olbench.engine import provenance
from olbench.errors import UserError
from olbench.protocols import Protocol, get_protocol, protocols
from olbench.protocols.definition import Cell, Known
from olbench.specs import Config
from olbench.trials.behaviour import source_hash
from olbench.trials.seeds import STREAMS

NAME = "run.json"
VERSION = 2
#: The folder in a results folder for what ships with the code, beside the user's own run of the same config.
REFERENCE = "reference"


@dataclass(frozen=True)
class DataFacts:
    """What is known of a data set without its examples."""

    fingerprint: str
    rows: int
    features: int


@dataclass(frozen=True)
class CellFacts:
    """One algorithm on one data set: what was chosen for it, and the keys of the trials that report it."""

    dataset: str
    algorithm: str
    #: Which entry of the config's `algorithms` it is.
    entry: int
    label: str
    #: What the tuning chose, or None before it has.
    params: Mapping[str, Any] | None
    setting: Mapping[str, Any]
    options: Mapping[str, Any]
    tuning_passes: int
    #: How many trials report it.
    planned: int
    keys: tuple[str, ...]


@dataclass(frozen=True)
class RunFile:
    """The content of run.json."""

    config: Config
    data: Mapping[str, DataFacts] = field(default_factory=dict)
    cells: tuple[CellFacts, ...] = ()
    #: A hash of the sources that computed each algorithm.
    sources: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    commit: str | None = None
    dirty: bool | None = None
    machine: Mapping[str, Any] = field(default_factory=dict)
    start: str = ""
    end: str | None = None

    def plain(self) -> dict[str, Any]:
        """Return it as plain values, in the order in which a person reads them."""
        return {
            "version": VERSION,
            "config": json.loads(json.dumps(self.config.plain())),
            "data": {name: asdict(facts) for name, facts in self.data.items()},
            "cells": [{**asdict(cell), "keys": list(cell.keys)} for cell in self.cells],
            "seeds": {"seed": self.config.seed, "streams": list(STREAMS)},
            "sources": dict(self.sources),
            "versions": dict(self.versions),
            "commit": self.commit,
            "dirty": self.dirty,
            "machine": dict(self.machine),
            "start": self.start,
            "end": self.end,
        }

    @classmethod
    def from_plain(cls, content: Mapping[str, Any]) -> "RunFile":
        """Return what `plain` wrote down, in this version or the first."""
        config = Config.from_plain(content["config"])
        given = ("sources", "versions", "commit", "dirty", "machine", "start", "end")
        return cls(
            config=config,
            data={name: DataFacts(**facts) for name, facts in content.get("data", {}).items()},
            cells=tuple(_read_cells(content["cells"], config)),
            **{name: content[name] for name in given if name in content},
        )


def _read_cells(cells: Sequence[Mapping[str, Any]], config: Config) -> list[CellFacts]:
    """Return the cells. Version 1 did not say which entry one is: they were in the order of the config."""
    first: dict[str, Any] = {"setting": {}, "planned": config.settings.get("permutations", 0)}
    return [
        CellFacts(**{"entry": place % len(config.algorithms), **first, **cell, "keys": tuple(cell["keys"])})
        for place, cell in enumerate(cells)
    ]


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def describe(config: Config, cells: Sequence[Cell], known: Known, start: str, end: str | None) -> RunFile:
    """Return the run file of some cells, as far as they have come."""
    sources = {cell.source.name: cell.source for cell in cells}
    return RunFile(
        config=config,
        data={name: DataFacts(each.fingerprint, each.n, each.d) for name, each in sources.items()},
        cells=tuple(_describe_cell(cell, known) for cell in cells),
        sources={id: source_hash(id) for id in dict.fromkeys(cell.spec.id for cell in cells)},
        versions=provenance.versions(),
        **provenance.commit(),
        machine=provenance.machine(),
        start=start,
        end=end,
    )


def _describe_cell(cell: Cell, known: Known) -> CellFacts:
    chosen = cell.step(known).chosen
    return CellFacts(
        dataset=cell.source.name,
        algorithm=cell.spec.id,
        entry=cell.entry,
        label=cell.label,
        params=None if chosen is None else cell.params_of(chosen),
        setting={} if chosen is None else cell.setting_of(chosen),
        options=dict(cell.spec.options),
        tuning_passes=cell.tuning_passes,
        planned=cell.repeats,
        keys=tuple(trial.key for trial in cell.reported(known)),
    )


def read(folder: Path) -> RunFile:
    """Return a folder's run file."""
    path = folder / NAME
    try:
        return RunFile.from_plain(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        shipped = folder / REFERENCE
        hint = f"did you mean {shipped}?" if shipped.is_dir() else f"is {folder} a folder of results?"
        raise UserError(f"there is no {path}; {hint}") from None
    except NotADirectoryError:
        raise UserError(f"{folder} is a file; name the folder of a run, such as results/quick") from None
    except (KeyError, TypeError, AttributeError, ZeroDivisionError):
        raise UserError(f"{path} is not the record of a run") from None
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from None


def read_config(folder: Path) -> Config:
    """Return the config that a folder was made with, with its plugins loaded so that it can run."""
    config = read(folder).config
    for path in config.plugins:
        load_plugin(path)
    return config


def protocol_of(config: Config) -> Protocol:
    """Return the protocol of a config from a record, from one of its plugins if need be."""
    if config.protocol not in {each.id for each in protocols()}:
        for path in config.plugins:
            load_plugin(path)
    return get_protocol(config.protocol)


def write(folder: Path, content: Mapping[str, Any], name: str = NAME) -> None:
    """Replace run.json, or another file of that kind, as a whole."""
    draft = folder / f".{name}"
    try:
        with open(draft, "w", encoding="utf-8") as file:
            file.write(json.dumps(content, indent=1) + "\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / name)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UserError(f"cannot write {folder / name}: {error.strerror or error}") from None


def is_current(folder: Path, wanted: RunFile) -> bool:
    """Tell whether run.json is there, finished, and about just this."""
    try:
        there, now_wanted = read(folder).plain(), wanted.plain()
    except UserError:
        return False
    return bool(there["end"]) and all(there[name] == now_wanted[name] for name in ("config", "data", "cells"))
