"""The pages of the site with the values that their templates show."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olbench.algorithms import definitions
from olbench.analysis.results import Entry
from olbench.data.catalog import catalog
from olbench.errors import escape_controls as show
from olbench.errors import plural
from olbench.records.quantities import Quantity
from olbench.report import words
from olbench.report.grid import capitalise, count
from olbench.report.sections.provenance import machine_text
from olbench.report.sections.results import is_time, settings
from olbench.report.site.model import Leaderboard, SiteRun, make_leaderboard
from olbench.report.site.names import file_name, quote

#: The letters of a trial's key that commands show.
KEY = 12
FACETS = ("data set", "algorithm", "paper", "protocol", "measure")


@dataclass(frozen=True)
class SitePage:
    folder: str
    template: str
    values: Mapping[str, Any]


def make_pages(runs: Sequence[SiteRun]) -> Iterator[SitePage]:
    boards = [make_leaderboard(run, quantity) for run in runs for quantity in run.measures]
    by_page: dict[tuple[str, str], list[Leaderboard]] = {}
    for board in boards:
        by_page.setdefault((board.run.protocol, board.quantity.name), []).append(board)
    algorithms, datasets = _group(runs, "algorithm"), _group(runs, "dataset")
    yield _index(runs, by_page, algorithms, datasets)
    for own in by_page.values():
        # The comparison over the most data sets comes first.
        yield _leaderboard_page(sorted(own, key=lambda board: -board.complete))
    for id in sorted(algorithms):
        yield _algorithm_page(id, algorithms[id])
    for name in sorted(datasets):
        yield _dataset_page(name, datasets[name])


Pairs = list[tuple[SiteRun, Entry]]


def _group(runs: Sequence[SiteRun], name: str) -> dict[str, Pairs]:
    found: dict[str, Pairs] = {}
    for run in runs:
        for entry in run.entries:
            found.setdefault(getattr(entry, name), []).append((run, entry))
    return found


def algorithm_folder(id: str) -> str:
    return f"algorithms/{file_name(id)}"


def dataset_folder(name: str) -> str:
    return f"datasets/{file_name(name)}"


def board_folder(protocol: str, measure: str) -> str:
    return f"leaderboards/{file_name(f'{protocol}-{measure}'.replace('_', '-'))}"


def anchor(run: SiteRun) -> str:
    return f"run-{file_name(run.name)}"


def _block(run: SiteRun, entries: Sequence[Entry]) -> dict[str, Any]:
    quantities, numbered = run.results.protocol.quantities, run.results.numbered
    time = next((each.name for each in quantities if is_time(each)), "")
    timings = sorted({entry.timing for entry in entries})
    trials = sorted({entry.done for entry in entries})
    return {
        **_provenance(run),
        "headline": run.headline,
        "quantities": quantities,
        "time": time,
        "clock": {"exclusive": "Seconds (alone)", "shared": "Seconds (shared)"}[timings[0]]
        if len(timings) == 1
        else "Seconds",
        "tagged": len(timings) > 1,
        "labelled": any(entry.label != entry.algorithm for entry in entries),
        "stated": any(run.results.costs(entry).state_bytes is not None for entry in entries),
        "counted": len(trials) > 1,
        "trials": count(trials[0], numbered) if len(trials) == 1 else plural(numbered),
        "rows": [_row(run, entry) for entry in entries],
    }


def _row(run: SiteRun, entry: Entry) -> dict[str, Any]:
    state, key = run.results.costs(entry).state_bytes, entry.keys[int(entry.columns["number"][0])]
    return {
        "dataset": show(entry.dataset),
        "dataset_folder": dataset_folder(entry.dataset),
        "label": show(entry.label),
        "algorithm_folder": algorithm_folder(entry.algorithm),
        "place": run.place(entry),
        "tied": run.tied(entry),
        "cells": [_cell(entry, each) for each in run.results.protocol.quantities],
        "trials": entry.done if entry.done == entry.planned else f"{entry.done} of {entry.planned}",
        "state": "not known" if state is None else f"{state:,.0f}",
        "params": show(settings(entry)),
        "command": f"olbench verify {quote(run.name)} --trial {key[:KEY]}",
    }


def _cell(entry: Entry, quantity: Quantity) -> dict[str, Any]:
    mean, deviation = entry.spread(quantity)
    text = quantity.spread(mean, deviation) if entry.planned > 1 else quantity.text(mean)
    return {"text": text, "shared": is_time(quantity) and not entry.exclusive and mean == mean}


def _by_place(run: SiteRun, entries: Iterable[Entry]) -> list[Entry]:
    quantity = run.headline

    def key(entry: Entry) -> tuple[int, float]:
        loss = float(quantity.loss(entry.mean(quantity)))
        return run.place(entry) or len(run.results.entries) + 2, float("inf") if loss != loss else loss

    return sorted(entries, key=key)


def _provenance(run: SiteRun) -> dict[str, Any]:
    file, results = run.results.run, run.results
    changes = " with uncommitted changes" if file.dirty else ""
    repeats = max((entry.planned for entry in results.entries), default=0)
    return {
        "name": show(run.name),
        "quoted": quote(run.name),
        "anchor": anchor(run),
        "protocol": show(run.protocol),
        "paper": show(run.paper),
        "ended": show((file.end or "not finished")[:16].replace("T", " ")),
        "commit": show(file.commit[:12] + changes) if file.commit else "",
        "machine": show(machine_text(file)),
        "versions": show(", ".join(f"{name} {each}" for name, each in file.versions.items())),
        "repeats": show(count(repeats, results.numbered)),
        "seed": results.config.seed,
        "timing": " and ".join(sorted({entry.timing for entry in run.entries})),
        "unfinished": len(results.missing),
        "results": len(run.entries),
    }


def _runs_of(pairs: Pairs) -> list[SiteRun]:
    return list({run.name: run for run, _ in pairs}.values())


def _dataset_page(name: str, pairs: Pairs) -> SitePage:
    blocks = [
        {
            **_block(run, _by_place(run, run.results.of(name))),
            "board": board_folder(run.protocol, run.headline.name),
            "note": show(words.describe_best(run.results)),
            "data": run.results.run.data.get(name),
        }
        for run in _runs_of(pairs)
    ]
    known = catalog().get(name)
    prints = {block["data"].fingerprint for block in blocks if block["data"]}
    about = known if known and known.fingerprint in prints else None
    return SitePage(
        dataset_folder(name),
        "dataset.html.j2",
        {
            "title": show(name),
            "lead": about.title if about else "",
            "citation": about.citation if about else "",
            "blocks": blocks,
            "total": len(pairs),
        },
    )


def _algorithm_page(id: str, pairs: Pairs) -> SitePage:
    blocks = []
    for run in _runs_of(pairs):
        own = sorted((entry for other, entry in pairs if other is run), key=lambda each: each.dataset)
        places = [place for entry in own if (place := run.place(entry)) is not None]
        block = _block(run, own)
        boards = [(each.title, board_folder(run.protocol, each.name)) for each in run.measures]
        blocks.append({**block, "first": places.count(1), "placed": len(places), "boards": boards})
    about = next((each for each in definitions() if each.id == id), None)
    return SitePage(
        algorithm_folder(id),
        "algorithm.html.j2",
        {
            "title": show(id),
            "lead": show(about.title) if about else "",
            "source": show(about.source) if about else "",
            "blocks": blocks,
            "total": len(pairs),
            "datasets": len({entry.dataset for _, entry in pairs}),
        },
    )


def _leaderboard_page(boards: Sequence[Leaderboard]) -> SitePage:
    first = boards[0]
    protocol, quantity = first.run.protocol, first.quantity
    title = f"{capitalise(quantity.title)}, {protocol}"
    return SitePage(
        board_folder(protocol, quantity.name),
        "leaderboard.html.j2",
        {
            "title": show(title),
            "protocol": show(protocol),
            "quantity": quantity,
            "blocks": [_board_block(board) for board in boards],
        },
    )


def _board_block(board: Leaderboard) -> dict[str, Any]:
    run, top = board.run, len(board.rows)
    return {
        **_provenance(run),
        "complete": board.complete,
        "datasets": [(show(name), dataset_folder(name)) for name in run.results.datasets],
        "numbered": show(run.results.numbered),
        "note": show(board.note),
        "leaders": len(board.leaders),
        "rows": [
            {
                "label": show(row.label),
                "folder": algorithm_folder(row.algorithm),
                "place": row.place,
                "tied": row.place is not None and sum(row.place == other.place for other in board.rows) > 1,
                "rank": row.rank,
                "interval": row.interval,
                "bar": _bar(row.interval, row.rank, top),
                "wins": row.wins,
                "among": row.among_best,
            }
            for row in board.rows
        ],
    }


def _bar(interval: tuple[float, float] | None, rank: float | None, top: int) -> dict[str, float] | None:
    if interval is None or rank is None or top < 2:
        return None

    def x(value: float) -> float:
        return round(4 + 112 * (value - 1) / (top - 1), 1)

    return {"low": x(interval[0]), "high": x(interval[1]), "rank": x(rank)}


def _index(
    runs: Sequence[SiteRun],
    boards: Mapping[tuple[str, str], Sequence[Leaderboard]],
    algorithms: Mapping[str, Pairs],
    datasets: Mapping[str, Pairs],
) -> SitePage:
    facets = _Facets(runs)
    titles = {each.id: each.title for each in definitions()}
    known = catalog()
    return SitePage(
        "",
        "index.html.j2",
        {
            "title": "Results",
            "facets": facets.options,
            "counts": {
                "runs": len(runs),
                "datasets": len(datasets),
                "algorithms": len(algorithms),
                "results": sum(len(run.entries) for run in runs),
                "trials": sum(entry.done for run in runs for entry in run.entries),
            },
            "winners": [row for run in runs for row in _winners(run, facets)],
            "boards": [
                {
                    "protocol": show(protocol),
                    "measure": boards[0].quantity.title,
                    "folder": board_folder(protocol, measure),
                    "runs": [(show(board.run.name), anchor(board.run)) for board in boards],
                    "facets": facets.of(
                        [pair for board in boards for pair in _pairs(board.run)],
                        measures=[boards[0].quantity.title],
                    ),
                }
                for (protocol, measure), boards in boards.items()
            ],
            "algorithms": [
                {
                    "name": show(id),
                    "folder": algorithm_folder(id),
                    "title": show(titles.get(id, "")),
                    "results": len(pairs),
                    "datasets": len({entry.dataset for _, entry in pairs}),
                    "first": sum(run.place(entry) == 1 for run, entry in pairs),
                    "placed": sum(run.place(entry) is not None for run, entry in pairs),
                    "facets": facets.of(pairs),
                }
                for id, pairs in sorted(algorithms.items())
            ],
            "datasets": [
                {
                    "name": show(name),
                    "folder": dataset_folder(name),
                    "title": show(known[name].title) if name in known else "",
                    "size": _size(name, pairs),
                    "results": len(pairs),
                    "facets": facets.of(pairs),
                }
                for name, pairs in sorted(datasets.items())
            ],
            "runs": [{**_provenance(run), "facets": facets.of(_pairs(run))} for run in runs],
        },
    )


def _pairs(run: SiteRun) -> Pairs:
    return [(run, entry) for entry in run.entries]


def _size(name: str, pairs: Pairs) -> str:
    sizes = {(f.rows, f.features) for run, _ in pairs if (f := run.results.run.data.get(name)) is not None}
    return "; ".join(f"{rows:,} × {features:,}" for rows, features in sorted(sizes))


def _winners(run: SiteRun, facets: "_Facets") -> Iterator[dict[str, Any]]:
    quantity = run.headline
    for name in run.results.datasets:
        entries = run.results.contestants(name)
        ordered = [entry for entry in _by_place(run, entries) if run.place(entry) == 1]
        if not ordered:
            continue
        best = min(ordered, key=lambda entry: quantity.loss(entry.mean(quantity)))
        others = [show(entry.label) for entry in ordered if entry is not best]
        yield {
            "dataset": show(name),
            "folder": dataset_folder(name),
            "anchor": anchor(run),
            "run": show(run.name),
            "protocol": show(run.protocol),
            "paper": show(run.paper),
            "measure": quantity.title,
            "board": board_folder(run.protocol, quantity.name),
            "best": show(best.label),
            "best_folder": algorithm_folder(best.algorithm),
            "value": _cell(best, quantity),
            "ties": others,
            "ties_text": count(len(others), "other") if others else "",
            "of": len(entries),
            "facets": facets.of([(run, entry) for entry in run.results.of(name)]),
        }


class _Facets:
    def __init__(self, runs: Sequence[SiteRun]):
        found: dict[str, set[str]] = {facet: set() for facet in FACETS}
        for run in runs:
            for facet, values in self._values(_pairs(run), None).items():
                found[facet] |= values
        self.options = {facet: sorted(values) for facet, values in found.items()}
        self._numbers = {
            facet: {value: place for place, value in enumerate(values)}
            for facet, values in self.options.items()
        }

    @staticmethod
    def _values(pairs: Pairs, measures: Sequence[str] | None) -> dict[str, set[str]]:
        runs = _runs_of(pairs)
        own = {each.title for run in runs for each in run.measures} if measures is None else set(measures)
        return {
            "data set": {show(entry.dataset) for _, entry in pairs},
            "algorithm": {show(entry.algorithm) for _, entry in pairs},
            "paper": {show(run.paper) for run in runs if run.paper},
            "protocol": {show(run.protocol) for run in runs},
            "measure": own,
        }

    def of(self, pairs: Pairs, measures: Sequence[str] | None = None) -> str:
        values = self._values(pairs, measures)
        return "|".join(
            " ".join(map(str, sorted(self._numbers[facet][value] for value in values[facet])))
            for facet in FACETS
        )
