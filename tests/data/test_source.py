"""A source opens when it is first needed, is shared while it is open, and lets go of its examples."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import olbench
from olbench.data.source import find_named, find_source, find_sources
from olbench.data.spec import DatasetSpec
from olbench.records.quantities import MISTAKE_RATE
from tests.examples import make_source
from tests.refusals import refusal

BREAST, DIGITS = DatasetSpec("breast-cancer"), DatasetSpec("digits-1-vs-7")


def test_it_knows_its_size_before_it_is_opened_and_all_threads_share_one_copy():
    source = find_source(BREAST)
    source.close()
    assert (source.n, source.d, source.is_open) == (569, 30, False)
    assert source.fingerprint.startswith("09b79ee7")
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(lambda _: source.open(), range(8)))
    assert len({id(each) for each in opened}) == 1
    source.close()
    again = source.open()
    assert again is not opened[0]
    np.testing.assert_array_equal(again.examples.dense, opened[0].examples.dense)
    made = make_source("made", np.eye(3), np.array([1.0, -1.0, 1.0]))
    made.close()
    assert made.open().examples.n == 3  # what is only in memory outlives a close


def test_a_source_is_found_by_the_name_that_the_ledger_has():
    assert find_named([BREAST, DIGITS], "digits-1-vs-7") is find_source(DIGITS)
    assert "no longer has a data set 'splice'" in refusal(find_named, [BREAST], "splice")


def test_what_is_not_downloaded_is_named_with_the_command_that_fetches_it():
    refused = refusal(find_sources, [BREAST, DatasetSpec("splice")], skip_missing=False)
    assert "splice is not downloaded; run `olbench data fetch splice`" in refused
    sources, skipped = find_sources([BREAST, DatasetSpec("splice")], skip_missing=True)
    assert ([source.name for source in sources], skipped) == (["breast-cancer"], ["splice"])


def test_a_run_opens_no_source_twice_and_closes_each_after_its_last_trial(here, own_folder, config):
    text = (
        "permutations: 2\ndatasets: [breast-cancer, digits-1-vs-7]\ntuning: {search: grid}\n"
        "algorithms: [perceptron, {id: arow, grid: {r: [0.5, 1]}}]\n"
    )
    for spec in (BREAST, DIGITS):
        find_source(spec).close()
    assert here("run", config(text), "--out", "out", "--quiet")[0] == 0
    assert [find_source(spec).is_open for spec in (BREAST, DIGITS)] == [False, False]


def write_rows(path, flipped):
    rows = np.random.default_rng(1).normal(size=(40, 2))
    labels = np.where(rows[:, 0] > 0, 1, 0)
    labels[:flipped] = 1 - labels[:flipped]
    path.write_text("a,b,y\n" + "".join(f"{a},{b},{y}\n" for (a, b), y in zip(rows, labels, strict=True)))


def test_data_that_is_edited_between_two_runs_is_read_again(tmp_path):
    path, found = tmp_path / "rows.csv", []
    config = {"permutations": 2, "datasets": [str(path)], "algorithms": ["perceptron"]}
    for out, flipped in (("one", 0), ("one", 10), ("two", 10)):
        write_rows(path, flipped)
        results = olbench.run(config, tmp_path / out, jobs=1)
        found.append((results.run.data["rows"].fingerprint, results.entries[0].mean(MISTAKE_RATE)))
    assert found[0] != found[1] == found[2]


def test_data_that_changes_during_a_run_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    write_rows(path, 0)
    source = find_source(DatasetSpec("rows", str(path)))
    source.close()
    write_rows(path, 10)
    assert "rows has changed since the run began; run it again" in refusal(source.open)
