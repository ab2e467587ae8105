"""Mistakes and test errors of many runs, each on its own sample (cw2008, Figure 2 (a) and (b))."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from olbench.analysis.results import Entry, Results
from olbench.records.quantities import TEST_ERROR
from olbench.report.figures.palette import Style, display_name
from olbench.report.figures.run import entries_on, find_looks
from olbench.report.figures.style import line_look, name_rows, new_page, set_ticks

BARS = 8
#: The height of a row of test errors, in inches.
ROW = 0.26
Look = dict[str, Any]
DIAMOND: Look = {"marker": "D", "markersize": 3.6, "markerfacecolor": "white", "markeredgewidth": 0.9}
BOX: Look = {"height": 0.55, "facecolor": "white", "linewidth": 0.8, "zorder": 3}
WHISKERS: Look = {"elinewidth": 0.6, "capsize": 1.6, "capthick": 0.6}


def mistakes_figure(results: Results, dataset: str) -> Figure:
    """Draw one line for algorithms with the same curve: averaging, for example, changes no prediction."""
    entries, look = entries_on(results, dataset), find_looks(results)
    groups = group_alike(entries)
    samples = [Line2D([], [], label=_name(group), **line_look(look[group[0].label])) for group in groups]
    heading = f"Cumulative mistakes on {dataset}: {_runs(entries)}"
    caption = f"Cumulative mistakes on {dataset}, mean and deviation over the runs."
    with new_page(heading, 3.0, samples, caption) as (figure, [panel]):
        for place, group in enumerate(groups):
            _draw_mistakes(panel, group, look[group[0].label], place, len(groups))
        panel.set_xlim(0, 1.01 * max(entry.points[-1] for entry in entries))
        panel.set_ylim(bottom=0)
        panel.set(xlabel="number of examples", ylabel="cumulative mistakes")
        set_ticks(panel.yaxis, 6)
    return figure


def _runs(entries: Sequence[Entry]) -> str:
    counts = sorted({entry.done for entry in entries})
    many = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return f"mean and deviation over {many} run{'' if counts == [1] else 's'}"


def group_alike(entries: Sequence[Entry]) -> list[list[Entry]]:
    groups: dict[tuple[bytes, ...], list[Entry]] = {}
    for entry in entries:
        curve = entry.points.tobytes(), entry.curves["mistakes"].tobytes()
        groups.setdefault(curve, []).append(entry)
    return list(groups.values())


def _name(group: Sequence[Entry]) -> str:
    return ", ".join(display_name(entry.label) for entry in group)


def _draw_mistakes(panel: Axes, group: Sequence[Entry], style: Style, place: int, lines: int) -> None:
    entry = group[0]
    counts = entry.curves["mistakes"]
    step = min(max(entry.points.size // BARS, lines), entry.points.size)
    every = place * step // lines, step
    look = {**WHISKERS, **line_look(style), "errorevery": every, "markevery": every}
    deviation = counts.std(axis=0, ddof=1) if entry.done > 1 else None
    panel.errorbar(
        entry.points, counts.mean(axis=0), yerr=deviation, label=_name(group), zorder=3 + style.width, **look
    )


def errors_figure(results: Results, dataset: str) -> Figure:
    entries, look = entries_on(results, dataset), find_looks(results)
    heading = f"Test error on {dataset}: quartiles, extremes, {_runs(entries)}"
    caption = f"Test error on {dataset}, by algorithm, over the runs."
    with new_page(heading, 0.5 + ROW * len(entries), caption=caption) as (figure, [panel]):
        for place, entry in enumerate(entries):
            _draw_errors(panel, entry, place, look[entry.label])
        name_rows(panel, [display_name(entry.label) for entry in entries])
        numbers = panel.secondary_yaxis("right")
        texts = [TEST_ERROR.spread(*entry.spread(TEST_ERROR)) for entry in entries]
        numbers.set_yticks(range(len(entries)), texts)
        numbers.tick_params(length=0)
        numbers.spines["right"].set_visible(False)
        panel.set_xlim(left=0)
        panel.set_xlabel(TEST_ERROR.title)
        set_ticks(panel.xaxis, 8)
    return figure


def _draw_errors(panel: Axes, entry: Entry, place: int, style: Style) -> None:
    values = entry.values(TEST_ERROR) * TEST_ERROR.factor
    low, first, median, third, high = np.quantile(values, (0, 0.25, 0.5, 0.75, 1))
    label, colour = entry.label, style.colour
    panel.plot([low, high], [place, place], color=colour, linewidth=0.7, zorder=2, gid=f"range {label}")
    panel.barh(place, third - first, left=first, edgecolor=colour, gid=f"quartiles {label}", **BOX)
    panel.plot([median, median], [place - 0.27, place + 0.27], color=colour, linewidth=1.4, zorder=4)
    diamond = {**DIAMOND, "markeredgecolor": colour, "linestyle": "none", "zorder": 5}
    panel.plot([values.mean()], [place], gid=label, **diamond)
