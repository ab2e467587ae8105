"""A report on one screen: verdicts, winners, ranks and next steps."""

import math
from collections import Counter
from dataclasses import replace

from olbench.algorithms import get_definition
from olbench.algorithms.spec import AlgorithmSpec
from olbench.analysis.claims import OUTCOMES
from olbench.errors import UserError, count, list_some
from olbench.records.container import is_bundle
from olbench.records.shipped import REFERENCE
from olbench.report import table as t
from olbench.report.model import Report
from olbench.report.table import Part, Table
from olbench.report.tables import REGISTRY
from olbench.report.tables.results import flag_notes, is_time, results, results_note
from olbench.report.tables.summary import headline_lines, list_gaps, list_winners
from olbench.report.words import describe_bold, describe_guesses

NAMED = 2
RANKED = 8
#: The fewest rows of a table, even on a low terminal, and the lines around them: title, headings, note.
FEWEST, AROUND = 5, 8
CLAIMS = dict(
    zip(OUTCOMES, ("hold", "hold partly", "not significant", "reversed", "not decided"), strict=True)
)


def parts(report: Report, again: str, width: int = 80, height: int = 40) -> list[Part]:
    headlines = headline_lines(report, report.made[:10], NAMED)
    if report.claims:
        counts = Counter(claim.verdict for claim in report.claims)
        listed = ", ".join(f"{counts[each]} {name}" for each, name in CLAIMS.items() if counts[each])
        headlines.append(f"Claims of the paper: {listed}")
    before = "\n".join(headlines)
    steps = next_steps(report, again)
    longest = max(len(command) for command, _ in steps)
    next_lines = "\n".join(["Next", *(f"  {command:{longest}}  {why}" for command, why in steps)])
    guesses = describe_guesses(report.guesses, report.headline, NAMED)
    after = filter(None, (describe_ranks(report), guesses, describe_flags(report), next_lines))
    texts = (before, *after)
    lines = sum(math.ceil(len(line) / width) for text in texts for line in text.splitlines())
    most = max(FEWEST, height - lines - len(texts) - AROUND)
    places = [y for y, entry in enumerate(report.rows) if report.results.is_contestant(entry)]
    if len(places) <= most:
        table = results(report).take(places).ranked().printed(t.PAPER)
        note = describe_bold(report.results)
        table = replace(table, caption="Results, best first", group="", note=note)
    else:
        table = few_winners(report, most, again)
    return [before, replace(table, highlighted=report.results.highlighted), *texts[1:]]


def run_parts(report: Report) -> list[Part]:
    """Return what a run prints when it ends: results, undecided tunings and missing trials."""
    table = replace(results(report).printed(t.PAPER).ranked(), note=results_note(report))
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
    if run.folder.resolve().name == REFERENCE or is_bundle(run.folder):
        pass  # the run shipped or came as a bundle, so the user cannot continue it
    elif run.missing:
        steps.append(("olbench run ...", "the same command again finishes it"))
    elif run.config.tuning.search == "none" and any(map(_is_tunable, run.config.algorithms)):
        steps.append(("olbench run ... --set tuning.search=grid", "tunes parameters"))
    elif any(map(is_time, report.protocol.quantities)) and not all(entry.exclusive for entry in report.rows):
        steps.append(("olbench run ... --timing exclusive", "comparable times"))
    return [*steps, (f"{again} --full", "all tables"), (f"{again} --all", "all formats and figures")]


def _is_tunable(spec: AlgorithmSpec) -> bool:
    try:
        tuned = get_definition(spec.id).grid
    except UserError:  # an algorithm of the user's own that is not loaded
        return False
    return any(parameter not in spec.params for parameter in tuned)
