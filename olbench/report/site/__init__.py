"""A static site of many runs: an index, leaderboards, and a page per algorithm and per run."""

import math
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from markupsafe import Markup

from olbench.algorithms import definitions, title_of
from olbench.analysis import stats
from olbench.analysis.results import Entry
from olbench.errors import UserError, count, escape_controls, list_some, plural, show_name
from olbench.records import shipped
from olbench.records.quantities import Quantity
from olbench.report import table as t
from olbench.report import words
from olbench.report.document import report_document
from olbench.report.model import Report, make_report
from olbench.report.page import make_environment, read_part, render_page, table_values
from olbench.report.table import Column, Table, capitalise, columns, mark
from olbench.report.tables import find_tables
from olbench.report.tables.results import is_time, spread_of
from olbench.report.tables.summary import winner_sentence

FOLDER = Path(__file__).parent
#: Every site has this list of its files, so that only they are ever deleted.
MARKER = ".olbench-site"
INDEX = "index.html"
#: The letters of a trial's key that commands show, and of the name of a page.
KEY, LONGEST = 12, 60


class Link(NamedTuple):
    """A cell that links to another page of the site."""

    text: str
    address: str

    def __str__(self) -> str:
        return self.text

    def __html__(self) -> str:
        return Markup('<a href="{}">{}</a>').format(self.address, self.text)


def algorithm_link(id: str, label: str) -> Link:
    return Link(label, f"{page_name(f'algorithm-{id}')}.html")


def page_name(name: str) -> str:
    """Return a file name that no other page has on any disk: names that are not plain get a digest.

    >>> page_name("arow"), page_name("AROW"), page_name("../a b")
    ('arow', 'arow-aeed36f6', 'a-b-2c2c791a')
    """
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST].strip("-")
    # A plain name that looks like one with a digest gets a digest too.
    if plain == name and not re.search(r"-[0-9a-f]{8}$", name):
        return name
    return f"{plain or 'name'}-{sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"


class SiteRun(NamedTuple):
    report: Report
    name: str

    @property
    def link(self) -> Link:
        return Link(self.name, f"{page_name(f'run-{self.name}')}.html")

    def measures(self) -> Iterator[Quantity]:
        for each in self.report.protocol.quantities:
            is_judged = each.better != "neither" and not is_time(each)
            if is_judged and not all(math.isnan(entry.mean(each)) for entry in self.report.rows):
                yield each


#: The results of an algorithm, and the leaderboards on a page.
Pairs = list[tuple[SiteRun, Entry]]
Boards = list[tuple[SiteRun, Quantity]]


def make_pages(runs: Sequence[SiteRun]) -> Iterator[tuple[str, str]]:
    boards: dict[str, Boards] = {}
    algorithms: dict[str, Pairs] = {}
    for run in runs:
        for quantity in run.measures():
            name = f"leaderboard-{run.report.protocol.id}-{quantity.name}".replace("_", "-")
            boards.setdefault(f"{page_name(name)}.html", []).append((run, quantity))
        for entry in run.report.rows:
            algorithms.setdefault(entry.algorithm, []).append((run, entry))
    algorithms = dict(sorted(algorithms.items()))
    yield INDEX, _index(runs, boards, algorithms)
    for page, own in boards.items():
        yield page, _leaderboard_page(own)
    for id, pairs in algorithms.items():
        yield algorithm_link(id, id).address, _algorithm_page(id, pairs)
    home = f'<body>\n<p class="kicker" style="padding-top: 1rem"><a href="{INDEX}">All results</a></p>'
    for run in runs:
        yield run.link.address, render_page(report_document(run.report)).replace("<body>", home, 1)


def _render(title: str, lead: str, sections: Sequence[tuple[Link, Table]]) -> str:
    environment = make_environment(FOLDER)
    environment.filters["page_name"] = page_name
    shown = [(link, table_values(table)) for link, table in sections]
    template = environment.get_template("site.html.j2")
    html = template.render(title=title, lead=lead, sections=shown, index=INDEX)
    # Names may contain control characters.
    return "\n".join(map(escape_controls, str(html).split("\n")))


def _index(runs: Sequence[SiteRun], boards: Mapping[str, Boards], algorithms: Mapping[str, Pairs]) -> str:
    trials = sum(entry.done for pairs in algorithms.values() for _, entry in pairs)
    numbers = count(len(algorithms), "algorithm"), count(len(runs), "run"), count(trials, "trial")
    sections = [
        (Link("Runs", ""), _runs_table(runs)),
        (Link("Leaderboards", ""), _boards_table(boards)),
        (Link("Data sets", ""), _datasets_table(runs)),
        (Link("Algorithms", ""), _algorithms_table(algorithms)),
    ]
    return _render("Online learning, measured", f"{', '.join(numbers)}.", sections)


def _boards_table(boards: Mapping[str, Boards]) -> Table:
    rows = []
    for page, own in boards.items():
        (run, quantity), names = own[0], ", ".join(run.name for run, _ in own)
        rows.append((Link(quantity.title, page), run.report.protocol.id, names))
    return Table("A leaderboard for each protocol and measure", columns("measure", "protocol", "runs"), rows)


def _runs_table(runs: Sequence[SiteRun]) -> Table:
    rows = []
    for run in runs:
        report, paper = run.report, run.report.paper
        origin = report.protocol.id, paper.id if paper else "", report.made[:10]
        rows.append((run.link, winner_sentence(report), report.size, *origin))
    shown = columns("run", "result", "size", "protocol", "paper", "date")
    return Table("The report of each run", shown, rows)


def _datasets_table(runs: Sequence[SiteRun]) -> Table:
    rows = []
    for run in runs:
        quantity = run.report.headline
        for best, equals in run.report.winners:
            value = t.spread(quantity).text(spread_of(best, quantity))
            links = run.link, algorithm_link(best.algorithm, best.label)
            rows.append((best.dataset, *links, quantity.title, value, list_some(equals, 4)))
    named = columns("data set", "run", "best", "measure")
    shown = (*named, Column("value", t.RIGHT), Column("not significantly different"))
    return Table("The best algorithm on each data set, by run", shown, rows)


def _algorithms_table(algorithms: Mapping[str, Pairs]) -> Table:
    rows = []
    for id, pairs in algorithms.items():
        best = sum(run.report.results.is_best(entry) for run, entry in pairs)
        numbers = len({run.name for run, _ in pairs}), len({entry.dataset for _, entry in pairs})
        rows.append((algorithm_link(id, id), title_of(id), *numbers, len(pairs), best))
    counted = columns("runs", "data sets", "results", "among the best", format=t.COUNT)
    return Table("Results by algorithm", (*columns("algorithm", "name"), *counted), rows)


def _leaderboard_page(boards: Boards) -> str:
    # The comparison over the most data sets comes first.
    boards = sorted(boards, key=lambda each: -len(each[0].report.results.datasets))
    run, quantity = boards[0]
    lead = f"{capitalise(quantity.better)} is better. Each run has its own table, over its own data sets."
    sections = [(run.link, make_leaderboard(run.report, quantity)) for run, quantity in boards]
    return _render(f"{capitalise(quantity.title)}, {run.report.protocol.id}", lead, sections)


def make_leaderboard(report: Report, quantity: Quantity) -> Table:
    """Return all algorithms, best first; place 1 goes to the best and all not significantly different."""
    report = report if quantity is report.headline else replace(report, measure=quantity)
    results, ranks, against = report.results, report.ranks, report.against
    contestants = {name: results.contestants(name) for name in results.datasets}
    # Algorithms with equal results are ranked once, and share that rank.
    twins, tied = results.twins, set[str]()
    if not isinstance(against, str):
        tied = {against.label, *(each.label for each in against.rivals if not each.significant)}
    wins, among_best = Counter[str](), Counter[str]()
    for name, best in results.best_by(quantity).items():
        means = {each.label: each.mean(quantity) for each in contestants[name]}
        wins.update(stats.find_best(means, quantity.better))
        among_best.update(best)
    rows = []
    for label, id in {each.label: each.algorithm for own in contestants.values() for each in own}.items():
        twin = twins.get(label, label)
        rank, place = ranks.get(twin, math.nan), None
        if tied and twin in ranks:
            place = 1 if twin in tied else 1 + sum(other < rank for other in ranks.values())
        name = mark(algorithm_link(id, label), place == 1)
        rows.append((place, name, rank, wins[label], among_best[label]))
    rows.sort(key=lambda row: (row[0] or 0, math.isnan(row[2]), row[2], -row[-1]))
    tested = t.KEPT if tied else t.HIDDEN
    shown = (
        Column("place", t.COUNT, tested),
        Column("algorithm"),
        Column("mean rank", t.number(2)),
        *columns("best mean on", "among the best on", format=t.COUNT),
    )
    if isinstance(against, str):
        note = f"No places: {against}. The order applies to these data sets only."
    else:
        over = count(report.complete, "data set")
        note = f"Place 1: best mean rank over {over}, and all not significantly different from it "
        note += "(Wilcoxon, 5%, Holm over all pairs)."
    note += f" Ranks are over data sets, not over {plural(results.numbered)}."
    if twins:
        note += f" {words.describe_twins(results)}."
    return Table(f"{capitalise(quantity.title)} on {count(len(contestants), 'data set')}", shown, rows, note)


def _algorithm_page(id: str, pairs: Pairs) -> str:
    runs = {run.name: run for run, _ in pairs}.values()
    source = next((each.source for each in definitions() if each.id == id), "")
    lead = ". ".join(filter(None, (f"{id}: {count(len(pairs), 'result')}", source)))
    return _render(title_of(id), lead, [(run.link, _results_table(run, id)) for run in runs])


def _results_table(run: SiteRun, id: str) -> Table:
    """Return the rows of one algorithm in the results of a run, with commands that run a trial again."""
    [table], rows = [each.printed(t.PAPER) for each in find_tables(run.report, "results")], []
    for y, entry in enumerate(run.report.rows):
        if entry.algorithm == id:
            key = entry.keys[int(entry.columns["number"][0])][:KEY]
            cells = [mark(cell, (y, x) in table.best) for x, cell in enumerate(table.rows[y])]
            rows.append([*cells, f"olbench verify {shlex.quote(run.name)} --trial {key}"])
    shown = (*table.columns, Column("run a trial again"))
    return replace(table, columns=shown, rows=rows, best=frozenset(), group="", ranked_by="")


def load_runs(given: Sequence[str | Path]) -> list[SiteRun]:
    """Load each run once; by default all runs that ship. Runs without trials are skipped."""
    found: dict[str, SiteRun] = {}
    seen: set[Path] = set()
    for path in map(Path, given or shipped.runs()):
        report = make_report(path)
        place = report.results.folder.resolve()
        if place in seen or not any(entry.done for entry in report.results.entries):
            continue
        seen.add(place)
        # Do not publish the user's paths. Commands are pasted into terminals, so names are escaped.
        is_private = path.is_absolute() or ".." in path.parts
        name = escape_controls(report.results.name if is_private else path.as_posix())
        while name in found:
            name += " (another)"
        found[name] = SiteRun(report, name)
    return [found[name] for name in sorted(found)]


def build_site(runs: Sequence[SiteRun], target: Path) -> int:
    """Write the site into a draft that then replaces the target; return the number of pages."""
    place = Path(os.path.realpath(target))
    check_target(place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".", dir=place.parent, ignore_cleanup_errors=True) as scratch:
            draft, old = Path(scratch, "draft"), Path(scratch, "old")
            draft.mkdir()
            pages = _write_all(runs, draft)
            if place.exists():
                place.rename(old)
            try:
                draft.rename(place)
            except OSError:
                if old.exists():
                    old.rename(place)
                raise
    except OSError as error:
        raise UserError(f"cannot write {target}: {error.strerror or error}") from None
    return pages


def check_target(place: Path) -> None:
    """Refuse a target with other files than those of an older site."""
    if place.exists() and not place.is_dir():
        raise UserError(f"{place} is a file; name a folder for the site")
    marker, files = place / MARKER, {each.name for each in place.glob("*")}
    own = marker.read_text(encoding="utf-8", errors="replace").split("\n") if marker.is_file() else []
    others = list_some([show_name(name) for name in sorted(files.difference(own))], 3)
    if others:
        raise UserError(f"{place} has files that olbench did not write: {others}; name a new folder")


def _write_all(runs: Sequence[SiteRun], draft: Path) -> int:
    parts = {"site.css": "page.css", "site.js": "page.js"}
    own = {name: (FOLDER / name).read_text(encoding="utf-8") for name in parts}
    shared = {name: read_part(part) + own[name] for name, part in parts.items()}
    files = [MARKER]
    for name, content in chain(shared.items(), make_pages(runs)):
        # File names may contain bytes that are not valid Unicode.
        (draft / name).write_bytes(content.encode(errors="replace"))
        files.append(name)
    (draft / MARKER).write_text("\n".join(files), encoding="utf-8")
    return len(files) - len(shared) - 1
