"""run.json: the config, the versions, the machine, the times, and which trials report each cell."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from olbench.algorithms.plugins import load_plugin
from olbench.config.specs import Config
from olbench.errors import UserError, is_unicode, shorten
from olbench.files import write_text
from olbench.protocols import Protocol, get_protocol, protocols
from olbench.protocols.definition import Cell, Known
from olbench.trials import provenance
from olbench.trials.behaviour import source_hash
from olbench.trials.seeds import STREAMS

NAME = "run.json"
VERSION = 2
#: The subfolder for results that ship with the code, beside the user's own run of the same config.
REFERENCE = "reference"


@dataclass(frozen=True)
class DataFacts:
    """Fingerprint and size of a data set."""

    fingerprint: str
    rows: int
    features: int
    #: How many rows the most frequent class has; None in records that do not say.
    majority: int | None = None
    #: What was done with a user's own data, in words.
    prepared: Sequence[str] = ()

    def plain(self) -> dict[str, Any]:
        """Return what is known as plain values; where nothing was prepared, nothing is said."""
        facts = {**asdict(self), "prepared": list(self.prepared) or None}
        return {name: value for name, value in facts.items() if value is not None}


@dataclass(frozen=True)
class CellFacts:
    """One algorithm on one data set: the chosen parameters, and the keys of the trials that report it."""

    dataset: str
    algorithm: str
    #: Which entry of the config's `algorithms` it is.
    entry: int
    label: str
    #: The parameters that the tuning chose, or None before it has.
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
        """Return it as plain values, in an order that suits a reader."""
        return {
            "version": VERSION,
            "config": json.loads(json.dumps(self.config.plain())),
            "data": {name: facts.plain() for name, facts in self.data.items()},
            "cells": [{**vars(cell), "keys": list(cell.keys)} for cell in self.cells],
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
        """Return what `plain` wrote, in version 1 or 2; a field of another kind is a TypeError."""
        _check_kinds("run.json", content, _RUN)
        config = Config.from_plain(content["config"])
        _check_settings(config)
        given = ("sources", "versions", "commit", "dirty", "machine", "start", "end")
        return cls(
            config=config,
            data={name: DataFacts(**facts) for name, facts in content.get("data", {}).items()},
            cells=tuple(_read_cells(content["cells"], config)),
            **{name: content[name] for name in given if name in content},
        )


@dataclass(frozen=True)
class _Each:
    """The kind of every value of a list or a mapping."""

    container: type | tuple[type, ...]
    kind: Any


_NAME = "a name that can be written down"
_TEXT_OR_NONE, _WHOLE, _LABELS = (str, type(None)), "a whole number from 0", _Each(list, (int, float, str))
_MACHINE = {"processor": str, "cores": _WHOLE, "system": str}
#: The kinds of what run.json holds, where it holds it: a type, a tuple of types, or the fields of a mapping.
_RUN: dict[str, Any] = {
    "config": {
        "datasets": _Each(list, {
            "name": _NAME, "path": str, "positive": _LABELS, "negative": _LABELS, "labels": str,
            "label": (str, int), "delimiter": str, "missing": str, "categorical": str, "scale": str,
            "fitted": str,
        }),
        "algorithms": _Each(list, {"id": _NAME, "name": _NAME, "params": dict, "grid": _Each(dict, list)}),
        "protocol": str, "paper": str, "seed": _WHOLE, "covariance": str, "plugins": _Each(list, str),
        "tuning": {"search": str, "ties": str},
    },
    "data": _Each(dict, {
        "fingerprint": str, "rows": _WHOLE, "features": _WHOLE, "majority": _WHOLE,
        "prepared": _Each(list, str),
    }),
    "cells": _Each(list, {
        "dataset": _NAME, "algorithm": _NAME, "entry": _WHOLE, "label": _NAME, "params": (dict, type(None)),
        "setting": dict, "options": dict, "tuning_passes": _WHOLE, "planned": _WHOLE,
        "keys": _Each(list, str),
    }),
    "sources": _Each(dict, str), "versions": _Each(dict, str), "machine": _MACHINE, "commit": _TEXT_OR_NONE,
    "dirty": (bool, type(None)), "start": str, "end": _TEXT_OR_NONE,
}  # fmt: skip


def _check_kinds(name: str, value: Any, kind: Any) -> None:
    """Raise a TypeError that names the first value of another kind than it should be."""
    if isinstance(kind, _Each):
        _check_kinds(name, value, kind.container)
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            _check_kinds(f"{name}.{key}", item, kind.kind)
    elif isinstance(kind, dict):
        _check_kinds(name, value, dict)
        for key in kind.keys() & value.keys():
            _check_kinds(f"{name}.{key}", value[key], kind[key])
    elif kind is _WHOLE:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
            raise TypeError(f"{name} is not a whole number from 0")
    elif kind is _NAME:
        if not isinstance(value, str) or not is_unicode(value):
            raise TypeError(f"{name} is not {_NAME}")
    elif not isinstance(value, kind) or (isinstance(value, bool) and kind != (bool, type(None))):
        raise TypeError(f"{name} has the wrong kind")


def _check_settings(config: Config) -> None:
    """Check what the protocol adds to a config by its defaults; that of a plugin is not loaded for it."""
    protocol = next((each for each in protocols() if each.id == config.protocol), None)
    for name, value, default in protocol.settings(config) if protocol else ():
        if isinstance(default, int) and not isinstance(value, Mapping):
            _check_kinds(f"run.json.config.{name}", value, _WHOLE)
        elif isinstance(default, tuple):
            of_numbers = default and isinstance(default[0], int)
            items = _Each((list, tuple), _WHOLE if of_numbers else str)
            _check_kinds(f"run.json.config.{name}", value, items)


def _read_cells(cells: Sequence[Mapping[str, Any]], config: Config) -> list[CellFacts]:
    """Return the cells. Version 1 did not store their entries: cells were in the order of the config."""
    for place, cell in enumerate(cells):
        if cell.get("entry", 0) >= len(config.algorithms):
            raise TypeError(f"cells.{place}.entry is beyond the algorithms of the config")
        if len(set(cell["keys"])) < len(cell["keys"]):
            raise TypeError(f"cells.{place}.keys has a trial twice; run its config again")
    first: dict[str, Any] = {"setting": {}}
    if any("planned" not in cell for cell in cells):
        first["planned"] = protocol_of(config).repeats(config)
    return [
        CellFacts(**{"entry": place % len(config.algorithms), **first, **cell, "keys": tuple(cell["keys"])})
        for place, cell in enumerate(cells)
    ]


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def describe(config: Config, cells: Sequence[Cell], known: Known, start: str, end: str | None) -> RunFile:
    """Return the run file of some cells in their current state."""
    sources = {cell.source.name: cell.source for cell in cells}
    return RunFile(
        config=config,
        data={
            name: DataFacts(each.fingerprint, each.n, each.d, each.majority, each.prepared)
            for name, each in sources.items()
        },
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
        hint = f"did you mean {shipped}?" if shipped.is_dir() else f"is {folder} a results folder?"
        raise UserError(f"there is no {path}; {hint}") from None
    except NotADirectoryError:
        raise UserError(f"{folder} is a file; name the folder of a run, such as results/quick") from None
    except TypeError as error:
        raise UserError(f"{path} is not the record of a run: {shorten(str(error), 200)}") from None
    except (KeyError, AttributeError, ZeroDivisionError, RecursionError):
        raise UserError(f"{path} is not the record of a run") from None
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from None


def read_config(folder: Path) -> Config:
    """Return the config of a results folder, with its plugins loaded so that it can run."""
    config = read(folder).config
    for path in config.plugins:
        load_plugin(path)
    return config


def protocol_of(config: Config) -> Protocol:
    """Return the protocol of a recorded config; load its plugins if it comes from one."""
    if config.protocol not in {each.id for each in protocols()}:
        for path in config.plugins:
            load_plugin(path)
    return get_protocol(config.protocol)


def write(folder: Path, content: Mapping[str, Any], name: str = NAME) -> None:
    """Replace run.json, or another file of that kind, in one piece."""
    write_text(folder / name, json.dumps(content, indent=1) + "\n", durable=True)


def is_current(folder: Path, wanted: RunFile) -> bool:
    """Return whether run.json exists, is finished, and has this config, data and cells."""
    try:
        recorded, current = read(folder).plain(), wanted.plain()
    except UserError:
        return False
    for facts in (*recorded["data"].values(), *current["data"].values()):
        facts.pop("majority", None)  # older records lack it, and the fingerprint covers it
    return bool(recorded["end"]) and all(
        recorded[name] == current[name] for name in ("config", "data", "cells")
    )
