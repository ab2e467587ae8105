"""The figures: curves of each data set, an overview of all of them, and the diagram of average ranks."""

import hashlib
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter, StrMethodFormatter

from olbench.algorithms import get_definition
from olbench.analysis.results import Entry, Floats, Results, drift_rows
from olbench.analysis.stats import mean_ranks
from olbench.errors import UserError
from olbench.protocols.definition import Series
from olbench.report.diagram import RankDiagram, lay_out
from olbench.report.figures import canvas
from olbench.report.figures.palette import Style, algorithm_of, display_name, styles

if TYPE_CHECKING:
    from olbench.analysis.stats import Across
    from olbench.report.model import Report

#: An axis is logarithmic where the algorithms end more than this factor apart: on a linear one, those that
#: the paper is about would lie on the axis.
LOG_SPAN = 10.0
#: File systems allow names of 255 bytes. This leaves room for what comes before and after.
LONGEST_NAME = 160
#: Inches between the numbers on an axis of ranks, at least.
RANK_WIDTH = 0.17
#: Of more lines than MANY, only the FOCUS best by rank and the baselines have a colour and a name.
MANY, FOCUS = 16, 8
PALE = Style("#c4c4c4", "", width=0.7)
#: The part of a curve at its start that does not determine the limits of its axis.
EARLY = 0.1


#: What a band shows: one standard deviation over the trials either way, or the interval of the mean.
DEVIATION, INTERVAL = BANDS = ("deviation", "interval")
LEVEL = 0.95


@dataclass(frozen=True)
class Band:
    label: str
    points: Floats
    mean: Floats
    deviation: Floats | None
    #: The largest value that there can be: 100 for an accuracy in percent.
    top: float = math.inf

    @property
    def low(self) -> Floats:
        return self.mean if self.deviation is None else np.maximum(self.mean - self.deviation, 0)

    @property
    def high(self) -> Floats:
        return self.mean if self.deviation is None else np.minimum(self.mean + self.deviation, self.top)


def band_of(entry: Entry, series: Series, kind: str = DEVIATION) -> Band:
    points = entry.points.astype(np.float64)
    values = entry.curves[series.name] * (100 if series.quantity.percent else 1)
    values = values / points if series.per_example else values
    # Shared times vary with the load of the machine, which says nothing about the algorithm.
    banded = entry.done > 1 and (not series.timed or entry.exclusive)
    deviation = values.std(axis=0, ddof=1) if banded else None
    if deviation is not None and kind == INTERVAL:
        from scipy.special import stdtrit

        # Nadeau and Bengio (2003): trials that share training rows vary less than independent ones would.
        error = math.sqrt(1 / entry.done + entry.overlap)
        deviation = deviation * (float(stdtrit(entry.done - 1, (1 + LEVEL) / 2)) * error)
    return Band(entry.label, points, values.mean(axis=0), deviation, series.quantity.top)


def describe_band(band: str) -> str:
    if band not in BANDS:
        raise UserError(f"a band is {' or '.join(BANDS)}, not {band!r}")
    return f"; bands: {LEVEL:.0%} intervals of the means" if band == INTERVAL else ""


def curves_figure(
    results: Results, dataset: str, only: Sequence[Series] | None = None, band: str = DEVIATION
) -> Figure:
    entries, shown = entries_on(results, dataset), only or results.protocol.series
    look, samples = choose_looks(results, [entry.label for entry in entries])
    titles = [_name(series, entries) for series in shown]
    rows, columns = (1, len(shown)) if len(shown) <= 3 else canvas.panel_grid(len(shown))
    heading, height = f"{dataset}{describe_band(band)}", 0.42 + 2.03 * rows
    page = canvas.new_page(heading, height, samples, "", rows, columns, titles, above=0.48, below=0.4)
    with page as (figure, panels):
        for panel, series in zip(panels, shown, strict=True):
            _draw_panel(panel, entries, series, look, band)
            panel.set_xlabel(series.along_title)
    return figure


def find_looks(results: Results) -> dict[str, Style]:
    return styles((*results.among, *results.labels), results.highlighted)


def choose_looks(results: Results, drawn: Sequence[str]) -> tuple[dict[str, Style], list[Line2D]]:
    look = find_looks(results)
    if len(drawn) <= MANY:
        return look, canvas.line_samples(drawn, look)
    headline, datasets = results.protocol.quantities[0], results.datasets
    means = {name: {each.label: each.mean(headline) for each in results.of(name)} for name in datasets}
    ranks = mean_ranks(means, headline.better)
    best = sorted(drawn, key=lambda label: ranks.get(label, math.inf))[:FOCUS]
    named = [label for label in drawn if label in (*best, *results.highlighted) or is_baseline(label)]
    others = [Line2D([], [], label=f"{len(drawn) - len(named)} others", **canvas.line_look(PALE))]
    pale = {label: look[label] if label in named else PALE for label in look}
    return pale, [*canvas.line_samples(named, look), *others]


def is_baseline(label: str) -> bool:
    with suppress(UserError):
        return get_definition(algorithm_of(label)).order == "baseline"
    return False


def draw_curves(panel: Axes, results: Results, dataset: str, series: Series, band: str = DEVIATION) -> Axes:
    describe_band(band)
    entries = entries_on(results, dataset)
    _draw_panel(panel, entries, series, find_looks(results), band)
    panel.set_title(f"{dataset}: {_name(series, entries)}")
    panel.set_xlabel(series.along_title)
    panel.legend(fontsize="small", frameon=False)
    return panel


def entries_on(results: Results, dataset: str) -> list[Entry]:
    entries = [entry for entry in results.of(dataset) if entry.points.size]
    if not entries:
        raise UserError(f"there is no trial on {dataset} yet, so there is nothing to draw")
    return entries


def overview_figure(results: Results, series: Series | None = None, band: str = DEVIATION) -> Figure:
    series = series or results.protocol.series[0]
    everything = [entry for entry in results.entries if entry.done and entry.points.size]
    if not everything:
        raise UserError(f"{results.folder} has no trial yet, so there is nothing to draw")
    shown = {name: entries_on(results, name) for name in dict.fromkeys(each.dataset for each in everything)}
    drawn = {entry.label for entry in everything}
    look, samples = choose_looks(results, [label for label in results.labels if label in drawn])
    rows, columns = canvas.panel_grid(len(shown))
    height = min(canvas.PAGE_HEIGHT - canvas.legend_height(samples), 0.65 + 1.75 * rows)
    name = _name(series, everything)
    heading = f"Against the {series.along_title}: {name}{describe_band(band)}"
    with canvas.new_page(
        heading, height, samples, "", rows, columns, list(shown), above=0.45, below=0.4, left=0.6
    ) as (figure, panels):
        for panel, entries in zip(panels, shown.values(), strict=True):
            _draw_panel(panel, entries, series, look, band)
        for panel in panels[-columns:]:
            panel.set_xlabel(series.along_title)
        for panel in panels[::columns]:
            panel.set_ylabel(name)
    return figure


def _name(series: Series, entries: Sequence[Entry]) -> str:
    if not series.timed or all(entry.exclusive for entry in entries):
        return series.title
    some = "partly " if any(entry.exclusive for entry in entries) else ""
    return f"{series.title}, {some}shared"


def _draw_panel(
    panel: Axes, entries: Sequence[Entry], series: Series, look: Mapping[str, Style], band: str
) -> None:
    for row in drift_rows(entries):
        panel.axvline(row, color="#999999", linewidth=0.8, linestyle=(0, (2, 2)), zorder=1, gid="drift")
    curves = draw_bands(panel, entries, series, look, 0.09, band)
    panel.set_xlim(0, 1.01 * max(curve.points[-1] for curve in curves))
    canvas.set_ticks(panel.xaxis, 4, format=EngFormatter(sep=""))
    numbers = StrMethodFormatter("{x:g}") if series.is_level or series.timed else EngFormatter(sep="")
    ends = [float(curve.mean[-1]) for curve in curves]
    if not series.is_level and min(ends) > 0 and max(ends) > LOG_SPAN * min(ends):
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(numticks=6))
        panel.yaxis.set_minor_locator(LogLocator(subs=(2, 5), numticks=6))
        panel.yaxis.set_minor_formatter(NullFormatter())
        panel.yaxis.set_major_formatter(numbers)
        return
    if series.is_level:
        low, high = late_range(curves)
        margin = 0.04 * (high - low) or 0.01
        panel.set_ylim(max(0.0, low - margin), high + margin)
    else:
        panel.set_ylim(bottom=0)
    canvas.set_ticks(panel.yaxis, 5, format=numbers)


def draw_bands(
    panel: Axes, entries: Sequence[Entry], series: Series, look: Mapping[str, Style], alpha: float, kind: str
) -> list[Band]:
    bands = [band_of(entry, series, kind) for entry in entries]
    for place, band in enumerate(bands):
        style, step = look[band.label], max(1, band.points.size // 4)
        if style is PALE:
            panel.plot(band.points, band.mean, color=style.colour, linewidth=0.5, zorder=1.5)
            continue
        if band.deviation is not None:
            edges = band.points, band.low, band.high
            panel.fill_between(*edges, color=style.colour, alpha=alpha, linewidth=0, zorder=2)
        markers = (place * step) // len(bands), step
        draw_line(panel, band.points, band.mean, band.label, style, markevery=markers)
    return bands


def draw_line(panel: Axes, x: Floats, y: Floats, label: str, style: Style, **how: Any) -> None:
    look = canvas.line_look(style)
    panel.plot(x, y, label=display_name(label), zorder=3 + style.width, **look, **how)


def late_range(curves: Sequence[Band]) -> tuple[float, float]:
    """Return the range of all bands except their start, where a rate jumps between zero and one half."""
    late = [curve.points >= EARLY * curve.points[-1] for curve in curves]
    low = [curve.low[where] for curve, where in zip(curves, late, strict=True)]
    high = [curve.high[where] for curve, where in zip(curves, late, strict=True)]
    return float(np.nanmin(np.concatenate(low))), float(np.nanmax(np.concatenate(high)))


def critical_difference_figure(
    across: "Across", look: Mapping[str, Style] | None = None, quantity: str = "mistake rate"
) -> Figure:
    """`look` is that of all labels of the run, so that every algorithm looks as in the curves."""
    diagram = lay_out(across.ranks, across.groups)
    with canvas.our_settings():
        figure = canvas.new_figure(0.5 + canvas.LINE * (diagram.height + 2.6))
        side = _side_share(across.labels, figure.get_figwidth())
        panel = figure.add_axes((side, 0, 1 - 2 * side, 1 - 0.42 / figure.get_figheight()))
        _draw_ranks(panel, diagram, across.critical_difference, look or styles(across.labels))
        title = (
            f"Average ranks by {quantity}: k = {len(across.labels)} algorithms, N = {len(across.datasets)} "
            "data sets, 1 is best.\nA bar joins algorithms that the Nemenyi test at 5% does not separate."
        )
        canvas.write(figure, (0.08, figure.get_figheight() - 0.06), title, va="top", linespacing=1.4)
    return figure


def draw_ranks(outer: Axes, across: "Across", look: Mapping[str, Style] | None = None) -> Axes:
    figure = outer.get_figure(root=True)
    assert figure is not None
    side = _side_share(across.labels, outer.get_position().width * figure.get_figwidth())
    outer.set_axis_off()
    with canvas.our_settings():  # room is made for names of this size
        panel = outer.inset_axes((side, 0, 1 - 2 * side, 1))
        diagram = lay_out(across.ranks, across.groups)
        _draw_ranks(panel, diagram, across.critical_difference, look or styles(across.labels))
    return outer


def _side_share(labels: Sequence[str], width: float) -> float:
    longest = max(len(display_name(label)) for label in labels)
    return min((canvas.LETTER * (longest + 6) + 0.15) / width, 0.35)


def _draw_ranks(panel: Axes, diagram: RankDiagram, difference: float, look: Mapping[str, Style]) -> None:
    highest, figure = len(diagram.names), panel.get_figure(root=True)
    assert figure is not None
    panel.set_axis_off()
    panel.set_xlim(1, highest)
    panel.set_ylim(diagram.height - 0.3, -2.3)
    panel.plot([1, highest], [0, 0], color="black", linewidth=0.7, clip_on=False)
    # With many algorithms the numbers would touch.
    step = ceil(RANK_WIDTH * highest / (panel.get_window_extent().width / figure.dpi))
    for rank in range(1, highest + 1):
        panel.plot([rank, rank], [0, -0.3], color="black", linewidth=0.6, clip_on=False)
        if (rank - 1) % step == 0:
            panel.text(rank, -0.45, str(rank), ha="center", va="bottom", fontsize=7)
    ruler: dict[str, Any] = {"color": "black", "linewidth": 0.9, "marker": "|", "markersize": 4}
    panel.plot([1, 1 + difference], [-1.7, -1.7], clip_on=False, gid="CD", **ruler)
    panel.text(1 + difference, -1.7, f"  CD = {difference:.2f}", va="center", fontsize=7)
    for low, high, y in diagram.bars:
        bar: dict[str, Any] = {"color": "#444444", "linewidth": 2.2, "solid_capstyle": "projecting"}
        panel.plot([low, high], [y, y], clip_on=False, gid="group", **bar)
    # A line goes from the rank on the axis down and out to the name at the side.
    for label, mean, y, left in diagram.names:
        side = 1 if left else highest
        panel.plot([mean, mean, side], [0, y, y], color="#888888", linewidth=0.5, zorder=1, clip_on=False)
        panel.plot([mean], [0], clip_on=False, zorder=4, gid=label, **canvas.line_look(look[label]))
        title = display_name(label)
        text, weight = f"{title}  {mean:.2f}" if left else f"{mean:.2f}  {title}", look[label].width > 1
        beside = {"ha": "right", "xytext": (-4, 0)} if left else {"ha": "left", "xytext": (4, 0)}
        how: dict[str, Any] = {**beside, "textcoords": "offset points", "annotation_clip": False}
        panel.annotate(text, (side, y), va="center", fontweight="bold" if weight else "normal", **how)


def save_figures(report: "Report", folder: Path, formats: Sequence[str] = canvas.FORMATS) -> list[Path]:
    from olbench.report.sections import sections_of

    folder.mkdir(parents=True, exist_ok=True)
    figures = {name: draw for each in sections_of(report) for name, draw in each.figures(report).items()}
    return [path for name, draw in figures.items() for path in canvas.save(draw(), folder / name, formats)]


def file_names(datasets: Sequence[str]) -> dict[str, str]:
    """Return a file name for each data set; names that would clash are numbered in order.

    Names that differ only in case clash: on some systems their files would be the same.

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
    """Return the name of a data set, which can be a path, without characters unfit for a file name.

    >>> file_name("data/my set.libsvm")
    'data-my-set.libsvm'

    A long name is cut; a part of its hash keeps it apart from others with the same beginning.
    """
    name = re.sub(r"[^\w.+-]+", "-", dataset).strip("-.") or "data"
    if len(name.encode()) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name.encode()[: LONGEST_NAME - 9].decode(errors='ignore')}-{digest}"
