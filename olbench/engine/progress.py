"""Progress: bars on a terminal, a line now and then elsewhere, or nothing."""

import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any

from olbench.engine.estimate import Kind, Share, TimeLeft, duration
from olbench.experiments.trial import Record


class Progress:
    """Counts trials and keeps the best algorithm of each data set; shows nothing."""

    def __init__(self) -> None:
        self.totals: dict[str, int] = {}
        self.done: dict[str, int] = defaultdict(int)
        self.rates: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
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
        if record["status"] == "ok" and record["role"] == "report":
            setting = record["algorithm"], str(record.get("params"))
            self.rates[record["dataset"]][setting].append(record["mistakes"] / record["n"])
        if not reused:
            self.show(record["dataset"])

    def best(self, dataset: str) -> str:
        """Return the algorithm with the lowest mean mistake rate on a data set so far, and that rate."""
        means = [(sum(rates) / len(rates), id) for (id, _), rates in self.rates[dataset].items()]
        if not means:
            return ""
        mean, id = min(means, key=lambda pair: pair[0])
        return f"best {id} {mean:.4f}"

    @property
    def speed(self) -> float:
        """Trials a second, without those of earlier runs."""
        return (self.fresh - 1) / max(1e-9, time.monotonic() - self.started)

    @property
    def pace(self) -> str:
        """Trials a second and the time left, in words."""
        elapsed, done = time.monotonic() - self.started, self.time_left.done - self.done_before
        return f"{self.speed:.1f} a second, about {duration(self.time_left.seconds(elapsed, done))} left"

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
    """Return what suits standard error."""
    if quiet:
        return Progress()
    return Bars() if sys.stderr.isatty() else Lines()
