"""verify finds altered counts with the probability that it states, and says what it could not run."""

import json
import shutil
from functools import reduce
from operator import getitem
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest, hypergeom

import olbench
from olbench.api import bundle as write_bundle
from olbench.engine.verification import altered_trials, detection, sample_size
from olbench.records import container, ledger
from olbench.records.arrays import with_arrays
from olbench.records.packed import pack
from olbench.records.shipped import find_run
from olbench.records.trial import key_of
from tests.records.test_bundle import read_all

pytestmark = pytest.mark.usefixtures("own_folder")

TINY = {
    "seed": 3, "permutations": 4, "curve": 3, "datasets": ["breast-cancer"], "tuning": {"search": "grid"},
    "algorithms": ["perceptron", {"id": "pa1", "grid": {"C": [0.25, 1.0]}}],
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the folder and the bundle of a small run: eight reported trials and two of a tuning."""
    folder = tmp_path_factory.mktemp("made") / "tiny"
    olbench.run(TINY, folder, jobs=1)
    return folder, write_bundle(folder, folder.parent / "tiny.olb").path


@pytest.fixture
def forge(made):
    """Return a function that writes a bundle as somebody who computes all keys and checksums anew."""

    def write(target, records, run=None):
        members = {name: content for name, content in read_all(made[1]).items() if name != container.MANIFEST}
        members[ledger.PACKED] = pack(records)
        if run is not None:
            members["run.json"] = json.dumps(run).encode()
        container.write(Path(target), members, {"run": "0"})
        return Path(target)

    return write


@pytest.fixture
def records(made):
    return list(ledger.current(find_run(made[1])).values())


@pytest.mark.parametrize("population", [1, 7, 32, 480])
def test_the_probability_is_that_of_the_hypergeometric_distribution(population):
    for share in (0.01, 0.05, 0.3, 1.0):
        altered = altered_trials(population, share)
        for drawn in range(0, population + 1, max(1, population // 9)):
            exact = 1 - hypergeom.pmf(0, population, altered, drawn)
            assert detection(population, altered, drawn) == pytest.approx(exact, abs=1e-12)
        for confidence in (0.5, 0.95, 0.99):
            size = sample_size(population, share, confidence)
            assert 1 - hypergeom.pmf(0, population, altered, size) >= confidence - 1e-12
            assert 1 - hypergeom.pmf(0, population, altered, size - 1) < confidence


def test_one_altered_count_is_found_with_the_stated_probability(records, forge):
    generator, found, stated = np.random.default_rng(27), 0, set()
    for number in range(80):
        altered = [dict(record) for record in records]
        victim = altered[generator.integers(len(altered))]
        victim["updates"] += 1
        path = forge(f"{number % 16}.olb", altered)
        shown = olbench.verify(path, trials=3, share=0.1, seed=number, jobs=1)
        stated.add(shown.probability)
        assert shown.passed == (not shown.mismatches)
        if shown.mismatches:
            found += 1
            (mismatch,) = shown.mismatches
            assert (mismatch.record["key"], mismatch.name) == (victim["key"], "updates")
            assert int(mismatch.before) == int(mismatch.now) + 1
    assert [*stated] == [pytest.approx(0.3)]
    assert binomtest(found, 80, 0.3).pvalue > 0.001


def test_a_record_from_before_a_column_was_added_is_the_same(records, forge):
    for record in records:
        del record["curve"]["positives"]
        del record["positives"]
    shown = olbench.verify(forge("old.olb", records), jobs=1)
    assert (shown.compared, shown.mismatches, shown.wrong) == (10, (), ())
    assert shown.sentence.endswith(" Not checked: times, curve.positives, positives.")


def test_any_count_is_compared_and_no_time_is(here, records, forge):
    for record in records:
        record["seconds"] *= 3
        record["curve"]["seconds"] = [3 * t for t in record["curve"]["seconds"]]
    forge("slow.olb", records)
    assert here("verify", "slow.olb", "-q")[0] == 0
    first, third, last = records[0], records[2], records[-1]
    first["updates"] -= 1
    third["curve"]["mistakes"][0] = 0
    last["curve"]["updates"][1] = 0
    forge("bad.olb", records)
    out = here.out("verify", "bad.olb", "-q", code=1)
    for record, name in ((first, "updates"), (third, "curve.mistakes"), (last, "curve.updates")):
        assert f"({record['key']}): {name} " in out
    assert out.startswith("DIFFERS: ")
    assert "10 of 10 trials ran again; 3 of them differ.\n" in out


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Return a run with a measure whose last digits may differ, and with the margins of its predictions."""
    folder = tmp_path_factory.mktemp("measured") / "run"
    config = {**TINY, "measures": ["log_loss"], "keep": "predictions", "permutations": 1}
    olbench.run({**config, "algorithms": ["arow"], "tuning": {"search": "none"}}, folder, jobs=1)
    return folder


def falsify(measured, folder, change):
    """Write the run again, with its only record changed by somebody who computes the checksums anew."""
    shutil.copytree(measured, folder)
    (record,) = ledger.current(folder).values()
    changed = with_arrays(folder, record)
    change(changed)
    for name in ("trials.jsonl", "arrays.bin"):
        (folder / name).unlink()
    with ledger.open_ledger(folder) as written:
        written.append(changed)
    return folder


FALSIFIED = {
    "log_loss": lambda record: record.update(log_loss=record["log_loss"] * (1 + 1e-6)),
    "auc": lambda record: record.update(auc=0.999),
    "balanced_accuracy": lambda record: record.update(balanced_accuracy=0.999),
    "no margins": lambda record: record.pop("arrays"),
    "margins": lambda record: record["arrays"].update(margins=record["arrays"]["margins"] + 1e-3),
}


@pytest.mark.parametrize("name", FALSIFIED)
def test_what_is_not_exact_or_not_asked_for_is_compared_as_well(name, measured, tmp_path):
    shown = olbench.verify(falsify(measured, tmp_path / "false", FALSIFIED[name]), jobs=1)
    assert not shown.passed
    assert name.removeprefix("no ") in {each.name for each in shown.mismatches}
    assert any("it has no predictions, which the config asks for" in each for each in shown.wrong) == (
        name == "no margins"
    )


def test_what_was_not_verified_is_said(measured, tmp_path):
    def change(record):
        record.update(timing="exclusive", seconds=1.0, honour=7, log_loss=record["log_loss"] * (1 + 1e-12))

    shown = olbench.verify(falsify(measured, tmp_path / "false", change), jobs=1)
    assert shown.passed
    assert shown.sentence.endswith("would certainly have been detected. Not checked: times, honour.")


def test_one_trial_is_run_again_by_its_key(here, made, records, forge):
    record = records[-1]
    for run in made:
        code, out, err = here("verify", run, "--trial", record["key"][:8])
        assert (code, err) == (0, "")
        first, last = out.splitlines()
        assert first.endswith(f"trial {record['number']} ({record['key']})")
        counts = f"mistakes {record['mistakes']}, updates {record['updates']}"
        assert last == f"It ran again, and every count matched the record: {counts}. Not checked: times."
    record["mistakes"] += 1
    forge("bad.olb", records)
    out = here.out("verify", "bad.olb", "--trial", record["key"], code=1)
    assert f": mistakes {record['mistakes']} in the record, {record['mistakes'] - 1} now\n" in out
    assert out.endswith("It ran again, and 1 value differs from the record.\n")
    assert here("verify", "bad.olb", "--trial", records[0]["key"])[0] == 0


def test_a_statement_says_what_was_shown(here, made):
    bundle = made[1]
    words = ("--trials", 5, "--share", 0.2, "--seed", 4, "-q")
    code, out, err = here("verify", bundle, *words)
    sentence = (
        "5 of 10 trials ran again, and all matched. If 20% of the trials had been altered, this "
        "would have been detected with probability 0.77. Not checked: times."
    )
    statement, other = (json.loads(here("verify", each, *words, "--format", "json")[1]) for each in made)
    assert (code, out, err) == (0, f"{sentence}\nseed 4; run {statement['run'][:16]}\n", "")
    assert (statement["schema"], statement["seed"]) == (2, 4)
    assert (statement["population"], statement["same"], statement["different"]) == (10, 5, [])
    assert (len(set(statement["drawn"])), statement["sentence"]) == (5, sentence)
    assert statement["detectable"]["probability"] == pytest.approx(7 / 9)
    assert "host" not in statement["machine"]
    assert (other["run"], other["drawn"]) == (statement["run"], statement["drawn"])
    one, two = (olbench.verify(bundle, trials=1, jobs=1).seed for _ in range(2))
    assert one != two  # a forger cannot know it


def test_the_confidence_decides_how_many_trials_run_and_other_words_are_refused(here, made):
    code, out, _ = here("verify", made[1], "--confidence", 0.7, "--share", 0.2, "-q")
    assert (code, out.startswith("5 of 10 trials ran again")) == (0, True)
    assert here("verify", made[1], "--confidence", 1.0, "--share", 0.01, "-q")[1].startswith("10 of 10")
    refused = {
        ("--confidence", 0.7, "--trials", 3): "give one of them",
        ("--trial", "zzz"): "no trial with a key that begins with 'zzz'",
        ("--trial", "a", "--trials", 3): "--trial can only be combined with --trust-plugins and --quiet",
        ("--trial", "a", "--share", 0.2): "--trial can only be combined with --trust-plugins and --quiet",
    }
    for words, sentence in refused.items():
        assert sentence in here.err("verify", made[1], *words)


def test_a_result_that_does_not_follow_from_the_tuning_is_found(made, records, forge, tmp_path):
    """The forger reports the candidate that lost, with trials that are true."""
    content = json.loads((made[0] / "run.json").read_text())
    (cell,) = [cell for cell in content["cells"] if cell["algorithm"] == "pa1"]
    other = 0.25 if cell["params"]["C"] == 1.0 else 1.0
    lost = {**TINY, "algorithms": [{"id": "pa1", "params": {"C": other}}], "tuning": {"search": "none"}}
    olbench.run(lost, tmp_path / "lost", jobs=1)
    records += ledger.current(tmp_path / "lost").values()
    cell["params"] = {"C": other}
    cell["keys"] = json.loads((tmp_path / "lost/run.json").read_text())["cells"][0]["keys"]
    shown = olbench.verify(forge("x.olb", records, content), trials=2, jobs=1)
    stated = f"{{'C': {other}}}, its config, data and trials {{'C': {0.25 if other == 1.0 else 1.0}}}"
    assert shown.wrong == (f"pa1 on breast-cancer: run.json states params {stated}",)
    assert not shown.passed
    assert "but 1 statement of the run is wrong" in shown.sentence


#: What a forger writes at a place of run.json, and what is said of it.
FORGED = [
    (("cells", 0, "label"), "arow", "perceptron on breast-cancer: only the config has it"),
    (("cells", 0, "label"), "arow", "arow on breast-cancer: only run.json has it"),
    (("cells", 0, "label"), "pa1", "pa1 on breast-cancer: run.json has it 2 times"),
    (("cells", 0, "entry"), 1, "perceptron on breast-cancer: run.json states entry 1, "),
    (("cells", 0, "params"), {"C": 9}, "perceptron on breast-cancer: run.json states params"),
    (("cells", 0, "planned"), 3, "run.json states planned 3, its config, data and trials 4"),
    (("cells", 0, "keys"), [], "perceptron on breast-cancer: run.json states keys 0 values, its config, "),
    (("config", "algorithms", 0, "id"), "pa", "perceptron on breast-cancer: only run.json has it"),
    (("config", "seed"), 4, "perceptron on breast-cancer: run.json states keys"),
    (("titles",), {"pa1": "PA"}, "pa1: run.json states title PA, its config, data and trials PA-I"),
    (("data", "breast-cancer", "rows"), 9, "breast-cancer: run.json states rows 9, "),
    (("data", "breast-cancer", "majority"), 9, "breast-cancer: run.json states majority 9, "),
    (("data", "breast-cancer", "fingerprint"), "0", "breast-cancer: run.json states fingerprint 0, "),
]


@pytest.mark.parametrize(("place", "value", "sentence"), FORGED)
def test_a_run_file_that_contradicts_its_config_or_data_is_found(
    place, value, sentence, made, records, forge
):
    content = json.loads((made[0] / "run.json").read_text())
    reduce(getitem, place[:-1], content)[place[-1]] = value
    shown = olbench.verify(forge("x.olb", records, content), trials=2, jobs=1)
    assert not shown.mismatches
    assert any(sentence in each for each in shown.wrong), shown.wrong


def test_a_result_that_another_of_the_same_name_hides_is_found(made, records, forge):
    content = json.loads((made[0] / "run.json").read_text())
    content["cells"].insert(0, {**content["cells"][1], "params": {"C": 9}})
    (wrong,) = olbench.verify(forge("x.olb", records, content), trials=2, jobs=1).wrong
    assert wrong == "pa1 on breast-cancer: run.json has it 2 times"


def test_a_count_that_contradicts_its_curve_and_a_missing_trial_are_told(here, records, forge):
    tried = next(record for record in records if record["role"] == "tune")
    forge("x.olb", [record for record in records if record is not tried])
    told = "pa1 on breast-cancer: run.json states params {'C': "
    assert told in here.out("verify", "x.olb", "-q", code=1)
    records.remove(next(record for record in records if record["role"] == "report"))
    forge("x.olb", records)
    assert "The run is incomplete: 1 reported trial missing or failed." in here.out("verify", "x.olb", "-q")
    records[1].update(status="failed", error="none")
    forge("x.olb", records)
    assert " 1 trial failed by the record; none of them ran again." in here.out("verify", "x.olb", "-q")
    first = records[0]
    first["mistakes"] -= 1
    forge("x.olb", records)
    count = first["mistakes"]
    told = f"({first['key']}): its mistakes are {count}, but its curve ends at {count + 1}\n"
    assert told in here.out("verify", "x.olb", "--trials", 1, "-q", code=1)
    for name, value in (("curve", []), ("curve", None), ("curve", 5), ("groups", 5)):
        changed = [{**first, "mistakes": count + 1, name: value}, *records[1:]]
        forge("x.olb", changed)
        assert f": its {name} is {value}\n" in here.out("verify", "x.olb", "--trials", 1, "-q", code=1)


def test_trials_of_another_version_are_counted_apart(here, made, records, forge):
    content, keys = json.loads((made[0] / "run.json").read_text()), {}
    for record in records:
        if record["algorithm"] == "pa1":
            before, record["code"], record["updates"] = record["key"], "2", 1
            record["key"] = keys[before] = key_of(record)
    for cell in content["cells"]:
        cell["keys"] = [keys.get(key, key) for key in cell["keys"]]
    forge("x.olb", records, content)
    lines = here.out("verify", "x.olb", "-q").splitlines()
    assert lines[0] == "not run, another version of the algorithm: 6 trials: pa1 on breast-cancer (6)"
    assert lines[1] == (
        "4 of the 4 trials that can run here ran again, and all matched. If 5% of these 4 trials had been "
        "altered, this would certainly have been detected. Nothing was verified about the other 6. "
        "Not checked: times."
    )
    out = here.out("verify", "x.olb", "--trial", record["key"], code=4)
    assert out.splitlines()[-1] == "It did not run again: another version of the algorithm."


def test_an_algorithm_that_is_not_installed_here_does_not_stop_the_others(here, made, records, forge):
    content, keys = json.loads((made[0] / "run.json").read_text()), {}
    for record in records:
        if record["algorithm"] == "perceptron":
            before, record["algorithm"] = record["key"], "nobody"
            record["key"] = keys[before] = key_of(record)
    content["config"]["algorithms"][0]["id"] = "nobody"
    content["cells"][0].update(algorithm="nobody", label="nobody", keys=[*keys.values()])
    forge("x.olb", records, content)
    out = here.out("verify", "x.olb", "-q")
    assert out.startswith(
        "not run, unknown algorithm: 4 trials: nobody on breast-cancer (4)\n6 of the 6 trials"
    )
    content["cells"][1]["params"] = {"C": 9}
    forge("x.olb", records, content)
    assert "DIFFERS: pa1 on breast-cancer: run.json states params" in here.out(
        "verify", "x.olb", "-q", code=1
    )


def test_records_that_contradict_themselves_are_refused(records, forge):
    changed = [{**records[0], "seed": 4}, *records[1:]]
    with pytest.raises(olbench.UserError, match=r"its key does not match its fields|the seed of its trial"):
        olbench.verify(forge("x.olb", changed), jobs=1)


def test_own_data_is_looked_for_in_the_current_folder(here, tmp_path, monkeypatch):
    rows = [f"{'+1' if n % 3 else '-1'} 1:{n % 7} 2:{n % 5}\n" for n in range(60)]
    (tmp_path / "own.libsvm").write_text("".join(rows))
    olbench.run({**TINY, "datasets": [str(tmp_path / "own.libsvm")]}, tmp_path / "run", jobs=1)
    bundle = write_bundle(tmp_path / "run", tmp_path / "run.olb").path
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    code, out, _ = here("verify", bundle, "-q")
    told = "not run, data not available (own.libsvm is not here or cannot be read): 10 trials"
    assert (code, told in out) == (4, True)
    assert "None of 10 trials ran again, so nothing was verified.\n" in out
    Path("own.libsvm").write_text("".join(rows[:-1]))
    assert "not run, other data of the same name: 10 trials" in here.out("verify", bundle, "-q", code=4)
