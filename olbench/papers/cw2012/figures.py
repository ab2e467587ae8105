"""Accuracy by epoch; models of shards and one model of all the data (cw2012, Figures 3, 4, 6 and 7)."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, FixedLocator, StrMethodFormatter

from olbench.analysis.results import Entry, Results
from olbench.papers.cw2012.combination import TITLES
from olbench.protocols.definition import Series
from olbench.records.quantities import Quantity
from olbench.report.figures.palette import BLUE, GREY, ORANGE, SKY, Style, display_name, styles
from olbench.report.figures.run import DEVIATION, Band, band_of, draw_bands, draw_line, late_range
from olbench.report.figures.style import DASHES, line_samples, new_page, set_ticks

if TYPE_CHECKING:
    from olbench.papers.cw2012.tables import Family

COLOURS = {"average": GREY, "l2": SKY, "kl": BLUE, "counts": ORANGE}
MARKERS = {"average": "o", "l2": "^", "kl": "s", "counts": "D"}
WHISKERS: dict[str, Any] = {"elinewidth": 0.8, "capsize": 1.6, "capthick": 0.8, "zorder": 5}
#: The most data sets in a figure of curves; with more, panels are too small to print.
PANELS = 9


def epochs_figure(
    results: Results, entries: Mapping[str, Sequence[Entry]], series: Series, title: str = ""
) -> Figure:
    """Draw cw2012, Figures 3 and 4, of some entries of a run; looks agree between its figures."""
    stressed = {results.name_of(entry) for entry in results.entries if entry.label in results.highlighted}
    look = styles(results.names, stressed)
    drawn = {results.name_of(entry) for each in entries.values() for entry in each}
    samples = line_samples([name for name in look if name in drawn], look)
    heading = f"Test accuracy (%) after each epoch, mean and deviation over the folds{title}"
    *names, last = entries
    listed = f"{', '.join(names)} and {last}" if names else last
    caption = f"{heading}: {listed}. A band is one deviation either way."
    along = series.along_title
    with new_page(heading, 1.85, samples, caption, list(entries), along) as (figure, panels):
        for panel, own in zip(panels, entries.values(), strict=True):
            _draw_epochs(panel, {results.name_of(entry): band_of(entry, series) for entry in own}, look)
    return figure


def _draw_epochs(panel: Axes, bands: Mapping[str, Band], look: Mapping[str, Style]) -> None:
    for name, band in bands.items():
        style = look[name]
        if band.low is not band.mean:
            low, high = 100 - band.high, 100 - band.low
            panel.fill_between(band.points, low, high, color=style.colour, alpha=0.06, linewidth=0, zorder=2)
            for edge in (low, high):
                panel.plot(band.points, edge, color=style.colour, alpha=0.35, linewidth=0.3, zorder=2)
        draw_line(panel, band.points, 100 - band.mean, name, style)
    last = int(max(band.points[-1] for band in bands.values()))
    panel.set_xlim(0.7, last + 0.3)
    panel.xaxis.set_major_locator(FixedLocator([1, *range(2, last + 1, ceil(last / 10) * 2)]))
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    set_ticks(panel.yaxis, 5)


def points_figure(found: Sequence["Family"], singles: Sequence["Family"], quantity: Quantity) -> Figure:
    """Draw cw2012, Figure 6, with points: its bars would have to begin at zero."""
    look = styles(family.label for family in singles)
    ways = [way for way in TITLES if any(way in family.ways for family in found)]
    points = [Line2D([], [], linestyle="none", label=TITLES[way], **_point_look(way)) for way in ways]
    lines = [
        Line2D(
            [], [], color=style.colour, linestyle=DASHES[style.dash], label=f"{display_name(label)}, single"
        )
        for label, style in look.items()
    ]
    name = display_name(found[0].label)
    heading = f"{name} in shards: test {quantity.title}, mean and deviation over the splits"
    caption = (
        f"{heading}. Points: the models of n shards by themselves (average) and combined. Lines: one model "
        "of all training examples. All panels have the same axis."
    )
    names, reaches = [family.dataset for family in found], []
    with new_page(heading, 2.2, [*points, *lines], caption, names, "shards") as (figure, panels):
        for panel, family in zip(panels, found, strict=True):
            reaches += _draw_points(panel, family, ways, quantity)
            for each in (each for each in singles if each.dataset == family.dataset):
                mean, style = quantity.factor * each.single.mean(quantity), look[each.label]
                dashes = DASHES[style.dash]
                panel.axhline(mean, color=style.colour, linestyle=dashes, linewidth=1.1, zorder=4)
                reaches.append(mean)
        low, high = min(reaches), max(reaches)
        margin = 0.04 * (high - low) or 0.5
        for panel in panels:
            panel.set_ylim(max(0.0, low - margin), min(high + margin, quantity.top))
            set_ticks(panel.yaxis, 6)
    return figure


def _point_look(way: str) -> dict[str, Any]:
    return {"color": COLOURS[way], "marker": MARKERS[way], "markersize": 4}


def _draw_points(panel: Axes, family: "Family", ways: Sequence[str], quantity: Quantity) -> list[float]:
    width, reaches = 0.7 / len(ways), []
    for place, shards in enumerate(family.shards):
        for k, way in enumerate(ways):
            entry = family.combined.get((shards, way))
            if entry is None:
                continue
            mean, deviation = (quantity.factor * value for value in entry.spread(quantity))
            below, above = min(deviation, mean), min(deviation, quantity.top - mean)
            at, look = place + (k - (len(ways) - 1) / 2) * width, {**WHISKERS, **_point_look(way)}
            panel.errorbar([at], [mean], yerr=[[below], [above]], **look)
            reaches += [mean - below, mean + above]
    panel.set_xticks(range(len(family.shards)), [f"{shards:,}" for shards in family.shards])
    panel.set_xlim(-0.6, len(family.shards) - 0.4)
    panel.tick_params(axis="x", length=0)
    return reaches


def examples_figure(
    found: Mapping[str, Sequence["Family"]], series: Series, highlighted: Sequence[str] = ()
) -> Figure:
    """Draw cw2012, Figure 7; a grey line shows the fewest shards of the first algorithm, combined."""
    look = styles((family.label for each in found.values() for family in each), highlighted)
    samples = line_samples(list(look), look)
    first = next((each[0] for each in found.values() if each[0].shards), None)
    if first is not None:
        name = f"{display_name(first.label)}, {min(first.shards)} shards"
        samples.append(Line2D([], [], color=GREY, linestyle=DASHES["dot"], label=name))
    heading = "Test accuracy (%) by the number of training examples"
    caption = f"{heading}, one pass of one model. A band is one deviation over the splits either way."
    with new_page(heading, 2.2, samples, caption, list(found), series.along_title) as (figure, panels):
        for panel, own in zip(panels, found.values(), strict=True):
            _draw_curves(panel, own, series, look)
    return figure


def _draw_curves(panel: Axes, own: Sequence["Family"], series: Series, look: Mapping[str, Style]) -> None:
    bands = draw_bands(panel, [family.single for family in own], series, look, 0.12, DEVIATION)
    low, high = late_range(bands)
    if own[0].shards:
        mean = 100 * own[0].best(min(own[0].shards)).mean(series.quantity)
        panel.axhline(mean, color=GREY, linestyle=DASHES["dot"], linewidth=0.9)
        low, high = min(low, mean), max(high, mean)
    margin = 0.05 * (high - low) or 0.5
    panel.set_ylim(low - margin, high + margin)
    panel.set_xlim(left=0)
    set_ticks(panel.xaxis, 4, format=EngFormatter(sep=""))
    set_ticks(panel.yaxis, 5)
