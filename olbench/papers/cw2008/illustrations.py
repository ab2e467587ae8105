"""Illustrations: a Gaussian that CW has learnt (cw2008, Figure 3), and the confidence losses (Figure 4)."""

from decimal import Decimal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from olbench.algorithms.algorithm import make_algorithm
from olbench.data.load import load_run
from olbench.learners.examples import Floats
from olbench.papers.audit.gaussians import confidence_loss
from olbench.papers.audit.runs import replay
from olbench.report.figures.palette import BLACK, BLUE, GREY, ORANGE, SKY, VERMILLION
from olbench.report.figures.rounds import STEPS, ellipse
from olbench.report.figures.style import DASHES, mark_sample, new_page, set_ticks

#: Values of phi and their colours; the paper does not state its values.
PHIS = {0.25: SKY, 0.5: BLUE, 1.0: ORANGE, 2.0: VERMILLION}
LOW, HIGH, TOP = -2.0, 3.0, 6.0
DRAWN, LEARNT, ETA = "cw2008-synthetic", 50, 0.9
DOTS = DASHES["dot"]


def losses(margins: Floats, phi: float) -> list[float]:
    """Return the confidence loss of margins divided by their standard deviation; it is zero from phi on.

    >>> losses(np.array([-1.0, 0.0, 1.0, 2.0]), 1.0)
    [4.5, 1.0, 0.0, 0.0]
    """
    return [float(confidence_loss(Decimal(m), Decimal(phi))) if m < phi else 0.0 for m in margins.tolist()]


def loss_figure() -> Figure:
    margins = np.linspace(LOW, HIGH, 1001)
    heading = "The confidence loss for several φ, the squared hinge loss and the 0-1 loss"
    caption = (
        "The confidence loss of cw2008 (Lemma 5) for several phi, the squared hinge loss and the 0-1 loss, "
        "against the margin divided by its standard deviation."
    )
    step = [LOW, 0, 0, HIGH], [1, 1, 0, 0]
    lines = [
        Line2D(margins, losses(margins, phi), color=colour, linewidth=1.1, label=f"ℓ, φ = {phi:g}")
        for phi, colour in PHIS.items()
    ]
    hinge = {"color": GREY, "linestyle": DASHES["dash"], "linewidth": 1.1, "label": "squared hinge"}
    lines.append(Line2D(margins, np.maximum(1 - margins, 0) ** 2, **hinge))
    lines.append(Line2D(*step, color=BLACK, linestyle=DOTS, linewidth=1.1, label="0-1"))
    with new_page(heading, 3.0, lines, caption) as (figure, [panel]):
        for line in lines:
            panel.add_line(line)
        panel.set(xlim=(LOW, HIGH), ylim=(-0.08, TOP), xlabel="margin / standard deviation", ylabel="loss")
        panel.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    return figure


def synthetic_figure(run: int = 0) -> Figure:
    data = load_run(DRAWN, run)
    train = slice(None, data.test_from)
    learnt = replay(make_algorithm("cw", eta=ETA), data.X[:LEARNT], data.y[:LEARNT])
    samples = [
        mark_sample("label +1", BLUE, "+"),
        mark_sample("label \N{MINUS SIGN}1", VERMILLION, "."),
        Line2D([], [], color=BLACK, linewidth=0.9, linestyle=DOTS, label="true separator and weights"),
        Line2D([], [], color=BLACK, linewidth=1.4, label="informative pair"),
        Line2D([], [], color=GREY, linewidth=0.7, label="nine other pairs"),
    ]
    heading = f"{DRAWN}: data, and weights of CW-Stdev-full after {LEARNT} examples"
    caption = (
        f"The two informative features of {DRAWN}, and the Gaussian over the weights of CW with a full "
        f"covariance after {LEARNT} examples (eta = {ETA:g}), as ten pairs of weights: one deviation."
    )
    titles = "data: the two informative features", "weights: one deviation around the mean"
    with new_page(heading, 3.4, samples, caption, titles) as (figure, [features, weights]):
        _draw_features(features, data.X[train], data.y[train])
        _draw_ellipses(weights, learnt.means[-1], learnt.covariances[-1])
    return figure


def _draw_features(panel: Axes, X: Floats, y: Floats) -> None:
    panel.plot(*X[y > 0, :2].T, "+", color=BLUE, markersize=3, markeredgewidth=0.5, gid="positive")
    panel.plot(*X[y < 0, :2].T, ".", color=VERMILLION, markersize=3, markeredgewidth=0, gid="negative")
    reach = 1.05 * float(np.abs(X[:, :2]).max())
    panel.plot([-reach, reach], [-reach, reach], color=BLACK, linewidth=0.9, linestyle=DOTS, gid="separator")
    _square(panel, reach)
    panel.set(xlabel="first feature", ylabel="second feature")


def _draw_ellipses(panel: Axes, mean: Floats, covariance: Floats) -> None:
    for first in range(0, mean.size, 2):
        pair = slice(first, first + 2)
        colour, width, above = (BLACK, 1.4, 3) if first == 0 else (GREY, 0.7, 2)
        patch = ellipse(mean[pair], covariance[pair, pair], edgecolor=colour, linewidth=width, zorder=above)
        panel.add_patch(patch)
    reach = 1.08 * float((np.abs(mean) + np.sqrt(np.diag(covariance))).max())
    # The label is the sign of the second feature minus the first.
    panel.plot([0, -reach], [0, reach], color=BLACK, linewidth=0.9, linestyle=DOTS, gid="true weights")
    _square(panel, reach)
    panel.set(xlabel="first weight of a pair", ylabel="second weight of a pair")


def _square(panel: Axes, reach: float) -> None:
    panel.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    panel.grid(axis="x")
    set_ticks(panel.xaxis, 6, STEPS)
    set_ticks(panel.yaxis, 6, STEPS)


ILLUSTRATIONS = {"cw2008-figure-3": synthetic_figure, "cw2008-figure-4": loss_figure}
