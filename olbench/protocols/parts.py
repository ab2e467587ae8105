"""Trials in parts, which a cluster may spread over its workers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from olbench.protocols.definition import Stopped
from olbench.records.trial import Outcome, Trial

T = TypeVar("T")


class InParts(ABC):
    """A mix-in for protocols; their `run` gives what `finish` makes of all parts, joined by `fold`."""

    @abstractmethod
    def parts(self, trial: Trial) -> int:
        """Return the number of parts of a trial; 0 if it can only be run as a whole."""

    @abstractmethod
    def run_part(self, trial: Trial, part: int, stopped: Stopped) -> Any:
        """Return the result of a part, which can be pickled; its method `join` takes that of another."""

    @abstractmethod
    def finish(self, trial: Trial, joined: Any, stopped: Stopped) -> Outcome: ...


def fold(leaves: Iterable[T], join: Callable[[T, T], T]) -> T:
    """A binary tree whose shape depends on the number of leaves alone; at most log2(n) subtrees are held."""
    trees: list[tuple[int, T]] = []
    for leaf in leaves:
        height, tree = 0, leaf
        while trees and trees[-1][0] == height:
            tree = join(trees.pop()[1], tree)
            height += 1
        trees.append((height, tree))
    if not trees:
        raise ValueError("there are no parts to join")
    _, total = trees.pop()
    while trees:
        total = join(trees.pop()[1], total)
    return total
