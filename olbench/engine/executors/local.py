"""This machine as an executor. Threads share one copy of the data; Python objects go to processes.

An executor takes tasks and yields their results in any order: a class with the two members of `Executor`.
"""

import os
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from olbench.algorithms import get_definition
from olbench.algorithms.plugins import forbid_exit, load_plugin, run_rule
from olbench.config.specs import DatasetSpec
from olbench.data.source import Source, find_source
from olbench.engine.stopping import StopFlag, UserInterruptError, hold_interrupts, silence_threads
from olbench.errors import UserError, show_name
from olbench.learn.algorithm import make_algorithm
from olbench.learn.passes import StoppedError
from olbench.protocols import get_protocol
from olbench.trials.trial import Outcome, Record, Trial


@dataclass(frozen=True)
class Task:
    """A trial and the data it runs on."""

    trial: Trial
    source: Source

    @property
    def is_object(self) -> bool:
        """Whether the learner is a Python object, which holds the GIL while it runs."""
        return get_definition(self.trial.algorithm).rule is None

    @property
    def cost(self) -> float:
        """Roughly how long it takes, relative to other tasks."""
        protocol = get_protocol(self.trial.protocol)
        return protocol.cost(self.source, self.trial.algorithm, self.trial.options)


@dataclass(frozen=True)
class Finished:
    """The record of a trial, failed or not, and its arrays."""

    record: Record
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


class Executor(Protocol):
    """What the engine needs to run trials."""

    @property
    def jobs(self) -> int:
        """How many trials run at a time."""

    def execute(self, tasks: Sequence[Task], stop: StopFlag) -> Iterator[Finished]:
        """Yield results as tasks finish; after a stop, only those of tasks that were done in time."""


#: Jobs beyond the number of cores only wait for each other, and each takes memory.
JOBS_PER_CORE = 32


def refuse_many_jobs(jobs: int) -> None:
    """Raise a UserError for more jobs than the cores can serve."""
    most = JOBS_PER_CORE * count_cores()
    if jobs > most:
        raise UserError(
            f"{jobs:,} jobs are too many for {count_cores()} cores; use at most {most}; as many as there are "
            "cores is fastest"
        )


@dataclass(frozen=True)
class LocalExecutor:
    """Threads for kernels, then processes for Python objects, on this machine."""

    jobs: int
    plugins: Sequence[str] = ()
    #: Told what is being compiled.
    say: Callable[[str], None] = lambda text: None

    def __post_init__(self) -> None:
        refuse_many_jobs(self.jobs)

    def execute(self, tasks: Sequence[Task], stop: StopFlag) -> Iterator[Finished]:
        """Yield results as tasks finish; after a stop, only those of tasks that were done in time."""
        # Longest first: a long task that starts last would leave the other workers idle.
        ordered = sorted(tasks, key=lambda task: task.cost, reverse=True)
        kernels = [task for task in ordered if not task.is_object]
        objects = [task for task in ordered if task.is_object]
        warm_up(kernels, stop, self.say)
        with threadpool_limits(1), silence_threads(stop):
            yield from self._run_in_threads(kernels, stop)
            yield from self._run_in_processes(objects, stop)

    def _run_in_threads(self, tasks: Sequence[Task], stop: StopFlag) -> Iterator[Finished]:
        if not tasks:
            return
        run = Parallel(n_jobs=self.jobs, prefer="threads", return_as="generator_unordered")
        calls = (delayed(attempt)(task.trial, task.source, stop) for task in tasks if not stop.is_set())
        yield from (finished for finished in run(calls) if finished is not None)

    def _run_in_processes(self, tasks: Sequence[Task], stop: StopFlag) -> Iterator[Finished]:
        """Run tasks in worker processes; if a worker dies, find out which trial killed it, and carry on."""
        left = {task.trial.key: task for task in tasks}
        try:
            for finished in self._run_in_pool(tasks, self.jobs, stop):
                del left[finished.record["key"]]
                yield finished
        except TerminatedWorkerError:
            for task in left.values():
                yield from self._run_alone(task, stop)
        finally:
            if tasks and not stop.is_set():
                get_reusable_executor(reuse=True).shutdown(wait=False, kill_workers=True)

    def _run_alone(self, task: Task, stop: StopFlag) -> Iterator[Finished]:
        try:
            yield from self._run_in_pool([task], 2, stop)
        except TerminatedWorkerError:
            yield fail(task.trial, RuntimeError("the worker process died; is there enough memory?"))

    def _run_in_pool(self, tasks: Sequence[Task], jobs: int, stop: StopFlag) -> Iterator[Finished]:
        if not tasks or stop.is_set():
            return
        # loky restarts a worker that has grown, which does not concern the user. It warns in another thread,
        # so the filter has to outlast this block.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        calls = (
            delayed(_attempt_in_process)(task.trial, task.source.spec, tuple(self.plugins))
            for task in tasks
            if not stop.is_set()
        )
        with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1), hold_interrupts():
            results = Parallel(return_as="generator_unordered", batch_size=1)(calls)
        while (finished := stop.or_none(lambda: next(results, None))) is not None:
            yield finished
        with warnings.catch_warnings():
            # joblib warns when it kills workers whose results nobody wants any more.
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_jobs() -> int:
    """Return OLBENCH_JOBS or, by default, the number of cores that this process may use."""
    given = os.environ.get("OLBENCH_JOBS", "")
    if not given:
        return count_cores()
    if not re.fullmatch("[0-9]{1,9}", given) or int(given) < 1:
        raise UserError(f"OLBENCH_JOBS must be a whole number from 1, not {show_name(given)}")
    return int(given)


def warm_up(tasks: Sequence[Task], stop: StopFlag, say: Callable[[str], None] = lambda text: None) -> None:
    """Compile what the tasks need, or load it from numba's cache, before threads have to wait for it."""
    examples = {(task.trial.algorithm, str(task.trial.options)): task.trial for task in tasks}
    for number, trial in enumerate(examples.values(), start=1):
        say(f"compiling {trial.algorithm} ({number} of {len(examples)})")
        # If it does not compile, its trials fail one by one, and the ledger says so.
        with suppress(Exception):
            algorithm = make_algorithm(trial.algorithm, **trial.params, **trial.options)
            stop.or_none(algorithm.start(2).warm_up)


def _attempt_in_process(trial: Trial, spec: DatasetSpec, plugins: tuple[str, ...]) -> Finished | None:
    try:
        for path in plugins:
            load_plugin(path)
        source = find_source(spec)
    except Exception as error:
        return fail(trial, error)
    return attempt(trial, source, StopFlag())


def attempt(
    trial: Trial, source: Source, stop: StopFlag, run: Callable[[], Outcome] | None = None
) -> Finished | None:
    """Run a trial. A failure gives a record too; a trial that was stopped gives None.

    `run` is another way to run it, such as in parts on many machines.
    """
    protocol = get_protocol(trial.protocol)
    started = time.perf_counter()
    try:
        with forbid_exit():
            work = run or partial(protocol.run, trial, source, stop.is_set)
            outcome = run_rule(get_definition(trial.algorithm), work, stop.is_set)
    except StoppedError:
        return None
    except UserInterruptError:
        raise
    # sys.exit in a contestant would end the command as if all were well.
    except BaseException as error:
        return fail(trial, error)
    if outcome is None:
        return None
    seconds = time.perf_counter() - started
    return Finished(protocol.succeed(trial, outcome, seconds), outcome.arrays)


def fail(trial: Trial, error: BaseException) -> Finished:
    """Return the record of a trial that failed."""
    return Finished(get_protocol(trial.protocol).fail(trial, error))
