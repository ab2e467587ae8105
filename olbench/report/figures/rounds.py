"""A Gaussian over weights, round by round: ellipses before and after an example, and the example's line."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse, Patch, Polygon

from olbench.algorithms.algorithm import Algorithm
from olbench.learners.examples import Floats
from olbench.learners.tracing import State, Trace, TracedRound
from olbench.report.figures.palette import BLACK, BLUE, GREY, VERMILLION, display_name
from olbench.report.figures.style import DASHES, TEXT_WIDTH, count_columns, new_page, set_ticks
from olbench.report.table import compact, show_settings

#: The aspect ratio of a panel, and its largest height in inches.
RATIO, TALLEST = 1.2, 3.0
#: The largest margin that is tried for a loss of zero; no paper requires more.
LARGEST_MARGIN = 2.0**20
WRONG_SIDE = 0.14
Look = dict[str, Any]
Rounds = Sequence[TracedRound]
Pair = tuple[int, int]
DOT: Look = {"marker": "o", "markersize": 3.5}
STEPS = (1, 2, 5, 10)


def rounds_figure(trace: Trace, rounds: Rounds, features: Pair) -> Figure:
    columns = count_columns(len(rounds))
    view = _View(trace.algorithm, rounds, features, RATIO)
    diagonal = {"covariance": "diag"} if trace.algorithm.covariance == "diag" else {}
    settings = show_settings({**trace.algorithm.params, **diagonal})
    name = display_name(trace.algorithm.id) + (f" ({settings})" if settings else "")
    heading = f"{name}: the Gaussian over two weights, before and after an example"
    caption = f"{heading}. Weights on the shaded side of the line misclassify the example. "
    caption += f"The ellipses are at {count_deviations(view.deviations)}."
    titles = [describe(each) for each in rounds]
    height = min(TEXT_WIDTH / columns / RATIO, TALLEST) + 0.5
    weight = f"weight of feature {features[0]}"
    with new_page(heading, height, view.samples(), caption, titles, weight) as (figure, panels):
        for number, (panel, each) in enumerate(zip(panels, rounds, strict=True)):
            view.draw(panel, each)
            panel.set_aspect("equal")
            panel.set_ylabel("" if number % columns else f"weight of feature {features[1]}")
    return figure


def draw_round(panel: Axes, trace: Trace, each: TracedRound, features: Pair) -> Axes:
    box = panel.get_window_extent()
    view = _View(trace.algorithm, [each], features, box.width / box.height)
    view.draw(panel, each)
    x, y = (f"weight of feature {feature}" for feature in features)
    panel.set(title=describe(each), xlabel=x, ylabel=y)
    panel.legend(handles=view.samples())
    return panel


def describe(each: TracedRound) -> str:
    outcome = "mistake" if each.mistake else "right" if each.updated else "right, no update"
    numbers = {"m": each.margin, "v": each.variance, "α": each.alpha}
    shown = {name: compact(value) for name, value in numbers.items() if value is not None}
    line = ", ".join(f"{name}={value}" for name, value in shown.items())
    return f"round {each.t}: y = {each.label:+d}, {outcome}\n{line}".replace("-", "\N{MINUS SIGN}")


def count_deviations(number: float) -> str:
    return f"{number:.2g} standard deviation{'' if number == 1.0 else 's'}"


def ellipse(mean: Floats, covariance: Floats, deviations: float = 1.0, **look: Any) -> Ellipse:
    variances, axes = np.linalg.eigh(covariance)
    width, height = 2 * deviations * np.sqrt(variances[::-1])
    angle = math.degrees(math.atan2(axes[1, 1], axes[0, 1]))
    shape: Look = {"facecolor": "none", "angle": angle, **look}
    return Ellipse((float(mean[0]), float(mean[1])), width, height, **shape)


def required_margin(algorithm: Algorithm, v: float) -> float | None:
    """Return the least margin without a loss at variance v; None if every margin has a loss."""
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
    def __init__(self, algorithm: Algorithm, rounds: Rounds, pair: Pair, ratio: float):
        self.algorithm, self.rounds, self.pair = algorithm, rounds, list(pair)
        self.before, self.after = GREY, BLUE
        self.line: Look = {"color": BLACK, "linewidth": 0.9}
        self.asked: Look = {"color": VERMILLION, "linewidth": 1.0, "linestyle": DASHES["dot"]}
        one, four = (required_margin(algorithm, v) for v in (1.0, 4.0))
        #: Whether the rule requires a number of standard deviations; the ellipses are then at that number.
        self.is_confident = bool(one and one > 1e-9 and math.isclose(four or 0.0, 2.0 * one, rel_tol=1e-6))
        self.deviations = one if self.is_confident and one else 1.0
        self.limits = self._find_limits(ratio)

    def _find_limits(self, ratio: float) -> Floats:
        points = [np.zeros(2)]
        for state in (state for each in self.rounds for state in (each.before, each.after)):
            mean, covariance = self._moments(state)
            half = self.deviations * np.sqrt(np.diag(covariance))
            points += [mean - half, mean + half]
        low, high = np.min(points, axis=0), np.max(points, axis=0)
        wide, tall = 0.56 * (high - low)
        reach = max(tall, wide / ratio, 1e-300) * np.array([ratio, 1.0])
        return np.array([(low + high) / 2 - reach, (low + high) / 2 + reach]).T

    def _moments(self, state: State | None) -> tuple[Floats, Floats]:
        assert state is not None
        assert state.covariance is not None
        pair, sigma = self.pair, state.covariance
        return state.weights[pair], sigma[np.ix_(pair, pair)] if sigma.ndim == 2 else np.diag(sigma[pair])

    def samples(self) -> list[Artist]:
        name = f"before: mean and {'φ = ' if self.is_confident else ''}{count_deviations(self.deviations)}"
        dashed = {"linestyle": DASHES["dash"], "markerfacecolor": "none", "linewidth": 1.0}
        asked = any(self._asked_margin(each) for each in self.rounds)
        return [
            Line2D([], [], color=self.before, label=name, **DOT, **dashed),
            Line2D([], [], color=self.after, linewidth=1.2, label="after", **DOT),
            Line2D([], [], label="y w · x = 0", **self.line),
            Patch(facecolor=self.before, alpha=2 * WRONG_SIDE, label="misclassifies the example"),
            *([Line2D([], [], label="margin that the rule requires", **self.asked)] if asked else []),
        ]

    def draw(self, panel: Axes, each: TracedRound) -> None:
        panel.grid(False)
        panel.set(xlim=self.limits[0], ylim=self.limits[1])
        for axis in (panel.xaxis, panel.yaxis):
            set_ticks(axis, 5, STEPS)
        self._draw_line(panel, each)
        (old, before), (new, after) = self._moments(each.before), self._moments(each.after)
        if each.changed:
            look: Look = {"edgecolor": self.before, "linestyle": DASHES["dash"], "linewidth": 1.0}
            panel.add_patch(ellipse(old, before, self.deviations, gid="before", zorder=3, **look))
            panel.plot(*old, color=self.before, markerfacecolor="none", zorder=4, **DOT)
            if np.hypot(*(new - old)) > 0.1 * self.deviations * math.sqrt(np.trace(before)):
                arrow: Look = {"color": self.after, "arrowstyle": "-|>", "linewidth": 0.8}
                arrow |= {"mutation_scale": 6, "shrinkA": 1.5, "shrinkB": 0.5}
                panel.annotate("", new.tolist(), old.tolist(), zorder=4, arrowprops=arrow)
        look = {"edgecolor": self.after, "facecolor": to_rgba(self.after, 0.15), "linewidth": 1.2}
        panel.add_patch(ellipse(new, after, self.deviations, gid="after", zorder=5, **look))
        panel.plot(*new, color=self.after, markeredgewidth=0, zorder=6, gid="mean", **DOT)

    def _draw_line(self, panel: Axes, each: TracedRound) -> None:
        """Shade the wrong side of the line; weights of other features are at their means after the round."""
        x = each.label * each.x[self.pair]
        if not x.any():
            return
        assert each.after is not None
        rest = each.label * float(each.after.weights @ each.x) - float(each.after.weights[self.pair] @ x)
        across = x / np.hypot(*x)
        along = np.array([-across[1], across[0]])
        foot = -rest * x / (x @ x)
        reach = 1e3 * float(np.abs(self.limits).max() + np.abs(foot).max())
        ends = np.array([foot - reach * along, foot + reach * along])
        panel.plot(*ends.T, zorder=3, gid="line", **self.line)
        look: Look = {"facecolor": self.before, "alpha": WRONG_SIDE, "linewidth": 0, "gid": "wrong side"}
        panel.add_patch(Polygon(np.vstack([ends, ends[::-1] - reach * across]), zorder=1, **look))
        if asked := self._asked_margin(each):
            panel.plot(*(ends + asked * x / (x @ x)).T, zorder=3, gid="asked", **self.asked)

    def _asked_margin(self, each: TracedRound) -> float | None:
        """Return the margin required after the round; for CW and SCW, the ellipse shows it."""
        if self.is_confident:
            return None
        assert each.after is not None
        sigma = each.after.covariance
        assert sigma is not None
        v = float(each.x @ sigma @ each.x) if sigma.ndim == 2 else float(sigma @ each.x**2)
        return required_margin(self.algorithm, v)
