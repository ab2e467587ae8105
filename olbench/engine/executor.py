"""Running trials: threads over one copy of the data for kernels, processes for Python objects."""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError
from threadpoolctl import threadpool_limits

from olbench.algorithms import get_definition
from olbench.algorithms.plugins import load_plugin
from olbench.config import DatasetSpec
from olbench.engine.stopping import StopFlag, holding_interrupts, quiet_threads
from olbench.errors import UserError
from olbench.experiments.online import cost, run_trial
from olbench.experiments.sources import Source, load
from olbench.experiments.trial import Record, Trial
from olbench.learners import make_algorithm
from olbench.online import StoppedError


@dataclass(frozen=True)
class Task:
    """A trial and the data it runs on."""

    trial: Trial
    source: Source

    @property
    def is_object(self) -> bool:
        """Whether the learner is a Python object, which would hold the GIL."""
        return get_definition(self.trial.algorithm).order == "object"

    @property
    def cost(self) -> float:
        """Roughly how long it takes, to compare with others."""
        return cost(self.source, self.trial.algorithm, self.trial.options)


def default_jobs() -> int:
    """Return the number of jobs from OLBENCH_JOBS, or else that of the cores this process may use."""
    given = os.environ.get("OLBENCH_JOBS", "")
    if not given:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not given.isdecimal() or int(given) < 1:
        raise UserError(f"OLBENCH_JOBS must be a whole number from 1, not '{given}'")
    return int(given)


def execute(tasks: Sequence[Task], jobs: int, stop: StopFlag, plugins: Sequence[str]) -> Iterator[Record]:
    """Yield the records of tasks as they finish; after a stop only of those that were done in time."""
    # The longest first: a long one that starts last would leave the other workers idle.
    ordered = sorted(tasks, key=lambda task: task.cost, reverse=True)
    kernels = [task for task in ordered if not task.is_object]
    objects = [task for task in ordered if task.is_object]
    warm_up(kernels, stop)
    with threadpool_limits(1), quiet_threads(stop):
        yield from _in_threads(kernels, jobs, stop)
        yield from _in_processes(objects, jobs, stop, plugins)


def warm_up(tasks: Sequence[Task], stop: StopFlag) -> None:
    """Compile, or load from numba's cache, what the tasks need, before threads would wait for it."""
    seen = {(task.trial.algorithm, str(task.trial.options)): task.trial for task in tasks}
    for trial in seen.values():
        # the trials of what does not compile will fail with it, one by one, and be recorded
        with suppress(Exception):
            algorithm = make_algorithm(trial.algorithm, **trial.params, **trial.options)
            stop.or_none(algorithm.start(2).warm_up)


def _in_threads(tasks: Sequence[Task], jobs: int, stop: StopFlag) -> Iterator[Record]:
    if not tasks:
        return
    run = Parallel(n_jobs=jobs, prefer="threads", return_as="generator_unordered")
    calls = (delayed(attempt)(task.trial, task.source, stop) for task in tasks if not stop.is_set())
    yield from (record for record in run(calls) if record is not None)


def _in_processes(
    tasks: Sequence[Task], jobs: int, stop: StopFlag, plugins: Sequence[str]
) -> Iterator[Record]:
    """Yield records from worker processes; where one dies, find out with which trial and go on."""
    left = {task.trial.key: task for task in tasks}
    try:
        for record in _pooled(tasks, jobs, stop, plugins):
            del left[record["key"]]
            yield record
    except TerminatedWorkerError:
        for task in left.values():
            yield from _alone(task, stop, plugins)
    finally:
        if tasks and not stop.is_set():
            get_reusable_executor(reuse=True).shutdown(wait=False, kill_workers=True)


def _alone(task: Task, stop: StopFlag, plugins: Sequence[str]) -> Iterator[Record]:
    try:
        yield from _pooled([task], 2, stop, plugins)
    except TerminatedWorkerError:
        yield task.trial.failed(RuntimeError("the worker process died; is there enough memory?"))


def _pooled(tasks: Sequence[Task], jobs: int, stop: StopFlag, plugins: Sequence[str]) -> Iterator[Record]:
    if not tasks or stop.is_set():
        return
    calls = (
        delayed(_attempt_in_process)(task.trial, task.source.spec, tuple(plugins))
        for task in tasks
        if not stop.is_set()
    )
    with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1), holding_interrupts():
        records = Parallel(return_as="generator_unordered", batch_size=1)(calls)
    while (record := stop.or_none(lambda: next(records, None))) is not None:
        yield record
    with warnings.catch_warnings():
        # joblib kills its workers when their results are not wanted any more, and says so
        warnings.simplefilter("ignore", UserWarning)
        records.close()


def _attempt_in_process(trial: Trial, spec: DatasetSpec, plugins: tuple[str, ...]) -> Record | None:
    try:
        for path in plugins:
            load_plugin(path)
        source = load(spec)
    except Exception as error:
        return trial.failed(error)
    return attempt(trial, source, StopFlag())


def attempt(trial: Trial, source: Source, stop: StopFlag) -> Record | None:
    """Return the record of a trial, also of one that fails; None for one that was stopped."""
    try:
        return run_trial(trial, source, stop.is_set)
    except StoppedError:
        return None
    except Exception as error:
        return trial.failed(error)
