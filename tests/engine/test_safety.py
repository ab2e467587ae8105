"""Nothing that is done gets lost, and nothing is counted twice, however a run ends."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests import ROOT

LONG = """\
seed: 5
permutations: 150
curve: 20
datasets: [synthetic]
algorithms: [perceptron, arow, {id: scw1, grid: {C: [0.5, 1], eta: [0.75, 0.9]}}, cw]
tuning: {search: grid}
"""


def test_kills_full_disks_and_dead_workers_lose_nothing():
    """`make torture` has the same for many more kills."""
    words = ["--kills", "12", "--disks", "2", "--deaths", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.torture", *words],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    begun, kills = re.match(r"(\d+) of (\d+) kills hit a run that had added trials", done.stdout).groups()
    assert int(begun) >= int(kills) / 2


def test_a_full_disk_stops_a_run_that_goes_on_when_there_is_room(here, config, counts, records, monkeypatch):
    """The disk takes half of the tenth line."""
    assert here("run", config(), "--out", "whole", "--quiet")[0] == 0
    lines, write = [], os.write

    def fill_up(file, content):
        lines.append(content)
        return write(file, content if len(lines) < 10 else content[: len(content) // 2])

    with monkeypatch.context() as patch:
        patch.setattr("olbench.records.growing.os.write", fill_up)
        err = here.err("run", "small.yaml", "--out", "full", "--quiet")
    assert err == (
        "olbench: cannot write full/trials.jsonl: there is no room for a whole line; finished trials "
        "are kept, and the same command resumes once there is space\n"
    )
    assert len(records("full")) == 9
    assert here("run", "small.yaml", "--out", "full", "--quiet")[0] == 0
    assert counts("full") == counts("whole")


@pytest.fixture
def small_disk():
    """Mount a file system of 256 KiB at ./disk."""
    Path("disk").mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", "disk"], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"a full file system needs leave to mount one: {done.stderr.strip()}")
    yield Path("disk")
    subprocess.run(["umount", "disk"], check=True)


def test_a_torn_last_line_is_repaired(here, config, counts):
    here("run", config(), "--out", "out", "--quiet")
    before, ledger = counts("out"), Path("out/trials.jsonl")
    for tail in (b'{"key": "12', b'{"key": "12"}\n', b"\0\0\0\0", b"\0\0\0\n", b"garbage\n"):
        lines = ledger.read_bytes().splitlines(keepends=True)
        ledger.write_bytes(b"".join(lines[:-1]) + tail)
        assert "1 trial run, 25 reused" in here.out("run", "small.yaml", "--out", "out")
        assert counts("out") == before


def test_damage_in_the_middle_is_refused_and_left_alone(here, config):
    here("run", config(), "--out", "out", "--quiet")
    ledger = Path("out/trials.jsonl")
    lines = ledger.read_bytes().splitlines(keepends=True)
    damaged = b"".join([*lines[:3], b"oops\n", *lines[3:]])
    ledger.write_bytes(damaged)
    err = here.err("run", "small.yaml", "--out", "out")
    assert err.startswith("olbench: out/trials.jsonl:4: this line is not a trial; ")
    assert ledger.read_bytes() == damaged


def test_a_folder_that_is_in_use_or_cannot_be_made_is_refused(here, config):
    from olbench.records.ledger import open_ledger

    Path("file").write_text("")
    err = here.err("run", config(), "--out", "file/out")
    assert err == "olbench: cannot write to file/out: Not a directory; choose another --out\n"
    with open_ledger(Path("out")):
        err = here.err("run", "small.yaml", "--out", "out")
        holder = Path("out/.lock").read_text().strip()
    assert holder.startswith(f"process {os.getpid()} on ")
    in_use = f"out is in use by another run ({holder})"
    assert err == f"olbench: {in_use}; wait until it ends, or choose another --out\n"
    assert here("run", "small.yaml", "--out", "out", "--quiet")[0] == 0


def test_a_read_only_folder_is_refused(small_disk, here, config):
    subprocess.run(["mount", "-o", "remount,ro", "disk"], check=True)
    err = here.err("run", config(), "--out", "disk/out")
    assert err == "olbench: cannot write to disk/out: Read-only file system; choose another --out\n"


def test_a_rule_that_is_refused_leaves_no_folder(here):
    Path("small.libsvm").write_text("1 1:1\n-1 1:2\n" * 10)
    Path("mine.py").write_text(
        "from olbench import second_order\n@second_order('out-of-range')\n"
        "def mine(m, v, mistake, t, p):\n    return p[3], 0.0, 0.0\n"
    )
    words = ("run", "small.libsvm", "--algorithms", "out-of-range", "--plugin", "mine.py")
    assert (
        "mine.py:4: the rule of 'out-of-range' fails: IndexError: index 3 is out of bounds" in here(*words)[2]
    )
    assert not Path("results").exists()
    Path("results").mkdir()
    assert here(*words)[0] == 2
    assert list(Path("results").iterdir()) == []


def test_too_few_open_files_are_named_with_the_remedy(olbench, config):
    Path("mine.py").write_text(LEAVING.format(leave="pass", now=""))
    text = (
        "datasets: [breast-cancer]\nalgorithms: [leaving]\nplugins: [mine.py]\nprotocol: crossval\nfolds: 3\n"
    )

    def tighten():
        resource.setrlimit(resource.RLIMIT_NOFILE, (14, 14))

    done = olbench("run", config(text), "--jobs", "2", preexec_fn=tighten)
    assert done.returncode == 2
    assert done.stderr == (
        "olbench: Too many open files; a process may have 14 at a time, so raise the limit, as with "
        "`ulimit -n 1024`\n"
    )


LEAVING = """
from olbench import contestant

class Leaving:
    def predict_one(self, x):
        return True

    def learn_one(self, x, y):
        leave()

@contestant("leaving")
def build():
    return Leaving()

def leave():
    {leave}

{now}
"""


SLOW = """\
import time
from olbench import contestant


@contestant("slow")
def slow():
    '''Take a tenth of a second for a pass.'''
    return Slow()


class Slow:
    def predict_one(self, x):
        return True

    def learn_one(self, x, y):
        time.sleep(2e-4)
"""
IN_THREADS = LONG.replace("synthetic", "synthetic, synthetic-noise").replace("150", "1000")
IN_PROCESSES = "datasets: [breast-cancer]\nalgorithms: [slow]\nplugins: [slow.py]\npermutations: 1000\n"


@pytest.mark.alone
@pytest.mark.parametrize(("text", "jobs"), [(IN_THREADS, 2), (IN_PROCESSES, 2)], ids=["threads", "processes"])
def test_ctrl_c_stops_within_a_second_keeps_what_is_done_and_says_how_to_go_on(text, jobs, config, counts):
    Path("slow.py").write_text(SLOW)
    taken = []
    for k in range(3):  # another process may have the core for a while
        code, err, seconds = interrupted(config(text), f"out{k}", jobs)
        assert code == 130
        assert err.splitlines()[-1] == (
            "olbench: stopped; finished trials are kept, and the same command resumes from there"
        )
        assert "Traceback" not in err
        assert "Warning" not in err
        assert len(counts(f"out{k}")) >= 10
        assert json.loads(Path(f"out{k}/run.json").read_text())["end"] is None
        taken.append(seconds)
        if seconds < 1:
            return
    assert min(taken) < 1


def interrupted(path, folder, jobs):
    """Press Ctrl-C in the middle of a run, as a terminal does: (exit code, error, seconds it took)."""
    words = [sys.executable, "-m", "olbench", "run", path, "--out", folder, "--jobs", str(jobs)]
    run = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
    ledger = Path(folder, "trials.jsonl")
    while run.poll() is None and (not ledger.exists() or ledger.read_bytes().count(b"\n") < 10):
        time.sleep(0.02)
    os.killpg(run.pid, signal.SIGINT)
    started = time.monotonic()
    run.wait()
    seconds = time.monotonic() - started
    print(f"stopped after {seconds:.2f} s")
    _, err = run.communicate(timeout=20)  # ends only when no worker is left to hold the other end
    return run.returncode, err, seconds


def test_ctrl_c_stops_a_rule_that_loops_for_ever():
    Path("endless.py").write_text(
        "from olbench import first_order\n\n\n@first_order('endless')\n"
        "def endless(m, s, mistake, q, t, k, p):\n    while t > 450:\n        q += 1.0\n"
        "    return 1.0 - m, 1.0, 0.1\n"
    )
    words = ("breast-cancer", "--algorithms", "endless", "--plugin", "endless.py", "--out", "out", "-j", "1")
    command = [sys.executable, "-m", "olbench", "run", *words]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        while run.poll() is None and not Path("out/run.json").exists():
            time.sleep(0.02)
        time.sleep(5)  # it compiles the rule and the kernel, or loads them
        os.killpg(run.pid, signal.SIGINT)
        _, err = run.communicate(timeout=120)
    finally:
        run.kill()
    assert run.returncode == 130
    assert err.splitlines()[-1].startswith("olbench: stopped; finished trials are kept")
    assert "Traceback" not in err


def test_ctrl_c_while_workers_start_shows_nothing_of_them(config):
    Path("slow.py").write_text(SLOW)
    words = [sys.executable, "-m", "olbench", "run", config(IN_PROCESSES), "--out", "out", "--jobs", "2"]
    for delay in (0.0, 0.3):
        run = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
        while run.poll() is None and not Path("out/run.json").exists():
            time.sleep(0.01)
        time.sleep(delay)
        os.killpg(run.pid, signal.SIGINT)
        _, err = run.communicate(timeout=120)
        assert (run.returncode, err) == (
            130, "olbench: stopped; finished trials are kept, and the same command resumes from there\n"
        )  # fmt: skip
        Path("out/run.json").unlink()


@pytest.mark.alone
def test_a_long_pass_asks_often_whether_to_stop():
    from olbench import make_algorithm, online_pass
    from olbench.learners.passes import StoppedError

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 200)), rng.choice([-1.0, 1.0], 3000)
    algorithm = make_algorithm("arow")
    asked: list[float] = []

    def stopped():
        asked.append(time.monotonic())
        return False

    sliced = online_pass(algorithm, X, y, curve=1, stopped=stopped)
    whole = online_pass(algorithm, X, y, curve=1)
    assert max(np.diff(asked)) < 1
    assert (sliced.mistakes, sliced.updates) == (whole.mistakes, whole.updates)
    assert (sliced.weights == whole.weights).all()
    with pytest.raises(StoppedError):
        online_pass(algorithm, X, y, curve=1, stopped=lambda: True)


@pytest.mark.alone
def test_two_thousand_trials_of_a_millisecond_cost_at_most_two_more_each(here, config, records, monkeypatch):
    synced = _measured_fsync(monkeypatch)
    text = "permutations: 400\ndatasets: [breast-cancer]\nalgorithms:\n" + "".join(
        f"  - {{id: cw, params: {{eta: {eta}}}, form: root}}\n" for eta in (0.6, 0.7, 0.8, 0.9, 0.95)
    )
    here("run", config(text), "--out", "warm", "--quiet", "--set", "permutations=1", "--jobs", 1)
    tries = []
    for k in range(4):  # another process may take the core or the disk for a while
        synced.clear()
        started = time.perf_counter()
        here("run", "small.yaml", "--out", f"out{k}", "--quiet", "--jobs", 1)
        wall = time.perf_counter() - started
        found = records(f"out{k}")
        assert {len(record["curve"]["t"]) for record in found} == {50}
        assert len(found) == 2000
        passes = sum(record["seconds"] for record in found)
        tries.append(tuple(1e3 * seconds / 2000 for seconds in (wall - passes, sum(synced), passes)))
        print("{:.2f} ms a trial, of which {:.2f} ms fsync, beside {:.2f} ms of its pass".format(*tries[-1]))
        if tries[-1][0] <= 2:
            return
    own, fsync = min(each - fsync for each, fsync, _ in tries), min(fsync for _, fsync, _ in tries)
    assert own <= 1.5, f"{own:.2f} ms a trial without fsync"
    assert fsync > 0.5, "the harness alone is too slow"
    pytest.skip(f"the harness takes {own:.2f} ms a trial, but an fsync {fsync:.2f} ms on this disk now")


@pytest.mark.alone
def test_the_points_of_a_curve_are_not_hidden_in_the_time_of_the_pass():
    from olbench import load_dataset, make_algorithm, online_pass

    data, algorithm = load_dataset("breast-cancer"), make_algorithm("arow")
    # Long enough that a call of the kernel and a look at the clock for each point are a small part of it.
    X, y = np.tile(data.X, (8, 1)), np.tile(data.y, 8)

    def seconds(curve):
        passes = (online_pass(algorithm, X, y, curve=curve, stopped=lambda: False) for _ in range(50))
        return min(result.seconds for result in passes)

    # In turns, and again where another process came between: what is hidden there would be hidden always.
    turns = ((seconds(50), seconds(1)) for _ in range(8))
    assert any(many < 1.25 * one for many, one in turns)


def _measured_fsync(monkeypatch):
    """Return a list that fills with the seconds of each fsync."""
    spent, real = [], os.fsync

    def fsync(file):
        started = time.perf_counter()
        real(file)
        spent.append(time.perf_counter() - started)

    monkeypatch.setattr("os.fsync", fsync)
    return spent
