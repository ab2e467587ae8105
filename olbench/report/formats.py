"""The formats of `--format`, with the writers of Markdown, CSV and JSON; and names of files."""

import csv
import io
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from olbench.errors import escape_controls, escape_lines
from olbench.report.table import Part, Table, unite

if TYPE_CHECKING:
    from olbench.report.document import Document

SIDES = {"left": ":--", "right": "--:", "center": ":-:"}
#: Cells of a spreadsheet that start with one of these are formulas.
FORMULA = ("=", "+", "-", "@")
#: What would begin a heading, a list, a quotation or a rule in Markdown.
BLOCK = re.compile(r"^(\s*(?:\d+(?=[.)](?:\s|$)))?)([#>=+.)-])")
#: The most bytes of a file name. File systems allow 255, and others add to the name.
LONGEST = 160


class Output(NamedTuple):
    file: str
    content: str


OUTPUTS = {
    "text": Output("report.txt", "all tables, for a terminal"),
    "md": Output("report.md", "all tables in Markdown"),
    "latex": Output("tables.tex", "all tables in LaTeX"),
    "csv": Output("results.csv", "the results, one line per row"),
    "json": Output("report.json", "everything, for scripts"),
    "html": Output("report.html", "the page, for a browser"),
}


def render(document: "Document", form: str, width: int = 100, colour: bool = False) -> str:
    """Return a document in a format; only text uses the width and colour of the terminal."""
    from olbench.report import latex, page, text

    match form:
        case "text":
            return text.write_text(document.parts(), width, colour)
        case "md":
            return write_markdown(document.parts())
        case "latex":
            return latex.write_latex(document.parts())
        case "csv":
            return write_csv(document.records())
        case "json":
            return write_json(document.content())
        case _:
            return page.render_page(document)


def write_markdown(parts: Iterable[Part]) -> str:
    texts = (_markdown_table(each) if isinstance(each, Table) else _paragraph(each) for each in parts)
    return "\n\n".join(texts) + "\n"


def _paragraph(text: str) -> str:
    """Return lines of which none begins a heading, a list or a quotation."""
    lines = escape_markdown(escape_lines(text)).split("\n")
    return "\n".join(BLOCK.sub(r"\1\\\2", line) for line in lines)


def _markdown_table(table: Table) -> str:
    table = table.printed()

    def line(texts: Iterable[str], bold: Iterable[bool]) -> str:
        cells = zip((escape_markdown(text).replace("\n", "<br>") for text in texts), bold, strict=True)
        return f"| {' | '.join(f'**{text}**' if text and is_bold else text for text, is_bold in cells)} |"

    headings = [each.heading for each in table.columns]
    rows = [line(headings, (each in table.highlighted for each in headings))]
    rows.append("|" + "|".join(SIDES[column.format.side] for column in table.columns) + "|")
    for y, (texts, row) in enumerate(zip(table.texts(), table.rows, strict=True)):
        rows.append(line(texts, (table.is_name(cell) or (y, x) in table.best for x, cell in enumerate(row))))
    note = ["", _paragraph(table.note)] if table.note else []
    return "\n".join([f"**{escape_markdown(table.caption)}**", "", *rows, *note])


def escape_markdown(text: str) -> str:
    return re.sub(r"([\\|*_`<~$\[]|&(?=#?\w+;))", r"\\\1", text)


def write_csv(records: Sequence[dict[str, Any]]) -> str:
    """Return records as CSV; those of several tables may have different columns."""
    file, names = io.StringIO(), list(dict.fromkeys(name for record in records for name in record))
    if records:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(map(_disarm, names))
        writer.writerows([_disarm(record.get(name)) for name in names] for record in records)
    return file.getvalue()


def _disarm(value: Any) -> Any:
    """Put an apostrophe before texts that a spreadsheet would take for a formula.

    >>> _disarm("=1+1"), _disarm("-0.5"), _disarm(-0.5), _disarm("arow")
    ("'=1+1", '-0.5', -0.5, 'arow')

    Control characters are escaped: they would move the cursor of a terminal.
    """
    if not isinstance(value, str):
        return value
    value = escape_controls(value)
    if not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"

    return value


def write_json(content: Any) -> str:
    text = json.dumps(make_plain(content), indent=1, ensure_ascii=False, allow_nan=False)
    # In JSON, "\\u009b" is the same text as the control character.
    lines = (line if line.isprintable() else "".join(map(_escape_unseen, line)) for line in text.split("\n"))
    return "\n".join(lines) + "\n"


def _escape_unseen(sign: str) -> str:
    return sign if escape_controls(sign) == sign else json.dumps(sign)[1:-1]


def make_plain(content: Any) -> Any:
    """Return plain values for JSON: tables as objects, and null in place of NaN and infinity."""
    if isinstance(content, Table):
        return {"caption": content.caption, "rows": make_plain([*_objects(content)]), "note": content.note}
    if isinstance(content, dict):
        return {str(key): make_plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [make_plain(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def _objects(table: Table) -> Iterator[dict[str, Any]]:
    for values in table.plain():
        cells = ((id, {end.strip("_"): part for end, part in parts.items()}) for id, parts in values)
        yield unite((id, parts.get("", parts)) for id, parts in cells)


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Return a file name for each name; names that would clash are numbered in order.

    Names that differ only in case clash: some systems would write one file for both.

    >>> file_names(["a b", "a-b", "a-b-2", "A/b"])
    {'a b': 'a-b', 'a-b': 'a-b-3', 'a-b-2': 'a-b-2', 'A/b': 'A-b-4'}
    """
    plain = {name: file_name(name) for name in names}
    wanted, taken, found = {name.casefold() for name in plain.values()}, set[str](), {}
    for name, file in plain.items():
        if file.casefold() in taken:
            numbered = (f"{file}-{number}" for number in itertools.count(2))
            file = next(each for each in numbered if each.casefold() not in wanted | taken)
        found[name] = file
        taken.add(file.casefold())
    return found


def file_name(name: str) -> str:
    """Return a name without characters unfit for a file name; a long one is cut, and gets a part of its hash.

    >>> file_name("data/my set.libsvm")
    'data-my-set.libsvm'
    """
    plain = re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "data"
    if len(plain.encode()) <= LONGEST:
        return plain
    digest = sha256(plain.encode()).hexdigest()[:8]
    return f"{plain.encode()[: LONGEST - 9].decode(errors='ignore')}-{digest}"
