"""CHECKLIST.md: the machine-learning reproducibility checklist, answered from the record."""

from collections.abc import Iterable

from olbench.config.specs import AlgorithmSpec
from olbench.quantities import SECONDS
from olbench.report.grid import Box, Grid, boxes, count, left, list_settings, right, short
from olbench.report.model import Report
from olbench.report.renderers import Format
from olbench.report.renderers.md import render as markdown
from olbench.report.sections.datasets import parts as dataset_parts
from olbench.report.sections.provenance import config_yaml, machine_text
from olbench.report.sections.results import settings
from olbench.trials.run_file import RunFile

SEARCHES = {
    "grid": "the full product of the grids, on {orders}",
    "coordinate": "one parameter at a time, the others at their best so far, on {orders}",
    "holdout": "the full product of the grids on a random half of the rows; reported on the other half",
    "none": "none: every parameter is fixed by the config or its default",
}

SEEDS = (
    "Seed {}. A random order depends on the seed, the name of the data set, the stream (report, tune or "
    "split) and its number only."
)


def render(report: Report) -> str:
    """Return the answers; every number comes from the record of the run."""
    answers = {**_about_data(report), **_about_parameters(report), **_about_runs(report)}
    items = [f"## {question}\n\n{answer.strip()}\n" for question, answer in answers.items()]
    return "\n".join(["# Reproducibility checklist", "", *items])


def _about_data(report: Report) -> dict[str, str]:
    run, protocol = report.results.run, report.protocol
    end = run.end or "now: the run is not finished"
    drawn = [entry.recorded_setting for entry in report.results.entries if entry.done]
    return {
        "What was run": f"`{report.results.name}`, from {run.start} to {end}.",
        "Statistics of the data": markdown(dataset_parts(report)),
        "Splits and orders": protocol.describe_orders(run.config, drawn) or "Not described.",
        "Seeds": SEEDS.format(run.config.seed),
    }


def _about_parameters(report: Report) -> dict[str, str]:
    config, protocol = report.results.config, report.protocol
    tuning = config.tuning
    orders = count(protocol.tuning_repeats(config), "tuning order")
    rule = SEARCHES.get(tuning.search, tuning.search).format(orders=orders)
    best = (
        f"Score: {protocol.score.title}, {protocol.score.best} wins; ties go to the {tuning.ties} candidate."
    )
    return {
        "Ranges of the parameters": markdown([_grids(config.algorithms)]),
        "How parameters were chosen": f"Search: {rule}.{'' if tuning.search == 'none' else f' {best}'}",
        "What was chosen": markdown([_choices(report)]),
    }


def _about_runs(report: Report) -> dict[str, str]:
    run = report.results.run
    packages = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    return {
        "Number of runs": _count_runs(report),
        "Measures": report.protocol.describe_measures(report.results.config) or "Not described.",
        "Time": _describe_time(report),
        "Hardware": f"{machine_text(run)}.",
        "Software": packages + _commit(run),
        "What is missing": "\n".join(f"- {line}" for line in report.results.missing) or "Nothing.",
        "How to run it again": "Save as `again.yaml`, then `olbench run again.yaml`:\n\n"
        f"```yaml\n{config_yaml(report)}```",
    }


def _grids(specs: Iterable[AlgorithmSpec]) -> Grid:
    rows = tuple(map(_describe_search, specs))
    return Grid("Algorithms", left("algorithm", "searched", "fixed", "options"), rows)


def _describe_search(spec: AlgorithmSpec) -> tuple[Box, ...]:
    grid = (f"{name}: {', '.join(map(short, values))}" for name, values in spec.grid.items())
    options = (f"{name} {short(value)}" for name, value in spec.options.items())
    return boxes(spec.id, "; ".join(grid), list_settings(spec.params), ", ".join(options))


def _choices(report: Report) -> Grid:
    rows = tuple(boxes(entry.dataset, entry.label, settings(entry)) for entry in report.results.entries)
    return Grid("Parameters", left("data set", "algorithm", "parameters"), rows)


def _count_runs(report: Report) -> str:
    tuned = sum(cell.tuning_passes for cell in report.results.run.cells)
    trials = sum(entry.done for entry in report.results.entries)
    return f"{count(trials, 'reported trial')} and {count(tuned, 'tuning trial')}."


def _describe_time(report: Report) -> str:
    if SECONDS not in report.protocol.quantities:
        return "Not measured."
    entries = report.results.entries
    kind = "measured alone" if all(entry.exclusive for entry in entries) else "measured while others ran"
    seconds = dict.fromkeys(report.results.datasets, 0.0)
    for entry in entries:
        seconds[entry.dataset] += float(entry.values(SECONDS).sum())
    rows = tuple(boxes(dataset, f"{taken:,.2f}") for dataset, taken in seconds.items())
    table = Grid("Seconds of the reported trials", (*left("data set"), *right("seconds")), rows)
    return f"{sum(seconds.values()):,.1f} s in the reported trials, {kind}.\n\n{markdown([table])}"


def _commit(run: RunFile) -> str:
    if not run.commit:
        return "."
    return f"; olbench at commit {run.commit}{', with uncommitted changes' if run.dirty else ''}."


FORMAT = Format(
    "CHECKLIST.md",
    "the reproducibility checklist",
    lambda document, screen: render(document.subject),
    single=True,
)
