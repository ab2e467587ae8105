"""Models of shards beside one model of all the data, and accuracy by epoch (cw2012, Figures 3 to 7)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any

import numpy as np

import olbench.papers.cw2012.significance  # noqa: F401
from olbench.analysis.results import Entry, Floats, Results
from olbench.papers.contrasts import Pairing, accuracy, add_contrasts, further_tuning, with_tuning
from olbench.papers.cw2012.combination import TITLES
from olbench.protocols.definition import Series
from olbench.records.quantities import TRAINING_ERROR
from olbench.report import table as t
from olbench.report.model import Report
from olbench.report.table import Column, Table, capitalise, columns, mark, measured
from olbench.report.tables import Figures, figures, table
from olbench.report.tables.results import by_dataset

#: The shards and the combination of the model of all training examples.
SINGLE = (1, "single")


@dataclass(frozen=True)
class Family:
    dataset: str
    single: Entry
    combined: Mapping[tuple[int, str], Entry]

    @property
    def label(self) -> str:
        return self.single.label

    @property
    def shards(self) -> list[int]:
        return list(dict.fromkeys(shards for shards, _ in self.combined))

    @property
    def ways(self) -> list[str]:
        return list(dict.fromkeys(way for _, way in self.combined))

    def best(self, shards: int) -> Entry:
        """Return the combination that uses most of the models: KL, or else L2."""
        ways = [way for way in ("kl", "l2", "counts", "average") if (shards, way) in self.combined]
        return self.combined[shards, ways[0]]


def families(results: Results) -> list[Family]:
    found: dict[tuple[str, str], dict[tuple[int, str], Entry]] = {}
    for entry in results.entries:
        if entry.done and "combination" in entry.setting:
            own = found.setdefault((entry.dataset, str(entry.spec)), {})
            own[entry.setting["shards"], entry.setting["combination"]] = entry
    return [Family(name, own.pop(SINGLE), own) for (name, _), own in found.items() if SINGLE in own]


def find_worth(points: Floats, accuracies: Floats, reached: float) -> float | None:
    """Return the share of the examples after which a curve first reaches an accuracy; None if it never does.

    Between points the curve is taken to be straight.

    >>> find_worth(np.array([10.0, 20.0, 40.0]), np.array([0.5, 0.7, 0.8]), 0.6)
    0.375
    """
    best = np.maximum.accumulate(accuracies)
    if not best.size or reached > best[-1]:
        return None
    place = int(np.argmax(best >= reached))
    if place == 0 or best[place] == best[place - 1]:
        return float(points[place] / points[-1])
    part = (reached - best[place - 1]) / (best[place] - best[place - 1])
    return float((points[place - 1] + part * (points[place] - points[place - 1])) / points[-1])


def _series(report: Report, name: str) -> Series | None:
    return next((each for each in report.protocol.series if each.name == name), None)


@table("Shards", 100)
def shards(report: Report) -> Table | None:
    found = [family for family in families(report.results) if family.combined]
    if not found:
        return None
    ways, quantity = [way for way in TITLES if any(way in family.ways for family in found)], report.headline
    return Table(
        f"{capitalise(quantity.title)} of shards",
        (
            Column("data set"),
            Column("algorithm", t.ALGORITHM),
            Column("shards", t.COUNT),
            *columns("single", *(TITLES[way] for way in ways), format=measured(quantity)),
            Column("loss", measured(quantity, sign="+")),
            Column("worth", t.RIGHT),
            Column("MB of a model", t.number(2), t.DETAIL),
        ),
        [row for family in found for row in _rows(report, family, ways)],
        "Means over the splits. * or bold: the best of a row. Loss: single minus the combination by KL or, "
        "without variances, L2. Worth: the share of the training examples after which the single model first "
        "is as good as that combination. MB of a model: the size of what one shard sends.",
    )


def _rows(report: Report, family: Family, ways: list[str]) -> Iterator[list[Any]]:
    quantity, series = report.headline, _series(report, report.headline.name)
    single = family.single.mean(quantity)
    for shards in family.shards:
        combined = {way: family.combined.get((shards, way)) for way in ways}
        means = {way: each.mean(quantity) for way, each in combined.items() if each}
        best = family.best(shards)
        reached = best.mean(quantity)
        worth, points = "over 100%", family.single.points
        if series is not None:
            curve = family.single.curves[series.name].mean(axis=0)
            if (share := find_worth(points.astype(float), curve, reached)) is not None:
                worth = f"{'at most ' if share <= points[0] / points[-1] else ''}{share:.0%}"
        size = float(best.columns["model_bytes"].mean()) / 1e6 if "model_bytes" in best.columns else 0.0
        top = max((single, *means.values()), key=lambda value: -quantity.loss(value))
        shown = [mark(means[way], means[way] == top) if way in means else None for way in ways]
        numbers = [mark(single, single == top), *shown, single - reached, worth, size]
        yield [family.dataset, family.label, shards, *numbers]


@figures("Shards", 100)
def shard_figures(report: Report) -> Figures:
    from olbench.papers.cw2012.figures import examples_figure, points_figure
    from olbench.report.formats import file_names

    everything = families(report.results)
    combined = [family for family in everything if family.combined]
    if not combined:
        return {}
    found = {}
    for label, stem in file_names(list(dict.fromkeys(each.label for each in combined))).items():
        own = [family for family in combined if family.label == label]
        found[f"shards-{stem}"] = partial(points_figure, own, everything, report.headline)
    series = _series(report, report.headline.name)
    if series is not None:
        panels: dict[str, list[Family]] = {}
        for family in everything:
            panels.setdefault(family.dataset, []).append(family)
        found["examples"] = partial(examples_figure, panels, series, report.results.highlighted)
    return found


SERIES = "test_error"
#: The algorithms of the paper's figures; a run with two of them shows no others.
FOLLOWED = ("cw-var", "cw", "pa")


def entries_by_epoch(results: Results, tuning: str) -> dict[str, list[Entry]]:
    curves = {
        name: [e for e in results.of(name) if e.points.size > 1 and further_tuning(results, e) == tuning]
        for name in results.datasets
    }
    labels = {e.label for entries in curves.values() for e in entries if e.algorithm in FOLLOWED}
    if len(labels) > 1:
        curves = {name: [e for e in entries if e.label in labels] for name, entries in curves.items()}
    return {name: entries for name, entries in curves.items() if entries}


@table("Accuracy by epoch", 130)
def epochs(report: Report) -> Iterator[Table]:
    blocks = entries_by_epoch(report.results, "") if _series(report, SERIES) else {}
    for place, when in ((0, "first"), (-1, "last")):
        cells: dict[tuple[str, str], Any] = {}
        for dataset, entries in blocks.items():
            means = {e.label: accuracy(float(e.curves[SERIES][:, place].mean())) for e in entries}
            best = max(means.values())
            cells |= {(dataset, label): mark(mean, mean == best) for label, mean in means.items()}
        note = "Means over the folds. * or bold: the highest."
        yield by_dataset(f"Test accuracy (%) after the {when} epoch", t.number(2), cells, note)


@figures("Accuracy by epoch", 130)
def epoch_figures(report: Report) -> Figures:
    from olbench.papers.cw2012.figures import PANELS, epochs_figure

    series, results = _series(report, SERIES), report.results
    if series is None:
        return {}
    found = {}
    for tuning in dict.fromkeys(further_tuning(results, entry) for entry in results.entries):
        blocks = entries_by_epoch(results, tuning)
        names = np.array(list(blocks), dtype=object)
        pages = np.array_split(names, ceil(len(blocks) / PANELS)) if blocks else []
        title = f" (tuning: {tuning})" if tuning else ""
        for number, page in enumerate(pages, 1):
            name = with_tuning("epochs", tuning) + (f"-{number}" if len(pages) > 1 else "")
            shown = {dataset: blocks[dataset] for dataset in page}
            found[name] = partial(epochs_figure, results, shown, series, title)
    return found


# Figure 5
PROJECTIONS = Pairing(TRAINING_ERROR, "projection", "l2", "exact")
add_contrasts("training", "Training accuracy", 140, "training accuracy", PROJECTIONS, __name__)
