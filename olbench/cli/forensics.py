"""olbench forensics: which settings could have made the numbers of a paper."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.cli.flags import experiment
from olbench.errors import UserError

if TYPE_CHECKING:
    from olbench.engine.runner import Run
    from olbench.experiments.forensics import Case, Suspect

NAME = "forensics.json"
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
    from olbench.config import read_config
    from olbench.engine.executor import default_jobs
    from olbench.experiments.forensics import suspects
    from olbench.experiments.sources import load_present

    plan = read_config(config, overrides)
    if not plan.paper:
        raise UserError(f"{config}: forensics needs a paper to compare with; add for example paper: scw2012")
    if output is not None and not output.absolute().parent.is_dir():
        raise UserError(f"--output {output}: there is no folder {output.parent}")
    sources, skipped = load_present(plan.datasets, skip_missing)
    if skipped:
        click.echo(f"left out, as not here: {', '.join(skipped)}; see `olbench data fetch`", err=True)
    found = suspects(plan, sources, permutations)
    if not found:
        click.echo(f"olbench: {plan.paper} reports no algorithm and data set of {config}", err=True)
        sys.exit(4)
    workers = jobs or default_jobs()
    if dry_run:
        show_plan(found, workers)
        return
    run, cases = investigate(found, out or Path("results") / config.stem, workers, quiet)
    write_findings(cases, form, output, quiet)
    sys.exit(conclude(run, cases))


def investigate(
    found: "list[Suspect]", folder: Path, jobs: int, quiet: bool
) -> "tuple[Run, list[Case]]":  # fmt: skip
    """Run what is missing in a folder, leave the findings there, and return them."""
    from olbench.engine import runfile
    from olbench.engine.ledger import open_ledger
    from olbench.engine.progress import make_progress
    from olbench.engine.runner import Run
    from olbench.engine.stopping import stop_on_interrupt
    from olbench.experiments.forensics import cases
    from olbench.report.forensics import content

    with open_ledger(folder) as ledger, stop_on_interrupt() as stop, make_progress(quiet) as progress:
        run = Run(found, ledger, jobs, stop, progress)
        start = runfile.now()
        if not quiet:
            click.echo(plan_line(found), err=True)
        run.complete()
        judged = cases(found, run.known)
        if run.fresh or not (folder / NAME).exists():
            end = None if stop.is_set() else runfile.now()
            about = runfile.describe(found[0].config, list(found), run.known, start, end)
            runfile.write(folder, {**content(judged), **about}, NAME)
    if not quiet:
        click.echo(f"{len(run.fresh)} trials run, {run.reused} reused; the record is in {folder}", err=True)
    return run, judged


def plan_line(found: "list[Suspect]") -> str:
    """Return what is going to be done in a sentence."""
    pairs = len({suspect.reported_cell.where for suspect in found})
    settings = sum(len(suspect.settings) for suspect in found)
    return (
        f"{pairs} reported pairs, {len(found)} ways to them: {settings:,} settings are screened with one "
        f"pass, then {found[0].config.permutations} permutations of those that are near"
    )


def show_plan(found: "list[Suspect]", jobs: int) -> None:
    """Print for each data set how many settings are screened and how long that takes by a short probe."""
    from olbench.cli.plan import new_table, print_table
    from olbench.engine.estimate import duration
    from olbench.experiments.online import probe

    right = "right"
    table = new_table(
        {"data set": "left", "rows": right, "ways": right, "settings": right, "screening": right}
    )
    total = 0.0
    for source in {suspect.source.name: suspect.source for suspect in found}.values():
        own = [suspect for suspect in found if suspect.source is source]
        seconds = sum(probe(suspect) * source.examples.n * len(suspect.settings) for suspect in own) / jobs
        total += seconds
        settings = sum(len(suspect.settings) for suspect in own)
        table.add_row(
            source.name, f"{source.examples.n:,}", str(len(own)), f"{settings:,}", duration(seconds)
        )
    print_table(table)
    click.echo(plan_line(found))
    click.echo(f"the screening takes about {duration(total)} with {jobs} jobs; what follows, often as long")


def write_findings(cases: "list[Case]", form: str, output: Path | None, quiet: bool) -> None:
    """Print the findings, or put them into a file as a whole."""
    text = rendered(cases, form)
    if output is None:
        if not quiet or form != "text":
            click.echo(text, nl=False)
        return
    draft = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(output)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UserError(f"cannot write {output}: {error.strerror or error}") from None


def rendered(cases: "list[Case]", form: str) -> str:
    """Return the findings in a format."""
    from olbench.report import forensics

    if form == "text":
        return text_table(cases)
    forms: dict[str, Callable[[list[Case]], str]] = {
        "md": forensics.markdown,
        "json": forensics.as_json,
        "csv": forensics.as_csv,
    }
    return forms[form](cases)


def text_table(cases: "list[Case]") -> str:
    """Return the table as a terminal shows it, with the summary below."""
    from rich.console import Console

    from olbench.cli.plan import new_table
    from olbench.experiments.forensics import summary
    from olbench.report.forensics import HEADINGS, rows

    table = new_table(dict.fromkeys(HEADINGS, "left"))
    before = ""
    for name, *cells in rows(cases):
        table.add_row(name if name != before else "", *cells)
        before = name
    # Wider than a terminal rather than cut: what is left out would be the finding.
    console = Console(width=WIDTH, highlight=False)
    with console.capture() as capture:
        console.print(table)
    lines = "\n".join(line.rstrip() for line in capture.get().splitlines())
    return f"{lines}\n\n{summary(cases)}\n"


def conclude(run: "Run", cases: "list[Case]") -> int:
    """Say what went wrong; return the exit code."""
    if run.stop.is_set():
        click.echo(
            "olbench: stopped; what is done is kept, and the same command goes on from there", err=True
        )
        return 130
    if run.failed:
        first = run.failed[0]
        click.echo(
            f"olbench: {len(run.failed)} trials failed, the first: {first['algorithm']} on "
            f"{first['dataset']}: {first['error']}; the same command tries them again",
            err=True,
        )
        return 3
    return 0 if cases else 4
