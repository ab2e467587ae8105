"""Mistakes and test errors of many runs, each on a sample of its own (cw2008, Figure 2 (a) and (b))."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from olbench.errors import UserError
from olbench.quantities import Quantity
from olbench.report.canvas import (
    LETTER,
    add_panels,
    draw_legend,
    legend_height,
    line_look,
    line_samples,
    new_figure,
    our_settings,
    shorten,
    write_title,
)
from olbench.report.figures import ROUND
from olbench.report.palette import Style, display_name, styles
from olbench.report.results import Entry, Results

#: Error bars of each curve.
BARS = 8
#: Inches: the height of a row of the test errors, the most that the names take, and the width of a mean with
#: its deviation.
ROW, NAMES, NUMBERS = 0.26, 2.4, 0.85


def mistakes_figure(results: Results, dataset: str) -> Figure:
    """Draw the mean cumulative mistakes; an error bar is one deviation over the runs either way."""
    entries, look = _drawn(results, dataset)
    samples = line_samples([entry.label for entry in entries], look)
    legend = legend_height(samples)
    height = 3.25 + legend
    with our_settings():
        figure = new_figure(height, f"Cumulative mistakes on {dataset}, mean and deviation over the runs.")
        [panel] = add_panels(figure, 1, 1, above=0.38, below=0.42 + legend, left=0.5)
        for place, entry in enumerate(entries):
            _draw_mistakes(panel, entry, look[entry.label], place / len(entries))
        panel.set_xlim(0, 1.01 * max(entry.points[-1] for entry in entries))
        panel.set_ylim(bottom=0)
        panel.set_xlabel("number of examples")
        panel.set_ylabel("cumulative mistakes")
        panel.yaxis.set_major_locator(MaxNLocator(6, steps=ROUND))
        write_title(figure, f"Cumulative mistakes on {dataset}: {_runs(entries)}")
        draw_legend(figure, samples)
    return figure


def _drawn(results: Results, dataset: str) -> tuple[list[Entry], Mapping[str, Style]]:
    entries = results.of(dataset)
    if not entries:
        raise UserError(f"there is no trial on {dataset} yet, so there is nothing to draw")
    return entries, styles(results.labels)


def _runs(entries: Sequence[Entry]) -> str:
    counts = sorted({entry.done for entry in entries})
    many = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return f"mean and deviation over {many} run{'' if counts == [1] else 's'}"


def _draw_mistakes(panel: Axes, entry: Entry, style: Style, shift: float) -> None:
    """Draw the curve of an entry; bars of different entries stand at different points, `shift` steps on."""
    counts = entry.curves["mistakes"]
    step = max(1, entry.points.size // BARS)
    start = min(int(step * shift), entry.points.size - 1)
    panel.errorbar(
        entry.points, counts.mean(axis=0),
        yerr=counts.std(axis=0, ddof=1) if entry.done > 1 else None,
        errorevery=(start, step), markevery=(start, step), label=display_name(entry.label),
        elinewidth=0.6, capsize=1.6, capthick=0.6, zorder=3 + style.width, **line_look(style),
    )  # fmt: skip


def errors_figure(results: Results, dataset: str, quantity: Quantity) -> Figure:
    """Draw the test errors of all runs as boxes: quartiles, whiskers to the ends, and the mean as a point."""
    entries, look = _drawn(results, dataset)
    names = [shorten(display_name(entry.label), NAMES) for entry in entries]
    height = 0.85 + ROW * len(entries)
    left = 0.3 + LETTER * max(map(len, names))
    with our_settings():
        figure = new_figure(height, f"Test error on {dataset}, by algorithm, over the runs.")
        [panel] = add_panels(figure, 1, 1, above=0.38, below=0.42, left=left, right=NUMBERS + 0.1)
        for place, entry in enumerate(entries):
            _draw_errors(panel, quantity, entry, place, look[entry.label])
        panel.set_yticks(range(len(entries)), names)
        panel.set_ylim(len(entries) - 0.4, -0.6)
        panel.set_xlim(left=0)
        panel.tick_params(axis="y", length=0)
        panel.grid(axis="y", visible=False)
        panel.grid(axis="x")
        panel.spines["left"].set_visible(False)
        panel.set_xlabel(quantity.title)
        panel.xaxis.set_major_locator(MaxNLocator(8, steps=ROUND))
        panel.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        write_title(figure, f"Test error on {dataset}: quartiles, extremes, {_runs(entries)}")
    return figure


def _draw_errors(panel: Axes, quantity: Quantity, entry: Entry, place: int, style: Style) -> None:
    values = entry.values(quantity) * (100 if quantity.percent else 1)
    low, first, median, third, high = np.quantile(values, (0, 0.25, 0.5, 0.75, 1))
    panel.plot(
        [low, high], [place, place], color=style.colour, linewidth=0.7, zorder=2, gid=f"range {entry.label}"
    )
    panel.barh(
        place, third - first, 0.55, first, facecolor="white", edgecolor=style.colour, linewidth=0.8, zorder=3,
        gid=f"quartiles {entry.label}",
    )  # fmt: skip
    panel.plot([median, median], [place - 0.27, place + 0.27], color=style.colour, linewidth=1.4, zorder=4)
    panel.plot(
        [values.mean()], [place], marker="D", markersize=3.6, markerfacecolor="white",
        markeredgecolor=style.colour, markeredgewidth=0.9, linestyle="none", zorder=5, gid=entry.label,
    )  # fmt: skip
    spread = entry.spread(quantity)
    assert spread is not None
    panel.annotate(
        quantity.spread(*spread), (1, place), xycoords=("axes fraction", "data"), xytext=(72 * NUMBERS, 0),
        textcoords="offset points", ha="right", va="center_baseline", annotation_clip=False,
    )  # fmt: skip
