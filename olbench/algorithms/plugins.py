"""Algorithms from a user's own file (a plugin)."""

import copyreg
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Thread, local
from types import ModuleType
from typing import Any, NoReturn, TypeVar

from olbench.algorithms.definition import LOADS, REGISTRY, Definition
from olbench.algorithms.registry import definitions, get_definition
from olbench.errors import UserError, describe_error, find_line, is_file

PREFIX = "olbench_plugin_"
_end_process = os._exit
_guarded = local()
Item = TypeVar("Item")
#: Seconds between two looks at work that runs aside, and how long it may go on after a stop.
PAUSE, PATIENCE = 0.05, 0.5


def restore(id: str, module: str, file: str) -> Definition:
    """Return a pickled definition; load its plugin file if this process has not done so."""
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
    """Return the loader of a user's file and its module, which is listed under a name but not executed."""
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
        with _forbid_leaving():
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


class _Forks:
    """Whether a plugin is being loaded, and whether it has forked meanwhile."""

    watched = False
    seen = False

    @classmethod
    def note(cls) -> None:
        """Remember a fork."""
        cls.seen = cls.seen or cls.watched

    @classmethod
    def end_child(cls) -> None:
        """End the copy of this process: it would run the whole command a second time."""
        if cls.watched:
            _end_process(1)


@contextmanager
def forbid_exit() -> Iterator[None]:
    """Make os._exit an error in this thread: it would end the command with a code of the plugin's choice.

    So is os.execv, which would replace the command, once a plugin was loaded.
    """
    before = getattr(_guarded, "process", None)
    # The module with another name for it is posix or nt.
    sys.modules[os.name].__dict__["_exit"] = os._exit = _exit_unless_guarded
    _guarded.process = os.getpid()
    try:
        yield
    finally:
        _guarded.process = before


def _exit_unless_guarded(status: int) -> NoReturn:
    if _is_guarded():
        raise SystemExit(status)
    _end_process(status)


def _is_guarded() -> bool:
    # A process that a contestant has forked ends on its own.
    return getattr(_guarded, "process", None) == os.getpid()


@cache
def _watch_exec() -> None:
    def audit(event: str, arguments: Any) -> None:
        if event == "os.exec" and _is_guarded():
            raise RuntimeError(f"it replaces this process with {os.fsdecode(arguments[0])}; use subprocess")

    sys.addaudithook(audit)


@contextmanager
def _forbid_leaving() -> Iterator[None]:
    _watch_forks()
    _watch_exec()
    _Forks.watched, _Forks.seen = True, False
    try:
        with forbid_exit():
            yield
    finally:
        _Forks.watched = False
    if _Forks.seen:
        raise RuntimeError("it forks while it is loaded; start processes when the algorithm runs")


@cache
def _watch_forks() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_parent=_Forks.note, after_in_child=_Forks.end_child)
