"""run.json: the config, the versions, the machine, the times, and which trials report each cell."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from olbench import structs
from olbench.algorithms import title_of
from olbench.algorithms.definition import RECORDED
from olbench.errors import UserError, shorten, show_name
from olbench.files import write_text
from olbench.records import FORMAT, ledger
from olbench.records.container import MEMBERS, PAPER, is_bundle
from olbench.records.seeds import STREAMS
from olbench.records.shipped import REFERENCE

NAME = "run.json"


_MACHINE = {"processor": structs.any_text, "cores": structs.whole(0), "system": structs.any_text}


def read_machine(node: structs.Node, name: str) -> dict[str, Any]:
    content = node.mapping(name)
    for key in _MACHINE.keys() & content.keys():
        _MACHINE[key](content[key], key)
    return dict(structs.anything(node, name))


AnyText = Annotated[str, structs.any_text]
Name = Annotated[str, structs.name_text]
Texts = Annotated[Mapping[str, str], structs.mapping(structs.any_text)]


@dataclass(frozen=True)
class DataFacts:
    fingerprint: AnyText
    rows: int
    features: int
    majority: int | None = None
    prepared: tuple[str, ...] = ()
    #: The labels of the classes by number, if every label is a class and the file names them.
    classes: tuple[str, ...] = ()
    #: Of the rows that reported trials predict, how many each group has ("sizes") and, of two labels, how
    #: many positive ones ("positives"); empty if trials record no groups.
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class CellFacts:
    dataset: Name
    algorithm: Name
    entry: int
    label: Name
    params: Mapping[str, Any] | None
    setting: Mapping[str, Any]
    options: Mapping[str, Any]
    tuning_passes: int
    planned: int
    keys: tuple[str, ...]
    #: The values that were tried of parameters whose grid went on beyond an edge.
    grid: Annotated[Mapping[str, tuple[Any, ...]], structs.mapping(structs.many(structs.anything))] = field(
        default_factory=dict, kw_only=True
    )
    #: What every trial is tuned to, in their order, if each has a tuning of its own; None before its end.
    choices: Annotated[tuple[Mapping[str, Any] | None, ...], structs.many(structs.anything, 0)] = field(
        default=(), kw_only=True
    )

    @property
    def names(self) -> tuple[str, ...]:
        return self.label, self.algorithm, title_of(self.algorithm)


@dataclass(frozen=True)
class RunFile:
    config: Mapping[str, Any]
    data: Mapping[str, DataFacts] = field(default_factory=dict)
    cells: tuple[CellFacts, ...] = ()
    versions: Texts = field(default_factory=dict)
    commit: AnyText | None = None
    dirty: bool | None = None
    machine: Annotated[Mapping[str, Any], read_machine] = field(default_factory=dict)
    start: AnyText = ""
    end: AnyText | None = None
    #: The machine, versions, start and end of the runs that trials were copied from.
    reused: Annotated[tuple[Mapping[str, Any], ...], structs.many(structs.mapping(structs.anything), 0)] = ()
    deaths: Annotated[tuple[str, ...], structs.many(structs.any_text, 0)] = ()
    #: The titles of algorithms that do not ship, by id, where they differ from it.
    titles: Annotated[Mapping[str, str], structs.mapping(structs.line)] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        own = {name: value for name, value in vars(self).items() if name not in ("config", "data", "cells")}
        for name in ("reused", "deaths", "titles"):  # left out where they are empty
            if values := own.pop(name):
                own[name] = dict(values) if isinstance(values, Mapping) else list(values)
        return {
            "format": FORMAT,
            "config": self.config,
            "data": {name: structs.from_struct(facts) for name, facts in self.data.items()},
            "cells": [_plain_cell(cell) for cell in self.cells],
            "seeds": {"seed": self.config.get("seed", 0), "streams": list(STREAMS)},
            **own,
        }

    @classmethod
    def from_plain(cls, content: Mapping[str, Any]) -> "RunFile":
        known = {one.name: content[one.name] for one in fields(cls) if one.name in content}
        # There are tens of thousands of keys, which are checked separately.
        run = structs.read_plain(
            cls, {**known, "cells": [{**cell, "keys": []} for cell in content["cells"]]}, NAME
        )
        cells = (
            replace(cell, keys=_read_keys(stored["keys"], f"{NAME}.cells.{place}.keys"))
            for place, (cell, stored) in enumerate(zip(run.cells, content["cells"], strict=True))
        )
        return replace(run, cells=tuple(cells))


def _plain_cell(cell: CellFacts) -> dict[str, Any]:
    content = {name: value for name, value in vars(cell).items() if value or name not in ("grid", "choices")}
    return {**content, "keys": list(cell.keys)}


def _read_keys(keys: Any, place: str) -> Any:
    if isinstance(keys, LineKeys):
        return keys
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise UserError(f"{place} is not a list of trials")
    if len(set(keys)) < len(keys):
        raise UserError(f"{place} has a trial twice; run its config again")
    return tuple(keys)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def read(folder: Path) -> RunFile:
    with refusal(folder):
        content = json.loads((folder / NAME).read_bytes())
        # Runs of version 1 did not name their format.
        found = content.get("format", 1) if "config" in content else content["format"]
        if found != FORMAT:
            found = shorten(repr(found))
            raise UserError(f"its format is {found}, and this olbench reads {FORMAT}; run its config again")
        for cell in content["cells"]:
            if isinstance(cell["keys"], dict):
                cell["keys"] = LineKeys(folder, cell["keys"]["lines"])
        run = RunFile.from_plain(_localise(folder, content) if is_bundle(folder) else content)
    RECORDED.update({cell.algorithm: cell.algorithm for cell in run.cells} | dict(run.titles))
    return run


@contextmanager
def refusal(folder: Path) -> Iterator[None]:
    path = folder / NAME
    try:
        yield
    except FileNotFoundError:
        shipped = folder / REFERENCE
        hint = f"; did you mean {shipped}?" if shipped.is_dir() else ""
        raise UserError(f"no run in '{folder}' (expected {path}){hint}") from None
    except NotADirectoryError:
        run = folder.parent if folder.name == NAME else Path("results", folder.stem)
        raise UserError(
            f"{folder} is a file; name the folder of a run, such as {run}, or a bundle (.olb)"
        ) from None
    except UserError as error:
        raise UserError(f"{path} is not the record of a run: {shorten(str(error), 200)}") from None
    except (KeyError, TypeError, AttributeError, ZeroDivisionError, RecursionError):
        raise UserError(f"{path} is not the record of a run") from None
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from None


def _localise(folder: Path, content: dict[str, Any]) -> dict[str, Any]:
    """Paths of the config are in the bundle; the user's own data is looked for in the current folder."""
    config = dict(content["config"])
    for name in config.get("plugins", ()):
        if not MEMBERS.fullmatch(name) or not (folder / name).is_file():
            raise UserError(f"its plugin {show_name(name)} is not in it")
    if "plugins" in config:
        config["plugins"] = [str(folder / name) for name in config["plugins"]]
    paper = config.get("paper", "")
    if paper == PAPER and (folder / PAPER).is_file():
        config["paper"] = str(folder / PAPER)
    elif "." in paper or "/" in paper:
        raise UserError(f"its paper {show_name(paper)} is not in it")
    for spec in config["datasets"]:
        if Path(path := spec.get("path", "")).name != path:
            raise UserError(f"its data set {show_name(path)} is in a folder of another machine")
    return {**content, "config": config}


class LineKeys(Sequence[str]):
    """The keys of some lines of a ledger, which is read when the first of them is needed."""

    def __init__(self, folder: Path, spans: Sequence[Sequence[int]]):
        self.folder, self.spans = folder, [(first, last) for first, last in spans]
        before = 0
        for first, last in sorted(self.spans):
            if not structs.is_whole(first, before + 1) or not structs.is_whole(last, first):
                raise UserError("it names lines that cannot exist, or a line twice")
            before = last

    @cached_property
    def _found(self) -> tuple[str, ...]:
        keys = ledger.keys(self.folder)
        if any(last > len(keys) for _, last in self.spans):
            raise UserError(f"{self.folder / NAME} names lines that the ledger does not have")
        return tuple(key for first, last in self.spans for key in keys[first - 1 : last])

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.spans)

    def __getitem__(self, place: Any) -> Any:
        return self._found[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | LineKeys) and self._found == tuple(other)

    __hash__ = None  # type: ignore[assignment]


def refer_to_lines(content: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Keys do not compress; {"lines": [[1, 20]]} is the keys of the first twenty lines."""
    lines = {key: number for number, key in enumerate(keys, 1)}
    cells = []
    for cell in content["cells"]:
        if cell["keys"] and all(key in lines for key in cell["keys"]):
            spans: list[list[int]] = []
            for number in (lines[key] for key in cell["keys"]):
                if spans and spans[-1][1] + 1 == number:
                    spans[-1][1] = number
                else:
                    spans.append([number, number])
            cell = {**cell, "keys": {"lines": spans}}
        cells.append(cell)
    return {**content, "cells": cells}


def write(folder: Path, content: Mapping[str, Any], name: str = NAME) -> None:
    write_text(folder / name, json.dumps(content, indent=1) + "\n", durable=True)
