"""The page is one safe, complete and repeatable file, whatever the run and its names."""

import base64
import re
import shutil
from html import unescape
from pathlib import Path

import pytest
import yaml

from olbench.protocols.reading import read_config
from olbench.protocols.recorded import read_run
from olbench.report import table as t
from olbench.report.model import make_report
from olbench.report.table import Column, Spread, Table, mark
from olbench.report.tables.curves import curve_data
from olbench.report.tables.summary import winner_sentence
from olbench.report.tables.verdicts import describe_judgement
from tests.report.editing import reseal
from tests.report.pages import render

SMALL = Path(__file__).with_name("small")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SMALL, tmp_path / "copy"))


def page_text(folder: Path) -> str:
    """Return the page of a run without its scripts and its style."""
    return re.sub(r"<(script|style)>.*?</\1>", "", render(make_report(folder)), flags=re.DOTALL)


def test_only_the_scripts_of_the_page_may_run_and_nothing_may_be_fetched():
    page = render(make_report(SMALL))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "default-src &#39;none&#39;" in policy
    assert policy.count("sha256-") == page.count("<script>") == 2
    assert not re.search(r'(src|href)="(https?:)?//', page_text(SMALL))


def test_the_page_opens_with_the_winner_and_then_ranks_all_algorithms():
    page, sentence = page_text(SMALL), winner_sentence(make_report(SMALL))
    assert sentence.startswith("scw1, cw, arow each have the lowest mistake rate on 1 of 3 data sets")
    assert page.index(f'<p class="winner">{sentence}</p>') < page.index("<nav")
    assert page.index("<section") == page.index('<section id="ranking"')


def test_the_config_of_the_page_is_the_config_of_the_run(tmp_path: Path):
    page = render(make_report(SMALL))
    address = re.search(r'download="small.yaml" href="data:[^,]*,([^"]*)"', page)[1]
    (tmp_path / "again.yaml").write_bytes(base64.b64decode(address))
    # The run was recorded before there was the key `order`; it means the default.
    recorded = {"order": "exact"} | read_run(SMALL).config.plain()
    assert read_config(tmp_path / "again.yaml").plain() == recorded
    assert yaml.safe_load(base64.b64decode(address))["permutations"] == 5


def test_a_time_taken_beside_other_trials_is_in_brackets(copy: Path):
    shared = re.compile(r">\([\d.,]+<span class=\"pm\"> ± [\d.,]+ (µs|ms|s)\)</span>")
    assert not shared.search(page_text(SMALL))
    trials = copy / "trials.jsonl"
    trials.write_text(trials.read_text().replace('"exclusive"', '"shared"'))
    reseal(copy)
    assert shared.search(page_text(copy))
    assert "Times in brackets were measured while other trials ran" in page_text(copy)


def test_without_a_paper_nothing_is_judged(copy: Path):
    (copy / "run.json").write_text((copy / "run.json").read_text().replace('"paper": "scw2012",', ""))
    page = page_text(copy)
    assert 'class="cell' not in page
    assert not re.search(r"\b(paper|Table \d|Figure \d|judged|reproduced)", page)


def test_every_number_of_the_paper_has_a_cell_with_the_facts_behind_its_verdict():
    report = make_report(SMALL)
    cells = re.findall(r'class="cell ([a-z-]+)" aria-label="([^"]*)"', page_text(SMALL))
    cells = [(verdict, unescape(words)) for verdict, words in cells]
    judged = [each for each in report.judgements if each.dataset in report.results.datasets]
    wanted = [(each.verdict.replace(" ", "-"), describe_judgement(report, each)) for each in judged]
    assert sorted(cells) == sorted(wanted)
    assert all(("ours" in words) != words.endswith("not run") for _, words in cells)


def test_curves_are_rounded_but_end_at_the_mean_of_the_trials():
    report = make_report(SMALL)
    curves = curve_data(report)["curves"]
    for entry in report.results.entries:
        mean, _ = curves[entry.dataset]["algorithms"][entry.label]["mistakes"]
        assert mean[-1] == pytest.approx(entry.columns["mistakes"].mean(), rel=5e-4)


def test_a_table_of_a_notebook_has_its_looks_and_needs_no_script():
    rows = [("b", mark(Spread(-0.25, 0.5), True), "reproduced"), ("a<b> ± 2", Spread(0.5, 0.25), "close")]
    columns = (Column("name", t.ALGORITHM), Column("time", t.DURATION), Column("verdict", t.VERDICT))
    table = Table("Times", columns, rows, "As `olbench run` prints them.", highlighted=("b",))
    html = table._repr_html_()
    assert not re.search("<script|<button", html)
    assert "text-align: right" in html
    assert '<td class="left">a&lt;b&gt; ± 2</td>' in html
    assert '<td class="right" data-value="0.5">500<span class="pm"> ± 250 ms</span></td>' in html
    row = re.search(r'<tr class="highlighted">.*?</tr>', html)[0]
    assert 'class="right best" data-value="-0.25">\N{MINUS SIGN}250,000' in row
    assert '<span class="key reproduced">reproduced</span>' in row
    assert "As <code>olbench run</code> prints them." in html
