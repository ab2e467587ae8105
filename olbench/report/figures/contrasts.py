"""Two variants of an algorithm against each other, by data set."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from olbench.errors import UserError
from olbench.report.figures import canvas
from olbench.report.figures.palette import Style, display_name, styles
from olbench.report.grid import capitalise

if TYPE_CHECKING:
    from olbench.report.contrasts import Contrast

#: Inches: the least side of the square of a scatter, the height of a line of its data sets, and the most that
#: their names take.
SIDE, ROW, NAMES = 2.1, 0.122, 1.6


def contrast_figure(contrasts: Sequence["Contrast"], measured: str, title: str = "") -> Figure:
    if not contrasts:
        raise UserError("no two algorithms of the run form a pair, so there is nothing to draw")
    look = styles(dict.fromkeys(dataset for each in contrasts for dataset in each.points))
    names = {dataset: canvas.shorten(dataset, NAMES) for dataset in look}
    side = max(SIDE, ROW * len(look))
    left = 0.55 + side + 0.35 + canvas.LETTER * max(map(len, names.values()))
    height = 0.3 + len(contrasts) * (side + 0.7)
    heading = f"{capitalise(measured)} (%) by data set{title}"
    counts = "; ".join(f"{each.y} against {each.x}: {each.count}" for each in contrasts)
    with canvas.new_page(heading, height, caption=f"{heading}. {counts}.", titles=()) as (figure, _):
        for row, contrast in enumerate(contrasts):
            bottom = height - 0.25 - (row + 1) * (side + 0.7) + 0.4
            _draw_scatter(canvas.add_panel(figure, 0.55, bottom, side, side), contrast, look)
            bars = canvas.add_panel(figure, left, bottom, canvas.TEXT_WIDTH - left - 0.15, side)
            _draw_differences(bars, contrast, look, names)
    return figure


def _mark(style: Style) -> dict[str, Any]:
    return {**canvas.line_look(style), "linestyle": "none", "markersize": 5.5 if style.marker == "*" else 4.2}


def _draw_scatter(panel: Axes, contrast: "Contrast", look: Mapping[str, Style]) -> None:
    values = [value for point in contrast.points.values() for value in point]
    margin = 0.08 * (max(values) - min(values)) or 0.1
    # The same limits for both axes, and at most 100.
    low, high = max(0.0, min(values) - margin), min(100.0, max(values) + margin)
    panel.plot([low, high], [low, high], color="#888888", linewidth=0.6, zorder=1, gid="diagonal")
    for dataset, (x, y) in contrast.points.items():
        # Not clipped: the points at 100 lie on the edge.
        panel.plot([x], [y], gid=dataset, zorder=3, clip_on=False, **_mark(look[dataset]))
    panel.set(xlim=(low, high), ylim=(low, high), title=contrast.count)
    panel.set(xlabel=display_name(contrast.x), ylabel=display_name(contrast.y))
    panel.grid(axis="x")
    canvas.set_ticks(panel.xaxis, 5)
    canvas.set_ticks(panel.yaxis, 5)


def _draw_differences(
    panel: Axes, contrast: "Contrast", look: Mapping[str, Style], names: Mapping[str, str]
) -> None:
    panel.axvline(0, color="#888888", linewidth=0.6, zorder=1)
    for place, (dataset, (x, y)) in enumerate(contrast.points.items()):
        panel.plot([0, y - x], [place, place], color=look[dataset].colour, linewidth=0.7, zorder=2)
        panel.plot([y - x], [place], gid=dataset, zorder=3, **_mark(look[dataset]))
    canvas.name_rows(panel, [names[dataset] for dataset in contrast.points])
    panel.margins(x=0.08)
    title = f"{display_name(contrast.y)} minus {display_name(contrast.x)}"
    panel.set(title=title, xlabel="difference in percentage points")
    canvas.set_ticks(panel.xaxis, 6, format=FuncFormatter(_signed))


def _signed(value: float, _: object) -> str:
    return f"{value:+.4g}".replace("-", "\N{MINUS SIGN}") if value else "0"
