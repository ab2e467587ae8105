"""What the page of a comparison shows: changes, what differs between the runs, all rows, and both curves."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from olbench.quantities import Quantity
from olbench.report import comparison
from olbench.report.comparison import NOTHING, MeanChange, change, find, quantities_of
from olbench.report.grid import short
from olbench.report.page.style import line_styles
from olbench.report.results import Entry, Results
from olbench.report.sections.curves import budget, curves_of, series_page
from olbench.report.sections.provenance import machine_text

#: The outcomes of a comparison of two means, and the colour of each on the page.
BETTER, WORSE, CHANGED, ALIKE, UNTESTED = "better", "worse", "changed", "no significant change", "not tested"
COLOURS = {
    BETTER: "reproduced",
    WORSE: "differs",
    CHANGED: "close",
    ALIKE: "not-comparable",
    UNTESTED: "open",
}
#: With more algorithms, the page at first draws the curves of those that change.
FEW_CURVES = 6


def values(runs: Sequence[Results]) -> dict[str, dict[str, Any]]:
    """Return what each section of the page shows, by its id."""
    titles = comparison.names(runs)
    rows = [_row(runs, key) for key in comparison.shared_keys(runs)]
    shown: dict[str, dict[str, Any]] = {
        "changes": {
            "first": titles[0],
            "tallies": _tallies(runs, titles, rows),
            "notes": [*comparison.untested(runs, titles), *comparison.alone(runs, titles)],
            "numbered": runs[0].protocol.numbered,
        },
        "differences": {
            "titles": titles,
            "configs": comparison.config_differences(runs),
            "facts": _facts(runs),
            "same": _same_versions(runs),
        },
        "side": {
            "titles": titles,
            "quantities": [_quantity(each, rows) for each in quantities_of(runs)],
            "rows": rows,
            "datasets": list(dict.fromkeys(row["dataset"] for row in rows)),
            "numbered": runs[0].protocol.numbered,
        },
    }
    return {**shown, "curves": _curves(runs, titles, rows)} if runs[0].protocol.series else shown


def _row(runs: Sequence[Results], key: comparison.Key) -> dict[str, Any]:
    entries = [find(run, key) for run in runs]
    return {
        "dataset": key[0],
        "label": key[1],
        "numbers": {each.name: _numbers(runs, entries, each) for each in quantities_of(runs)},
        "params": _params(entries),
    }


def _numbers(runs: Sequence[Results], entries: Sequence[Entry | None], quantity: Quantity) -> dict[str, Any]:
    spreads = [entry.spread(quantity) if entry else None for entry in entries]
    changes = [
        change(runs[0], entries[0], run, entry, quantity)
        for run, entry in zip(runs[1:], entries[1:], strict=True)
    ]
    return {
        "spreads": [
            {"value": each[0], "texts": [quantity.text(number) for number in each]} if each else None
            for each in spreads
        ],
        "changes": [_change(each, quantity) for each in changes],
    }


def _change(found: MeanChange | None, quantity: Quantity) -> dict[str, Any] | None:
    if found is None:
        return None
    outcome = judge(found, quantity)
    return {
        "value": found.difference,
        "text": quantity.text(found.difference, sign="+"),
        "p": found.p,
        "outcome": outcome,
        "colour": COLOURS[outcome],
        "significant": found.significant,
    }


def judge(found: MeanChange, quantity: Quantity) -> str:
    """Return whether a change is better, worse, or not significant; UNTESTED where no test is legal."""
    if found.p is None:
        return UNTESTED
    if not found.significant:
        return ALIKE
    if quantity.better == "neither":
        return CHANGED
    return BETTER if quantity.is_better(found.difference, 0.0) else WORSE


def _params(entries: Sequence[Entry | None]) -> str:
    """Return the chosen parameters, those of each run if they differ."""
    texts = [
        ", ".join(
            f"{name}={short(value)}" for name, value in {**(entry.params or {}), **entry.setting}.items()
        )
        if entry
        else NOTHING
        for entry in entries
    ]
    return texts[0] if len(set(texts)) == 1 else " → ".join(text or NOTHING for text in texts)


def _quantity(quantity: Quantity, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the page says of a quantity; the width is the most letters of a deviation."""
    spreads = [each for row in rows for each in row["numbers"][quantity.name]["spreads"] if each]
    return {
        "name": quantity.name,
        "title": quantity.title,
        "width": max((len(each["texts"][1]) for each in spreads), default=0),
    }


def _tallies(
    runs: Sequence[Results], titles: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return how many rows got better or worse, by run and quantity."""
    tallies = []
    for place, title in enumerate(titles[1:]):
        for quantity in quantities_of(runs):
            changes = [row["numbers"][quantity.name]["changes"][place] for row in rows]
            counts = Counter(each["outcome"] for each in changes if each)
            tallies.append(
                {
                    "title": title,
                    "quantity": quantity.title,
                    "total": counts.total(),
                    "counts": [(name, COLOURS[name], counts[name]) for name in COLOURS if counts[name]],
                }
            )
    return tallies


def _facts(runs: Sequence[Results]) -> list[tuple[str, list[str]]]:
    """Return where and when the runs were made, and the versions that are not the same in all of them."""
    files = [run.run for run in runs]
    versions = [(name, texts) for name, texts in _versions(runs).items() if len(set(texts)) > 1]
    return [
        ("commit", [_commit(file.commit, file.dirty) for file in files]),
        ("started", [file.start or NOTHING for file in files]),
        ("machine", [machine_text(file) for file in files]),
        *versions,
    ]


def _same_versions(runs: Sequence[Results]) -> list[tuple[str, str]]:
    return [(name, texts[0]) for name, texts in _versions(runs).items() if len(set(texts)) == 1]


def _versions(runs: Sequence[Results]) -> dict[str, list[str]]:
    names = dict.fromkeys(name for run in runs for name in run.run.versions)
    return {name: [str(run.run.versions.get(name, NOTHING)) for run in runs] for name in names}


def _commit(commit: str | None, dirty: bool | None) -> str:
    return f"{commit[:12]}{', with uncommitted changes' if dirty else ''}" if commit else NOTHING


def _curves(
    runs: Sequence[Results], titles: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the curves of all runs; those of a later run have the colour of the first and another dash."""
    series = runs[0].protocol.series
    shared = {(row["dataset"], row["label"]) for row in rows}
    entries = [
        replace(entry, label=_name(entry.label, title))
        for run, title in zip(runs, titles, strict=True)
        for entry in run.entries
        if entry.done and (entry.dataset, entry.label) in shared
    ]
    lines, points = budget(entries, series)
    by_dataset: dict[str, list[Entry]] = {}
    for entry in entries:
        by_dataset.setdefault(entry.dataset, []).append(entry)
    labels = list(dict.fromkeys(label for _, label in shared_order(rows)))
    return {
        "curves": {name: curves_of(each[:lines], points) for name, each in by_dataset.items()},
        "styles": _styles(labels, titles),
        "hidden": [_name(label, title) for label in _unchanged(labels, rows) for title in titles],
        "most": None,
        "series": {each.name: series_page(each) for each in series},
        "along": series[0].along_title[0].upper() + series[0].along_title[1:],
        "numbered": runs[0].protocol.numbered,
        "paper": False,
    }


def shared_order(rows: Sequence[Mapping[str, Any]]) -> list[comparison.Key]:
    """Return the data set and label of each row."""
    return [(row["dataset"], row["label"]) for row in rows]


def _name(label: str, title: str) -> str:
    return f"{label} · {title}"


def _styles(labels: Sequence[str], titles: Sequence[str]) -> dict[str, dict[str, Any]]:
    found = {}
    for label, style in line_styles(labels).items():
        for place, title in enumerate(titles):
            dash = ("solid", "dash", "dot", "dashdot")[min(place, 3)]
            found[_name(label, title)] = {**style, "dash": dash, "filled": place == 0}
    return found


def _unchanged(labels: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the labels whose curves are hidden at first: of many, those that never change significantly."""
    if len(labels) <= FEW_CURVES:
        return []
    changed = {
        row["label"]
        for row in rows
        for numbers in row["numbers"].values()
        for each in numbers["changes"]
        if each and each["significant"]
    }
    kept = [label for label in labels if label in changed][:FEW_CURVES] or list(labels[:FEW_CURVES])
    return [label for label in labels if label not in kept]
