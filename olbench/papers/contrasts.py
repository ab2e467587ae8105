"""Pairs of variants of an algorithm on all data sets, which several papers print: a table and a figure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import TYPE_CHECKING, Any

from olbench.analysis.results import Entry, Results
from olbench.records.quantities import Quantity
from olbench.report import table as t
from olbench.report.figures.palette import Style, display_name, styles
from olbench.report.model import Report
from olbench.report.table import Column, Table, capitalise, columns
from olbench.report.tables import REGISTRY, Figures, Item

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEWEST = 3


@dataclass(frozen=True)
class Pairing:
    """Compare entries in a quantity that differ only in `respect`, with the values x and y.

    The respect is an option, such as the projection, or "algorithm".
    """

    quantity: Quantity
    respect: str
    x: str
    y: str


def further_tuning(results: Results, entry: Entry) -> str:
    """Return how an entry is tuned; empty for the first tuning of the config."""
    return "" if results.is_contestant(entry) else results.tuning_of(entry)


def with_tuning(name: str, tuning: str) -> str:
    return f"{name}-{tuning}" if tuning else name


def accuracy(error: float) -> float:
    return 100.0 - 100.0 * error


@dataclass(frozen=True)
class Contrast:
    x: str
    y: str
    tuning: str
    points: Mapping[str, tuple[float, float]]

    @property
    def above(self) -> int:
        return sum(y > x for x, y in self.points.values())

    @property
    def count(self) -> str:
        equal = sum(y == x for x, y in self.points.values())
        ties = f", {equal} on the line" if equal else ""
        return f"{self.above} of {len(self.points)} above the line{ties}"


def find_contrasts(results: Results, pairing: Pairing) -> list[Contrast]:
    respect = pairing.respect
    facts = {
        each.label: {**each.options, "algorithm": each.algorithm, "tuning": further_tuning(results, each)}
        for each in results.entries
    }
    names = {each.label: results.name_of(each) for each in results.entries}
    done = {(each.dataset, each.label): each for each in results.entries if each.done}

    def mean(dataset: str, label: str) -> float:
        return accuracy(done[dataset, label].mean(pairing.quantity))

    found = []
    for x, y in permutations(facts, 2):
        if facts[x].get(respect) != pairing.x or facts[y] != {**facts[x], respect: pairing.y}:
            continue
        shared = [name for name in results.datasets if (name, x) in done and (name, y) in done]
        if len(shared) >= FEWEST:
            points = {name: (mean(name, x), mean(name, y)) for name in shared}
            found.append(Contrast(names[x], names[y], facts[x]["tuning"], points))
    return found


def add_contrasts(id: str, title: str, order: int, measured: str, pairing: Pairing, module: str) -> None:
    """Add a table and a figure of all pairs of a run; `measured` names the accuracy that they compare."""

    def contrasts(report: Report) -> list[Contrast]:
        is_measured = pairing.quantity in report.protocol.quantities
        return find_contrasts(report.results, pairing) if is_measured else []

    def make(report: Report) -> Iterator[Table]:
        for each in contrasts(report):
            if not each.tuning:
                yield Table(
                    f"{capitalise(measured)} (%) of {each.y} and {each.x}: {each.y} is higher on "
                    f"{each.above} of {len(each.points)}",
                    (
                        Column("data set"),
                        *columns(each.y, each.x, format=t.number(2)),
                        Column("difference", t.number(2, "+")),
                    ),
                    [(dataset, y, x, y - x) for dataset, (x, y) in each.points.items()],
                )

    def figures(report: Report) -> Figures:
        found, drawn = contrasts(report), {}
        for tuning in dict.fromkeys(each.tuning for each in found):
            own = [each for each in found if each.tuning == tuning]
            heading = f" (tuning: {tuning})" if tuning else ""
            drawn[with_tuning(id, tuning)] = partial(contrast_figure, own, measured, heading)
        return drawn

    REGISTRY.add(id, Item(id, title, order, make, figures), module)


def contrast_figure(contrasts: Sequence[Contrast], measured: str, title: str = "") -> "Figure":
    """Draw pairs of algorithms against each other, by data set."""
    from olbench.report.figures.style import new_page

    look = styles(dict.fromkeys(dataset for each in contrasts for dataset in each.points))
    heading = f"{capitalise(measured)} (%) by data set{title}"
    counts = "; ".join(f"{each.y} against {each.x}: {each.count}" for each in contrasts)
    height, caption = max(2.6, 0.6 + 0.122 * len(look)), f"{heading}. {counts}."
    titles = []
    for each in contrasts:
        titles += [each.count, f"{display_name(each.y)} minus {display_name(each.x)}"]
    with new_page(heading, height, (), caption, titles, columns=2, width_ratios=(3, 5)) as (figure, panels):
        for contrast, scatter, differences in zip(contrasts, panels[::2], panels[1::2], strict=True):
            _draw_scatter(scatter, contrast, look)
            _draw_differences(differences, contrast, look)
    return figure


def _mark(own: Style) -> dict[str, Any]:
    from olbench.report.figures.style import line_look

    return {**line_look(own), "linestyle": "none", "markersize": 5.5 if own.marker == "*" else 4.2}


def _draw_scatter(panel: "Axes", contrast: Contrast, look: Mapping[str, Style]) -> None:
    from olbench.report.figures.style import set_ticks

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
    set_ticks(panel.xaxis, 5)
    set_ticks(panel.yaxis, 5)


def _draw_differences(panel: "Axes", contrast: Contrast, look: Mapping[str, Style]) -> None:
    from matplotlib.ticker import FuncFormatter

    from olbench.report.figures.style import name_rows, set_ticks

    panel.axvline(0, color="#888888", linewidth=0.6, zorder=1)
    for place, (dataset, (x, y)) in enumerate(contrast.points.items()):
        panel.plot([0, y - x], [place, place], color=look[dataset].colour, linewidth=0.7, zorder=2)
        panel.plot([y - x], [place], gid=dataset, zorder=3, **_mark(look[dataset]))
    name_rows(panel, list(contrast.points))
    panel.margins(x=0.08)
    panel.set_xlabel("difference in percentage points")
    signed = FuncFormatter(lambda value, _: f"{value:+.4g}".replace("-", "\N{MINUS SIGN}") if value else "0")
    set_ticks(panel.xaxis, 6, format=signed)
