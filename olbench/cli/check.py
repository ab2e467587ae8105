"""olbench check: compare the counts of an experiment with a baseline."""

import os
import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.cli.flags import OUTPUT, PATH, SHARE, format_flag, names_flag
from olbench.cli.flags import experiment as experiment_flags
from olbench.cli.output import MAX_LINES, deliver, refuse_overwriting, say, say_skipped
from olbench.errors import UserError, count, escape_controls

if TYPE_CHECKING:
    from olbench.analysis.check import Comparison, Remark
    from olbench.engine.runner import Run


@click.command("check")
@click.argument("config", type=PATH)
@click.option(
    "--against",
    "given",
    metavar="FILE|RUN",
    type=PATH,
    help="A baseline, or a run; from a run, only data sets of CONFIG are compared. By default: "
    "results/ci-baseline.json or, without this file, the results of a config that ships.",
)
@click.option(
    "--tolerance", metavar="X", type=SHARE, default=0.0, help="How much rates, not counts, may change."
)
@names_flag("--only", "quantities, such as mistake_rate.")
@click.option("--allow-better", is_flag=True, help="Pass if every change is an improvement.")
@click.option("--update", is_flag=True, help="Write the current counts as the new baseline.")
@format_flag("text", "json", "junit", "github", help="github: annotations for GitHub Actions.")
@OUTPUT
@experiment_flags
def command(
    config: Path, given: Path | None, tolerance: float, only: list[str], allow_better: bool, update: bool,
    form: str, output: Path | None, jobs: int | None, overrides: tuple[str, ...], skip_missing: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Run CONFIG, compare every trial with a baseline, and report what changed.

    If the data, the seed, parameters or the version of an algorithm changed, that is named as the cause.

    Exit codes: 0 if nothing changed; 3 if trials failed; otherwise 1 if anything changed, for better or
    worse, and 4 if nothing was compared.

    \b
    Examples:
      olbench check configs/ci.yaml --against results/ci-baseline.json
      olbench check configs/ci.yaml --update
      olbench check configs/ci.yaml --only mistake_rate --tolerance 0.001
      olbench check configs/ci.yaml --format junit -o check.xml
      olbench check scw --against scw --set 'datasets=[synthetic]'
    """
    from olbench import api
    from olbench.analysis.check import compare, read_baseline, write_baseline
    from olbench.protocols.reading import read_config
    from olbench.records.shipped import BASELINE, find_baseline, find_config, runs
    from olbench.report import checks

    # What ships is read, never written.
    against = given or (BASELINE if update else find_baseline(str(config)))
    if str(against) in runs() and not against.exists():
        against = runs()[str(against)]
    if update and against.is_dir():
        raise UserError(f"{against} is the folder of a run; --update writes a file: name it with --against")
    path = find_config(str(config))
    experiment = read_config(path, overrides)
    read = [each.path for each in experiment.datasets if each.path]
    refuse_overwriting(output, path, against, *experiment.plugins, *read)
    # Only a baseline is written over.
    before = read_baseline(against) if not update or against.is_file() else None
    plan = api.plan(experiment, jobs, skip_missing)
    say_skipped(plan)
    run, now = api.measure(plan, quiet)
    for (dataset, algorithm), error in [*now.failed.items()][:MAX_LINES]:
        say(f"{algorithm} on {dataset} failed: {escape_controls(error)}", err=True)
    if update or before is None:
        if now.failed:
            say(f"olbench: {against} was not written, because trials failed", err=True)
            sys.exit(3)
        write_baseline(against, now)
        say(f"{against}: {count(len(now.rows), 'row')} written")
        return
    # A check may leave out the large data sets of a run; a baseline file covers its whole config.
    absent = {row.dataset for row in before.rows} - {source.name for source in plan.sources}
    ignored = absent if against.is_dir() else absent & {*plan.skipped}
    before = replace(before, rows=tuple(row for row in before.rows if row.dataset not in ignored))
    comparison = compare(before, now, plan.cells[0].protocol, tolerance, only)
    comparison = replace(comparison, allows_better=allow_better)
    deliver(render(comparison, run, form, path), output, None)
    if advice := checks.advise(comparison, can_update=not against.is_dir()):
        say(advice, err=True)
    sys.exit(3 if now.failed else 4 if not comparison.compared else 1 if comparison.changes else 0)


def render(comparison: "Comparison", run: "Run", form: str, config: Path) -> str:
    from olbench.report import checks

    if form == "json":
        return checks.render_json(comparison)
    if form == "junit":
        places = [(cell.source.name, cell.label) for cell in run.cells]
        return checks.render_junit(comparison, places)
    if form == "github":
        return checks.render_github(comparison, partial(locate, run, config))
    return checks.render_text(comparison)


def locate(run: "Run", config: Path, finding: "Remark") -> tuple[str, int]:
    """Return the file and line of a cause: the user's data or rule, or where the config first names it."""
    paths = {spec.name: spec.path for spec in run.cells[0].config.datasets}
    if finding.kind == "data" and paths.get(finding.dataset):
        return os.path.relpath(paths[finding.dataset]), 1
    rules = {cell.label: cell.definition for cell in run.cells if cell.definition.is_own}
    if finding.algorithm in rules and finding.kind != "parameters":
        line = rules[finding.algorithm].place.rstrip(": ").rpartition(":")[2]
        return os.path.relpath(rules[finding.algorithm].file), int(line) if line.isdecimal() else 1
    name = re.escape(finding.algorithm or finding.dataset or finding.kind)
    lines = [text.partition("#")[0] for text in config.read_text(encoding="utf-8").splitlines()]
    found = (n for n, text in enumerate(lines, 1) if re.search(rf"(?<![\w-]){name}(?![\w-])", text))
    return os.path.relpath(config), next(found, 1)
