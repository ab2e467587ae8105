r"""Tables in LaTeX: a fragment for \input, with booktabs and longtable, which breaks over pages."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile

from olbench.report.grid import Box, Grid, Part
from olbench.report.renderers import Format
from olbench.report.renderers.text import stack

HEAD = r"""% Tables made by olbench. In the preamble: \usepackage{booktabs,longtable}
\begingroup\footnotesize\sloppy\setlength{\tabcolsep}{3pt}\setlength{\LTcapwidth}{\linewidth}
"""
FOOT = r"""\endgroup
"""
#: The digits that a line of the standard article has room for, and those that a gap between columns takes.
#: In a wider table words wrap; if that is not enough, it is split.
PAGE, GAP = 80, 1.5
#: How wide characters are in digits; those that are not listed are as wide as one.
WIDTHS = {
    **dict.fromkeys(" fijlrst.,:;'!|()[]I", 0.75), **dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ&%", 1.45),
    **dict.fromkeys("mwMW±×≤≥<>−—…", 1.75),
}  # fmt: skip
BOLD = 1.16
SIGNS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "×": r"$\times$",
    "≤": r"$\leq$", "≥": r"$\geq$", "<": r"$<$", ">": r"$>$", "τ": r"$\tau$", "✓": r"$\bullet$", "–": "--",
    "⋆": r"$\star$", "∗": r"$\ast$", "†": r"$\dagger$", "·": r"$\cdot$", "°": r"$^\circ$",
    "—": "---", "…": r"\dots{}", "−": "$-$", "“": "``", "”": "''", "’": "'", '"': "''",
    "[": "{[}", "*": "{*}", "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}",
    "ø": r"\o{}", "Ø": r"\O{}", "ł": r"\l{}", "Ł": r"\L{}",
}  # fmt: skip
#: The commands of accents by their combining characters: grave, acute, and so on to the ogonek.
ACCENTS = dict(zip(map(chr, (*range(0x300, 0x305), *range(0x306, 0x309), 0x30A, 0x30B, 0x30C, 0x327, 0x328)),
                   "`'^~=u.\"rHvck", strict=True))  # fmt: skip
SIDES = {"left": "l", "right": "r", "center": "c"}


def render(parts: Iterable[Part]) -> str:
    body = (_paragraph(part) if isinstance(part, str) else _split(part) for part in parts)
    return HEAD + "\n".join(body) + FOOT


def document(fragment: str) -> str:
    head = [r"\documentclass{article}", r"\usepackage{booktabs,longtable}", r"\begin{document}"]
    return "\n".join([*head, fragment, r"\end{document}", ""])


def escape(text: str) -> str:
    return "".join(SIGNS.get(sign) or _accent(sign) for sign in text)


def _accent(sign: str) -> str:
    letter, *marks = tuple(unicodedata.normalize("NFD", sign))
    for mark in marks:
        letter = rf"\{ACCENTS.get(mark, 'relax')}{{{letter}}}"
    return letter.encode("ascii", "replace").decode()


def _prose(text: str) -> str:
    pieces = re.split("`([^`]+)`", text)
    # Some fonts would join the two hyphens of a flag.
    pieces[1::2] = [rf"\texttt{{{escape(each).replace('--', '-{}-')}}}" for each in pieces[1::2]]
    pieces[::2] = map(escape, pieces[::2])
    return "".join(pieces)


def _paragraph(text: str) -> str:
    return "\\noindent\n" + " \\\\\n".join(_prose(line) for line in text.splitlines() if line) + "\n\n"


def _split(grid: Grid) -> str:
    grid = grid.keep([number for number, column in enumerate(grid.columns) if not column.optional])
    pieces = _divide(grid, _measure(grid)[1])
    titles = [grid.title, *(f"{grid.title}, continued" for _ in pieces[1:])]
    notes = [*("" for _ in pieces[1:]), grid.note]
    return "\n".join(
        _grid(replace(piece, title=title, note=note))
        for piece, title, note in zip(pieces, titles, notes, strict=True)
    )


def _divide(grid: Grid, widths: Sequence[float]) -> list[Grid]:
    def cut(width: int) -> list[Grid]:
        return stack(grid, width, lambda kept: sum(widths[number] + GAP for number in kept))

    pieces = cut(PAGE)
    fewest, narrower = len(pieces), (cut(width) for width in range(PAGE - 1, 0, -1))
    return [pieces, *takewhile(lambda each: 1 < len(each) == fewest, narrower)][-1]


def _grid(grid: Grid) -> str:
    title = re.sub(r"^Table \d+: ", "", grid.title)
    heading = " & ".join(map(_format, _headings(grid))) + r" \\"
    rows = [" & ".join(map(_format, row)) + r" \\" for row in grid.rows]
    note = rf"\multicolumn{{{len(grid.columns)}}}{{p{{.9\linewidth}}}}{{{_prose(grid.note)}}}\\"
    head = [rf"\begin{{longtable}}{{{_types(grid)}}}", rf"\caption{{{escape(title)}}}\\", r"\toprule"]
    end = [r"\bottomrule", *([note] if grid.note else []), r"\end{longtable}", ""]
    return "\n".join([*head, heading, r"\midrule", r"\endhead", *rows, *end])


def _types(grid: Grid) -> str:
    whole, least = _measure(grid)
    room = PAGE - GAP * len(whole)

    def cut(most: int) -> list[float]:
        return [min(one, max(most, other)) for one, other in zip(whole, least, strict=True)]

    widths = next((found for found in map(cut, range(PAGE, 0, -1)) if sum(found) <= room), least)
    return "".join(
        rf"p{{{width / PAGE:.3f}\linewidth}}" if width < full else SIDES[column.side]
        for width, full, column in zip(widths, whole, grid.columns, strict=True)
    )


def _headings(grid: Grid) -> list[Box]:
    return [Box(each.printed or each.heading, each.highlighted) for each in grid.columns]


def _measure(grid: Grid) -> tuple[list[float], list[float]]:
    """Return the width of every column, and the least it can have: words wrap, but numbers do not."""
    whole, least = [], []
    for column, heading, *boxes in zip(grid.columns, _headings(grid), *grid.rows, strict=True):
        whole.append(max(_width(box, box.text) for box in (heading, *boxes)))
        words = [_width(box, word) for box in (heading, *boxes) for word in box.text.split()]
        least.append(max(words, default=0.0) if column.side == "left" else whole[-1])
    return whole, least


def _width(box: Box, text: str) -> float:
    return sum(WIDTHS.get(sign, 1.0) for sign in text) * (BOLD if _is_bold(box) else 1)


def _is_bold(box: Box) -> bool:
    return box.bold or box.highlighted


def _format(box: Box) -> str:
    text = escape(box.text)
    return rf"\textbf{{{text}}}" if _is_bold(box) and text else text


FORMAT = Format("tables.tex", "all tables in LaTeX", lambda document, screen: render(document.parts()))
