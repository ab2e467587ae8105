"""Two records of one trial agree in every number, or the difference is found."""

import json
import math

import numpy as np
import pytest

from olbench.records.compare import MISSING, agree, compare_records, find_differences
from olbench.records.quantities import MISTAKES, SECONDS, Quantity

LOSS = Quantity("loss", "loss", 4)
EXACT = Quantity("exact_loss", "loss", 4, exact=True)
WILD = Quantity("bytes_held", "bytes", 0, tolerance=0.1)
KNOWN = (MISTAKES, SECONDS, LOSS, EXACT, WILD)
RECORD = {
    "key": "0", "role": "report", "timing": "shared", "mistakes": 7, "seconds": 0.5, "loss": 0.3,
    "exact_loss": 0.3, "bytes_held": 100, "undefined": None, "unknown": 2.5, "many": 10**12, "word": "x",
    "groups": {"mistakes": [1, 6], "loss": [0.25, 0.5], "cpu_seconds": [0.1, 0.2], "deep": {"n": [3, 4]}},
}  # fmt: skip
ARRAYS = {"margins": np.array([0.5, np.nan]), "wrong": np.array([True, False])}


def differ(change, arrays=None):
    """Return the paths that differ after changes, which are given by the path of each."""
    now = json.loads(json.dumps(RECORD))
    for path, value in change.items():
        *folders, name = path.split(".")
        place = now
        for each in folders:
            place = place[each]
        place[name] = value
        if value is MISSING:
            del place[name]
    pair = {**RECORD, "arrays": ARRAYS}, {**now, "arrays": {**ARRAYS, **(arrays or {})}}
    found, again = ([each.name for each in find_differences(KNOWN, *way)] for way in (pair, pair[::-1]))
    assert sorted(found) == sorted(again)
    return found, [each.name for each in compare_records(KNOWN, *pair)]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("mistakes", 8), ("mistakes", None), ("loss", 0.3 * (1 + 1e-8)), ("loss", None), ("loss", "0.3"),
        ("exact_loss", math.nextafter(0.3, 1)), ("bytes_held", 112.0), ("undefined", 0.0), ("unknown", 2.6),
        ("many", 10**12 + 1), ("word", "y"), ("groups", None), ("groups.mistakes", [1, 7]),
        ("groups.mistakes", [1, 6, 0]), ("groups.loss", [0.25, 0.5011]), ("groups.deep.n", [3, 5]),
    ],
)  # fmt: skip
def test_any_change_of_one_value_is_found(path, value):
    assert differ({path: value}) == ([path], [path])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("loss", 0.3 * (1 + 1e-12)), ("unknown", 2.5 * (1 - 1e-12)), ("groups.loss", [0.25, 0.5005]),
        ("bytes_held", 101.0), ("seconds", 9.0), ("groups.cpu_seconds", [7.0]), ("timing", "exclusive"),
    ],
)  # fmt: skip
def test_last_digits_and_times_may_differ(path, value):
    assert differ({path: value}) == ([], [])


def test_what_one_record_does_not_have_is_a_contradiction_only_if_it_is_a_quantity():
    assert differ({"loss": MISSING}) == (["loss"], ["loss"])
    assert differ({"unknown": MISSING}) == (["unknown"], [])
    assert differ({"groups.deep": MISSING}) == (["groups.deep"], [])
    assert differ({"later": 1}) == (["later"], [])


def test_arrays_are_compared_with_their_shapes():
    for name, other in (
        ("margins", np.array([0.5, 1.0])), ("margins", np.array([0.5])), ("wrong", np.array([True, True])),
    ):  # fmt: skip
        assert differ({}, {name: other}) == ([name], [name])
    assert differ({}, {"margins": np.array([math.nextafter(0.5, 1), np.nan])}) == (["margins"], ["margins"])
    assert differ({}, {"more": np.zeros(2)}) == (["more"], [])


def test_a_loss_that_is_zero_but_for_rounding_is_zero():
    assert agree(0.0, 2e-16, 1e-9)
    assert not agree(0.0, 2e-16, 0.0)
    assert not agree(0.0, 1e-12, 1e-9)
