"""An algorithm that counts differently has another version, and a trial of another version is not reused."""

import linecache
import re
import shutil
import subprocess
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from olbench import load_plugin, make_algorithm, online_pass
from olbench.algorithms import get_definition
from olbench.algorithms.definition import REGISTRY, first_order
from olbench.plugins import digest_syntax, forget_file, load_file
from olbench.records import provenance
from tests import ROOT
from tests.behaviours import find_unversioned, list_forms, list_probed, observe, read_recorded

RULE = '''\
"""A rule of one's own."""
from olbench import Parameter, second_order


@second_order("mine", parameters=(Parameter("r", 1.0, "regularisation"),))
def mine(m, v, mistake, t, p):
    """Learn like AROW."""
    loss = max(0.0, 1.0 - m)
    beta = 1.0 / (v + p[0])
    return loss, loss * beta, 1.0 / p[0]
'''


@pytest.mark.parametrize("definition", list_probed(), ids=lambda each: each.id)
def test_an_algorithm_that_counts_differently_has_another_version(definition):
    found = observe(definition, list_forms(definition))
    assert list(find_unversioned(read_recorded(), {definition.id: found})) == []
    assert read_recorded().get(definition.id) == list(found), "run `make behaviours`"


def test_the_sentence_names_the_algorithm_and_the_version_to_set():
    pa1 = get_definition("pa1")
    changed = replace(
        pa1, rule=lambda m, s, mistake, q, t, k, p: (max(0.0, 1.0 - m), 1.0, 0.01 if m < 1.0 else 0.0)
    )
    REGISTRY["pa1"] = changed
    try:
        found = {"pa1": observe(changed, [{}])}
    finally:
        REGISTRY["pa1"] = pa1
    [sentence] = find_unversioned(read_recorded(), found)
    assert sentence.startswith("pa1 counts differently now (default): set its version to 2 in ")
    assert not list(find_unversioned(read_recorded(), {"pa1": (2, found["pa1"][1])}))


def test_an_installed_package_declares_the_versions_of_its_algorithms(monkeypatch):
    mine = replace(get_definition("arow"), rule=lambda m, v, mistake, t, p: (0.0, 0.0, 0.0), version=2)
    assert mine.code == digest_syntax(Path(__file__).read_bytes())
    point = EntryPoint("mine", "tests.records", "olbench.algorithms")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point] * (group == point.group))
    assert replace(mine).code == "2"
    assert get_definition("arow").code == "1"


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        ("Learn like AROW.", "Learn just like AROW.", True),
        ('    """Learn like AROW."""\n', "    # Learn like AROW.\n\n", True),
        ('"""A rule of one\'s own."""\n', "", True),
        ("beta = 1.0", "beta  =  (1.0)", True),
        ("beta = 1.0", "beta = 2.0", False),
        ("beta = 1.0", "beta = 1", False),
        ("max(0.0", "min(0.0", False),
    ],
)
def test_words_keep_the_code_of_a_users_file(before, after, is_same):
    assert before in RULE
    assert (digest_syntax(RULE.replace(before, after)) == digest_syntax(RULE)) is is_same


def test_every_version_of_python_finds_the_same_code():
    """The trials of a user's file are reused after an update of Python."""
    assert digest_syntax(RULE) == "f2eb218209cd2525"


def test_a_user_who_edits_a_docstring_reuses_every_trial(here, own_folder):
    words = ("run", "breast-cancer", "--algorithms", "mine", "--plugin", "mine.py", "--out", "out")
    for text, said in (
        (RULE, "2 trials run, 0 reused"),
        (RULE.replace("Learn like", "Learn just like"), "nothing to do: all 2 trials are in out"),
        (RULE.replace("1.0 / p[0]", "0.5 / p[0]"), "2 trials run, 0 reused"),
    ):
        Path("mine.py").write_text(text)
        assert said in here.out(*words, "--set", "permutations=2")
        forget_file(load_file("mine.py"))


OWN_RULE = """
@olbench.first_order("far")
def far(m, s, mistake, q, t, k, p):
    return near.find_bound() + OFFSET - m, 1.0, 0.0
"""
OWN_LEARNER = """
@olbench.compiled_learner("far", arrays={"w": "d"})
class Far:
    def score(arrays, columns, values, t, p):
        return 0.0
    def learn(arrays, columns, values, y, t, p):
        return 2 if near.find_bound() + OFFSET > 0.0 else 0
"""
NEAR = "import numba, nearest\n@numba.njit\ndef find_bound():\n    return nearest.get()\n"
NEAREST = "import numba\nget = numba.njit(lambda: 2.0)\n"


@pytest.mark.parametrize("text", [OWN_RULE, OWN_LEARNER])
def test_compiled_code_on_disk_follows_what_it_takes_from_other_modules(text, own_folder, monkeypatch):
    """A second edit goes back to code that is on disk. Values from plain modules are not in the code."""
    monkeypatch.syspath_prepend(".")
    Path("own.py").write_text("import near, olbench\nfrom plain import OFFSET\n" + text)
    found = []
    for bound, offset in [("2.0", "1.0"), ("-2.00", "1.0"), ("2.0", "-3.00"), ("2.0", "1.0")]:
        Path("near.py").write_text(NEAR)
        Path("nearest.py").write_text(NEAREST.replace("2.0", bound))
        Path("plain.py").write_text(f"OFFSET = {offset}\n")
        [far] = load_plugin("own.py")
        found.append((far.code, online_pass(make_algorithm("far"), np.eye(3), [1, -1, 1]).updates))
        for module in (far.module, "near", "nearest", "plain"):
            forget_file(module)
    (first, _), (other, _), *_ = found
    assert found == [(first, 3), (other, 0), (first, 0), (first, 3)]
    assert first != other


@pytest.mark.parametrize(("has_source", "count"), [(True, 2), (False, 1)])
def test_a_rule_of_a_notebook_has_the_code_of_its_source(has_source, count):
    """It has no file; a rule without any source has its version."""
    codes = set()
    for shrink in ("1.0", "0.9"):
        text = f"@first_order('cell')\ndef cell(m, s, mistake, q, t, k, p):\n    return 0.0, {shrink}, 0.0\n"
        if has_source:
            linecache.cache["<cell>"] = len(text), None, text.splitlines(keepends=True), "<cell>"
        scope = {"first_order": first_order, "__name__": "__main__"}
        exec(compile(text, "<cell>", "exec"), scope)
        codes.add(scope["cell"].code)
        linecache.cache.pop("<cell>", None)
    REGISTRY.drop("__main__")
    assert len(codes) == count
    assert ("1" in codes) is not has_source


@pytest.mark.parametrize(
    ("name", "datasets"), [("scw", "synthetic, synthetic-noise"), ("streams", "stagger")]
)
def test_the_shipped_trials_still_count(name, datasets, here, tmp_path):
    """A run into a copy of the reference results computes nothing: every trial is reused."""
    shutil.copytree(ROOT / f"results/{name}/reference", tmp_path / "copy")
    words = ("--set", f"datasets=[{datasets}]", "--out", tmp_path / "copy")
    out = here.out("run", ROOT / f"configs/{name}.yaml", *words)
    assert re.search(r"\n0 trials run, \d+ reused", out), out[-300:]


def test_files_that_git_does_not_track_are_no_uncommitted_changes(tmp_path, monkeypatch):
    def git(*words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True)

    monkeypatch.setattr(provenance, "PACKAGE", tmp_path / "olbench")
    (tmp_path / "olbench").mkdir()
    (tmp_path / "olbench/rule.py").write_text("a")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    (tmp_path / "churn.yaml").write_text("b")
    assert provenance.commit.__wrapped__()["dirty"] is False
    (tmp_path / "olbench/rule.py").write_text("c")
    assert provenance.commit.__wrapped__()["dirty"] is True
