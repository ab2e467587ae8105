"""Figures of accuracy, mistakes and errors draw the numbers of the record, with the same bytes every time."""

from dataclasses import replace

import numpy as np
import pytest

from olbench.analysis.results import Results
from olbench.papers.contrasts import Pairing, contrast_figure, find_contrasts
from olbench.papers.cw2008.figures import errors_figure, mistakes_figure
from olbench.papers.cw2012.figures import epochs_figure
from olbench.papers.cw2012.tables import entries_by_epoch, epoch_figures
from olbench.records.quantities import TEST_ERROR, TRAINING_ERROR
from olbench.report.figures.palette import display_name
from olbench.report.figures.style import PAGE_HEIGHT, TEXT_WIDTH, save
from olbench.report.model import Report
from tests.papers import folds
from tests.report.test_figures import assert_apart

CW = tuple(folds.VARIANTS)
#: As many data sets as cw2012 has, with names as long as theirs.
TASKS = (*(f"amazon-electronics-{k}" for k in range(9)), *(f"usps-{k}-vs-9" for k in range(9)))
POINTS = np.arange(20, 1001, 20)
PROJECTIONS = Pairing(TRAINING_ERROR, "projection", "l2", "exact")
FORMS = Pairing(TEST_ERROR, "algorithm", "cw-var", "cw")


def draw_epochs(results: Results):
    return epochs_figure(results, entries_by_epoch(results, ""), folds.CROSSVAL.series[0])


def named_lines(panel) -> dict:
    return {line.get_label(): line for line in panel.get_lines() if not line.get_label().startswith("_")}


def marks(panel) -> dict:
    return {line.get_gid(): line for line in panel.get_lines() if line.get_gid()}


def test_the_curves_are_the_mean_accuracies_with_one_deviation_over_the_folds():
    errors = np.array([[0.2, 0.1, 0.05], [0.3, 0.1, 0.1], [0.1, 0.1, 0.0]])
    [panel] = draw_epochs(folds.results([folds.entry("a", "var-KL", errors)])).axes
    lines = named_lines(panel)
    np.testing.assert_array_equal(lines["var-KL"].get_xdata(), [1, 2, 3])
    np.testing.assert_allclose(lines["var-KL"].get_ydata(), [80, 90, 95])
    edges = panel.collections[0].get_paths()[0].vertices
    first = edges[edges[:, 0] == 1, 1]
    assert (first.min(), first.max()) == pytest.approx((70, 90))
    # 95 + 5 is 100 and no more, though rounding may say otherwise.
    assert edges[:, 1].max() <= 100


def test_the_curves_are_those_of_the_paper_or_all_that_have_epochs():
    batch = folds.entry("a", "svm", [[0.1], [0.1]])
    for labels, drawn in (
        (["var-KL", "perceptron", "pa"], {"var-KL", "PA"}),
        (["perceptron", "sgd"], {"Perceptron", "SGD"}),
    ):
        shown = folds.many(["a"], labels)
        [panel] = draw_epochs(replace(shown, entries=(*shown.entries, batch))).axes
        assert set(named_lines(panel)) == drawn


def test_each_tuning_has_figures_of_its_own():
    labels = [f"{name}{way}" for name in ("var-KL", "pa") for way in ("", " [paper]")]
    figures = epoch_figures(Report(folds.many(TASKS, labels), None))
    assert list(figures) == ["epochs-1", "epochs-2", "epochs-paper-1", "epochs-paper-2"]
    drawn = [panel for name in ("epochs-1", "epochs-2") for panel in figures[name]().axes]
    assert [panel.get_title("left") for panel in drawn] == list(TASKS)


def test_brackets_in_a_name_of_the_user_are_not_a_tuning():
    figures = epoch_figures(Report(folds.many(["a"], ["var-KL [mine]", "pa"]), None))
    assert list(figures) == ["epochs"]
    [panel] = figures["epochs"]().axes
    assert set(named_lines(panel)) == {display_name("var-KL [mine]"), "PA"}


def test_a_contrast_pairs_what_differs_in_one_respect_whatever_its_name():
    run = folds.many(["a", "b", "c"], [*CW, "pa", "var-KL [paper]", "stdev-KL [paper]"])
    names = {"stdev-Exact": "mine"}
    run = replace(run, entries=tuple(replace(e, label=names.get(e.label, e.label)) for e in run.entries))
    found = find_contrasts(run, PROJECTIONS)
    assert [(each.x, each.y) for each in found] == [("var-L2", "var-Exact"), ("stdev-L2", "mine")]
    assert [(each.x, each.y, each.tuning) for each in find_contrasts(run, FORMS)] == [
        ("var-KL", "stdev-KL", ""), ("var-L2", "stdev-L2", ""), ("var-Exact", "mine", ""),
        ("var-KL", "stdev-KL", "paper"),
    ]  # fmt: skip


def test_a_scatter_shows_the_accuracies_and_counts_what_lies_above_the_line():
    training = {"a": (0.04, 0.01), "b": (0.02, 0.02), "c": (0.01, 0.03), "d": (0.05, 0.0)}
    entries = [
        folds.entry(dataset, label, [[0.5], [0.5]], [value - 0.01, value + 0.01])
        for dataset, pair in training.items()
        for label, value in zip(("stdev-L2", "stdev-Exact"), pair, strict=True)
    ]
    [contrast] = find_contrasts(folds.results(entries), PROJECTIONS)
    assert contrast.above == 2
    scatter, differences = contrast_figure([contrast], "training accuracy").axes
    assert scatter.get_title("left") == "2 of 4 above the line, 1 on the line"
    for dataset, (x, y) in training.items():
        point = marks(scatter)[dataset]
        assert (point.get_xdata()[0], point.get_ydata()[0]) == pytest.approx((100 - 100 * x, 100 - 100 * y))
        assert marks(differences)[dataset].get_xdata()[0] == pytest.approx(100 * (x - y))


def make_runs(labels) -> Results:
    """Return 30 runs of algorithms whose mistakes grow by rates of their own."""
    random, entries = np.random.default_rng(0), []
    for place, label in enumerate(labels):
        counts = np.cumsum(random.binomial(20, 0.02 * (place + 1), (30, POINTS.size)), axis=1).astype(float)
        base = folds.entry("drawn", label, random.integers(10, 400, (30, 1)) / folds.N, algorithm=label)
        entries.append(replace(base, points=POINTS, curves={"mistakes": counts}))
    return folds.results(entries)


def test_mistakes_are_drawn_as_means_with_bars_of_one_deviation():
    results = make_runs(["perceptron", "pa", "sop", "stdev-full"])
    [panel] = mistakes_figure(results, "drawn").axes
    for entry, container in zip(results.entries, panel.containers, strict=True):
        counts = entry.curves["mistakes"]
        assert container.get_label() == display_name(entry.label)
        line, _, (bars,) = container
        np.testing.assert_array_equal(line.get_xdata(), POINTS)
        np.testing.assert_allclose(line.get_ydata(), counts.mean(axis=0))
        for (x, low), (_, high) in bars.get_segments():
            place = list(POINTS).index(x)
            mean, deviation = counts[:, place].mean(), counts[:, place].std(ddof=1)
            assert (low, high) == pytest.approx((mean - deviation, mean + deviation))
        assert len(bars.get_segments()) >= 7


def test_test_errors_are_drawn_with_mean_quartiles_and_extremes():
    results = make_runs(["perceptron", "stdev-full"])
    [panel] = errors_figure(results, "drawn").axes
    boxes = {patch.get_gid(): patch for patch in panel.patches}
    for each in results.entries:
        values = 100 * each.values(TEST_ERROR)
        assert marks(panel)[each.label].get_xdata()[0] == pytest.approx(values.mean())
        assert tuple(marks(panel)[f"range {each.label}"].get_xdata()) == (values.min(), values.max())
        box = boxes[f"quartiles {each.label}"]
        first, third = np.quantile(values, (0.25, 0.75))
        assert (box.get_x(), box.get_x() + box.get_width()) == pytest.approx((first, third))


def test_nothing_overlaps_and_bytes_repeat(tmp_path):
    long = "a/very/long/path/to/my/examples.libsvm"
    runs = make_runs(("averaged-perceptron", "var-diag", "var-full", "stdev-diag", "stdev-full", "x" * 60))
    scatters = [find_contrasts(folds.many(names, CW), FORMS) for names in (TASKS, ("a", "b", long))]
    wide = [
        draw_epochs(folds.many([*TASKS[:8], long], [*CW, "pa"])),
        *(contrast_figure(each, "test accuracy") for each in scatters),
    ]
    for figure in wide:
        assert figure.get_figwidth() == TEXT_WIDTH
        assert figure.get_figheight() <= PAGE_HEIGHT
    of_runs = [mistakes_figure(runs, "drawn"), errors_figure(runs, "drawn")]
    for figure in (*wide, *of_runs):
        assert_apart(figure)
    again = [mistakes_figure(runs, "drawn"), errors_figure(runs, "drawn")]
    for pair in zip(of_runs, again, strict=True):
        first, second = (save(figure, tmp_path / str(k)) for k, figure in enumerate(pair))
        assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
