"""Mistakes and test errors over runs are drawn as they are in the record."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from olbench.analysis.results import Entry, Results
from olbench.papers.cw2008.figures import errors_figure, mistakes_figure
from olbench.records.quantities import TEST_ERROR
from olbench.report.figures.palette import display_name
from olbench.report.figures.style import save
from tests.papers import folds
from tests.report.test_figures import assert_apart

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


def made(datasets=("drawn",), labels=SEVEN, runs: int = RUNS) -> Results:
    entries = [entry(name, label, k, runs) for name in datasets for k, label in enumerate(labels)]
    return folds.results(entries)


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


def test_test_errors_are_drawn_with_mean_quartiles_and_extremes():
    results = made()
    [panel] = errors_figure(results, "drawn", TEST_ERROR).axes
    lines = {line.get_gid(): line for line in panel.get_lines() if line.get_gid()}
    boxes = {patch.get_gid(): patch for patch in panel.patches}
    for each in results.entries:
        values = 100 * each.values(TEST_ERROR)
        assert lines[each.label].get_xdata()[0] == pytest.approx(values.mean())
        assert tuple(lines[f"range {each.label}"].get_xdata()) == (values.min(), values.max())
        box = boxes[f"quartiles {each.label}"]
        first, third = np.quantile(values, (0.25, 0.75))
        assert (box.get_x(), box.get_x() + box.get_width()) == pytest.approx((first, third))


def test_nothing_overlaps_and_bytes_repeat(tmp_path: Path):
    results = made(labels=("averaged-perceptron", *SEVEN, "x" * 60))
    for draw in (mistakes_figure, lambda *given: errors_figure(*given, TEST_ERROR)):
        assert_apart(draw(results, "drawn"))
        first, second = (save(draw(results, "drawn"), tmp_path / name) for name in ("first", "second"))
        assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
