"""The pages of the site. Every table on them is a Table; the page of a run is its report."""

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from olbench.algorithms import definitions, title_of
from olbench.analysis import stats
from olbench.analysis.results import Entry, Results
from olbench.errors import count, escape_controls, list_some, plural
from olbench.records.quantities import Quantity
from olbench.report import table as t
from olbench.report.document import report_document
from olbench.report.model import Report
from olbench.report.page import make_environment, render_page, table_values
from olbench.report.table import Column, Format, Table, capitalise, columns, mark
from olbench.report.tables import find_table
from olbench.report.tables.results import is_time, spread_of
from olbench.report.tables.summary import winner_sentence

FOLDER = Path(__file__).parent
INDEX = "index.html"
#: The letters of a trial's key that commands show.
KEY = 12
#: Longer file names are cut.
LONGEST = 60
INTERVAL = Format(lambda ends: f"{ends[0]:.2f} to {ends[1]:.2f}")


class Link(NamedTuple):
    """A cell that leads to another page of the site."""

    text: str
    address: str

    def __str__(self) -> str:
        return self.text

    def __html__(self) -> str:
        return Markup('<a href="{}">{}</a>').format(self.address, self.text)


def algorithm_link(id: str, label: str) -> Link:
    return Link(label, f"{file_name(f'algorithm-{id}')}.html")


def file_name(name: str) -> str:
    """Return a file name that differs from all others on any disk: letters and digits, and a digest.

    >>> file_name("arow"), file_name("AROW"), file_name("../a b")
    ('arow', 'arow-aeed36f6', 'a-b-2c2c791a')
    """
    letters = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST].strip("-")
    # A plain name that ends as one with a digest gets a digest too.
    if letters == name and not re.search(r"-[0-9a-f]{8}$", name):
        return name
    return f"{letters or 'name'}-{sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"


class SiteRun(NamedTuple):
    report: Report
    name: str

    @property
    def link(self) -> Link:
        return Link(self.name, f"{file_name(f'run-{self.name}')}.html")

    def measures(self) -> Iterator[Quantity]:
        for each in self.report.protocol.quantities:
            is_judged = each.better != "neither" and not is_time(each)
            if is_judged and not all(math.isnan(entry.mean(each)) for entry in self.report.rows):
                yield each


#: The results of an algorithm, and the leaderboards on a page.
Pairs = list[tuple[SiteRun, Entry]]
Boards = list[tuple[SiteRun, Quantity]]


def make_pages(runs: Sequence[SiteRun]) -> Iterator[tuple[str, str]]:
    """Yield the name and the content of every page."""
    boards: dict[str, Boards] = {}
    algorithms: dict[str, Pairs] = {}
    for run in runs:
        for quantity in run.measures():
            name = f"leaderboard-{run.report.protocol.id}-{quantity.name}".replace("_", "-")
            boards.setdefault(f"{file_name(name)}.html", []).append((run, quantity))
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
    environment.filters["file_name"] = file_name
    shown = [(link, table_values(table)) for link, table in sections]
    for values in (values for _, values in shown):
        for row, cells in zip(values["table"].rows, values["rows"], strict=True):
            for value, cell in zip(row, cells["cells"], strict=True):
                cell["text"] = value if isinstance(value, Link) else cell["text"]
    template = environment.get_template("site.html.j2")
    html = template.render(title=title, lead=lead, sections=shown, index=INDEX)
    # Names may have control characters, which do not belong on a page.
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
    return Table("One per protocol and measure", columns("measure", "protocol", "runs"), rows)


def _runs_table(runs: Sequence[SiteRun]) -> Table:
    rows = []
    for run in runs:
        report, paper = run.report, run.report.paper
        origin = report.protocol.id, paper.id if paper else "", report.made[:10]
        rows.append((run.link, winner_sentence(report), report.size, *origin))
    shown = columns("run", "result", "size", "protocol", "paper", "date")
    return Table("One report each", shown, rows)


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
    lead = f"{capitalise(quantity.better)} is better. Each run has a table of its own, on its own data."
    sections = [(run.link, make_leaderboard(run.report.results, quantity)) for run, quantity in boards]
    return _render(f"{capitalise(quantity.title)}, {run.report.protocol.id}", lead, sections)


def make_leaderboard(results: Results, quantity: Quantity) -> Table:
    """Return all algorithms, the best first; place 1 has the best and all not significantly different."""
    contestants = {name: results.contestants(name) for name in results.datasets}
    means = {name: {each.label: each.mean(quantity) for each in own} for name, own in contestants.items()}
    # Algorithms that are equal are ranked once, and share that rank.
    twins = results.twins
    once = {name: {label: row[label] for label in row if label not in twins} for name, row in means.items()}
    ranks = stats.mean_ranks(once, quantity.better)
    intervals = stats.rank_intervals(once, quantity.better)
    control = stats.against_control(once, quantity.better)
    tied = set[str]()
    if not isinstance(control, str):
        tied = {control.label, *(test.label for test in control.tests if not test.significant)}
    wins, among_best = Counter[str](), Counter[str]()
    for name, best in results.best_by(quantity).items():
        losses = {label: quantity.loss(mean) for label, mean in means[name].items() if not math.isnan(mean)}
        wins.update(label for label, loss in losses.items() if loss == min(losses.values()))
        among_best.update(best)
    rows = []
    for label, id in {each.label: each.algorithm for own in contestants.values() for each in own}.items():
        twin = twins.get(label, label)
        rank, place = ranks.get(twin, math.nan), None
        if tied and twin in ranks:
            place = 1 if twin in tied else 1 + sum(other < rank for other in ranks.values())
        name = mark(algorithm_link(id, label), place == 1)
        rows.append((place, name, rank, intervals.get(twin), wins[label], among_best[label]))
    rows.sort(key=lambda row: (row[0] or 0, math.isnan(row[2]), row[2], -row[-1]))
    tested = t.KEPT if tied else t.HIDDEN
    shown = (
        Column("place", t.COUNT, tested),
        Column("algorithm"),
        Column("mean rank", t.number(2)),
        Column("95% interval", INTERVAL, tested),
        *columns("best mean on", "among the best on", format=t.COUNT),
    )
    complete = count(sum(stats.is_complete(row, ranks) for row in once.values()), "data set")
    note = f"Place 1: best mean rank over {complete}, and all not significantly different from it (5%, Holm)."
    if isinstance(control, str):
        note = f"No places: {control}. The order describes these data sets only."
    note += f" The data set is the unit of ranks and intervals, never its {plural(results.numbered)}."
    if twins:
        equal = ", ".join(f"{label} = {twin}" for label, twin in twins.items())
        note += f" Equal in every trial, and ranked once: {equal}."
    return Table(f"{capitalise(quantity.title)} on {count(len(means), 'data set')}", shown, rows, note)


def _algorithm_page(id: str, pairs: Pairs) -> str:
    runs = {run.name: run for run, _ in pairs}.values()
    source = next((each.source for each in definitions() if each.id == id), "")
    lead = ". ".join(filter(None, (f"{id}: {count(len(pairs), 'result')}", source)))
    return _render(title_of(id), lead, [(run.link, _results_table(run, id)) for run in runs])


def _results_table(run: SiteRun, id: str) -> Table:
    """Return the rows of one algorithm in the results of a run, with a command that runs a trial again."""
    table, rows = find_table(run.report, "results").printed(t.PAPER), []
    for y, entry in enumerate(run.report.rows):
        if entry.algorithm == id:
            key = entry.keys[int(entry.columns["number"][0])][:KEY]
            cells = [mark(cell, (y, x) in table.best) for x, cell in enumerate(table.rows[y])]
            rows.append([*cells, f"olbench verify {shlex.quote(run.name)} --trial {key}"])
    shown = (*table.columns, Column("run a trial again"))
    return replace(table, columns=shown, rows=rows, best=frozenset(), group="", ranked_by="")
