"""The fast reader of CSV files reads what a slow one reads, and refuses with the same words."""

import re

import hypothesis
import pytest
from hypothesis import strategies as st

from olbench.data.labels import is_number
from olbench.data.tables import read_table
from olbench.errors import escape_controls
from tests.changes import examples
from tests.data.table_reference import GAPS, read_reference
from tests.refusals import refusal

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
        words = draw(st.lists(st.sampled_from(["kind", "red", "Yes", "", "7"]), max_size=len(kinds)))
        prefix = draw(st.sampled_from(["", "x"]))
        numbered = [f"{prefix}{k}" for k in range(len(kinds) - len(words))]
        rows.insert(0, (*numbered, *words))
    lines = [separator.join(row) for row in rows]
    damage = draw(st.sampled_from([None] * 6 + ["", "  ", '""', separator, "\v", "1", '"']))
    if damage is not None:
        lines.insert(draw(st.integers(0, len(lines))), damage)
    return draw(st.sampled_from(["", "\ufeff"])) + end.join(lines) + draw(
        st.sampled_from([end, ""])
    ), separator


@pytest.mark.fuzz
@examples(200)
@hypothesis.given(tables())
def test_the_fast_reader_agrees_with_a_slow_one(tmp_path_factory, table):
    text, separator = table
    path = tmp_path_factory.getbasetemp() / "table.csv"
    path.write_bytes(text.encode())
    mistakes, *expected = read_reference(path, separator)
    if mistakes:  # any of them may be named, each in exactly these words
        assert refusal(read_table, path, separator) in map(escape_controls, mistakes)
    else:
        assert as_lists(read_table(path, separator)) == expected


def as_lists(table):
    """Return names, lines and cells; numbers among texts are written as labels."""
    rows = table.frame.astype(object).where(table.frame.notna(), None).to_numpy().tolist()
    rows = [
        [float(cell) if isinstance(cell, str) and is_number(cell) else cell for cell in row] for row in rows
    ]
    return [list(table.names), [table.find_line(row) for row in range(len(rows))], rows]


def test_a_number_that_is_not_finite_or_text_may_come_late(tmp_path):
    path = tmp_path / "late.csv"
    for cell in ("1e999", "9" * 400, '"1e999"'):
        path.write_text("a,b,y\n" + "1,2,0\n" * 30_000 + f"1,{cell},0\n" + "1,2,1\n" * 10)
        assert re.search(r"late\.csv:30002: field 2, '.*', is not a finite number", refusal(read_table, path))
    path.write_text("a,b,y\n" + "1,2,0\n" * 3000 + "1,x,True\n" + "inf,3,1\n")
    table = read_table(path)
    assert [table.has_text(column) for column in range(3)] == [True, True, True]
    assert table.frame[1].cat.categories.tolist() == ["2", "x", "3"]
    assert "late.csv:3003: here" in str(table.fail("here", 3001))


def test_a_column_of_a_large_file_is_text_if_a_later_part_is(tmp_path):
    words = ("x", "TRUE", "Infinity")
    first = "".join(f"{k % 7},0{k % 7},{k % 7}.0,{k}\n" for k in range(50_000))
    path = tmp_path / "large.csv"  # pandas reads it in parts
    path.write_text("a,b,c,d\n" + first + f"{','.join(words)},2.5\n" * 50_000)
    table = read_table(path)
    for column, word in enumerate(words):
        assert sorted(table.frame[column].cat.categories) == sorted([*"0123456", word])
    assert table.frame[3].tolist() == [*range(50_000), *[2.5] * 50_000]
