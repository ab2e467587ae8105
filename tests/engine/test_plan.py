"""The plan of a run: what a finished trial does not touch is not walked again, and nothing is missed."""

import random
from collections import Counter
from pathlib import Path

import pytest

from olbench import api
from olbench.engine.plan import RunPlan
from olbench.protocols.definition import Cell
from olbench.protocols.reading import read_config

TUNED = """\
datasets: [breast-cancer, digits-1-vs-7]
permutations: 3
algorithms: [perceptron, {id: pa1, grid: {C: [1, 2, 4]}}, {id: scw1, grid: {C: [0.5, 1], eta: [0.75, 0.9]}}]
tuning: {search: SEARCH, permutations: 2, OTHERS}
"""


def test_a_run_walks_a_cell_once_in_each_wave_that_it_takes_part_in(here, config, monkeypatch):
    walks, step = Counter(), Cell.step

    def note(self, *about):
        walks[self.label, self.source.name] += 1
        return step(self, *about)

    monkeypatch.setattr(Cell, "step", note)
    text = TUNED.replace("SEARCH", "coordinate").replace(", OTHERS", "")
    assert here("run", config(text), "--quiet", "--out", "out")[0] == 0
    # Before the first wave, and after each: a tuning of two parameters takes two.
    expected = {"perceptron": 2, "pa1": 3, "scw1": 4}
    assert walks == {
        (id, data): n for id, n in expected.items() for data in ("breast-cancer", "digits-1-vs-7")
    }


@pytest.mark.parametrize("search", ["grid", "coordinate"])
@pytest.mark.parametrize("others", ["extend: true", "per: permutation", "extend: true, per: permutation"])
def test_a_plan_that_grows_with_the_trials_is_the_plan_made_from_all_of_them(search, others, config):
    """In whatever order they come back, and whoever asks in between."""
    text = TUNED.replace("SEARCH", search).replace("OTHERS", others)
    cells = api.plan(read_config(Path(config(text)))).cells
    moments, known = random.Random(search + others), {}
    plan = RunPlan(cells, False)
    while due := plan.next(known):
        whole = RunPlan(cells, False)
        assert [trial.key for trial in whole.next(known)] == [trial.key for trial in due]
        assert plan.describe_cells() == whole.describe_cells()
        assert plan.planned == whole.planned
        for trial in moments.sample(due, moments.randint(1, len(due))):
            mistakes = int(abs(trial.params.get("C", 0.0) - 3.0) * 10) + trial.number
            known[trial.key] = {"status": "ok", "mistakes": mistakes, "n": 100}
        plan.next(known, moments.choice(["", "breast-cancer", "digits-1-vs-7"]))
    assert all(facts.params is not None and len(facts.keys) == 3 for facts in plan.describe_cells())
    assert sum(plan.planned.values()) == len(known)
