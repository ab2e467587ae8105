"""Whether a run fits in memory, decided before its first trial."""

from collections.abc import Sequence

from olbench.errors import UserError
from olbench.memory import memory_limit, show_size
from olbench.protocols.definition import Cell


def refuse_excess(cells: Sequence[Cell], jobs: int) -> None:
    """Raise a UserError with the remedy if the trials of a cell, `jobs` at a time, exceed the memory limit.

    Cached examples are memory maps, whose pages belong to the system, and count only by what is derived from
    them.
    """
    limit = memory_limit()
    for cell in cells:
        held, each = cell.shared_memory, cell.memory
        if held + jobs * each > limit:
            fits_alone = held + each <= limit
            raise UserError(_describe(cell, held + jobs * each, jobs, limit) + _advise(cell, fits_alone))


def _describe(cell: Cell, needed: int, jobs: int, limit: int) -> str:
    what = "a full covariance" if _is_full(cell) else "the learner"
    times = f" with {jobs} jobs" if jobs > 1 else ""
    return (
        f"{cell.label} on {cell.source.name} needs {show_size(needed)} of memory{times}, most of it for "
        f"{what} of {cell.source.d:,} features, and {show_size(limit)} may be used; "
    )


def _advise(cell: Cell, fits_alone: bool) -> str:
    remedies = ["use covariance: diag"] if _is_full(cell) else ["give features smaller numbers"]
    if fits_alone:
        remedies.append("use --jobs 1")
    return ", or ".join([*remedies, "set another limit with --memory"])


def _is_full(cell: Cell) -> bool:
    return cell.spec.options.get("covariance") == "full" and "kernel" not in cell.spec.options
