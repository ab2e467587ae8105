"""What `run` prints: the plan before it starts and the table after it ends."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from olbench.cli.output import say, show_parts
from olbench.engine.estimate import duration, probe_seconds
from olbench.engine.executors.local import warm_up
from olbench.engine.reuse import CellReuse, explain_cells
from olbench.engine.stopping import StopFlag
from olbench.learners.own_rules import run_rule
from olbench.protocols.definition import Cell, Known
from olbench.protocols.specs import Experiment
from olbench.protocols.tuning import UNDEFINED
from olbench.records import ledger
from olbench.records.quantities import SECONDS, mean_and_deviation
from olbench.report.grid import DETAIL, FLAG, KEPT, TIME, Grid, boxes, count, left, right

if TYPE_CHECKING:
    from olbench.api import Plan


def show_results(cells: Sequence[Cell], known: Known) -> None:
    protocol = cells[0].protocol
    reported = (known.get(trial.key) for cell in cells for trial in cell.reported(known))
    finished = (record for record in reported if record and record["status"] == "ok")
    alone = all(record["timing"] == "exclusive" for record in finished)
    quantities = [
        each
        for each in protocol.quantities
        if each.judged or each is protocol.quantities[0] or (alone and each.name == SECONDS.name)
    ]
    columns = (
        *left("data set", "algorithm"),
        *(each for q in quantities for each in right(q.title, drop=TIME if q.name == SECONDS.name else KEPT)),
        *left("parameters", drop=DETAIL),
    )
    rows, warnings = [], []
    for cell in cells:
        records = [cell.view(known[trial.key]) for trial in cell.reported(known) if trial.key in known]
        good = [record for record in records if record["status"] == "ok"]
        values = {each: [each.of(record) for record in good] for each in quantities}
        spreads = [
            each.spread(*mean_and_deviation(own)) if len(own) > 1 else "".join(map(each.text, own))
            for each, own in values.items()
        ]
        if not good:
            spreads[0] = "failed" if records else "not run"
        warning = _warning(cell, good, len(records) - len(good), _is_undecided(cell, known))
        warnings += [f"{FLAG.strip()} {cell.label} on {cell.source.name}: {warning}."] if warning else []
        label = cell.label + (FLAG if warning else "")
        rows.append(boxes(cell.source.name, label, *spreads, _notes(cell, good)))
    # Below the table, where no width drops them.
    show_parts(Grid("", columns, tuple(rows)), *(["\n".join(warnings)] if warnings else []))


def _notes(cell: Cell, records: list[dict[str, Any]]) -> str:
    if not records:
        return ""
    # A trial that tunes by itself has no such setting: each chose its own.
    tuned = {name: value for name, value in records[0]["setting"].items() if name in cell.tuned_settings}
    notes = [", ".join(f"{name}={value}" for name, value in {**records[0]["params"], **tuned}.items())]
    notes += [f"{name}: {value}" for name, value in cell.source_setting.items() if isinstance(value, str)]
    return "; ".join(note for note in notes if note)


def _is_undecided(cell: Cell, known: Known) -> bool:
    """Return whether the measure is undefined for every candidate, so that `ties` chose."""
    chosen = cell.step(known).chosen
    return chosen is not None and cell.tuning_passes > 0 and cell.score(chosen, known) == UNDEFINED


def _warning(cell: Cell, records: list[dict[str, Any]], failed: int, is_undecided: bool) -> str:
    recorded = cell.protocol.recorded
    flags = {each.title.upper(): sum(each.of(r) > 0 for r in records) for each in recorded if each.flag}
    found = [
        f"{title} in {number} of {count(len(records), cell.protocol.numbered)}"
        for title, number in flags.items()
        if number
    ]
    if found:
        flagged = next(r for r in records if any(each.of(r) > 0 for each in recorded if each.flag))
        found.append(f"`olbench verify RUN --trial {flagged['key']}` says why")
    if is_undecided:
        title, ties = cell.protocol.quantities[0].title, cell.config.tuning.ties
        found.append(f"{title} is undefined in every tuning trial, so `ties: {ties}` chose")
    return "; ".join([*found, *([f"{count(failed, 'trial')} failed"] if failed else [])])


def show_plan(config: Experiment, plan: "Plan", folder: Path) -> None:
    cells, jobs = plan.cells, plan.jobs
    recorded = (ledger.current(folder), *(run.records for run in plan.reuse))
    records = [record for own in recorded for record in own.values()]
    reuse = explain_cells(cells, records, folder)
    started = perf_counter()
    trials = [each.cell.trial(each.cell.start, "report", 0) for each in reuse if each.would_run]
    warm_up([trial for trial in trials if not trial.is_object], StopFlag())
    compiling = perf_counter() - started
    columns = (
        *left("data set"),
        *right("rows", "features", drop=DETAIL),
        *right("trials", "tuning passes"),
        *right("data", "per worker", drop=DETAIL),
        *right("time"),
    )
    rows = []
    sources = {cell.source.name: cell.source for cell in cells}
    seconds, memory = 0.0, 0
    for source in sources.values():
        own = [cell for cell in cells if cell.source is source]
        estimate = sum(_seconds(each) for each in reuse if each.cell.source is source and each.would_run)
        seconds += estimate
        memory += source.bytes
        planned, passes = sum(cell.repeats for cell in own), sum(cell.tuning_passes for cell in own)
        counts = (f"{number:,}" for number in (source.n, source.d, planned, passes))
        sizes = (f"{size / 2**20:,.1f} MiB" for size in (source.bytes, max(cell.memory for cell in own)))
        rows.append(boxes(source.name, *counts, *sizes, duration(estimate / jobs)))
    show_parts(Grid("", columns, tuple(rows)), _describe_counts(config, len(sources), cells))
    memory += jobs * max(cell.memory for cell in cells)
    time = f"about {duration(compiling + seconds / jobs)} with {count(jobs, 'job')}"
    start = f" ({duration(compiling)} of it to compile or load the kernels)"
    say(f"{time}{start}, and {memory / 2**20:,.0f} MiB of memory")
    if plan.skipped:
        say(f"skipped: {', '.join(plan.skipped)} not downloaded; see `olbench data fetch`")
    _show_reuse(reuse, bool(records))


def _show_reuse(reuse: Sequence[CellReuse], has_records: bool) -> None:
    columns = (*left("data set", "algorithm"), *right("reused", "would run"), *left("not reused because"))
    rows = []
    for each in reuse:
        reasons = each.reasons.most_common()
        why = "; ".join(f"{reason} ({count(number, 'trial')})" for reason, number in reasons)
        numbers = f"{len(each.keys):,}", f"{each.would_run:,}"
        rows.append(boxes(each.cell.source.name, each.cell.label, *numbers, why))
    if has_records:
        click.echo()
        show_parts(Grid("", columns, tuple(rows)))
    reused = len(frozenset().union(*(each.keys for each in reuse)))
    say(f"{count(reused, 'trial')} reused, {sum(each.would_run for each in reuse):,} would run")


def _describe_counts(config: Experiment, datasets: int, cells: Sequence[Cell]) -> str:
    algorithms, repeats = len(config.algorithms), max(cell.repeats for cell in cells)
    factors = count(datasets, "data set"), count(algorithms, "algorithm")
    total = sum(cell.repeats for cell in cells)
    trials = count(total, "trial")
    passes = count(sum(cell.tuning_passes for cell in cells), "tuning pass")
    numbered = count(repeats, cells[0].protocol.numbered)
    if total < repeats * len(cells):
        numbered = f"up to {numbered}"
    return f"{' x '.join((*factors, numbered))} = {trials}, and {passes} ({config.tuning.search})"


def _seconds(planned: CellReuse) -> float:
    cell = planned.cell
    try:
        seconds = run_rule(cell.definition, partial(probe_seconds, cell))
        return (seconds or 0.0) * planned.would_run
    # A contestant that fails or leaves at once takes no time; the run will record why.
    except (Exception, SystemExit):
        return 0.0
