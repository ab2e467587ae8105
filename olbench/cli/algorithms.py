"""olbench algorithms: the table of ids, parameters, traits and papers, or one algorithm in detail."""

import sys
from typing import TYPE_CHECKING, Any

import click

from olbench.cli.flags import plugin_flag
from olbench.errors import UserError

if TYPE_CHECKING:
    from olbench.algorithms.definition import Definition

KINDS = {"compiled": "compiled learner", "object": "Python object", "batch": "batch learner"}


@click.command("algorithms")
@click.argument("id", required=False)
@plugin_flag("Python file with more algorithms.")
@click.option("--conform-to", "other", metavar="ID", help="Check whether ID is this algorithm.")
@click.option("--rules", metavar="FILE", help="Show these rules as inequalities, and what they cover.")
@click.option("--data", metavar="DATA", help="With --rules: a data set, or a LIBSVM or CSV file.")
@click.option("--positive", multiple=True, type=float, help="With --rules: a label that counts as +1.")
def command(id: str | None, plugins: tuple[str, ...], other: str | None, **advice: Any) -> None:
    """List the algorithms, or describe the one named ID.

    With --conform-to, check whether ID is another algorithm: exit code 0 if it is, 1 if not.

    With --rules and --data, show rules for an algorithm that takes advice, from a file or by a name that
    ships: their inequalities D x <= d, the rows of the data that they cover, how many of those have the class
    of the rule, and what a learner cannot use, such as rules that contradict each other.

    \b
    Examples:
      olbench algorithms
      olbench algorithms scw1
      olbench algorithms --plugin my_rule.py my-rule
      olbench algorithms --plugin my_rule.py my-rule --conform-to arow
      olbench algorithms adviceptron --rules pima --data pima
    """
    from olbench.algorithms import definitions, get_definition, load_plugin

    for path in plugins:
        for definition in load_plugin(path):
            definition.check()
    if other is not None:
        sys.exit(conform(id, other))
    if advice["rules"] is not None or advice["data"] is not None:
        show_rules(None if id is None else get_definition(id), **advice)
    elif id is None:
        show_all(definitions())
    else:
        show_one(get_definition(id))


def conform(id: str | None, other: str) -> int:
    from olbench.algorithms import get_definition
    from olbench.cli.output import show_parts
    from olbench.conformance.rendering import list_lines
    from olbench.conformance.verdict import judge_rule

    if id is None:
        raise UserError("--conform-to needs an id before it, as in `olbench algorithms ID --conform-to arow`")
    verdict = judge_rule(get_definition(id), other)
    show_parts("\n".join(list_lines(verdict)))
    return 0 if verdict.conforms else 1


def show_rules(
    definition: "Definition | None", rules: str | None, data: str | None, positive: tuple[float, ...]
) -> None:
    if rules is None or data is None:
        raise UserError("--rules and --data go together: the rules name features of the data")
    if definition is None or "advice" not in definition.takes:
        raise UserError("--rules goes with an algorithm that takes advice, such as adviceptron")
    from olbench.cli.output import show_parts
    from olbench.papers.adviceptron2010.account import list_parts, make_account

    show_parts(*list_parts(make_account(rules, data, list(positive) or None)))


def show_all(definitions: "list[Definition]") -> None:
    """Print one line per algorithm; a narrow terminal does not show the source and the name."""
    from olbench.algorithms.algorithm import refuse_native
    from olbench.algorithms.definition import TRAITS
    from olbench.cli.output import show_parts
    from olbench.report.table import DETAIL, PAPER, SETTINGS, TIME, Column, Table, columns

    rows = []
    for definition in definitions:
        own = [p for p in definition.parameters if not p.instead_of]
        parameters = {p.name: p.default for p in own}
        classes = "" if refuse_native(definition, {}) else "native"
        traits = definition.traits
        has = [words[0].upper() if getattr(traits, name, False) else "·" for name, words in TRAITS.items()]
        letters = "".join(has) if traits else "?"
        about = (definition.title, definition.order, parameters, letters, classes)
        rows.append((definition.id, *about, definition.source))
    shown = (
        Column("id"),
        Column("name", drop=TIME),
        Column("order", drop=DETAIL),
        Column("parameters", SETTINGS),
        *columns("traits", "classes", drop=DETAIL),
        Column("source", drop=PAPER),
    )
    note = (
        "Traits: Large margin, Confidence, Non-separable data, Adaptive margin (scw2012, Table 1). Classes: "
        "all learn several classes one-vs-rest, some natively too (multiclass: native)."
    )
    show_parts(Table("", shown, rows, note))


def show_one(definition: "Definition") -> None:
    from olbench.algorithms.algorithm import list_ways
    from olbench.algorithms.compiled import CompiledDefinition
    from olbench.algorithms.definition import TRAITS
    from olbench.cli.output import show_parts
    from olbench.errors import short
    from olbench.report.table import Table, columns

    rows = [("source", definition.source)]
    for p in definition.parameters:
        default = f"instead of {p.instead_of}" if p.instead_of else f"= {short(p.default)}"
        grid = f"; searched over {', '.join(f'{value:g}' for value in p.grid)}" if p.grid else ""
        rows.append(("parameter", f"{p.name} {default}, in {p.interval}: {p.doc}{grid}"))
    if definition.traits is not None:
        has = [words for name, words in TRAITS.items() if getattr(definition.traits, name)]
        rows.append(("traits", f"{', '.join(has) or 'none'} ({definition.traits.source})"))
    if isinstance(definition, CompiledDefinition):
        shapes = ", ".join(f"{name} ({shape})" for name, (shape, _) in definition.arrays.items())
        rows.append(("arrays", shapes))
    for place, way in enumerate(list_ways(definition)):
        options = "; ".join(f"{name}: {', '.join(values)}" for name, values in way.items())
        several = any(len(values) > 1 for values in way.values())
        end = " (the first is the default)" if several and not place and definition.order != "first" else ""
        rows.append(("or with" if place else "runs with", f"{options}{end}"))
    if definition.is_gaussian and not definition.only_native:
        rows.append(("forgetting", "below 1, such as 0.99, for streams that drift"))
    if definition.no_diagonal:
        rows.append(("not with", f"covariance: diag, because {definition.no_diagonal}"))
    doc = "\n".join(line.strip() for line in definition.doc.strip().splitlines())
    order = definition.order
    kind = f"{order} order" if order in ("first", "second") else KINDS.get(order, order)
    heading = f"{definition.id}: {definition.title} ({kind})"
    facts = [row for row in rows if row[1]]
    show_parts(heading, doc, Table("Facts", columns("fact", "value"), facts))
