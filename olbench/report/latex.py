r"""Tables in LaTeX: a fragment for \input, with booktabs and longtable, which breaks over pages."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from olbench.errors import escape_lines, shorten
from olbench.report.text import stack

if TYPE_CHECKING:
    from olbench.report.table import Part, Table

HEAD = r"""% Tables made by olbench. In the preamble: \usepackage{booktabs,longtable}
"""
ENGINE = r"""% Compile with LuaLaTeX or XeLaTeX; \setmainfont (fontspec) must name a font with "@".
"""
OPEN = r"""\begingroup\footnotesize\sloppy\setlength{\tabcolsep}{3pt}\setlength{\LTcapwidth}{\linewidth}
"""
#: In letters: a line of the standard article at this size, the most for a table, the space between columns,
#: and the least for a column of words that wraps.
LINE, PAGE, GAP, LEAST = 88, 81, 1.5, 14
SIGNS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "×": r"$\times$",
    "≤": r"$\leq$", "≥": r"$\geq$", "<": r"$<$", ">": r"$>$", "τ": r"$\tau$", "✓": r"$\bullet$", "–": "--",
    "⋆": r"$\star$", "∗": r"$\ast$", "†": r"$\dagger$", "·": r"$\cdot$", "°": r"$^\circ$", "µ": r"$\mu$",
    "—": "---", "…": r"\dots{}", "−": "$-$", "“": "``", "”": "''", "’": "'", '"': "''",
    "[": "{[}", "*": "{*}", "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}",
    "→": r"$\to$", "∞": r"$\infty$", "`": "{`}", "ø": r"\o{}", "Ø": r"\O{}", "ł": r"\l{}", "Ł": r"\L{}",
}  # fmt: skip
#: The commands of accents by their combining characters: grave, acute, and so on to the ogonek.
_MARKS = (*range(0x300, 0x305), *range(0x306, 0x309), 0x30A, 0x30B, 0x30C, 0x327, 0x328)
ACCENTS = dict(zip(map(chr, _MARKS), "`'^~=u.\"rHvck", strict=True))


def write_latex(parts: "Iterable[Part]") -> str:
    body = "\n".join(_paragraph(each) if isinstance(each, str) else latex_table(each) for each in parts)
    return f"{HEAD}{name_engine(body)}{OPEN}{body}\\endgroup\n"


def name_engine(body: str) -> str:
    """Return a comment on the engine that a text needs, if not every engine can print its letters."""
    others = "".join(dict.fromkeys(sign for sign in body if not sign.isascii()))
    return ENGINE.replace("@", shorten(others, 20)) if others else ""


def escape(text: str) -> str:
    signs = unicodedata.normalize("NFC", text)
    # Between hyphens, a group prevents a dash.
    return "-{}".join("".join(map(_escape_sign, part)) for part in re.split("-(?=-)", signs))


def _escape_sign(sign: str) -> str:
    letter, *marks = list(unicodedata.normalize("NFD", sign))
    if sign in SIGNS or not letter.isascii() or not set(marks) <= ACCENTS.keys():
        return SIGNS.get(sign, sign)
    for mark in marks:
        letter = rf"\{ACCENTS[mark]}{{{letter}}}"
    return letter


def _prose(text: str) -> str:
    pieces = re.split("`([^`]+)`", text)
    pieces[1::2] = [rf"\texttt{{{escape(each)}}}" for each in pieces[1::2]]
    pieces[::2] = map(escape, pieces[::2])
    return "".join(pieces)


def _paragraph(text: str) -> str:
    lines = escape_lines(text).split("\n")
    return "\\noindent\n" + " \\\\\n".join(_prose(line) for line in lines if line) + "\n\n"


def latex_table(table: "Table") -> str:
    """Return longtables: as many as the columns need to fit the width of a page."""
    table = table.on_paper()
    least = [min(width, LEAST) if wraps else width for width, wraps in _measure(table)]
    shown = table.shown()
    pieces = stack(table, PAGE, lambda places: sum(least[x] + GAP for x in places if x in shown))
    captions = [table.caption, *(f"{table.caption}, continued" for _ in pieces[1:])]
    notes = [*("" for _ in pieces[1:]), table.note]
    return "\n".join(
        _longtable(replace(piece, caption=caption, note=note))
        for piece, caption, note in zip(pieces, captions, notes, strict=True)
    )


def _measure(table: "Table") -> list[tuple[float, bool]]:
    """Return, for each column, the letters of its longest text, and whether it wraps as words do."""
    found = []
    for x, (column, *texts) in enumerate(zip(table.columns, *table.texts(on_paper=True), strict=True)):
        sizes = (_letters(text, (y, x) in table.best) for y, text in enumerate(texts))
        width = max((_letters(column.on_paper or column.heading), *sizes))
        found.append((width, column.format.side == "left" and width > LEAST))
    return found


def _letters(text: str, is_bold: bool = False) -> float:
    """Return the width of a text; capitals, some signs and bold letters are wider than digits."""
    wide = sum(sign.isupper() or sign in "±×mw%" for sign in text)
    return (len(text) + 0.45 * wide) * (1.15 if is_bold else 1.0)


def _types(table: "Table", shown: Sequence[int]) -> str:
    """Return the types of the columns; columns of words share the width that is left."""
    widths = {x: each for x, each in enumerate(_measure(table)) if x in shown}
    types = {x: table.columns[x].format.side[0] for x in shown}
    words = sorted((x for x in shown if widths[x][1]), key=lambda x: widths[x][0])
    room = PAGE - GAP * len(shown) - sum(widths[x][0] for x in shown if x not in words)
    for place, x in enumerate(words):
        share = min(widths[x][0], room / (len(words) - place))
        room -= share
        if share < widths[x][0]:
            types[x] = rf"p{{{share / LINE:.3f}\linewidth}}"
    return "".join(types.values())


def _longtable(table: "Table") -> str:
    shown = table.shown()

    def line(texts: Sequence[str], bold: Collection[int]) -> str:
        cells = {x: escape(re.sub(r"(?<![\w.)])-(?=[\d.])", "−", texts[x])) for x in shown}
        return " & ".join(rf"\textbf{{{text}}}" if text and x in bold else text for x, text in cells.items())

    headings = [each.on_paper or each.heading for each in table.columns]
    caption = re.sub(r"^Table \d+: ", "", table.caption)
    across = rf"\multicolumn{{{len(shown)}}}"
    lines = [
        rf"\begin{{longtable}}{{{_types(table, shown)}}}",
        rf"\caption{{{escape(caption)}}}\\",
        r"\toprule",
        line(headings, [x for x in shown if table.columns[x].heading in table.highlighted]) + r" \\",
        r"\midrule",
        r"\endhead",
    ]
    texts = table.texts(on_paper=True)
    for place, (title, rows) in enumerate(table.blocks()):
        lines += [r"\addlinespace"] if place else []
        lines += [rf"{across}{{l}}{{\textit{{{escape(title)}}}}} \\*"] if title else []
        for y in rows:
            bold = [x for x in shown if (y, x) in table.best or table.is_name(table.rows[y][x])]
            lines.append(line(texts[y], bold) + r" \\")
    # Inside the table, a note would widen the last column.
    note = [_paragraph(table.note)] if table.note else [""]
    return "\n".join([*lines, r"\bottomrule", r"\end{longtable}", *note])
