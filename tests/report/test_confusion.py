"""The confusion matrix of several classes: in the record, in tables, in JSON and as a picture."""

import json

import numpy as np
import pytest

import olbench
from olbench.records.shipped import find_run
from olbench.report.model import make_report
from olbench.report.tables import classes
from olbench.report.tables.classes import confusion, confusion_figures
from tests.refusals import refusal
from tests.report.pages import render


def test_a_matrix_names_the_classes_of_a_table(tmp_path):
    path = tmp_path / "plants.csv"
    path.write_text("".join(f"{k % 7},{k % 5},{['stem', 'leaf', 'root'][k % 3]}\n" for k in range(60)))
    config = {"datasets": [{"path": str(path), "labels": "all"}], "algorithms": ["pa1"], "permutations": 1}
    olbench.run(config, tmp_path / "run", jobs=1)
    report = make_report(tmp_path / "run")
    (table,) = confusion(report)
    assert table.note == ""
    assert [each.heading for each in table.columns] == ["true class", "leaf", "root", "stem"]
    assert table["true class"] == ["leaf", "root", "stem"]
    (figure,) = (draw() for draw in confusion_figures(report).values())
    assert [each.get_text() for each in figure.axes[0].get_yticklabels()] == ["leaf", "root", "stem"]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "digits"
    data = {"name": "digits-1-vs-7", "labels": "all"}
    olbench.run({"datasets": [data], "algorithms": ["perceptron", "pa1"], "permutations": 2}, folder, jobs=1)
    return make_report(folder)


def test_the_matrix_adds_up_to_the_counts(report):
    document = json.loads(render(report, "json"))
    for entry in report.rows:
        matrix = np.array(document["confusion"][entry.dataset][entry.label])
        assert matrix.shape == (10, 10)
        assert matrix.sum() == entry.columns["n"].sum() == 2 * 1797
        assert matrix.sum() - np.trace(matrix) == entry.columns["mistakes"].sum()


def test_tables_show_the_best_algorithm_and_many_classes_as_pairs(report, monkeypatch):
    (table,) = confusion(report)
    (best,) = report.results.within
    assert report.results.within[best][0] in table.caption
    assert len(table.rows) == 10
    monkeypatch.setattr(classes, "WIDEST", 9)
    (table,) = confusion(report)
    assert len(table.rows) == classes.PAIRS
    assert table["times"] == sorted(table["times"], reverse=True)


@pytest.mark.parametrize("measure", ["mcc", "f1", "auc"])
def test_a_report_refuses_measures_of_two_classes_as_a_run_does(report, measure):
    sentence = f"digits-1-vs-7[all] has 10 classes, and {measure} is a measure of two; use mistake_rate, "
    data = {"name": "digits-1-vs-7", "labels": "all"}
    config = {"datasets": [data], "algorithms": ["pa1"], "permutations": 1, "measures": [measure]}
    assert refusal(make_report, report.results.folder, ["accuracy", measure]).startswith(sentence)
    assert refusal(olbench.run, config, report.results.folder.parent / "refused").startswith(sentence)
    assert "splice has two classes; use f1" in refusal(make_report, find_run("scw"), ["macro_f1"])


def test_curves_are_drawn_of_measures_that_they_count(report):
    asked = make_report(report.results.folder, ["accuracy", "balanced_accuracy", "kappa"])
    names = ["accuracy", "mistakes", "updates", "seconds"]
    assert [each.name for each in asked.protocol.series] == names
    for entry in asked.rows:
        correct = 1 - entry.curves["mistakes"] / entry.points
        np.testing.assert_allclose(entry.curves["accuracy"], correct)
