"""The sections of a comparison: changes, what differs between the runs, all rows, and the curves."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

from olbench.analysis.comparison import NOTHING, ComparedRuns, Key, MeanChange
from olbench.analysis.results import Results
from olbench.errors import plural
from olbench.records.quantities import Quantity
from olbench.report import words
from olbench.report.document import MANY_ROWS, Document
from olbench.report.figures.palette import line_styles
from olbench.report.grid import Box, Grid, Part, boxes, count, left, list_settings, right
from olbench.report.sections import Section
from olbench.report.sections.curves import budget, curves_of, describe_series
from olbench.report.sections.provenance import machine_text
from olbench.report.sections.results import number_text, spread_page

FEW_CURVES = 6
DASHES = ("solid", "dash", "dot", "dashdot")


def comparison_document(runs: Sequence[Results]) -> Document[ComparedRuns]:
    compared = ComparedRuns(runs)
    *others, last = compared.titles
    rows, datasets = len(compared.rows), len({dataset for dataset, _ in compared.rows})
    return Document(
        compared,
        [section for section in SECTIONS if section.applies(compared)],
        # In text, the numbers come first.
        parts=lambda: chain(
            side_parts(compared), differences_parts(compared), words.describe_left_out(compared)
        ),
        content=compared.records,
        records=compared.records,
        name=f"{', '.join(others)} and {last}",
        kicker="olbench comparison",
        lead=f"{count(rows, 'row')} on {count(datasets, 'data set')}",
        large=rows > MANY_ROWS,
        downloads={"comparison.csv": "csv"},
    )


def changes_page(compared: ComparedRuns) -> Mapping[str, Any]:
    tallies = []
    for place, title in enumerate(compared.titles[1:]):
        for quantity in compared.quantities:
            found = (changes[place] for changes in compared.changes[quantity.name].values())
            counts = Counter(each.outcome for each in found if each)
            listed = [(name, colour, counts[name]) for name, colour in words.COLOURS.items() if counts[name]]
            about = {"title": title, "quantity": quantity.title, "total": counts.total()}
            tallies.append({**about, "counts": listed})
    return {"tallies": tallies}


def differences_parts(compared: ComparedRuns) -> Iterator[Part]:
    rows = [boxes(key, *values) for key, values in words.config_differences(compared.runs)]
    grid = Grid("What differs in the configs", left("key", *compared.titles), rows)
    yield grid if rows else "The configs are the same."


def differences_page(compared: ComparedRuns) -> Mapping[str, Any]:
    files = [run.run for run in compared.runs]
    names = dict.fromkeys(name for file in files for name in file.versions)
    versions = {name: [str(file.versions.get(name, NOTHING)) for file in files] for name in names}
    commits = [
        f"{file.commit[:12]}{', with uncommitted changes' if file.dirty else ''}" if file.commit else NOTHING
        for file in files
    ]
    return {
        "configs": words.config_differences(compared.runs),
        "facts": [
            ("commit", commits),
            ("started", [file.start or NOTHING for file in files]),
            ("machine", [machine_text(file) for file in files]),
            *((name, texts) for name, texts in versions.items() if len(set(texts)) > 1),
        ],
        "same": [(name, texts[0]) for name, texts in versions.items() if len(set(texts)) == 1],
    }


def side_parts(compared: ComparedRuns) -> Iterator[Grid]:
    titles = compared.titles
    for quantity in compared.quantities:
        rows = []
        for key, entries in compared.rows.items():
            values = [number_text(entry, quantity) if entry else "" for entry in entries]
            changes = compared.changes[quantity.name][key]
            differences = [Box(words.show_change(each), each.significant) if each else "" for each in changes]
            rows.append(boxes(*key, *values, *differences))
        yield Grid(
            f"Side by side: {quantity.title}",
            left("data set", "algorithm") + right(*titles, *(f"{each} − {titles[0]}" for each in titles[1:])),
            rows,
            f"* or bold: significant at the 95% level ({words.name_paired_test(compared.runs[0])} over the "
            f"{plural(compared.numbered)} of the same number, where their orders are shared)."
            if any(entry and entry.planned > 1 for entries in compared.rows.values() for entry in entries)
            else "One trial allows no test.",
        )


def side_page(compared: ComparedRuns) -> Mapping[str, Any]:
    rows = [_row(compared, key) for key in compared.rows]
    return {
        "quantities": [_quantity(each, rows) for each in compared.quantities],
        "rows": rows,
        "datasets": list(dict.fromkeys(dataset for dataset, _ in compared.rows)),
    }


def _row(compared: ComparedRuns, key: Key) -> dict[str, Any]:
    dataset, label = key
    entries, numbers = compared.rows[key], {}
    for each in compared.quantities:
        changes = compared.changes[each.name][key]
        numbers[each.name] = {
            "spreads": [spread_page(each, entry) if entry else None for entry in entries],
            "changes": [_change(change) if change else None for change in changes],
        }
    # The chosen parameters, those of each run if they differ.
    texts = [list_settings({**(e.params or {}), **e.setting}) if e else NOTHING for e in entries]
    params = texts[0] if len(set(texts)) == 1 else " → ".join(text or NOTHING for text in texts)
    return {"dataset": dataset, "label": label, "numbers": numbers, "params": params}


def _change(change: MeanChange) -> dict[str, Any]:
    names = ("difference", "p", "outcome", "significant")
    return {
        **{name: getattr(change, name) for name in names},
        "text": words.show_change(change),
        "colour": words.COLOURS[change.outcome],
    }


def _quantity(quantity: Quantity, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    spreads = [each for row in rows for each in row["numbers"][quantity.name]["spreads"] if each]
    width = max((len(deviation) for each in spreads for deviation in each["texts"][1:]), default=0)
    return {"name": quantity.name, "title": quantity.title, "width": width}


def curves_page(compared: ComparedRuns) -> Mapping[str, Any]:
    """Return the curves of all runs; those of a later run have the colour of the first and another dash."""
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
        "curves": {
            name: curves_of([entry for entry in entries if entry.dataset == name][:lines], points)
            for name in dict.fromkeys(entry.dataset for entry in entries)
        },
        "styles": {
            _name(label, title): {**style, "dash": dash, "filled": title == titles[0]}
            for label, style in line_styles(labels).items()
            for title, dash in zip(titles, chain(DASHES, repeat(DASHES[-1])), strict=False)
        },
        "hidden": [_name(label, title) for label in _unchanged(compared, labels) for title in titles],
        "most": None,
        **describe_series(series),
        "numbered": compared.numbered,
        "paper": False,
        "single": any(run.single for run in compared.runs),
        "marked": False,
    }


def _name(label: str, title: str) -> str:
    return f"{label} · {title}"


def _unchanged(compared: ComparedRuns, labels: Sequence[str]) -> list[str]:
    if len(labels) <= FEW_CURVES:
        return []
    changed = {
        label
        for by_row in compared.changes.values()
        for (_, label), changes in by_row.items()
        if any(each and each.significant for each in changes)
    }
    kept = [label for label in labels if label in changed][:FEW_CURVES] or list(labels[:FEW_CURVES])
    return [label for label in labels if label not in kept]


SECTIONS: tuple[Section[ComparedRuns], ...] = (
    Section("changes", "Changes", page=changes_page),
    Section("differences", "What differs", page=differences_page),
    Section("side", "Side by side", page=side_page),
    Section(
        "curves", "Curves", applies=lambda compared: bool(compared.runs[0].protocol.series), page=curves_page
    ),
)
