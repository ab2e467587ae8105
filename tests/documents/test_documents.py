"""The documents show what the code does."""

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys

import pytest
import yaml

from olbench import load_results
from olbench.analysis.claims import compare_expected, read_expected
from olbench.analysis.published import load_paper
from olbench.plugins import paper_ids
from olbench.protocols.reading import parse_config
from olbench.report.model import make_report
from olbench.structs import parse_yaml
from tests import ROOT
from tests.cases import for_each


def test_the_python_of_the_readme_prints_what_it_shows():
    text = (ROOT / "README.md").read_text()
    [code] = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    shown = "".join(f"    {line}\n" for line in printed.getvalue().splitlines())
    assert shown in text


def test_every_page_and_place_that_is_linked_exists():
    names = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "AGENTS.md", "results/README.md")
    docs = ROOT / "docs"
    pages = [*(ROOT / name for name in names), *docs.glob("*.md"), *docs.glob("[pr]*/*.md")]
    for page in pages:
        for link, place in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", page.read_text()):
            target = page.parent / link if link else page
            assert link.startswith("http") or target.exists(), f"{page.name}: {link}"
            if place and target.suffix == ".md":
                assert place in anchors(target), f"{page.name}: {link}#{place}"


def anchors(page):
    """Return the places of a page that a link can name, generated ones included."""
    text = page.read_text()
    known = {"functions", "measures", "protocol-crossval", "protocol-shards"}
    generated = known if "<!-- from the code" in text else set()
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return generated | {re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_the_config_of_cross_validation_can_be_read():
    page = (ROOT / "docs/reference/config.md").read_text()
    [text] = re.findall(r"```yaml\n(protocol: crossval\n.*?)```", page, flags=re.DOTALL)
    config = parse_config(parse_yaml(text, "config.md"), ROOT)
    assert config.tuning.ways == ("nested", "oracle")


def test_the_readme_and_the_site_are_short_enough_to_be_read():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120
    site = [path for path in (ROOT / "docs").rglob("*") if path.suffix in (".md", ".ipynb")]
    pages = [path for path in site if path.parent.name != "tables"]
    assert len(pages) <= 25
    texts = "\n".join(page.read_text() for page in pages)
    included = set(re.findall(r"^```{include} .*?(\w[\w-]*)\.md$", texts, flags=re.MULTILINE))
    assert included == {path.stem for path in (ROOT / "docs/tables").glob("*.md")}


def test_the_citation_file_has_every_paper_and_what_cff_requires():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version": "1.2.0", "type": "software"}.items() <= cited.items()
    assert all(cited[key] for key in ("message", "title", "authors", "version", "license"))
    by_note = {each.get("notes", "").partition(" ")[0]: each for each in cited["references"]}
    for id in paper_ids():
        paper = load_paper(id)
        assert by_note[id]["title"] in paper.title
        assert str(by_note[id]["year"]) in paper.citation
        assert all(author["family-names"] in paper.citation for author in by_note[id]["authors"])
    types = {"article", "conference-paper", "manual"}
    assert all(each["type"] in types and each["authors"] for each in cited["references"])


def check(script):
    """Return the errors of a script in a process without the plugins that other tests have loaded."""
    return subprocess.run([sys.executable, ROOT / script, "--check"], capture_output=True, text=True).stderr


def test_the_tables_of_the_pages_are_those_of_the_shipped_runs():
    assert check("docs/tables.py") == "", "write them again with `make docs-tables`"


def test_the_verdicts_of_the_shipped_record_are_those_expected():
    report = make_report(ROOT / "results/scw/reference")
    expected = read_expected(ROOT / "results/scw/expected.yaml")
    assert len(expected) == 144 + len(report.claims)
    assert compare_expected(expected, report.judgements, report.claims) == []


def test_the_example_of_a_protocol_is_the_file_and_prints_what_the_page_shows(tmp_path):
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert code == (ROOT / "docs/examples/my_protocol.py").read_text(encoding="utf-8")
    [config] = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    (tmp_path / "my_protocol.py").write_text(code, encoding="utf-8")
    (tmp_path / "halves.yaml").write_text(config, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = [sys.executable, "-m", "olbench", "run", "halves.yaml"]
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    table = done.stdout[: done.stdout.index("* or bold")]
    assert table.count(" ± ") == 6
    assert "".join(f"    {line}\n" for line in table.splitlines()) in page
    results = load_results(tmp_path / "results/halves")
    right = results.array(results.entries[0], 0, "right")
    assert 0.5 < right.mean() < 1
    assert right.size == 284


@for_each(
    ("name", "better", "worse", "fewest"),
    [
        ("cw", "var-KL", "var-Exact", 12),
        ("cw", "averaged-perceptron", "perceptron", 10),
        ("cw-tfidf", "var-KL-tfidf", "var-KL", 12),
        ("cw-tfidf", "svm-tfidf", "svm", 12),
        ("multiclass", "cw", "cw-shared", 2),
        ("multiclass", "arow", "arow-shared", 2),
        ("multiclass-diag", "arow", "arow-rest", 2),
    ],
)
def test_the_shipped_records_show_what_their_page_says(name, better, worse, fewest):
    frame = load_results(ROOT / f"results/{name}/reference").to_frame()
    quantity = "mistakes" if "mistakes" in frame else "test_error"
    means = frame.groupby(["dataset", "label"])[quantity].mean().unstack()
    assert int((means[better] < means[worse]).sum()) >= fewest


@pytest.mark.parametrize("name", ["python.md", "streams.md"])
def test_the_python_examples_of_a_page_print_what_they_show(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    example = doctest.DocTestParser().get_doctest(page, {}, name, name, 0)
    report = io.StringIO()
    doctest.DocTestRunner(verbose=False).run(example, out=report.write)
    assert report.getvalue() == ""


def test_no_picture_is_older_than_its_run_or_the_code_that_draws_it(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    import gallery

    assert gallery.read_digests().keys() == gallery.find_pictures().keys()
    assert {"ijcnn1.png", "cw2008-figure-3.png"} <= gallery.find_pictures().keys()
    assert check("docs/gallery.py") == "", "draw them again with `make docs-figures`"
