"""olbench check: compare the counts of an experiment with a baseline."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.cli.flags import PATH, format_flag, names_flag
from olbench.cli.flags import experiment as experiment_flags
from olbench.cli.output import MAX_LINES, say, say_skipped
from olbench.errors import UserError, count, escape_controls

if TYPE_CHECKING:
    from olbench.analysis.check import Comparison, Remark
    from olbench.engine.runner import Run


@click.command("check")
@click.argument("config", type=PATH)
@click.option(
    "--against",
    "given",
    type=PATH,
    help="A baseline file, or a run; of a run, only the data sets of CONFIG are compared "
    "[default: results/ci-baseline.json, or what ships for the name of a config].",
)
@click.option(
    "--tolerance",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="How much a number may change, in its own unit; a count, as a fraction of the examples.",
)
@names_flag("--only", "quantities, such as mistake_rate.")
@click.option("--allow-better", is_flag=True, help="Pass if every change is an improvement.")
@click.option("--update", is_flag=True, help="Write the current counts as the new baseline.")
@format_flag("text", "json", "junit", "github", help="github: annotations for a workflow of GitHub Actions.")
@experiment_flags
def command(
    config: Path, given: Path | None, tolerance: float, only: list[str], allow_better: bool, update: bool,
    form: str, jobs: int | None, overrides: tuple[str, ...], skip_missing: bool, quiet: bool,
) -> None:  # fmt: skip
    """Run CONFIG and compare every trial with a baseline; report what changed and why.

    Changed data, another seed and other parameters are named as such.

    Exit codes: 1 if anything changed, for better or worse; 3 if trials failed; 4 if nothing was compared.

    \b
    Examples:
      olbench check configs/ci.yaml --against results/ci-baseline.json
      olbench check configs/ci.yaml --update
      olbench check configs/ci.yaml --only mistake_rate --tolerance 0.001
      olbench check scw --set 'datasets=[synthetic]'
    """
    from olbench import api
    from olbench.analysis.check import Baseline, read_baseline, write_baseline
    from olbench.protocols.reading import read_config
    from olbench.records.shipped import BASELINE, find_baseline, find_config, runs
    from olbench.report import regression

    # What ships is read, never written.
    against = given or (BASELINE if update else find_baseline(str(config)))
    if str(against) in runs() and not against.exists():
        against = runs()[str(against)]
    if update and against.is_dir():
        raise UserError(f"{against} is the folder of a run; --update writes a file: name one with --against")
    path = find_config(str(config))
    experiment = read_config(path, overrides)
    nothing = Baseline((), experiment.protocol, experiment.seed)
    before = nothing if update else read_baseline(against)
    plan = api.plan(experiment, jobs, skip_missing)
    say_skipped(plan)
    run, now = api.measure(plan, quiet)
    if update and not run.failed:
        write_baseline(against, now)
        say(f"{against}: {count(len(now.rows), 'row')} written")
        return
    # A check may leave out the large data sets of a run; a baseline file covers its whole config.
    compare = partial(api.compare_baselines, plan, before, now, tolerance=tolerance, only=only)
    comparison = compare(partly=against.is_dir(), allow_better=allow_better)
    click.echo(render(comparison, run, form, path), nl=False)
    if advice := regression.advise(comparison, can_update=not against.is_dir()):
        say(advice, err=True)
    if comparison.compared and comparison.changes:
        sys.exit(1)
    sys.exit(3 if run.failed else 0 if comparison.compared else 4)


def render(comparison: "Comparison", run: "Run", form: str, config: Path) -> str:
    from olbench.report import regression

    for record in run.failed[:MAX_LINES]:
        reason = escape_controls(record["error"])
        say(f"{record['dataset']}, {record['algorithm']}: failed: {reason}", err=True)
    if form == "json":
        return regression.render_json(comparison, run.failed)
    if form == "junit":
        places = [(cell.source.name, cell.label) for cell in run.cells]
        return regression.render_junit(comparison, run.failed, places)
    if form == "github":
        return regression.render_github(comparison, run.failed, Places(run, config).locate)
    return regression.render_text(comparison, run.failed)


class Places:
    def __init__(self, run: "Run", config: Path):
        from olbench.structs import read_yaml

        self.config, self.root = config, read_yaml(config)
        specs = run.cells[0].config
        self.plugins = {cell.label: cell.definition for cell in run.cells if cell.definition.is_own}
        self.entries = {spec.name or spec.id: entry for entry, spec in enumerate(specs.algorithms)}
        self.datasets = {spec.name: (entry, spec.path) for entry, spec in enumerate(specs.datasets)}

    def locate(self, finding: "Remark") -> tuple[str, int]:
        if finding.kind == "data":
            entry, path = self.datasets.get(finding.dataset, (0, ""))
            return (_relative(path), 1) if path else self._in_config("datasets", entry)
        plugin = self.plugins.get(finding.algorithm)
        # Parameters are in the config, whoever wrote the rule.
        if plugin and finding.kind != "parameters":
            line = plugin.place.rstrip(": ").rpartition(":")[2]
            return _relative(plugin.file), int(line) if line.isdecimal() else 1
        if finding.algorithm in self.entries:
            return self._in_config("algorithms", self.entries[finding.algorithm])
        return self._in_config(finding.kind)

    def _in_config(self, key: str, entry: int | None = None) -> tuple[str, int]:
        node = self.root.value.get(key)
        if node and entry is not None and isinstance(node.value, list) and entry < len(node.value):
            node = node.value[entry]
        line = node.place.rpartition(":")[2] if node else ""
        return _relative(str(self.config)), int(line) if line.isdecimal() else 1


def _relative(file: str) -> str:
    path = Path(file).absolute()
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
