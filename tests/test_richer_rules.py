"""Rules that see the label, keep numbers of their own and let Sigma forget."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import olbench
from olbench import UserError, load_plugin, make_algorithm, online_pass, second_order
from olbench.algorithms import get_definition
from olbench.algorithms.definition import REGISTRY
from olbench.learners.breakdowns import find_breakdown
from olbench.learners.schedules import make_schedule
from olbench.learners.start import count_state_bytes, start
from tests.cases import for_each

PLUGIN = Path(__file__).parent.parent / "docs/examples/my_richer_rules.py"
N, D = 400, 7
DIAGONAL, FULL = {"covariance": "diag"}, {"covariance": "full"}
FORMS = pytest.mark.parametrize("form", [FULL, DIAGONAL], ids=["full", "diag"])


@pytest.fixture(scope="module", autouse=True)
def loaded():
    load_plugin(PLUGIN)
    yield
    for id in [id for id in REGISTRY if id.startswith("test-")]:
        del REGISTRY[id]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.7)
    X[::41] = 0.0
    w = np.where(np.arange(N) < N // 2, 1.0, -1.0)[:, None] * np.arange(1, D + 1)
    return X, np.where((X * w).sum(axis=1) + 2.0 * rng.standard_normal(N) >= 1.5, 1.0, -1.0)


@pytest.mark.parametrize("form", [FULL, DIAGONAL, {**DIAGONAL, "projection": "l2"}], ids=["full", "kl", "l2"])
def test_a_rule_that_ignores_what_it_may_see_is_arow_to_the_bit(data, form):
    X, y = data
    root = {"form": "root"} if form == FULL else {}
    same = {"weighted-arow": {"weight": 1.0}, "drifting-arow": {"memory": 1.0}}
    arow = online_pass("arow", X, y, r=0.5, a=2.0, **form, **root, keep="variances")
    for id, params in same.items():
        found = online_pass(id, X, y, r=0.5, a=2.0, **form, **params, keep="variances")
        assert found.margins.tobytes() == arow.margins.tobytes()
        assert found.variances.tobytes() == arow.variances.tobytes()
        np.testing.assert_array_equal(found.learner.covariance, arow.learner.covariance)
        np.testing.assert_array_equal(found.learner.counters, arow.learner.counters)
    plain = online_pass("arow", X, y, r=0.5, a=2.0, **form)
    assert (found.mistakes, found.updates) == (plain.mistakes, plain.updates)


@FORMS
@pytest.mark.parametrize("f", [0.9, 0.99])
def test_a_constant_decay_is_the_built_in_forgetting_to_the_bit(data, form, f):
    X, y = data
    built_in = online_pass("arow", X, y, forgetting=f, a=3.0, **form, keep="variances")
    found = online_pass("drifting-arow", X, y, memory=f, usual=0.0, a=3.0, **form, keep="variances")
    assert found.margins.tobytes() == built_in.margins.tobytes()
    assert found.variances.tobytes() == built_in.variances.tobytes()
    np.testing.assert_array_equal(found.learner.covariance, built_in.learner.covariance)


@FORMS
def test_a_long_stream_neither_over_nor_underflows(rng, form):
    @second_order("test-forgetful", state=(0.0,))
    def forgetful(m, v, y, mistake, t, p, s):
        """Forget much in every round, and nearly all in some."""
        s[0] = 0.5 if t % 7 else 1e-300
        return 1.0, 0.1 / (1.0 + v), 1.0, s[0]

    X = rng.standard_normal((20_000, 3)) * [1.0, 1.0, 0.0]
    X[0, 2] = 1.0  # seen once, then forgotten up to its start
    y = np.where(rng.random(20_000) < 0.5, 1.0, -1.0)
    learner = online_pass("test-forgetful", X, y, a=3.0, **form).learner
    variances = learner.covariance if form == DIAGONAL else np.diag(learner.covariance)
    assert learner.breakdowns == 0
    assert np.isfinite(learner.weights).all()
    assert (variances[:2] < 3.0).all()
    assert variances[2] == pytest.approx(3.0, rel=1e-9)


@FORMS
def test_a_rule_decides_in_which_rounds_it_forgets(data, form):
    """A Gaussian written down as it is defined asks the same rule in plain Python."""
    X, y = data
    rule, p, s = get_definition("drifting-arow").rule, np.array([1.0, 0.9, 0.4]), np.zeros(1)
    mu, sigma, decay, margins, decays = np.zeros(D), np.eye(D), 1.0, [], []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        growth = np.sqrt(np.minimum(1.0 / decay, 1.0 / np.diag(sigma)))
        sigma = sigma * np.outer(growth, growth)
        f, z = mu @ x, sigma @ x
        _, alpha, c, decay = rule(label * f, x @ z, label, (f >= 0.0) != (label > 0.0), t, p, s)
        mu = mu + alpha * label * z
        sigma = sigma - c / (1.0 + c * (x @ z)) * np.outer(z, z) if form == FULL else sigma
        sigma = np.diag(1.0 / (1.0 / np.diag(sigma) + c * x**2)) if form == DIAGONAL else sigma
        margins.append(f)
        decays.append(decay)
    assert set(decays) == {0.9, 1.0}
    rounds = olbench.trace("drifting-arow", X, y, memory=0.9, usual=0.4, **form)
    assert [each.decay for each in rounds] == decays
    np.testing.assert_allclose([y[k] * rounds[k].margin for k in range(N)], margins, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(rounds.learner.rule_state, s)
    covariance = np.diag(rounds[-1].after.covariance) if form == DIAGONAL else rounds[-1].after.covariance
    np.testing.assert_allclose(covariance, sigma, rtol=1e-7, atol=1e-9)


def test_class_weights_agree_with_a_reference_in_long_doubles(data):
    X, y = data
    r, weight = np.longdouble(0.5), np.longdouble(3.0)
    mu, sigma = np.zeros(D, np.longdouble), np.eye(D, dtype=np.longdouble)
    margins = []
    for x, label in zip(X.astype(np.longdouble), y.astype(np.longdouble), strict=True):
        margins.append(float(mu @ x))
        cost = r / weight if label > 0 else r
        z, loss = sigma @ x, max(np.longdouble(0), 1 - label * (mu @ x))
        if loss > 0:
            mu = mu + loss / (x @ z + cost) * label * z
            sigma = sigma - np.outer(z, z) / (x @ z + cost)
    found = online_pass("weighted-arow", X, y, r=0.5, weight=3.0, keep="margins")
    np.testing.assert_allclose(found.margins, margins, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.learner.covariance, sigma.astype(float), rtol=1e-9, atol=1e-12)
    X = np.column_stack([X, np.ones(N)])
    light, heavy = (online_pass("weighted-arow", X, y, weight=each, keep="margins") for each in (1, 40))
    missed = [int(((y > 0) & (each.margins < 0)).sum()) for each in (light, heavy)]
    assert missed[1] < missed[0] / 2


@pytest.mark.parametrize("start", [1.0, 1e-6])
def test_adagrad_agrees_with_its_definition(data, start):
    X, y = data
    w, squares, margins = np.zeros(D), np.full(D, start), []
    for x, label in zip(X, y, strict=True):
        margins.append(w @ x)
        if label * margins[-1] < 1.0:
            gradient = -label * x
            squares += gradient**2
            w -= 0.3 * gradient / np.sqrt(squares)
    found = online_pass("adagrad", X, y, eta=0.3, a=1.0 / start, keep="margins")
    np.testing.assert_allclose(found.margins, margins, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found.weights, w, rtol=1e-9)
    np.testing.assert_allclose(1.0 / found.learner.covariance, squares, rtol=1e-9)


@pytest.mark.parametrize("id", ["weighted-arow", "drifting-arow", "adagrad"])
@FORMS
def test_storage_slices_and_single_steps_leave_the_bits_alone(data, id, form):
    X, y = data
    algorithm = make_algorithm(id, **({} if id == "adagrad" else form))
    whole = online_pass(algorithm, X, y, keep="margins")
    for other in (
        online_pass(algorithm, sp.csr_matrix(X), y),
        online_pass(algorithm, X, y, stopped=lambda: False, curve=13),
    ):
        np.testing.assert_array_equal(whole.weights, other.weights)
        np.testing.assert_array_equal(whole.learner.counters, other.learner.counters)
        np.testing.assert_array_equal(whole.learner.rule_state, other.learner.rule_state)
    learner = start(algorithm, D)
    stepped = [learner.step(x, label) for x, label in zip(X, y, strict=True)]
    np.testing.assert_array_equal(stepped, whole.margins)
    assert learner.score(X[1]) == pytest.approx(whole.weights @ X[1], rel=1e-12)
    assert learner.state_bytes == count_state_bytes(algorithm, D)


@FORMS
def test_only_examples_that_are_learnt_reach_the_rule(data, form):
    """A learner that is taught some of the examples is one that never saw the others."""
    X, y = data
    taught = np.arange(N) % 3 == 0
    schedule = make_schedule(np.where(taught, np.arange(N) + 1, N + 1))
    algorithm = make_algorithm("drifting-arow", usual=0.0, **form)
    thinned = online_pass(algorithm, X[taught], y[taught])
    late = online_pass(algorithm, X, y, order=schedule)
    np.testing.assert_array_equal(late.weights, thinned.weights)
    # The share of mistakes is that of the examples when they are learnt.
    np.testing.assert_array_equal(late.learner.rule_state, thinned.learner.rule_state)


def test_a_learner_of_shards_starts_from_scratch(data):
    X, y = data
    algorithm = make_algorithm("drifting-arow", usual=0.0, **DIAGONAL)
    learner = online_pass(algorithm, X, y).learner
    means, variances = learner.moments_at(np.arange(D))
    np.testing.assert_array_equal(means, learner.weights)
    np.testing.assert_array_equal(variances, learner.covariance)
    learner.reset(np.arange(D))
    for name, value in vars(start(algorithm, D)).items():
        if isinstance(value, np.ndarray) and name != "margins":
            np.testing.assert_array_equal(getattr(learner, name), value)


def test_three_classes_are_learnt_one_against_the_rest(data):
    X, _ = data
    labels = np.argmax(X[:, :3], axis=1)
    assert online_pass("drifting-arow", X, labels, labels="all").mistakes < N // 2


def test_a_decay_that_is_none_is_a_breakdown_with_its_reason(data):
    @second_order("test-late", state=(0.0,))
    def late(m, v, y, mistake, t, p, s):
        """Return nonsense where no probe looks."""
        s[0] += 1.0
        return 1.0, 0.1, 0.0, 1.0 if t < 200 else -1.0

    X, y = data
    result = online_pass("test-late", X, y)
    zeros = int((~X.any(axis=1))[199:].sum())
    assert result.breakdowns == N - 199 - zeros
    assert result.learner.rule_state[0] == N
    found = find_breakdown("test-late", X, y)
    assert found.round == 200
    assert "decay = -1" in found.reason


HEAD = "from olbench import second_order\n\n@second_order('mine'{})\ndef rule(m, v, y, mistake, t, p, s):\n"
ONE, NONE = ", state=(0.0,)", "return 0.0, 0.0, 0.0, 1.0"


@pytest.mark.parametrize(("options", "body", "message"), [
        (ONE, f"s[1] += 1.0; {NONE}", r"mine\.py:5: the rule of 'mine' fails: IndexError: index 1 is out"),
        (ONE, f"p[0] = 1.0; {NONE}", "is read-only"),
        (ONE, "return p[0], 0.0, 0.0, 1.0", "IndexError"),
        (ONE, "return 0.0, 0.0, 0.0", r"returns 3 values; it must be .* -> \(loss, alpha, c, decay\)"),
        (ONE, "return 0.0, 0.0, 0.0, 1.5", r"returns decay = 1\.5 at m = -2; it must lie in \(0, 1\]"),
        (ONE, "return 1.0, 0.0, -1.0, 1.0", "c must not be negative"),
        ("", NONE, r"takes \(m, v, y, mistake, t, p, s\); it must be \(m, v, mistake, t, p\)"),
    ])  # fmt: skip
def test_what_a_rule_does_with_its_numbers_is_checked(tmp_path, options, body, message):
    path = tmp_path / "mine.py"
    path.write_text(f"{HEAD.format(options)}    {body}\n")
    load_plugin(path)
    with pytest.raises(UserError, match=message):
        online_pass("mine", np.eye(2), [1, -1])
    del REGISTRY["mine"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (", state=3", r"mine\.py:3: 'mine': state must be the numbers that its rule starts with"),
        (", state=(float('nan'),)", "state must be the numbers"),
        (", state=(), monotone=True", "monotone is for a rule of the margin and the variance alone"),
        (", root_step=True", r"root_step is for a rule that sees the label; add state=\(\)"),
    ],
)
def test_what_a_rule_declares_is_checked(tmp_path, options, message):
    (tmp_path / "mine.py").write_text(f"{HEAD.format(options)}    {NONE}\n")
    with pytest.raises(UserError, match=message):
        load_plugin(tmp_path / "mine.py")


@for_each(("settings", "message"), [
        ({"forgetting": 0.9}, "weighted-arow: its rule decides what is forgotten; leave forgetting out"),
        ({"kernel": "rbf"}, "weighted-arow: its rule may let variances of features grow, which a kernel"),
        ({"form": "covariance"}, "a full covariance is stored as a root; leave form out"),
        ({"multiclass": "native"}, "its rule sees the label of one of two classes; use multiclass"),
        ({"projection": "exact", **DIAGONAL}, "weighted-arow has no exact diagonal step"),
        ({"weight": -1.0}, r"weighted-arow: weight must lie in \(0, inf\), not -1\.0"),
    ])  # fmt: skip
def test_options_that_do_not_fit_say_why(settings, message):
    with pytest.raises(UserError, match=message):
        make_algorithm("weighted-arow", **settings)
    with pytest.raises(
        UserError, match="adagrad moves along the root of each variance; use covariance='diag'"
    ):
        make_algorithm("adagrad", covariance="full")


def test_richer_rules_run_resume_and_are_checked(tmp_path, monkeypatch, here):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OLBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "mine.yaml").write_text(
        "datasets: [breast-cancer]\n"
        "permutations: 2\n"
        "algorithms: [drifting-arow, adagrad, {id: weighted-arow, grid: {weight: [1, 4]}}]\n"
        "tuning: {search: grid, permutations: 1}\n"
        f"plugins: ['{PLUGIN}']\n"
    )
    assert here("run", "mine.yaml", "--out", "out", "--quiet")[0] == 0
    trials = (tmp_path / "out" / "trials.jsonl").read_text()
    assert here("run", "mine.yaml", "--out", "out", "--quiet")[0] == 0
    assert (tmp_path / "out" / "trials.jsonl").read_text() == trials
    here.out("check", "mine.yaml", "--against", "out", "--quiet")
    labels = [cell["label"] for cell in json.loads((tmp_path / "out" / "run.json").read_text())["cells"]]
    assert labels == ["drifting-arow", "adagrad", "weighted-arow"]


def test_the_command_describes_richer_rules_and_says_what_they_cannot(here):
    out = here.out("algorithms", "--plugin", PLUGIN, "drifting-arow")
    assert "rule        sees the label and keeps 1 number" in out
    assert "forgetting:" not in out
    assert "covariance: diag; projection: kl" in here("algorithms", "--plugin", PLUGIN, "adagrad")[1]
    err = here.err("algorithms", "--plugin", PLUGIN, "adagrad", "--conform-to", "arow")
    assert "only rules that go by the margin and the variance alone can be compared" in err
