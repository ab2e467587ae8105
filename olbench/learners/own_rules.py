"""Users' rules in compiled code: they may fail, or loop forever.

Numba reports an error, such as an index out of range, in every round, in a way that cannot be caught, and
continues with zeros.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from threading import Lock, Thread, local
from typing import Any, TypeVar

from olbench.algorithms.definition import Definition
from olbench.errors import UserError, describe_error, find_line

Item = TypeVar("Item")
#: Seconds between checks of work in a thread, and how long it may continue after a stop.
PAUSE, PATIENCE = 0.05, 0.5


class _Hooks:
    before: Callable[[Any], object] = sys.__unraisablehook__
    listeners = 0


_hooks, _heard = Lock(), local()


@contextmanager
def raise_errors(definition: Definition) -> Iterator[None]:
    with _hooks:
        _Hooks.listeners += 1
        if sys.unraisablehook is not _hear:
            _Hooks.before, sys.unraisablehook = sys.unraisablehook, _hear
    before = getattr(_heard, "errors", None)
    errors: list[BaseException] = []
    _heard.errors = errors
    try:
        yield
    finally:
        _heard.errors = before
        with _hooks:
            _Hooks.listeners -= 1
            if not _Hooks.listeners and sys.unraisablehook is _hear:
                sys.unraisablehook = _Hooks.before
    for error in errors:
        raise describe_failure(definition, error)


def describe_failure(definition: Definition, error: BaseException) -> UserError:
    line = find_line(error, definition.file)
    place = f"{definition.file}:{line}: " if line else definition.place
    return UserError(f"{place}the rule of '{definition.id}' fails during a pass: {describe_error(error)}")


def _hear(unraisable: Any) -> None:
    errors = getattr(_heard, "errors", None)
    if errors is None or "numba" not in str(unraisable.object):
        _Hooks.before(unraisable)
    elif not errors:
        errors.append(unraisable.exc_value)


def run_rule(
    definition: Definition, work: Callable[[], Item], is_stopped: Callable[[], bool] = lambda: False
) -> Item | None:
    """Return the result of some work with an algorithm; None if it does not stop when it should.

    A user's rule may loop forever. Ctrl-C cannot interrupt compiled code, but it can interrupt a thread that
    waits for it, so such work runs in a thread of its own.
    """
    if not definition.is_own or definition.rule is None:
        return work()
    outcome: Future[Item] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    Thread(target=run, daemon=True).start()
    patience = PATIENCE
    try:
        while patience > 0:
            wait([outcome], timeout=PAUSE)
            if outcome.done():
                return outcome.result()
            patience -= PAUSE if is_stopped() else 0.0
    except KeyboardInterrupt:
        wait([outcome], timeout=PATIENCE)  # so that nobody reads arrays that still change
        raise
    return None
