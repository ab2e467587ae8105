"""The illustrations show what the formulas, the data and the learner say."""

import math
from pathlib import Path
from statistics import NormalDist

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import mutual_info_score

from olbench import make_algorithm, online_pass
from olbench.analysis.published import load_paper
from olbench.analysis.results import load_results
from olbench.data.load import load_dataset, load_run
from olbench.papers.cw2008.illustrations import ETA, LEARNT, loss_figure, synthetic_figure
from olbench.papers.cw2012.illustrations import (
    COVARIANCE,
    EXAMPLE,
    MEAN,
    POINTS,
    frequency_figure,
    gaussian_figure,
    margin_moments,
    mutual_information,
    rank_features,
)
from olbench.papers.illustrations import illustrations_of
from olbench.report.figures.palette import display_name
from olbench.report.figures.style import save
from tests.papers.test_result_figures import marks
from tests.refusals import refusal
from tests.report.test_figures import assert_apart


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("text") / "text.libsvm"
    random = np.random.default_rng(0)
    words = random.zipf(1.1, (300, 40)) % 2000
    counts = np.array([np.bincount(row, minlength=2000) for row in words])
    dump_svmlight_file(counts, random.choice([-1, 1], 300), str(path), zero_based=False)
    return str(path)


def test_vectors_above_the_line_are_the_ones_that_classify_correctly():
    """The caption in cw2012 says the opposite of this example and label."""
    plane, margins = gaussian_figure().axes
    correct, wrong = (marks(plane)[name].get_xydata() for name in ("correct", "wrong"))
    assert len(correct) + len(wrong) == POINTS
    assert (correct @ EXAMPLE > 0).all()
    assert (wrong @ EXAMPLE <= 0).all()
    line = marks(plane)["hyperplane"].get_xydata()
    np.testing.assert_allclose(line @ EXAMPLE, 0, atol=1e-12)
    assert (correct[:, 1] > np.interp(correct[:, 0], *line.T)).all()
    share = NormalDist(*margin_moments(MEAN, COVARIANCE, EXAMPLE)).cdf(0)
    deviation = math.sqrt(share * (1 - share) / POINTS)
    assert len(wrong) / POINTS == pytest.approx(share, abs=3 * deviation)
    assert f"{1 - share:.1%} above zero" in margins.get_title("left")


def learn_weights(run):
    data = load_run("cw2008-synthetic", run)
    learner = online_pass(make_algorithm("cw", eta=ETA), data.X[:LEARNT], data.y[:LEARNT]).learner
    scale = 2.0**-learner.scale_exponent
    return scale * learner.weights, scale**2 * learner.covariance


def test_the_ellipses_are_those_of_the_learner_after_fifty_examples():
    mean, _ = learn_weights(3)
    patches = synthetic_figure(3).axes[1].patches
    np.testing.assert_allclose([patch.get_center() for patch in patches], mean.reshape(-1, 2))


def test_the_informative_weights_are_surer_across_the_true_vectors_than_along_them():
    """cw2008, section 5: the long axis is parallel to the true weight vectors, the other one is short."""
    along, across = np.array([-1.0, 1.0]) / math.sqrt(2), np.array([1.0, 1.0]) / math.sqrt(2)
    for run in range(5):
        mean, covariance = learn_weights(run)
        block = covariance[:2, :2]
        assert along @ block @ along > 3 * (across @ block @ across)
        assert abs(mean[:2] @ along) > 5 * abs(mean[:2] @ across)


@given(st.integers(0, 2**32 - 1))
def test_the_mutual_information_is_that_of_the_contingency_table(seed):
    random = np.random.default_rng(seed)
    y = np.where(random.random(40) < random.random(), 1.0, -1.0)
    X = (random.random((40, 5)) < random.random(5)).astype(float)
    present, positive = X.sum(axis=0).astype(int), X[y > 0].sum(axis=0).astype(int)
    found = mutual_information(present, positive, 40, int((y > 0).sum()))
    expected = [mutual_info_score(column, y) / math.log(2) for column in X.T]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_features_are_ranked_within_their_side_and_drawn_with_their_counts(text: str):
    data = load_dataset(text)
    occurs, negative = data.X.toarray() != 0, data.y < 0
    lean = occurs[~negative].mean(axis=0) - occurs[negative].mean(axis=0)
    information = [mutual_info_score(column, data.y) for column in occurs.T]
    rankings = rank_features(data.X, data.y)
    for panel, top, side in zip(frequency_figure(text).axes, rankings, (lean < 0, lean > 0), strict=True):
        assert top.size == round(0.25 * side.sum())
        assert side[top].all()
        assert (np.diff(np.take(information, top)) <= 1e-12).all()
        ranks, counts = marks(panel)["features"].get_data()
        assert ranks.tolist() == list(range(1, top.size + 1))
        np.testing.assert_array_equal(counts, np.asarray(data.X.sum(axis=0)).ravel()[top])


def test_nothing_overlaps_and_bytes_repeat(text: str, tmp_path: Path):
    for draw in (loss_figure, gaussian_figure, synthetic_figure, lambda: frequency_figure(text)):
        figure = draw()
        assert_apart(figure)
        first = save(figure, tmp_path / "first", ["svg"])
        with matplotlib.rc_context({"lines.linewidth": 9, "font.size": 30, "svg.hashsalt": "mine"}):
            second = save(draw(), tmp_path / "second", ["svg"])
        assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_papers_without_illustrations_are_not_taken_for_others():
    known = "(did you mean 'cw2008'?); known: adviceptron2010, cw2008, cw2012, scw2012"
    assert refusal(illustrations_of, "cw208") == f"there are no illustrations of 'cw208' {known}"
    command = "`olbench report libol --figures FOLDER` draws them"
    said = refusal(illustrations_of, "libol2013")
    assert said == f"all figures of libol2013 show results; {command}"


def test_the_command_draws_what_needs_no_data_without_the_data(tmp_path: Path, here, monkeypatch):
    (tmp_path / "mirror").mkdir()
    monkeypatch.setenv("OLBENCH_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setenv("OLBENCH_CACHE", str(tmp_path / "cache"))
    code, out, err = here("figures", "cw2012", "--output", tmp_path / "new")
    assert (code, out) == (0, "")
    drawn, left_out = err.splitlines()
    assert drawn.startswith("cw2012-figure-2 is in ")
    assert left_out.startswith("cw2012-figure-1 was not drawn: ")
    assert "amazon-electronics" in left_out
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == [f"cw2012-figure-2.{form}" for form in ("pdf", "png", "svg")]
    assert here("figures", "cw2012", "--no-titles", "--output", tmp_path / "bare")[0] == 0
    bare, titled = (tmp_path / folder / "cw2012-figure-2.svg" for folder in ("bare", "new"))
    assert bare.stat().st_size < titled.stat().st_size


def test_the_first_figure_of_scw2012_comes_from_the_run_that_ships():
    figures, run = illustrations_of("scw2012"), load_results("scw/reference")
    assert list(figures) == [f"scw2012-figure-1-{name}" for name in load_paper("scw2012").datasets]
    rates, _, _ = figures["scw2012-figure-1-ijcnn1"]().axes
    ends = {line.get_label(): line.get_ydata()[-1] for line in rates.get_lines()}
    means = {display_name(e.label): e.mean(run.protocol.quantities[0]) for e in run.of("ijcnn1")}
    assert ends == pytest.approx(means)
