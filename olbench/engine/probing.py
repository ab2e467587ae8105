"""What a trial takes, found by running a short one, or the beginning of a long one."""

import math
import time
from functools import partial
from statistics import median

from olbench.algorithms.algorithm import make_algorithm
from olbench.engine.local import attempt
from olbench.engine.stopping import StopFlag
from olbench.learners.own_rules import run_rule
from olbench.learners.passes import online_pass
from olbench.protocols.definition import Cell
from olbench.records import seeds

#: The rows that an estimate from a few rounds may read of data that do not fit in memory.
PROBED_ROWS = 2000
#: The seconds that a probe takes at least, unless a trial is shorter, and that of a Python object, such as a
#: tree, which gets slower as it grows; and those to write a record.
PROBE_SECONDS, OBJECT_SECONDS, RECORD_SECONDS = 0.1, 0.5, 0.0005


def probe_seconds(cell: Cell, jobs: float) -> float | None:
    """Return the seconds between two of many trials of a cell, with so many jobs; None if that is not known.

    Short trials run as a whole; of long ones a pass is begun, in random order over all rows, because rows
    that are in the processor's cache are faster.
    """
    if cell.is_view:
        return 0.0
    try:
        seconds = run_rule(cell.definition, partial(_probe_pass, cell))
        # What is not the pass runs in Python, one trial at a time.
        beside = _probe_trial(cell) if seconds is not None and seconds < PROBE_SECONDS else 0.0
    # The run will record why a contestant fails or leaves.
    except (Exception, SystemExit):
        return None
    return None if seconds is None else seconds / jobs + beside + RECORD_SECONDS


def _probe_trial(cell: Cell) -> float:
    """Return the seconds that a trial usually takes beside its passes."""
    beside, taken = list[float](), 0.0
    while len(beside) < 2 or (len(beside) < 10 and taken < PROBE_SECONDS):
        begin = time.perf_counter()
        record = attempt(cell.trial(cell.start, "report", len(beside)), StopFlag())
        seconds = time.perf_counter() - begin
        beside.append(max(0.0, seconds - ((record or {}).get("seconds") or seconds)))
        taken += seconds
    return median(beside[1:])  # the first trial may open the data


def _probe_pass(cell: Cell) -> float:
    source, spec = cell.source, cell.spec
    if cell.source_setting.get("order") == "windows":
        data = source.take([slice(0, None, math.ceil(source.n / PROBED_ROWS))])
    else:
        data = source.open()
    labels = "all" if source.classes else "two"
    enough = OBJECT_SECONDS if cell.definition.order == "object" else PROBE_SECONDS
    first = {name: values[0] for name, values in {**spec.grid, **cell.grid}.items() if values}
    choice = {**cell.start, **first}
    algorithm = make_algorithm(spec.id, **cell.params_of(choice), **cell.options_of(choice))
    order = seeds.order(cell.config.seed, source.name, "report", 0, seeds.ALL, data.examples.n)
    learn = partial(online_pass, algorithm, data.examples, data.labels, curve=1, labels=labels)
    learn(order[:1])  # the first round may take longer than the others
    size, taken = 1, 0.0
    while True:
        before, size = (size, taken), min(4 * size, order.size)
        taken = learn(order[:size]).seconds
        if size == order.size:
            return taken / size * cell.rounds
        # A busy machine disturbs few rounds; only where they are slow are they enough.
        if taken >= (enough if size >= 64 else 1.0):
            # The first rounds are unlike the others: most of them are mistakes.
            later = max(0.0, taken - before[1]) / (size - before[0])
            return taken + later * (cell.rounds - size)
