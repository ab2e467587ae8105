"""What a run shows while it runs: how far it is, who leads, and a time left that can be believed."""

import io
import re

import pytest
from rich.console import Console

from olbench.cli.output import show_parts
from olbench.data.compressed import listen_to_reading, open_content
from olbench.engine.activity import Activity, SpokenActivity
from olbench.engine.estimate import Share, TimeLeft
from olbench.engine.progress import Bars, Lines, Progress, make_progress
from olbench.records.quantities import MISTAKE_RATE, Quantity
from olbench.report.table import Best, Table, columns

LONG, SHORT = ("mnist", "arow", "{}"), ("digits", "arow", "{}")


def record(kind=SHORT, seconds=1.0, status="ok", mistakes=10, **more):
    dataset, algorithm, _ = kind
    about = {"dataset": dataset, "algorithm": algorithm, "options": {}, "role": "report", **more}
    return {**about, "status": status, "mistakes": mistakes, "n": 100, "seconds": seconds}


def test_a_long_trial_says_that_short_ones_are_short():
    left = TimeLeft({LONG: Share(2, cost=1000.0), SHORT: Share(500, cost=1.0)}, jobs=1)
    left.take(record(LONG, 10.0), reused=False)
    assert left.seconds(elapsed=10.0, done=10.0) == pytest.approx(10 + 500 * 0.01)


def test_time_between_passes_counts():
    left = TimeLeft({SHORT: Share(101, cost=1.0)}, jobs=1)
    left.take(record(SHORT, 0.001), reused=False)
    assert left.seconds(elapsed=0.3, done=0.1) == pytest.approx(100 * 0.003)


def test_reused_and_failed_trials_are_done_but_say_nothing_about_time():
    left = TimeLeft({LONG: Share(3, cost=1.0)}, jobs=1)
    left.take(record(LONG, 99.0), reused=True)
    left.take(record(LONG, None, status="failed"), reused=False)
    assert left.seconds(elapsed=1.0, done=0.0) == 0.0
    left.take(record(LONG, 4.0), reused=False)
    assert (left.seconds(elapsed=1.0, done=0.0), left.done) == (0.0, 4.0)


def test_the_time_left_is_right_within_a_third_from_the_first_trial_on():
    # The longest first, and every guess of a cost wrong by up to a quarter.
    seconds = {("d", f"a{k}", "{}"): 2.0**-k for k in range(10)}
    shares = {kind: Share(20, cost=s * (1 + 0.25 * (-1) ** k)) for k, (kind, s) in enumerate(seconds.items())}
    left, rest = TimeLeft(shares, jobs=1), 20 * sum(seconds.values())
    for kind, taken in seconds.items():
        for _ in range(20):
            left.take(record(kind, taken), reused=False)
            rest -= taken
            assert left.seconds(left.done, left.done) == pytest.approx(rest, rel=1 / 3, abs=1e-9)


def test_lines_tell_the_best_so_far_and_the_time_left(capsys, monkeypatch):
    monkeypatch.setattr(Lines, "PAUSE", 0.0)
    progress = Lines(MISTAKE_RATE)
    scw1 = ("digits", "scw1", "{}")
    progress.start({SHORT: Share(3, 1.0), scw1: Share(3, 1.0)}, jobs=1)
    for _ in range(2):
        progress.add(record(SHORT, role="tune"))
    assert capsys.readouterr().err.endswith(" s left\n")  # there is no best yet
    progress.add(record(SHORT, mistakes=20))
    progress.add(record(scw1, seconds=60.0))
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("4 of 6 trials, ")
    assert last.endswith(" trials/min, about 2 min left; digits: best scw1 0.1000")


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_rate_and_the_time_left_agree_however_unequal_the_trials(jobs, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    progress = Progress()
    progress.start({LONG: Share(4, cost=1000.0), SHORT: Share(400, cost=1.0)}, jobs=jobs)
    for _ in range(3):
        clock[0] += 10.0 / jobs
        progress.add(record(LONG, 10.0))
        shown = re.fullmatch(r"([\d.]+) trials/s, about ([\d.]+) s left", progress.pace)
        left = 404 - sum(progress.done.values())
        assert left / float(shown[1]) == pytest.approx(float(shown[2]), rel=0.1)
    assert progress.seconds_left == pytest.approx((10 + 400 * 0.01) / jobs, rel=0.01)


def test_the_pace_is_that_of_the_recent_past(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    progress = Progress()
    progress.start({SHORT: Share(1000, cost=1.0)}, jobs=1)
    for wait in [1.0] * 40 + [5.0] * 40:  # others begin to use the machine
        clock[0] += wait
        progress.add(record(SHORT, 1.0))
    assert progress.seconds_left == pytest.approx(920 * 5.0, rel=0.01)


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}])
def test_bars_can_be_read_without_colour(environment, monkeypatch):
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    progress = Bars(MISTAKE_RATE)
    progress.bars.start = progress.bars.stop = lambda: None
    progress.start({SHORT: Share(4, 1.0)}, jobs=1)
    progress.add(record())
    screen = Console(width=100, file=io.StringIO(), color_system=None)
    screen.print(progress.bars.get_renderable())
    assert f"digits [{'#' * 6}{'.' * 18}] 1/4" in screen.file.getvalue()


def test_the_seconds_count_on_through_one_activity(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    activity = Activity()
    activity.say("compiling 3 kernels once: 0 done (covariance, root)")
    clock[0] = 15.0
    activity.say("compiling 3 kernels once: 1 done, about 8 s left (root)")
    assert activity.started == 0.0
    activity.say("preparing the trials")
    assert activity.started == 15.0


def test_a_terminal_that_cannot_redraw_gets_lines(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(make_progress(False, MISTAKE_RATE), Bars)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(make_progress(False, MISTAKE_RATE), Lines)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    show_parts(Table("results", columns("algorithm"), [(Best("arow"),)]))
    assert "\x1b" not in capsys.readouterr().out


def test_entries_that_differ_only_in_their_options_are_not_averaged():
    progress = Progress(MISTAKE_RATE)
    full, diagonal = ({"covariance": each} for each in ("full", "diag"))
    progress.start({("digits", "arow", str(each)): Share(1, 1.0) for each in (full, diagonal)}, jobs=1)
    progress.add(record(mistakes=10, options=full))
    progress.add(record(mistakes=30, options=diagonal))
    assert progress.best("digits") == "best arow 0.1000"


def test_the_best_is_the_highest_where_higher_is_better():
    progress = Progress(Quantity("hits", "hits", 1, better="higher"))
    kinds = [("digits", id, "{}") for id in ("arow", "scw1", "pa")]
    progress.start(dict.fromkeys(kinds, Share(1, 1.0)), jobs=1)
    for kind, hits in zip(kinds, (3, 5, None), strict=True):
        progress.add(record(kind, hits=hits))
    assert progress.best("digits") == "best scw1 5.0"


def test_what_takes_a_while_is_said_with_its_share(capsys, tmp_path):
    activity = SpokenActivity()
    try:
        activity.speak()
        assert capsys.readouterr().err == ""
        activity.say("loading big, 2 of 3")
        path = tmp_path / "big.libsvm"
        path.write_bytes(b"+1 1:1\n" * 1000)
        with listen_to_reading(activity.follow_reading), open_content(path) as stream:
            stream.read(6)  # the first bytes, which tell the format, come alone
            stream.read(3494)
            activity.speak()
    finally:
        activity.close()
    assert capsys.readouterr().err.startswith("loading big, 2 of 3, 50% (")
