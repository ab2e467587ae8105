"""Runs with one random change of a record: whatever compares records notices it, or says that it did not."""

import copy
import shutil
from dataclasses import dataclass
from functools import cache, reduce
from operator import getitem
from random import Random

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import olbench
from olbench.analysis.check import compare, read_run_baseline
from olbench.analysis.comparison import ComparedRuns
from olbench.analysis.results import load_results
from olbench.protocols.definition import numbers_of
from olbench.protocols.recorded import read_run
from olbench.records import ledger
from olbench.records.arrays import with_arrays
from olbench.records.compare import compare_records
from olbench.records.trial import FIELDS
from tests.changes import examples

ROWS = "".join(f"{1 if (3 * n) % 7 + n % 3 > 4 else -1} 1:{n % 7} 2:{n % 5} 3:{n % 3}\n" for n in range(60))
AROWS = [{"id": "arow", "name": f"arow-{a}", "a": float(a), "params": {"r": float(a)}} for a in (1, 4)]
CONFIGS = {
    "online": {
        "permutations": 2,
        "measures": ["mistake_rate", "log_loss"],
        "keep": "predictions",
        "curve": 3,
    },
    "stream": {"protocol": "stream", "measures": ["auc", "squared_loss", "log_loss"], "window": 20},
    "crossval": {"protocol": "crossval", "folds": 3, "repeats": 1, "epochs": 2},
}
ABOUT = {*FIELDS, "key", "format", "status", "error", "worker", "permutation", "fold", "arrays"}
NUMBERS, ARRAY, EXTRA, TIMES = "number", "array", "a measure not asked for", "times"


@dataclass(frozen=True)
class Change:
    kind: str
    #: The field, or the array, that differs.
    name: str
    #: How a number changed: its own place, and the new value.
    path: tuple = ()
    value: object = None

    def apply(self, records, place):
        changed = copy.deepcopy(records)
        victim = changed[place]
        if self.kind == TIMES:
            other = changed[place - 1]
            for name in ("seconds", "cpu_seconds"):
                if name in victim:
                    victim[name], other[name] = other[name], victim[name]
            victim["timing"] = "exclusive"
        elif self.kind == ARRAY and self.value is None:
            del victim["arrays"][self.name]
        elif self.kind == ARRAY:
            array = victim["arrays"][self.name]
            array.flat[self.value % array.size] = array.flat[self.value % array.size] == 0
        else:
            reduce(getitem, self.path[:-1], victim)[self.path[-1]] = self.value
        return changed


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return the folder of runs, one of each protocol."""
    root = tmp_path_factory.mktemp("falsified")
    (root / "rows.libsvm").write_text(ROWS)
    for name, config in CONFIGS.items():
        data = {"datasets": [{"name": "rows", "path": str(root / "rows.libsvm")}], "seed": 3}
        olbench.run({**data, "algorithms": AROWS, **config}, root / name, jobs=1)
    return root


@cache
def read_records(folder):
    return [with_arrays(folder, record) for record in ledger.current(folder).values()]


def list_numbers(value, path=()):
    """Return the path of every number below a value; times are not compared."""
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value))
    else:
        return [path] if isinstance(value, int | float) and not isinstance(value, bool) else []
    return [
        each
        for name, own in pairs
        if not (isinstance(name, str) and (name.endswith("seconds") or (not path and name in ABOUT)))
        for each in list_numbers(own, (*path, name))
    ]


def draw_change(random, record):
    kind = random.choice([NUMBERS, NUMBERS, NUMBERS, ARRAY, EXTRA, TIMES])
    arrays = sorted(record.get("arrays", {}))
    if kind == ARRAY and arrays:
        return Change(ARRAY, random.choice(arrays), value=random.choice([None, random.randrange(10**6)]))
    if kind == TIMES:
        return Change(TIMES, "seconds")
    if kind == EXTRA and record["protocol"] != "crossval":
        names = ("auc", "hinge_loss", "squared_loss", "log_loss", "balanced_accuracy", "f1")
        name = random.choice([name for name in names if name not in record])
        return Change(EXTRA, name, (name,), random.choice([0.0, 0.123, 1.0]))
    paths = list_numbers(record)
    # Most numbers of a record are in its curve, and few are fractions.
    named = [path for path in paths if len(path) == 1]
    fractions = [path for path in named if isinstance(record[path[0]], float)]
    path = random.choice(random.choice([paths, named, fractions or named]))
    value = reduce(getitem, path, record)
    if isinstance(value, int):
        return Change(NUMBERS, path[0], path, value + random.choice([-1, 1, 5]))
    return Change(NUMBERS, path[0], path, value * random.choice([1 + 1e-6, 1 - 1e-6, 1.5]) if value else 0.25)


def write(folder, source, records):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    for name in ("trials.jsonl", "arrays.bin"):
        (folder / name).unlink(missing_ok=True)
    with ledger.open_ledger(folder) as written:
        written.append_all(records)
    return folder


def notices(look):
    """Return whether a comparison tells records apart, or refuses to read them."""
    try:
        return look()
    except olbench.UserError as refusal:
        note(str(refusal))
        return True


@given(seed=st.integers(0, 2**32 - 1))
@examples(30)
def test_every_comparison_notices_a_change(seed, runs, tmp_path_factory):
    random = Random(seed)
    folder = runs / random.choice(sorted(CONFIGS))
    records = read_records(folder)
    place = random.randrange(len(records))
    change = draw_change(random, records[place])
    note(f"{folder.name}: {change}")
    altered = change.apply(records, place)
    false = write(tmp_path_factory.getbasetemp() / "false", folder, altered)
    protocol = read_run(folder).protocol

    if change.kind == TIMES:
        shown = olbench.verify(false, jobs=1)
        assert shown.passed
        assert " Not checked: times" in shown.sentence
    else:
        assert notices(lambda: not olbench.verify(false, jobs=1).passed)

    quantities = {each.name for each in numbers_of(protocol) if each.repeats}
    is_told = change.kind == NUMBERS or (change.kind == ARRAY and change.value is not None)
    found = list(compare_records(numbers_of(protocol), records[place], altered[place]))
    assert bool(found) == is_told

    if change.kind in (NUMBERS, TIMES):
        shown = {each.compared for each in protocol.quantities if each.repeats} | {"n"}
        pair = [notices(lambda each=each: read_run_baseline(each)) for each in (folder, false)]
        is_changed = True in pair or compare(*pair, protocol).changed
        assert bool(is_changed) >= (change.kind == NUMBERS and change.name in shown - {"n"})

        def differ():
            return not ComparedRuns([load_results(each) for each in (folder, false)]).is_identical(1)

        is_seen = change.kind == NUMBERS and change.name in quantities
        assert notices(differ) >= is_seen
        assert change.kind != TIMES or not notices(differ)


def test_the_two_learners_are_told_apart_by_a_loss_only(runs):
    for name, expected in (("online", {}), ("stream", {}), ("crossval", {"arow-4": "arow-1"})):
        assert load_results(runs / name).twins == expected
