"""olbench bundle, verify and site: share a run, and check one that somebody shared."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olbench.cli.flags import FILE, JOBS, PATH, QUIET, TRUST, format_flag
from olbench.cli.output import MAX_LINES, program, say
from olbench.errors import UserError, count, escape_controls

if TYPE_CHECKING:
    from olbench.engine.verification import VerifiedRun, VerifiedTrial
    from olbench.records.compare import Mismatch

SHARE = click.FloatRange(0, 1, min_open=True)


@click.command("bundle")
@click.argument("folder", metavar="DIR|NAME", type=PATH)
@click.option("--output", "-o", type=FILE, help="The file to write [default: name of the run with .olb].")
def bundle(folder: Path, output: Path | None) -> None:
    """Write the run in DIR, or one that ships, as one file that others can read, check and run again.

    The file has the config, every trial, the plugins' sources, rules, the paper's numbers, and how to get
    the data. It contains no data, no paths and no name of this machine. The same run always gives the same
    bytes. `olbench report` and `olbench verify` take it in place of a folder.

    \b
    Examples:
      olbench bundle results/quick -o quick.olb
      olbench bundle scw
      olbench report quick.olb
      olbench verify quick.olb
    """
    from olbench import api
    from olbench.report.table import show_bytes

    bundled = api.bundle(folder, output)
    held = f"{count(bundled.trials, 'trial')} on {count(bundled.datasets, 'data set')}"
    say(f"{bundled.path}: {held}, {show_bytes(bundled.bytes)}")
    if not bundled.is_complete:
        say("the run is not complete; the bundle has the finished trials", err=True)
    click.echo(f"next: {program()} verify {bundled.path}")


@click.command("verify")
@click.argument("run", metavar="DIR|NAME|FILE", type=PATH)
@click.option("--trials", type=click.IntRange(1), help="How many trials to run again [default: 20].")
@click.option("--trial", metavar="KEY", help="Run only the trial whose key begins with KEY.")
@click.option(
    "--confidence", type=SHARE, help="Draw enough trials to detect altered ones with this probability."
)
@click.option(
    "--share", type=SHARE, default=0.05, show_default=True, help="The share of altered trials to detect."
)
@click.option("--seed", type=click.IntRange(0), help="Draw the sample of an earlier check [default: random].")
@TRUST
@JOBS
@QUIET
@format_flag("text", "json")
def verify(run: Path, trial: str | None, trust_plugins: bool, quiet: bool, form: str, **sample: Any) -> None:
    """Run a random sample of the trials of a run again, and compare every count with its record.

    The run is a folder, a bundle (.olb) or the name of one that ships. Nobody can predict the sample, so
    altered counts are detected with the printed probability. Trials whose data is not available, or whose
    algorithm has another version now, are counted separately: nothing is known about them.
    Times are not compared. --trial runs one trial and, if it breaks down numerically, explains why.

    Exit codes: 1 if a count differs, 3 if trials fail, 4 if nothing could run again.

    \b
    Examples:
      olbench verify quick.olb
      olbench verify scw.olb --confidence .99 --share .05
      olbench verify scw.olb --format json > scw-verified.json
      olbench verify quick --trial 3f2a
    """
    from olbench.engine import verification
    from olbench.engine.progress import show_progress
    from olbench.report.checks import make_statement

    size, confidence, seed = (sample[name] for name in ("trials", "confidence", "seed"))
    if size is not None and confidence is not None:
        raise UserError("--trials and --confidence both set the size of the sample; give one of them")
    if trial is not None:
        if size or confidence or seed is not None or form == "json":
            raise UserError("--trial can only be combined with --trust-plugins and --quiet")
        with show_progress(quiet) as progress:
            one = verification.verify_trial(run, trial, trust_plugins, progress.say)
        show_trial(one)
        sys.exit(1 if one.mismatches else 3 if one.error else 4 if one.not_run else 0)
    with show_progress(quiet) as progress:
        shown = verification.verify(run, trust_plugins=trust_plugins, say=progress.say, **sample)
    if form == "json":
        click.echo(json.dumps(make_statement(shown), indent=1))
    else:
        show_run(shown)
    sys.exit(1 if not shown.passed else 3 if shown.failed else 0 if shown.compared else 4)


def show_run(shown: "VerifiedRun") -> None:
    show_mismatches(shown.mismatches)
    for cell in shown.wrong_cells[:MAX_LINES]:
        say(f"DIFFERS: {escape_controls(cell)}: the trials of its tuning choose other parameters")
    for reason, records in shown.not_rerun.items():
        say(f"not run, {reason}: {count(len(records), 'trial')}: {shown.name_unrun(reason)}")
    if shown.failed:
        say(f"first error: {escape_controls(str(shown.failed[0]['error']))}")
    say(shown.sentence)
    say(f"seed {shown.seed}; run {shown.digest[:16]}")


def show_trial(shown: "VerifiedTrial") -> None:
    from olbench.records.compare import name_trial

    say(escape_controls(name_trial(shown.record)))
    show_mismatches(shown.mismatches)
    if shown.breakdown:
        say(str(shown.breakdown))
    say(escape_controls(shown.sentence))


def show_mismatches(mismatches: "Sequence[Mismatch]") -> None:
    for each in mismatches[:MAX_LINES]:
        before, now = map(escape_controls, each.values)
        say(f"DIFFERS: {escape_controls(each.place)}: {each.name} {before} in the record, {now} now")
    if (more := len(mismatches) - MAX_LINES) > 0:
        say(f"... and {count(more, 'difference')} more")


@click.command("site")
@click.argument("runs", metavar="[RUN]...", nargs=-1, type=PATH)
@click.option("--output", "-o", metavar="DIR", required=True, type=PATH, help="Folder for the site.")
def site(runs: tuple[Path, ...], output: Path) -> None:
    """Make a static site of RUNs: folders, bundles or names that ship. Without RUN, take all runs that ship.

    The site has an index with search, a leaderboard per protocol and measure, a page per algorithm with
    every result and the command that repeats it, and the report of each run. It needs no server and loads
    nothing from elsewhere: open index.html, or copy the folder to any web server.

    \b
    Examples:
      olbench site -o public
      olbench site scw results/quick -o public
      olbench site results/quick scw.olb -o public
    """
    from olbench.report.site import build_site, load_runs

    loaded = load_runs(runs)
    if not loaded:
        say("olbench: no trial of these runs is done yet; run their configs first", err=True)
        sys.exit(4)
    pages = build_site(loaded, output)
    say(f"{count(pages, 'page')} on {count(len(loaded), 'run')}: open {output / 'index.html'}", err=True)
