"""The audit of the Adviceptron paper: what is true holds, what is printed wrongly has its counter-example."""

import numpy as np
import pytest

from olbench.papers.adviceptron2010 import audit
from olbench.papers.adviceptron2010.sets import Advice, AdviceSet
from olbench.papers.audit import checks
from tests.papers.adviceptron2010.problems import solve_6, solve_10

#: Statements that are right as they are printed.
RIGHT = {"equation-3", "update-1", "lemma-2", "lemma-4"}


def test_every_statement_comes_out_as_it_is_listed():
    found = {check.id: check.run(trials=30, seed=2010) for check in checks("adviceptron2010")}
    assert len(found) == 13
    assert [id for id, result in found.items() if not result.as_expected] == []
    assert {id for id, result in found.items() if result.printed.holds} == RIGHT


def test_theorem_1_fails_on_alternating_labels_by_hand():
    """x = 1, y = +1, -1, ..., D = d = 0: w settles at +-omega, omega = a / (1 + nu + a) with a = nu lam.

    With w* = u* = 0 the bound then asks for lam (1 + omega)^2 / (1 + nu lam) <= lam a round, up to the first
    rounds. That fails whenever a is small and nu < 1.
    """
    lam, mu, rounds = 0.2, 1.0, 400
    X, y = np.ones((rounds, 1)), np.where(np.arange(rounds) % 2 == 0, 1.0, -1.0)
    run = audit.make_run("adviceptron-printed", X, y, Advice((AdviceSet([[0.0]], [0.0], 1),), 1), lam, mu)
    a = run.nu * lam
    omega = a / (1 + run.nu + a)
    assert abs(run.w[-1, 0]) == pytest.approx(omega, rel=1e-9)
    left, (right, _) = audit.left_printed(run), audit.right_side(run, np.zeros(1), [np.zeros(1)])
    assert left > 1.003 * right
    per_round = lam * (1 + omega) ** 2 / (1 + a) + mu * omega**2 + mu
    assert left / rounds == pytest.approx(per_round, rel=1e-3)
    assert right / rounds == pytest.approx(lam + mu + mu * omega**2, rel=1e-3)
    assert audit.left_corrected(run) <= right


def test_the_steps_of_the_audit_are_the_optima_that_a_quadratic_solver_finds():
    rng = np.random.default_rng(5)
    for one in audit.draw_rounds(rng, 100):
        r = rng.normal(size=(2, one.w.size))
        w, _ = audit.w_step(one.w, one.x, one.y, r.mean(axis=0), 2, one.lam, one.mu)
        np.testing.assert_allclose(w, solve_6(one.w, one.x, one.y, list(r), one.lam, one.mu), atol=1e-8)
        for step, cone in ((audit.hinge_step(one), False), (audit.cone_solution(one), True)):
            np.testing.assert_allclose(step, solve_10(one.each, one.w, one.u, one.mu, cone), atol=1e-7)


def test_the_bound_is_vacuous_where_mu_delta_squared_is_one_or_more():
    """Then the left side of (18) is smaller than for the examples alone, however badly the advice is kept."""
    X, y = np.ones((5, 1)), np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    rule = AdviceSet([[3.0]], [3.0], 1)
    run = audit.make_run("adviceptron-printed", X, y, Advice((rule,), 1), 1.0, 1.0)
    losses = [audit.l_xi(w, x, label) ** 2 for w, x, label in zip(run.w, X, y, strict=False)]
    assert audit.left_printed(run) < sum(losses) / (1 + run.nu)
    assert all(audit.l_zeta(rule, u) > 0 for [u] in run.u)
