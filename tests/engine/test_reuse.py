"""A run copies the trials that other runs have; runs that contradict each other are refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import olbench
from olbench import load_results
from olbench.api import bundle as write_bundle
from olbench.records import ledger
from olbench.records.record import write_line

TUNED, FIXED = {"id": "pa1", "grid": {"C": [0.25, 1.0]}}, {"id": "pa1", "params": {"C": 8.0}}
WHOLE = {
    "seed": 3, "permutations": 3, "curve": 3, "datasets": ["breast-cancer", "digits-1-vs-7"],
    "algorithms": ["perceptron", TUNED, FIXED], "tuning": {"search": "grid"},
}  # fmt: skip
HALVES = {
    "algorithms": [{"algorithms": WHOLE["algorithms"][:2]}, {"algorithms": WHOLE["algorithms"][2:]}],
    "data sets": [{"datasets": WHOLE["datasets"][:1]}, {"datasets": WHOLE["datasets"][1:]}],
    "numbers": [{"permutations": 2}, {}],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reuse") / "whole"
    olbench.run(WHOLE, folder, jobs=1)
    return folder


@pytest.fixture
def reuse(here, tmp_path, monkeypatch):
    """Return a function that runs the whole config in the folder `both`, with some runs to reuse."""
    monkeypatch.chdir(tmp_path)
    Path("whole.yaml").write_text(json.dumps(WHOLE))

    def run(*runs, options=()):
        words = [word for each in runs for word in ("--reuse", each)]
        return here("run", "whole.yaml", "--out", "both", "--jobs", 1, *words, *options)

    return run


def change(folder, edit):
    records = list(ledger.current(folder).values())
    edit(records)
    (folder / "trials.jsonl").write_bytes(b"".join(map(write_line, records)))


def content(folder):
    return json.loads((Path(folder) / "run.json").read_text())


@pytest.mark.parametrize("halves", HALVES.values(), ids=HALVES)
def test_halves_make_the_whole_run(reuse, whole, halves):
    for number, half in enumerate(halves):
        olbench.run({**WHOLE, **half}, f"half-{number}", jobs=1)
    write_bundle(Path("half-1"), Path("half-1.olb"))
    trials = len(ledger.current(whole))
    code, out, _ = reuse("half-0", "half-1.olb", options=["--dry-run"])
    assert (code, out.splitlines()[-1]) == (0, f"{trials} trials reused, 0 would run")
    assert not Path("both").exists()
    code, out, err = reuse("half-0", "half-1.olb")
    assert (code, err) == (0, "")
    assert f"0 trials run, {trials} reused; the record is in both\n" in out
    assert ledger.current(Path("both")).keys() == ledger.current(whole).keys()
    times = ["seconds", "cpu_seconds"]
    frames = [load_results(each).to_frame().drop(columns=times) for each in ("both", whole)]
    assert frames[0].equals(frames[1])
    assert [content("both")[name] for name in ("config", "data", "cells")] == [
        content(whole)[name] for name in ("config", "data", "cells")
    ]
    origins = content("both")["reused"]
    assert [each["name"] for each in origins] == ["half-0", "half-1"]
    assert all(each["machine"]["processor"] and each["versions"] and each["end"] for each in origins)
    code, out, _ = reuse()
    assert (code, out) == (0, f"nothing to do: all {trials} trials are in both\n")


def test_only_trials_that_are_needed_are_copied_and_the_others_run(reuse, whole):
    code, out, _ = reuse(whole, options=["--set", "permutations=4", "--set", "datasets=[breast-cancer]"])
    assert code == 0
    assert "3 trials run, 11 reused" in out
    assert {record["dataset"] for record in ledger.current(Path("both")).values()} == {"breast-cancer"}
    # A run that goes on from there, or that reuses this one, still says where the records come from.
    assert reuse(options=["-q"])[0] == 0
    assert [each["name"] for each in content("both")["reused"]] == ["whole"]
    olbench.run(WHOLE, "third", jobs=1, reuse=["both"])
    assert [each["name"] for each in content("third")["reused"]] == ["both", "whole"]


@pytest.mark.parametrize("place", ["two of the runs", "a run and the folder"])
def test_other_counts_are_refused_and_nothing_is_written(reuse, whole, tmp_path, place):
    other = Path(shutil.copytree(whole, "other"))

    def edit(records):
        records[0]["mistakes"] += 1
        records[3]["curve"]["mistakes"][0] = 0

    change(other, edit)
    if place == "two of the runs":
        code, out, err = reuse(whole, "other")
    else:
        shutil.move(other, "both")
        before = (tmp_path / "both/trials.jsonl").read_bytes()
        code, out, err = reuse(whole)
        assert (tmp_path / "both/trials.jsonl").read_bytes() == before
    assert (code, out) == (1, "")
    assert "mistakes is " in err
    assert "(and 1 more); nothing was written" in " ".join(err.split())
    assert {path.name for path in tmp_path.iterdir()} <= {"whole.yaml", "other", "both"}
    assert (tmp_path / "both").exists() == (place != "two of the runs")


def drop_tuning(records):
    records[:] = [record for record in records if record["role"] != "tune"]


def fail(records):
    records[0].update(status="failed", error="no memory")


@pytest.mark.parametrize(
    ("edit", "is_ours", "said"),
    [
        # Which parameters are reported is known only after the tuning ran.
        (drop_tuning, False, "4 trials run, 18 reused"),
        (fail, True, "0 trials run, 22 reused"),
    ],
)
def test_a_trial_that_lacks_or_failed_is_no_contradiction(reuse, whole, edit, is_ours, said):
    change(Path(shutil.copytree(whole, "both" if is_ours else "other")), edit)
    code, out, err = reuse(whole if is_ours else "other")
    assert (code, said in out) == (0, True), out + err


def test_the_worker_of_a_trial_is_not_compared(reuse, whole):
    for name in ("other", "both"):
        folder = Path(shutil.copytree(whole, name))
        change(folder, lambda records, name=name: records[0].update(worker=f"tcp://{name}"))
    assert reuse("other")[0] == 0


def test_other_data_is_not_reused(reuse, whole):
    Path("my.libsvm").write_text("+1 1:0.5 2:1\n-1 1:-0.5 2:3\n" * 6)
    options = ["--set", "datasets=[{name: breast-cancer, path: my.libsvm}]"]
    code, out, _ = reuse(whole, options=[*options, "--dry-run"])
    assert code == 0
    assert "the data has changed (3 trials)" in out
    assert "0 trials reused" in out


def test_arrays_come_along_from_folders_and_bundles(tmp_path):
    config = {"seed": 3, "protocol": "stream", "algorithms": ["perceptron", "pa1"]}
    parts = [tmp_path / "a", tmp_path / "b"]
    for part, dataset in zip(parts, ("sea", "stagger"), strict=True):
        olbench.run({**config, "datasets": [dataset]}, part, jobs=1)
    parts[1] = write_bundle(parts[1], tmp_path / "b.olb").path
    both = olbench.run({**config, "datasets": ["sea", "stagger"]}, tmp_path / "both", jobs=1, reuse=parts)
    compared = 0
    for part in map(load_results, parts):
        for entry in part.entries:
            (ours,) = [each for each in both.of(entry.dataset) if each.label == entry.label]
            seconds = pytest.approx(entry.columns["seconds"].tolist(), abs=1e-6)
            assert ours.columns["seconds"].tolist() == seconds
            for name in entry.columns["arrays"][0]:
                np.testing.assert_array_equal(both.array(ours, 0, name), part.array(entry, 0, name))
                compared += 1
    assert compared >= 4
