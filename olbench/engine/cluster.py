"""Trials on a Dask cluster: the client's side. What a worker does is in `worker`.

Dask places trials, runs them again when their worker dies, moves data and cancels. Only the client writes
records, and it decides what Dask cannot know:

- A worker with another olbench may count something else. A cluster that has one is refused; one that joins
  later is retired.
- A task of Dask costs milliseconds, so short trials of a kind go together, about half a second of them.
- Dask gives up on a task once more than `allowed-failures` workers have died with it, whatever killed them.
  Its trials run once more, each when nothing else does; one that kills its workers then fails.
"""

import json
import logging
import resource
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Self

from olbench.data.source import pack
from olbench.engine import worker
from olbench.engine.local import fail, order_by_cost
from olbench.engine.stopping import StopFlag, hold_interrupts
from olbench.errors import UserError, count
from olbench.protocols import get_protocol
from olbench.protocols.definition import InParts
from olbench.records.trial import Kind, Record, Trial, kind_of

#: How often a trial is tried again for reasons that are neither its own nor a worker's death.
RETRIES = 20
#: The seconds that the trials of a task take together, and how many they are at most.
TASK_SECONDS, MOST_OF_TASK = 0.5, 500
#: Tasks that are handed to the scheduler at a time, for each thread and at least: enough for an adaptive
#: cluster to see that there is work, and few enough to be cancelled at once.
AHEAD, LEAST_AHEAD = 4, 64
PAUSE = 0.05
#: Answers that are fetched at a time: one whose worker has just died takes until a connection times out.
FETCHERS = 8
CONNECT_SECONDS = 10
#: Files that a process of a local cluster has open.
FILES = 32
LOCAL = {"distributed.scheduler.allowed-failures": 1, "distributed.comm.timeouts.connect": "3s"}


class SchedulerLostError(UserError):
    exit_code = 3


class ClusterExecutor(ExitStack):
    def __init__(self, where: str, plugins: Sequence[str] = ()):
        super().__init__()
        self.where, self.place = where, _find_place(where)
        self.warn: Callable[[str], None] = print
        self.plugins = worker.write_plugins(plugins)
        self.newcomers: deque[str] = deque()
        self.retired: set[str] = set()
        self.deaths: list[str] = []
        self.queue, self.suspects = deque[Trial](), deque[Trial]()
        #: The futures of submitted tasks by their keys, each with its trials and whether it runs alone.
        self.flying: dict[str, tuple[Any, list[Trial], bool]] = {}
        #: What a trial of a kind took in the last task of it.
        self.seconds: dict[Kind, float] = {}
        self.retries = Counter[str]()
        self.parcels: dict[str, Any] = {}
        self.answers: SimpleQueue[tuple[Any, Any]] = SimpleQueue()
        self.threads = 0

    def __enter__(self) -> Self:
        """Connect, before a run writes anything."""
        with ExitStack() as undone:
            undone.callback(self.close)
            self.client = connect(self.where, self.place, self)
            self.client.subscribe_topic("all", self._note_event)
            for address, reason in find_others(self.client):
                raise UserError(f"{self.where} cannot be used: the worker {address} has {reason}")
            undone.pop_all()
        return self

    def execute(self, trials: Sequence[Trial], stop: StopFlag) -> Iterator[Record]:
        """Yield records as trials finish; after a stop, only those of trials that were done in time."""
        self.queue.extend(order_by_cost(trials))
        self.fetchers = ThreadPoolExecutor(FETCHERS, "olbench-fetch")
        if not self._ask(self.client.nthreads):
            self.warn("the cluster has no workers yet; the run starts when one joins")
        try:
            while not stop.is_set() and (self.queue or self.suspects or self.flying):
                self._check_connection()
                self._submit()
                with suppress(Empty):
                    future, answer = self.answers.get(timeout=PAUSE)
                    yield from self._take(future, answer)
                    future.release()  # after it was recorded; before, a death of its worker would repeat it
        finally:
            self._cancel()

    def _cancel(self) -> None:
        futures = [future for future, *_ in self.flying.values()] + list(self.parcels.values())
        for waiting in (self.queue, self.suspects, self.flying, self.parcels):
            waiting.clear()
        if self.client.status == "running" and futures:
            with suppress(Exception):
                self.client.cancel(futures, force=True)
        # Before the client closes: a fetch from a closed client never ends.
        self.fetchers.shutdown(wait=False, cancel_futures=True)

    def _ask(self, question: Callable[..., Any], *words: Any, **options: Any) -> Any:
        try:
            return question(*words, **options)
        except TimeoutError:
            self._check_connection()
            raise
        except (OSError, RuntimeError, AttributeError):
            raise self._lost() from None

    def _check_connection(self) -> None:
        if self.client.status != "running":
            raise self._lost()

    def _lost(self) -> SchedulerLostError:
        return SchedulerLostError(
            f"the scheduler of {self.where} is gone; finished trials are kept, and the same command resumes "
            "from there"
        )

    def _retire_others(self, addresses: Sequence[str] | None = None) -> int:
        """Retire workers with another olbench, of these or of all; return how many there were."""
        others = list(self._ask(lambda: list(find_others(self.client, addresses))))
        for address, reason in others:
            self._retire(address, f"it has {reason}")
        return len(others)

    def _retire(self, address: str, reason: str) -> None:
        if address not in self.retired:  # several of its trials may be refused
            self.warn(f"the worker {address} is retired: {reason}")
            self.retired.add(address)
            self._ask(self.client.retire_workers, [address])
        # One that is closing is still listed.
        if not self._ask(self.client.nthreads).keys() - self.retired:
            raise UserError(f"no worker is left; {address}: {reason}")

    def _note_event(self, event: tuple[float, Any]) -> None:
        _, content = event
        action = content.get("action") if isinstance(content, Mapping) else ""
        if action == "add-worker":
            self.newcomers.append(str(content["worker"]))
        elif action == "remove-worker" and not content.get("expected", False):
            lost = sum(str(key).startswith("olbench-") for key in content.get("processing-tasks", ()))
            again = f" with {count(lost, 'trial')} on it, to be run again" if lost else ""
            self.deaths.append(f"a worker of the cluster died{again}")

    def _submit(self) -> None:
        """Keep the scheduler supplied; a trial that Dask has given up on runs when nothing else does."""
        if not self.threads or self.newcomers:
            addresses = [self.newcomers.popleft() for _ in range(len(self.newcomers))]
            threads = self._ask(self.client.nthreads)
            if late := [address for address in addresses if address in threads]:
                self._retire_others(late)
            self.threads = sum(threads.values())
        while self.queue and len(self.flying) < max(LEAST_AHEAD, AHEAD * self.threads):
            self._launch(self._take_chunk())
        if self.suspects and not self.queue and not self.flying:
            self._launch([self.suspects.popleft()], alone=True)

    def _take_chunk(self) -> list[Trial]:
        """Take the trials of a task: of one kind, and no more than leave tasks for all threads."""
        trials = [self.queue.popleft()]
        kind = kind_of(vars(trials[0]))
        if kind in self.seconds and not isinstance(get_protocol(trials[0].protocol), InParts):
            size = min(MOST_OF_TASK, int(TASK_SECONDS / max(1e-9, self.seconds[kind])))
            size = min(size, len(self.queue) // (2 * max(1, self.threads)))
            while self.queue and len(trials) < size and kind_of(vars(self.queue[0])) == kind:
                trials.append(self.queue.popleft())
        return trials

    def _launch(self, trials: list[Trial], alone: bool = False, parcel: Any = None) -> None:
        """Submit trials; with a parcel, Dask takes the data to whichever worker runs them."""
        message = worker.write_message(trials, self.plugins)
        key = f"olbench-{trials[0].key}-{uuid.uuid4().hex[:12]}"
        future = self.client.submit(worker.run_task, message, alone, parcel, pure=False, key=key)
        self.flying[key] = future, trials, alone
        future.add_done_callback(self._fetch_in_thread)

    def _fetch_in_thread(self, future: Any) -> None:
        with suppress(RuntimeError):  # the run has ended, and the fetchers with it
            self.fetchers.submit(self._fetch, future)

    def _fetch(self, future: Any) -> None:
        try:
            self.answers.put((future, future.result()))
        except BaseException as error:
            self.answers.put((future, error))

    def _take(self, future: Any, answer: Any) -> Iterator[Record]:
        from distributed.scheduler import KilledWorker

        if future.key not in self.flying:
            return
        _, trials, alone = self.flying.pop(future.key)
        if isinstance(answer, KilledWorker) and not alone:
            self.suspects.extend(trials)
        elif isinstance(answer, KilledWorker):
            reason = "workers died with this trial, also when nothing else ran; is there enough memory?"
            yield fail(trials[0], RuntimeError(reason))
        elif isinstance(answer, CancelledError):
            # A new scheduler at the same address knows nothing of this run.
            if getattr(answer, "reason", "") == "scheduler-connection-lost":
                raise self._lost()
            self.parcels.pop(trials[0].fingerprint, None)  # a worker may have died with the data
            yield from self._retry(trials, "the scheduler forgot it")
        elif isinstance(answer, BaseException):
            if self._retire_others():
                yield from self._retry(trials, str(answer))
            else:
                yield from (fail(trial, answer) for trial in trials)
        elif "needs_data" in answer:
            self._send_data(trials, alone)
        elif "refused" in answer:
            self._retire(answer["worker"].partition(" ")[0], answer["refused"])
            yield from self._retry(trials, "every worker refused it")
        else:
            records = answer["records"]
            if records:
                self.seconds[kind_of(records[0])] = answer["seconds"] / len(records)
            yield from ({**record, "worker": answer["worker"]} for record in records)
            yield from self._retry(trials[len(records) :], "it was cancelled")

    def _retry(self, trials: Sequence[Trial], reason: str) -> Iterator[Record]:
        for trial in reversed(trials):
            self.retries[trial.key] += 1
            if self.retries[trial.key] > RETRIES:
                yield fail(trial, RuntimeError(f"given up: {reason}"))
            else:
                self.queue.appendleft(trial)

    def _send_data(self, trials: list[Trial], alone: bool) -> None:
        """Submit trials with their data; the client sends it once, and workers pass it on to each other."""
        wanted = trials[0].fingerprint
        try:
            if wanted not in self.parcels:
                sent = self._ask(
                    self.client.scatter, [pack(trials[0].source)], hash=False, timeout=CONNECT_SECONDS
                )
                [self.parcels[wanted]] = sent
            self._launch(trials, alone, self.parcels[wanted])
        except TimeoutError:  # the workers have gone in the meantime
            self.queue.extendleft(reversed(trials))


def find_others(client: Any, addresses: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
    """Yield the workers that would not compute what this process does, and what they have."""
    ours = worker.identify()
    for address, answer in client.run(worker.identify, workers=addresses, on_error="return").items():
        if isinstance(answer, str) and answer != ours:
            yield address, f"olbench {answer}, and this run has {ours}"
        elif isinstance(answer, BaseException) and not isinstance(answer, OSError):
            yield address, f"no olbench or a very different one, and this run has {ours}"


def connect(where: str, place: int | str, stack: ExitStack) -> Any:
    try:
        import dask.config
        import distributed
    except ImportError:
        raise UserError('--cluster needs Dask; get it with `pip install "olbench[cluster]"`') from None
    stack.callback(logging.disable, logging.root.manager.disable)
    logging.disable()
    stack.enter_context(dask.config.set(LOCAL))
    # Ctrl-C is for this process; the workers that it starts must not see it.
    with hold_interrupts():
        cluster = stack.enter_context(_start_workers(distributed, place)) if isinstance(place, int) else place
        try:
            client = distributed.Client(
                cluster, timeout=CONNECT_SECONDS, set_as_default=False, name="olbench"
            )
        except (OSError, ValueError, TypeError) as error:
            reason = str(error) or "no answer"
            raise UserError(
                f"there is no scheduler at {where}: {reason}; start one with `dask scheduler`"
            ) from None
    stack.callback(_close, client)
    return client


def _close(client: Any) -> None:
    with suppress(Exception):
        client.close(timeout=1)


def _start_workers(distributed: Any, workers: int) -> Any:
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= files < FILES * (workers + 1):  # a worker that cannot open a file is started again and again
        raise UserError(
            f"a cluster with {count(workers, 'worker')} on this machine needs {FILES * (workers + 1):,} open "
            f"files, and {files:,} may be open; raise the limit, as with `ulimit -n 1024`, or use --jobs"
        )
    options = {"memory_limit": 0, "dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
    try:
        return distributed.LocalCluster(n_workers=workers, threads_per_worker=1, **options)
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
        hint = (
            f"did you mean tcp://{where}?"
            if number.isdecimal()
            else "--cluster takes tcp://host:8786, local:4 or a scheduler file"
        )
        raise UserError(f"there is no file {where}; {hint}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{where} is not a scheduler file: {error}") from None
