"""Progress: bars on a terminal or in a notebook, otherwise a line every few seconds, or nothing."""

import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from html import escape
from typing import Any

from olbench.engine.display import can_redraw, make_bar, wrap
from olbench.engine.estimate import RecentPast, Share, TimeLeft, duration, rate
from olbench.engine.notebook import Place, is_notebook
from olbench.errors import count
from olbench.protocols.definition import Kind
from olbench.records.quantities import Quantity
from olbench.records.trial import Record

#: The seconds that a pace is measured over: a run gets faster or slower as others use the machine.
RECENT = 30.0


class Progress:
    def __init__(self, quantity: Quantity | None = None) -> None:
        self.quantity = quantity
        self.done = Counter[str]()
        self.values: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
        self.fresh = 0
        self.time_left = TimeLeft({}, 1)
        #: When trials of this run ended, and the seconds of all trials by then; the recent past only.
        self.past = RecentPast(RECENT)

    def start(self, shares: Mapping[Kind, Share], jobs: int) -> None:
        self.time_left = TimeLeft(shares, jobs)

    def expect(self, planned: Mapping[Kind, int]) -> None:
        for kind, trials in planned.items():
            self.time_left.shares[kind].planned = trials

    @property
    def totals(self) -> Counter[str]:
        totals = Counter[str]()
        for (dataset, *_), share in self.time_left.shares.items():
            totals[dataset] += share.planned
        return totals

    def add(self, record: Record, reused: bool = False) -> None:
        self.done[record["dataset"]] += 1
        self.time_left.take(record, reused)
        if self.quantity and record["status"] == "ok" and record["role"] == "report":
            # A config can list an algorithm several times; the entries differ in at least one of these.
            entry = record["algorithm"], str([record.get(name) for name in ("params", "options", "setting")])
            self.values[record["dataset"]][entry].append(self.quantity.of(record))
        if not reused:
            # What came before the first trial went into compilation and says nothing about the rest.
            self.past.note(self.time_left.done)
            self.fresh += 1
            self.show(record["dataset"])

    def best(self, dataset: str) -> str:
        means = [(sum(values) / len(values), id) for (id, _), values in self.values[dataset].items()]
        means = [each for each in means if not math.isnan(each[0])]
        if not means or self.quantity is None:
            return ""
        quantity = self.quantity
        mean, id = min(means, key=lambda pair: float(quantity.loss(pair[0])))
        return f"best {id} {quantity.text(mean)}"

    def describe(self, dataset: str) -> str:
        best = self.best(dataset)
        return f"{self.pace}; {dataset}: {best}" if best else self.pace

    @property
    def seconds_left(self) -> float:
        begin, done = self.past[0] if self.past else (time.monotonic(), 0.0)
        return self.time_left.seconds(time.monotonic() - begin, self.time_left.done - done)

    @property
    def pace(self) -> str:
        """The rate and the time left, in words.

        The longest trials run first, so the rate so far is no guide. The one shown is that of the trials
        left, so that it agrees with the time left.
        """
        left, seconds = self.totals.total() - self.done.total(), self.seconds_left
        if left <= 0 or seconds <= 0:
            return "almost done" if left <= 0 else "time left unknown"
        return f"{rate(left / seconds)}, about {duration(seconds)} left"

    def show(self, dataset: str) -> None:
        """Show that a trial of this data set has finished."""

    def say(self, text: str) -> None:
        """Show what goes on between trials."""

    def warn(self, text: str) -> None:
        with suppress(OSError):  # nobody reads standard error: no reason to end the run
            print(wrap(f"olbench: {text}", sys.stderr), file=sys.stderr, flush=True)

    def close(self) -> None:
        """Stop showing."""


class Lines(Progress):
    PAUSE = 5.0

    def __init__(self, quantity: Quantity | None = None) -> None:
        super().__init__(quantity)
        self.last = time.monotonic()

    def show(self, dataset: str) -> None:
        now = time.monotonic()
        if now - self.last < self.PAUSE or self.fresh < 2:
            return
        self.last = now
        done, total = self.done.total(), self.totals.total()
        self._print(f"{done:,} of {count(total, 'trial')}, {self.describe(dataset)}")

    def say(self, text: str) -> None:
        now = time.monotonic()
        if now - self.last >= self.PAUSE:
            self.last = now
            self._print(text)

    @staticmethod
    def _print(line: str) -> None:
        with suppress(OSError):  # nobody reads standard error: no reason to end the run
            print(line, file=sys.stderr, flush=True)


class Bars(Progress):
    def __init__(self, quantity: Quantity | None = None) -> None:
        super().__init__(quantity)
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("{task.description}"), make_bar(), MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
        )  # fmt: skip
        self.bars = RichProgress(*columns, console=Console(stderr=True), transient=True)
        self.tasks: dict[str, Any] = {}

    def start(self, shares: Mapping[Kind, Share], jobs: int) -> None:
        super().start(shares, jobs)
        for name, total in self.totals.items():
            self.tasks[name] = self.bars.add_task(name, total=total, note="")
        self.tasks[""] = self.bars.add_task("all", total=self.totals.total(), note="")
        self.bars.start()

    def expect(self, planned: Mapping[Kind, int]) -> None:
        super().expect(planned)
        for name, total in {**self.totals, "": self.totals.total()}.items():
            self.bars.update(self.tasks[name], total=total)

    def show(self, dataset: str) -> None:
        self.bars.update(self.tasks[dataset], completed=self.done[dataset], note=self.best(dataset))
        self.bars.update(self.tasks[""], completed=self.done.total(), note=self.pace)

    def say(self, text: str) -> None:
        self.bars.update(self.tasks[""], note=text)

    def warn(self, text: str) -> None:
        self.bars.console.print(f"olbench: {text}", markup=False, highlight=False)

    def close(self) -> None:
        self.bars.stop()


class NotebookBar(Progress):
    PAUSE = 0.2

    def __init__(self, quantity: Quantity | None = None) -> None:
        super().__init__(quantity)
        self.place = Place()
        self.last = 0.0

    def show(self, dataset: str) -> None:
        self._draw(self.describe(dataset))

    def say(self, text: str) -> None:
        self._draw(text)

    def _draw(self, note: str) -> None:
        now = time.monotonic()
        if now - self.last < self.PAUSE:
            return
        self.last = now
        done, total = self.done.total(), self.totals.total()
        bar = f'<progress value="{done}" max="{total}"></progress>'
        self.place.write(f"{bar} {done:,} of {count(total, 'trial')}, {escape(note)}")

    def close(self) -> None:
        self.place.write(count(self.done.total(), "trial"))


def make_progress(quiet: bool, quantity: Quantity) -> Progress:
    if quiet:
        return Progress(quantity)
    kind = NotebookBar if is_notebook() else Bars if can_redraw() else Lines
    return kind(quantity)
