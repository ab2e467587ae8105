"""The times of one's own table: rows in order, and the row before which each label is known."""

import pandas as pd
import pytest
import scipy.sparse as sp

from olbench import load_dataset
from olbench.data import cache
from olbench.data.prepare import NEVER
from olbench.data.source import Source, find_received, find_source, pack, receive
from olbench.data.spec import DatasetSpec, Reading
from tests.refusals import find_wrong

DAYS = """\
date,known,size,sold
2020-01-01,2020-01-03,1,no
2020-01-02,,2,yes
2020-01-02,2020-01-02,3,no
2020-01-05,2020-01-09,4,yes
2020-01-05,2020-01-05,5,no
2020-01-07,2020-01-07,6,yes
"""
#: By hand: the first later row that is not before the arrival.
ARRIVALS = [3, NEVER, 3, NEVER, 5, 6]


def end(time):
    return DAYS.replace("2020-01-07,2020", f"{time},2020")


def test_a_label_is_known_from_the_first_later_row_not_before_its_arrival(table):
    data = load_dataset(table(DAYS), time="date", arrival="known")
    assert (data.about.features, data.arrivals.tolist()) == (("size",), ARRIVALS)
    assert data.about.steps[2:] == (
        "time: column 'date'",
        "arrival: column 'known'",
        "labels that arrive after the last row or never: 2 of 6",
    )
    again = load_dataset(table(DAYS), time="date", arrival="known")  # from the cache
    assert cache.is_mapped(again.arrivals)
    assert (again.arrivals.tolist(), again.fingerprint) == (ARRIVALS, data.fingerprint)


def test_numbers_dates_and_moments_with_offsets_say_the_same(table):
    days = {f"2020-01-{day:02}": day for day in range(1, 10)}
    numbers, moments = DAYS, DAYS
    for date, day in days.items():
        numbers = numbers.replace(date, str(day))
        moments = moments.replace(date, f"{date}T01:30:00+{day % 2:02}:00")
    for text in (numbers, moments, moments.replace("+00:00", "Z")):
        assert load_dataset(table(text), time=1, arrival="known").arrivals.tolist()[1] == NEVER
    assert load_dataset(table(numbers), time=1, arrival=2).arrivals.tolist() == ARRIVALS
    # The same instants with other offsets.
    utc = moments.replace("T01:30:00+01:00", "T00:30:00Z").replace("T01:30:00+00:00", "T01:30:00Z")
    data = [load_dataset(table(text), time="date", arrival="known") for text in (moments, utc)]
    assert data[0].fingerprint == data[1].fingerprint


@pytest.mark.parametrize("suffix", ["parquet", "frame"])
def test_a_column_of_time_stamps_is_read(table, tmp_path, suffix):
    frame = pd.read_csv(table(DAYS), parse_dates=["date", "known"])
    if suffix == "parquet" and pytest.importorskip("pyarrow"):
        frame.to_parquet(tmp_path / "my.parquet")
        frame = tmp_path / "my.parquet"
    read = load_dataset(frame, label="sold", time="date", arrival="known")
    assert read.arrivals.tolist() == ARRIVALS


def test_rows_that_are_left_out_have_no_time(table):
    text = DAYS.replace("05,2020-01-05,5,no", "05,2020-01-05,,no").replace("02,,2,yes", "02,,2,other")
    data = load_dataset(
        table(text), positive="yes", negative="no", time="date", arrival="known", missing="drop"
    )
    assert data.X.ravel().tolist() == [1, 3, 4, 6]
    assert data.arrivals.tolist() == [2, 2, NEVER, 4]


def test_a_time_alone_only_leaves_its_column_out_and_other_arrivals_are_other_data(table):
    plain = "size,sold\n1,no\n2,yes\n3,no\n4,yes\n5,no\n6,yes\n"
    timed = load_dataset(table(DAYS), time="date", columns=["size"])
    assert (timed.arrivals, timed.fingerprint) == (None, load_dataset(table(plain)).fingerprint)
    later = DAYS.replace("2020-01-09", "2020-01-07")
    found = [load_dataset(table(text), time="date", arrival="known") for text in (DAYS, later)]
    assert len({data.fingerprint for data in (timed, *found)}) == 3


def test_arrivals_travel_to_another_machine(table, tmp_path, monkeypatch):
    spec = DatasetSpec("my", str(table(DAYS)), reading=Reading(time="date", arrival="known"))
    source = find_source(spec)
    parcel = pack(source)
    monkeypatch.setenv("OLBENCH_CACHE", str(tmp_path / "elsewhere"))
    received = receive(source.fingerprint, parcel)
    assert Source(spec, received).arrivals.tolist() == ARRIVALS
    assert find_received("my", source.fingerprint).arrivals.tolist() == ARRIVALS


REFUSED = [
    (DAYS.replace("01-05,2020-01-09", "01-01,2020-01-09"), {},
     "shop.csv:5: the time '2020-01-01' is before that of the row above ('2020-01-02'); "
     "sort the file by 'date'"),
    ("3,1,0\n2,2,1\n", {"time": 1, "arrival": ""},
     "shop.csv:2: the time '2' is before that of the row above ('3'); sort the file by column 1"),
    (DAYS.replace("2020-01-02,,", ",,"), {}, "shop.csv:3: column 'date' has no value, and every row"),
    (end("now"), {}, "7: column 'date': 'now' is not a time"),
    (end("2020-13-07"), {}, "'2020-13-07' is not a time"),
    (end("7"), {}, "7: column 'date': '7' is a number, and other"),
    (end("2020-01-07T10:00Z"), {},
     "7: column 'date': '2020-01-07T10:00Z' has an offset from UTC, unlike the rows above"),
    (DAYS.replace("2020-01-09", "2020-01-04"), {},
     "shop.csv:5: the label arrives at '2020-01-04', before the time of its row ('2020-01-05')"),
    (DAYS, {"arrival": "size"}, "column 'date' has dates without an offset and column 'size' numbers"),
    (DAYS, {"time": "dat"}, "there is no column with the heading 'dat'; the headings are 'date'"),
    (DAYS, {"time": "sold"}, "shop.csv: label and time are both column 'sold'; name another"),
    (DAYS.replace("known", "date"), {"arrival": ""},
     "2 columns have the heading 'date'; give the number of the time column with --time"),
    (DAYS, {"time": ""}, "shop.csv: arrival needs time, the column with the time of each row"),
]  # fmt: skip


def test_every_refusal_names_the_place(table):
    def load(text, how):
        load_dataset(table(text), **{"time": "date", "arrival": "known", **how})

    assert find_wrong(REFUSED, load) == []


def test_only_a_table_has_columns_with_times(table):
    cases = [
        (table("+1 1:1\n-1 1:2\n", "my.libsvm"), "is read as a LIBSVM file, and time applies only to tables"),
        ((sp.csr_matrix([[1.0], [2.0]]), [0, 1]), "a sparse X has no named columns"),
        ("breast-cancer", "'time' is only allowed for your own files"),
    ]
    assert find_wrong(cases, lambda data: load_dataset(data, time=1)) == []
