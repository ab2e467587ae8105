"""The illustrations of the papers: figures that need no results, drawn from formulas and data sets."""

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from olbench.errors import UserError, suggest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: By paper, the name of each illustration's file, and the module and the function that draw it.
PAPERS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "cw2008": {
        "cw2008-figure-3": ("weights", "synthetic_figure"),
        "cw2008-figure-4": ("losses", "loss_figure"),
    },
    "cw2012": {
        "cw2012-figure-1": ("features", "frequency_figure"),
        "cw2012-figure-2": ("weights", "gaussian_figure"),
    },
}


def illustrations_of(paper: str) -> dict[str, "Callable[[], Figure]"]:
    """Return the functions that draw the illustrations of a paper, by the name of the file."""
    if paper not in PAPERS:
        known = ", ".join(PAPERS)
        raise UserError(
            f"there are no illustrations of '{paper}'{suggest(paper, list(PAPERS))}; known: {known}"
        )
    return {name: _load(*place) for name, place in PAPERS[paper].items()}


def _load(module: str, name: str) -> "Callable[[], Figure]":
    draw: Callable[[], Figure] = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    return draw


def save_illustrations(paper: str, folder: Path) -> list[Path]:
    """Write the illustrations of a paper in each format; return the files."""
    from olbench.report.canvas import save

    draws = illustrations_of(paper)
    folder.mkdir(parents=True, exist_ok=True)
    return [path for name, draw in draws.items() for path in save(draw(), folder / name)]
