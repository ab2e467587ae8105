"""Stopping: one flag that threads and processes see at once, set by Ctrl-C."""

import mmap
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType


class StopFlag:
    """One byte of a file, mapped into the memory of every process that opens it by its path."""

    def __init__(self, path: str):
        self.path = path
        with open(path, "r+b") as file:
            self.byte = mmap.mmap(file.fileno(), 1)

    def is_set(self) -> bool:
        """Tell whether everyone should stop."""
        return self.byte[0] != 0

    def set(self) -> None:
        """Ask everyone to stop."""
        self.byte[0] = 1


@cache
def flag_at(path: str) -> StopFlag:
    """Return the flag at a path, opened once a process."""
    return StopFlag(path)


@contextmanager
def stop_on_interrupt() -> Iterator[StopFlag]:
    """Yield a flag that Ctrl-C or a polite kill sets; at the second Ctrl-C the process ends at once."""
    with tempfile.NamedTemporaryFile(prefix="olbench-stop-") as file:
        file.write(b"\0")
        file.flush()
        flag = StopFlag(file.name)

        def ask(number: int, frame: FrameType | None) -> None:
            if flag.is_set():
                raise KeyboardInterrupt
            flag.set()

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
    """Ignore Ctrl-C in a worker process: the parent's flag stops it, between two slices."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
