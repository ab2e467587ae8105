"""Which settings, variants and scalings could have produced the numbers that a paper reports.

One pass over the first tuning order screens every setting; near ones are run on the reported permutations.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from olbench.algorithms.algorithm import make_algorithm
from olbench.algorithms.definition import Value
from olbench.algorithms.spec import AlgorithmSpec
from olbench.analysis.published import Paper, Reported, load_paper
from olbench.data.catalog import catalog
from olbench.data.source import Source
from olbench.errors import UserError
from olbench.protocols import make_protocol, tuning
from olbench.protocols.definition import Known, Stage
from olbench.protocols.online import OnlineCell, OnlineExperiment
from olbench.protocols.specs import Experiment
from olbench.protocols.tuning import Choice
from olbench.records import quantities as q
from olbench.records import seeds
from olbench.records.trial import Record, Trial

COMPARED = (q.MISTAKE_RATE, q.UPDATES)
NEAREST = 3
SEARCHES = ("coordinate", "grid")


@dataclass(frozen=True)
class Target:
    dataset: str
    row: str
    where: str
    numbers: Mapping[str, Reported]


def find_target(paper: Paper, dataset: str, row: str) -> Target | None:
    numbers = paper.of(dataset, row)
    complete = all(quantity.name in numbers for quantity in COMPARED)
    return Target(dataset, row, numbers[COMPARED[0].name].where, numbers) if complete else None


@dataclass(frozen=True)
class Tolerance:
    """How far means may lie apart: some deviations and half a printed unit, or a share of the number."""

    deviations: float
    shares: Mapping[str, float]
    #: Whether a deviation counts as half a printed unit at least: "0.000" may have been 0.0004.
    unrounded: bool = False
    #: Whether our deviation counts where it is the larger.
    by_ours: bool = True

    def allowed(self, reported: Reported, own: float) -> float:
        least = reported.half_unit if self.unrounded else 0.0
        deviation = max(reported.deviation or 0.0, own if self.by_ours else 0.0, least)
        share = self.shares[reported.quantity] * reported.mean
        return max(self.deviations * deviation + reported.rounding, share)


#: Consistent: within the tolerance of the verdicts on single numbers. For updates, whose last digits another
#: order of the examples would not repeat, 3% is as good.
CONSISTENT = Tolerance(q.TOLERANCES[q.REPRODUCED], {q.MISTAKE_RATE.name: 0.0, q.UPDATES.name: 0.03})
#: Near enough, after the one pass that screens a setting, to be worth further permutations.
NEAR = Tolerance(6.0, {q.MISTAKE_RATE.name: 0.1, q.UPDATES.name: 0.1}, unrounded=True)


@dataclass(frozen=True)
class Spread:
    mean: float
    deviation: float


@dataclass(frozen=True)
class Observed:
    permutations: int
    spreads: Mapping[str, Spread]
    #: How many of the passes lost the covariance to rounding.
    broken: int

    @classmethod
    def of(cls, records: Sequence[Record]) -> "Observed":
        spreads = {each.name: Spread(*q.mean_and_deviation(map(each.of, records))) for each in COMPARED}
        return cls(len(records), spreads, sum(q.BREAKDOWNS.of(record) > 0 for record in records))


def distance(observed: Observed, target: Target, tolerance: Tolerance) -> float:
    """Return the largest difference in units of the tolerance: up to 1 is within it."""
    shares = [0.0]
    for quantity in COMPARED:
        own, reported = observed.spreads[quantity.name], target.numbers[quantity.name]
        if difference := abs(own.mean - reported.mean):
            shares.append(difference / tolerance.allowed(reported, own.deviation))
    return max(shares)


def is_only_by_spread(observed: Observed, target: Target) -> bool:
    """Return whether a consistent setting is so only because our deviations exceed the reported ones."""
    printed = replace(CONSISTENT, by_ours=False)
    return distance(observed, target, CONSISTENT) <= 1.0 < distance(observed, target, printed)


class CandidateStage(Stage):
    @property
    def planned(self) -> int:
        return len({trial.key for trial in self.trials})


@dataclass(frozen=True)
class Candidate(OnlineCell):
    target: Target
    #: How it differs from the paper's algorithm and data set; empty if it does not.
    variant: str

    @cached_property
    def whole_grid(self) -> dict[str, tuple[Value, ...]]:
        # A parameter that the config searches in place of another, such as phi for eta, drops that one.
        instead = [name for name in self.spec.grid if name not in self.definition.grid]
        names = {**self.definition.grid_beside((*self.spec.params, *instead)), **self.spec.grid}
        united: dict[str, tuple[Value, ...]] = {}
        for name in (name for name in names if name not in self.spec.params):
            values = dict.fromkeys((*self.definition.grid.get(name, ()), *self.spec.grid.get(name, ())))
            # Numbers in ascending order: the place in a grid decides ties.
            has_words = any(isinstance(value, str) for value in values)
            united[name] = tuple(values if has_words else sorted(values, key=float))
        return united

    @cached_property
    def settings(self) -> tuple[Choice, ...]:
        return tuple({**self.start, **params} for params in tuning.products(self.whole_grid))

    @cached_property
    def _screening(self) -> tuple[Trial, ...]:
        return tuple(self.screening_trial(params) for params in self.settings)

    def screening_trial(self, params: Choice) -> Trial:
        """Return the pass that screens a setting: the same trial as in a tuning on all rows."""
        return self.plan(params, "tune", range(1), part=seeds.ALL)[0]

    def report_trials(self, params: Choice, place: int = 0) -> list[Trial]:
        """Return the passes that judge a setting: over all rows, as in the paper, however it is tuned."""
        return self.plan(params, "report", range(self.repeats), part=seeds.ALL)

    def stage(self, known: Known) -> "CandidateStage":
        step = self.step(known)
        asked = [trial for params in step.asked for trial in self.tuning_trials(params)]
        judged = [trial for params in self.judged(known) for trial in self.report_trials(params)]
        reported = [] if step.chosen is None else self.report_trials(step.chosen)
        return CandidateStage(self, [step], [*self._screening, *asked, *judged], reported)

    def judged(self, known: Known) -> list[Choice]:
        records = [known[trial.key] for trial in self._screening if trial.key in known]
        if len(records) < len(self.settings):
            return []
        distances = [
            distance(Observed.of([record]), self.target, NEAR) if record["status"] == "ok" else math.inf
            for record in records
        ]
        cut = max(1.0, sorted(distances)[:NEAREST][-1])
        pairs = zip(self.settings, distances, strict=True)
        near = [params for params, far in pairs if far <= cut and far < math.inf]
        chosen = self.step(known).chosen
        return near if chosen is None or chosen in near else [*near, chosen]

    def picked(self, search: str, known: Known) -> Choice | None:
        ties = self.config.tuning.ties
        score = self.protocol.quantities[0]

        def score_of(params: Choice) -> float | None:
            record = known.get(self.screening_trial(params).key)
            if record is None:
                return None
            return float(score.loss(score.of(record))) if record["status"] == "ok" else math.inf

        return tuning.search(search, self.whole_grid, self.start, score_of, ties).chosen


def find_candidates(config: Experiment, sources: list[Source], permutations: int) -> list[Candidate]:
    if not isinstance(config, OnlineExperiment):
        raise UserError(f"forensics needs protocol: online, and the config has {config.protocol}")
    # Papers search their grids, once for all permutations.
    tuning = replace(config.tuning, extend=None, per=None)
    paper, lean = load_paper(config.paper), replace(config, permutations=permutations, curve=1, tuning=tuning)
    protocol = make_protocol(lean)
    cells = []
    for source in sources:
        dataset, other_data = match_dataset(paper, source)
        for entry, spec in enumerate(config.algorithms):
            row, other_algorithm = match_row(paper, spec)
            if target := find_target(paper, dataset, row):
                variant = " ".join(filter(None, (other_algorithm, other_data)))
                cells.append(Candidate(protocol, source, spec, entry, target, variant))
    return cells


def match_dataset(paper: Paper, source: Source) -> tuple[str, str]:
    """The paper's data set, and how the source differs: the catalogue may call it a variant."""
    name, entry = source.spec.name, None if source.spec.path else catalog().get(source.spec.name)
    if entry is not None and name not in paper.datasets:
        name = entry.variant_of or name
    return name, "" if source.name == name else f"on {source.name}"


def match_row(paper: Paper, spec: AlgorithmSpec) -> tuple[str, str]:
    """The row that lists the algorithm among the paper's variants, or its own with the usual options."""
    for row, variants in paper.variants.items():
        for variant in variants:
            same = all(spec.options.get(name) == value for name, value in variant.options.items())
            if variant.id == spec.id and same:
                shown = ", ".join(f"{name}={value}" for name, value in variant.options.items())
                return row, f"{spec.id} ({shown})" if shown else spec.id
    own = next((row for row in paper.algorithms if paper.row_spec(row).id == spec.id), spec.id)
    return (own, "") if spec.options == _usual_options(spec) else ("", spec.id)


def _usual_options(spec: AlgorithmSpec) -> dict[str, Any]:
    """Return the default options of an algorithm: a full covariance with a = 1, as in the papers."""
    if not spec.options:
        return {}
    made = make_algorithm(spec.id)
    return {"covariance": made.covariance, "form": made.form, "a": float(made.a)}


@dataclass(frozen=True)
class Setting:
    params: Choice
    observed: Observed
    #: In units of the tolerance.
    distance: float
    #: Whether it is consistent only because our passes vary more than the reported ones.
    wide: bool

    @property
    def consistent(self) -> bool:
        return self.distance <= 1.0


@dataclass(frozen=True)
class Finding:
    candidate: Candidate
    settings: tuple[Setting, ...]
    chosen: Choice | None
    picks: Mapping[str, Choice | None]

    @property
    def variant(self) -> str:
        return self.candidate.variant

    @property
    def consistent(self) -> tuple[Setting, ...]:
        return tuple(setting for setting in self.settings if setting.consistent)

    @property
    def by_tuning(self) -> bool:
        return any(setting.params == self.chosen for setting in self.consistent)


@dataclass(frozen=True)
class Inquiry:
    target: Target
    findings: tuple[Finding, ...]

    @property
    def reached(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.consistent)

    @property
    def only_variant(self) -> bool:
        plain = [finding for finding in self.findings if not finding.variant]
        return bool(self.reached and plain) and not any(finding.consistent for finding in plain)

    @property
    def only_wide(self) -> bool:
        return bool(self.reached) and all(s.wide for finding in self.reached for s in finding.consistent)

    @property
    def shown(self) -> Finding:
        if self.reached:
            return self.reached[0]
        return min(self.findings, key=lambda f: f.settings[0].distance)


def inquire(cells: list[Candidate], known: Known) -> list[Inquiry]:
    findings: dict[str, list[Finding]] = {}
    for candidate in cells:
        finding = judge(candidate, known)
        if finding.settings:
            findings.setdefault(candidate.target.where, []).append(finding)
    reported = {candidate.target.where: candidate.target for candidate in cells}
    return [
        # The plain algorithm first: a variant matters only if it fails.
        Inquiry(reported[where], tuple(sorted(some, key=lambda finding: bool(finding.variant))))
        for where, some in findings.items()
    ]


def judge(candidate: Candidate, known: Known) -> Finding:
    settings = []
    for params in candidate.judged(known):
        records = [known.get(trial.key) for trial in candidate.report_trials(params)]
        good = [record for record in records if record is not None and record["status"] == "ok"]
        if len(good) == len(records):
            observed, target = Observed.of(good), candidate.target
            far = distance(observed, target, CONSISTENT)
            settings.append(Setting(params, observed, far, is_only_by_spread(observed, target)))
    return Finding(
        candidate,
        tuple(sorted(settings, key=lambda each: (not each.consistent, each.wide, each.distance))),
        candidate.step(known).chosen,
        {search: candidate.picked(search, known) for search in SEARCHES},
    )
