"""CHECKLIST.md: the questions of the machine-learning reproducibility checklist, answered by the record."""

import json
from typing import Any

import yaml

from olbench.config import OPTIONS
from olbench.report.build import Report
from olbench.report.grid import Cell, Grid, cells, left, right
from olbench.report.markdown import render as markdown
from olbench.report.tables import settings, short, table2

SEARCHES = {
    "grid": "the full product of the grids, on {p} tuning order(s)",
    "coordinate": "one parameter after the other, each at its best so far, on {p} tuning order(s)",
    "holdout": "the full product of the grids on a random half of the rows; reported on the other half",
    "none": "none: every parameter is fixed by the config or its default",
}


MEASURES = (
    "Mistake rate: the share of rounds in which the sign of the margin before the update is wrong. Updates: "
    "rounds with a loss above zero. Mean and sample standard deviation (n - 1) over the permutations."
)
ORDERS = (
    "{} random permutations a data set, the same for every algorithm; there is no test set: each example is "
    "predicted before it is learned from. The orders that tune are others."
)
SEEDS = (
    "Seed {}. An order depends on the seed, the name of the data set, the stream (report, tune or split) and "
    "its number, on nothing else."
)


def render(report: Report) -> str:
    """Return the answers; every number in it comes from the record of the run."""
    answers = {**_about_data(report), **_about_parameters(report), **_about_runs(report)}
    items = [f"## {question}\n\n{answer.strip()}\n" for question, answer in answers.items()]
    return "\n".join(["# Reproducibility checklist", "", *items])


def _about_data(report: Report) -> dict[str, str]:
    info = report.results.info
    end = info.get("end") or "now: the run is not finished"
    return {
        "What was run": f"`{report.results.name}`, from {info.get('start')} to {end}.",
        "Statistics of the data": markdown([table2(report)]),
        "Splits and orders": ORDERS.format(info["config"].get("permutations", 20)),
        "Seeds": SEEDS.format(info.get("seeds", {}).get("seed")),
    }


def _about_parameters(report: Report) -> dict[str, str]:
    config = report.results.info["config"]
    tuning = config.get("tuning", {"search": "none"})
    rule = SEARCHES[tuning["search"]].format(p=tuning.get("permutations", 1))
    ties = tuning.get("ties", "last")
    chosen = "" if tuning["search"] == "none" else f" The fewest mistakes; of equals the {ties} tried."
    return {
        "Ranges of the parameters": markdown([_grids(config)]),
        "How parameters were chosen": f"Search: {rule}.{chosen}",
        "What was chosen": markdown([_chosen(report)]),
    }


def _about_runs(report: Report) -> dict[str, str]:
    info = report.results.info
    machine = info.get("machine", {})
    packages = ", ".join(f"{name} {version}" for name, version in info.get("versions", {}).items())
    return {
        "Number of runs": _runs(report),
        "Measures": MEASURES,
        "Time": _time(report),
        "Hardware": f"{machine.get('processor')}, {machine.get('cores')} cores, {machine.get('system')}.",
        "Software": packages + _commit(info),
        "What is missing": "\n".join(f"- {line}" for line in report.results.missing) or "Nothing.",
        "How to run it again": _again(info["config"]),
    }


def _grids(config: dict[str, Any]) -> Grid:
    rows = tuple(map(_searched, config["algorithms"]))
    return Grid("Algorithms", left("algorithm", "searched", "fixed", "options"), rows)


def _searched(spec: dict[str, Any]) -> tuple[Cell, ...]:
    grid = (f"{name}: {', '.join(map(short, values))}" for name, values in spec.get("grid", {}).items())
    fixed = (f"{name}={short(value)}" for name, value in spec.get("params", {}).items())
    options = (f"{key} {short(spec[key])}" for key in OPTIONS if key in spec)
    return cells(spec["id"], "; ".join(grid), ", ".join(fixed), ", ".join(options))


def _chosen(report: Report) -> Grid:
    rows = tuple(cells(entry.dataset, entry.label, settings(entry)) for entry in report.results.entries)
    return Grid("Parameters", left("data set", "algorithm", "parameters"), rows)


def _runs(report: Report) -> str:
    tuned = sum(cell["tuning_passes"] for cell in report.results.info["cells"])
    passes = sum(entry.done for entry in report.results.entries)
    return f"{passes:,} reported passes and {tuned:,} passes of tuning."


def _time(report: Report) -> str:
    entries = report.results.entries
    kind = "measured alone" if all(entry.exclusive for entry in entries) else "taken while others ran"
    seconds = dict.fromkeys(report.results.datasets, 0.0)
    for entry in entries:
        seconds[entry.dataset] += float(entry.values("seconds").sum())
    rows = tuple(cells(dataset, f"{taken:,.2f}") for dataset, taken in seconds.items())
    table = Grid("Seconds of the reported passes", (*left("data set"), *right("seconds")), rows)
    return f"{sum(seconds.values()):,.1f} s in the reported passes, {kind}.\n\n{markdown([table])}"


def _commit(info: Any) -> str:
    if not info.get("commit"):
        return "."
    return f"; olbench at commit {info['commit']}{', with uncommitted changes' if info['dirty'] else ''}."


def _again(config: dict[str, Any]) -> str:
    text = yaml.safe_dump(json.loads(json.dumps(config)), sort_keys=False, default_flow_style=None, width=100)
    return f"Save as `again.yaml`, then `olbench run again.yaml`:\n\n```yaml\n{text}```"
