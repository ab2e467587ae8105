"""What a verdict proves: controls with wrong learners, and rows that name their learner blind."""

import math
from dataclasses import replace
from functools import cache
from statistics import NormalDist

import numpy as np
import pytest

from olbench import load_dataset, make_algorithm, online_pass
from olbench.analysis.evidence import control, identify, joint_verdicts, printed_cells
from olbench.analysis.published import Reported, load_paper
from olbench.analysis.verdicts import Attempt, judge
from olbench.records.quantities import MISTAKE_RATE, REPRODUCED, UPDATES, mean_and_deviation
from tests.report.made import entry, results

PAPER = load_paper("scw2012")
QUANTITIES = (MISTAKE_RATE, UPDATES)
DATASETS = ("synthetic", "synthetic-noise", "breast-cancer", "digits-1-vs-7")
LEARNERS = ("perceptron", "pa1", "cw", "nherd", "arow", "narow", "scw1", "scw2")
#: What may stand in the row of SCW-II, by what is wrong with it.
WRONG = {
    "the rule of AROW": ("arow", {}),
    "twice its phi": ("scw2", {"eta": NormalDist().cdf(2 * NormalDist().inv_cdf(0.9))}),
    "the toolbox's formula": ("scw2-libol", {}),
}


@cache
def measure(dataset, id, **params):
    data = load_dataset(dataset)
    orders = [np.random.default_rng([7, number]).permutation(len(data.y)) for number in range(20)]
    passes = [online_pass(make_algorithm(id, **params), data.X, data.y, order=order) for order in orders]
    return [each.mistake_rate for each in passes], [each.updates for each in passes]


def make_run(instead=None):
    """Return a run of all learners, with another one in the row of SCW-II if it is given."""
    made = []
    for dataset in DATASETS:
        for id in LEARNERS:
            other, params = instead if instead and id == "scw2" else (id, {})
            made.append(entry(dataset, id, *measure(dataset, other, **params)))
    return results(made)


def print_table(instead=()):
    """Return a paper that prints what its learners measure, or others instead, with the digits of scw2012."""
    numbers = []
    for dataset in DATASETS:
        for row in LEARNERS:
            measured = measure(dataset, dict(instead).get(row, row))
            for quantity, values, digits in zip(QUANTITIES, measured, (3, 1), strict=True):
                mean, deviation = (round(each, digits) for each in mean_and_deviation(values))
                at, half = {"dataset": dataset, "algorithm": row}, 0.5 * 10**-digits
                printed = f"{mean:.{digits}f} ± {deviation:.{digits}f}"
                numbers.append(Reported("Table 1", at, quantity.name, mean, deviation, half, 20, printed))
    return replace(PAPER, numbers=tuple(numbers), rows={row: PAPER.row_spec(row) for row in LEARNERS})


def weigh(found, paper):
    judgements = judge(Attempt(found, paper))
    return judgements, printed_cells(judgements)


def row_of_scw2(found):
    return next(each for each in found.rows if each.row == "scw2")


def test_right_learners_are_reproduced_and_identified_in_every_row():
    found = make_run()
    judgements, cells = weigh(found, print_table())
    assert set(joint_verdicts(judgements).values()) == {REPRODUCED}
    named = identify(cells)
    assert all(row.is_identified for row in named.rows)
    assert len(named.rows) == len(LEARNERS)
    assert named.chance == len(DATASETS)


def test_a_wrong_learner_is_noticed():
    for defect, instead in WRONG.items():
        judgements, cells = weigh(make_run(instead), print_table())
        joint = joint_verdicts(judgements)
        right = [joint[dataset, "scw2"] for dataset in DATASETS].count(REPRODUCED)
        assert right <= len(DATASETS) / 2, defect
        assert {verdict for (_, row), verdict in joint.items() if row != "scw2"} == {REPRODUCED}, defect
        if defect != "the toolbox's formula":  # no other learner of this run is nearer to SCW-II
            assert not row_of_scw2(identify(cells)).is_right, defect


def test_a_row_that_the_toolbox_printed_names_the_toolbox():
    """The run has SCW-II in both forms; the table was made with the toolbox's."""
    made = make_run()
    toolbox = [entry(dataset, "scw2-libol", *measure(dataset, "scw2-libol")) for dataset in DATASETS]
    found = replace(made, entries=(*made.entries, *toolbox))
    row = row_of_scw2(identify(weigh(found, print_table({"scw2": "scw2-libol"}))[1]))
    assert row.named == "scw2-libol"


def test_rates_alone_would_not_have_noticed_the_rule_of_arow_everywhere():
    """The control says so: AROW reproduces some of SCW-II's mistake rates, but no update count."""
    found = make_run()
    _, cells = weigh(found, print_table())
    rates, updates = (control(cells, quantity) for quantity in QUANTITIES)
    by_rate, by_updates = row_of_scw2(rates), row_of_scw2(updates)
    assert by_rate.reproduced == by_rate.total == len(DATASETS)
    assert by_rate.others["arow"] > by_updates.others["arow"] == 0
    assert rates.deranged is not None
    fewest, median, most = rates.deranged
    assert fewest <= median <= most < rates.reproduced


def test_random_numbers_get_the_verdict_that_they_deserve():
    """Numbers from nowhere are rarely reproduced, joint or alone, and name learners no better than chance."""
    rng = np.random.default_rng(3)
    paper, made, found = print_table(), [], make_run()
    for each in paper.numbers:
        scale = 0.5 if each.quantity == "mistake_rate" else 3000.0
        made.append(replace(each, mean=round(float(rng.uniform(0, scale)), 3)))
    judgements, cells = weigh(found, replace(paper, numbers=tuple(made)))
    assert sum(each.verdict == REPRODUCED for each in judgements) < 0.15 * len(judgements)
    assert list(joint_verdicts(judgements).values()).count(REPRODUCED) <= 1
    named = identify(cells)
    right = sum(each.is_right for each in named.cells.values())
    assert abs(right - named.chance) <= 3 * math.sqrt(named.chance)
    assert sum(row.is_identified for row in named.rows) <= 1


def test_equal_learners_do_not_identify_each_other():
    """A tie names the other learner: nothing tells the two apart."""
    found = results([entry("splice", id, [0.1, 0.2, 0.15], [100, 110, 120]) for id in ("cw", "arow")])
    _, cells = weigh(found, PAPER)
    assert not any(row.is_right for row in identify(cells).rows)


def test_a_learner_that_is_absent_somewhere_counts_by_its_share():
    made = make_run()
    present = [each for each in made.entries if (each.dataset, each.label) != ("synthetic", "arow")]
    found = replace(made, entries=tuple(present))
    _, cells = weigh(found, print_table())
    row = row_of_scw2(control(cells, MISTAKE_RATE))
    own = [cell for cell in cells if cell.row == "scw2" and "arow" in cell.learners]
    reproduced = sum(cell.is_reproduced("arow", MISTAKE_RATE) for cell in own)
    assert len(own) == len(DATASETS) - 1
    assert row.others["arow"] == pytest.approx(reproduced * len(DATASETS) / len(own))
