"""Tables under every reading: taken, or refused in one sentence."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olbench.cli.init import make_config
from olbench.data.load import load_spec
from olbench.data.prepare import prepare_content
from olbench.data.scale import as_dense
from olbench.data.spec import DatasetSpec, Reading
from olbench.data.tables import read_table
from olbench.errors import UserError
from olbench.protocols.reading import read_config
from tests.changes import damaged, examples, expect_sentence

pytestmark = pytest.mark.fuzz


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


NUMBERS = st.sampled_from(["0", "1", "-2.5", "1e3", "1e-200", "1e200", "-1e308", "1e308", "7"])
TEXTS = st.sampled_from(["red", "blue", '"a, b"'])
CELLS = st.sampled_from(
    ["?", "", "NA", '"a\nb"', "'", "x: y", "# z", "é", "2020-01-31", "2020-01-31T10:00Z", "red"]
)
HEADINGS = st.sampled_from([
    "size", "date", "known", "colour", "label", "y", "a b", '"c,d"', '"e\nf"', "size", "# g",
    "9" * 50, "é", "{h}",
])  # fmt: skip
LABELS = [("0", "1"), ("yes", "no"), ("1", "2", "3"), ("a", "1"), ("null", "x"), ("1.0", "1"), ("~", "[b")]
READINGS = st.fixed_dictionaries({}, optional={
    "label": st.sampled_from(["", "label", "first", "1", "-1", 2, "9" * 50, "-", "size", "é", "0"]),
    "time": st.sampled_from(["", "", "date", "size", "label", 1, "colour", -2]),
    "arrival": st.sampled_from(["", "", "", "known", "date", 2]),
    "delimiter": st.sampled_from(["", ",", ";", "tab", " "]),
    "missing": st.sampled_from(["", "drop", "zero", "mean"]),
    "categorical": st.sampled_from(["", "onehot", "drop"]),
    "scale": st.sampled_from(["", "unit", "minmax", "standard"]),
    "bias": st.booleans(),
})  # fmt: skip
POSITIVE = st.sampled_from([*[None] * 20, (1.0,), ("yes",), ("x", "y"), (1.0, "yes"), (1e308,)])
#: How far from 1 a length or a deviation may be.
ROUNDING = 1e-6


@st.composite
def tables(draw):
    comma, labels = draw(st.sampled_from([",", ",", ";", "\t"])), draw(st.sampled_from(LABELS))
    kinds = draw(st.lists(st.sampled_from([NUMBERS, NUMBERS, TEXTS]), min_size=1, max_size=4))
    rows = draw(st.lists(st.tuples(*kinds, st.sampled_from(labels)), min_size=1, max_size=8))
    if draw(st.booleans()):
        at = draw(st.integers(0, len(rows) - 1))
        rows[at] = (draw(CELLS), *rows[at][1:])
    names = [draw(HEADINGS) for _ in range(len(kinds) + 1)]
    if draw(st.integers(0, 4)) == 0:
        rows = [(f"2020-01-{day:02}", *row) for day, row in enumerate(rows, start=1)]
        names.insert(0, "date")
    text = "\n".join(comma.join(row) for row in ([names] if draw(st.booleans()) else []) + rows) + "\n"
    return draw(damaged(text.encode())) if draw(st.integers(0, 4)) == 0 else text.encode()


@examples(100)
@given(content=tables(), reading=READINGS, positive=POSITIVE, multiclass=st.booleans())
def test_a_table_gives_what_its_reading_promises_or_is_refused(
    scratch, content, reading, positive, multiclass
):
    path, reading = scratch / "own.csv", Reading(**reading)
    path.write_bytes(content)
    try:
        table = read_table(path, reading.delimiter)
        given = {"labels": "all"} if multiclass else {"positive": positive}
        data = prepare_content(table, DatasetSpec("own", reading=reading, **given), str(path))
    except UserError as error:
        expect_sentence(error)
    else:
        X, y, arrivals = as_dense(data.X), data.y, data.arrivals
        assert np.isfinite(X).all()
        assert 0 < len(X) == len(y) <= len(table.frame)
        classes = set(y.tolist())
        assert len(classes) > 1
        assert classes == (set(range(len(classes))) if multiclass else {-1.0, 1.0})
        assert arrivals is None or (arrivals > np.arange(len(y))).all()
        assert len(data.about.features) == X.shape[1]
        check_scale(X[:, :-1] if reading.bias else X, reading.scale)
    check_config(path, reading)


def check_scale(X, scale):
    if scale == "unit":
        lengths = [math.hypot(*row) for row in X.tolist()]
        assert all(length == 0 or abs(length - 1) < ROUNDING for length in lengths)
    if scale == "minmax":
        assert X.min() >= -ROUNDING
        assert X.max() <= 1 + ROUNDING
    if scale == "standard":
        for column in X.T.tolist():
            mean = math.fsum(column) / len(column)
            deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in column) / len(column))
            assert abs(mean) <= ROUNDING
            assert min(abs(deviation - 1), deviation) <= ROUNDING


def check_config(path, reading):
    """Let `init` look at the file; the config that it writes must be read, and load the same file."""
    config = path.with_suffix(".yaml")
    try:
        text, _ = make_config(path, config, str(reading.label), (), reading.delimiter)
    except UserError as error:
        expect_sentence(error)
        return
    config.write_text(text, encoding="utf-8")
    [spec] = read_config(config).datasets
    load_spec(spec)
