"""The replica is the algorithm: it makes the passes of the kernels and of the long-double reference."""

import numpy as np
import pytest

from olbench.algorithms import definitions, get_definition
from olbench.conformance.catalogue import CATALOGUE, find_deviations
from olbench.conformance.inputs import design_inputs
from olbench.conformance.replica import Replica
from tests.examples import built_in
from tests.reference import compiled

RULES = [each.id for each in built_in() if each.order in ("first", "second")]


def pass_of(id, given, exchanges=()):
    definition = get_definition(id)
    replica = Replica(definition, definition.resolve({}), exchanges)
    return [replica.learn(x, float(y)) for x, y in zip(given.X, given.y, strict=True)]


@pytest.mark.skipif(compiled.find_compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("given", design_inputs(), ids=lambda given: given.name)
def test_a_replica_makes_the_pass_of_the_reference(given):
    data, different = compiled.Data(given.name, given.X, given.y), []
    for id in RULES:
        definition = get_definition(id)
        family = "first" if definition.order == "first" else "full"
        exact, _ = compiled.run_twice(id, definition.resolve({}), family, data, range(len(given.y)))
        rounds = pass_of(id, given)
        mistakes = sum(each.prediction != y for each, y in zip(rounds, given.y, strict=True))
        is_close = np.allclose(rounds[-1].weights, exact.weights.astype(float), rtol=1e-7, atol=1e-9)
        if not is_close or (mistakes != exact.counts[0] and not definition.averaged):
            different.append(id)
    assert different == []


def test_every_entry_changes_some_pass():
    """An entry that changes nothing would never be found, and hide that something is not told apart."""
    assert [entry.id for entry in CATALOGUE if not changes_some_pass(entry)] == []


def changes_some_pass(entry):
    targets = [
        each for each in definitions() if each.rule and each.order in ("first", "second") and not each.is_own
    ]
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
            if not np.allclose(shown[0], shown[1][: shown[0].size], rtol=1e-8):
                return True
    return False
