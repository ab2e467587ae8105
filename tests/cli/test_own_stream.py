"""One's own table as a stream, with the real command: from a file to a report, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from tests.cases import for_each
from tests.test_schema import is_valid

pytestmark = pytest.mark.usefixtures("own_folder")

ROWS = 40_000


@pytest.fixture
def payments():
    """Payments of half a year: 5 % are fraud, more often abroad, by card, and of large amounts."""
    rng = np.random.default_rng(2012)
    kind = rng.choice(["card", "transfer", "cash"], ROWS, p=[0.5, 0.3, 0.2])
    country = rng.choice(["home", "near", "far"], ROWS, p=[0.8, 0.15, 0.05])
    amount, hour = np.exp(rng.normal(3.0, 1.0, ROWS)), rng.integers(0, 24, ROWS)
    score = (
        1.5 * (kind == "card")
        + 2.0 * (country == "far")
        + 0.01 * amount
        - 0.1 * hour
        + rng.logistic(0, 1, ROWS)
    )
    seconds = pd.to_timedelta(np.sort(rng.integers(0, 15_000_000, ROWS)), "s")
    frame = pd.DataFrame(
        {"date": pd.Timestamp("2024-01-01") + seconds, "amount": amount.round(2), "hour": hour}
    )
    frame["kind"] = np.where(rng.random(ROWS) < 0.01, "", kind)
    frame["country"], frame["fraud"] = country, np.where(score > np.quantile(score, 0.95), "yes", "no")
    frame.loc[rng.random(ROWS) < 0.02, "amount"] = np.nan
    frame.to_csv("my.csv", index=False)
    return Path("my.csv")


def test_an_imbalanced_file_goes_to_a_report_with_auc_in_three_commands(here, payments):
    out = here.out("init", payments)
    assert "the rows are in the order of column 'date', so my.yaml runs them as a stream\n" in out
    text = Path("my.yaml").read_text()
    assert is_valid(text)
    config = yaml.safe_load(text)
    assert config["protocol"] == "stream"
    assert config["measures"] == ["auc", "balanced_accuracy"]
    [spec] = config["datasets"]
    assert spec == {
        "path": "my.csv", "label": "fraud", "positive": "yes", "time": "date", "missing": "zero",
        "categorical": "onehot", "scale": "unit", "bias": True,
    }  # fmt: skip
    here.out("run", "my.yaml", "--quiet")
    out = here.out("report", "results/my", "--format", "json")
    rows = {row["algorithm"]: row for row in json.loads(out)["rows"]}
    assert set(rows) == {"perceptron", "pa1", "arow", "scw1", "no-change", "majority-so-far"}
    for id in ("perceptron", "pa1", "arow", "scw1"):
        assert rows[id]["auc"]["mean"] > 0.6
    assert rows["arow"]["auc"]["mean"] > 0.75


SMALL = "date,size,colour,sold\n" + "".join(
    f"2020-01-{day:02},{day % 7 - 3},{('red', 'blue')[day % 2]},{('no', 'yes')[day % 7 > 3]}\n"
    for day in range(1, 31)
)
HOW = ("--label", "sold", "--categorical", "onehot")


@pytest.fixture
def days():
    path = Path("days.csv")
    path.write_text(SMALL)
    return path


def test_a_stream_takes_one_line(here, days):
    err = here.err("run", days, "--stream", "--time", "date", "--delay", 2, *HOW, code=0)
    assert "days: time: column 'date'\n" in err
    records = [json.loads(line) for line in Path("results/days.csv/trials.jsonl").read_text().splitlines()]
    ids = ["perceptron", "pa1", "arow", "scw1", "no-change", "majority-so-far"]
    assert sorted(record["algorithm"] for record in records) == sorted(ids)
    assert {(record["n"], record["labels"]) for record in records} == {(30, 28)}
    assert here("report", "results/days.csv")[0] == 0


def test_other_protocols_do_not_use_the_time_as_a_feature(here, days):
    words = ("run", days, "--algorithms", "arow", "--time", "date", "--set", "permutations=1", "-q", *HOW)
    here.out(*words)
    assert json.loads(Path("results/days.csv/run.json").read_text())["data"]["days"]["features"] == 3


@pytest.mark.parametrize(("text", "words", "message"), [
        (SMALL, ("--delay", 30), "days has 30 rows, so no label would arrive with a delay of 30"),
        (SMALL, ("--set", "window=0"), "window must be a whole number from 1, not 0"),
        (SMALL.replace("01-17", "01-15"), (), "days.csv:18: the time '2020-01-15' is before that of the"),
        (SMALL, ("--time", "dates"), "with --time (did you mean 'date'?)"),
    ])  # fmt: skip
def test_a_stream_that_cannot_be_run_is_refused_in_one_sentence(here, text, words, message):
    Path("days.csv").write_text(text)
    code, out, err = here("run", "days.csv", "--stream", "--time", "date", *HOW, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not Path("results").exists()


@for_each(
    ("words", "message"),
    [
        (("my.libsvm", "--stream", "--time", "date"), "and time applies only to tables"),
        (("my.libsvm", "--delay", 3, "--algorithms", "pa"), "--delay needs a stream; add --stream"),
        (("my.yaml", "--stream"), "--stream, --algorithms, --covariance, --plugin and flags for files"),
        (("breast-cancer", "--stream", "--time", "date"), "'time' is only allowed for data sets with 'path'"),
    ],
)
def test_options_of_a_stream_go_with_tables(here, words, message):
    Path("my.libsvm").write_text("+1 1:1\n-1 1:2\n")
    Path("my.yaml").write_text("datasets: [breast-cancer]\nalgorithms: [pa]\n")
    code, out, err = here("run", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("text", "protocol", "comment"),
    [
        (SMALL, "stream", False),
        (SMALL.replace("date", "when"), "stream", False),  # all of them are dates
        (SMALL.replace("2020-01-", "").replace("date", "ts"), "stream", False),
        (SMALL.replace("2020-01-", "").replace("date", "day"), "online", False),
        (SMALL.replace("01-17", "01-15"), "online", True),
        (SMALL.replace("2020-01-17", ""), "online", False),
        (SMALL.replace("2020-01-17", "soon"), "online", False),
    ],
)
def test_init_proposes_a_stream_where_rows_are_in_the_order_of_a_time(here, text, protocol, comment):
    Path("days.csv").write_text(text)
    out = here.out("init", "days.csv")
    written = Path("days.yaml").read_text()
    assert is_valid(written)
    config = yaml.safe_load(written)
    assert config["protocol"] == protocol
    assert ("time" in config["datasets"][0], "runs them as a stream" in out) == ((protocol == "stream"),) * 2
    assert ("# protocol: stream      # for a file sorted by column 'date'" in written) == comment
    assert "measures" not in config
    assert here("run", "days.yaml", "--dry-run")[0] == 0


def test_init_measures_a_rare_class_by_more_than_mistakes(here):
    Path("rare.csv").write_text("size,sold\n" + "".join(f"{k % 9},{int(k % 10 == 3)}\n" for k in range(60)))
    assert here("init", "rare.csv")[0] == 0
    text = Path("rare.yaml").read_text()
    assert "# the rarer class has 10.0% of the rows, so accuracy says little\n" in text
    assert yaml.safe_load(text)["measures"] == ["balanced_accuracy", "auc"]
    assert here("run", "rare.yaml", "--dry-run")[0] == 0
