"""Executors: where trials run. `local` is this machine; every other file registers one under a scheme."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeVar

from olbench.plugins import import_all

if TYPE_CHECKING:
    from olbench.engine.local import Executor

Opener = Callable[[str, Sequence[str], Callable[[str], None]], AbstractContextManager["Executor"]]
AnyOpener = TypeVar("AnyOpener", bound=Opener)
REGISTRY: dict[str, Opener] = {}


def executor(scheme: str) -> Callable[[AnyOpener], AnyOpener]:
    """Register an executor for addresses such as scheme:rest; "" takes those that no other one does."""

    def register(opener: AnyOpener) -> AnyOpener:
        REGISTRY[scheme] = opener
        return opener

    return register


def open_executor(
    where: str, plugins: Sequence[str], say: Callable[[str], None]
) -> AbstractContextManager["Executor"]:
    import_all("olbench.engine")
    opener = REGISTRY.get(where.partition(":")[0], REGISTRY[""])
    return opener(where, plugins, say)
