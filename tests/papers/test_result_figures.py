"""Figures of accuracy draw the numbers of the record, hide none, and are the same bytes every time."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from olbench.analysis.results import Results
from olbench.papers.contrasts import Pairing, contrast_figure, find_contrasts
from olbench.papers.cw2012.figures import epochs_figure
from olbench.papers.cw2012.tables import entries_by_epoch, epoch_figures
from olbench.records.quantities import TEST_ERROR, TRAINING_ERROR
from olbench.report.figures.style import PAGE_HEIGHT, TEXT_WIDTH
from olbench.report.model import Report
from tests.papers import folds
from tests.report.test_figures import assert_apart

SERIES = folds.CROSSVAL.series[0]
CW = tuple(folds.VARIANTS)
#: The data sets of cw2012 that are still available, and USPS.
TASKS = (
    *(f"amazon-{name}" for name in ["apparel", "books", "dvd", "electronics", "kitchen", "music", "video"]),
    *(f"spam-{name}" for name in "abc"),
    *(f"news-{name}" for name in ["comp", "sci", "talk"]),
    *(f"usps-{pair}" for pair in ["0-vs-9", "1-vs-2", "3-vs-4", "5-vs-6", "7-vs-8"]),
)


def draw_epochs(results: Results) -> Figure:
    return epochs_figure(entries_by_epoch(results, ""), SERIES, results.labels)


def named_lines(panel) -> dict:
    return {line.get_label(): line for line in panel.get_lines() if not line.get_label().startswith("_")}


def marks(panel) -> dict:
    return {line.get_gid(): line for line in panel.get_lines() if line.get_gid()}


def test_the_curves_are_the_mean_accuracies_with_one_deviation_over_the_folds():
    errors = np.array([[0.2, 0.1, 0.05], [0.3, 0.1, 0.1], [0.1, 0.1, 0.0]])
    run = folds.results([folds.entry("a", "var-KL", errors), folds.entry("a", "pa", errors / 2)])
    [panel] = draw_epochs(run).axes
    lines = named_lines(panel)
    assert set(lines) == {"var-KL", "PA"}
    np.testing.assert_array_equal(lines["var-KL"].get_xdata(), [1, 2, 3])
    np.testing.assert_allclose(lines["var-KL"].get_ydata(), [80, 90, 95])
    np.testing.assert_allclose(lines["PA"].get_ydata(), [90, 95, 97.5])
    edges = panel.collections[0].get_paths()[0].vertices
    first = edges[edges[:, 0] == 1, 1]
    assert (first.min(), first.max()) == pytest.approx((70, 90))
    # 95 + 5 is 100 and no more, though rounding may say otherwise.
    assert edges[:, 1].max() <= 100


def test_the_curves_are_those_of_the_paper_or_all_that_have_epochs():
    batch = folds.entry("a", "svm", [[0.1], [0.1]])
    shown = folds.many(["a"], ["var-KL", "perceptron", "pa"])
    run = replace(shown, entries=(*shown.entries, batch))
    assert set(named_lines(draw_epochs(run).axes[0])) == {"var-KL", "PA"}
    others = folds.many(["a"], ["perceptron", "sgd"])
    run = replace(others, entries=(*others.entries, batch))
    assert set(named_lines(draw_epochs(run).axes[0])) == {"Perceptron", "SGD"}


def test_each_tuning_has_figures_of_its_own():
    labels = [f"{name}{way}" for name in ("var-KL", "pa") for way in ("", " [paper]")]
    report = Report(folds.many(TASKS, labels), None)
    figures = epoch_figures(report)
    assert list(figures) == ["epochs-1", "epochs-2", "epochs-paper-1", "epochs-paper-2"]
    drawn = [panel for name in ("epochs-1", "epochs-2") for panel in figures[name]().axes]
    assert [panel.get_title("left") for panel in drawn] == list(TASKS)


def test_nothing_overlaps():
    long = "a/very/long/path/to/my/examples.libsvm"
    scatters = [
        find_contrasts(folds.many(datasets, CW), Pairing(TEST_ERROR, "algorithm", "cw-var", "cw"))
        for datasets in (TASKS, ("a", "b", long))
    ]
    figures = [
        draw_epochs(folds.many([*TASKS[1:9], long], [*CW, "pa"])),
        *(contrast_figure(each, "test accuracy") for each in scatters),
    ]
    for figure in figures:
        assert_apart(figure)
        assert figure.get_figwidth() == TEXT_WIDTH
        assert figure.get_figheight() <= PAGE_HEIGHT


def test_a_contrast_pairs_what_differs_in_one_respect_whatever_its_name():
    run = folds.many(["a", "b", "c"], [*CW, "pa", "var-KL [paper]", "stdev-KL [paper]"])
    renamed = {"stdev-Exact": "mine"}
    run = replace(
        run, entries=tuple(replace(each, label=renamed.get(each.label, each.label)) for each in run.entries)
    )
    found = find_contrasts(run, Pairing(TRAINING_ERROR, "projection", "l2", "exact"))
    assert [(each.x, each.y) for each in found] == [("var-L2", "var-Exact"), ("stdev-L2", "mine")]
    found = find_contrasts(run, Pairing(TEST_ERROR, "algorithm", "cw-var", "cw"))
    assert [(each.x, each.y, each.tuning) for each in found] == [
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
    [contrast] = find_contrasts(folds.results(entries), Pairing(TRAINING_ERROR, "projection", "l2", "exact"))
    assert contrast.above == 2
    scatter, differences = contrast_figure([contrast], "training accuracy").axes
    assert scatter.get_title("left") == "2 of 4 above the line, 1 on the line"
    for dataset, (x, y) in training.items():
        point = marks(scatter)[dataset]
        assert (point.get_xdata()[0], point.get_ydata()[0]) == pytest.approx((100 - 100 * x, 100 - 100 * y))
        assert marks(differences)[dataset].get_xdata()[0] == pytest.approx(100 * (x - y))
