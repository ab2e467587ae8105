"""McNemar's test between the algorithms of a paper's tables, on the errors that trials stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from olbench.papers import Paper
from olbench.report.comparable import Attempt
from olbench.report.results import Entry, Results
from olbench.stats import Bools, McNemar, mcnemar

#: The array in which a trial stores which of its test rows are wrong; those of the first division do.
ARRAY = "wrong"


@dataclass(frozen=True)
class ErrorContrast:
    """A row of a paper's table against one of its baselines on a data set, as tested on our errors."""

    where: str
    dataset: str
    row: str
    baseline: str
    test: McNemar

    @property
    def is_better(self) -> bool:
        """Whether the row has fewer errors than the baseline."""
        return self.test.first_alone < self.test.second_alone


def contrasts(attempt: Attempt) -> tuple[ErrorContrast, ...]:
    """Return every test that the tables of a paper call for and the run allows."""

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


def trials_with_errors(entry: Entry) -> list[int]:
    """Return the numbers of the trials that stored their errors."""
    pairs = zip(entry.columns["number"].tolist(), entry.columns["arrays"], strict=True)
    return [number for number, stored in pairs if isinstance(stored, dict) and ARRAY in stored]


def stored_errors(results: Results, entry: Entry) -> dict[int, Bools]:
    """Return which test rows an entry is wrong about, by the number of the trial."""
    return {number: results.array(entry, number, ARRAY) for number in trials_with_errors(entry)}


def compare(first: Mapping[int, Bools], second: Mapping[int, Bools]) -> McNemar | None:
    """Return the test over the trials of two entries, or None unless both have the same ones."""
    if not first or first.keys() != second.keys():
        return None
    one, other = (np.concatenate([each[number] for number in sorted(each)]) for each in (first, second))
    return mcnemar(one, other)


def find_mark(p: float, paper: Paper) -> str:
    """Return the paper's mark of the strictest level that p is below, or an empty text."""
    levels = sorted((level, mark) for mark, level in paper.marks.items() if level is not None)
    return next((mark for level, mark in levels if p < level), "")
