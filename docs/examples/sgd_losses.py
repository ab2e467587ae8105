"""SGD on two losses beside the modified Huber loss of `sgd`; docs/papers/cw2012.md refers to it."""

import math

from olbench import Parameter, first_order

STEPS = ("sqrt", "inverse")
PARAMETERS = (
    Parameter("eta0", 0.01, "size of the first step of the schedule sqrt", grid=(1e-4, 1e-3, 1e-2, 0.1, 1.0)),
    Parameter("lam", 1e-4, "weight of the penalty lam / 2 ||w||^2"),
    Parameter("step", "sqrt", "sqrt is eta0 / sqrt(t), inverse is 1 / (lam t)", choices=STEPS),
)


def constants(eta0, lam, step):
    """Return what the rules read as p."""
    return eta0, lam, STEPS.index(step)


@first_order("sgd-hinge", title="SGD, hinge", parameters=PARAMETERS, constants=constants)
def sgd_hinge(m, s, mistake, q, t, k, p):
    """Step against the gradient of max(0, 1 - m) plus lam / 2 ||w||^2."""
    eta = p[0] / math.sqrt(t) if p[2] == 0.0 else 1.0 / (p[1] * t)
    if m >= 1.0:
        return 0.0, 1.0 - eta * p[1], 0.0
    return 1.0 - m, 1.0 - eta * p[1], eta


@first_order("sgd-log", title="SGD, log loss", parameters=PARAMETERS, constants=constants)
def sgd_log(m, s, mistake, q, t, k, p):
    """Step against the gradient of log(1 + exp(-m)) plus lam / 2 ||w||^2."""
    eta = p[0] / math.sqrt(t) if p[2] == 0.0 else 1.0 / (p[1] * t)
    falling = math.exp(-abs(m))
    loss = math.log1p(falling) + max(0.0, -m)
    slope = falling / (1.0 + falling) if m > 0.0 else 1.0 / (1.0 + falling)
    return loss, 1.0 - eta * p[1], eta * slope
