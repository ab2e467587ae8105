"""What has changed since a baseline, and why: other data, another seed, other parameters, or the code."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from olbench.analysis.baseline import ABOUT, Baseline, Row
from olbench.errors import UserError, count, plural, suggest
from olbench.protocols import Protocol

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
