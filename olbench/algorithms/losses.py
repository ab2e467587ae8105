"""The tolerance, the loss and the quantile that the rules share."""

from statistics import NormalDist

from olbench.kernels.losses import TOLERANCE, excess

__all__ = ["TOLERANCE", "excess", "quantile"]


def quantile(eta: float) -> float:
    """Return phi = Phi^-1(eta), the standard normal quantile."""
    return NormalDist().inv_cdf(eta)
