"""Stopping: a flag that Ctrl-C sets and every pass checks."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType
from typing import TypeVar

Item = TypeVar("Item")


class UserInterruptError(KeyboardInterrupt):
    """The user's own Ctrl-C, as opposed to a KeyboardInterrupt that a contestant raises."""


class StopFlag(threading.Event):
    """Set when everything should stop. Passes check it; work that cannot check it is interrupted."""

    is_interruptible = False

    def or_none(self, work: Callable[[], Item]) -> Item | None:
        self.is_interruptible = True
        try:
            if self.is_set():
                return None
            item = work()
            self.is_interruptible = False  # inside the block, so that no interrupt escapes it
            return item
        except KeyboardInterrupt:
            return None
        finally:
            self.is_interruptible = False


@contextmanager
def stop_on_interrupt() -> Iterator[StopFlag]:
    """Yield a flag that Ctrl-C or SIGTERM sets; a second Ctrl-C ends the process at once."""
    flag = StopFlag()

    def handle(number: int, frame: FrameType | None) -> None:
        impatient = flag.is_set() or flag.is_interruptible
        flag.set()
        if impatient:
            raise UserInterruptError

    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield flag
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def hold_interrupts() -> Iterator[None]:
    """Block SIGINT; child processes inherit the mask, and their parent ends them."""
    resource_tracker.ensure_running()  # starting it later would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def silence_threads(flag: StopFlag) -> Iterator[None]:
    """After a stop, print no traceback of a thread that lost its work."""
    before = threading.excepthook

    def show(failure: threading.ExceptHookArgs) -> None:
        if not flag.is_set():
            before(failure)

    threading.excepthook = show
    try:
        yield
    finally:
        threading.excepthook = before
