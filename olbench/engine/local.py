"""One trial becomes one record, whatever happens; and this machine as an executor of many.

Threads share one copy of the data; Python objects go to processes.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle, islice
from statistics import fmean
from threading import BoundedSemaphore
from typing import Protocol

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError
from threadpoolctl import threadpool_limits

from olbench.algorithms import load_plugin
from olbench.data.source import find_source
from olbench.data.spec import DatasetSpec
from olbench.engine.resources import guess_cost
from olbench.engine.stopping import StopFlag, UserInterruptError, hold_interrupts, silence_threads
from olbench.errors import UserError, count
from olbench.learners.own_rules import run_rule
from olbench.learners.passes import StoppedError
from olbench.learners.start import start
from olbench.protocols import get_protocol
from olbench.protocols.definition import numbers_of
from olbench.protocols.recorded import find_defect
from olbench.records.record import failure, success
from olbench.records.trial import Outcome, Record, Trial, code_of, kind_of

#: Records of a thread that may wait to be written before it takes another trial.
WAITING_PER_JOB = 4
#: For so long a process measures which share of a core it gets.
SHARE_SECONDS = 0.3


def attempt(trial: Trial, stop: StopFlag, run: Callable[[], Outcome] | None = None) -> Record | None:
    """Run a trial and return its record, also of a failure; a trial that was stopped gives None.

    `run` is another way to run it, such as in parts on many machines.
    """
    protocol = get_protocol(trial.protocol)
    started = time.perf_counter()
    try:
        work = run or partial(protocol.run, trial, trial.source, stop.is_set)
        outcome = run_rule(trial.definition, work, stop.is_set)
        seconds = time.perf_counter() - started
        if outcome is None:
            return None
        record = success(trial, outcome, protocol.numbered, seconds)
        if defect := find_defect(protocol, record):
            raise UserError(defect)
    except StoppedError:
        return None
    except UserInterruptError:
        raise
    # sys.exit in a contestant would end the command as if all were well.
    except BaseException as error:
        return fail(trial, error)
    return record


def fail(trial: Trial, error: BaseException) -> Record:
    protocol = get_protocol(trial.protocol)
    names = (*(each.name for each in numbers_of(protocol)), *(each.of for each in protocol.series))
    return failure(trial, error, protocol.numbered, names)


class Executor(Protocol):
    """It may have `deaths`, a list of the workers that died so far, and `warn`, which the run replaces."""

    def execute(self, trials: Sequence[Trial], stop: StopFlag) -> Iterator[Record]:
        """Yield records as trials finish, in any order; after a stop, only those that were done in time."""


def order_by_cost(trials: Sequence[Trial]) -> list[Trial]:
    """Return one trial of each kind, to learn what it takes, then the others; of both the longest first.

    A long trial that starts last would leave the other workers idle.
    """
    firsts = {kind_of(vars(trial)): trial for trial in reversed(trials)}
    costs = {kind: guess_cost(t.source, t.source.n, t.algorithm, t.options) for kind, t in firsts.items()}

    def place(trial: Trial) -> tuple[bool, float]:
        kind = kind_of(vars(trial))
        return firsts[kind] is not trial, -costs[kind]

    return sorted(trials, key=place)


@dataclass(frozen=True)
class LocalExecutor:
    jobs: int
    plugins: Sequence[str] = ()
    say: Callable[[str], None] = lambda text: None
    deaths: list[str] = field(default_factory=list)

    def execute(self, trials: Sequence[Trial], stop: StopFlag) -> Iterator[Record]:
        ordered = order_by_cost(trials)
        kernels = [trial for trial in ordered if not trial.is_object]
        objects = [trial for trial in ordered if trial.is_object]
        warm_up(kernels, stop, self.say)
        self.say("")
        # One of each kind comes before the objects, so that the time left is known early.
        kinds = len({kind_of(vars(trial)) for trial in kernels}) if objects else 0
        with threadpool_limits(1), silence_threads(stop):
            yield from self._run_in_threads(kernels[:kinds], stop)
            if objects:
                self.say("starting processes")
            yield from self._run_in_processes(objects, stop)
            yield from self._run_in_threads(kernels[kinds:], stop)

    def _run_in_threads(self, trials: Sequence[Trial], stop: StopFlag) -> Iterator[Record]:
        if not trials:
            return
        # joblib would go on however many records wait to be written: a kill would lose them, and Ctrl-C wait.
        places = BoundedSemaphore(WAITING_PER_JOB * self.jobs)

        def attempt_in_turn(trial: Trial) -> Record | None:
            while not places.acquire(timeout=0.1):
                if stop.is_set():
                    return None
            return attempt(trial, stop)

        run = Parallel(n_jobs=self.jobs, prefer="threads", return_as="generator_unordered")
        for record in run(delayed(attempt_in_turn)(trial) for trial in trials if not stop.is_set()):
            if record is not None:
                places.release()
                yield record

    def _run_in_processes(self, trials: Sequence[Trial], stop: StopFlag) -> Iterator[Record]:
        """Run trials in worker processes; if a worker dies, find out which trial killed it, and carry on."""
        left = {trial.key: trial for trial in trials}
        try:
            for record in self._run_in_pool(trials, self.jobs, stop):
                del left[record["key"]]
                yield record
        except TerminatedWorkerError:
            waiting = count(len(left), "trial was", "trials were")
            self.deaths.append(f"a worker process died while {waiting} left; they run again, one at a time")
            for trial in left.values():
                yield from self._run_alone(trial, stop)
        finally:
            if trials and not stop.is_set():
                get_reusable_executor(reuse=True).shutdown(wait=False, kill_workers=True)

    def _run_alone(self, trial: Trial, stop: StopFlag) -> Iterator[Record]:
        try:
            yield from self._run_in_pool([trial], 2, stop)
        except TerminatedWorkerError:
            place = f"{get_protocol(trial.protocol).numbered} {trial.number}"
            self.deaths.append(f"a worker process died in {trial.algorithm} on {trial.dataset}, {place}")
            reason = "the worker process died; is there enough memory, or does the algorithm end it?"
            yield fail(trial, RuntimeError(reason))

    def _run_in_pool(self, trials: Sequence[Trial], jobs: int, stop: StopFlag) -> Iterator[Record]:
        if not trials or stop.is_set():
            return
        # loky restarts a worker that has grown, which does not concern the user. It warns in another thread,
        # so the filter has to outlast this block.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        calls = (
            # A process opens the data by itself: sending it would take a copy per trial.
            delayed(_attempt_in_process)(Trial(**trial.message()), trial.source.spec, tuple(self.plugins))
            for trial in trials
            if not stop.is_set()
        )
        with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1), hold_interrupts():
            results = Parallel(return_as="generator_unordered", batch_size=1)(calls)
        while (record := stop.or_none(lambda: next(results, None))) is not None:
            yield record
        with warnings.catch_warnings():
            # joblib warns when it kills workers whose results nobody wants any more.
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def warm_up(trials: Sequence[Trial], stop: StopFlag, say: Callable[[str], None] = lambda text: None) -> None:
    """Compile what the trials need, or load it from numba's cache, before threads have to wait for it."""
    examples = {(trial.algorithm, str(trial.options)): trial for trial in trials}
    for number, trial in enumerate(examples.values(), start=1):
        say(f"compiling {trial.algorithm} ({number} of {len(examples)})")
        # If it does not compile, its trials fail one by one, and the ledger has the reason.
        with suppress(Exception):
            stop.or_none(start(trial.make_algorithm(), 2).warm_up)


def start_processes(trials: Sequence[Trial], jobs: int, plugins: Sequence[str]) -> float:
    """Do what a run does before its first trial in a process, and end the processes.

    Return how many would run at full speed: other programs may need the cores.
    """
    if not trials:
        return jobs
    shares = [alone := _measure_share()]
    one_per_job = islice(cycle(trials), jobs)
    calls = (delayed(_start_in_process)(Trial(**each.message()), tuple(plugins)) for each in one_per_job)
    # A contestant that fails or leaves is recorded by the run.
    with suppress(Exception, SystemExit), parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
        shares = Parallel(batch_size=1)(calls)
    get_reusable_executor(reuse=True).shutdown(wait=False, kill_workers=True)
    return jobs * min(1.0, fmean(shares) / alone)


def _start_in_process(trial: Trial, plugins: tuple[str, ...]) -> float:
    for path in plugins:
        load_plugin(path)
    start(trial.make_algorithm(), 2)
    return _measure_share()


def _measure_share() -> float:
    """Return the share of a core that this process gets."""
    begin, used = time.perf_counter(), time.process_time()
    while time.perf_counter() < begin + SHARE_SECONDS:
        pass
    return (time.process_time() - used) / (time.perf_counter() - begin)


def _attempt_in_process(trial: Trial, spec: DatasetSpec, plugins: tuple[str, ...]) -> Record | None:
    try:
        for path in plugins:
            load_plugin(path)
        trial = replace(trial, source=find_source(spec))
        _refuse_changes(trial)
    except Exception as error:
        return fail(trial, error)
    return attempt(trial, StopFlag())


def _refuse_changes(trial: Trial) -> None:
    """Refuse files that were edited during the run: this process has read them later than the plan did."""
    code = code_of(trial.definition, get_protocol(trial.protocol).version)
    for name, is_same in (
        (trial.dataset, trial.source.fingerprint == trial.fingerprint),
        (trial.algorithm, code == trial.code),
    ):
        if not is_same:
            raise UserError(f"{name} has changed since the run began; run it again")
