"""Parts of a run merge to the record of the whole run; parts that contradict each other do not merge."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import olbench
from olbench import load_results
from olbench.trials import ledger
from olbench.trials.bundle import write_bundle
from olbench.trials.record import write_line

WHOLE = {
    "seed": 3,
    "permutations": 3,
    "curve": 3,
    "datasets": ["breast-cancer", "digits-1-vs-7"],
    "algorithms": [
        "perceptron",
        {"id": "pa1", "grid": {"C": [0.25, 1.0]}},
        {"id": "pa1", "params": {"C": 8.0}},
    ],
    "tuning": {"search": "grid"},
}
HALVES = {
    "algorithms": [{"algorithms": WHOLE["algorithms"][:2]}, {"algorithms": WHOLE["algorithms"][2:]}],
    "data sets": [{"datasets": WHOLE["datasets"][:1]}, {"datasets": WHOLE["datasets"][1:]}],
    "numbers": [{"permutations": 2}, {}],
}
TIMES = ["seconds", "cpu_seconds", "timing"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the folder of the whole run."""
    folder = tmp_path_factory.mktemp("merge") / "whole"
    olbench.run(WHOLE, folder, jobs=1)
    return folder


def table(folder):
    frame = load_results(folder).to_frame()
    return frame.drop(columns=[name for name in TIMES if name in frame])


def write_config():
    Path("whole.yaml").write_text(json.dumps(WHOLE))
    return "whole.yaml"


@pytest.mark.parametrize("halves", HALVES.values(), ids=HALVES)
def test_halves_merge_to_the_whole_run(here, whole, tmp_path, monkeypatch, halves):
    monkeypatch.chdir(tmp_path)
    for number, half in enumerate(halves):
        olbench.run({**WHOLE, **half}, f"half-{number}", jobs=1)
    write_bundle(Path("half-1"), Path("half-1.olb"))
    code, out, err = here("merge", "half-0", "half-1.olb", "-o", "both")
    assert (code, err) == (0, "")
    trials = len(ledger.current(whole))
    assert out.startswith(f"both: {trials} trials from 2 parts\n")
    assert ledger.current(Path("both")).keys() == ledger.current(whole).keys()
    assert table("both").equals(table(whole))
    ours, theirs = (json.loads((folder / "run.json").read_text()) for folder in (Path("both"), whole))
    assert [ours[name] for name in ("config", "data", "cells")] == [
        theirs[name] for name in ("config", "data", "cells")
    ]
    assert [part["name"] for part in ours["parts"]] == ["half-0", "half-1"]
    assert all(part["machine"]["processor"] and part["versions"] and part["end"] for part in ours["parts"])
    code, out, _ = here("run", write_config(), "--out", "both", "--jobs", 1)
    assert (code, out) == (0, f"nothing to do: all {trials} trials are in both\n")


def test_trials_of_two_machines_merge_to_the_whole_run(here, whole, tmp_path, monkeypatch):
    """Each part lacks half of the permutations, as runs that were stopped do."""
    monkeypatch.chdir(tmp_path)
    for number in (0, 1):
        folder = shutil.copytree(whole, f"half-{number}")
        kept = [
            record
            for record in ledger.current(whole).values()
            if record["role"] == "tune" or record["number"] % 2 == number
        ]
        Path(folder, "trials.jsonl").write_bytes(b"".join(map(write_line, kept)))
        content = json.loads(Path(folder, "run.json").read_text())
        content |= {"end": None, "titles": {f"own-{number}": f"Own {number}"}}
        Path(folder, "run.json").write_text(json.dumps(content))
    code, out, _ = here("merge", "half-0", "half-1", "-o", "both")
    assert code == 0
    assert load_results("both").run.titles == {"own-0": "Own 0", "own-1": "Own 1"}
    assert "4 trials in more than one part, the same to the digit; times are those of the first part\n" in out
    assert table("both").equals(table(whole))
    assert here("run", write_config(), "--out", "both", "--jobs", 1)[1].startswith("nothing to do")
    # A run that goes on from there still says where the records come from.
    words = ("run", "whole.yaml", "--out", "both", "--jobs", 1, "-q", "--set", "permutations=4")
    assert here(*words)[0] == 0
    assert len(json.loads(Path("both/run.json").read_text())["parts"]) == 2


def test_conflicts_are_all_reported_and_nothing_is_written(here, whole, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = Path(shutil.copytree(whole, "other"))
    records = list(ledger.current(folder).values())
    records[0]["mistakes"] += 1
    records[3]["updates"] -= 1
    records[3]["curve"]["mistakes"][0] = 0
    (folder / "trials.jsonl").write_bytes(b"".join(map(write_line, records)))
    code, out, err = here("merge", whole, "other", "-o", "both")
    lines = err.splitlines()
    assert (code, out, len(lines), lines[-1]) == (1, "", 4, "olbench: 3 conflicts, so nothing was written")
    before = records[0]["mistakes"] - 1
    assert lines[0].endswith(f": mistakes is {before} in {whole} and {before + 1} in other")
    assert records[0]["key"] in lines[0]
    assert {path.name for path in tmp_path.iterdir()} == {"other"}


def test_other_data_another_choice_and_other_experiments_do_not_merge(here, whole, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = Path(shutil.copytree(whole, "other"))
    content = json.loads((folder / "run.json").read_text())
    content["data"]["breast-cancer"]["fingerprint"] = "another"
    content["cells"][1]["params"] = {"C": 16.0}
    (folder / "run.json").write_text(json.dumps(content))
    code, _, err = here("merge", whole, "other", "-o", "both")
    assert code == 1
    assert "CONFLICT: breast-cancer: the data differs (fingerprint " in err
    assert "report other trials (parameters C=" in err
    content["config"]["seed"] = 4
    (folder / "run.json").write_text(json.dumps(content))
    code, _, err = here("merge", whole, "other", "-o", "both")
    assert (code, err) == (
        2, f"olbench: {whole} and other are not the same experiment: their seed differs (3 and 4)\n"
    )  # fmt: skip
    assert here("merge", whole, "-o", "both")[0] == 2
    assert here("merge", whole, whole, "-o", "both")[2] == (
        "olbench: the same run is named twice; name different parts\n"
    )
    code, _, err = here("merge", whole, "other", "-o", "other")
    assert (code, "other exists already" in err) == (2, True)


def test_a_success_takes_the_place_of_a_failure(whole, tmp_path):
    folder = Path(shutil.copytree(whole, tmp_path / "other"))
    records = list(ledger.current(folder).values())
    records[0] = {**records[0], "status": "failed", "error": "no memory"}
    (folder / "trials.jsonl").write_bytes(b"".join(map(write_line, records)))
    merged = olbench.merge([folder, whole], tmp_path / "both")
    assert merged.is_complete
    assert table(tmp_path / "both").equals(table(whole))


def test_arrays_are_merged_too(tmp_path):
    config = {"seed": 3, "protocol": "stream", "algorithms": ["perceptron", "pa1"]}
    olbench.run({**config, "datasets": ["sea"]}, tmp_path / "a", jobs=1)
    olbench.run({**config, "datasets": ["stagger"]}, tmp_path / "b", jobs=1)
    bundle = write_bundle(tmp_path / "b", tmp_path / "b.olb").path
    olbench.merge([tmp_path / "a", bundle], tmp_path / "both")
    both, compared = load_results(tmp_path / "both"), 0
    for part in (load_results(tmp_path / "a"), load_results(tmp_path / "b")):
        for entry in part.entries:
            (ours,) = [each for each in both.of(entry.dataset) if each.label == entry.label]
            for name in entry.columns["arrays"][0]:
                np.testing.assert_array_equal(both.array(ours, 0, name), part.array(entry, 0, name))
                compared += 1
    assert compared >= 4
