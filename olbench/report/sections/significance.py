"""Significance by McNemar's test on the errors that trials stored: the paper's marks beside ours."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from olbench.analysis.published import MarkedTable, Paper
from olbench.analysis.results import Entry, Results
from olbench.analysis.stats import FEW_DISCORDANT, LEVEL, Bools, McNemar, mcnemar
from olbench.analysis.verdicts import Attempt
from olbench.report.grid import Column, Grid, Part, boxes, left, right
from olbench.report.model import Report
from olbench.report.sections import Section, register
from olbench.report.sections.confusion import trials_with

#: The array in which a trial stores which of its test rows are wrong; those of the first division do.
ARRAY = "wrong"
NONE, WORSE = "·", "−"
METHOD = (
    f"McNemar's test on the test rows of the first division: exact (binomial) below {FEW_DISCORDANT} rows on "
    "which one of the two alone is wrong, chi-square with continuity correction from there on. Every pair is "
    "tested by itself, without a correction for their number."
)


@dataclass(frozen=True)
class ErrorContrast:
    where: str
    dataset: str
    row: str
    baseline: str
    test: McNemar

    @property
    def is_better(self) -> bool:
        return self.test.first_alone < self.test.second_alone


def contrasts(attempt: Attempt) -> tuple[ErrorContrast, ...]:
    @cache
    def errors(dataset: str, row: str) -> dict[int, Bools]:
        entry, reason, _ = attempt.choose(dataset, row)
        return {} if entry is None or reason else stored_errors(attempt.results, entry)

    return tuple(
        ErrorContrast(table.where, dataset, row, baseline, test)
        for table in attempt.paper.marked
        for dataset in attempt.results.datasets
        for row in (*table.rows, *table.also)
        for baseline in table.against
        if (test := compare(errors(dataset, row), errors(dataset, baseline))) is not None
    )


def stored_errors(results: Results, entry: Entry) -> dict[int, Bools]:
    return {number: results.array(entry, number, ARRAY) for number in trials_with(ARRAY, entry)}


def compare(first: Mapping[int, Bools], second: Mapping[int, Bools]) -> McNemar | None:
    if not first or first.keys() != second.keys():
        return None
    one, other = (np.concatenate([each[number] for number in sorted(each)]) for each in (first, second))
    return mcnemar(one, other)


def find_mark(p: float, paper: Paper) -> str:
    levels = sorted((level, mark) for mark, level in paper.marks.items() if level is not None)
    return next((mark for level, mark in levels if p < level), "")


def applies(report: Report) -> bool:
    marked = report.paper is not None and bool(report.paper.marked)
    return marked and any(trials_with(ARRAY, entry) for entry in report.results.entries)


def parts(report: Report) -> Iterator[Part]:
    assert report.attempt is not None
    paper, found = report.attempt.paper, contrasts(report.attempt)
    yield METHOD
    for table in paper.marked:
        own = [contrast for contrast in found if contrast.where == table.where]
        tests = Counter((contrast.dataset, contrast.row) for contrast in own)
        # A row is marked where it could be tested against each of the baselines.
        whole = [each for each in own if tests[each.dataset, each.row] == len(table.against)]
        if whole:
            yield marks_grid(report, paper, table, whole)
    if found:
        yield counts_grid(found)


def marks_grid(report: Report, paper: Paper, table: MarkedTable, found: Sequence[ErrorContrast]) -> Grid:
    names = (*table.rows, *table.also)
    rows, same = [], []
    for dataset in dict.fromkeys(contrast.dataset for contrast in found):
        texts = []
        for row in names:
            own = [each for each in found if (each.dataset, each.row) == (dataset, row)]
            ours = (find_mark(max(each.test.p for each in own), paper) or NONE) if own else ""
            printed = paper.of(dataset, row).get(report.headline.name) if row in table.rows else None
            theirs = printed.marks.get(table.where, NONE) if printed else ""
            texts.append(mark_text(ours, theirs, not all(each.is_better for each in own)))
            same += [ours == theirs] if ours and theirs else []
        rows.append(boxes(dataset, *texts))
    levels = ", ".join(f"{mark} p < {level:g}" for mark, level in paper.marks.items() if level is not None)
    return Grid(
        f"{table.where}: significantly different from each of {', '.join(table.against)}, ours / the paper's",
        (*left("data set"), *(Column(row, "center") for row in names)),
        rows,
        f"{levels}, {NONE} none; {WORSE} after a mark: worse than one of them. The same in {sum(same)} of "
        f"{len(same)} places that both have.",
    )


def mark_text(ours: str, theirs: str, is_worse: bool) -> str:
    marked = f"{ours}{WORSE}" if is_worse and ours not in ("", NONE) else ours
    return f"{marked} / {theirs}" if ours and theirs else marked


def counts_grid(found: Sequence[ErrorContrast]) -> Grid:
    rows, baselines = (list(dict.fromkeys(getattr(c, name) for c in found)) for name in ("row", "baseline"))
    return Grid(
        f"Data sets on which a row is significantly better + or worse {WORSE} ({LEVEL:.0%})",
        (*left("algorithm"), *right(*baselines)),
        [boxes(row, *(_count(found, row, baseline) for baseline in baselines)) for row in rows],
    )


def _count(found: Sequence[ErrorContrast], row: str, baseline: str) -> str:
    own = {each.dataset: each for each in found if (each.row, each.baseline) == (row, baseline)}
    clear = [contrast.is_better for contrast in own.values() if contrast.test.p < LEVEL]
    return f"{sum(clear)}+ {len(clear) - sum(clear)}{WORSE} of {len(own)}" if own else ""


def data(report: Report) -> Mapping[str, Any]:
    if not report.is_cross_validated:
        return {}
    found = contrasts(report.attempt) if report.attempt else ()
    return {"mcnemar": [{**vars(each), "test": vars(each.test)} for each in found]}


register(Section("significance", "Significance", 60, parts, applies, data))
