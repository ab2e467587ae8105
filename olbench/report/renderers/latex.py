r"""Tables in LaTeX: a fragment for \input, with booktabs and longtable, which breaks over pages."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile

from olbench.report.grid import Box, Grid, Part
from olbench.report.renderers import Format
from olbench.report.renderers.text import stack

HEAD = r"""% Tables made by olbench. In the preamble: \usepackage{booktabs,longtable}
\begingroup\footnotesize\setlength{\tabcolsep}{4pt}\setlength{\LTcapwidth}{\linewidth}
"""
FOOT = r"""\endgroup
"""
#: A column with a text longer than this wraps.
LONG = 40
#: The letters that a line of a page has room for, and those that a gap between columns takes; a wider table
#: of numbers is split.
PAGE, GAP = 122, 2
SIGNS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "×": r"$\times$",
    "≤": r"$\leq$", "≥": r"$\geq$", "<": r"$<$", ">": r"$>$", "τ": r"$\tau$", "✓": r"$\bullet$", "–": "--",
    "⋆": r"$\star$", "∗": r"$\ast$", "†": r"$\dagger$", "·": r"$\cdot$",
    "—": "---", "…": r"\dots{}", "−": "$-$", "“": "``", "”": "''", "’": "'", '"': "''",
    "[": "{[}", "*": "{*}",
}  # fmt: skip
SIDES = {"left": "l", "right": "r", "center": "c"}


def render(parts: Iterable[Part]) -> str:
    """Return tables and paragraphs as a fragment that compiles."""
    body = (_paragraph(part) if isinstance(part, str) else _split(part) for part in parts)
    return HEAD + "\n".join(body) + FOOT


def document(fragment: str) -> str:
    """Return a whole document around a fragment."""
    return "\n".join([
        r"\documentclass{article}", r"\usepackage[margin=2cm]{geometry}", r"\usepackage{booktabs,longtable}",
        r"\begin{document}", fragment, r"\end{document}", "",
    ])  # fmt: skip


def escape(text: str) -> str:
    """Return a text that LaTeX prints unchanged; a character with no ASCII form becomes a question mark."""
    known = "".join(SIGNS.get(sign, sign) for sign in text)
    return known.encode("ascii", "replace").decode()


def _paragraph(text: str) -> str:
    return "\\noindent\n" + " \\\\\n".join(escape(line) for line in text.splitlines() if line) + "\n\n"


def _split(grid: Grid) -> str:
    """Return a table without optional columns, or several if a page is too narrow for its numbers."""
    grid = grid.keep([number for number, column in enumerate(grid.columns) if not column.optional])
    if any(_find_long(grid)):  # columns that wrap make room for the others
        return _grid(grid)
    headings = [column.printed or column.heading for column in grid.columns]
    columns = zip(headings, grid.texts_by_column(), strict=True)
    letters = [max(map(len, (heading, *texts))) for heading, texts in columns]
    pieces = _divide(grid, letters)
    titles = [grid.title, *(f"{grid.title}, continued" for _ in pieces[1:])]
    notes = [*("" for _ in pieces[1:]), grid.note]
    return "\n".join(
        _grid(replace(piece, title=title, note=note))
        for piece, title, note in zip(pieces, titles, notes, strict=True)
    )


def _divide(grid: Grid, letters: Sequence[int]) -> list[Grid]:
    """Return a table as few that fit, and as even as they can be, for columns of so many letters."""

    def cut(width: int) -> list[Grid]:
        return stack(grid, width, lambda kept: sum(letters[number] + GAP for number in kept))

    pieces = cut(PAGE)
    fewest, narrower = len(pieces), (cut(width) for width in range(PAGE - 1, 0, -1))
    return [pieces, *takewhile(lambda each: 1 < len(each) == fewest, narrower)][-1]


def _grid(grid: Grid) -> str:
    """Return a table; LaTeX numbers it."""
    title = re.sub(r"^Table \d+: ", "", grid.title)
    heading = (
        " & ".join(_format(Box(each.printed or each.heading, each.highlighted)) for each in grid.columns)
        + r" \\"
    )
    rows = [" & ".join(map(_format, row)) + r" \\" for row in grid.rows]
    note = rf"\multicolumn{{{len(grid.columns)}}}{{p{{.9\linewidth}}}}{{{escape(grid.note)}}}\\"
    return "\n".join([
        rf"\begin{{longtable}}{{{_types(grid)}}}",
        rf"\caption{{{escape(title)}}}\\",
        r"\toprule", heading, r"\midrule", r"\endhead",
        *rows, r"\bottomrule", *([note] if grid.note else []), r"\end{longtable}", "",
    ])  # fmt: skip


def _types(grid: Grid) -> str:
    """Return the column types: columns of long texts share the width that the others leave."""
    is_long = _find_long(grid)
    wide, narrow = is_long.count(True), is_long.count(False)
    share = rf"p{{{max(0.92 - 0.1 * narrow, 0.1 * wide) / max(wide, 1):.2f}\linewidth}}"
    pairs = zip(is_long, grid.columns, strict=True)
    return "".join(share if long else SIDES[column.side] for long, column in pairs)


def _find_long(grid: Grid) -> list[bool]:
    """Return which columns have a text that wraps."""
    return [any(len(text) > LONG for text in texts) for texts in grid.texts_by_column()]


def _format(box: Box) -> str:
    text = escape(box.text)
    return rf"\textbf{{{text}}}" if (box.bold or box.highlighted) and text else text


FORMAT = Format("tables.tex", "all tables in LaTeX", lambda document, screen: render(document.parts()))
