"""What a run shows while it runs: how far it is, who leads, and a time left that can be believed."""

import io

import pytest
from rich.console import Console

from olbench.data.compressed import listen_to_reading, open_content
from olbench.engine.display import wrap
from olbench.engine.progress import Bars, Lines, Progress
from olbench.records.quantities import MISTAKE_RATE, Quantity

LONG, SHORT, TREE = (
    (*each, "{}", "report") for each in (("mnist", "arow"), ("digits", "arow"), ("elec2", "tree"))
)


def record(kind=SHORT, seconds=1.0, status="ok", mistakes=10, **more):
    dataset, algorithm, _, role = kind
    about = {"dataset": dataset, "algorithm": algorithm, "options": {}, "role": role, **more}
    return {**about, "status": status, "mistakes": mistakes, "n": 100, "seconds": seconds}


def started(kind=Progress, planned=None, costs=None, reused=(), quantity=MISTAKE_RATE):
    planned = planned or {SHORT: 4}
    progress = kind()
    progress.start(planned, costs or dict.fromkeys(planned, 1.0), reused, quantity)
    return progress


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_the_time_left_follows_what_trials_of_each_kind_took(clock):
    """Short trials take longer than their passes, and long ones share the workers."""
    planned = {LONG: 5, SHORT: 501}
    progress = started(planned=planned, costs={LONG: 1000.0, SHORT: 1.0}, reused=[record(LONG)])
    assert progress.state == "running (0.0 s)"
    for kind, seconds in ((SHORT, 0.001), (LONG, 20.0), (LONG, 20.0)):
        clock[0] += 0.01 if kind is SHORT else 10.0
        progress.add(record(kind, seconds))
    assert progress.state == "about 25 s left"  # 2 of 10 s and 500 of .01 s
    clock[0] += 5.0
    assert progress.state == "about 20 s left"
    for kind in (LONG, LONG, *[SHORT] * 500):
        progress.add(record(kind, 0.001))
    assert progress.state == "almost done"


def test_time_to_compile_or_to_start_processes_is_not_the_time_of_trials(clock):
    progress = started(planned={SHORT: 12})
    progress.pace.jobs = 1
    progress.say("compiling arow", ": 1 of 3")
    clock[0] += 90.0
    assert progress.state == "compiling arow: 1 of 3 (90 s)"
    progress.say("")
    for _ in range(2):
        clock[0] += 1.0
        progress.add(record())
    progress.say("starting processes")
    clock[0] += 100.0
    progress.add(record())
    clock[0] += 1.0
    progress.add(record())
    assert progress.state == "about 8.0 s left"


def test_an_algorithm_without_a_record_makes_the_time_left_a_bound(clock):
    progress = started(planned={SHORT: 3, TREE: 2}, costs={SHORT: 1.0, TREE: 10.0})
    clock[0] += 1.0
    progress.add(record())
    assert progress.state == "at least 2.0 s left"
    clock[0] += 90.0
    progress.add(record(TREE, 90.0))
    assert progress.state == "about 92 s left"
    planned = {SHORT: 1, LONG: 3}
    progress = started(planned=planned, costs={SHORT: 1.0, LONG: 10.0})
    clock[0] += 1.0
    progress.add(record())
    assert progress.state == "about 30 s left"  # the same algorithm on other data


def test_a_moment_in_which_the_machine_was_idle_is_not_the_pace_of_the_run(clock):
    kinds = [("digits", f"learner{k}", "{}", "report") for k in range(4)]
    progress = started(planned=dict.fromkeys(kinds, 105))
    progress.pace.jobs = 2
    for kind, wait in zip(kinds, (0.001, 0.01, 0.01, 0.01), strict=True):
        for _ in range(5 if kind is not kinds[3] else 1):
            clock[0] += wait
            progress.add(record(kind, 0.0001))
    left = [100 * wait for wait in (0.001, 0.01, 0.01)] + [1.04]
    assert progress.state == f"about {sum(left):.1f} s left"


def test_lines_count_trials_or_say_what_goes_on(capsys):
    progress = started(Lines, {SHORT: 3}, reused=[record()])
    progress.PAUSE = 3600.0
    try:
        progress.speak()
        assert capsys.readouterr().err == "1 of 3 trials, running (0.0 s)\n"
        progress.add(record())
        for _ in range(2):  # nothing new is not said again
            progress.speak()
        assert capsys.readouterr().err == "2 of 3 trials, about 0.0 s left\n"
        progress.say("compiling arow")
        progress.speak()
        assert capsys.readouterr().err == "2 of 3 trials, compiling arow (0.0 s)\n"
    finally:
        progress.close()


def test_bars_can_be_read_without_colour(monkeypatch):
    monkeypatch.setattr(Bars, "show", lambda self: None)
    progress = started(Bars, {LONG: 1, SHORT: 4}, {LONG: 12.0, SHORT: 1.0})
    progress.add(record())
    screen = Console(width=100, file=io.StringIO(), color_system=None)
    screen.print(progress.bars.get_renderable())
    mnist, digits, everything = screen.file.getvalue().splitlines()
    assert f"digits [{'#' * 6}{'.' * 18}] 1/4 best arow 0.1000" in digits
    assert (mnist[:5], everything[:3]) == ("mnist", "all")
    assert f"[{'#' * 5}{'.' * 19}] 1/5 about" in everything


def test_what_takes_a_while_is_said_with_its_share(capsys, tmp_path):
    activity = Lines()
    try:
        activity.speak()
        assert capsys.readouterr().err == ""
        activity.say("loading big, 2 of 3")
        path = tmp_path / "big.libsvm"
        path.write_bytes(b"+1 1:1 \n" * (1 << 17))
        with listen_to_reading(activity.follow_reading), open_content(path) as stream:
            stream.read(1 << 19)
            activity.speak()
    finally:
        activity.close()
    assert capsys.readouterr().err.startswith("loading big, 2 of 3, 50% (")
    activity.stop.set()
    assert activity.state == "stopping"


def test_the_best_is_the_highest_where_higher_is_better_and_options_are_not_averaged():
    full, diagonal = ({"covariance": each} for each in ("full", "diag"))
    kinds = [("digits", "arow", str(each), "report") for each in (full, diagonal)]
    kinds.append(("digits", "pa", "{}", "report"))
    progress = started(planned=dict.fromkeys(kinds, 1), quantity=Quantity("hits", "hits", 1, better="higher"))
    progress.add(record(kinds[0], hits=3, options=full))
    progress.add(record(kinds[1], hits=5, options=diagonal))
    progress.add(record(kinds[2], hits=None))
    assert progress.best("digits") == "best arow 5.0"


def test_lines_on_a_terminal_end_between_words_and_a_log_has_one_line_per_message(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    terminal = io.StringIO()
    sentence = "olbench: `olbench run` has no option '--algo' (did you mean it?); see `olbench run --help`"
    assert wrap(sentence, terminal) == sentence
    terminal.isatty = lambda: True
    assert wrap(sentence, terminal) == sentence.replace("see `", "see\n`")
    for text in ("", "short", "two\nlines\n\nand  more", "x" * 200):
        assert wrap(text, terminal) == text
    lines = wrap("licence      " + "word " * 40, terminal, indent=13).split("\n")
    assert max(map(len, lines)) <= 80
    assert {line[:13] for line in lines[1:]} == {" " * 13}
