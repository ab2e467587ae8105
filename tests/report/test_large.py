"""Reports grow in proportion to their rows, in time and in size."""

import gzip
import re
from base64 import b64decode

import numpy as np
import pytest

from benchmarks.large import write_large
from olbench.report.document import report_document
from olbench.report.grid import Box, Column, Grid, left, right
from olbench.report.model import make_report
from olbench.report.renderers import text
from olbench.report.sections import curves
from tests.report.pages import render, render_csv


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    small, large = (tmp_path_factory.mktemp(name) for name in ("small", "large"))
    write_large(small, datasets=12, algorithms=35, points=10)
    write_large(large, datasets=24, algorithms=90, points=10)
    return small, large


@pytest.fixture(scope="module")
def page(folders):
    return render(make_report(folders[1]))


def test_a_large_page_is_compressed_and_complete(folders, page):
    report = make_report(folders[1])
    packed = [
        gzip.decompress(b64decode(each)).decode()
        for each in re.findall(r'<script type="application/gzip" class="packed">([^<]*)</script>', page)
    ]
    assert report_document(report).large
    # The results, the costs, the pairs, and the differences within each data set.
    assert len(packed) == 3 + 24
    assert packed[0].count("<tr") + packed[1].count("<tr") == 2000 + 24 * 90
    [table] = re.findall(r'download="[^"]*.csv.gz" href="data:application/gzip[^,]*,([^"]*)"', page)
    assert gzip.decompress(b64decode(table)).decode() == render_csv(report)


def test_the_curves_of_a_page_fit_its_budget(folders, monkeypatch):
    monkeypatch.setattr(curves, "MOST", 10_000)
    monkeypatch.setattr(curves, "FEWEST_POINTS", 5)
    report = make_report(folders[0])
    shown = curves.page(report)
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


def test_a_thinned_curve_keeps_its_end_and_even_gaps():
    for size in (0, 1, 25, 26, 50, 999):
        places = curves.thin(size, 25)
        assert places.size == min(size, 25)
        if size:
            assert places[-1] == size - 1
            assert np.ptp(np.diff(places, prepend=-1)) <= 1


def test_the_quick_layout_of_a_table_is_that_of_rich(monkeypatch):
    columns = (*left("name", "words"), *right("a", "long heading"), Column("mark", "center"))
    texts = [("x", "ä–×", "1", "2.5", "✓"), ("data 漢字", "", "100", "", ""), ("", "y", "−3", "4", "ab")]
    rows = tuple(
        tuple(Box(each, bold=place == 2 and number == 1) for place, each in enumerate(row))
        for number, row in enumerate(texts)
    )
    widths = (30, 60, 200)
    quick = [text.render([Grid("Title", columns, rows, "note")], width) for width in widths]
    monkeypatch.setattr(text, "_is_plain", lambda grid: False)
    assert quick == [text.render([Grid("Title", columns, rows, "note")], width) for width in widths]
