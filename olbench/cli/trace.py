"""olbench trace: what a learner sees and does, round by round."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olbench.cli.flags import OUTPUT, format_flag, own_data, read_settings
from olbench.cli.output import deliver, screen_size
from olbench.errors import UserError, count

if TYPE_CHECKING:
    from olbench.learners.tracing import Trace, TracedRound

COLUMNS = {
    "first": {"m": "margin", "|x|²": "squared_norm", "loss": "loss", "shrink": "shrink", "tau": "tau"},
    "second": {"m": "margin", "v": "variance", "loss": "loss", "alpha": "alpha", "beta": "beta"},
}
#: Rounds by default: as many as fit a terminal.
FEW = 10


@click.command("trace")
@click.argument("data", metavar="DATA")
@click.option("--algorithm", "id", required=True, metavar="ID", help="The learner.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the algorithm.")
@click.option(
    "--plugin", "plugins", multiple=True, type=click.Path(), help="Python file with more algorithms."
)
@click.option("--rounds", type=click.IntRange(1), default=FEW, show_default=True, help="Rounds to show.")
@click.option(
    "--skip", type=click.IntRange(0), default=0, metavar="N", help="Run N rounds before the first one shown."
)
@click.option(
    "--permutation", type=click.IntRange(0), metavar="P",
    help="Take the rows in the order of permutation P of a run [default: as they come].",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(0), help="The seed of that run [default: 0].")
@own_data
@format_flag("text", "csv", "json")
@OUTPUT
def command(
    data: str, id: str, settings: tuple[str, ...], plugins: tuple[str, ...], rounds: int, skip: int,
    permutation: int | None, seed: int | None, positive: tuple[str, ...], form: str, output: Path | None,
    **reading: Any,
) -> None:  # fmt: skip
    """Show what a learner sees and does in the first rounds of a pass over DATA, one row per round.

    DATA is a name of the catalogue or your own file. m is the margin y w.x before the step and v its variance
    x' Sigma x. A second-order step is mu += alpha y Sigma x and Sigma^-1 += c x x', which is
    Sigma -= beta Sigma x x' Sigma; a first-order one is w = shrink w + tau y x. All numbers come from the
    compiled code that runs the experiments. olbench.trace in Python also returns the weights and Sigma.

    \b
    Examples:
      olbench trace breast-cancer --algorithm scw1
      olbench trace breast-cancer --algorithm scw1 --set C=0.5,eta=0.9 --rounds 20
      olbench trace breast-cancer --algorithm pa1 --permutation 0 --skip 100
      olbench trace my.csv --algorithm arow --set covariance=diag --label class
      olbench trace breast-cancer --algorithm cw --format csv --output cw.csv
    """
    from olbench.algorithms import load_plugin
    from olbench.data.load import load_dataset
    from olbench.learners.tracing import trace
    from olbench.records.seeds import ALL, order

    if seed is not None and permutation is None:
        raise UserError("--seed belongs to a permutation; say which with --permutation")
    for path in plugins:
        load_plugin(path)
    given = {key: value for key, value in reading.items() if value is not None}
    found = load_dataset(data, list(positive) or None, **given)
    rows = None
    if permutation is not None:
        rows = order(seed or 0, found.name, "report", permutation, ALL, found.y.size)
    traced = trace(
        id, found.X, found.y, rows, rounds=rounds, skip=skip, states=False, **read_settings(settings)
    )
    if not len(traced):
        raise UserError(f"{data} has {count(found.y.size, 'row')}; there is no round after --skip {skip}")
    deliver(render(traced, found.name, form, output), output, "trace")


def render(traced: "Trace", dataset: str, form: str, output: Path | None) -> str:
    if form == "csv":
        text: str = traced.to_frame().to_csv(index=False, lineterminator="\n")
        return text
    if form == "json":
        import json

        from olbench.report.renderers.json import make_finite

        rounds = make_finite(traced.to_frame().to_dict("records"))
        algorithm = traced.algorithm
        about = {"dataset": dataset, "algorithm": algorithm.id, "params": dict(algorithm.params)}
        return f"{json.dumps({**about, 'rounds': rounds}, indent=1)}\n"
    from olbench.report.renderers import text as renderer

    return renderer.render(make_table(traced, dataset), 80 if output else screen_size()[0], False)


def make_table(traced: "Trace", dataset: str) -> tuple[Any, ...]:
    from olbench.report.grid import Grid, boxes, compact, count, left, list_settings, right

    columns = COLUMNS[traced.algorithm.definition.order]
    rows = [
        boxes(
            f"{each.t:,}", str(each.row), f"{each.label:+d}", f"{each.prediction:+d}",
            *(compact(getattr(each, field)) for field in columns.values()), _describe(each),
        )
        for each in traced
    ]  # fmt: skip
    settings = list_settings(traced.algorithm.params)
    title = f"{traced.algorithm.definition.title}{f' ({settings})' if settings else ''} on {dataset}"
    headings = (*right("t", "row", "y", "ŷ", *columns), *left(""))
    counts = f"{count(traced.mistakes, 'mistake')} and {count(traced.updates, 'update')}"
    return Grid(title, headings, rows), f"{count(len(traced), 'round')}: {counts}."


def _describe(each: "TracedRound") -> str:
    events = {"breakdown": each.breakdown, "mistake": each.mistake, "update": each.updated}
    return next((name for name, happened in events.items() if happened), "")
