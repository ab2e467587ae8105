"""Cross-validation tests on rows that neither trained nor tuned, whichever way it tunes."""

import json
from pathlib import Path

import numpy as np
import pytest

from olbench import load_results
from olbench.algorithms.spec import AlgorithmSpec
from olbench.data.spec import DatasetSpec
from olbench.protocols import make_protocol
from olbench.protocols.crossval import (
    CrossvalExperiment,
    CrossValidation,
    CrossvalTuning,
    divide,
    split_stratified,
    thin_positives,
)
from olbench.protocols.specs import Unread
from olbench.records.record import success
from olbench.structs import read_plain
from tests.examples import make_source

pytestmark = pytest.mark.usefixtures("own_folder")
DIAGONAL = {"covariance": "diag", "projection": "kl", "a": 1.0}
SMALL = """\
protocol: crossval
seed: 3
folds: 4
repeats: 2
epochs: 3
duplicates: remove
datasets: [breast-cancer]
covariance: diag
algorithms:
  - {id: cw, name: stdev, grid: {phi: [0.1, 1.0]}}
  - perceptron
  - {id: svm, grid: {C: [0.01, 1.0]}}
tuning: {search: nested, also: [paper, oracle], ties: middle}
"""


def noise(n=300, d=30, seed=0):
    random = np.random.default_rng(seed)
    return random.standard_normal((n, d)), random.permutation(np.resize([1.0, -1.0], n))


def cell_of(source, way="nested", epochs=3, folds=5, repeats=1, phi=(0.1, 1.0), split=0, **entry):
    spec = AlgorithmSpec("cw", grid={"phi": phi}, options=DIAGONAL, settings=entry)
    settings = {"folds": folds, "repeats": repeats, "epochs": epochs, "duplicates": "remove"}
    tuning = CrossvalTuning(way, "middle", seed=split)
    plan = CrossvalExperiment((DatasetSpec(source.name),), (spec,), tuning=tuning, **settings)
    [cell] = CrossValidation(plan).cells([source])
    return cell


def test_every_row_is_tested_once_and_never_trained_on_in_its_fold():
    source = make_source("made", *noise(53))
    rows = np.arange(53)
    folds = [divide(source, rows, 1, 10, number) for number in range(10)]
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(53))
    for fold in folds:
        assert sorted([*fold.train, *fold.test]) == list(range(53))
    again = divide(source, rows, 1, 10, 10)
    assert again.test.tolist() != folds[0].test.tolist(), "the second division is another one"
    labels = np.resize([1.0, 1.0, 1.0, -1.0], 100)
    split = split_stratified(np.arange(100), labels, np.random.default_rng(0))
    assert (np.count_nonzero(labels[split.test] > 0), split.test.size) == (15, 20)
    labels = np.resize([0.0, 1.0, 2.0], 60)
    split = split_stratified(np.arange(60), labels, np.random.default_rng(0))
    assert np.bincount(labels[split.test].astype(int)).tolist() == [4, 4, 4]
    source.test_from = 40  # a split that the data comes with is kept
    division = divide(source, rows, 1, 10, 2)
    assert (division.train.tolist(), division.test.tolist()) == (list(range(40)), list(range(40, 53)))


def test_duplicates_and_too_few_rows_are_refused(here, config):
    Path("twins.libsvm").write_text("+1 1:1\n-1 1:2\n" * 5)
    text = SMALL.replace("[breast-cancer]", "[twins.libsvm]")
    for setting, words in {
        "duplicates=refuse": "twins.libsvm has 8 exact duplicates of other rows",
        "folds=3": "twins.libsvm has 2 rows to divide into 3 folds; lower 'folds'",
        "tuning.search=paper": "twins.libsvm has 2 rows, but search: paper needs at least 3",
    }.items():
        code, _, err = here("run", config(text), "--set", "folds=2", "--set", setting, "--out", "out")
        assert (code, words in err, Path("out").exists()) == (2, True, False), err


def test_a_report_says_how_many_rows_remained_without_duplicates(here, config):
    Path("twins.libsvm").write_text("".join(f"{k % 2 * 2 - 1} 1:{k}\n" for k in (*range(12), *range(4))))
    text = SMALL.partition("algorithms")[0].replace("[breast-cancer]", "[twins.libsvm]")
    for setting, size in {"remove": "12 of 16", "keep": "16"}.items():
        words = "--set", f"duplicates={setting}", "--out", setting
        here.out("run", config(f"{text}algorithms: [perceptron]\n"), *words)
        assert f"twins.libsvm ({size} \u00d7 1)" in here.out("report", "--full", setting)


def test_a_config_that_was_read_before_its_protocol_was_loaded_is_read_again():
    plan = CrossvalExperiment((DatasetSpec("usps"),), (AlgorithmSpec("arow"),), folds=3)
    assert make_protocol(read_plain(Unread, plan.plain(), "config")).experiment == plan


def test_labels_without_meaning_give_one_half():
    """Only the oracle, which looks at the test rows, does better than guessing."""
    errors = {}
    for way in ("nested", "paper", "oracle"):
        sources = [make_source("noise", *noise(300, 30, seed)) for seed in range(4)]
        cells = [cell_of(source, way, epochs=5, phi=(0.01, 0.1, 1.0, 3.0)) for source in sources]
        errors[way] = np.mean([error_of(cell) for cell in cells])
    assert abs(errors["nested"] - 0.5) < 0.03
    assert abs(errors["paper"] - 0.5) < 0.03
    assert errors["oracle"] < min(errors["nested"], errors["paper"])


def error_of(cell):
    known = {}
    for _ in range(2):
        for trial in cell.stage(known).trials:
            if trial.key not in known:
                outcome = cell.protocol.run(trial, cell.source, lambda: False)
                known[trial.key] = success(trial, outcome, cell.protocol.numbered, 0.0)
    reported = [known[trial.key] for trial in cell.stage(known).reported]
    return sum(r["errors"] for r in reported) / sum(r["n"] for r in reported)


def test_tfidf_is_what_weighing_by_hand_gives():
    """The weights are those of the training rows alone."""
    random = np.random.default_rng(0)
    X = random.poisson(0.3, (300, 40)).astype(float)
    y = random.permutation(np.resize([1.0, -1.0], 300))  # the hardest to learn
    source = make_source("made", X, y)
    fold = divide(source, np.arange(300), 0, 5, 1)
    X[fold.test[:30], ::2] += 1  # words that are rare in training rows
    present = np.count_nonzero(X[fold.train], axis=0)
    weighted = X * (np.log((1 + fold.train.size) / (1 + present)) + 1)
    weighted /= np.linalg.norm(weighted, axis=1, keepdims=True)
    only = {"epochs": 3, "phi": (0.1,)}
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)

    def errors(X, **entry):
        cell = cell_of(make_source("made", X, y), **only, **entry)
        outcome = cell.protocol.run(cell.report_trials({})[1], cell.source, lambda: False)
        return outcome.arrays["wrong"].tolist(), outcome.measured["training_errors"]

    assert errors(X, weights="tfidf") == errors(weighted) != errors(X)
    assert errors(X, weights="unit") == errors(unit)
    copied, plain = (cell_of(source, **only, **entry).memory for entry in ({"weights": "unit"}, {}))
    assert copied - plain == source.bytes, "a trial has a copy of its own"


def test_a_share_of_the_positive_rows_stays_and_all_negative_ones():
    labels = np.resize([1.0, -1.0], 200)
    kept = thin_positives(np.arange(200), labels, 0.25, np.random.default_rng(0))
    assert np.count_nonzero(labels[kept] > 0) == 25
    assert np.count_nonzero(labels[kept] < 0) == 100
    assert np.array_equal(kept, np.unique(kept))
    cell = cell_of(make_source("made", *noise(200, 8)), positives=0.25)
    known = [cell.protocol.run(trial, cell.source, lambda: False) for trial in cell.report_trials(cell.start)]
    assert sum(outcome.measured["n"] for outcome in known) == 125


def test_what_is_usual_leaves_the_key_of_a_trial_as_it_was():
    source = make_source("made", *noise())
    entries = ({}, {"weights": "none", "positives": 1.0}, {"weights": "tfidf"}, {"positives": 0.5})
    plain, usual, *others = (cell_of(source, **entry).report_trials({})[0].key for entry in entries)
    assert plain == usual
    assert len({plain, *others}) == 3


def test_a_wrong_entry_is_refused_with_its_place(here, config):
    variation = SMALL.replace("  - perceptron\n", "  - {id: perceptron, %s}\n")
    online = "datasets: [breast-cancer]\nalgorithms: [svm]\n"
    share = "positives must be a number above 0 and at most 1, not"
    words = "11: weights must be one of none, unit, tfidf, not 'tf' (did you mean 'tf"
    for text, message in (
        (variation % "weights: tf", words),
        (variation % "positives: 0", f"11: {share} 0"),
        (variation % "positives: yes", f"11: {share} True"),
        (online, "2: svm learns from all examples at once; it runs under protocol: crossval"),
    ):
        code, _, err = here("run", config(text), "--out", "out")
        assert (code, err.startswith(f"olbench: small.yaml:{message}")) == (2, True), err


def test_a_run_reports_three_tunings_and_one_division_for_batch_learners(here, config, records):
    here.out("run", config(SMALL), "--out", "out", "--jobs", 1, "--quiet")
    assert "nothing to do" in here.out("run", "small.yaml", "--out", "out")
    results = load_results("out")
    done = {"stdev": 8, "perceptron": 8, "svm": 4}
    expected = [(f"{id}{way}", n) for id, n in done.items() for way in ("", " [paper]", " [oracle]")]
    assert [(entry.label, entry.done) for entry in results.entries] == expected
    assert results.missing == []
    assert len([r for r in records("out") if r["role"] == "tune"]) == 3 * (1 + 4)
    content = json.loads(here.out("report", "out", "--format", "json"))
    assert {row["folds"] for row in content["rows"]} == {4, 8}


def test_every_run_of_fresh_draws_a_sample_of_its_own(here, config, records):
    text = (
        "protocol: fresh\nruns: 6\nseed: 1\ndatasets: [cw2008-synthetic]\n"
        "algorithms: [perceptron, {id: cw, params: {eta: 0.9}}]\n"
    )
    assert here("run", config(text), "--out", "out", "--quiet")[0] == 0
    own = [r for r in records("out") if r["algorithm"] == "perceptron"]
    assert len({r["mistakes"] for r in own}) > 3
    assert {r["n"] for r in own} == {10_000}
    frame = load_results("out").to_frame()
    means = frame.groupby("algorithm")["mistakes"].mean()
    assert means["cw"] < 80 < 120 < means["perceptron"]
    err = here.err("run", "small.yaml", "--out", "no", "--set", "datasets=[breast-cancer]")
    assert "breast-cancer is the same in every run" in err
