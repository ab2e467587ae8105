"""The tables of cw2012 are whole, could have been measured, and agree with what the paper says of them."""

from functools import cache

import numpy as np

from olbench.analysis.published import load_paper
from olbench.analysis.stats import mean_ranks
from olbench.data.catalog import find
from tests.cases import for_each

PAPER = load_paper("cw2012")
ERRORS = [number for number in PAPER.numbers if number.quantity == "test_error"]
VARIANTS, BASELINES = PAPER.groups["variants"], (*PAPER.groups["online"], *PAPER.groups["batch"])
TEXT, USPS = PAPER.groups["text"], PAPER.groups["usps"]
#: How many of each digit the test file of USPS has, by the pair of digits.
TEST_DIGITS = {
    "usps-0-vs-9": (359, 177), "usps-1-vs-2": (264, 198), "usps-3-vs-4": (166, 200),
    "usps-5-vs-6": (160, 170), "usps-7-vs-8": (147, 166),
}  # fmt: skip


def error(dataset: str, row: str) -> str:
    return PAPER.of(dataset, row)["test_error"].printed


@cache
def attainable(n: int, folds: int) -> set[str]:
    """Return every mean up to a third of the error rates of some folds of n examples, as print has it."""
    small, larger = divmod(n, folds)
    # Some of the folds have one example more than the others.
    in_small, in_larger = np.arange((folds - larger) * small + 1), np.arange(larger * (small + 1) + 1)
    rates = (in_small[:, None] / small + in_larger / (small + 1)) / folds
    return {f"{rate / 100:.2f}" for rate in np.unique(np.rint(1e4 * rates[rates < 1 / 3]))}


def test_the_tables_are_complete():
    assert len(ERRORS) == 17 * 6 + 17 * 4 + 5 * 8 + 22 * 3
    assert len(PAPER.numbers) - len(ERRORS) == 17 * 6
    assert PAPER.datasets == (*TEXT, *USPS)
    assert PAPER.algorithms == (*VARIANTS, *BASELINES)
    for dataset in PAPER.datasets:
        rows = {number.row for number in ERRORS if number.dataset == dataset}
        assert rows == {*(VARIANTS if dataset in TEXT else PAPER.groups["approximations"]), *BASELINES}
    for dataset in TEXT:
        assert len([n for n in PAPER.numbers if n.dataset == dataset and n.quantity == "seconds"]) == 6


def test_smallest_ranks_for_equals_give_the_printed_mean_ranks():
    [ranks] = PAPER.ranks
    assert (ranks.datasets, tuple(ranks.printed)) == (TEXT, VARIANTS)
    means = {name: {row: float(error(name, row)) for row in VARIANTS} for name in TEXT}
    found = mean_ranks(means, ties="min")
    assert {row: f"{rank:.2f}" for row, rank in found.items()} == ranks.printed


@for_each("dataset", TEXT)
def test_every_printed_error_is_a_mean_over_ten_folds(dataset):
    [n] = {number.n for number in ERRORS if number.dataset == dataset}
    assert {number.printed for number in ERRORS if number.dataset == dataset} <= attainable(n, 10)


def test_the_newsgroups_did_not_have_1800_posts():
    """The size that section 7.1 states cannot give most of the errors that the tables print."""
    folds = attainable(1800, 10)
    for dataset, possible in (("news-comp", 3), ("news-sci", 4), ("news-talk", 0)):
        printed = {number.printed for number in ERRORS if number.dataset == dataset}
        assert (len(printed & folds), len(printed)) == (possible, 13)


def test_fold_means_leave_few_sizes_for_two_newsgroups():
    for dataset, sizes in (("news-sci", range(1971, 1980)), ("news-talk", range(1841, 1860))):
        printed = {number.printed for number in ERRORS if number.dataset == dataset}
        near = range(sizes[0] - 3, sizes[-1] + 4)
        assert [n for n in near if printed <= attainable(n, 10)] == list(sizes)


@for_each("dataset", USPS)
def test_the_errors_on_usps_are_those_of_the_test_files(dataset):
    counts = TEST_DIGITS[dataset]
    [n] = {number.n for number in ERRORS if number.dataset == dataset}
    assert n == sum(counts) == find(dataset).test_rows
    possible = {f"{100 * errors / n:.2f}" for errors in range(n)}
    assert {number.printed for number in ERRORS if number.dataset == dataset} <= possible


def test_maxent_and_sgd_predict_one_class_on_usps():
    for dataset, counts in TEST_DIGITS.items():
        shares = {f"{100 * count / sum(counts):.2f}" for count in counts}
        broken = [row for row in ("sgd", "maxent") if error(dataset, row) in shares]
        assert broken == (["maxent"] if dataset == "usps-0-vs-9" else ["sgd", "maxent"])
        assert [row for row in broken if not PAPER.of(dataset, row)["test_error"].suspect] == []


def test_what_nothing_explains_is_counted_apart():
    found = {(number.dataset, number.row) for number in PAPER.numbers if number.suspect}
    assert len(found) == 3 + 5 + 4
    assert {dataset for dataset, row in found if row == "stdev-l2"} == set(PAPER.groups["news"])
    assert all(number.quantity == "test_error" for number in PAPER.numbers if number.suspect)


def test_marks_are_kept_by_table():
    assert PAPER.of("amazon-books", "stdev-kl")["test_error"].marks == {"Table 3": "∗", "Table 4": "⋆"}
    assert PAPER.of("amazon-books", "var-kl")["test_error"].marks == {}
    assert PAPER.marks == {"⋆": 0.05, "∗": 0.01, "†": 0.001, "+": None}
    counts = {table.where: sum(table.where in number.marks for number in ERRORS) for table in PAPER.marked}
    assert counts == {"Table 3": 25, "Table 4": 23}
    assert [table.against for table in PAPER.marked] == [PAPER.groups["online"], PAPER.groups["batch"]]
    marked = {number.row for number in ERRORS if number.marks}
    assert marked <= set(PAPER.groups["approximations"])
