"""Stopping: a flag that Ctrl-C sets and every pass asks for."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType
from typing import TypeVar

Item = TypeVar("Item")


class StopFlag(threading.Event):
    """Set when everyone should stop. Passes ask for it; what cannot ask is broken off."""

    breakable = False

    def or_none(self, work: Callable[[], Item]) -> Item | None:
        """Return what some work returns; None if it is time to stop, also in the middle of it."""
        self.breakable = True
        try:
            if self.is_set():
                return None
            item = work()
            self.breakable = False  # in here, so that no interrupt comes after this block
            return item
        except KeyboardInterrupt:
            return None
        finally:
            self.breakable = False


@contextmanager
def stop_on_interrupt() -> Iterator[StopFlag]:
    """Yield a flag that Ctrl-C or a polite kill sets; at the second Ctrl-C the process ends at once."""
    flag = StopFlag()

    def ask(number: int, frame: FrameType | None) -> None:
        impatient = flag.is_set() or flag.breakable
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


@contextmanager
def holding_interrupts() -> Iterator[None]:
    """Let Ctrl-C wait. Processes started meanwhile never see it: their parent ends them."""
    resource_tracker.ensure_running()  # it would end the wait when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def quiet_threads(flag: StopFlag) -> Iterator[None]:
    """After a stop, print no traceback of a thread whose work was taken away from it."""
    before = threading.excepthook

    def show(failure: threading.ExceptHookArgs) -> None:
        if not flag.is_set():
            before(failure)

    threading.excepthook = show
    try:
        yield
    finally:
        threading.excepthook = before
