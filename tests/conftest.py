"""What all tests share: compiled code that cannot be stale, and examples."""

import hashlib
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

PACKAGE = Path(__file__).parent.parent / "olbench"
#: The folders with compiled code, and all from which it takes functions and constants.
COMPILED = ("kernels", "algorithms", "data", "papers")
SOURCES = sorted(path for name in COMPILED for path in PACKAGE.joinpath(name).rglob("*.py"))
DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()[:16]
# numba notices a change of the file a function is in, not of those it calls: key the cache by all of them.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"olbench-numba-{DIGEST}"))

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
