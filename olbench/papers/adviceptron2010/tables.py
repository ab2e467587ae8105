"""The rules of a run: what they cover, how many the paper has, and a figure of examples and rules."""

from collections.abc import Iterator
from functools import partial

from olbench.data.named import NamedDataset, load_named
from olbench.data.source import find_source
from olbench.errors import UserError
from olbench.papers.adviceptron2010.account import Account, describe_rules
from olbench.papers.adviceptron2010.files import RuleFile
from olbench.papers.adviceptron2010.protocol import AdviceExperiment
from olbench.report.grid import DETAIL, Box, Grid, Part, boxes, left, right
from olbench.report.model import Report
from olbench.report.sections import Figures, Section, register


def _load(report: Report) -> Iterator[tuple[str, RuleFile, NamedDataset]]:
    config = report.protocol.experiment
    assert isinstance(config, AdviceExperiment)
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


def applies(report: Report) -> bool:
    return report.protocol.id == "advice"


def parts(report: Report) -> Iterator[Part]:
    loaded = [(name, describe_rules(file, named), file, named) for name, file, named in _load(report)]
    if not loaded:
        return
    counts = [_count(report, name, file, named) for name, _, file, named in loaded]
    columns = (*left("data set"), *right("positive", "in the paper"))
    columns += right("rules for", "in the paper", "rules against", "in the paper")
    where = report.paper.shapes_where if report.paper else ""
    table = Grid(f"{where}: examples and rules" if where else "Examples and rules", columns, counts)
    yield table if report.paper else table.keep([0, 1, 3, 5])
    rules = [row for name, account, _, _ in loaded for row in _describe(name, account)]
    columns = (
        left("data set", "rule") + right("covers", "precision") + left("left out", "source", drop=DETAIL)
    )
    yield Grid("Rules", columns, rules, "Precision: the share of the covered rows that have the class.")
    for name, account, _, _ in loaded:
        yield from (f"{name}: {warning}" for warning in account.warnings if "constant" not in warning)


def _count(report: Report, name: str, file: RuleFile, named: NamedDataset) -> tuple[Box, ...]:
    printed = report.paper.shapes.get(name, {}) if report.paper else {}
    signs = [each.z for each in file.compile(named.names)]
    positives = int((named.data.y > 0).sum())
    counts = {"positives": positives, "positive_rules": signs.count(1), "negative_rules": signs.count(-1)}
    texts = [
        text
        for key, value in counts.items()
        for text in (f"{value:,}", f"{printed[key]:,}" if key in printed else "")
    ]
    return boxes(name, *texts)


def _describe(name: str, account: Account) -> Iterator[tuple[Box, ...]]:
    for each in account.entries:
        precision = f"{100 * each.right / each.covered:.1f}%" if each.covered else ""
        yield boxes(name, each.text, f"{each.covered:,}", precision, "; ".join(each.dropped), each.source)


def figures(report: Report) -> Figures:
    from olbench.papers.adviceptron2010.plane import plane_figure
    from olbench.report.figures.curves import file_names

    flat = {name: (file, named) for name, file, named in _load(report) if named.data.X.shape[1] == 2}
    return {
        f"rules-{stem}": partial(plane_figure, report.results, name, *flat[name])
        for name, stem in file_names(list(flat)).items()
    }


register(Section("advice", "Rules", 180, parts, applies, figures=figures))
