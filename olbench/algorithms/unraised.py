"""Errors of users' rules in compiled code, such as an index that is out of range.

Numba reports them as errors that nobody can catch, one per round, and goes on with zeros.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import local
from typing import Any

from olbench.algorithms.definition import Definition
from olbench.errors import UserError, describe_error


class _Hooks:
    before: Callable[[Any], object] = sys.__unraisablehook__


_heard = local()


@contextmanager
def raise_errors(definition: Definition) -> Iterator[None]:
    if sys.unraisablehook is not _hear:
        _Hooks.before, sys.unraisablehook = sys.unraisablehook, _hear
    before = getattr(_heard, "errors", None)
    errors: list[BaseException] = []
    _heard.errors = errors
    try:
        yield
    finally:
        _heard.errors = before
    for error in errors:
        raise UserError(
            f"{definition.place}the rule of '{definition.id}' fails during a pass: {describe_error(error)}"
        )


def _hear(unraisable: Any) -> None:
    errors = getattr(_heard, "errors", None)
    if errors is None or "numba" not in str(unraisable.object):
        _Hooks.before(unraisable)
    elif not errors:
        errors.append(unraisable.exc_value)
