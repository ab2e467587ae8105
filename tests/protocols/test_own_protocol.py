"""A protocol is one file and a paper one YAML: what a user writes runs, resumes, is checked and reported."""

import json
import shutil
from pathlib import Path

import pytest

from olbench import UserError, load_plugin, load_results
from olbench.plugins import forget_file, load_file
from tests import ROOT

pytestmark = pytest.mark.usefixtures("own_folder")

EXAMPLE = ROOT / "docs/examples/my_protocol.py"
CONFIG = f"""\
protocol: train-test
plugins: [{EXAMPLE}]
paper: second.yaml
seed: 4
splits: 4
epochs: [1, 3]
datasets: [breast-cancer, digits-1-vs-7]
algorithms: [perceptron, arow, {{id: scw1, grid: {{C: [0.5, 1]}}}}]
tuning: {{search: grid}}
"""


@pytest.fixture(autouse=True)
def own_protocol(tmp_path, monkeypatch, own_folder):
    shutil.copy(Path(__file__).with_name("second.yaml"), tmp_path)
    Path("own.yaml").write_text(CONFIG)
    monkeypatch.setenv("COLUMNS", "140")


def run(here, *words):
    return here.out("run", "own.yaml", "--out", "out", *words)


def test_a_setting_that_is_no_parameter_is_tuned_by_the_highest_score_and_a_second_run_adds_nothing(
    here, records
):
    run(here)
    tuned = [r for r in records("out") if r["role"] == "tune" and r["algorithm"] == "perceptron"]
    assert sorted(r["setting"]["epochs"] for r in tuned) == [1, 1, 3, 3]
    for cell in json.loads(Path("out/run.json").read_text())["cells"]:
        if cell["algorithm"] != "perceptron":
            continue
        scores = {r["setting"]["epochs"]: r["accuracy"] for r in tuned if r["dataset"] == cell["dataset"]}
        assert scores[cell["setting"]["epochs"]] == max(scores.values())
        reported = [r for r in records("out") if r["key"] in cell["keys"]]
        assert {r["setting"]["epochs"] for r in reported} == {cell["setting"]["epochs"]}
        assert sorted(r["split"] for r in reported) == [0, 1, 2, 3]
    results = load_results("out")
    for entry in results.entries:
        rights = [results.array(entry, number, "right").mean() for number in range(entry.done)]
        assert rights == entry.columns["accuracy"].tolist()
    before = Path("out/trials.jsonl").read_bytes()
    assert "nothing to do" in run(here)
    assert Path("out/trials.jsonl").read_bytes() == before


def test_check_guards_what_must_repeat(here):
    assert here("check", "own.yaml", "--against", "base.json", "--update", "--quiet")[0] == 0
    code, out, _ = here("check", "own.yaml", "--against", "base.json", "--quiet")
    assert (code, out) == (0, "24 counts compared, 0 changed\n")
    content = json.loads(Path("base.json").read_text())
    content["rows"][0]["accuracy"][2] = 0.125
    Path("base.json").write_text(json.dumps(content))
    out = here.out("check", "own.yaml", "--against", "base.json", "--quiet", code=1)
    assert "perceptron on breast-cancer: accuracy " in out
    assert ", better (1 of 4 splits changed)\n" in out


def test_its_report_ranks_the_highest_first_and_judges_a_paper_of_ones_own(here):
    run(here)
    forget_file(load_file(EXAMPLE))
    assert load_results("out").entries[0].protocol.experiment.splits == 4
    text = " ".join(here.out("report", "out", "--full").split())
    for said in (
        "2 data sets, 3 algorithms, 4 splits", "best accuracy in our run", "Table 1: breast-cancer",
        "Table 2: digits-1-vs-7",
        "Numbers printed without a standard deviation are compared in standard errors",
    ):  # fmt: skip
        assert said in text
    assert "permutation" not in text
    content = json.loads(here.out("report", "out", "--format", "json"))
    for dataset in ("breast-cancer", "digits-1-vs-7"):
        rows = [row for row in content["rows"] if row["dataset"] == dataset]
        best = max(rows, key=lambda row: row["accuracy"]["mean"])
        assert (best["best"], best["splits"]) == (True, 4)
        assert content["within"][dataset]["best"] == best["label"]
        assert all(d["mean"] <= 0 for d in content["within"][dataset]["differences"])
    verdicts = {(j["dataset"], j["algorithm"]): j for j in content["judgements"]}
    differs = verdicts["breast-cancer", "scw1"]
    assert (differs["verdict"], differs["reason"], differs["basis"]) == ("differs", "", "binomial")
    assert verdicts["digits-1-vs-7", "arow"]["basis"] == "deviation"
    assert verdicts["mnist-1-vs-2", "perceptron"]["reason"] == "the authors' sample is lost"
    means = {(row["dataset"], row["algorithm"]): row["accuracy"]["mean"] for row in content["rows"]}
    arow_wins = means["breast-cancer", "arow"] > means["breast-cancer", "perceptron"]
    assert {claim["id"]: claim["verdict"] for claim in content["claims"]} == {
        "arow-wins": "holds" if arow_wins else "not significant",
        "perceptron-wins": "not significant" if arow_wins else "holds",
    }


def test_a_wrong_key_of_the_protocol_is_refused_with_its_line(here):
    for before, after, message in (
        ("splits: 4", "splts: 4", "5: unknown key 'splts' in the config (did you mean 'splits'?)"),
        ("epochs: [1, 3]", "epochs: [0]", "6: epochs must be a whole number from 1, not 0"),
        ("search: grid", "search: holdout", "9: search must be one of grid, coordinate, none, not 'holdout'"),
    ):
        Path("bad.yaml").write_text(CONFIG.replace(before, after))
        assert here.err("run", "bad.yaml") == f"olbench: bad.yaml:{message}\n"
    text = EXAMPLE.read_text().replace('"train-test"', '"twins"')
    Path("twins.py").write_text(f"{text}\n{text}")  # the second would win without a word
    with pytest.raises(UserError, match=r"twins.py:82: this file defines the protocol 'twins' a second time"):
        load_plugin("twins.py")
