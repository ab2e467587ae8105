"""Verdicts: which entry of a run a paper's number is compared with, and whether the two agree."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from olbench import errors
from olbench.algorithms.definition import Definition
from olbench.analysis.choices import find_definition
from olbench.analysis.published import Paper, Reported, Requirements, RowSpec, standard_error
from olbench.analysis.results import Entry, Floats, Results
from olbench.analysis.stats import kendall_tau, merge_ties
from olbench.data.catalog import catalog
from olbench.errors import plural, short
from olbench.protocols import get_protocol
from olbench.protocols.definition import find_quantity
from olbench.records.quantities import CLOSE as CLOSE
from olbench.records.quantities import CLOSE_RATIO, SECONDS, TOLERANCES, Quantity
from olbench.records.quantities import REPRODUCED as REPRODUCED

DIFFERS, NOT_COMPARABLE = "differs", "not comparable"
VERDICTS = (REPRODUCED, CLOSE, DIFFERS, NOT_COMPARABLE)
DEVIATION, BINOMIAL = "deviation", "binomial"
#: Beyond this many standard errors, equal means are rejected at the level of 5%.
Z_LEVEL = 1.96
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
    def learners(self) -> dict[str, dict[str, Entry]]:
        """The contestants by data set and label; after a breakdown, numbers are a matter of rounding."""
        contestants = {name: self.results.contestants(name) for name in self.results.datasets}
        return {name: {e.label: e for e in own if not e.flagged} for name, own in contestants.items()}

    @cached_property
    def choose(self) -> Callable[[str, str], Choice]:
        """`choose(dataset, row)`: what meets the paper's requirements; of several, the default form."""
        return cache(self._choose)

    def _choose(self, dataset: str, row: str) -> Choice:
        results, spec = self.results, self.paper.row_spec(row)
        usual = getattr(find_definition(spec.id), "form", Definition.form)
        candidates = [
            (self._find_variant(entry, row, spec), entry.options.get("form", usual) != usual, entry)
            for entry in results.entries_of(dataset, spec.id)
            if spec.name in ("", entry.label)
            # Another of several rows of the same algorithm, such as another projection.
            and not _find_variant({**entry.setting, **entry.options, **entry.spec.settings}, spec.options)
        ]
        if not candidates:
            asked = any(spec.name == dataset for spec in results.config.datasets)
            absent = "not run" if dataset in results.datasets else SKIPPED if asked else ABSENT
            return Choice(None, self.paper.unavailable.get(dataset) or absent)
        variant, _, entry = min(candidates, key=lambda each: (each[0] != "", each[1]))
        reason = next(filter(None, self._find_objections(entry, variant, row)), "")
        if reason or not entry.flagged:
            return Choice(entry, reason)
        # What comes after a breakdown is a matter of rounding, and no number of the algorithm.
        reason = f"{entry.flagged} of {entry.done} trials break down numerically"
        return Choice(entry, reason, entry.drop_flagged() if 2 * entry.flagged <= entry.done else None)

    def _find_variant(self, entry: Entry, row: str, spec: RowSpec) -> str:
        """Return how the algorithm of an entry or its tuning differs from the paper's, or an empty text."""
        results, requires = self.results, self.paper.requires
        defaults = {key.name: key.default for key in results.protocol.experiment.entry_keys}
        ours = {**defaults, **entry.setting, **entry.options, **entry.spec.settings}
        return _find_variant(ours, {**defaults, **requires.options, **spec.options}) or _find_other_search(
            entry, results.tuning_of(entry), requires, row, spec
        )

    def _find_objections(self, entry: Entry, variant: str, row: str) -> Iterator[str]:
        """Yield why an entry cannot be compared, one text per check; it is empty if the check passes."""
        results, paper = self.results, self.paper
        ours, theirs, settings = results.config.protocol, paper.protocol, paper.requires.settings
        yield f"its protocol is {ours}, the paper's is {theirs}" if ours != theirs else ""
        yield variant
        yield self._check_data(entry.dataset)
        yield _find_variant({**dict.fromkeys(settings), **results.protocol.experiment.own}, settings)
        yield _check_trials(entry, paper.of(entry.dataset, row).values())

    def quantity(self, name: str) -> Quantity:
        return find_quantity(get_protocol(self.paper.protocol), name)

    def find(self, dataset: str, name: str, quantity: Quantity) -> tuple[Entry, Floats] | None:
        row, _, point = name.partition("@")
        entry = self.choose(dataset, row).usable
        if entry is None:
            return None
        values = entry.values_at(quantity, point) if point else entry.values(quantity)
        return None if values is None else (entry, values)

    def _check_data(self, dataset: str) -> str:
        known = catalog()[dataset].fingerprint if dataset in catalog() else ""
        facts = self.results.run.data.get(dataset)
        if not known or facts is None or not facts.fingerprint:
            return "the fingerprint of the data is unknown"
        same = facts.fingerprint == known
        return "" if same else "the data differs from the catalogue's data set of this name"

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
        given, allowed = options.get(name, wanted), wanted if isinstance(wanted, list) else [wanted]
        if given != wanted and given not in allowed:
            return f"its {name} is {short(given)}, the paper's is {' or '.join(map(short, allowed))}"
    return ""


def _find_other_search(entry: Entry, tuning: str, requires: Requirements, row: str, spec: RowSpec) -> str:
    if requires.search and tuning not in requires.search:
        return f"its tuning is {tuning}; only {' or '.join(requires.search)} is compared"
    definition, declared = find_definition(entry.algorithm), requires.grid == "declared"
    searched = {name: set(values) for name, values in entry.spec.grid.items()}
    if definition is None:
        is_needed = declared or (row in requires.tuned and not searched)
        return "its own grid is unknown; add its file with --plugin" if is_needed else ""
    # A parameter that the row names is fixed in the paper.
    grid = {name: set(values) for name, values in definition.grid.items() if name not in spec.options}
    if grid and not searched and (declared or row in requires.tuned):
        return "its parameters are not tuned, the paper's are"
    if not declared:
        return ""
    if searched != grid or entry.grid:
        return "it is tuned over a different grid from the paper's"
    if entry.choices:
        return "each of its trials is tuned separately, the paper's are tuned together"
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
        return f"{len(entry.failures)} of {errors.count(entry.planned, 'trial')} failed"
    if entry.done < needed:
        numbered = entry.protocol.numbered
        return f"no {numbered} is done" if needed == 1 else f"fewer than {needed} {plural(numbered)} are done"
    return ""


class Match(NamedTuple):
    """What an entry measures of a printed number, and the verdict if the paper ran its algorithm."""

    mean: float
    deviation: float
    #: The standard error of the mean.
    error: float
    verdict: str


@dataclass(frozen=True)
class Judgement:
    dataset: str
    label: str
    algorithm: str
    quantity: str
    where: str
    reported: Reported
    mean: float | None
    deviation: float | None
    difference: float | None
    #: The difference in standard errors of the two means; see `_z`.
    z: float | None
    verdict: str
    reason: str
    basis: str
    by_paper: str
    other_size: str
    #: What each learner of the run makes of a number that counts; without learners that break down.
    learners: Mapping[str, Match]

    @property
    def weak(self) -> bool:
        """Whether at least half of the other learners of the run would be reproduced here too."""
        others = [found.verdict for label, found in self.learners.items() if label != self.label]
        return self.verdict == REPRODUCED and 2 * others.count(REPRODUCED) >= max(len(others), 1)

    @property
    def place(self) -> tuple[str, str, str]:
        return self.dataset, self.algorithm, self.quantity

    @property
    def is_compared(self) -> bool:
        """Whether it counts for the run: it is comparable, and the printed number is explained."""
        return self.verdict != NOT_COMPARABLE and not self.reported.suspect

    @property
    def leans(self) -> bool:
        """Whether the verdict would be worse by the paper's own deviation."""
        return self.by_paper != self.verdict

    @property
    def is_same_mean(self) -> bool | None:
        return None if self.z is None else abs(self.z) <= Z_LEVEL

    @property
    def data(self) -> dict[str, Any]:
        own = {name: value for name, value in vars(self).items() if name != "learners"}
        more = {"weak": self.weak, "leans": self.leans, "same_mean": self.is_same_mean}
        return own | more | {"reported": self.reported_data}

    @property
    def reported_data(self) -> dict[str, float | None]:
        return {name: getattr(self.reported, name) for name in ("mean", "deviation", "half_unit")}

    @property
    def key(self) -> str:
        more = [value for name, value in self.reported.at.items() if name not in ("dataset", "algorithm")]
        return ", ".join((self.dataset, self.algorithm, *more, self.quantity))


def judge(attempt: Attempt) -> list[Judgement]:
    usual = get_protocol(attempt.paper.protocol).quantities
    judged = {each.name: each for each in usual if each.judged}
    numbers = attempt.paper.numbers
    return [_judge(attempt, each, judged[each.quantity]) for each in numbers if each.quantity in judged]


def judge_tuning(attempt: Attempt, tuning: str) -> list[Judgement]:
    requires = replace(attempt.paper.requires, search=(tuning,))
    return judge(Attempt(attempt.results, replace(attempt.paper, requires=requires)))


def verdict(reported: Reported, mean: float, deviation: float, error: float = 0.0) -> str:
    """Return reproduced, close or differs by TOLERANCES; `error` is the standard error of our mean."""
    if reported.deviation is None:
        unit = math.hypot(standard_error(reported), error)
    else:
        unit = max(reported.deviation, deviation)
    difference = abs(mean - reported.mean)
    allowed = [name for name, width in TOLERANCES.items() if difference <= width * unit + reported.rounding]
    if allowed[:1] == [CLOSE] and not _is_near(reported, mean):
        return DIFFERS
    return allowed[0] if allowed else DIFFERS


def _judge_by_paper(reported: Reported, mean: float) -> str:
    """Return the verdict by the largest deviation that the paper's print allows: 0.000 may be 0.0005."""
    assert reported.deviation is not None
    return verdict(replace(reported, deviation=reported.deviation + reported.half_unit), mean, 0.0)


def _is_near(reported: Reported, mean: float) -> bool:
    """Return whether our mean is within CLOSE_RATIO of some number that is printed like the reported one."""
    ours, printed, rounding = abs(mean), abs(reported.mean), reported.rounding
    low, high = sorted((ours, min(max(ours, printed - rounding), printed + rounding)))
    return high <= CLOSE_RATIO * low


def time_ratios(attempt: Attempt) -> dict[tuple[str, str], float]:
    """Return reported seconds divided by ours by data set and label, comparable or not; never judged."""
    ratios = {}
    for number in (number for number in attempt.paper.numbers if number.quantity == SECONDS.name):
        entry = attempt.choose(number.dataset, number.row).entry
        if entry and entry.done and (seconds := entry.mean(SECONDS)) > 0:
            ratios[number.dataset, entry.label] = number.mean / seconds
    return ratios


def count(judgements: Iterable[Judgement], quantity: Quantity, suspect: bool = False) -> Counter[str]:
    return Counter(
        each.verdict
        for each in judgements
        if each.quantity == quantity.name and bool(each.reported.suspect) == suspect
    )


def count_leaning(judgements: Iterable[Judgement], quantity: Quantity) -> int:
    return count((each for each in judgements if each.leans), quantity)[REPRODUCED]


def taus(attempt: Attempt) -> dict[str, float]:
    """Kendall's tau-b of our order and the paper's; skipped where all printed numbers are the same."""
    quantity = attempt.results.protocol.quantities[0]
    means: dict[str, list[tuple[float, float]]] = {}
    for number in (number for number in attempt.paper.numbers if number.quantity == quantity.name):
        entry, reason, _ = attempt.choose(number.dataset, number.row)
        if entry and not reason:
            means.setdefault(number.dataset, []).append((entry.mean(quantity), number.mean))
    columns = {name: np.array(pairs).T for name, pairs in means.items() if len(pairs) > 1}
    found = {name: kendall_tau(merge_ties(ours), theirs) for name, (ours, theirs) in columns.items()}
    return {name: tau for name, tau in found.items() if not math.isnan(tau)}


def _judge(attempt: Attempt, reported: Reported, quantity: Quantity) -> Judgement:
    entry, reason, _ = attempt.choose(reported.dataset, reported.row)
    own = match(reported, entry, quantity) if entry and entry.done else None
    deviation = own.deviation if own and entry and entry.done > 1 else None
    outcome = by_paper = NOT_COMPARABLE
    learners: dict[str, Match] = {}
    if entry and own and not reason:
        outcome = own.verdict
        by_paper = outcome if reported.deviation is None else _judge_by_paper(reported, own.mean)
        others = attempt.learners[reported.dataset]
        if entry.label in others and not reported.suspect:
            learners = {
                label: own if each is entry else match(reported, each, quantity)
                for label, each in others.items()
            }
    has_test = own and (deviation is not None or reported.deviation is None)
    return Judgement(
        dataset=reported.dataset,
        label=entry.label if entry else reported.row,
        algorithm=reported.row,
        quantity=quantity.name,
        where=reported.where,
        reported=reported,
        mean=own and own.mean,
        deviation=deviation,
        difference=own and own.mean - reported.mean,
        z=_z(reported, own.mean, own.error) if own and has_test else None,
        verdict=outcome,
        reason=reason,
        basis=BINOMIAL if reported.deviation is None else DEVIATION,
        by_paper=by_paper,
        other_size=attempt.find_other_size(reported.dataset),
        learners=learners,
    )


def match(reported: Reported, entry: Entry, quantity: Quantity) -> Match:
    mean, deviation = entry.spread(quantity)
    error = deviation / math.sqrt(max(entry.done, 1))
    if quantity.ratio and reported.deviation is None and (rows := count_tested(entry)):
        # Binomial as in print: folds test the same rows again, so that their deviation means less.
        error = math.sqrt(max(mean * (1.0 - mean), 0.0) / rows)
    return Match(mean, deviation, error, verdict(reported, mean, deviation, error))


def count_tested(entry: Entry) -> int:
    """Return how many examples the trials tested, each counted once.

    Divisions into folds test all rows again; the trials of the first store which were wrong.
    """
    if "n" not in entry.columns:
        return 0
    sizes = entry.columns["n"]
    first = np.array(["wrong" in (each or ()) for each in entry.columns["arrays"]], bool)
    return int((sizes[first] if first.any() else sizes).sum())


def _z(reported: Reported, mean: float, error: float) -> float | None:
    """Rounding adds half a digit squared over three, else a printed deviation of 0.000 makes z infinite.

    Unlike the verdict, z asks whether the means are equal: precise means can be reproduced with a large z.
    """
    if reported.n is None:
        return None
    theirs = standard_error(reported)
    if reported.deviation is not None:
        theirs = reported.deviation / math.sqrt(reported.n)
    return (mean - reported.mean) / math.sqrt(theirs**2 + error**2 + reported.half_unit**2 / 3)
