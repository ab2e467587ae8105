"""One's own table as a stream, with the real command: from a file to a report, and what is refused."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cases import for_each
from tests.test_schema import is_valid

pytestmark = pytest.mark.usefixtures("own_folder")

SMALL = "date,size,colour,sold\n" + "".join(
    f"2020-01-{day:02},{day % 7 - 3},{('red', 'blue')[day % 2]},{('no', 'yes')[day % 7 > 3]}\n"
    for day in range(1, 31)
)
HOW = ("--label", "sold", "--categorical", "onehot")
DAYS = ("days.csv", "--stream", "--time", "date", *HOW)


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


@for_each(
    ("words", "message"),
    [
        ((*DAYS, "--delay", 30), "days has 30 rows, so no label would arrive with a delay of 30"),
        ((*DAYS, "--set", "window=0"), "window must be a whole number from 1, not 0"),
        (("late.csv", *DAYS[1:]), "late.csv:18: the time '2020-01-15' is before that of the"),
        ((*DAYS, "--time", "dates"), "with --time (did you mean 'date'?)"),
        (("my.libsvm", "--stream", "--time", "date"), "and time applies only to tables"),
        (("my.libsvm", "--delay", 3, "--algorithms", "pa"), "--delay needs a stream; add --stream"),
        (("my.yaml", "--stream"), "--stream, --algorithms, --covariance, --plugin and flags for files"),
        (("breast-cancer", "--stream", "--time", "date"), "'time' is only allowed for data sets with 'path'"),
    ],
)
def test_a_stream_that_cannot_be_run_is_refused_in_one_sentence(here, days, words, message):
    Path("late.csv").write_text(SMALL.replace("01-17", "01-15"))
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


def test_an_imbalanced_file_in_the_order_of_time_goes_to_a_report_with_auc(here):
    rows = [f"{k % 9},{k % 4},{int(k % 10 == 3)}\n" for k in range(60)]
    Path("plain.csv").write_text("size,price,sold\n" + "".join(rows))
    here.out("init", "plain.csv")
    assert yaml.safe_load(Path("plain.yaml").read_text())["measures"] == ["balanced_accuracy", "auc"]
    dated = "".join(f"2020-01-{k // 2 + 1:02},{row}" for k, row in enumerate(rows))
    Path("rare.csv").write_text("date,size,price,sold\n" + dated)
    assert "so rare.yaml runs them as a stream\n" in here.out("init", "rare.csv")
    text = Path("rare.yaml").read_text()
    assert "# the rarer class has 10.0% of the rows, so accuracy says little\n" in text
    config = yaml.safe_load(text)
    assert config["measures"] == ["auc", "balanced_accuracy"]
    assert config["datasets"] == [
        {"path": "rare.csv", "label": "sold", "positive": 1, "time": "date", "bias": True}
    ]
    here.out("run", "rare.yaml", "--quiet")
    rows = json.loads(here.out("report", "results/rare", "--format", "json"))["rows"]
    ids = {"perceptron", "pa1", "arow", "scw1", "no-change", "majority-so-far"}
    assert {row["algorithm"] for row in rows if 0 < row["auc"]["mean"] < 1} == ids
