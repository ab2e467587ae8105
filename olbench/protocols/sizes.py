"""What a trial holds in memory besides the examples and its learner."""

from collections.abc import Collection, Mapping
from typing import Any

from olbench.learners.passes import kept_bytes
from olbench.protocols.measures import FROM_MARGINS

#: Orders in windows: the bytes of a block of neighbouring rows, and how many random blocks are shuffled as
#: one. Both are fixed, so that an order does not depend on the machine.
BLOCK_BYTES, WINDOW_BLOCKS = 4 << 20, 8
#: The memory for a window: its rows, what they are copied from, and their norms.
WINDOW_BYTES = 3 * BLOCK_BYTES * WINDOW_BLOCKS


def scratch_bytes(wanted: Collection[str], n: int, setting: Mapping[str, Any]) -> int:
    """Return the bytes of the order of n examples, of several classes, and of what is kept per prediction.

    With windows, an order takes none for the other rows. A stream keeps the margins of all.
    """
    keeps = needs_margins(wanted) or "scored" in setting
    keep = "variances" if "log_loss" in wanted else "margins" if keeps else ""
    order = WINDOW_BYTES if setting.get("order") == "windows" else 8 * n
    return order + (8 * n if "classes" in setting else 0) + kept_bytes(n, keep)


def needs_margins(wanted: Collection[str]) -> bool:
    return not {"predictions", *FROM_MARGINS}.isdisjoint(wanted)
