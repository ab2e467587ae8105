"""What the documents show is what happens."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_tour_of_the_readme_prints_what_it_says():
    text = (ROOT / "README.md").read_text()
    tour, estimators = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    printed = io.StringIO()
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(printed):
        exec(tour, names)
    shown = "".join(f"    {line}\n" for line in printed.getvalue().splitlines())
    assert shown in text
    exec(estimators, names)


def test_every_page_that_is_linked_exists():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert link.startswith("http") or (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_tables_of_the_reproduction_are_those_of_the_record_that_ships():
    from olbench.report import verdicts
    from olbench.report.model import make_report
    from olbench.report.renderers import md as markdown
    from olbench.report.sections.verdicts import glance, verdict_map

    report = make_report(ROOT / "results/scw/reference")
    readme, page = (ROOT / name for name in ("README.md", "docs/REPRODUCTION.md"))
    rates = markdown.render([glance(report)]).strip()
    assert rates in readme.read_text(encoding="utf-8")
    assert rates in page.read_text(encoding="utf-8")
    assert markdown.render([verdict_map(report)]).strip() in page.read_text(encoding="utf-8")
    for quantity in report.judged:
        summary = verdicts.summary(report.judgements, quantity)
        assert summary in " ".join(readme.read_text(encoding="utf-8").split())


def test_the_verdicts_of_the_record_that_ships_are_those_expected():
    from olbench.report.model import make_report
    from olbench.report.verdicts import compare_expected, read_expected

    report = make_report(ROOT / "results/scw/reference")
    expected = read_expected(ROOT / "results/scw/expected.yaml")
    assert len(expected) == 144 + len(report.claims)
    assert compare_expected(expected, report.judgements, report.claims) == []


def test_the_example_of_a_protocol_is_the_file_and_prints_what_the_page_shows(tmp_path):
    page = (ROOT / "docs/own-protocol.md").read_text(encoding="utf-8")
    code, python = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert code == (ROOT / "docs/examples/my_protocol.py").read_text(encoding="utf-8")
    [config] = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    (tmp_path / "my_protocol.py").write_text(code, encoding="utf-8")
    (tmp_path / "halves.yaml").write_text(config, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = [sys.executable, "-m", "olbench", "run", "halves.yaml"]
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    table = [line.rstrip() for line in done.stdout.splitlines() if " ± " in line]
    assert len(table) == 6
    assert "".join(f"    {line}\n" for line in table) in page
    check = f"{python}assert 0.5 < right.mean() < 1 and right.size == 284"
    done = subprocess.run([sys.executable, "-c", check], cwd=tmp_path, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_the_tables_of_the_cw_reproduction_are_those_of_the_records_that_ship():
    from olbench.report import verdicts
    from olbench.report.model import make_report
    from olbench.report.renderers import md as markdown
    from olbench.report.sections import overview, results, tunings
    from olbench.report.summary import reproductions

    page = (ROOT / "docs/REPRODUCTION-cw.md").read_text(encoding="utf-8")
    report = make_report(ROOT / "results/cw/reference")
    assert markdown.render(overview.parts(report)).strip() in page
    assert markdown.render([tunings.side_by_side(report), tunings.verdict_counts(report)]).strip() in page
    digits = make_report(ROOT / "results/cw-usps/reference")
    assert markdown.render(overview.parts(digits)).strip() in page
    [paper] = reproductions([ROOT / f"results/{name}/reference" for name in ("cw", "cw-usps")])
    [counts] = paper.counts.values()
    headline = (
        f"**{counts['reproduced']} of {counts.total()} test errors reproduced, {counts['close']} close, "
        f"{counts['differs']} differ, {counts['not comparable']} not comparable**"
    )
    for path in ("README.md", "docs/REPRODUCTION-cw.md"):
        assert headline in " ".join((ROOT / path).read_text(encoding="utf-8").split())
    apart = [
        verdicts.count(each.judgements, each.judged[0], suspect=True)["differs"] for each in (report, digits)
    ]
    assert sum(apart) == 12
    synthetic = make_report(ROOT / "results/cw-synthetic/reference")
    assert markdown.render(results.parts(synthetic)).strip() in page


@pytest.mark.parametrize(
    ("name", "better", "worse", "fewest"),
    [
        ("cw", "var-KL", "var-Exact", 12),
        ("cw", "var-KL", "perceptron", 11),
        ("cw", "var-KL", "pa", 11),
        ("cw-synthetic", "stdev-full", "var-full", 2),
        ("cw-synthetic", "stdev-full", "perceptron", 2),
    ],
)
def test_the_records_that_ship_show_what_the_page_says(name, better, worse, fewest):
    from olbench import load_results

    frame = load_results(ROOT / f"results/{name}/reference").to_frame()
    quantity = "test_error" if name == "cw" else "mistakes"
    means = frame.groupby(["dataset", "label"])[quantity].mean().unstack()
    assert int((means[better] < means[worse]).sum()) >= fewest


def test_the_variations_of_the_cw_runs_show_what_the_page_says():
    from olbench import load_results
    from olbench.report.model import make_report

    frame = load_results(ROOT / "results/cw-tfidf/reference").to_frame()
    errors = 100 * frame.groupby(["dataset", "label"])["test_error"].mean().unstack()
    lower = {
        name: int((errors[f"{name}-tfidf"] < errors[name]).sum())
        for name in ("var-KL", "stdev-KL", "perceptron", "pa", "svm")
    }
    assert lower == {"var-KL": 13, "stdev-KL": 12, "perceptron": 13, "pa": 13, "svm": 13}
    means = errors.mean().round(2)
    assert list(means[["var-KL", "svm", "var-KL-tfidf", "svm-tfidf", "var-KL-unit", "svm-unit"]]) == [
        9.74, 11.46, 9.23, 9.52, 9.62, 10.83,
    ]  # fmt: skip
    claims = {each.id: each for each in make_report(ROOT / "results/cw-unbalanced/reference").claims}
    assert claims["cw-improves-on-unbalanced-labels"].evidence.startswith("on 12 of 13 data sets")


def test_the_times_of_the_cw_run_are_those_of_the_page():
    from olbench import load_results

    frame = load_results(ROOT / "results/cw-times/reference").to_frame()
    assert set(frame["timing"]) == {"exclusive"}
    seconds = frame.groupby(["dataset", "label"])["seconds"].mean().unstack()
    columns = ["var-KL", "var-Exact", "perceptron", "pa", "maxent", "svm"]
    cells = " | ".join(f"{1000 * mean:.1f}" for mean in seconds[columns].mean())
    page = (ROOT / "docs/REPRODUCTION-cw.md").read_text(encoding="utf-8")
    assert f"| ours, milliseconds | {cells} |" in page
    assert round((seconds["var-KL"] / seconds["pa"]).median(), 1) == 1.7
    slower = seconds["svm"] / seconds["var-KL"]
    assert (round(slower.median()), round(slower.min()), round(slower.max())) == (4, 3, 79)
    epochs = frame.groupby("label")["epochs"].mean().round(1)
    assert list(epochs[["var-KL", "pa", "var-Exact"]]) == [6.6, 6.6, 4.3]


@pytest.mark.parametrize(("run", "rows"), [("shards", 9), ("shards-many", 18)])
def test_the_table_of_shards_is_that_of_the_record_that_ships(run, rows):
    from dataclasses import replace

    from olbench.report.model import make_report
    from olbench.report.renderers import md as markdown
    from olbench.report.sections import shards

    report = make_report(ROOT / f"results/{run}/reference")
    grid = next(iter(shards.parts(report)))
    shown = [
        k for k, column in enumerate(grid.columns) if column.heading not in ("algorithm", "MB of a model")
    ]
    shown_rows = tuple(row for row in grid.rows if row[1].text == "var-KL")
    grid = replace(grid, rows=shown_rows, note="").keep(shown)
    table = markdown.render([grid]).strip().partition("\n\n")[2]
    assert table.count("\n") == 1 + rows
    assert table in (ROOT / "docs/scale.md").read_text(encoding="utf-8")


def test_the_claims_about_shards_are_decided_as_the_page_says():
    from olbench.report.model import make_report

    claims = {claim.id: claim.verdict for claim in make_report(ROOT / "results/shards/reference").claims}
    assert all(claims[f"combining-{n}-beats-the-parts"] == "holds" for n in (10, 50, 100))
    assert claims["cw-leads-on-rare-features"] == claims["pa-leads-on-frequent-features"] == "holds"
    assert claims["untuned-pa-leads-on-frequent-features"] == "reversed"
    assert claims["ten-shards-are-best-on-frequent-features"] == "holds"
    assert claims["ten-shards-beat-pa-on-rare-features"] == "reversed"


@pytest.mark.parametrize("shards", [10, 50, 100])
@pytest.mark.parametrize("dataset", ["corpus-rare-million", "corpus-frequent-million"])
def test_the_table_of_a_million_documents_is_that_of_the_record_that_ships(dataset, shards):
    from olbench import load_results

    frame = load_results(ROOT / "results/shards-million/reference").to_frame()
    means = 100 * frame[frame["dataset"] == dataset].groupby("label")["accuracy"].mean()
    names = ["var-KL", *(f"var-KL ({shards} shards, {way})" for way in ("average", "L2", "KL")), "pa1"]
    numbers = [means[name] for name in names]
    page = (ROOT / "docs/scale.md").read_text(encoding="utf-8").replace("**", "")
    [row] = re.findall(rf"^\| {dataset} \| {shards} \| (.*) \|$", page, flags=re.MULTILINE)
    assert [float(text) for text in row.split(" | ")] == pytest.approx(numbers, abs=0.0051)


def test_the_examples_of_the_python_page_print_what_they_show(tmp_path, monkeypatch):
    import doctest

    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    example = doctest.DocTestParser().get_doctest(page, {}, "python.md", "python.md", 0)
    report = io.StringIO()
    doctest.DocTestRunner(verbose=False).run(example, out=report.write)
    assert report.getvalue() == ""


def test_no_picture_is_older_than_its_run(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    import gallery

    drawn = json.loads(gallery.DIGESTS.read_text(encoding="utf-8"))
    pictures = gallery.read_gallery()
    assert len(pictures) > 5
    old = [file for run, _, file in pictures if drawn.get(file) != gallery.hash_run(run)]
    assert old == [], "draw them again with `make docs-figures`"
