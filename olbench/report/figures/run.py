"""The figures of a run: curves, average ranks and confusion."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter, StrMethodFormatter
from numpy.typing import NDArray

from olbench.analysis.choices import find_definition
from olbench.analysis.results import Entry, Floats, Results, drift_rows
from olbench.analysis.stats import mean_ranks
from olbench.errors import UserError
from olbench.protocols.definition import Series
from olbench.report.figures import style
from olbench.report.figures.palette import Looks, Style, algorithm_of, display_name, styles
from olbench.report.figures.style import shorten

if TYPE_CHECKING:
    from olbench.analysis.stats import Across
    from olbench.report.model import Report

#: An axis is logarithmic if algorithms end more than this factor apart: on a linear axis, the best would be
#: indistinguishable from zero.
LOG_SPAN = 10.0
#: With more than MANY lines, only the FOCUS best by rank and the baselines have a colour and a name.
MANY, FOCUS = 16, 8
PALE = Style("#c4c4c4", "", width=0.7)
#: The first part of a curve, which does not affect the limits of the axis.
EARLY = 0.1
#: The most classes of a confusion matrix whose shares are written into cells, and the most ticks.
WRITTEN, NUMBERED = 12, 20
#: Names of classes are written upright below a matrix if all have more letters than this.
LEVEL_LETTERS = 80
#: Rows between the bars of a diagram of ranks.
BAR = 0.55
#: What a band shows: one standard deviation over the trials, or the confidence interval of the mean.
DEVIATION, INTERVAL = BANDS = ("deviation", "interval")
LEVEL = 0.95


class Band(NamedTuple):
    """A mean and the edges of its band; without a band, these are the mean."""

    label: str
    points: Floats
    mean: Floats
    low: Floats
    high: Floats


def band_of(entry: Entry, series: Series, kind: str = DEVIATION) -> Band:
    points = entry.points.astype(np.float64)
    values = entry.curves[series.name] * series.quantity.factor
    values = values / points if series.per_example else values
    mean = values.mean(axis=0)
    # Shared times vary with the load of the machine, not with the algorithm.
    if entry.done < 2 or (series.timed and not entry.exclusive):
        return Band(entry.label, points, mean, mean, mean)
    deviation = values.std(axis=0, ddof=1)
    if kind == INTERVAL:
        from scipy.special import stdtrit

        # Nadeau and Bengio (2003): trials that share training rows vary less than independent ones would.
        error = math.sqrt(1 / entry.done + entry.overlap)
        deviation = deviation * (float(stdtrit(entry.done - 1, (1 + LEVEL) / 2)) * error)
    floor = np.fmin.reduce(mean, initial=0.0)  # kappa can be negative
    low, high = np.maximum(mean - deviation, floor), np.minimum(mean + deviation, series.quantity.top)
    return Band(entry.label, points, mean, low, high)


def describe_band(band: str) -> str:
    if band not in BANDS:
        raise UserError(f"a band must be {' or '.join(BANDS)}, not {band!r}")
    return f"; bands: {LEVEL:.0%} intervals of the means" if band == INTERVAL else ""


def curves_figure(
    results: Results, dataset: str, only: Sequence[Series] | None = None, band: str = DEVIATION
) -> Figure:
    entries = entries_on(results, dataset)
    shown = {_name(series, entries): (entries, series) for series in only or results.protocol.series}
    return _curves(results, dataset, 2.3, shown, band)


def overview_figure(results: Results, series: Series | None = None, band: str = DEVIATION) -> Figure:
    series = series or results.protocol.series[0]
    drawn = [name for name in results.datasets if any(entry.points.size for entry in results.of(name))]
    if not drawn:
        raise UserError(f"{results.folder} has no trial yet, so there is nothing to draw")
    shown = {name: (entries_on(results, name), series) for name in drawn}
    name = _name(series, [entry for entries, _ in shown.values() for entry in entries])
    return _curves(results, f"Against the {series.along_title}: {name}", 1.85, shown, band, name)


def _curves(
    results: Results,
    heading: str,
    height: float,
    shown: Mapping[str, tuple[Sequence[Entry], Series]],
    band: str,
    ylabel: str = "",
) -> Figure:
    labels = {entry.label for entries, _ in shown.values() for entry in entries}
    look, samples = choose_looks(results, [label for label in results.labels if label in labels])
    heading += describe_band(band)
    along = next(iter(shown.values()))[1].along_title
    with style.new_page(heading, height, samples, "", list(shown), along) as (figure, panels):
        for panel, (entries, series) in zip(panels, shown.values(), strict=True):
            _draw_panel(panel, entries, series, look, band)
        if ylabel:
            figure.supylabel(ylabel)
    return figure


def find_looks(results: Results) -> Looks:
    return styles(results.labels, results.highlighted, results.among)


def choose_looks(results: Results, drawn: Sequence[str]) -> tuple[Looks, list[Line2D]]:
    look = find_looks(results)
    if len(drawn) <= MANY:
        return look, style.line_samples(drawn, look)
    headline, datasets = results.protocol.quantities[0], results.datasets
    means = {name: {each.label: each.mean(headline) for each in results.of(name)} for name in datasets}
    ranks = mean_ranks(means, headline.better)
    best = sorted(drawn, key=lambda label: ranks.get(label, math.inf))[:FOCUS]
    named = [label for label in drawn if label in (*best, *results.highlighted) or is_baseline(label)]
    others = [Line2D([], [], label=f"{len(drawn) - len(named)} others", **style.line_look(PALE))]
    pale = {label: look[label] if label in named else PALE for label in look}
    return pale, [*style.line_samples(named, look), *others]


def is_baseline(label: str) -> bool:
    definition = find_definition(algorithm_of(label))
    return definition is not None and definition.order == "baseline"


def draw_curves(panel: Axes, results: Results, dataset: str, series: Series, band: str = DEVIATION) -> Axes:
    describe_band(band)
    entries = entries_on(results, dataset)
    _draw_panel(panel, entries, series, find_looks(results), band)
    panel.set(title=f"{dataset}: {_name(series, entries)}", xlabel=series.along_title)
    panel.legend(fontsize="small", frameon=False)
    return panel


def entries_on(results: Results, dataset: str) -> list[Entry]:
    entries = [entry for entry in results.of(dataset) if entry.points.size]
    if not entries:
        raise UserError(f"there is no trial on {dataset} yet, so there is nothing to draw")
    return entries


def _name(series: Series, entries: Sequence[Entry]) -> str:
    if not series.timed or all(entry.exclusive for entry in entries):
        return series.title
    some = "partly " if any(entry.exclusive for entry in entries) else ""
    return f"{series.title}, {some}shared"


def _draw_panel(panel: Axes, entries: Sequence[Entry], series: Series, look: Looks, band: str) -> None:
    for row in drift_rows(entries):
        panel.axvline(row, color="#999999", linewidth=0.8, linestyle=(0, (2, 2)), zorder=1, gid="drift")
    curves = draw_bands(panel, entries, series, look, 0.09, band)
    panel.set_xlim(0, 1.01 * max(curve.points[-1] for curve in curves))
    style.set_ticks(panel.xaxis, 4, format=EngFormatter(sep=""))
    numbers = StrMethodFormatter("{x:g}") if series.is_level or series.timed else EngFormatter(sep="")
    ends = [float(curve.mean[-1]) for curve in curves]
    if series.is_level:
        low, high = late_range(curves)
        margin = 0.04 * (high - low) or 0.01
        panel.set_ylim(low - margin if low < 0 else max(0.0, low - margin), high + margin)
    elif min(ends) > 0 and max(ends) > LOG_SPAN * min(ends):
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(numticks=6))
        panel.yaxis.set_minor_locator(LogLocator(subs=(2, 5), numticks=6))
        panel.yaxis.set_minor_formatter(NullFormatter())
        panel.yaxis.set_major_formatter(numbers)
        return
    else:
        panel.set_ylim(bottom=0)
    style.set_ticks(panel.yaxis, 5, format=numbers)


def draw_bands(
    panel: Axes, entries: Sequence[Entry], series: Series, look: Looks, alpha: float, kind: str
) -> list[Band]:
    bands = [band_of(entry, series, kind) for entry in entries]
    for place, band in enumerate(bands):
        own, step = look[band.label], max(1, band.points.size // 4)
        if own is PALE:
            panel.plot(band.points, band.mean, color=own.colour, linewidth=0.5, zorder=1.5)
            continue
        if band.low is not band.mean:
            edges = band.points, band.low, band.high
            panel.fill_between(*edges, color=own.colour, alpha=alpha, linewidth=0, zorder=2)
        markers = (place * step) // len(bands), step
        draw_line(panel, band.points, band.mean, band.label, own, markevery=markers)
    return bands


def draw_line(panel: Axes, x: Floats, y: Floats, label: str, own: Style, **how: Any) -> None:
    panel.plot(x, y, label=display_name(label), zorder=3 + own.width, **style.line_look(own), **how)


def late_range(curves: Sequence[Band]) -> tuple[float, float]:
    """Return the range of all bands without their start, where rates jump between zero and one half."""
    late = [(curve, curve.points >= EARLY * curve.points[-1]) for curve in curves]
    edges = np.concatenate([edge[places] for curve, places in late for edge in (curve.low, curve.high)])
    return float(np.nanmin(edges)), float(np.nanmax(edges))


def critical_difference_figure(across: "Across", look: Looks, quantity: str = "mistake rate") -> Figure:
    """Draw average ranks; `look` has all labels of the run, so that algorithms look as in the curves."""
    heading = (
        f"Average ranks by {quantity}: k = {len(across.labels)} algorithms, N = {len(across.datasets)} "
        "data sets, 1 is best.\nBars join algorithms that do not differ significantly (Nemenyi test, 5%). "
        "Ranks depend on who takes part."
    )
    rows = ceil(len(across.labels) / 2) + BAR * len(across.groups)
    with style.new_page(heading, 0.2 + 0.165 * (rows + 3.2)) as (figure, [panel]):
        _draw_ranks(panel, across, look)
    return figure


def draw_ranks(panel: Axes, across: "Across", look: Looks) -> Axes:
    with style.our_settings():
        _draw_ranks(panel, across, look)
        widest = max(text.get_window_extent().width for text in panel.texts)
        share = min(widest / panel.get_window_extent().width + 0.02, 0.45)
    beside = (len(across.labels) - 1) * share / (1 - 2 * share)
    panel.set_xlim(1 - beside, len(across.labels) + beside)
    return panel


def _draw_ranks(panel: Axes, across: "Across", look: Looks) -> None:
    """Draw the diagram of Demšar (2006): the better half on the left, best and worst at the top."""
    spans = [[across.ranks[label] for label in group] for group in across.groups if len(group) > 1]
    ordered = sorted(across.ranks, key=lambda label: (across.ranks[label], label))
    worst, half, top = len(ordered), ceil(len(ordered) / 2), 1 + BAR * len(spans)
    panel.set(xlim=(1, worst), ylim=(top + half - 0.5, -2.2), xticks=range(1, worst + 1, ceil(worst / 20)))
    panel.grid(False)
    panel.yaxis.set_visible(False)
    panel.xaxis.tick_top()
    panel.spines[["left", "right", "bottom"]].set_visible(False)
    panel.spines.top.set(visible=True, position=("data", 0), bounds=(1, worst))
    difference = across.critical_difference
    ruler: dict[str, Any] = {"color": "black", "linewidth": 0.9, "marker": "|", "markersize": 4}
    panel.plot([1, 1 + difference], [-1.8, -1.8], clip_on=False, gid="CD", **ruler)
    panel.text(1 + difference, -1.8, f"  CD = {difference:.2f}", va="center", fontsize=7)
    bar: dict[str, Any] = {"color": "#444444", "linewidth": 2.2, "solid_capstyle": "projecting"}
    for number, span in enumerate(spans):
        y = 0.8 + BAR * number
        panel.plot([min(span), max(span)], [y, y], clip_on=False, gid="group", **bar)
    # A line goes from the rank on the axis down and out to the name at the side.
    for place, label in enumerate(ordered):
        y = top + min(place, worst - 1 - place)
        rank, own, name = across.ranks[label], look[label], shorten(display_name(label), style.BESIDE)
        panel.plot([rank], [0], clip_on=False, zorder=4, gid=label, **style.line_look(own))
        ink = own.colour if own.stands_out else "#888888"
        how: dict[str, Any] = {"textcoords": "offset points", "va": "center", "annotation_clip": False}
        how |= {"color": own.colour, "fontweight": "bold"} if own.stands_out else {}
        if place < half:
            side, text, how = 1, f"{name}  {rank:.2f}", {**how, "ha": "right", "xytext": (-4, 0)}
        else:
            side, text, how = worst, f"{rank:.2f}  {name}", {**how, "ha": "left", "xytext": (4, 0)}
        panel.plot([rank, rank, side], [0, y, y], color=ink, linewidth=0.5, zorder=1, clip_on=False)
        panel.annotate(text, (side, y), **how)


def pairwise_figure(report: "Report") -> Figure:
    """Draw the comparison of every two algorithms over data sets, or of the named one with the others.

    After the multiple comparison matrix of Ismail-Fawaz and others (2023): a cell does not depend on which
    other algorithms take part.
    """
    rows, columns = _choose_pairs(report)
    heading = (
        f"Pairs over data sets: difference in {report.headline.title}, row minus column; data sets "
        "won/tied/lost by the row;\np of Wilcoxon's signed-rank test, not corrected. Bold: p below 5%. Blue: "
        "the row is better."
    )
    with style.new_page(heading, 0.85 + 0.42 * len(rows)) as (figure, [panel]):
        _draw_pairs(panel, report, rows, columns)
    return figure


def draw_pairs(panel: Axes, report: "Report") -> Axes:
    with style.our_settings():
        _draw_pairs(panel, report, *_choose_pairs(report))
    return panel


def _choose_pairs(report: "Report") -> tuple[list[str], list[str]]:
    """Return the rows and the columns, best mean first; of many algorithms, only the best have a column."""
    labels = dict.fromkeys(label for pair in report.pairwise for label in (pair.first, pair.second))
    means = {label: [row.get(label, np.nan) for row in report.means.values()] for label in labels}
    order = sorted(means, key=lambda label: report.headline.loss(np.nanmean(means[label])))
    control = report.control
    columns = [label for label in order if label != control][:MANY]
    return ([control], columns) if control else (columns, columns)


def _draw_pairs(panel: Axes, report: "Report", rows: Sequence[str], columns: Sequence[str]) -> None:
    both = (each for pair in report.pairwise for each in (pair, pair.flip()))
    found = {(each.first, each.second): each for each in both}
    quantity = report.headline
    cells = np.full((len(rows), len(columns)), np.nan)
    for (y, row), (x, column) in product(enumerate(rows), enumerate(columns)):
        if (pair := found.get((row, column))) is None:
            continue
        cells[y, x] = -quantity.loss(pair.mean)
        signs = f"{pair.wins}/{pair.ties}/{pair.losses}"
        text = f"{quantity.text(pair.mean, sign='+')}\n{signs}\n{pair.p:.2g}"
        weight = "bold" if pair.p < 1 - LEVEL else "normal"
        size = 6.5 if len(columns) <= 10 else 5
        panel.text(x, y, text, ha="center", va="center", fontsize=size, fontweight=weight, linespacing=1.15)
    # Pale colours, on which black letters can be read.
    reach = 2 * np.nanmax(np.abs(cells), initial=1e-300)
    panel.imshow(cells, cmap="RdBu", vmin=-reach, vmax=reach, aspect="auto")
    names = [shorten(display_name(label), style.BESIDE) for label in columns]
    is_wide = max(map(len, names)) * len(names) > LEVEL_LETTERS
    panel.set_xticks(range(len(columns)), names, rotation=90 if is_wide else 0)
    panel.set_yticks(range(len(rows)), [shorten(display_name(label), style.BESIDE) for label in rows])
    panel.xaxis.tick_top()
    panel.tick_params(length=0)
    panel.grid(visible=False)
    panel.spines[:].set_visible(False)


def confusion_figure(
    dataset: str, label: str, matrix: NDArray[np.int64], names: Sequence[str] = ()
) -> Figure:
    """Draw the shares of predictions by true class; correct ones are not coloured, to show the others."""
    shares = 100 * matrix / np.maximum(1, matrix.sum(axis=1, keepdims=True))
    wrong = np.where(np.eye(len(matrix), dtype=bool), np.nan, shares)
    heading = f"{dataset}, {display_name(label)}: mistakes in % of each true class"
    with style.new_page(heading, 4.2) as (figure, [panel]):
        panel.grid(visible=False)
        image = panel.imshow(wrong, cmap="Blues", vmin=0, aspect="auto")
        ticks = range(0, len(matrix), max(1, len(matrix) // NUMBERED))
        shown = [shorten(names[k] if names else str(k), style.BESIDE) for k in ticks]
        panel.set(xlabel="predicted class", ylabel="true class")
        is_wide = len(shown) * max(map(len, shown)) > LEVEL_LETTERS
        panel.set_xticks(ticks, shown, rotation=90 if is_wide else 0)
        panel.set_yticks(ticks, shown)
        if len(matrix) <= WRITTEN:
            dark = 0.6 * np.nanmax(wrong, initial=0.0)
            for (k, j), share in np.ndenumerate(shares):
                colour = "white" if k != j and share > dark else "#666666" if k == j else "black"
                panel.text(j, k, f"{share:.1f}", ha="center", va="center", fontsize=6.5, color=colour)
        figure.colorbar(image, ax=panel)
    return figure


def save_figures(
    report: "Report", folder: Path, formats: Sequence[str] = style.FORMATS, titles: bool = True
) -> list[Path]:
    from olbench.report.tables import figures_of

    folder.mkdir(parents=True, exist_ok=True)
    with style.headings(titles):
        drawn = figures_of(report).items()
        return [path for name, draw in drawn for path in style.save(draw(), folder / name, formats)]
