"""What `run --dry-run` prints: the trials, the time and the memory that a run takes, and what it reuses."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from olbench.cli.output import say_skipped, show_parts
from olbench.engine.local import start_processes, warm_up
from olbench.engine.probing import probe_seconds
from olbench.engine.resources import duration
from olbench.engine.reuse import CellReuse, explain_cells
from olbench.engine.stopping import StopFlag
from olbench.errors import count
from olbench.protocols.definition import Cell
from olbench.records import ledger
from olbench.records.record import without_series
from olbench.records.trial import Kind
from olbench.report import table as t
from olbench.report.table import Column, Format, Table, columns

if TYPE_CHECKING:
    from olbench.api import Plan


def show_plan(plan: "Plan", folder: Path) -> None:
    own = ledger.latest(map(without_series, ledger.each(folder)))
    recorded = (own, *(run.records for run in plan.reuse))
    records = [record for each in recorded for record in each.values()]
    reuse = explain_cells(plan.cells, records, folder)
    started = perf_counter()
    trials = [each.cell.trial(each.cell.start, "report", 0) for each in reuse if each.would_run]
    warm_up([trial for trial in trials if not trial.is_object], StopFlag())
    objects = [trial for trial in trials if trial.is_object]
    processes = start_processes(objects, plan.jobs, plan.cells[0].config.plugins)
    starting = perf_counter() - started
    what = "to compile or load the kernels" + " and to start processes" * bool(objects)
    probed = probe_kinds([each.cell for each in reuse if each.would_run], plan.jobs, processes)
    work = plan_table(reuse, probed)
    about = "at least" if None in probed.values() else "about"
    memory = sum(work["data"]) + plan.jobs * max(work["per worker"])
    reused = len(frozenset().union(*(each.keys for each in reuse)))
    say_skipped(plan)
    show_parts(
        work,
        f"{describe_counts(plan.cells)}\n"
        f"{about} {duration(starting + sum(work['time']))} with {count(plan.jobs, 'job')} "
        f"({duration(starting)} of it {what}), and {t.show_bytes(memory)} of memory",
        *([reuse_table(reuse)] if records else []),
        f"{count(reused, 'trial')} reused, {sum(each.would_run for each in reuse):,} would run",
    )


def probe_kinds(cells: Sequence[Cell], jobs: int, processes: float) -> dict[Kind, float | None]:
    """Return what trials take, probed once for all cells that differ only in their parameters."""
    cells_by_kind = {_kind(each): each for each in cells}
    return {
        kind: probe_seconds(cell, processes if cell.definition.rule is None else jobs)
        for kind, cell in cells_by_kind.items()
    }


def _kind(cell: Cell) -> Kind:
    return cell.kind("view" if cell.is_view else "report")


def plan_table(reuse: Sequence[CellReuse], probed: Mapping[Kind, float | None]) -> Table:
    rows = []
    for source in {each.cell.source.name: each.cell.source for each in reuse}.values():
        own = [each for each in reuse if each.cell.source is source]
        cells = [each.cell for each in own]
        trials, passes = sum(cell.repeats for cell in cells), sum(cell.tuning_passes for cell in cells)
        memory = source.bytes, max(cell.memory for cell in cells)
        seconds = sum((probed.get(_kind(each.cell)) or 0.0) * each.would_run for each in own)
        rows.append((source.name, source.n, source.d, trials, passes, *memory, seconds))
    shown = (
        Column("data set"),
        *columns("rows", "features", format=t.COUNT, drop=t.DETAIL),
        *columns("trials", "tuning passes", format=t.COUNT),
        *columns("data", "per worker", format=t.BYTES, drop=t.DETAIL),
        Column("time", Format(duration)),
    )
    return Table("Plan", shown, rows)


def reuse_table(reuse: Sequence[CellReuse]) -> Table:
    rows = []
    for each in reuse:
        reasons = each.reasons.most_common()
        why = "; ".join(f"{reason} ({count(number, 'trial')})" for reason, number in reasons)
        rows.append((each.cell.source.name, each.cell.label, len(each.keys), each.would_run, why))
    shown = (
        Column("data set"),
        Column("algorithm", t.ALGORITHM),
        *columns("reused", "would run", format=t.COUNT),
        Column("not reused because"),
    )
    return Table("Recorded trials", shown, rows)


def describe_counts(cells: Sequence[Cell]) -> str:
    config, repeats = cells[0].config, max(cell.repeats for cell in cells)
    datasets = len({cell.source.name for cell in cells})
    factors = count(datasets, "data set"), count(len(config.algorithms), "algorithm")
    total, passes = sum(cell.repeats for cell in cells), sum(cell.tuning_passes for cell in cells)
    start = "up to " if total < repeats * len(cells) else ""
    numbered = f"{start}{count(repeats, cells[0].protocol.numbered)}"
    least = "at least " if config.tuning.extends else ""
    tuning = f"{least}{count(passes, 'tuning pass')} ({config.tuning.search})"
    return f"{' x '.join((*factors, numbered))} = {count(total, 'trial')}, and {tuning}"
