"""What goes on before the first trial: data is loaded, kernels are compiled. Said if it takes a while."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import escape
from threading import Event, Thread
from typing import Any

from olbench.data.compressed import listen_to_reading
from olbench.engine.display import can_redraw
from olbench.engine.estimate import duration
from olbench.engine.notebook import Place, is_notebook


class Activity:
    def __init__(self) -> None:
        self.text = ""
        self.share = ""
        self.started = time.monotonic()

    def say(self, text: str) -> None:
        if text.partition(":")[0] != self.text.partition(":")[0]:
            self.started = time.monotonic()
        self.text, self.share = text, ""
        self.show()

    def follow_reading(self, position: int, size: int) -> None:
        share = f"{position / size:.0%}" if size else f"{position / 1e6:,.0f} MB"
        if share != self.share:
            self.share = share
            self.show()

    @property
    def words(self) -> str:
        return f"{self.text}, {self.share}" if self.share else self.text

    def show(self) -> None:
        """Show that something has changed."""

    def close(self) -> None:
        """Stop showing."""


class SpokenActivity(Activity):
    """A line on standard error every few seconds, as long as nothing else is printed."""

    PAUSE = 5.0

    def __init__(self) -> None:
        super().__init__()
        self._ended = Event()
        self._thread = Thread(target=self._speak, daemon=True)
        self._thread.start()

    def _speak(self) -> None:
        while not self._ended.wait(self.PAUSE):
            self.speak()

    def speak(self) -> None:
        if self.text:
            with suppress(OSError, ValueError):  # nobody reads standard error: no reason to end the run
                elapsed = duration(time.monotonic() - self.started)
                print(f"{self.words} ({elapsed})", file=sys.stderr, flush=True)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()


class Spinner(Activity):
    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        self.line = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task: Any = None

    def show(self) -> None:
        if self.task is None:
            self.task = self.line.add_task(self.words)
            self.line.start()
        self.line.update(self.task, description=self.words)

    def close(self) -> None:
        self.line.stop()


class NotebookActivity(Activity):
    def __init__(self) -> None:
        super().__init__()
        self.place = Place()

    def show(self) -> None:
        self.place.write(escape(self.words))

    def close(self) -> None:
        if self.place.handle is not None:
            self.place.write("")


@contextmanager
def show_activity(quiet: bool) -> Iterator[Activity]:
    if quiet:
        yield Activity()
        return
    kind = NotebookActivity if is_notebook() else Spinner if can_redraw() else SpokenActivity
    activity: Activity = kind()
    try:
        with listen_to_reading(activity.follow_reading):
            yield activity
    finally:
        activity.close()
