"""olbench verify: whether a recorded run is true, from a random sample of its trials."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.cli.flags import JOBS, QUIET, TRUST, format_flag
from olbench.cli.output import say
from olbench.errors import UserError, count, escape_controls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from olbench.engine.verification import VerifiedRun, VerifiedTrial
    from olbench.records.compare import Mismatch

MAX_LINES = 20


@click.command("verify")
@click.argument("run", metavar="DIR|NAME|FILE", type=click.Path(path_type=Path))
@click.option("--trials", type=click.IntRange(1), help="How many trials run again [default: 20].")
@click.option("--trial", metavar="KEY", help="Run only the trial with this key, or beginning of a key.")
@click.option(
    "--confidence", type=click.FloatRange(0, 1, min_open=True),
    help="Take as many trials as find a share of altered ones with this probability.",
)  # fmt: skip
@click.option(
    "--share", type=click.FloatRange(0, 1, min_open=True), default=0.05, show_default=True,
    help="The share of altered trials that is to be found.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(0), help="Draw the sample of an earlier check [default: random].")
@TRUST
@JOBS
@QUIET
@format_flag("text", "json")
def command(
    run: Path, trials: int | None, trial: str | None, confidence: float | None, share: float,
    seed: int | None, trust_plugins: bool, jobs: int | None, quiet: bool, form: str,
) -> None:  # fmt: skip
    """Run a random sample of the trials of a run again, and compare every count with its record.

    The run is a folder, a bundle (.olb) or the name of one that ships. Nobody can know which trials are
    drawn, so an altered count is found with the probability that is printed. Trials whose data is not
    here, or whose algorithm has another version now, are counted apart, and nothing is said about them.
    Times are not judged. --trial runs one trial, and says why it breaks down if it does.

    Exit codes: 1 if a count differs, 3 if trials fail, 4 if nothing could run again.

    \b
    Examples:
      olbench verify quick.olb
      olbench verify scw.olb --confidence .99 --share .05
      olbench verify scw.olb --format json > scw-verified.json
      olbench verify quick --trial 3f2a
    """
    from olbench import api
    from olbench.engine.activity import show_activity
    from olbench.report.verification import make_statement

    if trials is not None and confidence is not None:
        raise UserError("--trials and --confidence both say how many trials run again; give one of them")
    if trial is not None:
        if trials or confidence or seed is not None or form == "json":
            raise UserError("--trial can only be combined with --trust-plugins and --quiet")
        with show_activity(quiet) as activity:
            one = api.verify_trial(run, trial, trust_plugins=trust_plugins, say=activity.say)
        show_trial(one)
        sys.exit(1 if one.mismatches else 3 if one.error else 4 if one.not_run else 0)
    with show_activity(quiet) as activity:
        shown = api.verify(
            run, trials=trials, confidence=confidence, share=share, seed=seed,
            trust_plugins=trust_plugins, jobs=jobs, say=activity.say,
        )  # fmt: skip
    if form == "json":
        click.echo(json.dumps(make_statement(shown), indent=1))
    else:
        show(shown)
    sys.exit(1 if not shown.is_true else 3 if shown.failed else 0 if shown.compared else 4)


def show(shown: "VerifiedRun") -> None:
    show_mismatches(shown.mismatches)
    for cell in shown.wrong_cells[:MAX_LINES]:
        say(f"DIFFERS: {escape_controls(cell)}: the trials of its tuning choose other parameters")
    for reason, records in shown.not_rerun.items():
        say(f"not run, {reason}: {count(len(records), 'trial')}: {shown.name_unrun(reason)}")
    if shown.failed:
        say(f"the first error: {escape_controls(str(shown.failed[0]['error']))}")
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
