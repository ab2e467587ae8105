"""Results made up from numbers, as if a run of the paper's protocol had produced them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from olbench.algorithms import get_definition
from olbench.data.catalog import catalog
from olbench.papers import Reported, load_paper
from olbench.report.frame import CURVES, MEASURED, Entry, Results

PAPER = load_paper("scw2012")
#: All examples of a made-up data set; rates are multiples of 1 / N.
N = 100_000


def options(id: str) -> dict[str, Any]:
    """Return the options of a plain entry."""
    definition = get_definition(id)
    return {"covariance": "full", "form": definition.form, "a": 1.0} if definition.order == "second" else {}


def spec(id: str, **changes: Any) -> dict[str, Any]:
    """Return what a config says about a plain entry, or about a variant."""
    grid = {name: list(values) for name, values in get_definition(id).grid.items()}
    return {"id": id, **({"grid": grid} if grid else {}), **options(id), **changes}


def entry(dataset: str, id: str, rates, updates=None, seconds=None, **changes: Any) -> Entry:
    """Return an entry with given numbers, one a permutation."""
    rates = np.atleast_1d(np.asarray(rates, float))
    updates = np.full(rates.size, 1000) if updates is None else np.atleast_1d(updates)
    seconds = np.full(rates.size, 0.5) if seconds is None else np.atleast_1d(seconds)
    trials = pd.DataFrame(
        {
            "permutation": np.arange(rates.size),
            "n": N,
            "mistakes": rates * N,
            "updates": updates,
            "effective_updates": updates,
            "breakdowns": 0,
            "seconds": seconds,
            "cpu_seconds": seconds,
            "timing": "exclusive",
        },
        columns=MEASURED,
    )
    about = {
        "label": id,
        "params": {},
        "options": options(id),
        "planned": max(rates.size, 1),
        "trials": trials,
        "failures": (),
    }
    none = {name: np.zeros((rates.size, 0)) for name in CURVES}
    return Entry(
        dataset, algorithm=id, tuned=None, points=np.zeros(0, np.int64), curves=none, **{**about, **changes}
    )


def results(entries: list[Entry], specs: list[dict[str, Any]] | None = None, **config: Any) -> Results:
    """Return entries as the results of a run; each data set must have the same algorithms in one order."""
    datasets = list(dict.fromkeys(each.dataset for each in entries))
    first = [each for each in entries if each.dataset == datasets[0]]
    info = {
        "config": {
            "datasets": [{"name": name} for name in datasets],
            "algorithms": specs or [spec(each.algorithm) for each in first],
            "paper": "scw2012",
            "tuning": {"search": "coordinate"},
            **config,
        },
        "data": {name: {"fingerprint": catalog()[name].fingerprint} for name in datasets},
    }
    return Results(Path("made"), info, tuple(entries))


def as_printed() -> Results:
    """Return a run that measures exactly what Table 3 prints."""
    quantities = ("mistake_rate", "updates", "seconds")
    return results(
        [
            entry(cell.dataset, cell.algorithm, *(_as_printed(getattr(cell, name)) for name in quantities))
            for cell in PAPER.cells
        ]
    )


def _as_printed(reported: Reported) -> np.ndarray:
    return spread(reported.mean, reported.deviation)


def spread(mean: float, deviation: float, n: int = 20) -> np.ndarray:
    """Return n numbers with just this mean and sample deviation."""
    shape = np.resize([1.0, -1.0], n)
    return mean + deviation * shape / shape.std(ddof=1)
