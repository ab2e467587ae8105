"""A run compiles the kernels that it needs, several at a time, and no others."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from olbench.api import plan
from olbench.engine import compiling
from olbench.engine.compiling import compile_ahead, find_missing
from olbench.engine.stopping import StopFlag
from olbench.kernels.compile import LazyKernel
from olbench.learners.learners import BLOCKED_FROM
from olbench.protocols.reading import data_config
from tests import ROOT

IN_PROCESSES = """
import json, os
from pathlib import Path
from olbench.engine.compiling import compile_kernels
from olbench.engine.stopping import StopFlag
from olbench.kernels import blocked, covariance, diagonal, first_order, rows
import olbench.data.libsvm_kernel

kernels = (diagonal.run_product, first_order.run_baseline)
before = [any(Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nb?"))]
before += [kernel.is_ready for kernel in kernels]
places = [(kernel.__module__, kernel.__name__) for kernel in kernels]
done = list(compile_kernels(places, ["arow"], 2, StopFlag()))
after = [kernel.is_ready for kernel in kernels]
misses = [len(kernel._compiled.stats.cache_misses) for kernel in kernels]
print(json.dumps([before, after, misses, sorted(done) == sorted(map(tuple, places))]))
"""


def test_an_import_compiles_nothing_and_processes_compile_into_the_cache_that_all_share(tmp_path):
    command = [sys.executable, "-c", IN_PROCESSES]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [[False] * 3, [True, True], [0, 0], True]


@pytest.fixture
def cells(tmp_path):
    def find(algorithms: str, d: int = 2):
        path = tmp_path / f"data-{d}.libsvm"
        path.write_text(f"+1 1:1\n-1 {d}:1\n+1 1:2\n-1 2:3\n")
        return plan(data_config(str(path), algorithms, (), ())).cells

    return find


@pytest.fixture
def nothing_ready(monkeypatch):
    monkeypatch.setattr(LazyKernel, "is_ready", False)


def names(places) -> set[str]:
    return {module.rpartition(".")[2] for module, _ in places}


def test_only_the_kernels_of_the_config_and_its_data_are_missing(cells, nothing_ready):
    assert names(find_missing(cells("pa1,perceptron"))) == {"first_order"}
    assert names(find_missing(cells("pa1,arow,scw1"))) == {"first_order", "covariance"}
    assert names(find_missing(cells("arow", BLOCKED_FROM))) == {"blocked"}


def test_the_display_says_what_is_compiled_and_how_much_is_done(cells, nothing_ready, monkeypatch):
    monkeypatch.setattr(compiling, "_compile", lambda place: place)
    said: list[str] = []
    compile_ahead(cells("pa1,arow"), 1, StopFlag(), lambda *words: said.append("".join(words)))
    assert said == [
        "compiling 2 kernels once: 0 done (covariance, first_order)",
        "compiling 2 kernels once: 1 done (first_order)",
        "compiling 2 kernels once: 2 done",
    ]
    left = [("olbench.kernels.gram", "run"), ("olbench.kernels.root", "run")]
    not_kept = "".join(compiling.describe_compiling(left, 3, False))
    words = "compiling 3 kernels in every run: 1 done (gram, root); the cache folder"
    assert not_kept.startswith(words)


def test_a_kernel_that_does_not_compile_ahead_is_left_to_its_trials(cells, nothing_ready, monkeypatch):
    def fail(place):
        raise RuntimeError("no compiler")

    monkeypatch.setattr(compiling, "_compile", fail)
    compile_ahead(cells("pa1"), 1, StopFlag(), lambda *words: None)
    monkeypatch.setattr(LazyKernel, "is_ready", True)
    compile_ahead(cells("pa1,arow"), 2, StopFlag(), pytest.fail)  # all is compiled, and nothing is said


ADDER = """
from numba import float64
from olbench.kernels.compile import kernel
from olbench.kernels.amount import add

@kernel(float64(float64))
def run(x):
    return add(x)
"""
AMOUNT = """
from olbench.kernels.helpers import helper

@helper
def add(x):
    return x + {amount}
"""


def test_another_version_of_a_function_that_a_kernel_calls_is_compiled(tmp_path):
    """After an upgrade, the file of the kernel may be the same."""
    shutil.copytree(ROOT / "olbench", tmp_path / "olbench", ignore=shutil.ignore_patterns("__pycache__"))
    kernels = tmp_path / "olbench" / "kernels"
    (kernels / "adder.py").write_text(ADDER)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "OLBENCH_CACHE": str(tmp_path / "cache")}
    del environment["NUMBA_CACHE_DIR"]
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # which would miss an edit without a change of size and date
    code = "from olbench.kernels.adder import run; print(run.is_ready, run(1.0))"

    def add(amount):
        (kernels / "amount.py").write_text(AMOUNT.format(amount=amount))
        os.utime(kernels / "amount.py", (1e9, 1e9))
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, check=True).stdout

    assert (add(2.0), add(2.0), add(5.0)) == (b"False 3.0\n", b"True 3.0\n", b"False 6.0\n")


def test_numba_without_its_compiler_is_refused_in_one_sentence(olbench, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    done = olbench("run", "quick")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("olbench: NUMBA_DISABLE_JIT is set")


HOMELESS = """
import os
from numba import int64
from olbench.kernels.compile import kernel, rule

def double(x):
    return 2 * x

assert kernel(int64(int64))(double)(4) == 8
assert rule(int64(int64), double).ctypes(4) == 8
assert any(files for _, _, files in os.walk(os.environ["NUMBA_CACHE_DIR"]))
print(os.environ["NUMBA_CACHE_DIR"])
"""


def test_code_compiles_where_the_cache_cannot_be_written(tmp_path):
    (tmp_path / "homeless.py").write_text(HOMELESS)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OLBENCH_CACHE": "/dev/null/nowhere"}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "homeless.py"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not os.path.exists(done.stdout.strip())
