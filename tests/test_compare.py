"""`olbench.compare`: from a frame, or X and y, to a ranking in one call; and what `init` says of tables."""

import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier
from sklearn.utils import Bunch

import olbench
from olbench.cli.init import make_config
from olbench.data.look import ARRIVAL_HINT, look_at, look_at_data
from olbench.data.source import find_source
from olbench.data.spec import Reading
from olbench.protocols.reading import parse_config
from olbench.structs import parse_yaml
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


class Noisy(SGDClassifier):
    def partial_fit(self, X, y, classes=None):
        warnings.warn(f"the rate is {X[0, 0]}", RuntimeWarning, stacklevel=1)
        return super().partial_fit(X, y, classes=classes)


class Broken(SGDClassifier):
    def partial_fit(self, X, y, classes=None):
        raise RuntimeError("no <licence>")


def test_warnings_of_a_learner_are_one_line_and_a_learner_that_fails_is_shown(frame):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        algorithms = ["arow", Noisy(), Broken()]
        found = olbench.compare(frame, label="churned", algorithms=algorithms, **FEW)
    noisy, broken = (str(each.message) for each in caught)
    assert re.fullmatch(r"the rate is .* \(240 times\)", noisy)
    assert Path(caught[0].filename).name == "test_compare.py"
    assert broken == "Broken on data: 2 of 2 trials failed (RuntimeError: no <licence>)"
    assert "Broken on data: 2 of 2 trials failed (RuntimeError: no &lt;licence&gt;)" in found._repr_html_()


def test_an_index_of_times_is_said_to_be_left_out(frame):
    frame.index = pd.date_range("2026-01-01", periods=120)
    for given in ((frame,), (frame[["b"]], frame.churned)):
        label = "churned" if len(given) == 1 else ""
        with pytest.warns(UserWarning, match="the index has times, and compare runs the rows in random ord"):
            olbench.compare(*given, label=label, algorithms=["perceptron"], **FEW)


def test_a_sparse_x_takes_the_labels_that_a_dense_one_takes():
    X = sp.random(40, 5, 0.5, format="csr", random_state=0)
    names = np.array(["no", "yes"] * 20, dtype=object)
    gap = [*names[:-1], None]
    for given in ((X, names), (X, [False, True] * 20), (Bunch(data=X, target=names),)):
        found = olbench.compare(*given, algorithms=["perceptron"], **FEW)
        assert found.to_frame().n.tolist() == [40, 40]
    with pytest.warns(UserWarning, match="left out: 1 row without a label"):
        found = olbench.compare(X, gap, algorithms=["perceptron"], **FEW)
    assert found.to_frame().n.tolist() == [39, 39]
    y = np.arange(40) % 3
    for pair in (Bunch(data=X.toarray(), target=y), (X.toarray(), y)):
        found = olbench.compare(pair, algorithms=["perceptron"], **FEW)
        assert found.to_frame().n.tolist() == [40, 40]
        assert refusal(olbench.compare, pair, label="x1") == "y has the labels, so leave out label"


def test_a_look_at_the_largest_numbers_warns_of_nothing(tmp_path):
    path = tmp_path / "large.csv"
    path.write_text(
        "a,b,y\n" + "".join(f"{'-' * (k % 2)}1e308,{k * 7 % 11},{k % 3 % 2}\n" for k in range(60))
    )
    look = look_at(path, Reading())
    assert (look.lines()[0], look.reading.scale) == ("60 rows, 2 features", "unit")


@pytest.mark.parametrize("heading", ["a,a,b", "a,a=p,b", "a,*,b", ",x1,b"])
def test_a_column_is_left_out_for_what_it_has_itself_not_for_its_heading(heading, tmp_path):
    path = tmp_path / "headings.csv"
    rows = [f"{RNG.normal():.3f},{k % 2},{RNG.normal():.3f},{'pq'[k % 2]}" for k in range(40)]
    path.write_text("\n".join([f"{heading},y", *rows]))
    text, look = make_config(path, tmp_path / "headings.yaml")
    assert [spec.name for spec in look.reading.columns if spec.encode] == {
        "a,a,b": [], "a,a=p,b": ["a=p"], "a,*,b": [2], ",x1,b": []
    }[heading]  # fmt: skip
    config = parse_config(parse_yaml(text, "headings.yaml"), tmp_path)
    assert find_source(config.datasets[0]).d == look.features


def test_a_positive_label_given_as_a_number_may_be_a_text_in_the_file(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text("a,y\n" + "".join(f"{k * 7 % 5},{'1' if k % 2 else '1b'}\n" for k in range(40)))
    look = look_at(path, Reading(), (1.0,))
    assert (look.rarest, look.measures) == (0.5, ())


def test_a_time_that_is_the_only_feature_stays_one(tmp_path):
    path = tmp_path / "days.csv"
    path.write_text("date,y\n" + "".join(f"2024-01-{k + 1:02},{k % 2}\n" for k in range(28)))
    look = look_at(path, Reading())
    assert (look.is_sorted, look.features, look.reading.columns[0].encode) == (False, 2, "date")


def test_what_cannot_be_compared_is_refused_with_a_remedy(frame):
    assert "name the column of the label, as in label='churned'" in refusal(olbench.compare, frame)
    assert "read the file first" in refusal(olbench.compare, "churn.csv", label="churned")
    frame["churned"] = range(120)
    refused = refusal(olbench.compare, frame, label="churned")
    assert "has 120 different numbers in 120 rows: that is a regression target" in refused
    frame["churned"] = "yes"
    assert "every example has the label 'yes'" in refusal(olbench.compare, frame, label="churned")


def test_a_column_of_dates_or_of_numbers_with_a_word_is_no_label(tmp_path):
    days = np.datetime64("2024-01-01") + np.arange(60)
    for cells, shown in ((days, "60 different texts"), (["thin", *range(59)], "59 different numbers")):
        path = tmp_path / "loans.csv"
        path.write_text("\n".join(["size,last", *(f"{k % 7},{cell}" for k, cell in enumerate(cells))]))
        assert f"column 'last' has {shown} in 60 rows" in refusal(look_at, path, Reading())
    path.write_text("\n".join(["size,last", *(f"{k % 7},c{k % 30}" for k in range(60))]))
    assert len(look_at(path, Reading()).labels) == 30


def test_an_empty_column_is_left_out_and_dates_of_a_stream_may_be_arrivals(tmp_path):
    path = tmp_path / "paid.csv"
    rows = [f"2024-01-{k // 2 + 1:02},2024-02-{k % 29 + 1:02},,{k * 7 % 11},{k % 2}" for k in range(60)]
    path.write_text("\n".join(["day,known,notes,size,bad", *rows]))
    look = look_at(path, Reading())
    assert look.lines()[-1] == "left out: 'notes' (no values)"
    assert ARRIVAL_HINT in look.lines()
    assert (look.reading.missing, look.reading.categorical) == ("", "")
    assert not any(line.startswith("missing") for line in look.lines())


def test_constant_id_like_and_leaking_columns_are_named_and_left_out(tmp_path):
    path = tmp_path / "odd.csv"
    rows = [f"{k},c{k},5,{k * 7 % 11},{'pqr'[k % 3]},{'abc'[k % 3]}" for k in range(60)]
    path.write_text("\n".join(["row,customer,five,size,same,class", *rows]))
    look = look_at(path, Reading())
    assert look.lines()[-2:] == [
        "constant: 'five'",
        "left out: 'row' (different in every row, as an id), 'customer' (different in every row, as an id), "
        "'same' (gives the label away)",
    ]
    dropped = [spec.name for spec in look.reading.columns if spec.encode == "drop"]
    assert dropped == ["row", "customer", "same"]
    # The column of row numbers, which is left out, has no say in the scale and the covariance.
    assert (look.positive, look.reading.scale, look.reading.missing, look.features) == (None, "", "", 3)
    assert "scale: standard deviations of the features from 3.19 to 3.19" in look.lines()


def test_the_reason_for_a_scale_is_said():
    frame = pd.DataFrame({"a": [1, 1.2] * 10, "b": ["x", "y"] * 10, "y": ["n", "j", "j", "n"] * 5})
    said = "standard deviations of the features from 0.1 to 0.1, against a bias of 1, so scale: standard"
    assert f"scale: {said}" in look_at_data(frame, Reading(label="y")).lines()
    assert "scale: no column of numbers varies" in look_at_data(frame[["b", "y"]], Reading(label="y")).lines()


def test_what_a_table_cannot_use_is_said_with_its_reason_and_the_rest_is_kept(tmp_path):
    path = tmp_path / "offers.csv"
    rows = [f"{k % 28 + 1:02}.12.2022,{k % 7},{k % 9 or ''},{'no' if k % 8 else 'yes'}" for k in range(60)]
    rows[4], rows[5] = "05.12.2022,n.a.,,NO", "06.12.2022,1,2,"
    path.write_text("\n".join(["day,visits,size,sold", *rows]))
    look = look_at(path, Reading())
    lines = look.lines()
    assert "labels that differ only in capitals: 'no', 'NO'; are they one class?" in lines
    assert "missing: 8 values in 8 rows" in lines
    assert lines[-1] == (
        "left out: 1 row without a label, 'day' (dates such as '01.12.2022'; write them as 2024-01-31), "
        f"'visits' (numbers and 'n.a.' at {path}:6)"
    )
    assert (look.reading.missing, look.reading.columns[-1].name) == ("zero", "*")


@pytest.mark.parametrize(
    ("values", "scale", "missing"),
    [
        ((2.0, 3.0), "", "zero"),
        ((2.0, 30.0), "standard", "mean"),
        ((30.0, 30.0), "standard", "mean"),  # beside the bias, and indicators of texts
        ((1e200, 1.0), "unit", "zero"),  # its squares overflow
    ],
)
def test_features_of_different_sizes_are_scaled_one_by_one(values, scale, missing):
    made = pd.DataFrame({f"c{k}": size * np.resize([-1, 1, 1], 60) for k, size in enumerate(values)})
    made.loc[3, "c0"] = np.nan
    made["sold"] = np.resize([0, 0, 0, 1, 1], 60)
    reading = look_at_data(made, Reading(label="sold")).reading
    assert (reading.scale, reading.missing) == (scale, missing)
    made.insert(0, "date", pd.date_range("2024-01-01", periods=60).astype(str))
    assert look_at_data(made, Reading(label="sold")).reading.scale == (scale or "standard")


def test_a_rare_class_is_judged_by_balanced_accuracy_and_rows_left_out_are_said(frame):
    frame["churned"] = np.where(frame.b > 1.2, "yes", "no")
    frame.loc[5, "churned"] = None
    frame["id"] = [f"c{k}" for k in range(120)]
    with pytest.warns(UserWarning, match="left out: 1 row without a label, 'id' .different in every row"):
        found = olbench.compare(frame, label="churned", algorithms=["arow", SGDClassifier()], **FEW)
    assert found.protocol.quantities[0].name == "balanced_accuracy"


@pytest.mark.parametrize("largest", ["2,25", "1.234.567,50"])
def test_decimal_commas_are_not_taken_for_categories_and_the_advice_helps(largest, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("semi.csv").write_text(f"a;y\n1,5;no\n{largest};yes\n")
    said = refusal(look_at, Path("semi.csv"), Reading())
    assert "semi.csv:2: column 'a' has the text '1,5'" in said
    command = re.search("convert the file, as (.*) does", said)[1]
    eval(command, {"pandas": pd, "FILE": "semi.csv", "NEW": "new.csv"})
    numbers = olbench.load_dataset("new.csv").X[:, 0]
    assert numbers.tolist() == [1.5, 2.25 if largest == "2,25" else 1234567.5]


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
