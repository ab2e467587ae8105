"""olbench report: from the record of a run to tables, figures, verdicts and a page."""

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.cli.output import deliver
from olbench.errors import UserError
from olbench.report.grid import count

if TYPE_CHECKING:
    from olbench.report.build import Report
    from olbench.report.results import Results

#: Columns where there is no terminal to ask.
WIDTH = 160
FORMATS = ("text", "md", "latex", "csv", "json", "html", "checklist")
#: What --all writes, by format.
FILES = {
    "html": "report.html",
    "text": "report.txt",
    "md": "report.md",
    "latex": "tables.tex",
    "csv": "results.csv",
    "json": "report.json",
    "checklist": "CHECKLIST.md",
}


@click.command("report")
@click.argument("folders", metavar="[DIR]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Output format."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file instead of the terminal.",
)
@click.option("--figures", type=click.Path(path_type=Path), help="Also draw the figures into this folder.")
@click.option("--all", "everything", is_flag=True, help="Write every format and the figures to DIR/report.")
@click.option(
    "--strict", type=click.Path(path_type=Path),
    help="YAML file of expected verdicts: exit with 1 if any differs.",
)  # fmt: skip
@click.option(
    "--write-expected",
    type=click.Path(path_type=Path),
    help="Write the verdicts of this report as such a file.",
)
def command(
    folders: tuple[Path, ...], form: str, output: Path | None, figures: Path | None, everything: bool,
    strict: Path | None, write_expected: Path | None,
) -> None:  # fmt: skip
    """Report on the run in DIR, finished or not. Without DIR, take the newest run below results/.

    Several folders are compared side by side, such as before and after a change.

    \b
    Examples:
      olbench report
      olbench report scw
      olbench report results/scw --format html --output scw.html
      olbench report results/scw --all
      olbench report results/quick --format latex --output tables.tex --figures figures
      olbench report results/before results/after
      olbench report results/before results/after --format html --output changes.html
      olbench report results/scw --strict results/scw/expected.yaml
    """
    from olbench.report.results import load_results, newest
    from olbench.shipped import find_run

    if len(folders) > 1:
        if figures or everything or strict or write_expected:
            raise UserError(
                "several folders are compared side by side; --figures, --all, --strict and --write-expected "
                "take one folder"
            )
        deliver(side_by_side([load_results(find_run(folder)) for folder in folders], form), output)
        return
    if everything and (output or form != "text"):
        raise UserError("--all writes every format to DIR/report; it takes neither --format nor --output")
    folder = find_run(folders[0]) if folders else newest(Path("results"))
    sys.exit(report_on(folder, form, output, figures, everything, strict, write_expected))


def report_on(
    folder: Path, form: str, output: Path | None, figures: Path | None, everything: bool, strict: Path | None,
    write_expected: Path | None,
) -> int:  # fmt: skip
    """Write the report on one run; return the exit code."""
    from olbench.report.build import make_report

    report = make_report(folder)
    if not report.rows:
        click.echo(f"olbench: no trial of {folder} is done yet; run its config first", err=True)
        return 4
    if (strict or write_expected) and report.paper is None:
        raise UserError(f"the config of {folder} names no paper, so there are no verdicts")
    if everything:
        write_all(report, folder / "report")
    else:
        deliver(render(report, form, output), output)
    if figures:
        draw(report, figures)
    if report.results.missing and (output or everything):
        rows, missing = len(report.results.entries), len(report.results.missing)
        click.echo(f"incomplete: {missing} of {rows} rows are not finished; the report says which", err=True)
    if write_expected:
        from olbench.report.verdicts import expected_text

        deliver(expected_text(report.judgements, report.claims), write_expected, "list of verdicts")
    return judge_strictly(report, strict) if strict else 0


def render(report: "Report", form: str, output: Path | None = None) -> str:
    """Return the report in a format."""
    from olbench.report import checklist, data, html, latex, markdown, text
    from olbench.report.sections import all_parts

    if form == "text":
        terminal = output is None and sys.stdout.isatty()
        width = shutil.get_terminal_size((WIDTH, 24)).columns if output is None else WIDTH
        return text.render(all_parts(report), width, terminal)
    renderers: dict[str, Callable[[Report], str]] = {
        "md": lambda report: markdown.render(all_parts(report)),
        "latex": lambda report: latex.render(all_parts(report)),
        "csv": data.render_csv,
        "json": data.render_json,
        "html": html.render,
        "checklist": checklist.render,
    }
    return renderers[form](report)


def side_by_side(runs: "Sequence[Results]", form: str) -> str:
    """Return several runs in one table."""
    import json

    from olbench.report import comparison, data, html, latex, markdown, text

    if form == "html":
        return html.render_comparison(runs)
    if form in ("csv", "json"):
        records = comparison.records(runs)
        return data.write_csv(records) if form == "csv" else json.dumps(records, indent=1) + "\n"
    makers = {"text": text.render, "md": markdown.render, "latex": latex.render}
    if form not in makers:
        raise UserError(
            f"several folders have no {form} report; use {', '.join([*makers, 'csv', 'json', 'html'])}"
        )
    return makers[form](comparison.compare(runs))


def write_all(report: "Report", folder: Path) -> None:
    """Write every format and the figures."""
    for form, name in FILES.items():
        deliver(render(report, form, folder / name), folder / name)
    draw(report, folder / "figures")


def draw(report: "Report", folder: Path) -> None:
    """Draw the figures into a folder."""
    from olbench.report.figures import save_figures

    paths = save_figures(report, folder)
    click.echo(f"{len(paths)} figures are in {folder}", err=True)


def judge_strictly(report: "Report", expected: Path) -> int:
    """Compare the verdicts with the expected ones; return the exit code."""
    from olbench.report.verdicts import compare_expected, read_expected

    wanted = read_expected(expected)
    changes = compare_expected(wanted, report.judgements, report.claims)
    for change in changes:
        click.echo(change, err=True)
    click.echo(f"{count(len(wanted), 'verdict')} compared, {len(changes)} changed", err=True)
    if not wanted:
        return 4
    return 1 if changes else 0
