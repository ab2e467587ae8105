"""How an experiment is carried out: plan it, then run the missing trials.

The verbs run, check, forensics and bundle do this between reading their options and printing.
`olbench.run(config)` does what `olbench run CONFIG` does, and returns the results.
"""

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from olbench import FIRST_ALGORITHMS
from olbench.analysis.check import Baseline, baseline_of
from olbench.analysis.published import load_paper
from olbench.data.catalog import catalog
from olbench.data.source import Source, find_sources
from olbench.engine.compiling import check_rules, compile_ahead
from olbench.engine.local import LocalExecutor
from olbench.engine.plan import refuse_too_many
from olbench.engine.progress import is_notebook
from olbench.engine.resources import default_jobs, refuse_excess
from olbench.engine.reuse import OtherRun, open_runs
from olbench.engine.runner import Run, open_run
from olbench.errors import InputWarning, UserError, list_some, suggest
from olbench.plugins import find_paper
from olbench.protocols import cells_of
from olbench.protocols.definition import Cell
from olbench.protocols.online import choose_tuning
from olbench.protocols.reading import parse_config, prefer_native, read_config
from olbench.protocols.recorded import read_run
from olbench.protocols.specs import Experiment
from olbench.records import run_file
from olbench.records.bundle import Bundled, write_bundle
from olbench.records.container import SUFFIX
from olbench.records.shipped import REFERENCE, find_config, find_run
from olbench.structs import apply_overrides, from_plain

if TYPE_CHECKING:
    from olbench.analysis.forensics import Candidate, Inquiry
    from olbench.analysis.results import Results
    from olbench.data.look import FileSummary

FORENSICS = "forensics.json"
#: Folders of comparisons, which are removed at the end of the process.
_FOLDERS: list[TemporaryDirectory[str]] = []


def run(
    config: str | Path | Mapping[str, Any] | Experiment,
    out: str | Path | None = None,
    *,
    jobs: int | None = None,
    set: Iterable[str] = (),
    skip_missing: bool = False,
    quiet: bool | None = None,
    reuse: Sequence[str | Path] = (),
) -> "Results":
    """Run an experiment, or the missing part of it, and return its results.

    `config` is the path of a YAML file, the name of a config that ships, or the content of one as a mapping.
    Records go to the folder `out`; trials that it has already are not run again. By default it is
    results/NAME for a file or a name; a mapping needs one. Trials of the runs in `reuse`, folders or bundles,
    are copied. `set` takes overrides such as "permutations=5". A notebook shows a progress bar unless `quiet`
    is true; a script shows its progress only if it is false.

    >>> import tempfile
    >>> spec = {"datasets": ["breast-cancer"], "algorithms": ["perceptron", "pa1"], "permutations": 2}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = run(spec, folder, jobs=1)
    >>> results.to_frame().groupby("algorithm").size().to_dict()
    {'pa1': 2, 'perceptron': 2}
    """
    from olbench.report.tables.results import load_results

    experiment, folder = _read(config, out, set)
    planned = plan(experiment, jobs, skip_missing, folder=folder, reuse=reuse)
    _complete_or_stop(planned.cells, folder, planned.jobs, quiet, reuse=planned.reuse)
    return load_results(folder)


def _complete_or_stop(
    cells: Sequence[Cell], folder: Path, jobs: int, quiet: bool | None, **options: Any
) -> None:
    is_quiet = not is_notebook() if quiet is None else quiet
    if complete(cells, folder, jobs, quiet=is_quiet, **options).stop.is_set():
        raise KeyboardInterrupt


def _read(config: Any, out: str | Path | None, overrides: Iterable[str]) -> tuple[Experiment, Path]:
    if isinstance(config, str | Path):
        path = find_config(str(config))
        return read_config(path, overrides), Path(out or Path("results") / path.stem)
    if out is None:
        raise UserError("a config that is not a file needs a folder for its records: run(config, out=...)")
    if isinstance(config, Experiment):
        return config, Path(out)
    return parse_config(apply_overrides(from_plain(dict(config), "config"), overrides), Path()), Path(out)


def compare(
    data: Any,
    y: Any = None,
    *,
    label: str | int = "",
    algorithms: Sequence[Any] = FIRST_ALGORITHMS,
    permutations: int = 20,
    jobs: int | None = None,
    quiet: bool | None = None,
) -> "Results":
    """Compare algorithms on a pandas frame with a label column, or on X and y, and return the results.

    Columns are read as `olbench init` would: text becomes indicators; if features differ much, each is scaled
    to standard deviation 1 and missing values are its mean, else they are 0; a constant feature is added. A
    warning lists what is left out: rows without a label, ids, mixed columns. Of three or more labels, each is
    a class; if one of two is rare, balanced accuracy and AUC replace the mistake rate.
    `algorithms` has ids, mappings as in a config, and unfitted learners of scikit-learn (partial_fit) or
    River (learn_one). Parameters that are not given are tuned on orders that are not reported: for each
    permutation on one of its own or, if that is much work, for all on the same three. Grids go on beyond an
    edge that is the best. A notebook shows the results as a table and curves.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> found = compare(X, X[:, 0] > X[:, 1], algorithms=["perceptron", "arow"], permutations=2, jobs=1)
    >>> found.to_frame().groupby("algorithm").size().to_dict()
    {'arow': 2, 'perceptron': 2}
    """
    import pandas as pd

    from olbench.algorithms.definition import register
    from olbench.analysis.results import load_results
    from olbench.learners.contestants import wrap
    from olbench.plot import curves
    from olbench.report.figures.style import as_bytes
    from olbench.report.tables.results import ShownResults

    class ComparedResults(ShownResults):
        def _repr_html_(self) -> str:
            drawing = as_bytes(curves(self), "svg").decode()
            return super()._repr_html_() + drawing[drawing.index("<svg") :]

    source, look = _look_at_data(data, y, label)
    if look.left_out:
        warnings.warn(f"left out: {', '.join(look.left_out)}", stacklevel=2)
    if isinstance(getattr(data, "index", None), pd.DatetimeIndex):
        remedy = "write the frame to a file, and `olbench init FILE` makes a stream of it"
        warnings.warn(
            f"the index has times, and compare runs the rows in random orders; for their order, {remedy}",
            stacklevel=2,
        )
    # A learner object goes by the name of its class; one with other settings replaces it.
    ids = [
        each if isinstance(each, str | Mapping) else register(wrap(each).definition).id for each in algorithms
    ]
    entries = [prefer_native(id) if source.classes and isinstance(id, str) else id for id in ids]
    content = {
        "datasets": ["breast-cancer"],
        "algorithms": entries,
        "permutations": permutations,
        "covariance": look.covariance,
        "tuning": {"search": "grid"},
        **({"measures": list(look.measures)} if look.measures else {}),
    }
    config = parse_config(from_plain(content, "compare"), Path())
    tuning = choose_tuning(config.algorithms, source.n, source.d, permutations)
    cells = cells_of(replace(config, datasets=(source.spec,), tuning=tuning), [source])
    check_rules(cells)
    workers = jobs or default_jobs()
    refuse_excess(cells, workers)
    _FOLDERS.append(TemporaryDirectory(prefix="olbench-compare-"))
    folder = Path(_FOLDERS[-1].name, "compare")
    with _join_warnings():
        _complete_or_stop(cells, folder, workers, quiet, executor=_HereExecutor(workers))
    results = load_results(folder, kind=ComparedResults)
    for gap in results.missing:
        warnings.warn(gap, stacklevel=2)
    return results


@contextmanager
def _join_warnings() -> Iterator[None]:
    """Show all warnings of a line of code as one: a learner may give one per row."""
    counts: Counter[tuple[type[Warning], str, int]] = Counter()
    first: dict[tuple[type[Warning], str, int], str] = {}

    def note(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any
    ) -> None:
        place = (category, filename, lineno)
        counts[place] += 1
        first.setdefault(place, str(message))

    with warnings.catch_warnings():
        warnings.showwarning = note
        yield
    for place, n in counts.items():
        warnings.warn_explicit(first[place] + (f" ({n:,} times)" if n > 1 else ""), *place)


def _look_at_data(data: Any, y: Any, label: str | int) -> "tuple[Source, FileSummary]":
    from olbench.data.look import look_at_data
    from olbench.data.prepare import prepare_content
    from olbench.data.spec import DatasetSpec, Reading

    if isinstance(data, str | Path):
        raise UserError(
            "compare takes a pandas frame or X and y: read the file first, as with pandas.read_csv"
        )
    content = data if y is None else (data, y)
    look = look_at_data(content, Reading(label=label))
    labels = "all" if look.positive is None else ""
    spec = DatasetSpec("data", positive=look.positive, labels=labels, reading=look.reading)
    return Source(spec, prepare_content(content, spec, "the data"), can_reload=False), look


class _HereExecutor(LocalExecutor):
    """Runs Python objects in this process too: no other one has them and the data."""

    def _run_in_processes(self, trials: Sequence[Any], stop: Any) -> Any:
        return self._run_in_threads(trials, stop)


@dataclass(frozen=True)
class Plan:
    sources: list[Source]
    skipped: list[str]
    cells: list[Cell]
    jobs: int
    reuse: list[OtherRun]


def plan(
    config: Experiment,
    jobs: int | None = None,
    skip_missing: bool = False,
    *,
    find_cells: Callable[[list[Source]], Sequence[Cell]] | None = None,
    limited: bool = True,
    folder: Path | None = None,
    reuse: Sequence[str | Path] = (),
    say: Callable[[str], None] = lambda text: None,
) -> Plan:
    """Return the plan of an experiment; refuse one that is too large.

    The cells are those of the config unless `find_cells` finds others. Without `limited`, they need not fit
    in the memory of this machine. Cells whose trials are all in `folder` or in the runs of `reuse` take none.
    """
    if config.paper:
        _read_paper(config)
    sources, skipped = find_sources(config.datasets, skip_missing, say)
    cells = list(find_cells(sources) if find_cells else cells_of(config, sources))
    workers = jobs or default_jobs()
    check_rules(cells, say)
    if cells:
        refuse_too_many(cells)
    own = [folder] if folder else []
    others = [find_run(run) for run in reuse]
    runs = open_runs(others, own, cells[0].protocol) if cells else []
    if limited:
        refuse_excess(cells, workers, [*own, *others])
    return Plan(sources, skipped, cells, workers, runs)


def _read_paper(config: Experiment) -> None:
    """Read the numbers of the paper, so that errors in its file are found before the first trial."""
    try:
        paper = load_paper(config.paper).under(config.protocol)
    except UserError as error:
        place = getattr(config.paper, "place", "")
        raise UserError(f"{place}: {error}" if place else str(error)) from None
    known = [*catalog(), *(spec.name for spec in config.datasets), *paper.unavailable]
    if unknown := [f"'{name}'{suggest(name, known)}" for name in paper.datasets if name not in known]:
        warnings.warn(
            f"{config.paper} has numbers of {list_some(unknown, 3)}, which neither the catalogue nor the "
            "config has; they are not compared, and the key 'unavailable' may say why",
            InputWarning,
            stacklevel=2,
        )


def complete(cells: Sequence[Cell], folder: Path, jobs: int, **options: Any) -> Run:
    """Run the missing trials; the options are those of `open_run`."""
    with open_run(folder, cells, jobs, **options) as started:
        compile_ahead(cells, jobs, started.stop, started.progress.say)
        started.progress.say("preparing the trials")
        started.copy_reused()
        started.has_work = started.missing or not (started.stop.is_set() or started.is_described)
        if started.has_work and not started.stop.is_set():  # the planning of many trials may be stopped too
            started.complete(record=True)
            started.write(end=None if started.stop.is_set() else run_file.now())
    return started


def measure(plan: Plan, quiet: bool = True) -> tuple[Run, Baseline]:
    with TemporaryDirectory(prefix="olbench-check-") as folder:
        with open_run(Path(folder), plan.cells, plan.jobs, quiet=quiet) as started:
            compile_ahead(plan.cells, plan.jobs, started.stop, started.progress.say)
            started.complete()
        if started.stop.is_set():
            raise KeyboardInterrupt
    return started, baseline_of(plan.cells, started.known)


def bundle(run: str | Path, output: str | Path | None = None) -> Bundled:
    """Write a run, a folder or one that ships, as one file; by default NAME.olb in the current folder."""
    folder = find_run(run)
    name = folder.resolve().parent.name if folder.name == REFERENCE else folder.resolve().name
    recorded = read_run(folder)
    recorded.refuse_edited()
    paper = recorded.config.paper
    return write_bundle(folder, Path(output or f"{name}{SUFFIX}"), find_paper(paper) if paper else None)


def investigate(
    candidates: "Sequence[Candidate]", folder: Path, jobs: int, quiet: bool = True
) -> "tuple[Run, list[Inquiry]]":
    from olbench.analysis.forensics import inquire
    from olbench.report.forensics import content

    with open_run(folder, candidates, jobs, quiet=quiet) as started:
        started.complete()
        judged = inquire(list(candidates), started.known)
        end = None if started.stop.is_set() else run_file.now()
        record = {**content(judged), **started.describe(end).plain()}
        if started.fresh or not _is_recorded(folder / FORENSICS, record):
            run_file.write(folder, record, FORENSICS)
    return started, judged


def _is_recorded(path: Path, record: Mapping[str, Any]) -> bool:
    """Return whether a finished file has the same findings, whenever they were made."""
    names = ("summary", "rows", "config", "data", "cells")
    try:
        existing = json.loads(path.read_text(encoding="utf-8"))
        same = all(json.dumps(existing[name]) == json.dumps(record[name]) for name in names)
        return same and bool(existing["end"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
