"""How frequent the features are that say most about the label (cw2012, Figure 1)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from olbench.data.load import load_dataset
from olbench.learners.examples import Floats, Ints
from olbench.report.figures.canvas import legend_height, new_page
from olbench.report.figures.palette import BLACK, BLUE, VERMILLION
from olbench.report.figures.weights import gaussian_figure

#: The paper shows "sentiment data"; this is one of its seven domains.
DATASET = "amazon-electronics"
SHARE = 0.25


@dataclass(frozen=True)
class Ranking:
    features: Ints
    information: Floats
    counts: Floats


def mutual_information(present: Ints, positive: Ints, rows: int, positives: int) -> Floats:
    """Return the mutual information, in bits, of the label and of whether a feature is in a row.

    `present` counts the rows that have the feature, `positive` those of them whose label is +1.

    >>> mutual_information(np.array([2, 2]), np.array([2, 1]), 4, 2).tolist()
    [1.0, 0.0]
    """
    information = np.zeros(present.size)
    for label, total in ((positive, positives), (present - positive, rows - positives)):
        for joint, share in ((label, present), (total - label, rows - present)):
            with np.errstate(divide="ignore", invalid="ignore"):
                term = joint / rows * np.log2(joint * rows / (share * float(total)))
            information += np.where(joint > 0, term, 0.0)
    # Rounding can leave a little less than nothing.
    return np.maximum(information, 0.0)


def rank_features(X: Any, y: Floats) -> tuple[Ranking, Ranking]:
    """The top quarters of negative features, and of positive ones: with more positive rows than average."""
    occurs = X != 0
    present = np.asarray(occurs.sum(axis=0), np.int64).ravel()
    positive = np.asarray(occurs[y > 0].sum(axis=0), np.int64).ravel()
    rows, positives = y.size, int((y > 0).sum())
    information = mutual_information(present, positive, rows, positives)
    counts = np.asarray(X.sum(axis=0), np.float64).ravel()
    lean = positive * rows - present * positives
    return _rank(lean < 0, information, counts), _rank(lean > 0, information, counts)


def _rank(chosen: NDArray[np.bool_], information: Floats, counts: Floats) -> Ranking:
    features = np.flatnonzero(chosen)
    # Stable, so that features with the same information keep the order of the data.
    order = features[np.argsort(-information[features], kind="stable")]
    top = order[: round(SHARE * order.size)]
    return Ranking(top, information[top], counts[top])


def frequency_figure(dataset: str = DATASET) -> Figure:
    data = load_dataset(dataset)
    rankings = rank_features(data.X, np.asarray(data.y))
    rare = sum(int((ranking.counts < 10).sum()) for ranking in rankings)
    total = sum(ranking.features.size for ranking in rankings)
    dot: dict[str, Any] = {"marker": ".", "markersize": 4, "markeredgewidth": 0, "linestyle": "none"}
    samples = [
        Line2D([], [], color=VERMILLION, label="a negative feature", **dot),
        Line2D([], [], color=BLUE, label="a positive feature", **dot),
        Line2D([], [], color=BLACK, linewidth=1.0, label="median over the ranks 1, 2-3, 4-7, 8-15, ..."),
    ]
    heading = f"{data.name}: features by mutual information with the label, and their counts"
    caption = (
        f"The top quarter of the negative and of the positive features of {data.name}, ranked by mutual "
        f"information with the label. {rare / total:.0%} of them occur fewer than ten times."
    )
    height = 3.6 - legend_height(samples)
    with new_page(heading, height, samples, caption, columns=2, below=0.45, left=0.7) as (figure, panels):
        top = max(float(ranking.counts.max()) for ranking in rankings)
        sides = ("negative", VERMILLION), ("positive", BLUE)
        for panel, ranking, (name, colour) in zip(panels, rankings, sides, strict=True):
            _draw_ranking(panel, ranking, colour)
            panel.set_ylim(0.8, 2 * top)
            panel.set_title(f"{name} features: the top {ranking.features.size:,}")
        panels[0].set_ylabel("count in the data")
    return figure


def _draw_ranking(panel: Axes, ranking: Ranking, colour: str) -> None:
    ranks = np.arange(1, ranking.features.size + 1)
    # As an image in PDF and SVG: there are tens of thousands of points.
    dots: dict[str, Any] = {"alpha": 0.35, "markersize": 2.2, "markeredgewidth": 0, "rasterized": True}
    panel.plot(ranks, ranking.counts, ".", color=colour, gid="features", **dots)
    panel.plot(*median_line(ranking.counts), color=BLACK, linewidth=1.0, gid="median")
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel("rank by mutual information")
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


ILLUSTRATIONS = {"cw2012-figure-1": frequency_figure, "cw2012-figure-2": gaussian_figure}
