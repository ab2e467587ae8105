"""What the search for a difference takes for rounding, and how far it simplifies an example."""

from types import SimpleNamespace

import numpy as np

from olbench.conformance.comparison import _is_rounding
from olbench.conformance.example import shrink
from olbench.conformance.inputs import Input


def test_a_difference_a_thousand_times_that_of_disturbed_replicas_is_no_rounding():
    means = [np.ones(2)] * 5
    disturbed = [SimpleNamespace(mu=mu + 1e-13) for mu in means]

    def make(exchanges):
        return SimpleNamespace(meet=lambda given: disturbed)

    given = Input("any", "any", np.ones((5, 2)), np.ones(5))
    assert _is_rounding(make, given, means, 1e-11, 1e-16)
    assert not _is_rounding(make, given, means, 1e-10, 1e-16)


def test_the_numbers_of_the_smallest_example_are_simple(rng):
    given = Input("any", "any", rng.uniform(0.61, 0.68, (6, 3)), np.ones(6))
    assert shrink(given, lambda each: bool((each.X > 0.6).any())).X.tolist() == [[1.0]]
    assert shrink(given, lambda each: bool(((each.X > 0.55) & (each.X < 0.8)).any())).X.item() in (0.6, 0.7)
