"""olbench run: from a YAML file or a data file to a complete record."""

import shlex
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olbench import FIRST_ALGORITHMS
from olbench.cli.flags import DRY_RUN, NUMBER, OUT, choice_flag, experiment, own_data, plugin_flag
from olbench.cli.output import exit_code, ignore_closed_output, say, say_skipped, show_parts, suggest_file
from olbench.errors import UserError, count, escape_controls, suggest

if TYPE_CHECKING:
    from olbench import api
    from olbench.data.source import Source
    from olbench.engine.runner import Run
    from olbench.protocols.specs import Experiment


@click.command("run")
@click.argument("what", metavar="CONFIG|DATA", type=click.Path())
@OUT
@click.option(
    "--algorithms",
    metavar="NAMES",
    help=f"With DATA: comma-separated ids, or all; by default {','.join(FIRST_ALGORITHMS)}.",
)
@plugin_flag("With DATA: a Python file with your own algorithms. A config has the key plugins.")
@choice_flag(
    "--covariance",
    ("full", "diag"),
    "With DATA: covariance of second-order algorithms, by default full up to 500 features.",
)
@own_data
@click.option("--stream", is_flag=True, help="With DATA: run its rows once, in order (protocol: stream).")
@click.option(
    "--delay", metavar="N", type=NUMBER, help="With --stream: rows until a label is known, by default 0."
)
@choice_flag(
    "--timing",
    ("shared", "exclusive"),
    "exclusive: afterwards, time every reported trial again, alone and pinned to one core.",
    default="shared",
    show_default=True,
)
@click.option(
    "--cluster",
    metavar="ADDRESS|local:N|FILE",
    help="Run the trials on a Dask cluster: its scheduler's address or file, or N processes started here.",
)
@click.option("--reuse", multiple=True, metavar="RUN", help="Copy matching trials of another run.")
@DRY_RUN
@click.option("--memory", metavar="SIZE", help="Memory limit, such as 8G, by default 90% of what is free.")
@experiment
def command(
    what: str, out: Path | None, stream: bool, delay: int | None, timing: str, cluster: str | None,
    reuse: tuple[str, ...], dry_run: bool, memory: str | None, jobs: int | None, overrides: tuple[str, ...],
    skip_missing: bool, quiet: bool, **look: Any,
) -> None:  # fmt: skip
    """Run the experiment CONFIG, or take a first look at the data set DATA.

    CONFIG is a YAML file or a name from `olbench list`. DATA is a name from `olbench data list`, a file, or a
    pipe, which is copied to the cache first. With - for standard input, the rows run once in their order, as
    with --stream.

    Every finished trial is kept in DIR/trials.jsonl. The same command resumes a run that was stopped, and
    after a change of the config it reuses the trials that still apply.

    \b
    Examples:
      olbench run quick
      olbench run configs/quick.yaml --set permutations=5 --out results/five
      olbench run breast-cancer
      olbench run my.libsvm --algorithms arow,my-rule --plugin my_rule.py
      olbench run my.csv --label class --positive yes --missing mean
      olbench run my.csv --stream --time date --delay 10
      olbench run configs/scw.yaml --dry-run --skip-missing
      olbench run configs/scw.yaml --reuse anna.olb --reuse results/first
      zcat my.csv.gz | olbench run - --algorithms arow --label class
      olbench run configs/scw.yaml --cluster tcp://10.0.0.1:8786
    """
    from olbench import api
    from olbench.data.compressed import STDIN, base_name, show_path
    from olbench.engine.cluster import ClusterExecutor
    from olbench.engine.progress import show_progress
    from olbench.memory import limit_memory, parse_size

    if cluster and timing == "exclusive":
        raise UserError(
            "--timing exclusive measures on this machine only; run with --cluster first, then without it: "
            "the trials are reused"
        )
    if stream or what == STDIN:
        overrides = ("protocol=stream", *([f"delay={delay}"] if delay else []), *overrides)
    elif delay is not None:
        raise UserError("--delay needs a stream; add --stream, or in a config protocol: stream")
    look = {name: value for name, value in look.items() if value not in (None, ())}
    if is_config(what) and (stream or look):
        raise UserError(
            "--stream, --algorithms, --covariance, --plugin and flags for files (--positive, --label and so "
            "on) go with a data set; in a config use its keys, such as plugins, or --set"
        )
    with limit_memory(parse_size(memory) if memory else None):
        with show_progress(quiet) as progress:
            progress.say(f"reading {show_path(what)}")
            config = read(what, overrides, **look)
        # A data file keeps its extension: my.yaml is not my.libsvm.
        name = Path(what).stem if is_config(what) else base_name(Path(show_path(what)).name)
        folder = out or Path("results") / name
        executor = ClusterExecutor(cluster, config.plugins) if cluster else None
        with show_progress(quiet) as progress:
            plan = api.plan(
                config, jobs, skip_missing, limited=not cluster, folder=folder, reuse=reuse, say=progress.say
            )
        # Say how the user's own data was read, and above all what became +1.
        for source in () if quiet else plan.sources:
            for step in source.prepared:
                say(f"{source.name}: {step}", err=True)
            if source.spec.path and not is_config(what):
                say_first_look(source)
            if not is_config(what) and config.covariance != "full" and "covariance" not in look:
                features = count(source.d, "feature")
                say(f"{source.name}: covariance: diag, for {features}; or --covariance full", err=True)
        if dry_run:
            from olbench.cli.plan import show_plan

            show_plan(plan, folder)
            return
        with ExitStack() as stack:
            if executor:
                with show_progress(quiet) as progress:
                    progress.say(f"connecting to {cluster}")
                    stack.enter_context(executor)
            run = api.complete(
                plan.cells, folder, plan.jobs, quiet=quiet, timing=timing, executor=executor, reuse=plan.reuse
            )
            sys.exit(show_end(run, plan, quiet))


def say_first_look(source: "Source") -> None:
    """Print what is odd about a user's file, and what a first look leaves out."""
    from olbench.data.dataset import find_oddities
    from olbench.errors import list_some, show_name

    data, reading = source.open(), source.spec.reading
    X = data.X[:, :-1] if reading.bias else data.X
    for what, names in find_oddities(X, data.y, data.about.features, data.about.label).items():
        say(f"{source.name}: {what}: {list_some(list(map(show_name, names)), 10)}", err=True)
    if source.classes:
        say(f"{source.name}: every label is a class (labels: all); --positive LABEL makes two", err=True)
    left_out = ["untuned", *([] if reading.scale else ["unscaled"]), *([] if reading.bias else ["no bias"])]
    file = shlex.quote(Path(source.spec.path).name)
    remedy = f"`olbench init {file}` writes a config that tunes, scales and adds a bias"
    say(f"{source.name}: {', '.join(left_out)}; {remedy}", err=True)


def is_config(what: str) -> bool:
    """Return whether the argument is a YAML file or the name of a config that ships."""
    from olbench.records.shipped import configs

    return Path(what).suffix in (".yaml", ".yml") or (what in configs() and not Path(what).exists())


def read(
    what: str,
    overrides: tuple[str, ...],
    *,
    algorithms: str = ",".join(FIRST_ALGORITHMS),
    plugins: tuple[str, ...] = (),
    covariance: str = "",
    positive: tuple[str, ...] = (),
    **reading: Any,
) -> "Experiment":
    from olbench.algorithms import load_plugin
    from olbench.data.catalog import catalog
    from olbench.data.compressed import STDIN, is_pipe, show_path
    from olbench.data.fetch import is_present
    from olbench.data.labels import SeveralLabelsError, refuse_regression
    from olbench.data.load import keep_pipe
    from olbench.data.source import choose_covariance, find_source
    from olbench.data.spec import Reading
    from olbench.protocols.reading import data_config, read_config
    from olbench.records.shipped import configs, find_config

    if is_config(what):
        if Path(what).suffix and not Path(what).exists():
            raise UserError(f"there is no file {what}{suggest_file(what)}")
        return read_config(find_config(what), overrides)
    for plugin in plugins:  # it may add data sets
        load_plugin(plugin)
    if what != STDIN and what not in catalog() and not Path(what).exists():
        if Path(what).suffix:
            raise UserError(f"there is no file {what}{suggest_file(what)}")
        hint = suggest(what, [*configs(), *catalog()])
        raise UserError(
            f"there is no config, data set or file '{escape_controls(what)}'{hint}; `olbench list` and "
            "`olbench data list` show the names"
        )
    if covariance:
        overrides = (f"covariance={covariance}", *overrides)
    path = ""
    if is_pipe(what):
        path = str(keep_pipe(what, Reading(**reading)))
        what = Path(show_path(what)).name
    make = partial(data_config, what, algorithms, positive, plugins=plugins, path=path)
    config = make(overrides, reading=reading)
    if not (positive or "protocol=stream" in overrides) and config.datasets[0].path:
        try:
            find_source(config.datasets[0])
        except SeveralLabelsError as error:  # then each label is a class
            refuse_regression(error.labels, what)
            reading["labels"] = "all"
            config = make(overrides, reading=reading)
    spec = config.datasets[0]
    has_choice = not any(each.startswith("covariance=") for each in overrides)
    if has_choice and (spec.path or is_present(spec.name)):
        suited = f"covariance={choose_covariance(find_source(spec).d)}"
        config = make((suited, *overrides), reading=reading)
    return config


def show_end(run: "Run", plan: "api.Plan", quiet: bool) -> int:
    with ignore_closed_output():
        if not run.has_work and not run.stop.is_set():
            if not quiet:
                say(f"nothing to do: all {count(run.reused, 'trial')} are in {run.folder}")
            return 0
        if not quiet and (run.fresh or not run.stop.is_set()):
            show_results(run.folder, f"{count(len(run.fresh), 'trial')} run, {run.reused:,} reused")
    say_skipped(plan)
    return exit_code(run)


def show_results(folder: Path, counts: str) -> None:
    from olbench.analysis.results import load_results
    from olbench.report.document import run_parts
    from olbench.report.model import Report

    report = Report(load_results(folder), None)
    show_parts(*run_parts(report))
    say(f"{counts}; the record is in {folder}")
    # A run that is stopped while it tunes has nothing to report yet.
    if report.rows:
        click.echo(f"next: olbench report {folder}")
