"""A breakdown has a reason, and its warning is shown at every width."""

import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from olbench import first_order, make_algorithm, online_pass, second_order
from olbench.learners.breakdowns import find_breakdown
from olbench.learners.schedules import make_schedule
from tests.cases import for_each
from tests.kernels.test_rounds import defined
from tests.refusals import refusal

ROWS = np.array([[1.0, 0.5], [0.5, 1.0], [1.0, 1.0], [2.0, 1.0]] * 10)
LABELS = np.array([1, -1, 1, -1] * 10)
BACKWARDS = np.arange(39, -1, -1)


def spoil(value=1e300):
    X = ROWS.copy()
    X[25] = value, 0.0
    return X


@for_each("id", ["pa", "arow", "cw", "sop"])
@for_each(("value", "verdict"), [(1e300, "not finite"), (1e-300, "zero")])
def test_a_value_whose_square_is_not_a_number_is_named(id, value, verdict):
    found = find_breakdown(id, spoil(value), LABELS, BACKWARDS)
    assert (found.round, found.row) == (15, 25)
    assert found.reason == f"the square of its largest value, {value:g}, is {verdict}; scale the data"


def test_an_order_may_be_a_list_and_is_checked():
    assert find_breakdown("arow", spoil(), LABELS, BACKWARDS.tolist()).round == 15
    assert "order names row 40" in refusal(find_breakdown, "arow", spoil(), LABELS, [40])


def test_a_covariance_that_is_lost_in_rounding_is_named():
    assert find_breakdown("arow", ROWS, LABELS) is None
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 1)) + 1e-3 * rng.normal(size=(2000, 3))
    y = np.where(rng.random(2000) < 0.5, 1.0, -1.0)
    arow = make_algorithm("arow", r=1e-18)
    found = find_breakdown(arow, X, y)
    assert found.reason.startswith("the variance v = x' Sigma x is -")
    assert found.reason.endswith("which is not positive: Sigma is lost in rounding errors")
    assert online_pass(arow, X, y, np.arange(found.round - 1)).breakdowns == 0
    assert online_pass(arow, X, y, np.arange(found.round)).breakdowns == 1


def test_rows_that_repeat_break_down_with_a_kernel():
    """In its feature space, where there are no weights, only rounding is left of the variance."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4, 2))[rng.integers(0, 4, 400)], np.where(rng.random(400) < 0.5, 1.0, -1.0)
    found = find_breakdown(make_algorithm("cw", kernel="rbf", eta=0.95), X, y)
    assert found.reason.endswith("which is not above its rounding error")


@for_each("settings", [{}, {"covariance": "diag"}, {"covariance": "diag", "forgetting": 0.9}])
def test_a_late_label_breaks_down_when_it_is_learnt(settings):
    found = find_breakdown(
        make_algorithm("arow", **settings), spoil(), LABELS, make_schedule(np.arange(40) + 6)
    )
    assert (found.round, found.row) == (31, 25)
    assert "1e+300" in found.reason


@for_each(
    ("id", "settings"),
    [("arow", {}), ("arow", {"covariance": "diag"}), ("pa1", {}), ("scw1", {"multiclass": "native"}),
     ("arow", {"multiclass": "native", "covariance": "diag"}), ("pa1", {"multiclass": "native"})],
)  # fmt: skip
def test_a_learner_of_several_classes_names_the_row_where_it_breaks_down(id, settings):
    algorithm = make_algorithm(id, **settings)
    found = find_breakdown(algorithm, spoil(), np.arange(40) % 3, BACKWARDS, labels="all")
    assert (found.round, found.row) == (15, 25)


def late(m, v, mistake, t, p):
    return 1.0, 0.1, 0.5 if t < 200 else -0.25


@pytest.mark.parametrize("covariance", ["full", "diag"])
def test_a_step_of_the_rule_is_named(covariance):
    """The probe of a rule does not see late rounds."""
    X, y = np.tile(ROWS, (10, 1)), np.tile(LABELS, 10)
    with defined(second_order("late"), late) as id:
        found = find_breakdown(make_algorithm(id, covariance=covariance), X, y)
    assert found.round == 200
    assert found.reason.startswith("the rule returns c = -0.25 at m = ")


def undefined(m, v, mistake, t, p):
    return math.log(200.5 - t), 0.0, 0.0


def undefined_first(m, s, mistake, q, t, k, p):
    return math.log(200.5 - t), 1.0, 0.0


def test_a_loss_that_is_nan_is_named():
    """It looked like a round without a loss."""
    X, y = np.tile(ROWS, (10, 1)), np.tile(LABELS, 10)
    with (
        defined(second_order("undefined"), undefined),
        defined(first_order("undefined_first"), undefined_first),
    ):
        for id, options in ("undefined_first", {}), ("undefined", {}), ("undefined", {"covariance": "diag"}):
            algorithm = make_algorithm(id, **options)
            result, found = online_pass(algorithm, X, y), find_breakdown(algorithm, X, y)
            assert (result.updates, result.breakdowns, found.round) == (199, 200, 201)
            assert found.reason.startswith("the rule returns the loss nan at ")


BROKEN = """\
permutations: 2
curve: 2
datasets: [{name: wide, path: wide.libsvm}]
algorithms: [{id: arow, params: {r: 1.0}}, {id: pa1, params: {C: 1.0}}]
"""


@pytest.fixture
def broken(own_folder, here):
    """A run with a value of 1e300 in its data."""
    lines = [f"{1 if row % 3 else -1} 1:{row % 7} 2:{row % 5}" for row in range(60)]
    lines[40] = "1 1:1e300"
    Path("wide.libsvm").write_text("\n".join(lines) + "\n")
    Path("wide.yaml").write_text(BROKEN)
    return here


def test_a_warning_is_shown_at_every_width_and_its_command_says_why(broken, monkeypatch):
    for width in ("60", "80", "200"):
        monkeypatch.setenv("COLUMNS", width)
        out = " ".join(broken.out("run", "wide.yaml", "--out", width).split())
        assert "arow !" in out
        assert "! Numerical breakdowns on wide: arow in 2 of 2, " in out
        for words in (("--full",), (), ("--format", "latex"), ("--format", "md")):
            text = " ".join(broken.out("report", width, *words).split())
            assert "breakdowns on wide: arow in 2 of 2" in text.lower(), words
            assert "arow !" in text.lower()
    texts = [out, " ".join(broken.out("report", width, "--full").split())]
    [key] = {re.search(r"verify RUN --trial (\w+)`", text)[1] for text in texts}
    out = broken.out("verify", width, "--trial", key)
    assert "on row 40: the square of its largest value, 1e+300, is not finite; scale the data\n" in out


def test_a_stream_warns_too(broken):
    command = [sys.executable, "-m", "olbench", "run", "-", "--algorithms", "arow", "--covariance", "diag"]
    done = subprocess.run(command, input=Path("wide.libsvm").read_text(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "breakdown" in done.stdout
