"""Curves of every data set, an overview of all of them, and the diagram of average ranks.

The same record gives the same bytes: no date, no version and no setting of the user's matplotlib enters.
"""

import itertools
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from olbench.errors import UserError
from olbench.protocols.definition import Series
from olbench.report.palette import Dash, Style, display_name, styles
from olbench.report.results import Entry, Floats, Results

if TYPE_CHECKING:
    from olbench.report.build import Report
    from olbench.stats import Across

#: Inches: the width of the text on a page, and the height that is left for a figure with a caption.
TEXT_WIDTH, PAGE_HEIGHT = 7.0, 9.2
#: What a letter of a name takes, a little more than the widest names need, and a line sample with its spaces.
LETTER, SAMPLE = 0.062, 0.5
#: The height of a line of text.
LINE = 0.165
#: An axis is logarithmic where the algorithms end more than this factor apart: on a linear one, those that
#: the paper is about would lie on the axis.
LOG_SPAN = 10.0
#: The steps between ticks.
ROUND = [1, 2, 2.5, 5, 10]
#: The part of the samples at the start that does not determine the limits of the mistake rate.
EARLY = 0.1
DASHES: dict[Dash, Any] = {
    "solid": "-", "dash": (0, (4, 1.6)), "dot": (0, (1.2, 1.2)), "dashdot": (0, (5, 1.4, 1.2, 1.4)),
}  # fmt: skip
SETTINGS = {
    "font.size": 7.5, "axes.titlesize": 7.5, "axes.labelsize": 7.5, "legend.fontsize": 7.5,
    "xtick.labelsize": 7, "ytick.labelsize": 7,
    "axes.linewidth": 0.5, "axes.spines.top": False, "axes.spines.right": False,
    "xtick.major.width": 0.5, "ytick.major.width": 0.5, "ytick.minor.width": 0.3,
    "xtick.major.size": 2.5, "ytick.major.size": 2.5, "ytick.minor.size": 1.5,
    "axes.titlelocation": "left", "axes.titlepad": 5, "axes.titley": 1.0,
    "axes.grid": True, "axes.grid.axis": "y", "grid.color": "#e6e6e6", "grid.linewidth": 0.4,
    "axes.axisbelow": True, "legend.frameon": False, "savefig.dpi": 220,
    "pdf.fonttype": 42, "svg.hashsalt": "olbench",
    # A name with two dollar signs is a name and no formula.
    "text.parse_math": False,
}  # fmt: skip
#: What matplotlib warns of where the font lacks a letter of a name; the figure then has a box in its place.
NO_GLYPH = r"Glyph .* missing from"
#: What the writers of matplotlib would put in by themselves: dates and versions.
METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "pdf": {"Creator": "olbench", "Producer": None, "CreationDate": None},
    "svg": {"Creator": "olbench", "Date": None},
}


@contextmanager
def our_settings() -> Iterator[None]:
    """Draw with the settings of this module, whatever the user's are."""
    with matplotlib.style.context(["default", SETTINGS]):
        yield


def new_figure(height: float) -> Figure:
    """Return an empty figure as wide as the text of a page."""
    figure = Figure((TEXT_WIDTH, height))
    FigureCanvasAgg(figure)
    return figure


def _panels(figure: Figure, rows: int, columns: int, above: float, below: float) -> list[Axes]:
    """Return a grid of panels with so many inches left above and below.

    Fixed margins instead of a layout engine: the panels of all data sets then have one size, and a figure is
    drawn once instead of three times.
    """
    left, right, gap, head = 0.42, 0.1, 0.46, 0.46
    width, height = figure.get_size_inches()
    wide = (width - left - right - (columns - 1) * gap) / columns
    high = (height - above - below - (rows - 1) * head) / rows
    return [
        figure.add_axes(
            (
                (left + column * (wide + gap)) / width,
                (below + (rows - 1 - row) * (high + head)) / height,
                wide / width,
                high / height,
            )
        )
        for row in range(rows)
        for column in range(columns)
    ]


def write_text(figure: Figure, inches: tuple[float, float], text: str, **how: Any) -> None:
    """Write a text at a place in inches from the lower left corner."""
    width, height = figure.get_size_inches()
    figure.text(inches[0] / width, inches[1] / height, text, **how)


@dataclass(frozen=True)
class Band:
    """The mean of an entry's curves over its trials, with the deviation where there are several."""

    label: str
    points: Floats
    mean: Floats
    deviation: Floats | None

    @property
    def low(self) -> Floats:
        """The lower edge of the band; nothing that is counted lies below zero."""
        return self.mean if self.deviation is None else np.maximum(self.mean - self.deviation, 0)

    @property
    def high(self) -> Floats:
        """The upper edge of the band."""
        return self.mean if self.deviation is None else self.mean + self.deviation


def band_of(entry: Entry, series: Series) -> Band:
    """Return what a figure shows of an entry: counts per example where the series says so."""
    points = entry.points.astype(np.float64)
    values = entry.curves[series.name] * (100 if series.quantity.percent else 1)
    values = values / points if series.per_example else values
    # What shared times deviate by is the load of the machine: it says nothing about the algorithm.
    banded = entry.done > 1 and (not series.timed or entry.exclusive)
    deviation = values.std(axis=0, ddof=1) if banded else None
    return Band(entry.label, points, values.mean(axis=0), deviation)


def curves_figure(results: Results, dataset: str) -> Figure:
    """Draw the curves of a data set, one panel per series of the protocol."""
    entries, shown = results.of(dataset), results.protocol.series
    if not entries:
        raise UserError(f"there is no trial on {dataset} yet, so there is nothing to draw")
    look, labels = styles(results.labels), [entry.label for entry in entries]
    legend = _legend_height(labels)
    height = 2.45 + legend
    with our_settings():
        figure = new_figure(height)
        panels = _panels(figure, 1, len(shown), above=0.48, below=0.4 + legend)
        for panel, series in zip(panels, shown, strict=True):
            _draw_panel(panel, [band_of(entry, series) for entry in entries], series, look)
            panel.set_title(_name(series, entries))
            panel.set_xlabel(series.along_title)
        write_text(figure, (0.08, height - 0.06), dataset, va="top", fontsize=9)
        _draw_legend(figure, labels, look)
    return figure


def overview_figure(results: Results, series: Series | None = None) -> Figure:
    """Draw one series, by default the first, for all data sets that have trials; one page, one legend."""
    series = series or results.protocol.series[0]
    shown = {dataset: entries for dataset in results.datasets if (entries := results.of(dataset))}
    if not shown:
        raise UserError(f"{results.folder} has no trial yet, so there is nothing to draw")
    everything = [entry for entries in shown.values() for entry in entries]
    labels = [label for label in results.labels if any(entry.label == label for entry in everything)]
    look = styles(results.labels)
    rows, columns = _grid(len(shown))
    legend = _legend_height(labels)
    height = min(PAGE_HEIGHT, 0.65 + legend + 1.75 * rows)
    with our_settings():
        figure = new_figure(height)
        panels = _panels(figure, rows, columns, above=0.45, below=0.28 + legend)
        for panel, (dataset, entries) in zip(panels, shown.items(), strict=False):
            _draw_panel(panel, [band_of(entry, series) for entry in entries], series, look)
            panel.set_title(dataset)
        for panel in panels[len(shown) :]:
            panel.remove()
        title = f"Against the {series.along_title}: {_name(series, everything)}"
        write_text(figure, (0.08, height - 0.06), title, va="top", fontsize=9)
        _draw_legend(figure, labels, look)
    return figure


def _grid(count: int) -> tuple[int, int]:
    """Return rows and columns: up to three columns for a dozen data sets, then more of both."""
    square = 2 if count == 4 else min(count, 3)
    columns = square if count <= 12 else ceil((0.75 * count) ** 0.5)
    return ceil(count / columns), columns


def _name(series: Series, entries: Sequence[Entry]) -> str:
    """Return the name of an axis; a time that other trials may have stretched says so."""
    if not series.timed or all(entry.exclusive for entry in entries):
        return series.title
    some = "partly " if any(entry.exclusive for entry in entries) else ""
    return f"{series.title}, {some}shared"


def _draw_panel(panel: Axes, curves: Sequence[Band], series: Series, look: dict[str, Style]) -> None:
    for place, curve in enumerate(curves):
        style = look[curve.label]
        if curve.deviation is not None:
            panel.fill_between(
                curve.points, curve.low, curve.high, color=style.colour, alpha=0.09, linewidth=0, zorder=2
            )
        panel.plot(
            curve.points, curve.mean, label=display_name(curve.label),
            # The wide lines lie above the others.
            zorder=3 + style.width,
            markevery=_places_of_markers(place, len(curves), curve.points.size), **line_style(style),
        )  # fmt: skip
    _scale(panel, curves, series)


def line_style(style: Style) -> dict[str, Any]:
    """Return how matplotlib draws the line of a style."""
    return {
        "color": style.colour,
        "linestyle": DASHES[style.dash],
        "linewidth": 0.8 * style.width,
        "marker": style.marker,
        "markersize": 5.0 if style.marker == "*" else 3.2,
        "markerfacecolor": style.colour if style.filled else "white",
        "markeredgecolor": style.colour,
        "markeredgewidth": 0.6,
    }


def _places_of_markers(place: int, count: int, points: int) -> tuple[int, int]:
    """Return the first marked point and the step: about four a curve, at other points for each curve."""
    step = max(1, points // 4)
    return (place * step) // count, step


def _scale(panel: Axes, curves: Sequence[Band], series: Series) -> None:
    panel.set_xlim(0, 1.01 * max(curve.points[-1] for curve in curves))
    panel.xaxis.set_major_locator(MaxNLocator(4, steps=ROUND))
    panel.xaxis.set_major_formatter(EngFormatter(sep=""))
    if series.is_level:
        panel.set_ylim(*_level_limits(curves))
    elif spans_decades(curves):
        panel.set_yscale("log")
    else:
        panel.set_ylim(bottom=0)
    if panel.get_yscale() == "log":
        panel.yaxis.set_major_locator(LogLocator(numticks=6))
        panel.yaxis.set_minor_locator(LogLocator(subs=(2, 5), numticks=6))
        panel.yaxis.set_minor_formatter(NullFormatter())
    else:
        panel.yaxis.set_major_locator(MaxNLocator(5, steps=ROUND))
    panel.yaxis.set_major_formatter(
        StrMethodFormatter("{x:g}") if series.is_level or series.timed else EngFormatter(sep="")
    )


def spans_decades(curves: Iterable[Band]) -> bool:
    """Return whether the curves end so far apart that the axis is logarithmic."""
    ends = [float(curve.mean[-1]) for curve in curves]
    return min(ends) > 0 and max(ends) > LOG_SPAN * min(ends)


def _level_limits(curves: Sequence[Band]) -> tuple[float, float]:
    """Return limits that hold every curve but its start: the first few rates are near a half or even zero."""
    late = [curve.points >= EARLY * curve.points[-1] for curve in curves]
    low = min(curve.low[where].min() for curve, where in zip(curves, late, strict=True))
    high = max(curve.high[where].max() for curve, where in zip(curves, late, strict=True))
    margin = 0.04 * (high - low) or 0.01
    return max(0.0, low - margin), high + margin


def _legend_columns(labels: Sequence[str]) -> int:
    """Return the least number of columns for the least number of rows that fit into the width."""
    names = [display_name(label) for label in labels]

    def width(columns: int) -> float:
        longest = [max(map(len, names[column::columns])) for column in range(columns)]
        return sum(LETTER * letters + SAMPLE for letters in longest)

    fitting = [columns for columns in range(1, len(names) + 1) if width(columns) < TEXT_WIDTH]
    rows = ceil(len(names) / max(fitting, default=1))
    return ceil(len(names) / rows)


def _legend_height(labels: Sequence[str]) -> float:
    return 0.08 + 0.145 * ceil(len(labels) / _legend_columns(labels))


def _draw_legend(figure: Figure, labels: Sequence[str], look: dict[str, Style]) -> None:
    """Put the legend below the panels, where it hides nothing, in the order of the labels by rows."""
    columns = _legend_columns(labels)
    lines = [Line2D([], [], label=display_name(label), **line_style(look[label])) for label in labels]
    figure.legend(
        handles=[line for column in range(columns) for line in lines[column::columns]],
        loc="lower center", ncols=columns, borderaxespad=0.2, borderpad=0.2,
        handlelength=2.8, columnspacing=1.2, handletextpad=0.5, labelspacing=0.35,
    )  # fmt: skip


def critical_difference_figure(
    across: "Across", run: Sequence[str] = (), quantity: str = "mistake rate"
) -> Figure:
    """Draw average ranks, with a bar over what the Nemenyi test does not tell apart (Demsar 2006).

    `run` has all labels of the run, where some are not ranked: the others then look as in its curves.
    """
    labels = sorted(across.labels, key=lambda label: (across.ranks[label], across.labels.index(label)))
    bars = [group for group in across.groups if len(group) > 1]
    half = ceil(len(labels) / 2)
    top = 1.0 + 0.55 * len(bars)
    look = styles([*run, *across.labels])
    with our_settings():
        figure = new_figure(0.5 + LINE * (half + top + 2.6))
        panel = _rank_panel(figure, labels, top + half)
        _draw_critical_difference(panel, across.critical_difference)
        for place, group in enumerate(bars):
            _draw_group(panel, [across.ranks[label] for label in group], 0.8 + 0.55 * place)
        for place, label in enumerate(labels[:half]):
            _draw_rank(panel, label, across.ranks[label], top + place, look[label], left=True)
        for place, label in enumerate(reversed(labels[half:])):
            _draw_rank(panel, label, across.ranks[label], top + place, look[label], left=False)
        write_text(
            figure,
            (0.08, figure.get_figheight() - 0.06),
            _rank_title(across, quantity),
            va="top",
            linespacing=1.4,
        )
    return figure


def _rank_title(across: "Across", quantity: str) -> str:
    return (
        f"Average ranks by {quantity}: k = {len(across.labels)} algorithms, N = {len(across.datasets)} "
        "data sets, 1 is best.\nA bar joins algorithms that the Nemenyi test at 5% does not tell apart."
    )


def _rank_panel(figure: Figure, labels: Sequence[str], depth: float) -> Axes:
    """Return a panel with the axis from 1 to k at the height 0 and room for the names beside it."""
    width, height = figure.get_size_inches()
    side = min(LETTER * (max(len(display_name(label)) for label in labels) + 6) + 0.15, 0.35 * width)
    panel = figure.add_axes((side / width, 0, 1 - 2 * side / width, (height - 0.42) / height))
    panel.set_axis_off()
    panel.set_xlim(1, len(labels))
    panel.set_ylim(depth - 0.3, -2.3)
    panel.plot([1, len(labels)], [0, 0], color="black", linewidth=0.7, clip_on=False)
    for rank in range(1, len(labels) + 1):
        panel.plot([rank, rank], [0, -0.3], color="black", linewidth=0.6, clip_on=False)
        panel.text(rank, -0.45, str(rank), ha="center", va="bottom", fontsize=7)
    return panel


def _draw_critical_difference(panel: Axes, difference: float) -> None:
    """Draw the difference to scale above the axis, from rank 1 on."""
    panel.plot(
        [1, 1 + difference], [-1.7, -1.7], color="black", linewidth=0.9, marker="|", markersize=4,
        clip_on=False, gid="CD",
    )  # fmt: skip
    panel.text(1 + difference, -1.7, f"  CD = {difference:.2f}", va="center", fontsize=7)


def _draw_group(panel: Axes, ranks: Sequence[float], height: float) -> None:
    panel.plot(
        [min(ranks), max(ranks)], [height, height], color="#444444", linewidth=2.2,
        solid_capstyle="projecting", clip_on=False, gid="group",
    )  # fmt: skip


def _draw_rank(panel: Axes, label: str, rank: float, height: float, style: Style, *, left: bool) -> None:
    """Lead a line from the rank on the axis down and out to the name at the side."""
    side = panel.get_xlim()[0 if left else 1]
    panel.plot(
        [rank, rank, side], [0, height, height], color="#888888", linewidth=0.5, zorder=1, clip_on=False
    )
    panel.plot([rank], [0], clip_on=False, zorder=4, gid=label, **line_style(style))
    name = display_name(label)
    panel.annotate(
        f"{name}  {rank:.2f}" if left else f"{rank:.2f}  {name}", (side, height),
        xytext=(-4 if left else 4, 0), textcoords="offset points",
        ha="right" if left else "left", va="center", annotation_clip=False,
    )  # fmt: skip


def save_figures(
    report: "Report", folder: Path, formats: Sequence[str] = ("png", "pdf", "svg")
) -> list[Path]:
    """Write every figure of the report's sections in each format."""
    from olbench.report.sections import sections_of

    folder.mkdir(parents=True, exist_ok=True)
    figures = {name: draw for each in sections_of(report) for name, draw in each.figures(report).items()}
    return [path for name, draw in figures.items() for path in _save(draw(), folder / name, formats)]


def file_names(datasets: Sequence[str]) -> dict[str, str]:
    """Return a file name for each data set; those that would get the same one are numbered in their order.

    Names that differ only in case count as the same: on some systems their files would be.

    >>> file_names(["a b", "a-b", "a-b-2", "A/b"])
    {'a b': 'a-b', 'a-b': 'a-b-3', 'a-b-2': 'a-b-2', 'A/b': 'A-b-4'}
    """
    plain = {dataset: file_name(dataset) for dataset in datasets}
    wanted = {name.casefold() for name in plain.values()}
    taken: set[str] = set()
    names = {}
    for dataset, name in plain.items():
        numbered = (f"{name}-{number}" for number in itertools.count(2))
        free = (each for each in numbered if each.casefold() not in wanted | taken)
        names[dataset] = next(free) if name.casefold() in taken else name
        taken.add(names[dataset].casefold())
    return names


def file_name(dataset: str) -> str:
    """Return the name of a data set, which can be a path, without what a file name should not have.

    >>> file_name("data/my set.libsvm")
    'data-my-set.libsvm'
    """
    return re.sub(r"[^\w.+-]+", "-", dataset).strip("-.") or "data"


def _save(figure: Figure, stem: Path, formats: Sequence[str]) -> list[Path]:
    paths = [stem.with_name(f"{stem.name}.{format}") for format in formats]
    with our_settings(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", NO_GLYPH, UserWarning)
        for format, path in zip(formats, paths, strict=True):
            figure.savefig(path, format=format, metadata=METADATA.get(format))
    return paths
