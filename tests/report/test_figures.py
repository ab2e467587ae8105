"""Figures show the record and nothing else, hide no data, and are the same bytes every time."""

import itertools
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from scipy import stats

from olbench.algorithms import definitions
from olbench.analysis.results import Entry, Results, load_results
from olbench.errors import UserError
from olbench.records.quantities import MISTAKE_RATE, UPDATES
from olbench.report.figures.palette import STYLES, display_name, styles
from olbench.report.figures.run import (
    FOCUS,
    confusion_figure,
    critical_difference_figure,
    curves_figure,
    find_looks,
    overview_figure,
    save_figures,
)
from olbench.report.figures.style import PAGE_HEIGHT
from olbench.report.formats import file_name, file_names
from olbench.report.model import Report
from tests import ROOT

SMALL = Path(__file__).with_name("small")
DATASETS = ["svmguide3", "synthetic", "splice"]


@pytest.fixture(scope="module")
def small() -> Results:
    return load_results(SMALL)


def change(results: Results, edit) -> Results:
    return replace(results, entries=tuple(edit(entry) for entry in results.entries))


def first(entry: Entry, count: int) -> Entry:
    """Return an entry of which only the first permutations are done."""
    curves = {name: values[:count] for name, values in entry.curves.items()}
    columns = {name: column[:count] for name, column in entry.columns.items()}
    return replace(entry, columns=columns, curves=curves)


def lines(panel) -> dict:
    return {line.get_label(): line for line in panel.get_lines()}


def texts_of(figure: Figure) -> list[Text]:
    """Return the texts that are drawn: matplotlib keeps ticks beyond the limits of their axis as well."""
    beyond = {
        text
        for panel in figure.findobj(Axes)
        for axis, (low, high) in ((panel.xaxis, panel.get_xbound()), (panel.yaxis, panel.get_ybound()))
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for text in (tick.label1, tick.label2)
        if not axis.get_visible() or not low <= tick.get_loc() <= high
    }
    texts = (text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip())
    return [text for text in texts if text not in beyond]


def assert_apart(figure: Figure) -> None:
    """Check that no text covers another or leaves the page, and that the legend covers no panel."""
    figure.draw_without_rendering()
    boxes = {text: text.get_window_extent() for text in texts_of(figure)}
    for (one, box), (other, its_box) in itertools.combinations(boxes.items(), 2):
        assert not box.padded(-0.5).overlaps(its_box.padded(-0.5)), (one.get_text(), other.get_text())
    page = figure.bbox
    for text, box in boxes.items():
        assert page.x0 <= box.x0 < box.x1 <= page.x1, text.get_text()
        assert page.y0 <= box.y0 < box.y1 <= page.y1, text.get_text()
    panels = [panel.get_tightbbox() for panel in figure.axes]
    assert not any(legend.get_window_extent().overlaps(box) for legend in figure.legends for box in panels)


def test_the_three_panels_draw_the_means_of_the_record(small: Results):
    rates, updates, seconds = curves_figure(small, "synthetic").axes
    for entry in small.of("synthetic"):
        name = display_name(entry.label)
        for panel, values in (
            (rates, entry.curves["mistakes"] / entry.points),
            (updates, entry.curves["updates"]),
            (seconds, entry.curves["seconds"]),
        ):
            np.testing.assert_array_equal(lines(panel)[name].get_xdata(), entry.points)
            np.testing.assert_allclose(lines(panel)[name].get_ydata(), values.mean(axis=0))
        assert lines(rates)[name].get_ydata()[-1] == pytest.approx(entry.mean(MISTAKE_RATE))


def test_a_band_is_one_deviation_or_the_interval_of_the_mean(small: Results):
    """Student's t by SciPy's own formula; one permutation has no band."""
    bands = {kind: curves_figure(small, "splice", band=kind) for kind in ("deviation", "interval")}
    assert "95% intervals of the means" in bands["interval"].get_suptitle()
    for kind, figure in bands.items():
        for entry, band in zip(small.of("splice"), figure.axes[1].collections, strict=True):
            edge = band.get_paths()[0].vertices
            last = edge[edge[:, 0] == entry.points[-1], 1]
            mean, deviation = entry.spread(UPDATES)
            ends = stats.t.interval(0.95, entry.done - 1, mean, stats.sem(entry.values(UPDATES)))
            wanted = (mean - deviation, mean + deviation) if kind == "deviation" else ends
            assert (last.min(), last.max()) == pytest.approx(wanted)
    with pytest.raises(UserError, match="a band must be deviation or interval, not 'error'"):
        curves_figure(small, "splice", band="error")
    figure = curves_figure(change(small, lambda entry: first(entry, 1)), "splice")
    assert not any(panel.collections for panel in figure.axes)


def test_no_level_is_cut_off_below_zero(small: Results):
    """Kappa can be negative."""

    def lower(entry: Entry) -> Entry:
        return replace(entry, curves={**entry.curves, "mistakes": entry.curves["mistakes"] - entry.points})

    panel = curves_figure(change(small, lower), "splice").axes[0]
    assert panel.get_ylim()[0] < min(line.get_ydata().min() for line in panel.lines) < -0.6
    assert len(panel.collections) == 5


def test_shared_times_are_called_shared_and_have_no_band(small: Results):
    def share(entry: Entry) -> Entry:
        return replace(entry, columns={**entry.columns, "timing": np.full(entry.done, "shared")})

    shared = curves_figure(change(small, share), "splice").axes[2]
    assert shared.get_title("left") == "cumulative time (s), shared"
    assert not shared.collections
    mixed = change(small, lambda entry: share(entry) if entry.label == "cw" else entry)
    assert curves_figure(mixed, "splice").axes[2].get_title("left") == "cumulative time (s), partly shared"


def test_an_axis_is_logarithmic_where_the_algorithms_end_a_decade_apart(small: Results):
    def edit(entry: Entry) -> Entry:
        scaled = {**entry.curves, "updates": entry.curves["updates"] * 20}
        return replace(entry, curves=scaled) if entry.label == "arow" else entry

    for results, scale in ((small, "linear"), (change(small, edit), "log")):
        rates, updates, _ = curves_figure(results, "splice").axes
        assert (rates.get_yscale(), updates.get_yscale()) == ("linear", scale)


def test_no_text_covers_another_whatever_the_names():
    long = {
        name: f"a/rather/long/path/to/the/examples-of-{name}.libsvm" for name in ("usps", "w7a", "splice")
    }
    run = renamed(load_results("scw"), long)
    labels = {label: f"{label} (tuned, C=0.0625, eta=0.75)" for label in run.labels[::2]}
    run = change(run, lambda entry: replace(entry, label=labels.get(entry.label, entry.label)))
    run = run.highlight([labels.get("arow", "arow")])
    assert len(run.labels) == 14
    curves, overview = curves_figure(run, long["usps"]), overview_figure(run)
    ranks = critical_difference_figure(Report(run, None).across, find_looks(run))
    confusion = confusion_figure(long["usps"], "cw", np.eye(12, dtype=int) * 1000)
    many = [replace(entry, dataset=f"data {i}") for i in range(20) for entry in run.of(long["usps"])]
    tall = overview_figure(replace(run, entries=tuple(many)))
    assert tall.get_figheight() <= PAGE_HEIGHT
    for figure in (curves, overview, ranks, confusion, tall):
        assert_apart(figure)
    for figure in (curves, overview):
        named = {text.get_text() for text in figure.legends[0].get_texts()}
        assert named == {display_name(label) for label in run.labels}


def test_figures_for_papers_have_no_heading_but_the_names_of_their_panels(small: Results, tmp_path: Path):
    for titles in (True, False):
        save_figures(Report(small, None), tmp_path, ("svg",), titles)
        overview, ranks = ((tmp_path / f"{name}.svg").read_text() for name in ("overview", "ranks"))
        assert (
            ("<!-- Against the number of samples" in overview) == titles == ("<!-- Average ranks by" in ranks)
        )
        assert all(f"<!-- {name} -->" in overview for name in DATASETS)


def test_of_too_many_algorithms_the_best_and_the_baselines_are_named(small: Results):
    labels = [each.id for each in definitions()]
    one = small.of("splice")[0]
    many = replace(small, entries=tuple(replace(one, label=label) for label in labels))
    figure = curves_figure(many, "splice")
    assert_apart(figure)
    texts = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"no change", "majority so far", f"{len(labels) - FOCUS - 2} others"} <= texts
    assert len(texts) == FOCUS + 3
    for panel in figure.axes:
        assert len([line for line in panel.get_lines() if len(line.get_xdata()) > 2]) == len(labels)


def test_every_algorithm_looks_different():
    own = [STYLES[each.id] for each in definitions() if each.module.startswith("olbench.")]
    assert len({(style.colour, style.marker, style.filled) for style in own}) == len(own)


def test_a_half_finished_run_draws_what_there_is(small: Results, tmp_path: Path):
    left = {"perceptron": 5, "cw": 2, "arow": 1, "scw1": 0, "scw2": 0}
    partial = change(small, lambda each: first(each, each.dataset != "splice" and left[each.label]))
    assert set(lines(curves_figure(partial, "synthetic").axes[0])) == {"Perceptron", "CW", "AROW"}
    names = [path.name for path in save_figures(Report(partial, None), tmp_path, ("svg",))]
    assert names == ["curves-svmguide3.svg", "curves-synthetic.svg", "overview.svg"]
    with pytest.raises(UserError, match="no trial on splice yet"):
        curves_figure(partial, "splice")
    nothing = change(small, lambda entry: first(entry, 0))
    assert save_figures(Report(nothing, None), tmp_path) == []


def test_the_diagram_has_ranks_bars_and_the_critical_difference():
    ranks = {"perceptron": 4.9, "cw": 3.6, "arow": 2.5, "scw1": 1.5, "scw2": 2.5}
    groups = (("scw1", "arow", "scw2", "cw"), ("arow", "scw2", "cw"), ("perceptron",))
    across = SimpleNamespace(
        datasets="abcd", labels=tuple(ranks), ranks=ranks, critical_difference=2.3, groups=groups
    )
    figure = critical_difference_figure(across, styles(across.labels))
    [panel] = figure.axes
    drawn = [(line.get_gid(), list(line.get_xdata())) for line in panel.get_lines()]
    assert all((label, [rank]) in drawn for label, rank in ranks.items())
    assert [x for gid, x in drawn if gid == "group"] == [[1.5, 3.6], [2.5, 3.6]]
    assert ("CD", [1, 1 + 2.3]) in drawn
    texts = [text.get_text().strip() for text in [*panel.texts, *figure.texts]]
    assert {"SCW-I  1.50", "4.90  Perceptron", "CD = 2.30"} <= set(texts)
    assert "k = 5 algorithms, N = 4 data sets" in texts[-1]
    assert_apart(figure)


def test_the_same_record_gives_the_same_bytes_in_another_process(small: Results, tmp_path: Path):
    here = save_figures(Report(small, None), tmp_path / "here")
    code = (
        "import sys, matplotlib; matplotlib.rcParams.update({'lines.linewidth': 9, 'font.size': 30})\n"
        "from pathlib import Path\n"
        "from olbench.report.model import Report\n"
        "from olbench.report.figures.run import save_figures\n"
        "from tests.report.test_figures import SMALL, load_results\n"
        "save_figures(Report(load_results(SMALL), None), Path(sys.argv[1]))"
    )
    other = {"PYTHONHASHSEED": "7", "SOURCE_DATE_EPOCH": "0"}
    subprocess.run([sys.executable, "-c", code, tmp_path / "there"], check=True, cwd=ROOT, env=other)
    expected = [f"curves-{name}" for name in DATASETS] + ["overview", "ranks", "pairwise"]
    assert [path.name for path in here] == [f"{name}.{f}" for name in expected for f in ("png", "pdf", "svg")]
    for path in here:
        assert path.read_bytes() == (tmp_path / "there" / path.name).read_bytes(), path.name


def renamed(results: Results, names: dict[str, str]) -> Results:
    return change(results, lambda entry: replace(entry, dataset=names.get(entry.dataset, entry.dataset)))


def test_names_with_signs_of_formulas_or_without_a_glyph_are_drawn(small: Results, tmp_path: Path):
    names = {"splice": "a$b_$c.libsvm", "synthetic": "数据"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paths = save_figures(Report(renamed(small, names), None), tmp_path, ("png",))
    found = {path.name for path in paths}
    assert {"curves-a-b_-c.libsvm.png", "curves-数据.png"} <= found


@pytest.mark.parametrize("name", ["n" * 300, "漢" * 200, "a/b" * 100])
def test_a_long_name_of_a_data_set_gives_a_file_name_that_fits(name):
    assert len(f"curves-{file_name(name)}-2.pdf".encode()) < 255
    assert len(set(file_names([name, f"{name}x", f"{name}y"]).values())) == 3
