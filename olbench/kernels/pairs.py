"""What kernels take in place of a pair rule if the rule itself has the step."""

from typing import Any

from olbench.kernels.compile import PAIR_RULE, rule


def _take_no_step(m: float, v_y: float, v_s: float, p: Any) -> tuple[float, float]:
    return 0.0, 0.0


#: The address of a function that is never called.
NO_PAIR = rule(PAIR_RULE, _take_no_step)
