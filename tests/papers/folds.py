"""Results made up from numbers, as if a cross-validation had produced them."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from olbench.algorithms.spec import AlgorithmSpec
from olbench.analysis.reading import measured_columns
from olbench.analysis.results import Entry, Results
from olbench.data.spec import DatasetSpec
from olbench.protocols import get_protocol
from olbench.protocols.crossval import CrossvalExperiment, CrossvalTuning
from olbench.records.run_file import RunFile

CROSSVAL = get_protocol("crossval")
#: Test and training rows of a fold; errors are multiples of 1 / N.
N = 1000
VARIANTS = {
    "var-KL": ("cw-var", "kl"),
    "var-L2": ("cw-var", "l2"),
    "var-Exact": ("cw-var", "exact"),
    "stdev-KL": ("cw", "kl"),
    "stdev-L2": ("cw", "l2"),
    "stdev-Exact": ("cw", "exact"),
}


def entry(dataset: str, label: str, by_epoch: Any, training: Sequence[float] = (), **changes: Any) -> Entry:
    """Return an entry with given test errors (folds, epochs); the last epoch is the chosen one."""
    errors = np.atleast_2d(np.asarray(by_epoch, float))
    folds, epochs = errors.shape
    name = label.partition(" [")[0]
    id, projection = VARIANTS.get(name, (name, None))
    options = {"covariance": "diag", "projection": projection, "a": 1.0} if projection else {}
    wrong = {"errors": errors[:, -1] * N, "training_errors": np.asarray(training or [0.0] * folds) * N}
    numbers = {"number": np.arange(folds), "n": N, "training_n": N, "epochs": epochs, "seconds": 0.5, **wrong}
    numbers |= {"timing": "exclusive", "state_bytes": np.nan, "choice": 0, "arrays": 0}
    columns = {name: np.broadcast_to(numbers[name], folds) for name in measured_columns(CROSSVAL)}
    given = {"dataset": dataset, "label": label, "algorithm": id, "spec": AlgorithmSpec(id, options=options)}
    given |= {"protocol": CROSSVAL, "params": {}, "setting": {}, "options": options, "planned": folds}
    given |= {"entry": 0, "tuning_passes": 0, "keys": (), "columns": columns, "failures": (), "tuned": None}
    given |= {"points": np.arange(1, epochs + 1), "curves": {"test_error": errors}}
    return Entry(**{**given, **changes})


def results(entries: Sequence[Entry]) -> Results:
    names = dict.fromkeys(each.dataset for each in entries)
    specs = {each.label: each.spec for each in entries}
    tuning = CrossvalTuning("nested")
    config = CrossvalExperiment(tuple(map(DatasetSpec, names)), tuple(specs.values()), tuning=tuning)
    return Results(Path("made"), RunFile(config.plain()), tuple(entries))


def many(datasets: Sequence[str], labels: Sequence[str], epochs: int = 10, folds: int = 4) -> Results:
    random = np.random.default_rng(0)
    entries = []
    for dataset, label in product(datasets, labels):
        errors = random.integers(10, 200, (folds, epochs)) / N
        entries.append(entry(dataset, label, errors, (random.integers(0, 20, folds) / N).tolist()))
    return results(entries)
