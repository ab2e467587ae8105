"""These tests run the real command on small experiments in folders of their own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SMALL = """\
seed: 3
permutations: 3
curve: 5
datasets: [breast-cancer, digits-1-vs-7]
algorithms: [perceptron, {id: arow, params: {r: 1.0}}, {id: scw1, grid: {C: [0.5, 1], eta: [0.75, 0.9]}}]
tuning: {search: grid}
"""
COUNTS = ("n", "mistakes", "updates", "effective_updates", "breakdowns")


def without_activity(text):
    """Return what a run said without what it says on a busy machine: what it loads and compiles."""
    return re.sub(r"(?m)^(reading|loading|preparing|compiling|[0-9,]+ of [0-9,]+ trials,) .*\n", "", text)


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Every test works in an empty folder, without mirror and with data cached once a session."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OLBENCH_MIRROR", raising=False)
    monkeypatch.delenv("OLBENCH_JOBS", raising=False)
    monkeypatch.setenv("OLBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.fixture
def olbench():
    """Return a function that runs the command in a process of its own."""

    def run(*words, **options):
        command = [sys.executable, "-W", "error", "-m", "olbench", *map(str, words)]
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=os.environ, **options
        )
        done.stderr = without_activity(done.stderr)
        return done

    return run


@pytest.fixture
def config():
    def write(text=SMALL, name="small.yaml"):
        Path(name).write_text(text)
        return name

    return write


@pytest.fixture
def records():
    """Return a function that reads a ledger without the help of olbench."""

    def read(folder):
        return [json.loads(line) for line in (Path(folder) / "trials.jsonl").read_text().splitlines()]

    return read


@pytest.fixture
def counts(records):
    """Return a function that gives the counts of each key, after seeing that no key is there twice."""

    def read(folder):
        found = records(folder)
        assert len({record["key"] for record in found}) == len(found)
        return {r["key"]: (*(r.get(c) for c in COUNTS), r["curve"]["mistakes"]) for r in found}

    return read
