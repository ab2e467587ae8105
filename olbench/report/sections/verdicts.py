"""The verdicts: every number that the paper reports, ours beside it, and why some are not comparable."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from olbench.analysis import verdicts
from olbench.analysis.verdicts import NOT_COMPARABLE, REPRODUCED, Judgement
from olbench.protocols.definition import find_quantity
from olbench.records.quantities import Quantity
from olbench.report import words
from olbench.report.grid import DETAIL, KEPT, Box, Column, Grid, Part, boxes, capitalise, left, right
from olbench.report.model import Report
from olbench.report.sections import Section, register
from olbench.report.sections.results import judgement_page

LEGEND = ", ".join(f"{letter} {verdict}" for verdict, letter in words.LETTERS.items())


def legend(report: Report) -> str:
    marks = {
        f"{words.LEANS} {words.LEANS_MEANING}": any(each.leans for each in report.judgements),
        f"{words.WEAK} {words.WEAK_MEANING}": any(each.weak for each in report.judgements),
        f"{words.OTHER_SIZE} {words.OTHER_SIZE_MEANING}": any(each.other_size for each in report.judgements),
    }
    return ", ".join((LEGEND, *(text for text, is_used in marks.items() if is_used)))


def parts(report: Report) -> Iterator[Part]:
    if not report.is_cross_validated:  # those have the overview
        yield glance(report)
    yield verdict_map(report)
    others = not_reproduced(report)
    if others.rows:
        yield others
    if verdicts.suspects(report.judgements):
        yield unexplained(report)
    yield from not_comparable(report)


def shown_datasets(report: Report) -> list[str]:
    reported = report.paper.datasets if report.paper else ()
    return [name for name in report.results.datasets if name in reported]


def verdict_map(report: Report) -> Grid:
    assert report.paper is not None
    names, rows = report.paper.algorithms, []
    for dataset in shown_datasets(report):
        own = [[report.by_place.get((dataset, name, each.name)) for each in report.judged] for name in names]
        letters = ["".join(words.letter(each) if each else " " for each in cell) for cell in own]
        tau = report.taus.get(dataset)
        rows.append(boxes(dataset, *letters, "" if tau is None else f"{tau:.2f}"))
    meanings = words.describe_meanings(report.judgements)
    notes = (
        f"{legend(report)}. Reproduced: {meanings[REPRODUCED]}. Close: {meanings[verdicts.CLOSE]}.",
        words.describe_exceptions(report.judgements),
    )
    return Grid(
        f"Verdicts: {' and '.join(quantity.title for quantity in report.judged)}",
        (*left("data set"), *(Column(name, "center") for name in names), *right("Kendall's tau")),
        rows,
        " ".join(filter(None, notes)),
    )


def glance(report: Report) -> Grid:
    assert report.paper is not None
    quantity, rows = report.judged[0], []
    for dataset in shown_datasets(report):
        own = [report.by_place.get((dataset, row, quantity.name)) for row in report.paper.algorithms]
        best = report.results.best[dataset]
        beside = (Box(beside_text(each, quantity), each.label in best) if each else "" for each in own)
        rows.append(boxes(dataset, *beside))
    return Grid(
        f"{capitalise(quantity.counted)}, ours / the paper's",
        (*left("data set"), *right(*report.paper.algorithms)),
        rows,
        f"* or bold: {report.headline.best} in our run, or not significantly different. {legend(report)}.",
    )


def beside_text(judgement: Judgement, quantity: Quantity) -> str:
    printed = judgement.reported.printed.partition(" ")[0]
    if judgement.mean is None:
        return f"– / {printed}"
    digits = len(printed.partition(".")[2])
    doubt = "?" if judgement.reported.suspect else ""
    return f"{quantity.text(judgement.mean, digits)} / {printed} {words.letter(judgement)}{doubt}"


def not_reproduced(report: Report) -> Grid:
    passed = (REPRODUCED, NOT_COMPARABLE)
    others = [each for each in report.judgements if each.verdict not in passed and not each.reported.suspect]
    return _describe(report, "Not reproduced", others)


def unexplained(report: Report) -> Grid:
    found = verdicts.suspects(report.judgements)
    reasons: dict[tuple[str, str], list[str]] = {}
    for each in found:
        reasons.setdefault((each.algorithm, each.reported.suspect), []).append(each.dataset)
    note = " ".join(f"{row} on {', '.join(names)}: {reason}." for (row, reason), names in reasons.items())
    return _describe(report, "Unexplained printed numbers, counted separately", found, note)


def _describe(report: Report, title: str, judgements: Iterable[Judgement], note: str = "") -> Grid:
    alone = DETAIL if len(report.judged) == 1 else KEPT
    columns = left("data set", "algorithm") + left("quantity", drop=alone)
    columns += right("paper", "ours", "difference") + right("z (standard errors)", drop=DETAIL)
    rows = []
    for each in judgements:
        quantity = find_quantity(report.protocol, each.quantity)
        ours = "" if each.mean is None else quantity.text(each.mean)
        if each.mean is not None and each.deviation is not None:
            ours = quantity.spread(each.mean, each.deviation)
        difference = "" if each.difference is None else quantity.text(each.difference, sign="+")
        z = "" if each.z is None else f"{each.z:+.1f}"
        about = (each.dataset, each.algorithm, quantity.title, each.reported.printed, ours)
        rows.append(boxes(*about, difference, z, each.verdict))
    return Grid(title, columns + left("verdict"), rows, note)


def not_comparable(report: Report) -> Iterator[str]:
    first = [each for each in report.judgements if each.quantity == report.judged[0].name]
    reasons: dict[str, dict[str, list[str]]] = {}
    for each in first:
        if each.verdict == NOT_COMPARABLE:
            reasons.setdefault(each.reason, {}).setdefault(each.dataset, []).append(each.algorithm)
    judged = Counter(each.dataset for each in first)
    for reason, rows in reasons.items():
        names = (
            dataset if len(algorithms) == judged[dataset] else f"{dataset} ({', '.join(algorithms)})"
            for dataset, algorithms in rows.items()
        )
        yield f"Not comparable ({reason}): {', '.join(names)}"


def data(report: Report) -> Mapping[str, Any]:
    judgements = [
        {**vars(each), "leans": each.leans, "same_mean": each.is_same_mean, "reported": each.reported_data}
        for each in report.judgements
    ]
    return {"judgements": judgements, "kendall_tau": report.taus}


def page(report: Report) -> Mapping[str, Any]:
    return {"maps": [_map(report, quantity) for quantity in report.judged], "legend": legend(report)}


def _map(report: Report, quantity: Quantity) -> dict[str, Any]:
    """An algorithm that the config lists more than once has several labels, but one column."""
    judged = [each for each in report.judgements if each.quantity == quantity.name]
    names = list(dict.fromkeys(each.algorithm for each in judged))
    reported = {each.dataset for each in judged}
    rows = []
    for dataset in filter(reported.__contains__, report.datasets):
        cells = [report.by_place.get((dataset, name, quantity.name)) for name in names]
        shown = [judgement_page(cell, report) for cell in cells]
        rows.append({"dataset": dataset, "tau": report.taus.get(dataset), "cells": shown})
    return {
        "title": capitalise(quantity.title),
        "ranked": quantity is report.headline,
        "algorithms": names,
        "rows": rows,
    }


register(Section("verdicts", "Verdicts", 30, parts, lambda report: report.judgements, data, page))
