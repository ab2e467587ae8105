"""Writes a results folder of any size without running a trial."""

import json

import numpy as np

from olbench.algorithms.spec import AlgorithmSpec
from olbench.data.spec import DatasetSpec
from olbench.protocols.online import OnlineExperiment
from olbench.records import ledger, record, run_file
from olbench.records.run_file import CellFacts, DataFacts, RunFile
from olbench.records.trial import Outcome, Trial

EXAMPLES = 5000


def write_large(folder, datasets=100, algorithms=200, permutations=2, points=50, seed=0):
    """Write the run file and the ledger of PA-I with as many values of C as there are algorithms."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    names = [f"data-{place:03}" for place in range(datasets)]
    specs = [AlgorithmSpec("pa1", {"C": 0.001 * (place + 1)}) for place in range(algorithms)]
    config = OnlineExperiment(
        tuple(map(DatasetSpec, names)), tuple(specs), permutations=permutations, curve=points
    )
    cells = []
    with open(folder / ledger.NAME, "wb") as file:
        for name in names:
            difficulty = rng.uniform(0.02, 0.3)
            for place, spec in enumerate(specs):
                rate = difficulty * (1 + 0.002 * place)
                trials = [_trial(name, spec, number, points, seed) for number in range(permutations)]
                for trial in trials:
                    outcome = _outcome(rng, rate, points)
                    file.write(record.write_line(record.success(trial, outcome, "permutation", 0.01)))
                cells.append(_cell(name, spec, place, trials))
    facts = {name: DataFacts(name, EXAMPLES, 20) for name in names}
    written = RunFile(config.plain(), facts, tuple(cells), start=run_file.now(), end=run_file.now())
    (folder / run_file.NAME).write_text(json.dumps(written.plain()))


def _trial(name, spec, number, points, seed):
    setting = {"part": "all", "points": points}
    return Trial("online", name, name, spec.id, spec.params, {}, seed, "report", number, setting, "code")


def _outcome(rng, rate, points):
    t = np.linspace(EXAMPLES / points, EXAMPLES, points).astype(int)
    mistakes = np.cumsum(rng.binomial(np.diff(t, prepend=0), rate))
    updates = np.cumsum(rng.binomial(np.diff(t, prepend=0), min(1.0, 2 * rate)))
    updates = np.maximum(updates, mistakes)
    curve = {
        "t": t.tolist(),
        "mistakes": mistakes.tolist(),
        "updates": updates.tolist(),
        "seconds": np.round(1e-6 * t * rng.uniform(0.9, 1.1), 9).tolist(),
    }
    measured = {
        "n": EXAMPLES,
        "mistakes": int(mistakes[-1]),
        "updates": int(updates[-1]),
        "effective_updates": int(updates[-1]),
        "breakdowns": 0,
        "cpu_seconds": 0.01,
    }
    return Outcome(measured, {"curve": curve})


def _cell(name, spec, place, trials):
    label = f"pa1 C={spec.params['C']:g}"
    keys = tuple(trial.key for trial in trials)
    return CellFacts(name, spec.id, place, label, spec.params, {}, {}, 0, len(trials), keys)
