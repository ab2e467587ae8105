"""A stream whose labels arrive when its table says."""

import numpy as np
import pytest

from olbench import load_dataset, make_algorithm, online_pass, run
from olbench.learners.schedules import make_schedule
from olbench.records import ledger
from tests.refusals import find_wrong

N = 300
HOW = {"label": "label", "time": "time", "arrival": "known"}


@pytest.fixture
def table(tmp_path, cache_folder):
    def write(waits, name="my.csv"):
        rng = np.random.default_rng(5)
        X = rng.standard_normal((N, 3))
        y = np.where(X @ [1.0, -1.0, 0.5] > 0, 1, -1)
        lines = ["time,a,b,c,known,label"]
        for k, wait in enumerate(waits):
            known = "" if wait is None else k + wait
            lines.append(",".join(map(str, (k, *X[k].tolist(), known, y[k]))))
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


def play(folder, path, **changes):
    base = {"protocol": "stream", "algorithms": ["perceptron", "arow"]}
    run({**base, "datasets": [{"path": str(path), **HOW}], **changes}, folder, jobs=1)
    return {r["algorithm"]: r for r in ledger.current(folder).values() if r["role"] == "report"}


def test_labels_are_learnt_when_they_arrive_and_the_baselines_see_the_same(table, tmp_path, rng):
    waits = [None if rng.random() < 0.1 else int(wait) for wait in rng.integers(0, 40, N)]
    path = table(waits)
    records, data = play(tmp_path / "out", path), load_dataset(path, **HOW)
    arrivals = [N + 1 if w is None or k + w > N - 1 else max(k + 1, k + w) for k, w in enumerate(waits)]
    schedule = make_schedule(np.array(arrivals))
    for id in ("perceptron", "arow", "no-change", "majority-so-far"):
        result = online_pass(make_algorithm(id), data.X, data.y, order=schedule)
        assert (records[id]["mistakes"], records[id]["updates"]) == (result.mistakes, result.updates)
        assert records[id]["labels"] == sum(arrival <= N for arrival in arrivals)
    assert records["arow"]["no_change_mistakes"] == records["no-change"]["mistakes"]
    assert records["arow"]["majority_mistakes"] == records["majority-so-far"]["mistakes"]


def test_a_tuning_knows_no_label_that_arrives_after_its_prefix(table, tmp_path):
    grid = {"id": "pa1", "grid": {"C": [0.01, 1.0]}}
    path = table([20] * N)
    play(tmp_path / "out", path, algorithms=[grid], tuning={"search": "grid", "prefix": 0.2})
    data, end = load_dataset(path, **HOW), 60
    schedule = make_schedule(np.arange(end) + 20)
    for record in ledger.current(tmp_path / "out").values():
        if record["role"] == "tune" and record["algorithm"] == "pa1":
            result = online_pass("pa1", data.X, data.y, schedule, **record["params"])
            assert (record["n"], record["mistakes"]) == (end, result.mistakes)


def test_what_arrivals_do_not_go_with_is_refused(table, tmp_path):
    cases = [
        ("a", [2] * N, {"delay": 3}, "a has a column of arrival times; remove either delay or arrival"),
        ("b", [N] * N, {}, "no label of b arrives before the last row"),
        ("c", [None] * N, {}, "no label of c arrives before the last row"),
    ]

    def act(name, waits, changes):
        play(tmp_path / "out", table(waits, f"{name}.csv"), **changes)

    assert find_wrong(cases, act) == []
    assert not (tmp_path / "out").exists()
