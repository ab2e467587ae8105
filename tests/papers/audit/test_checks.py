"""No check passes by accident: bending the right form of a statement a little must make its check fail.

Where no function is listed, the check refutes the printed form on instances that confirm the corrected one.
"""

import math

import pytest

from olbench.papers.adviceptron2010 import audit as adviceptron2010
from olbench.papers.audit import checks, runs
from olbench.papers.cw2008 import audit as cw2008
from olbench.papers.cw2012 import audit as cw2012
from olbench.papers.scw2012 import audit as scw2012
from tests.cases import for_each

MODULES = {
    "adviceptron2010": adviceptron2010, "cw2008": cw2008, "cw2012": cw2012, "scw2012": scw2012,
}  # fmt: skip


def examine(paper, id, name, mutate):
    module = MODULES[paper] if hasattr(MODULES[paper], name) else runs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, mutate(getattr(module, name)))
        return checks(paper, id)[0].run(trials=FEW.get(id, 1))


def times(factor):
    """Return a mutation that scales what a function returns."""
    return lambda right: lambda *args: right(*args) * factor


def step_times(factor, place=0):
    """Return a mutation that scales one of the values that a function returns."""

    def mutate(right):
        def bent(*args):
            values = list(right(*args))
            values[place] = values[place] * factor
            return tuple(values)

        return bent

    return mutate


def deviation_quadratic(m, v, phi):
    """The quadratic of the deviation form, whose smaller root is not always negative."""
    return [v * v * (1 + phi * phi), 2 * m * v * (1 + phi * phi / 2), m * m - v * phi * phi]


def falling(right):
    """Return a class of steps whose g falls where it should rise."""
    return type("Falling", (right,), {"g": lambda self, alpha: -right.g(self, alpha)})


def accept_everything(right):
    return lambda run: runs.Comparator(run.means[-1], run.covariances[-1], 1.0)


#: How many trials a check needs to notice its error, where one is not enough.
FEW = {"equation-3": 10, "lemma-1.2": 2, "lemma-2": 10, "section-4-prediction": 3, "theorem-1-mistakes": 2}
#: (paper, check, function that says what is true, how it is bent)
MUTATIONS = [
    ("cw2008", "equation-13", "root_14", times(1.001)),
    ("cw2008", "equation-14", "root_14", times(1.001)),
    ("cw2008", "eta-half", "_rule_step", lambda right: lambda *args: (right(*args)[0], 0.0, 0.0)),
    ("cw2008", "equation-20", "derived_form", step_times(1.001)),
    ("cw2008", "equation-21", "derived_form", step_times(1.001, 3)),
    ("cw2008", "theorem-2", "derived_form", step_times(1.001, 2)),
    ("cw2008", "lemma-3", "LEARNER", lambda right: "cw-var"),
    ("cw2008", "lemma-5-1", "confidence_loss", lambda right: lambda x, phi: right(x, phi) + phi / 10**9),
    ("cw2008", "lemma-5-2", "confidence_loss", lambda right: lambda x, phi: right(x, phi).sqrt().sqrt()),
    ("cw2008", "lemma-5-3", "confidence_loss", lambda right: lambda x, phi: right(x, phi) * 99 / 100),
    ("cw2008", "lemma-5-4", "confidence_loss", lambda right: lambda x, phi: right(x, phi) * 1001 / 1000),
    ("cw2008", "lemma-5-6", "factor_6", times(1.001)),
    ("cw2008", "figure-4", "confidence_loss", lambda right: lambda x, phi: right(x, phi) * phi * phi),
    ("cw2008", "lemma-6", "nearest_point", times(1.001)),
    ("cw2008", "lemma-7", "factor_6", times(0.3)),
    ("cw2008", "chain-18", "least_margin", times(1.001)),
    ("cw2008", "unit-margin", "nearest_point", times(0.3)),
    ("cw2008", "theorem-4-noise", "tightest_comparator", accept_everything),
    ("cw2008", "fixed-alpha", "fixed_gain", times(1.001)),
    ("cw2012", "section-4-prediction", "expected_sign", times(-1.0)),
    ("cw2012", "section-4-prediction", "expected_sign", times(0.8)),
    ("cw2012", "constraint-9", "deviation_term", lambda right: lambda sigma, x: right(sigma, x) ** 2),
    ("cw2012", "section-5.1-smaller-root", "variance_quadratic", lambda right: deviation_quadratic),
    ("cw2012", "section-5-normal", "normal_density", lambda right: lambda v: math.exp(-v * v / 2.001)),
    ("cw2012", "lemma-1", "variance_step", step_times(1.001)),
    ("cw2012", "lemma-2", "larger_root", times(1.001)),
    ("cw2012", "footnote-6", "larger_root", times(1.001)),
    ("cw2012", "section-6.1-l2", "l2_projection", times(1.001)),
    ("cw2012", "section-6.1-kl", "kl_projection", times(1.001)),
    ("cw2012", "equation-33", "exact_variances", step_times(1.001)),
    ("cw2012", "equation-34", "exact_variances", step_times(1.001)),
    ("cw2012", "bracket-33", "printed_upper", times(0.3)),
    ("cw2012", "bracket-34", "upper", times(0.95)),
    ("cw2012", "section-7.10-kl", "combined_mean", lambda right: lambda *args: right(*args) + 0.001),
    ("scw2012", "equation-3", "first_step", times(1.001)),
    ("scw2012", "proposition-1", "first_step", times(1.001)),
    ("scw2012", "proposition-2", "second_step", times(1.001)),
    ("scw2012", "proposition-2-libol", "scalar_step", lambda right: lambda *at: step_times(1.01)(right(*at))),
    ("scw2012", "lemma-1", "derived_form", step_times(1.001)),
    ("scw2012", "lemma-1", "derived_form", step_times(1.001, 2)),
    ("scw2012", "lemma-1", "derived_form", step_times(1.001, 3)),
    ("scw2012", "theorem-1", "factor_6", times(1.001)),
    ("scw2012", "theorem-1-bound", "clipping_term", times(0.2)),
    ("scw2012", "theorem-1-mistakes", "factor_6", times(0.05)),
    ("cw2012", "lemma-3", "Diagonal", falling),
    ("adviceptron2010", "equation-3", "has_certificate", lambda right: lambda e, w, b: right(e, -w, b)),
    ("adviceptron2010", "update-1", "w_step", step_times(1.001)),
    ("adviceptron2010", "equation-7-beta", "w_step", step_times(1.001)),
    ("adviceptron2010", "update-2", "hinge_step", times(1.001)),
    ("adviceptron2010", "truncation", "cone_solution", times(1.001)),
    ("adviceptron2010", "lemma-1.1", "hinge_step", times(1.001)),
    ("adviceptron2010", "lemma-1.2", "spread", times(0.5)),
    ("adviceptron2010", "lemma-2", "w_step", step_times(1.01)),
    ("adviceptron2010", "lemma-3", "spread", times(0.1)),
    ("adviceptron2010", "lemma-4", "l_eta", times(1.001)),
    ("adviceptron2010", "theorem-1", "left_corrected", times(1.1)),
]


@for_each(("paper", "id", "name", "mutate"), MUTATIONS)
def test_a_bent_form_is_noticed(paper, id, name, mutate):
    result = examine(paper, id, name, mutate)
    finding = result.corrected or result.printed
    assert not finding.holds
    assert finding.violations > 0
    assert not result.as_expected


@for_each(
    ("paper", "id", "name", "right"),
    [
        ("cw2008", "equation-13", "root_13", cw2008.root_14),
        ("cw2008", "equation-20", "printed_20", runs.derived_form),
        ("cw2008", "equation-21", "printed_21", runs.derived_form),
        ("cw2012", "bracket-34", "printed_upper", cw2012.upper),
        ("scw2012", "lemma-1", "printed_lemma_1", runs.derived_form),
    ],
)
def test_a_wrong_statement_must_be_shown_to_be_wrong(paper, id, name, right):
    result = examine(paper, id, name, lambda _: right)
    assert result.printed.holds
    assert not result.as_expected
