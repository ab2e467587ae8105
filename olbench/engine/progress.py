"""Progress on standard error: drawn by rich on terminals and in notebooks, in lines elsewhere."""

import importlib
import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from statistics import median_low
from threading import Event, Thread
from typing import Any

from olbench.data.compressed import listen_to_reading
from olbench.engine.display import can_redraw, make_bar, wrap
from olbench.engine.resources import duration
from olbench.errors import count
from olbench.records.quantities import Quantity
from olbench.records.trial import Kind, Record, kind_of

ALL = "all"
#: How much of the time left may be of algorithms without a record, relative to the rest.
CREDIBLE = 0.25
#: From this many trials of a kind on, their own waits count.
USUAL = 5


def is_notebook() -> bool:
    find_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return hasattr(find_shell() if find_shell else None, "kernel")


@contextmanager
def show_progress(quiet: bool) -> Iterator["Progress"]:
    kind = Progress if quiet else NotebookBars if is_notebook() else Bars if can_redraw() else Lines
    progress = kind()
    try:
        with listen_to_reading(progress.follow_reading):
            yield progress
    finally:
        progress.close()


@dataclass
class Pace:
    """How long trials of each kind take, from those that are done."""

    costs: Mapping[Kind, float]
    #: How many run at a time; 0 if that is not known, as on a cluster.
    jobs: int = 0
    #: How many of a kind are done, the seconds of their passes, and those between one record and the next.
    seen: dict[Kind, tuple[int, float, float]] = field(default_factory=dict)

    def add(self, kind: Kind, seconds: float, wait: float) -> None:
        done, passes, waits = self.seen.get(kind, (0, 0.0, 0.0))
        self.seen[kind] = done + 1, passes + seconds, waits + wait

    def estimate(self, left: Mapping[Kind, int]) -> tuple[float, float]:
        """Return the seconds that these trials take: of algorithms that were seen, and a guess for others.

        Workers share the time between records. A long trial is on its way while short ones come back, so it
        takes at least its part of the time of all passes.
        """
        seen = dict(self.seen)  # the display asks in a thread of its own
        waited = sum(waits for *_, waits in seen.values())
        passed = sum(passes for _, passes, _ in seen.values())
        share = 1 / self.jobs if self.jobs else min(1.0, waited / passed) if passed else 1.0
        waiting = {kind: waits / done for kind, (done, _, waits) in seen.items()}
        passing = {kind: share * passes / done for kind, (done, passes, _) in seen.items()}
        usual = {kind for kind, (done, *_) in seen.items() if done >= USUAL}
        # What trials take beside their passes. The first few of a kind also wait for data and each other.
        beside = [max(0.0, waiting[kind] - passing[kind]) for kind in usual]
        overhead = median_low(beside or [min(waiting.values(), default=0.0)])
        took = {
            kind: max(passing[kind], waiting[kind] if kind in usual else min(overhead, waiting[kind]))
            for kind in seen
        }
        costs, work = defaultdict[tuple[str, ...], float](float), defaultdict[tuple[str, ...], float](float)
        for kind, (done, passes, _) in seen.items():
            for algorithm in (kind[1:3], ()):
                costs[algorithm] += done * self.costs[kind]
                work[algorithm] += share * passes
        known = guessed = 0.0
        for kind, number in left.items():
            algorithm = kind[1:3] if costs[kind[1:3]] else ()
            rate = work[algorithm] / costs[algorithm] if costs[algorithm] else 0.0
            seconds = number * (took[kind] if kind in took else max(overhead, rate * self.costs[kind]))
            known, guessed = (known + seconds, guessed) if algorithm else (known, guessed + seconds)
        return known, guessed


class Progress:
    """What is done, in words and in trials, and the time left."""

    def __init__(self) -> None:
        self.activity = self.words = self.share = ""
        self.since = self.begin = self.changed = time.monotonic()
        self.quantity: Quantity | None = None
        self.planned: Mapping[Kind, int] = {}
        self.done = Counter[Kind]()
        self.pace = Pace({})
        self.values: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
        #: Set by Ctrl-C.
        self.stop = Event()

    def say(self, activity: str, detail: str = "") -> None:
        """Show what goes on before or between trials, or with "" that trials run."""
        self.changed = time.monotonic()
        if activity != self.activity:
            self.since = self.changed
        self.activity, self.words, self.share = activity, f"{activity}{detail}", ""
        self.show()

    def follow_reading(self, position: int, size: int) -> None:
        share = f"{position / size:.0%}" if size else f"{position / 1e6:,.0f} MB"
        if share != self.share:
            self.share = share
            self.show()

    def start(
        self,
        planned: Mapping[Kind, int],
        costs: Mapping[Kind, float],
        reused: Iterable[Record],
        quantity: Quantity,
        jobs: int = 0,
    ) -> None:
        """Show the trials of a run, given how many there are of each kind and what one costs, in any unit."""
        self.planned, self.pace, self.quantity = planned, Pace(costs, jobs), quantity
        for record in reused:
            self._count(record)
        self.begin = time.monotonic()
        self.say("")

    def add(self, record: Record) -> None:
        now = time.monotonic()
        # A trial that comes back during an activity, such as the start of processes, has waited for that.
        self.pace.add(kind_of(record), record["seconds"] or 0.0, 0.0 if self.words else now - self.changed)
        self._count(record)
        self.say("")

    def _count(self, record: Record) -> None:
        self.done[kind_of(record)] += 1
        if self.quantity and record["status"] == "ok" and record["role"] == "report":
            # A config can list an algorithm several times; the entries differ in at least one of these.
            entry = record["algorithm"], str([record.get(name) for name in ("params", "options", "setting")])
            self.values[record["dataset"]][entry].append(self.quantity.of(record))

    @staticmethod
    def sum_up(trials: Mapping[Kind, int], dataset: str = ALL) -> int:
        """Return how many of these trials are on a data set."""
        return sum(number for kind, number in list(trials.items()) if dataset in (ALL, kind[0]))

    @property
    def state(self) -> str:
        """The current activity and for how long it has lasted or, between trials, the time left."""
        if self.stop.is_set():
            return "stopping"
        if self.words:
            words = f"{self.words}, {self.share}" if self.share else self.words
            return f"{words} ({duration(time.monotonic() - self.since)})"
        left = self._find_left()
        if not left:
            return "almost done"
        (known, guessed), now = self.pace.estimate(left), time.monotonic()
        is_bound = guessed > CREDIBLE * known
        seconds = max(0.0, known + (0.0 if is_bound else guessed) - (now - self.changed))
        if not self.pace.seen or (is_bound and not seconds):
            return f"running ({duration(now - self.begin)})"
        return f"{'at least' if is_bound else 'about'} {duration(seconds)} left"

    def _find_left(self) -> dict[Kind, int]:
        """Return how many trials are left; those with other tuned options than planned count as well."""
        done, left, extra = self.done.copy(), {}, Counter[tuple[str, str, str]]()
        for (dataset, algorithm, options, role), number in done.items():
            planned = self.planned.get((dataset, algorithm, options, role), 0)
            extra[dataset, algorithm, role] += max(0, number - planned)
        for kind, number in list(self.planned.items()):
            family = kind[0], kind[1], kind[3]
            rest = max(0, number - done[kind])
            taken = min(rest, extra[family])
            extra[family] -= taken
            if rest > taken:
                left[kind] = rest - taken
        return left

    def best(self, dataset: str) -> str:
        means = [(sum(values) / len(values), id) for (id, _), values in list(self.values[dataset].items())]
        means = [each for each in means if not math.isnan(each[0])]
        if not means or self.quantity is None:
            return ""
        quantity = self.quantity
        mean, id = min(means, key=lambda pair: float(quantity.loss(pair[0])))
        return f"best {id} {quantity.text(mean)}"

    def show(self) -> None:
        """Show that something has changed."""

    def warn(self, text: str) -> None:
        with suppress(OSError):  # nobody reads standard error: no reason to end the run
            print(wrap(f"olbench: {text}", sys.stderr), file=sys.stderr, flush=True)

    def close(self) -> None:
        """Stop showing."""


class Lines(Progress):
    PAUSE = 5.0

    def __init__(self) -> None:
        super().__init__()
        self.last = ""
        self._ended = Event()
        self._thread = Thread(target=self._speak, daemon=True)
        self._thread.start()

    def _speak(self) -> None:
        while not self._ended.wait(self.PAUSE):
            self.speak()

    def speak(self) -> None:
        done, planned = self.sum_up(self.done), self.sum_up(self.planned)
        counts = f"{done:,} of {count(planned, 'trial')}, " if planned else ""
        if not (self.words or counts) or (not self.words and counts == self.last):
            return
        self.last = counts
        with suppress(OSError, ValueError):  # nobody reads standard error: no reason to end the run
            print(f"{counts}{self.state}", file=sys.stderr, flush=True)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()


class Bars(Progress):
    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.progress import Progress as RichProgress
        from rich.progress import TextColumn

        self.tasks: dict[str, Any] = {}
        update = self.update

        class Redrawn(RichProgress):
            def get_renderables(self) -> Iterable[Any]:
                update()
                return super().get_renderables()

        columns = (TextColumn("{task.description}"), make_bar(), TextColumn("{task.fields[note]}"))
        self.bars = Redrawn(*columns, console=Console(stderr=True), transient=True)
        self.tasks[ALL] = self.bars.add_task("", total=None, note="")

    def start(self, planned: Mapping[Kind, int], *about: Any) -> None:
        # The line for all of them comes last.
        self.bars.remove_task(self.tasks.pop(ALL))
        for name in (*dict.fromkeys(dataset for dataset, *_ in planned), ALL):
            self.tasks[name] = self.bars.add_task(name, note="")
        super().start(planned, *about)

    def show(self) -> None:
        self.bars.start()

    def update(self) -> None:
        for name, task in list(self.tasks.items()):
            done, planned = self.sum_up(self.done, name), self.sum_up(self.planned, name)
            note = self.state if name == ALL else self.best(name)
            if planned:
                self.bars.update(task, completed=done, total=planned, note=f"{done:,}/{planned:,} {note}")
            else:
                self.bars.update(task, note=note)

    def warn(self, text: str) -> None:
        self.bars.console.print(f"olbench: {text}", markup=False, highlight=False)

    def close(self) -> None:
        self.bars.stop()


class NotebookBars(Bars):
    """The same bars below the cell of a notebook."""

    PAUSE = 0.2
    handle: Any = None
    drawn = -math.inf

    def show(self) -> None:
        if time.monotonic() - self.drawn >= self.PAUSE:
            self.drawn = time.monotonic()
            self.draw()

    def draw(self) -> None:
        if self.handle is None:
            self.handle = importlib.import_module("IPython.display").display(self.bars, display_id=True)
        else:
            self.handle.update(self.bars)

    def close(self) -> None:
        if self.handle is not None:
            self.draw()
