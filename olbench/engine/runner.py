"""A run: what is missing from the ledger, in waves, until every cell has its report."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from olbench.engine.estimate import Kind, Share
from olbench.engine.executor import Task, attempt, execute, warm_up
from olbench.engine.ledger import Ledger, LedgerFullError
from olbench.engine.progress import Progress
from olbench.engine.stopping import StopFlag
from olbench.experiments.online import Cell
from olbench.experiments.trial import Record

#: The counts of a trial that must not change, whoever runs it and however fast.
COUNTS = ("n", "mistakes", "updates", "effective_updates", "breakdowns")


@dataclass
class Run:
    """The trials of some cells: those in the ledger are taken from there, the others run and added."""

    cells: Sequence[Cell]
    ledger: Ledger
    jobs: int
    stop: StopFlag
    progress: Progress
    #: "exclusive" if the reported trials are to be timed alone after the counts.
    timing: str = "shared"

    def __post_init__(self) -> None:
        # A trial that failed in an earlier run is tried again, so it is not known.
        self.known = {key: record for key, record in self.ledger.records.items() if record["status"] == "ok"}
        self.fresh: list[Record] = []

    @property
    def failed(self) -> list[Record]:
        """The records of trials that failed now."""
        return [record for record in self.fresh if record["status"] == "failed"]

    @property
    def reused(self) -> int:
        """How many trials of an earlier run serve this one."""
        needed = {trial.key for cell in self.cells for trial in cell.trials(self.known)}
        return len((needed & self.known.keys()) - {record["key"] for record in self.fresh})

    @property
    def missing(self) -> bool:
        """Whether anything is left to run."""
        return bool(self.due()) or (self.timing == "exclusive" and any(self._untimed()))

    def due(self) -> list[Task]:
        """Return the trials that can run now: those known so far to be needed that are not done."""
        tasks: dict[str, Task] = {}
        for cell in self.cells:
            for trial in cell.trials(self.known):
                if trial.key not in self.known:
                    tasks[trial.key] = Task(trial, cell.source)
        return list(tasks.values())

    def complete(self, before_wave: Callable[[], None] = lambda: None) -> None:
        """Run what is missing: the counts, and then the times if they are to be measured alone.

        `before_wave` is called whenever tunings have decided and before what follows from that runs.
        """
        self._start_progress()
        self._count(before_wave)
        if self.timing == "exclusive":
            self._measure_alone()

    def _count(self, before_wave: Callable[[], None]) -> None:
        """Run wave after wave: a tuning decides which trials come after it."""
        plugins = self.cells[0].config.plugins
        while not self.stop.is_set() and (tasks := self.due()):
            before_wave()
            self.progress.expect(self._planned())
            records = execute(tasks, self.jobs, self.stop, plugins)
            try:
                for record in records:
                    self._keep(record)
            except LedgerFullError:
                self.stop.set()
                for _ in records:  # let the workers come to their end
                    continue
                raise

    def _planned(self) -> dict[Kind, int]:
        """Return how many trials of each kind there will be, as far as is known."""
        counts: dict[Kind, int] = {}
        for cell in self.cells:
            again = cell.config.permutations if self.timing == "exclusive" else 0
            counts[cell.kind] = counts.get(cell.kind, 0) + cell.planned(self.known) + again
        return counts

    def _start_progress(self) -> None:
        costs = {cell.kind: cell.cost for cell in self.cells}
        planned = self._planned()
        self.progress.start({kind: Share(planned[kind], cost) for kind, cost in costs.items()}, self.jobs)
        needed = {trial.key for cell in self.cells for trial in cell.trials(self.known)}
        for key in needed & self.known.keys():
            self.progress.add(self.known[key], reused=True)

    def _keep(self, record: Record) -> None:
        self.ledger.append(record)
        self.known[record["key"]] = self.ledger.records[record["key"]]
        self.fresh.append(self.known[record["key"]])
        self.progress.add(record)

    def _measure_alone(self) -> None:
        """Run the reported trials again one by one, pinned to one core, and keep their times."""
        tasks = list(self._untimed())
        warm_up(tasks, self.stop)
        with pinned():
            for task in tasks:
                record = attempt(task.trial, task.source, self.stop)
                if record is None:
                    return
                self._keep(_exclusive(record, self.known[task.trial.key]))

    def _untimed(self) -> Iterator[Task]:
        """Yield the reported trials that went well and have no time measured alone."""
        for cell in self.cells:
            for trial in cell.reported(self.known):
                record = self.known.get(trial.key)
                if record and record["status"] == "ok" and record["timing"] != "exclusive":
                    yield Task(trial, cell.source)


def _exclusive(record: Record, before: Record) -> Record:
    """Return the record of an exclusive timing; counts that differ from the shared run are a failure."""
    changed = [name for name in COUNTS if record[name] != before[name]]
    if record["status"] == "ok" and changed:
        error = f"measured alone, {changed[0]} is {record[changed[0]]}, not {before[changed[0]]}"
        record = {**record, "status": "failed", "error": error}
    return {**record, "timing": "exclusive"}


@contextmanager
def pinned() -> Iterator[None]:
    """Keep this process on one core, where the system can, with one thread for BLAS."""
    from threadpoolctl import threadpool_limits

    before = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else set()
    if before:
        os.sched_setaffinity(0, {max(before)})
    try:
        with threadpool_limits(1):
            yield
    finally:
        if before:
            os.sched_setaffinity(0, before)
