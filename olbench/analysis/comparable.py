"""Which entry of a run is compared with a row of a paper's table, and why it may not be comparable."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

from olbench.algorithms import get_definition
from olbench.analysis.published import Paper, Reported, Requirements, RowSpec
from olbench.analysis.results import Entry, Floats, Results
from olbench.data.catalog import catalog
from olbench.errors import count, plural, short
from olbench.protocols import get_protocol
from olbench.protocols.definition import find_quantity
from olbench.records.quantities import Quantity

#: A deviation needs two numbers; a share of a known sample, printed without one, needs none.
FEWEST = 2
ABSENT, SKIPPED = "the data set is not in this run", "the data set was skipped"
#: Up to this difference, the share of a class is the paper's.
SAME_SHARE = 0.01


class Choice(NamedTuple):
    entry: Entry | None
    reason: str
    #: The entry without trials that break down, if these are the only reason.
    sound: Entry | None = None

    @property
    def usable(self) -> Entry | None:
        return self.sound if self.reason else self.entry


@dataclass(frozen=True)
class Attempt:
    results: Results
    paper: Paper

    @cached_property
    def choose(self) -> Callable[[str, str], Choice]:
        """`choose(dataset, row)`: what meets the paper's requirements; of several, the default form."""
        return cache(self._choose)

    def _choose(self, dataset: str, row: str) -> Choice:
        results, paper = self.results, self.paper
        spec = paper.row_spec(row)
        usually = {key.name: key.default for key in results.protocol.experiment.entry_keys}
        wanted = {**usually, **paper.requires.options, **spec.options}
        usual = get_definition(spec.id).form
        candidates = [
            (
                _find_variant({**usually, **entry.setting, **entry.options, **entry.spec.settings}, wanted)
                or _find_other_tuning(results.tuning_of(entry), paper.requires)
                or _find_other_search(entry, paper.requires, row, spec),
                entry.options.get("form", usual) != usual,
                place,
                entry,
            )
            for place, entry in enumerate(results.entries_of(dataset, spec.id))
            if spec.name in ("", entry.label)
            # Another of several rows of the same algorithm, such as another projection.
            and not _find_variant({**entry.setting, **entry.options, **entry.spec.settings}, spec.options)
        ]
        if not candidates:
            asked = any(spec.name == dataset for spec in results.config.datasets)
            absent = "not run" if dataset in results.datasets else SKIPPED if asked else ABSENT
            return Choice(None, paper.unavailable.get(dataset) or absent)
        variant, _, _, entry = min(candidates, key=lambda each: (each[0] != "", each[1], each[2]))
        ours, theirs = results.config.protocol, paper.protocol
        reason = (
            (f"its protocol is {ours}, the paper's is {theirs}" if ours != theirs else "")
            or variant
            or self._check_data(dataset)
            or self._check_settings()
            or _check_trials(entry, paper.of(dataset, row).values())
        )
        if reason or not entry.flagged:
            return Choice(entry, reason)
        # What comes after a breakdown is a matter of rounding, and no number of the algorithm.
        reason = f"{entry.flagged} of {entry.done} trials break down numerically"
        return Choice(entry, reason, entry.drop_flagged() if 2 * entry.flagged <= entry.done else None)

    def quantity(self, name: str) -> Quantity:
        return find_quantity(get_protocol(self.paper.protocol), name)

    def find(self, dataset: str, name: str, quantity: Quantity) -> tuple[Entry, Floats] | None:
        row, _, point = name.partition("@")
        entry = self.choose(dataset, row).usable
        if entry is None:
            return None
        values = entry.values_at(quantity, entry.point_at(point)) if point else entry.values(quantity)
        return None if values is None else (entry, values)

    def _check_data(self, dataset: str) -> str:
        known = catalog()[dataset].fingerprint if dataset in catalog() else ""
        facts = self.results.run.data.get(dataset)
        if not known or facts is None or not facts.fingerprint:
            return "the fingerprint of the data is unknown"
        same = facts.fingerprint == known
        return "" if same else "the data differs from the catalogue's data set of this name"

    def _check_settings(self) -> str:
        own = self.results.protocol.experiment.own
        for name, wanted in self.paper.requires.settings.items():
            given = own.get(name)
            allowed = wanted if isinstance(wanted, list) else [wanted]
            if given not in allowed:
                return f"its {name} is {short(given)}, the paper's is {' or '.join(map(short, allowed))}"
        return ""

    def find_other_size(self, dataset: str) -> str:
        facts, printed = self.results.run.data.get(dataset), self.paper.shapes.get(dataset, {})
        if facts is None:
            return ""
        different = [
            f"{getattr(facts, key):,} {key} here, {value:,} in the paper"
            for key, value in printed.items()
            if hasattr(facts, key) and getattr(facts, key) != value
        ]
        if facts.majority is not None and {"positives", "rows"} <= printed.keys():
            here, there = facts.majority / facts.rows, printed["positives"] / printed["rows"]
            there = max(there, 1 - there)
            if abs(here - there) > SAME_SHARE:
                different.append(f"{here:.0%} in the larger class here, {there:.0%} in the paper")
        return "; ".join(different)


def _find_variant(options: Mapping[str, Any], paper: Mapping[str, Any]) -> str:
    for name, wanted in paper.items():
        # An algorithm without the option cannot differ in it.
        given = options.get(name, wanted)
        if given != wanted:
            return f"its {name} is {short(given)}, the paper's is {short(wanted)}"
    return ""


def _find_other_tuning(given: str, requires: Requirements) -> str:
    if not requires.search or given in requires.search:
        return ""
    return f"its tuning is {given}; only {' or '.join(requires.search)} is compared"


def _find_other_search(entry: Entry, requires: Requirements, row: str, spec: RowSpec) -> str:
    definition = get_definition(entry.algorithm)
    # A parameter that the row names is fixed in the paper.
    grid = {name: set(values) for name, values in definition.grid.items() if name not in spec.options}
    searched = {name: set(values) for name, values in entry.spec.grid.items()}
    declared = requires.grid == "declared"
    if grid and not searched and (declared or row in requires.tuned):
        return "its parameters are not tuned, the paper's are"
    if not declared:
        return ""
    if searched != grid:
        return "it is tuned over a different grid from the paper's"
    expected = {**definition.resolve({}), **spec.options}
    fixed = {name: value for name, value in entry.spec.params.items() if value != expected.get(name)}
    return " and ".join(f"{name} is fixed at {value}" for name, value in fixed.items())


def _check_trials(entry: Entry, printed: Iterable[Reported]) -> str:
    """Return why the trials do not suffice; one is enough if no more are planned or printed."""
    alone = entry.planned == 1 and all(number.deviation is None for number in printed)
    needed = 1 if alone else FEWEST
    if entry.params is None:
        return "its tuning is not finished"
    if entry.failures:
        return f"{len(entry.failures)} of {count(entry.planned, 'trial')} failed"
    if entry.done < needed:
        numbered = entry.protocol.numbered
        return f"no {numbered} is done" if needed == 1 else f"fewer than {needed} {plural(numbered)} are done"
    return ""
