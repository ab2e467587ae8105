"""Several results folders side by side, such as before and after a change."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from olbench.analysis.contests import make_contest
from olbench.analysis.difference import Difference
from olbench.analysis.results import Entry, Results, are_equal
from olbench.analysis.stats import LEVEL
from olbench.errors import UserError, short
from olbench.records.quantities import Quantity

Key = tuple[str, str]
OTHER_DATA = "the data is not the same"
NOTHING = "\N{EN DASH}"
BETTER, WORSE, CHANGED, ALIKE, UNTESTED = "better", "worse", "changed", "no significant change", "not tested"
OUTCOMES = (BETTER, WORSE, CHANGED, ALIKE, UNTESTED)


@dataclass(frozen=True)
class Change:
    """The difference of an entry between two runs; tested only where they share orders."""

    mean: float
    tested: Difference | None

    @property
    def significant(self) -> bool:
        return self.tested is not None and self.tested.p <= LEVEL

    def outcome(self, quantity: Quantity) -> str:
        if self.tested is None:
            return UNTESTED
        if not self.significant:
            return ALIKE
        if quantity.better == "neither":
            return CHANGED
        return BETTER if quantity.is_better(self.mean, 0.0) else WORSE


@dataclass(frozen=True)
class ComparedRuns:
    runs: Sequence[Results]

    @cached_property
    def titles(self) -> list[str]:
        parts = [run.folder.resolve().parts for run in self.runs]
        for depth in range(1, max(map(len, parts)) + 1):
            ends = ["/".join(part[-depth:]) for part in parts]
            if len(set(ends)) == len(ends):
                return ends
        raise UserError("the same folder is named twice; compare different runs")

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        protocols = list(dict.fromkeys(run.config.protocol for run in self.runs))
        if len(protocols) > 1:
            raise UserError(f"the runs have different protocols ({', '.join(protocols)}): nothing to compare")
        common = set.intersection(*({each.name for each in run.protocol.quantities} for run in self.runs))
        first = self.runs[0].protocol
        asked = [first.quantities[0].name, *(first.experiment.own.get("measures") or ())]
        found = [each for each in self.runs[0].protocol.quantities if each.judged or each.name in asked]
        return tuple(each for each in found if each.name in common)

    @property
    def numbered(self) -> str:
        return self.runs[0].protocol.numbered

    @cached_property
    def rows(self) -> dict[Key, list[Entry | None]]:
        """The rows that at least two runs have, in the order of the runs: the entry of each run, or None."""
        found = [
            {(entry.dataset, entry.label): entry for entry in run.entries if entry.done} for run in self.runs
        ]
        rows = {key: [each.get(key) for each in found] for each in found for key in each}
        shared = {key: entries for key, entries in rows.items() if sum(map(bool, entries)) > 1}
        if not shared:
            raise UserError("the runs have no algorithm on the same data set in common: nothing to compare")
        return shared

    @cached_property
    def changes(self) -> dict[str, dict[Key, list[Change | None]]]:
        return {
            each.name: {key: self._compare(entries, each) for key, entries in self.rows.items()}
            for each in self.quantities
        }

    def is_identical(self, place: int) -> bool:
        """Return whether a run equals the first one in every number of every trial, apart from times."""
        pair = (self.runs[0], self.runs[place])
        found = [{(each.dataset, each.label): each for each in run.entries if each.done} for run in pair]
        return are_equal(*found)

    def _compare(self, entries: Sequence[Entry | None], quantity: Quantity) -> list[Change | None]:
        (first, *runs), (before, *others) = self.runs, entries
        return [
            change(first, before, run, after, quantity) if before and after else None
            for run, after in zip(runs, others, strict=True)
        ]

    def records(self) -> list[dict[str, Any]]:
        records = []
        for (dataset, label), entries in self.rows.items():
            record: dict[str, Any] = {"dataset": dataset, "label": label}
            for title, entry in zip(self.titles, entries, strict=True):
                for quantity in self.quantities:
                    mean, deviation = entry.spread(quantity) if entry else (None, None)
                    deviation = deviation if entry and entry.planned > 1 else None
                    record[f"{title}: {quantity.name}_mean"] = mean
                    record[f"{title}: {quantity.name}_std"] = deviation
            records.append(record)
        return records

    def find_untested(self) -> dict[tuple[str, str], list[str]]:
        """Return the data sets without a test of the changes, by the title of a run and the reason."""
        found: dict[tuple[str, str], dict[str, None]] = {}
        first, *runs = self.runs
        for place, (title, run) in enumerate(zip(self.titles[1:], runs, strict=True), 1):
            for (dataset, _), entries in self.rows.items():
                before, after = entries[0], entries[place]
                if before and after and (reason := why_unpaired(first, before, run, after)):
                    found.setdefault((title, reason), {})[dataset] = None
        return {key: list(datasets) for key, datasets in found.items()}


def why_unpaired(first: Results, before: Entry, other: Results, after: Entry) -> str:
    facts = [run.run.data.get(before.dataset) for run in (first, other)]
    if len({each.fingerprint for each in facts if each}) > 1:
        return OTHER_DATA
    if first.config.seed != other.config.seed:
        return f"the seeds differ ({first.config.seed} and {other.config.seed})"
    one, two = first.protocol.experiment, other.protocol.experiment
    free = one.order_free
    ours, theirs = {**one.own, **before.spec.settings}, {**two.own, **after.spec.settings}
    for name in dict.fromkeys((*ours, *theirs)):
        if name not in free and ours.get(name) != theirs.get(name):
            return f"{name} differs ({describe(ours.get(name))} and {describe(theirs.get(name))})"
    same = {name: getattr(one, name) for name in free if hasattr(one, name)}
    ours, theirs = one.setting("report"), replace(two, **same).setting("report")
    for name in ours:
        if ours[name] != theirs.get(name):
            return f"the {name} of the rows differs ({ours[name]} and {theirs.get(name)})"
    return ""


def change(first: Results, before: Entry, other: Results, after: Entry, quantity: Quantity) -> Change:
    """Return the change over the trials that both have; all trials count if their orders are not shared."""
    mean = after.mean(quantity) - before.mean(quantity)
    if math.isnan(mean) or why_unpaired(first, before, other, after):
        return Change(mean, None)
    contest = make_contest([first, other], [before, after], quantity, ["before", "after"])
    [found] = contest.differences("before")
    return Change(found.mean, None if math.isnan(found.p) else found)


def describe(value: Any) -> str:
    """Return a value of a config as a short text, as YAML has it.

    >>> describe([{"name": "town", "drop": True}, {"name": "day", "values": ["mon", "tue"]}])
    '{name: town, drop: true}, {name: day, values: [mon, tue]}'
    """
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        pairs = (
            f"{key}: [{describe(each)}]" if isinstance(each, (list, tuple)) else f"{key}: {describe(each)}"
            for key, each in value.items()
        )
        return f"{{{', '.join(pairs)}}}"
    return ", ".join(map(describe, value)) if isinstance(value, (list, tuple)) else short(value)
