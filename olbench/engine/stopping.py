"""Stopping: a flag that Ctrl-C sets and every pass asks for."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

Item = TypeVar("Item")


class StopFlag(threading.Event):
    """Set when everyone should stop. Threads ask for it; a wait for processes is broken off."""

    waiting = False

    def next_or_none(self, items: Iterator[Item]) -> Item | None:
        """Return the next item; None at the end, or at once when it is time to stop."""
        self.waiting = True
        try:
            return None if self.is_set() else next(items, None)
        except KeyboardInterrupt:
            return None
        finally:
            self.waiting = False


@contextmanager
def stop_on_interrupt() -> Iterator[StopFlag]:
    """Yield a flag that Ctrl-C or a polite kill sets; at the second Ctrl-C the process ends at once."""
    flag = StopFlag()

    def ask(number: int, frame: FrameType | None) -> None:
        impatient = flag.is_set() or flag.waiting
        flag.set()
        if impatient:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield flag
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def leave_interrupts_to_the_parent() -> None:
    """Ignore Ctrl-C in a worker process: the parent ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
