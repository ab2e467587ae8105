"""A Gaussian over weights round by round: ellipses before and after an example, and the example's line."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon

from olbench.algorithms.algorithm import Algorithm
from olbench.learners.examples import Floats
from olbench.learners.tracing import State, Trace, TracedRound
from olbench.report.figures.canvas import DASHES, new_page, panel_grid, set_ticks, turn_dark
from olbench.report.figures.palette import BLACK, BLUE, GREY, VERMILLION, display_name, on_dark
from olbench.report.figures.weights import STEPS, ellipse
from olbench.report.grid import compact, list_settings

#: Inches: the height of a panel with its titles.
PANEL = 2.5
#: The margins that are tried for a loss of zero; no paper asks for a larger one.
LARGEST_MARGIN = 2.0**20
WRONG_SIDE = 0.14


def rounds_figure(
    trace: Trace, rounds: Sequence[TracedRound], features: tuple[int, int], dark: bool
) -> Figure:
    rows, columns = panel_grid(len(rounds))
    view = _View(trace.algorithm, features, dark)
    samples = view.samples(rounds)
    diagonal = {"covariance": "diag"} if trace.algorithm.covariance == "diag" else {}
    settings = list_settings({**trace.algorithm.params, **diagonal})
    name = display_name(trace.algorithm.id) + (f" ({settings})" if settings else "")
    heading = f"{name}: the Gaussian over two weights, before and after an example"
    caption = (
        f"{heading}. Weights on the shaded side of the line misclassify the example. The ellipses are those "
        f"of {view.deviations:.2g} standard deviations."
    )
    height = rows * PANEL + 0.7
    titles = [describe(each) for each in rounds]
    margins = {"above": 0.66, "below": 0.45, "left": 0.5, "head": 0.6}
    with new_page(heading, height, samples, caption, rows, columns, titles, **margins) as (figure, panels):
        for panel, each in zip(panels, rounds, strict=True):
            view.draw(panel, each)
        width, height = figure.get_size_inches()
        box = panels[0].get_position()
        limits = view.limits(rounds, (width * box.width) / (height * box.height))
        for number, panel in enumerate(panels):
            panel.set(xlim=limits[0], ylim=limits[1])
            panel.set_xlabel(f"weight of feature {features[0]}" if number + columns >= len(panels) else "")
            panel.set_ylabel("" if number % columns else f"weight of feature {features[1]}", labelpad=1)
    if dark:
        turn_dark(figure)
    return figure


def draw_round(panel: Axes, trace: Trace, each: TracedRound, features: tuple[int, int]) -> Axes:
    view = _View(trace.algorithm, features, dark=False)
    view.draw(panel, each)
    box = panel.get_window_extent()
    limits = view.limits([each], box.width / box.height)
    panel.set(xlim=limits[0], ylim=limits[1], title=describe(each))
    panel.set(xlabel=f"weight of feature {features[0]}", ylabel=f"weight of feature {features[1]}")
    panel.legend(handles=view.samples([each]))
    return panel


def describe(each: TracedRound) -> str:
    outcome = "mistake" if each.mistake else "right" if each.updated else "right, no update"
    numbers = {"m": each.margin, "v": each.variance, "α": each.alpha}
    shown = {name: compact(value) for name, value in numbers.items() if value is not None}
    # Thin spaces: three numbers of any size fit above a panel.
    line = ", ".join(f"{name}\N{THIN SPACE}=\N{THIN SPACE}{value}" for name, value in shown.items())
    return f"round {each.t}: y = {each.label:+d}, {outcome}\n{line}".replace("-", "\N{MINUS SIGN}")


def required_margin(algorithm: Algorithm, v: float) -> float | None:
    """The least margin without a loss at variance v; None without one, or if the rule sees more."""
    if algorithm.definition.sees_label:
        return None
    rule, p = algorithm.definition.rule, algorithm.definition.rule_constants(algorithm.params)
    assert rule is not None

    def has_loss(m: float) -> bool:
        return bool(rule(m, v, False, 1, p)[0] > 0.0)

    low, high = 0.0, LARGEST_MARGIN
    if has_loss(high):
        return None
    while high - low > 1e-12 * high and high > 1e-300:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if has_loss(middle) else (low, middle)
    return high


class _View:
    def __init__(self, algorithm: Algorithm, features: tuple[int, int], dark: bool):
        self.algorithm, self.pair = algorithm, list(features)
        self.ink, self.before, self.after = (
            on_dark(colour) if dark else colour for colour in (BLACK, GREY, BLUE)
        )
        self.asked = on_dark(VERMILLION) if dark else VERMILLION
        one, four = (required_margin(algorithm, v) for v in (1.0, 4.0))
        #: Whether the rule asks for a number of standard deviations, which is then that of the ellipses.
        self.is_confident = (
            one is not None and one > 1e-9 and math.isclose(four or 0.0, 2.0 * one, rel_tol=1e-6)
        )
        self.deviations = one if self.is_confident and one is not None else 1.0

    def samples(self, rounds: Sequence[TracedRound]) -> list[Artist]:
        curve = f"{self.deviations:.2g} deviation{'' if self.deviations == 1.0 else 's'}"
        if self.is_confident:
            curve = f"φ = {curve}"
        dot: dict[str, Any] = {"marker": "o", "markersize": 3.5}
        dashed = {**dot, "linestyle": DASHES["dash"], "linewidth": 1.0, "markerfacecolor": "none"}
        found: list[Artist] = [
            Line2D([], [], color=self.before, label=f"before: mean and {curve}", **dashed),
            Line2D([], [], color=self.after, linewidth=1.2, label="after", **dot),
            Line2D([], [], color=self.ink, linewidth=0.9, label="y w · x = 0"),
            Patch(facecolor=self.before, alpha=2 * WRONG_SIDE, label="misclassifies the example"),
        ]
        if any(self._asked_margin(each) for each in rounds):
            label = "margin that the rule asks for"
            found.append(
                Line2D([], [], color=self.asked, linestyle=DASHES["dot"], linewidth=1.0, label=label)
            )
        return found

    def draw(self, panel: Axes, each: TracedRound) -> None:
        panel.grid(False)
        self._draw_line(panel, each)
        before, after = self._moments(each.before), self._moments(each.after)
        if each.changed:
            look = {"edgecolor": self.before, "linestyle": DASHES["dash"], "linewidth": 1.0, "zorder": 3}
            panel.add_patch(ellipse(*before, self.deviations, gid="before", **look))
            panel.plot(*before[0], "o", color=self.before, markersize=3.5, markerfacecolor="none", zorder=4)
            size = self.deviations * math.sqrt(np.trace(before[1]))
            if np.hypot(*(after[0] - before[0])) > 0.1 * size:
                arrow = {"color": self.after, "arrowstyle": "-|>", "linewidth": 0.8, "mutation_scale": 6}
                ends = (float(after[0][0]), float(after[0][1])), (float(before[0][0]), float(before[0][1]))
                panel.annotate("", *ends, zorder=4, arrowprops={**arrow, "shrinkA": 1.5, "shrinkB": 0.5})
        panel.add_patch(
            ellipse(*after, self.deviations, edgecolor=self.after, linewidth=1.2, zorder=5, gid="after")
        )
        inside = ellipse(*after, self.deviations, facecolor=self.after, alpha=0.15, linewidth=0, zorder=2)
        inside.set_fill(True)
        panel.add_patch(inside)
        panel.plot(*after[0], "o", color=self.after, markersize=3.5, markeredgewidth=0, zorder=6, gid="mean")
        set_ticks(panel.xaxis, 5, STEPS)
        set_ticks(panel.yaxis, 5, STEPS)

    def _moments(self, state: State | None) -> tuple[Floats, Floats]:
        assert state is not None
        assert state.covariance is not None
        pair, sigma = self.pair, state.covariance
        return state.weights[pair], sigma[np.ix_(pair, pair)] if sigma.ndim == 2 else np.diag(sigma[pair])

    def _draw_line(self, panel: Axes, each: TracedRound) -> None:
        """Shade the side of the wrong weights; those of other features are at their means after the round."""
        x = each.label * each.x[self.pair]
        if not x.any():
            return
        assert each.after is not None
        rest = each.label * float(each.after.weights @ each.x) - float(each.after.weights[self.pair] @ x)
        across = x / np.hypot(*x)
        along = np.array([-across[1], across[0]])
        foot = -rest * x / (x @ x)
        reach = 1e3 * (1.0 + self._reach(each) + float(np.abs(foot).max()))
        ends = np.array([foot - reach * along, foot + reach * along])
        panel.plot(*ends.T, color=self.ink, linewidth=0.9, zorder=3, gid="line")
        wrong = np.vstack([ends, ends[::-1] - reach * across])
        panel.add_patch(
            Polygon(wrong, facecolor=self.before, alpha=WRONG_SIDE, linewidth=0, zorder=1, gid="wrong side")
        )
        asked = self._asked_margin(each)
        if asked:
            shifted = ends + asked * x / (x @ x)
            panel.plot(
                *shifted.T, color=self.asked, linestyle=DASHES["dot"], linewidth=1.0, zorder=3, gid="asked"
            )

    def _asked_margin(self, each: TracedRound) -> float | None:
        """Return the margin that the mean should have after the round; the ellipse of CW says as much."""
        if self.is_confident:
            return None
        assert each.after is not None
        sigma = each.after.covariance
        assert sigma is not None
        v = float(each.x @ sigma @ each.x) if sigma.ndim == 2 else float(sigma @ each.x**2)
        return required_margin(self.algorithm, v)

    def _reach(self, each: TracedRound) -> float:
        corners = [corner for state in (each.before, each.after) for corner in self._corners(state)]
        return float(np.abs(corners).max())

    def _corners(self, state: State | None) -> Floats:
        mean, covariance = self._moments(state)
        half = self.deviations * np.sqrt(np.diag(covariance))
        return np.array([mean - half, mean + half])

    def limits(self, rounds: Sequence[TracedRound], ratio: float) -> tuple[Floats, Floats]:
        corners = [self._corners(state) for each in rounds for state in (each.before, each.after)]
        points = np.vstack([*corners, np.zeros((1, 2))])
        middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
        half = 0.56 * (points.max(axis=0) - points.min(axis=0))
        high = max(half[1], half[0] / ratio, 1e-300)
        return middle[0] + ratio * high * np.array([-1, 1]), middle[1] + high * np.array([-1, 1])
