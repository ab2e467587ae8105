"""What all figures share. The same record gives the same bytes, whatever the date and the user's settings."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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

from olbench.report import grid
from olbench.report.figures.palette import Dash, Style, display_name

#: Inches: the width of the text on a page, and the height that is left for a figure with a caption.
TEXT_WIDTH, PAGE_HEIGHT = 7.0, 9.2
#: What a letter of a name takes, a little more than the widest names need, and a line sample with its spaces.
LETTER, SAMPLE = 0.062, 0.5
LINE = 0.165
ROUND = (1, 2, 2.5, 5, 10)
DASHES: dict[Dash, Any] = {
    "solid": "-",
    "dash": (0, (4, 1.6)),
    "dot": (0, (1.2, 1.2)),
    "dashdot": (0, (5, 1.4, 1.2, 1.4)),
}
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
DARK, LIGHT = "#131416", "#e6e6e6"
#: Pixels per inch at which a notebook shows a figure, whose file has more of them.
SHOWN_DPI = 110
FORMATS = ("png", "pdf", "svg")
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
    with matplotlib.style.context(["default", SETTINGS]):
        yield


class Picture(Figure):
    """A figure that a notebook shows even if pyplot, which would have told it how, was never imported."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        width, height = self.get_size_inches()
        return as_bytes(self, "png"), {"width": round(SHOWN_DPI * width), "height": round(SHOWN_DPI * height)}


def new_figure(height: float, caption: str = "") -> Figure:
    figure = Picture((TEXT_WIDTH, height))
    figure.set_label(caption)
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def new_page(
    heading: str,
    height: float,
    samples: Sequence[Artist] = (),
    caption: str = "",
    rows: int = 1,
    columns: int = 1,
    titles: Sequence[str] | None = None,
    *,
    above: float = 0.5,
    below: float = 0.42,
    left: float = 0.42,
    right: float = 0.1,
    head: float = 0.46,
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield a figure and its panels; then write the heading above and a legend of samples below.

    Lengths are in inches. No layout engine: all panels have one size, and a figure is drawn once.
    """
    legend = legend_height(samples) if samples else 0.0
    gap, below = 0.46, below + legend
    wide = (TEXT_WIDTH - left - right - (columns - 1) * gap) / columns
    high = (height + legend - above - below - (rows - 1) * head) / rows
    places = [
        (left + column * (wide + gap), below + (rows - 1 - row) * (high + head))
        for row in range(rows)
        for column in range(columns)
    ]
    with our_settings():
        figure = new_figure(height + legend, caption)
        shown = places if titles is None else places[: len(titles)]
        panels = [add_panel(figure, x, y, wide, high) for x, y in shown]
        for panel, title in zip(panels, titles or (), strict=False):
            panel.set_title(title)
        yield figure, panels
        write(figure, (0.08, figure.get_figheight() - 0.06), heading, va="top", fontsize=9)
        if samples:
            draw_legend(figure, samples)


def add_panel(figure: Figure, left: float, bottom: float, wide: float, high: float) -> Axes:
    width, height = figure.get_size_inches()
    return figure.add_axes((left / width, bottom / height, wide / width, high / height))


def set_ticks(axis: Axis, most: int, steps: Sequence[float] = ROUND, format: Formatter | None = None) -> None:
    axis.set_major_locator(MaxNLocator(most, steps=steps))
    axis.set_major_formatter(format or StrMethodFormatter("{x:g}"))


def name_rows(panel: Axes, names: Sequence[str]) -> None:
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(len(names) - 0.4, -0.6)
    panel.tick_params(axis="y", length=0)
    panel.spines["left"].set_visible(False)
    panel.grid(axis="x")


def write(figure: Figure, inches: tuple[float, float], text: str, **how: Any) -> None:
    width, height = figure.get_size_inches()
    figure.text(inches[0] / width, inches[1] / height, text, **how)


def shorten(name: str, inches: float) -> str:
    return grid.shorten(name, int(inches / LETTER))


def panel_titles(names: Iterable[str], columns: int) -> list[str]:
    return [shorten(name, TEXT_WIDTH / columns - 0.4) for name in names]


def panel_grid(count: int) -> tuple[int, int]:
    square = 2 if count == 4 else min(count, 3)
    columns = square if count <= 12 else ceil((0.75 * count) ** 0.5)
    return ceil(count / columns), columns


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


def _legend_columns(samples: Sequence[Artist]) -> int:
    names = [str(sample.get_label()) for sample in samples]

    def width(columns: int) -> float:
        longest = [max(map(len, names[column::columns])) for column in range(columns)]
        return sum(LETTER * letters + SAMPLE for letters in longest)

    fitting = [columns for columns in range(1, len(names) + 1) if width(columns) < TEXT_WIDTH]
    rows = ceil(len(names) / max(fitting, default=1))
    return ceil(len(names) / rows)


def legend_height(samples: Sequence[Artist]) -> float:
    return 0.08 + 0.145 * ceil(len(samples) / _legend_columns(samples))


def draw_legend(figure: Figure, samples: Sequence[Artist]) -> None:
    columns = _legend_columns(samples)
    handles = [sample for column in range(columns) for sample in samples[column::columns]]
    gaps: dict[str, Any] = {"borderaxespad": 0.2, "borderpad": 0.2, "handlelength": 2.8}
    gaps |= {"columnspacing": 1.2, "handletextpad": 0.5, "labelspacing": 0.35}
    figure.legend(handles=handles, loc="lower center", ncols=columns, **gaps)


def turn_dark(figure: Figure) -> None:
    """Give a figure a dark ground and light letters; its lines must have colours of `palette.on_dark`."""
    figure.set_facecolor(DARK)
    for panel in figure.axes:
        panel.set_facecolor(DARK)
        panel.tick_params(colors=LIGHT)
        for spine in panel.spines.values():
            spine.set_color(LIGHT)
    for text in figure.findobj(Text):
        text.set_color(LIGHT)


def save(figure: Figure, stem: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    paths = [stem.with_name(f"{stem.name}.{format}") for format in formats]
    for format, path in zip(formats, paths, strict=True):
        _write_format(figure, path, format)
    return paths


def as_bytes(figure: Figure, format: str) -> bytes:
    buffer = BytesIO()
    _write_format(figure, buffer, format)
    return buffer.getvalue()


def _write_format(figure: Figure, target: Path | BytesIO, format: str) -> None:
    with our_settings(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", NO_GLYPH, UserWarning)
        figure.savefig(target, format=format, metadata=METADATA.get(format))
