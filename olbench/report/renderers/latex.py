r"""Tables in LaTeX: a fragment for \input, with booktabs and longtable, which breaks over pages."""

import re
from collections.abc import Iterable

from olbench.report.grid import Box, Grid, Part
from olbench.report.renderers import Format

HEAD = r"""% Tables made by olbench. In the preamble: \usepackage{booktabs,longtable}
\begingroup\footnotesize\setlength{\tabcolsep}{4pt}\setlength{\LTcapwidth}{\linewidth}
"""
FOOT = r"""\endgroup
"""
#: A column with a text longer than this wraps.
LONG = 40
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
    body = (_grid(part) if isinstance(part, Grid) else _paragraph(part) for part in parts)
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


def _grid(grid: Grid) -> str:
    """Return a table with the columns that fit on a page; LaTeX numbers it."""
    grid = grid.keep([number for number, column in enumerate(grid.columns) if not column.optional])
    title = re.sub(r"^Table \d+: ", "", grid.title)
    heading = " & ".join(_format(Box(each.heading, each.highlighted)) for each in grid.columns) + r" \\"
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
    is_long = [any(len(text) > LONG for text in texts) for texts in grid.texts_by_column()]
    wide, narrow = is_long.count(True), is_long.count(False)
    share = rf"p{{{max(0.92 - 0.1 * narrow, 0.1 * wide) / max(wide, 1):.2f}\linewidth}}"
    pairs = zip(is_long, grid.columns, strict=True)
    return "".join(share if long else SIDES[column.side] for long, column in pairs)


def _format(box: Box) -> str:
    text = escape(box.text)
    return rf"\textbf{{{text}}}" if (box.bold or box.highlighted) and text else text


FORMAT = Format("tables.tex", "all tables in LaTeX", lambda document, screen: render(document.parts()))
