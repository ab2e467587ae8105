"""olbench report: what a user types, and what comes back."""

import json
import re
import shutil
from pathlib import Path

import pytest

from olbench.plugins import REGISTRIES, load_file
from tests import ROOT
from tests.report.editing import read_records, reseal, write_records

SMALL = ROOT / "tests/report/small"


@pytest.fixture(autouse=True)
def run(tmp_path, monkeypatch):
    """Work in a folder where results/small is the only run."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(SMALL, Path("results") / "small"))


def test_without_arguments_it_takes_the_newest_run(here, run):
    old = Path(shutil.copytree(run, "results/old"))
    content = json.loads((old / "run.json").read_text()) | {"start": "2001-01-01T00:00:00+00:00"}
    (old / "run.json").write_text(json.dumps(content))
    assert here.out("report").startswith("small: 3 data sets, 5 algorithms, 5 permutations")


def test_folders_without_a_run_and_options_that_exclude_each_other_are_refused(here, run):
    shutil.copytree(run, "results/scw/reference")
    Path("x").write_text("")
    wrong = []
    for words, message in (
        (("results",), "no run in 'results' (expected results/run.json)"),
        (("no/where",), "no run in 'no/where' (expected no/where/run.json)"),
        (("nowhere",), "no run 'nowhere' here, in results or among the shipped runs; `olbench list` "),
        (("ci",), "; `olbench run ci` makes one"),
        (
            ("results/scw",),
            "no run in 'results/scw' (expected results/scw/run.json); did you mean results/scw/reference?\n",
        ),
        ((run / "run.json",), f"is a file; name the folder of a run, such as {run}, or"),
        ((run, run), "the same folder is named twice"),
        ((run, "--all", "--output", "x.txt"), "--all writes every format to one folder"),
        ((run, "--output", "."), "is a directory"),
        ((run, "--output", "x/report.txt"), "cannot write x/report.txt: "),
        ((run, "--algorithms", "arrow"), "the run has no algorithm 'arrow' (did you mean 'arow'?)"),
        ((run, "--highlight", "SCW-III"), "the run has no algorithm 'SCW-III' (did you mean 'SCW-II'?)"),
        ((run, "--datasets", "splise"), "the run has no data set 'splise' (did you mean 'splice'?)"),
        ((run, "--highlight", "nothing-of-this-kind"), "; it has perceptron, cw, arow, scw1, scw2"),
        ((run, "--algorithms", "cw", "--strict", "x.yaml"), "expected verdicts are about the whole run"),
    ):
        code, _, err = here("report", *words)
        if code != 2 or message not in err or not err.startswith(("olbench: ", "Usage: ")):
            wrong.append((words, code, err))
    assert wrong == []
    shutil.rmtree("results")
    code, _, err = here("report")
    hint = "start one with `olbench run CONFIG`, or name its folder"
    assert (code, err) == (2, f"olbench: there is no run below results/; {hint}\n")


def test_no_output_replaces_the_record_of_a_run_or_a_bundle(here, run):
    other = Path(shutil.copytree(run, "results/other"))
    assert here("bundle", run, "-o", "small.olb")[0] == 0
    files = [each / name for each in (run, other) for name in ("trials.jsonl", "run.json")]
    before = {path: path.read_bytes() for path in (*files, Path("small.olb"))}
    for path in files:
        for words in (("report", run), ("report", run, other), ("bundle", run), ("summary", run)):
            code, _, err = here(*words, "--output", path)
            assert (code, f"{path} is part of the run in {path.parent}; choose" in err) == (2, True)
    assert "small.olb is read by this command" in here("report", "small.olb", "-o", "small.olb")[2]
    assert {path: path.read_bytes() for path in before} == before
    assert here("report", run, "--output", run / "report.txt")[0] == 0


def test_a_run_of_an_older_olbench_names_its_format_and_one_without_a_paper_has_no_verdicts(here, run):
    content = json.loads((run / "run.json").read_text())
    del content["config"]["paper"]
    (run / "run.json").write_text(json.dumps(content))
    err = here.err("report", run, "--write-expected", "expected.yaml")
    assert err == "olbench: results/small is not compared with a paper, so there are no verdicts\n"
    assert not Path("expected.yaml").exists()
    del content["format"]
    (run / "run.json").write_text(json.dumps(content))
    assert "its format is 1, and this olbench reads 2; run its config again" in here.err("report", run)


def test_a_run_without_a_single_trial_measured_nothing(here, run):
    (run / "trials.jsonl").unlink()
    code, out, err = here("report", run)
    assert (code, out) == (4, "")
    assert err == "olbench: no trial of results/small is done yet; run its config first\n"


def test_a_broken_folder_does_not_hide_the_runs_beside_it(here, run):
    for name, content in (("list", "[1]"), ("torn", "{"), ("timeless", "{}")):
        (Path("results") / name).mkdir()
        (Path("results") / name / "run.json").write_text(content)
    assert here.out("report").startswith("small: ")
    assert here.err("report", "results/list") == "olbench: results/list/run.json is not the record of a run\n"


def test_a_half_finished_run_is_reported_and_says_what_is_missing(here, run):
    lines = (run / "trials.jsonl").read_text().splitlines(keepends=True)
    (run / "trials.jsonl").write_text("".join(line for line in lines if '"dataset":"splice"' not in line))
    out = here.out("report", run, "--full")
    assert "INCOMPLETE: 5 of 15 rows not finished:" in out
    assert "  cw on splice: 0 of 5 trials done" in out
    assert "Table 3: svmguide3" in out
    assert "Table 3: splice" not in out
    err = here.err("report", run, "--output", "r.txt", code=0)
    assert err.endswith("incomplete: 5 of 15 rows not finished; the report says which\n")
    # Many missing rows are counted by data set.
    (run / "trials.jsonl").write_text("".join(line for line in lines if '"algorithm":"cw"' in line))
    out = here.out("report", run, "--full")
    assert "INCOMPLETE: 12 of 15 rows not finished:" in out
    (run / "trials.jsonl").write_text("".join(line for line in lines if '"cw"' in line and "splice" in line))
    assert "  splice: 1 of 5 rows finished" in here.out("report", run, "--full")


def test_all_writes_every_format_and_the_figures(here, run):
    err = here.err("report", run, "--all", code=0)
    made = {path.name for path in (run / "report").iterdir()}
    assert made == {
        "report.html", "report.txt", "report.md", "tables.tex", "results.csv", "report.json", "figures",
    }  # fmt: skip
    assert err.startswith("Written to results/small/report\n")
    assert re.search(r"^report.html +the page, for a browser$", err, re.MULTILINE)
    names = {path.name for path in (run / "report" / "figures").iterdir()}
    assert {"curves-splice.png", "curves-splice.pdf", "curves-splice.svg", "overview.pdf"} <= names


def test_strict_compares_with_the_verdicts_that_were_expected(here, run):
    assert here("report", run, "--write-expected", "expected.yaml")[0] == 0
    err = here.err("report", run, "--strict", "expected.yaml", code=0)
    assert err.endswith("verdicts compared, 0 changed\n")
    text = Path("expected.yaml").read_text()
    assert text.count("reproduced") > 5
    Path("expected.yaml").write_text(text.replace("reproduced", "differs", 1))
    assert "1 changed" in here.err("report", run, "--strict", "expected.yaml", code=1)


def rewrite(run, change):
    """Change every record of the ledger, and leave out those for which the change gives nothing."""
    write_records(run, [record for record in map(change, read_records(run)) if record])
    reseal(run)


def test_a_ratio_of_shared_times_is_marked_and_one_of_another_protocol_is_left_out(here, run, monkeypatch):
    def table():
        return here.out("report", run, "--full").partition("\nResults\n")[2].partition("\n\n")[0]

    monkeypatch.setenv("COLUMNS", "250")
    assert re.search(r"^cw .* R +12 +4.1 KiB", table(), re.MULTILINE)
    assert re.search(r"^scw1 .* – +4.1 KiB", table(), re.MULTILINE)
    assert "paper's time / ours  " in table()
    rewrite(run, lambda record: record | {"timing": "shared"})
    assert "paper's time / ours (shared)  " in table()


def test_runs_on_other_data_of_one_name_are_not_tested_against_each_other(here, run):
    after = Path(shutil.copytree(run, "after"))
    rewrite(after, lambda record: record | {"mistakes": record["mistakes"] + 100})
    assert here.out("report", run, after).count("*\n") == 15
    info = json.loads((after / "run.json").read_text())
    info["data"]["splice"]["fingerprint"] = "other"
    (after / "run.json").write_text(json.dumps(info))
    _, out, _ = here("report", run, after)
    assert out.count("*\n") == 10
    assert "splice: the data is not the same in all runs, so no change is tested" in out


def test_a_tuning_that_failed_is_not_called_unfinished(here, run):
    info = json.loads((run / "run.json").read_text())
    cell = info["cells"][1]
    cell.update(params=None, keys=[])
    (run / "run.json").write_text(json.dumps(info))
    failed = {"status": "failed", "error": "ValueError: no\nreally", "role": "tune", "curve": None}
    chosen = ("dataset", "algorithm")
    rewrite(run, lambda r: r | failed if all(r[name] == cell[name] for name in chosen) else r)
    assert "cw on svmguide3: its tuning failed (ValueError: no really)" in here.out("report", run, "--full")


TABLES = """
from olbench.report.table import ALGORITHM, COUNT, Column, Table
from olbench.report.tables import table

@table("Done")
def done(report):
    if len(report.results.datasets) > DATASETS:
        rows = [(entry.label, entry.done) for entry in report.rows]
        return Table("Trials that are done", (Column("algorithm", ALGORITHM), Column("trials", COUNT)), rows)
"""


def test_a_users_file_adds_a_table_where_it_applies(here):
    def report(datasets, *words):
        plugin = Path(f"{words[1]}_{datasets}.py")  # a module is loaded once
        plugin.write_text(TABLES.replace("DATASETS", str(datasets)))
        try:
            return here("report", "results/small", "--plugin", str(plugin), *words)
        finally:
            for registry in REGISTRIES:
                registry.drop(load_file(plugin))

    for form in ("text", "md", "latex", "json", "html"):
        for datasets, applies in ((2, True), (3, False)):
            code, out, _ = report(datasets, "--format", form)
            assert (code, "Trials that are done" in out) == (0, applies)
    _, out, _ = report(2, "--format", "csv", "--table", "done")
    assert out.splitlines()[:2] == ["algorithm,trials", "perceptron,5"]
    code, _, err = report(3, "--table", "done")
    assert (code, "the report has no table 'done'" in err, ", results," in err) == (2, True, True)
