"""The headline: what was run, what is missing, and how many reported numbers are reproduced."""

from collections.abc import Iterator, Mapping
from typing import Any

from olbench.analysis import verdicts
from olbench.records.quantities import Quantity
from olbench.report import words
from olbench.report.grid import capitalise, count
from olbench.report.model import Report
from olbench.report.sections import Section, register
from olbench.report.sections.provenance import changed_settings
from olbench.report.sections.results import spread_page
from olbench.report.standings import standings, winners

FEW = 12
#: The most algorithms that the page ranks in its summary; the statistics have all.
MOST_RANKED = 20


def parts(report: Report) -> Iterator[str]:
    lines = headline_lines(report, f"run of {report.made}")
    yield "\n".join(filter(None, (*lines, words.describe_guesses(report.guesses, report.headline))))


def headline_lines(report: Report, made: str, few: int = FEW) -> list[str]:
    results = report.results
    most = max((entry.planned for entry in results.entries), default=0)
    first, *others = results.tunings
    tuning = f"{first} (also {', '.join(others)})" if others else first
    run = f"{results.name}: {report.size}, {count(most, results.numbered)}, tuning: {tuning}; {made}"
    settings = changed_settings(report)
    protocol = f"Protocol: {report.protocol.id}, {settings}" if settings else ""
    gaps = list_gaps(report, few) if results.missing else []
    marked = f"Highlighted: {', '.join(results.highlighted)}" if results.highlighted else ""
    notes = (marked, *gaps, capitalise(words.describe_lacking(results)), words.describe_twins(results))
    return list(filter(None, [run, protocol, *notes, *report.verdict_lines]))


def list_gaps(report: Report, few: int) -> list[str]:
    missing, results = report.results.missing, report.results
    lines = [f"INCOMPLETE: {len(missing)} of {count(len(results.entries), 'row')} not finished:"]
    if len(missing) <= few:
        return [*lines, *(f"  {sentence}" for sentence in missing)]
    for dataset in results.datasets:
        own = [entry for entry in results.entries if entry.dataset == dataset]
        done = sum(entry.done == entry.planned for entry in own)
        lines.append(f"  {dataset}: {done} of {count(len(own), 'row')} finished")
    return lines


def data(report: Report) -> Mapping[str, Any]:
    summary = {each.name: report.describe_verdicts(each) for each in report.judged}
    guessed = [
        {"dataset": dataset, "label": entry.label, "mean": entry.mean(report.headline), "guess": guess}
        for dataset, (guess, entries) in report.guesses.items()
        for entry in entries
    ]
    return {
        "missing": report.results.missing,
        "summary": summary if report.paper else None,
        "no_better_than_guessing": guessed,
        "equal": report.results.twins,
    }


def page(report: Report) -> Mapping[str, Any]:
    ranked, headline = standings(report), report.headline
    meanings = words.describe_meanings(report.judgements)
    return {
        "winners": [
            {
                "dataset": best.dataset,
                "label": best.label,
                "equals": equals,
                "texts": spread_page(headline, best)["texts"],
            }
            for best, equals in winners(report)
        ],
        "standings": [vars(each) for each in ranked[:MOST_RANKED]],
        "ranked": len(ranked),
        "counts": [_tally(report, quantity) for quantity in report.judged],
        "verdicts": [
            {"name": name, "letter": letter, "meaning": meanings[name]}
            for name, letter in words.LETTERS.items()
        ],
        "exceptions": words.describe_exceptions(report.judgements),
        "guesses": words.describe_guesses(report.guesses, headline),
    }


def _tally(report: Report, quantity: Quantity) -> dict[str, Any]:
    counts = verdicts.count(report.judgements, quantity)
    return {
        "quantity": quantity.name,
        "counted": quantity.counted,
        "total": counts.total(),
        "verdicts": {name: counts[name] for name in verdicts.VERDICTS},
        "leaning": verdicts.count_leaning(report.judgements, quantity),
        "mark": words.LEANS,
        "apart": words.summary_apart(report.judgements, quantity),
        "control": words.describe_control(report.controls[quantity]),
    }


register(Section("headline", "Summary", 10, parts, data=data, page=page))
