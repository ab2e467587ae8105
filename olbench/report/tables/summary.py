"""The summary: the run, the winner and how certain that is, and a paragraph for a paper."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from olbench.analysis.difference import Difference
from olbench.analysis.stats import Against
from olbench.errors import count, list_some, show_number
from olbench.records.quantities import Quantity
from olbench.report import table as t
from olbench.report import words
from olbench.report.doubts import list_doubts
from olbench.report.figures.palette import display_name
from olbench.report.model import Report
from olbench.report.table import Column, Table, capitalise, columns
from olbench.report.tables import table
from olbench.report.tables.facts import changed_settings
from olbench.report.tables.results import (
    PRINTED,
    describe_edges,
    describe_winner,
    is_time,
    name_of,
    quantity_column,
    spread_of,
    winner_code,
)

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
    best, doubts, verdicts = describe_best(report), list_doubts(report), report.verdict_lines
    return list(filter(None, [run, protocol, *best, *doubts, *notes, *verdicts]))


def describe_best(report: Report) -> tuple[str, ...]:
    return winner_sentence(report), describe_winner(report), winner_code(report)


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
    gaps = "\n".join(list_gaps(report))
    return list(filter(None, (gaps, *list_doubts(report), *_list_remarks(report), report.describe_guesses())))


def winner_sentence(report: Report, name: Callable[[str], str] = str) -> str:
    """Return who wins, by how much and how sure that is: on one data set, or over several."""
    if len(report.winners) == 1:
        return _describe_one(report, name)
    if not isinstance(report.against, str):
        return _describe_several(report, report.against, name)
    if not report.winners:
        return ""
    most, size = report.most_wins[1], count(len(report.winners), "data set")
    lead = (
        f"{_name_first(report, name)} the {report.headline.best} {report.headline.title} on {most} of {size}."
    )
    return f"{lead} {_count_differences(report, name)}".strip()


def _count_differences(report: Report, name: Callable[[str], str]) -> str:
    """Return on how many data sets the others are better or worse than the named algorithm."""
    results = report.results
    if not results.control:
        return ""
    kinds_of = [_sort(report.headline, found.differences) for found in results.within.values()]
    found = []
    for kind in (BETTER, WORSE):
        counts = Counter(each.label for kinds in kinds_of for each in kinds[kind])
        listed = [f"{name(label)} ({number})" for label, number in counts.most_common()]
        found.append(f"{kind}: {list_some(listed, 4) or 'none'}")
    tested = f"at 5% {words.describe_over(results)}, with {words.describe_correction(results)}"
    return f"Against {name(results.control)}, {'; '.join(found)} (number of data sets, {tested})."


EQUAL, LEVEL, WORSE, BETTER = "practically equal", "not separable", "worse", "better"


def _describe_one(report: Report, name: Callable[[str], str]) -> str:
    """Return at most three sentences: the best, those that are worse, and what that rests on."""
    [(best, _)], results = report.winners, report.results
    found = None if results.missing else results.within.get(best.dataset)
    rivals = found.differences if found else []
    scale = _Scale(report.headline, rivals)
    means = {
        each.label: scale.value(each.mean(report.headline)) for each in results.contestants(best.dataset)
    }
    on = f"{report.headline.title.removesuffix(' (%)')} on {best.dataset}"
    lead = f"{name(best.label)} has the {report.headline.best} {on}, {means[best.label]}"
    if found is None or not rivals:
        return f"{lead}{'' if found is None else '; no other algorithm has this measure'}."
    if all(math.isnan(each.p) for each in rivals):
        is_single = all(each.planned == 1 for each in results.entries)
        few = "one trial is too few" if is_single else "a class has too few rows"
        return f"{lead}; {few} for a test."
    kinds = _sort(report.headline, [each for each in rivals if not math.isnan(each.p)])
    alike = [(kind, each) for kind in (LEVEL, EQUAL) for each in kinds[kind]]
    control = found.against
    if len(alike) == 1:
        [(kind, rival)] = alike
        values = f"{means[control]} and {means[rival.label]}"
        apart = (
            scale.bound(rival) if kind == EQUAL else f"a difference of {scale.change(rival, -1, scale.unit)}"
        )
        both = f"{name(control)} and {name(rival.label)}"
        lead = f"{both} are {kind} by {on}: {values}, {apart}"
    else:
        if control != best.label:
            lead = f"The {on} is {means[control]} for {name(control)}"
            lead += f"; {name(best.label)} has the {report.headline.best}, {means[best.label]}"
        lead = "; ".join(
            [lead, *(scale.list(kind, kinds[kind], name) for kind in (LEVEL, EQUAL) if kinds[kind])]
        )
    sentences, corrected = [lead], words.describe_correction(results)
    if differing := [kind for kind in (WORSE, BETTER) if kinds[kind]]:
        sentences.append("; ".join(scale.list(kind, kinds[kind], name) for kind in differing))
    tested = f"In brackets: 95% intervals {words.describe_over(results)}, with {corrected}"
    return f"{'. '.join([*sentences, tested])}."


class _Scale:
    """How sentences print a quantity: rates in percent, and their differences in points."""

    def __init__(self, quantity: Quantity, differences: Sequence[Difference]):
        self.quantity, self.is_rate = quantity, quantity.is_rate
        sizes = [size for each in differences for size in (abs(each.mean), each.high - each.low) if size > 0]
        # One digit, unless it would show a difference as zero.
        self.digits = (1 if min(sizes, default=1.0) >= 0.0005 else 2) if self.is_rate else quantity.digits
        self.unit = " points" if self.is_rate else ""

    def number(self, value: float) -> str:
        return show_number(100 * value if self.is_rate else value, self.digits)

    def value(self, value: float) -> str:
        return f"{self.number(value)}%" if self.is_rate else self.quantity.text(value)

    def change(self, each: Difference, sign: float = 1, unit: str = "") -> str:
        """Return a difference with its interval, turned by a sign."""
        low, high = sorted((sign * each.low, sign * each.high))
        return f"{self.number(sign * each.mean)}{unit} ({self.number(low)} to {self.number(high)})"

    def bound(self, each: Difference) -> str:
        """Return how large a difference is at most, rounded up."""
        reach = max(abs(each.low), abs(each.high))
        steps = 10**self.digits * (100 if self.is_rate else 1)
        shown = self.number(math.ceil(reach * steps) / steps)
        return f"a difference of at most {shown}{self.unit}" if reach else "the same in every trial"

    def list(self, kind: str, rivals: Sequence[Difference], name: Callable[[str], str]) -> str:
        """Return algorithms with their differences, the closest first; only the first has units."""
        first, *others = sorted(rivals, key=lambda each: abs(each.mean))
        if kind in (LEVEL, EQUAL):
            shown = [f"{kind}: {name(first.label)} {self.change(first, 1, self.unit)}"]
            return list_some([*shown, *(f"{name(each.label)} {self.change(each)}" for each in others)], 3)
        shown = [
            f"{name(first.label)} is {self.change(first, np.sign(first.mean), f'{self.unit} {kind}')}",
            *(f"{name(each.label)} {self.change(each, np.sign(each.mean))}" for each in others),
        ]
        return list_some(shown, 4)


def _sort(quantity: Quantity, differences: Sequence[Difference]) -> dict[str, list[Difference]]:
    found: dict[str, list[Difference]] = {kind: [] for kind in (EQUAL, LEVEL, WORSE, BETTER)}
    for each in differences:
        is_better = quantity.is_better(each.mean, 0.0)
        kind = EQUAL if each.equal else LEVEL if not each.significant else BETTER if is_better else WORSE
        found[kind].append(each)
    return found


def _describe_several(report: Report, against: Against, name: Callable[[str], str]) -> str:
    control, over = against.label, count(report.complete, "data set")
    rank = report.ranks[control]
    if against.selected:
        ranks = [(each.label, f"{each.rank:.2f}") for each in report.standings if each.rank is not None]
        lead = f"{name(control)} has the best mean rank by {report.headline.title}, {rank:.2f} over {over}"
        lead += _name_second(control, ranks, name)
    else:
        lead = f"{name(control)} has a mean rank of {rank:.2f} by {report.headline.title} over {over}"
    others, counts = len(against.rivals), {WORSE: 0, BETTER: 0}
    for each in against.rivals:
        if each.significant:
            counts[WORSE if each.wins < each.losses else BETTER] += 1
    shown = [f"{n} {'is' if n == 1 else 'are'} significantly {word}" for word, n in counts.items() if n]
    corrected = f"{math.comb(others + 1, 2)} pairs" if against.selected else f"{count(others, 'comparison')}"
    which = " and ".join(shown) or "none is significantly worse"
    tested = f"Of the {others} others, {which} (Wilcoxon, 5%, Holm over {corrected})"
    stability = _describe_stability(report.without, control, name) if against.selected else ""
    return f"{lead}. {tested}.{stability}"


def _describe_stability(without: Mapping[str, str], control: str, name: Callable[[str], str]) -> str:
    """Return whether another algorithm would lead if one data set were left out."""
    if not without:
        return f" Whichever data set is left out, {name(control)} stays first."
    changed: dict[str, list[str]] = {}
    for dataset, label in without.items():
        changed.setdefault(label, []).append(dataset)
    listed = [f"{name(label)} without {list_some(datasets, 3)}" for label, datasets in changed.items()]
    return f" Not robust: first would be {list_some(listed, 3)}."


def _name_first(report: Report, name: Callable[[str], str]) -> str:
    labels = [name(label) for label in report.most_wins[0]]
    return f"{list_some(labels, 4)} {'each have' if len(labels) > 1 else 'has'}"


def _name_second(first: str, ranked: Sequence[tuple[str, str]], name: Callable[[str], str]) -> str:
    others = [each for each in ranked if each[0] != first]
    if level := [name(label) for label, text in others if text == ranked[0][1]]:
        return f", level with {list_some(level, 4)}"
    return f", ahead of {name(others[0][0])} with {others[0][1]}" if others else ""


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
        "doubts": list_doubts(report),
        "no_better_than_guessing": guessed,
        "equal": report.results.twins,
    }


@table("Summary", 10, data=summary_data, on_page=False)
def summary(report: Report) -> str:
    lines = headline_lines(report, f"run of {report.made}")
    return "\n".join(filter(None, (*lines, describe_edges(report), report.describe_guesses())))


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
            f"worse ({words.describe_level(report.results)})."
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
        Column("not separable from it", AS_GOOD, t.DETAIL, name="as good"),
        *(Column("paper", PRINTED, t.PAPER, note=letters) for _ in judged),
    )
    note = f"Not separable: not significantly worse than the best ({words.describe_level(report.results)})."
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
    differences = [each for found in results.within.values() for each in found.differences]
    if not all(math.isnan(each.p) for each in differences):
        control = display_name(results.control) if results.control else "the best algorithm"
        sentences.append(
            f"Within a data set, differences in {report.headline.title} from {control} were tested "
            f"{words.describe_over(results)} ({words.name_test(results)}), with "
            f"{words.describe_correction(results)}, at the 5% level."
        )
    if not isinstance(report.across, str):
        friedman = f"chi-square {report.across.statistic:.2f}, p = {report.across.p:.2g}"
        text = f"Across data sets, average ranks were compared by Friedman's test ({friedman})"
        if not isinstance(report.against, str):
            text += (
                f", and algorithms with {display_name(report.against.label)} by Wilcoxon's signed-rank test"
            )
        sentences.append(f"{text}.")
    sentences += [make(report, display_name) for make in (winner_sentence, describe_winner, describe_edges)]
    if not isinstance(report.against, str):
        best = f"{report.headline.best} mean on {report.most_wins[1]} of the data sets"
        sentences.append(f"{_name_first(report, display_name)} the {best}.")
    versions = ", ".join(f"{name} {version}" for name, version in results.run.versions.items())
    sentences.append(f"Versions: {versions}.")
    return " ".join(filter(None, sentences))
