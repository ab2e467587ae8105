"""The margins of a pass, kept round by round where somebody asks for them."""

from typing import Any

from olbench.kernels.compile import inlined


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
