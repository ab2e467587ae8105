"""Mean ranks, and marks of significance by McNemar's test, as papers print them beside their numbers."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from olbench.analysis.published import MarkedTable, Paper, PrintedRanks
from olbench.analysis.results import Entry, Results
from olbench.analysis.stats import FEW_DISCORDANT, LEVEL, Bools, McNemar, mcnemar, mean_ranks
from olbench.analysis.verdicts import NOT_COMPARABLE, Attempt
from olbench.report import table as t
from olbench.report.model import Report
from olbench.report.table import Column, Part, Table
from olbench.report.tables import table
from olbench.report.tables.classes import trials_with

#: The array of test rows that a trial gets wrong; trials of the first division store it.
ARRAY = "wrong"
NONE, WORSE = "·", "−"
RANKED = "ours", "paper_on_the_same", "paper_on_all"
METHOD = (
    "McNemar's test on the test rows of the first division: exact (binomial) if fewer than "
    f"{FEW_DISCORDANT} rows are wrong for only one of the two, else chi-square with continuity correction. "
    "Every pair is tested by itself, without a correction for their number."
)


def rank(report: Report) -> Iterator[tuple[PrintedRanks, int, list[Mapping[str, float]]]]:
    """Yield printed ranks, on how many data sets every row is comparable, and the mean ranks: of our numbers
    and of the paper's on these data sets, and of the paper's on all."""
    for printed in report.paper.ranks if report.paper and report.is_cross_validated else ():
        ours: dict[str, dict[str, float]] = {}
        theirs: dict[str, dict[str, float]] = {}
        for dataset in printed.datasets:
            row = [report.by_place[dataset, name, printed.quantity] for name in printed.printed]
            theirs[dataset] = {each.algorithm: each.reported.mean for each in row}
            means = {e.algorithm: e.mean for e in row if e.mean is not None and e.verdict != NOT_COMPARABLE}
            if len(means) == len(row):
                ours[dataset] = means
        every = ours, {dataset: theirs[dataset] for dataset in ours}, theirs
        yield printed, len(ours), [mean_ranks(each, report.headline.better, ties="min") for each in every]


def rank_data(report: Report) -> Mapping[str, Any]:
    if not report.is_cross_validated:
        return {}
    tables = [
        {"where": printed.where, "printed": dict(printed.printed), **dict(zip(RANKED, ranks, strict=True))}
        for printed, _, ranks in rank(report)
    ]
    return {"mean_ranks": report.ranks, "printed_ranks": tables}


@table("Ranks", 50, data=rank_data)
def printed_ranks(report: Report) -> Iterator[Table]:
    for printed, both, ranks in rank(report):
        titles = f"ours ({both})", f"paper ({both})", f"paper ({len(printed.datasets)})"
        yield Table(
            f"{printed.where}: mean ranks",
            (
                Column("algorithm", t.ALGORITHM),
                *(Column(title, t.number(2), name=name) for title, name in zip(titles, RANKED, strict=True)),
                Column("printed", t.RIGHT),
            ),
            [(row, *(each.get(row) for each in ranks), text) for row, text in printed.printed.items()],
            "The mean over data sets of the rank on each; ties share the smallest rank. In brackets: the "
            "number of data sets. Ours are those on which every row is comparable; the paper's numbers are "
            "ranked on these and on all of its own.",
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
        ErrorContrast(marked.where, dataset, row, baseline, test)
        for marked in attempt.paper.marked
        for dataset in attempt.results.datasets
        for row in (*marked.rows, *marked.also)
        for baseline in marked.against
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


def test_data(report: Report) -> Mapping[str, Any]:
    if not report.is_cross_validated:
        return {}
    found = contrasts(report.attempt) if report.attempt else ()
    return {"mcnemar": [{**vars(each), "test": vars(each.test)} for each in found]}


@table("Significance", 60, data=test_data)
def significance(report: Report) -> Iterator[Part]:
    stored = any(trials_with(ARRAY, entry) for entry in report.results.entries)
    if report.attempt is None or not report.attempt.paper.marked or not stored:
        return
    paper, found = report.attempt.paper, contrasts(report.attempt)
    yield METHOD
    for marked in paper.marked:
        own = [contrast for contrast in found if contrast.where == marked.where]
        tests = Counter((contrast.dataset, contrast.row) for contrast in own)
        # A row is marked if it could be tested against each of the baselines.
        whole = [each for each in own if tests[each.dataset, each.row] == len(marked.against)]
        if whole:
            yield marks_table(report, paper, marked, whole)
    if found:
        yield counts_table(found)


def marks_table(report: Report, paper: Paper, marked: MarkedTable, found: Sequence[ErrorContrast]) -> Table:
    names = (*marked.rows, *marked.also)
    rows, same = [], []
    for dataset in dict.fromkeys(contrast.dataset for contrast in found):
        texts = []
        for row in names:
            own = [each for each in found if (each.dataset, each.row) == (dataset, row)]
            ours = (find_mark(max(each.test.p for each in own), paper) or NONE) if own else ""
            printed = paper.of(dataset, row).get(report.headline.name) if row in marked.rows else None
            theirs = printed.marks.get(marked.where, NONE) if printed else ""
            same += [ours == theirs] if ours and theirs else []
            if ours not in ("", NONE) and not all(each.is_better for each in own):
                ours += WORSE
            texts.append(f"{ours} / {theirs}" if ours and theirs else ours)
        rows.append((dataset, *texts))
    against = ", ".join(marked.against)
    levels = ", ".join(f"{mark} p < {level:g}" for mark, level in paper.marks.items() if level is not None)
    return Table(
        f"{marked.where}: significantly different from each of {against}, ours / the paper's",
        (Column("data set"), *t.algorithm_columns(names, t.CENTER)),
        rows,
        f"{levels}, {NONE} none; {WORSE} after a mark: worse than one of them. Equal in {sum(same)} of "
        f"{len(same)} places that both have.",
    )


def counts_table(found: Sequence[ErrorContrast]) -> Table:
    rows, baselines = (list(dict.fromkeys(getattr(c, name) for c in found)) for name in ("row", "baseline"))
    return Table(
        f"Data sets on which a row is significantly better + or worse {WORSE} ({LEVEL:.0%})",
        (Column("algorithm", t.ALGORITHM), *t.algorithm_columns(baselines, t.RIGHT)),
        [(row, *(_count(found, row, baseline) for baseline in baselines)) for row in rows],
    )


def _count(found: Sequence[ErrorContrast], row: str, baseline: str) -> str:
    own = {each.dataset: each for each in found if (each.row, each.baseline) == (row, baseline)}
    clear = [contrast.is_better for contrast in own.values() if contrast.test.p < LEVEL]
    return f"{sum(clear)}+ {len(clear) - sum(clear)}{WORSE} of {len(own)}" if own else ""
