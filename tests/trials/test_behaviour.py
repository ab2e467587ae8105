"""The key of a trial changes with what an algorithm does, and with nothing else."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from olbench.protocols import behaviour as module
from olbench.protocols.behaviour import behaviour, is_observed, source_hash
from olbench.records import seeds

ROOT = Path(__file__).resolve().parents[2]
FULL = {"covariance": "full", "form": "covariance", "a": 1.0}
RULE = """\
from olbench import Parameter, second_order


@second_order("mine", parameters=(Parameter("r", 1.0, "regularisation"),))
def mine(m, v, mistake, t, p):
    '''Learn like AROW.'''
    loss = max(0.0, 1.0 - m)
    beta = 1.0 / (v + p[0])
    return loss, loss * beta, 1.0 / p[0]
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Observe anew: nothing is remembered from another test or session, or came with the package."""
    monkeypatch.setenv("OLBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "_read_shipped", dict)
    module._remembered.cache_clear()
    yield
    module._remembered.cache_clear()


def test_algorithms_options_and_forms_behave_differently():
    diagonal = {"covariance": "diag", "projection": "kl", "a": 1.0}
    seen = [behaviour("arow", FULL), behaviour("arow", {**FULL, "a": 2.0}), behaviour("arow", diagonal),
            behaviour("scw1", FULL), behaviour("perceptron", {})]  # fmt: skip
    assert len(set(seen)) == len(seen)
    module._remembered.cache_clear()
    assert behaviour("arow", FULL) == seen[0]


def test_it_is_remembered_under_the_hash_of_the_sources(tmp_path, monkeypatch):
    found = behaviour("arow", FULL)
    [memo] = (tmp_path / "cache" / "behaviour").iterdir()
    memo.write_text(json.dumps({**json.loads(memo.read_text()), "behaviour": "remembered"}))
    module._remembered.cache_clear()
    assert behaviour("arow", FULL) == "remembered"
    monkeypatch.setattr(module, "source_hash", lambda id: "another source")
    module._remembered.cache_clear()
    assert behaviour("arow", FULL) == found


def test_what_ships_is_what_would_be_observed(monkeypatch):
    """Else the first run on a machine compiles kernels for the probes alone: run `make behaviours`."""
    known = json.loads(module.SHIPPED.read_text())
    monkeypatch.setattr(module, "_read_shipped", lambda: known)
    assert known["sources"] == source_hash("arow"), "run `make behaviours`, and see whose line it changes"
    for name, shipped in known["behaviours"].items():
        id, options = name.split(" ", 1)
        assert module._observe(id, json.loads(options)) == shipped, name
        assert is_observed(id, json.loads(options)) == (known["compilers"] == module._versions())


def test_another_order_of_the_seeds_is_another_behaviour(monkeypatch):
    before = behaviour("arow", FULL)
    real = seeds.order
    monkeypatch.setattr(seeds, "order", lambda *words: real(*words)[::-1].copy())
    monkeypatch.setattr(module, "source_hash", lambda id: "changed")
    module._remembered.cache_clear()
    assert behaviour("arow", FULL) != before


def in_a_copy(folder: Path, code: str, changes: dict[str, tuple[str, str]]) -> str:
    shutil.copytree(ROOT / "olbench", folder / "olbench", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "datasets", folder / "datasets")
    for name, (before, after) in changes.items():
        path = folder / "olbench" / name
        text = path.read_text(encoding="utf-8")
        assert before in text
        path.write_text(text.replace(before, after, 1), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True,
        env={"PATH": "/usr/bin:/bin", "OLBENCH_CACHE": str(folder / "cache"), "PYTHONPATH": str(folder),
             "NUMBA_CACHE_DIR": str(folder / "numba")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_changed_message_keeps_every_trial_and_a_changed_rule_loses_them(tmp_path):
    """What orphaned the results of version 0.1 was a changed error message in one of the hashed files."""
    code = "from olbench.protocols.behaviour import *; print(behaviour('pa1', {}), source_hash('pa1'))"
    now = f"{behaviour('pa1', {})} {source_hash('pa1')}".split()
    message = in_a_copy(tmp_path / "message", code, {
        "learners/learners.py": ("a full covariance of", "the full covariance of"),
    }).split()  # fmt: skip
    assert message[0] == now[0]
    assert message[1] != now[1]
    rule = in_a_copy(tmp_path / "rule", code, {
        "algorithms/passive_aggressive.py": ("min(C", "0.5 * min(C"),
    }).split()  # fmt: skip
    assert rule[0] != now[0]


def test_the_file_of_ones_own_rule_is_part_of_its_behaviour(tmp_path):
    code = """
from olbench import load_plugin
from olbench.protocols.behaviour import behaviour
load_plugin("mine.py")
print(behaviour("mine", {"covariance": "diag", "projection": "kl", "a": 1.0}))
"""
    seen = []
    for name, text in (("a", RULE), ("b", RULE.replace("Learn like", "Learn just like")), ("c", RULE)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "mine.py").write_text(text)
        done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        seen.append(done.stdout.strip())
    assert seen[0] != seen[1]
    assert seen[0] == seen[2]


def test_the_shipped_trials_still_count(here, tmp_path, monkeypatch):
    """A run into a copy of the reference results computes nothing: every trial is reused."""
    shutil.copytree(ROOT / "results/scw/reference", tmp_path / "copy")
    words = ("--set", "datasets=[synthetic, synthetic-noise]", "--out", tmp_path / "copy")
    code, out, err = here("run", ROOT / "configs/scw.yaml", *words)
    assert code == 0, err
    assert re.search(r"\n0 trials run, \d+ reused", out), out[-300:]
