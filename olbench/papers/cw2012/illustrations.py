"""Illustrations: how frequent informative features are (cw2012, Figure 1), and a Gaussian (Figure 2)."""

import math
from statistics import NormalDist
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from olbench.data.load import load_dataset
from olbench.learners.examples import Floats, Ints
from olbench.report.figures.palette import BLACK, BLUE, GREEN, GREY, VERMILLION
from olbench.report.figures.rounds import STEPS, ellipse
from olbench.report.figures.style import mark_sample, new_page, set_ticks

#: The paper shows "sentiment data"; this is one of its seven domains.
DATASET = "amazon-electronics"
SHARE = 0.25
EXAMPLE = np.array([0.5, 1.0])
#: The Gaussian of Figure 2; the paper does not print it, and this one fills its axes.
MEAN, COVARIANCE = np.array([2.0, 1.0]), np.array([[5.0, -3.0], [-3.0, 8.0]])
POINTS, SEED = 600, 2012


def mutual_information(present: Ints, positive: Ints, rows: int, positives: int) -> Floats:
    """Return the mutual information, in bits, of the label and of whether a feature is in a row.

    `present` counts the rows with the feature, `positive` the positive ones among them.

    >>> mutual_information(np.array([2, 2]), np.array([2, 1]), 4, 2).tolist()
    [1.0, 0.0]
    """
    information = np.zeros(present.size)
    for label, total in ((positive, positives), (present - positive, rows - positives)):
        for joint, share in ((label, present), (total - label, rows - present)):
            with np.errstate(divide="ignore", invalid="ignore"):
                term = joint / rows * np.log2(joint * rows / (share * float(total)))
            information += np.where(joint > 0, term, 0.0)
    # Rounding can make it slightly negative.
    return np.maximum(information, 0.0)


def rank_features(X: Any, y: Floats) -> list[Ints]:
    """Return the top quarters of negative and of positive features, which are in more positive rows."""
    occurs = X != 0
    present = np.asarray(occurs.sum(axis=0), np.int64).ravel()
    positive = np.asarray(occurs[y > 0].sum(axis=0), np.int64).ravel()
    rows, positives = y.size, int((y > 0).sum())
    information = mutual_information(present, positive, rows, positives)
    lean = positive * rows - present * positives
    # Stable, so that features with the same information keep the order of the data.
    order = np.argsort(-information, kind="stable")
    sides = [order[side[order]] for side in (lean < 0, lean > 0)]
    return [side[: round(SHARE * side.size)] for side in sides]


def frequency_figure(dataset: str = DATASET) -> Figure:
    data = load_dataset(dataset)
    totals = np.asarray(data.X.sum(axis=0), np.float64).ravel()
    ranked = [totals[top] for top in rank_features(data.X, np.asarray(data.y))]
    rare = (np.concatenate(ranked) < 10).mean()
    samples = [
        mark_sample("a negative feature", VERMILLION, "."),
        mark_sample("a positive feature", BLUE, "."),
        Line2D([], [], color=BLACK, linewidth=1.0, label="median over the ranks 1, 2-3, 4-7, 8-15, ..."),
    ]
    heading = f"{data.name}: features by mutual information with the label, and their counts"
    caption = (
        f"The top quarter of the negative and of the positive features of {data.name}, ranked by mutual "
        f"information with the label. {rare:.0%} of them occur fewer than ten times."
    )
    sides = {"negative": VERMILLION, "positive": BLUE}
    titles = [f"{name} features: the top {counts.size:,}" for name, counts in zip(sides, ranked, strict=True)]
    by = "rank by mutual information"
    with new_page(heading, 3.2, samples, caption, titles, by) as (figure, panels):
        for panel, counts, colour in zip(panels, ranked, sides.values(), strict=True):
            _draw_ranking(panel, counts, colour)
            panel.set_ylim(0.8, 2 * float(np.concatenate(ranked).max()))
        panels[0].set_ylabel("count in the data")
    return figure


def _draw_ranking(panel: Axes, counts: Floats, colour: str) -> None:
    ranks = np.arange(1, counts.size + 1)
    # As an image in PDF and SVG: there are tens of thousands of points.
    dots: dict[str, Any] = {"alpha": 0.35, "markersize": 2.2, "markeredgewidth": 0, "rasterized": True}
    panel.plot(ranks, counts, ".", color=colour, gid="features", **dots)
    panel.plot(*median_line(counts), color=BLACK, linewidth=1.0, gid="median")
    panel.set_xscale("log")
    panel.set_yscale("log")
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(LogLocator(numticks=8))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axis.set_minor_formatter(NullFormatter())


def median_line(counts: Floats) -> tuple[Floats, Floats]:
    """Return the middles of the ranges of ranks 1, 2-3, 4-7, 8-15 and so on, and the median counts there."""
    edges = 2 ** np.arange(int(counts.size).bit_length())
    pairs = list(zip(edges, np.append(edges[1:], counts.size + 1), strict=True))
    middles = np.array([np.sqrt(first * (last - 1.0)) for first, last in pairs])
    return middles, np.array([np.median(counts[first - 1 : last - 1]) for first, last in pairs])


def gaussian_figure() -> Figure:
    vectors = np.random.default_rng(SEED).multivariate_normal(MEAN, COVARIANCE, POINTS, method="cholesky")
    mean, deviation = margin_moments(MEAN, COVARIANCE, EXAMPLE)
    correct = NormalDist().cdf(mean / deviation)
    samples = [
        mark_sample("correct: w · x > 0", BLUE, "x"),
        mark_sample("wrong", GREEN, "."),
        Line2D([], [], color=BLACK, linewidth=0.9, label="w · x = 0"),
        mark_sample("mean, with one and two deviations around it", BLACK, "o"),
    ]
    heading = "A Gaussian over weight vectors, and the example x = (0.5, 1), y = +1"
    caption = (
        "A Gaussian over two-dimensional weight vectors, and the example x = (0.5, 1) with the label +1. "
        f"Vectors above the line, {correct:.1%} of the Gaussian, classify it correctly."
    )
    above = f"N({mean:g}, {deviation**2:g}), {correct:.1%} above zero"
    titles = "weight vectors", f"their margins: {above}"
    with new_page(heading, 3.4, samples, caption, titles) as (figure, [plane, margins]):
        _draw_half_planes(plane, vectors)
        _draw_margins(margins, vectors @ EXAMPLE, mean, deviation)
    return figure


def margin_moments(mean: Floats, covariance: Floats, example: Floats) -> tuple[float, float]:
    """Return mean and deviation of the margin w . x for w from a Gaussian (cw2012, eq. 4)."""
    return float(mean @ example), math.sqrt(float(example @ covariance @ example))


def _draw_half_planes(panel: Axes, vectors: Floats) -> None:
    correct = vectors @ EXAMPLE > 0
    panel.plot(*vectors[correct].T, "x", color=BLUE, markersize=2.6, markeredgewidth=0.5, gid="correct")
    panel.plot(*vectors[~correct].T, ".", color=GREEN, markersize=3.2, markeredgewidth=0, gid="wrong")
    panel.plot(*MEAN, "o", color=BLACK, markersize=4, zorder=4, gid="mean")
    for deviations in (1, 2):
        panel.add_patch(ellipse(MEAN, COVARIANCE, deviations, edgecolor=BLACK, linewidth=0.8, zorder=3))
    reach = np.array([-8.0, 12.0])
    panel.plot(reach, -EXAMPLE[0] / EXAMPLE[1] * reach, color=BLACK, linewidth=0.9, gid="hyperplane")
    panel.set(xlim=reach, ylim=(-9, 11), aspect="equal", xlabel="first weight", ylabel="second weight")
    set_ticks(panel.xaxis, 6, STEPS)
    set_ticks(panel.yaxis, 6, STEPS)


def _draw_margins(panel: Axes, margins: Floats, mean: float, deviation: float) -> None:
    edges = np.arange(-10, 16, 1.0)
    panel.hist(margins, edges.tolist(), density=True, histtype="step", color=GREY, linewidth=0.6, zorder=3)
    at = np.linspace(edges[0], edges[-1], 501)
    density = np.exp(-0.5 * ((at - mean) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))
    panel.plot(at, density, color=BLACK, linewidth=0.9, zorder=4)
    for side, colour in ((at >= 0, BLUE), (at <= 0, GREEN)):
        panel.fill_between(at, density, where=side, color=colour, alpha=0.25, linewidth=0, zorder=2)
    panel.axvline(0, color=BLACK, linewidth=0.9)
    panel.set(xlim=(mean - 4 * deviation, mean + 4 * deviation), xlabel="margin w · x")
    panel.set_ylim(bottom=0)
    set_ticks(panel.xaxis, 6, STEPS)
    set_ticks(panel.yaxis, 6, STEPS)


ILLUSTRATIONS = {"cw2012-figure-1": frequency_figure, "cw2012-figure-2": gaussian_figure}
