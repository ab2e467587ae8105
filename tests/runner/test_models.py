"""A model predicts as its learner did, and reads new rows as the old ones were read."""

import itertools
import json

import numpy as np
import pytest

from olbench import UserError, load_dataset, load_model
from olbench.config.specs import DatasetSpec, Reading
from olbench.data.prepare.recipe import fit_recipe
from olbench.estimators import AROW, CW, PA1, SCW1, AveragedPerceptron
from olbench.models import Model

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(80, 6))
TWO, THREE = np.where(X[:, 0] > 0.2, "spam", "ham"), np.digitize(X[:, 0], [-0.4, 0.4])


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (PA1(C=0.5), TWO),
        (AveragedPerceptron(), TWO),
        (AROW(), TWO),
        (SCW1(covariance="diag", fit_intercept=True), TWO),
        (CW(), TWO),
        (AROW(kernel="rbf", gamma=0.5), TWO),
        (AROW(), THREE),
        (AROW(multiclass="native"), THREE),
    ],
)
def test_a_loaded_model_is_the_same_and_learns_on(estimator, y, tmp_path):
    estimator.fit(X, y)
    Model(estimator).save(tmp_path / "m.npz")
    loaded = load_model(tmp_path / "m.npz")
    assert loaded.predict(X).tolist() == estimator.predict(X).tolist()
    assert np.array_equal(loaded.estimator.margins(X), estimator.margins(X))
    for each in (estimator, loaded.estimator):
        each.partial_fit(X[:20], y[:20])
    assert np.array_equal(loaded.estimator.margins(X), estimator.margins(X))
    assert loaded.estimator.mistakes_.tolist() == estimator.mistakes_.tolist()


CSV = "size,colour,weight,sold\n1,red,2.5,no\n2,blue,,yes\n,red,1.5,no\n4,green,0.5,yes\n5,blue,3,no\n"


@pytest.mark.parametrize(
    ("missing", "scale", "bias"),
    list(itertools.product(["zero", "mean"], ["", "unit", "minmax", "standard"], [False, True])),
)
def test_a_recipe_reads_a_table_as_it_was_read_for_training(missing, scale, bias, tmp_path):
    file = tmp_path / "t.csv"
    file.write_text(CSV)
    data = load_dataset(file, missing=missing, categorical="onehot", scale=scale, bias=bias)
    reading = Reading(missing=missing, categorical="onehot", scale=scale, bias=bias)
    recipe, names = fit_recipe(DatasetSpec("t", str(file), reading=reading))
    rows, labels = recipe.read(file, data.X.shape[1])
    assert np.array_equal(np.asarray(rows), data.X if isinstance(data.X, np.ndarray) else data.X.toarray())
    assert names == ["no", "yes"]
    assert labels.tolist() == ["no", "yes", "no", "yes", "no"]


def test_new_rows_of_a_stream_are_scaled_by_all_rows_before_them(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("size,sold\n1,no\n2,yes\n6,no\n")
    recipe, _ = fit_recipe(DatasetSpec("t", str(file), reading=Reading(scale="running")))
    (tmp_path / "new.csv").write_text("size\n3\n")
    assert recipe.read(tmp_path / "new.csv", 1)[0].tolist() == [[0.0]]
    assert recipe.read(file, 1)[0][-1] == load_dataset(file, scale="running").X[-1]


def test_columns_are_found_by_heading_and_unknown_texts_have_no_indicator(tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    recipe, _ = fit_recipe(
        DatasetSpec("t", str(tmp_path / "t.csv"), reading=Reading(missing="zero", categorical="onehot"))
    )
    (tmp_path / "new.csv").write_text("colour,id,weight,size\nviolet,7,2,3\nred,8,1,4\n")
    rows, labels = recipe.read(tmp_path / "new.csv", 5)
    assert labels is None
    assert recipe.features == ["size", "colour=blue", "colour=green", "colour=red", "weight"]
    assert rows.tolist() == [[3, 0, 0, 0, 2], [4, 0, 0, 1, 1]]
    (tmp_path / "bad.csv").write_text("colour,size\nred,3\n")
    with pytest.raises(UserError, match=r"bad.csv has no column 'weight', which the model needs"):
        recipe.read(tmp_path / "bad.csv", 5)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nothing", b"\x93NUMPY"])
def test_another_file_is_refused(content, tmp_path):
    (tmp_path / "m.npz").write_bytes(content)
    with pytest.raises(UserError, match="is not a model that `olbench train` wrote"):
        load_model(tmp_path / "m.npz")


def test_a_pickle_in_a_model_is_not_loaded(tmp_path):
    about = np.frombuffer(json.dumps({"format": "olbench model"}).encode(), np.uint8)
    np.savez(tmp_path / "m.npz", about=about, evil=np.array([{"a": 1}], dtype=object))
    with pytest.raises(UserError, match="is not a model"):
        load_model(tmp_path / "m.npz")


def test_a_run_trains_a_model_that_predicts(here, tmp_path):
    with open("my.csv", "w") as file:
        file.write("a,b,class\n")
        file.writelines(f"{a:.3f},{b:.3f},{'good' if a + b > 0 else 'bad'}\n" for a, b in X[:, :2])
    with open("my.yaml", "w") as file:
        file.write("datasets: [{path: my.csv, scale: standard}]\nalgorithms: [arow, pa1]\npermutations: 2\n")
    code, _, err = here("train", "my.yaml", "--algorithm", "arow", "-o", "m.npz")
    assert code == 2
    assert "results/my" in err
    assert here("run", "my.yaml", "--quiet")[0] == 0
    code, out, _ = here("train", "my.yaml", "--algorithm", "arow", "-o", "m.npz")
    assert code == 0
    assert "as in the record" in out
    assert here("predict", "m.npz", "my.csv", "-o", "p.csv")[2].startswith(
        "the table of predictions is in p.csv\n"
    )
    code, out, err = here("predict", "m.npz", "my.csv")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "row,predicted,score"
    assert len(lines) == 81
    wrong = sum(
        line.split(",")[1] != ("good" if a + b > 0 else "bad")
        for line, (a, b) in zip(lines[1:], X[:, :2], strict=True)
    )
    assert f"{wrong} mistake" in err
    assert wrong < 12
