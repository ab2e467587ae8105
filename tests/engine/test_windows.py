"""Data larger than memory: blocks in random order, rows shuffled within windows, labelled in the record."""

import json
from pathlib import Path

import numpy as np
import pytest

from olbench.data.source import find_source
from olbench.data.spec import DatasetSpec
from olbench.records import seeds
from tests.cases import for_each


def rows_of_windows(n, block, window, number=0, part=seeds.ALL):
    """Return the row numbers in the order in which a pass sees them, window by window."""
    windows = seeds.windows(3, "data", "report", number, part, n, block, window)
    return [np.r_[*places][order] for places, order in windows]


@for_each(("n", "block", "window"), [(1000, 10, 80), (1003, 10, 80), (7, 10, 80), (50, 1, 8), (9, 3, 1)])
def test_every_row_comes_once_in_an_order_that_depends_on_its_number(n, block, window):
    windows = [rows_of_windows(n, block, window, number) for number in (0, 0, 1)]
    assert max(map(len, windows[0])) <= max(window, block)
    first, again, other = map(np.concatenate, windows)
    assert np.array_equal(np.sort(first), np.arange(n))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_windows_mix_rows_from_all_over_the_data():
    first = rows_of_windows(10_000, 50, 400)[0]
    assert len(np.unique(first // 50)) == 8
    assert not np.array_equal(first, np.sort(first))
    # Neighbours in the order are seldom neighbours in the file.
    assert np.mean(np.abs(np.diff(first)) == 1) < 0.05


def test_the_halves_of_a_holdout_share_no_row_and_no_order_changes_sides():
    halves = [
        {tuple(np.sort(np.concatenate(rows_of_windows(1000, 10, 80, number, part))))  for number in range(3)}
        for part in (seeds.TUNING_HALF, seeds.REPORTED_HALF)
    ]  # fmt: skip
    assert [len(half) for half in halves] == [1, 1]
    [tuning], [reported] = halves
    assert sorted(tuning + reported) == list(range(1000))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("olbench.protocols.online.BLOCK_BYTES", 2000)
    monkeypatch.setattr("olbench.protocols.definition.WINDOW_BYTES", 3 * 8 * 2000)


CONFIG = "datasets: [breast-cancer]\nalgorithms: [perceptron]\npermutations: 2\n"


def test_the_record_says_how_its_order_was_drawn(here, config, records, small_blocks):
    here.out("run", config(CONFIG + "order: windows\n"), "--out", "out")
    settings = [record["setting"] for record in records("out")]
    assert [(each["order"], each["window"] // each["block"]) for each in settings] == [("windows", 8)] * 2
    assert len(json.loads(here.out("report", "out", "--format", "json"))["rows"]) == 1
    assert ", 2 windowed orders, tuning: none" in here("report", "out")[1]
    # Exact permutations are other trials, under the names that they have always had.
    assert here("run", config(CONFIG), "--out", "out")[1].count("2 trials run") == 1
    assert "order" not in records("out")[-1]["setting"]


def test_data_larger_than_memory_needs_windows(here, config, records, small_blocks):
    row = " ".join(f"{7 * j}:{j}.5" for j in range(1, 20))
    Path("rows.libsvm").write_text(f"+1 {row}\n-1 {row}\n" * 500)
    text = CONFIG.replace("breast-cancer", "rows.libsvm")
    assert find_source(DatasetSpec("rows", str(Path("rows.libsvm").resolve()))).bytes > 200_000
    memory = ("--memory", "120K", "-j", "1")
    code, out, err = here("run", config(text), "--out", "out", *memory)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(
        "olbench: rows.libsvm takes 0.2 MiB, and 0.1 MiB of memory may be used; add order: windows"
    )
    assert here("run", config(text + "order: windows\n"), "--out", "out", *memory)[0] == 0
    assert {record["setting"]["order"] for record in records("out")} == {"windows"}


def test_the_refusal_names_what_needs_the_memory(here, config):
    Path("rows.csv").write_text("a,label\n" + "1,1\n2,2\n" * 10_000)
    needs = {"windows": "96.0 MiB of memory, most of it for the rows of a windowed order"}
    needs["exact"] = "0.5 MiB of memory, most of it for 20,000 rows of data"
    for order, needed in needs.items():
        text = CONFIG.replace("breast-cancer", "rows.csv") + f"order: {order}\n"
        code, _, err = here("run", config(text), "--memory", "100K", "-j", "1")
        assert (code, f"needs {needed}, and 0.1 MiB may be used; set" in err) == (2, True), err


def test_ranges_of_rows_are_read_without_opening_the_data():
    source = find_source(DatasetSpec("digits-1-vs-7"))
    source.close()
    part = source.take([slice(100, 120), slice(0, 5)])
    assert not source.is_open
    whole = source.open()
    rows = [*range(100, 120), *range(5)]
    np.testing.assert_array_equal(part.labels, whole.labels[rows])
    dense = [np.asarray(each.examples.matrix().todense()) for each in (part, whole)]
    np.testing.assert_array_equal(dense[0], dense[1][rows])
