"""Several results folders side by side: before and after."""

from collections.abc import Sequence
from typing import Any

from olbench.errors import UserError
from olbench.protocols import Protocol
from olbench.quantities import Quantity
from olbench.report.grid import Box, Column, Grid, Part, boxes, left, right
from olbench.report.results import Entry, Results
from olbench.stats import LEVEL, paired_t


def names(runs: Sequence[Results]) -> list[str]:
    """Return a short name for each run: its folder's, with the folders above where that is not enough."""
    parts = [run.folder.resolve().parts for run in runs]
    for depth in range(1, max(map(len, parts)) + 1):
        found = ["/".join(part[-depth:]) for part in parts]
        if len(set(found)) == len(found):
            return found
    raise UserError("the same folder is named twice; compare different runs")


def compare(runs: Sequence[Results]) -> list[Part]:
    """Return one table per quantity: every row that at least two runs have, and the change from the first."""
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
    grids: list[Part] = [_grid(runs, titles, keys, quantity) for quantity in _compared(runs)]
    return [*grids, *other, *alone]


def _compared(runs: Sequence[Results]) -> tuple[Quantity, ...]:
    """Return the quantities to compare: those that are judged, or the first; times are never compared."""
    protocols: dict[str, Protocol] = {run.config.protocol: run.protocol for run in runs}
    if len(protocols) > 1:
        raise UserError(f"the runs have different protocols ({', '.join(protocols)}): nothing to compare")
    protocol = runs[0].protocol
    return protocol.judged or (protocol.headline,)


def records(runs: Sequence[Results]) -> list[dict[str, Any]]:
    """Return the comparison as flat records."""
    titles = names(runs)
    found = []
    for dataset, label in _shared(runs):
        record: dict[str, Any] = {"dataset": dataset, "label": label}
        for title, run in zip(titles, runs, strict=True):
            entry = _find(run, (dataset, label))
            for quantity in _compared(runs):
                mean, deviation = (entry and entry.spread(quantity)) or (None, None)
                record[f"{title}: {quantity.name}_mean"] = mean
                record[f"{title}: {quantity.name}_std"] = deviation
        found.append(record)
    return found


def _key(entry: Entry) -> tuple[str, str]:
    return entry.dataset, entry.label


def _find(run: Results, key: tuple[str, str]) -> Entry | None:
    return next((entry for entry in run.entries if _key(entry) == key and entry.done), None)


def _shared(runs: Sequence[Results]) -> list[tuple[str, str]]:
    keys = list(dict.fromkeys(_key(entry) for run in runs for entry in run.entries if entry.done))
    return [key for key in keys if sum(_find(run, key) is not None for run in runs) > 1]


def _grid(
    runs: Sequence[Results], titles: list[str], keys: list[tuple[str, str]], quantity: Quantity
) -> Grid:
    differences = [Column(f"{title} − {titles[0]}") for title in titles[1:]]
    rows = []
    for key in keys:
        entries = [_find(run, key) for run in runs]
        values = [_spread_text(entry, quantity) for entry in entries]
        tested = _same_data(runs, key[0])
        changes = [_change(entries[0], entry, quantity, tested) for entry in entries[1:]]
        rows.append((*boxes(*key, *values), *changes))
    numbered = runs[0].protocol.numbered
    return Grid(
        f"Side by side: {quantity.title}",
        (*left("data set", "algorithm"), *right(*titles), *differences),
        tuple(rows),
        f"* or bold: significant at the 95% level (t-test over {numbered}s of the same number).",
    )


def _spread_text(entry: Entry | None, quantity: Quantity) -> str:
    values = entry.spread(quantity) if entry else None
    return quantity.spread(*values) if values else ""


def _same_data(runs: Sequence[Results], dataset: str) -> bool:
    """Tell whether all runs that have a data set saw the same examples under its name."""
    found = [run.run.data.get(dataset) for run in runs]
    return len({facts.fingerprint for facts in found if facts}) < 2


def _change(before: Entry | None, after: Entry | None, quantity: Quantity, tested: bool) -> Box:
    if before is None or after is None:
        return Box("")
    first, second = before.aligned(quantity), after.aligned(quantity)
    shared = min(first.size, second.size)
    _, p = paired_t(second[:shared], first[:shared])
    change = after.mean(quantity) - before.mean(quantity)
    return Box(quantity.text(change, sign="+"), tested and p < LEVEL)
