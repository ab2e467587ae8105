"""Settings, pages with panels and a legend, and files, for all figures.

The same record gives the same bytes on any date and with any user settings.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.style
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import Formatter, MaxNLocator, StrMethodFormatter

from olbench.report.figures.palette import Style, display_name

#: Inches: the width of the text on a page, and the height that is left for a figure with a caption.
TEXT_WIDTH, PAGE_HEIGHT = 7.0, 9.2
#: The most letters of a name in a legend, and next to an axis.
IN_LEGEND, BESIDE = 80, 26
ROUND = (1, 2, 2.5, 5, 10)
DASHES: dict[str, Any] = {
    "solid": "-",
    "dash": (0, (4, 1.6)),
    "dot": (0, (1.2, 1.2)),
    "dashdot": (0, (5, 1.4, 1.2, 1.4)),
}
SETTINGS = {
    "font.size": 7.5, "axes.titlesize": 7.5, "axes.labelsize": 7.5, "legend.fontsize": 7.5,
    "figure.titlesize": 9, "figure.labelsize": 7.5, "xtick.labelsize": 7, "ytick.labelsize": 7,
    "axes.linewidth": 0.5, "axes.spines.top": False, "axes.spines.right": False,
    "xtick.major.width": 0.5, "ytick.major.width": 0.5, "ytick.minor.width": 0.3,
    "xtick.major.size": 2.5, "ytick.major.size": 2.5, "ytick.minor.size": 1.5,
    "axes.titlelocation": "left", "axes.titlepad": 5, "axes.titley": 1.0,
    "axes.grid": True, "axes.grid.axis": "y", "grid.color": "#e6e6e6", "grid.linewidth": 0.4,
    "axes.axisbelow": True, "legend.frameon": False, "savefig.dpi": 220,
    "legend.handlelength": 2.8, "legend.handletextpad": 0.5, "legend.columnspacing": 1.2,
    "legend.labelspacing": 0.35, "legend.borderaxespad": 0.2, "legend.borderpad": 0.2,
    "figure.constrained_layout.h_pad": 0.08, "figure.constrained_layout.w_pad": 0.06,
    "pdf.fonttype": 42, "svg.hashsalt": "olbench",
    # Letters have the same width in the layout and in every file.
    "text.hinting": "no_hinting",
    # A name with two dollar signs is not a formula.
    "text.parse_math": False,
}  # fmt: skip
#: Pixels per inch in a notebook; files have more.
SHOWN_DPI = 110
FORMATS = ("png", "pdf", "svg")
#: The warning of matplotlib for a letter that the font does not have; the figure shows a box instead.
NO_GLYPH = r"Glyph .* missing from"
#: Without the dates and versions that matplotlib would add.
METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "pdf": {"Creator": "olbench", "Producer": None, "CreationDate": None},
    "svg": {"Creator": "olbench", "Date": None},
}
_has_heading = ContextVar("has_heading", default=True)


@contextmanager
def our_settings() -> Iterator[None]:
    with matplotlib.style.context(["default", SETTINGS]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", NO_GLYPH, UserWarning)
        yield


@contextmanager
def headings(shown: bool) -> Iterator[None]:
    """Draw figures with or without headings; in a paper, the caption replaces the heading."""
    token = _has_heading.set(shown)
    try:
        yield
    finally:
        _has_heading.reset(token)


class Picture(Figure):
    """A figure that a notebook shows even if pyplot was never imported."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        width, height = self.get_size_inches()
        return as_bytes(self, "png"), {"width": round(SHOWN_DPI * width), "height": round(SHOWN_DPI * height)}


@contextmanager
def new_page(
    heading: str,
    height: float,
    samples: Sequence[Artist] = (),
    caption: str = "",
    titles: Sequence[str] = ("",),
    xlabel: str = "",
    *,
    columns: int = 0,
    **grid: Any,
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield a figure and its panels, one per title; then add the heading above and the legend below.

    `height` is the height of a row of panels in inches; `grid` is passed to `Figure.subplots`.
    """
    columns = columns or count_columns(len(titles))
    rows = ceil(len(titles) / columns)
    with our_settings():
        figure = Picture((TEXT_WIDTH, height), layout="constrained")
        FigureCanvasAgg(figure)
        figure.set_label(caption or heading)
        panels = list(figure.subplots(rows, columns, squeeze=False, **grid).flat)
        while len(panels) > len(titles):
            panels.pop().remove()
        for panel, title in zip(panels, titles, strict=True):
            panel.set_title(title)
        for panel in panels[-columns:]:
            panel.set_xlabel(xlabel)
        yield figure, panels
        around: list[Artist] = []
        if _has_heading.get():
            around.append(figure.suptitle(heading, x=0.01, ha="left"))
            fit(figure.texts[-1:], figure.bbox.width)
        if samples:
            around.append(draw_legend(figure, samples))
        room = sum(each.get_window_extent().height for each in around) / figure.dpi
        height = ceil(10 * (rows * height + room)) / 10
        figure.set_figheight(min(height, PAGE_HEIGHT) if rows > 1 else height)
        above = [panel._left_title for panel in panels]
        fit(above, figure.bbox.width / columns)
        # Lay out once: a new layout for each file could differ between files.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for title in above:
            fit([title], title.axes.get_window_extent().width)


def fit(texts: Sequence[Text], width: float) -> None:
    for text in texts:
        while text.get_window_extent().width > width and len(text.get_text()) > 2:
            text.set_text(shorten(text.get_text(), round(0.95 * len(text.get_text())) - 1))


def draw_legend(figure: Figure, samples: Sequence[Artist]) -> Artist:
    names = [shorten(str(sample.get_label()), IN_LEGEND) for sample in samples]
    for rows in range(ceil(len(samples) / 8), len(samples) + 1):
        columns = ceil(len(samples) / rows)
        legend = figure.legend(samples, names, loc="outside lower center", ncols=columns)
        if legend.get_window_extent().width < figure.bbox.width or columns == 1:
            break
        legend.remove()
    return legend


def set_ticks(axis: Axis, most: int, steps: Sequence[float] = ROUND, format: Formatter | None = None) -> None:
    axis.set_major_locator(MaxNLocator(most, steps=steps))
    axis.set_major_formatter(format or StrMethodFormatter("{x:g}"))


def name_rows(panel: Axes, names: Sequence[str]) -> None:
    panel.set_yticks(range(len(names)), [shorten(name, BESIDE) for name in names])
    panel.set_ylim(len(names) - 0.4, -0.6)
    panel.tick_params(axis="y", length=0)
    panel.spines["left"].set_visible(False)
    panel.grid(axis="y", visible=False)
    panel.grid(axis="x")


def count_columns(panels: int) -> int:
    return ceil((0.75 * panels) ** 0.5) if panels > 12 else 2 if panels == 4 else min(panels, 3)


def line_look(style: Style) -> dict[str, Any]:
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


def line_samples(labels: Sequence[str], look: Mapping[str, Style]) -> list[Line2D]:
    return [Line2D([], [], label=display_name(label), **line_look(look[label])) for label in labels]


def mark_sample(label: str, colour: str, marker: str) -> Line2D:
    return Line2D([], [], color=colour, marker=marker, markersize=4, linestyle="none", label=label)


def save(figure: Figure, stem: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    paths = [stem.with_name(f"{stem.name}.{format}") for format in formats]
    for format, path in zip(formats, paths, strict=True):
        path.write_bytes(as_bytes(figure, format))
    return paths


def as_bytes(figure: Figure, format: str) -> bytes:
    buffer = BytesIO()
    with our_settings():
        figure.savefig(buffer, format=format, metadata=METADATA.get(format))
    return buffer.getvalue()


def shorten(name: str, most: int) -> str:
    """Cut a name to at most `most` letters.

    >>> shorten("amazon-apparel", 16), shorten("amazon-apparel", 8)
    ('amazon-apparel', 'amazon-…')
    """
    return name if len(name) <= most else f"{name[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
