"""olbench algorithms: the table of ids, parameters, traits and papers, or one algorithm in detail."""

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from olbench.algorithms.definition import Definition

HEADINGS = ("id", "name", "order", "parameters", "traits", "source")
TRAITS = (
    ("large_margin", "large margin"),
    ("confidence", "confidence"),
    ("non_separable", "non-separable"),
    ("adaptive_margin", "adaptive margin"),
)


@click.command("algorithms")
@click.argument("id", required=False)
@click.option(
    "--plugin", "plugins", multiple=True, type=click.Path(), help="Python file with more algorithms."
)
def command(id: str | None, plugins: tuple[str, ...]) -> None:
    """List the algorithms, or describe the one named ID.

    \b
    Examples:
      olbench algorithms
      olbench algorithms scw1
      olbench algorithms --plugin my_rule.py my-rule
    """
    from olbench.algorithms import definitions, get_definition
    from olbench.algorithms.plugins import load_plugin

    for path in plugins:
        load_plugin(path)
    if id is None:
        show_all(definitions())
    else:
        show_one(get_definition(id))


def show_all(definitions: "list[Definition]") -> None:
    """Print one line for each algorithm."""
    from rich.console import Console
    from rich.table import Table

    rows = [
        (
            definition.id,
            definition.title,
            definition.order,
            ", ".join(f"{p.name}={_short(p.default)}" for p in definition.parameters),
            _letters(definition),
            definition.source,
        )
        for definition in definitions
    ]
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    # In a narrow terminal only the source is cut: the rest is what one types.
    for heading, cells in zip(HEADINGS, zip(*rows, strict=True), strict=True):
        widest = max(len(cell) for cell in (heading, *cells))
        table.add_column(heading, no_wrap=True, min_width=None if heading == "source" else widest)
    for row in rows:
        table.add_row(*row)
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    console.print(table)
    console.print(
        "\ntraits: L large margin, C confidence, N non-separable data, A adaptive margin (scw2012, Table 1)"
    )


def show_one(definition: "Definition") -> None:
    """Print everything that is declared about an algorithm."""
    lines = [f"{definition.id}: {definition.title} ({definition.order} order)", ""]
    lines += [line.strip() for line in definition.doc.strip().splitlines()] + [""]
    lines += [f"source      {definition.source}"]
    for p in definition.parameters:
        lines.append(f"parameter   {p.name} = {_short(p.default)}, in {p.interval}: {p.doc}")
        if p.grid:
            lines.append(f"            searched over {', '.join(f'{value:g}' for value in p.grid)}")
    if definition.traits is not None:
        has = [words for name, words in TRAITS if getattr(definition.traits, name)]
        lines.append(f"traits      {', '.join(has) or 'none'} ({definition.traits.source})")
    if definition.order == "second":
        kinds = "full, diag (projection kl or l2)" if definition.diagonal else "full"
        lines.append(f"covariance  {kinds}; form of the full one: {definition.form}")
    click.echo("\n".join(lines))


def _letters(definition: "Definition") -> str:
    if definition.traits is None:
        return "?"
    return "".join(words[0].upper() if getattr(definition.traits, name) else "·" for name, words in TRAITS)


def _short(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
