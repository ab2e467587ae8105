"""olbench report: what a user types, and what comes back."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.report.editing import read_records, reseal, write_records

SMALL = Path(__file__).with_name("small")


@pytest.fixture(autouse=True)
def run(tmp_path, monkeypatch):
    """Work in a folder where results/small is the only run."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(SMALL, Path("results") / "small"))


def test_without_arguments_it_takes_the_newest_run(here, run):
    old = Path(shutil.copytree(run, "results/old"))
    content = json.loads((old / "run.json").read_text()) | {"start": "2001-01-01T00:00:00+00:00"}
    (old / "run.json").write_text(json.dumps(content))
    code, out, _ = here("report")
    assert code == 0
    assert out.startswith("small: 3 data sets, 5 algorithms, 5 permutations")


def test_without_any_run_it_says_how_to_start_one(here, run):
    shutil.rmtree(run)
    code, _, err = here("report")
    assert code == 2
    hint = "start one with `olbench run CONFIG`, or name its folder"
    assert err == f"olbench: there is no run below results/; {hint}\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("results", "no run in 'results' (expected results/run.json)"),
        ("nowhere", "there is no run 'nowhere'"),
    ],
)
def test_a_folder_that_is_no_run_is_refused(here, name, message):
    code, _, err = here("report", name)
    assert code == 2
    assert err.startswith(f"olbench: {message}")


def test_a_run_without_a_single_trial_measured_nothing(here, run):
    (run / "trials.jsonl").unlink()
    code, out, err = here("report", run)
    assert (code, out) == (4, "")
    assert err == "olbench: no trial of results/small is done yet; run its config first\n"


def test_in_a_narrow_terminal_every_line_of_a_table_has_its_names(here, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = here("report", run, "--full")
    results = out[out.index("Table 3: svmguide3") : out.index("Table 3: synthetic")].splitlines()
    assert [line.split()[0] for line in results[3:8]] == ["perceptron", "cw", "arow", "scw1", "scw2"]
    assert "0.2946 ± 0.0114" in results[4]
    note = " ".join(out.split())
    assert "Not shown in this width: seconds, parameters, paper: mistake rate, updates" in note
    missed = out[out.index("Not reproduced") : out.index("Not comparable (not run)")].splitlines()
    assert sum(line.split()[:4] == ["splice", "arow", "mistake", "rate"] for line in missed) > 1
    assert not any(line.startswith("splice") and "arow" not in line for line in missed)


def test_a_half_finished_run_is_reported_and_says_what_is_missing(here, run):
    lines = (run / "trials.jsonl").read_text().splitlines(keepends=True)
    (run / "trials.jsonl").write_text("".join(line for line in lines if '"dataset":"splice"' not in line))
    code, out, _ = here("report", run, "--full")
    assert code == 0
    assert "INCOMPLETE: 5 of 15 rows are not finished:" in out
    assert "  cw on splice: 0 of 5 trials are done" in out
    assert "Table 3: svmguide3" in out
    assert "Table 3: splice" not in out
    code, _, err = here("report", run, "--output", "r.txt")
    assert code == 0
    assert err.endswith("incomplete: 5 of 15 rows are not finished; the report says which\n")


def test_all_writes_every_format_and_the_figures(here, run):
    code, _, err = here("report", run, "--all")
    assert code == 0
    made = {path.name for path in (run / "report").iterdir()}
    assert made == {
        "report.html",
        "report.txt",
        "report.md",
        "tables.tex",
        "results.csv",
        "report.json",
        "figures",
    }
    assert err.startswith("results/small/report:\n  report.html  the page, for a browser\n")
    names = {path.name for path in (run / "report" / "figures").iterdir()}
    assert {"curves-splice.png", "curves-splice.pdf", "curves-splice.svg", "overview.pdf"} <= names


def test_an_output_that_cannot_be_written_is_one_sentence(here, run):
    Path("file").write_text("")
    code, _, err = here("report", run, "--output", "file/report.txt")
    assert code == 2
    assert err.startswith("olbench: cannot write file/report.txt: ")
    assert err.count("\n") == 1


def test_strict_compares_with_the_verdicts_that_were_expected(here, run):
    assert here("report", run, "--write-expected", "expected.yaml")[0] == 0
    code, _, err = here("report", run, "--strict", "expected.yaml")
    assert code == 0
    assert err.endswith("verdicts compared, 0 changed\n")
    text = Path("expected.yaml").read_text()
    assert text.count("reproduced") > 5
    Path("expected.yaml").write_text(text.replace("reproduced", "differs", 1))
    code, _, err = here("report", run, "--strict", "expected.yaml")
    assert code == 1
    assert "1 changed" in err


def test_several_folders_stand_side_by_side(here, run):
    shutil.copytree(run, "after")
    code, out, _ = here("report", run, "after")
    assert code == 0
    assert "after − small" in out
    code, out, _ = here("report", run, "after", "--format", "html")
    assert code == 0
    assert "<h1>small and after</h1>" in out
    assert "The configs are the same." in out
    code, _, err = here("report", run, run)
    assert code == 2
    assert "the same folder is named twice" in err


def test_table_1_knows_the_algorithms_of_a_run_without_a_paper(olbench_alone, run):
    content = json.loads((run / "run.json").read_text())
    del content["config"]["paper"]
    (run / "run.json").write_text(json.dumps(content))
    out = olbench_alone("report", run, "--full")
    assert "Psychological Review" in out
    assert "of the user's own" not in out


@pytest.fixture
def olbench_alone():
    """Return a function that runs the command in a fresh process, where nothing is loaded yet."""

    def call(*words):
        command = [sys.executable, "-W", "error", "-m", "olbench", *map(str, words)]
        environment = {**os.environ, "COLUMNS": "200"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return done.stdout

    return call


@pytest.mark.parametrize("options", [(), ("--full",)])
def test_tables_of_a_run_load_no_compiler_and_nothing_that_learns_or_draws(run, options):
    heavy = ("numba", "llvmlite", "sklearn", "pandas", "matplotlib", "joblib", "jinja2")
    program = (
        "import atexit, sys; from olbench.cli import main; "
        f"loaded = lambda: [name for name in {heavy} if name in sys.modules]; "
        "atexit.register(lambda: print(loaded(), file=sys.stderr)); "
        f"sys.argv[1:] = {['report', str(run), *options]}; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("small: 3 data sets")
    assert done.stderr == "[]\n"


def test_the_folder_above_results_that_ship_leads_to_them(here, run):
    shutil.copytree(run, "results/scw/reference")
    code, _, err = here("report", "results/scw")
    assert code == 2
    hint = "(expected results/scw/run.json); did you mean results/scw/reference?"
    assert err == f"olbench: no run in 'results/scw' {hint}\n"
    code, _, err = here("report", run / "run.json")
    assert code == 2
    assert "is a file; name the folder of a run, such as results/quick" in err


def test_much_that_is_missing_is_told_by_data_set(here, run):
    lines = (run / "trials.jsonl").read_text().splitlines(keepends=True)
    (run / "trials.jsonl").write_text("".join(line for line in lines if '"algorithm":"cw"' in line))
    _, out, _ = here("report", run, "--full")
    assert "INCOMPLETE: 12 of 15 rows are not finished:" in out
    kept = [line for line in lines if '"algorithm":"cw"' in line and "splice" in line]
    (run / "trials.jsonl").write_text("".join(kept))
    _, out, _ = here("report", run, "--full")
    assert "  splice: 1 of 5 rows are finished" in out


def rewrite(run, change):
    """Change every record of the ledger, and leave out those for which the change gives nothing."""
    write_records(run, [record for record in map(change, read_records(run)) if record])
    reseal(run)


def test_what_the_marks_mean_stands_below_the_last_block_that_is_shown(here, run):
    shared = {"timing": "shared"}
    rewrite(run, lambda r: r["dataset"] != "splice" and (r | shared if r["dataset"] == "svmguide3" else r))
    _, out, _ = here("report", run, "--full")
    assert "Table 3: splice" not in out
    words = " ".join(out[out.index("Table 3: ") :].split())
    assert words.count("* or bold: the lowest mean") == 1
    assert words.count("Times in brackets were measured while other trials ran") == 1


def test_a_ratio_of_shared_times_is_in_brackets_and_that_of_another_protocol_not_there(here, run):
    assert "12  " in line_of(here, run, "cw")
    rewrite(run, lambda record: record | {"timing": "shared"})
    assert "(12)  " in line_of(here, run, "cw")
    assert "–  " in line_of(here, run, "scw1")


def line_of(here, run, algorithm):
    _, out, _ = here("report", run, "--full")
    results = out[out.index("Table 3: svmguide3") :].splitlines()
    return next(line for line in results if line.startswith(f"{algorithm} ")) + "  "


def test_runs_on_other_data_of_one_name_are_not_tested_against_each_other(here, run):
    after = Path(shutil.copytree(run, "after"))
    rewrite(after, lambda record: record | {"mistakes": record["mistakes"] + 100})
    _, out, _ = here("report", run, after)
    assert out.count("*\n") == 15
    info = json.loads((after / "run.json").read_text())
    info["data"]["splice"]["fingerprint"] = "other"
    (after / "run.json").write_text(json.dumps(info))
    _, out, _ = here("report", run, after)
    assert out.count("*\n") == 10
    assert "splice: the data is not the same in all runs, so no change is tested" in out


def test_a_broken_folder_does_not_hide_the_runs_beside_it(here, run):
    for name, content in (("list", "[1]"), ("torn", "{"), ("timeless", "{}")):
        (Path("results") / name).mkdir()
        (Path("results") / name / "run.json").write_text(content)
    code, out, _ = here("report")
    assert (code, out.startswith("small: ")) == (0, True)
    code, _, err = here("report", "results/list")
    assert code == 2
    assert err == "olbench: results/list/run.json is not the record of a run\n"


def test_a_tuning_that_failed_is_not_called_unfinished(here, run):
    info = json.loads((run / "run.json").read_text())
    cell = info["cells"][1]
    cell.update(params=None, keys=[])
    (run / "run.json").write_text(json.dumps(info))
    failed = {"status": "failed", "error": "ValueError: no\nreally", "role": "tune", "curve": None}
    chosen = ("dataset", "algorithm")
    rewrite(run, lambda r: r | failed if all(r[name] == cell[name] for name in chosen) else r)
    _, out, _ = here("report", run, "--full")
    assert "cw on svmguide3: its tuning failed (ValueError: no really)" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--all", "--output", "x.txt"), "--all writes every format to one folder"),
        (("--output", "."), "is a directory"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words, message, here, run):
    code, _, err = here("report", run, *words)
    assert code == 2
    assert message in err


def test_without_a_paper_there_are_no_verdicts_to_expect(here, run):
    content = json.loads((run / "run.json").read_text())
    del content["config"]["paper"]
    (run / "run.json").write_text(json.dumps(content))
    code, _, err = here("report", run, "--write-expected", "expected.yaml")
    assert (code, err) == (
        2,
        "olbench: the config of results/small names no paper, so there are no verdicts\n",
    )
    assert not Path("expected.yaml").exists()


def test_json_stays_json_whatever_else_is_written(here, run):
    _, out, _ = here("report", run, "--format", "json", "--write-expected", "expected.yaml")
    assert json.loads(out)["rows"]


def test_the_table_at_a_glance_stars_the_entry_it_shows(here, run):
    info = json.loads((run / "run.json").read_text())
    plain = info["config"]["algorithms"][2]
    for cell in info["cells"]:
        if cell["algorithm"] == "cw":
            cell.update(algorithm="arow", label="arow (r=1)", options=plain_options(info))
    info["config"]["algorithms"][1] = {**plain, "params": {"r": 1.0}, "grid": {}}
    (run / "run.json").write_text(json.dumps(info))
    renamed = {"mistakes": 5, "algorithm": "arow", "options": plain_options(info)}
    rewrite(run, lambda r: r | renamed if r["algorithm"] == "cw" else r)
    _, out, _ = here("report", run, "--full")
    blocks = [line for line in out.splitlines() if line.startswith("arow (r=1)")]
    assert len(blocks) > 3
    assert all("*" in line for line in blocks[:3])
    at_a_glance = out[out.index("Mistake rates, ours") : out.index("Verdicts: mistake rate")]
    assert "0.218 / 0.218 R*" not in at_a_glance
    assert "0.218 / 0.218 R" in at_a_glance


def plain_options(info):
    """Return the options of the run's own AROW."""
    return next(cell["options"] for cell in info["cells"] if cell["label"] == "arow")


@pytest.mark.parametrize("columns", [80, 100, 120, 160])
def test_names_never_drop_or_shrink_however_narrow_the_terminal(here, run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out, _ = here("report", run, "--full")
    tables = re.findall(
        r"^Table 3: (?:svmguide3|synthetic|splice) \(.*?(?=\n\n)", out, re.DOTALL | re.MULTILINE
    )
    assert len(tables) == 3
    for table in tables:
        assert re.search(r"^algorithm +mistake rate +updates", table, re.MULTILINE)
        for name in ("perceptron", "cw", "arow", "scw1", "scw2"):
            assert re.search(rf"^{name} +0\.\d{{4}} ± 0\.\d{{4}}", table, re.MULTILINE)
        if columns == 80:
            assert "paper: mistake rate" not in table.splitlines()[1]
    assert "…" not in out
    assert max(len(line) for line in out.splitlines()) <= columns


def test_the_map_of_the_page_has_the_data_sets_in_the_order_of_its_tables(run):
    from olbench.report.model import make_report
    from tests.report.pages import section_values

    shown = section_values(make_report(run))
    results = list(dict.fromkeys(row["dataset"] for row in shown["results"]["rows"]))
    for each in shown["verdicts"]["maps"]:
        assert [row["dataset"] for row in each["rows"]][: len(results)] == results
