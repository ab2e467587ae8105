"""The fast reader of CSV files reads what a slow one reads, and refuses with the same words."""

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from olbench import UserError
from olbench.data import cells
from olbench.data import tables as csv
from tests.changes import examples
from tests.data.table_reference import GAPS, read_reference

WHOLE = st.integers(-(10**6), 10**6).map(str)
DECIMAL = st.floats(allow_nan=False, allow_infinity=False).map(repr)
DIGITS = st.from_regex(
    r"[+-]?[0-9]{0,25}([0-9]|[0-9]\.|\.[0-9])[0-9]{0,25}([eE][+-]?[0-9]{1,3})?", fullmatch=True
)
SPACED = st.tuples(
    st.sampled_from(["", " ", "\t", "\v", "\u2003"]), DIGITS, st.sampled_from(["", " ", "\x1c"])
).map("".join)
WORDS = st.sampled_from(
    ["red", "dark green", "é", "Yes", "1_000", "inf", "-Infinity", "NAN", "True", "false", "1.5.2"]
)
QUOTED = st.sampled_from(['"a, b"', '"a;b"', '"x""y"', '""', '"5"', '" NA "', '"a\nb"', '"a\r\nb"'])
ODD = st.sampled_from([
    '5"', '"a"b', ' "a"', '"', "\0", "a\rb", "1e999", "9" * 400, "\ufeff", "\u2028", "  ",
    "x" * 140_000, "1,5",
])  # fmt: skip
#: Columns of one kind each, most of which pandas reads.
KINDS = [
    WHOLE, DECIMAL, DIGITS, SPACED, WORDS, QUOTED, st.sampled_from(GAPS), st.sampled_from(["True", "False"]),
    st.one_of(WHOLE, st.sampled_from(GAPS)), st.one_of(DECIMAL, WORDS, QUOTED), st.one_of(WORDS, WHOLE, ODD),
]  # fmt: skip


@st.composite
def tables(draw):
    separator, end = draw(st.sampled_from(",;\t |")), draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=5))
    rows = draw(st.lists(st.tuples(*kinds), max_size=12))
    if draw(st.booleans()):
        rows.insert(0, tuple(f"x{k}" for k in range(len(kinds))))
    lines = [separator.join(row) for row in rows]
    damage = draw(st.sampled_from([None] * 6 + ["", "  ", '""', separator, "\v", "1", '"']))
    if damage is not None:
        lines.insert(draw(st.integers(0, len(lines))), damage)
    return draw(st.sampled_from(["", "\ufeff"])) + end.join(lines) + draw(
        st.sampled_from([end, ""])
    ), separator


@pytest.mark.fuzz
@examples(200)
@hypothesis.given(tables(), st.sampled_from([1, 40, 1 << 16]), st.sampled_from([1, 10, 1 << 19]))
def test_the_fast_reader_agrees_with_a_slow_one(tmp_path_factory, table, block, at_once):
    text, separator = table
    path = tmp_path_factory.getbasetemp() / "table.csv"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv, "FIRST_BLOCK", block)
        patch.setattr(csv, "BLOCK", block)
        patch.setattr(cells, "CELLS_AT_ONCE", at_once)
        found = outcome(lambda: as_lists(csv.read_table(path, separator)))
    assert found == outcome(lambda: read_reference(path, separator))


def outcome(read):
    try:
        return read()
    except UserError as error:
        return str(error)


def as_lists(table):
    rows = [[None if np.isnan(number) else number for number in row] for row in table.numbers.tolist()]
    for column, text in table.texts.items():
        for row, code in zip(rows, text.codes.tolist(), strict=True):
            if code >= 0:
                row[column] = text.values[code]
    return list(table.names), table.lines.tolist(), rows


def test_a_usual_table_is_never_read_row_by_row(tmp_path, monkeypatch):
    monkeypatch.delattr(cells.TableBuilder, "add")
    path = tmp_path / "usual.csv"
    for end, quoted in (("\n", "red"), ("\r\n", '"dark, green"'), ("\n", '"a ""b"""')):
        lines = [f"{k},{k / 7},{'' if k % 5 else 'NA'},{quoted},{k % 2}" for k in range(20_000)]
        path.write_text(end.join(["a,b,c,d,y", *lines]), newline="")
        table = csv.read_table(path)
        assert table.numbers[:, 1].tolist() == [k / 7 for k in range(20_000)]
        assert table.place(19_999).endswith(":20001")
        assert list(table.texts) == [3]


@pytest.mark.parametrize("cell", ["1e999", "9" * 400, '"1e999"'])
def test_a_number_that_is_not_finite_is_refused_with_its_line_in_a_late_block(tmp_path, monkeypatch, cell):
    monkeypatch.setattr(csv, "BLOCK", 1 << 10)
    path = tmp_path / "late.csv"
    path.write_text("a,b,y\n" + "1,2,0\n" * 30_000 + f"1,{cell},0\n" + "1,2,1\n" * 10)
    with pytest.raises(UserError, match=r"late\.csv:30002: field 2, '.*', is not a finite number"):
        csv.read_table(path)
