"""Figures of accuracy draw the numbers of the record, hide none, and are the same bytes every time."""

import base64
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from olbench.errors import UserError
from olbench.protocols.definition import Pairing
from olbench.quantities import TEST_ERROR, TRAINING_ERROR
from olbench.report.figures.accuracy import contrast_figure, epochs_figure
from olbench.report.figures.canvas import PAGE_HEIGHT, TEXT_WIDTH
from olbench.report.figures.contrasts import entries_by_epoch, find_contrasts
from olbench.report.figures.curves import save_figures
from olbench.report.model import Report
from olbench.report.results import Results
from olbench.report.sections import sections_of
from tests.report import folds
from tests.report.pages import render, section_values
from tests.report.test_html import HOSTILE, without_scripts

SERIES = folds.CROSSVAL.series[0]
CW = tuple(folds.VARIANTS)
#: The data sets of cw2012 that can be had, and USPS.
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


def assert_apart(figure: Figure) -> None:
    """Check that panels, legend and title do not overlap and stay on the page, and so do names on an axis."""
    figure.draw_without_rendering()
    others = [*figure.legends, *figure.texts]
    boxes = [panel.get_tightbbox() for panel in figure.axes] + [each.get_window_extent() for each in others]
    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:place])
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0
        assert box.y1 <= figure.bbox.y1
    for panel in figure.axes:
        names = [text.get_window_extent() for text in panel.get_yticklabels() if text.get_text()]
        assert not any(one.overlaps(other) for one, other in pairwise(names))


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
    with pytest.raises(UserError, match="no algorithm has a curve over epochs"):
        draw_epochs(folds.results([batch]))


def test_each_tuning_has_figures_of_its_own_in_which_algorithms_look_alike():
    labels = [f"{name}{way}" for name in ("var-KL", "var-Exact", "pa") for way in ("", " [paper]")]
    report = Report(folds.many(TASKS, labels), None)
    figures = {name: draw() for each in sections_of(report) for name, draw in each.figures(report).items()}
    mine = {name: figure for name, figure in figures.items() if name.startswith("epochs")}
    assert list(mine) == ["epochs-1", "epochs-2", "epochs-paper-1", "epochs-paper-2"]
    titles = [panel.get_title("left") for name in ("epochs-1", "epochs-2") for panel in mine[name].axes]
    assert titles == list(TASKS)
    looks = {
        (name, line.get_color(), line.get_marker())
        for figure in mine.values()
        for panel in figure.axes
        for name, line in named_lines(panel).items()
    }
    assert {name for name, _, _ in looks} == {"var-KL", "var-Exact", "PA"}
    assert len(looks) == 3


@pytest.mark.parametrize("count", [1, 4, 9])
def test_nothing_overlaps_in_the_curves(count):
    datasets = [*TASKS[1:count], "a/very/long/path/to/my/examples.libsvm"]
    figure = draw_epochs(folds.many(datasets, [*CW, "pa"]))
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
    run = folds.results(entries)
    [contrast] = find_contrasts(run, Pairing(TRAINING_ERROR, "projection", "l2", "exact"))
    assert (contrast.above, contrast.equal) == (2, 1)
    figure = contrast_figure([contrast], "training accuracy")
    scatter, differences = figure.axes
    assert scatter.get_title("left") == "2 of 4 above the line, 1 on the line"
    assert (scatter.get_xlabel(), scatter.get_ylabel()) == ("stdev-L2", "stdev-Exact")
    diagonal = marks(scatter)["diagonal"]
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    assert scatter.get_xlim() == scatter.get_ylim() == tuple(diagonal.get_xdata())
    for dataset, (x, y) in training.items():
        point = marks(scatter)[dataset]
        assert (point.get_xdata()[0], point.get_ydata()[0]) == pytest.approx((100 - 100 * x, 100 - 100 * y))
        assert marks(differences)[dataset].get_xdata()[0] == pytest.approx(100 * (x - y))
        assert point.get_color() == marks(differences)[dataset].get_color()
    assert [text.get_text() for text in differences.get_yticklabels()] == list(training)
    assert "stdev-Exact against stdev-L2: 2 of 4 above the line" in figure.get_label()


@pytest.mark.parametrize("datasets", [TASKS[:3], TASKS, ("a", "b", "a/very/long/path/to/my/examples.libsvm")])
def test_nothing_overlaps_in_the_scatters(datasets):
    run = folds.many(datasets, CW)
    figure = contrast_figure(
        find_contrasts(run, Pairing(TEST_ERROR, "algorithm", "cw-var", "cw")), "test accuracy"
    )
    assert len(figure.axes) == 6
    assert_apart(figure)
    assert figure.get_figwidth() == TEXT_WIDTH
    assert figure.get_figheight() <= PAGE_HEIGHT


def test_a_report_writes_these_figures(tmp_path: Path):
    report = Report(folds.many(["a", "b", "c"], ["stdev-L2", "stdev-Exact", "var-L2"]), None)
    names = [path.stem for path in save_figures(report, tmp_path, ("svg",))]
    assert names[4:7] == ["epochs", "training", "constraint"]


def test_the_tables_say_what_the_figures_show():
    errors = {"var-KL": [[0.3, 0.1]], "pa": [[0.4, 0.05]]}
    report = Report(folds.results([folds.entry("a", *each) for each in errors.items()]), None)
    [section] = [each for each in sections_of(report) if each.id == "epochs"]
    first, last = section.parts(report)
    assert [(box.text, box.bold) for box in first.rows[0]] == [
        ("a", False), ("70.00", True), ("60.00", False),
    ]  # fmt: skip
    assert [(box.text, box.bold) for box in last.rows[0]] == [
        ("a", False), ("90.00", False), ("95.00", True),
    ]  # fmt: skip
    report = Report(folds.many(["a", "b", "c"], ["stdev-L2", "stdev-Exact"]), None)
    [section] = [each for each in sections_of(report) if each.id == "training"]
    [table] = section.parts(report)
    for row in table.rows:
        exact, l2, difference = (float(box.text) for box in row[1:])
        assert exact - l2 == pytest.approx(difference, abs=0.02)


def test_the_page_has_every_figure_inside_with_its_caption():
    report = Report(folds.many(["a", "b", HOSTILE], [*CW, "pa"]), None)
    page = without_scripts(render(report))
    images = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]*)" alt="([^"]+)">', page)
    assert len(images) == page.count("<img") == 3
    for content, _ in images:
        svg = base64.b64decode(content).decode()
        assert "<svg" in svg
        assert "<script" not in svg
    assert HOSTILE not in page
    captions = [each["caption"] for each in section_values(report)["epochs"]["figures"]]
    assert captions[0].startswith("Test accuracy (%) after each epoch")


def test_other_protocols_have_none_of_these_sections():
    from olbench.report.model import make_report

    report = make_report(Path(__file__).with_name("small"))
    shown = {section.id for section in sections_of(report)}
    assert not shown & {"epochs", "training", "constraint", "runs"}
