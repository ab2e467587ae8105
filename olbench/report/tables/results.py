"""The results: one block per data set, with the paper's numbers; and a matrix as papers print it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from olbench.algorithms.definition import Value
from olbench.analysis import results as runs
from olbench.analysis.choices import find_parameters, find_ranges, find_settings, list_edges
from olbench.analysis.results import Entry, Results
from olbench.analysis.verdicts import NOT_COMPARABLE, Judgement
from olbench.errors import count, list_some, plural, short
from olbench.protocols.tuning import LARGEST, SMALLEST
from olbench.records.quantities import (
    MISTAKES,
    NO_CHANGE_MISTAKES,
    ROUNDS,
    SECONDS,
    TRAINING_ROUNDS,
    Quantity,
)
from olbench.report import table as t
from olbench.report import words
from olbench.report.model import Report
from olbench.report.table import Column, Flagged, Format, Spread, Table, capitalise, mark, show_settings
from olbench.report.tables import table

SHARED_NOTE = (
    "Times in brackets were measured while other trials ran, so they are not comparable; use `olbench run "
    "--timing exclusive` for comparable times."
)
SHORT = {SMALLEST: "min", LARGEST: "max"}
DIRECTIONS = {SMALLEST: "smaller", LARGEST: "larger"}
#: With more algorithms, nobody reads a row of the matrix.
MOST = 40


def _reported(judgement: Judgement | None) -> Mapping[str, Any]:
    reported = judgement.reported if judgement else None
    return {"_mean": reported and reported.mean, "_std": reported and reported.deviation}


PRINTED = Format(
    lambda judgement: f"{judgement.reported.printed} {words.letter(judgement)}",
    plain=_reported,
    verdict=attrgetter("verdict"),
)


class Chosen(NamedTuple):
    """Parameters and other settings, and what is shown after a value: its edge and its range."""

    values: Mapping[str, Value]
    marks: Mapping[str, str]


def _show_chosen(chosen: Chosen) -> str:
    return ", ".join(f"{name}={short(value)}{chosen.marks[name]}" for name, value in chosen.values.items())


CHOSEN = Format(_show_chosen, "left", plain=lambda chosen: {"": show_settings(chosen.values)})


def find_chosen(entry: Entry) -> Chosen:
    marks = dict.fromkeys(values := find_settings(entry), "")
    for name, _, side in list_edges(entry):
        marks[name] += f" ({SHORT[side]})"
    for name, found in find_ranges(entry).items():
        shown = list(map(short, found))
        is_list = isinstance(found[0], str)
        marks[name] += f" [{', '.join(shown) if is_list else f'{shown[0]} to {shown[-1]}'}]"
    return Chosen(values, marks)


def describe_choices(report: Report) -> str:
    """Return the meanings of what stands after chosen values."""
    notes = []
    if any(map(list_edges, report.rows)):
        extends = report.protocol.experiment.tuning.extends
        hint = "" if extends else "; `tuning: {extend: true}` goes on beyond it"
        notes.append(f"(min), (max): on the edge of the grid{hint}.")
    if any(map(find_ranges, report.rows)):
        notes.append("In square brackets: the range of what was chosen; before it, the most frequent choice.")
    return " ".join(notes)


def describe_edges(report: Report, name: Callable[[str], str] = str) -> str:
    """Return on how many data sets the winner over several is on an edge of its grid."""
    if len(report.leaders) < 2:
        return ""
    label = min(report.ranks, key=lambda each: report.ranks[each], default="")
    own = [entry for entry in report.rows if entry.label == label]
    edges = sum(map(bool, map(list_edges, own)))
    where = f"{edges} of {count(len(own), 'data set')}"
    return f"A tuned value of {name(label)} is on the edge of its grid on {where}." if edges else ""


def describe_winner(report: Report, name: Callable[[str], str] = str) -> str:
    """Return the parameters of the winner on one data set."""
    if len(report.leaders) != 1:
        return ""
    entry = report.leaders[0]
    settings = {setting: f"{setting}={short(value)}" for setting, value in find_settings(entry).items()}
    for setting, _, side in list_edges(entry):
        beyond = f"in its grid: try {DIRECTIONS[side]}, or `extend: true`"
        where = "tried" if entry.protocol.experiment.tuning.extends else beyond
        settings[setting] += f" (the {side} {where})"
    often = ", most frequently," if find_ranges(entry) else ""
    return (
        f"The parameters of {name(entry.label)} are{often} {', '.join(settings.values())}."
        if settings
        else ""
    )


def winner_code(report: Report) -> str:
    """Return the winner on one data set as Python, to copy with its parameters and options."""
    best = report.leaders[0] if len(report.leaders) == 1 else None
    if best is None or not (known := find_parameters(best)):
        return ""
    chosen = {name: value for name, value in find_settings(best).items() if name in known}
    shown = "".join(f", {name}={value!r}" for name, value in {**best.options, **chosen}.items())
    return f'In Python: make_algorithm("{best.algorithm}"{shown})'


def name_of(entry: Entry) -> str:
    return Flagged(entry.label) if entry.flagged else entry.label


def is_time(quantity: Quantity) -> bool:
    return quantity.name == SECONDS.name


def spread_of(entry: Entry, quantity: Quantity) -> Spread:
    mean, deviation = entry.spread(quantity)
    shared = is_time(quantity) and not entry.exclusive
    return Spread(mean, deviation if entry.planned > 1 else None, shared)


def quantity_column(quantity: Quantity) -> Column:
    if is_time(quantity):
        return Column("time", t.DURATION, t.TIME, name=quantity.name, note=SHARED_NOTE)
    return Column(quantity.title, t.spread(quantity), name=quantity.name)


def flag_notes(report: Report) -> list[str]:
    """Return one sentence per data set with algorithms that broke down numerically."""
    found = []
    for dataset in report.results.datasets:
        flagged = [entry for entry in report.block(dataset) if entry.flagged]
        listed = ", ".join(f"{entry.label} in {entry.flagged} of {entry.done}" for entry in flagged)
        if listed:
            found.append(f"Numerical breakdowns on {dataset}: {listed} {plural(report.results.numbered)}.")
    return found


def _show_rows(entries: Sequence[Entry], rows: int) -> str:
    """Return the number of rows and, if duplicates were removed, how many remained."""
    parts = [
        [entry.columns[each.name] for each in (ROUNDS, TRAINING_ROUNDS)]
        for entry in entries
        if entry.done and entry.recorded_setting.get("duplicates") == "remove"
    ]
    used = max((int((tested + learnt).max()) for tested, learnt in parts), default=rows)
    return f"{used:,} of {rows:,}" if used < rows else f"{rows:,}"


def block_titles(report: Report) -> dict[str, str]:
    titles = {}
    for dataset in report.results.datasets:
        facts = report.results.run.data.get(dataset)
        size = f"{_show_rows(report.block(dataset), facts.rows)} × {facts.features:,}" if facts else ""
        name = f"{dataset} ({size})" if facts else dataset
        numbers = report.paper.numbers if report.paper else ()
        wheres = dict.fromkeys(each.where.partition(",")[0] for each in numbers if each.dataset == dataset)
        titles[dataset] = f"{', '.join(wheres)}: {name}" if wheres else name
    return titles


def _cells(report: Report, entry: Entry) -> dict[str, Any]:
    """Return the values of a row by the ids of their columns; JSON has them, too."""
    judged, times = report.judgements_of(entry), report.time_ratios
    headline = judged.get(report.headline.name)
    is_comparable = headline is not None and headline.verdict != NOT_COMPARABLE
    return {
        "dataset": entry.dataset,
        "algorithm": entry.algorithm,
        "label": name_of(entry),
        **{each.name: spread_of(entry, each) for each in report.protocol.quantities},
        "params": find_chosen(entry),
        plural(entry.protocol.numbered): entry.done,
        "best": report.results.is_best(entry),
        "timing": entry.timing,
        **{name: int(each.sum()) for name, each in entry.flags.items()},
        **{f"reported_{name}": each for name, each in judged.items()},
        **{f"{name}_verdict": each.verdict for name, each in judged.items()},
        "time_ratio": times.get((entry.dataset, entry.label)) if is_comparable else None,
        **vars(report.results.costs(entry)),
    }


def _row_data(report: Report, entry: Entry) -> dict[str, Any]:
    cells, judged = _cells(report, entry), report.judgements_of(entry)
    verdicts = {name: each.verdict for name, each in judged.items()}
    spreads = {each.name: cells[each.name] for each in report.protocol.quantities}
    return {
        **{name: cells[name] for name in ("dataset", "algorithm", "label")},
        **{name: getattr(entry, name) for name in ("params", "setting", "options")},
        "edges": [edge._asdict() for edge in list_edges(entry)],
        "ranges": find_ranges(entry),
        plural(entry.protocol.numbered): entry.done,
        **{name: {"mean": each.mean, "std": each.deviation} for name, each in spreads.items()},
        "timing": entry.timing,
        "costs": vars(report.results.costs(entry)),
        **{name: cells[name] for name in ("best", *entry.flags)},
        "reported": {name: each.reported_data for name, each in judged.items()} or None,
        "verdict": verdicts.get(report.headline.name),
        "verdicts": verdicts or None,
    }


def results_note(report: Report) -> str:
    """Return the meanings of flags, with a command that explains the first, of bold, and of brackets."""
    notes = [words.describe_bold(report.results)]
    if first := next((entry for entry in report.rows if entry.flagged), None):
        flags = f"{t.FLAG.strip()} {' '.join(flag_notes(report))} After that, results may depend on rounding"
        notes.insert(0, f"{flags}; `olbench verify RUN --trial {first.first_flagged}` explains the first.")
    if any(map(is_time, report.protocol.quantities)) and not report.results.exclusive:
        notes.append(SHARED_NOTE)
    return " ".join(filter(None, [*notes, describe_choices(report)]))


@table("Results", 80, data=lambda report: {"rows": [_row_data(report, entry) for entry in report.rows]})
def results(report: Report) -> Table:
    flags = [each for each in report.protocol.recorded if each.flag]
    columns = [
        Column("data set", name="dataset"),
        Column("algorithm id", drop=t.HIDDEN, name="algorithm"),
        Column("algorithm", t.ALGORITHM, name="label"),
        *map(quantity_column, report.protocol.quantities),
        Column("parameters", CHOSEN, name="params"),
        Column(plural(report.protocol.numbered), t.COUNT, t.HIDDEN),
        Column("best", drop=t.HIDDEN),
        Column("timing", drop=t.HIDDEN),
        *(Column(each.title, t.COUNT, t.HIDDEN, name=each.name) for each in flags),
    ]
    for quantity in report.judged:
        heading, name = f"paper: {quantity.title}", f"reported_{quantity.name}"
        columns.append(Column(heading, PRINTED, t.PAPER, name=name))
        columns.append(Column("verdict", drop=t.HIDDEN, name=f"{quantity.name}_verdict"))
    shared = "" if report.results.exclusive else " (shared)"
    if report.time_ratios:
        columns.append(Column(f"paper's time / ours{shared}", t.number(0), t.COST, name="time_ratio"))
    columns += [
        Column("learner size", t.BYTES, t.COST, name="state_bytes", note=words.SIZE_NOTE),
        Column("size from", drop=t.HIDDEN, name="state_from"),
        Column("trial memory", t.BYTES, t.COST, name="peak_bytes", note=words.MEMORY_NOTE),
        Column(f"examples/s{shared}", t.RATE, t.COST, name="examples_per_second"),
    ]
    ids, rows = [each.id for each in columns], [_cells(report, entry) for entry in report.rows]
    return Table(
        "Results",
        tuple(columns),
        [[cells.get(id) for id in ids] for cells in rows],
        f"{results_note(report)} {words.SIZE_NOTE} {words.MEMORY_NOTE}",
        group="data set",
        group_titles=block_titles(report),
        ranked_by=report.headline.name,
        descending=report.headline.better == "higher",
        best=frozenset((y, ids.index(report.headline.name)) for y, cells in enumerate(rows) if cells["best"]),
    )


def by_dataset(caption: str, format: Format, cells: Mapping[tuple[str, str], Any], note: str) -> Table:
    labels = list(dict.fromkeys(label for _, label in cells))
    datasets = dict.fromkeys(dataset for dataset, _ in cells)
    rows = [(dataset, *(cells.get((dataset, label)) for label in labels)) for dataset in datasets]
    return Table(caption, (Column("data set"), *t.algorithm_columns(labels, format)), rows, note)


def contestants(report: Report) -> Sequence[Entry]:
    return [entry for entry in report.rows if report.results.is_contestant(entry)]


@table("Matrix", 70, on_page=False)
def matrix(report: Report) -> Table | None:
    # Streams have other tables.
    kept = (each.columns for each in report.rows)
    counted = any(MISTAKES.name in each and NO_CHANGE_MISTAKES.name not in each for each in kept)
    labels = {entry.label for entry in contestants(report)}
    fits = len(report.results.datasets) > 1 and 1 < len(labels) <= MOST
    return means_matrix(report, report.headline) if counted and fits else None


def means_matrix(report: Report, quantity: Quantity) -> Table:
    ranks, column = quantity is report.headline, quantity_column(quantity)
    cells = {
        (each.dataset, each.label): mark(spread_of(each, quantity), ranks and report.results.is_best(each))
        for each in contestants(report)
    }
    title = f"{capitalise(column.heading)} by data set and algorithm"
    return by_dataset(title, column.format, cells, words.describe_bold(report.results) if ranks else "")


class ShownResults(Results):
    """Results that notebooks show as a table."""

    def _repr_html_(self) -> str:
        report = Report(self, None)
        table = means_matrix(report, report.headline)
        caption = f"{self.name}: {report.size}, protocol {self.config.protocol}. {table.caption}"
        gap = f" Incomplete: {list_some(self.missing, 10)}." if self.missing else ""
        return replace(table, caption=caption, note=f"{table.note}{gap}")._repr_html_()


def load_results(folder: str | Path, measures: Sequence[str] = (), *, trust_plugins: bool = False) -> Results:
    """Return the results of a folder, a bundle or a run that ships ("scw"), finished or not.

    `measures` replaces the measures of the config, as far as the records have them; the first determines the
    ranking. Python code in a bundle is not run unless you trust it; few bundles need that to be read.
    """
    return runs.load_results(folder, measures, trust_plugins=trust_plugins, kind=ShownResults)
