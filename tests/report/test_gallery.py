"""The site: safe, complete and repeatable pages that agree with the reports, below 3 MB for what ships."""

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from olbench import UserError
from olbench.analysis.results import load_results
from olbench.records import shipped
from olbench.records.quantities import MISTAKE_RATE
from olbench.report.model import make_report
from olbench.report.site import build
from olbench.report.site.build import MARKER, build_site, load_runs
from olbench.report.site.model import SiteRun, make_leaderboard
from olbench.report.site.names import file_name
from olbench.report.site.pages import make_pages
from tests.refusals import refusal
from tests.report import made
from tests.report.editing import reseal
from tests.report.test_html import HOSTILE, poison

SMALL = Path(__file__).with_name("small")
MOST_BYTES = 3_000_000


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    target = tmp_path_factory.mktemp("site") / "public"
    build_site(load_runs([SMALL]), target)
    return target


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """The site of all runs that ship, as the documentation has it."""
    target = tmp_path_factory.mktemp("gallery") / "public"
    build_site(load_runs([]), target)
    return target


class Page(HTMLParser):
    """The parts of a page that links are checked by."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.tags = [], [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found[name] for name in ("href", "src") if name in found]


def read_pages(folder):
    return {path: Page(path) for path in sorted(folder.rglob("*.html"))}


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def broken_links(pages):
    for path, page in pages.items():
        for link in page.links:
            address, _, fragment = link.partition("#")
            target = path if not address else Path(path.parent, unquote(address)).resolve()
            is_file = ":" not in address and not address.startswith("/") and target.is_file()
            if not is_file or (fragment and fragment not in pages[target].ids):
                yield path, link


def test_the_site_of_all_runs_that_ship_is_small_and_all_its_links_lead_somewhere(gallery):
    files = files_of(gallery)
    assert sum(map(len, files.values())) < MOST_BYTES
    pages = read_pages(gallery)
    assert len(pages) > 100
    assert list(broken_links(pages)) == []
    index = files["index.html"].decode()
    assert all(f'id="run-{file_name(name)}"' in index for name in shipped.runs())


def test_every_command_names_a_trial_of_its_run(gallery):
    from olbench.records import ledger

    page = (gallery / "datasets/splice/index.html").read_text()
    keys = re.findall(r"<code>olbench verify scw --trial ([0-9a-f]+)</code>", page)
    assert len(keys) == 14
    folder = shipped.runs()["scw"]
    recorded = ledger.current(folder)
    assert {recorded[ledger.find_key(recorded, key, folder)]["dataset"] for key in keys} == {"splice"}


def test_nothing_is_loaded_from_elsewhere_and_nobody_is_told(small):
    assert list(broken_links(read_pages(small))) == []
    for name, content in files_of(small).items():
        text = content.decode()
        if name.endswith((".html", ".css")):
            assert not re.search(r"""(src|href|action|@import|url\()=?["'(]?\s*(https?:)?//""", text), name
        assert not re.search(r"\b(fetch|XMLHttpRequest|sendBeacon|WebSocket|localStorage)\b", text), name


def test_the_same_runs_give_the_same_bytes_in_any_order(tmp_path, small):
    other = Path(shutil.copytree(SMALL, tmp_path / "other"))
    build_site(load_runs([SMALL, other]), tmp_path / "one")
    build_site(load_runs([other, SMALL, SMALL]), tmp_path / "two")
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    build_site(load_runs([SMALL]), tmp_path / "one")
    assert files_of(tmp_path / "one") == files_of(small)


def test_the_best_and_all_not_different_from_it_share_the_first_place():
    board = make_leaderboard(SiteRun(made.as_printed(), "made"), MISTAKE_RATE)
    places = [row.place for row in board.rows]
    first = places.count(1)
    assert 1 < first < len(places)
    assert places == sorted(places)
    assert all(place == 1 or place > first for place in places)
    assert all(row.interval[0] <= row.rank <= row.interval[1] for row in board.rows)


def test_algorithms_that_are_equal_share_the_rank_that_they_would_have_alone():
    rates = {"arow": 0.1, "perceptron": 0.3, "averaged-perceptron": 0.3, "pa": 0.4}
    entries = [
        made.entry(dataset, id, [rate, rate + 0.01])
        for dataset in ("splice", "svmguide3", "synthetic")
        for id, rate in rates.items()
    ]
    board = make_leaderboard(SiteRun(made.results(entries), "made"), MISTAKE_RATE)
    ranks = {row.label: row.rank for row in board.rows}
    assert ranks == {"arow": 1.0, "perceptron": 2.0, "averaged-perceptron": 2.0, "pa": 3.0}
    intervals = {row.label: row.interval for row in board.rows}
    assert intervals["averaged-perceptron"] == intervals["perceptron"]


def test_on_a_data_set_those_that_do_not_differ_share_the_place_of_the_best():
    rates = {
        "arow": [0.10, 0.12, 0.11],
        "scw1": [0.11, 0.11, 0.11],
        "pa": [0.2, 0.21, 0.2],
        "cw": [0.2, 0.21, 0.2],
    }
    run = SiteRun(made.results([made.entry("splice", id, each) for id, each in rates.items()]), "made")
    found = {entry.label: (run.place(entry), run.tied(entry)) for entry in run.entries}
    assert found == {"arow": (1, True), "scw1": (1, True), "pa": (3, True), "cw": (3, True)}


def test_names_become_different_safe_files_on_any_disk():
    names = ["a b", "a/b", "A b", "..", "../../etc/passwd", ".", "con", "CON", "x" * 500, "é", "\x1b", "-"]
    plain = ["arow", "usps-0-vs-9", "a-b", file_name("a b")]
    found = {name: file_name(name) for name in (*names, *plain)}
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,80}", each) for each in found.values())
    assert len({each.lower() for each in found.values()}) == len(found)
    assert [found[name] for name in plain[:3]] == plain[:3]


def test_hostile_names_stay_names(tmp_path):
    run = Path(shutil.copytree(SMALL, tmp_path / "run"))
    poison(run)
    name = f"../../evil\x1b[201~\n\u202e{HOSTILE}"
    for path in (run / "run.json", run / "trials.jsonl"):
        path.write_text(path.read_text().replace(json.dumps(HOSTILE), json.dumps(name)))
    reseal(run)
    build_site(load_runs([run]), tmp_path / "public")
    assert {path.name for path in tmp_path.iterdir()} == {"run", "public"}
    pages = read_pages(tmp_path / "public")
    assert list(broken_links(pages)) == []
    for path, page in pages.items():
        assert page.tags.count("script") == 1
        assert "img" not in page.tags
        assert all(sign.isprintable() or sign == "\n" for sign in path.read_text(encoding="utf-8"))
    assert (tmp_path / "public" / f"datasets/{file_name(name)}" / "index.html").is_file()


def test_what_is_not_a_site_is_not_replaced(tmp_path, here):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("years of work")
    err = here.err("site", SMALL, "-o", tmp_path / "mine")
    assert "is not a site of olbench: it has 'thesis.tex'; name a new folder, or move them away" in err
    assert (tmp_path / "mine/thesis.tex").read_text() == "years of work"
    for target, why in (
        (Path(shipped.__file__).parent / "public", "inside the package"),
        (tmp_path / "mine/thesis.tex", "is a file"),
        (SMALL / "public", "inside the run"),
    ):
        assert why in here.err("site", SMALL, "-o", target)
        assert not target.is_dir()


def test_a_site_with_files_of_others_is_not_replaced(tmp_path):
    runs, target = load_runs([SMALL]), tmp_path / "public"
    build_site(runs, target)
    build_site(runs, target)
    (target / "CNAME").write_text("example.org")
    assert "has files that olbench did not write 'CNAME'" in refusal(build_site, runs, target)
    assert (target / "index.html").is_file()
    (target / "CNAME").unlink()
    (target / MARKER).write_text("[]")
    assert "is not a site of olbench" in refusal(build_site, runs, target)


def test_a_site_that_cannot_be_finished_leaves_the_old_one_whole(tmp_path, monkeypatch):
    runs, target = load_runs([SMALL]), tmp_path / "public"
    build_site(runs, target)
    before = files_of(target)

    def stop(runs):
        yield next(make_pages(runs))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(build, "make_pages", stop)
    with pytest.raises(UserError, match=r"cannot write .*public: No space left on device"):
        build_site(runs, target)
    assert files_of(target) == before
    assert [path.name for path in tmp_path.iterdir()] == ["public"]


def test_a_run_without_a_trial_is_left_out(tmp_path, here):
    run = Path(shutil.copytree(SMALL, tmp_path / "run"))
    (run / "trials.jsonl").unlink()
    code, _, err = here("site", run, "-o", tmp_path / "public")
    assert (code, err) == (4, "olbench: no trial of these runs is done yet; run their configs first\n")
    assert not (tmp_path / "public").exists()
    err = here.err("site", run, SMALL, "-o", tmp_path / "public", code=0)
    assert err.endswith(f"pages on 1 run: open {tmp_path / 'public' / 'index.html'}\n")


def test_ranks_are_those_of_the_report():
    for name in ("scw", "cw"):
        report = make_report(shipped.runs()[name])
        board = make_leaderboard(SiteRun(report.results, name), report.headline)
        assert {row.label: row.rank for row in board.rows} == pytest.approx(report.ranks, abs=1e-4)
        tied = {each.label for each in report.against_best.tests if not each.significant}
        assert {row.label for row in board.leaders} == tied | {report.against_best.label}


def test_a_few_data_sets_decide_no_place():
    board = make_leaderboard(SiteRun(load_results(SMALL), "small"), MISTAKE_RATE)
    assert board.note == "a comparison with a control needs 5 data sets; this run has 3"
    assert {(row.place, row.interval) for row in board.rows} == {(None, None)}
