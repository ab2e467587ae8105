"""olbench forensics: which settings could have made the numbers of a paper."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olbench.cli.flags import experiment
from olbench.cli.output import deliver, exit_code
from olbench.errors import UserError

if TYPE_CHECKING:
    from olbench.audit.forensics import Inquiry, Suspect
    from olbench.engine.runner import Run

NAME = "forensics.json"
#: What the file says; the rest of it is about when, where and with what versions that was found.
SAID = ("summary", "rows", "config", "data", "cells")
#: Columns, more than any table needs.
WIDTH = 1000


@click.command("forensics")
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Folder of results [default: results/<name>].")
@click.option(
    "--permutations", "-p", default=5, show_default=True, type=click.IntRange(2),
    help="Permutations of the settings that are judged.",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(["text", "md", "json", "csv"]), default="text", show_default=True,
    help="How the findings are written.",
)  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="File for the findings.")
@click.option("--dry-run", is_flag=True, help="Print the plan, with a time estimate, and stop.")
@experiment
def command(
    config: Path, out: Path | None, permutations: int, form: str, output: Path | None, dry_run: bool,
    jobs: int | None, overrides: tuple[str, ...], skip_missing: bool, quiet: bool,
) -> None:  # fmt: skip
    """Say, cell by cell, which settings are consistent with what the paper of CONFIG reports.

    Every setting of every grid is screened with one pass; the near ones and the tuner's pick get further
    permutations. The passes are trials of DIR/trials.jsonl like those of `olbench run`, whose tuning they
    reuse, and the same command goes on where it was stopped.

    \b
    Examples:
      olbench forensics configs/forensics.yaml --dry-run
      olbench forensics configs/forensics.yaml --set 'datasets=[svmguide3, splice]'
      olbench forensics configs/forensics.yaml --format md --output forensics.md
    """
    from olbench.audit.forensics import suspects
    from olbench.config import read_config
    from olbench.data.source import find_sources
    from olbench.engine.executors import default_jobs

    plan = read_config(config, overrides)
    if not plan.paper:
        raise UserError(f"{config}: forensics needs a paper to compare with; add for example paper: scw2012")
    if output is not None and not output.absolute().parent.is_dir():
        raise UserError(f"--output {output}: there is no folder {output.parent}")
    sources, skipped = find_sources(plan.datasets, skip_missing)
    if skipped:
        click.echo(f"skipped: {', '.join(skipped)} not downloaded; see `olbench data fetch`", err=True)
    found = suspects(plan, sources, permutations)
    if not found:
        click.echo(f"olbench: {plan.paper} reports no algorithm and data set of {config}", err=True)
        sys.exit(4)
    workers = jobs or default_jobs()
    if dry_run:
        show_plan(found, workers)
        return
    run, inquiries = investigate(found, out or Path("results") / config.stem, workers, quiet)
    if output is not None or not quiet or form != "text":
        deliver(rendered(inquiries, form), output, None if quiet else "table of findings")
    sys.exit(exit_code(run) or (0 if inquiries else 4))


def investigate(
    found: "list[Suspect]", folder: Path, jobs: int, quiet: bool
) -> "tuple[Run, list[Inquiry]]":  # fmt: skip
    """Run what is missing in a folder, leave the findings there, and return them."""
    from olbench.audit.forensics import inquire
    from olbench.engine import runfile
    from olbench.engine.runner import open_run
    from olbench.report.forensics import content

    with open_run(folder, found, jobs, quiet=quiet) as run:
        if not quiet:
            click.echo(plan_line(found), err=True)
        run.complete()
        judged = inquire(found, run.known)
        end = None if run.stop.is_set() else runfile.now()
        record = {**content(judged), **run.describe(end).plain()}
        if run.fresh or not holds(folder / NAME, record):
            runfile.write(folder, record, NAME)
    if not quiet:
        click.echo(f"{len(run.fresh)} trials run, {run.reused} reused; the record is in {folder}", err=True)
    return run, judged


def holds(path: Path, record: dict[str, Any]) -> bool:
    """Tell whether a file is finished and says the same as a record, whenever and wherever it was made."""
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
        old, new = ({name: each[name] for name in SAID} for each in (there, record))
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return bool(there.get("end")) and json.dumps(old) == json.dumps(new)


def plan_line(found: "list[Suspect]") -> str:
    """Return what is going to be done in a sentence."""
    pairs = len({suspect.target.where for suspect in found})
    settings = sum(len(suspect.settings) for suspect in found)
    return (
        f"{pairs} reported pairs, {len(found)} ways to them: {settings:,} settings are screened with one "
        f"pass, then {found[0].repeats} permutations of those that are near"
    )


def show_plan(found: "list[Suspect]", jobs: int) -> None:
    """Print for each data set how many settings are screened and how long that takes by a short probe."""
    from olbench.cli.plan import new_table, print_table
    from olbench.engine.estimate import duration

    right = "right"
    table = new_table(
        {"data set": "left", "rows": right, "ways": right, "settings": right, "screening": right}
    )
    total = 0.0
    for source in {suspect.source.name: suspect.source for suspect in found}.values():
        own = [suspect for suspect in found if suspect.source is source]
        protocol = own[0].protocol
        seconds = sum(protocol.probe_seconds(each) * len(each.settings) for each in own) / jobs
        total += seconds
        settings = sum(len(suspect.settings) for suspect in own)
        table.add_row(source.name, f"{source.n:,}", str(len(own)), f"{settings:,}", duration(seconds))
    print_table(table)
    click.echo(plan_line(found))
    click.echo(f"the screening takes about {duration(total)} with {jobs} jobs; what follows, often as long")


def rendered(inquiries: "list[Inquiry]", form: str) -> str:
    """Return the findings in a format."""
    from olbench.report import forensics, markdown, text

    if form == "json":
        return forensics.as_json(inquiries)
    if form == "csv":
        return forensics.as_csv(inquiries)
    parts = forensics.parts(inquiries)
    # Wider than a terminal rather than cut: what is left out would be the finding.
    return markdown.render(parts) if form == "md" else text.render(parts, WIDTH)
