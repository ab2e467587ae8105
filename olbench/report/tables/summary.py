"""The summary: the run, the winner and how certain that is, and a paragraph for a paper."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from olbench.analysis.stats import LEVEL
from olbench.errors import count, list_some
from olbench.report import table as t
from olbench.report import words
from olbench.report.figures.palette import display_name
from olbench.report.model import Report
from olbench.report.table import Column, Table, capitalise, columns
from olbench.report.tables import table
from olbench.report.tables.facts import changed_settings
from olbench.report.tables.results import PRINTED, is_time, name_of, quantity_column, spread_of

#: The most incomplete rows that are listed one by one.
FEW = 12
AS_GOOD = t.Format(
    lambda labels: list_some(labels, 3),
    "left",
    on_paper=lambda labels: list_some([display_name(label) for label in labels], 3),
)


def headline_lines(report: Report, made: str, few: int = FEW) -> list[str]:
    results = report.results
    first, *others = results.tunings
    tuning = f"{first} (also {', '.join(others)})" if others else first
    run = f"{results.name}: {report.size}, {words.count_trials(results)}, tuning: {tuning}; {made}"
    settings = changed_settings(report)
    protocol = f"Protocol: {report.protocol.id}, {settings}" if settings else ""
    marked = f"Highlighted: {', '.join(results.highlighted)}" if results.highlighted else ""
    notes = (marked, *list_gaps(report, few), *_list_remarks(report))
    return list(filter(None, [run, protocol, winner_sentence(report), *notes, *report.verdict_lines]))


def _list_remarks(report: Report) -> tuple[str, str]:
    return capitalise(words.describe_absent(report.results)), words.describe_twins(report.results)


def list_gaps(report: Report, few: int = FEW) -> list[str]:
    missing, results = report.results.missing, report.results
    if not missing:
        return []
    lines = [f"INCOMPLETE: {len(missing)} of {count(len(results.entries), 'row')} not finished:"]
    if len(missing) <= few:
        return [*lines, *(f"  {sentence}" for sentence in missing)]
    for dataset in results.datasets:
        own = [entry for entry in results.entries if entry.dataset == dataset]
        done = sum(entry.done == entry.planned for entry in own)
        lines.append(f"  {dataset}: {done} of {count(len(own), 'row')} finished")
    return lines


def list_notices(report: Report) -> list[str]:
    """Return what qualifies the results: missing trials and measures, equal algorithms, guessing."""
    guesses = words.describe_guesses(report.guesses, report.headline)
    return list(filter(None, ("\n".join(list_gaps(report)), *_list_remarks(report), guesses)))


def winner_sentence(report: Report, name: Callable[[str], str] = str) -> str:
    """Return the winner, by how much, and how certain that is: over data sets by ranks, or on one."""
    headline, won, control = report.headline, report.winners, report.against_best
    if len(won) == 1:
        [(best, _)] = won
        entries = {entry.label: entry for entry in report.results.contestants(best.dataset)}
        ranked = [entries[each.label] for each in report.standings]
        means = [
            (each.label, t.spread(headline).text(spread_of(each, headline)))
            for each in ranked
            if not math.isnan(each.mean(headline))
        ]
        lead = f"has the {headline.best} {headline.title} on {best.dataset}, {means[0][1]}"
        who = f"{name(best.label)} {lead}"
        return f"{who}{_name_second(best.label, means, name)}{_rivals(report, best.dataset, name)}."
    if isinstance(control, str):
        if not won:
            return ""
        most, size = report.most_wins[1], count(len(won), "data set")
        return f"{_name_first(report, name)} the {headline.best} {headline.title} on {most} of {size}."
    worse = sum(test.significant for test in control.tests)
    rank, over = report.ranks[control.label], count(report.complete, "data set")
    others = f"{worse} of the {len(control.tests)} others rank significantly worse (Holm, 5%)"
    ranks = [(each.label, f"{each.rank:.2f}") for each in report.standings if each.rank is not None]
    who = f"{name(control.label)} has the best average rank by {headline.title}, {rank:.2f} over {over}"
    return f"{who}{_name_second(control.label, ranks, name)}; {others}."


def _name_first(report: Report, name: Callable[[str], str]) -> str:
    labels = [name(label) for label in report.most_wins[0]]
    return f"{list_some(labels, 4)} {'each have' if len(labels) > 1 else 'has'}"


def _name_second(first: str, ranked: Sequence[tuple[str, str]], name: Callable[[str], str]) -> str:
    others = [each for each in ranked if each[0] != first]
    if level := [name(label) for label, text in others if text == ranked[0][1]]:
        return f", level with {list_some(level, 4)}"
    return f", ahead of {name(others[0][0])} with {others[0][1]}" if others else ""


def _rivals(report: Report, dataset: str, name: Callable[[str], str]) -> str:
    """Return the algorithms that the best on a data set does not beat, with Holm's correction."""
    if dataset not in report.results.within or report.results.missing:
        return ""
    _, found = report.results.within[dataset]
    differences = [each for each in found if not math.isnan(each.mean)]
    if not differences:
        return "; no other algorithm has this measure"
    if all(math.isnan(each.p) for each in differences):
        return "; one trial is too few for a test"
    tested = f"{words.name_test(report.results)}, with Holm's correction, 5%"
    equal = [name(each.label) for each in differences if not each.adjusted <= LEVEL]
    if not equal:
        return f"; all others are significantly worse ({tested})"
    return f"; not significantly better than {list_some(equal, 4)} ({tested})"


def summary_data(report: Report) -> Mapping[str, Any]:
    texts = {each.name: report.describe_verdicts(each) for each in report.judged}
    guessed = [
        {"dataset": dataset, "label": entry.label, "mean": entry.mean(report.headline), "guess": guess}
        for dataset, (guess, entries) in report.guesses.items()
        for entry in entries
    ]
    return {
        "missing": report.results.missing,
        "summary": texts if report.paper else None,
        "no_better_than_guessing": guessed,
        "equal": report.results.twins,
    }


@table("Summary", 10, data=summary_data, on_page=False)
def summary(report: Report) -> str:
    lines = headline_lines(report, f"run of {report.made}")
    return "\n".join(filter(None, (*lines, words.describe_guesses(report.guesses, report.headline))))


@table("Ranking", 12)
def ranking(report: Report) -> Table | None:
    """Return all algorithms, best first: by mean ranks, or by the measure on a single data set."""
    won, ranked = report.winners, report.standings
    if len(ranked) < 2 or not won:
        return None
    headline, numbers = report.headline, [*enumerate(ranked, 1)]
    if len(won) == 1:
        entries = {entry.label: entry for entry in report.results.contestants(won[0][0].dataset)}
        rows: list[tuple[Any, ...]] = [
            (place, each.label, t.mark(spread_of(entries[each.label], headline), each.among_best > 0))
            for place, each in numbers
        ]
        shown: tuple[Column, ...] = (quantity_column(headline),)
        note = words.describe_bold(report.results)
    else:
        rows = [(place, each.label, each.rank, each.wins, each.among_best) for place, each in numbers]
        shown = (Column("mean rank", t.number(2)), *columns("best on", "among the best", format=t.COUNT))
        note = (
            f"By {headline.title}. Best on: the number of data sets, of {len(won)}, on which an algorithm "
            f"has the {headline.best} mean. Among the best: the number on which it is not significantly "
            f"worse ({words.describe_test(report.results)})."
        )
    names = (Column("", t.COUNT, name="place"), Column("algorithm", t.ALGORITHM))
    return Table("Ranking of all algorithms", (*names, *shown), rows, note)


def list_winners(report: Report) -> Table:
    headline, rows, found = report.headline, [], set()
    exclusive = all(entry.exclusive for entry in report.rows)
    times = [each for each in report.protocol.quantities if exclusive and is_time(each)]
    judged = [headline] if report.judgements else []
    for best, equals in report.winners:
        numbers = [spread_of(best, each) for each in (headline, *times)]
        printed = [report.judgements_of(best).get(each.name) for each in judged]
        rows.append((best.dataset, name_of(best), *numbers, equals, *printed))
        found |= {judgement.verdict for judgement in printed if judgement}
    letters = " ".join(f"{sign}: {verdict}." for verdict, sign in words.LETTERS.items() if verdict in found)
    shown = (
        Column("data set"),
        Column("best", t.ALGORITHM),
        quantity_column(headline),
        # For winners, the paper's numbers matter more than times.
        *(replace(quantity_column(each), drop=t.COST) for each in times),
        Column("as good", AS_GOOD, t.DETAIL),
        *(Column("paper", PRINTED, t.PAPER, note=letters) for _ in judged),
    )
    note = f"As good: not significantly different from the best ({words.describe_test(report.results)})."
    title = f"Best on each data set: {headline.best} {headline.title}"
    return Table(title, shown, rows, f"{note} {letters}".strip())


@table("Ranking", 14)
def best_on_each(report: Report) -> Table | None:
    return list_winners(report) if len(report.results.datasets) > 1 else None


@table("In words", 16)
def in_words(report: Report) -> str | None:
    results, won = report.results, report.winners
    if not won or results.missing:
        return None
    titles = list(map(display_name, results.names))
    search = results.tunings[0]
    tuned = "default parameters" if search == "none" else f"parameters tuned by {search} search"
    sentences = [
        f"We compared {count(len(titles), 'algorithm')} ({list_some(titles, 20)}), with {tuned}, on "
        f"{count(len(results.datasets), 'data set')} ({list_some(results.datasets, 20)}), over "
        f"{words.count_trials(results)} each (protocol {report.protocol.id}, seed {results.config.seed})."
    ]
    prepared = {name: "; ".join(results.run.data[name].prepared) for name in results.datasets}
    sentences += [f"Preparation of {name}: {steps}." for name, steps in prepared.items() if steps]
    differences = [each for _, found in results.within.values() for each in found]
    if not all(math.isnan(each.p) for each in differences):
        sentences.append(
            f"Within a data set, differences in {report.headline.title} from the best algorithm were tested "
            f"by the {words.name_test(results)}, with Holm's correction, at the 5% level."
        )
    if not isinstance(report.across, str):
        friedman = f"chi-square {report.across.statistic:.2f}, p = {report.across.p:.2g}"
        text = f"Across data sets, average ranks were compared by Friedman's test ({friedman})"
        if not isinstance(report.against_best, str):
            text += " and with the best by z-tests, with Holm's correction"
        sentences.append(f"{text}.")
    sentences.append(winner_sentence(report, display_name))
    if not isinstance(report.against_best, str):
        best = f"{report.headline.best} mean on {report.most_wins[1]} of the data sets"
        sentences.append(f"{_name_first(report, display_name)} the {best}.")
    versions = ", ".join(f"{name} {version}" for name, version in results.run.versions.items())
    sentences.append(f"Versions: {versions}.")
    return " ".join(filter(None, sentences))
