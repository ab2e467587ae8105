"""Several runs side by side: changed results, and how configs and machines differ."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

from olbench.analysis.comparison import NOTHING, OTHER_DATA, OUTCOMES, ComparedRuns, describe
from olbench.analysis.results import Results
from olbench.errors import count, plural
from olbench.report import table as t
from olbench.report import words
from olbench.report.document import Document, Section
from olbench.report.figures.palette import line_styles
from olbench.report.table import Part, Table, columns, mark, measured
from olbench.report.tables.curves import budget, curves_of, describe_series
from olbench.report.tables.facts import commit_text, machine_text
from olbench.report.tables.results import quantity_column, spread_of

FEW_CURVES = 6
DASHES = ("solid", "dash", "dot", "dashdot")


def comparison_document(runs: Sequence[Results]) -> Document:
    compared = ComparedRuns(runs)
    *others, last = compared.titles
    datasets = {dataset for dataset, _ in compared.rows}
    has_curves = bool(runs[0].protocol.series)
    identical = all(map(compared.is_identical, range(1, len(compared.titles))))

    def differ() -> list[Part]:
        return [*differences(compared), *describe_left_out(compared)]

    return Document(
        f"{', '.join(others)} and {last}",
        parts=lambda: [*([] if identical else side_by_side(compared)), *changes(compared), *differ()],
        sections=lambda: [
            Section("Changes", list(changes(compared))),
            Section("Side by side", list(side_by_side(compared))),
            Section("What differs", differ()),
            *([Section("Curves", curves=curve_data(compared))] if has_curves else []),
        ],
        content=compared.records,
        records=compared.records,
        kicker="olbench comparison",
        lead=f"{count(len(compared.rows), 'row')} on {count(len(datasets), 'data set')}",
    )


def changes(compared: ComparedRuns) -> Iterator[Part]:
    """Yield how many rows got better or worse; runs with the same values everywhere are identical."""
    rows = []
    for place, title in enumerate(compared.titles[1:]):
        if compared.is_identical(place + 1):
            yield f"{title} is identical to {compared.titles[0]}: all counts of all trials are the same."
            continue
        for quantity in compared.quantities:
            found = (each[place] for each in compared.changes[quantity.name].values())
            counts = Counter(each.outcome(quantity) for each in found if each)
            rows.append((title, quantity.title, *(counts[name] for name in OUTCOMES)))
    shown = (*columns("run", "quantity"), *columns(*OUTCOMES, format=t.COUNT))
    if rows:
        yield Table(f"Changes from {compared.titles[0]}", shown, rows)


def differences(compared: ComparedRuns) -> Iterator[Part]:
    rows = [(key, *values) for key, values in config_differences(compared.runs)]
    if not rows:
        yield "The configs are the same."
    files = [run.run for run in compared.runs]
    names = dict.fromkeys(name for file in files for name in file.versions)
    facts = {
        "commit": [commit_text(replace(file, commit=file.commit and file.commit[:12])) for file in files],
        "started": [file.start or NOTHING for file in files],
        "machine": [machine_text(file) for file in files],
        **{name: [str(file.versions.get(name, NOTHING)) for file in files] for name in names},
    }
    rows += [(name, *values) for name, values in facts.items() if len(set(values)) > 1]
    if rows:
        yield Table("What differs between the runs", columns("key", *compared.titles), rows)


def side_by_side(compared: ComparedRuns) -> Iterator[Table]:
    titles = compared.titles
    several = any(entry and entry.planned > 1 for entries in compared.rows.values() for entry in entries)
    for quantity in compared.quantities:
        note = "No test: there is one trial only."
        changes = (each for moved in compared.changes[quantity.name].values() for each in moved)
        if several or any(each and each.tested for each in changes):
            note = (
                f"Differences are over the {plural(compared.numbered)} that both runs have, if their orders "
                "are shared, else of the means. * or bold: significant at the 5% level, not corrected "
                f"({words.describe_over(compared.runs[0])})."
            )
        rows = []
        for key, entries in compared.rows.items():
            values = (spread_of(entry, quantity) if entry else None for entry in entries)
            moved = compared.changes[quantity.name][key]
            changed = (mark(each.mean, each.significant) if each else None for each in moved)
            rows.append([*key, *values, *changed])
        apart = [f"{each} − {titles[0]}" for each in titles[1:]]
        yield Table(
            f"Side by side: {quantity.title}",
            (
                *t.ROW,
                *(replace(quantity_column(quantity), heading=title, name=title) for title in titles),
                *columns(*apart, format=measured(quantity, sign="+")),
            ),
            rows,
            note,
        )


def curve_data(compared: ComparedRuns) -> Mapping[str, Any]:
    """Return the curves of all runs; an algorithm has the same colour in all, and another dash in each."""
    series, titles = compared.runs[0].protocol.series, compared.titles
    entries = [
        replace(entry, label=_name(entry.label, title))
        for run, title in zip(compared.runs, titles, strict=True)
        for entry in run.entries
        if entry.done and (entry.dataset, entry.label) in compared.rows
    ]
    lines, points = budget(entries, series)
    labels = list(dict.fromkeys(label for _, label in compared.rows))
    return {
        **describe_series(series),
        "curves": {
            name: curves_of([entry for entry in entries if entry.dataset == name][:lines], points)
            for name in dict.fromkeys(entry.dataset for entry in entries)
        },
        "styles": {
            _name(label, title): {**style, "dash": dash, "filled": title == titles[0]}
            for label, style in line_styles(labels).items()
            for title, dash in zip(titles, chain(DASHES, repeat(DASHES[-1])), strict=False)
        },
        "grey": [_name(label, title) for label in _unchanged(compared, labels) for title in titles],
        "numbered": compared.numbered,
        "single": any("blocks" in run.overs for run in compared.runs),
    }


def _name(label: str, title: str) -> str:
    return f"{label} · {title}"


def _unchanged(compared: ComparedRuns, labels: Sequence[str]) -> list[str]:
    if len(labels) <= FEW_CURVES:
        return []
    changed = {
        label
        for by_row in compared.changes.values()
        for (_, label), moved in by_row.items()
        if any(each and each.significant for each in moved)
    }
    kept = [label for label in labels if label in changed][:FEW_CURVES] or list(labels[:FEW_CURVES])
    return [label for label in labels if label not in kept]


def describe_left_out(compared: ComparedRuns) -> list[str]:
    datasets = {dataset for dataset, _ in compared.rows}
    notes = []
    for (title, reason), untested in compared.find_untested().items():
        if reason == OTHER_DATA:
            notes += [f"{name}: {reason} in all runs, so no change is tested" for name in untested]
        else:
            where = "on any data set" if len(untested) == len(datasets) else f"on {', '.join(untested)}"
            lead = f"{title}: {reason}, so the orders are not shared and no change is tested"
            notes.append(f"{lead} {where}")
    notes = list(dict.fromkeys(notes))
    for title, run in zip(compared.titles, compared.runs, strict=True):
        single = sum((entry.dataset, entry.label) not in compared.rows for entry in run.entries if entry.done)
        if single:
            notes.append(f"{title}: {count(single, 'row')} in this run only")
    return notes


def config_differences(runs: Sequence[Results]) -> list[tuple[str, list[str]]]:
    flat = [flatten(run.config.plain()) for run in runs]
    keys = dict.fromkeys(key for each in flat for key in each)
    found = {key: [each.get(key, NOTHING) for each in flat] for key in keys}
    changed = {key: values for key, values in found.items() if len(set(values)) > 1}
    # If a config does not list an entry at all, the keys of that entry are left out.
    within = {key for key in changed if ": " in key and key.partition(": ")[0] in changed}
    return [(key, values) for key, values in changed.items() if key not in within]


def flatten(config: Mapping[str, Any]) -> dict[str, str]:
    """Return a config as one text per key; data sets and algorithms are keyed by their names.

    >>> flatten({"tuning": {"search": "grid"}, "algorithms": [{"id": "arow", "params": {"r": 2.0}}]})
    {'tuning.search': 'grid', 'algorithm arow': 'listed', 'algorithm arow: params.r': '2'}
    """
    flat: dict[str, str] = {}
    for name, value in config.items():
        if name not in ("datasets", "algorithms"):
            flat |= _flatten_values({name: value})
            continue
        seen = Counter[str]()
        for entry in value:
            id = str(entry.get("name") or entry.get("id"))
            seen[id] += 1
            title = f"{'data set' if name == 'datasets' else 'algorithm'} {id}"
            title += f" ({seen[id]})" if seen[id] > 1 else ""
            rest = {key: each for key, each in entry.items() if key not in ("name", "id")}
            flat |= {title: "listed", **dict(_flatten_values(rest, f"{title}: "))}
    return flat


def _flatten_values(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flatten_values(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", describe(value)
