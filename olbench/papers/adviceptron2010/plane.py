"""Examples in the plane, rules as shaded polyhedra, and lines of learners: adviceptron2010, Figure 1."""

import numpy as np
from matplotlib.figure import Figure

from olbench.analysis.results import Entry, Floats, Results
from olbench.errors import UserError
from olbench.papers.adviceptron2010.files import RuleFile
from olbench.papers.adviceptron2010.names import NamedDataset
from olbench.report.figures.run import find_looks
from olbench.report.figures.style import line_look, line_samples, new_page

COLOURS = {1: "#1f5fa8", -1: "#b5451d"}
#: Points of the mesh along an axis: a rule is shaded where its inequalities hold.
MESH = 400


def plane_figure(results: Results, dataset: str, file: RuleFile, named: NamedDataset) -> Figure:
    X, y = np.asarray(named.data.X), np.asarray(named.data.y)
    lines = {
        entry.label: plane for entry in results.of(dataset) if (plane := _plane(results, entry)) is not None
    }
    look = find_looks(results)
    heading = f"{dataset}: examples, rules (shaded) and planes after the first training set"
    with new_page(heading, 3.9, line_samples(list(lines), look), f"{heading}.") as (figure, [panel]):
        limits = [(float(x.min()) - 0.3, float(x.max()) + 0.3) for x in X.T]
        axes = [np.linspace(*each, MESH) for each in limits]
        points = np.column_stack([part.ravel() for part in np.meshgrid(*axes)])
        for each in file.compile(named.names):
            inside = each.covers(points).reshape(MESH, MESH).astype(float)
            panel.contourf(*axes, inside, levels=[0.5, 1.5], colors=[COLOURS[each.z]], alpha=0.16, zorder=1)
        for sign, marker in ((-1, "o"), (1, "+")):
            x, up = X[y == sign].T
            panel.scatter(x, up, s=9, marker=marker, color=COLOURS[sign], linewidths=0.6, zorder=2)
        for label, plane in lines.items():
            own_look = {**line_look(look[label]), "marker": ""}
            panel.plot(*_ends(plane, limits).T, zorder=4, gid=label, **own_look)
        panel.set(xlim=limits[0], ylim=limits[1])
        panel.set(xlabel=named.names.features[0], ylabel=named.names.features[1])
    return figure


def _plane(results: Results, entry: Entry) -> Floats | None:
    try:
        plane = results.array(entry, 0, "plane")
    except UserError:
        return None
    return plane if np.any(plane[:-1] != 0.0) else None


def _ends(plane: Floats, limits: list[tuple[float, float]]) -> Floats:
    w, b = plane[:-1], plane[-1]
    foot = -b * w / (w @ w)
    reach = sum(high - low for low, high in limits) + float(np.abs(foot).sum())
    along = np.array([-w[1], w[0]]) / np.hypot(*w)
    return np.array([foot - reach * along, foot + reach * along])
