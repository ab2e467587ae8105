"""A report on one screen: verdicts, winners, ranks, and what to run next."""

import math
from collections import Counter

from olbench.algorithms import get_definition
from olbench.algorithms.spec import AlgorithmSpec
from olbench.analysis.claims import HOLDS, OPEN, PARTLY, REVERSED, UNCLEAR
from olbench.analysis.results import Entry
from olbench.errors import UserError
from olbench.records.container import is_bundle
from olbench.records.shipped import REFERENCE
from olbench.report import grid
from olbench.report.grid import Column, Grid, Part, boxes, count, highlight, left, list_some, right
from olbench.report.model import Report
from olbench.report.sections.headline import headline_lines
from olbench.report.sections.results import (
    bold_note,
    flagged_label,
    is_time,
    notes,
    number_text,
    printed_text,
    quantity_boxes,
    quantity_columns,
)
from olbench.report.standings import winners
from olbench.report.words import describe_guesses, describe_test

NAMED = 2
RANKED = 8
#: The fewest rows of a table, however low the terminal, and the lines around them: title, headings, note.
FEWEST, AROUND = 5, 8
CLAIMS = {
    HOLDS: ("holds", "hold"),
    PARTLY: ("holds partly", "hold partly"),
    UNCLEAR: ("is not significant", "are not significant"),
    REVERSED: ("is reversed", "are reversed"),
    OPEN: ("is not decided", "are not decided"),
}


def parts(report: Report, again: str, width: int = 80, height: int = 40) -> list[Part]:
    headlines = headline_lines(report, report.made[:10], NAMED)
    if report.claims:
        counts = Counter(claim.verdict for claim in report.claims)
        words = [f"{counts[each]} {CLAIMS[each][counts[each] > 1]}" for each in CLAIMS if counts[each]]
        headlines.append(f"Of {count(len(report.claims), 'claim')} of the paper, {', '.join(words)}")
    before = "\n".join(headlines)
    steps = next_steps(report, again)
    longest = max(len(command) for command, _ in steps)
    next_lines = "\n".join(["Next", *(f"  {command:{longest}}  {why}" for command, why in steps)])
    guesses = describe_guesses(report.guesses, report.headline, NAMED)
    after = filter(None, (describe_ranks(report), guesses, describe_flags(report), next_lines))
    texts = (before, *after)
    lines = sum(math.ceil(len(line) / width) for text in texts for line in text.splitlines())
    room = max(FEWEST, height - lines - len(texts) - AROUND)
    rows = list(filter(report.results.is_contestant, report.rows))
    table = all_rows(report, rows) if len(rows) <= room else best_on_each(report, rows, room, again)
    return list(highlight([before, table, *texts[1:]], report.results.highlighted))


def all_rows(report: Report, rows: list[Entry]) -> Grid:
    headline, places = report.headline, report.results.datasets
    body = []
    for entry in sorted(rows, key=lambda e: (places.index(e.dataset), headline.loss(e.mean(headline)))):
        paper = [printed_text(report, entry, headline)] if report.judgements else []
        body.append(boxes(entry.dataset, flagged_label(entry), *quantity_boxes(report, entry), *paper))
    columns = left("data set", "algorithm") + quantity_columns(report, rows)
    columns += right(f"paper: {headline.title}", drop=grid.PAPER) if report.judgements else ()
    return Grid("Results, best first", columns, body, bold_note(report))


def best_on_each(report: Report, rows: list[Entry], room: int, again: str) -> Grid:
    headline, results, body = report.headline, report.results, []
    alone = all(entry.exclusive for entry in rows)
    times = [each for each in report.protocol.quantities if alone and is_time(each)]
    for best, equals in winners(report):
        paper = [printed_text(report, best, headline)] if report.judgements else []
        numbers = [number_text(best, each) for each in (headline, *times)]
        body.append(boxes(best.dataset, flagged_label(best), *numbers, list_some(equals, NAMED), *paper))
    columns: tuple[Column, ...] = (
        *left("data set", "best"),
        *right(headline.title),
        # Beside the winners, the paper's numbers say more than times do.
        *right(*(each.title for each in times), drop=grid.PAPER + 1),
        *left("as good", drop=grid.DETAIL),
    )
    columns += right("paper", drop=grid.PAPER) if report.judgements else ()
    hidden = len(body) - room
    note = f"{count(hidden, 'more data set')} in `{again} --full`. " if hidden > 0 else ""
    note += f"As good: not significantly different from the best ({describe_test(results)})."
    return Grid(f"Best on each data set: {headline.best} {headline.title}", columns, body[:room], note)


def describe_flags(report: Report) -> str:
    found = notes(report)
    hidden = len(found) - NAMED
    more = f" And on {count(hidden, 'more data set')}: --full has them." if hidden > 0 else ""
    return f"{grid.FLAG.strip()} {' '.join(found[:NAMED])}{more}" if found else ""


def describe_ranks(report: Report) -> str:
    ranks = report.ranks
    if len(ranks) < 2 or report.complete < 2:
        return ""
    ordered = sorted(ranks, key=lambda label: ranks[label])
    listed = list_some([f"{label} {ranks[label]:.2f}" for label in ordered], RANKED)
    return f"Mean ranks over {count(report.complete, 'data set')}: {listed}."


def next_steps(report: Report, again: str) -> list[tuple[str, str]]:
    results, steps = report.results, []
    if results.folder.resolve().name == REFERENCE or is_bundle(results.folder):
        pass  # it shipped, or came as a bundle: the user has no run to repeat
    elif results.missing:
        steps.append(("olbench run ...", "the same command again finishes it"))
    elif results.config.tuning.search == "none" and any(map(_is_tunable, results.config.algorithms)):
        steps.append(("olbench run ... --set tuning.search=grid", "tunes parameters"))
    elif any(map(is_time, report.protocol.quantities)) and not all(entry.exclusive for entry in report.rows):
        steps.append(("olbench run ... --timing exclusive", "comparable times"))
    return [*steps, (f"{again} --full", "all tables"), (f"{again} --all", "all formats and figures")]


def _is_tunable(spec: AlgorithmSpec) -> bool:
    try:
        grid = get_definition(spec.id).grid
    except UserError:  # an algorithm of the user's own that is not loaded
        return False
    return any(parameter not in spec.params for parameter in grid)
