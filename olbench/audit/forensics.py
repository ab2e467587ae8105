"""Forensics: which settings, variants and scalings could have made the numbers that a paper reports.

Every setting of a grid is screened with one pass over the first tuning order, so the table of a tuning serves
as the screening. Settings near the reported pair (consistency.NEAR), the NEAREST ones in any case and the one
that the tuning picks are then run on the permutations of the report, and judged (consistency.CONSISTENT).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from olbench.algorithms.definition import Value
from olbench.audit.consistency import (
    CONSISTENT,
    NEAR,
    Observed,
    Target,
    distance,
    is_only_by_spread,
    targets,
)
from olbench.data.catalog import catalog
from olbench.data.source import Source
from olbench.learners import make_algorithm
from olbench.papers import Paper, load_paper
from olbench.protocols import get_protocol, tuning
from olbench.protocols.definition import Cell, Known
from olbench.protocols.tuning import Choice
from olbench.specs import AlgorithmSpec, Config
from olbench.trials import seeds
from olbench.trials.trial import Trial

#: How many settings of a cell are run in full however far they are.
NEAREST = 3
#: The searches that are told apart; the first table that a screening gives serves both.
SEARCHES = ("coordinate", "grid")


@dataclass(frozen=True)
class Suspect(Cell):
    """An algorithm on a data set with its whole grid, held against one row of the paper."""

    target: Target
    #: In what it differs from what the paper says it ran; empty for the algorithm and data set themselves.
    variant: str

    @cached_property
    def whole_grid(self) -> dict[str, tuple[Value, ...]]:
        """The values of the papers and of the config for every parameter that the config does not fix."""
        # A parameter that the config searches in place of another, such as phi for eta, drops that one.
        instead = [name for name in self.spec.grid if name not in self.definition.grid]
        names = {**self.definition.grid_beside((*self.spec.params, *instead)), **self.spec.grid}
        return {
            name: _unite(self.definition.grid.get(name, ()), self.spec.grid.get(name, ()))
            for name in names
            if name not in self.spec.params
        }

    @cached_property
    def settings(self) -> tuple[Choice, ...]:
        """Every combination of the grid, with the parameters that are not searched."""
        return tuple({**self.start, **params} for params in tuning.products(self.whole_grid))

    @cached_property
    def _screening(self) -> tuple[Trial, ...]:
        return tuple(self.screening_trial(params) for params in self.settings)

    def screening_trial(self, params: Choice) -> Trial:
        """Return the pass that screens a setting: one of a tuning on all rows, so each reuses the other."""
        return self.trial(params, "tune", 0, part=seeds.ALL)

    def report_trials(self, params: Choice) -> list[Trial]:
        """Return the passes that judge a setting: over all rows, as the paper's were, however it is tuned."""
        return [self.trial(params, "report", p, part=seeds.ALL) for p in range(self.repeats)]

    def trials(self, known: Known) -> Iterator[Trial]:
        """Yield the screening and the tuning, and what follows from them."""
        yield from self._screening
        for params in self.step(known).asked:
            yield from self.tuning_trials(params)
        for params in self.judged(known):
            yield from self.report_trials(params)

    def planned(self, known: Known) -> int:
        """Return how many trials there will be, as far as is known."""
        return len({trial.key for trial in self.trials(known)})

    def judged(self, known: Known) -> list[Choice]:
        """Return the settings to run in full; none before all are screened."""
        if any(trial.key not in known for trial in self._screening):
            return []
        distances = [self._screen(trial, known) for trial in self._screening]
        cut = max(1.0, sorted(distances)[:NEAREST][-1])
        near = [
            params
            for params, far in zip(self.settings, distances, strict=True)
            if far <= cut and far < math.inf
        ]
        chosen = self.step(known).chosen
        return near if chosen is None or chosen in near else [*near, chosen]

    def _screen(self, trial: Trial, known: Known) -> float:
        record = known[trial.key]
        return distance(Observed.of([record]), self.target, NEAR) if record["status"] == "ok" else math.inf

    def picked(self, search: str, known: Known) -> Choice | None:
        """Return what a search over the whole grid would pick by the screening's order."""
        ties = self.config.tuning.ties
        score = self.protocol.score

        def screened(params: Choice) -> float | None:
            record = known.get(self.screening_trial(params).key)
            if record is None:
                return None
            return float(score.loss(score.of(record))) if record["status"] == "ok" else math.inf

        return tuning.search(search, self.whole_grid, self.start, screened, ties).chosen


def _unite(first: tuple[Value, ...], second: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the values of both; numbers by size, since the place in a grid decides between equals."""
    values = tuple(dict.fromkeys((*first, *second)))
    return values if any(isinstance(value, str) for value in values) else tuple(sorted(values, key=float))


def suspects(config: Config, sources: list[Source], permutations: int) -> list[Suspect]:
    """Return what the paper's rows are compared with: everything in the config that may stand for one."""
    paper, protocol = load_paper(config.paper), get_protocol(config.protocol)
    lean = config.with_settings(permutations=permutations, curve=1)
    reported = targets(paper)
    found = []
    for source in sources:
        dataset, other_data = stands_for_dataset(paper, source)
        for entry, spec in enumerate(config.algorithms):
            row, other_algorithm = stands_for_row(paper, spec)
            target = reported.get((dataset, row))
            if target is not None:
                variant = " ".join(word for word in (other_algorithm, other_data) if word)
                found.append(Suspect(protocol, lean, source, spec, entry, target, variant))
    return found


def stands_for_dataset(paper: Paper, source: Source) -> tuple[str, str]:
    """Return the paper's data set that a source stands for, and how it differs: an empty text if it does not.

    A data set of the catalogue that is no name of the paper stands for the one that it is a variant of.
    """
    name, entry = source.spec.name, None if source.spec.path else catalog().get(source.spec.name)
    if entry is not None and name not in paper.datasets:
        name = entry.variant_of or name
    return name, "" if source.name == name else f"on {source.name}"


def stands_for_row(paper: Paper, spec: AlgorithmSpec) -> tuple[str, str]:
    """Return the paper's row that an algorithm stands for, and how it differs; no row where there is none.

    It is the row that names it among the paper's variants, or that of its own id with the usual options.
    """
    for row, variants in paper.variants.items():
        for variant in variants:
            same = all(spec.options.get(name) == value for name, value in variant.options.items())
            if variant.id == spec.id and same:
                return row, _label(spec.id, variant.options)
    return (spec.id, "") if spec.options == _usual_options(spec) else ("", spec.id)


def _label(id: str, options: Mapping[str, Any]) -> str:
    shown = ", ".join(f"{name}={value}" for name, value in options.items())
    return f"{id} ({shown})" if shown else id


def _usual_options(spec: AlgorithmSpec) -> dict[str, Any]:
    """Return the options that an algorithm has when nothing is said: the papers' full covariance, a = 1."""
    if not spec.options:
        return {}
    made = make_algorithm(spec.id)
    return {"covariance": made.covariance, "form": made.form, "a": float(made.a)}


@dataclass(frozen=True)
class Setting:
    """A setting that was run in full, and how it compares with the reported pair."""

    params: Choice
    observed: Observed
    #: In units of what is allowed.
    distance: float
    #: Whether it is consistent only because our passes spread more than the reported ones.
    wide: bool

    @property
    def consistent(self) -> bool:
        """Whether it could have made the reported pair."""
        return self.distance <= 1.0

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """What makes it a better explanation than another: small."""
        return not self.consistent, self.wide, self.distance


@dataclass(frozen=True)
class Finding:
    """What came out for one suspect."""

    suspect: Suspect
    #: The settings that were run in full, the best explanation first.
    settings: tuple[Setting, ...]
    #: What the config's tuning picks, and what each of SEARCHES would pick over the whole grid.
    chosen: Choice | None
    picks: Mapping[str, Choice | None]

    @property
    def variant(self) -> str:
        """In what it differs from what the paper says it ran."""
        return self.suspect.variant

    @property
    def consistent(self) -> tuple[Setting, ...]:
        """The settings that could have made the reported pair."""
        return tuple(setting for setting in self.settings if setting.consistent)

    @property
    def tuned(self) -> Setting | None:
        """The setting that the tuning picks, if it was run."""
        return next((setting for setting in self.settings if setting.params == self.chosen), None)

    @property
    def by_tuning(self) -> bool:
        """Whether the setting that the tuning picks is consistent."""
        return self.tuned is not None and self.tuned.consistent


@dataclass(frozen=True)
class Inquiry:
    """A row of the paper and the findings about everything that may stand for it."""

    target: Target
    findings: tuple[Finding, ...]

    @property
    def reached(self) -> tuple[Finding, ...]:
        """The findings with a consistent setting."""
        return tuple(finding for finding in self.findings if finding.consistent)

    @property
    def only_variant(self) -> bool:
        """Whether variants reach the pair and the plain algorithm, which was tried, does not."""
        plain = [finding for finding in self.findings if not finding.variant]
        return bool(self.reached and plain) and not any(finding.consistent for finding in plain)

    @property
    def only_wide(self) -> bool:
        """Whether every setting that reaches the pair does so by our own spread."""
        return bool(self.reached) and all(s.wide for finding in self.reached for s in finding.consistent)

    @property
    def shown(self) -> Finding:
        """The finding that speaks for the cell: the first that reaches it, else the nearest."""
        if self.reached:
            return self.reached[0]
        return min(self.findings, key=lambda f: f.settings[0].distance if f.settings else math.inf)


def inquire(found: list[Suspect], known: Known) -> list[Inquiry]:
    """Return the rows of the paper that something was compared with, in the order of the config."""
    findings: dict[str, list[Finding]] = {}
    for suspect in found:
        finding = judge(suspect, known)
        if finding.settings:
            findings.setdefault(suspect.target.where, []).append(finding)
    reported = {suspect.target.where: suspect.target for suspect in found}
    return [
        # The plain one first: a variant is asked for only where it does not answer.
        Inquiry(reported[where], tuple(sorted(some, key=lambda finding: bool(finding.variant))))
        for where, some in findings.items()
    ]


def judge(suspect: Suspect, known: Known) -> Finding:
    """Return what the trials known so far say about a suspect."""
    settings = []
    for params in suspect.judged(known):
        records = [known.get(trial.key) for trial in suspect.report_trials(params)]
        good = [record for record in records if record is not None and record["status"] == "ok"]
        if len(good) == len(records):
            settings.append(_setting(params, Observed.of(good), suspect.target))
    return Finding(
        suspect,
        tuple(sorted(settings, key=lambda setting: setting.rank)),
        suspect.step(known).chosen,
        {search: suspect.picked(search, known) for search in SEARCHES},
    )


def _setting(params: Choice, observed: Observed, target: Target) -> Setting:
    far = distance(observed, target, CONSISTENT)
    return Setting(params, observed, far, is_only_by_spread(observed, target))


def summary(found: list[Inquiry]) -> str:
    """Return the count of the cells by who reaches them, in a sentence."""
    reached = sum(bool(inquiry.reached) for inquiry in found)
    tuned = sum(any(finding.by_tuning for finding in inquiry.findings) for inquiry in found)
    variants, wide = (
        sum(inquiry.only_variant for inquiry in found),
        sum(inquiry.only_wide for inquiry in found),
    )
    return (
        f"{reached} of {len(found)} pairs are reached by some setting ({variants} only by a variant, {wide} "
        f"only by our spread); {tuned} by the one that the tuner picks; {len(found) - reached} by none"
    )
