"""olbench conform: whether an implementation is the algorithm of its paper."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.cli.flags import OUTPUT, format_flag
from olbench.cli.output import deliver, say
from olbench.errors import UserError

if TYPE_CHECKING:
    from olbench.conformance.inputs import Input
    from olbench.conformance.subjects import Subject
    from olbench.conformance.verdict import Conformance

FORMATS = ("text", "json", "github", "md")


@click.command("conform")
@click.argument("spec", metavar="MODULE:OBJECT", required=False)
@click.option("--as", "id", metavar="ID", help="The algorithm it should be.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the algorithm.")
@click.option(
    "--map",
    "renamed",
    multiple=True,
    metavar="OURS=THEIRS",
    help="What the subject calls a parameter: C=c, or r=1/gamma if it is the inverse.",
)
@click.option(
    "--expose",
    multiple=True,
    metavar="QUANTITY=ATTRIBUTE",
    help="The attribute with the weights, the covariance or the bias [default: found by its name].",
)
@click.option("--command", "program", metavar="COMMAND", help="Run a program that speaks the line protocol.")
@click.option(
    "--data", "names", multiple=True, help="Compare on this data set as well, up to --rounds rows of it."
)
@click.option(
    "--rounds", type=click.IntRange(1), default=1000, show_default=True, help="Rows of each data set."
)
@click.option("--allow", multiple=True, metavar="CONVENTION", help="A convention that is meant to be.")
@click.option("--list", "listing", is_flag=True, help="List the known conventions and defects.")
@format_flag(*FORMATS)
@OUTPUT
def command(
    spec: str | None, id: str | None, settings: tuple[str, ...], renamed: tuple[str, ...],
    expose: tuple[str, ...], program: str | None, names: tuple[str, ...], rounds: int,
    allow: tuple[str, ...], listing: bool, form: str, output: Path | None,
) -> None:  # fmt: skip
    """Tell whether MODULE:OBJECT is the algorithm of its paper and, if not, what it is or where it differs.

    The subject has predict_one and learn_one (River), predict and partial_fit (scikit-learn), or predict and
    fit; or it is a function step(state, x, y). It is compared round by round with the exact learner.
    A program in any language can be compared with --command.

    Exit codes: 0 if it conforms, 1 if not, 2 if the question is wrong.

    \b
    Examples:
      olbench conform my_learners:AROW --as arow --set r=0.5
      olbench conform my_learners.py:SCW --as scw1 --set C=1,eta=0.9 --map C=c
      olbench conform my_learners:AROW --as arow --data svmguide3
      olbench conform --command ./arow --as arow --set r=0.5
      olbench conform --list --as scw1
    """
    if listing:
        catalogue = list_catalogue(id)
        if output is None:
            for line in catalogue.splitlines():
                say(line, indent=12)
        else:
            deliver(catalogue, output, "catalogue")
        return
    if bool(spec) == bool(program) or not id:
        raise UserError(
            "name one subject and what it should be, as in `olbench conform MODULE:OBJECT --as arow`; "
            "--command names a program"
        )
    from olbench.conformance.inputs import read_data

    data = [read_data(name, rounds) for each in names for name in each.split(",")]
    verdict = examine(spec, id, settings, renamed, expose, program, data, allow)
    deliver(rendered(verdict, form, spec or ""), output, "verdict")
    sys.exit(0 if verdict.conforms else 1)


def examine(
    spec: str | None, id: str, settings: tuple[str, ...], renamed: tuple[str, ...], expose: tuple[str, ...],
    program: str | None, data: "list[Input]", allow: tuple[str, ...],
) -> "Conformance":  # fmt: skip
    from olbench.algorithms import get_definition
    from olbench.conformance.loading import load_subject, read_exposed, read_numbers, read_pairs
    from olbench.conformance.processes import ProcessSubject
    from olbench.conformance.verdict import judge

    definition = get_definition(id)
    given = read_numbers(read_pairs(settings, "--set"))
    params = definition.resolve(given)
    theirs = read_pairs(renamed, "--map")
    for name in theirs:
        definition.resolve({name: params.get(name, 1.0)})
    subject: Subject
    if spec:
        subject = load_subject(spec, params, given, theirs, read_exposed(expose))
    else:
        subject = ProcessSubject(str(program), params)
    allowed = [name for each in allow for name in each.split(",")]
    return judge(subject, definition, params, data=data, allow=allowed)


def rendered(verdict: "Conformance", form: str, place: str) -> str:
    from olbench.conformance import rendering

    if form == "json":
        return rendering.render_json(verdict)
    if form == "github":
        file = place.partition(":")[0]
        return rendering.render_github(verdict, file if file.endswith(".py") else "")
    if form == "md":
        return rendering.render_markdown(verdict)
    line = f"\nFor a README: {rendering.render_readme_line(verdict)}\n" if verdict.conforms else ""
    return rendering.render_text(verdict) + line


def list_catalogue(id: str | None) -> str:
    from olbench.algorithms import get_definition
    from olbench.conformance.catalogue import CATALOGUE, find_deviations

    chosen = find_deviations(get_definition(id)) if id else list(CATALOGUE)
    width = max(len(each.id) for each in chosen)
    lines = [
        f"{each.kind:10}  {each.id:{width}}  it {each.says}" + (f" ({each.seen})" if each.seen else "")
        for each in chosen
    ]
    return "\n".join(lines) + "\n"
