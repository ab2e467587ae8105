"""Trials on a Dask cluster: the client's side. What a worker does is in `worker`.

Dask decides where a trial runs, and runs it elsewhere when its worker dies. The client alone writes records,
and it decides what Dask cannot know:

- A trial that is lost with its worker is a suspect, and so is every other trial that was assigned to that
  worker. Suspects run again at the end of a wave, each alone on a worker. Only deaths there count against a
  trial; the third makes it fail.
- A finished trial is released once it is on record; Dask would compute it again if its worker died.
- A worker that would compute something else (another olbench, other data) is refused, not the trial.
"""

import json
import logging
import resource
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from olbench.data.source import pack
from olbench.engine.executors import executor, worker
from olbench.engine.executors.local import fail, order_by_cost
from olbench.engine.stopping import StopFlag, hold_interrupts
from olbench.errors import UserError, count
from olbench.records.trial import Record, Trial

#: Deaths of workers, each with this trial alone on it, after which a trial fails.
FATAL_DEATHS = 3
#: How often a trial is tried again for reasons that are neither its own nor a worker's death.
RETRIES = 20
#: Trials that are handed to the scheduler at a time, for each thread and at least: enough for an adaptive
#: cluster to see that there is work, and few enough to be cancelled at once.
AHEAD, LEAST_AHEAD = 4, 64
PAUSE = 0.05
CONNECT_SECONDS = 10
FILES = 32
#: Seconds after which the list of workers is read again even if no event has changed it.
LOOK_SECONDS = 5


class SchedulerLostError(UserError):
    exit_code = 3


@dataclass(eq=False)
class Assignment:
    trial: Trial
    deaths: int = 0
    retries: int = 0
    #: Whether it was on a worker that died; it then runs alone on a worker.
    is_suspect: bool = False
    future: Any = None
    workers: tuple[str, ...] | None = None


@executor("")
class ClusterExecutor(ExitStack):
    def __init__(self, where: str, plugins: Sequence[str] = (), say: Callable[[str], None] = print):
        super().__init__()
        self.where, self.say = where, say
        self.plugins = worker.write_plugins(plugins)
        self.refused: dict[str, str] = {}
        #: Workers that have gone, the keys of the tasks that each had, and whether a kill or crash was why.
        self.departures: deque[tuple[str, frozenset[str], bool]] = deque()
        self.has_newcomers = False
        self.deaths: list[str] = []

    @cached_property
    def client(self) -> Any:
        client = self.enter_context(connect(self.where))
        client.subscribe_topic("all", self._note_event)
        self.check_workers(client)
        return client

    @property
    def jobs(self) -> int:
        return max(1, sum(self.workers().values()))

    def workers(self) -> dict[str, int]:
        everyone: Mapping[str, int] = self.ask(self.client.nthreads)
        return {address: n for address, n in everyone.items() if address not in self.refused}

    def execute(self, trials: Sequence[Trial], stop: StopFlag) -> Iterator[Record]:
        """Yield records as trials finish; after a stop, only those of trials that were done in time."""
        wave = _Wave(self, deque(map(Assignment, order_by_cost(trials))), stop)
        try:
            yield from wave.run()
        finally:
            wave.cancel()

    def ask(self, question: Callable[..., Any], *words: Any, **options: Any) -> Any:
        try:
            return question(*words, **options)
        except TimeoutError:
            self.check_connection()
            raise
        except (OSError, RuntimeError, AttributeError):
            raise self.lost() from None

    def check_connection(self) -> None:
        if self.client.status != "running":
            raise self.lost()

    def lost(self) -> SchedulerLostError:
        return SchedulerLostError(
            f"the scheduler of {self.where} is gone; finished trials are kept, and the same command resumes "
            "from there"
        )

    def check_workers(self, client: Any) -> bool:
        from importlib.metadata import version

        ours, known = worker.identify(), set(self.refused)
        for address, answer in client.run(worker.identify, on_error="return").items():
            if answer == ours or address in known or isinstance(answer, OSError):
                continue
            if isinstance(answer, BaseException):
                # A worker without this module may still have an olbench.
                other = client.run(version, "olbench", workers=[address], on_error="return").get(address)
                answer = f"olbench {other}" if isinstance(other, str) else "no olbench"
            else:
                answer = f"olbench {answer}"
            self.refuse(address, f"it has {answer}, and this run has {ours}")
        return self.refused.keys() != known

    def refuse(self, address: str, reason: str) -> None:
        if address not in self.refused:
            self.refused[address] = reason
            self.say(f"olbench: the worker {address} is not used: {reason}")

    def _note_event(self, event: tuple[float, Any]) -> None:
        """Note that a worker has gone; the scheduler tells all clients which tasks it had."""
        _, content = event
        action = content.get("action") if isinstance(content, Mapping) else ""
        if action == "add-worker":
            self.has_newcomers = True
        elif action == "remove-worker":
            keys = frozenset(map(str, content.get("processing-tasks", ())))
            self.departures.append((str(content.get("worker")), keys, not content.get("expected", False)))


class _Wave:
    def __init__(self, executor: ClusterExecutor, queue: deque[Assignment], stop: StopFlag):
        from distributed import as_completed

        self.executor, self.queue, self.stop = executor, queue, stop
        self.client = executor.client
        self.done = as_completed(loop=self.client.loop, with_results=True, raise_errors=False)
        self.flying: dict[str, Assignment] = {}
        self.suspects: deque[Assignment] = deque()
        self.parcels: dict[str, Any] = {}
        self.workers: dict[str, int] = {}
        self.looked = 0.0

    def run(self) -> Iterator[Record]:
        self._look_around()
        if not self.workers:
            self.executor.say("olbench: the cluster has no workers yet; the run starts when one comes")
        while not self.stop.is_set() and (self.queue or self.suspects or self.flying):
            self.executor.check_connection()
            yield from self._take_departures()
            self._submit()
            with self.done.thread_condition:
                if not self.done.has_ready():
                    self.done.thread_condition.wait(PAUSE)
            for future, result in self.done.next_batch(block=False):
                yield from self._take(future, result)
                future.release()  # after it was recorded; before, a death of its worker would repeat it

    def cancel(self) -> None:
        futures = [each.future for each in self.flying.values()] + list(self.parcels.values())
        self.flying.clear()
        if self.client.status == "running" and futures:
            with suppress(Exception):
                self.client.cancel(futures, force=True)

    def _look_around(self) -> None:
        self.executor.has_newcomers = False
        self.workers = self.executor.workers()
        self.looked = time.monotonic()
        for assignment in list(self.flying.values()):
            if assignment.workers and not self.workers.keys() & set(assignment.workers):
                self._recall(assignment)
                self._enqueue(assignment)
        if self.executor.refused and not self.workers and self.executor.ask(self.client.nthreads):
            address, reason = list(self.executor.refused.items())[-1]
            raise UserError(f"no worker can be used; {address}: {reason}")

    def _submit(self) -> None:
        """Keep the scheduler supplied; suspects come last, one for each worker, when nothing else runs."""
        if self.executor.has_newcomers or time.monotonic() - self.looked > LOOK_SECONDS:
            self._look_around()
        room = max(LEAST_AHEAD, AHEAD * sum(self.workers.values()))
        # Workers that came later may take anything, unless some are refused: then only those known are asked.
        allowed = tuple(self.workers) if self.executor.refused else None
        while self.queue and len(self.flying) < room and allowed != ():
            self._launch(self.queue.popleft(), allowed)
        if self.suspects and not self.queue and not self.flying:
            # An adaptive cluster starts a worker only if there is a task for it.
            places: list[tuple[str, ...] | None] = [(address,) for address in self.workers]
            if not places and not self.executor.refused:
                places = [None]
            for place in places[: len(self.suspects)]:
                self._launch(self.suspects.popleft(), place)

    def _launch(self, assignment: Assignment, workers: tuple[str, ...] | None, parcel: Any = None) -> None:
        """Submit a trial; with a parcel, Dask takes the data to whichever worker runs it."""
        assignment.workers = workers
        message = worker.write_message(assignment.trial, self.executor.plugins)
        assignment.future = self.client.submit(
            worker.run_task, message, assignment.is_suspect, parcel, pure=False,
            key=f"olbench-{assignment.trial.key}-{uuid.uuid4().hex[:12]}",
            workers=workers and list(workers),
        )  # fmt: skip
        self.flying[str(assignment.future.key)] = assignment
        self.done.add(assignment.future)

    def _recall(self, assignment: Assignment) -> None:
        self.flying.pop(str(assignment.future.key), None)
        self.executor.ask(self.client.cancel, [assignment.future], force=True)

    def _enqueue(self, assignment: Assignment) -> None:
        (self.suspects if assignment.is_suspect else self.queue).appendleft(assignment)

    def _take_departures(self) -> Iterator[Record]:
        while self.executor.departures:
            address, keys, died = self.executor.departures.popleft()
            self.looked = 0.0
            self.workers.pop(address, None)
            if died:
                lost = len(keys & self.flying.keys())
                again = f" with {count(lost, 'trial')} on it, to be run again" if lost else ""
                self.executor.deaths.append(f"a worker of the cluster died{again}")
            for key in keys & self.flying.keys() if died else ():
                assignment = self.flying[key]
                self._recall(assignment)
                yield from self._lose(assignment, was_alone=len(keys) == 1)

    def _lose(self, assignment: Assignment, was_alone: bool) -> Iterator[Record]:
        """Make a trial whose worker died a suspect; the third time it was alone there, it fails."""
        assignment.deaths += was_alone
        assignment.is_suspect = True
        if assignment.deaths < FATAL_DEATHS:
            self.suspects.append(assignment)
            return
        reason = (
            f"the worker died {assignment.deaths} times with this trial alone on it; is there enough memory?"
        )
        yield fail(assignment.trial, RuntimeError(reason))

    def _take(self, future: Any, result: Any) -> Iterator[Record]:
        from distributed.scheduler import KilledWorker

        assignment = self.flying.pop(str(future.key), None)
        if assignment is None:
            return
        if future.status == "finished":
            yield from self._take_answer(assignment, result)
        elif future.status != "error":
            # The scheduler has forgotten the task: it is a new one, or a worker died with the data for it.
            if getattr(result, "reason", "") == "scheduler-connection-lost":
                raise self.executor.lost()  # a new scheduler at the same address knows nothing of this run
            self.parcels.pop(assignment.trial.fingerprint, None)
            yield from self._retry(assignment, "the scheduler forgot it")
        elif isinstance(result[1], KilledWorker):
            yield from self._lose(assignment, was_alone=assignment.is_suspect)
        elif self.executor.check_workers(self.client):
            yield from self._retry(assignment, str(result[1]))
        else:
            yield fail(assignment.trial, result[1])

    def _take_answer(self, assignment: Assignment, answer: worker.Answer) -> Iterator[Record]:
        if "record" in answer:
            yield {**answer["record"], "worker": answer["worker"]}
        elif "needs_data" in answer:
            self._send_data(assignment)
        elif "refused" in answer:
            self.executor.refuse(answer["worker"].partition(" ")[0], answer["refused"])
            yield from self._retry(assignment, "every worker refused it")
            self._look_around()
        else:
            yield from self._retry(assignment, "it was cancelled")

    def _retry(self, assignment: Assignment, reason: str) -> Iterator[Record]:
        assignment.retries += 1
        if assignment.retries > RETRIES:
            yield fail(assignment.trial, RuntimeError(f"given up: {reason}"))
        else:
            self._enqueue(assignment)

    def _send_data(self, assignment: Assignment) -> None:
        """Submit a trial with its data; the client sends it once, and workers pass it on to each other."""
        wanted = assignment.trial.fingerprint
        if wanted not in self.parcels:
            parcels = [pack(assignment.trial.source)]
            try:
                [self.parcels[wanted]] = self.executor.ask(
                    self.client.scatter, parcels, hash=False, timeout=CONNECT_SECONDS
                )
            except TimeoutError:  # the workers have gone in the meantime
                self._enqueue(assignment)
                return
        self._launch(assignment, assignment.workers, self.parcels[wanted])


@contextmanager
def connect(where: str) -> Iterator[Any]:
    try:
        import dask.config
        import distributed
    except ImportError:
        raise UserError('--cluster needs Dask; get it with `pip install "olbench[cluster]"`') from None
    timeouts = {"distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s"}
    with _quieten(), dask.config.set(timeouts), ExitStack() as stack:
        place: Any = _find_place(where)
        # Ctrl-C is for this process; the workers that it starts must not see it.
        with hold_interrupts():
            if isinstance(place, int):
                place = stack.enter_context(_start_workers(distributed, place))
            try:
                client = distributed.Client(
                    place, timeout=CONNECT_SECONDS, set_as_default=False, name="olbench"
                )
            except (OSError, ValueError, TypeError) as error:
                reason = str(error) or "no answer"
                raise UserError(
                    f"there is no scheduler at {where}: {reason}; start one with `dask scheduler`"
                ) from None
        try:
            yield client
        finally:
            with suppress(Exception):
                client.close(timeout=1)


def _start_workers(distributed: Any, workers: int) -> Any:
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= files < FILES * (workers + 1):  # a worker that cannot open a file is started again and again
        raise UserError(
            f"a cluster with {count(workers, 'worker')} on this machine needs {FILES * (workers + 1):,} open "
            f"files, and {files:,} may be open; raise the limit, as with `ulimit -n 1024`, or use --jobs"
        )
    try:
        return distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, memory_limit=0,
            dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL,
        )  # fmt: skip
    except (OSError, RuntimeError) as error:
        reason = error.__cause__ or error
        raise UserError(f"the workers cannot be started ({reason}); use --jobs instead") from None


def _find_place(where: str) -> int | str:
    kind, _, number = where.partition(":")
    if kind == "local":
        if not number.isdecimal() or int(number) < 1:
            raise UserError(f"--cluster {where}: give the number of processes, as in local:4")
        return int(number)
    if "://" in where:
        return where
    try:
        return str(json.loads(Path(where).read_text(encoding="utf-8"))["address"])
    except FileNotFoundError:
        raise UserError(
            f"there is no file {where}; --cluster takes tcp://host:8786, local:4 or a scheduler file"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{where} is not a scheduler file: {error}") from None


@contextmanager
def _quieten() -> Iterator[None]:
    before = logging.root.manager.disable
    logging.disable()
    try:
        yield
    finally:
        logging.disable(before)
