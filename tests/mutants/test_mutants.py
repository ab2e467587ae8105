"""Mutants change what the code computes, and nothing that it says."""

import ast
from pathlib import Path

import pytest

from tests.mutants.__main__ import judge
from tests.mutants.operators import choose, find_mutants
from tests.mutants.table import ROOT, TESTS, list_modules

SOURCE = '''"""A docstring with 1 number."""
def step(w: "list[1]", order, é=0):
    """Return 2 numbers."""
    for k in range(1, len(order)):
        if order[k] <= 0.5 and not w:
            raise ValueError(f"{k + 1} of 2")
        w[k] += max(order[k:], k)
    return w, k - 1
'''.encode()


def test_every_change_is_made_once_and_messages_annotations_and_docstrings_are_left_alone():
    found = [f"{mutant.old} -> {mutant.text}" for mutant in find_mutants("m", SOURCE)]
    assert sorted(found) == sorted([
        "0 -> 1",
        "range(1, len(order)) -> (range(1, len(order) - 1))",
        "range(1, len(order)) -> (range(1 + 1, len(order)))",
        "1 -> 2",
        "order[k] <= 0.5 and (not w) -> (not (order[k] <= 0.5 and (not w)))",
        "order[k] <= 0.5 and (not w) -> (order[k] <= 0.5 or not w)",
        "order[k] <= 0.5 and (not w) -> (not w)",
        "order[k] <= 0.5 and (not w) -> (order[k] <= 0.5)",
        "order[k] <= 0.5 -> (order[k] < 0.5)",
        "0.5 -> 1.0",
        "not w -> (w)",
        "w[k] += max(order[k:], k) -> pass",
        "w[k] += max(order[k:], k) -> w[k] -= max(order[k:], k)",
        "max(order[k:], k) -> (min(order[k:], k))",
        "k: -> k + 1:",
        "return (w, k - 1) -> return (0.0, k - 1)",
        "return (w, k - 1) -> return (w, 0.0)",
        "k - 1 -> (k + 1)",
        "1 -> 2",
    ])  # fmt: skip


def test_every_chosen_mutant_is_another_program_and_a_seed_chooses_the_same_again():
    modules = {name: path for name, path in list_modules().items() if not name.startswith("kernels")}
    chosen = choose(0, 60, modules)
    assert chosen == choose(0, 60, modules) != choose(1, 60, modules)
    assert {mutant.module for mutant in chosen} >= {"stats", "report.verdicts", "trials.ledger"}
    for mutant in chosen:
        source = modules[mutant.module].read_bytes()
        assert ast.dump(ast.parse(mutant.apply(source))) != ast.dump(ast.parse(source))


@pytest.mark.parametrize("module", TESTS)
def test_the_tests_of_a_module_are_there(module):
    assert ROOT.joinpath("olbench", module.replace(".", "/")).exists() or list_modules()[module].exists()
    for each in TESTS[module]:
        assert Path(ROOT, each.partition("::")[0]).exists()


def test_only_a_survivor_can_be_equivalent():
    [mutant] = [mutant for mutant in find_mutants("m", SOURCE) if mutant.old == "0"]
    patterns = {"m step: 0 -> *": "an optional label"}
    assert mutant.key == "m step: 0 -> 1"
    assert judge(mutant, None, patterns) == "untried"
    assert judge(mutant, {"status": "timeout"}, patterns) == "killed"
    assert judge(mutant, {"status": "survived"}, patterns) == "equivalent"
    assert judge(mutant, {"status": "survived"}, {}) == "survived"
