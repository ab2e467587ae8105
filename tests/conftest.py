"""What all tests share: compiled code and examples."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# What is compiled is kept for the next run of the tests, apart from what users compile.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / "olbench-numba"))

#: A small experiment, and what its records count.
SMALL = """\
seed: 3
permutations: 3
curve: 5
datasets: [breast-cancer, digits-1-vs-7]
algorithms: [perceptron, {id: arow, params: {r: 1.0}}, {id: scw1, grid: {C: [0.5, 1], eta: [0.75, 0.9]}}]
tuning: {search: grid}
"""
COUNTS = ("n", "mistakes", "updates", "effective_updates", "breakdowns")

#: Tables are as wide as a pipe has them, whoever runs the tests.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)

#: The quick profile draws the same examples every time; `--hypothesis-profile=long` draws others, many more.
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("quick", max_examples=100, derandomize=True, **COMMON)
settings.register_profile("long", max_examples=5000, print_blob=True, **COMMON)
settings.load_profile("quick")


@pytest.fixture
def rng():
    return np.random.default_rng(2012)


@pytest.fixture(scope="session")
def mirror():
    """The folder with the real data, where there is one."""
    folder = Path(os.environ.get("OLBENCH_MIRROR", ""))
    if "OLBENCH_MIRROR" not in os.environ or not folder.is_dir():
        pytest.skip("OLBENCH_MIRROR names no folder: the tests on the real data did not run")
    return folder


class Command:
    """The command in this process: call it for (exit code, standard output, error)."""

    def __init__(self, capsys, monkeypatch):
        self.capsys, self.monkeypatch = capsys, monkeypatch

    def __call__(self, *words):
        from olbench.cli import main

        self.monkeypatch.setattr(sys, "argv", ["olbench", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        captured = self.capsys.readouterr()
        return code, captured.out, captured.err

    def out(self, *words, code=0):
        """Return the standard output of a command that ends with `code`."""
        ended, out, err = self(*words)
        assert ended == code, err or out
        return out

    def err(self, *words, code=2):
        """Return the standard error, likewise."""
        ended, out, err = self(*words)
        assert ended == code, err or out
        return err


@pytest.fixture
def here(capsys, monkeypatch):
    from olbench.engine.progress import Lines

    monkeypatch.setattr(Lines, "PAUSE", 3600.0)  # what is said depends on how busy the machine is
    return Command(capsys, monkeypatch)


def without_activity(text):
    """Return what a run said without what it says on a busy machine: what it loads and compiles."""
    return re.sub(r"(?m)^(reading|loading|preparing|compiling|[0-9,]+ of [0-9,]+ trials,) .*\n", "", text)


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """Work in an empty folder, without mirror and with a cache of its own."""
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
