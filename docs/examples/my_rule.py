"""Your own algorithm: AROW that learns only from mistakes and small margins."""

from olbench import Parameter, second_order


@second_order(
    "timid-arow",
    title="Timid AROW",
    source="docs/own-algorithm.md",
    parameters=(
        Parameter("r", 1.0, "regularisation, as in AROW", grid=(0.25, 1.0, 4.0)),
        Parameter("margin", 0.5, "learn when the margin is below this", closed="left"),
    ),
    monotone=True,
)
def timid_arow(m, v, mistake, t, p):
    """Update as AROW does, but only when the margin is below `margin`."""
    r, margin = p[0], p[1]
    loss = margin - m
    if loss <= 0.0:
        return 0.0, 0.0, 0.0
    return loss, (1.0 - m) / (v + r), 1.0 / r
