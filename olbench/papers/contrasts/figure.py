"""Drawings of pairs of variants against each other: their accuracies and differences by data set."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from olbench.errors import UserError
from olbench.report.figures import style
from olbench.report.figures.palette import Style, display_name, styles
from olbench.report.table import capitalise

if TYPE_CHECKING:
    from olbench.papers.contrasts.pairs import Contrast


def contrast_figure(contrasts: "Sequence[Contrast]", measured: str, title: str = "") -> Figure:
    """Draw pairs of algorithms against each other, by data set."""
    if not contrasts:
        raise UserError("no two algorithms of the run form a pair, so there is nothing to draw")
    look = styles(dict.fromkeys(dataset for each in contrasts for dataset in each.points))
    heading = f"{capitalise(measured)} (%) by data set{title}"
    counts = "; ".join(f"{each.y} against {each.x}: {each.count}" for each in contrasts)
    height, caption = max(2.6, 0.6 + 0.122 * len(look)), f"{heading}. {counts}."
    titles = [title for each in contrasts for title in (each.count, _difference(each))]
    page = style.new_page(heading, height, (), caption, titles, columns=2, width_ratios=(3, 5))
    with page as (figure, panels):
        for contrast, scatter, differences in zip(contrasts, panels[::2], panels[1::2], strict=True):
            _draw_scatter(scatter, contrast, look)
            _draw_differences(differences, contrast, look)
    return figure


def _difference(contrast: "Contrast") -> str:
    return f"{display_name(contrast.y)} minus {display_name(contrast.x)}"


def _mark(own: Style) -> dict[str, Any]:
    return {**style.line_look(own), "linestyle": "none", "markersize": 5.5 if own.marker == "*" else 4.2}


def _draw_scatter(panel: Axes, contrast: "Contrast", look: Mapping[str, Style]) -> None:
    values = [value for point in contrast.points.values() for value in point]
    margin = 0.08 * (max(values) - min(values)) or 0.1
    # The same limits for both axes, and at most 100.
    low, high = max(0.0, min(values) - margin), min(100.0, max(values) + margin)
    panel.plot([low, high], [low, high], color="#888888", linewidth=0.6, zorder=1, gid="diagonal")
    for dataset, (x, y) in contrast.points.items():
        # Not clipped: the points at 100 lie on the edge.
        panel.plot([x], [y], gid=dataset, zorder=3, clip_on=False, **_mark(look[dataset]))
    panel.set(xlim=(low, high), ylim=(low, high), box_aspect=1)
    panel.set(xlabel=display_name(contrast.x), ylabel=display_name(contrast.y))
    panel.grid(axis="x")
    style.set_ticks(panel.xaxis, 5)
    style.set_ticks(panel.yaxis, 5)


def _draw_differences(panel: Axes, contrast: "Contrast", look: Mapping[str, Style]) -> None:
    panel.axvline(0, color="#888888", linewidth=0.6, zorder=1)
    for place, (dataset, (x, y)) in enumerate(contrast.points.items()):
        panel.plot([0, y - x], [place, place], color=look[dataset].colour, linewidth=0.7, zorder=2)
        panel.plot([y - x], [place], gid=dataset, zorder=3, **_mark(look[dataset]))
    style.name_rows(panel, list(contrast.points))
    panel.margins(x=0.08)
    panel.set_xlabel("difference in percentage points")
    style.set_ticks(panel.xaxis, 6, format=FuncFormatter(_signed))


def _signed(value: float, _: object) -> str:
    return f"{value:+.4g}".replace("-", "\N{MINUS SIGN}") if value else "0"
