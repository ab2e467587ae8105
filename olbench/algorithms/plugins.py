"""Algorithms from a user's own file (a plugin)."""

import copyreg
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any, NoReturn, TypeVar

from olbench.algorithms.definition import LOADS, REGISTRY, Definition
from olbench.algorithms.registry import definitions, get_definition
from olbench.errors import UserError, describe_error, find_line, is_file

PREFIX = "olbench_plugin_"
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
    definitions()
    if not is_file(Path(path)):
        raise UserError(f"there is no plugin file {path}")
    file = Path(path).resolve()
    # The module name depends on the path alone, so that numba finds what another process has compiled.
    name = f"{PREFIX}{file.stem}_{sha256(str(file).encode()).hexdigest()[:8]}"
    if name not in sys.modules:
        _execute(name, file, str(path))
    return [definition for definition in REGISTRY.values() if definition.module == name]


class FreshLoader(importlib.machinery.SourceFileLoader):
    """Runs the source as it is: Python's bytecode misses an edit that keeps the size within a second.

    It leaves no __pycache__ beside the user's file either.
    """

    def path_stats(self, path: str) -> NoReturn:
        """Have no date, without which bytecode is neither read nor written."""
        raise OSError


def make_module(name: str, file: Path) -> tuple[FreshLoader, ModuleType]:
    loader = FreshLoader(name, str(file))
    spec = importlib.machinery.ModuleSpec(name, loader, origin=str(file))
    spec.has_location = True
    sys.modules[name] = importlib.util.module_from_spec(spec)
    return loader, sys.modules[name]


def _execute(name: str, file: Path, given: str) -> None:
    if file.suffix != ".py":
        raise UserError(f"the plugin {given} must be a Python file (.py)")
    loader, module = make_module(name, file)
    LOADS.append(set())
    try:
        loader.exec_module(module)
    # sys.exit in a plugin would end the command as if all were well.
    except BaseException as error:
        # Leave nothing behind: the user may correct the file and load it again.
        sys.modules.pop(name, None)
        for id in [known.id for known in REGISTRY.values() if known.module == name]:
            del REGISTRY[id]
        if isinstance(error, UserError):
            raise
        line = find_line(error, str(file))
        place = f"{given}:{line}" if line else given
        raise UserError(f"{place}: the plugin failed: {describe_error(error)}") from error
    finally:
        LOADS.pop()


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
