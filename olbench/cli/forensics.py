"""olbench forensics: find the settings that could have produced the numbers of a paper."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.cli.flags import DRY_RUN, OUT, OUTPUT, experiment, format_flag
from olbench.cli.output import deliver, exit_code, render, say, show_parts
from olbench.errors import UserError
from olbench.report.grid import Grid, boxes, count, left, right

if TYPE_CHECKING:
    from olbench.analysis.forensics import Suspect

#: Columns of text: more than any table needs.
WIDTH = 1000


@click.command("forensics")
@click.argument("config", type=click.Path(path_type=Path))
@OUT
@click.option(
    "--permutations", "-p", default=5, show_default=True, type=click.IntRange(2),
    help="Permutations for every setting that is judged.",
)  # fmt: skip
@format_flag("text", "md", "json", "csv")
@OUTPUT
@DRY_RUN
@experiment
def command(
    config: Path, out: Path | None, permutations: int, form: str, output: Path | None, dry_run: bool,
    jobs: int | None, overrides: tuple[str, ...], skip_missing: bool, quiet: bool,
) -> None:  # fmt: skip
    """Find the settings that are consistent with each pair of numbers that the paper of CONFIG reports.

    Every setting of every grid is screened with one pass. Those near a reported pair, and the one that tuning
    picks, are then run on more permutations. The passes are trials in DIR/trials.jsonl, like those of
    `olbench run`: its tuning passes are reused, and the same command resumes after a stop.

    \b
    Examples:
      olbench forensics forensics --dry-run
      olbench forensics configs/forensics.yaml --set 'datasets=[splice]'
      olbench forensics configs/forensics.yaml --format md --output forensics.md
    """
    from olbench import api
    from olbench.analysis.forensics import Suspect, suspects
    from olbench.protocols.reading import read_config
    from olbench.records.shipped import find_config
    from olbench.report.forensics import findings_document

    path = find_config(str(config))
    inquiry = read_config(path, overrides)
    if not inquiry.paper:
        raise UserError(f"{path}: forensics needs a paper to compare with; add for example paper: scw2012")
    if output is not None and not output.absolute().parent.is_dir():
        raise UserError(f"--output {output}: there is no folder {output.parent}")
    plan = api.plan(
        inquiry, jobs, skip_missing, find_cells=lambda sources: suspects(inquiry, sources, permutations)
    )
    candidates = [cell for cell in plan.cells if isinstance(cell, Suspect)]
    if plan.skipped:
        say(f"skipped: {', '.join(plan.skipped)} not downloaded; see `olbench data fetch`", err=True)
    if not candidates:
        say(f"olbench: {inquiry.paper} reports none of the algorithms of {config} on its data sets", err=True)
        sys.exit(4)
    if dry_run:
        show_plan(candidates, plan.jobs)
        return
    folder = out or Path("results") / config.stem
    if not quiet:
        say(plan_line(candidates), err=True)
    run, inquiries = api.investigate(candidates, folder, plan.jobs, quiet)
    if not quiet:
        counts = f"{count(len(run.fresh), 'trial')} run, {run.reused:,} reused"
        say(f"{counts}; the record is in {folder}", err=True)
    if output is not None or not quiet or form != "text":
        # Wider than a terminal rather than cut: a dropped column would be the finding.
        text = render(findings_document(inquiries), form, output, WIDTH)
        deliver(text, output, None if quiet else "table of findings")
    sys.exit(exit_code(run) or (0 if inquiries else 4))


def plan_line(candidates: "list[Suspect]") -> str:
    pairs = count(len({suspect.target.where for suspect in candidates}), "reported pair")
    settings = count(sum(len(suspect.settings) for suspect in candidates), "setting")
    return (
        f"{pairs}, {count(len(candidates), 'candidate')}: {settings} to screen with one pass each, then "
        f"{count(candidates[0].repeats, 'permutation')} of every setting near its pair"
    )


def show_plan(candidates: "list[Suspect]", jobs: int) -> None:
    from olbench.engine.estimate import duration, probe_seconds

    rows = []
    total = 0.0
    for source in {suspect.source.name: suspect.source for suspect in candidates}.values():
        own = [suspect for suspect in candidates if suspect.source is source]
        seconds = sum(probe_seconds(each) * len(each.settings) for each in own) / jobs
        total += seconds
        settings = sum(len(suspect.settings) for suspect in own)
        rows.append(boxes(source.name, f"{source.n:,}", str(len(own)), f"{settings:,}", duration(seconds)))
    columns = (*left("data set"), *right("rows", "candidates", "settings", "screening"))
    show_parts(Grid("", columns, tuple(rows)))
    say(plan_line(candidates))
    say(f"screening takes about {duration(total)} with {count(jobs, 'job')}; judging often takes as long")
