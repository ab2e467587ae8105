"""Algorithms from a user's own file (a plugin)."""

import copyreg
import sys
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import fields
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from olbench.algorithms.definition import REGISTRY, Definition
from olbench.algorithms.registry import get_definition
from olbench.plugins import PREFIX, load_file

Item = TypeVar("Item")
#: Seconds between two looks at work that runs aside, and how long it may go on after a stop.
PAUSE, PATIENCE = 0.05, 0.5


def restore(id: str, module: str, file: str) -> Definition:
    if module.startswith(PREFIX) and module not in sys.modules:
        load_plugin(file)
    return get_definition(id)


def _reduce(definition: Definition) -> tuple[Any, ...]:
    """Return how a definition is pickled: a listed one by its id and file, since rules cannot be pickled."""
    if REGISTRY.get(definition.id) is not definition:
        return Definition, tuple(getattr(definition, each.name) for each in fields(definition))
    return restore, (definition.id, definition.module, definition.file)


copyreg.pickle(Definition, _reduce)


def load_plugin(path: str | Path) -> list[Definition]:
    """Run a Python file once and return the algorithms that it defines."""
    REGISTRY.load()
    name = load_file(path)
    return [definition for definition in REGISTRY.values() if definition.module == name]


def run_rule(
    definition: Definition, work: Callable[[], Item], is_stopped: Callable[[], bool] = lambda: False
) -> Item | None:
    """Return the result of some work with an algorithm; None if it does not stop when it should.

    A user's rule may loop forever. Ctrl-C cannot interrupt compiled code, but it can interrupt who
    waits for it, so such work runs in a thread.
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
        wait([outcome], timeout=PATIENCE)  # so that nobody reads what is nearly done while it changes
        raise
    return None
