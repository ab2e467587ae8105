"""Models of shards, apart and combined, beside one model of all the data (cw2012, Figures 6 and 7)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import olbench.papers.cw2012.epochs
import olbench.papers.cw2012.significance  # noqa: F401
from olbench.analysis.results import Entry, Floats, Results
from olbench.papers.contrasts.pairs import Pairing, add_contrasts
from olbench.papers.cw2012.combination import TITLES
from olbench.protocols.definition import Series
from olbench.records.quantities import TRAINING_ERROR
from olbench.report import table as t
from olbench.report.model import Report
from olbench.report.table import Column, Table, capitalise, columns, mark, measured
from olbench.report.tables import Figures, figures, table


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
        """Return the combination that uses most of what the models know: KL, or else L2."""
        ways = [way for way in ("kl", "l2", "counts", "average") if (shards, way) in self.combined]
        return self.combined[shards, ways[0]]


def families(results: Results) -> list[Family]:
    found: dict[tuple[str, str], dict[tuple[int, str], Entry]] = {}
    singles: dict[tuple[str, str], Entry] = {}
    for entry in results.entries:
        if not entry.done or "combination" not in entry.setting:
            continue
        place = entry.dataset, str(entry.spec)
        if entry.setting["shards"] == 1:
            singles[place] = entry
        else:
            found.setdefault(place, {})[entry.setting["shards"], entry.setting["combination"]] = entry
    return [Family(place[0], single, found.get(place, {})) for place, single in singles.items()]


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


def _series(report: Report) -> Series | None:
    return next((each for each in report.protocol.series if each.quantity == report.headline), None)


@table("Shards", 100)
def shards(report: Report) -> Table | None:
    """Return the models of shards, combined in several ways, beside one model of all the data."""
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
        "is as good as that combination. MB of a model: what one shard sends.",
    )


def _rows(report: Report, family: Family, ways: list[str]) -> Iterator[list[Any]]:
    quantity, series = report.headline, _series(report)
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


@table("Shards", 101)
def corpora(report: Report) -> Table | None:
    paper = report.paper
    if (
        paper is None
        or not paper.unavailable
        or not any(family.combined for family in families(report.results))
    ):
        return None
    rows = []
    for name, shape in paper.shapes.items():
        reason, size = paper.unavailable.get(name, ""), [shape.get(key) for key in ("rows", "features")]
        ratio = size[1] / size[0] if size[0] and size[1] else None
        rows.append((name, *size, ratio, f"not comparable: {reason}" if reason else ""))
    return Table(
        f"{paper.shapes_where}: the paper's data sets",
        (
            Column("data set"),
            *columns("rows", "features", format=t.COUNT),
            Column("ratio", t.number(2)),
            Column("verdict"),
        ),
        rows,
        "Numbers of the paper are about these, and are not compared with ours. Its claims are.",
    )


@figures("Shards", 100)
def shard_figures(report: Report) -> Figures:
    from olbench.papers.cw2012.figures import examples_figure, points_figure
    from olbench.report.formats import file_names

    everything = families(report.results)
    if not any(family.combined for family in everything):
        return {}
    found = {}
    names = file_names(list(dict.fromkeys(each.label for each in everything if each.combined)))
    for label, stem in names.items():
        own = [family for family in everything if family.label == label and family.combined]
        found[f"shards-{stem}"] = partial(points_figure, own, everything, report.headline)
    series = _series(report)
    if series is not None:
        datasets = dict.fromkeys(family.dataset for family in everything)
        by_dataset = {name: [each for each in everything if each.dataset == name] for name in datasets}
        found["examples"] = partial(examples_figure, by_dataset, series, report.results.highlighted)
    return found


# Figure 5
PROJECTIONS = Pairing(TRAINING_ERROR, "projection", "l2", "exact")
add_contrasts("training", "Training accuracy", 140, "training accuracy", PROJECTIONS, __name__)
