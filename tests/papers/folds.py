"""Results made up from numbers, as if a cross-validation had produced them."""

from pathlib import Path

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
FORMS = {"var": "cw-var", "stdev": "cw"}
VARIANTS = {f"{name}-{way}": (id, way.lower()) for name, id in FORMS.items() for way in ("KL", "L2", "Exact")}


def entry(dataset, label, by_epoch, training=(), **changes) -> Entry:
    """Return an entry with given test errors (folds, epochs); the last epoch is the chosen one."""
    errors = np.atleast_2d(np.asarray(by_epoch, float))
    folds, epochs = errors.shape
    name = label.partition(" [")[0]
    id, projection = VARIANTS.get(name, (name, None))
    options = {"covariance": "diag", "projection": projection, "a": 1.0} if projection else {}
    numbers = {
        "number": np.arange(folds), "n": N, "training_n": N, "epochs": epochs, "seconds": 0.5,
        "errors": errors[:, -1] * N, "training_errors": np.asarray(training or [0.0] * folds) * N,
        "timing": "exclusive", "state_bytes": np.nan, "choice": 0, "arrays": 0,
    }  # fmt: skip
    given = {
        "dataset": dataset, "label": label, "algorithm": id, "spec": AlgorithmSpec(id, options=options),
        "protocol": CROSSVAL, "params": {}, "setting": {}, "options": options, "planned": folds, "entry": 0,
        "tuning_passes": 0, "keys": (), "failures": (), "tuned": None,
        "columns": {key: np.broadcast_to(numbers[key], folds) for key in measured_columns(CROSSVAL)},
        "points": np.arange(1, epochs + 1), "curves": {"test_error": errors},
    }  # fmt: skip
    return Entry(**{**given, **changes})


def results(entries) -> Results:
    datasets = tuple(DatasetSpec(name) for name in dict.fromkeys(each.dataset for each in entries))
    specs = {each.label: each.spec for each in entries}
    config = CrossvalExperiment(
        datasets, tuple(specs.values()), tuning=CrossvalTuning("nested", also=("paper",))
    )
    return Results(Path("made"), RunFile(config.plain()), tuple(entries))


def many(datasets, labels) -> Results:
    random = np.random.default_rng(0)
    return results(
        [
            entry(name, label, random.integers(10, 200, (4, 10)) / N, list(random.integers(0, 20, 4) / N))
            for name in datasets
            for label in labels
        ]
    )
