"""Each format says the same as the ledger, byte for byte as before.

`OLBENCH_UPDATE_GOLDEN=1 pytest tests/report/test_formats.py` rewrites the golden files; read the diff then.
"""

import csv
import io
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from olbench.analysis.results import load_results
from olbench.report import table as t
from olbench.report.comparison import comparison_document
from olbench.report.formats import OUTPUTS, write_csv, write_markdown
from olbench.report.latex import escape, write_latex
from olbench.report.model import make_report
from olbench.report.table import Best, Column, Flagged, Spread, Table, columns
from olbench.report.text import write_text
from tests.report.pages import render

HERE = Path(__file__).parent
SMALL = HERE / "small"
GOLDEN = {form: file for form, (file, _) in OUTPUTS.items() if form != "html"}


@pytest.fixture(scope="module")
def report():
    return make_report(SMALL)


@pytest.mark.parametrize("form", GOLDEN)
def test_a_format_is_as_its_golden_file(form, report):
    path = HERE / "golden" / GOLDEN[form]
    content = render(report, form)
    if os.environ.get("OLBENCH_UPDATE_GOLDEN"):
        path.write_text(content, encoding="utf-8")
    assert content == path.read_text(encoding="utf-8")


NASTY = Table(
    "100% of A_B & {C} #1 ~ ^ \\ $x$ <y>",
    (Column("name|pipe"), Column("rate ±", t.RIGHT)),
    [("a_b|c*d`e`[f](g)", Best("0.5 ± 0.1")), ("[x]é → ∞ “quoted”", None)],
    "50% of $5 & more_",
)


def test_names_do_not_become_markup_and_the_best_is_marked():
    shown = write_markdown([NASTY])
    assert r"a\_b\|c\*d\`e\`\[f](g)" in shown
    assert "**0.5 ± 0.1**" in shown
    assert "0.5 ± 0.1*" in write_text([NASTY])
    assert "\x1b[1m0.5 ± 0.1*\x1b[0m" in write_text([NASTY], colour=True)
    assert escape("Müller, Łódź, Dvořák") == r"M\"{u}ller, \L{}\'{o}d\'{z}, Dvo\v{r}\'{a}k"


#: What plain LaTeX, booktabs and longtable define, as far as we use it.
MACROS = (
    "LTcapwidth addlinespace ast begin begingroup bottomrule bullet caption cdot circ dagger dots end "
    "endgroup endhead footnotesize geq leq linewidth midrule mu multicolumn noindent pm "
    "setlength sloppy star "
    "infty tabcolsep tau textasciicircum textasciitilde textbackslash textbf textit texttt times to toprule"
)


def test_latex_compiles(report, tmp_path):
    other = load_results(Path(shutil.copytree(SMALL, tmp_path / "after_100%")))
    many = columns(*(f"algorithm {number}" for number in range(20)), format=t.RIGHT)
    wide = Table("wide", (Column("data set"), *many), [("a_b", *["0.1234 ± 0.0123"] * 20)], "a note")
    for fragment in (
        render(report, "latex"),
        write_latex([NASTY, wide, "a_b & c\nd % e"]),
        render(comparison_document([load_results(SMALL), other]), "latex"),
    ):
        check_latex(fragment)
        if shutil.which("pdflatex"):
            assert "Overfull" not in compile_latex(fragment, tmp_path)


def check_latex(fragment: str) -> None:
    """Parse what we write: balanced groups and environments, and as many cells a row as columns."""
    bare = re.sub(r"(?<!\\)%.*", "", fragment)
    bare = bare.replace(r"\{", "").replace(r"\}", "").replace("\\\\", "\n").replace(r"$^\circ$", "")
    assert bare.isascii()
    assert bare.count("{") == bare.count("}")
    assert set(re.findall(r"\\([A-Za-z]+)", bare)) <= set(MACROS.split())
    # What remains would be an alignment mark, a comment or a subscript outside of mathematics.
    assert not re.search(r"(?<!\\)[#_^~]", bare)
    assert re.sub(r"\\\$", "", bare).count("$") % 2 == 0
    for table in re.findall(r"\\begin\{longtable\}.*?\\end\{longtable\}", fragment, re.DOTALL):
        lines = table.splitlines()
        columns = len(re.sub(r"p\{[^}]*\}", "p", lines[0].removeprefix(r"\begin{longtable}")).strip("{}"))
        rows = [line for line in lines[2:] if line.endswith(r"\\") and "multicolumn" not in line]
        assert rows
        assert all(len(re.findall(r"(?<!\\)&", row)) == columns - 1 for row in rows)


def compile_latex(fragment: str, folder: Path) -> str:
    head = [r"\documentclass{article}", r"\usepackage{booktabs,longtable}", r"\begin{document}"]
    document = "\n".join([*head, fragment, r"\end{document}", ""])
    (folder / "doc.tex").write_text(document, encoding="ascii")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "doc.tex"]
    how = {"capture_output": True, "text": True, "errors": "replace", "timeout": 120}
    done = subprocess.run(command, cwd=folder, **how)
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


BLOCKS = Table(
    "Results",
    (
        Column("data set", name="dataset"),
        Column("algorithm", t.ALGORITHM),
        Column("time", t.DURATION, name="seconds"),
        Column("size", t.BYTES, t.COST, note="Of its arrays."),
        Column("id", drop=t.HIDDEN),
    ),
    [
        ("b", "scw1", Spread(0.25, 0.01), 2048, 7),
        ("b", Flagged("arow"), Best(Spread(4e-5, 1e-6)), None, 8),
        ("a", "scw1", Spread(3.0, None, shared=True), 12, 9),
    ],
    "Means. Of its arrays.",
    group="data set",
    group_titles={"b": "b (5 × 2)"},
    ranked_by="seconds",
)


def test_a_table_keeps_its_numbers_and_every_format_prints_them():
    frame = BLOCKS.to_frame()
    assert frame["seconds_mean"].tolist() == [0.25, 4e-5, 3.0]
    assert (frame["algorithm"].tolist(), frame["id"].tolist()) == (["scw1", "arow", "scw1"], [7, 8, 9])
    shown = write_text([BLOCKS])
    assert "250 ± 10 ms" in shown
    assert "arow !      40.0 ± 1.0 µs*" in shown
    assert "(3.00 s)" in shown
    assert shown.index("b (5 × 2)") < shown.index("250 ± 10 ms") < shown.index("\na\n")
    assert "id" not in shown.splitlines()[1]
    assert r"SCW-I & 250 $\pm$ 10 ms" in BLOCKS.to_latex()
    assert "Means. Of its arrays." in shown
    assert BLOCKS.to_latex().endswith("\\noindent\nMeans. Not shown: size.\n\n")
    assert [row[4] for row in BLOCKS.ranked().rows] == [8, 7, 9]
    assert BLOCKS.ranked().best == {(0, 2)}


def test_a_narrow_terminal_drops_columns_in_their_order_and_stacks_the_rest():
    shown = write_text([BLOCKS], 30)
    assert shown.split("\nMeans.")[1].split() == ["Not", "shown", "at", "this", "width:", "size."]
    assert "250 ± 10 ms" in shown
    wide = Table("wide", (Column("name"), *columns(*"abcdef", format=t.number(3))), [("x", *range(6))])
    for width in (20, 40, 80):
        lines = write_text([wide], width).splitlines()
        assert max(map(len, lines)) <= width
        assert sum(line.startswith("x ") for line in lines) == {20: 3, 40: 2, 80: 1}[width]
    spare = Table("spare", (*wide.columns, Column("more", drop=t.COST)), [("x", *range(6), "yes")])
    assert "Not shown" not in write_text([spare], 40), "the last piece has room"
    assert "width: more." in write_text([spare], 20)


def test_the_same_ledger_gives_the_same_bytes_whatever_the_order_of_its_lines(tmp_path, report):
    folder = Path(shutil.copytree(SMALL, tmp_path / "small"))
    lines = (folder / "trials.jsonl").read_text().splitlines(keepends=True)
    (folder / "trials.jsonl").write_text("".join(reversed(lines)))
    for form in ("text", "json", "csv", "html"):
        assert render(make_report(folder), form) == render(report, form)


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\tx", "-arow"])
def test_a_name_in_a_csv_file_never_becomes_a_formula(text):
    table = write_csv([{"label": text, "mean": -0.25, "plain": "-0.25", "none": None}])
    [row] = csv.DictReader(io.StringIO(table))
    shown = text.replace("\t", "\\t") if text.startswith("\t") else f"'{text}"
    assert row == {"label": shown, "mean": "-0.25", "plain": "-0.25", "none": ""}
