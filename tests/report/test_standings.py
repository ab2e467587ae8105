"""Algorithms that are equal are ranked once, and undefined means not at all."""

import json
import re

import numpy as np
import pytest

import olbench
from olbench.analysis.results import load_results
from olbench.records.quantities import MISTAKE_RATE
from olbench.report import words
from olbench.report.model import Report
from olbench.report.site import make_leaderboard
from olbench.report.tables.summary import in_words, winner_sentence
from tests.report import made
from tests.report.pages import render


def test_algorithms_that_are_equal_in_every_count_are_ranked_once():
    entries = []
    for place, dataset in enumerate(("splice", "svmguide3", "synthetic")):
        rates = {"perceptron": 0.30, "averaged-perceptron": 0.30, "pa": 0.25, "arow": 0.25}
        for id, rate in rates.items():
            # AROW has the rates of PA, but other updates: it is another algorithm.
            updates = np.array([900, 901]) if id == "arow" else np.array([1000, 1001 + place])
            entries.append(made.entry(dataset, id, [rate, rate + 0.01], updates))
    results = made.results(entries)
    assert results.twins == {"averaged-perceptron": "perceptron"}
    values = {"perceptron": [0.3, 0.31], "averaged-perceptron": [0.3, 0.32]}
    assert made.results([made.entry("splice", id, own) for id, own in values.items()]).twins == {}
    report = Report(results, None)
    assert report.ranks == {"perceptron": 3.0, "pa": 1.5, "arow": 1.5}
    wins = {each.label: each.wins for each in report.standings}
    assert list(wins.items()) == [("pa", 3), ("arow", 3), ("perceptron", 0)]
    assert report.leader == "pa, arow on 3 of 3 data sets each"
    assert "pa, arow each have the lowest mistake rate on 3 of 3 data sets." in winner_sentence(report)
    assert not isinstance(report.across, str)
    assert report.across.labels == ("perceptron", "pa", "arow")
    board = make_leaderboard(report, MISTAKE_RATE)
    assert board["mean rank"] == [1.5, 1.5, 3.0, 3.0]
    said = "Identical results, ranked as one: perceptron = averaged-perceptron"
    assert board.note.endswith(f"{said}.")
    assert said in render(report, "text")
    assert said in render(report, "html")
    assert json.loads(render(report, "json"))["equal"] == results.twins
    # Their rows stay in the results, both of them bold if one is.
    assert {row["label"] for row in json.loads(render(report, "json"))["rows"]} == set(rates)


def test_algorithms_that_differ_in_a_measure_only_are_ranked_apart(tmp_path):
    """With a = 4 and r = 4, AROW makes the margins of a = 1 and r = 1, but twice as wide a distribution."""
    algorithms = [
        {"id": "arow", "name": f"wide-{a}", "a": float(a), "params": {"r": float(r)}}
        for a, r in ((1, 1), (4, 4), (1, 1))
    ]
    algorithms[2]["name"] = "again"
    config = {"datasets": ["breast-cancer"], "algorithms": algorithms, "permutations": 2}
    twins = {"wide-4": "wide-1", "again": "wide-1"}
    assert olbench.run(config, tmp_path / "counts", jobs=1).twins == twins
    results = olbench.run({**config, "measures": ["log_loss"]}, tmp_path / "losses", jobs=1)
    assert results.twins == {"again": "wide-1"}


def test_an_undefined_mean_is_neither_ranked_nor_best():
    entries = []
    for dataset, rate in (("splice", 0.3), ("svmguide3", 0.2), ("synthetic", np.nan)):
        entries.append(made.entry(dataset, "perceptron", [rate, rate]))
        entries.append(made.entry(dataset, "arow", [0.25, 0.25]))
    report = Report(made.results(entries), None)
    assert (report.complete, report.ranks) == (2, {"perceptron": 1.5, "arow": 1.5})
    assert [best.label for best, _ in report.winners] == ["arow", "perceptron", "arow"]
    assert {each.label: each.wins for each in report.standings} == {"perceptron": 1, "arow": 2}
    alone = winner_sentence(Report(made.results(entries[-2:]), None))
    assert alone.endswith("on synthetic, 25.0%; no other algorithm has this measure.")


def test_an_algorithm_that_diverges_in_some_permutations_is_never_the_best():
    diverges = [0.1, np.nan, 0.1, np.nan, 0.1, 0.1]
    steady = {"arow": [0.2, 0.2, 0.2, 0.2, 0.2, 0.2], "pa": [0.2, 0.3, 0.3, 0.3, 0.3, 0.3]}
    given = {"perceptron": diverges, **steady}
    results = made.results([made.entry("splice", id, rates) for id, rates in given.items()])
    best, against, differences = results.within["splice"]
    assert (best, against, [each.label for each in differences]) == ("arow", "arow", ["pa"])
    assert results.best == {"splice": {"arow"}}
    nothing = made.results([made.entry("splice", id, diverges) for id in given])
    assert (nothing.within, nothing.best) == ({}, {"splice": set()})


def test_one_permutation_is_described_without_a_test():
    for size in (1, 2):
        rates = {"arow": [0.2, 0.21], "pa": [0.3, 0.33]}
        results = made.results([made.entry("splice", id, own[:size]) for id, own in rates.items()])
        assert ("Holm" in in_words(Report(results, None))) == (size == 2)


def test_every_variant_of_an_algorithm_is_named():
    labels = ("arow", "arow-native", "arow [diag]")
    entries = [made.entry("splice", "arow", [0.25, 0.25], label=label) for label in labels]
    text = in_words(Report(made.results(entries), None))
    assert text.startswith("We compared 3 algorithms (AROW, arow-native, AROW [diag]), ")


def draw_results(seed):
    """Return rates of some algorithms on one data set: some near each other, some equal, some far."""
    random = np.random.default_rng(seed)
    size, permutations = int(random.integers(2, 9)), int(random.choice([2, 4, 5, 8, 20]))
    shared, levels = random.normal(0, 0.01, permutations), random.choice([0, 0.002, 0.006, 0.02], size)
    entries = []
    for place, level in enumerate(levels):
        rates = np.round(0.2 + level + shared + random.normal(0, 0.005, permutations), 3)
        updates = np.full(permutations, 100 + place)
        entries.append(made.entry("splice", "pa", rates, updates, label=f"a{place}"))
    return made.results(entries)


@pytest.mark.parametrize("named", [False, True])
def test_what_the_first_sentence_calls_worse_is_never_bold(named):
    """And what is neither worse nor better nor practically equal is bold, if there are five permutations."""
    seen = set()
    for seed in range(150):
        results = draw_results(seed)
        if named:
            results = results.against(f"a{seed % len(results.labels)}")
        text, [found], [bold] = (
            winner_sentence(Report(results, None)),
            results.within.values(),
            results.best.values(),
        )
        called = {word: text_of(text, word) for word in ("worse", "better")}
        worse, better = (set(re.findall(r"a\d", said)) for said in called.values())
        assert found.best in bold
        assert not worse & bold
        assert "more" in called["worse"] or worse == {
            each.label for each in found.differences if each.significant and each.mean > 0 and not each.equal
        }
        if not named:
            assert not better
            is_short = results.entries[0].done < 5
            level = {each.label for each in found.differences if not each.significant}
            assert is_short or bold == {found.best} | level
        seen.add((bool(worse), bold == {*results.labels}))
    assert len(seen) >= 3


def text_of(text, kind):
    """Return the part of a sentence that lists who is worse or better."""
    return " ".join(part for part in re.split(r"; |\. ", text) if re.search(rf"\d( points)? {kind} \(", part))


def test_with_fewer_than_five_permutations_only_the_best_is_bold_and_the_note_says_so():
    rates = np.array([0.2, 0.21, 0.22, 0.23, 0.24])
    for size in (4, 5):
        entries = [
            made.entry("splice", id, own[:size]) for id, own in (("arow", rates), ("pa", rates[::-1] + 0.001))
        ]
        results = made.results(entries)
        assert (len(results.best["splice"]) == 1) == (size == 4)
        note = "With fewer than 5 permutations, only the best is marked"
        assert (note in render(Report(results, None))) == (size == 4)


def test_runs_that_draw_their_data_anew_say_so():
    results = load_results("cw-synthetic")
    assert results.protocol.id == "fresh"
    assert results.overs == ("draws",)
    assert "over new draws of the data" in words.describe_bold(results)
    assert load_results("libol").overs == ("orders",)
