"""The rules of a run: what they cover, how many the paper has, and a figure of examples and rules."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from olbench.analysis.results import Entry, Floats, Results
from olbench.data.source import find_source
from olbench.errors import UserError
from olbench.papers.adviceptron2010.account import describe_rules
from olbench.papers.adviceptron2010.names import NamedDataset, load_named_spec
from olbench.papers.adviceptron2010.protocol import AdviceExperiment
from olbench.papers.adviceptron2010.rules import RuleFile, from_plain
from olbench.report import table as t
from olbench.report.model import Report
from olbench.report.table import Column, Part, Table, columns
from olbench.report.tables import Figures, figures, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {1: "#1f5fa8", -1: "#b5451d"}
#: Points of the mesh along an axis: a rule is shaded where its inequalities hold.
MESH = 400


def _load(report: Report) -> Iterator[tuple[str, RuleFile, NamedDataset]]:
    config = report.protocol.experiment
    if not isinstance(config, AdviceExperiment):
        return
    for spec in config.datasets:
        try:
            plain = config.rules_for(find_source(spec))
            if plain is None or spec.name not in report.results.datasets:
                continue
            file = from_plain(plain)
            named = load_named_spec(spec, file.features)
        except UserError:
            continue
        yield spec.name, file, named


@table("Rules", 180)
def advice(report: Report) -> Iterator[Part]:
    loaded = [(name, describe_rules(file, named), file, named) for name, file, named in _load(report)]
    if not loaded:
        return
    where = report.paper.shapes_where if report.paper else ""
    in_paper = t.KEPT if report.paper else t.HIDDEN
    shown = [Column("data set")]
    for heading in ("positive", "rules for", "rules against"):
        shown.append(Column(heading, t.COUNT))
        shown.append(Column("in the paper", t.COUNT, in_paper, name=f"{heading} in the paper"))
    rows = [_count(report, name, file, named) for name, _, file, named in loaded]
    yield Table(f"{where}: examples and rules" if where else "Examples and rules", tuple(shown), rows)
    yield Table(
        "Rules",
        (
            *columns("data set", "rule"),
            Column("covers", t.COUNT),
            Column("precision", t.Format(lambda share: f"{share:.1%}")),
            *columns("left out", "source", drop=t.DETAIL),
        ),
        [
            (
                name,
                e.rule.text,
                e.covered,
                e.right / e.covered if e.covered else None,
                "; ".join(e.rule.dropped),
                e.rule.source,
            )
            for name, account, _, _ in loaded
            for e in account.entries
        ],
        "Precision: the share of the covered rows that have the class.",
    )
    for name, account, _, _ in loaded:
        yield from (f"{name}: {warning}" for warning in account.warnings if "constant" not in warning)


def _count(report: Report, name: str, file: RuleFile, named: NamedDataset) -> list[str | int | None]:
    printed = report.paper.shapes.get(name, {}) if report.paper else {}
    signs = [each.z for each in file.compile(named.names)]
    positives = int((named.data.y > 0).sum())
    counts = {"positives": positives, "positive_rules": signs.count(1), "negative_rules": signs.count(-1)}
    return [name, *(number for key, value in counts.items() for number in (value, printed.get(key)))]


@figures("Rules", 180)
def rule_figures(report: Report) -> Figures:
    from olbench.report.formats import file_names

    flat = {name: (file, named) for name, file, named in _load(report) if named.data.X.shape[1] == 2}
    return {
        f"rules-{stem}": partial(plane_figure, report.results, name, *flat[name])
        for name, stem in file_names(list(flat)).items()
    }


def plane_figure(results: Results, dataset: str, file: RuleFile, named: NamedDataset) -> "Figure":
    """Draw examples in the plane, rules as shaded polyhedra, and lines of learners (Figure 1)."""
    from olbench.report.figures.run import find_looks
    from olbench.report.figures.style import line_look, line_samples, new_page

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
