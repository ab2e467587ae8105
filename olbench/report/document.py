"""Documents, which every format is made from: reports, comparisons, summaries of papers, findings."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from olbench.algorithms.spec import AlgorithmSpec
from olbench.analysis.choices import find_definition
from olbench.analysis.claims import OUTCOMES
from olbench.analysis.published import Paper
from olbench.errors import count, list_some
from olbench.records.container import is_bundle
from olbench.report import table as t
from olbench.report.formats import write_csv
from olbench.report.model import Report
from olbench.report.table import Part, Table
from olbench.report.tables import REGISTRY, Figures, all_items, find_tables
from olbench.report.tables.curves import curve_data
from olbench.report.tables.facts import config_yaml
from olbench.report.tables.results import describe_choices, describe_edges, flag_notes, is_time, results
from olbench.report.tables.summary import describe_best, headline_lines, list_gaps, list_notices, list_winners
from olbench.report.words import describe_bold, is_fixed

NAMED, RANKED = 2, 8
#: The fewest rows of a table, even on a low terminal, and the lines around them: title, headings, note.
FEWEST, AROUND = 5, 8


@dataclass(frozen=True)
class Section:
    title: str
    parts: Sequence[Part] = ()
    figures: Figures = field(default_factory=dict)
    #: The data of the curves that the page draws.
    curves: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    name: str
    #: The parts of text, Markdown and LaTeX, the sections of the page, the rows of CSV, the content of JSON.
    parts: Callable[[], Sequence[Part]]
    sections: Callable[[], Sequence[Section]]
    content: Callable[[], Any]
    records: Callable[[], list[dict[str, Any]]] = list
    # On the page: the lines above and below the title, and files to download.
    kicker: str = ""
    lead: str = ""
    made: str = ""
    paper: Paper | None = None
    #: The sentences below the title: the main result first; then what qualifies it.
    opening: Callable[[], Sequence[str]] = list
    notices: Callable[[], Sequence[str]] = list
    downloads: Callable[[], Mapping[str, str]] = dict


def report_document(report: Report) -> Document:
    run = report.results
    return Document(
        run.name,
        parts=lambda: [part for item in all_items() for part in item.parts(report)],
        sections=lambda: page_sections(report),
        content=lambda: report_content(report),
        records=lambda: results(report).records(),
        kicker="olbench report",
        lead=report.size,
        made=report.made,
        paper=report.paper,
        opening=lambda: list(
            filter(None, (*describe_best(report), describe_edges(report), *report.verdict_lines))
        ),
        notices=lambda: list_notices(report),
        downloads=lambda: {
            f"{run.name}.csv": write_csv(results(report).records()),
            f"{run.name}.yaml": config_yaml(report),
        },
    )


def table_document(report: Report, id: str) -> Document:
    """Return the tables of a name: that of the function that makes them."""
    first, *others = tables = find_tables(report, id)
    return Document(
        first.caption,
        parts=lambda: tables,
        sections=lambda: [Section(each.caption, [each]) for each in tables],
        content=lambda: tables if others else first,
        records=lambda: [
            {"table": each.caption, **record} if others else record
            for each in tables
            for record in each.records()
        ],
    )


def page_sections(report: Report) -> list[Section]:
    found: dict[str, Section] = {}
    for item in all_items():
        parts = list(item.parts(report)) if item.on_page else []
        figures = item.figures(report) if item.on_page else {}
        curves = curve_data(report) if item.id == "curves" else {}
        if parts or figures or curves:
            own = found.get(item.section, Section(item.section))
            found[item.section] = Section(
                item.section, [*own.parts, *parts], {**own.figures, **figures}, {**own.curves, **curves}
            )
    return list(found.values())


def report_content(report: Report) -> dict[str, Any]:
    content: dict[str, Any] = {
        "name": report.results.name,
        "protocol": report.protocol.id,
        "paper": report.paper.id if report.paper else None,
        "made": report.made,
    }
    # A table that does not apply still has its keys, with empty values: scripts can rely on them.
    for item in all_items():
        content |= item.data(report)
    tables = {each.id: [*each.tables(report)] for each in all_items()}
    # The rows are the results.
    return content | {"tables": {id: own for id, own in tables.items() if own and id != "results"}}


def brief_parts(report: Report, again: str, width: int = 80, height: int = 40) -> list[Part]:
    """Return a report on one screen: verdicts, winners, ranks and next steps."""
    headlines = [*headline_lines(report, report.made[:10], NAMED), *filter(None, [report.obstacles])]
    if report.claims:
        counts = Counter(claim.verdict for claim in report.claims)
        found = ((counts[outcome], outcome) for outcome in OUTCOMES if counts[outcome])
        listed = (f"{n} {outcome if n == 1 else outcome.replace('holds', 'hold')}" for n, outcome in found)
        headlines.append(f"Claims of the paper: {', '.join(listed)}")
    before = "\n".join(headlines)
    steps = next_steps(report, again)
    longest, reason = (max(map(len, texts)) for texts in zip(*steps, strict=True))
    shown = "  {:{}}  {}" if longest + reason + 4 <= width else "  {0}\n    {2}"
    next_lines = "\n".join(["Next", *(shown.format(command, longest, why) for command, why in steps)])
    after = filter(
        None, (describe_ranks(report), report.describe_guesses(NAMED), describe_flags(report), next_lines)
    )
    texts = (before, *after)
    lines = sum(math.ceil(len(line) / width) for text in texts for line in text.splitlines())
    most = max(FEWEST, height - lines - len(texts) - AROUND)
    places = [y for y, entry in enumerate(report.rows) if report.results.is_contestant(entry)]
    if len(places) <= most:
        table = results(report).take(places).ranked().printed(t.PAPER)
        note = f"{describe_bold(report.results)} {describe_choices(report)}".strip()
        table = replace(table, caption="Results, best first", group="", note=note)
    else:
        table = few_winners(report, most, again)
    return [before, replace(table, highlighted=report.results.highlighted), *texts[1:]]


def run_parts(report: Report) -> list[Part]:
    """Return what a run prints when it ends: results, undecided tunings and missing trials."""
    table = results(report).printed(t.PAPER).ranked()
    REGISTRY.load()
    undecided = (part for part in REGISTRY["tuning"].parts(report) if isinstance(part, str))
    return [*([table] if table.rows else []), *undecided, *filter(None, ["\n".join(list_gaps(report))])]


def few_winners(report: Report, most: int, again: str) -> Table:
    table = list_winners(report)
    hidden = len(table.rows) - most
    note = f"{count(hidden, 'more data set')} in `{again} --full`. " if hidden > 0 else ""
    return replace(table.take(range(min(most, len(table.rows)))), note=note + table.note)


def describe_flags(report: Report) -> str:
    found = flag_notes(report)
    hidden = len(found) - NAMED
    more = f" And on {count(hidden, 'more data set')}: see --full." if hidden > 0 else ""
    return f"{t.FLAG.strip()} {' '.join(found[:NAMED])}{more}" if found else ""


def describe_ranks(report: Report) -> str:
    ranks = report.ranks
    if len(ranks) < 2 or report.complete < 2:
        return ""
    ordered = sorted(ranks, key=lambda label: ranks[label])
    listed = list_some([f"{label} {ranks[label]:.2f}" for label in ordered], RANKED)
    return f"Mean ranks over {count(report.complete, 'data set')}: {listed}."


def next_steps(report: Report, again: str) -> list[tuple[str, str]]:
    run, steps = report.results, []
    if is_fixed(run):
        pass
    elif run.missing:
        steps.append(("olbench run ...", "the same command again finishes it"))
    elif run.config.tuning.search == "none" and any(map(_is_tunable, run.config.algorithms)):
        steps.append(("olbench run ... --set tuning.search=grid", "tunes parameters"))
    elif any(map(is_time, report.protocol.quantities)) and not all(entry.exclusive for entry in report.rows):
        steps.append(("olbench run ... --timing exclusive", "comparable times"))
    steps.append((f"{again} --full", "all tables"))
    return steps if is_bundle(run.folder) else [*steps, (f"{again} --all", "all formats and figures")]


def _is_tunable(spec: AlgorithmSpec) -> bool:
    definition = find_definition(spec.id)
    return definition is not None and any(name not in spec.params for name in definition.grid)
