"""The time of a run: before it from a few rounds, during it from the finished trials."""

import math
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from olbench.algorithms import get_definition
from olbench.algorithms.algorithm import make_algorithm
from olbench.data.source import Source
from olbench.learners.own_rules import run_rule
from olbench.learners.passes import online_pass
from olbench.protocols.definition import Cell, Kind
from olbench.records import seeds
from olbench.records.trial import Record

#: A round of a Python object takes as long as this many multiplications of a kernel.
OBJECT_COST = 50_000
#: The rows that an estimate from a few rounds may read.
PROBED_ROWS = 2000
#: How many times as long learners with rules take, and those that fit all examples at once.
SLOW = 20


def guess_cost(source: Source, algorithm: str, options: Mapping[str, Any]) -> float:
    """Return roughly how many multiplications a trial takes, to compare it with others of its run."""
    definition = get_definition(algorithm)
    rounds, d = float(source.n) * max(1, source.classes), source.d
    if source.classes and options.get("multiclass") == "native":
        # All classes have a score, and two of them learn.
        is_matrix = options.get("covariance", "diag") != "diag"
        return float(source.n) * d * (source.classes + (2 * d if is_matrix else 0))
    if definition.order == "object":
        return rounds * (d + OBJECT_COST)
    if definition.slow or not definition.online:
        return rounds * d * SLOW
    return rounds * d * (d if options.get("covariance") == "full" else 1)


@dataclass
class Share:
    planned: int
    #: In any unit, the same for all kinds.
    cost: float
    done: int = 0
    timed: int = 0
    seconds: float = 0.0


class TimeLeft:
    """Adds up the time left: each kind at its mean so far, or scaled by its guessed cost before the first.

    The longest trials run first, so the number of trials left says little about the time left.
    """

    def __init__(self, shares: Mapping[Kind, Share], jobs: int):
        self.shares, self.jobs = shares, jobs

    def take(self, record: Record, reused: bool) -> None:
        """Count a trial as done; its time counts only if it ran now and succeeded."""
        share = self.shares[record["dataset"], record["algorithm"], str(dict(record["options"]))]
        share.done += 1
        if not reused and record["status"] == "ok":
            share.timed += 1
            share.seconds += record["seconds"]

    @property
    def done(self) -> float:
        return sum(share.seconds for share in self.shares.values())

    def seconds(self, elapsed: float, done: float) -> float:
        """Return the seconds left, given that trials of `done` seconds in all ran in the last `elapsed`."""
        # Early on, `done` may exceed what fits into `elapsed`; a job does one second of work per second.
        pace = max(1 / self.jobs, elapsed / done if done > 0 else 0.0)
        return pace * sum(
            max(0, share.planned - share.done) * self._mean(share) for share in self.shares.values()
        )

    def _mean(self, share: Share) -> float:
        if share.timed:
            return share.seconds / share.timed
        cost = sum(other.timed * other.cost for other in self.shares.values())
        return share.cost * self.done / cost if cost else 0.0


class RecentPast(deque[tuple[float, float]]):
    """How much was done at which moments of the last seconds: a run gets faster or slower."""

    def __init__(self, seconds: float):
        super().__init__()
        self.seconds = seconds

    def note(self, done: float) -> None:
        self.append((time.monotonic(), done))
        while len(self) > 2 and self[-1][0] - self[1][0] > self.seconds:
            self.popleft()


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def rate(trials: float) -> str:
    """Return trials per second in the unit that suits them.

    >>> rate(300.72), rate(0.25), rate(0.02)
    ('300.7 trials/s', '0.2 trials/s', '1.2 trials/min')
    """
    return f"{trials:,.1f} trials/s" if trials >= 0.1 else f"{60 * trials:.1f} trials/min"


def probe_seconds(cell: Cell) -> float:
    """Return an estimate of the seconds that one trial takes, from a few of its rounds."""
    try:
        return run_rule(cell.definition, partial(_probe, cell)) or 0.0
    # A contestant that fails or leaves at once takes no time; the run will record why.
    except (Exception, SystemExit):
        return 0.0


def _probe(cell: Cell) -> float:
    if cell.is_view:
        return 0.0
    source, spec = cell.source, cell.spec
    data = source.take([slice(0, None, math.ceil(source.n / PROBED_ROWS))])
    labels = "all" if source.classes else "two"
    first = {name: values[0] for name, values in {**spec.grid, **cell.grid}.items() if values}
    algorithm = make_algorithm(spec.id, **cell.params_of({**cell.start, **first}), **spec.options)
    order = seeds.order(cell.config.seed, source.name, "report", 0, seeds.ALL, data.examples.n)
    learn = partial(online_pass, algorithm, data.examples, data.labels, curve=1, labels=labels)
    learn(order[:1])  # the first round may take longer than the others
    size = 1
    while True:
        size = min(4 * size, order.size)
        taken = learn(order[:size]).seconds
        # A busy machine disturbs few rounds; only where they are slow are they enough.
        if taken >= (0.03 if size >= 64 else 1.0) or size == order.size:
            return taken / size * cell.rounds
