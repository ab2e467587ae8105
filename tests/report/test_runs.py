"""Mistakes and test errors over runs are drawn as they are in the record."""

from dataclasses import replace

import numpy as np
import pytest

from olbench.protocols import Protocol
from olbench.protocols.definition import REGISTRY, Key, Series, protocol, whole
from olbench.quantities import ERRORS, MISTAKES, ROUNDS, TEST_ERROR
from olbench.report.figures.canvas import TEXT_WIDTH
from olbench.report.figures.palette import display_name
from olbench.report.figures.runs import errors_figure, mistakes_figure
from olbench.report.model import Report
from olbench.report.results import Entry, Results
from olbench.report.sections import sections_of
from tests.report import folds
from tests.report.pages import render
from tests.report.test_accuracy import assert_apart

SEVEN = ("perceptron", "pa", "sop", "var-diag", "var-full", "stdev-diag", "stdev-full")
POINTS = np.arange(20, 1001, 20)
RUNS = 30


def entry(dataset: str, label: str, place: int, runs: int = RUNS) -> Entry:
    """Return an entry whose mistakes grow by a rate of its own."""
    random = np.random.default_rng(place)
    counts = np.cumsum(random.binomial(20, 0.02 * (place + 1), (runs, POINTS.size)), axis=1)
    errors = random.integers(10 * place, 50 * place + 60, runs)
    base = folds.entry(dataset, label, np.zeros((runs, 1)), algorithm=label)
    columns = {**base.columns, "errors": errors, "mistakes": counts[:, -1]}
    return replace(base, columns=columns, points=POINTS, curves={"mistakes": counts.astype(float)})


def made(datasets=("drawn",), labels=SEVEN, runs: int = RUNS, protocol: str = "crossval") -> Results:
    entries = [entry(name, label, k, runs) for name in datasets for k, label in enumerate(labels)]
    return folds.results(entries, protocol)


@pytest.fixture
def drawn():
    """A protocol that counts mistakes and tests, forgotten after the test."""

    @protocol
    class Drawn(Protocol):
        """Draw a sample for every run."""

        id = "drawn"
        numbered = "run"
        keys = (Key("runs", whole(1), RUNS, "samples"),)
        quantities = (MISTAKES, TEST_ERROR)
        recorded = (ROUNDS, ERRORS)
        series = (Series("mistakes", "mistakes", MISTAKES),)

        def run(self, trial, source, stopped):
            raise NotImplementedError

    yield Drawn
    del REGISTRY["drawn"]


def test_curves_are_means_and_their_bars_deviations():
    results = made()
    [panel] = mistakes_figure(results, "drawn").axes
    assert len(panel.containers) == 7
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


def test_algorithms_with_the_same_mistakes_share_a_line():
    results = made(labels=SEVEN[:3])
    first = results.entries[0]
    twin = replace(first, label="averaged-perceptron", algorithm="averaged-perceptron")
    figure = mistakes_figure(replace(results, entries=(first, twin, *results.entries[1:])), "drawn")
    names = [container.get_label() for container in figure.axes[0].containers]
    assert names == ["Perceptron, Averaged perceptron", "PA", "SOP"]
    assert sorted(text.get_text() for text in figure.legends[0].get_texts()) == sorted(names)


def test_test_errors_are_drawn_with_mean_quartiles_and_extremes():
    results = made()
    [panel] = errors_figure(results, "drawn", TEST_ERROR).axes
    lines = {line.get_gid(): line for line in panel.get_lines() if line.get_gid()}
    boxes = {patch.get_gid(): patch for patch in panel.patches}
    for place, each in enumerate(results.entries):
        values = 100 * each.values(TEST_ERROR)
        assert lines[each.label].get_xdata()[0] == pytest.approx(values.mean())
        assert lines[each.label].get_ydata()[0] == place
        ends = lines[f"range {each.label}"].get_xdata()
        assert tuple(ends) == (values.min(), values.max())
        box = boxes[f"quartiles {each.label}"]
        first, third = np.quantile(values, (0.25, 0.75))
        assert (box.get_x(), box.get_x() + box.get_width()) == pytest.approx((first, third))
    spreads = [TEST_ERROR.spread(*each.spread(TEST_ERROR)) for each in results.entries]
    assert [text.get_text() for text in panel.texts] == spreads
    assert panel.get_xlim()[0] == 0


@pytest.mark.parametrize("labels", [SEVEN, ("averaged-perceptron", *SEVEN, "x" * 60)])
def test_nothing_overlaps(labels):
    results = made(labels=labels)
    for figure in (mistakes_figure(results, "drawn"), errors_figure(results, "drawn", TEST_ERROR)):
        assert_apart(figure)
        assert figure.get_figwidth() == TEXT_WIDTH


def test_a_protocol_that_counts_and_tests_gets_both_figures_of_every_data_set(drawn):
    report = Report(made(("one", "two"), protocol="drawn"), None)
    [section] = [each for each in sections_of(report) if each.id == "runs"]
    names = ["mistakes-one", "test-error-one", "mistakes-two", "test-error-two"]
    assert list(section.figures(report)) == names
    assert render(report).count('<img src="data:image/svg+xml') == 4
