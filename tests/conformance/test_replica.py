"""The replica is the algorithm: it makes the passes of the kernels and of the long-double reference."""

import numpy as np
import pytest

from olbench.algorithms import get_definition
from olbench.conformance.catalogue import CATALOGUE, find_deviations
from olbench.conformance.inputs import design_inputs
from olbench.conformance.replica import Replica
from tests.cases import for_each
from tests.examples import built_in
from tests.reference import compiled

RULES = [each.id for each in built_in() if each.order in ("first", "second")]


def pass_of(id, given, params=None, exchanges=()):
    definition = get_definition(id)
    replica = Replica(definition, params or definition.resolve({}), exchanges)
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


@for_each("entry", CATALOGUE)
def test_every_entry_changes_some_pass(entry):
    """An entry that changes nothing would never be found, and hide that something is not told apart."""
    assert any(
        changes_some_pass(each, entry) for each in RULES if entry in find_deviations(get_definition(each))
    )


def changes_some_pass(id, entry):
    params = get_definition(id).resolve({"C": 0.3} if entry.id.startswith("C-") else {})
    params |= {name: 3.0 for name in ("r", "b") if name in params and id != "iellip"}
    for given in design_inputs()[:8]:
        with np.errstate(all="ignore"):
            plain, other = (pass_of(id, given, params, each)[-1].weights for each in ((), (entry.exchange,)))
        if not np.allclose(plain, other[: plain.size], rtol=1e-8):
            return True
    return False
