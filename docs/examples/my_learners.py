"""Your own algorithms, by rules that see the label, keep numbers of their own and let Sigma forget."""

from olbench import Parameter, second_order

R = Parameter("r", 1.0, "regularisation, as in AROW", grid=(0.25, 1.0, 4.0))


@second_order(
    "weighted-arow",
    title="AROW with class weights",
    source="docs/own-algorithm.md",
    parameters=(R, Parameter("weight", 2.0, "of positive examples", grid=(1.0, 2.0, 4.0))),
    state=(),
)
def weighted_arow(m, v, y, mistake, t, p, s):
    """Multiply the loss of positive examples by `weight`."""
    r = p[0] / p[1] if y > 0.0 else p[0]
    loss = 1.0 - m
    if loss <= 0.0:
        return 0.0, 0.0, 0.0, 1.0
    return loss, loss / (v + r), 1.0 / r, 1.0


@second_order(
    "drifting-arow",
    title="AROW for drifts",
    source="docs/own-algorithm.md",
    parameters=(
        R,
        Parameter("memory", 0.98, "share that is kept while it forgets", high=1.0, closed="right"),
        Parameter("usual", 0.2, "forget while mistakes are at least as frequent", closed="left"),
    ),
    state=(0.0,),
)
def drifting_arow(m, v, y, mistake, t, p, s):
    """Forget while mistakes are frequent; s[0] is their share lately."""
    r, memory, usual = p[0], p[1], p[2]
    s[0] += 0.02 * (mistake - s[0])
    decay = memory if s[0] >= usual else 1.0
    loss = 1.0 - m
    if loss <= 0.0:
        return 0.0, 0.0, 0.0, decay
    return loss, loss / (v + r), 1.0 / r, decay


@second_order(
    "adagrad",
    title="AdaGrad",
    source="Duchi, Hazan & Singer, JMLR 2011, with diagonal matrices",
    parameters=(Parameter("eta", 0.1, "size of a step", grid=(0.01, 0.1, 1.0)),),
    state=(),
    root_step=True,
)
def adagrad(m, v, y, mistake, t, p, s):
    """Descend along the hinge loss, where c is the square of its slope."""
    if m >= 1.0:
        return 0.0, 0.0, 0.0, 1.0
    return 1.0 - m, p[0], 1.0, 1.0
