"""A confusion matrix as a picture: the darker, the more of a true class."""

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from olbench.report.figures import canvas
from olbench.report.figures.palette import display_name

WRITTEN = 12


def confusion_figure(dataset: str, label: str, matrix: NDArray[np.int64]) -> Figure:
    """Draw which share of each true class is predicted as which; right predictions would hide all others."""
    shares = 100 * matrix / np.maximum(1, matrix.sum(axis=1, keepdims=True))
    wrong = np.where(np.eye(len(matrix), dtype=bool), np.nan, shares)
    heading = f"{dataset}, {display_name(label)}: mistakes in % of each true class"
    with canvas.new_page(heading, 4.4, titles=()) as (figure, _):
        panel = figure.add_axes((0.1, 0.1, 0.78, 0.8))
        panel.grid(visible=False)
        image = panel.imshow(wrong, cmap="Blues", vmin=0, aspect="auto")
        ticks = range(0, len(matrix), max(1, len(matrix) // 20))
        panel.set(xlabel="predicted class", ylabel="true class", xticks=ticks, yticks=ticks)
        if len(matrix) <= WRITTEN:
            dark = 0.6 * np.nanmax(wrong, initial=0.0)
            for (k, j), share in np.ndenumerate(shares):
                colour = "white" if k != j and share > dark else "#666666" if k == j else "black"
                panel.text(j, k, f"{share:.1f}", ha="center", va="center", fontsize=6.5, color=colour)
        figure.colorbar(image, cax=figure.add_axes((0.9, 0.1, 0.02, 0.8)))
    return figure
