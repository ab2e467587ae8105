"""Which entry of a run stands for a cell of the paper's table, and why it may not be held against it."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any, NamedTuple

from olbench.algorithms import get_definition
from olbench.data.catalog import catalog
from olbench.report.frame import Entry, Results

#: A deviation needs two numbers.
FEWEST = 2


class Choice(NamedTuple):
    """The entry for a cell, or None, and what keeps it from being compared, or an empty text."""

    entry: Entry | None
    reason: str


def choose(results: Results, dataset: str, algorithm: str) -> Choice:
    """Return the plain entry of an algorithm on a data set.

    An algorithm may stand in a config several times. The paper's cell is about the one that follows scw2012,
    section 5.1: a full covariance that starts at the identity, and parameters tuned over the paper's grid. If
    several do, the one in the algorithm's default form of arithmetic is taken. Variants are never judged.
    """
    usual = get_definition(algorithm).form
    found = [
        (_variant(entry, spec), entry.options.get("form", usual) != usual, entry)
        for entry, spec in _standing(results, dataset)
        if entry.algorithm == algorithm
    ]
    if not found:
        return Choice(None, _absent(results, dataset))
    variant, _, entry = min(found, key=lambda each: (each[0] != "", each[1]))
    return Choice(entry, variant or _data(results, dataset) or _protocol(results) or _unfinished(entry))


def _standing(results: Results, dataset: str) -> list[tuple[Entry, Mapping[str, Any]]]:
    """Return the entries of a data set with what the config says about each; both have one order.

    A file that is read twice, with other labels, has its entries twice under one name.
    """
    entries = [entry for entry in results.entries if entry.dataset == dataset]
    return list(zip(entries, cycle(results.info["config"]["algorithms"]), strict=False))


def _absent(results: Results, dataset: str) -> str:
    if dataset in results.datasets:
        return "not run"
    asked = [spec["name"] for spec in results.info["config"]["datasets"]]
    return "the data set is left out" if dataset in asked else "the data set is not in this run"


def _variant(entry: Entry, spec: Mapping[str, Any]) -> str:
    """Return what makes an entry another algorithm than the paper's, or an empty text."""
    if entry.options.get("covariance", "full") != "full":
        return "its covariance is diagonal, the paper's is full"
    if entry.options.get("a", 1.0) != 1.0:
        return f"its covariance starts at {entry.options['a']:g} I, the paper's at I"
    definition = get_definition(entry.algorithm)
    searched = {name: set(values) for name, values in spec.get("grid", {}).items()}
    if definition.grid and not searched:
        return "its parameters are not tuned, the paper's are"
    if searched != {name: set(values) for name, values in definition.grid.items()}:
        return "it is tuned over another grid than the paper's"
    defaults = definition.resolve({})
    fixed = {name: value for name, value in spec.get("params", {}).items() if value != defaults[name]}
    return " and ".join(f"{name} is fixed at {value}" for name, value in fixed.items())


def _data(results: Results, dataset: str) -> str:
    known = catalog()[dataset].fingerprint if dataset in catalog() else ""
    ours = results.info.get("data", {}).get(dataset, {}).get("fingerprint", "")
    if not known or not ours:
        return "the fingerprint of the data is not known"
    return "" if ours == known else "the data is not what the catalogue has under this name"


def _protocol(results: Results) -> str:
    search = results.info["config"].get("tuning", {}).get("search")
    return "half of the rows are held out for tuning" if search == "holdout" else ""


def _unfinished(entry: Entry) -> str:
    if entry.params is None:
        return "its tuning is not finished"
    if entry.failures:
        return f"{len(entry.failures)} of {entry.planned} trials failed"
    if entry.done < FEWEST:
        return f"fewer than {FEWEST} permutations are done"
    # What comes after a breakdown is a matter of rounding, and no number of the algorithm.
    broken = int((entry.trials["breakdowns"] > 0).sum())
    return f"{broken} of {entry.done} passes break down numerically" if broken else ""
