"""A Report with the agreed fields, computed the short way: what the page is tested with."""

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace as Plain
from typing import Any

import numpy as np
from scipy import stats

from olbench.papers import load_paper
from olbench.report.frame import Entry, Results, load_results


@dataclass(frozen=True)
class Report:
    results: Results
    paper: Any
    rows: list[Any]
    judgements: list[Any]
    claims: list[Any]
    taus: dict[str, float]
    within: dict[str, tuple[str, list[Any]]]
    across: Any
    made: str


def make_report(folder: Path, made: str = "2026-01-02T03:04:05+00:00") -> Report:
    results = load_results(folder)
    paper = load_paper(results.paper) if results.paper else None
    judgements = _judge(results, paper)
    return Report(
        results=results,
        paper=paper,
        rows=[_row(entry, judgements) for entry in results.entries if entry.done],
        judgements=judgements,
        claims=_claims() if paper else [],
        taus=dict.fromkeys(results.datasets, 0.6) if paper else {},
        within={name: _within(results.of(name)) for name in results.datasets if results.of(name)},
        across=_across(results),
        made=made,
    )


def _row(entry: Entry, judgements: list[Any]) -> Any:
    mine = [each for each in judgements if (each.dataset, each.label) == (entry.dataset, entry.label)]
    return Plain(
        entry=entry,
        mistake_rate=entry.spread("mistake_rate"),
        updates=entry.spread("updates"),
        seconds=entry.spread("seconds"),
        bold=entry.label.startswith("scw"),
        judgements={each.quantity: each for each in mine},
        timing="exclusive" if entry.exclusive else "shared",
    )


def _judge(results: Results, paper: Any) -> list[Any]:
    pairs = [
        (cell, quantity)
        for cell in (paper.cells if paper else [])
        for quantity in ("mistake_rate", "updates")
    ]
    return [_judgement(results, cell, quantity) for cell, quantity in pairs]


def _judgement(results: Results, cell: Any, quantity: str) -> Any:
    found = [entry for entry in results.of(cell.dataset) if entry.algorithm == cell.algorithm]
    reported = getattr(cell, quantity)
    judgement = Plain(
        dataset=cell.dataset, label=cell.algorithm, algorithm=cell.algorithm, quantity=quantity,
        where=cell.where, reported=reported, mean=None, deviation=None, difference=None, z=None,
        verdict="not comparable", reason="not run",
    )  # fmt: skip
    if found:
        mean, deviation = found[0].spread(quantity)
        difference = mean - reported.mean
        z = difference / max(reported.deviation, deviation, reported.half_unit)
        verdict = "reproduced" if abs(z) <= 2.5 else "close" if abs(z) <= 4.5 else "differs"
        judgement.__dict__.update(
            mean=mean, deviation=deviation, difference=difference, z=z, verdict=verdict, reason=""
        )
    return judgement


def _claims() -> list[Any]:
    texts = {
        "holds": "SCW-I makes fewer updates than AROW on every data set.",
        "holds partly": "Second-order algorithms make fewer mistakes than first-order ones.",
        "not checked": "SCW-I has the lowest or joint lowest mistake rate on most data sets.",
    }
    return [
        Plain(
            own_verdict="holds",
            own_table="usps 386 < 1449",
            id=verdict,
            text=text,
            where="section 5.3",
            verdict=verdict,
            evidence="splice 541 < 742; usps 386 < 1449",
        )
        for verdict, text in texts.items()
    ]


def _within(entries: list[Entry]) -> tuple[str, list[Any]]:
    best = min(entries, key=lambda entry: entry.rates.mean())
    return best.label, [_difference(entry, best) for entry in entries if entry is not best]


def _difference(entry: Entry, best: Entry) -> Any:
    size = min(entry.done, best.done)
    gap = entry.rates[:size] - best.rates[:size]
    reach = 2 * float(gap.std()) / size**0.5
    mean = float(gap.mean())
    return Plain(
        label=entry.label, mean=mean, low=mean - reach, high=mean + reach, wins=int((gap < 0).sum()),
        ties=int((gap == 0).sum()), losses=int((gap > 0).sum()), p=0.0312,
    )  # fmt: skip


def _across(results: Results) -> Any:
    labels = results.labels
    complete = [name for name in results.datasets if len(results.of(name)) == len(labels)]
    rates = np.array([[entry.rates.mean() for entry in results.of(name)] for name in complete])
    if len(rates) < 3:
        return "The data sets are too few for a test across them: 3 are needed."
    ranks = dict(zip(labels, stats.rankdata(rates, axis=1).mean(axis=0).tolist(), strict=True))
    critical = 0.7 * len(labels) ** 0.5
    ordered = sorted(labels, key=ranks.__getitem__)
    groups = [tuple(x for x in ordered if 0 <= ranks[x] - ranks[start] < critical) for start in ordered]
    maximal = [group for group in groups if not any(set(group) < set(other) for other in groups)]
    pairs = [
        Plain(first=a, second=b, p=0.01, adjusted=0.2, significant=b == "scw1")
        for a, b in combinations(labels, 2)
    ]
    return Plain(
        datasets=tuple(results.datasets), labels=tuple(labels), ranks=ranks, statistic=41.2, p=1e-5,
        iman_davenport=4.5, iman_davenport_p=0.02,
        critical_difference=critical, pairs=tuple(pairs), groups=tuple(maximal),
        power=f"With {len(rates)} data sets a difference below {critical:.1f} ranks cannot be seen.",
    )  # fmt: skip
