"""A results folder becomes arrays without losing or inventing a trial."""

import functools
import json
import math
import re
import shutil
from pathlib import Path

import pytest

from olbench.analysis.check import read_run_baseline
from olbench.analysis.results import load_results, newest
from olbench.errors import UserError
from olbench.protocols.recorded import _has_own_key
from olbench.records.record import read_line
from olbench.records.trial import Trial
from tests import ROOT
from tests.refusals import find_wrong, refusal
from tests.report.editing import read_records, reseal, write_records

SMALL = ROOT / "tests/report/small"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SMALL, tmp_path / "results" / "copy"))


def edit(folder: Path, change) -> None:
    path = folder / "run.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_a_half_finished_run_is_read_and_says_what_is_missing(copy: Path):
    lines = (copy / "trials.jsonl").read_text().splitlines(keepends=True)
    kept = [line for line in lines if '"algorithm":"arow"' not in line or '"permutation":0' in line]
    (copy / "trials.jsonl").write_text("".join(kept) + '{"key": "torn')

    def forget_the_choice(content: dict) -> None:
        content["end"] = None
        content["cells"][3].update(params=None, keys=[])

    edit(copy, forget_the_choice)
    missing = load_results(copy).missing
    assert "arow on svmguide3: 1 of 5 trials done" in missing
    assert "scw1 on svmguide3: its tuning is not finished" in missing
    assert len(missing) == 4


def test_a_failed_trial_is_counted_apart_with_its_error(copy: Path):
    records = read_records(copy)
    records[0].update(status="failed", error="ValueError: no", mistakes=None)
    write_records(copy, records)
    [sentence] = load_results(copy).missing
    assert sentence.endswith("1 of 5 trials failed (ValueError: no)")


def test_the_newest_run_is_the_one_that_began_last_or_else_the_reference(copy: Path):
    old = Path(shutil.copytree(SMALL, copy.parent / "old"))
    edit(old, lambda content: content.update(start="2020-01-01T00:00:00+00:00"))
    reference = Path(shutil.copytree(copy, copy.parent / "scw" / "reference"))
    assert newest(copy.parent) == copy
    shutil.rmtree(copy)
    shutil.rmtree(old)
    assert (newest(copy.parent), load_results(reference).name) == (reference, "scw")
    shutil.rmtree(reference)
    with pytest.raises(UserError, match="olbench run CONFIG"):
        newest(copy.parent)


def test_the_score_of_the_chosen_parameters_comes_from_the_orders_that_chose_them(copy: Path):
    reported = read_records(copy)
    chosen = next(record for record in reported if record["algorithm"] == "arow")
    scored = {**chosen, "role": "tune", "setting": {"part": "all", "points": 1}, "curve": None}
    tuned = [
        {**scored, "key": f"tune-{n}", "number": n, "mistakes": mistakes}
        for n, mistakes in enumerate((100, 200))
    ]
    other = {**tuned[0], "key": "tune-other", "params": {"r": 77.0}, "mistakes": 1}
    write_records(copy, [*reported, *tuned, other])
    reseal(copy)
    entries = [entry for entry in load_results(copy).entries if entry.tuned is not None]
    assert [(entry.dataset, entry.label) for entry in entries] == [(chosen["dataset"], "arow")]
    assert entries[0].tuned == pytest.approx(100 / chosen["n"]), "the tuning of this run has one order"
    edit(copy, lambda content: content["config"]["tuning"].update(permutations=2))
    [entry] = [entry for entry in load_results(copy).entries if entry.tuned is not None]
    assert entry.tuned == pytest.approx(150 / chosen["n"])
    edit(copy, lambda content: content["config"]["tuning"].update(search="holdout"))
    assert all(entry.tuned is None for entry in load_results(copy).entries)


def records_of_first_cell(folder: Path) -> tuple[list[dict], list[dict]]:
    records = read_records(folder)
    keys = json.loads((folder / "run.json").read_text())["cells"][0]["keys"]
    return records, [record for key in keys for record in records if record["key"] == key]


LACKS, GROW = "its curve has no numbers for mistakes", "the points of its curve do not grow from 1"
CANNOT = "its {} cannot be {} at point {} of its curve".format
EMPTY = {"t": [], "mistakes": [], "updates": [], "seconds": []}
#: What is wrong with a record or with its curve, and what is said of it.
UNREPORTABLE = [
    ({"mistakes": None}, "its mistakes is missing"),
    ({"n": 0, "mistakes": 0, "updates": 0, "effective_updates": 0}, "its n is 0"),
    ({"curve": None}, LACKS),
    *(({"curve": {"mistakes": each}}, LACKS) for each in (["1"] * 5, [[1]] * 5)),
    *(({"curve": {"t": [*each, 3, 4]}}, GROW) for each in ([0, 1, 2], [1, 2, 2])),
    *(({"curve": {"t": [1, 2, 3, 4, each]}}, LACKS) for each in (4.5, 2**63)),
    *(({"curve": {"mistakes": [1, 2, 3, 4, each]}}, "is not a trial") for each in (math.nan, math.inf)),
    ({"curve": {"mistakes": [5, 4, 3, 2, 1]}}, CANNOT("mistakes", "4", 2)),
    ({"curve": {"updates": [-5] * 5}}, CANNOT("updates", "-5", 1)),
    ({"curve": {"seconds": [0, 0, -0.5, 0, 0]}}, CANNOT("seconds", "-0.5", 3)),
    ({"curve": EMPTY}, "its curve is empty"),
]


def test_a_record_that_cannot_be_reported_is_refused_with_its_key_and_the_remedy(copy: Path):
    content = (copy / "trials.jsonl").read_bytes()
    wrong = []
    for change, message in UNREPORTABLE:
        for everywhere in (True, False):
            (copy / "trials.jsonl").write_bytes(content)
            records, own = records_of_first_cell(copy)
            for record in own if everywhere else own[:1]:
                curve = change.get("curve")
                record.update({**change, "curve": {**record["curve"], **curve}} if curve else change)
            write_records(copy, records)
            # One curve with other points than those of the other trials is told by that.
            said = message if everywhere else rf"({message}|its curve has other points than the trial \w+)"
            found = refusal(load_results, copy)
            if not re.search(rf"(trials.jsonl:\d+: |trial \w+ ).*{said}; remove (its|the) line", found):
                wrong.append((change, everywhere, found))
    assert wrong == []


PLACES = [
    (("cells",), 7, "run.json is not the record of a run"),
    (("data",), [7], "run.json is not the record of a run"),
    (("config",), True, "run.json is not the record of a run"),
    (("start",), {"x": 7}, "run.json is not the record of a run"),
    (("cells", 0, "entry"), 5, "cells.0.entry is beyond the algorithms of the config"),
    (("cells", 0, "label"), "\ud800", "cells.0.label: label is not valid Unicode"),
    (("config", "datasets", 0, "name"), "\ud800", "datasets.0.name: name is not valid Unicode"),
    (("config", "protocol"), "mine", "run.json: unknown protocol 'mine' (did you mean 'online'?); "),
    (
        ("config", "tuning", "permutations"),
        [0.5],
        "run.json.config.tuning.permutations: permutations must be a whole number from 1, not a list",
    ),
]


def test_a_damaged_run_file_is_refused(tmp_path):
    def read(path, value):
        content = json.loads((SMALL / "run.json").read_text())
        functools.reduce(lambda place, name: place[name], path[:-1], content)[path[-1]] = value
        (tmp_path / "run.json").write_text(json.dumps(content))
        load_results(tmp_path)

    assert find_wrong(PLACES, read) == []


READERS = pytest.mark.parametrize("read", [load_results, read_run_baseline], ids=["report", "check"])


@READERS
def test_a_record_is_refused_for_a_cell_that_is_not_its_own(read, copy: Path):
    content = (copy / "trials.jsonl").read_bytes()
    wrong = []
    for change, message in (
        ({"dataset": "splice"}, "the dataset of its trial KEY is 'splice' and not 'svmguide3'"),
        ({"algorithm": "arow"}, "the algorithm of its trial KEY is 'arow' and not 'perceptron'"),
        ({"protocol": "fresh"}, "the protocol of its trial KEY is 'fresh' and not 'online'"),
        ({"n": 100_000}, "KEY cannot be reported, because its n is 100000, and that of its other "),
        *(
            ({name: value}, f"the {name} of its trial KEY is ")
            for name, value in {
                "seed": 7, "fingerprint": "00", "options": {"a": 2}, "role": "tune", "code": "00",
            }.items()
        ),
        ({"number": 1}, "another trial has the number of its trial "),
    ):  # fmt: skip
        (copy / "trials.jsonl").write_bytes(content)
        records, own = records_of_first_cell(copy)
        own[-1].update(change)
        write_records(copy, records)
        found = refusal(read, copy)
        said = message.replace("KEY", own[-1]["key"])
        remedy = "remove its line" if "n" in change else "run its config again, which rewrites this file"
        if not (said in found and remedy in found):
            wrong.append((change, found))
    assert wrong == []


@READERS
def test_a_cell_with_other_trials_than_its_own_is_refused(read, copy: Path):
    content = json.loads((copy / "run.json").read_text())
    keys = content["cells"][0]["keys"]
    for change, message in (
        (content["cells"][1]["keys"], "run.json: perceptron on svmguide3 "),
        ([*keys, keys[0]], "cells.0.keys has a trial twice; run its config again"),
    ):
        edit(copy, lambda content, change=change: content["cells"][0].update(keys=change))
        assert message in refusal(read, copy)
    edit(copy, lambda content: content["cells"][0].update(keys=keys))
    edit(copy, lambda content: content["config"].update(protocol="crossval", tuning={"search": "none"}))
    assert "is 'online' and not 'crossval'; run its config again" in refusal(read, copy)


@READERS
def test_a_record_with_other_fields_than_its_key_says_is_refused(read, tmp_path):
    folder = Path(shutil.copytree(SMALL.with_name("folds"), tmp_path / "folds"))
    records, own = records_of_first_cell(folder)
    for record in own:
        record["setting"]["most_epochs"] += 1
    write_records(folder, records)
    found = refusal(read, folder)
    assert own[0]["key"] in found
    assert "its key does not match its fields; remove" in found


def test_a_setting_with_numbers_as_keys_keeps_its_key():
    line = (SMALL / "trials.jsonl").read_bytes().splitlines()[0]
    record = {**read_line(line), "setting": {"weights": {2: 1.0, 10: 0.5}}}
    read = json.loads(json.dumps({**record, "key": Trial.of(record).key}))
    assert _has_own_key(read)
    assert not _has_own_key({**read, "seed": 99})
