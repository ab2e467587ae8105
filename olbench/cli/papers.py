"""olbench summary, audit, figures and forensics: the papers' claims, and whether they hold."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.cli.flags import (
    COUNT,
    DRY_RUN,
    NO_TITLES,
    NUMBER,
    OUT,
    OUTPUT,
    PATH,
    TRUST,
    experiment,
    format_flag,
    plugin_flag,
)
from olbench.cli.output import deliver, exit_code, load_code, render, say, say_skipped, show_parts
from olbench.errors import UserError, count, list_some

if TYPE_CHECKING:
    from olbench.analysis.forensics import Candidate
    from olbench.papers.audit import Check, Result


@click.command("summary")
@click.argument("folders", metavar="[RUN]...", nargs=-1, type=PATH)
@format_flag("text", "md", "json", "html")
@OUTPUT
@plugin_flag("Python file with algorithms of a run.")
@TRUST
def summary(
    folders: tuple[Path, ...], form: str, output: Path | None, plugins: tuple[str, ...], trust_plugins: bool
) -> None:
    """Sum up the papers: how many of their numbers are reproduced, and how many of their claims hold.

    Without RUN, take the finished runs of papers that ship, and yours below results/. If two runs have the
    same name, the more complete one counts, then the one with more trials, then yours. A run with fewer
    permutations than the paper never counts. Each number counts in the most complete run that can judge it.
    Claims on which runs disagree are listed.

    \b
    Examples:
      olbench summary
      olbench summary results/scw/reference results/cw/reference
      olbench summary --format html --output papers.html
      olbench summary results/mine --plugin mine.py
    """
    from olbench.report.summary import find_runs, reproductions, summary_document

    load_code(plugins, folders if trust_plugins else ())
    found = reproductions(folders or find_runs(Path("results")))
    if not found:
        what = "run of a paper among these" if folders else "finished run of a paper below results/"
        say(f"olbench: there is no {what}", err=True)
        sys.exit(4)
    deliver(render(summary_document(found), form, output), output, "summary")


@click.command("audit")
@click.argument("paper", required=False)
@click.option("--check", "id", metavar="ID", help="Run only this check.")
@click.option("--list", "listing", is_flag=True, help="List the checks without running them.")
@format_flag("text", "json", "md")
@OUTPUT
@click.option("--seed", metavar="N", type=NUMBER, help="Seed of the random instances, by default 2012.")
@click.option(
    "--trials", metavar="N", type=COUNT, help="Runs, or groups of points, per check, by default 40."
)
def audit(
    paper: str | None, id: str | None, listing: bool, form: str, output: Path | None, **draw: int | None
) -> None:
    """Check the theory of PAPER, or of all papers, as printed and as corrected.

    Each statement is checked numerically on many instances: closed forms against numerical optimisers, lemmas
    and bounds on runs of the learners.

    Exit codes: 0 if every true statement holds and every wrong one has its counter-example, 1 otherwise.

    \b
    Examples:
      olbench audit
      olbench audit cw2008
      olbench audit cw2008 --check theorem-4
      olbench audit scw2012 --format md --output audit.md
      olbench audit --list
    """
    from olbench.papers.audit import checks
    from olbench.papers.audit.render import audit_document, list_checks

    chosen = checks(paper, id)
    if listing:
        show_parts(list_checks(chosen))
        return
    results = examine(chosen, {name: number for name, number in draw.items() if number is not None})
    deliver(render(audit_document(results), form, output), output, "audit")
    sys.exit(0 if all(result.as_expected for result in results) else 1)


def examine(chosen: "list[Check]", draw: dict[str, int]) -> "list[Result]":
    from rich.console import Console

    from olbench.engine.stopping import stop_on_interrupt

    results = []
    with Console(stderr=True).status("") as status, stop_on_interrupt() as stop:
        for number, each in enumerate(chosen, start=1):
            status.update(f"{number} of {len(chosen)}: {each.paper} {each.id}")
            # The compiler may swallow an interrupt; the flag stays.
            result = stop.or_none(partial(each.run, **draw))
            if result is None:
                raise KeyboardInterrupt
            results.append(result)
    return results


@click.command("figures")
@click.argument("paper")
@click.option(
    "--output", "-o", metavar="DIR", type=PATH, default="figures", show_default=True, help="Folder for them."
)
@NO_TITLES
def figures(paper: str, output: Path, no_titles: bool) -> None:
    """Draw the illustrations of PAPER as PNG, PDF and SVG: formulas, data, learners, and runs that ship.

    Data sets are fetched if needed; if that fails, the other figures are still drawn. For the figures of a
    run, use `olbench report RUN --figures DIR`.

    \b
    Examples:
      olbench figures cw2008
      olbench figures scw2012
      olbench figures cw2012 --output paper/figures
    """
    from olbench.papers.illustrations import save_illustrations

    paths, refused = save_illustrations(paper, output, titles=not no_titles)
    names = list(dict.fromkeys(path.stem for path in paths))
    verb = "are" if len(names) > 1 else "is"
    listed = " and ".join(names) if len(names) < 3 else list_some(names, 2)
    say(f"{listed} {verb} in {output}, as PNG, PDF and SVG", err=True)
    for name, error in refused.items():
        say(f"{name} was not drawn: {error}", err=True)


@click.command("forensics")
@click.argument("config", type=PATH)
@OUT
@click.option(
    "--permutations",
    "-p",
    metavar="N",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    help="Permutations per setting.",
)
@format_flag("text", "md", "json")
@OUTPUT
@DRY_RUN
@experiment
def forensics(
    config: Path, out: Path | None, permutations: int, form: str, output: Path | None, dry_run: bool,
    jobs: int | None, overrides: tuple[str, ...], skip_missing: bool, quiet: bool,
) -> None:  # fmt: skip
    """Find the settings that could have produced the mistakes and updates that the paper of CONFIG reports.

    Every setting of every grid is screened with one pass. Settings near a reported pair, and the one that
    tuning picks, then run on more permutations. Like those of `olbench run`, the passes are trials in
    DIR/trials.jsonl: tuning passes are reused, and the same command resumes after a stop.

    \b
    Examples:
      olbench forensics forensics --dry-run
      olbench forensics configs/forensics.yaml --set 'datasets=[splice]'
      olbench forensics configs/forensics.yaml --format md --output forensics.md
    """
    from olbench import api
    from olbench.analysis.forensics import Candidate, find_candidates
    from olbench.engine.probing import probe_seconds
    from olbench.engine.resources import duration
    from olbench.protocols.reading import read_config
    from olbench.records.shipped import find_config
    from olbench.report.forensics import findings_document

    path = find_config(str(config))
    inquiry = read_config(path, overrides)
    if not inquiry.paper:
        raise UserError(f"{path}: forensics needs a paper to compare with; add one, as in paper: scw2012")
    if output is not None and not output.absolute().parent.is_dir():
        raise UserError(f"--output {output}: there is no folder {output.parent}")
    find_cells = partial(find_candidates, inquiry, permutations=permutations)
    plan = api.plan(inquiry, jobs, skip_missing, find_cells=find_cells)
    candidates = [cell for cell in plan.cells if isinstance(cell, Candidate)]
    say_skipped(plan)
    if not candidates:
        say(f"olbench: {inquiry.paper} reports none of the algorithms of {config} on its data sets", err=True)
        sys.exit(4)
    if dry_run:
        probed = [(probe_seconds(each, plan.jobs), len(each.settings)) for each in candidates]
        seconds = sum((each or 0.0) * settings for each, settings in probed)
        about = "at least" if None in (each for each, _ in probed) else "about"
        time = f"screening takes {about} {duration(seconds)} with {count(plan.jobs, 'job')}"
        say(f"{describe_plan(candidates)}; {time}, and judging often as long")
        return
    folder = out or Path("results") / config.stem
    if not quiet:
        say(describe_plan(candidates), err=True)
    run, inquiries = api.investigate(candidates, folder, plan.jobs, quiet)
    if not quiet:
        counts = f"{count(len(run.fresh), 'trial')} run, {run.reused:,} reused"
        say(f"{counts}; the record is in {folder}", err=True)
    if output is not None or not quiet or form != "text":
        text = render(findings_document(inquiries), form, output)
        deliver(text, output, None if quiet else "table of findings")
    sys.exit(exit_code(run) or (0 if inquiries else 4))


def describe_plan(candidates: "list[Candidate]") -> str:
    pairs = count(len({candidate.target.where for candidate in candidates}), "reported pair")
    settings = count(sum(len(candidate.settings) for candidate in candidates), "setting")
    return (
        f"{pairs}, {count(len(candidates), 'candidate')}: {settings} to screen with one pass each, then "
        f"{count(candidates[0].repeats, 'permutation')} of every setting near its pair"
    )
