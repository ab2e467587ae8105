"""A run: the missing trials, in waves, until every cell is complete."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from olbench.algorithms import get_definition
from olbench.engine.local import Executor, LocalExecutor, attempt, warm_up
from olbench.engine.plan import RunPlan, describe_data, refuse_too_many
from olbench.engine.progress import Progress, show_progress
from olbench.engine.resources import guess_cost
from olbench.engine.reuse import OtherRun, select_usable
from olbench.engine.stopping import StopFlag, stop_on_interrupt
from olbench.errors import UserError, count
from olbench.protocols.definition import Cell, numbers_of
from olbench.protocols.recorded import RecordedRun
from olbench.protocols.specs import Experiment
from olbench.records import provenance, run_file
from olbench.records.arrays import with_arrays
from olbench.records.compare import compare_records
from olbench.records.ledger import Ledger, LedgerFullError, open_ledger
from olbench.records.record import without_series
from olbench.records.run_file import DataFacts, RunFile
from olbench.records.trial import Record, Trial


@contextmanager
def open_run(
    folder: Path,
    cells: Sequence[Cell],
    jobs: int,
    *,
    quiet: bool = False,
    timing: str = "shared",
    executor: Executor | None = None,
    reuse: Sequence[OtherRun] = (),
) -> Iterator["Run"]:
    config = cells[0].config
    refuse_too_many(cells)
    with open_ledger(folder) as ledger, stop_on_interrupt() as stop, show_progress(quiet) as progress:
        progress.stop = stop
        own = executor or LocalExecutor(jobs, config.plugins, progress.say)
        if hasattr(own, "warn"):
            own.warn = progress.warn
        yield Run(cells, ledger, own, stop, progress, timing, folder, reuse)


@dataclass
class Run:
    """The trials of some cells: those in the ledger are reused, the others are run and added to it."""

    cells: Sequence[Cell]
    ledger: Ledger
    executor: Executor
    stop: StopFlag
    progress: Progress
    #: "exclusive" if the reported trials are timed again, alone, after the counts.
    timing: str
    folder: Path
    reuse: Sequence[OtherRun] = ()
    start: str = field(default_factory=run_file.now)
    has_work: bool = True

    def __post_init__(self) -> None:
        # Trials that failed in an earlier run are tried again, so they do not count as known; nor do records
        # without a number that the config asks for now.
        self.known: dict[str, Record] = select_usable(
            self.ledger.records.values(), self.cells[0], self.ledger.path
        )
        self.plan = RunPlan(self.cells, self.timing == "exclusive")
        self.fresh: list[Record] = []
        self.lenders = {
            key: other
            for other in reversed(self.reuse)
            for key in select_usable(other.records.values(), self.cells[0], other.folder)
        }
        self.earlier = RunFile({})
        with suppress(UserError):
            self.earlier = run_file.read(self.folder)
        self.origins = {each["run"]: each for each in self.earlier.reused}
        #: The workers that died in earlier runs and in this one, and how many of these were reported.
        self.deaths, self.told = self.earlier.deaths, 0
        self.written: Mapping[str, Any] | None = None

    def copy_reused(self) -> None:
        """Copy the trials that can run now from other runs, after run.json names these."""
        while self.lenders and (due := self.stop.or_none(self._find_due)):
            found = [trial.key for trial in due if trial.key in self.lenders]
            if not found:
                return
            for other in {id(each): each for each in map(self.lenders.__getitem__, found)}.values():
                self.origins |= {about["run"]: about for about in other.describe()}
            self.write()
            copied = self.ledger.append_all(self.lenders[key].read(key) for key in found)
            self.known |= {record["key"]: record for record in copied}

    @property
    def failed(self) -> list[Record]:
        return [record for record in self.fresh if record["status"] == "failed"]

    @property
    def reused(self) -> int:
        needed = {trial.key for trial in self.plan.trials}
        return len((needed & self.known.keys()) - {record["key"] for record in self.fresh})

    @property
    def missing(self) -> bool:
        return bool(self.stop.or_none(self._find_due)) or (
            self.timing == "exclusive" and any(self._untimed())
        )

    def _find_due(self) -> list[Trial]:
        return self.plan.next(self.known)

    @cached_property
    def origin(self) -> dict[str, Any]:
        about = {"versions": provenance.versions(), "machine": provenance.machine()}
        return {**about, **provenance.commit()}

    @cached_property
    def data(self) -> dict[str, DataFacts]:
        first = {cell.source.name: cell for cell in reversed(self.cells)}
        return {cell.source.name: describe_data(first[cell.source.name]) for cell in self.cells}

    def describe(self, end: str | None) -> RunFile:
        self._find_due()  # trials that came back since may have decided a tuning
        definitions = [get_definition(id) for id in dict.fromkeys(cell.spec.id for cell in self.cells)]
        return RunFile(
            config=_plain(self.cells[0].config),
            data=self.data,
            cells=self.plan.describe_cells(),
            **self.origin,
            start=self.start,
            end=end,
            reused=tuple(self.origins.values()),
            deaths=self.deaths,
            titles={each.id: each.title for each in definitions if each.is_own and each.title != each.id},
        )

    def write(self, end: str | None = None) -> None:
        """Write run.json if that changes it: at the start, when a tuning has decided, and at the end."""
        content = self.describe(end).plain()
        if content != self.written:
            self.ledger.sync()
            run_file.write(self.folder, content)
            self.written = content

    @property
    def is_described(self) -> bool:
        if not self.earlier.end or self.written is not None:
            return False
        before, now = self.earlier.plain(), self.describe(None).plain()
        for facts in (*before["data"].values(), *now["data"].values()):
            for name in ("majority", "groups"):  # older records do not have them; the fingerprint covers them
                facts.pop(name, None)
        same = all(before[name] == now[name] for name in ("data", "cells"))
        with suppress(UserError):
            return same and _plain(RecordedRun(self.folder, self.earlier).config) == now["config"]
        return False

    def complete(self, record: bool = False) -> None:
        """Run the missing trials; then time the reported ones alone, if asked for.

        With `record`, run.json is written before every wave, with the outcome of each finished tuning.
        """
        if record:
            self.write()
        self.stop.or_none(self._start_progress)
        self._count(record)
        if self.timing == "exclusive":
            self._measure_alone()

    def _count(self, record: bool) -> None:
        """Run in waves: the outcome of a tuning decides which trials come next."""
        while not self.stop.is_set():
            self.copy_reused()
            if not (trials := self._find_due()):
                return
            if record:
                self.write()
            left = Counter(trial.dataset for trial in trials)
            running = self.executor.execute(trials, self.stop)
            try:
                for finished in running:
                    self._tell_deaths()
                    self._keep(finished)
                    self._release(finished["dataset"], left)
                if not (self.stop.is_set() or any(trial.key in self.known for trial in trials)):
                    raise UserError(
                        f"none of {count(len(trials), 'trial')} came back under its own key; the protocol or "
                        "the executor changes trials while they run"
                    )
            except LedgerFullError:
                self.stop.set()
                for _ in running:  # let the workers finish
                    continue
                raise

    def _tell_deaths(self) -> None:
        found = list(getattr(self.executor, "deaths", ()))[self.told :]
        for text in found:
            self.progress.warn(text)
        self.told, self.deaths = self.told + len(found), (*self.deaths, *found)

    def _release(self, dataset: str, left: Counter[str]) -> None:
        """Close a source after its last trial; a tuning that has just decided may ask for more."""
        left[dataset] -= 1
        if left[dataset] or self.timing == "exclusive":
            return
        if not self.plan.next(self.known, dataset):
            next(cell.source for cell in self.cells if cell.source.name == dataset).close()

    def _start_progress(self) -> None:
        costs = {
            cell.kind(role, options): guess_cost(cell.source, cell.rounds, cell.spec.id, options)
            for cell in self.cells
            for role in ("tune", "report")
            for options in cell.all_options
        }
        self._find_due()
        needed = {trial.key for trial in self.plan.trials}
        reused = [self.known[key] for key in needed & self.known.keys()]
        quantity, jobs = self.cells[0].protocol.quantities[0], getattr(self.executor, "jobs", 0)
        self.progress.start(self.plan.planned, costs, reused, quantity, jobs)

    def _keep(self, record: Record) -> None:
        self.known[record["key"]] = kept = self.ledger.append(self._confirm(record))
        self.fresh.append(kept)
        self.progress.add(record)

    def _measure_alone(self) -> None:
        """Run the reported trials again, one at a time and pinned to one core, and keep their times."""
        trials = list(self._untimed())
        warm_up(trials, self.stop, self.progress.say)
        self.progress.say("")
        with pin_to_one_core():
            for trial in trials:
                record = attempt(trial, self.stop)
                if record is None:
                    return
                self._keep({**record, "timing": "exclusive"})

    def _untimed(self) -> Iterator[Trial]:
        # Cells may share trials, which are timed once.
        reported = {trial.key: trial for trial in self.plan.reported}
        for key, trial in reported.items():
            record = self.known.get(key)
            if record and record["status"] == "ok" and record["timing"] != "exclusive":
                yield trial

    def _confirm(self, record: Record) -> Record:
        """Return a record; a trial that ran before, shared or with fewer measures, must count the same."""
        before = self.ledger.records.get(record["key"])
        if before and before["status"] == record["status"] == "ok":
            numbers = numbers_of(self.cells[0].protocol)
            pair = with_arrays(self.folder, before), without_series(record)
            for changed in compare_records(numbers, *pair):
                was, now = changed.values
                return {
                    **record,
                    "status": "failed",
                    "error": f"run again, {changed.name} is {now}, not {was}",
                }
        return record


def _plain(config: Experiment) -> Any:
    return json.loads(json.dumps(config.plain()))


@contextmanager
def pin_to_one_core() -> Iterator[None]:
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
