"""Baselines: the counts of an experiment in a committed file, with everything that decides them."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from olbench import structs
from olbench.algorithms.spec import AlgorithmSpec
from olbench.errors import UserError, is_unicode, show_name
from olbench.files import write_text
from olbench.protocols import Protocol, recorded
from olbench.protocols.definition import Cell, Known
from olbench.records import ledger, provenance
from olbench.records.quantities import Quantity
from olbench.records.trial import Record

Row = dict[str, Any]
NAME = "baseline"
VERSION = 2


def _read_numbers(node: structs.Node, name: str) -> list[float]:
    numbers: list[float] = structs.anything(node, name)
    if not isinstance(numbers, list) or not all(map(structs.is_number, numbers)) or not is_unicode(name):
        raise node.fail(f"{show_name(name)} is not a list of numbers")
    return numbers


def _read_row(node: structs.Node, name: str) -> Row:
    counts = [key for key in node.mapping("a row") if key not in ABOUT]
    row = structs.read_keys(
        [*ROW_KEYS, *(structs.Key(key, _read_numbers, None) for key in counts)], node, "a row"
    )
    if not counts or len({len(row[key]) for key in counts}) > 1:
        raise node.fail("the counts are missing, or there are not as many of each")
    return row


def _read_rows(node: structs.Node, name: str) -> tuple[Row, ...]:
    rows = structs.many(_read_row, 0)(node, name)
    cells = Counter((row["dataset"], row["algorithm"]) for row in rows)
    for (dataset, algorithm), times in cells.items():
        if times > 1:
            raise node.fail(f"{algorithm} on {dataset} comes a second time")
    return rows


ROW_KEYS = structs.make_keys(
    {"dataset": structs.name_text, "algorithm": structs.name_text, "fingerprint": structs.any_text},
    **dict.fromkeys(("params", "grid", "options", "setting"), structs.mapping(structs.anything)),
    n=structs.whole(1),
)
ABOUT = tuple(key.name for key in ROW_KEYS)


@dataclass(frozen=True)
class Baseline:
    rows: Annotated[tuple[Row, ...], _read_rows]
    protocol: Annotated[str, structs.any_text]
    seed: int
    versions: Annotated[Mapping[str, str], structs.mapping(structs.any_text)] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        head: dict[str, Any] = {"version": VERSION, "protocol": self.protocol, "seed": self.seed}
        return {**head, "versions": dict(self.versions)}


KEYS = (*structs.make_keys({"version": structs.whole(1)}), *structs.keys_of(Baseline))


def baseline_of(cells: Sequence[Cell], known: Known) -> Baseline:
    rows = []
    for cell in cells:
        records = [cell.view(known[trial.key]) for trial in cell.reported(known) if trial.key in known]
        good = [record for record in records if record["status"] == "ok"]
        if len(good) == cell.repeats:
            rows.append(_row(cell.protocol, cell.source.name, cell.label, cell.spec, good))
    config = cells[0].config
    return Baseline(tuple(rows), config.protocol, config.seed, provenance.versions())


def _row(protocol: Protocol, dataset: str, label: str, spec: AlgorithmSpec, records: Sequence[Record]) -> Row:
    first = records[0]
    about: Row = {"dataset": dataset, "algorithm": label, "params": dict(first["params"])}
    if spec.grid:
        about["grid"] = {name: list(values) for name, values in spec.grid.items()}
    about |= {name: dict(first[name]) for name in ("options", "setting") if first.get(name)}
    about["fingerprint"] = first["fingerprint"]
    if "n" in first:
        about["n"] = first["n"]
    # What is reported and must repeat exactly.
    exact = {each.compared: each for each in protocol.quantities if each.exact}
    numbers = {name: [_number(each, record) for record in records] for name, each in exact.items()}
    # A measure that is undefined in a trial cannot be compared.
    return about | {name: values for name, values in numbers.items() if not any(map(math.isnan, values))}


def _number(quantity: Quantity, record: Record) -> Any:
    """Return what a baseline keeps of a quantity: a count rather than its ratio."""
    return record[quantity.compared] if quantity.ratio else quantity.of(record)


def read(path: Path) -> Baseline:
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
    try:
        root = structs.from_plain(content, NAME, paths=True)
        # A newer version may have more keys.
        known = structs.select(KEYS, root.mapping("the file"))
        given = structs.read_keys(KEYS, structs.Node(known, NAME, root.keys), "the file")
    except UserError as error:
        raise UserError(f"{path} is not a baseline: {error}; write a new one with --update") from None
    if (version := given.pop("version")) != VERSION:
        raise UserError(
            f"{path} has version {version}, and this olbench reads version {VERSION}; write a new one with "
            "--update"
        )
    return Baseline(**given)


def read_run(folder: Path) -> Baseline:
    records = ledger.current(folder)
    run = recorded.read_run(folder)
    rows = []
    for cell in run.file.cells:
        own = run.trials_of(cell, records)
        if own and all(record["status"] == "ok" for record in own):
            rows.append(_row(run.protocol, cell.dataset, cell.label, run.config.algorithms[cell.entry], own))
    return Baseline(tuple(rows), run.config.protocol, run.config.seed, run.file.versions)


def write(path: Path, baseline: Baseline) -> None:
    """Write a baseline, one line per row so that a change shows well in a diff."""
    head = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in baseline.plain().items())
    lines = ",\n".join(f"  {json.dumps(row)}" for row in baseline.rows)
    write_text(path, f'{{{head},\n"rows": [\n{lines}\n]}}\n')
