"""AdaGrad, FTRL, truncated gradient, FOBOS, RDA, ONS and Adam against the problems that define them."""

import numpy as np
import pytest

from olbench import make_algorithm, online_pass
from tests.cases import for_each
from tests.examples import noisy

N, D = 300, 6


@pytest.fixture(scope="module")
def data():
    X, y = noisy(n=N, d=D, density=0.6)
    X[::37] = 0.0
    return X, y


def hinge(m):
    return float(m < 1.0)


def logistic(m):
    return 1.0 / (1.0 + np.exp(m))


def play(data, slope, solve):
    """Return the margins and the last weights of a learner whose weights solve a problem in every round.

    `solve` gets the gradients of all rounds and the weights that they were taken at.
    """
    gradients, weights, margins = [], [np.zeros(D)], []
    for x, y in zip(*data, strict=True):
        margins.append(weights[-1] @ x)
        gradients.append(-slope(y * margins[-1]) * y * x)
        weights.append(solve(np.array(gradients), np.array(weights)))
    return np.array(margins), weights[-1]


def minimise(a, h, lam=0.0):
    """Return the w_j that minimise a_j w + h_j w^2 / 2 + lam |w|: the best of zero and both sides' roots."""
    h = np.broadcast_to(h, a.shape)
    found = np.zeros(a.size)
    for j in range(a.size):
        roots = (0.0, max(0.0, -(a[j] + lam) / h[j]), min(0.0, -(a[j] - lam) / h[j]))
        found[j] = min(roots, key=lambda w: a[j] * w + h[j] * w * w / 2.0 + lam * abs(w))
    return found


def solve_adagrad(gradients, weights, eta=0.3, delta=0.01):
    h = delta + np.sqrt((gradients**2).sum(axis=0))
    return minimise(eta * gradients[-1] - h * weights[-1], h)


def solve_adagrad_da(gradients, weights, eta=0.3, delta=0.01, lam=0.02):
    h = delta + np.sqrt((gradients**2).sum(axis=0))
    return minimise(gradients.mean(axis=0), h / (eta * len(gradients)), lam)


def solve_ftrl(gradients, weights, alpha=0.3, beta=0.7, l1=0.4, l2=0.2):
    roots = np.sqrt(np.cumsum(gradients**2, axis=0)) / alpha
    sigma = np.diff(roots, axis=0, prepend=0.0)
    h = sigma.sum(axis=0) + beta / alpha + l2
    return minimise(gradients.sum(axis=0) - (sigma * weights).sum(axis=0), h, l1)


def solve_fobos(gradients, weights, eta=0.3, lam=0.05):
    step = eta / np.sqrt(len(gradients))
    return minimise(step * gradients[-1] - weights[-1], 1.0, step * lam)


def solve_rda(gradients, weights, gamma=0.5, lam=0.05):
    return minimise(gradients.mean(axis=0), gamma / np.sqrt(len(gradients)), lam)


def solve_tg(gradients, weights, eta=0.2, gravity=0.05, K=7.0, theta=0.3):
    w = weights[-1] - eta * gradients[-1]
    if len(gradients) % K:
        return w
    pulled = np.sign(w) * np.maximum(0.0, np.abs(w) - K * eta * gravity)
    return np.where(np.abs(w) <= theta, pulled, w)


def solve_ons(gradients, weights, gamma=0.7):
    A = np.eye(weights.shape[1]) + gradients.T @ gradients
    return weights[-1] - np.linalg.solve(A, gradients[-1]) / gamma


def solve_adam(gradients, weights, alpha=0.05, beta1=0.8, beta2=0.95, epsilon=1e-3):
    """The means as sums over all rounds, for rows without zeros."""
    t = len(gradients)
    ages = np.arange(t)[::-1, None]
    first = (1 - beta1) * (beta1**ages * gradients).sum(axis=0) / (1 - beta1**t)
    second = (1 - beta2) * (beta2**ages * gradients**2).sum(axis=0) / (1 - beta2**t)
    return weights[-1] - alpha * first / (np.sqrt(second) + epsilon)


SOLVERS = {
    "adagrad": (hinge, solve_adagrad), "adagrad-da": (hinge, solve_adagrad_da),
    "ftrl": (logistic, solve_ftrl), "tg": (logistic, solve_tg), "fobos": (hinge, solve_fobos),
    "rda": (logistic, solve_rda), "ons": (logistic, solve_ons), "adam": (logistic, solve_adam),
}  # fmt: skip


def params_of(solve):
    names = solve.__code__.co_varnames[2 : solve.__code__.co_argcount]
    return dict(zip(names, solve.__defaults__, strict=True))


@for_each("id", SOLVERS)
def test_weights_solve_the_problem_of_every_round(data, id):
    slope, solve = SOLVERS[id]
    data = noisy(n=N, d=D) if id == "adam" else data
    margins, weights = play(data, slope, solve)
    found = online_pass(make_algorithm(id, **params_of(solve)), *data, keep="margins")
    np.testing.assert_allclose(found.margins, margins, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.weights, weights, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(found.weights == 0.0, weights == 0.0)


def test_adam_decays_its_means_on_rows_whose_slope_underflows():
    """Algorithm 1 takes a step in every round, also where 1 / (1 + exp(m)) is zero in doubles."""
    X, y = noisy(n=N, d=D)
    X[5::7] *= 1e4
    params = params_of(solve_adam)
    with np.errstate(over="ignore"):
        margins, weights = play((X, y), logistic, solve_adam)
    assert (y * margins > 750.0).any()
    found = online_pass("adam", X, y, keep="margins", **params)
    np.testing.assert_allclose(found.margins, margins, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.weights, weights, rtol=1e-8, atol=1e-10)
    assert found.updates == found.effective_updates == N


def test_fobos_leaves_zeros_where_the_penalty_cancels_a_step():
    """With lam = 1 and entries of one, every step is undone in its round."""
    X = (np.random.default_rng(0).random((N, D)) < 0.4).astype(float)
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    found = online_pass("fobos", X, y, eta=0.1, lam=1.0, keep="margins")
    assert not found.weights.any()
    assert not found.margins.any()


FTRL = {"alpha": 0.3, "beta": 0.7, "l1": 0.4, "l2": 0.2}


def test_ftrl_is_vowpal_wabbits(data):
    """Vowpal Wabbit computes in single precision; without its constant feature it agrees to that."""
    pyvw = pytest.importorskip("vowpalwabbit.pyvw", reason="Vowpal Wabbit is not installed")
    options = (
        "--ftrl --ftrl_alpha 0.3 --ftrl_beta 0.7 --l1 0.4 --l2 0.2 --loss_function logistic --noconstant"
    )
    workspace = pyvw.Workspace(f"{options} --quiet -b 10")
    found = online_pass("ftrl", *data, **FTRL, keep="margins")
    for x, label, margin in zip(*data, found.margins, strict=True):
        entries = " ".join(f"{j}:{float(x[j])!r}" for j in np.flatnonzero(x))
        example = workspace.example(f"{int(label)} | {entries}")
        workspace.learn(example)
        assert example.get_simplelabel_prediction() == pytest.approx(margin, rel=1e-4, abs=1e-5)
        workspace.finish_example(example)
    weights = [workspace.get_weight(j) for j in range(D)]
    np.testing.assert_allclose(weights, found.weights, rtol=1e-4, atol=1e-5)
    assert [each == 0.0 for each in weights] == (found.weights == 0.0).tolist()


def test_ftrl_and_adam_are_rivers_but_for_weights_that_lag_and_for_epsilon(data):
    """FTRL is up to date after a step with a gradient of zero; Adam's epsilon is next to nothing here."""
    optim = pytest.importorskip("river.optim", reason="River is not installed")
    from river.linear_model import LogisticRegression

    adam = LogisticRegression(optim.Adam(0.05, 0.8, 0.95, 1e-300), intercept_lr=0.0)
    ftrl, margins = optim.FTRLProximal(**FTRL), []
    for x, label in zip(*data, strict=True):
        row = {int(j): float(x[j]) for j in np.flatnonzero(x)}
        adam.learn_one(row, bool(label > 0))
        w = ftrl.step(dict.fromkeys(row, 0.0), dict.fromkeys(row, 0.0))
        margins.append(sum(w[j] * row[j] for j in row))
        slope = -label * logistic(label * margins[-1])
        ftrl.step(w, {j: slope * row[j] for j in row})
    found = online_pass("ftrl", *data, **FTRL, keep="margins")
    np.testing.assert_allclose(found.margins, margins, rtol=1e-9, atol=1e-12)
    ours = online_pass("adam", *data, alpha=0.05, beta1=0.8, beta2=0.95, epsilon=1e-300).weights
    np.testing.assert_allclose([adam.weights[j] for j in range(D)], ours, rtol=1e-9)
