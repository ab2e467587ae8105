"""Results made up from numbers, as if a run of the paper's protocol had produced them."""

from pathlib import Path
from typing import Any

import numpy as np

from olbench.algorithms import get_definition
from olbench.algorithms.spec import AlgorithmSpec
from olbench.analysis.published import Reported, load_paper
from olbench.analysis.reading import measured_columns
from olbench.analysis.results import Entry, Results
from olbench.data.catalog import catalog
from olbench.data.spec import DatasetSpec
from olbench.protocols import get_protocol
from olbench.protocols.online import OnlineExperiment, OnlineTuning
from olbench.records.run_file import DataFacts, RunFile

ONLINE = get_protocol("online")
PAPER = load_paper("scw2012")
#: All examples of a made-up data set; rates are multiples of 1 / N.
N = 100_000


def number(mean, deviation, half_unit):
    at = {"dataset": "d", "algorithm": "a"}
    return Reported("Table 3", at, "mistake_rate", mean, deviation, half_unit, 20, "")


def options(id: str) -> dict[str, Any]:
    definition = get_definition(id)
    return {"covariance": "full", "form": definition.form, "a": 1.0} if definition.order == "second" else {}


def spec(id: str, **changes: Any) -> AlgorithmSpec:
    """Return what a config says about a plain entry, or about a variant."""
    given = {"params": {}, "grid": dict(get_definition(id).grid), **changes}
    fixed = {name: given.pop(name) for name in ("params", "grid")}
    return AlgorithmSpec(id, **fixed, options={**options(id), **given})


def entry(dataset: str, id: str, rates, updates=None, seconds=None, **changes: Any) -> Entry:
    rates = np.atleast_1d(np.asarray(rates, float))
    updates = np.full(rates.size, 1000) if updates is None else np.atleast_1d(updates)
    seconds = np.full(rates.size, 0.5) if seconds is None else np.atleast_1d(seconds)
    columns = {
        "number": np.arange(rates.size), "n": N, "mistakes": rates * N, "positives": N // 2,
        "false_alarms": 0, "updates": updates, "effective_updates": updates, "breakdowns": 0,
        "seconds": seconds, "cpu_seconds": seconds, "state_bytes": np.nan, "timing": "exclusive",
        "choice": 0, "arrays": 0,
    }  # fmt: skip
    about = {
        "label": id, "spec": spec(id), "params": {}, "options": options(id), "planned": max(rates.size, 1),
        "columns": {name: np.broadcast_to(columns[name], rates.size) for name in measured_columns(ONLINE)},
        "failures": (),
    }  # fmt: skip
    none = {series.name: np.zeros((rates.size, 0)) for series in ONLINE.series}
    return Entry(
        dataset, algorithm=id, entry=0, tuning_passes=0, keys=(), protocol=ONLINE, setting={}, tuned=None,
        points=np.zeros(0, np.int64), curves=none, **{**about, **changes},
    )  # fmt: skip


def results(entries: list[Entry], datasets: tuple[str, ...] = (), search: str = "coordinate") -> Results:
    """Return entries as the results of a run, whose config may ask for further data sets."""
    names = list(dict.fromkeys((*(each.dataset for each in entries), *datasets)))
    config = OnlineExperiment(
        tuple(map(DatasetSpec, names)),
        tuple(each.spec for each in entries if each.dataset == names[0]),
        paper="scw2012",
        tuning=OnlineTuning(search),
    )
    present = dict.fromkeys(each.dataset for each in entries)
    known = {name: entry.fingerprint for name, entry in catalog().items()}
    data = {name: DataFacts(known.get(name, ""), N, 1) for name in present}
    return Results(Path("made"), RunFile(config.plain(), data), tuple(entries))


def as_printed() -> Results:
    """Return a run that measures exactly what Table 3 prints."""
    places = dict.fromkeys((number.dataset, number.row) for number in PAPER.numbers)
    quantities = ("mistake_rate", "updates", "seconds")
    printed = [[PAPER.of(*place)[name] for name in quantities] for place in places]
    return results(
        [
            entry(*place, *(spread(each.mean, each.deviation) for each in own))
            for place, own in zip(places, printed, strict=True)
        ]
    )


def spread(mean: float, deviation: float, n: int = 20) -> np.ndarray:
    """Return n numbers with just this mean and sample deviation."""
    shape = np.resize([1.0, -1.0], n)
    return mean + deviation * shape / shape.std(ddof=1)
