"""What trials take: cores, memory and time."""

import math
import os
import re
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from olbench.algorithms import get_definition
from olbench.algorithms.algorithm import make_algorithm
from olbench.data.source import Source
from olbench.engine.reuse import select_usable
from olbench.errors import UserError, count, show_name
from olbench.learners.own_rules import run_rule
from olbench.learners.passes import online_pass
from olbench.memory import memory_limit, show_size
from olbench.protocols.definition import Cell
from olbench.records import ledger, seeds
from olbench.records.trial import Record

#: Jobs beyond the number of cores only wait for each other, and each takes memory.
JOBS_PER_CORE = 32
#: A round of a Python object takes as long as this many multiplications of a kernel.
OBJECT_COST = 50_000
#: The rows that an estimate from a few rounds may read of data that do not fit in memory.
PROBED_ROWS = 2000
#: The seconds that a probe takes at least, unless a trial is shorter; and those to write a record.
PROBE_SECONDS, RECORD_SECONDS = 0.1, 0.0005
#: How many times longer algorithms take that are declared slow, or that fit all examples at once.
SLOW = 20


def count_cores() -> int:
    """Return how many cores this process may use, by its affinity, the quota of a container and joblib."""
    from joblib import cpu_count

    return int(cpu_count())


def default_jobs() -> int:
    given = os.environ.get("OLBENCH_JOBS", "")
    if not given:
        return count_cores()
    if not re.fullmatch("[0-9]{1,9}", given) or int(given) < 1:
        raise UserError(f"OLBENCH_JOBS must be a whole number from 1, not {show_name(given)}")
    return int(given)


def refuse_many_jobs(jobs: int) -> None:
    most = JOBS_PER_CORE * count_cores()
    if jobs > most:
        raise UserError(
            f"--jobs must be at most {most} on this machine, not {jobs:,}; one per core is usually fastest"
        )


def guess_cost(source: Source, rounds: float, algorithm: str, options: Mapping[str, Any]) -> float:
    """Return roughly how many multiplications these rounds take, to compare them with others of the run."""
    definition, d = get_definition(algorithm), source.d
    if source.classes and options.get("multiclass") == "native":
        # All classes have a score, and two of them learn.
        is_matrix = options.get("covariance", "diag") != "diag"
        return rounds * d * (source.classes + (2 * d if is_matrix else 0))
    rounds *= max(1, source.classes)
    if definition.order == "object":
        return rounds * (d + OBJECT_COST)
    if definition.slow or not definition.online:
        return rounds * d * SLOW
    return rounds * d * (d if options.get("covariance") == "full" else 1)


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def probe_seconds(cell: Cell, jobs: int) -> float | None:
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
    """Return the seconds that a trial takes beside its passes."""
    from olbench.engine.local import attempt
    from olbench.engine.stopping import StopFlag

    beside = 0.0
    for number in range(2):  # the first trial may open the data
        begin = time.perf_counter()
        record = attempt(cell.trial(cell.start, "report", number), StopFlag())
        taken = time.perf_counter() - begin
        beside = max(0.0, taken - ((record or {}).get("seconds") or taken))
    return beside


def _probe_pass(cell: Cell) -> float:
    source, spec = cell.source, cell.spec
    if cell.source_setting.get("order") == "windows":
        data = source.take([slice(0, None, math.ceil(source.n / PROBED_ROWS))])
    else:
        data = source.open()
    labels = "all" if source.classes else "two"
    first = {name: values[0] for name, values in {**spec.grid, **cell.grid}.items() if values}
    algorithm = make_algorithm(spec.id, **cell.params_of({**cell.start, **first}), **spec.options)
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
        if taken >= (PROBE_SECONDS if size >= 64 else 1.0):
            # The first rounds are unlike the others: most of them are mistakes.
            later = max(0.0, taken - before[1]) / (size - before[0])
            return taken + later * (cell.rounds - size)


def refuse_excess(cells: Sequence[Cell], jobs: int, folders: Sequence[Path] = ()) -> None:
    """Raise a UserError with the remedy if the trials of a cell, `jobs` at a time, exceed the memory limit.

    Cached examples are memory maps, whose pages belong to the system. They count only by what is derived from
    them, unless they are read in random order. Cells whose trials are all in `folders` take no memory.
    """
    refuse_many_jobs(jobs)
    limit = memory_limit()
    excess = [(cell, reason) for cell in cells if (reason := _describe_excess(cell, jobs, limit))]
    known: dict[str, Record] = {}
    for folder in folders if excess else ():
        known |= select_usable(ledger.current(folder).values(), cells[0], folder)
    for cell, reason in excess:
        if any(trial.key not in known for trial in cell.trials(known)):
            raise UserError(reason)


def _describe_excess(cell: Cell, jobs: int, limit: int) -> str | None:
    needed = cell.shared_memory + jobs * cell.memory
    if needed <= limit and cell.shuffled_bytes <= limit:
        return None
    if needed <= limit:
        return (
            f"{cell.source.name} takes {show_size(cell.source.bytes)}, and {show_size(limit)} of memory may "
            "be used; add order: windows (--set order=windows), or set another limit with --memory"
        )
    times = f" with {jobs} jobs" if jobs > 1 else ""
    what, *remedies = _find_largest(cell, jobs)
    if cell.shared_memory + cell.memory <= limit:
        remedies.append("use --jobs 1")
    return (
        f"{cell.label} on {cell.source.name} needs {show_size(needed)} of memory{times}, most of it for "
        f"{what}, and {show_size(limit)} may be used; "
        + ", or ".join([*remedies, "set another limit with --memory"])
    )


def _find_largest(cell: Cell, jobs: int) -> tuple[str, ...]:
    """Return what takes most of the memory, and perhaps how to need less of it."""
    features, learner = f"of {count(cell.source.d, 'feature')}", cell.learner_bytes
    scratch = cell.memory - learner
    if cell.shared_memory > jobs * max(learner, scratch):
        return (f"{count(cell.source.n, 'row')} of data",)
    if scratch > learner:
        is_windowed = cell.source_setting.get("order") == "windows"
        return (f"the rows of a {'windowed order' if is_windowed else cell.protocol.numbered}",)
    if cell.spec.options.get("covariance", "diag") == "diag" or "kernel" in cell.spec.options:
        return f"the learner {features}", "give features smaller numbers"
    hint = "use covariance: diag" if cell.definition.diagonal else f"leave out {cell.label} or some features"
    return f"a full covariance {features}", hint
