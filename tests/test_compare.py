"""`olbench.compare`: from a frame, or X and y, to a ranking in one call; and what `init` says of tables."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier
from sklearn.utils import Bunch

import olbench
from olbench.data.look import look_at
from olbench.data.spec import Reading
from tests import ROOT
from tests.refusals import refusal

RNG = np.random.default_rng(3)
FEW = {"permutations": 2, "jobs": 1}
EXAMPLES = ROOT / "docs/examples"


@pytest.fixture
def frame():
    made = pd.DataFrame(RNG.standard_normal((120, 2)), columns=["a", "b"])
    made["kind"] = RNG.choice(["x", "y"], 120)
    made.loc[3, "a"] = np.nan
    made["churned"] = np.where(made.b + (made.kind == "x") > 0.5, "yes", "no")
    return made


def test_a_frame_and_a_pair_give_a_ranking_that_notebooks_show(frame):
    found = olbench.compare(frame, label="churned", algorithms=["perceptron", "arow"], **FEW)
    rates = found.to_frame().groupby("algorithm").mistake_rate.mean()
    assert rates["arow"] < 0.5
    html = found._repr_html_()
    assert "<table" in html
    assert "<svg" in html
    X, y = frame[["b"]].to_numpy(), frame.churned
    for matrix in (X, sp.csr_matrix(X)):
        labels = np.where(y == "yes", 1, 0)
        found = olbench.compare(matrix, labels, algorithms=["arow"], **FEW)
        assert len(found.to_frame()) == 2


def test_learners_of_other_libraries_and_several_classes_take_part(frame):
    frame["churned"] = RNG.choice(["low", "mid", "high"], 120)
    found = olbench.compare(frame, label="churned", algorithms=["arow", SGDClassifier()], **FEW)
    assert found.missing == []
    assert set(found.to_frame().algorithm) == {"arow", "SGDClassifier"}
    [arow] = [spec for spec in found.config.algorithms if spec.id == "arow"]
    assert arow.options["multiclass"] == "native"


def test_a_sparse_x_takes_the_labels_that_a_dense_one_takes():
    X = sp.random(40, 5, 0.5, format="csr", random_state=0)
    names = np.array(["no", "yes"] * 20, dtype=object)
    gap = [*names[:-1], None]
    for given, rows in (((X, names), 40), ((X, [False, True] * 20), 40), ((X, gap), 39)):
        found = olbench.compare(*given, algorithms=["perceptron"], **FEW)
        assert found.to_frame().n.tolist() == [rows, rows]
    found = olbench.compare(Bunch(data=X, target=names), algorithms=["perceptron"], **FEW)
    assert found.to_frame().n.tolist() == [40, 40]


def test_a_look_at_the_largest_numbers_warns_of_nothing(tmp_path):
    path = tmp_path / "large.csv"
    path.write_text(
        "a,b,y\n" + "".join(f"{'-' * (k % 2)}1e308,{k * 7 % 11},{k % 3 % 2}\n" for k in range(60))
    )
    assert look_at(path, Reading()).lines()[0] == "60 rows, 2 features"


def test_what_cannot_be_compared_is_refused_with_a_remedy(frame):
    assert "name the column of the label, as in label='churned'" in refusal(olbench.compare, frame)
    frame["churned"] = range(120)
    refused = refusal(olbench.compare, frame, label="churned")
    assert "has 120 different numbers in 120 rows: that is a regression target" in refused
    frame["churned"] = "yes"
    assert "every example has the label 'yes'" in refusal(olbench.compare, frame, label="churned")


def test_constant_id_like_and_leaking_columns_are_named_and_left_out(tmp_path):
    path = tmp_path / "odd.csv"
    rows = [f"{k},c{k},5,{k * 7 % 11},{'pqr'[k % 3]},{'abc'[k % 3]}" for k in range(60)]
    path.write_text("\n".join(["row,customer,five,size,same,class", *rows]))
    look = look_at(path, Reading())
    assert look.lines()[-3:] == [
        "constant: five",
        "different in every row, as an id: row, customer (left out)",
        "gives the label away: same=p, same=q, same=r (left out)",
    ]
    dropped = [spec.name for spec in look.reading.columns if spec.encode == "drop"]
    assert dropped == ["customer", "row", "same"]
    assert (look.positive, look.reading.scale, look.reading.missing) == (None, "unit", "")


def test_decimal_commas_are_not_taken_for_categories(tmp_path):
    path = tmp_path / "semi.csv"
    path.write_text("a;y\n1,5;no\n2,25;yes\n")
    said = refusal(look_at, path, Reading())
    assert "semi.csv:2: column 'a' has the text '1,5'" in said
    assert " decimal point: convert" in said


def test_a_first_look_runs_several_classes_and_says_what_it_leaves_out(here, tmp_path, monkeypatch):
    path = tmp_path / "three.csv"
    path.write_text("a,b,y\n" + "".join(f"{k % 7},{k % 5},{'rst'[k % 3]}\n" for k in range(60)))
    monkeypatch.chdir(tmp_path)
    code, _, err = here("run", "three.csv", "--set", "permutations=1")
    assert code == 0, err
    assert "three: every label is a class (labels: all); --positive LABEL makes two" in err
    assert "three: untuned, unscaled, no bias; `olbench init three.csv` writes" in err


def test_the_example_is_what_its_script_makes(tmp_path):
    for name in ("make_churn.py", "churn.csv"):
        (tmp_path / name).write_bytes((EXAMPLES / name).read_bytes())
    (tmp_path / "churn.csv").unlink()
    subprocess.run([sys.executable, tmp_path / "make_churn.py"], check=True)
    assert (tmp_path / "churn.csv").read_bytes() == (EXAMPLES / "churn.csv").read_bytes()
