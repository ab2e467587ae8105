"""olbench advice: rules as a learner sees them, and what they say about the data."""

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from olbench.report.advice import Account

#: Rows of one rule that are printed before the rest is counted.
ROWS_SHOWN = 6


@click.group("advice")
def command() -> None:
    """Show rules as inequalities, what they cover, and where they contradict each other.

    \b
    Examples:
      olbench advice show pima --data pima
      olbench advice show my-rules.yaml --data my.csv
    """


@command.command("show", short_help="Show rules as inequalities, and what they cover.")
@click.argument("rules", metavar="RULES")
@click.option(
    "--data", "data", required=True, metavar="DATA",
    help="A data set of `olbench data list`, or a LIBSVM or CSV file.",
)  # fmt: skip
@click.option("--positive", "positive", multiple=True, type=float, help="Label(s) of the positive class.")
@click.option("--negative", "negative", multiple=True, type=float, help="Label(s) of the negative class.")
@click.option(
    "--domain/--no-domain", "domain", default=None, help="Add 0 <= x <= 1 for 0/1 features to every rule."
)
@click.option("--rows", "every_row", is_flag=True, help="Print every inequality, however many there are.")
def show(
    rules: str, data: str, positive: tuple[float, ...], negative: tuple[float, ...], domain: bool | None,
    every_row: bool,
) -> None:  # fmt: skip
    """Compile RULES, a file with the key `rules` or one that ships with olbench, for the data set DATA.

    For each rule: its inequalities D x <= d, the rows of the data that satisfy all of them, and how many of
    those have the rule's class. Then what a learner could not make use of: rules that contradict each other,
    rules that contain the origin, conditions that were dropped.

    \b
    Examples:
      olbench advice show pima --data pima
      olbench advice show my-rules.yaml --data my.csv --rows
    """
    from olbench.report.advice import make_account

    account = make_account(rules, data, list(positive) or None, list(negative) or None, domain)
    click.echo(render(account, every_row), nl=False)


def render(account: "Account", every_row: bool = False) -> str:
    """Return the account of a rule file as text for a terminal."""
    lines = [account.headline, ""]
    for number, entry in enumerate(account.entries, start=1):
        lines.append(f"{number}. {entry.text}")
        shown = entry.rows if every_row or len(entry.rows) <= ROWS_SHOWN else entry.rows[: ROWS_SHOWN - 1]
        lines += [f"     {row}" for row in shown]
        if len(shown) < len(entry.rows):
            lines.append(f"     ... and {len(entry.rows) - len(shown)} more (--rows shows all)")
        lines.append(f"   {entry.place}" + (f"; {entry.source}" if entry.source else ""))
        lines += [f"   dropped: {condition} (the data has no such feature)" for condition in entry.dropped]
        lines.append("")
    lines += _table(account)
    lines += ["", *account.summary]
    if account.warnings:
        lines += ["", *(f"warning: {warning}" for warning in account.warnings)]
    return "\n".join(lines) + "\n"


def _table(account: "Account") -> list[str]:
    """Return a line for each rule: what it covers, and how often it is right there."""
    cells: list[tuple[Any, ...]] = [("rule", "class", "covers", "of all rows", "right", "precision")]
    for number, entry in enumerate(account.entries, start=1):
        # rounded down, so that 100% means all of them
        precision = f"{100 * entry.right * 100 // entry.covered / 100:.2f}%" if entry.covered else "-"
        share = f"{entry.covered / account.n:.1%}"
        cells.append((number, entry.title, f"{entry.covered:,}", share, f"{entry.right:,}", precision))
    widths = [max(len(str(row[k])) for row in cells) for k in range(len(cells[0]))]
    line = "  ".join(f"{{:{'<' if k == 1 else '>'}{width}}}" for k, width in enumerate(widths))
    return [line.format(*row).rstrip() for row in cells]
