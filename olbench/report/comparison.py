"""Several results folders side by side, such as before and after a change."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olbench.config.specs import Config
from olbench.errors import UserError
from olbench.protocols import Protocol
from olbench.quantities import Quantity
from olbench.report.grid import Box, Column, Grid, Part, boxes, count, left, right, short
from olbench.report.results import Entry, Results
from olbench.stats import LEVEL, paired_t

#: A row of the comparison: data set and label.
Key = tuple[str, str]
OTHER_DATA = "the data is not the same"
#: What a config without a key says.
NOTHING = "\N{EN DASH}"


@dataclass(frozen=True)
class MeanChange:
    """How far a mean is from that of the first run; p is None where no test is legal."""

    difference: float
    p: float | None

    @property
    def significant(self) -> bool:
        """Whether a test finds the means different."""
        return self.p is not None and self.p < LEVEL


def names(runs: Sequence[Results]) -> list[str]:
    """Return a short, unique name for each run: that of its folder, with parent folders if needed."""
    parts = [run.folder.resolve().parts for run in runs]
    for depth in range(1, max(map(len, parts)) + 1):
        ends = ["/".join(part[-depth:]) for part in parts]
        if len(set(ends)) == len(ends):
            return ends
    raise UserError("the same folder is named twice; compare different runs")


def compare(runs: Sequence[Results]) -> list[Part]:
    """Return one table per quantity, the difference of the configs, and what could not be compared."""
    keys = shared_keys(runs)
    titles = names(runs)
    grids: list[Part] = [_grid(runs, titles, keys, quantity) for quantity in quantities_of(runs)]
    return [*grids, *_config_grid(runs, titles), *untested(runs, titles), *alone(runs, titles)]


def quantities_of(runs: Sequence[Results]) -> tuple[Quantity, ...]:
    """Return the quantities to compare: those that are judged, or the first; times are never compared."""
    protocols: dict[str, Protocol] = {run.config.protocol: run.protocol for run in runs}
    if len(protocols) > 1:
        raise UserError(f"the runs have different protocols ({', '.join(protocols)}): nothing to compare")
    protocol = runs[0].protocol
    return protocol.judged or (protocol.headline,)


def records(runs: Sequence[Results]) -> list[dict[str, Any]]:
    """Return the comparison as flat records."""
    titles = names(runs)
    records = []
    for dataset, label in shared_keys(runs):
        record: dict[str, Any] = {"dataset": dataset, "label": label}
        for title, run in zip(titles, runs, strict=True):
            entry = find(run, (dataset, label))
            for quantity in quantities_of(runs):
                mean, deviation = (entry and entry.spread(quantity)) or (None, None)
                record[f"{title}: {quantity.name}_mean"] = mean
                record[f"{title}: {quantity.name}_std"] = deviation
        records.append(record)
    return records


def find(run: Results, key: Key) -> Entry | None:
    """Return the entry of a row, or None if the run has no trial of it."""
    return next((entry for entry in run.of(key[0]) if entry.label == key[1]), None)


def shared_keys(runs: Sequence[Results]) -> list[Key]:
    """Return the rows that at least two runs have, in the order of the runs."""
    found = [
        dict.fromkeys((entry.dataset, entry.label) for entry in run.entries if entry.done) for run in runs
    ]
    keys = [
        key
        for key in dict.fromkeys(key for each in found for key in each)
        if sum(key in each for each in found) > 1
    ]
    if not keys:
        raise UserError("the runs have no algorithm on the same data set in common: nothing to compare")
    return keys


def alone(runs: Sequence[Results], titles: Sequence[str]) -> list[str]:
    """Return one sentence per run with rows that no other run has."""
    keys = set(shared_keys(runs))
    return [
        f"{title}: {count(len(missing), 'row')} that no other run has"
        for title, run in zip(titles, runs, strict=True)
        if (missing := [e for e in run.entries if e.done and (e.dataset, e.label) not in keys])
    ]


def untested(runs: Sequence[Results], titles: Sequence[str]) -> list[str]:
    """Return one sentence for everything that no test may compare, with the reason."""
    reasons: dict[tuple[str, str], dict[str, None]] = {}
    compared = dict.fromkeys(dataset for dataset, _ in shared_keys(runs))
    for title, run in zip(titles[1:], runs[1:], strict=True):
        for dataset, label in shared_keys(runs):
            before, after = find(runs[0], (dataset, label)), find(run, (dataset, label))
            if before and after and (reason := why_unpaired(runs[0], before, run, after)):
                reasons.setdefault((title, reason), {})[dataset] = None
    sentences = []
    for (title, reason), datasets in reasons.items():
        if reason == OTHER_DATA:
            sentences += [f"{name}: {reason} in all runs, so no change is tested" for name in datasets]
        else:
            where = "on any data set" if len(datasets) == len(compared) else f"on {', '.join(datasets)}"
            sentences.append(
                f"{title}: {reason}, so the orders are not shared and no change is tested {where}"
            )
    return list(dict.fromkeys(sentences))


def why_unpaired(first: Results, before: Entry, other: Results, after: Entry) -> str:
    """Return why trials of the same number saw other examples, or an empty text if they saw the same."""
    facts = [run.run.data.get(before.dataset) for run in (first, other)]
    if len({each.fingerprint for each in facts if each}) > 1:
        return OTHER_DATA
    if first.config.seed != other.config.seed:
        return f"the seeds differ ({first.config.seed} and {other.config.seed})"
    ours, theirs = (_order_keys(run.config, entry) for run, entry in ((first, before), (other, after)))
    free = first.protocol.order_free
    for name in dict.fromkeys((*ours, *theirs)):
        if name not in free and ours.get(name) != theirs.get(name):
            return f"{name} differs ({describe(ours.get(name))} and {describe(theirs.get(name))})"
    return _why_other_rows(first, other)


def _why_other_rows(first: Results, other: Results) -> str:
    """Return why the trials of two runs see other rows, such as half of them, or an empty text."""
    free = {name: value for name, value in first.config.settings.items() if name in first.protocol.order_free}
    ours = first.protocol.setting(first.config, "report")
    theirs = first.protocol.setting(other.config.with_settings(**free), "report")
    changed = [name for name in ours if ours[name] != theirs.get(name)]
    return (
        f"the {changed[0]} of the rows differs ({ours[changed[0]]} and {theirs.get(changed[0])})"
        if changed
        else ""
    )


def _order_keys(config: Config, entry: Entry) -> dict[str, Any]:
    tuning = {f"tuning.{name}": value for name, value in config.tuning.settings.items()}
    return {**config.settings, **entry.spec.settings, **tuning}


def change(
    first: Results, before: Entry | None, other: Results, after: Entry | None, quantity: Quantity
) -> MeanChange | None:
    """Return the change of a quantity, tested in pairs where the orders are shared; None without both."""
    if before is None or after is None:
        return None
    difference = after.mean(quantity) - before.mean(quantity)
    if why_unpaired(first, before, other, after):
        return MeanChange(difference, None)
    one, two = before.aligned(quantity), after.aligned(quantity)
    shared = min(one.size, two.size)
    _, p = paired_t(two[:shared], one[:shared])
    return MeanChange(difference, None if math.isnan(p) else p)


def _grid(runs: Sequence[Results], titles: list[str], keys: list[Key], quantity: Quantity) -> Grid:
    differences = [Column(f"{title} − {titles[0]}") for title in titles[1:]]
    rows = []
    for key in keys:
        entries = [find(run, key) for run in runs]
        values = [_spread_text(entry, quantity) for entry in entries]
        changes = [
            _change_box(change(runs[0], entries[0], run, entry, quantity), quantity)
            for run, entry in zip(runs[1:], entries[1:], strict=True)
        ]
        rows.append((*boxes(*key, *values), *changes))
    numbered = runs[0].protocol.numbered
    return Grid(
        f"Side by side: {quantity.title}",
        (*left("data set", "algorithm"), *right(*titles), *differences),
        tuple(rows),
        f"* or bold: significant at the 95% level (paired t-test over the {numbered}s of the same number, "
        "where their orders are shared).",
    )


def _spread_text(entry: Entry | None, quantity: Quantity) -> str:
    values = entry.spread(quantity) if entry else None
    return quantity.spread(*values) if values else ""


def _change_box(found: MeanChange | None, quantity: Quantity) -> Box:
    return Box(quantity.text(found.difference, sign="+"), found.significant) if found else Box("")


# The configs.


def config_differences(runs: Sequence[Results]) -> list[tuple[str, list[str]]]:
    """Return every key in which the configs differ, with what each of them says."""
    flat = [flatten(run.config.plain()) for run in runs]
    keys = dict.fromkeys(key for each in flat for key in each)
    told = {key: [each.get(key, NOTHING) for each in flat] for key in keys}
    changed = {key: values for key, values in told.items() if len(set(values)) > 1}
    # Of an entry that a config does not list, the rest says nothing more.
    return [
        (key, values)
        for key, values in changed.items()
        if ": " not in key or key.partition(": ")[0] not in changed
    ]


def flatten(config: Mapping[str, Any]) -> dict[str, str]:
    """Return a config as one text per key; data sets and algorithms are keys by their names.

    >>> flatten({"tuning": {"search": "grid"}, "algorithms": [{"id": "arow", "params": {"r": 2.0}}]})
    {'tuning.search': 'grid', 'algorithm arow': 'listed', 'algorithm arow: params.r': '2'}
    """
    flat: dict[str, str] = {}
    for name, value in config.items():
        if name in ("datasets", "algorithms"):
            flat.update(_flatten_list(name.removesuffix("s").replace("dataset", "data set"), value))
        else:
            flat.update(_flatten_value(name, value))
    return flat


def _flatten_list(noun: str, entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the keys of entries; one that is listed again has a number."""
    seen: dict[str, int] = {}
    for entry in entries:
        name = str(entry.get("name") or entry.get("id"))
        seen[name] = seen.get(name, 0) + 1
        title = f"{noun} {name}" + (f" ({seen[name]})" if seen[name] > 1 else "")
        yield title, "listed"
        for key, value in entry.items():
            if key not in ("name", "id"):
                yield from ((f"{title}: {each}", text) for each, text in _flatten_value(key, value))


def _flatten_value(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flatten_value(f"{name}.{key}", each)
    else:
        yield name, describe(value)


def describe(value: Any) -> str:
    """Return a value of a config as a short text."""
    if value is None:
        return NOTHING
    return ", ".join(map(describe, value)) if isinstance(value, (list, tuple)) else short(value)


def _config_grid(runs: Sequence[Results], titles: Sequence[str]) -> list[Part]:
    found = config_differences(runs)
    if not found:
        return ["The configs are the same."]
    rows = tuple(boxes(key, *values) for key, values in found)
    return [Grid("What differs in the configs", left("key", *titles), rows)]
