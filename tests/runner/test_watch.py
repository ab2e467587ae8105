"""Watching a run from elsewhere, and further looks at the same data."""

import json
import os
import re
from pathlib import Path

import pytest

from olbench.engine.budget import refuse_excess
from olbench.engine.watching import Watch, read_standing
from olbench.errors import UserError
from olbench.trials import locks
from olbench.trials.ledger import LOCK

LOOK = ("--set", "permutations=2", "--set", "curve=3", "--quiet", "--jobs", "1")


@pytest.fixture
def data():
    lines = ["+1 1:0.5 2:1", "-1 1:-0.5 2:3", "+1 1:1 2:0.1", "-1 2:4"]
    Path("my.libsvm").write_text("\n".join(lines * 3) + "\n")
    return "my.libsvm"


@pytest.fixture
def look(here, data):
    """Return a function that looks at the data with some algorithms and gives the folder."""

    def run(algorithms, *more):
        code, _, err = here("run", data, "--algorithms", algorithms, *LOOK, *more)
        assert code == 0, err
        return Path("results") / data

    return run


def labels(folder):
    return [cell["label"] for cell in json.loads((folder / "run.json").read_text())["cells"]]


def test_looks_with_other_algorithms_add_up(look, records):
    look("perceptron")
    folder = look("pa1")
    assert labels(folder) == ["perceptron", "pa1"]
    before = (folder / "trials.jsonl").read_bytes()
    assert labels(look("pa1,perceptron")) == ["pa1", "perceptron"]
    assert (folder / "trials.jsonl").read_bytes() == before
    assert len(records(folder)) == 4


def test_a_look_with_other_settings_stands_alone_and_says_so(look, here, data):
    look("perceptron")
    code, _, err = here("run", data, "--algorithms", "pa1", *LOOK, "--set", "seed=7")
    assert code == 0
    assert "had perceptron with other settings (seed); this run leaves them out" in err
    assert labels(Path("results") / data) == ["pa1"]


def stop_halfway(folder):
    """Make a finished run look as if it were still going on, with one trial done."""
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**info, "end": None}))
    ledger = folder / "trials.jsonl"
    lines = ledger.read_text().splitlines(keepends=True)
    ledger.write_text(lines[0] + lines[1][:20])
    return lines


def at_work(folder):
    """Hold the lock of a run, as the process that works on it does."""
    return locks.hold(folder / LOCK, locks.describe_process())


def test_watch_shows_how_far_a_run_is_and_its_tables_so_far(look, here):
    folder = look("perceptron,pa1")
    lines = stop_halfway(folder)
    code, out, _ = here("watch", folder, "--once")
    assert code == 0
    line = (
        rf"{folder}: 1 of 4 trials; the last trial ended .* ago, and no run is at work here; the same `olbe"
    )
    assert re.match(line, out)
    assert re.search(r"^my.libsvm +1 +4 +█{6}░{18}$", out, re.MULTILINE)
    assert "Results, best first" in out
    (folder / "trials.jsonl").write_text("".join(lines))
    assert "4 of 4 trials" in here("watch", folder, "--once")[1]


def test_watch_ends_with_the_run(look, here, monkeypatch):
    folder = look("perceptron,pa1")
    code, out, _ = here("watch", folder)
    assert (code, ": 4 of 4 trials; the run ended at 2" in out) == (0, True)
    lines, info = (folder / "trials.jsonl").read_text().splitlines(keepends=True), folder / "run.json"
    finished = info.read_text()
    stop_halfway(folder)
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        (folder / "trials.jsonl").write_text("".join(lines[: 1 + len(waits)]))
        if len(waits) == 3:
            info.write_text(finished)

    monkeypatch.setattr("time.sleep", sleep)
    with at_work(folder):
        code, out, _ = here("watch", folder, "--every", "7")
    assert (code, waits) == (0, [7.0] * 3)
    assert [line.split(" of ")[0] for line in out.splitlines()[:3]] == ["1", "2", "3"]
    assert " trials/s, about " in out


def test_ctrl_c_ends_watching_without_a_word(look, here, monkeypatch):
    folder = look("perceptron")
    stop_halfway(folder)

    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupt)
    with at_work(folder):
        code, _, err = here("watch", folder)
    assert (code, err) == (0, "")


@pytest.mark.parametrize("is_terminal", [False, True])
def test_watch_ends_if_the_run_was_stopped(look, here, monkeypatch, is_terminal):
    folder = look("perceptron")
    stop_halfway(folder)
    (folder / LOCK).write_text(locks.describe_process())  # what a process that was killed leaves behind
    if is_terminal:
        monkeypatch.setattr("olbench.cli.watch.can_redraw", lambda stream: True)
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("it waits for nobody"))
    code, out, _ = here("watch", folder)
    assert code == 0
    assert "no run is at work here; the same `olbench run` command resumes it" in " ".join(out.split())


def test_a_lock_of_another_machine_counts_as_held_though_it_cannot_be_felt(tmp_path):
    path = tmp_path / LOCK
    assert not locks.is_held(path)
    for note, is_held in (("", False), (locks.describe_process(), False), ("process 7 on elsewhere\n", True)):
        path.write_text(note)
        assert locks.is_held(path) == is_held
    with locks.hold(path, ""):
        assert locks.is_held(path)
    assert not locks.is_held(path)


def test_a_folder_that_is_no_run_cannot_be_watched(here):
    code, _, err = here("watch", "nowhere", "--once")
    assert code == 2
    assert err.startswith("olbench: there is no run 'nowhere'")


def test_the_rate_of_a_watch_is_measured_between_looks(look, monkeypatch):
    folder = look("perceptron,pa1")
    lines = stop_halfway(folder)
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    watch = Watch(folder)
    with at_work(folder):
        watch.look()
        clock[0] = 4.0
        (folder / "trials.jsonl").write_text("".join(lines[:3]))
        standing = watch.look()
    assert watch.describe(standing) == "3 of 4 trials, 0.5 trials/s, about 2.0 s left"


def test_a_tuning_that_has_decided_counts_in_full(here, config):
    text = "{permutations: 2, datasets: [breast-cancer], algorithms: [pa1], tuning: {search: grid}}"
    assert here("run", config(text), "--out", "out", "--quiet")[0] == 0
    standing = read_standing(Path("out"))
    assert standing.done == standing.totals
    assert standing.done.total() == len((Path("out") / "trials.jsonl").read_text().splitlines())


def test_exclusive_times_are_shown_and_shared_ones_are_not(here, data):
    words = ("run", data, "--algorithms", "perceptron", *LOOK[:4])
    assert "seconds" not in here(*words)[1]
    assert re.search(r"mistake rate +updates +seconds", here(*words, "--timing", "exclusive")[1])


def test_a_finished_run_needs_no_memory(here, data, monkeypatch):
    words = ("run", data, "--algorithms", "arow", *LOOK)
    assert here(*words)[0] == 0
    monkeypatch.setattr("olbench.engine.budget.memory_limit", lambda: 1)
    code, out, _ = here(*[word for word in words if word != "--quiet"])
    assert (code, out) == (0, f"nothing to do: all 2 trials are in {Path('results') / data}\n")
    code, _, err = here(*words, "--set", "permutations=3")
    assert (code, "needs" in err) == (2, True)


def test_refusal_knows_what_is_left(here, data, monkeypatch):
    from olbench.config.reading import data_config
    from olbench.data.source import find_sources
    from olbench.protocols import get_protocol

    plan = data_config(data, "arow", (), ("permutations=2", "curve=3"))
    cells = get_protocol(plan.protocol).cells(plan, find_sources(plan.datasets, skip_missing=False)[0])
    monkeypatch.setattr("olbench.engine.budget.memory_limit", lambda: 1)
    os.makedirs("empty")
    for folder in (None, Path("nowhere"), Path("empty")):
        with pytest.raises(UserError, match="of memory"):
            refuse_excess(cells, 1, folder)


def test_the_record_says_how_large_the_larger_class_is(look):
    folder = look("perceptron")
    info = json.loads((folder / "run.json").read_text())
    assert info["data"]["my.libsvm"]["majority"] == 6
