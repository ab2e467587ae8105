"""Columns of one's own tables, one by one: chosen, left out, typed, and encoded."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from olbench import UserError, load_dataset
from olbench.data.load import load_spec
from olbench.data.scale import as_dense
from olbench.protocols.reading import read_config
from olbench.protocols.schema import make_schema
from tests.cases import for_each
from tests.refusals import find_wrong, refusal

SHOP = """\
id,day,size,grade,zip,note,sold
7,2024-01-01,3,low,8001,5,no
8,2024-02-29T06:30,4,high,8002,torn,yes
9,2024-02-04,5,mid,8001,,no
"""
COLUMNS = {
    "id": "drop",
    "note": "drop",
    "day": {"encode": "date", "parts": ["weekday", "days"], "origin": "2024-01-01"},
    "grade": {"encode": "ordinal", "order": ["low", "mid", "high"]},
    "zip": "onehot",
}
#: The key `columns` of a config is in line 4 here.
HEAD = "datasets:\n  - path: shop.csv\n    label: sold\n    columns: "
TAIL = "\nalgorithms: [perceptron]\npermutations: 1\n"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("shop.csv").write_text(SHOP)
    return tmp_path / "shop.csv"


def load(data, **how):
    data = load_dataset(data, label="sold", **how)
    return data, as_dense(data.X)


def write_config(columns):
    Path("shop.yaml").write_text(HEAD + columns + TAIL)


def test_columns_are_left_out_typed_and_encoded_one_by_one(shop):
    data, X = load(shop, columns=COLUMNS)
    weekdays = tuple(f"day.weekday={number}" for number in range(1, 8))
    assert data.about.features == (*weekdays, "day.days", "size", "grade", "zip=8001", "zip=8002")
    assert X[:, :7].argmax(axis=1).tolist() == [0, 3, 6]  # Monday, Thursday, Sunday
    assert X[:, :7].sum(axis=1).tolist() == [1, 1, 1]
    hours = 6.5 / 24
    assert X[:, 7:].tolist() == [[0, 3, 0, 1, 0], [59 + hours, 4, 2, 0, 1], [34, 5, 1, 1, 0]]
    assert data.about.steps[2:] == (
        "columns left out: 'id', 'note'",
        "column 'day' as 7 indicators of the weekday, days since 2024-01-01",
        "column 'grade' as 0 to 2, in the order 'low', 'mid', 'high'",
        "column 'zip' as 2 indicators",
    )


def test_a_list_keeps_only_what_it_names(shop):
    for columns in (["size", "sold"], {"size": "number", "*": "drop"}, [3], [{"name": "size"}]):
        data, X = load(shop, columns=columns)
        assert (data.about.features, X.ravel().tolist()) == (("size",), [3, 4, 5])
    data = load_dataset(shop, label="sold", columns=["size", {"name": "zip", "encode": "onehot"}])
    assert data.about.features == ("size", "zip=8001", "zip=8002")


def test_numbers_and_words_of_one_column_can_be_categories(shop):
    data, X = load(shop, missing="zero", columns=[{"name": "note", "encode": "onehot"}])
    assert data.about.features == ("note=5", "note=torn")
    assert X.tolist() == [[1, 0], [0, 1], [0, 0]]


@pytest.mark.parametrize("form", ["csv", "parquet", ""])
def test_a_cell_has_the_same_type_in_every_file_and_frame(form, tmp_path):
    table = frame = pd.DataFrame({"a": ["1", "2"], "b": ["x", "3"], "id": 2**53 + 1, "sold": ["no", "yes"]})
    if form and pytest.importorskip("pyarrow"):
        getattr(frame, f"to_{form}")(table := tmp_path / f"t.{form}", index=False)
    data, X = load(table, columns={"b": "onehot", "id": "drop"})
    assert (data.about.features, X.tolist()) == (("a", "b=3", "b=x"), [[1, 0, 1], [2, 1, 0]])
    assert "column 'b' has numbers and the text 'x'; correct the cell, or encode" in refusal(load, table)
    with pytest.raises(UserError, match=r"(:2|row 0): column 'id' has a number of 2.53 or more, too large"):
        load(table, columns={"b": "drop", "id": "onehot"})


def test_months_and_hours_are_indicators_and_gaps_stay_gaps(shop):
    frame = pd.DataFrame({"at": pd.to_datetime(["2024-12-31T23:00", None]), "sold": ["no", "yes"]})
    columns = {"at": {"encode": "date", "parts": ["month", "hour", "days"]}}
    _, X = load(frame, missing="zero", columns=columns)
    assert np.flatnonzero(X[0]).tolist() == [11, 12 + 23, 36]
    assert X[0, -1] == (pd.Timestamp("2024-12-31T23:00") - pd.Timestamp(0)) / pd.Timedelta(days=1)
    assert not X[1].any()
    assert "column 'at' has no value; choose --missing drop" in refusal(load, frame, columns=columns)


@for_each(
    ("columns", "message"),
    [
        ("{grad: onehot}", r"yaml:4: .*shop.csv: there is no column with the heading 'grad'.*mean 'grade'\?"),
        ("\n      id: drop\n      sise: number", r"yaml:6: .*with the heading 'sise'.*mean 'size'\?"),
        ("[size, 9]", "yaml:4: .*no column 9; .* 1 to 7, .*; correct the key columns"),
        ("{size: drop, 3: drop}", "yaml:4: column 'size' of .* is named twice"),
        ("{sold: onehot}", "yaml:4: column 'sold' is the label, not a feature; remove it from columns"),
        ("[{name: grade, encode: number}]", "csv:2: column 'grade' has the text 'low', where a"),
        ("[{name: grade, encode: ordinal, order: [low, mid]}]", "csv:3: column 'grade' has 'high', which is"),
        ("[{name: id, encode: date}]", "csv:2: column 'id': '7' is a number, where an ISO"),
        ("{'*': drop}", "no column is left for a feature"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_table_is_refused_with_file_and_line(shop, here, columns, message):
    write_config(columns)
    err = here.err("run", "shop.yaml", "--out", "out")
    assert re.search(message, err), err
    assert not Path("out").exists()


@for_each(
    ("columns", "message"),
    [
        ("{size: nummer}", "yaml:4: columns.size must be one of number, onehot, .*mean 'number'"),
        ("{size: {encode: number, order: [1]}}", "yaml:4: order is only allowed with encode: ordinal"),
        ("{size: ordinal}", "yaml:4: columns.size: encode: ordinal needs order, the list of"),
        ("{size: {encode: ordinal}}", "yaml:4: columns.size: encode: ordinal needs order, the list of"),
        ("{size: {encode: ordinal, order: [1, 1]}}", "yaml:4: order lists a value twice"),
        (f"{{size: {{encode: ordinal, order: [{'9' * 400}]}}}}", "yaml:4: a whole number is too large for a"),
        ("{day: {encode: date, parts: [year]}}", "yaml:4: parts must be one of days, month, weekday, hour"),
        ("{day: {encode: date, origin: soon}}", "yaml:4: origin must be a day such as 2024-01-31, not"),
        ("[size, size]", "yaml:4: the column 'size' is listed twice"),
        ("[{encode: number}]", "yaml:4: a column needs the key 'name'"),
        ("[]", "yaml:4: columns must not be empty"),
    ],
)  # fmt: skip
def test_a_wrong_entry_is_refused_with_its_line_and_by_the_schema(shop, columns, message):
    jsonschema = pytest.importorskip("jsonschema")
    write_config(columns)
    with pytest.raises(UserError, match=message):
        read_config(Path("shop.yaml"))
    is_valid = jsonschema.Draft202012Validator(make_schema()).is_valid
    write_config("{day: {encode: date, parts: [hour]}, grade: {encode: ordinal, order: [low, 2]}, '*': drop}")
    assert is_valid(yaml.safe_load(Path("shop.yaml").read_text()))
    if not any(each in columns for each in ("soon", "1, 1", "999", "size, size")):  # not in the schema
        assert not is_valid(yaml.safe_load(HEAD + columns + TAIL))


def test_libsvm_files_and_the_catalogue_have_no_columns(shop):
    Path("a.libsvm").write_text("1 1:2\n-1 1:3\n")
    cases = [
        ("a.libsvm", "is read as a LIBSVM file, and columns applies only to tables"),
        ("breast-cancer", "'columns' is only allowed for your own files"),
    ]
    assert find_wrong(cases, lambda data: load_dataset(data, columns=["x"])) == []


def test_init_counts_days_and_leaves_out_one_column_alone(shop, here):
    Path("later.csv").write_text(SHOP.replace("2024-01-01", "2024-03-01"))  # not in the order of time
    assert here("init", "later.csv")[0] == 0
    [spec] = read_config(Path("later.yaml")).datasets
    reading = spec.reading
    encodings = {spec.name: (spec.encode, spec.origin) for spec in reading.columns}
    assert encodings == {"day": ("date", "2024-03-01"), "note": ("drop", ""), "*": ("", "")}
    assert reading.categorical == "onehot"
    assert "day.days" in load_spec(spec).about.features
