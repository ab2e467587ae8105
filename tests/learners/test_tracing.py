"""A trace shows a pass round by round."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from sklearn.linear_model import SGDClassifier

from olbench import load_dataset, make_algorithm, online_pass, plot, trace, wrap
from olbench.kernels.counters import ONLY_PREDICT
from olbench.records import seeds
from olbench.report.figures.rounds import required_margin
from tests.cases import for_each
from tests.examples import built_in, counts, noisy
from tests.refusals import find_wrong, refusal

#: Every rule in its default form, and other forms of some.
FORMS = [
    *((each.id, {}) for each in built_in() if each.order in ("first", "second")),
    ("cw", {"form": "covariance"}), ("scw1", {"form": "root"}), ("arow", {"covariance": "diag"}),
    ("scw2", {"covariance": "diag", "projection": "l2"}),
    *((id, {"covariance": "diag", "projection": "exact"}) for id in ("cw", "cw-var")),
    ("arow", {"covariance": "diag", "forgetting": 0.9}), ("arow", {"form": "root", "forgetting": 0.9}),
    ("arow", {"a": 10.0}),
]  # fmt: skip


@pytest.fixture(scope="module")
def data():
    return noisy(n=120, d=6, density=0.7)


@for_each("form", FORMS)
def test_a_trace_counts_as_its_pass_does(data, form):
    X, y = data
    order = np.random.default_rng(3).permutation(len(y))
    algorithm = make_algorithm(form[0], **form[1])
    whole, found = online_pass(algorithm, X, y, order=order), trace(algorithm, X, y, order)
    assert counts(found) == counts(whole)
    frame = found.to_frame()
    assert (frame["label"] == y[order]).all()
    assert (frame["row"] == order).all()
    np.testing.assert_array_equal(frame["updated"], frame["loss"] > 0)
    kept = online_pass(algorithm, X, y, order=order, keep="margins")
    np.testing.assert_array_equal(frame["margin"], y[order] * kept.margins)
    np.testing.assert_array_equal(found.learner.weights, whole.weights)
    assert trace(algorithm, sp.csr_matrix(X), y, order).to_frame().equals(frame)


@for_each("form", FORMS)
def test_the_states_of_a_round_differ_by_its_step(data, form):
    """The formulas of the papers, applied to the state before, lead to the state after."""
    X, y = data
    projection = form[1].get("projection", "kl")
    for each in trace(form[0], X, y, rounds=60, **form[1]):
        w, sigma = each.before.weights, each.before.covariance
        np.testing.assert_array_equal(each.x, X[each.row])
        np.testing.assert_allclose(each.margin, each.label * (w @ each.x), rtol=1e-9, atol=1e-12)
        if sigma is None:
            wanted = w if not each.changed else each.shrink * w + each.tau * each.label * each.x
            np.testing.assert_allclose(each.after.weights, wanted, rtol=1e-9, atol=1e-12)
            assert (each.variance, each.alpha, each.beta) == (None, None, None)
            continue
        if sigma.ndim == 1:
            growth = 1 if each.t == 1 else 1 / form[1].get("forgetting", 1.0)
            sigma = np.diag(np.fmin(sigma * growth, 1.0) if growth > 1 else sigma)
        elif "forgetting" in form[1]:
            continue  # a full covariance grows between rounds
        z = sigma @ each.x
        np.testing.assert_allclose(each.variance, each.x @ z, rtol=1e-7, atol=1e-12)
        if not each.changed:
            continue
        after = sigma - each.beta * np.outer(z, z)
        if each.before.covariance.ndim == 1:
            after = np.diag(after)
            if projection != "l2":
                after = np.diag(sigma) / (1 + each.c * np.diag(sigma) * each.x**2)
        np.testing.assert_allclose(each.after.weights, w + each.alpha * each.label * z, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(each.after.covariance, after, rtol=1e-6, atol=1e-9)


def test_a_round_knows_when_nothing_happened():
    first, second, third = trace("pa", np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), [1, 1, -1])
    assert (first.prediction, first.mistake, first.updated, first.tau) == (1, False, True, 1.0)
    assert (second.loss, second.tau, second.changed) == (0.0, 0.0, False)
    assert second.before is second.after
    # A row of zeros is predicted +1, and its loss changes nothing.
    assert (third.prediction, third.mistake, third.updated, third.changed) == (1, True, True, False)
    for id in ("pa", "arow"):
        lost, fine = trace(id, np.array([[1e200, 0.0], [1.0, 0.0]]), [1, 1])
        assert (lost.breakdown, lost.changed, np.isnan(lost.loss)) == (True, False, True)
        assert (fine.breakdown, fine.loss > 0) == (False, True)


def test_states_are_in_the_units_of_the_problem(rng):
    """CW keeps mu and the root of Sigma times a power of two before they underflow."""
    X, y = rng.standard_normal((3000, 2)), np.where(rng.random(3000) < 0.5, 1.0, -1.0)
    found = trace("cw", X, y, eta=0.95)
    assert found.learner.scale_exponent > 0
    last = found[-1]
    np.testing.assert_allclose(last.margin, last.label * (last.before.weights @ last.x), rtol=1e-9)


def test_rounds_can_be_skipped_and_chosen(data):
    whole, part = trace("scw1", *data), trace("scw1", *data, rounds=5, skip=20)
    assert [each.t for each in part] == [each.t for each in whole[20:25]] == [21, 22, 23, 24, 25]
    assert part.to_frame().equals(whole.to_frame()[20:25].reset_index(drop=True))
    np.testing.assert_array_equal(part[-1].after.covariance, whole[24].after.covariance)
    assert len(trace("scw1", *data, rounds=500, skip=119)) == 1


def test_a_trace_or_figure_that_cannot_be_made_is_refused(data):
    X, y = data
    cases = [
        (make_algorithm("arow", kernel="rbf"), {}, "support examples and no weights"),
        (make_algorithm("sop", covariance="diag"), {}, "use covariance='full'"),
        (make_algorithm("majority-so-far"), {}, "nothing to trace"),
        (wrap(SGDClassifier()), {}, "nothing to trace"),
        (make_algorithm("cw", covariance="diag", projection="exact", forgetting=0.9), {}, "leave out one"),
        (make_algorithm("scw1-libol", multiclass="native"), {}, "several classes"),
        ("pa", {"rounds": 0}, "rounds must be at least 1, not 0"),
        ("pa", {"skip": -1}, "skip must be at least 0"),
        ("pa", {"order": [0, 1 | ONLY_PREDICT]}, "not a schedule"),
    ]
    assert find_wrong(cases, lambda algorithm, how: trace(algorithm, X, y, **how)) == []
    X, y = separable()
    found = trace("cw", X, y, rounds=8)
    undrawn = [
        (trace("pa", X, y), {}, "pa has no Gaussian"),
        (trace("sop", X, y), {}, "sop has no Gaussian"),
        (trace("cw", X, y, states=False), {}, "without states"),
        (found, {"rounds": [9]}, "rounds 1 to 8, not 9"),
        (found, {"rounds": []}, "name at least one"),
        (found, {"features": (0, 0)}, "two different numbers from 0 to 1"),
        (found, {"features": (0, 2)}, "two different numbers"),
        (found, {"ax": Figure().add_subplot()}, "ax takes one round, not"),
    ]
    assert find_wrong(undrawn, lambda traced, settings: plot.gaussian(traced, **settings)) == []


def test_states_are_optional_and_limited():
    data = np.eye(100), np.ones(100), np.zeros(7000, int)
    said = refusal(trace, "arow", *data)
    assert "states of 7,000 rounds with 100 features take 0.5 GiB; trace fewer" in said
    light = trace("arow", *data, states=False)
    assert (len(light), light.has_states, light[7].before) == (7000, False, None)


def separable(n=40, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, np.where(X @ [1.0, -0.5] > 0, 1.0, -1.0)


@pytest.mark.parametrize("settings", [{"eta": 0.9}, {"phi": 2.0}])
def test_the_ellipse_of_cw_touches_the_line_of_its_example(settings):
    """The drawn condition is CW's constraint: no weight within phi deviations may be on the wrong side."""
    found = trace("cw", *separable(), **settings)
    figure = plot.gaussian(found)
    changes = [each for each in found if each.changed][:6]
    assert len(figure.axes) == len(changes) == 6
    for panel, each in zip(figure.axes, changes, strict=True):
        [after] = panel.findobj(lambda artist: isinstance(artist, Ellipse) and artist.get_gid() == "after")
        curve = after.get_patch_transform().transform(after.get_path().vertices)
        margins = each.label * (curve @ each.x)
        size = np.abs(margins).max()
        # The path of an ellipse is made of splines, whose vertices lie on it or outside.
        assert -0.03 * size < margins.min() < 0.05 * size
        assert panel.get_title(loc="left").startswith(f"round {each.t}: y = ")
        [line] = [line for line in panel.get_lines() if line.get_gid() == "line"]
        np.testing.assert_allclose(np.column_stack(line.get_data()) @ each.x, 0, atol=1e-6 * size)


@for_each(
    ("id", "settings", "v", "wanted"),
    [("cw", {"phi": 2.0}, 4.0, 4.0), ("scw1", {"eta": 0.9}, 1.0, 1.2815515655), ("arow", {}, 3.0, 1.0),
     ("cw-var", {"phi": 2.0}, 4.0, 8.0)],
)  # fmt: skip
def test_every_rule_requires_its_own_margin(id, settings, v, wanted):
    assert required_margin(make_algorithm(id, **settings), v) == pytest.approx(wanted, rel=1e-9)


def test_the_table_fits_eighty_columns(monkeypatch, here):
    monkeypatch.setenv("COLUMNS", "80")
    for id in ("scw1", "pa1"):
        lines = here.out("trace", "breast-cancer", "--algorithm", id, "--rounds", "3").splitlines()
        assert max(map(len, lines)) <= 80
        assert [line.split()[0] for line in lines[3:6]] == ["1", "2", "3"]
        assert lines[3].endswith("mistake")
        assert lines[-1].startswith("3 rounds: 1 mistake and ")


def test_the_formats_agree_with_python(tmp_path, here):
    data = load_dataset("breast-cancer")
    order = seeds.order(7, "breast-cancer", "report", 2, seeds.ALL, data.y.size)
    wanted = trace("arow", data.X, data.y, order, rounds=4, skip=5, r=0.5, covariance="diag").to_frame()
    words = "--set r=0.5,covariance=diag --permutation 2 --seed 7 --skip 5 --rounds 4"
    ask = ["trace", "breast-cancer", "--algorithm", "arow", *words.split(), "--format"]
    found = json.loads(here.out(*ask, "json"))
    assert (found["dataset"], found["algorithm"], found["params"]) == ("breast-cancer", "arow", {"r": 0.5})
    assert found["rounds"] == wanted.to_dict("records")
    here.out(*ask, "csv", "--output", tmp_path / "rounds.csv")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "rounds.csv"), wanted)


def test_wrong_commands_are_refused(here):
    for words, message in [
        (["--seed", "1"], "--seed belongs to a permutation"),
        (["--skip", "569"], "there is no round after --skip 569"),
        (["--set", "D=1"], "unknown parameter 'D'"),
    ]:
        assert message in here.err("trace", "breast-cancer", "--algorithm", "pa", *words)
