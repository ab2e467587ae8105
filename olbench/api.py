"""How an experiment is carried out: plan it, then run what its folder lacks.

The verbs run, check, forensics and rerun do what is here between reading their options and printing;
`olbench.run(config)` does what `olbench run CONFIG` does, and returns the results.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olbench.config.specs import Config
    from olbench.data.source import Source
    from olbench.engine.executors.local import Executor
    from olbench.engine.runner import Run
    from olbench.protocols.definition import Cell
    from olbench.report.results import Results
    from olbench.trials.trial import Record, Trial


def run(
    config: "str | Path | Mapping[str, Any] | Config", out: str | Path | None = None, *,
    jobs: int | None = None, set: Iterable[str] = (), skip_missing: bool = False, quiet: bool = True,
) -> "Results":  # fmt: skip
    """Run an experiment, or the missing part of it, and return its results.

    `config` is the path of a YAML file, the name of a config that ships, or the content of one as a mapping.
    Records go to the folder `out`; what is in it already is not run again. By default it is results/NAME for
    a file or a name; a mapping needs one. `set` takes overrides such as "permutations=5".

    >>> import tempfile
    >>> spec = {"datasets": ["breast-cancer"], "algorithms": ["perceptron", "pa1"], "permutations": 2}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = run(spec, folder, jobs=1)
    >>> results.to_frame().groupby("algorithm").size().to_dict()
    {'pa1': 2, 'perceptron': 2}
    """
    from olbench.report.results import load_results

    experiment, folder = _read(config, out, set)
    planned = plan(experiment, jobs, skip_missing)
    if complete(planned.cells, folder, planned.jobs, quiet=quiet).stop.is_set():
        raise KeyboardInterrupt
    return load_results(folder)


def _read(config: Any, out: str | Path | None, overrides: Iterable[str]) -> "tuple[Config, Path]":
    """Return the config, and the folder for its records."""
    from olbench.config import apply_overrides, parse_config, read_config
    from olbench.config.specs import Config
    from olbench.errors import UserError
    from olbench.shipped import find_config
    from olbench.yaml_lines import from_plain

    if isinstance(config, str | Path):
        path = find_config(str(config))
        return read_config(path, overrides), Path(out or Path("results") / path.stem)
    if out is None:
        raise UserError("a config without a file needs a folder for its records: run(config, out=...)")
    if isinstance(config, Config):
        return config, Path(out)
    return parse_config(apply_overrides(from_plain(dict(config), "config"), overrides), Path()), Path(out)


@dataclass(frozen=True)
class Plan:
    """The cells of an experiment on the data that is here, and how many of their trials run at a time."""

    sources: "list[Source]"
    #: The names of the data sets that are not downloaded.
    skipped: list[str]
    cells: "list[Cell]"
    jobs: int


def plan(
    config: "Config", jobs: int | None = None, skip_missing: bool = False, *,
    find_cells: "Callable[[list[Source]], Sequence[Cell]] | None" = None, limited: bool = True,
    folder: Path | None = None, say: Callable[[str], None] = lambda text: None,
) -> Plan:  # fmt: skip
    """Return the plan of an experiment; refuse one that is too large.

    The cells are those of the config unless `find_cells` finds others. Without `limited`, they need not fit
    in the memory of this machine; those whose trials are all in `folder` take none. `say` is told which data
    set is being loaded.
    """
    from olbench.data.source import find_sources
    from olbench.engine.budget import refuse_excess
    from olbench.engine.executors.local import default_jobs
    from olbench.engine.runner import refuse_too_many
    from olbench.protocols import get_protocol

    sources, skipped = find_sources(config.datasets, skip_missing, say)
    cells = list(find_cells(sources) if find_cells else get_protocol(config.protocol).cells(config, sources))
    workers = jobs or default_jobs()
    if cells:
        refuse_too_many(cells)
    if limited:
        refuse_excess(cells, workers, folder)
    return Plan(sources, skipped, cells, workers)


def complete(
    cells: "Sequence[Cell]", folder: Path, jobs: int, *, quiet: bool = True, timing: str = "shared",
    executor: "Executor | None" = None,
) -> "Run":  # fmt: skip
    """Run the trials of some cells that a folder lacks, and record the run there; return it closed."""
    from olbench.engine.activity import show_activity
    from olbench.engine.runner import open_run
    from olbench.trials.run_file import now

    with open_run(folder, cells, jobs, quiet=quiet, timing=timing, executor=executor) as started:
        with show_activity(quiet) as activity:
            activity.say("preparing the trials")
            started.has_work = started.missing or not (started.stop.is_set() or started.is_recorded)
        if started.has_work and not started.stop.is_set():  # the planning of many trials may be stopped too
            started.write()
            started.complete(record=True)
            started.write(end=None if started.stop.is_set() else now())
    return started


def measure(cells: "Sequence[Cell]", jobs: int, quiet: bool = True) -> "Run":
    """Run all trials of some cells and keep no record of them."""
    from tempfile import TemporaryDirectory

    from olbench.engine.runner import open_run

    with TemporaryDirectory(prefix="olbench-check-") as folder:
        with open_run(Path(folder), cells, jobs, quiet=quiet) as started:
            started.complete()
        if started.stop.is_set():
            raise KeyboardInterrupt
        return started


def repeat(trial: "Trial") -> "Record":
    """Run one trial again and return its record, which is not written anywhere."""
    from olbench.engine.executors.local import attempt
    from olbench.engine.stopping import stop_on_interrupt

    with stop_on_interrupt() as stop:
        record = attempt(trial, stop)
    if record is None:
        raise KeyboardInterrupt
    return record
