"""What algorithms declare besides their rules: grids and defaults of the papers, traits, empty rounds."""

import math

import numpy as np
import pytest

from olbench.algorithms import definitions, get_definition
from olbench.algorithms.probing import PASSIVE as DOING_NOTHING
from tests.cases import for_each
from tests.examples import built_in

ONLINE = [definition for definition in built_in() if definition.order in ("first", "second")]
PARAMETERS = [
    (definition.id, parameter)
    for definition in definitions()
    if definition.module.startswith("olbench.")
    for parameter in definition.parameters
    if not parameter.choices
]


def loss_of(definition, m, v=1.0):
    """Return the loss of a correct prediction with margin m, by the rule with its default parameters."""
    p = definition.rule_constants(definition.resolve({}))
    if definition.order == "second":
        return definition.rule(m, v, False, 1, p)[0]
    return definition.rule(m, v, False, 1.0, 1, 0, p)[0]


POWERS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16)
CONFIDENCES = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
TENTHS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
PRICES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
#: The first five as in scw2012; alpha is searched up to one, where ALMA has no margin.
GRIDS = [
    ("C", "pa1 pa2 averaged-pa1 ogd nherd scw1 scw2 scw2-libol", POWERS),
    ("r", "arow", POWERS),
    ("b", "narow narow2010", POWERS),
    ("eta", "cw cw-var scw1 scw2 scw2-libol", CONFIDENCES),
    ("b", "iellip", TENTHS),
    ("alpha", "alma", (*TENTHS, 1.0)),
    ("lam", "adviceptron adviceptron-printed adviceptron-exact", PRICES),
    ("mu", "adviceptron adviceptron-printed adviceptron-exact", PRICES),
]


@for_each(("name", "ids", "grid"), GRIDS)
def test_the_grids_are_those_of_the_papers(name, ids, grid):
    for id in ids.split():
        assert get_definition(id).grid[name] == grid


def test_the_defaults_are_libols():
    """The first search of LIBOL has eta at its default, so the default decides which C wins."""
    assert {id: get_definition(id).resolve({}) for id in LIBOL} == LIBOL


LIBOL = {
    "cw": {"eta": 0.7}, "arow": {"r": 1.0}, "narow": {"b": 1.0}, "nherd": {"C": 1.0},
    "scw1": {"C": 1.0, "eta": 0.75}, "scw2": {"C": 1.0, "eta": 0.9}, "iellip": {"b": 0.9, "c": 0.1},
    "alma": {"alpha": 0.9, "C": math.sqrt(2)},
}  # fmt: skip


@for_each(("id", "parameter"), PARAMETERS)
def test_a_number_beyond_the_bounds_of_a_parameter_is_refused(id, parameter):
    for bound, beyond in ((parameter.low, -math.inf), (parameter.high, math.inf)):
        if bound < math.inf:
            with pytest.raises(ValueError, match=f"{id}: {parameter.name} must lie in"):
                parameter.check(np.nextafter(bound, beyond), id)


@for_each("definition", ONLINE)
def test_the_traits_are_what_the_rule_does(definition):
    """scw2012, section 2: confidence is a covariance, and an adaptive margin grows with the variance."""
    traits = definition.traits
    assert traits.confidence == (definition.order == "second")
    assert traits.adaptive_margin == (
        traits.confidence and loss_of(definition, 0.01, 4.0) != loss_of(definition, 0.01, 1.0)
    )
    # ROMMA's margin comes from its constraint alone: it moves after mistakes only.
    if definition.id != "romma":
        assert traits.large_margin == (loss_of(definition, 0.01) > 0.0)


@for_each("id", ["cw", "cw-var", "scw1", "scw2", "scw2-libol", "iellip"])
@for_each("m", [-3.0, -1e-300, 0.0, 2.0])
def test_without_variance_a_step_in_units_of_the_deviation_is_none(id, m):
    """A row of zeros, or one whose variance broke down, has no direction to move in."""
    definition = get_definition(id)
    p = definition.rule_constants(definition.resolve({}))
    assert definition.rule(m, 0.0, m < 0.0, 1, p) == (max(0.0, -m) if id != "iellip" else m < 0.0, 0.0, 0.0)


PROMISES = [definition for definition in ONLINE if definition.passive_above is not None]


@for_each("definition", PROMISES)
def test_a_rule_acts_just_below_the_margin_above_which_it_promises_to_be_passive(definition):
    """The promise is as wide as it can be: every round that it covers is spared the rule."""
    params = definition.resolve({})
    p, above = definition.rule_constants(params), definition.find_passive_margin(params)
    more = (1,) if definition.order == "second" else (1.0, 1, 0)
    # With the variance 40, every rule that needs one large enough to act has it.
    for m, acts in ((above * (1 + 1e-6) + 1e-9, False), (above * (1 - 1e-6) - 1e-9, True)):
        assert (definition.rule(m, 40.0, m < 0.0, *more, p) != DOING_NOTHING[definition.order]) == acts
