"""olbench report: from the record of a run to tables, figures, verdicts and a page."""

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.cli.flags import OUTPUT, TRUST
from olbench.cli.output import choose_run, deliver, render, say, screen_size
from olbench.engine.display import can_redraw
from olbench.errors import UserError, count
from olbench.report.renderers import format_names, get_format

if TYPE_CHECKING:
    from olbench.report.model import Report


def split_names(ctx: click.Context, param: click.Parameter, text: str | None) -> list[str]:
    """Return names with commas between; those in the brackets of a label are part of it."""
    parts = re.split(r",(?![^(\[]*[)\]])", text or "")
    return [part.strip() for part in parts if part.strip()]


@click.command("report")
@click.argument("folders", metavar="[DIR]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--full", is_flag=True, help="Print every table, not just a summary of one screen.")
@click.option(
    "--format",
    "form",
    type=click.Choice(format_names()),
    help="Write the full report in this format [default: text].",
)
@OUTPUT
@click.option("--measures", help="Show these measures, with commas between; the first ranks.")
@click.option(
    "--algorithms", metavar="NAMES", callback=split_names,
    help="Report on these algorithms only: ids, titles or labels, with commas between.",
)  # fmt: skip
@click.option("--datasets", metavar="NAMES", callback=split_names, help="Report on these data sets only.")
@click.option(
    "--highlight", metavar="NAMES", callback=split_names,
    help="Make these algorithms stand out in tables and figures.",
)  # fmt: skip
@click.option("--figures", type=click.Path(path_type=Path), help="Also draw the figures into this folder.")
@click.option(
    "--bands", type=click.Choice(["deviation", "interval"]), default="deviation", show_default=True,
    help="What the bands of the curves in figures show: one deviation, or the 95% interval of the mean.",
)  # fmt: skip
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Write every format and the figures to DIR/report; of a run that ships, to NAME-report here.",
)
@click.option(
    "--strict", type=click.Path(path_type=Path),
    help="YAML file of expected verdicts: exit with 1 if any differs.",
)  # fmt: skip
@click.option(
    "--write-expected",
    type=click.Path(path_type=Path),
    help="Write the verdicts of this report as such a file.",
)
@click.option("--plugin", "plugins", multiple=True, type=click.Path(), help="Python file with more tables.")
@TRUST
def command(
    folders: tuple[Path, ...], full: bool, form: str | None, output: Path | None, measures: str | None,
    algorithms: list[str], datasets: list[str], highlight: list[str],
    figures: Path | None, bands: str, everything: bool, strict: Path | None, write_expected: Path | None,
    plugins: tuple[str, ...], trust_plugins: bool,
) -> None:  # fmt: skip
    """Report on the run in DIR or a bundle, finished or not. Without DIR, take the newest below results/.

    By default, print a summary of one screen: winners, ranks, verdicts, and what to run next. --full prints
    every table; --format and --output write the full report. Several folders are compared side by side, such
    as before and after a change. With --algorithms and --datasets, the best rows, ranks and tests are among
    those alone.

    \b
    Examples:
      olbench report
      olbench report scw --full
      olbench report results/scw --format html --output scw.html
      olbench report results/quick --measures balanced_accuracy,kappa
      olbench report results/quick --format latex --output tables.tex
      olbench report scw --algorithms AROW,SCW-I,SCW-II --datasets splice,usps
      olbench report results/mine --highlight my-rule --figures figures
      olbench report results/before results/after
      olbench report results/scw --strict results/scw/expected.yaml
    """
    from olbench.algorithms import load_plugin
    from olbench.analysis.claims import expected_text
    from olbench.analysis.results import load_results, newest
    from olbench.records.container import is_bundle, trust
    from olbench.records.shipped import is_shipped
    from olbench.report.document import report_document
    from olbench.report.model import make_report, select_rows
    from olbench.report.sections.comparison import comparison_document

    for path in plugins:
        load_plugin(path)
    for folder in folders if trust_plugins else ():
        trust(folder)
    if len(folders) > 1:
        chosen = measures or algorithms or datasets or highlight
        if chosen or figures or everything or strict or write_expected:
            raise UserError(
                "several folders are compared side by side; --measures, --algorithms, --datasets, "
                "--highlight, --figures, --all, --strict and --write-expected take one folder"
            )
        runs = [load_results(choose_run(folder)) for folder in folders]
        deliver(render(comparison_document(runs), form or "text", output), output)
        return
    if everything and (output or form or full):
        raise UserError(
            "--all writes every format to one folder; it does not go with --format, --output or --full"
        )
    folder = choose_run(folders[0]) if folders else newest(Path("results"))
    if everything and is_bundle(folder):
        raise UserError(f"--all writes to DIR/report, and {folder} is a file; use --format and --output")
    report = make_report(folder, [name.strip() for name in measures.split(",")] if measures else ())
    if (strict or write_expected) and (algorithms or datasets):
        raise UserError("expected verdicts are about the whole run; leave out --algorithms and --datasets")
    report = select_rows(replace(report, band=bands), algorithms, datasets)
    report = replace(report, results=report.results.highlight(highlight))
    if not report.rows:
        say(f"olbench: no trial of {folder} is done yet; run its config first", err=True)
        sys.exit(4)
    if (strict or write_expected) and report.paper is None:
        raise UserError(f"the config of {folder} names no paper, so there are no verdicts")
    if everything:
        # The folder of a run that ships may be read-only, and is not the user's.
        own = Path(f"{report.results.name}-report") if is_shipped(folder) else folder / "report"
        write_all(report, own)
    elif full or form or output:
        deliver(render(report_document(report), form or "text", output), output)
    else:
        lists = {"algorithms": algorithms, "datasets": datasets, "highlight": highlight}
        texts = {"measures": measures, **{name: ",".join(names) for name, names in lists.items()}}
        flags = [word for name, text in texts.items() if text for word in (f"--{name}", text)]
        again = shlex.join(["olbench", "report", str(folders[0] if folders else folder), *flags])
        click.echo(render_brief(report, again), nl=False)
    if figures:
        say(f"{count(draw(report, figures), 'figure')} in {figures}", err=True)
    if report.results.missing and (output or everything):
        rows, missing = len(report.results.entries), len(report.results.missing)
        say(f"incomplete: {missing} of {count(rows, 'row')} not finished; the report says which", err=True)
    if write_expected:
        deliver(expected_text(report.judgements, report.claims), write_expected, "list of verdicts")
    if strict:
        sys.exit(judge_strictly(report, strict))


def render_brief(report: "Report", again: str) -> str:
    from olbench.report import brief
    from olbench.report.renderers import text

    width, height = screen_size()
    return text.render(brief.parts(report, again, width, height), width, can_redraw(sys.stdout))


def write_all(report: "Report", folder: Path) -> None:
    from olbench.report.document import report_document

    document = report_document(report)
    # The page comes first: it is the file to open.
    names = sorted(format_names(), key=lambda name: name != "html")
    formats = {name: get_format(name) for name in names}
    for name, form in formats.items():
        deliver(render(document, name, folder / form.file), folder / form.file, None)
    figures = draw(report, folder / "figures")
    contents = {form.file: form.content for form in formats.values()} | {"figures/": count(figures, "figure")}
    width = max(map(len, contents))
    lines = [f"{folder}:", *(f"  {file:{width}}  {content}" for file, content in contents.items())]
    click.echo("\n".join(lines), err=True)


def draw(report: "Report", folder: Path) -> int:
    from olbench.report.figures.curves import save_figures

    return len(save_figures(report, folder))


def judge_strictly(report: "Report", expected: Path) -> int:
    from olbench.analysis.claims import compare_expected, read_expected

    wanted = read_expected(expected)
    changes = compare_expected(wanted, report.judgements, report.claims)
    for change in changes:
        say(change, err=True)
    say(f"{count(len(wanted), 'verdict')} compared, {len(changes)} changed", err=True)
    if not wanted:
        return 4
    return 1 if changes else 0
