"""Gaussians over weights: one with an example (cw2012, Figure 2), and one learnt (cw2008, Figure 3)."""

import math
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse

from olbench.algorithms.algorithm import make_algorithm
from olbench.data.load import load_run
from olbench.learners.examples import Floats
from olbench.learners.passes import online_pass
from olbench.report.figures.canvas import DASHES, legend_height, new_page, set_ticks
from olbench.report.figures.palette import BLACK, BLUE, GREEN, GREY, VERMILLION

EXAMPLE = np.array([0.5, 1.0])
#: The Gaussian of the figure. The paper prints neither; these fill its axes.
MEAN, COVARIANCE = np.array([2.0, 1.0]), np.array([[5.0, -3.0], [-3.0, 8.0]])
POINTS, SEED = 600, 2012
LEARNT, ETA = 50, 0.9
DRAWN = "cw2008-synthetic"
DOTS = DASHES["dot"]
HEIGHT = 4.0
two_panels = partial(new_page, columns=2, below=0.45, left=0.5)
STEPS = (1, 2, 5, 10)


def gaussian_figure() -> Figure:
    vectors = np.random.default_rng(SEED).multivariate_normal(MEAN, COVARIANCE, POINTS, method="cholesky")
    mean, deviation = margin_moments(MEAN, COVARIANCE, EXAMPLE)
    samples = [
        _sample("correct: w · x > 0", BLUE, "x"),
        _sample("wrong", GREEN, "."),
        Line2D([], [], color=BLACK, linewidth=0.9, label="w · x = 0"),
        _sample("mean, with one and two deviations around it", BLACK, "o"),
    ]
    heading = "A Gaussian over weight vectors, and the example x = (0.5, 1), y = +1"
    caption = (
        "A Gaussian over two-dimensional weight vectors, and the example x = (0.5, 1) with the label +1. "
        f"Vectors above the line, {_normal_cdf(mean / deviation):.1%} of the Gaussian, classify it correctly."
    )
    height = HEIGHT - legend_height(samples)
    with two_panels(heading, height, samples, caption) as (figure, [plane, margins]):
        _draw_half_planes(plane, vectors)
        _draw_margins(margins, vectors @ EXAMPLE, mean, deviation)
    return figure


def margin_moments(mean: Floats, covariance: Floats, example: Floats) -> tuple[float, float]:
    """Return mean and deviation of the margin w . x for w from a Gaussian (cw2012, eq. 4)."""
    return float(mean @ example), math.sqrt(float(example @ covariance @ example))


def _normal_cdf(value: float) -> float:
    return 0.5 * math.erfc(-value / math.sqrt(2.0))


def _sample(label: str, colour: str, marker: str) -> Line2D:
    return Line2D([], [], color=colour, marker=marker, markersize=4, linestyle="none", label=label)


def _draw_half_planes(panel: Axes, vectors: Floats) -> None:
    correct = vectors @ EXAMPLE > 0
    panel.plot(*vectors[correct].T, "x", color=BLUE, markersize=2.6, markeredgewidth=0.5, gid="correct")
    panel.plot(*vectors[~correct].T, ".", color=GREEN, markersize=3.2, markeredgewidth=0, gid="wrong")
    panel.plot(*MEAN, "o", color=BLACK, markersize=4, zorder=4, gid="mean")
    for deviations in (1, 2):
        panel.add_patch(ellipse(MEAN, COVARIANCE, deviations, edgecolor=BLACK, linewidth=0.8, zorder=3))
    reach = np.array([-8.0, 12.0])
    panel.plot(reach, -EXAMPLE[0] / EXAMPLE[1] * reach, color=BLACK, linewidth=0.9, gid="hyperplane")
    panel.set(xlim=reach, ylim=(-9, 11), aspect="equal", title="weight vectors", xlabel="first weight")
    _number(panel)
    panel.set_ylabel("second weight", labelpad=1)


def _draw_margins(panel: Axes, margins: Floats, mean: float, deviation: float) -> None:
    edges = np.arange(-10, 16, 1.0)
    panel.hist(margins, edges.tolist(), density=True, histtype="step", color=GREY, linewidth=0.6, zorder=3)
    at = np.linspace(edges[0], edges[-1], 501)
    density = np.exp(-0.5 * ((at - mean) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))
    panel.plot(at, density, color=BLACK, linewidth=0.9, zorder=4)
    for side, colour in ((at >= 0, BLUE), (at <= 0, GREEN)):
        panel.fill_between(at, density, where=side, color=colour, alpha=0.25, linewidth=0, zorder=2)
    panel.axvline(0, color=BLACK, linewidth=0.9)
    title = f"their margins: N({mean:g}, {deviation**2:g}), {_normal_cdf(mean / deviation):.1%} above zero"
    panel.set(xlim=(mean - 4 * deviation, mean + 4 * deviation), title=title, xlabel="margin w · x")
    panel.set_ylim(bottom=0)
    _number(panel)


def ellipse(mean: Floats, covariance: Floats, deviations: float = 1.0, **look: Any) -> Ellipse:
    variances, axes = np.linalg.eigh(covariance)
    width, height = 2 * deviations * np.sqrt(variances[::-1])
    angle = math.degrees(math.atan2(axes[1, 1], axes[0, 1]))
    return Ellipse((float(mean[0]), float(mean[1])), width, height, angle=angle, fill=False, **look)


def learn_weights(run: int) -> tuple[Floats, Floats]:
    data = load_run(DRAWN, run)
    learner: Any = online_pass(make_algorithm("cw", eta=ETA), data.X[:LEARNT], data.y[:LEARNT]).learner
    scale = 2.0**-learner.scale_exponent
    return scale * learner.weights, scale**2 * learner.covariance


def synthetic_figure(run: int = 0) -> Figure:
    data = load_run(DRAWN, run)
    train = slice(None, data.test_from)
    mean, covariance = learn_weights(run)
    samples = [
        _sample("label +1", BLUE, "+"),
        _sample("label \N{MINUS SIGN}1", VERMILLION, "."),
        Line2D([], [], color=BLACK, linewidth=0.9, linestyle=DOTS, label="true separator and weights"),
        Line2D([], [], color=BLACK, linewidth=1.4, label="informative pair"),
        Line2D([], [], color=GREY, linewidth=0.7, label="nine other pairs"),
    ]
    heading = f"{DRAWN}: data, and weights of CW-Stdev-full after {LEARNT} examples"
    caption = (
        f"The two informative features of {DRAWN}, and the Gaussian over the weights of CW with a full "
        f"covariance after {LEARNT} examples (eta = {ETA:g}), as ten pairs of weights: one deviation."
    )
    height = HEIGHT - legend_height(samples)
    with two_panels(heading, height, samples, caption) as (figure, [features, weights]):
        _draw_features(features, data.X[train], data.y[train])
        _draw_ellipses(weights, mean, covariance)
    return figure


def _draw_features(panel: Axes, X: Floats, y: Floats) -> None:
    panel.plot(*X[y > 0, :2].T, "+", color=BLUE, markersize=3, markeredgewidth=0.5, gid="positive")
    panel.plot(*X[y < 0, :2].T, ".", color=VERMILLION, markersize=3, markeredgewidth=0, gid="negative")
    reach = 1.05 * float(np.abs(X[:, :2]).max())
    panel.plot([-reach, reach], [-reach, reach], color=BLACK, linewidth=0.9, linestyle=DOTS, gid="separator")
    _square(panel, reach)
    panel.set(title="data: the two informative features", xlabel="first feature")
    panel.set_ylabel("second feature", labelpad=1)


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
    panel.set(title="weights: one deviation around the mean", xlabel="first weight of a pair")
    panel.set_ylabel("second weight of a pair", labelpad=1)


def _square(panel: Axes, reach: float) -> None:
    panel.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    panel.grid(axis="x")
    _number(panel)


def _number(panel: Axes) -> None:
    set_ticks(panel.xaxis, 6, STEPS)
    set_ticks(panel.yaxis, 6, STEPS)
