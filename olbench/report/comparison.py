"""Several results folders side by side: before and after."""

from collections.abc import Sequence
from typing import Any

from olbench.errors import UserError
from olbench.report.frame import Entry, Results
from olbench.report.grid import Cell, Column, Grid, cells, left, right
from olbench.report.tables import spread
from olbench.stats import LEVEL, paired_t


def names(runs: Sequence[Results]) -> list[str]:
    """Return a short name a run: its folder's, with the folders above where that is not enough."""
    parts = [run.folder.resolve().parts for run in runs]
    for depth in range(1, max(map(len, parts)) + 1):
        found = ["/".join(part[-depth:]) for part in parts]
        if len(set(found)) == len(found):
            return found
    raise UserError("the same folder is named twice; compare different runs")


def compare(runs: Sequence[Results]) -> list[Grid | str]:
    """Return a table a quantity: every row that at least two runs have, and the change from the first run."""
    keys = _shared(runs)
    if not keys:
        raise UserError("the runs have no algorithm on the same data set in common: nothing to compare")
    titles = names(runs)
    other = [
        f"{dataset}: the data is not the same in all runs, so no change is tested"
        for dataset in dict.fromkeys(dataset for dataset, _ in keys)
        if not _same_data(runs, dataset)
    ]
    alone = [
        f"{title}: {len(missing)} rows that no other run has"
        for title, run in zip(titles, runs, strict=True)
        if (missing := [entry for entry in run.entries if entry.done and _key(entry) not in keys])
    ]
    grids: list[Grid | str] = [
        _grid(runs, titles, keys, quantity) for quantity in ("mistake_rate", "updates")
    ]
    return [*grids, *other, *alone]


def records(runs: Sequence[Results]) -> list[dict[str, Any]]:
    """Return the comparison as flat records."""
    titles = names(runs)
    found = []
    for dataset, label in _shared(runs):
        record: dict[str, Any] = {"dataset": dataset, "label": label}
        for title, run in zip(titles, runs, strict=True):
            entry = _find(run, (dataset, label))
            for quantity in ("mistake_rate", "updates"):
                mean, deviation = (entry and entry.spread(quantity)) or (None, None)
                record[f"{title}: {quantity}_mean"], record[f"{title}: {quantity}_std"] = mean, deviation
        found.append(record)
    return found


def _key(entry: Entry) -> tuple[str, str]:
    return entry.dataset, entry.label


def _find(run: Results, key: tuple[str, str]) -> Entry | None:
    return next((entry for entry in run.entries if _key(entry) == key and entry.done), None)


def _shared(runs: Sequence[Results]) -> list[tuple[str, str]]:
    keys = list(dict.fromkeys(_key(entry) for run in runs for entry in run.entries if entry.done))
    return [key for key in keys if sum(_find(run, key) is not None for run in runs) > 1]


def _grid(runs: Sequence[Results], titles: list[str], keys: list[tuple[str, str]], quantity: str) -> Grid:
    less = [Column(f"{title} less {titles[0]}") for title in titles[1:]]
    rows = []
    for key in keys:
        entries = [_find(run, key) for run in runs]
        values = [_shown(entry, quantity) for entry in entries]
        tested = _same_data(runs, key[0])
        changes = [_change(entries[0], entry, quantity, tested) for entry in entries[1:]]
        rows.append((*cells(*key, *values), *changes))
    return Grid(
        f"Side by side: {quantity.replace('_', ' ')}",
        (*left("data set", "algorithm"), *right(*titles), *less),
        tuple(rows),
        "* or bold: significant at the 95% level, by the t-test over permutations of the same number.",
    )


def _form(quantity: str) -> str:
    return ".4f" if quantity == "mistake_rate" else ",.1f"


def _shown(entry: Entry | None, quantity: str) -> str:
    values = entry.spread(quantity) if entry else None
    return spread(values, _form(quantity)) if values else ""


def _same_data(runs: Sequence[Results], dataset: str) -> bool:
    """Tell whether all runs that have a data set saw the same examples under its name."""
    found = [run.info.get("data", {}).get(dataset) for run in runs]
    return len({facts.get("fingerprint") for facts in found if facts}) < 2


def _change(before: Entry | None, after: Entry | None, quantity: str, tested: bool) -> Cell:
    if before is None or after is None:
        return Cell("")
    first, second = before.aligned(quantity), after.aligned(quantity)
    shared = min(first.size, second.size)
    _, p = paired_t(second[:shared], first[:shared])
    change = float(after.values(quantity).mean() - before.values(quantity).mean())
    return Cell(f"{change:+{_form(quantity)}}", tested and p < LEVEL)
