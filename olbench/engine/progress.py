"""Progress: bars on a terminal, a line now and then elsewhere, or nothing."""

import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any

from olbench.engine.estimate import Share, TimeLeft, duration
from olbench.protocols.definition import Kind
from olbench.quantities import Quantity
from olbench.trials.trial import Record


class Progress:
    """Counts trials and keeps the best algorithm of each data set; shows nothing."""

    def __init__(self) -> None:
        self.totals: dict[str, int] = {}
        self.done: dict[str, int] = defaultdict(int)
        self.values: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
        self.quantity: Quantity | None = None
        self.started = time.monotonic()
        self.fresh = 0
        self.time_left = TimeLeft({}, 1)
        self.done_before = 0.0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def rank_by(self, quantity: Quantity) -> None:
        """Set the quantity that says which algorithm is best so far."""
        self.quantity = quantity

    def start(self, shares: Mapping[Kind, Share], jobs: int) -> None:
        """Set how many trials there are of each kind."""
        self.time_left = TimeLeft(shares, jobs)
        self.started = time.monotonic()
        self._count_totals()

    def expect(self, planned: Mapping[Kind, int]) -> None:
        """Correct how many trials there are of each kind, now that more is known."""
        for kind, count in planned.items():
            self.time_left.shares[kind].planned = count
        self._count_totals()

    def _count_totals(self) -> None:
        self.totals = {}
        for (dataset, *_), share in self.time_left.shares.items():
            self.totals[dataset] = self.totals.get(dataset, 0) + share.planned

    def add(self, record: Record, reused: bool = False) -> None:
        """Count a trial."""
        self.done[record["dataset"]] += 1
        self.time_left.take(record, reused)
        if not reused and self.fresh == 0:
            # what came before the first one was compilation, which says nothing about the rest
            self.started, self.done_before = time.monotonic(), self.time_left.done
        self.fresh += not reused
        if self.quantity and record["status"] == "ok" and record["role"] == "report":
            # Entries of one algorithm can differ in any of these.
            entry = record["algorithm"], str([record.get(name) for name in ("params", "options", "setting")])
            self.values[record["dataset"]][entry].append(self.quantity.of(record))
        if not reused:
            self.show(record["dataset"])

    def best(self, dataset: str) -> str:
        """Return the algorithm with the best mean on a data set so far, and that mean."""
        means = [(sum(values) / len(values), id) for (id, _), values in self.values[dataset].items()]
        if not means or self.quantity is None:
            return ""
        quantity = self.quantity
        mean, id = min(means, key=lambda pair: float(quantity.loss(pair[0])))
        return f"best {id} {quantity.text(mean)}"

    @property
    def speed(self) -> float:
        """Trials per second, without those of earlier runs."""
        return (self.fresh - 1) / max(1e-9, time.monotonic() - self.started)

    @property
    def pace(self) -> str:
        """Trials per second and the time left, in words."""
        elapsed, done = time.monotonic() - self.started, self.time_left.done - self.done_before
        return f"{self.speed:.1f} trials/s, about {duration(self.time_left.seconds(elapsed, done))} left"

    def show(self, dataset: str) -> None:
        """Show that a trial of this data set has finished."""

    def close(self) -> None:
        """Stop showing."""


class Lines(Progress):
    """A line on standard error every few seconds."""

    PAUSE = 5.0

    def __init__(self) -> None:
        super().__init__()
        self.last = time.monotonic()

    def show(self, dataset: str) -> None:
        """Print a line if the last one is old enough."""
        now = time.monotonic()
        if now - self.last < self.PAUSE or self.fresh < 2:
            return
        self.last = now
        done, total = sum(self.done.values()), sum(self.totals.values())
        line = f"{done} of {total} trials, {self.pace}; {dataset}: {self.best(dataset)}"
        with suppress(OSError):  # a run does not end because nobody reads about it
            print(line, file=sys.stderr, flush=True)


class Bars(Progress):
    """A bar for each data set and one for all."""

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
        )  # fmt: skip
        self.bars = RichProgress(*columns, console=Console(stderr=True), transient=True)
        self.tasks: dict[str, Any] = {}

    def start(self, shares: Mapping[Kind, Share], jobs: int) -> None:
        """Draw the bars."""
        super().start(shares, jobs)
        for name, total in self.totals.items():
            self.tasks[name] = self.bars.add_task(name, total=total, note="")
        self.tasks[""] = self.bars.add_task("all", total=sum(self.totals.values()), note="")
        self.bars.start()

    def expect(self, planned: Mapping[Kind, int]) -> None:
        """Lengthen the bars."""
        super().expect(planned)
        for name, total in {**self.totals, "": sum(self.totals.values())}.items():
            self.bars.update(self.tasks[name], total=total)

    def show(self, dataset: str) -> None:
        """Move the bar of a data set and that of all."""
        self.bars.update(self.tasks[dataset], completed=self.done[dataset], note=self.best(dataset))
        self.bars.update(self.tasks[""], completed=sum(self.done.values()), note=self.pace)

    def close(self) -> None:
        """Take the bars away."""
        self.bars.stop()


def make_progress(quiet: bool) -> Progress:
    """Return the progress display that suits standard error."""
    if quiet:
        return Progress()
    return Bars() if sys.stderr.isatty() else Lines()
