"""The confusion matrix of several classes: in the record, in tables, in JSON and as a picture."""

import json

import numpy as np
import pytest

import olbench
from olbench.report.document import report_document
from olbench.report.model import make_report
from olbench.report.renderers import Screen, get_format
from olbench.report.sections import confusion


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "digits"
    data = {"name": "digits-1-vs-7", "labels": "all"}
    olbench.run({"datasets": [data], "algorithms": ["perceptron", "pa1"], "permutations": 2}, folder, jobs=1)
    return make_report(folder)


def test_the_matrix_adds_up_to_the_counts(report):
    document = json.loads(get_format("json").render(report_document(report), Screen(160, False)))
    for entry in report.rows:
        matrix = np.array(document["confusion"][entry.dataset][entry.label])
        assert matrix.shape == (10, 10)
        assert matrix.sum() == entry.columns["n"].sum() == 2 * 1797
        assert matrix.sum() - np.trace(matrix) == entry.columns["mistakes"].sum()


def test_tables_show_the_best_algorithm_and_many_classes_as_pairs(report, monkeypatch):
    (grid,) = confusion.parts(report)
    (best,) = report.results.within
    assert report.results.within[best][0] in grid.title
    assert len(grid.rows) == 10
    monkeypatch.setattr(confusion, "WIDEST", 9)
    (grid,) = confusion.parts(report)
    assert len(grid.rows) == confusion.PAIRS
    times = [int(row[2].text) for row in grid.rows]
    assert times == sorted(times, reverse=True)


def test_two_classes_have_no_such_section(tmp_path):
    olbench.run({"datasets": ["breast-cancer"], "algorithms": ["pa1"], "permutations": 1}, tmp_path, jobs=1)
    assert not confusion.applies(make_report(tmp_path))
