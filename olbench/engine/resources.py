"""What trials take: cores, memory and time."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from olbench.algorithms import get_definition
from olbench.data.source import Source
from olbench.engine.reuse import select_usable
from olbench.errors import UserError, count, show_name
from olbench.memory import memory_limit, show_size
from olbench.protocols.definition import Cell
from olbench.records import ledger
from olbench.records.trial import Record

#: Jobs beyond the number of cores only wait for each other, and each takes memory.
JOBS_PER_CORE = 32
#: A round of a Python object takes as long as this many multiplications of a kernel.
OBJECT_COST = 50_000
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
        if any(trial.key not in known for trial in cell.stage(known).trials):
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
