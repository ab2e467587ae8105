"""What has changed since a baseline, and why: other data, another seed, other parameters, or the code.

A baseline is a committed file with the counts of an experiment and everything that decides them.
"""

import json
import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from olbench import structs
from olbench.algorithms.spec import AlgorithmSpec
from olbench.errors import UserError, count, is_unicode, plural, show_name, suggest
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


def read_baseline(path: Path) -> Baseline:
    if path.is_dir():
        return read_run_baseline(path)
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


def read_run_baseline(folder: Path) -> Baseline:
    records = ledger.current(folder)
    run = recorded.read_run(folder)
    rows = []
    for cell in run.file.cells:
        own = run.trials_of(cell, records)
        if own and all(record["status"] == "ok" for record in own):
            rows.append(_row(run.protocol, cell.dataset, cell.label, run.config.algorithms[cell.entry], own))
    return Baseline(tuple(rows), run.config.protocol, run.config.seed, run.file.versions)


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write a baseline, one line per row so that a change shows well in a diff."""
    head = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in baseline.plain().items())
    lines = ",\n".join(f"  {json.dumps(row)}" for row in baseline.rows)
    write_text(path, f'{{{head},\n"rows": [\n{lines}\n]}}\n')


CAUSES = ("protocol", "seed", "data", "parameters")
HARMLESS = ("new", "note")
WORSE, BETTER = "worse", "better"


@dataclass(frozen=True)
class Shift:
    quantity: str
    title: str
    before: float
    now: float
    trials: int
    of: int
    percent: bool
    numbers: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.title} {' -> '.join(self._shown())}"

    def _shown(self) -> tuple[str, str]:
        for digits in range(1, 7):
            shown = self._show(self.before, digits), self._show(self.now, digits)
            if shown[0] != shown[1]:
                break
        return shown

    def _show(self, value: float, digits: int) -> str:
        return f"{100 * value:.{digits}f} %" if self.percent else f"{value:,.{digits}f}"


@dataclass(frozen=True)
class Remark:
    kind: str
    message: str
    dataset: str = ""
    algorithm: str = ""
    shifts: tuple[Shift, ...] = ()


@dataclass(frozen=True)
class Comparison:
    compared: int
    changed: int
    findings: tuple[Remark, ...]
    allows_better: bool = False

    def is_failure(self, finding: Remark) -> bool:
        return finding.kind not in (*HARMLESS, *((BETTER,) if self.allows_better else ()))

    @property
    def changes(self) -> tuple[Remark, ...]:
        found = [finding for finding in self.findings if self.is_failure(finding)]
        return tuple(sorted(found, key=lambda finding: finding.kind == BETTER))

    def count(self, kind: str) -> int:
        return sum(finding.kind == kind for finding in self.findings)


def compare(
    before: Baseline, now: Baseline, protocol: Protocol, tolerance: float = 0.0, only: Sequence[str] = ()
) -> Comparison:
    """Compare the numbers of all cells, or only these quantities.

    The tolerance is in the unit of each quantity. Counts are compared as fractions of the number of examples.
    """
    for kind, old, new, why in (
        ("protocol", before.protocol, now.protocol, "another protocol measures other things"),
        ("seed", before.seed, now.seed, "other orders give other counts"),
    ):
        if old != new:
            message = f"the {kind} changed: {old} -> {new}; {why}, so nothing was compared"
            return Comparison(0, 0, (Remark(kind, message),))
    if only:
        names = [_find_compared(name, protocol) for name in only]
        before, now = _select(before, names), _select(now, names)
    return _Comparer(before, now, tolerance, protocol).compare()


def _find_compared(name: str, protocol: Protocol) -> str:
    known = {each.name: each.compared for each in protocol.quantities if each.exact}
    if name not in known:
        raise UserError(
            f"there is no '{name}' to compare{suggest(name, list(known))}; there are {', '.join(known)}"
        )
    return known[name]


def _select(baseline: Baseline, names: Sequence[str]) -> Baseline:
    rows = [
        {key: value for key, value in row.items() if key in ABOUT or key in names} for row in baseline.rows
    ]
    return replace(baseline, rows=tuple(row for row in rows if row.keys() - set(ABOUT)))


class _Comparer:
    def __init__(self, before: Baseline, now: Baseline, tolerance: float, protocol: Protocol):
        self.before, self.now, self.tolerance, self.protocol = before, now, tolerance, protocol
        self.quantities = {each.compared: each for each in protocol.quantities}
        self.old, self.new = by_cell(before), by_cell(now)
        self.compared = self.changed = 0

    def compare(self) -> Comparison:
        other_data = list(self._other_data())
        changed = {finding.dataset for finding in other_data}
        findings: list[Remark] = []
        for key, row in self.old.items():
            if key in self.new and row["dataset"] not in changed:
                findings += self._compare_rows(row, self.new[key])
        causes = [finding for finding in findings if finding.kind in CAUSES]
        missing = [finding for finding in findings if finding.kind == "missing"]
        others = [finding for finding in findings if finding.kind not in (*CAUSES, "missing")]
        gone = [
            Remark("missing", f"{_name(row)}: missing now", row["dataset"], row["algorithm"])
            for key, row in self.old.items()
            if key not in self.new
        ]
        absent = "not in the baseline; add it with --update"
        added = [
            Remark("new", f"{_name(row)}: {lacking}{absent}", row["dataset"], row["algorithm"])
            for key, row in self.new.items()
            if (lacking := _list_lacking(self.old.get(key), row)) is not None
        ]
        notes = self._notes() if others else []
        return Comparison(
            self.compared, self.changed, (*other_data, *causes, *others, *notes, *missing, *gone, *added)
        )

    def _other_data(self) -> Iterator[Remark]:
        seen: dict[str, list[tuple[Row, Row]]] = {}
        for key in self.old.keys() & self.new.keys():
            old, new = self.old[key], self.new[key]
            if old["fingerprint"] != new["fingerprint"]:
                seen.setdefault(old["dataset"], []).append((old, new))
        for dataset, pairs in sorted(seen.items()):
            old, new = pairs[0]
            sizes = [count(row["n"], "example") for row in (old, new) if "n" in row]
            grown = f"{' -> '.join(sizes)}, " if len(set(sizes)) == 2 else ""
            prints = f"{old['fingerprint'][:12]} -> {new['fingerprint'][:12]}"
            results = count(len(pairs), "result")
            changed = f"{dataset}: the data changed ({grown}fingerprint {prints})"
            yield Remark("data", f"{changed}; {results} not compared", dataset)

    def _compare_rows(self, old: Row, new: Row) -> Iterator[Remark]:
        shifts, lacking = [], 0
        for name in (name for name in old if name not in ABOUT):
            pairs = list(zip(old[name], new.get(name, []), strict=False))
            lacking = max(lacking, len(old[name]) - len(pairs))
            quantity = self.quantities.get(name)  # None if the config no longer measures it
            is_count = quantity is not None and bool(quantity.ratio or quantity.whole)
            allowed = self.tolerance * (old.get("n", 1) if is_count else 1.0)
            apart = [place for place, (first, after) in enumerate(pairs) if abs(after - first) > allowed]
            self.compared += len(pairs)
            self.changed += len(apart)
            if apart:
                shifts.append(self._shift(name, pairs, apart, old.get("n"), new.get("n")))
        place = {"dataset": old["dataset"], "algorithm": old["algorithm"]}
        if shifts:
            yield Remark(*self._judge(old, new, shifts), **place, shifts=tuple(shifts))
        if lacking:
            trials = count(lacking, self.protocol.numbered)
            yield Remark("missing", f"{_name(old)}: {trials} missing now", **place)

    def _shift(
        self,
        name: str,
        pairs: Sequence[tuple[float, float]],
        apart: Sequence[int],
        n: int | None,
        m: int | None,
    ) -> Shift:
        quantity = self.quantities[name]
        before, now = (statistics.fmean(side) for side in zip(*pairs, strict=True))
        is_rate = quantity.ratio is not None and quantity.ratio[1] == "n" and n and m
        if is_rate and n and m:
            before, now = before / n, now / m
        title = quantity.title if is_rate or not quantity.ratio else name.replace("_", " ")
        percent = bool(is_rate) or (quantity.percent and not quantity.ratio)
        return Shift(
            name, title.removesuffix(" (%)"), before, now, len(apart), len(pairs), percent, tuple(apart)
        )

    def _judge(self, old: Row, new: Row, shifts: Sequence[Shift]) -> tuple[str, str]:
        shown = "; ".join(map(str, shifts))
        altered = "; ".join(_differences(old, new))
        if altered:
            return "parameters", f"{_name(old)}: the parameters changed ({altered}); {shown}"
        kind = self._direction(shifts[0])
        chosen = _list_changes(old.get("params", {}), new.get("params", {}))
        tuned = f"; the tuning now chooses {', '.join(chosen)}" if chosen else ""
        # A trial whose updates changed has changed, also if its mistakes have not.
        changed = {number for shift in shifts for number in shift.numbers}
        of, trials = max(shift.of for shift in shifts), plural(self.protocol.numbered)
        trials = f"{len(changed)} of {of} {trials} changed"
        return kind, f"{_name(old)}: {shown}, {kind} ({trials}){tuned}"

    def _direction(self, shift: Shift) -> str:
        headline, quantity = self.protocol.quantities[0], self.quantities[shift.quantity]
        if quantity is not headline or headline.better == "neither" or shift.now == shift.before:
            return "changed"
        return BETTER if headline.is_better(shift.now, shift.before) else WORSE

    def _notes(self) -> list[Remark]:
        changed = _list_changes(self.before.versions, self.now.versions) if self.before.versions else []
        if not changed:
            return []
        return [Remark("note", f"other versions than in the baseline: {', '.join(changed)}")]


def by_cell(baseline: Baseline) -> dict[tuple[str, str], Row]:
    return {(row["dataset"], row["algorithm"]): row for row in baseline.rows}


def _list_lacking(old: Row | None, new: Row) -> str | None:
    """Return which counts a baseline lacks, nothing if all of them, and None if none."""
    if old is None:
        return ""
    names = [name.replace("_", " ") for name in new if name not in ABOUT and name not in old]
    return f"{', '.join(names)} " if names else None


def _name(row: Row) -> str:
    return f"{row['algorithm']} on {row['dataset']}"


def _differences(old: Row, new: Row) -> list[str]:
    grid = new.get("grid", {})
    fixed = [{k: v for k, v in row.get("params", {}).items() if k not in grid} for row in (old, new)]
    words = _list_changes(*fixed)
    words += [f"grid of {text}" for text in _list_changes(old.get("grid", {}), grid)]
    for name in ("options", "setting"):
        words += _list_changes(old.get(name, {}), new.get(name, {}))
    return words


def _list_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    names = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
    return [f"{name} {_show(old.get(name))} -> {_show(new.get(name))}" for name in names]


def _show(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
