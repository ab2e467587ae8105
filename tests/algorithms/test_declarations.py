"""What algorithms declare besides their rules: grids and defaults of the papers, traits, empty rounds."""

import dataclasses
import math

import numpy as np
import pytest

from olbench.algorithms import definitions, get_definition
from olbench.algorithms.probing import PASSIVE as DOING_NOTHING
from tests.cases import for_each
from tests.examples import built_in

ONLINE = [definition for definition in built_in() if definition.order in ("first", "second")]
SECOND = [definition for definition in ONLINE if definition.order == "second"]
PARAMETERS = [
    (definition.id, parameter)
    for definition in definitions()
    if definition.module.startswith("olbench.")
    for parameter in definition.parameters
    if not parameter.choices
]
every_parameter = for_each(("id", "parameter"), PARAMETERS)


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
    found = {id: get_definition(id).resolve({}) for id in LIBOL}
    assert found == LIBOL


LIBOL = {
    "cw": {"eta": 0.7}, "arow": {"r": 1.0}, "narow": {"b": 1.0}, "nherd": {"C": 1.0},
    "scw1": {"C": 1.0, "eta": 0.75}, "scw2": {"C": 1.0, "eta": 0.9}, "iellip": {"b": 0.9, "c": 0.1},
    "alma": {"alpha": 0.9, "C": math.sqrt(2)},
}  # fmt: skip


def test_the_adviceptron_has_the_traits_of_pa2():
    """A large margin with slack, and no covariance."""
    for id in ("adviceptron", "adviceptron-printed", "adviceptron-exact"):
        traits = [dataclasses.astuple(get_definition(each).traits)[:4] for each in (id, "pa2")]
        assert traits[0] == traits[1]
        assert get_definition(id).grid.keys() == {"lam", "mu"}


@every_parameter
def test_a_grid_has_equal_steps_or_equal_ratios_and_reaches_to_both_sides_of_the_default(id, parameter):
    grid = np.array(parameter.grid)
    if grid.size == 0 or parameter.name == "phi":  # cw2012 searches 0.001, then 1 and 3 times powers of ten
        return
    steps, ratios = np.diff(grid), grid[1:] / grid[:-1]
    assert np.allclose(steps, steps[0], rtol=1e-9) or np.allclose(ratios, ratios[0], rtol=1e-9)
    assert grid[0] <= parameter.default <= grid[-1]
    assert np.isclose(grid, parameter.default, rtol=1e-12).any()


@every_parameter
def test_a_number_beyond_the_bounds_of_a_parameter_is_refused(id, parameter):
    with pytest.raises(ValueError, match=f"{id}: {parameter.name} must lie in"):
        parameter.check(np.nextafter(parameter.low, -math.inf), id)
    if parameter.high < math.inf:
        with pytest.raises(ValueError, match=f"{id}: {parameter.name} must lie in"):
            parameter.check(np.nextafter(parameter.high, math.inf), id)


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


def test_only_hard_constraints_need_separable_examples():
    hard = {definition.id for definition in ONLINE if not definition.traits.non_separable}
    assert hard == {"cw", "cw-var", "romma", "aromma", "alma"}


@for_each("id", ["cw", "cw-var", "scw1", "scw2", "scw2-libol", "iellip"])
@for_each("m", [-3.0, -1e-300, 0.0, 2.0])
def test_without_variance_a_step_in_units_of_the_deviation_is_none(id, m):
    """A row of zeros, or one whose variance broke down, has no direction to move in."""
    definition = get_definition(id)
    p = definition.rule_constants(definition.resolve({}))
    assert definition.rule(m, 0.0, m < 0.0, 1, p) == (max(0.0, -m) if id != "iellip" else m < 0.0, 0.0, 0.0)


@for_each("id", ["perceptron", "averaged-perceptron", "romma", "sop", "sop-libol", "iellip"])
def test_learners_without_a_margin_lose_one_with_each_mistake(id):
    definition = get_definition(id)
    p = definition.rule_constants(definition.resolve({}))
    more = (1,) if definition.order == "second" else (1.0, 1, 0)
    assert definition.rule(-0.3, 1.0, True, *more, p)[0] == 1.0
    assert definition.rule(0.3, 1.0, False, *more, p)[0] == 0.0


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


def test_the_docstring_of_a_rule_is_the_description_of_its_algorithm():
    """`olbench algorithms ID` shows it."""
    assert get_definition("perceptron").doc == "Add y x on every mistake."
    assert all(definition.doc for definition in definitions() if definition.module.startswith("olbench."))
