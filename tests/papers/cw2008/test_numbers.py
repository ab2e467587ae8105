"""What cw2008 says of its synthetic experiment is about algorithms and data that are here."""

import pytest

from olbench import make_algorithm
from olbench.analysis.published import load_paper
from olbench.data.catalog import find


@pytest.fixture(scope="module")
def paper():
    return load_paper("cw2008")


def test_rows_are_algorithms_that_are_here(paper):
    rows = {row for claim in paper.claims for row in claim.parts[0].names}
    assert rows == {*paper.groups["first_order"], *paper.groups["averaged"], *paper.groups["second_order"]}
    for row in rows:
        spec = paper.row_spec(row)
        make_algorithm(spec.id, **spec.options)


def test_the_claims_have_the_printed_bounds_and_ratios(paper):
    says = {claim.id: claim.parts[0] for claim in paper.claims}
    assert says["second-order-below-80-mistakes"].value == 80
    assert says["first-order-at-least-129-mistakes"].value == 129
    assert says["var-diagonal-makes-8-percent-more"].by == pytest.approx(0.075)
    assert says["var-full-makes-17-percent-more"].by == pytest.approx(0.165)
    assert {statement.datasets for statement in says.values()} == {("cw2008-synthetic",)}
    assert {statement.quantity for statement in says.values()} == {"mistakes", "test_error"}


def test_no_number_of_a_single_method_is_printed(paper):
    assert paper.numbers == paper.tables == ()


def test_the_data_set_has_the_printed_size(paper):
    entry = find("cw2008-synthetic")
    assert {key: getattr(entry, key) for key in ("rows", "features")} == paper.shapes["cw2008-synthetic"]
