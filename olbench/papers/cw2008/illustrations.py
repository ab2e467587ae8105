"""The family of confidence losses beside the losses that it resembles (cw2008, Figure 4)."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from olbench.learners.examples import Floats
from olbench.report.figures.canvas import DASHES, draw_legend, new_page
from olbench.report.figures.palette import BLACK, BLUE, GREY, ORANGE, SKY, VERMILLION
from olbench.report.figures.weights import synthetic_figure

#: The values of phi, each with its colour: the paper does not say which it draws.
PHIS = {0.25: SKY, 0.5: BLUE, 1.0: ORANGE, 2.0: VERMILLION}
LOW, HIGH, TOP = -2.0, 3.0, 6.0


def confidence_loss(margin: Floats, phi: float) -> Floats:
    """Return l_phi of margins that are divided by their standard deviation (cw2008, eqs. 23 and 24).

    >>> confidence_loss(np.array([-1.0, 0.0, 1.0, 2.0]), 1.0).round(12).tolist()
    [4.5, 1.0, 0.0, 0.0]
    """
    psi, xi = 1 + phi**2 / 2, 1 + phi**2
    root = np.sqrt(margin**2 * phi**4 / 4 + phi**2 * xi)
    # Beyond phi the loss is zero; below, the difference is positive but for rounding.
    excess = np.where(margin < phi, np.maximum(root - margin * psi, 0.0), 0.0)
    return np.asarray(excess**2 / (phi**2 * xi))


def loss_figure() -> Figure:
    margins = np.linspace(LOW, HIGH, 1001)
    heading = "The confidence loss for several φ, the squared hinge loss and the 0-1 loss"
    caption = (
        "The confidence loss of cw2008 (Lemma 5) for several phi, the squared hinge loss and the 0-1 loss, "
        "against the margin divided by its standard deviation."
    )
    with new_page(heading, 3.6, caption=caption, above=0.38, below=0.75, left=0.5) as (figure, [panel]):
        for phi, colour in PHIS.items():
            loss, name = confidence_loss(margins, phi), f"ℓ, φ = {phi:g}"
            panel.plot(margins, loss, color=colour, linewidth=1.1, label=name)
        hinge, step = np.maximum(1 - margins, 0) ** 2, ([LOW, 0, 0, HIGH], [1, 1, 0, 0])
        dashes, dots = DASHES["dash"], DASHES["dot"]
        panel.plot(margins, hinge, color=GREY, linestyle=dashes, linewidth=1.1, label="squared hinge")
        panel.plot(*step, color=BLACK, linestyle=dots, linewidth=1.1, label="0-1")
        panel.set(xlim=(LOW, HIGH), ylim=(-0.08, TOP), xlabel="margin / standard deviation", ylabel="loss")
        panel.yaxis.set_major_locator(MaxNLocator(6, integer=True))
        draw_legend(figure, panel.get_lines())
    return figure


ILLUSTRATIONS = {"cw2008-figure-3": synthetic_figure, "cw2008-figure-4": loss_figure}
