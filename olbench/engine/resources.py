"""What trials cost: roughly, to compare them with each other, and in seconds, from a few rounds."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from olbench.algorithms import get_definition
from olbench.algorithms.algorithm import make_algorithm
from olbench.data.source import Source
from olbench.learners.own_rules import run_rule
from olbench.learners.passes import online_pass
from olbench.protocols.definition import Cell
from olbench.records import seeds

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


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


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
