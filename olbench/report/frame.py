"""A results folder as arrays and frames: what every table, figure and statistic starts from."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from olbench.engine import ledger, runfile
from olbench.errors import UserError
from olbench.experiments.trial import Record

Floats = NDArray[np.float64]
#: The columns of an entry's trials.
MEASURED = [
    "permutation", "n", "mistakes", "updates", "effective_updates", "breakdowns", "seconds", "cpu_seconds",
    "timing",
]  # fmt: skip
CURVES = ("mistakes", "updates", "seconds")


@dataclass(frozen=True)
class Entry:
    """One algorithm on one data set: a row of Table 3 with the trials behind it."""

    dataset: str
    #: The id of the algorithm, or the id with its settings where the config has it more than once.
    label: str
    algorithm: str
    #: What the tuning chose, or None before it has.
    params: Mapping[str, Any] | None
    options: Mapping[str, Any]
    planned: int
    #: The trials that went well, one row a permutation in their order, with the columns MEASURED.
    trials: pd.DataFrame
    #: The errors of the trials that failed.
    failures: tuple[str, ...]
    #: The mistake rate of the chosen parameters in the orders that chose them, or None without a tuning.
    tuned: float | None
    #: Where the curves have their points, and per quantity of CURVES an array (permutations, points).
    points: NDArray[np.int64]
    curves: Mapping[str, Floats]

    @property
    def done(self) -> int:
        """How many permutations there are."""
        return len(self.trials)

    @cached_property
    def rates(self) -> Floats:
        """The mistake rate of each permutation."""
        return self.values("mistakes") / self.values("n")

    def aligned(self, quantity: str = "mistake_rate") -> Floats:
        """Return a quantity by number of permutation, NaN where there is none, for what compares in pairs."""
        found = np.full(self.planned, np.nan)
        found[self.trials["permutation"].to_numpy(np.int64)] = self.values(quantity)
        return found

    @property
    def exclusive(self) -> bool:
        """Whether every time was measured alone, so that it may stand in a column of times."""
        return bool(self.done) and bool((self.trials["timing"] == "exclusive").all())

    def values(self, quantity: str) -> Floats:
        """Return mistake_rate, updates or seconds of each permutation."""
        return self.rates if quantity == "mistake_rate" else np.array(self.trials[quantity], np.float64)

    def spread(self, quantity: str) -> tuple[float, float] | None:
        """Return mean and standard deviation (n - 1) over the permutations, or None without any."""
        values = self.values(quantity)
        if not values.size:
            return None
        return float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else 0.0


@dataclass(frozen=True)
class Results:
    """A results folder: its entries, in the order of the config, and the content of run.json."""

    folder: Path
    info: Mapping[str, Any]
    entries: tuple[Entry, ...]

    @property
    def name(self) -> str:
        """The name of the folder, or of the one above for results that ship."""
        folder = self.folder.resolve()
        return folder.parent.name if folder.name == runfile.REFERENCE else folder.name

    @property
    def paper(self) -> str:
        """The id of the paper that the config compares with, or an empty text."""
        return str(self.info["config"].get("paper", ""))

    @property
    def datasets(self) -> list[str]:
        """The data sets in the order of the config."""
        return list(dict.fromkeys(entry.dataset for entry in self.entries))

    @property
    def labels(self) -> list[str]:
        """The algorithms in the order of the config."""
        return list(dict.fromkeys(entry.label for entry in self.entries))

    def of(self, dataset: str) -> list[Entry]:
        """Return the entries of a data set that have at least one trial."""
        return [entry for entry in self.entries if entry.dataset == dataset and entry.done]

    @property
    def missing(self) -> list[str]:
        """What the report lacks, a sentence an entry."""
        return [sentence for entry in self.entries if (sentence := _missing(entry))]


def _missing(entry: Entry) -> str:
    name = f"{entry.label} on {entry.dataset}"
    if entry.params is None and entry.failures:
        return f"{name}: its tuning failed ({entry.failures[0]})"
    if entry.failures:
        return f"{name}: {len(entry.failures)} of {entry.planned} trials failed ({entry.failures[0]})"
    if entry.params is None:
        return f"{name}: its tuning is not finished"
    if entry.done < entry.planned:
        return f"{name}: {entry.done} of {entry.planned} trials are done"
    return ""


def aligned(entries: Iterable[Entry], quantity: str = "mistake_rate") -> dict[str, Floats]:
    """Return a quantity of entries of one data set by label, so that permutations can be paired."""
    return {entry.label: entry.aligned(quantity) for entry in entries if entry.done}


def load_results(folder: Path) -> Results:
    """Return what a results folder holds, finished or not."""
    info = runfile.read(folder)
    if not {"config", "cells"} <= info.keys():
        raise UserError(f"{folder / runfile.NAME} is not the record of a run")
    records = ledger.latest(ledger.read(folder))
    planned = int(info["config"].get("permutations", 20))
    scores = _scores(records.values(), info["config"].get("tuning", {}))
    failed = [r for r in records.values() if r.get("role") == "tune" and r["status"] != "ok"]
    entries = (_entry(cell, planned, _found(cell, records, failed), scores) for cell in info["cells"])
    return Results(folder, info, tuple(entries))


def _scores(records: Iterable[Record], tuning: Mapping[str, Any]) -> dict[str, float]:
    """Return the mean mistake rate of each candidate over the orders of this tuning, and of no other."""
    part = "tuning half" if tuning.get("search") == "holdout" else "all"
    orders = range(tuning.get("permutations", 1))
    rates: dict[str, list[float]] = {}
    for record in records:
        used = record.get("role") == "tune" and record.get("part") == part and record["permutation"] in orders
        if used and record["status"] == "ok":
            rates.setdefault(_candidate(record), []).append(record["mistakes"] / record["n"])
    return {candidate: sum(found) / len(found) for candidate, found in rates.items()}


def _candidate(record: Mapping[str, Any]) -> str:
    """Return what makes a candidate of a tuning."""
    names = ("dataset", "fingerprint", "algorithm", "params", "options", "seed", "kernels")
    return json.dumps([record.get(name) for name in names], sort_keys=True)


def _found(cell: Mapping[str, Any], records: Mapping[str, Record], failed: list[Record]) -> list[Record]:
    """Return the trials of a cell or, where its tuning has chosen nothing, those of it that failed."""
    if cell["params"] is not None:
        return [records[key] for key in cell["keys"] if key in records]
    names = ("dataset", "algorithm", "options")
    return [record for record in failed if all(record[name] == cell[name] for name in names)]


def _entry(
    cell: Mapping[str, Any], planned: int, records: list[Record], scores: Mapping[str, float]
) -> Entry:
    good = [record for record in records if record["status"] == "ok"]
    good.sort(key=lambda record: int(record["permutation"]))
    points = np.array(good[0]["curve"]["t"] if good else [], np.int64)
    return Entry(
        dataset=cell["dataset"],
        label=cell["label"],
        algorithm=cell["algorithm"],
        params=cell["params"],
        options=cell["options"],
        planned=planned,
        trials=pd.DataFrame(
            [[record.get(name, 0) for name in MEASURED] for record in good], columns=MEASURED
        ),
        failures=tuple(" ".join(str(r["error"]).split()) for r in records if r["status"] != "ok"),
        tuned=scores.get(_candidate(good[0])) if good and cell["tuning_passes"] else None,
        points=points,
        curves={
            name: np.array([record["curve"][name] for record in good], np.float64).reshape(
                len(good), points.size
            )
            for name in CURVES
        },
    )


def newest(root: Path) -> Path:
    """Return the folder below `root` whose run began last; without one, results that ship with the code."""
    for pattern in (f"*/{runfile.NAME}", f"*/{runfile.REFERENCE}/{runfile.NAME}"):
        starts: dict[Path, str] = {}
        for path in root.glob(pattern):
            with suppress(UserError):  # what is no run is none, but does not stand before those that are
                starts[path.parent] = str(runfile.read(path.parent).get("start") or "")
        if starts:
            return max(starts, key=lambda folder: starts[folder])
    raise UserError(f"there is no run below {root}/; start one with `olbench run CONFIG`, or name its folder")
