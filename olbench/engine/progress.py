"""Progress on standard error: drawn by rich on terminals and in notebooks, in lines elsewhere."""

import importlib
import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

from olbench.data.compressed import listen_to_reading
from olbench.engine.display import can_redraw, make_bar, wrap
from olbench.engine.resources import duration
from olbench.errors import count
from olbench.protocols.definition import Kind
from olbench.records.quantities import Quantity
from olbench.records.trial import Record

ALL = "all"
#: The share of the estimated cost that is done before the time left is worth saying.
CREDIBLE = 0.05


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


class Progress:
    """What is done, in words and in trials; the time left follows the estimated cost of trials."""

    def __init__(self) -> None:
        self.words = self.share = ""
        self.since = self.begin = time.monotonic()
        self.quantity: Quantity | None = None
        self.planned: dict[Kind, int] = {}
        self.costs: Mapping[Kind, float] = {}
        self.done = Counter[Kind]()
        self.reused_cost = 0.0
        self.values: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
        #: Set by Ctrl-C.
        self.stop = Event()

    def say(self, text: str) -> None:
        """Show the current activity before or between trials."""
        if text.partition(":")[0] != self.words.partition(":")[0]:
            self.since = time.monotonic()
        self.words, self.share = text, ""
        self.show()

    def follow_reading(self, position: int, size: int) -> None:
        share = f"{position / size:.0%}" if size else f"{position / 1e6:,.0f} MB"
        if share != self.share:
            self.share = share
            self.show()

    def start(
        self,
        planned: dict[Kind, int],
        costs: Mapping[Kind, float],
        reused: Iterable[Record],
        quantity: Quantity,
    ) -> None:
        """Show the trials of a run, given how many there are of each kind and what one costs, in any unit."""
        self.planned, self.costs, self.quantity = planned, costs, quantity
        for record in reused:
            self._count(record)
        _, self.reused_cost = self.sum_up(self.done)
        self.since = self.begin = time.monotonic()
        self.words = "running"
        self.show()

    def add(self, record: Record) -> None:
        self._count(record)
        self.words = ""
        self.show()

    def _count(self, record: Record) -> None:
        self.done[record["dataset"], record["algorithm"], str(dict(record["options"]))] += 1
        if self.quantity and record["status"] == "ok" and record["role"] == "report":
            # A config can list an algorithm several times; the entries differ in at least one of these.
            entry = record["algorithm"], str([record.get(name) for name in ("params", "options", "setting")])
            self.values[record["dataset"]][entry].append(self.quantity.of(record))

    def sum_up(self, trials: Mapping[Kind, int], dataset: str = ALL) -> tuple[int, float]:
        """Return how many of these trials are on a data set, and what they cost."""
        own = {kind: n for kind, n in list(trials.items()) if dataset in (ALL, kind[0])}
        return sum(own.values()), sum(n * self.costs[kind] for kind, n in own.items())

    @property
    def state(self) -> str:
        """The current activity and for how long it has lasted or, between trials, the time left."""
        if self.stop.is_set():
            return "stopping"
        if self.words:
            words = f"{self.words}, {self.share}" if self.share else self.words
            return f"{words} ({duration(time.monotonic() - self.since)})"
        (_, planned), (_, done) = self.sum_up(self.planned), self.sum_up(self.done)
        if planned <= done or done <= self.reused_cost:
            return "almost done"
        elapsed = time.monotonic() - self.begin
        share = (done - self.reused_cost) / (planned - self.reused_cost)
        if share < CREDIBLE:
            return f"running ({duration(elapsed)})"
        return f"about {duration(elapsed * (1 / share - 1))} left"

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
        (done, _), (planned, _) = self.sum_up(self.done), self.sum_up(self.planned)
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

    def start(self, planned: dict[Kind, int], *about: Any) -> None:
        # The line for all of them comes last.
        self.bars.remove_task(self.tasks.pop(ALL))
        for name in (*dict.fromkeys(dataset for dataset, *_ in planned), ALL):
            self.tasks[name] = self.bars.add_task(name, note="")
        super().start(planned, *about)

    def show(self) -> None:
        self.bars.start()

    def update(self) -> None:
        for name, task in list(self.tasks.items()):
            (done, _), (planned, _) = self.sum_up(self.done, name), self.sum_up(self.planned, name)
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
