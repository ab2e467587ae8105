"""What the HTML page shows, as plain values that JSON can hold: every number once, no markup."""

import math
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import yaml

from olbench.papers import Paper, Reported
from olbench.report import verdicts
from olbench.report.build import Report, Row
from olbench.report.frame import Entry, Results
from olbench.report.page.diagram import critical_difference
from olbench.report.page.style import line_styles
from olbench.report.tables import TRAITS, settings
from olbench.report.verdicts import Judgement
from olbench.stats import Across

Plain = dict[str, Any]
QUANTITIES = {"mistake_rate": "Mistake rate", "updates": "Updates"}
#: The verdicts from good to bad, the letter that carries them beside the colour, and what they mean.
VERDICTS = (
    (
        verdicts.REPRODUCED,
        "R",
        "within 2 deviations, the larger of the paper's and ours, and the rounding of print",
    ),
    (verdicts.CLOSE, "C", "within 4 deviations"),
    (verdicts.DIFFERS, "D", "further away than that"),
    (verdicts.NOT_COMPARABLE, "\N{EN DASH}", "nothing of ours stands beside it, or data or protocol differ"),
)
#: Enough digits for a screen: a curve is some 1000 pixels wide.
DIGITS = 4


def payload(report: Report) -> Plain:
    """Return all that the page shows of a Report."""
    shown: Plain = _plain(_shown(report))
    return shown


def _shown(report: Report) -> Plain:
    results = report.results
    return {
        "name": results.name,
        "made": report.made,
        "paper": _paper(report.paper),
        "verdicts": [dict(zip(("name", "letter", "meaning"), each, strict=True)) for each in VERDICTS],
        "counts": [_counts(report.judgements, quantity) for quantity in QUANTITIES],
        "maps": [_verdict_map(report, quantity) for quantity in QUANTITIES] if report.judgements else [],
        "claims": [vars(claim) for claim in report.claims],
        "rows": [_row(row, report) for row in report.rows],
        "timing": _timing(results),
        "curves": _curves(results),
        "styles": line_styles(results.labels),
        "within": _within(report),
        "across": _across(report.across),
        "traits": _traits(results.entries),
        "data": _data(results, report.paper),
        "missing": results.missing,
        "provenance": _provenance(results.info),
        "config": _yaml(results.info["config"]),
        "commands": _commands(results),
    }


def _plain(value: Any) -> Any:
    """Return the value as JSON has it: lists for tuples, and nothing for what is not a number."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _yaml(config: Mapping[str, Any]) -> str:
    """Return the config as a file that `olbench run` reads, short lists on one line."""
    return yaml.safe_dump(
        dict(config), sort_keys=False, allow_unicode=True, default_flow_style=None, width=100
    )


def _commands(results: Results) -> list[str]:
    """Return what makes this page again; that times were taken alone is not in the config."""
    name = results.name
    config, folder, page = (shlex.quote(each) for each in (f"{name}.yaml", f"results/{name}", f"{name}.html"))
    run = f"olbench run {config} --out {folder}"
    return [
        run,
        *([f"{run} --timing exclusive"] if _timing(results) == "exclusive" else []),
        f"olbench report {folder} --format html --output {page}",
    ]


def _paper(paper: Paper | None) -> Plain | None:
    return {"id": paper.id, "title": paper.title, "citation": paper.citation} if paper else None


def _counts(judgements: Iterable[Judgement], quantity: str) -> Plain:
    found = [judgement.verdict for judgement in judgements if judgement.quantity == quantity]
    return {
        "quantity": quantity,
        "title": QUANTITIES[quantity],
        "total": len(found),
        "verdicts": {name: found.count(name) for name, *_ in VERDICTS},
    }


def _verdict_map(report: Report, quantity: str) -> Plain:
    """Return a row a data set and a column an algorithm, as far as the paper reports them.

    An algorithm that the config has more than once has a label for each, and still one column.
    """
    judged = {(each.dataset, each.algorithm): each for each in report.judgements if each.quantity == quantity}
    algorithms = list(dict.fromkeys(algorithm for _, algorithm in judged))
    return {
        "quantity": quantity,
        "title": QUANTITIES[quantity],
        "algorithms": algorithms,
        "rows": [
            {
                "dataset": dataset,
                "tau": report.taus.get(dataset) if quantity == "mistake_rate" else None,
                "cells": [_judgement(judged.get((dataset, algorithm))) for algorithm in algorithms],
            }
            for dataset in dict.fromkeys(dataset for dataset, _ in judged)
        ],
    }


def _judgement(judgement: Judgement | None) -> Plain | None:
    if judgement is None:
        return None
    return vars(judgement) | {"reported": _reported(judgement.reported)}


def _reported(reported: Reported) -> Plain:
    digits = max(0, round(-np.log10(2 * reported.half_unit)))
    return {"mean": reported.mean, "deviation": reported.deviation, "digits": digits}


def _row(row: Row, report: Report) -> Plain:
    entry = row.entry
    return {
        "dataset": entry.dataset,
        "label": entry.label,
        "params": settings(entry),
        "done": entry.done,
        "planned": entry.planned,
        "mistake_rate": row.mistake_rate,
        "updates": row.updates,
        "seconds": row.seconds,
        "timing": row.timing,
        "bold": row.bold,
        "judgements": {name: _judgement(row.judgements.get(name)) for name in QUANTITIES},
        # A ratio of times says how machines differ; it is shown and never judged.
        "time_ratio": report.time_ratios.get((entry.dataset, entry.label)),
    }


def _timing(results: Results) -> str:
    """Return how the times were taken: exclusive, shared, or mixed."""
    kinds = {entry.exclusive for entry in results.entries if entry.done}
    return "mixed" if len(kinds) > 1 else "exclusive" if kinds == {True} else "shared"


def _curves(results: Results) -> Plain:
    return {dataset: _curves_of(results.of(dataset)) for dataset in results.datasets if results.of(dataset)}


def _curves_of(entries: list[Entry]) -> Plain:
    """Return the points that the algorithms share, and per algorithm mean and deviation at each of them."""
    shared = entries[0].points
    return {
        "t": shared.tolist(),
        "shared_time": not all(entry.exclusive for entry in entries),
        "algorithms": {
            entry.label: {name: _band(values) for name, values in entry.curves.items()}
            | ({} if np.array_equal(entry.points, shared) else {"t": entry.points.tolist()})
            for entry in entries
        },
    }


def _band(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[list[float]]:
    deviation = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    return [[_rounded(value) for value in line] for line in (values.mean(axis=0), deviation)]


def _rounded(value: float) -> float:
    """Return the number with DIGITS digits, as an integer where it is one: both are short in JSON."""
    number = float(f"{value:.{DIGITS}g}")
    return int(number) if number.is_integer() else number


def _within(report: Report) -> list[Plain]:
    return [
        {
            "dataset": dataset,
            "best": best,
            "differences": [vars(each) for each in differences],
            "reach": max(
                (abs(end) for each in differences for end in _finite(each.low, each.high, each.mean)),
                default=0.0,
            ),
        }
        for dataset, (best, differences) in report.within.items()
    ]


def _finite(*values: float) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def _across(across: Across | str) -> Plain:
    if isinstance(across, str):
        return {"note": across}
    pairs = [vars(pair) for pair in across.pairs]
    return {
        "note": "",
        "datasets": list(across.datasets),
        "ranks": sorted(across.ranks.items(), key=lambda item: item[1]),
        "statistic": across.statistic,
        "p": across.p,
        "iman_davenport": across.iman_davenport,
        "iman_davenport_p": across.iman_davenport_p,
        "critical_difference": across.critical_difference,
        "power": across.power,
        "pairs": pairs,
        "significant": sum(pair["significant"] for pair in pairs),
        "diagram": critical_difference(across.ranks, across.groups, across.critical_difference),
    }


def _traits(entries: Iterable[Entry]) -> Plain:
    """Return Table 1 for the algorithms of the run; one that comes from a file unknown here has no traits."""
    from olbench.algorithms import definitions

    known = {definition.id: definition for definition in definitions()}
    rows = []
    for algorithm in dict.fromkeys(entry.algorithm for entry in entries):
        definition = known.get(algorithm)
        traits = definition.traits if definition else None
        rows.append(
            {
                "id": algorithm,
                "title": definition.title if definition else algorithm,
                "order": definition.order if definition else "",
                "has": [getattr(traits, name) for name in TRAITS] if traits else None,
            }
        )
    return {"columns": list(TRAITS.values()), "rows": rows}


def _data(results: Results, paper: Paper | None) -> list[Plain]:
    shapes: Mapping[str, Mapping[str, int]] = paper.shapes if paper else {}
    facts = results.info.get("data", {})
    unknown = dict.fromkeys(("rows", "features", "fingerprint"))
    return [
        {"name": name, **unknown, **facts.get(name, {}), "reported": dict(shapes.get(name, {}))}
        for name in results.datasets
    ]


def _provenance(info: Mapping[str, Any]) -> list[tuple[str, str]]:
    machine, seeds = info.get("machine", {}), info.get("seeds", {})
    facts = {
        "Commit": f"{info.get('commit') or 'unknown'}{', with local changes' if info.get('dirty') else ''}",
        "Started": info.get("start"),
        "Ended": info.get("end") or "not finished",
        "Processor": f"{machine.get('processor', 'unknown')}, {machine.get('cores', '?')} cores",
        "System": machine.get("system"),
        "Seed": f"{seeds.get('seed')}, streams {', '.join(seeds.get('streams', []))}",
        "Versions": ", ".join(f"{name} {version}" for name, version in info.get("versions", {}).items()),
    }
    return [(name, str(value)) for name, value in facts.items() if value]
