"""The rules of a run: what they cover, how many the paper has, and a figure of examples and rules."""

from collections.abc import Iterator
from functools import partial

from olbench.data.source import find_source
from olbench.errors import UserError
from olbench.papers.adviceptron2010.account import Account, describe_rules
from olbench.papers.adviceptron2010.files import RuleFile
from olbench.papers.adviceptron2010.names import NamedDataset, load_named
from olbench.papers.adviceptron2010.protocol import AdviceExperiment
from olbench.report import table as t
from olbench.report.model import Report
from olbench.report.table import Column, Part, Table, columns
from olbench.report.tables import Figures, figures, table


def _load(report: Report) -> Iterator[tuple[str, RuleFile, NamedDataset]]:
    config = report.protocol.experiment
    if not isinstance(config, AdviceExperiment):
        return
    for spec in config.datasets:
        try:
            plain = config.rules_for(find_source(spec))
            if plain is None or spec.name not in report.results.datasets:
                continue
            file = RuleFile.from_plain(plain)
            place, labels = spec.path or spec.name, (spec.positive, spec.negative)
            named = load_named(place, *labels, file.features, reading=spec.reading, download=False)
        except UserError:
            continue
        yield spec.name, file, named


@table("Rules", 180)
def advice(report: Report) -> Iterator[Part]:
    """Return how many rules each task has, beside the paper's, and what each rule covers."""
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
        [row for name, account, _, _ in loaded for row in _describe(name, account)],
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


def _describe(name: str, account: Account) -> Iterator[tuple[str | int | float | None, ...]]:
    for each in account.entries:
        precision = each.right / each.covered if each.covered else None
        yield name, each.rule.text, each.covered, precision, "; ".join(each.rule.dropped), each.rule.source


@figures("Rules", 180)
def rule_figures(report: Report) -> Figures:
    from olbench.papers.adviceptron2010.plane import plane_figure
    from olbench.report.figures.style import file_names

    flat = {name: (file, named) for name, file, named in _load(report) if named.data.X.shape[1] == 2}
    return {
        f"rules-{stem}": partial(plane_figure, report.results, name, *flat[name])
        for name, stem in file_names(list(flat)).items()
    }
