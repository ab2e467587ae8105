"""The page in a real browser: it is quiet, it sorts, filters and draws, and it fits a phone and the dark."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from benchmarks.large import write_large
from olbench.report import document
from olbench.report.model import make_report
from olbench.report.site.build import build_site, load_runs
from tests.report.pages import render, render_csv
from tests.report.test_html import HOSTILE, poison

SMALL = Path(__file__).with_name("small")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run",
    "disable-background-networking", "disable-component-update", "disable-sync", "disable-dev-shm-usage",
)  # fmt: skip
#: Columns of the results.
RATE, UPDATES = 2, 5
#: How far the page can be scrolled sideways, in pixels. On a phone innerWidth would grow with the content.
SIDEWAYS = "const all = document.documentElement; return all.scrollWidth - all.clientWidth"

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="chromium and chromedriver are not installed: the page was not opened in a browser",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.get("about:blank")
    # The browser's own first tab asks for things, too.
    driver.get_log("performance")
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "small.html"
    path.write_text(render(make_report(SMALL)), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def opened(browser: Any, address: str) -> Any:
    resize(browser, 1280, 900)
    colours(browser, "light")
    browser.get(address)
    return browser


@pytest.fixture
def page(opened: Any) -> Iterator[Any]:
    """The page as it was opened, at the width of a desktop; whatever a test does, the console stays empty."""
    resize(opened, 1280, 900)
    colours(opened, "light")
    opened.execute_script("""delete document.documentElement.dataset.theme;
        const first = document.getElementById("dataset");
        first.selectedIndex = 0;
        first.dispatchEvent(new Event("change"));
        for (const each of ["#reset", "#all", "[value=mistakes]", "[value=cumulative]", "[value=linear]"])
            document.querySelector(each).click();""")
    yield opened
    assert opened.get_log("browser") == []


@pytest.fixture
def fresh(page: Any) -> Any:
    page.refresh()
    return page


def resize(browser: Any, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def colours(browser: Any, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def find(page: Any, selector: str) -> Any:
    return page.find_element(By.CSS_SELECTOR, selector)


def header(page: Any, column: int) -> Any:
    return find(page, f"#results-table thead tr:last-child th:nth-child({column + 1}) button")


def values(page: Any, column: int) -> list[float]:
    script = """return [...document.querySelectorAll("#results-table tbody tr:not([hidden])")]
        .map(row => row.cells[arguments[0]].dataset.value).filter(value => value !== "").map(Number)"""
    return list(page.execute_script(script, column))


def names(page: Any, column: int) -> list[str]:
    script = """return [...document.querySelectorAll("#results-table tbody tr:not([hidden])")]
        .map(row => row.cells[arguments[0]].textContent.trim())"""
    return list(page.execute_script(script, column))


def order(page: Any, column: int) -> str:
    return str(header(page, column).find_element(By.XPATH, "..").get_attribute("aria-sort"))


def curves(page: Any) -> list[str]:
    script = "return [...document.querySelectorAll('#plot .line')].map(line => line.dataset.label)"
    return list(page.execute_script(script))


def axis(page: Any) -> tuple[str, str]:
    script = """const svg = document.querySelector("#plot svg");
        return [svg.querySelector(".title").textContent, svg.dataset.scale]"""
    return tuple(page.execute_script(script))


def reading(page: Any) -> tuple[str, list[str]]:
    """Where the cursor of the curves is, and the algorithms that it reads."""
    script = """return [document.querySelector("#reading caption").textContent,
        [...document.querySelectorAll("#reading th")].map(cell => cell.textContent)]"""
    return tuple(page.execute_script(script))


def requests(browser: Any) -> set[str]:
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [each["params"] for each in messages if each["method"] == "Network.requestWillBeSent"]
    return {each["request"]["url"] for each in sent if not each["request"]["url"].startswith("data:")}


def test_the_page_asks_the_network_for_nothing(browser: Any, page: Any, address: str):
    assert (requests(browser), len(curves(page))) == ({address}, 5)


def test_a_click_on_a_heading_sorts_and_another_turns_the_order(page: Any):
    unsorted = values(page, RATE)
    assert unsorted != sorted(unsorted)
    header(page, RATE).click()
    assert values(page, RATE) == sorted(unsorted)
    assert order(page, RATE) == "ascending"
    header(page, RATE).click()
    assert values(page, RATE) == sorted(unsorted, reverse=True)
    assert order(page, RATE) == "descending"
    find(page, "#reset").click()
    assert (values(page, RATE), order(page, RATE)) == (unsorted, "none")


def test_rows_without_a_number_come_last_in_either_order(page: Any):
    for _ in range(2):
        header(page, RATE + 1).click()
        assert names(page, 1)[-3:] == ["perceptron"] * 3


def test_the_filter_keeps_the_rows_of_a_data_set_and_an_algorithm(page: Any):
    find(page, "#filter").send_keys("synthetic cw")
    assert (names(page, 0), names(page, 1)) == (["synthetic"], ["cw"])
    assert find(page, "#shown").text == "1 of 15 rows"
    find(page, "#reset").click()
    assert len(names(page, 0)) == 15


def test_a_press_on_an_algorithm_hides_its_curve_and_its_band(page: Any):
    button = find(page, '.series[data-label="arow"]')
    button.click()
    assert curves(page) == ["perceptron", "cw", "scw1", "scw2"]
    assert button.get_attribute("aria-pressed") == "false"
    assert len(page.find_elements(By.CSS_SELECTOR, "#plot .band")) == 4
    button.send_keys(Keys.ENTER)
    assert "arow" in curves(page)


def test_the_switches_change_what_the_axis_shows(page: Any):
    assert axis(page) == ("Online cumulative mistake rate", "linear")
    find(page, "#window [value=windows]").click()
    assert axis(page) == ("Mistake rate within each window", "linear")
    find(page, "#quantity [value=updates]").click()
    assert axis(page) == ("Updates per example within each window", "linear")
    find(page, "#window [value=cumulative]").click()
    find(page, "#scale [value=log]").click()
    assert axis(page) == ("Cumulative number of updates", "log")
    find(page, "#quantity [value=seconds]").send_keys(Keys.SPACE)
    assert axis(page) == ("Cumulative time (s)", "log")
    # A time has no rate within windows.
    assert not find(page, "#window [value=windows]").is_enabled()


def test_a_cursor_reads_all_curves_with_the_keyboard_and_with_the_mouse(page: Any):
    plot = find(page, "#plot")
    plot.send_keys(Keys.END)
    where, read = reading(page)
    assert where == "Number of samples: 1,243"
    assert sorted(read) == sorted(curves(page))
    plot.send_keys(Keys.HOME, Keys.ARROW_RIGHT)
    assert reading(page)[0] == "Number of samples: 497"
    plot.send_keys(Keys.ESCAPE)
    assert not find(page, "#reading").is_displayed()
    find(page, "#window [value=windows]").click()
    ActionChains(page, duration=0).move_to_element(plot).perform()
    assert re.fullmatch(r"Number of samples: 49\d–7\d\d", reading(page)[0])


def test_another_data_set_brings_its_own_curve(page: Any):
    plot = find(page, "#plot")
    find(page, "#dataset").send_keys("synthetic")
    plot.send_keys(Keys.END)
    assert reading(page)[0] == "Number of samples: 5,000"


def test_the_map_is_read_with_the_arrow_keys_and_leads_to_its_row(page: Any):
    page.execute_script("scrollTo(0, 0); document.querySelector('.cell').focus()")
    page.switch_to.active_element.send_keys(
        Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ARROW_RIGHT
    )
    cell = page.switch_to.active_element
    assert (cell.get_attribute("data-dataset"), cell.get_attribute("data-label")) == ("svmguide3", "arow")
    tip = find(page, "#tip").text
    assert "ours 0." in tip
    assert "reported 0.218 ± 0.005" in tip
    cell.send_keys(Keys.ENTER)
    assert (names(page, 0), names(page, 1)) == (["svmguide3"], ["arow"])


def test_the_keyboard_alone_reaches_every_control_in_order(fresh: Any):
    stops: list[str] = []
    fresh.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
    at = """const at = document.activeElement, box = at.getBoundingClientRect();
        const name = at.id || at.value || at.dataset.label || at.className || at.getAttribute("href");
        return [name || at.tagName,
            getComputedStyle(at).outlineStyle, box.width > 0 && box.bottom > 0 && box.top < innerHeight]"""
    while not stops or (stops[-1] != "BODY" and len(stops) < 120):
        ActionChains(fresh, duration=0).send_keys(Keys.TAB).perform()
        name, outline, seen = fresh.execute_script(at)
        stops.append(name)
        assert name == "BODY" or (seen and outline in ("auto", "solid")), name
    wanted = [
        "skip", "#headline", "theme", "only", "filter", "reset", "sort", "dataset", "mistakes", "updates",
        "seconds", "cumulative", "windows", "linear", "log", "bands", "save", "plot", "perceptron",
        "scw2", "all", "none",
    ]  # fmt: skip
    places = [stops.index(each) for each in wanted]
    assert places == sorted(places)


def test_nothing_is_cut_and_the_page_never_scrolls_sideways(page: Any):
    cut = []
    for width in (390, 1280):
        resize(page, width, 844)
        settle(page)
        for selector in ("#results-table tbody td", "#headline td", "nav a", ".diagram text", ".cell"):
            cut += [(width, selector, each) for each in page.execute_script(CUT, selector)]
    assert cut == []
    page.execute_script("document.querySelectorAll('details').forEach(each => { each.open = true })")
    for width in (390, 768, 1280):
        resize(page, width, 844)
        assert page.execute_script(SIDEWAYS) <= 0, width


#: The elements that the window cuts off, or a box that would have to be scrolled sideways.
CUT = """const width = document.documentElement.clientWidth;
    return [...document.querySelectorAll(arguments[0])].filter((each) => {
        const { left, right, width: own } = each.getBoundingClientRect();
        const box = each.closest(".scroll");
        const scrolls = box && getComputedStyle(box).overflowX !== "visible";
        const end = scrolls ? box.getBoundingClientRect().right : width;
        return own > 0 && (left < 0 || right > end + 1);
    }).map((each) => each.textContent.trim().slice(0, 40))"""


def settle(page: Any) -> None:
    """Wait until the script has followed a new width."""
    page.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")


def test_a_phone_sorts_its_cards_with_a_menu(page: Any):
    resize(page, 390, 844)
    find(page, "#sort-by").send_keys("Updates")
    assert values(page, UPDATES) == sorted(values(page, UPDATES))
    find(page, "#reset").click()
    assert find(page, "#sort-by").get_attribute("value") == ""


def test_the_data_sets_can_be_looked_at_one_by_one(page: Any):
    find(page, "#only").send_keys("splice")
    assert set(names(page, 0)) == {"splice"}
    assert find(page, "#shown").text == "5 of 15 rows"


@contextmanager
def other_tab(page: Any, address: str) -> Iterator[None]:
    """Open another page beside the one that the tests share."""
    tab = page.current_window_handle
    page.switch_to.new_window("tab")
    page.get(address)
    try:
        yield
    finally:
        page.close()
        page.switch_to.window(tab)


def luminance(colour: str) -> float:
    channels = [int(value) / 255 for value in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(page: Any, selector: str) -> float:
    """The ratio of WCAG between the text of an element and the first ground below it that is not clear."""
    script = """let at = document.querySelector(arguments[0]);
        const ink = getComputedStyle(at).color, ground = () => getComputedStyle(at).backgroundColor;
        while (ground() === "rgba(0, 0, 0, 0)" && at.parentElement) at = at.parentElement;
        return [ink, ground()]"""
    light, dark = sorted(map(luminance, page.execute_script(script, selector)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_text_is_readable_on_either_ground(page: Any):
    elements = (
        "h2", "nav a", "#results td", "#results .pm", "#results .quiet", ".cell.reproduced", ".cell.close",
        ".cell.not-comparable", ".badge.holds", ".kicker", ".files a", "pre code", "#quantity button",
        ".ranks td", ".winners .equals",
    )  # fmt: skip
    ink = "return document.querySelector('#plot .title').getAttribute('fill')"
    light = page.execute_script(ink)
    assert {each: contrast(page, each) for each in elements if contrast(page, each) < 4.5} == {}
    find(page, "#theme").click()
    assert page.execute_script(ink) != light
    assert {each: contrast(page, each) for each in elements if contrast(page, each) < 4.5} == {}


def test_a_download_gives_the_file_that_is_inside_the_page(page: Any, tmp_path: Path):
    place = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.execute_cdp_cmd("Browser.setDownloadBehavior", place)
    find(page, 'a[download="small.csv"]').click()
    saved = tmp_path / "small.csv"
    WebDriverWait(page, 10).until(lambda _: saved.is_file() and saved.stat().st_size)
    assert saved.read_text() == render_csv(make_report(SMALL))


def test_on_paper_everything_is_unfolded_light_and_without_controls(fresh: Any):
    page = fresh
    colours(page, "dark")
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert page.execute_script("return document.querySelectorAll('details:not([open])').length") == 0
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not find(page, "nav").is_displayed()
    assert not find(page, "#filter").is_displayed()
    # A4 between the margins of the style sheet.
    resize(page, 703, 1000)
    assert page.execute_script(SIDEWAYS) <= 0
    assert luminance(page.execute_script("return getComputedStyle(document.body).backgroundColor")) > 0.9
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert page.execute_script("return document.querySelectorAll('details:not([open])').length") > 0


def test_a_name_that_wants_to_be_a_script_is_only_shown(page: Any, tmp_path: Path):
    folder = Path(shutil.copytree(SMALL, tmp_path / "hostile"))
    poison(folder)
    (tmp_path / "hostile.html").write_text(render(make_report(folder)), encoding="utf-8")
    with other_tab(page, (tmp_path / "hostile.html").as_uri()):
        assert HOSTILE in names(page, 0)
        assert HOSTILE in names(page, 1)
        assert (len(curves(page)), page.get_log("browser")) == (5, [])


def test_a_large_page_unpacks_its_tables(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(document, "MANY_ROWS", 1000)
    write_large(tmp_path / "run", datasets=5, algorithms=230, permutations=2, points=4)
    (tmp_path / "large.html").write_text(render(make_report(tmp_path / "run")), encoding="utf-8")
    browser.get_log("browser")
    browser.get((tmp_path / "large.html").as_uri())
    rows = "return document.querySelectorAll('#results-table tbody tr').length"
    WebDriverWait(browser, 60).until(lambda _: browser.execute_script(rows) == 5 * 230)
    browser.find_element(By.ID, "filter").send_keys("data-003")
    shown = browser.find_element(By.ID, "shown")
    WebDriverWait(browser, 60).until(lambda _: shown.text == "230 of 1,150 rows")
    second = browser.find_elements(By.CSS_SELECTOR, ".within details")[1]
    assert not second.find_elements(By.CSS_SELECTOR, "tbody tr")
    second.find_element(By.TAG_NAME, "summary").click()
    WebDriverWait(browser, 60).until(lambda _: len(second.find_elements(By.CSS_SELECTOR, "tbody tr")) == 229)
    assert browser.get_log("browser") == []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of one run below a path with a space, with a name that is no script."""
    folder = tmp_path_factory.mktemp("a site")
    run = Path(shutil.copytree(SMALL, folder / "run"))
    poison(run)
    build_site(load_runs([run]), folder / "public")
    return folder / "public"


@pytest.fixture
def index(page: Any, site: Path) -> Iterator[Any]:
    with other_tab(page, (site / "index.html").as_uri()):
        yield page
        assert page.get_log("browser") == []


def shown_rows(page: Any, table: str) -> list[str]:
    script = """return [...document.querySelectorAll(`#${arguments[0]} tbody tr:not([hidden])`)]
        .map(row => row.cells[0].textContent)"""
    return list(page.execute_script(script, table))


def test_the_index_of_a_site_is_filtered_in_all_tables(index: Any):
    assert len(shown_rows(index, "results")) == 3
    find(index, "#find").send_keys("synth")
    assert shown_rows(index, "results") == shown_rows(index, "datasets") == ["synthetic"]
    assert shown_rows(index, "algorithms") == []
    said = find(index, "#matches")
    assert said.text.startswith("Shown: 1 of 3 comparisons, 0 of 2 leaderboards, 0 of 5 algorithms")
    assert said.get_attribute("aria-live") == "polite"
    find(index, "#reset").click()
    assert index.switch_to.active_element.get_attribute("id") == "find"
    menu = find(index, "select[data-facet='1']")
    menu.send_keys("arow")
    assert shown_rows(index, "algorithms")[:1] == ["arow"]
    find(index, "#find").send_keys("nothing at all")
    assert shown_rows(index, "runs") == []


def test_numbers_of_a_site_are_sorted_as_numbers(index: Any, site: Path):
    with other_tab(index, (site / "datasets/synthetic/index.html").as_uri()):
        updates = """return [...document.querySelectorAll("tbody tr")].map(row =>
            parseFloat(row.cells[3].textContent.replaceAll(",", "")))"""
        find(index, "th:nth-child(4) button").click()
        found = index.execute_script(updates)
        assert found == sorted(found) != []
        label = find(index, "td .copy").get_attribute("aria-label")
        assert label.startswith("Copy: olbench verify run --trial ")


def test_a_site_fits_a_phone_and_the_dark_and_asks_nobody_for_anything(index: Any, site: Path):
    index.get_log("performance")
    resize(index, 390, 844)
    for path in sorted(site.rglob("index.html")):
        index.get(path.as_uri())
        assert index.execute_script(SIDEWAYS) <= 0, path
    assert all(each.startswith("file:") for each in requests(index))
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = index.execute_script(ground)
    colours(index, "dark")
    assert index.execute_script(ground) != light
