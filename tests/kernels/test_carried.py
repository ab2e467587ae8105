"""Quantities carried from round to round stay within the bounds stated where they are declared.

Each test recomputes the carried quantity from the state or from the examples, in long double.
"""

import numpy as np
import pytest

from olbench import make_algorithm
from olbench.kernels.counters import BLOCK
from olbench.kernels.covariance import largest_variance
from olbench.learners.examples import as_examples
from olbench.learners.start import start
from tests.cases import for_each
from tests.examples import noisy

L = np.longdouble
EPSILON = 2.0**-52
SLICE = 500


def coin(n, d, density=1.0, seed=0):
    """Return examples with random labels, on which the weights of ROMMA grow without end."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    return X, np.where(rng.random(n) < 0.5, 1.0, -1.0)


def in_slices(learner, X, y, size=SLICE):
    rows = as_examples(X).rows()
    for begin in range(0, len(y), size):
        learner.run(rows, y, np.arange(begin, min(begin + size, len(y))))
        yield learner


@for_each("id", ["romma", "aromma", "alma"])
@for_each(("d", "density"), [(2, 1.0), (22, 1.0), (22, 0.4), (150, 1.0), (1000, 0.02)])
def test_the_squared_norm_is_that_of_the_weights(id, d, density):
    learner = start(make_algorithm(id), d)
    for _ in in_slices(learner, *coin(5000, d, density)):
        exact = np.sum(learner.w.astype(L) ** 2)
        assert abs(learner.scalars[1] - exact) <= (BLOCK + d / BLOCK) * 2.0**-53 * exact


FORMS = {
    "covariance": (9, {"form": "covariance"}),
    "blocked": (131, {"form": "covariance"}),
    "root": (9, {"form": "root"}),
    "diagonal": (9, {"covariance": "diag"}),
    "dual": (9, {"kernel": "linear"}),
}


@for_each("form", FORMS)
def test_every_form_carries_the_covariance_of_the_updates_it_made(form):
    """Sigma^-1 = I / a + sum of c x x' over the updates (c = 1 / r for AROW); diagonal: of c x_j^2."""
    d, options = FORMS[form]
    a, r, n = 2.0, 0.5, 1200
    X, y = noisy(n=n, d=d, seed=4)
    learner = start(make_algorithm("arow", r=r, a=a, **options), d)
    precision, changes = np.eye(d, dtype=L) / a, 0
    for t, _ in enumerate(in_slices(learner, X, y, size=1)):
        if learner.effective_updates > changes:
            changes = learner.effective_updates
            x = X[t].astype(L)
            precision += (np.diag(x * x) if form == "diagonal" else np.outer(x, x)) / L(r)
    assert changes > n / 4
    sigma = np.diag(learner.covariance) if form == "diagonal" else learner.covariance
    # Multiplying by the precision magnifies the error of Sigma by at most the precision's size.
    error = np.abs(sigma @ precision - np.eye(d)).max()
    relative = form in ("root", "diagonal")
    largest = 1.0 if relative else a
    assert error <= changes * EPSILON * largest * float(np.abs(precision).sum(axis=0).max()) * d


@pytest.mark.parametrize("form", ["covariance", "blocked"])
@pytest.mark.parametrize("id", ["scw1", "arow"])
def test_the_screening_bounds_are_above_sigma(form, id):
    d, options = FORMS[form]
    X, y = noisy(n=4000, d=d, noise=0.05, seed=5)
    learner = start(make_algorithm(id, **options), d)
    for _ in in_slices(learner, X, y, size=97):
        sigma = learner.covariance
        assert np.linalg.eigvalsh(sigma)[-1] <= learner.bound[0]
        if learner.bound[1] < np.inf:
            rest = sigma - np.outer(learner.axis, learner.axis)
            assert np.linalg.eigvalsh(rest)[-1] <= learner.bound[1]
        # Both meet along the axis, where the outer product is largest.
        x = learner.axis
        limit = largest_variance(x, learner.bound, x @ x, np.arange(d, dtype=np.uint32), 0, x, 0, d)
        assert x @ sigma @ x <= limit
    # Only an adaptive margin makes tighter bounds worth their cost.
    assert (learner.bound[0] < 1.0) == (id == "scw1")
    assert (learner.bound[1] < np.inf) == ((id, form) == ("scw1", "covariance"))


@pytest.mark.parametrize("id", ["cw", "cw-var", "scw1"])
def test_the_bounds_of_the_root_are_above_it(id):
    """Row lengths and the largest singular value only shrink; both are renewed once in d changes."""
    X, y = noisy(n=4000, d=9, noise=0.3, seed=6)
    learner = start(make_algorithm(id, form="root", eta=0.95), 9)
    for _ in in_slices(learner, X, y, size=13):
        assert (np.linalg.norm(learner.root, axis=1) <= learner.reach * (1 + 1e-12)).all()
        assert np.linalg.norm(learner.root, 2) <= learner.bound[0]
