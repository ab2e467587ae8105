"""A results folder becomes arrays without losing or inventing a trial."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from olbench.errors import UserError
from olbench.quantities import MISTAKE_RATE
from olbench.report.model import make_report
from olbench.report.results import load_results, newest
from olbench.report.sections import sections_of
from olbench.trials import baseline
from tests.cases import for_each
from tests.report.editing import read_records, reseal, write_records

SMALL = Path(__file__).with_name("small")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SMALL, tmp_path / "results" / "copy"))


def edit(folder: Path, change) -> None:
    path = folder / "run.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_entries_come_in_the_order_of_the_config_with_every_permutation():
    results = load_results(SMALL)
    assert results.datasets == ["svmguide3", "synthetic", "splice"]
    assert results.labels == ["perceptron", "cw", "arow", "scw1", "scw2"]
    assert all(list(entry.trials["number"]) == [0, 1, 2, 3, 4] for entry in results.entries)
    assert results.missing == []


def test_a_curve_ends_with_the_counts_of_its_trial():
    for entry in load_results(SMALL).entries:
        assert entry.points[-1] == entry.trials["n"][0]
        np.testing.assert_array_equal(entry.curves["mistakes"][:, -1], entry.trials["mistakes"])
        np.testing.assert_array_equal(entry.curves["updates"][:, -1], entry.trials["updates"])


def test_the_spread_is_the_sample_deviation_of_the_rates():
    entry = load_results(SMALL).entries[0]
    mean, deviation = entry.spread(MISTAKE_RATE) or (0, 0)
    rates = [mistakes / 1243 for mistakes in entry.trials["mistakes"]]
    assert mean == pytest.approx(sum(rates) / 5)
    assert deviation == pytest.approx((sum((rate - mean) ** 2 for rate in rates) / 4) ** 0.5)


def test_a_half_finished_run_is_read_and_says_what_is_missing(copy: Path):
    lines = (copy / "trials.jsonl").read_text().splitlines(keepends=True)
    kept = [line for line in lines if '"algorithm":"arow"' not in line or '"permutation":0' in line]
    (copy / "trials.jsonl").write_text("".join(kept) + '{"key": "torn')

    def forget_the_choice(content: dict) -> None:
        content["end"] = None
        content["cells"][3].update(params=None, keys=[])

    edit(copy, forget_the_choice)
    missing = load_results(copy).missing
    assert "arow on svmguide3: 1 of 5 trials are done" in missing
    assert "scw1 on svmguide3: its tuning is not finished" in missing
    assert len(missing) == 4


def test_a_failed_trial_is_counted_apart_with_its_error(copy: Path):
    records = read_records(copy)
    records[0].update(status="failed", error="ValueError: no", mistakes=None)
    write_records(copy, records)
    [sentence] = load_results(copy).missing
    assert sentence.endswith("1 of 5 trials failed (ValueError: no)")


def test_the_newest_run_is_the_one_that_began_last(copy: Path):
    old = Path(shutil.copytree(SMALL, copy.parent / "old"))
    edit(old, lambda content: content.update(start="2020-01-01T00:00:00+00:00"))
    assert newest(copy.parent) == copy


def test_without_a_run_of_ones_own_the_newest_is_the_reference(copy: Path):
    reference = Path(shutil.copytree(copy, copy.parent / "scw" / "reference"))
    assert newest(copy.parent) == copy
    shutil.rmtree(copy)
    assert newest(copy.parent) == reference
    assert load_results(reference).name == "scw"


def test_without_a_run_the_error_says_how_to_start_one(tmp_path: Path):
    with pytest.raises(UserError, match="olbench run CONFIG"):
        newest(tmp_path)


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


def _edit(folder, change):
    """Change the first reported record."""
    records = read_records(folder)
    change(next(record for record in records if record["role"] == "report"))
    write_records(folder, records)
    reseal(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: record.pop("mistakes"), "its mistakes is missing"),
        (lambda record: record.update(n=0, mistakes=0, updates=0, effective_updates=0), "its n is 0"),
        (lambda record: record.update(number=99), "its number is 99 of 5"),
        (lambda record: record.update(curve=None), "its curve lacks numbers for mistakes"),
        (lambda record: record["curve"].pop("updates"), "its curve lacks numbers for updates"),
        (lambda record: record["curve"]["t"].reverse(), "other points"),
    ],
)
def test_a_record_that_cannot_be_reported_is_refused_with_its_key_and_the_remedy(change, message, tmp_path):
    folder = tmp_path / "small"
    shutil.copytree(Path(__file__).with_name("small"), folder)
    load_results(folder)
    _edit(folder, change)
    with pytest.raises(UserError) as refused:
        load_results(folder)
    assert message in str(refused.value)
    assert "remove its line, and the next run computes that trial again" in str(refused.value)


@for_each("name", ["cells", "data", "config", "start", "machine"])
@for_each("value", [7, [7], {"x": 7}, True])
def test_a_run_file_with_a_field_of_another_kind_is_refused(name, value, tmp_path):
    if (name, type(value)) == ("machine", dict):
        return
    run = json.loads(Path(__file__).with_name("small").joinpath("run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps({**run, name: value}))
    with pytest.raises(UserError, match=r"run\.json is not the record of a run"):
        load_results(tmp_path)


@pytest.mark.parametrize("entry", [5, 99])
def test_a_run_file_whose_cell_is_beyond_its_algorithms_is_refused(entry, tmp_path):
    run = json.loads(Path(__file__).with_name("small").joinpath("run.json").read_text())
    run["cells"][0]["entry"] = entry
    (tmp_path / "run.json").write_text(json.dumps(run))
    with pytest.raises(UserError, match=r"cells\.0\.entry is beyond the algorithms of the config"):
        load_results(tmp_path)


def copy_small(tmp_path):
    return Path(shutil.copytree(Path(__file__).with_name("small"), tmp_path / "small"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda run: run["cells"][0].update(label="\ud800"),
            "run.json.cells.0.label: label is not valid Unicode",
        ),
        (
            lambda run: run["config"]["datasets"][0].update(name="\ud800"),
            "datasets.0.name: name is not valid Unicode",
        ),
        (
            lambda run: run["config"]["tuning"].update(permutations=[0.5]),
            "run.json.config.tuning.permutations: permutations must be a whole number from 1, not a list",
        ),
    ],
)
def test_a_damaged_name_or_tuning_in_run_json_is_refused(tmp_path, change, reason):
    folder = copy_small(tmp_path)
    content = json.loads((folder / "run.json").read_text())
    change(content)
    (folder / "run.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=reason):
        load_results(folder)


def test_a_curve_of_lists_is_refused_with_its_line(tmp_path):
    folder = copy_small(tmp_path)
    _edit(folder, lambda record: record["curve"].update(mistakes=[[count] for count in range(5)]))
    with pytest.raises(UserError, match="its curve lacks numbers for mistakes"):
        load_results(folder)


def records_of_first_cell(folder: Path) -> tuple[list[dict], list[dict]]:
    """Return all records of a ledger, and those of them that the first cell of run.json names."""
    records = read_records(folder)
    keys = json.loads((folder / "run.json").read_text())["cells"][0]["keys"]
    return records, [record for key in keys for record in records if record["key"] == key]


READERS = pytest.mark.parametrize("read", [load_results, baseline.read_run], ids=["report", "check"])


@READERS
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset": "splice"}, "the dataset of its trial KEY is 'splice' and not 'svmguide3'"),
        ({"algorithm": "arow"}, "the algorithm of its trial KEY is 'arow' and not 'perceptron'"),
        ({"protocol": "fresh"}, "the protocol of its trial KEY is 'fresh' and not 'online'"),
        ({"seed": 7}, "differ in their seed"),
        ({"fingerprint": "00"}, "differ in their fingerprint"),
        ({"options": {"covariance": "diag"}}, "differ in their options"),
        ({"role": "tune"}, "differ in their role"),
        ({"code": "00"}, "differ in their code"),
        ({"number": 1}, "have the same number, 1"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_record_is_refused_for_a_cell_that_is_not_its_own(read, change, message, copy: Path):
    read(copy)
    records, own = records_of_first_cell(copy)
    own[-1].update(change)
    write_records(copy, records)
    with pytest.raises(UserError) as refused:
        read(copy)
    assert message.replace("KEY", own[-1]["key"]) in str(refused.value)
    assert str(refused.value).startswith(f"{copy / 'run.json'}: perceptron on svmguide3 cannot be reported")
    assert str(refused.value).endswith("run its config again, which rewrites this file")


@READERS
def test_a_cell_with_the_trials_of_another_is_refused(read, copy: Path):
    edit(copy, lambda content: content["cells"][0].update(keys=content["cells"][1]["keys"]))
    with pytest.raises(
        UserError, match=r"run\.json: perceptron on svmguide3 .* is 'cw' and not 'perceptron'"
    ):
        read(copy)


@READERS
def test_a_cell_that_names_a_trial_twice_is_refused(read, copy: Path):
    edit(copy, lambda content: content["cells"][0]["keys"].append(content["cells"][0]["keys"][0]))
    with pytest.raises(UserError, match=r"cells\.0\.keys has a trial twice; run its config again"):
        read(copy)


@READERS
@pytest.mark.parametrize("place", [0, 4])
def test_trials_of_a_cell_with_different_numbers_of_examples_are_refused(read, place, copy: Path):
    records, own = records_of_first_cell(copy)
    own[place].update(n=100_000)
    write_records(copy, records)
    with pytest.raises(UserError) as refused:
        read(copy)
    reason = f"{own[place]['key']} cannot be reported together, because their n are 1243 and 100000"
    assert f"{reason}; remove both lines" in str(refused.value)


@READERS
def test_a_record_with_other_fields_than_its_key_says_is_refused(read, tmp_path):
    folder = Path(shutil.copytree(Path(__file__).with_name("folds"), tmp_path / "folds"))
    read(folder)
    records, own = records_of_first_cell(folder)
    for record in own:
        record["setting"]["most_epochs"] += 1
    write_records(folder, records)
    with pytest.raises(
        UserError, match=f"{own[0]['key']} cannot .* its key is not that of its fields; remove"
    ):
        read(folder)


@READERS
def test_a_run_file_with_another_protocol_than_its_records_is_refused(read, copy: Path):
    edit(copy, lambda content: content["config"].update(protocol="crossval"))
    with pytest.raises(
        UserError, match=r"run\.json: .* is 'online' and not 'crossval'; run its config again"
    ):
        read(copy)


def test_a_baseline_from_a_record_that_lacks_a_count_is_refused(tmp_path):
    folder = copy_small(tmp_path)
    _edit(folder, lambda record: record.pop("mistakes"))
    with pytest.raises(UserError, match="its mistakes is missing; remove its line"):
        baseline.read_run(folder)


def change_curves(folder: Path, change, everywhere: bool) -> list[str]:
    """Change the curves of the first cell, or that of its first trial alone; return its keys."""
    records, own = records_of_first_cell(folder)
    for record in own if everywhere else own[:1]:
        change(record["curve"])
    write_records(folder, records)
    return [record["key"] for record in own]


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("mistakes", [None] * 5, "its curve lacks numbers for mistakes"),
        ("mistakes", ["1"] * 5, "its curve lacks numbers for mistakes"),
        ("mistakes", [True] * 5, "its curve lacks numbers for mistakes"),
        ("mistakes", [float("nan")] * 5, "its mistakes cannot be nan at point 1 of its curve"),
        ("mistakes", [1, 2, 3, 4, float("inf")], "its mistakes cannot be inf at point 5 of its curve"),
        ("mistakes", [-5] * 5, "its mistakes cannot be -5 at point 1 of its curve"),
        ("mistakes", [5, 4, 3, 2, 1], "its mistakes cannot be 4 at point 2 of its curve"),
        ("updates", [-5] * 5, "its updates cannot be -5 at point 1 of its curve"),
        ("seconds", [0, 0, -0.5, 0, 0], "its seconds cannot be -0.5 at point 3 of its curve"),
    ],
    ids=["null", "text", "true", "nan", "inf", "negative", "falling", "updates", "seconds"],
)
@pytest.mark.parametrize("everywhere", [True, False])
def test_a_curve_that_no_trial_can_have_is_refused(column, values, message, everywhere, copy: Path):
    keys = change_curves(copy, lambda curve: curve.update({column: values}), everywhere)
    with pytest.raises(UserError) as refused:
        load_results(copy)
    assert f"the trial {keys[0]} cannot be reported, because {message}; remove its line" in str(refused.value)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([0, 1, 2, 3, 4], "the points of its curve do not grow from 1"),
        ([-2, 1, 2, 3, 4], "the points of its curve do not grow from 1"),
        ([1, 2, 2, 3, 4], "the points of its curve do not grow from 1"),
        ([5, 4, 3, 2, 1], "the points of its curve do not grow from 1"),
        ([0.5, 1, 2, 3, 4], "its curve lacks numbers for mistakes"),
        ([float("nan"), 1, 2, 3, 4], "its curve lacks numbers for mistakes"),
        ([1, 2, 3, 4, 2**63], "its curve lacks numbers for mistakes"),
        (None, "its curve is empty"),
    ],
    ids=["zero", "negative", "equal", "falling", "half", "nan", "huge", "empty"],
)
def test_points_of_curves_that_do_not_grow_are_refused(points, message, copy: Path):
    empty = {"t": [], "mistakes": [], "updates": [], "seconds": []}
    changed = empty if points is None else {"t": points}
    keys = change_curves(copy, lambda curve: curve.update(changed), everywhere=True)
    with pytest.raises(UserError) as refused:
        load_results(copy)
    assert f"the trial {keys[0]} cannot be reported, because {message}; remove its line" in str(refused.value)


def test_a_protocol_may_have_curves_without_points(copy: Path, tmp_path, monkeypatch):
    """The others are drawn, and the figures of a data set without any are left out."""
    monkeypatch.setattr("olbench.protocols.online.Online.has_curve", lambda self, setting: False)
    empty = {"t": [], "mistakes": [], "updates": [], "seconds": []}
    change_curves(copy, lambda curve: curve.update(empty), everywhere=True)
    report = make_report(copy)
    [section] = [each for each in sections_of(report) if each.id == "curves"]
    assert section.page is not None
    section.page(report)
    drawn = section.figures(report)["curves-svmguide3"]()
    assert {line.get_label() for line in drawn.axes[0].lines} == {"CW", "AROW", "SCW-I", "SCW-II"}
    none = replace(report, results=replace(report.results, entries=report.results.entries[:1]))
    assert not section.applies(none)
    assert section.figures(none) == {}


def test_a_setting_with_numbers_as_keys_keeps_its_key(tmp_path):
    from olbench.trials.record import read_line
    from olbench.trials.trial import Trial
    from olbench.trials.verify import _has_own_key

    line = (SMALL / "trials.jsonl").read_bytes().splitlines()[0]
    record = {**read_line(line), "setting": {"weights": {2: 1.0, 10: 0.5}}}
    record["key"] = Trial.of(record).key
    read = json.loads(json.dumps(record))
    assert _has_own_key(read)
    assert not _has_own_key({**read, "seed": 99})
