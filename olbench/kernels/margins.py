"""A round of a pass: its number, its margin where margins are kept, and whether it is a mistake."""

from typing import Any

from olbench.kernels.compile import inlined
from olbench.kernels.counters import MISTAKES, ROUNDS


@inlined
def keep_margin(margins: Any, t: Any, f: Any, exponent: Any) -> None:
    """Write f, times 2 ** exponent in the units of the learner, as the margin of its t-th round.

    `margins` is a ring of a power of two of rounds, so that a slice of a pass needs no offset of its own. It
    has no rows unless margins are asked for; the branch is the same in every round and costs next to nothing.
    """
    if margins.shape[0] > 0:
        place = (t - 1) & (margins.shape[0] - 1)
        margins[place, 0] = f
        margins[place, 1] = exponent


@inlined
def count_round(counters: Any, margins: Any, f: Any, label: Any, exponent: Any = 0) -> Any:
    """Count a round with the margin f, and return its number, from 1, and whether it is a mistake."""
    mistake = (f >= 0.0) != (label > 0.0)
    counters[ROUNDS] += 1
    keep_margin(margins, counters[ROUNDS], f, exponent)
    counters[MISTAKES] += mistake
    return counters[ROUNDS], mistake
