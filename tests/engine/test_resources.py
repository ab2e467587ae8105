"""What a run takes is bounded by the data; more than there is is refused before the first trial."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from olbench.learners.passes import curve_points

CONFIG = "seed: 1\npermutations: 2\ndatasets: [breast-cancer]\nalgorithms: [perceptron]\n"


def test_a_curve_has_no_more_points_than_the_data_has_rows(here, config, records):
    assert here("run", config(CONFIG + "curve: 1000000000\n"), "--out", "out", "--quiet")[0] == 0
    [first, _] = records("out")
    assert first["curve"]["t"] == list(range(1, 570))
    assert np.array_equal(curve_points(7, 10**9), np.arange(1, 8))


@pytest.mark.alone
def test_a_billion_permutations_are_refused_at_once(here, config):
    started = time.monotonic()
    text = CONFIG.replace("permutations: 2", "permutations: 1000000000")
    assert here.err("run", config(text), "--out", "out") == (
        "olbench: the config asks for 1,000,000,000 trials, and a run can have 1,000,000; "
        "lower the number of permutations, or split the config\n"
    )
    assert not Path("out").exists()
    assert time.monotonic() - started < 20


def test_what_is_no_number_of_jobs_is_refused(here, config, monkeypatch):
    for jobs in ("100000", str(10**24)):
        err = here.err("run", config(CONFIG), "--out", "out", "--jobs", jobs)
        assert err.startswith("olbench: --jobs must be at most ")
    for jobs in ("٣", "9" * 5000, "0", "two"):
        monkeypatch.setenv("OLBENCH_JOBS", jobs)
        err = here.err("run", config(CONFIG), "--out", "out")
        assert err.startswith("olbench: OLBENCH_JOBS must be a whole number from 1, not '")


def test_a_closed_stderr_stops_no_run(tmp_path):
    (tmp_path / "small.yaml").write_text(CONFIG)
    command = f"{sys.executable} -m olbench run small.yaml --out out 2>&-"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0
    assert len((tmp_path / "out" / "trials.jsonl").read_text().splitlines()) == 2


def test_a_config_that_never_ends_is_refused(here):
    Path("zero.yaml").symlink_to("/dev/zero")
    err = here.err("run", "zero.yaml")
    assert err == "olbench: zero.yaml:1: it has more than 10,000,000 characters; a YAML file has fewer\n"


def test_a_ledger_that_is_a_pipe_is_refused_before_anything_waits_for_it(here, config):
    Path("out").mkdir()
    os.mkfifo("out/trials.jsonl")
    err = here.err("run", config(CONFIG), "--out", "out")
    assert err == "olbench: out/trials.jsonl is not a file; remove it, or choose another folder\n"


def test_a_stop_while_many_trials_are_planned_is_heeded_at_once(here, config, monkeypatch):
    from olbench.protocols.definition import Cell

    plan, seen = Cell.trials, []

    def interrupted(cell, known):
        for trial in plan(cell, known):
            seen.append(trial)
            if len(seen) == 5:
                signal.raise_signal(signal.SIGINT)
            yield trial

    monkeypatch.setattr(Cell, "trials", interrupted)
    text = CONFIG.replace("permutations: 2", "permutations: 20000")
    code, out, err = here("run", config(text), "--out", "out", "--quiet")
    assert (code, out) == (130, "")
    assert "stopped; finished trials are kept" in err
    assert len(seen) == 5
    assert not Path("out/trials.jsonl").exists()


def test_a_lack_of_memory_is_one_sentence(here, config, monkeypatch):
    def take_too_much(*_, **__):
        raise MemoryError

    monkeypatch.setattr("olbench.api.complete", take_too_much)
    err = here.err("run", config(CONFIG), "--out", "out")
    assert err.startswith("olbench: there is not enough memory for this; ")
