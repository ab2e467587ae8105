"""A run leaves a complete record; the same command again adds nothing."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from olbench import api
from olbench.algorithms.spec import AlgorithmSpec
from olbench.data.source import find_source
from olbench.data.spec import DatasetSpec
from olbench.engine.local import WAITING_PER_JOB, LocalExecutor, attempt
from olbench.engine.resources import count_cores, default_jobs
from olbench.engine.runner import pin_to_one_core
from olbench.engine.stopping import StopFlag
from olbench.plugins import forget_file, load_file
from olbench.protocols import cells_of, definition
from olbench.protocols.online import OnlineExperiment
from olbench.protocols.reading import read_config
from olbench.records import run_file
from olbench.records.record import write_line
from olbench.records.seeds import order
from tests.cases import for_each
from tests.conftest import SMALL, without_activity

MUTE = "raise type('Mute', (Exception,), {'__str__': lambda self: 1 / 0})"
FIELDS = {
    "key", "dataset", "fingerprint", "algorithm", "params", "permutation", "n", "mistakes", "updates",
    "effective_updates", "breakdowns", "seconds", "cpu_seconds", "timing", "curve", "status", "error", "role",
}  # fmt: skip


def test_a_run_records_every_trial_with_all_fields_and_what_ran_with_what(here, config, records):
    out = here.out("run", config(), "--out", "out", "--jobs", 2)
    assert "26 trials run, 0 reused; the record is in out" in out
    found = records("out")
    assert all(record.keys() >= FIELDS for record in found)
    assert sum(record["role"] == "report" for record in found) == 2 * 3 * 3
    assert sum(record["role"] == "tune" for record in found) == 2 * 4
    for record in found:
        curve = record["curve"]
        assert len(curve["t"]) == (5 if record["role"] == "report" else 1)
        assert (curve["t"][-1], curve["mistakes"][-1]) == (record["n"], record["mistakes"])
    run = json.loads(Path("out/run.json").read_text())
    assert (run["config"]["permutations"], run["seeds"]["seed"]) == (3, 3)
    assert run["versions"]["numba"]
    assert run["machine"]["cores"] >= 1
    assert {"commit", "dirty"} <= run.keys()
    assert run["start"] <= run["end"]
    keys = [key for cell in run["cells"] for key in cell["keys"]]
    assert sorted(keys) == sorted(record["key"] for record in found if record["role"] == "report")


def test_any_object_that_yields_records_is_an_executor(here, config, counts, records):
    """The example of docs/cluster.md."""

    class OneByOne:
        def execute(self, trials, stop):
            records = (attempt(trial, stop) for trial in trials)
            return (record | {"worker": "mine"} for record in records if record is not None)

    plan = api.plan(read_config(Path(config())))
    api.complete(plan.cells, Path("out"), 1, quiet=True, executor=OneByOne())
    assert here("run", "small.yaml", "--out", "local", "--quiet")[0] == 0
    assert counts("out") == counts("local")
    assert {each["worker"] for each in records("out")} == {"mine"}


def test_threads_wait_for_their_records_to_be_written(here, config):
    """Otherwise a kill loses all that are computed and not yet written, and Ctrl-C waits for the disk."""
    text = SMALL.replace("permutations: 3", "permutations: 100")
    cells = api.plan(read_config(Path(config(text)))).cells
    trials, stop = [trial for cell in cells for trial in cell.stage({}).reported], StopFlag()
    records = LocalExecutor(3).execute(trials, stop)
    next(records)
    time.sleep(1)  # a slow disk
    stop.set()
    assert len(list(records)) <= 3 * WAITING_PER_JOB < len(trials) / 10


def test_a_second_run_touches_nothing_and_says_so(here, config):
    assert here("run", config(), "--quiet") == (0, "", "")
    os.rename("results/small", "out")  # the default folder is named after the config
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in Path("out").glob("*.json*")}
    assert here.out("run", "small.yaml", "--out", "out") == "nothing to do: all 26 trials are in out\n"
    assert {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in Path("out").glob("*.json*")} == before


def test_a_changed_config_reuses_what_still_applies(here, config, records):
    here("run", config(), "--out", "out")
    _, out, _ = here("run", "small.yaml", "--out", "out", "--set", "permutations=4")
    assert "6 trials run, 26 reused" in out
    _, out, _ = here("run", "small.yaml", "--out", "out", "--set", "permutations=2")
    assert "0 trials run, 20 reused" in out
    assert json.loads(Path("out/run.json").read_text())["config"]["permutations"] == 2
    assert len(records("out")) == 32


def test_orders_depend_on_seed_data_set_and_role_and_halves_are_disjoint():
    reported = [order(3, "d", "report", p, "all", 50).tolist() for p in range(5)]
    tuned = [order(3, "d", "tune", p, "all", 50).tolist() for p in range(5)]
    assert len({tuple(o) for o in reported + tuned}) == 10
    assert order(3, "d", "report", 0, "all", 50).tolist() == reported[0]
    assert order(4, "d", "report", 0, "all", 50).tolist() != reported[0]
    assert order(3, "e", "report", 0, "all", 50).tolist() != reported[0]
    halves = order(3, "d", "tune", 0, "tuning half", 51), order(3, "d", "report", 0, "reported half", 51)
    assert sorted([*halves[0], *halves[1]]) == list(range(51))


def test_one_job_two_jobs_and_processes_count_the_same(here, config, counts, monkeypatch):
    here("run", config(), "--out", "one", "--jobs", 1)
    here("run", "small.yaml", "--out", "two", "--jobs", 2)
    monkeypatch.setattr("olbench.records.trial.Trial.is_object", True)
    here("run", "small.yaml", "--out", "processes", "--jobs", 2)
    assert counts("one") == counts("two") == counts("processes")
    assert len(counts("one")) == 26


def test_missing_data_stops_a_run_before_it_starts_or_is_skipped(here, config, records):
    text = SMALL.replace("breast-cancer", "svmguide3, splice")
    code, _, err = here("run", config(text), "--out", "out")
    assert (code, Path("out").exists()) == (2, False)
    assert "svmguide3, splice are not downloaded; run `olbench data fetch svmguide3 splice`" in err
    err = here.err("run", "small.yaml", "--out", "out", "--skip-missing", code=0)
    assert "skipped: svmguide3, splice not downloaded" in err
    assert {record["dataset"] for record in records("out")} == {"digits-1-vs-7"}


def test_exclusive_times_follow_the_counts(here, config, records):
    here("run", config(), "--out", "out")
    cores = os.sched_getaffinity(0)
    here.out("run", "small.yaml", "--out", "out", "--timing", "exclusive")
    assert os.sched_getaffinity(0) == cores
    with threadpool_limits(2), pin_to_one_core():
        assert len(os.sched_getaffinity(0)) == 1
        assert {pool["num_threads"] for pool in threadpool_info()} == {1}
    timed = [record for record in records("out") if record["timing"] == "exclusive"]
    assert len(timed) == 18
    assert {record["role"] for record in timed} == {"report"}
    out = here.out("run", "small.yaml", "--out", "out", "--timing", "exclusive")
    assert out == "nothing to do: all 26 trials are in out\n"


@for_each(
    "settings",
    [
        ["protocol=stream", "measures=[kappa_m, auc]", "keep=predictions"],
        ["measures=[g_mean, log_loss]"],
        ["datasets=[{name: digits-1-vs-7, labels: all}]"],
    ],
)
def test_whatever_is_measured_can_be_timed_alone_and_verified(here, config, records, settings):
    words = [config("datasets: [breast-cancer]\nalgorithms: [pa1, arow]\n"), "--timing", "exclusive"]
    words += [word for each in settings for word in ("--set", each)]
    assert here("run", *words, "--out", "out")[0] == 0
    assert here("verify", "out", "--trial", records("out")[-1]["key"])[0] == 0


def test_the_run_file_is_written_at_the_start_after_a_tuning_and_at_the_end(here, config, monkeypatch):
    written, write = [], run_file.write
    monkeypatch.setattr(
        run_file, "write", lambda folder, content: written.append(content) or write(folder, content)
    )
    text = "datasets: [breast-cancer]\nalgorithms: [{id: pa1, grid: {C: [0.5, 1.0]}}]\ntuning: {search: grid}"
    here("run", config(text), "--out", "tuned", "--quiet")
    assert [bool(each["cells"][0]["params"]) for each in written] == [False, True, True]
    assert [bool(each["end"]) for each in written] == [False, False, True]
    written.clear()
    here("run", "small.yaml", "--out", "tuned", "--quiet", "--timing", "exclusive")
    assert [bool(each["end"]) for each in written] == [False, True], "times are missing until the end"


@pytest.mark.parametrize("again", [("--timing", "exclusive"), ("--set", "measures=[auc]")])
def test_a_trial_that_counts_differently_when_it_runs_again_fails(here, config, records, again):
    """It runs again for its time, or for a measure that its record does not have."""
    here("run", config(), "--out", "out")
    altered = [{**record, "mistakes": record["mistakes"] + 1} for record in records("out")]
    Path("out/trials.jsonl").write_bytes(b"".join(map(write_line, altered)))
    code, _, err = here("run", "small.yaml", "--out", "out", *again)
    assert (code, "run again, mistakes is" in err) == (3, True)


@pytest.mark.parametrize(
    ("shell", "code"),
    [
        ("{run} | true", 0),  # the reader leaves
        ("{run} 2>&1 >&- ", 0),  # closed
        ("{run} 2>&-", 0),
        ("LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 PYTHONIOENCODING=ascii {run}", 0),
        ("{run} > /dev/full", 2),
    ],
)
def test_a_run_is_complete_whatever_becomes_of_its_output(shell, code, config, records):
    config("permutations: 1\ndatasets: [breast-cancer]\nalgorithms: [perceptron]\n")
    command = shell.format(run=f"{sys.executable} -m olbench run small.yaml --out out")
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    expected = "olbench: No space left on device\n" if code else ""
    assert (done.returncode, without_activity(done.stderr)) == (code, expected)
    assert len(records("out")) == 1
    assert json.loads(Path("out/run.json").read_text())["end"]


def test_a_data_file_and_a_config_of_one_name_have_folders_of_their_own(here, config):
    Path("small.libsvm").write_text("+1 1:1\n-1 1:-1\n" * 20)
    words = ("--algorithms", "perceptron", "--set", "permutations=2", "--quiet")
    assert here("run", "small.libsvm", *words)[0] == 0
    assert here("run", config(), "--quiet")[0] == 0
    assert {path.name for path in Path("results").iterdir()} == {"small.libsvm", "small"}


def test_entries_of_one_algorithm_are_told_apart_by_what_sets_them_apart(here, config):
    entries = "{id: pa1, grid: {C: [1, 2]}}, pa1, {id: arow, params: {r: 1.0}}"
    entries += ", {id: arow, params: {r: 1.0}, covariance: diag}"
    config(f"datasets: [breast-cancer]\npermutations: 2\ntuning: {{search: grid}}\nalgorithms: [{entries}]\n")
    assert here("run", "small.yaml", "--out", "out", "--quiet")[0] == 0
    assert [cell["label"] for cell in json.loads(Path("out/run.json").read_text())["cells"]] == [
        "pa1 (C=[1, 2])", "pa1 (C=tuned)",
        "arow (covariance=full, form=covariance)", "arow (covariance=diag, projection=kl)",
    ]  # fmt: skip
    assert here.out("check", "small.yaml", "--against", "out", "--quiet") == "16 counts compared, 0 changed\n"


def test_labels_take_time_in_proportion_to_the_entries(monkeypatch):
    described = []
    describe = definition._describe
    monkeypatch.setattr(definition, "_describe", lambda spec: described.append(spec) or describe(spec))
    specs = tuple(AlgorithmSpec("arow", {"r": float(r), "a": 1.0}) for r in range(1, 301))
    source = find_source(DatasetSpec("breast-cancer"))
    cells = cells_of(OnlineExperiment((source.spec,), specs), [source])
    assert [cell.label for cell in cells[:2]] == ["arow (r=1.0)", "arow (r=2.0)"]
    assert len({cell.label for cell in cells}) == 300
    assert len(described) <= 3 * 300


def test_cores_are_those_that_a_container_or_the_user_allows(monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert count_cores() == 1
    assert default_jobs() == 1


@pytest.fixture
def contestants(config):
    """Return a function that writes a config with contestants: name: (what building, what learning does)."""

    def write(*more, permutations=1, **found):
        lines = ["import os, sys", "from olbench import contestant"]
        for id, (build, learn) in found.items():
            lines += [f"class {id.title()}:", "    seen = 0", "    def predict_one(self, x): return True"]
            lines += ["    def learn_one(self, x, y):", "        self.seen += 1"]
            lines += [f"        if self.seen == 20: {learn}"]
            lines += [f"@contestant('{id}')", f"def {id}():", f"    {build}", f"    return {id.title()}()"]
        Path("mine.py").write_text("\n".join(lines) + "\n")
        algorithms = ", ".join([*found, *more])
        return config(
            f"datasets: [breast-cancer]\nalgorithms: [{algorithms}]\nplugins: [mine.py]\n"
            f"permutations: {permutations}\n"
        )

    yield write
    forget_file(load_file("mine.py"))


def test_failing_trials_are_recorded_the_rest_go_on_and_they_are_tried_again(here, contestants, records):
    moody = "if not os.path.exists('calm'): raise RuntimeError('not today')"
    path = contestants("perceptron", permutations=2, moody=(moody, "pass"))
    err = here.err("run", path, "--out", "out", "--jobs", 1, code=3)
    error = "mine.py:11: RuntimeError: not today"
    assert f"2 trials failed, the first: moody on breast-cancer: {error}" in err
    failed = [record for record in records("out") if record["status"] == "failed"]
    assert all(record.keys() >= FIELDS for record in failed)
    assert [record["error"] for record in failed] == [error] * 2
    Path("calm").touch()
    assert "2 trials run, 2 reused" in here.out("run", path, "--out", "out", "--jobs", 1)


def test_a_worker_process_that_dies_costs_only_its_own_trials_and_stays_in_the_record(
    here, contestants, records
):
    ledger = "'out/trials.jsonl'"
    wait = f"while not (os.path.exists({ledger}) and os.path.getsize({ledger})): pass"
    path = contestants(deadly=(wait, "os.kill(os.getpid(), 9)"), sound=("pass", "pass"))
    err = here.err("run", path, "--out", "out", "--jobs", 2, "--quiet", code=3)
    assert [(r["algorithm"], r["status"]) for r in records("out")] == [("sound", "ok"), ("deadly", "failed")]
    dead = "a worker process died in deadly on breast-cancer, permutation 0"
    assert f"olbench: {dead}\n" in err
    deaths = json.loads(Path("out/run.json").read_text())["deaths"]
    assert deaths[-1] == dead
    assert deaths[0].startswith("a worker process died while 1 trial was left; they run again, ")
    assert f"olbench: {deaths[0]}\n" in err
    assert dead in " ".join(here("report", "out", "--full")[1].split())
    words = ("--set", "algorithms=[sound]", "--set", "permutations=2", "--jobs", 1, "--quiet")
    assert here("run", path, "--out", "out", *words)[0] == 0
    assert json.loads(Path("out/run.json").read_text())["deaths"] == deaths


@pytest.mark.parametrize(
    ("learn", "error", "jobs"),
    [
        ("sys.exit(0)", "SystemExit: 0", 2),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", 1),
        (r"raise ValueError('no\nsuch \x1b[1mthing')", r"ValueError: no\nsuch \x1b[1mthing", 1),
        (MUTE, "Mute: its message cannot be shown", 1),
    ],
)
def test_a_contestant_that_leaves_or_fails_is_a_failed_trial_with_one_line(
    here, contestants, learn, error, jobs
):
    path = contestants(leaving=("pass", learn))
    error = f"mine.py:8: {error}"
    err = here.err("run", path, "--out", "out", "--jobs", jobs, "--quiet", code=3)
    assert err.startswith(f"olbench: 1 trial failed, the first: leaving on breast-cancer: {error}; ")
    assert err.count("\n") == 1
    words = ("--against", "base.json", "--update", "--jobs", 1, "--quiet")
    assert f"leaving on breast-cancer failed: {error}\n" in here.err("check", path, *words, code=3)


@pytest.mark.parametrize("edited", ["rows.libsvm", "mine.py"])
def test_a_process_that_reads_a_file_edited_during_the_run_refuses_it(contestants, edited):
    Path("rows.libsvm").write_text("+1 1:1\n-1 1:2\n" * 9)
    path = contestants(sound=("pass", "pass"))
    experiment = read_config(Path(path), ["datasets=[rows.libsvm]"])
    [cell] = cells_of(experiment, [find_source(spec) for spec in experiment.datasets])
    text = Path(edited).read_text()
    trials = cell.stage({}).reported
    Path(edited).write_text(text.replace("True", "False").replace("-1 1:2", "-1 1:3", 1))
    [record] = LocalExecutor(2, experiment.plugins).execute(trials, StopFlag())
    name = "rows.libsvm" if edited == "rows.libsvm" else "sound"
    assert record["error"] == f"{name} has changed since the run began; run it again"


def test_a_contestant_that_cannot_be_built_does_not_end_a_plan(here, contestants):
    path = contestants(absent=("sys.exit(0)", "pass"))
    assert " s of it to compile" in here.out("run", path, "--dry-run")
