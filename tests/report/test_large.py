"""Reports of many rows: their pages stay small, and the browser lays out long tables only when asked."""

import re
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.large import write_large
from olbench.report.model import make_report
from olbench.report.tables import curves
from tests.report.pages import render


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    small, large = (tmp_path_factory.mktemp(name) for name in ("small", "large"))
    write_large(small, datasets=12, algorithms=35, points=10)
    write_large(large, datasets=101, algorithms=20, permutations=2, points=2)
    return small, large


def test_a_table_of_thousands_of_rows_is_folded_and_complete(folders):
    page = render(make_report(folders[1]))
    [results] = re.findall(r"<details><summary>Results .*?</details>", page, flags=re.DOTALL)
    assert results.startswith("<details><summary>Results (2,020 rows)</summary>")
    assert results.count("<tr") == 1 + 101 * 20
    assert "<details" not in render(make_report(folders[0]))


def test_the_curves_of_a_page_fit_its_budget(folders, monkeypatch):
    monkeypatch.setattr(curves, "MOST", 10_000)
    monkeypatch.setattr(curves, "FEWEST_POINTS", 5)
    report = make_report(folders[0])
    shown = curves.curve_data(report)
    size = sum(
        len(line)
        for dataset in shown["curves"].values()
        for bands in dataset["algorithms"].values()
        for band in (*bands.pop("windows").values(), *bands.values())
        for line in band
    )
    assert 0.8 * curves.MOST < size <= curves.MOST
    assert 1 < shown["most"] < 35
    for name, drawn in shown["curves"].items():
        rates = {entry.label: entry.mean(report.headline) for entry in report.results.of(name)}
        assert set(drawn["algorithms"]) == set(sorted(rates, key=rates.get)[: shown["most"]])
        assert len(drawn["t"]) == 5


def test_of_many_curves_the_best_are_in_colour_unless_others_are_highlighted(folders):
    report = make_report(folders[0])
    shown = curves.curve_data(report)
    assert len(shown["styles"]) - len(shown["grey"]) == curves.FRONT
    label = shown["grey"][0]
    highlighted = replace(report, results=report.results.highlight([label]))
    assert set(shown["styles"]) - set(curves.curve_data(highlighted)["grey"]) == {label}


def test_a_thinned_curve_keeps_its_end_and_even_gaps():
    for size in (0, 1, 25, 26, 50, 999):
        places = curves.thin(size, 25)
        assert places.size == min(size, 25)
        if size:
            assert places[-1] == size - 1
            assert np.ptp(np.diff(places, prepend=-1)) <= 1
