"""CHECKLIST.md: the machine-learning reproducibility checklist, answered from the record."""

from olbench.config.specs import AlgorithmSpec
from olbench.quantities import SECONDS
from olbench.report.grid import Box, Grid, boxes, count, left, list_settings, right, short
from olbench.report.model import Report
from olbench.report.renderers import Format
from olbench.report.renderers.md import render as markdown
from olbench.report.sections.datasets import parts as dataset_parts
from olbench.report.sections.provenance import config_yaml, machine_text
from olbench.report.sections.results import settings

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
    run = report.results.run
    end = run.end or "now: the run is not finished"
    drawn = [entry.recorded_setting for entry in report.results.entries if entry.done]
    return {
        "What was run": f"`{report.results.name}`, from {run.start} to {end}.",
        "Statistics of the data": markdown(dataset_parts(report)),
        "Splits and orders": report.protocol.describe_orders(run.config, drawn) or "Not described.",
        "Seeds": SEEDS.format(run.config.seed),
    }


def _about_parameters(report: Report) -> dict[str, str]:
    config, protocol = report.results.config, report.protocol
    tuning = config.tuning
    orders = count(protocol.tuning_repeats(config), "tuning order")
    rule = SEARCHES.get(tuning.search, tuning.search).format(orders=orders)
    score = protocol.score
    best = f" Score: {score.title}, {score.best} wins; ties go to the {tuning.ties} candidate."
    headings = left("algorithm", "searched", "fixed", "options")
    grids = Grid("Algorithms", headings, [_describe_search(spec) for spec in config.algorithms])
    chosen = [boxes(entry.dataset, entry.label, settings(entry)) for entry in report.results.entries]
    choices = Grid("Parameters", left("data set", "algorithm", "parameters"), chosen)
    return {
        "Ranges of the parameters": markdown([grids]),
        "How parameters were chosen": f"Search: {rule}.{'' if tuning.search == 'none' else best}",
        "What was chosen": markdown([choices]),
    }


def _describe_search(spec: AlgorithmSpec) -> tuple[Box, ...]:
    grid = (f"{name}: {', '.join(map(short, values))}" for name, values in spec.grid.items())
    options = (f"{name} {short(value)}" for name, value in spec.options.items())
    return boxes(spec.id, "; ".join(grid), list_settings(spec.params), ", ".join(options))


def _about_runs(report: Report) -> dict[str, str]:
    run = report.results.run
    tuned = sum(cell.tuning_passes for cell in run.cells)
    trials = sum(entry.done for entry in report.results.entries)
    packages = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    changes = ", with uncommitted changes" if run.dirty else ""
    return {
        "Number of runs": f"{count(trials, 'reported trial')} and {count(tuned, 'tuning trial')}.",
        "Measures": report.protocol.describe_measures(report.results.config) or "Not described.",
        "Time": _describe_time(report),
        "Hardware": f"{machine_text(run)}.",
        "Software": packages + (f"; olbench at commit {run.commit}{changes}." if run.commit else "."),
        "What is missing": "\n".join(f"- {line}" for line in report.results.missing) or "Nothing.",
        "How to run it again": "Save as `again.yaml`, then `olbench run again.yaml`:\n\n"
        f"```yaml\n{config_yaml(report)}```",
    }


def _describe_time(report: Report) -> str:
    if SECONDS not in report.protocol.quantities:
        return "Not measured."
    entries = report.results.entries
    kind = "measured alone" if all(entry.exclusive for entry in entries) else "measured while others ran"
    seconds = dict.fromkeys(report.results.datasets, 0.0)
    for entry in entries:
        seconds[entry.dataset] += float(entry.values(SECONDS).sum())
    rows = [boxes(dataset, f"{taken:,.2f}") for dataset, taken in seconds.items()]
    table = Grid("Seconds of the reported trials", (*left("data set"), *right("seconds")), rows)
    return f"{sum(seconds.values()):,.1f} s in the reported trials, {kind}.\n\n{markdown([table])}"


FORMAT = Format(
    "CHECKLIST.md", "the reproducibility checklist", lambda document, _: render(document.subject), single=True
)
