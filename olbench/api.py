"""How an experiment is carried out: plan it, then run what its folder lacks.

The verbs run, check, forensics, bundle and verify do what is here between reading their options
and printing;
`olbench.run(config)` does what `olbench run CONFIG` does, and returns the results.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from olbench import FIRST_ALGORITHMS
from olbench.analysis import check as regression
from olbench.analysis.check import Baseline, baseline_of
from olbench.analysis.published import load_paper
from olbench.data.source import Source, find_sources
from olbench.engine.budget import refuse_excess
from olbench.engine.compiling import check_rules, compile_ahead
from olbench.engine.local import Executor, LocalExecutor, default_jobs
from olbench.engine.progress import is_notebook
from olbench.engine.reuse import OtherRun, open_runs
from olbench.engine.runner import Run, open_run, refuse_too_many
from olbench.errors import UserError
from olbench.plugins import find_paper
from olbench.protocols import cells_of
from olbench.protocols.definition import Cell
from olbench.protocols.reading import parse_config, prefer_native, read_config
from olbench.protocols.recorded import read_run
from olbench.protocols.specs import Experiment
from olbench.records import run_file
from olbench.records.bundle import Bundled, write_bundle
from olbench.records.container import SUFFIX, trust
from olbench.records.shipped import REFERENCE, find_config, find_run
from olbench.structs import apply_overrides, from_plain

if TYPE_CHECKING:
    from olbench.analysis.forensics import Inquiry, Suspect
    from olbench.analysis.results import Results
    from olbench.engine.verification import VerifiedRun, VerifiedTrial


def run(
    config: str | Path | Mapping[str, Any] | Experiment, out: str | Path | None = None, *,
    jobs: int | None = None, set: Iterable[str] = (), skip_missing: bool = False, quiet: bool | None = None,
    reuse: Sequence[str | Path] = (),
) -> "Results":  # fmt: skip
    """Run an experiment, or the missing part of it, and return its results.

    `config` is the path of a YAML file, the name of a config that ships, or the content of one as a mapping.
    Records go to the folder `out`; what is in it already is not run again. By default it is results/NAME for
    a file or a name; a mapping needs one. Trials that the runs in `reuse` have, which are folders or
    bundles, are copied. `set` takes overrides such as "permutations=5". A notebook shows a bar, unless
    `quiet` is true; a script shows its progress only if it is false.

    >>> import tempfile
    >>> spec = {"datasets": ["breast-cancer"], "algorithms": ["perceptron", "pa1"], "permutations": 2}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = run(spec, folder, jobs=1)
    >>> results.to_frame().groupby("algorithm").size().to_dict()
    {'pa1': 2, 'perceptron': 2}
    """
    from olbench.report.loading import load_results

    experiment, folder = _read(config, out, set)
    planned = plan(experiment, jobs, skip_missing, folder=folder, reuse=reuse)
    is_quiet = not is_notebook() if quiet is None else quiet
    if complete(planned.cells, folder, planned.jobs, quiet=is_quiet, reuse=planned.reuse).stop.is_set():
        raise KeyboardInterrupt
    return load_results(folder)


def _read(config: Any, out: str | Path | None, overrides: Iterable[str]) -> tuple[Experiment, Path]:
    if isinstance(config, str | Path):
        path = find_config(str(config))
        return read_config(path, overrides), Path(out or Path("results") / path.stem)
    if out is None:
        raise UserError("a config without a file needs a folder for its records: run(config, out=...)")
    if isinstance(config, Experiment):
        return config, Path(out)
    return parse_config(apply_overrides(from_plain(dict(config), "config"), overrides), Path()), Path(out)


#: Folders of comparisons, which are removed at the end of the process.
_FOLDERS: list[TemporaryDirectory[str]] = []


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

    Columns are read as `olbench init` would: gaps are 0, text becomes indicators, rows are scaled if the
    features differ much, and a constant feature is added. Three or more labels are classes of their own.
    `algorithms` has ids, mappings as in a config, and unfitted learners of scikit-learn (partial_fit) or
    River (learn_one). Parameters that are not given are tuned on three orders that are not reported. A
    notebook shows the results as a table and curves.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> found = compare(X, X[:, 0] > X[:, 1], algorithms=["perceptron", "arow"], permutations=2, jobs=1)
    >>> found.to_frame().groupby("algorithm").size().to_dict()
    {'arow': 2, 'perceptron': 2}
    """
    from olbench.analysis.results import load_results
    from olbench.report.loading import ShownResults

    class ComparedResults(ShownResults):
        def _repr_html_(self) -> str:
            return super()._repr_html_() + _draw_curves(self)

    source, covariance = _look_at_data(data, y, label)
    ids = [each if isinstance(each, str | Mapping) else _register(each) for each in algorithms]
    entries = [prefer_native(id) if source.classes and isinstance(id, str) else id for id in ids]
    content = {
        "datasets": ["breast-cancer"],
        "algorithms": entries,
        "permutations": permutations,
        "covariance": covariance,
        "tuning": {"search": "grid", "permutations": 3, "ties": "last"},
    }
    config = parse_config(from_plain(content, "compare"), Path())
    cells = list(cells_of(replace(config, datasets=(source.spec,)), [source]))
    check_rules(cells)
    workers = jobs or default_jobs()
    refuse_excess(cells, workers, [])
    _FOLDERS.append(TemporaryDirectory(prefix="olbench-compare-"))
    folder = Path(_FOLDERS[-1].name, "compare")
    is_quiet = not is_notebook() if quiet is None else quiet
    if complete(cells, folder, workers, quiet=is_quiet, executor=_HereExecutor(workers)).stop.is_set():
        raise KeyboardInterrupt
    return load_results(folder, kind=ComparedResults)


def _look_at_data(data: Any, y: Any, label: str | int) -> tuple[Source, str]:
    """Return what is read of a frame or a pair, and the covariance that suits its features."""
    from olbench.data.look import look_at_data
    from olbench.data.prepare import prepare_content, read_frame
    from olbench.data.spec import DatasetSpec, Reading

    content = data if y is None else (data, y)
    if y is None and label == "":
        read_frame(data, DatasetSpec("data"))  # refuses it
    look = look_at_data(content, Reading(label=label))
    reading = look.reading if y is None else replace(look.reading, label="")
    spec = DatasetSpec(
        "data", positive=look.positive, labels="all" if look.positive is None else "", reading=reading
    )
    return Source(spec, prepare_content(content, spec, "the data"), can_reload=False), look.covariance


def _draw_curves(results: "Results") -> str:
    from olbench.plot import curves

    drawing = StringIO()
    curves(results).savefig(drawing, format="svg")
    text = drawing.getvalue()
    return text[text.index("<svg") :]


def _register(learner: Any) -> str:
    """Register a learner object under the name of its class; one with other settings replaces it."""
    from olbench.algorithms.definition import register
    from olbench.learners.contestants import wrap

    return register(wrap(learner).definition).id


class _HereExecutor(LocalExecutor):
    """Runs Python objects in this process too, which alone has them and the data."""

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
    config: Experiment, jobs: int | None = None, skip_missing: bool = False, *,
    find_cells: Callable[[list[Source]], Sequence[Cell]] | None = None, limited: bool = True,
    folder: Path | None = None, reuse: Sequence[str | Path] = (),
    say: Callable[[str], None] = lambda text: None,
) -> Plan:  # fmt: skip
    """Return the plan of an experiment; refuse one that is too large.

    The cells are those of the config unless `find_cells` finds others. Without `limited`, they need not fit
    in the memory of this machine; those whose trials are all in `folder` or in the runs of `reuse` take none.
    `say` is told which data set is being loaded.
    """
    if config.paper:
        _read_paper(config.paper)
    sources, skipped = find_sources(config.datasets, skip_missing, say)
    cells = list(find_cells(sources) if find_cells else cells_of(config, sources))
    workers = jobs or default_jobs()
    check_rules(cells)
    if cells:
        refuse_too_many(cells)
    own = [folder] if folder else []
    others = [find_run(run) for run in reuse]
    runs = open_runs(others, own, cells[0].protocol) if cells else []
    if limited:
        refuse_excess(cells, workers, [*own, *others])
    return Plan(sources, skipped, cells, workers, runs)


def _read_paper(id_or_path: str) -> None:
    """Read the numbers of the paper, so that what is wrong in its file is said before the first trial."""
    try:
        load_paper(id_or_path)
    except UserError as error:
        place = getattr(id_or_path, "place", "")
        raise UserError(f"{place}: {error}" if place else str(error)) from None


def complete(
    cells: Sequence[Cell], folder: Path, jobs: int, *, quiet: bool = True, timing: str = "shared",
    executor: Executor | None = None, reuse: Sequence[OtherRun] = (),
) -> Run:  # fmt: skip
    with open_run(folder, cells, jobs, quiet=quiet, timing=timing, executor=executor, reuse=reuse) as started:
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


def compare_baselines(
    plan: Plan,
    before: Baseline,
    now: Baseline,
    *,
    tolerance: float = 0.0,
    only: Sequence[str] = (),
    partly: bool = False,
    allow_better: bool = False,
) -> regression.Comparison:
    """Compare a plan's baseline with an earlier one.

    The plan may leave out what is not downloaded. With `partly`, it may leave out any data set. With
    `allow_better`, results that became better are no failures. `only` names the quantities to compare.
    """
    present = {source.name for source in plan.sources}
    kept = [
        row
        for row in before.rows
        if row["dataset"] in present or not (partly or row["dataset"] in plan.skipped)
    ]
    before = replace(before, rows=tuple(kept))
    comparison = regression.compare(before, now, plan.cells[0].protocol, tolerance, only)
    return replace(comparison, allows_better=allow_better)


def bundle(run: str | Path, output: str | Path | None = None) -> Bundled:
    """Write a run, a folder or one that ships, as one file; by default NAME.olb in the current folder."""
    folder = find_run(run)
    name = folder.resolve().parent.name if folder.name == REFERENCE else folder.resolve().name
    paper = read_run(folder).config.paper
    return write_bundle(folder, Path(output or f"{name}{SUFFIX}"), find_paper(paper) if paper else None)


def verify(
    run: str | Path, *, trials: int | None = None, confidence: float | None = None, share: float = 0.05,
    seed: int | None = None, trust_plugins: bool = False,
    jobs: int | None = None, say: Callable[[str], None] = lambda text: None,
) -> "VerifiedRun":  # fmt: skip
    """Run a random sample of the trials of a folder or a bundle again, and compare every count.

    It has `trials` trials, 20 by default; with a `confidence`, as many as it takes to find altered trials, a
    `share` of all, with that probability. Of the result, `is_true` and `sentence` say what was shown.
    """
    from olbench.engine.verification import verify_run

    folder = find_run(run)
    if trust_plugins:
        trust(folder)
    return verify_run(
        folder, jobs or default_jobs(), trials=trials, confidence=confidence, share=share, seed=seed,
        say=say,
    )  # fmt: skip


def verify_trial(
    run: str | Path, key: str, *, trust_plugins: bool = False, say: Callable[[str], None] = lambda text: None
) -> "VerifiedTrial":
    from olbench.engine import verification

    folder = find_run(run)
    if trust_plugins:
        trust(folder)
    return verification.verify_trial(folder, key, say)


FINDINGS = ("summary", "rows", "config", "data", "cells")


def investigate(
    candidates: "Sequence[Suspect]", folder: Path, jobs: int, quiet: bool = True
) -> "tuple[Run, list[Inquiry]]":
    from olbench.analysis.forensics import inquire
    from olbench.report.forensics import content

    name = "forensics.json"
    with open_run(folder, candidates, jobs, quiet=quiet) as started:
        started.complete()
        judged = inquire(list(candidates), started.known)
        end = None if started.stop.is_set() else run_file.now()
        record = {**content(judged), **started.describe(end).plain()}
        if started.fresh or not _has_findings(folder / name, record):
            run_file.write(folder, record, name)
    return started, judged


def _has_findings(path: Path, record: dict[str, Any]) -> bool:
    """Return whether a file is finished and has the same findings as a record, whenever they were made."""
    try:
        existing = json.loads(path.read_text(encoding="utf-8"))
        old, new = ({name: each[name] for name in FINDINGS} for each in (existing, record))
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return bool(existing.get("end")) and json.dumps(old) == json.dumps(new)
