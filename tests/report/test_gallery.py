"""The site: safe, complete and repeatable pages that agree with the reports, below 3 MB for what ships."""

import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

from olbench import UserError, shipped
from olbench.quantities import MISTAKE_RATE
from olbench.report.model import make_report
from olbench.report.results import load_results
from olbench.report.site import build
from olbench.report.site.build import MARKER, build_site, load_runs
from olbench.report.site.model import COLUMNS, SiteRun, cost_points, make_leaderboard
from olbench.report.site.names import file_name
from olbench.report.site.pages import make_pages
from olbench.report.site.statements import DIFFERS, RECORDED, TIERS, find_tier, read_statements
from tests.report import made
from tests.report.editing import reseal
from tests.report.test_html import HOSTILE, poison

SMALL = Path(__file__).with_name("small")
MOST_BYTES = 3_000_000
STATEMENT = {
    "run": "a" * 64, "by": None, "when": "2026-11-17T00:00:00+00:00", "drawn": ["k1", "k2"], "same": 2,
    "different": [], "wrong_results": [], "sentence": "2 of 9 trials ran again, all the same to the digit.",
}  # fmt: skip


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
    runs = json.loads(files["results.json"])["runs"]
    assert {run["name"] for run in runs} == shipped.runs().keys()


def test_every_result_is_on_the_page_of_its_algorithm_and_of_its_data_set(gallery):
    index = json.loads((gallery / "results.json").read_text())
    expected = sorted(
        (entry.dataset, entry.label)
        for name in ("scw", "streams")
        for entry in load_results(name).entries
        if entry.done
    )
    for kind in ("algorithms", "datasets"):
        feeds = [json.loads((gallery / path).read_text()) for path in index[kind].values()]
        found = [
            (row[COLUMNS.index("dataset")], row[COLUMNS.index("label")])
            for feed in feeds
            for run in feed["runs"]
            if run["run"] in ("scw", "streams")
            for row in run["results"]
        ]
        assert sorted(found) == expected


def test_ranks_are_those_of_the_report(gallery):
    index = json.loads((gallery / "results.json").read_text())
    for name, board in (("scw", "online mistake_rate"), ("cw", "crossval test_error")):
        feed = json.loads((gallery / index["leaderboards"][board]).read_text())
        rows = next(run["rows"] for run in feed["runs"] if run["run"] == name)
        found = {row["label"]: row["mean_rank"] for row in rows}
        report = make_report(shipped.runs()[name])
        assert found == pytest.approx(report.ranks, abs=1e-4)
        tied = {each.label for each in report.against_best.tests if not each.significant}
        first = {row["label"] for row in rows if row["place"] == 1}
        assert first == tied | {report.against_best.label}


def test_every_command_names_a_trial_of_its_run(gallery):
    from olbench.trials import ledger

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


def test_a_few_data_sets_decide_no_place(small):
    feed = json.loads((small / "leaderboards/online-mistake-rate/results.json").read_text())
    (board,) = feed["runs"]
    assert board["note"] == "a comparison with a control needs 5 data sets; this run has 3"
    assert {row["place"] for row in board["rows"]} == {None}
    assert {row["interval"] for row in board["rows"]} == {None}


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


def test_times_that_were_shared_and_times_taken_alone_are_drawn_apart():
    alone = [made.entry("splice", id, [0.1, 0.2]) for id in ("arow", "scw1")]
    shared = made.entry("splice", "cw", [0.3, 0.2])
    columns = {**shared.columns, "timing": np.array(["shared", "exclusive"], object)}
    run = SiteRun(made.results([*alone, replace(shared, columns=columns)]), "made")
    points = cost_points(run, "splice", "seconds")
    found = {kind: [each.label for each in own] for kind, own in points.items()}
    assert found == {"exclusive": ["arow", "scw1"], "shared": ["cw"]}
    [sizes] = cost_points(run, "splice", "bytes").values()
    assert [each.label for each in sizes] == ["arow", "scw1", "cw"]


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
    feed = json.loads((tmp_path / "public" / f"datasets/{file_name(name)}" / "results.json").read_text())
    place = feed["columns"].index("dataset")
    assert {row[place] for run in feed["runs"] for row in run["results"]} == {name}


def test_what_is_not_a_site_is_not_replaced(tmp_path, here):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("years of work")
    code, _, err = here("site", SMALL, "-o", tmp_path / "mine")
    assert code == 2
    assert "is not a site of olbench: it has 'thesis.tex'; name a new folder, or move them away" in err
    assert (tmp_path / "mine/thesis.tex").read_text() == "years of work"
    for target, why in (
        (Path(shipped.__file__).parent / "public", "inside the package"),
        (tmp_path / "mine/thesis.tex", "is a file"),
        (SMALL / "public", "inside the run"),
    ):
        code, _, err = here("site", SMALL, "-o", target)
        assert (code, why in err) == (2, True)
        assert not target.is_dir()


def test_a_site_with_files_of_others_is_not_replaced(tmp_path):
    runs, target = load_runs([SMALL]), tmp_path / "public"
    build_site(runs, target)
    build_site(runs, target)
    (target / "CNAME").write_text("example.org")
    with pytest.raises(UserError, match="has files that olbench did not write 'CNAME'"):
        build_site(runs, target)
    assert (target / "index.html").is_file()
    (target / "CNAME").unlink()
    (target / MARKER).write_text("[]")
    with pytest.raises(UserError, match="is not a site of olbench"):
        build_site(runs, target)


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
    code, _, err = here("site", run, SMALL, "-o", tmp_path / "public")
    assert code == 0
    assert err.endswith(f"pages on 1 run: open {tmp_path / 'public' / 'index.html'}\n")


def test_statements_decide_the_tier():
    reader = {"by": "A. Reader"}
    wrong = []
    for changes, tier in (
        ([{}], TIERS[1]),
        ([reader], TIERS[2]),
        ([{}, reader], TIERS[2]),
        ([reader, {"different": [{"key": "k1"}], "same": 1}], DIFFERS),
        ([{"different": 1}], DIFFERS),
        ([{"wrong_results": ["arow on splice"]}], DIFFERS),
        ([{"same": 0}], RECORDED.name),
        ([{"run": "b" * 64}], RECORDED.name),
    ):
        found = find_tier("a" * 64, [STATEMENT | each for each in changes])
        sentences = sum(each.get("run") is None for each in changes)
        if (found.name, len(found.sentences)) != (tier, sentences):
            wrong.append((changes, found))
    assert wrong == []


def test_a_statement_about_a_bundle_counts_for_its_folder_too(tmp_path, monkeypatch):
    from olbench.trials import ledger
    from olbench.trials.bundle import digest_records, write_bundle

    monkeypatch.chdir(tmp_path)
    write_bundle(shipped.runs()["cw-usps"], Path("usps.olb"))
    digest = digest_records(ledger.current(Path("usps.olb")).values())
    Path("said.json").write_text(json.dumps(STATEMENT | {"run": digest, "by": "A. <Reader>"}))
    for name in ("usps.olb", "cw-usps"):
        (run,) = load_runs([name], [Path("said.json")])
        assert (run.name, run.tier.name) == (name, TIERS[2])
        build_site([run], Path("public"))
        page = Path("public/datasets/usps-0-vs-9/index.html").read_text()
        assert "Verified by A. &lt;Reader&gt; on 2026-11-17: 2 of 9 trials ran again" in page
        assert f"<code>olbench verify {name} --trial " in page


def test_what_is_no_statement_is_refused(tmp_path):
    for number, by in enumerate((None, None, "A. Reader")):
        (tmp_path / f"{number}.json").write_text(json.dumps(STATEMENT | {"by": by}))
    assert len(read_statements([tmp_path, tmp_path / "0.json"])) == 2
    for content, why in (("[]", "its 'run' is None"), ("{", "is not JSON"), ('{"run": 3}', "its 'run' is 3")):
        (tmp_path / "0.json").write_text(content)
        with pytest.raises(UserError, match=rf"0\.json .*{why}"):
            read_statements([tmp_path])
