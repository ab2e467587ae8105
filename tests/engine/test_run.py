"""A run leaves a complete record; the same command again adds nothing."""

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from olbench.records.record import write_line
from tests import ROOT
from tests.cases import for_each
from tests.conftest import SMALL, without_activity

FIELDS = {
    "key", "dataset", "fingerprint", "algorithm", "params", "permutation", "n", "mistakes", "updates",
    "effective_updates", "breakdowns", "seconds", "cpu_seconds", "timing", "curve", "status", "error", "role",
}  # fmt: skip
PLUGINS = ROOT / "docs" / "examples"


def test_a_run_records_every_trial_with_all_fields(here, config, records):
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


def test_run_json_says_what_ran_with_what(here, config, records):
    here("run", config(), "--out", "out")
    run = json.loads(Path("out/run.json").read_text())
    assert (run["config"]["permutations"], run["seeds"]["seed"]) == (3, 3)
    assert run["versions"]["numba"]
    assert run["machine"]["cores"] >= 1
    assert {"commit", "dirty"} <= run.keys()
    assert run["start"] <= run["end"]
    keys = [key for cell in run["cells"] for key in cell["keys"]]
    assert sorted(keys) == sorted(r["key"] for r in records("out") if r["role"] == "report")


def test_a_run_plans_each_trial_once_and_keeps_the_plan(here, config, records, monkeypatch):
    from olbench.protocols.definition import Cell

    made, make = [], Cell.trial

    def count(*words, **setting):
        made.append(make(*words, **setting))
        return made[-1]

    monkeypatch.setattr(Cell, "trial", count)
    assert here("run", config(), "--out", "out", "--quiet")[0] == 0
    assert {trial.key for trial in made} == {record["key"] for record in records("out")}
    assert len(made) <= 3 * len(records("out"))


def test_any_object_that_yields_records_is_an_executor(here, config, records):
    """The example of docs/cluster.md."""
    from olbench import api
    from olbench.engine.local import attempt
    from olbench.protocols.reading import read_config

    class OneByOne:
        def execute(self, trials, stop):
            records = (attempt(trial, stop) for trial in trials)
            return (record | {"worker": "mine"} for record in records if record is not None)

    plan = api.plan(read_config(Path(config())))
    api.complete(plan.cells, Path("out"), 1, quiet=True, executor=OneByOne())
    assert here("run", "small.yaml", "--out", "local", "--quiet")[0] == 0
    ours, theirs = ({each["key"]: each["mistakes"] for each in records(out)} for out in ("out", "local"))
    assert ours == theirs
    assert {each["worker"] for each in records("out")} == {"mine"}


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
    from olbench.records.seeds import order

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


def test_python_objects_run_in_processes_and_rules_of_ones_own_in_threads(here, records):
    plugins = [str(PLUGINS / name) for name in ("my_contestants.py", "my_rule.py")]
    Path("own.yaml").write_text(
        f"datasets: [digits-1-vs-7]\nalgorithms: [my-sgd-logistic, timid-arow]\nplugins: {plugins}\n"
    )
    here.out("run", "own.yaml", "--out", "out", "--set", "permutations=2")
    assert {record["algorithm"] for record in records("out")} == {"my-sgd-logistic", "timid-arow"}


def test_a_data_file_runs_without_a_config(here, records):
    lines = [f"{label} 1:{k % 7} 2:{label * (k % 3)}" for k, label in enumerate([1, 2, 3] * 20)]
    Path("mine.libsvm").write_text("\n".join(lines) + "\n")
    words = ("run", "mine.libsvm", "--algorithms", "arow,scw1", "--positive", 3, "--set", "permutations=2")
    here.out(*words)
    assert {record["dataset"] for record in records("results/mine.libsvm")} == {"mine.libsvm"}
    assert len(records("results/mine.libsvm")) == 4


def test_failing_trials_are_recorded_the_rest_go_on_and_they_are_tried_again(here, config, records):
    Path("bad.py").write_text(
        "import os\nfrom olbench import contestant\n\n\n@contestant('moody')\ndef moody():\n"
        "    '''Fail until a file is there.'''\n    if not os.path.exists('calm'):\n"
        "        raise RuntimeError('not today')\n"
        "    from sklearn.linear_model import Perceptron\n    return Perceptron()\n"
    )
    text = "datasets: [digits-1-vs-7]\nalgorithms: [perceptron, moody]\nplugins: [bad.py]\npermutations: 2\n"
    err = here.err("run", config(text, "moody.yaml"), "--out", "out", "--jobs", 1, code=3)
    assert "2 trials failed, the first: moody on digits-1-vs-7: RuntimeError: not today" in err
    failed = [record for record in records("out") if record["status"] == "failed"]
    assert len(failed) == 2
    assert all(record.keys() >= FIELDS for record in failed)
    assert failed[0]["error"] == "RuntimeError: not today"
    Path("calm").touch()
    assert "2 trials run, 2 reused" in here.out("run", "moody.yaml", "--out", "out", "--jobs", 1)


DYING = """\
import os
from olbench import contestant
from sklearn.linear_model import Perceptron


@contestant("deadly")
def deadly():
    os.kill(os.getpid(), 9)


@contestant("sound")
def sound():
    return Perceptron()
"""


def test_a_worker_process_that_dies_costs_only_its_own_trials_and_stays_in_the_record(here, config, records):
    Path("dying.py").write_text(DYING)
    text = "datasets: [digits-1-vs-7]\nplugins: [dying.py]\npermutations: 1\n"
    path = config(text + "algorithms: [deadly, sound]\n", "dying.yaml")
    err = here.err("run", path, "--out", "out", "--jobs", 2, "--quiet", code=3)
    assert {r["algorithm"]: r["status"] for r in records("out")} == {"deadly": "failed", "sound": "ok"}
    dead = "a worker process died in deadly on digits-1-vs-7, permutation 0"
    assert f"olbench: {dead}\n" in err
    deaths = json.loads(Path("out/run.json").read_text())["deaths"]
    assert deaths[-1] == dead
    waiting = "(1 trial was|2 trials were)"
    assert re.fullmatch(f"a worker process died while {waiting} left; they run again, .*", deaths[0])
    assert f"olbench: {deaths[0]}\n" in err
    assert dead in " ".join(here("report", "out", "--full")[1].split())
    path = config(text + "algorithms: [sound]\n", "dying.yaml")
    assert here("run", path, "--out", "out", "--set", "permutations=2", "--jobs", 1, "--quiet")[0] == 0
    assert json.loads(Path("out/run.json").read_text())["deaths"] == deaths


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


@pytest.mark.parametrize("again", [("--timing", "exclusive"), ("--set", "measures=[auc]")])
def test_a_trial_that_counts_differently_when_it_runs_again_fails(here, config, records, again):
    """It runs again for its time, or for a measure that its record does not have."""
    here("run", config(), "--out", "out")
    altered = [{**record, "mistakes": record["mistakes"] + 1} for record in records("out")]
    Path("out/trials.jsonl").write_bytes(b"".join(map(write_line, altered)))
    code, _, err = here("run", "small.yaml", "--out", "out", *again)
    assert (code, "run again, mistakes is" in err) == (3, True)


def test_the_run_file_is_written_at_the_start_after_a_tuning_and_at_the_end(here, config, monkeypatch):
    from olbench.records import run_file

    written = []
    write = run_file.write
    monkeypatch.setattr(
        run_file, "write", lambda folder, content: written.append(content) or write(folder, content)
    )
    plain = config("datasets: [breast-cancer]\nalgorithms: [perceptron, arow]\n")
    here("run", plain, "--out", "plain", "--quiet")
    assert [bool(each["end"]) for each in written] == [False, True]
    written.clear()
    tuned = (
        "datasets: [breast-cancer]\nalgorithms: [{id: pa1, grid: {C: [0.5, 1.0]}}]\ntuning: {search: grid}\n"
    )
    here("run", config(tuned), "--out", "tuned", "--quiet")
    assert [bool(each["cells"][0]["params"]) for each in written] == [False, True, True]


@pytest.mark.parametrize(
    ("shell", "code"),
    [
        ("{run} | true", 0),  # the reader leaves
        ("{run} 2>&1 >&- ", 0),  # closed
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


def test_a_first_look_takes_a_rule_of_ones_own(here):
    plugin = ROOT / "docs/examples/my_rule.py"
    words = ("run", "breast-cancer", "--algorithms", "arow,timid-arow", "--set", "permutations=2")
    assert "timid-arow" in here.out(*words, "--plugin", plugin)
    err = here.err("run", "my.yaml", "--plugin", plugin)
    assert "--plugin and flags for files (--positive, --label and so on) go with a data set" in err


def test_a_file_that_is_not_there_is_said_before_anything_else(here):
    assert here.err("run", "nosuch.libsvm") == "olbench: there is no file nosuch.libsvm\n"


def test_entries_of_one_algorithm_are_told_apart_by_what_sets_them_apart(here, config):
    text = """\
        datasets: [breast-cancer]
        permutations: 2
        tuning: {search: grid}
        algorithms:
          - {id: pa1, grid: {C: [0.001, 0.002]}}
          - {id: pa1, grid: {C: [1, 2]}}
          - pa1
          - {id: arow, params: {r: 1.0}}
          - {id: arow, params: {r: 1.0}, covariance: diag}
    """
    assert here("run", config(textwrap.dedent(text)), "--out", "out", "--quiet")[0] == 0
    labels = [cell["label"] for cell in json.loads(Path("out/run.json").read_text())["cells"]]
    assert labels == [
        "pa1 (C=[0.001, 0.002])", "pa1 (C=[1, 2])", "pa1 (C=tuned)",
        "arow (covariance=full, form=covariance)", "arow (covariance=diag, projection=kl)",
    ]  # fmt: skip
    assert here.out("check", "small.yaml", "--against", "out", "--quiet") == "20 counts compared, 0 changed\n"


LEAVING = """import sys
from olbench import contestant


@contestant('leaving')
def leaving():
    '''Leave in the middle of a pass.'''
    return Leaving()


class Leaving:
    seen = 0

    def predict_one(self, x):
        return True

    def learn_one(self, x, y):
        self.seen += 1
        if self.seen == 20:
            {leave}
"""


@pytest.mark.parametrize(
    ("leave", "error", "jobs"),
    [("sys.exit(0)", "SystemExit: 0", 2), ("raise KeyboardInterrupt", "KeyboardInterrupt", 1)],
)
def test_a_contestant_that_leaves_is_a_failed_trial_and_no_success(
    olbench, config, records, leave, error, jobs
):
    Path("leaving.py").write_text(LEAVING.format(leave=leave))
    text = "datasets: [breast-cancer]\nalgorithms: [leaving]\nplugins: [leaving.py]\npermutations: 2\n"
    done = olbench("run", config(text), "--out", "out", "--jobs", jobs, timeout=120)
    assert done.returncode == 3
    assert f"2 trials failed, the first: leaving on breast-cancer: {error}; " in done.stderr
    assert [record["error"] for record in records("out")] == [error, error]


def test_a_contestant_that_cannot_be_built_does_not_end_a_plan(here, config):
    Path("absent.py").write_text(
        "import sys\nfrom olbench import contestant\n\n\n@contestant('absent')\ndef absent(): sys.exit(0)\n"
    )
    text = "datasets: [breast-cancer]\nalgorithms: [absent]\nplugins: [absent.py]\n"
    assert " jobs (0.0 s of it to compile" in here.out("run", config(text), "--dry-run")


@pytest.mark.parametrize(
    ("id", "leave", "shown"),
    [
        ("two-lines", "raise ValueError('no\\nsuch \\x1b[1mthing')", r"ValueError: no\nsuch \x1b[1mthing"),
        (
            "mute",
            "raise type('Mute', (Exception,), {'__str__': lambda self: 1 / 0})",
            "Mute: its message cannot be shown",
        ),
    ],
)
def test_the_error_of_a_contestant_is_shown_in_one_line(here, config, id, leave, shown):
    Path("leaving.py").write_text(LEAVING.replace("{leave}", leave).replace("'leaving'", f"'{id}'"))
    text = f"datasets: [breast-cancer]\nalgorithms: [{id}]\nplugins: [leaving.py]\npermutations: 1\n"
    err = here.err("run", config(text), "--out", "out", "--jobs", 1, "--quiet", code=3)
    assert err.startswith(f"olbench: 1 trial failed, the first: {id} on breast-cancer: {shown}; ")
    assert err.count("\n") == 1
    err = here.err(
        "check", "small.yaml", "--against", "base.json", "--update", "--jobs", 1, "--quiet", code=3
    )
    assert f"breast-cancer, {id}: failed: {shown}\n" in err


def test_a_clock_that_goes_back_changes_nothing_but_the_dates(here, config, monkeypatch):
    from olbench.records import run_file

    dates = iter(f"2001-01-01T00:00:{second:02}+00:00" for second in range(59, 0, -1))
    monkeypatch.setattr(run_file, "now", lambda: next(dates))
    words = ("run", config(), "--out", "out")
    assert here(*words)[0] == 0
    assert "nothing to do: all 26 trials are in out" in here.out(*words)
    found = run_file.read(Path("out"))
    assert found.end < found.start
    assert here("report", "out")[0] == 0
