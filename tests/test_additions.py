"""What docs/architecture.md says to write is enough: the command then knows an addition."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RULE = '''"""A perceptron that takes half a step."""

from olbench.algorithms.definition import Traits, first_order


@first_order("half-perceptron", title="Half", source="nowhere", traits=Traits(False, False, True, False))
def half_perceptron(m, s, mistake, q, t, k, p):
    """Add half of y x on every mistake."""
    return (1.0, 1.0, 0.5) if mistake else (0.0, 1.0, 0.0)
'''
DATA = """
  digits-4-vs-9:
    title: Digits 4 and 9
    format: scikit-learn
    bundled: digits
    positive: 4
    negative: 9
    rows: 361
    features: 64
    labels: {-1: 180, 1: 181}
    source: scikit-learn
"""
TABLE = '''"""One JSON object per line."""

import pandas as pd

from olbench.data.readers.frames import table_of

SUFFIXES = (".jsonl",)


def read_table(path, delimiter="", limit=None):
    """Return the cells of a file of JSON objects."""
    return table_of(pd.read_json(path, lines=True), str(path))
'''
PAPER = """\
id: mine2026
title: Mine
citation: nobody, 2026
protocol: online
tables:
  - where: Table 1
    quantities: [mistake_rate]
    n: 20
    numbers: {breast-cancer: {perceptron: ["0.340 ± 0.020"]}}
"""
AUDIT = '''"""The theory of a paper."""

from olbench import audit


@audit.check(paper="mine2026", where="Theorem 1", statement="x^2 >= 0")
def theorem_1(rng, trials):
    """Square random numbers."""
    for x in rng.normal(size=trials):
        yield audit.Instance(-x * x)
'''
SECTION = '''"""A section."""

from olbench.report.sections import Section, register

register(Section("greeting", "Greeting", lambda report: ["good morning"]))
'''
FORMAT = '''"""How many lines there are."""

from olbench.report.renderers import Format

FORMAT = Format("lines.txt", "lines", lambda document, screen: f"{len(document.records())} lines")
'''
EXECUTOR = '''"""One trial after the other, in this thread."""

from contextlib import nullcontext

from olbench.engine.executors import executor
from olbench.engine.executors.local import attempt


class Serial:
    """Runs trials in their order."""

    jobs = 1

    def execute(self, trials, stop):
        """Yield records as trials finish."""
        yield from filter(None, (attempt(trial, stop) for trial in trials))


@executor("serial")
def open_serial(where, plugins, say):
    """Return the executor."""
    return nullcontext(Serial())
'''
NOTE = '    note: Annotated[str, "what the experiment is for"] = ""\n\n    def with_settings('
FIRST_SECTION = '    sections: ClassVar[tuple[str, ...]] = (\n        "headline",'
#: The new files, the changes to files that name things, the command that knows them and what it prints.
ADDITIONS = {
    "algorithm": (
        {"olbench/algorithms/half.py": RULE}, {},
        "run breast-cancer --algorithms half-perceptron --out out", "half-perceptron",
    ),
    "data set": (
        {}, {"datasets/catalog.yaml": ("", DATA)},
        "data verify digits-4-vs-9", "agrees with the catalogue",
    ),
    "format of tables": (
        {"olbench/data/readers/tables/jsonl.py": TABLE}, {},
        "data info my.jsonl --label kind", "kind",
    ),
    "protocol": (
        {"olbench/protocols/train_test.py": (ROOT / "docs/examples/my_protocol.py").read_text("utf-8")}, {},
        "run breast-cancer --algorithms perceptron --out out --set protocol=train-test", "accuracy",
    ),
    "paper": (
        {"olbench/papers/mine2026/numbers.yaml": PAPER, "olbench/papers/mine2026/audit.py": AUDIT}, {},
        "audit mine2026", "As printed, all",
    ),
    "section": (
        {"olbench/report/sections/greeting.py": SECTION},
        {"olbench/protocols/definition.py": (FIRST_SECTION, FIRST_SECTION + ' "greeting",')},
        "report scw --full", "good morning",
    ),
    "output format": (
        {"olbench/report/renderers/lines.py": FORMAT}, {},
        "report scw --format lines", "168 lines",
    ),
    "executor": (
        {"olbench/engine/executors/serial.py": EXECUTOR}, {},
        "run breast-cancer --algorithms perceptron --out out --cluster serial:", "20 trials run",
    ),
    "key": (
        {}, {"olbench/config/specs.py": ("\n    def with_settings(", NOTE)},
        "run breast-cancer --algorithms perceptron --out out --set note=mine", "20 trials run",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Return a copy of the code and of what ships with it, with the compiled kernels."""
    root = tmp_path_factory.mktemp("checkout")
    for name in ("olbench", "datasets", "configs"):
        shutil.copytree(ROOT / name, root / name)
    (root / "results").symlink_to(ROOT / "results")
    return root


@pytest.mark.parametrize("what", ADDITIONS)
def test_an_addition_is_one_file_and_the_place_that_names_it(what, checkout, tmp_path):
    files, changes, command, printed = ADDITIONS[what]
    assert len({str(Path(name).parent) for name in files}) + len(changes) <= 2
    before = {name: (checkout / name).read_text("utf-8") for name in changes}
    try:
        for name, text in files.items():
            (checkout / name).parent.mkdir(exist_ok=True)
            (checkout / name).write_text(text, "utf-8")
        for name, (old, new) in changes.items():
            assert before[name].count(old) == 1 or not old
            (checkout / name).write_text(
                before[name].replace(old, new) if old else before[name] + new, "utf-8"
            )
        (tmp_path / "my.jsonl").write_text('{"a": 1, "kind": "x"}\n{"a": 2, "kind": "y"}\n')
        done = subprocess.run(
            [sys.executable, "-m", "olbench", *command.split()],
            capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(checkout)},
        )  # fmt: skip
    finally:
        for name in files:
            (checkout / name).unlink(missing_ok=True)
        for name, text in before.items():
            (checkout / name).write_text(text, "utf-8")
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout
