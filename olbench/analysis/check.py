"""Changes since a baseline, and their causes: other data, another seed, other parameters, or the code.

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
from olbench.records import FORMAT, ledger, provenance
from olbench.records.compare import agree
from olbench.records.quantities import Quantity
from olbench.records.trial import Record

Settings = Annotated[Mapping[str, Any], structs.mapping(structs.anything)]


@dataclass(frozen=True, kw_only=True)
class Row:
    """The counts of an algorithm on a data set, one per trial, and what decides them."""

    dataset: Annotated[str, structs.name_text]
    algorithm: Annotated[str, structs.name_text]
    params: Settings = field(default_factory=dict)
    grid: Settings = field(default_factory=dict)
    options: Settings = field(default_factory=dict)
    setting: Settings = field(default_factory=dict)
    fingerprint: Annotated[str, structs.any_text]
    code: Annotated[str | None, structs.any_text] = None
    n: Annotated[int | None, structs.whole(1)] = None
    counts: Annotated[Mapping[str, Sequence[float]], structs.Flat()]

    @property
    def place(self) -> tuple[str, str]:
        return self.dataset, self.algorithm

    @property
    def name(self) -> str:
        return f"{self.algorithm} on {self.dataset}"

    def plain(self) -> dict[str, Any]:
        always = {"dataset": self.dataset, "algorithm": self.algorithm, "params": self.params}
        return always | structs.from_struct(self)


def _read_row(node: structs.Node, name: str) -> Row:
    row = structs.read_struct(Row, node, "a row")
    for key, numbers in row.counts.items():
        if not isinstance(numbers, list) or not all(map(structs.is_number, numbers)) or not is_unicode(key):
            raise node.value[key].fail(f"{show_name(key)} is not a list of numbers")
    if len(set(map(len, row.counts.values()))) != 1:
        raise node.fail("the counts are missing, or there are not as many of each")
    return row


def _read_rows(node: structs.Node, name: str) -> tuple[Row, ...]:
    rows = structs.many(_read_row, 0)(node, name)
    for (dataset, algorithm), times in Counter(row.place for row in rows).items():
        if times > 1:
            raise node.fail(f"{algorithm} on {dataset} comes a second time")
    return rows


@dataclass(frozen=True)
class Baseline:
    rows: Annotated[tuple[Row, ...], _read_rows]
    protocol: Annotated[str, structs.any_text]
    seed: int
    versions: Annotated[Mapping[str, str], structs.mapping(structs.any_text)] = field(default_factory=dict)
    #: The first error of each result that has one, by data set and algorithm; not in the file.
    failed: Mapping[tuple[str, str], str] = field(default_factory=dict)


KEYS = (*structs.make_keys({"format": structs.whole(1)}), *structs.keys_of(Baseline, "failed"))


def baseline_of(cells: Sequence[Cell], known: Known) -> Baseline:
    rows: list[Row] = []
    failed: dict[tuple[str, str], str] = {}
    for cell in cells:
        stage = cell.stage(known)
        for trial in stage.trials:
            if (record := known.get(trial.key)) and record["status"] == "failed":
                failed.setdefault((cell.source.name, cell.label), str(record["error"]))
        records = [cell.view(known[trial.key]) for trial in stage.reported if trial.key in known]
        good = [record for record in records if record["status"] == "ok"]
        if len(good) == cell.repeats:
            rows.append(_row(cell.protocol, cell.source.name, cell.label, cell.spec, good))
    config = cells[0].config
    return Baseline(tuple(rows), config.protocol, config.seed, provenance.versions(), failed)


def _row(protocol: Protocol, dataset: str, label: str, spec: AlgorithmSpec, records: Sequence[Record]) -> Row:
    # A ratio is compared by its count.
    numbers = {
        each.compared: [record[each.compared] if each.ratio else each.of(record) for record in records]
        for each in protocol.quantities
        if each.repeats
    }
    return Row(
        dataset=dataset,
        algorithm=label,
        params=_join(records, "params"),
        grid={name: list(values) for name, values in spec.grid.items()},
        options=_join(records, "options"),
        setting=_join(records, "setting"),
        fingerprint=records[0]["fingerprint"],
        code=records[0]["code"],
        n=records[0].get("n"),
        # A measure that is undefined in a trial cannot be compared.
        counts={name: values for name, values in numbers.items() if not any(map(math.isnan, values))},
    )


def _join(records: Sequence[Record], field: str) -> dict[str, Any]:
    """Return the values of a field by name: one, or a list where trials are tuned to different ones."""
    joined: dict[str, Any] = {}
    for name in dict.fromkeys(name for record in records for name in record[field]):
        values = [record[field].get(name) for record in records]
        joined[name] = values[0] if all(each == values[0] for each in values) else values
    return joined


RENEW = "--update writes one to a new file"


def read_baseline(path: Path) -> Baseline:
    if path.is_dir():
        return read_run_baseline(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        given = structs.read_keys(KEYS, structs.from_plain(content, "baseline", paths=True), "the file")
        if (found := given.pop("format")) != FORMAT:
            raise UserError(f"its format is {found}, and this olbench reads {FORMAT}")
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"cannot read the baseline {path}: {reason}; write one with --update") from None
    except UserError as error:
        raise UserError(f"{path} is not a baseline: {error}; {RENEW}") from None
    except (ValueError, RecursionError, MemoryError):
        raise UserError(f"{path} is not a baseline; {RENEW}") from None
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
    about = {"format": FORMAT, "protocol": baseline.protocol, "seed": baseline.seed}
    head = json.dumps({**about, "versions": dict(baseline.versions)})[:-1]
    lines = ",\n".join(f"  {json.dumps(row.plain())}" for row in baseline.rows)
    write_text(path, f'{head},\n"rows": [\n{lines}\n]}}\n')


WORSE, BETTER = "worse", "better"
#: Causes come first, then changes, then results on one side only.
CHANGED, ORDER = 2, {"data": 0, "parameters": 1, "missing": 3, "new": 4}


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
        sign, unit = (" %", 100) if self.percent else ("", 1)
        for digits in range(1, 18):
            before, now = (f"{unit * value:,.{digits}f}{sign}" for value in (self.before, self.now))
            if before != now:
                break
        return f"{self.title} {before} -> {now}"


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
    failed: Mapping[tuple[str, str], str] = field(default_factory=dict)
    allows_better: bool = False

    def is_failure(self, finding: Remark) -> bool:
        is_harmless = finding.kind in ("new", "note")
        return not is_harmless and not (self.allows_better and finding.kind == BETTER)

    @property
    def changes(self) -> tuple[Remark, ...]:
        found = [finding for finding in self.findings if self.is_failure(finding)]
        return tuple(sorted(found, key=lambda finding: finding.kind == BETTER))

    def count(self, kind: str) -> int:
        return sum(finding.kind == kind for finding in self.findings)


def compare(
    before: Baseline, now: Baseline, protocol: Protocol, tolerance: float = 0.0, only: Sequence[str] = ()
) -> Comparison:
    """Compare the numbers of all cells, or only some: counts exactly, shares within a tolerance."""
    reasons = {"protocol": "another protocol measures other things", "seed": "other orders give other counts"}
    for kind, why in reasons.items():
        first, then = getattr(before, kind), getattr(now, kind)
        if first != then:
            message = f"the {kind} changed: {first} -> {then}; {why}, so nothing was compared"
            return Comparison(0, 0, (Remark(kind, message),), now.failed)
    if only:
        before, now = (_select(each, protocol, only) for each in (before, now))
    old, new = ({row.place: row for row in each.rows} for each in (before, now))
    shared = [(row, new[key]) for key, row in old.items() if key in new]
    findings = list(_find_other_data(shared))
    other = {finding.dataset for finding in findings}
    shared = [pair for pair in shared if pair[0].dataset not in other]
    findings += [each for pair in shared for each in _compare_rows(*pair, protocol, tolerance)]
    versions = _list_changes(before.versions, now.versions) if before.versions else []
    if versions and any(_order(each) == CHANGED for each in findings):
        findings.append(Remark("note", f"other versions than in the baseline: {', '.join(versions)}"))
    findings += [
        Remark("missing", f"{row.name}: missing now", *key)
        for key, row in old.items()
        if key not in new and key not in now.failed
    ]
    for key, row in new.items():
        known = old[key].counts if key in old else {}
        lacking = [name.replace("_", " ") for name in row.counts if name not in known]
        if lacking:
            which = f"{', '.join(sorted(lacking))} " if key in old else ""
            message = f"{row.name}: {which}not in the baseline, so not compared; add it with --update"
            findings.append(Remark("new", message, *key))
    compared = sum(len(pairs) for each in shared for pairs in _pair_counts(*each).values())
    changed = sum(shift.trials for each in findings for shift in each.shifts)
    return Comparison(compared, changed, tuple(sorted(findings, key=_order)), now.failed)


def _order(finding: Remark) -> int:
    return ORDER.get(finding.kind, CHANGED)


def _select(baseline: Baseline, protocol: Protocol, only: Sequence[str]) -> Baseline:
    known = {each.name: each.compared for each in protocol.quantities if each.repeats}
    for name in only:
        if name not in known:
            hint = f"{suggest(name, list(known))}; there are {', '.join(known)}"
            raise UserError(f"there is no '{name}' to compare{hint}")
    rows = []
    for row in baseline.rows:
        counts = {name: row.counts[name] for name in (known[each] for each in only) if name in row.counts}
        rows += [replace(row, counts=counts)] if counts else []
    return replace(baseline, rows=tuple(rows))


def _find_other_data(shared: Sequence[tuple[Row, Row]]) -> Iterator[Remark]:
    changed = [pair for pair in shared if pair[0].fingerprint != pair[1].fingerprint]
    for dataset in sorted({old.dataset for old, _ in changed}):
        own = [pair for pair in changed if pair[0].dataset == dataset]
        sizes = [count(row.n, "example") for row in own[0] if row.n]
        grown = f"{' -> '.join(sizes)}, " if len(set(sizes)) == 2 else ""
        prints = " -> ".join(row.fingerprint[:12] for row in own[0])
        cause = f"{dataset}: the data or its preparation changed ({grown}fingerprint {prints})"
        yield Remark("data", f"{cause}; {count(len(own), 'result')} not compared", dataset)


def _pair_counts(old: Row, new: Row) -> dict[str, list[tuple[float, float]]]:
    return {name: list(zip(own, new.counts.get(name, ()), strict=False)) for name, own in old.counts.items()}


def _compare_rows(old: Row, new: Row, protocol: Protocol, tolerance: float) -> Iterator[Remark]:
    paired = _pair_counts(old, new)
    quantities = {each.compared: each for each in protocol.quantities}
    # Quantities that the config no longer measures are not compared.
    measured = ((quantities[name], pairs) for name, pairs in paired.items() if name in quantities)
    if shifts := tuple(filter(None, (_find_shift(*each, old, new, tolerance) for each in measured))):
        shown = "; ".join(map(str, shifts))
        if altered := "; ".join(_differences(old, new)):
            message = f"{old.name}: the parameters changed ({altered}); {shown}"
            yield Remark("parameters", message, *old.place, shifts)
        else:
            kind = _judge(shifts[0], protocol.quantities[0])
            chosen = _list_changes(old.params, new.params)
            tuned = f"; the tuning now chooses {', '.join(chosen)}" if chosen else ""
            # A trial whose updates changed has changed, also if its mistakes have not.
            changed = {number for shift in shifts for number in shift.numbers}
            of, trials = max(shift.of for shift in shifts), plural(protocol.numbered)
            moved = f"{len(changed)} of {of} {trials} changed"
            cause = "its code changed; " if old.code not in (None, new.code) else ""
            yield Remark(kind, f"{old.name}: {cause}{shown}, {kind} ({moved}){tuned}", *old.place, shifts)
    if lacking := max((len(old.counts[name]) - len(pairs) for name, pairs in paired.items()), default=0):
        yield Remark("missing", f"{old.name}: {count(lacking, protocol.numbered)} missing now", *old.place)


def _judge(shift: Shift, headline: Quantity) -> str:
    if shift.quantity != headline.compared or headline.better == "neither" or shift.now == shift.before:
        return "changed"
    return BETTER if headline.is_better(shift.now, shift.before) else WORSE


def _find_shift(
    quantity: Quantity, pairs: Sequence[tuple[float, float]], old: Row, new: Row, tolerance: float
) -> Shift | None:
    name, sizes = quantity.compared, (old.n, new.n)
    is_rate = bool(quantity.ratio and quantity.ratio[1] == "n" and all(sizes))
    # The tolerance of a share is in its own unit, whether its count or itself is kept; a count has none.
    is_count = not is_rate and (quantity.ratio or quantity.whole)
    change = 0.0 if is_count else tolerance * (old.n if is_rate and old.n else 1)
    apart = tuple(
        place
        for place, pair in enumerate(pairs)
        if not agree(*pair, quantity.allowed) and not _is_tolerated(*pair, change)
    )
    if not apart:
        return None
    means = [statistics.fmean(side) for side in zip(*pairs, strict=True)]
    before, now = (mean / (n if is_rate and n else 1) for mean, n in zip(means, sizes, strict=True))
    title = name.replace("_", " ") if quantity.ratio and not is_rate else quantity.title
    percent = is_rate or (quantity.percent and not quantity.ratio)
    return Shift(name, title.removesuffix(" (%)"), before, now, len(apart), len(pairs), percent, apart)


def _is_tolerated(before: float, now: float, most: float) -> bool:
    """Return whether a change is at most the tolerance, apart from the rounding of both."""
    rounding = 1e-9 * most + 4 * math.ulp(max(abs(before), abs(now)))
    return bool(most and abs(now - before) <= most + rounding)


def _differences(old: Row, new: Row) -> list[str]:
    fixed = [{k: v for k, v in row.params.items() if k not in new.grid} for row in (old, new)]
    words = [*_list_changes(*fixed), *(f"grid of {text}" for text in _list_changes(old.grid, new.grid))]
    return words + _list_changes(old.options, new.options) + _list_changes(old.setting, new.setting)


def _list_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    names = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
    return [f"{name} {_show(old.get(name))} -> {_show(new.get(name))}" for name in names]


def _show(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
