"""Whether a run fits in memory, decided before its first trial."""

from collections.abc import Sequence
from pathlib import Path

from olbench.engine.local import refuse_many_jobs
from olbench.errors import UserError, count
from olbench.memory import memory_limit, show_size
from olbench.protocols.definition import Cell
from olbench.records import ledger


def refuse_excess(cells: Sequence[Cell], jobs: int, folders: Sequence[Path] = ()) -> None:
    """Raise a UserError with the remedy if the trials of a cell, `jobs` at a time, exceed the memory limit.

    Cached examples are memory maps, whose pages belong to the system, and count only by what is derived from
    them, unless they are read in random order. Cells whose trials are all in `folders` take no memory.
    """
    refuse_many_jobs(jobs)
    limit = memory_limit()
    large = [cell for cell in cells if _bytes_of(cell, jobs) > limit]
    for cell in _keep_unfinished(large, folders):
        raise UserError(_describe_excess(cell, jobs, limit))
    scattered = [cell for cell in cells if cell.shuffled_bytes > limit]
    for cell in _keep_unfinished(scattered, folders):
        raise UserError(
            f"{cell.source.name} takes {show_size(cell.source.bytes)}, and {show_size(limit)} of memory may "
            "be used; add order: windows (--set order=windows), or set another limit with --memory"
        )


def _bytes_of(cell: Cell, jobs: int) -> int:
    return cell.shared_memory + jobs * cell.memory


def _keep_unfinished(cells: Sequence[Cell], folders: Sequence[Path]) -> Sequence[Cell]:
    if not cells:
        return cells
    recorded = (record for folder in folders for record in ledger.current(folder).values())
    known = {record["key"]: record for record in recorded if record["status"] == "ok"}
    return [cell for cell in cells if any(trial.key not in known for trial in cell.trials(known))]


def _describe_excess(cell: Cell, jobs: int, limit: int) -> str:
    needed = show_size(_bytes_of(cell, jobs))
    times = f" with {jobs} jobs" if jobs > 1 else ""
    what, remedies = _find_largest(cell, jobs)
    if _bytes_of(cell, 1) <= limit:
        remedies.append("use --jobs 1")
    return (
        f"{cell.label} on {cell.source.name} needs {needed} of memory{times}, most of it for "
        f"{what}, and {show_size(limit)} may be used; "
        + ", or ".join([*remedies, "set another limit with --memory"])
    )


def _find_largest(cell: Cell, jobs: int) -> tuple[str, list[str]]:
    """Return what takes most of the memory, and how to need less of it."""
    features, learner = f"of {count(cell.source.d, 'feature')}", cell.learner_bytes
    scratch, shared = cell.memory - learner, cell.shared_memory
    if shared > jobs * max(learner, scratch):
        return f"{count(cell.source.n, 'row')} of data", []
    if scratch > learner:
        is_windowed = cell.source_setting.get("order") == "windows"
        return f"the rows of a {'windowed order' if is_windowed else cell.protocol.numbered}", []
    if cell.spec.options.get("covariance", "diag") == "diag" or "kernel" in cell.spec.options:
        return f"the learner {features}", ["give features smaller numbers"]
    hint = "use covariance: diag" if cell.definition.diagonal else f"leave out {cell.label} or some features"
    return f"a full covariance {features}", [hint]
