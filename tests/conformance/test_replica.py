"""The replica is the algorithm: it makes the passes of the kernels and of the long-double reference."""

import numpy as np
import pytest

from olbench.algorithms import definitions, get_definition
from olbench.conformance.catalogue import CATALOGUE, find_deviations
from olbench.conformance.inputs import design_inputs
from olbench.conformance.replica import PARTS, Replica
from tests.reference.plain import REFERENCES, run

RULES = [each.id for each in definitions() if each.order in ("first", "second") and each.id in REFERENCES]


def pass_of(id, given, exchanges=()):
    definition = get_definition(id)
    replica = Replica(definition, definition.resolve({}), exchanges)
    return [replica.learn(x, float(y)) for x, y in zip(given.X, given.y, strict=True)]


@pytest.mark.parametrize("id", RULES)
@pytest.mark.parametrize("given", design_inputs(), ids=lambda given: given.name)
def test_a_replica_makes_the_pass_of_the_reference(id, given):
    rounds = pass_of(id, given)
    counts, weights = run(id, given.X, given.y, range(len(given.y)), **get_definition(id).resolve({}))
    mistakes = sum(each.prediction != y for each, y in zip(rounds, given.y, strict=True))
    if not get_definition(id).averaged:
        assert mistakes == counts.mistakes
    np.testing.assert_allclose(rounds[-1].weights, weights.astype(float), rtol=1e-7, atol=1e-9)


def test_every_entry_of_the_catalogue_says_what_it_is_and_changes_a_part_that_exists():
    ids = [each.id for each in CATALOGUE]
    assert len(ids) == len(set(ids)) >= 80
    for each in CATALOGUE:
        assert each.says
        assert not each.says.endswith(".")
        assert each.exchange.keys() <= PARTS.keys()


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.id)
def test_every_entry_changes_some_pass(entry):
    """An entry that changes nothing would never be found, and hide that something is not told apart."""
    targets = [each for each in definitions() if each.rule and each.order in ("first", "second")]
    changed = False
    for definition in (each for each in targets if entry in find_deviations(each)):
        params = definition.resolve({"C": 0.3} if entry.id.startswith("C-") else {})
        params |= {name: 3.0 for name in ("r", "b") if name in params and definition.id != "iellip"}
        for given in design_inputs()[:8]:
            pair = [Replica(definition, params, each) for each in ((), (entry.exchange,))]
            with np.errstate(all="ignore"):
                shown = [
                    [replica.learn(x, float(y)).weights for x, y in zip(given.X, given.y, strict=True)][-1]
                    for replica in pair
                ]
            changed = changed or not np.allclose(shown[0], shown[1][: shown[0].size], rtol=1e-8)
    assert changed
