"""Made-up examples: reproducible and of the shape the papers describe."""

import numpy as np
import pytest

from olbench import load_dataset, make_algorithm, online_pass
from olbench.data.load import load_run
from olbench.data.synthetic import RotatedGaussian
from tests.refusals import refusal


def test_every_run_has_a_sample_of_its_own():
    made = RotatedGaussian(rows=100, seed=3)
    samples = [made.draw(run) for run in range(5)]
    for k, (X, y) in enumerate(samples):
        again, labels = made.draw(k)
        assert (again == X).all()
        assert (labels == y).all()
        assert all((other != X).all() for other, _ in samples[:k])
    assert "the data set synthetic is the same in every run" in refusal(load_run, "synthetic", 1)


def test_the_set_of_cw2008_is_drawn_anew_for_every_run():
    data, first, second = load_dataset("cw2008-synthetic"), *(load_run("cw2008-synthetic", k) for k in (0, 1))
    assert data.fingerprint == first.fingerprint != second.fingerprint
    for each in (data, first, second):
        assert (each.X.shape, each.test_from) == ((11_000, 20), 1000)


#: cw2008, section 5: full second-order methods below 80 mistakes, first-order ones far above.
def test_second_order_methods_make_half_the_mistakes_on_the_set_of_cw2008():
    mistakes = {id: [] for id in ("perceptron", "pa", "sop", "cw", "cw-var")}
    for run in range(20):
        data = load_run("cw2008-synthetic", run)
        for id, counts in mistakes.items():
            parameters = {"eta": 0.9} if id.startswith("cw") else {}
            X, y = data.X[: data.test_from], data.y[: data.test_from]
            counts.append(online_pass(make_algorithm(id, **parameters), X, y).mistakes)
    means = {id: np.mean(counts) for id, counts in mistakes.items()}
    assert means["cw"] < means["cw-var"] < means["sop"] < 80
    assert means["perceptron"] > means["pa"] > 115


def test_two_coordinates_are_a_rotated_gaussian_and_the_others_are_noise():
    X, y = RotatedGaussian(rows=50_000, long_axis=3.0, short_axis=0.5, other_deviation=2.0).draw()
    along, across = (X[:, 1] + X[:, 0]) / np.sqrt(2), (X[:, 1] - X[:, 0]) / np.sqrt(2)
    assert np.std(along) == pytest.approx(3.0, rel=0.02)
    assert np.std(across) == pytest.approx(0.5, rel=0.02)
    assert np.std(X[:, 2:]) == pytest.approx(2.0, rel=0.02)
    assert (y == np.where(across > 0, 1, -1)).mean() > 0.9999
    assert abs(np.corrcoef(X.T)[2:, :2]).max() < 0.03
