"""The page is one safe, complete and repeatable file, whatever the run and its names."""

import base64
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from olbench.protocols.reading import read_config
from olbench.protocols.recorded import read_run
from olbench.report.model import make_report
from tests.report.editing import reseal
from tests.report.pages import render, section_values

SMALL = Path(__file__).with_name("small")
HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SMALL, tmp_path / "copy"))


def rewrite(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text()))


def poison(folder: Path) -> None:
    """Give a data set and an algorithm a name that wants to be a script."""
    name = json.dumps(HOSTILE)
    for path in (folder / "run.json", folder / "trials.jsonl"):
        rewrite(
            path, lambda text: text.replace('"splice"', name).replace('"label": "cw"', f'"label": {name}')
        )
    reseal(folder)


def without_scripts(page: str) -> str:
    return re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)


def test_a_name_cannot_become_a_script(copy: Path):
    poison(copy)
    page = render(make_report(copy))
    assert HOSTILE in section_values(make_report(copy))["curves"]["curves"]
    assert "<script>alert" not in page
    assert "<img" not in without_scripts(page)
    assert page.count("</script>") == 3


def test_only_the_scripts_of_the_page_may_run_and_nothing_may_be_fetched():
    page = render(make_report(SMALL))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "default-src &#39;none&#39;" in policy
    assert policy.count("sha256-") == page.count("<script>") == 2
    assert not re.search(r'(src|href)="(https?:)?//', without_scripts(page))


def test_the_config_of_the_page_is_the_config_of_the_run(tmp_path: Path):
    page = render(make_report(SMALL))
    address = re.search(r'download="small.yaml" href="data:[^,]*,([^"]*)"', page)[1]
    (tmp_path / "again.yaml").write_bytes(base64.b64decode(address))
    # The run was recorded before there was the key `order`; it means the default.
    recorded = {"order": "exact"} | read_run(SMALL).config.plain()
    assert read_config(tmp_path / "again.yaml").plain() == recorded
    assert yaml.safe_load(base64.b64decode(address))["permutations"] == 5


def test_a_half_finished_run_says_what_is_missing(copy: Path):
    rewrite(copy / "trials.jsonl", lambda text: text[: len(text) // 2])
    page = without_scripts(render(make_report(copy)))
    assert "This run is not complete" in page
    assert "scw2 on splice: " in page


def test_a_time_taken_beside_other_trials_is_never_headed_time(copy: Path):
    assert "Time (s)" in without_scripts(render(make_report(SMALL)))
    rewrite(copy / "trials.jsonl", lambda text: text.replace('"exclusive"', '"shared"'))
    reseal(copy)
    page = without_scripts(render(make_report(copy)))
    assert "Time (s)" not in page
    assert "Shared time (s)" in page


def test_without_a_paper_nothing_is_judged(copy: Path):
    rewrite(copy / "run.json", lambda text: re.sub(r'"paper": "scw2012",', "", text))
    page = without_scripts(render(make_report(copy)))
    assert 'class="map"' not in page
    assert not re.search(
        r"\b(paper|Table \d|Figure \d|judged|reproduced)",
        re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL),
    )


def test_a_number_of_ours_stands_beside_each_of_the_paper():
    shown = section_values(make_report(SMALL))
    counts = shown["headline"]["counts"]
    assert [(each["total"], sum(each["verdicts"].values())) for each in counts] == [(72, 72), (72, 72)]
    cells = [cell for row in shown["verdicts"]["maps"][0]["rows"] for cell in row["cells"]]
    missing = [cell for cell in cells if "ours" not in cell["words"]]
    assert {cell["verdict"] for cell in missing} == {"not comparable"}
    assert all(cell["words"].endswith(("not run", "not in this run")) for cell in missing)


def test_the_commands_time_alone_what_was_timed_alone(copy: Path):
    run, again, report = section_values(make_report(copy))["provenance"]["commands"]
    assert run == "olbench run copy.yaml --out results/copy"
    assert again == f"{run} --timing exclusive"
    assert report.startswith("olbench report results/copy ")
    rewrite(copy / "trials.jsonl", lambda text: text.replace('"exclusive"', '"shared"', 10))
    reseal(copy)
    assert section_values(make_report(copy))["provenance"]["commands"] == [run, report]


def test_curves_are_rounded_but_end_at_the_mean_of_the_trials():
    report = make_report(SMALL)
    curves = section_values(report)["curves"]["curves"]
    for entry in report.results.entries:
        mean, _ = curves[entry.dataset]["algorithms"][entry.label]["mistakes"]
        assert mean[-1] == pytest.approx(entry.columns["mistakes"].mean(), rel=5e-4)
