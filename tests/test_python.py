"""The Python interface: figures, tables, notebook displays, short reprs, Parquet files."""

import json
import re
import sys
import types

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import olbench
from olbench.data.dataset import Dataset
from olbench.engine.progress import NotebookBars
from tests.refusals import find_wrong, refusal


@pytest.fixture(scope="module")
def scw():
    return olbench.load_results("scw")


def test_a_pass_takes_an_id_and_the_settings_of_its_algorithm():
    X, y = np.random.default_rng(0).standard_normal((50, 4)), np.resize([1, -1, -1], 50)
    made = olbench.make_algorithm("scw1", C=0.5, covariance="diag")
    by_id = olbench.online_pass("scw1", X, y, C=0.5, covariance="diag")
    np.testing.assert_array_equal(by_id.weights, olbench.online_pass(made, X, y).weights)
    assert "C: scw1 is made already" in refusal(olbench.online_pass, made, X, y, C=1.0)
    assert "unknown parameter" in refusal(olbench.online_pass, "scw1", X, y, D=1.0)
    assert "arrow" in refusal(olbench.online_pass, "arrow", X, y)


def test_reprs_are_short_and_have_the_facts(scw):
    data = Dataset("many", np.zeros((100_000, 3)), np.ones(100_000), "0123456789abcdef")
    assert repr(data) == "<Dataset 'many': 100,000 × 3, dense, fingerprint 01234567>"
    X, y = np.eye(2), np.array([1, -1])
    result = olbench.online_pass("pa", X, y)
    assert repr(result).startswith("<PassResult of pa: examples 2, mistakes 1 (50.00%), updates 2, seconds")
    assert repr(scw.entries[0]) == "<Entry perceptron on splice: 20 of 20 trials>"
    assert "arow" in repr(olbench.make_algorithm("arow", kernel="rbf"))
    for each in (data, result, scw.entries[0], scw):
        assert len(repr(each)) < 120
    html = scw._repr_html_()  # a notebook shows a run as a table
    assert (html.count("<table"), html.count("<tr>")) == (1, 1 + len(scw.datasets))
    assert "12 data sets, 14 algorithms" in html
    assert "Bold: best mistake rate in our run" in html


def test_the_table_is_that_of_the_report(scw):
    table = olbench.plot.table(scw)
    headline = scw.protocol.quantities[0]
    for entry in scw.entries:
        shown = table[entry.label][table["data set"].index(entry.dataset)]
        assert (shown.mean, shown.deviation) == entry.spread(headline)
    assert len(table.best) == sum(map(scw.is_best, scw.entries))
    assert table.to_frame()["arow_mean"].tolist() == [cell.mean for cell in table["arow"]]
    assert r"SCW-I & \textbf{0.2295 $\pm$ 0.0103} & " in olbench.plot.table(scw, "results").to_latex()
    assert olbench.plot.table(scw, "updates").best == frozenset()
    assert olbench.plot.table(scw, "ranking")["algorithm"][0] == "scw1"
    assert repr(table) == str(table)
    assert len(olbench.plot.table(olbench.load_results("scw"), "claims").rows) > 2
    unknown = refusal(olbench.plot.table, scw, "speed")
    assert "measures no 'speed'; it measures mistake_rate, " in unknown
    assert "its tables are ranking, " in unknown
    assert ", claims, " in unknown
    assert "the report has no table 'confusion'" in refusal(olbench.plot.table, scw, "confusion")


def test_curves_come_as_a_figure_or_in_given_axes(scw):
    figure = olbench.plot.curves(scw, "w7a")
    assert (isinstance(figure, Figure), len(figure.axes)) == (True, 3)
    assert len(olbench.plot.curves(scw, "w7a", "updates").axes) == 1
    assert len(olbench.plot.curves(scw).axes) == len(scw.datasets)
    ax = Figure().add_subplot()
    assert olbench.plot.curves(scw, "w7a", "mistake_rate", algorithms=["scw2", "arow"], ax=ax) is ax
    # In the order of the run, and as they look among all.
    drawn = {line.get_label(): line for line in ax.get_lines()}
    assert list(drawn) == ["AROW", "SCW-II"]
    whole = {line.get_label(): line for line in olbench.plot.curves(scw, "w7a").axes[0].get_lines()}
    assert whole["AROW"].get_color() == drawn["AROW"].get_color()
    [arow] = [entry for entry in scw.of("w7a") if entry.label == "arow"]
    np.testing.assert_allclose(drawn["AROW"].get_ydata(), arow.curves["mistakes"].mean(axis=0) / arow.points)
    cases = [
        ({"dataset": "w7"}, "no data set 'w7' (did you mean 'w7a'"),
        ({"dataset": "w7a", "quantity": "speed"}, "no curve of 'speed'"),
        ({"algorithms": ["scw3"]}, "no algorithm 'scw3'"),
        ({"ax": ax}, "choose one to draw"),
    ]
    assert find_wrong(cases, lambda wanted: olbench.plot.curves(scw, **wanted)) == []


def test_ranks_come_as_a_figure_or_inside_given_axes(scw):
    data, size = olbench.plot.ranks(scw)._repr_png_()  # without pyplot
    assert (data[:4], size["width"]) == (b"\x89PNG", 770)
    ax = Figure().add_subplot()
    assert isinstance(olbench.plot.ranks(scw, ax=ax), Axes)
    alone = olbench.Results(scw.folder, scw.run, tuple(scw.of("w7a")))
    assert "no average ranks" in refusal(olbench.plot.ranks, alone)


def test_parquet_files_hold_what_the_frames_hold(scw, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    trials, curves = (pd.read_parquet(path) for path in scw.to_parquet(tmp_path / "new"))
    frame = scw.to_frame()
    assert trials["mistake_rate"].tolist() == frame["mistake_rate"].tolist()
    assert [json.loads(text) for text in trials["params"]] == frame["params"].tolist()
    ends = curves.groupby(["dataset", "label", "number"]).last()
    wanted = frame.set_index(["dataset", "label", "number"]).loc[ends.index]
    assert (ends["mistakes"] == wanted["mistakes"]).all()
    assert (ends["t"] == wanted["n"]).all()
    assert curves["updates"].dtype == np.int64
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "olbench[parquet]" in refusal(scw.to_parquet, tmp_path)


class Shell:
    """IPython in a notebook; in a terminal it has no `kernel`."""

    kernel = object()


@pytest.fixture
def notebook(monkeypatch):
    """Pretend to be a notebook; return what is displayed, one list of texts per place below a cell."""
    places = []

    class Place:
        def __init__(self, shown, display_id):
            places.append([])
            self.update(shown)

        def update(self, shown):
            places[-1].append(shown._repr_mimebundle_([], [])["text/plain"])

    display = types.SimpleNamespace(display=Place)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=Shell, display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(NotebookBars, "PAUSE", 0.0)
    return places


SPEC = {"datasets": ["breast-cancer"], "algorithms": ["perceptron", "pa1"], "permutations": 3}


def test_a_run_shows_a_bar_in_a_notebook_unless_it_is_quiet(notebook, tmp_path, capfd, monkeypatch):
    olbench.run(SPEC, tmp_path / "run", jobs=1)
    [texts] = notebook
    assert "preparing the trials" in texts[0]
    counts = [int(found[1]) for text in texts if (found := re.search(r"all .* (\d)/6 ", text))]
    assert counts == sorted(counts)
    assert counts[-1] == 6
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(NotebookBars, "PAUSE", 3600.0)
    olbench.run(SPEC, tmp_path / "seldom", jobs=1)
    first, last = notebook[1]  # it is drawn at the start and once more at the end
    assert "6/6" not in first
    assert "6/6" in last
    shown = len(notebook)
    olbench.run(SPEC, tmp_path / "quiet", jobs=1, quiet=True)
    monkeypatch.delattr(Shell, "kernel")
    olbench.run(SPEC, tmp_path / "script", jobs=1)
    assert len(notebook) == shown
