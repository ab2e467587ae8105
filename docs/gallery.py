"""Draws the pictures of the pages, from the runs that ship and from formulas: `make docs-figures`.

`olbench report RUN --figures F` and `olbench figures PAPER` draw the same. `pictures.json` keeps two digests
of each: of its content and of the file. A test draws the figures again, so it notices a picture that is older
than its run or than the code that draws it, or whose file was replaced.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, Tick
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator

from olbench.errors import UserError
from olbench.papers.illustrations import illustrations_of
from olbench.report.figures.style import as_bytes
from olbench.report.model import make_report
from olbench.report.tables import figures_of

DOCS = Path(__file__).resolve().parent
RUNS = DOCS.parent / "results"
DIGESTS = DOCS / "figures" / "pictures.json"
#: The file of each picture, the run that ships and the figure of its report.
OF_RUNS = {
    "ijcnn1.png": ("scw", "curves-ijcnn1"),
    "scw-ranks.png": ("scw", "ranks"),
    "figures/streams-overview.png": ("streams", "overview"),
    "figures/ranks-cw.png": ("cw", "ranks"),
    "figures/mistakes-cw2008-synthetic.png": ("cw-synthetic", "mistakes-cw2008-synthetic"),
    "figures/test-error-cw2008-synthetic.png": ("cw-synthetic", "test-error-cw2008-synthetic"),
    "figures/shards-var-KL.png": ("shards", "shards-var-KL"),
    "shards-examples.png": ("shards-million", "examples"),
}
ILLUSTRATIONS = {"cw2008-figure-3.png": "cw2008", "cw2012-figure-1.png": "cw2012"}


def find_pictures() -> dict[str, Callable[[], Figure]]:
    """Return the functions that draw the pictures, by file."""
    draws: dict[str, Callable[[], Figure]] = {}
    for run in dict.fromkeys(run for run, _ in OF_RUNS.values()):
        figures = figures_of(make_report(RUNS / run / "reference"))
        draws |= {file: figures[name] for file, (other, name) in OF_RUNS.items() if other == run}
    illustrations = {file: illustrations_of(paper)[Path(file).stem] for file, paper in ILLUSTRATIONS.items()}
    return draws | illustrations


def describe(figure: Figure) -> Iterator[str]:
    """Yield what a figure shows: every text, line, area and axis, with its look.

    The pixels differ between versions of matplotlib and of fonts; this does not.
    """
    ticks = {part for tick in figure.findobj(Tick) for part in tick.get_children()}
    for artist in figure.findobj(lambda artist: artist.get_visible() and artist not in ticks):
        name = type(artist).__name__
        if isinstance(artist, Axes):
            yield f"{name} {_round(artist.axis())} {artist.get_xscale()} {artist.get_yscale()}"
        elif isinstance(artist, Axis) and isinstance(artist.get_major_locator(), FixedLocator):
            yield f"{name} {[label.get_text() for label in artist.get_ticklabels()]}"
        elif isinstance(artist, Text):
            yield f"{name} {artist.get_text()!r} {artist.get_color()} {artist.get_fontsize():g}"
        elif isinstance(artist, Line2D):
            look = artist.get_color(), artist.get_marker(), artist.get_linestyle(), artist.get_linewidth()
            yield f"{name} {_round(artist.get_xydata())} {look}"
        elif isinstance(artist, Patch):
            shape = artist.get_patch_transform().transform(artist.get_path().vertices)
            yield f"{name} {_round(shape)} {_round(artist.get_facecolor())}"
        elif isinstance(artist, Collection):
            places = [_round(path.vertices) for path in artist.get_paths()]
            yield f"{name} {places} {_round(artist.get_facecolor())}"


def _round(numbers: Any) -> list[str]:
    """Return numbers with the digits that do not depend on the processor."""
    return [f"{number:.5g}" for number in np.ravel(np.asarray(numbers, dtype=np.float64))]


def hash_content(figure: Figure) -> str:
    """Return the digest of what a figure shows."""
    return hashlib.sha256("\n".join(describe(figure)).encode()).hexdigest()


def hash_file(file: str) -> str:
    """Return the digest of a picture as it is."""
    return hashlib.sha256((DOCS / file).read_bytes()).hexdigest()


def read_digests() -> dict[str, dict[str, str]]:
    """Return the digests of the pictures when they were drawn, by file."""
    digests: dict[str, dict[str, str]] = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return digests


def find_old() -> list[str]:
    """Return the pictures that do not show what their runs and the code would draw now."""
    drawn, old = read_digests(), []
    for file, draw_figure in find_pictures().items():
        try:
            shows = hash_content(draw_figure())
        except UserError:  # the data set of an illustration that is not downloaded
            shows = drawn[file]["shows"]
        if drawn[file] != {"shows": shows, "file": hash_file(file)}:
            old.append(file)
    return old


def draw() -> None:
    """Draw every picture again, and keep the digests. One whose data cannot be fetched stays as it is."""
    before, digests = read_digests(), {}
    for file, draw_figure in find_pictures().items():
        try:
            figure = draw_figure()
        except UserError as error:
            print(f"{file} stays as it is: {error}")
            digests[file] = before[file]
            continue
        shows = hash_content(figure)
        (DOCS / file).write_bytes(as_bytes(figure, "png"))
        digests[file] = {"shows": shows, "file": hash_file(file)}
    DIGESTS.write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit("".join(f"{file} is old\n" for file in find_old()) or None)
    draw()
