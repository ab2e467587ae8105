r"""Random names pass through every format: other scripts, quotes, markup, control characters, verdicts.

With an old defect put back, the first draw that fails: classes read out of a sentence, 1; the largest
number of trials for all data sets, 3; the first table of a name only, 3; the colour of a verdict for any
cell with its word, 1; "?" for other scripts in LaTeX, 3; control characters in cells, 3, in failures, 8.
"""

import csv
import io
import json
import re
import unicodedata
from contextlib import redirect_stderr
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import olbench
from olbench.analysis.results import Results
from olbench.analysis.verdicts import VERDICTS
from olbench.errors import JOINERS, escape_controls
from olbench.report.document import table_document
from olbench.report.formats import FORMULA, write_csv, write_json, write_markdown
from olbench.report.latex import latex_table
from olbench.report.model import Report, make_report
from olbench.report.page import render_table
from olbench.report.table import VERDICT, Column, Table
from olbench.report.tables.classes import best_matrices
from olbench.report.tables.summary import in_words
from olbench.report.text import write_text
from tests.changes import examples
from tests.report import made
from tests.report.pages import render

FORMATS = ("text", "md", "latex", "csv", "json", "html")
PLAIN = (
    "men's",
    '"',
    "\\",
    "{",
    "}",
    "$x$",
    "_",
    "^",
    "~",
    "~~a~~",
    "%",
    "#",
    "&",
    "&lt;",
    "<b>",
    "</script>",
    "|",
    "`",
    "*",
    "[a](b)",
    "--",
    "---",
    "- ",
    "1. ",
    "> ",
    "# ",
    "=1+1",
    "-2",
    " (3 rows)",
    ", ",
    "a",
    "b",
    " ",
    "α",
    "Жук",
    "日本",
    "שלום",
    "é",
    "e\u0301",
    "ế",
    "→",
    "∞",
    "true class",
    "data set",
    "mean",
    "holds",
    *VERDICTS,
)
CONTROLS = ("\x1b[31m", "\x00", "\x07", "\x85", "\x9b", "\u2028", "\u202e", "\n", "\r", "\t", "\u200d")
plain_names = st.lists(st.sampled_from(PLAIN), min_size=1, max_size=3).map("".join).filter(str.strip)
names = st.one_of(
    st.sampled_from(VERDICTS),
    plain_names,
    st.lists(st.sampled_from(PLAIN + CONTROLS), min_size=1, max_size=4).map("".join).filter(str.strip),
    st.text(st.characters(exclude_categories=["Cs", "Co", "Cn"]), min_size=1, max_size=6).filter(str.strip),
)


def spaced(text):
    return " ".join(text.split())


def shown(name):
    return spaced(escape_controls(name))


def find_controls(text):
    return [sign for sign in text if not (sign.isprintable() or sign == "\n" or sign in JOINERS)]


class Page(HTMLParser):
    """The cells of tables, and the classes of their verdicts."""

    def __init__(self, text):
        super().__init__()
        self.cells, self.verdicts, self.tags, self.inside = [], [], set(), False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.inside = True
            self.cells.append("")
        classes = (dict(attributes).get("class") or "").split()
        if self.inside and tag in ("span", "button") and classes[0] in ("key", "cell"):
            self.verdicts.append(classes[1:])

    def handle_endtag(self, tag):
        self.inside &= tag not in ("td", "th")

    def handle_data(self, data):
        if self.inside:
            self.cells[-1] += data


def read_page(text):
    page = Page(text)
    assert "b" not in page.tags, "a name became markup"
    return [spaced(each.replace("\N{MINUS SIGN}", "-")) for each in page.cells], page.verdicts


def read_markdown(text):
    html = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    assert not Page(html).tags & {"h1", "li", "blockquote", "hr", "s", "a", "em", "code", "b"}, html
    return [spaced(each) for each in Page(html).cells]


COMMANDS = {
    "\\textbackslash": "\\", "\\textasciitilde": "~", "\\textasciicircum": "^", "\\ss": "ß", "\\ae": "æ",
    "\\AE": "Æ", "\\oe": "œ", "\\OE": "Œ", "\\o": "ø", "\\O": "Ø", "\\l": "ł", "\\L": "Ł", "\\dots": "…",
    "$\\pm$": "±", "$\\times$": "×", "$\\leq$": "≤", "$\\geq$": "≥", "$<$": "<", "$>$": ">", "$\\tau$": "τ",
    "$\\bullet$": "✓", "$\\star$": "⋆", "$\\ast$": "∗", "$\\dagger$": "†", "$\\cdot$": "·", "$\\to$": "→",
    "$^\\circ$": "°", "$\\mu$": "µ", "$\\infty$": "∞", "$-$": "-", "---": "—", "--": "–", "``": "“",
}  # fmt: skip
ACCENT = re.compile(r"\\([`'^~=u.\"rHvck])\{(\w[^\W\d_]?)\}")
MARKS = "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327\u0328"
COMBINING = dict(zip("`'^~=u.\"rHvck", MARKS, strict=True))
TOKEN = re.compile(r"\$[^$]+\$|\\[A-Za-z]+(?:\{\})?|\\.|---|--|``|\{\}|.", re.DOTALL)


def read_latex(text):
    """Return what LaTeX prints, by a reading of its own."""
    while (again := ACCENT.sub(lambda m: unicodedata.normalize("NFC", m[2] + COMBINING[m[1]]), text)) != text:
        text = again
    found = ""
    for token in TOKEN.findall(text):
        bare = token.removesuffix("{}")
        found += COMMANDS.get(bare, bare[1:] if len(bare) == 2 and bare[0] == "\\" else bare.strip("{}"))
    return straight(found)


def straight(text):
    """Return a text with the quotation marks that LaTeX makes of straight ones."""
    text = unicodedata.normalize("NFC", text.replace("\N{MINUS SIGN}", "-"))
    return spaced(text.replace("’", "'").replace('"', "''").replace("”", "''").replace("''", '"'))


def latex_cells(text):
    lines = [line.removesuffix(" \\\\") for line in text.splitlines() if line.endswith(" \\\\")]
    return [[read_latex(cell) for cell in re.split(r"(?<!\\) & ", line)] for line in lines]


@examples(200)
@given(st.lists(names, min_size=3, max_size=3), st.lists(names, min_size=2, max_size=2), names, names)
def test_a_table_keeps_its_names_in_every_format(headings, cells, caption, note):
    columns = (*map(Column, headings), Column("v", VERDICT))
    rows = [(*cells, cells[0], "close"), (cells[1], "x", "x", "differs")]
    table = Table(caption, columns, rows, note)
    texts = [*map(shown, headings), "v"], *([shown(cell) for cell in row] for row in rows)
    flat = [text for line in texts for text in line]
    text, markdown, latex = write_text([table, note], 1000), write_markdown([table, note]), latex_table(table)
    html, plain, sheet = render_table(table), write_json([table]), write_csv(table.records())
    for form in (text, markdown, latex, html, plain, sheet):
        assert not find_controls(form)
    assert all(line.strip() in spaced(text) for line in flat)
    assert read_markdown(markdown) == flat
    assert read_page(html) == (flat, [["close"], ["differs"]])
    assert latex_cells(latex) == [[straight(each) for each in line] for line in texts]
    assert table.to_latex().startswith("% Compile with LuaLaTeX or XeLaTeX") != latex.isascii()
    assert [list(row.values()) for row in json.loads(plain)[0]["rows"]] == [list(row) for row in rows]
    read = list(csv.reader(io.StringIO(sheet)))
    assert [len(line) for line in read] == [4, 4, 4]
    assert not [each for line in read for each in line if each.startswith(FORMULA) and not is_number(each)]
    assert [[each.removeprefix("'") for each in line] for line in read[1:]] == [
        [escape_controls(each).removeprefix("'") for each in row] for row in rows
    ]


def is_number(text):
    try:
        return float(text) == float(text)
    except ValueError:
        return False


@dataclass(frozen=True)
class Drawn(Results):
    """Results whose confusion matrices are drawn with them."""

    def array(self, entry, number, name):
        size = len(self.run.data[entry.dataset].classes)
        return np.arange(1, size * size + 1).reshape(size, size)


@st.composite
def reports(draw):
    datasets = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    labels = draw(st.lists(names, min_size=2, max_size=3, unique_by=shown))
    entries, facts = [], {}
    for dataset in datasets:
        trials = draw(st.sampled_from([1, 4, 20]))
        classes = draw(st.lists(names, min_size=3, max_size=4, unique=True))
        facts[dataset] = replace(FACTS, classes=tuple(classes))
        for place, label in enumerate(labels):
            rates = np.round(np.linspace(0.1, 0.2, trials) + 0.05 * place, 3)
            failures = draw(st.lists(names, max_size=1))
            one = made.entry(dataset, ("perceptron", "pa1", "arow")[place], rates)
            arrays = np.array([{"confusion": {}} for _ in range(trials)], object)
            columns = {**one.columns, "arrays": arrays}
            entries.append(replace(one, label=label, failures=tuple(failures), columns=columns))
    run = made.results(entries)
    return Report(Drawn(Path("made"), replace(run.run, data=facts), run.entries), None)


FACTS = made.DataFacts("0" * 32, made.N, 2)


@settings(examples(12), phases=[Phase.generate])
@given(reports())
def test_a_report_keeps_its_names_in_every_format(report):
    texts = {form: render(report, form) for form in FORMATS}
    assert not {form: found for form, text in texts.items() if (found := find_controls(text))}
    rows = [(entry.dataset, entry.label) for entry in report.rows]
    assert [(row["dataset"], row["label"]) for row in json.loads(texts["json"])["rows"]] == rows
    read = [(row["dataset"], row["label"]) for row in csv.DictReader(io.StringIO(texts["csv"]))]
    assert [tuple(each.removeprefix("'") for each in row) for row in read] == [
        tuple(escape_controls(each).removeprefix("'") for each in row) for row in rows
    ]
    cells, verdicts = read_page(texts["html"])
    assert not verdicts, "a name is coloured as a verdict"
    assert {shown(label) for _, label in rows} <= {cell.removesuffix(" ± 0.0000") for cell in cells}
    printed = {cell for line in latex_cells(texts["latex"]) for cell in line}
    assert {straight(shown(label)) for _, label in rows} <= printed
    for entry in (entry for entry in report.rows if entry.failures):
        gap = f"{entry.label} on {entry.dataset}: 1 of {entry.planned} trial"
        assert spaced(escape_controls(gap)) in spaced(texts["text"])


@settings(examples(12), phases=[Phase.generate])
@given(reports())
def test_all_tables_of_a_name_are_written_with_the_classes_of_their_data_sets(report):
    document = table_document(report, "confusion")
    for form in FORMATS:
        render(document, form)
    plain = json.loads(render(document, "json"))
    tables = plain if isinstance(plain, list) else [plain]
    assert len(tables) == len(report.results.datasets)
    cells, _ = read_page(render(document, "html"))
    for dataset, table in zip(report.results.datasets, tables, strict=True):
        classes = report.results.run.data[dataset].classes
        assert [row["true_class"] for row in table["rows"]] == [*classes]
        assert all(len(row) == len(classes) + 1 for row in table["rows"])
        assert {shown(each) for each in classes} <= set(cells)


@settings(examples(12), phases=[Phase.generate])
@given(reports())
def test_the_paragraph_says_how_many_trials_data_sets_have(report):
    whole = [replace(entry, failures=()) for entry in report.results.entries]
    results = replace(report.results, entries=tuple(whole))
    planned = [entry.planned for entry in whole]
    text = in_words(Report(results, None))
    least, most = min(planned), max(planned)
    thing = "permutation" if most == 1 else "permutations"
    expected = f"over {most} {thing} each" if least == most else f"over {least} to {most} {thing} each"
    assert expected in text


@examples(6)
@given(st.lists(plain_names.map(spaced), min_size=3, max_size=4, unique=True))
def test_a_run_keeps_the_names_of_its_classes(classes):
    classes = sorted(classes)
    with TemporaryDirectory() as folder, redirect_stderr(io.StringIO()):
        path = Path(folder) / "own.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["size", "weight", "kind"])
            for k in range(60):
                writer.writerow([k % 7, k % 5, classes[k % len(classes)]])
        data = {"path": str(path), "labels": "all", "label": "kind"}
        config = {"datasets": [data], "algorithms": ["pa1"], "permutations": 1}
        olbench.run(config, Path(folder) / "run", jobs=1)
        [(_, _, found)] = best_matrices(make_report(Path(folder) / "run")).values()
        assert found == classes
