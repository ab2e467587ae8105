"""Shipped configs and runs work by name, in an empty folder, from a wheel as from a checkout."""

import json
import re
import shutil
from pathlib import Path

import pytest

from olbench import load_results, run
from olbench.data.catalog import catalog_path
from olbench.plugins import NUMBERS, paper_folders, paper_ids
from olbench.records import shipped
from olbench.report.summary import find_runs
from olbench.structs import LOADER, SHIPPED_LOADER, read_yaml
from tests import ROOT
from tests.refusals import refusal

pytestmark = pytest.mark.usefixtures("own_folder")


def test_names_stand_for_configs_and_runs():
    assert {"quick", "scw", "cw", "cw-synthetic", "advice", "shards"} <= shipped.configs().keys()
    assert {"scw", "cw", "cw-synthetic", "advice", "shards"} <= shipped.runs().keys()
    assert shipped.find_config("configs/my.yaml") == Path("configs/my.yaml")
    assert "no config 'quik' (did you mean 'quick'?); `olbench list`" in refusal(shipped.find_config, "quik")


def test_make_reproduce_runs_every_config_of_a_paper_or_names_it_in_its_help():
    makefile = (ROOT / "Makefile").read_text()
    repeated = {
        name for paper in paper_ids() for name in re.search(rf"^{paper} := (.*)$", makefile, re.M)[1].split()
    }
    entry = makefile.split('"make reproduce', 1)[1].split('"make test', 1)[0]
    left_out = {name for name in shipped.configs() if re.search(rf" {name}[ ,]", entry.split("Left out")[1])}
    of_papers = {name for name, path in shipped.configs().items() if "\npaper: " in path.read_text()}
    assert repeated.isdisjoint(left_out)
    assert of_papers - repeated - {"quick"} <= left_out  # quick is a first look, by `make quick`
    assert repeated <= of_papers


def test_a_run_by_name_its_report_and_the_list(here, own_folder):
    assert here.out("list").endswith("There are no runs below results/ yet; `olbench run quick` makes one.\n")
    # The papers are judged by the same runs in an empty folder and next to a quick run.
    everywhere = find_runs(Path("nothing"))
    assert everywhere
    assert set(everywhere) <= set(shipped.runs().values())
    code, _, err = here(
        "run", "quick", "--set", "permutations=2", "--set", "algorithms=[perceptron]", "--quiet"
    )
    assert (code, err) == (0, "")
    assert Path("results/quick/run.json").is_file()
    assert find_runs(Path("results")) == everywhere
    assert here("report", "results/quick", "--format", "csv", "--output", "own.csv")[0] == 0
    assert here("report", "scw", "--format", "csv", "--output", "scw.csv")[0] == 0
    assert "scw1" in Path("scw.csv").read_text()
    Path("results/broken").mkdir()
    Path("results/broken/run.json").write_text("{}")
    half = Path(shutil.copytree("results/quick", "results/half"))
    lines = (half / "trials.jsonl").read_text().splitlines(keepends=True)
    (half / "trials.jsonl").write_text("".join(lines[:3]))
    out = here.out("list")
    assert re.search(r"^scw +✓ +Table 3 and Figure 1 of the SCW paper", out, re.MULTILINE)
    broken, half, own = out.partition("Runs in results/")[2].splitlines()[3:]
    assert re.fullmatch(r"broken +results/broken/run.json is not the record of a run", broken)
    assert re.search(r"^half .* 3 of 8 ", half)
    assert re.fullmatch(r"quick +20\d\d-\d\d-\d\d \d\d:\d\d +8 of 8 +perceptron on 4 of 4 data sets", own)


def test_a_report_says_which_of_two_runs_it_reads(here, own_folder):
    assert here("report", "cw-usps")[2] == ""
    words = ("run", "quick", "--set", "permutations=1", "--set", "algorithms=[pa]", "--quiet", "--out")
    assert here(*words, "results/cw-usps")[0] == 0
    said = "cw-usps is your own run in results/cw-usps; the one that ships is cw-usps/reference\n"
    code, out, err = here("report", "cw-usps")
    assert (code, err) == (0, said)
    assert "var-KL" not in out
    code, out, err = here("report", "cw-usps/reference")
    assert (code, err) == (0, "")
    assert "var-KL" in out
    assert shipped.find_run("cw-usps/reference") == shipped.runs()["cw-usps"]
    Path("cw-usps").mkdir()
    assert shipped.find_run("cw-usps") == Path("cw-usps")


def test_nothing_is_written_into_a_shipped_run(here, own_folder):
    def files():
        return {path for folder in shipped.runs().values() for path in folder.parent.rglob("*")}

    before = files()
    err = here.err("report", str(shipped.runs()["shards-many"]), "--all", code=0)
    assert err.startswith("Written to shards-many-report\n")
    assert {path.name for path in own_folder.iterdir()} == {"shards-many-report"}
    assert Path("shards-many-report/report.html").is_file()
    assert files() == before
    assert all(map(shipped.is_shipped, (*shipped.runs().values(), ROOT / "results/scw/grid")))
    assert not shipped.is_shipped(Path("results/scw"))


def test_a_new_baseline_is_written_here(here, own_folder):
    before = shipped.find_baseline("ci").read_bytes()
    few = ("--set", "permutations=1", "--set", "algorithms=[pa]", "--set", "datasets=[breast-cancer]", "-q")
    assert here.out("check", "ci", "--update", *few) == "results/ci-baseline.json: 1 row written\n"
    Path("results/ci-baseline.json").unlink()
    assert shipped.find_baseline("ci").read_bytes() == before


def test_a_run_from_python_is_that_of_the_command(here, own_folder):
    spec = {"seed": 5, "permutations": 3, "datasets": ["breast-cancer"], "algorithms": ["perceptron", "pa1"]}
    results = run(spec, "python", set=["permutations=2"])
    Path("same.yaml").write_text(json.dumps({**spec, "permutations": 2}))
    assert here("run", "same.yaml", "--out", "command", "--quiet")[0] == 0
    columns = ["algorithm", "number", "mistakes", "updates"]
    assert results.to_frame()[columns].equals(load_results("command").to_frame()[columns])
    assert run("same.yaml").folder == Path("results/same")
    assert "needs a folder for its records" in refusal(run, spec)
    assert "config: unknown key 'permutation'" in refusal(run, {**spec, "permutation": 1}, "x")


def test_a_run_of_the_other_package_is_found_once_it_is_installed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shipped, "find_folder", lambda name: Path("nowhere"))
    said = refusal(shipped.find_run, "streams")
    assert said.startswith("the run 'streams' is in a separate package; `pip install '")
    Path("site/olbench_results/streams/reference").mkdir(parents=True)
    monkeypatch.syspath_prepend("site")
    assert shipped.find_run("streams").resolve() == Path("site/olbench_results/streams/reference").resolve()
    assert list(shipped.runs()) == ["streams"]


def test_both_loaders_read_the_same_from_shipped_files():
    for path in (catalog_path(), *(paper_folders()[id] / NUMBERS for id in paper_ids())):
        slow, fast = (read_yaml(path, loader) for loader in (LOADER, SHIPPED_LOADER))
        assert repr(slow) == repr(fast), path
