"""From one's own file to a report with the real command; what is done with the data is in the record."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from sklearn.preprocessing import StandardScaler

from olbench import load_dataset, make_algorithm, online_pass
from olbench.cli.run import read
from olbench.protocols import crossval
from olbench.records import seeds
from tests.test_schema import is_valid

pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.fixture
def shop():
    """A file with a header, labels of text in the middle, a column of text, and blanks."""
    random = np.random.default_rng(0)
    lines = ["size;sold;colour;weight"]
    for k, (size, weight) in enumerate(random.normal((0, 100), (1, 20), (60, 2))):
        sold = "yes" if size + (weight - 100) / 20 > 0 else "no"
        lines.append(f"{size:.3f};{sold};{('red', 'blue')[k % 2]};{f'{weight:.3f}' if k % 20 != 3 else ''}")
    Path("shop.csv").write_text("\n".join(lines) + "\n")
    return Path("shop.csv")


def test_three_commands_from_a_csv_file_to_a_report(here, shop):
    out = here.out("init", shop, "--label", "sold")
    for line in ("60 rows, 3 features", "missing: 3 values in 3 rows", "text: 'colour' (2 different)"):
        assert f"shop.csv: {line}\n" in out
    assert "  olbench report results/shop\n" in out
    text = Path("shop.yaml").read_text()
    assert is_valid(text)
    assert yaml.safe_load(text)["datasets"] == [{
        "path": "shop.csv", "label": "sold", "positive": "yes", "missing": "mean", "categorical": "onehot",
        "scale": "standard", "bias": True,
    }]  # fmt: skip
    words = ("run", "shop.yaml", "--set", "permutations=2", "--set", "algorithms=[perceptron, pa1]")
    err = here.err(*words, "--set", "tuning.search=none", code=0)
    assert "shop: every feature scaled to mean 0 and standard deviation 1 by all rows" in err
    assert "perceptron" in here.out("report", "results/shop")
    assert "Preparation of shop: label: column 'sold'" in here.out("report", "results/shop", "--format", "md")
    prepared = json.loads(Path("results/shop/run.json").read_text())["data"]["shop"]["prepared"]
    assert "3 missing values replaced by the mean of their column over all rows" in prepared
    assert "nothing to do: all 4 trials are in" in here.out(*words, "--set", "tuning.search=none")


def test_a_column_of_many_texts_is_questioned_as_a_label_and_as_features(here):
    rows = [f"{k % 7},{'ab'[k % 2]},B{k % 30:02d}" for k in range(120)]
    Path("fruit.csv").write_text("size,grade,batch\n" + "\n".join(rows))
    said = (
        "30 classes, learnt as such (labels: all); --positive LABEL makes two; are they labels? name another "
    )
    assert said + "column with --label\n" in here.out("init", "fruit.csv")
    said = "one feature per text: 30 of 'batch'; `NAME: drop` under columns leaves them out\n"
    assert said in here.out("init", "fruit.csv", "--label", "grade", "--force")


def test_a_wide_table_runs_with_a_diagonal_covariance(here):
    rows = [",".join([str(k)] * 501 + ["ab"[k % 2]]) for k in range(4)]
    Path("wide.csv").write_text("\n".join(rows))
    assert "wide: covariance: diag, for 501 features; or --covariance full" in here.err(
        "run", "wide.csv", "--dry-run", code=0
    )
    (arow,) = read("wide.csv", (), algorithms="arow").algorithms
    assert arow.options["covariance"] == "diag"
    for choice in (("--covariance", "full"), ("--set", "covariance=full")):
        assert "covariance: diag" not in here.err("run", "wide.csv", "--dry-run", *choice, code=0)


def test_init_replaces_nothing_and_refuses_a_missing_file(here, shop):
    assert "has 57 different numbers in 57 rows: that is a regression target" in here.err("init", shop)
    assert here("init", shop, "--label", 2)[0] == 0
    assert here.err("init", shop, "--label", 2).endswith("overwrite it with --force\n")
    assert here("init", shop, "--label", 2, "--force")[0] == 0
    assert "shop2.csv: there is no such data file (did you mean 'shop.csv'?)" in here.err("init", "shop2.csv")
    assert "there is no file shap.yaml (did you mean 'shop.yaml'?)" in here.err("run", "shap.yaml")
    shop.rename("a shop.csv")
    assert "  olbench run 'a shop.yaml'\n" in here.out("init", "a shop.csv", "--label", "sold")
    out = here.out("data", "info", "a shop.csv", "--label", "sold")
    assert "not read without further options: a shop.csv:5: column 'weight' has no value; choose" in out
    out = here.out("data", "info", "a shop.csv", "--label", "sold", "--missing", "mean")
    assert "not read without further options: a shop.csv:2: column 'colour' has the text 'red'" in out


def test_a_first_look_says_what_became_positive(here, shop):
    words = ("run", shop, "--algorithms", "perceptron", "--label", "sold", "--set", "permutations=1")
    code, _, err = here(*words)
    assert (code, err.count("\n")) == (2, 1)
    assert "shop.csv:5: column 'weight' has no value; choose --missing drop, zero or mean" in err
    err = here.err(*words, "--missing", "drop", "--categorical", "drop", "--out", "out", code=0)
    assert "is +1; 'no' (" in err
    assert "(of two labels, the later in the alphabet is +1)" in err
    here.out(*words, "--missing", "drop", "--categorical", "drop", "--positive", "no", "--out", "out")
    lines = [json.loads(line) for line in Path("out/trials.jsonl").read_text().splitlines()]
    assert len({line["fingerprint"] for line in lines}) == 2


def test_the_command_reads_what_python_reads(here, shop):
    how = {"label": "sold", "missing": "zero", "categorical": "onehot", "scale": "minmax", "bias": True}
    data = load_dataset(shop, positive="no", **how)
    flags = [word for key, value in how.items() if key != "bias" for word in (f"--{key}", value)]
    out = here.out("data", "info", shop, "--positive", "no", *flags, "--bias")
    assert out.endswith(f"read as 60 x 5, dense, fingerprint {data.fingerprint}\n")
    config = {
        "datasets": [{"path": "shop.csv", "positive": "no", **how}],
        "algorithms": ["arow"], "permutations": 1, "seed": 5,
    }  # fmt: skip
    Path("own.yaml").write_text(yaml.safe_dump(config))
    assert here("run", "own.yaml", "--quiet")[0] == 0
    record = json.loads(Path("results/own/trials.jsonl").read_text())
    order = seeds.order(5, "shop", "report", 0, seeds.ALL, 60)
    assert record["mistakes"] == online_pass(make_algorithm("arow"), data.X, data.y, order=order).mistakes
    assert record["fingerprint"] == data.fingerprint


def test_crossval_scales_by_the_training_rows_only(here, shop, monkeypatch):
    """The rows that are tested must not decide how they are scaled."""
    seen, real = [], crossval.scale_features

    def spy(X, scale, bias, rows):
        seen.append((rows, real(X, scale, bias, rows)))
        return seen[-1][1]

    monkeypatch.setattr(crossval, "scale_features", spy)
    how = {"label": "sold", "missing": "zero", "categorical": "onehot", "scale": "standard", "bias": True}
    config = {
        "protocol": "crossval", "folds": 3, "repeats": 1, "epochs": 1, "algorithms": ["perceptron"],
        "tuning": {"search": "none"},
        "datasets": [{"path": "shop.csv", **how}, {"path": "shop.csv", **how, "name": "no", "bias": False}],
    }  # fmt: skip
    Path("folds.yaml").write_text(yaml.safe_dump(config))
    err = here.err("run", "folds.yaml", "--jobs", 1, code=0)
    assert "standard deviation 1 by the training rows of each trial" in err
    raw = load_dataset(shop, label="sold", missing="zero", categorical="onehot").X
    added = [scaled.shape[1] - raw.shape[1] for _, scaled in seen]
    assert sorted(added) == [0, 0, 0, 1, 1, 1]
    for columns, (rows, scaled) in zip(added, seen, strict=True):
        assert len(rows) == 40
        expected = StandardScaler().fit(raw[rows]).transform(raw)
        bias = np.ones((60, columns))
        np.testing.assert_allclose(scaled, np.hstack([expected, bias]), atol=1e-12)
    run = json.loads(Path("results/folds/run.json").read_text())
    assert run["config"]["datasets"][0]["fitted"] == "training rows"


@pytest.mark.parametrize(
    ("dataset", "rest", "message"),
    [
        ("{path: shop.csv, missing: mean}", "protocol: crossval\n", "use zero or drop"),
        ("{path: shop.csv, scale: standard}", "protocol: shards\n", "use scale: unit, or scale the file"),
        ("{path: shop.csv, scale: standard}", "protocol: stream\n", "use scale: running or unit"),
        ("{path: shop.csv, scale: running}", "", "scale: running needs the order of the file"),
        ("{path: shop.csv, scale: unit}", "protocol: advice\n", "leave out scale and bias"),
        ("{path: shop.csv, positive: yes}", "", 'write it in quotes, as in positive: "yes"'),
        ("{path: shop.csv, missing: maybe}", "", "missing must be one of drop, zero, mean, not 'maybe'"),
        ("{path: shop.csv, bias: 1}", "", "bias must be true or false, not 1"),
        ("{path: shop.csv, label: 1.5}", "", "label must be the heading or the number of a column, not 1.5"),
        ("{path: shop.csv, delimiter: ab}", "", "the delimiter must be one character"),
        ("{path: shop.csv, lable: x}", "", "unknown key 'lable' in a data set (did you mean 'label'?)"),
        ("{name: breast-cancer, scale: unit}", "", "'scale' is only allowed for data sets with 'path'"),
    ],
)
def test_a_config_that_cannot_be_followed_is_refused_with_its_line(here, shop, dataset, rest, message):
    Path("bad.yaml").write_text(f"algorithms: [pa]\ndatasets:\n  - {dataset}\n{rest}")
    err = here.err("run", "bad.yaml", "--dry-run")
    assert err.startswith("olbench: bad.yaml:3: ")
    assert message in err
