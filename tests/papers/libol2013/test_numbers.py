"""The printed numbers of the toolbox's manual are whole, plausible, and about the toolbox's own variants."""

from olbench import make_algorithm
from olbench.analysis.published import load_paper
from olbench.data.catalog import find
from olbench.protocols.reading import read_config
from olbench.records.shipped import configs
from tests.cases import for_each

PAPER = load_paper("libol2013")
#: The learners that update on mistakes only.
CONSERVATIVE = {"perceptron", "romma", "sop", "iellip"}
PLACES = list(dict.fromkeys((number.dataset, number.row) for number in PAPER.numbers))


def test_table_3_is_complete():
    assert PAPER.datasets == ("svmguide3", "ijcnn1")
    assert len(PLACES) == 2 * 16
    assert len(PAPER.numbers) == 64
    assert {number.n for number in PAPER.numbers} == {20}


@for_each("place", PLACES)
def test_updates_are_at_least_the_mistakes_and_equal_them_without_a_margin(place):
    """A digit that was copied wrongly would show; half a unit of the rate is what print allows."""
    cell, rows = PAPER.of(*place), find(place[0]).rows
    mistakes, updates = cell["mistake_rate"].mean * rows, cell["updates"].mean
    assert mistakes - 0.0005 * rows <= updates <= rows
    if place[1] in CONSERVATIVE:
        assert updates <= mistakes + 0.0005 * rows
    assert all(0 <= number.deviation < number.mean for number in cell.values())


def test_the_config_runs_the_algorithm_of_every_row():
    specs = read_config(configs()["libol"]).algorithms
    rows = [PAPER.row_spec(row) for row in PAPER.algorithms]
    assert [spec.id for spec in specs] == [row.id for row in rows]
    assert [dict(spec.params) for spec in specs] == [dict(row.options) for row in rows]
    for row in rows:
        make_algorithm(row.id, **row.options)
