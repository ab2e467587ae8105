"""olbench bundle, verify and site: share a run, and check one that somebody shared."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olbench.cli.flags import COUNT, FILE, JOBS, NUMBER, PATH, QUIET, TRUST, format_flag
from olbench.cli.output import MAX_LINES, refuse_overwriting, say
from olbench.errors import UserError, count, escape_controls

if TYPE_CHECKING:
    from olbench.engine.verification import VerifiedRun, VerifiedTrial
    from olbench.records.compare import Mismatch

PROBABILITY = click.FloatRange(0, 1, min_open=True)


@click.command("bundle")
@click.argument("run", metavar="RUN", type=PATH)
@click.option("--output", "-o", type=FILE, help="The file to write, by default NAME.olb.")
def bundle(run: Path, output: Path | None) -> None:
    """Write RUN, a folder or the name of a run that ships, as one file that others can read and check.

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

    refuse_overwriting(output, run)
    bundled = api.bundle(run, output)
    held = f"{count(bundled.trials, 'trial')} on {count(bundled.datasets, 'data set')}"
    say(f"{bundled.path}: {held}, {show_bytes(bundled.bytes)}")
    if not bundled.is_complete:
        say("the run is not complete; the bundle has the finished trials", err=True)
    click.echo(f"next: olbench verify {bundled.path}")


@click.command("verify")
@click.argument("run", metavar="RUN", type=PATH)
@click.option("--trials", metavar="N", type=COUNT, help="How many trials to run again, by default 20.")
@click.option("--trial", metavar="KEY", help="Run only the trial whose key begins with KEY.")
@click.option(
    "--confidence",
    metavar="P",
    type=PROBABILITY,
    help="Draw enough trials to detect altered ones with this probability.",
)
@click.option("--share", metavar="P", type=PROBABILITY, help="The share of altered trials, by default 0.05.")
@click.option(
    "--seed", metavar="N", type=NUMBER, help="Draw the sample of an earlier check; by default a random one."
)
@TRUST
@JOBS
@QUIET
@format_flag("text", "json")
def verify(run: Path, trial: str | None, trust_plugins: bool, quiet: bool, form: str, **sample: Any) -> None:
    """Run a random sample of the trials of RUN again, and compare every number with its record.

    Names, parameters and sizes that RUN states must be those that its config, data and trials give.
    RUN is a folder, a bundle (.olb) or the name of a run that ships. Nobody can predict the sample, so
    altered numbers are detected with the printed probability. Trials whose data is not available, or whose
    algorithm has another version now, cannot be checked and are counted separately. Times, and numbers that
    only the record or only the new trial has, are not checked; the last sentence names them.

    --trial runs one trial again and, if it breaks down numerically, explains why.

    Exit codes: 0 if whatever ran again agrees, 1 if a count differs or a statement is wrong, 2 if the record
    contradicts itself, 3 if trials fail, 4 if nothing could run again.

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

    given = {name: value for name, value in sample.items() if value is not None}
    if {"trials", "confidence"} <= given.keys():
        raise UserError("--trials and --confidence both set the size of the sample; give one of them")
    if trial is not None:
        if given or form == "json":
            raise UserError("--trial can only be combined with --trust-plugins and --quiet")
        with show_progress(quiet) as progress:
            one = verification.verify_trial(run, trial, trust_plugins, progress.say)
        show_trial(one)
        sys.exit(1 if one.mismatches else 3 if one.error else 4 if one.not_run else 0)
    with show_progress(quiet) as progress:
        shown = verification.verify(run, trust_plugins=trust_plugins, say=progress.say, **given)
    if form == "json":
        click.echo(json.dumps(make_statement(shown), indent=1))
    else:
        show_run(shown)
    sys.exit(1 if not shown.passed else 3 if shown.failed else 0 if shown.compared else 4)


def show_run(shown: "VerifiedRun") -> None:
    show_mismatches(shown.mismatches)
    for sentence in shown.wrong[:MAX_LINES]:
        say(f"DIFFERS: {escape_controls(sentence)}")
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
    """Make a static site of runs: folders, bundles (.olb) or names. Without RUN, take all runs that ship.

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
