"""olbench report: from the record of a run to tables, figures, verdicts and a page."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olbench.cli.flags import FILE, NO_TITLES, OUTPUT, PATH, TRUST, choice_flag, names_flag, plugin_flag
from olbench.cli.output import (
    choose_run,
    deliver,
    load_code,
    refuse_overwriting,
    render,
    render_parts,
    say,
    screen_size,
)
from olbench.errors import UserError, count
from olbench.report.formats import OUTPUTS

if TYPE_CHECKING:
    from olbench.report.model import Report


@click.command("report")
@click.argument("folders", metavar="[RUN]...", nargs=-1, type=PATH)
@click.option("--full", is_flag=True, help="Print every table, not just one screen.")
@choice_flag("--format", OUTPUTS, "Write the full report in this format, by default text.", "form")
@OUTPUT
@click.option(
    "--table", metavar="NAME", help="Write only the tables of this name, such as ranking, results or within."
)
@names_flag("--measures", "measures, such as accuracy,f1,kappa,auc; the first determines the ranking.")
@names_flag("--algorithms", "ids, titles or labels: compare only these algorithms.")
@names_flag("--datasets", "data sets: compare only on these.")
@names_flag("--highlight", "algorithms that stand out in tables and figures.")
@click.option("--against", metavar="NAME", help="Compare with this algorithm instead of the best one.")
@click.option(
    "--figures", metavar="DIR", type=PATH, help="Also draw the figures as PNG, PDF and SVG into this folder."
)
@choice_flag(
    "--bands",
    ("deviation", "interval"),
    "Bands around curves: one standard deviation, or the 95% confidence interval of the mean.",
    default="deviation",
    show_default=True,
)
@NO_TITLES
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Write all formats and figures to the folder report in RUN; for a run that ships, to NAME-report.",
)
@click.option("--strict", type=FILE, help="Expected verdicts, a YAML file: exit with 1 if any differs.")
@click.option("--write-expected", type=FILE, help="Write the verdicts of this report as such a file.")
@plugin_flag("Python file with algorithms of the run, or with more tables.")
@TRUST
def command(folders: tuple[Path, ...], plugins: tuple[str, ...], trust_plugins: bool, **flags: Any) -> None:
    """Report on RUN, finished or not: a folder, a bundle (.olb), or the name of a run that ships.

    Without RUN, report on the newest run below results/. By default, print one screen: winners, ranks,
    verdicts, and what to run next. --full prints every table; --format and --output write the full report.
    Several runs are compared side by side, such as before and after a change. With --algorithms and
    --datasets, the best rows, ranks and tests consider only these.

    \b
    Examples:
      olbench report
      olbench report scw --full
      olbench report results/scw --format html --output scw.html
      olbench report results/quick --measures balanced_accuracy,kappa
      olbench report results/quick --format latex --table results
      olbench report scw --algorithms AROW,SCW-I,SCW-II --datasets splice,usps
      olbench report results/mine --highlight my-rule --figures figures
      olbench report results/mine --against my-rule
      olbench report results/before results/after
      olbench report results/scw --strict results/scw/expected.yaml
    """
    from olbench.analysis.results import newest

    wanted = Wanted(**flags)
    for file in (wanted.output, wanted.write_expected):
        refuse_overwriting(file, *folders, *plugins)
    load_code(plugins, folders if trust_plugins else ())
    wanted.check()
    if len(folders) > 1:
        compare_side_by_side(folders, wanted)
        return
    given = folders[0] if folders else newest(Path("results"))
    report = make_selection(choose_run(given) if folders else given, wanted)
    if not report.rows:
        say(f"olbench: no trial of {report.results.folder} is done yet; run its config first", err=True)
        sys.exit(4)
    write_report(report, wanted, str(given))
    if wanted.strict:
        sys.exit(judge_strictly(report, wanted.strict))


@dataclass(frozen=True)
class Wanted:
    """The flags of the command."""

    full: bool
    form: str | None
    output: Path | None
    table: str | None
    measures: list[str]
    algorithms: list[str]
    datasets: list[str]
    highlight: list[str]
    against: str | None
    figures: Path | None
    bands: str
    no_titles: bool
    everything: bool
    strict: Path | None
    write_expected: Path | None

    @property
    def selection(self) -> dict[str, list[str]]:
        names = ("measures", "algorithms", "datasets", "highlight")
        found = {name: getattr(self, name) for name in names} | {"against": [self.against or ""]}
        return {name: own for name, own in found.items() if any(own)}

    @property
    def is_strict(self) -> bool:
        return bool(self.strict or self.write_expected)

    def check(self) -> None:
        if self.everything and (self.output or self.form or self.full or self.table):
            raise UserError(
                "--all writes every format to one folder; leave out --format, --output, --full and --table"
            )
        if self.is_strict and (self.algorithms or self.datasets):
            raise UserError(
                "expected verdicts are about the whole run; leave out --algorithms and --datasets"
            )


def compare_side_by_side(folders: Sequence[Path], wanted: Wanted) -> None:
    from olbench.analysis.results import load_results
    from olbench.report.comparison import comparison_document

    if wanted.selection or wanted.table or wanted.figures or wanted.everything or wanted.is_strict:
        raise UserError(
            "several runs are compared side by side; --measures, --algorithms, --datasets, --highlight, "
            "--against, --table, --figures, --all, --strict and --write-expected take one run"
        )
    runs = [load_results(choose_run(folder)) for folder in folders]
    deliver(render(comparison_document(runs), wanted.form or "text", wanted.output), wanted.output)


def make_selection(folder: Path, wanted: Wanted) -> "Report":
    from olbench.records.container import is_bundle
    from olbench.report.model import make_report, select_rows

    if wanted.everything and is_bundle(folder):
        raise UserError(f"--all needs a folder, and {folder} is a file; use --format and --output")
    report = replace(make_report(folder, wanted.measures), band=wanted.bands)
    report = select_rows(report, wanted.algorithms, wanted.datasets)
    results = report.results.highlight(wanted.highlight)
    if wanted.is_strict and report.paper is None:
        raise UserError(f"{folder} is not compared with a paper, so there are no verdicts")
    return replace(report, results=results.against(wanted.against) if wanted.against else results)


def write_report(report: "Report", wanted: Wanted, given: str) -> None:
    from olbench.analysis.claims import expected_text
    from olbench.records.shipped import is_shipped
    from olbench.report.document import report_document, table_document

    results, titles = report.results, not wanted.no_titles
    if wanted.everything:
        # The folder of a run that ships may be read-only, and is not the user's.
        shipped = is_shipped(results.folder)
        write_all(report, Path(f"{results.name}-report") if shipped else results.folder / "report", titles)
    elif wanted.full or wanted.form or wanted.output or wanted.table:
        document = table_document(report, wanted.table) if wanted.table else report_document(report)
        deliver(render(document, wanted.form or "text", wanted.output), wanted.output)
    else:
        flags = [word for name, own in wanted.selection.items() for word in (f"--{name}", ",".join(own))]
        click.echo(render_brief(report, shlex.join(["olbench", "report", given, *flags])), nl=False)
    if wanted.figures:
        say(f"{count(draw(report, wanted.figures, titles), 'figure')} in {wanted.figures}", err=True)
    if (missing := len(results.missing)) and (wanted.output or wanted.everything):
        rows = count(len(results.entries), "row")
        say(f"incomplete: {missing} of {rows} not finished; the report says which", err=True)
    if wanted.write_expected:
        verdicts = expected_text(report.judgements, report.claims)
        deliver(verdicts, wanted.write_expected, "list of verdicts")


def render_brief(report: "Report", again: str) -> str:
    from olbench.report.document import brief_parts

    return render_parts(brief_parts(report, again, *screen_size()))


def write_all(report: "Report", folder: Path, titles: bool) -> None:
    from olbench.report.document import report_document
    from olbench.report.table import Table, columns

    document = report_document(report)
    # The page comes first: it is the file to open.
    formats = sorted(OUTPUTS.items(), key=lambda item: item[0] != "html")
    for name, form in formats:
        deliver(render(document, name, folder / form.file), folder / form.file, None)
    figures = draw(report, folder / "figures", titles)
    rows = [*(form for _, form in formats), ("figures/", count(figures, "figure"))]
    table = Table(f"Written to {folder}", columns("file", "content"), rows)
    click.echo(render_parts([table], folder), nl=False, err=True)


def draw(report: "Report", folder: Path, titles: bool) -> int:
    from olbench.report.figures.run import save_figures

    return len(save_figures(report, folder, titles=titles))


def judge_strictly(report: "Report", expected: Path) -> int:
    from olbench.analysis.claims import compare_expected, read_expected

    wanted = read_expected(expected)
    changes = compare_expected(wanted, report.judgements, report.claims)
    for change in changes:
        say(change, err=True)
    say(f"{count(len(wanted), 'verdict')} compared, {len(changes)} changed", err=True)
    return 4 if not wanted else 1 if changes else 0
