"""The site: safe, complete and repeatable pages that agree with the reports."""

import base64
import html
import json
import re
import shlex
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from olbench import UserError
from olbench.analysis.results import load_results
from olbench.records import ledger, shipped
from olbench.records.quantities import MISTAKE_RATE
from olbench.report import site
from olbench.report.model import Report, make_report
from olbench.report.site import MARKER, build_site, load_runs, make_leaderboard, make_pages, page_name
from olbench.report.tables.curves import curve_data
from tests.refusals import find_wrong, refusal
from tests.report import made
from tests.report.editing import reseal
from tests.report.test_page import SIDEWAYS, resize

SMALL = Path(__file__).with_name("small")
HOSTILE = "../../evil\x1b[201~\n\u202e</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    target = tmp_path_factory.mktemp("a site") / "public"
    build_site(load_runs([SMALL]), target)
    return target


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    target = tmp_path_factory.mktemp("papers") / "public"
    build_site(load_runs(["libol", "cw-usps"]), target)
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
            if address.startswith("data:"):
                continue
            is_file = ":" not in address and not address.startswith("/") and target.is_file()
            if not is_file or (fragment and fragment not in pages[target].ids):
                yield path, link


def test_every_run_algorithm_and_measure_has_a_page_and_all_links_lead_somewhere(papers):
    pages = read_pages(papers)
    assert list(broken_links(pages)) == []
    names = {path.stem for path in pages}
    assert {"index", "run-libol", "run-cw-usps", "algorithm-arow"} <= names
    assert {"leaderboard-online-mistake-rate", "leaderboard-crossval-test-error"} <= names
    algorithms = {each.algorithm for each in load_results("libol").entries}
    assert {f"algorithm-{id}" for id in algorithms} <= names
    linked = {link.partition("#")[0] for link in pages[papers / "index.html"].links}
    assert {path.name for path in pages} <= linked
    assert all("index.html" in page.links for page in pages.values())


def test_every_command_names_a_trial_of_its_run(papers):
    page = (papers / "algorithm-arow.html").read_text(encoding="utf-8")
    keys = re.findall(r"olbench verify libol --trial ([0-9a-f]+)<", page)
    folder = shipped.runs()["libol"]
    recorded = ledger.current(folder)
    found = [recorded[ledger.find_key(recorded, key, folder)] for key in keys]
    assert [each["dataset"] for each in found] == load_results("libol").datasets
    assert {each["algorithm"] for each in found} == {"arow"}


def test_commands_are_quoted_for_a_shell_and_the_path_of_a_folder_is_not_shown(tmp_path):
    run = Path(shutil.copytree(SMALL, tmp_path / "secret" / "a $(reboot) \x1b[201~ 'run"))
    build_site(load_runs([run]), tmp_path / "public")
    page = html.unescape((tmp_path / "public/algorithm-arow.html").read_text(encoding="utf-8"))
    command = re.search(r"olbench verify .*? --trial [0-9a-f]{12}", page)[0]
    assert shlex.split(command)[2] == "a $(reboot) \\x1b[201~ 'run"
    for name, content in files_of(tmp_path / "public").items():
        embedded = re.findall(rb"base64,([A-Za-z0-9+/=]+)", content)
        for text in (content, *map(base64.b64decode, embedded)):
            assert b"secret" not in text, name


def test_nothing_is_loaded_from_or_sent_to_another_place(small):
    assert list(broken_links(read_pages(small))) == []
    for name, content in files_of(small).items():
        text = content.decode()
        if name.endswith((".html", ".css")):
            assert not re.search(r"""(src|href|action|@import|url\()=?["'(]?\s*(https?:)?//""", text), name
        if name.endswith(".html"):
            assert "default-src" in text
        assert not re.search(r"\b(fetch|XMLHttpRequest|sendBeacon|WebSocket|localStorage)\b", text), name


def test_the_same_runs_give_the_same_bytes_in_any_order(tmp_path, small):
    other = Path(shutil.copytree(SMALL, tmp_path / "other"))
    build_site(load_runs([SMALL, other]), tmp_path / "one")
    build_site(load_runs([other, SMALL, SMALL]), tmp_path / "two")
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    build_site(load_runs([SMALL]), tmp_path / "one")
    assert files_of(tmp_path / "one") == files_of(small)


def test_the_best_and_all_not_different_from_it_share_the_first_place():
    table = make_leaderboard(Report(made.as_printed(), None), MISTAKE_RATE)
    places = table["place"]
    first = places.count(1)
    assert 1 < first < len(places)
    assert places == sorted(places)
    assert all(place == 1 or place > first for place in places)
    assert {y for y, _ in table.best} == set(range(first))
    assert table.note.startswith("Place 1: best mean rank over 12 data sets, and all not significantly")


def test_a_few_data_sets_decide_no_place():
    table = make_leaderboard(make_report(SMALL), MISTAKE_RATE)
    assert table.note.startswith(
        "No places: a comparison over data sets with one algorithm needs 5 data sets that have all "
    )
    assert set(table["place"]) == {None}
    assert [each.heading for each in table.printed().columns][:2] == ["algorithm", "mean rank"]


def test_names_become_different_safe_files_on_any_disk():
    odd = "a b,a/b,A b,..,../../etc/passwd,.,con,CON,é,\x1b,-"
    names = [*odd.split(","), "x" * 500, "x" * 501]
    plain = ["arow", "usps-0-vs-9", "a-b", page_name("a b")]
    found = {name: page_name(name) for name in (*names, *plain)}
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]{0,80}", each) for each in found.values())
    assert len({each.lower() for each in found.values()}) == len(found)
    assert [found[name] for name in plain[:3]] == plain[:3]


def test_hostile_names_stay_names(tmp_path):
    run = Path(shutil.copytree(SMALL, tmp_path / "run"))
    name = json.dumps(HOSTILE)
    for path in (run / "run.json", run / "trials.jsonl"):
        text = path.read_text().replace('"splice"', name).replace('"label": "cw"', f'"label": {name}')
        path.write_text(text)
    reseal(run)
    build_site(load_runs([run]), tmp_path / "public")
    assert {path.name for path in tmp_path.iterdir()} == {"run", "public"}
    pages = read_pages(tmp_path / "public")
    assert list(broken_links(pages)) == []
    for path, page in pages.items():
        is_report = path.name.startswith("run-")
        assert page.tags.count("script") == (3 if is_report else 1)
        assert is_report or "img" not in page.tags
        text = path.read_text(encoding="utf-8")
        assert "<script>alert" not in text
        assert is_report or all(sign.isprintable() or sign == "\n" for sign in text)
        scripts = re.compile(r"<(script|style)>.*?</\1>", re.DOTALL)
        assert "<img src=x" not in scripts.sub("", text)
    assert HOSTILE in curve_data(make_report(run))["curves"]
    assert "alert(1)" in (tmp_path / "public/index.html").read_text(encoding="utf-8")


def test_only_a_whole_site_and_nothing_of_others_is_replaced(tmp_path):
    runs, target = load_runs([SMALL]), tmp_path / "public"
    build_site(runs, target)
    build_site(runs, target)
    (target / "CNAME").write_text("example.org")
    words = "has files that olbench did not write: 'CNAME'; name a new folder"
    cases = [(target, words), (target / "CNAME", "is a file")]
    assert find_wrong(cases, lambda target: build_site(runs, target)) == []
    assert (target / "CNAME").read_text() == "example.org"
    (target / "CNAME").unlink()
    (target / MARKER).write_text("[]")
    assert "has files that olbench did not write" in refusal(build_site, runs, target)


def test_a_site_that_cannot_be_finished_leaves_the_old_one_whole(tmp_path, monkeypatch):
    runs, target = load_runs([SMALL]), tmp_path / "public"
    build_site(runs, target)
    before = files_of(target)

    def stop(runs):
        yield next(make_pages(runs))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(site, "make_pages", stop)
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


def test_in_a_browser_the_index_is_searched_and_pages_fit_a_phone_and_the_dark(small, browser):
    browser.get_log("browser")
    browser.get((small / "index.html").as_uri())
    browser.find_element("id", "find").send_keys("synth")
    rows = "return [...document.querySelectorAll('tbody tr')].filter(row => row.offsetParent)"
    assert browser.execute_script(f"{rows}.map(row => row.cells[0].innerText)") == ["synthetic"]
    assert re.fullmatch(r"1 of \d+ rows", browser.find_element("id", "matches").text)
    ground = "return getComputedStyle(document.body).backgroundColor"
    before = browser.execute_script(ground)
    browser.find_element("id", "theme").click()
    assert browser.execute_script(ground) != before
    resize(browser, 390, 844)
    for path in sorted(small.glob("*.html")):
        browser.get(path.as_uri())
        assert browser.execute_script(SIDEWAYS) <= 0, path.name
    assert browser.get_log("browser") == []
