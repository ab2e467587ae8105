"""Tables for a terminal."""

import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from olbench.errors import escape_lines

if TYPE_CHECKING:
    from olbench.report.table import Part, Table

GAP = 3
#: A column with more than LONG letters wraps, to at least LEAST.
LONG, LEAST = 40, 24
POINTER = "> "
BOLD, DIM, PLAIN = "\033[1m", "\033[2m", "\033[0m"
Styled = Callable[[str, str], str]


def write_text(parts: "Iterable[Part]", width: int = 100, colour: bool = False) -> str:
    def style(text: str, code: str) -> str:
        return f"{code}{text}{PLAIN}" if colour and text.strip() else text

    texts = [
        wrap(escape_lines(each), width) if isinstance(each, str) else _lay_out(each, width, style)
        for each in parts
    ]
    return "\n\n".join(texts) + "\n"


def wrap(text: str, width: int) -> str:
    """Wrap a text to lines of at most `width` letters, with the indentation of its lines."""
    options: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    lines = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()))
        lines += textwrap.wrap(line, max(width, 1), subsequent_indent=indent, **options) or [""]
    return "\n".join(lines)


def _lay_out(table: "Table", width: int, style: Styled) -> str:
    narrow = fit(_point(table.printed()), width)
    lines = [style(line, BOLD) for line in wrap(narrow.caption, width).splitlines()]
    for number, piece in enumerate(stack(narrow, width, Widths(narrow).narrowest)):
        lines += [""] if number else []
        lines += _align(piece, width, style)
    lines += [style(line, DIM) for line in wrap(narrow.note, width).splitlines()]
    return "\n".join(lines)


def _point(table: "Table") -> "Table":
    if not table.highlighted:
        return table

    def point(cell: Any) -> Any:
        return type(cell)(POINTER + cell) if table.is_name(cell) else cell

    columns = tuple(replace(each, heading=point(each.heading)) for each in table.columns)
    bold = {(y, x) for y, row in enumerate(table.rows) for x, cell in enumerate(row) if table.is_name(cell)}
    rows = [[point(cell) for cell in row] for row in table.rows]
    return replace(table, columns=columns, rows=rows, best=table.best | bold, highlighted=())


class Widths:
    """The widths of columns, measured once for all choices of columns."""

    def __init__(self, table: "Table"):
        sides = [column.format.side for column in table.columns]
        self.table, self.texts = table, table.texts()
        #: For each column: whether cells end with a star or a space, whether it wraps, and its least width.
        self.starred = [side == "right" and bool(table.best) for side in sides]
        self.longest = [max((cell_len(row[x]) for row in self.texts), default=0) for x in range(len(sides))]
        self.wraps = [n > LONG and side == "left" for n, side in zip(self.longest, sides, strict=True)]
        self.least = []
        for x, column in enumerate(table.columns):
            length = LEAST if self.wraps[x] else self.longest[x] + (self.starred[x] and self.longest[x] > 0)
            self.least.append(max(length, cell_len(column.heading)))

    def total(self, places: Sequence[int]) -> int:
        shown = set(places) & set(self.table.shown())
        return sum(self.least[x] for x in shown) + GAP * max(0, len(shown) - 1)

    def narrowest(self, places: Sequence[int]) -> int:
        """Return the least width of some columns if all columns of words but the first wrap."""
        return self.total(places) - sum(self._spare(x) for x in set(places) & set(self.table.shown()) if x)

    def _spare(self, x: int) -> int:
        if self.table.columns[x].format.side != "left" or self.least[x] <= LEAST:
            return 0
        return max(0, self.least[x] - max(LEAST, self._longest_word(x)))

    def _longest_word(self, x: int) -> int:
        texts = (self.table.columns[x].heading, *(row[x] for row in self.texts))
        return max((cell_len(word) for text in texts for word in text.split()), default=0)

    def squeeze(self, width: int) -> "Widths":
        """Wrap columns of words, the last first, until the table fits; then let them share what is spare."""
        narrow, every = copy(self), range(len(self.least))
        narrow.wraps = list(self.wraps)
        narrow.least = [max(self.least[x], self._longest_word(x) if self.wraps[x] else 0) for x in every]
        for x in reversed(every):
            excess = narrow.total(every) - width
            if excess > 0 and self.table.columns[x].format.side == "left":
                narrow.least[x] = max(self._longest_word(x), narrow.least[x] - excess)
                narrow.wraps[x] = True
        wrapping = [x for x in every if narrow.wraps[x]]
        for place, x in enumerate(wrapping):
            spare = max(0, width - narrow.total(every)) // (len(wrapping) - place)
            narrow.least[x] += min(spare, max(0, self.longest[x] - narrow.least[x]))
        return narrow


def fit(table: "Table", width: int) -> "Table":
    """Drop columns in the order of `drop` until the table fits, and list them in the note.

    A table that is split anyway keeps those that its last piece has room for.
    """

    def count_pieces(places: list[int]) -> int:
        part = table.keep(places)
        return len(stack(part, width, Widths(part).narrowest))

    widths, kept, left_out = Widths(table), list(range(len(table.columns))), []
    while widths.total(kept) > width and any(table.columns[x].drop for x in kept):
        left_out.append(max(kept, key=lambda x: (table.columns[x].drop, x)))
        kept.remove(left_out[-1])
    for x in reversed(left_out if widths.total(kept) > width else []):
        more = sorted([*kept, x])
        kept = more if count_pieces(more) == count_pieces(kept) else kept
    dropped = [column.heading for x, column in enumerate(table.columns) if x not in kept]
    if not dropped:
        return table
    table = table.keep(kept)
    note = f"{table.note} Not shown at this width: {', '.join(dropped)}."
    return replace(table, note=note.strip())


def stack(table: "Table", width: float, total: Callable[[list[int]], float]) -> "list[Table]":
    """Split the columns of numbers into pieces that fit; each piece repeats the columns of names."""
    sides = [column.format.side for column in table.columns]
    named = next((x for x, side in enumerate(sides) if side != "left"), 1) or 1
    pieces = [list(range(named))]
    for x in range(named, len(sides)):
        if len(pieces[-1]) > named and total([*pieces[-1], x]) > width:
            pieces.append(list(range(named)))
        pieces[-1].append(x)
    return [table.keep(piece) for piece in pieces]


def _align(table: "Table", width: int, style: Styled) -> list[str]:
    widths = Widths(table).squeeze(width)
    shown = table.shown()
    headings = [column.heading for column in table.columns]
    lines = [style(line, BOLD) for line in _pad(headings, widths, (), style)]
    lines.append("─" * widths.total(shown))
    for title, rows in table.blocks():
        lines += [style(title, BOLD)] if title else []
        for y in rows:
            texts = [
                text + ("*" if (y, x) in table.best else " ") if text and widths.starred[x] else text
                for x, text in enumerate(widths.texts[y])
            ]
            bold = {x for x in shown if (y, x) in table.best}
            lines += _pad(texts, widths, bold, style)
    return lines


def _pad(texts: Sequence[str], widths: Widths, bold: Collection[int], style: Styled) -> list[str]:
    cells, lines = {}, []
    for x in widths.table.shown():
        cells[x] = wrap(texts[x], widths.least[x]).split("\n") if widths.wraps[x] else [texts[x]]
    for number in range(max(map(len, cells.values()), default=0)):
        padded = []
        for x, cell in cells.items():
            text = cell[number] if number < len(cell) else ""
            spare = widths.least[x] - cell_len(text)
            before = {"left": 0, "right": spare, "center": spare // 2}[widths.table.columns[x].format.side]
            padded.append(" " * before + (style(text, BOLD) if x in bold else text) + " " * (spare - before))
        lines.append((" " * GAP).join(padded).rstrip())
    return lines
