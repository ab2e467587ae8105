"""Planted defects are named, correct implementations are not accused, and what is unknown is located."""

import inspect

import numpy as np

from olbench import conform
from olbench.algorithms import get_definition
from olbench.conformance.search import find_others
from tests.algorithms.test_adaptive import SOLVERS, params_of
from tests.cases import for_each
from tests.conformance.correct import CORRECT
from tests.conformance.planted import PLANTED, SOFT, UNKNOWN, diagonal_variance, learn_twice, retype
from tests.conformance.textbook import AROW, PA1, SCW1, Learner
from tests.refusals import refusal


def build(subject, params):
    """Return a factory: most classes here take the number of features and the parameters."""
    takes = list(inspect.signature(subject).parameters)
    is_plain = takes[:1] == ["d"] and subject.__name__ != "<lambda>"
    return (lambda d: subject(d, **params)) if is_plain else subject


@for_each(("id", "params", "subject", "names"), PLANTED)
def test_a_planted_defect_is_named(id, params, subject, names):
    verdict = conform(build(subject, params), id, **params)
    assert not verdict.conforms
    assert verdict.outcome in ("convention", "variant", "defect")
    assert (set(verdict.deviations) or {verdict.order}) == names
    assert verdict.example is not None
    assert len(verdict.example.input.y) <= 8


@for_each(("id", "params", "subject", "places"), UNKNOWN)
def test_a_defect_that_the_catalogue_does_not_know_is_located(id, params, subject, places):
    verdict = conform(build(subject, params), id, **params)
    assert (verdict.outcome, verdict.deviations) == ("differs", ())
    assert verdict.place in places


@for_each(("id", "params", "subject"), CORRECT)
def test_a_correct_implementation_is_not_accused(id, params, subject):
    verdict = conform(build(subject, params), id, **params)
    assert verdict.conforms, str(verdict)
    assert verdict.agreement.rounds >= 100


class Solver(Learner):
    """Weights that solve the problem of every round, given the gradients of all rounds."""

    def __init__(self, d, slope, solve):
        super().__init__(d)
        self.slope, self.solve, self.gradients, self.weights = slope, solve, [], [self.w]

    def learn(self, x, y):
        self.gradients.append(-self.slope(y * (self.w @ x)) * y * x)
        self.w = self.solve(np.array(self.gradients), np.array(self.weights))
        self.weights.append(self.w)


class SparseAdam(Learner):
    def learn(self, x, y):
        first, second = self.__dict__.setdefault("means", np.zeros((2, x.size)))
        on, g = x != 0, -y * x / (1 + np.exp(y * (self.w @ x)))
        first[on] += (1 - self.beta1) * (g - first)[on]
        second[on] += (1 - self.beta2) * (g * g - second)[on]
        root = np.sqrt(second / (1 - self.beta2**self.t)) + self.epsilon
        self.w = self.w - on * self.alpha * first / (1 - self.beta1**self.t) / root


@for_each("id", SOLVERS)
def test_a_solver_of_the_problem_of_every_round_conforms_and_a_wrong_parameter_is_named(id):
    slope, solve = SOLVERS[id]
    params = params_of(solve)
    make = (lambda d: SparseAdam(d, **params)) if id == "adam" else (lambda d: Solver(d, slope, solve))
    assert conform(make, id, **params).conforms
    if "lam" in params:
        doubled = {**params, "lam": params["lam"] / 2}
        assert conform(make, id, **doubled).deviations == ("lam-doubled",)


def test_what_cannot_be_told_apart_is_said():
    """To learn an example twice with AROW is to learn it once with r / 2."""
    verdict = conform(lambda d: learn_twice(AROW)(d, r=0.7), "arow", r=0.7)
    assert verdict.deviations == ("r-halved",)
    assert [each.id for each in verdict.alternatives] == ["double-update"]
    assert "it learns every example twice" in str(verdict)
    assert "whether it uses 1 / r" in str(conform(AROW, "arow", r=1.0))
    assert "whether" not in str(conform(AROW, "arow", r=0.7))


def test_a_convention_that_is_meant_to_be_can_be_allowed():
    def inverted(d):
        return AROW(d, r=1 / 0.7)

    assert not conform(inverted, "arow", r=0.7).conforms
    assert conform(inverted, "arow", r=0.7, allow=["r-inverted"]).conforms
    assert not conform(inverted, "arow", r=0.7, allow=["bias-feature"]).conforms
    assert "did you mean 'r-inverted'" in refusal(conform, inverted, "arow", r=0.7, allow=["r-invert"])


def test_another_algorithm_is_recognised_but_never_one_of_several_classes():
    verdict = conform(lambda d: SCW1(d, **SOFT), "scw2", **SOFT)
    assert (verdict.outcome, verdict.deviations) == ("variant", ("scw1",))
    assert "it is scw1 (scw2012, eq. (4) and Proposition 1)" in str(verdict)
    assert not any(each.definition.only_native for each in find_others(get_definition("arow"), {"r": 1.0}))


def test_the_smallest_example_is_shown_with_both_values_and_the_formula():
    text = str(conform(lambda d: retype(AROW, variance=diagonal_variance)(d, r=1.0), "arow", r=1.0))
    assert "it takes v from the diagonal of Sigma" in text
    assert "alpha = l / (v + r) (Crammer, Kulesza & Dredze, NIPS 2009" in text
    [steps] = [line.split() for line in text.splitlines() if line.startswith("    step")][1:]
    assert steps[1] != steps[2]
    assert text.count("round 2: x = ") == 1
    assert "round 3: " not in text


def test_a_factory_gets_the_parameters_that_it_names():
    class Named(PA1):
        def __init__(self, d, C=77.0):
            super().__init__(d, C=C)

    assert conform(Named, "pa1", C=0.4).conforms
    assert "unknown parameter 'c'" in refusal(conform, Named, "pa1", c=0.4)
    assert "no rule of first or second order" in refusal(conform, Named, "adviceptron")
