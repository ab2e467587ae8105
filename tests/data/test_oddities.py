"""Columns that are constant, number the rows or give labels away are found in data of any size."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from olbench import UserError, compare
from olbench.data import dataset
from olbench.data.dataset import CONSTANT, ID, LEAK, find_oddities
from tests.cases import for_each

TWIN = "named like the label, which pandas numbers"

RNG = np.random.default_rng(7)
N = 3000
Y = np.where(RNG.random(N) < 0.1, 1.0, -1.0)


def make_columns():
    rare = np.zeros(N)
    rare[1700] = 1.0
    late = np.arange(N) * 3.0
    late[[1001, 1002]] = late[[1002, 1001]]
    return {
        "normal": RNG.normal(size=N), "one": np.full(N, 1.0), "row": np.arange(N) + 5.0,
        "shuffled": RNG.permutation(N) + 1.0, "leak": (Y > 0) * 2.0, "rare": rare, "nearly": 1.0 - rare,
        "almost": np.where(np.arange(N) == 1700, -Y, Y), "late": late, "zero": np.zeros(N),
        "few": RNG.integers(0, 9, N) * 1.0, "down": -3.0 * np.arange(N),
        "sum": np.cumsum(RNG.integers(0, 3, N)) * 1.0,
    }  # fmt: skip


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("most", [1 << 26, 3000, 300, 10])
def test_odd_columns_are_found_in_data_of_any_size(storage, most, monkeypatch):
    monkeypatch.setattr(dataset, "MOST_VALUES", most)
    columns = make_columns()
    X = np.column_stack(list(columns.values()))
    expected = {CONSTANT: ["one"], ID: ["row", "shuffled", "down"], LEAK: ["leak"]}
    assert find_oddities(storage(X), Y, list(columns)) == expected


def test_a_matrix_may_have_billions_of_columns(monkeypatch):
    n, d = 40, 1 << 30
    y = np.resize([0.0, 1.0, 2.0], n)
    entries = [(i, d - 1, 3.0) for i in range(n)] + [(i, 17, 1.0) for i in range(n) if y[i] == 1]
    entries += [(i, 5, i + 1.0) for i in range(n)] + [(i, 100 * i, 1.0) for i in range(n)]
    rows, indices, values = map(np.array, zip(*entries, strict=True))
    X = sp.csr_matrix((values, (rows, indices)), shape=(n, d))
    found = {CONSTANT: [f"feature {d}"], ID: ["feature 6"], LEAK: ["feature 18"]}
    assert find_oddities(X, y) == found


@for_each("second", ["copy", "nearly a copy", "text", "few rows"])
def test_a_second_column_of_labels_that_pandas_has_renamed_is_named_and_left_out(here, own_folder, second):
    n = 6 if second == "few rows" else 40
    y = np.arange(n) % 2
    label = np.where(y, "yes", "no") if second == "text" else y
    other = label.copy()
    if second != "copy":
        other[:2] = label[1::-1]
    frame = pd.DataFrame({"a": RNG.random(n), "b": RNG.random(n), "label": label, "label.1": other})
    frame["label.old"] = RNG.random(n)
    frame.to_csv("two.csv", index=False)
    reason = LEAK if second == "copy" else TWIN
    assert f"left out: 'label.1' ({reason})" in here.out("init", "two.csv", "--force")
    words = "run", "two.csv", "--algorithms", "perceptron", "--set", "permutations=2", "--out", second
    words += ("--categorical", "onehot") if second == "text" else ()
    said = [line for line in here(*words)[2].splitlines() if ": 'label.1" in line]
    names = "'label.1=no', 'label.1=yes'" if second == "text" else "'label.1'"
    assert said == [f"two: {reason}: {names}"]
    with pytest.warns(UserWarning, match=r"^left out: 'label.1' \("):
        compare(frame, label="label", algorithms=["perceptron"], permutations=2)
    with pytest.raises(UserError, match="as in label='label'"):
        compare(frame)
