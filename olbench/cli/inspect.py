"""olbench trace and conform: what a learner does in each round, and whether it is the paper's algorithm."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olbench.cli.flags import (
    COUNT,
    NUMBER,
    OUTPUT,
    SETTINGS,
    format_flag,
    own_data,
    plugin_flag,
    read_pairs,
    read_settings,
)
from olbench.cli.output import deliver, render, render_parts
from olbench.errors import UserError, count

if TYPE_CHECKING:
    from olbench.conformance.subjects import Subject
    from olbench.conformance.verdict import Conformance
    from olbench.learners.tracing import Trace
    from olbench.report.document import Document
    from olbench.report.table import Table

COLUMNS = {
    "first": {"m": "margin", "|x|²": "squared_norm", "loss": "loss", "shrink": "shrink", "tau": "tau"},
    "compiled": {"m": "margin", "|x|²": "squared_norm"},
    "second": {"m": "margin", "v": "variance", "loss": "loss", "alpha": "alpha", "beta": "beta"},
}


@click.command("trace")
@click.argument("data", metavar="DATA")
@click.option("--algorithm", "id", required=True, metavar="ID", help="The algorithm.")
@SETTINGS
@plugin_flag("Python file with more algorithms.")
@click.option("--rounds", metavar="N", type=COUNT, default=10, show_default=True, help="Rounds to show.")
@click.option("--skip", metavar="N", type=NUMBER, default=0, help="Run N rounds before the first one shown.")
@click.option("--permutation", metavar="N", type=NUMBER, help="Order the rows as in permutation N of a run.")
@click.option("--seed", metavar="N", type=NUMBER, help="The seed of that run, by default 0.")
@own_data
@format_flag("text", "csv", "json")
@OUTPUT
def trace(
    data: str, id: str, settings: tuple[str, ...], plugins: tuple[str, ...], rounds: int, skip: int,
    permutation: int | None, seed: int | None, positive: tuple[str, ...], form: str, output: Path | None,
    **reading: Any,
) -> None:  # fmt: skip
    """Show what a learner sees and does in the first rounds of a pass over DATA, one row per round.

    DATA is a name from `olbench data list` or your own file. m is the margin y w.x before the step and v its
    variance x' Sigma x. A second-order step is mu += alpha y Sigma x and Sigma -= beta Sigma x x' Sigma; a
    first-order one is w = shrink w + tau y x. All numbers come from the compiled code that runs the
    experiments. In Python, olbench.trace also returns the weights and Sigma.

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
        raise UserError("--seed belongs to a permutation; give its number with --permutation")
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
    deliver(render(trace_document(traced, found.name), form, output), output, "trace")


def trace_document(traced: "Trace", dataset: str) -> "Document":
    from olbench.report.document import Document

    def records() -> list[dict[str, Any]]:
        frame: Any = traced.to_frame()
        return list(frame.to_dict("records"))

    about = {"dataset": dataset, "algorithm": traced.algorithm.id, "params": dict(traced.algorithm.params)}
    counts = f"{count(traced.mistakes, 'mistake')} and {count(traced.updates, 'update')}"
    return Document(
        dataset,
        parts=lambda: [trace_table(traced, dataset), f"{count(len(traced), 'round')}: {counts}."],
        sections=list,
        content=lambda: {**about, "rounds": records()},
        records=records,
    )


def trace_table(traced: "Trace", dataset: str) -> "Table":
    from olbench.report import table as t
    from olbench.report.table import Column, Format, Table, columns

    definition = traced.algorithm.definition
    shown, rows = COLUMNS[definition.order], []
    for each in traced:
        event = "breakdown" if each.breakdown else "mistake" if each.mistake else "update" * each.updated
        numbers = (getattr(each, field) for field in shown.values())
        rows.append((each.t, each.row, each.label, each.prediction, *numbers, event))
    settings = t.show_settings(traced.algorithm.params)
    headings = (
        *columns("t", "row", format=t.COUNT),
        *columns("y", "ŷ", format=Format(lambda sign: f"{sign:+d}")),
        *columns(*shown, format=Format(t.compact)),
        Column(""),
    )
    return Table(f"{definition.title}{f' ({settings})' if settings else ''} on {dataset}", headings, rows)


@click.command("conform")
@click.argument("spec", metavar="MODULE:OBJECT", required=False)
@click.option("--as", "id", metavar="ID", help="The algorithm it should be.")
@SETTINGS
@click.option(
    "--map",
    "renamed",
    multiple=True,
    metavar="OURS=THEIRS",
    help="The subject's name of a parameter: C=c, or r=1/gamma if it is the inverse.",
)
@click.option(
    "--expose",
    multiple=True,
    metavar="QUANTITY=ATTRIBUTE",
    help="The attribute with the weights or the covariance; by default found by its name.",
)
@click.option("--command", "program", metavar="COMMAND", help="A program instead; see docs/conform.md.")
@click.option("--data", "names", multiple=True, metavar="DATA", help="Also compare on this data set.")
@click.option("--rounds", metavar="N", type=COUNT, default=1000, show_default=True, help="Most rows of it.")
@click.option("--allow", multiple=True, metavar="CONVENTION", help="Accept this known convention.")
@click.option("--list", "listing", is_flag=True, help="List the known conventions and defects.")
@format_flag("text", "json", "github", "md")
@OUTPUT
def conform(
    spec: str | None, id: str | None, settings: tuple[str, ...], renamed: tuple[str, ...],
    expose: tuple[str, ...], program: str | None, names: tuple[str, ...], rounds: int,
    allow: tuple[str, ...], listing: bool, form: str, output: Path | None,
) -> None:  # fmt: skip
    """Check whether MODULE:OBJECT is the algorithm of its paper and, if not, what it is or where it differs.

    The object has predict_one and learn_one (River), predict and partial_fit (scikit-learn), or predict and
    fit; or it is a function step(state, x, y). It is compared round by round with the exact learner. To
    compare a program in any other language, use --command.

    Exit codes: 0 if it conforms, 1 if not, 2 if the input is wrong.

    \b
    Examples:
      olbench conform my_learners:AROW --as arow --set r=0.5
      olbench conform my_learners.py:SCW --as scw1 --set C=1,eta=0.9 --map C=c
      olbench conform my_learners:AROW --as arow --data svmguide3
      olbench conform --command ./arow --as arow --set r=0.5
      olbench conform --list --as scw1
    """
    if listing:
        deliver(render_parts([list_catalogue(id)], output), output, "catalogue")
        return
    if bool(spec) == bool(program) or not id:
        raise UserError(
            "name one subject and what it should be, as in `olbench conform MODULE:OBJECT --as arow`; "
            "--command names a program"
        )
    from olbench.algorithms import get_definition
    from olbench.conformance.inputs import read_data
    from olbench.conformance.objects import NAMES, load_subject
    from olbench.conformance.subjects import ProcessSubject
    from olbench.conformance.verdict import judge

    data = [read_data(name, rounds) for each in names for name in each.split(",")]
    definition, theirs = get_definition(id), read_pairs(renamed, "--map")
    params = definition.resolve(read_settings(settings))
    for name in theirs:
        definition.resolve({name: params.get(name, 1.0)})
    subject: Subject
    if spec:
        exposed = read_pairs(expose, "--expose")
        for name in exposed:
            if name not in NAMES:
                raise UserError(f"--expose {name}: it must be one of {', '.join(NAMES)}")
        subject = load_subject(spec, params, theirs, exposed)
    else:
        subject = ProcessSubject(str(program), params)
    allowed = [name for each in allow for name in each.split(",")]
    verdict = judge(subject, definition, params, data=data, allow=allowed)
    deliver(render_verdict(verdict, form, output, spec or ""), output, "verdict")
    sys.exit(0 if verdict.conforms else 1)


def render_verdict(verdict: "Conformance", form: str, output: Path | None, place: str) -> str:
    from olbench.conformance import rendering

    if form == "json":
        return rendering.render_json(verdict)
    if form == "github":
        file = place.partition(":")[0]
        return rendering.render_github(verdict, file if file.endswith(".py") else "")
    if form == "md":
        return rendering.render_markdown(verdict)
    line = [f"For a README: {rendering.render_readme_line(verdict)}"] if verdict.conforms else []
    return render_parts([rendering.render_text(verdict).rstrip(), *line], output)


def list_catalogue(id: str | None) -> "Table":
    from olbench.algorithms import get_definition
    from olbench.conformance.catalogue import CATALOGUE, find_deviations
    from olbench.report.table import Table, columns

    chosen = find_deviations(get_definition(id)) if id else list(CATALOGUE)
    seen = {each.id: f" (seen in {each.seen})" if each.seen else "" for each in chosen}
    rows = [(each.kind, each.id, f"it {each.says}{seen[each.id]}") for each in chosen]
    return Table("Known conventions and defects", columns("kind", "name", "what it does"), rows)
