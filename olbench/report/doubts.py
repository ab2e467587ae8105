"""Sentences beside the winner that put it in doubt: nothing learnt, measures that disagree, a leak."""

from collections.abc import Iterator

from olbench.analysis.results import Entry
from olbench.errors import list_some
from olbench.protocols.measuring import Measuring
from olbench.records.quantities import MISTAKES, NO_CHANGE_MISTAKES, Quantity
from olbench.report.model import Report
from olbench.report.words import name_guess

#: The most data sets that a sentence names.
NAMED = 4
#: An error at most this large looks as if a feature gave the label away.
LEAK = 0.001


def list_doubts(report: Report) -> list[str]:
    """Return what a reader should know before believing the winner."""
    return [*_find_unlearnt(report), *_find_disagreement(report), *_find_leaks(report)]


def _find_unlearnt(report: Report) -> Iterator[str]:
    guess = name_guess(report.headline)
    for is_tested, who in ((False, "no algorithm is better"), (True, "the best is not significantly better")):
        datasets = [name for name, tested in report.unlearnt.items() if tested == is_tested]
        if datasets:
            yield f"Nothing learnt on {list_some(datasets, NAMED)}: {who} than {guess}."
    if repeated := [name for name in report.results.datasets if _is_repeated(report.results.of(name))]:
        who = "no algorithm makes fewer mistakes than no-change, which repeats the last label"
        yield f"Nothing learnt on {list_some(repeated, NAMED)}: {who}."


def _is_repeated(entries: list[Entry]) -> bool:
    """Return whether repeating the last label of a stream makes as few mistakes as every algorithm."""
    own = [each.columns for each in entries if NO_CHANGE_MISTAKES.name in each.columns]
    return bool(own) and all(
        bool((each[MISTAKES.name] >= each[NO_CHANGE_MISTAKES.name]).all()) for each in own
    )


def _find_disagreement(report: Report) -> Iterator[str]:
    if not isinstance(report.protocol, Measuring):
        return
    asked = (each for each in report.protocol.quantities if each.name in report.protocol.measures)
    others = [each for each in asked if each is not report.headline and not each.whole]
    find = _find_better if len(report.results.datasets) == 1 else _find_other_first
    rivals: dict[str, list[str]] = {}
    for quantity in others:
        if rival := find(report, quantity):
            rivals.setdefault(rival, []).append(quantity.title)
    for rival, titles in rivals.items():
        yield f"Measures disagree: by {' and '.join(titles[:NAMED])}, {rival}."


def _find_better(report: Report, quantity: Quantity) -> str:
    """Return what is significantly better by a quantity than the winner by the headline."""
    [dataset] = report.results.datasets
    contests = [report.results.contest(dataset, each) for each in (report.headline, quantity)]
    if any(each is None for each in contests):
        return ""
    winner, other = (each for each in contests if each)
    beaten = {each.label for each in other.differences() if each.significant}
    return f"{other.best} is significantly better than {winner.best}" if winner.best in beaten else ""


def _find_other_first(report: Report, quantity: Quantity) -> str:
    """Return which algorithm has the best mean rank by a quantity, if not that of the headline."""
    ranks = Report(report.results, None, measure=quantity).ranks
    if len(ranks) < 2 or report.complete < 2 or not report.ranks:
        return ""
    first, least = min(report.ranks, key=lambda label: report.ranks[label]), min(ranks.values())
    if ranks.get(first, least) == least:
        return ""
    ahead = min(ranks, key=lambda label: ranks[label])
    return f"{ahead} has the best mean rank, not {first}"


def _find_leaks(report: Report) -> Iterator[str]:
    headline = report.headline
    if not headline.guessed:
        return
    perfect = 1.0 if headline.better == "higher" else 0.0
    leaks = [e.dataset for e in report.leaders if abs(e.mean(headline) - perfect) <= LEAK]
    if leaks:
        where = list_some(leaks, NAMED)
        yield f"Hardly any mistake on {where}: check that no feature gives the label away."
