"""Writes the tables that the pages include, docs/tables/*.md, from the runs that ship: `make docs-tables`.

Each file is a whole table: of a report, of `olbench summary`, of the statements that `olbench audit` checks,
or the means of a run. README.md, which cannot include files, has its table between two comments. A test
compares all of them with the runs. The files in RECORDED are output of commands that take too long for a
test; the page that includes one names the command.
"""

import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from site_pages import table

from olbench.analysis.verdicts import NOT_COMPARABLE, REPRODUCED
from olbench.papers.audit import checks
from olbench.protocols.definition import find_quantity
from olbench.report.formats import write_markdown
from olbench.report.model import Report, make_report
from olbench.report.summary import Reproduction, reproductions, summary_document
from olbench.report.table import Table
from olbench.report.tables import REGISTRY, all_items

DOCS = Path(__file__).resolve().parent
FOLDER, README, RUNS = DOCS / "tables", DOCS.parent / "README.md", DOCS.parent / "results"
MARK = re.compile(r"(<!-- table: papers -->\n).*?(<!-- end -->)", re.DOTALL)
PAPERS = {
    "scw2012": "SCW, ICML 2012",
    "cw2008": "CW, NIPS 2008",
    "cw2012": "CW for text, JMLR 2012",
    "adviceptron2010": "Adviceptron, ECML 2010",
    "libol2013": "LIBOL manual, 2013",
}
RECORDED = {"conformance", "correctness", "coverage", "scw-forensics"}


@cache
def papers() -> dict[str, Reproduction]:
    """Return the runs that speak for each paper."""
    return {each.paper.id: each for each in reproductions(sorted(RUNS.glob("*/reference")))}


@cache
def report(run: str) -> Report:
    """Return the report of a run that ships, which is read once."""
    known = {each.results.folder: each for paper in papers().values() for each in paper.reports}
    return known.get(RUNS / run) or make_report(RUNS / run)


def of_report(run: str, *ids: str) -> str:
    """Return tables of `olbench report RUN`."""
    all_items()
    return write_markdown([part for id in ids for part in REGISTRY[id].parts(report(run))])


def of_summary(caption: str) -> str:
    """Return a table of `olbench summary`."""
    parts = summary_document(list(papers().values())).parts()
    return write_markdown([each for each in parts if isinstance(each, Table) and each.caption == caption])


def of_means(run: str, name: str) -> str:
    """Return the means of a quantity, one row per algorithm; bold marks the best, as in the report."""
    results = report(run).results
    quantity = find_quantity(results.protocol, name)
    ranks = quantity == results.protocol.quantities[0]
    means = results.to_frame().groupby(["label", "dataset"])[name].mean().unstack()
    best = {(entry.label, entry.dataset) for entry in results.entries if ranks and results.is_best(entry)}

    def show(label: str, dataset: str) -> str:
        mean = means.loc[label, dataset]
        text = quantity.text(mean) if mean == mean else ""
        return f"**{text}**" if (label, dataset) in best else text

    rows = [[label, *(show(label, each) for each in results.datasets)] for label in results.labels]
    lines = table(("algorithm", *results.datasets), rows, "l" + "r" * len(results.datasets))
    return "\n".join([f"**Mean {quantity.title}**", "", *lines])


def of_audit(paper: str) -> str:
    """Return the statements of a paper that `olbench audit` checks, and their corrections."""
    rows = [
        (each.where, each.statement, each.correction or "right as printed", f"`{each.id}`")
        for each in checks()
        if each.paper == paper
    ]
    shown = [[cell.replace("*", r"\*").replace("<", r"\<") for cell in row] for row in rows]
    return "\n".join(table(("where", "the paper says", "correction", "check"), shown))


def of_papers(folder: str) -> str:
    """Return all papers in one table, with links to their pages, which are in `folder`."""
    rows = [row for id in PAPERS for row in _paper_rows(id, f"[{PAPERS[id]}]({folder}{id}.md)")]
    headings = (
        "paper", "numbers compared", "reproduced", "by swapped learners", "claims that hold",
        "statements corrected",
    )  # fmt: skip
    return "\n".join(table(headings, rows, "llrrrr"))


def _paper_rows(id: str, link: str) -> Iterator[list[str]]:
    found = papers()[id]
    claims = f"{found.claims['holds']} of {found.claims.total()}" if found.claims else ""
    own = [each for each in checks() if each.paper == id]
    audited = f"{sum(bool(each.correction) for each in own)} of {len(own)}" if own else ""
    numbers = []
    for quantity, counts in found.counts.items():
        compared = counts.total() - counts[NOT_COMPARABLE]
        if compared:
            fewest, median, most = found.controls[quantity].deranged or (math.nan,) * 3
            swapped = f"{median:.0f} ({fewest:.0f} to {most:.0f})"
            numbers.append([f"{compared} {quantity.counted}", str(counts[REPRODUCED]), swapped])
    first, *others = numbers or [["none printed", "", ""]]
    yield [link, *first, claims, audited]
    for each in others:
        yield ["", *each, "", ""]


#: What each file is made from: the function and its arguments.
TABLES: Mapping[str, tuple[Callable[..., str], *tuple[Any, ...]]] = {
    "papers": (of_papers, ""),
    "papers-numbers": (of_summary, "Published numbers compared with ours"),
    "papers-evidence": (of_summary, "What the verdicts prove"),
    "papers-claims": (of_summary, "Claims, checked on our runs"),
    **{f"{id}-audit": (of_audit, id) for id in PAPERS if id != "libol2013"},
    "scw-rates": (of_report, "scw/reference", "overview"),
    "scw-verdicts": (of_report, "scw/reference", "verdict_map"),
    "scw-evidence": (of_report, "scw/reference", "evidence", "blind_matching"),
    "scw-claims": (of_report, "scw/reference", "claims"),
    "scw-ranks": (of_report, "scw/reference", "across"),
    "scw-optimism": (of_report, "scw/reference", "tuning"),
    "scw-variants": (of_means, "scw/variants", "mistake_rate"),
    "scw-variants-updates": (of_means, "scw/variants", "updates"),
    "scw-scalings": (of_means, "scw/scalings", "mistake_rate"),
    "scw-grid": (of_means, "scw/grid", "mistake_rate"),
    "scw-auc": (of_means, "scw/measures", "auc"),
    "scw-balanced-accuracy": (of_means, "scw/measures", "balanced_accuracy"),
    "libol-rates": (of_report, "libol/reference", "overview"),
    "libol-verdicts": (of_report, "libol/reference", "verdict_map", "not_reproduced"),
    "cw-errors": (of_report, "cw/reference", "overview"),
    "cw-evidence": (of_report, "cw/reference", "evidence", "blind_matching"),
    "cw-ranks": (of_report, "cw/reference", "printed_ranks"),
    "cw-claims": (of_report, "cw/reference", "claims"),
    "cw-tunings": (of_report, "cw/reference", "tunings", "tuning_verdicts"),
    "cw-unexplained": (of_report, "cw/reference", "unexplained"),
    "cw-usps-errors": (of_report, "cw-usps/reference", "overview"),
    "cw-tfidf": (of_means, "cw-tfidf/reference", "test_error"),
    "cw-times": (of_means, "cw-times/reference", "seconds"),
    "cw-synthetic": (of_means, "cw-synthetic/reference", "mistakes"),
    "cw-synthetic-errors": (of_means, "cw-synthetic/reference", "test_error"),
    "cw-synthetic-claims": (of_report, "cw-synthetic/reference", "claims"),
    "shards": (of_report, "shards/reference", "shards"),
    "shards-million": (of_report, "shards-million/reference", "shards"),
    "shards-many": (of_report, "shards-many/reference", "shards"),
    "shards-claims": (of_report, "shards/reference", "claims"),
    "advice": (of_means, "advice/reference", "accuracy"),
    "advice-balanced": (of_means, "advice/reference", "balanced_accuracy"),
    "advice-early": (of_means, "advice/reference", "early_accuracy"),
    "advice-flipped": (of_means, "advice/flipped", "accuracy"),
    "advice-claims": (of_report, "advice/reference", "claims"),
    "streams": (of_means, "streams/reference", "accuracy"),
    "streams-ranks": (of_report, "streams/reference", "across"),
    "multiclass": (of_means, "multiclass/reference", "mistake_rate"),
    "multiclass-diag": (of_means, "multiclass-diag/reference", "mistake_rate"),
}


def make(name: str) -> str:
    """Return the content of a file."""
    function, *arguments = TABLES[name]
    return f"{function(*arguments).strip()}\n"


def fill_readme(text: str) -> str:
    """Return the README with its table as the runs have it."""
    return MARK.sub(lambda mark: f"{mark[1]}{of_papers('docs/papers/')}\n{mark[2]}", text)


def find_old() -> list[str]:
    """Return the files that differ from the runs, and those that nothing makes."""
    known = {path.stem for path in FOLDER.glob("*.md")}
    old = [name for name in TABLES if name not in known or (FOLDER / f"{name}.md").read_text() != make(name)]
    old += sorted(known - TABLES.keys() - RECORDED)
    return old + ["README.md"] * (fill_readme(README.read_text()) != README.read_text())


def write() -> None:
    """Write all files."""
    for name in TABLES:
        (FOLDER / f"{name}.md").write_text(make(name), encoding="utf-8")
    README.write_text(fill_readme(README.read_text()), encoding="utf-8")


if __name__ == "__main__":
    sys.exit("\n".join(find_old()) or None) if "--check" in sys.argv else write()
