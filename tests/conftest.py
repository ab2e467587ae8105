"""Fixtures that all tests share, and where their compiled code is kept."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests.compile import CACHE

os.environ.setdefault("NUMBA_CACHE_DIR", str(CACHE))

#: A small experiment, and the counts in its records.
SMALL = """\
seed: 3
permutations: 3
curve: 5
datasets: [breast-cancer, digits-1-vs-7]
algorithms: [perceptron, {id: arow, params: {r: 1.0}}, {id: scw1, grid: {C: [0.5, 1], eta: [0.75, 0.9]}}]
tuning: {search: grid}
"""
COUNTS = ("n", "mistakes", "updates", "effective_updates", "breakdowns")

#: Tables are as wide as in a pipe, whatever the terminal of the tests.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)

#: The quick profile draws the same examples every time; `--hypothesis-profile=long` draws others, many more.
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("quick", max_examples=100, derandomize=True, **COMMON)
settings.register_profile("long", max_examples=5000, print_blob=True, **COMMON)
settings.load_profile("quick")

#: The files that take longest: at the end, the other processes would wait for them.
SLOWEST = (
    "test_cluster.py", "test_mirror.py", "test_safety.py", "test_run.py", "test_verdicts.py",
    "test_own_format.py", "test_documents.py", "test_own_algorithm.py", "test_crossings.py",
    "test_release.py", "test_figures.py", "test_blocks.py", "test_page.py",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    """Start the slowest files first, the others in their order."""
    places = {name: place for place, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


@pytest.fixture(autouse=True, scope="module")
def forget_registrations():
    """Drop the algorithms and protocols that a file of tests registers; the next file expects none."""
    from olbench.algorithms import definition as algorithms
    from olbench.protocols import definition as protocols

    registries = (algorithms.REGISTRY, protocols.REGISTRY)
    for registry in registries:
        registry.load()
    before, modules = [set(registry) for registry in registries], set(sys.modules)
    yield
    for registry, ids in zip(registries, before, strict=True):
        for id in set(registry) - ids:
            del registry[id]
    for name in set(sys.modules) - modules:
        if name.startswith("olbench_plugin_"):
            del sys.modules[name]


@pytest.fixture
def rng():
    return np.random.default_rng(2012)


@pytest.fixture(scope="session")
def mirror():
    folder = Path(os.environ.get("OLBENCH_MIRROR", ""))
    if "OLBENCH_MIRROR" not in os.environ or not folder.is_dir():
        pytest.skip("OLBENCH_MIRROR does not name a folder with the real data sets")
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

    monkeypatch.setattr(Lines, "PAUSE", 3600.0)  # a busy machine would print more lines of progress
    return Command(capsys, monkeypatch)


def without_activity(text):
    """Return the messages of a run without the progress that only slow machines print."""
    return re.sub(r"(?m)^(reading|loading|preparing|compiling|[0-9,]+ of [0-9,]+ trials,) .*\n", "", text)


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """Work in an empty folder, without a mirror and with an empty cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OLBENCH_MIRROR", raising=False)
    monkeypatch.delenv("OLBENCH_JOBS", raising=False)
    monkeypatch.setenv("OLBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    """An empty cache, no mirror, and no proxy between tests and their local servers."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("OLBENCH_CACHE", str(folder))
    monkeypatch.delenv("OLBENCH_MIRROR", raising=False)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "*")
    yield folder
    # pytest keeps the folders of three runs, and some parsed data sets are large.
    shutil.rmtree(folder / "parsed", ignore_errors=True)


@pytest.fixture
def olbench():
    """Return a function that runs the command in another process."""

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
    """Return a function that gives the counts of each key, and asserts that no key occurs twice."""

    def read(folder):
        found = records(folder)
        assert len({record["key"] for record in found}) == len(found)
        return {r["key"]: (*(r.get(c) for c in COUNTS), r["curve"]["mistakes"]) for r in found}

    return read
