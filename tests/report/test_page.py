"""The page in a real browser: it is quiet, it sorts, filters and draws, and it fits a phone and the dark."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from benchmarks.large import write_large
from olbench.report.model import make_report
from tests.report.pages import render

SMALL = Path(__file__).with_name("small")
#: Columns of the results.
RATE, PAPER = 2, 6
#: How far the page can be scrolled sideways, in pixels. On a phone innerWidth would grow with the content.
SIDEWAYS = "const all = document.documentElement; return all.scrollWidth - all.clientWidth"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "small.html"
    path.write_text(render(make_report(SMALL)), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("large")
    write_large(folder / "run", datasets=5, algorithms=46, permutations=2, points=4)
    (folder / "large.html").write_text(render(make_report(folder / "run")), encoding="utf-8")
    return (folder / "large.html").as_uri()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """The page of a small run at the width of a desktop; whatever a test does, the console stays empty."""
    resize(browser, 1280, 900)
    colours(browser, "light")
    browser.get(address)
    yield browser
    assert browser.get_log("browser") == []


def resize(browser: Any, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def colours(browser: Any, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def find(page: Any, selector: str) -> Any:
    return page.find_element(By.CSS_SELECTOR, selector)


def header(page: Any, column: int) -> Any:
    return find(page, f"#results th:nth-child({column + 1}) button")


def cells(page: Any, column: int, part: str) -> list[Any]:
    script = f"""return [...document.querySelectorAll("#results tbody tr:not([hidden])")]
        .map(row => row.cells[{column}].{part})"""
    return list(page.execute_script(script))


def values(page: Any, column: int) -> list[float]:
    return [float(value or "nan") for value in cells(page, column, "dataset.value")]


def names(page: Any, column: int) -> list[str]:
    return cells(page, column, "textContent.trim()")


def order(page: Any, column: int) -> str:
    return str(header(page, column).find_element(By.XPATH, "..").get_attribute("aria-sort"))


def curves(page: Any) -> list[str]:
    script = "return [...document.querySelectorAll('#plot .line')].map(line => line.dataset.label)"
    return list(page.execute_script(script))


def title(page: Any) -> str:
    return str(page.execute_script("return document.querySelector('#plot .title').textContent"))


def reading(page: Any) -> tuple[str, list[str]]:
    """Where the cursor of the curves is, and the algorithms that it reads."""
    script = """return [document.querySelector("#reading caption").textContent,
        [...document.querySelectorAll("#reading th")].map(cell => cell.textContent)]"""
    return tuple(page.execute_script(script))


def test_results_are_ranked_and_headings_sort_them_with_missing_values_last(page: Any):
    ranked = values(page, RATE)
    blocks = [ranked[start : start + 5] for start in (0, 5, 10)]
    assert [sorted(block) for block in blocks] == blocks
    assert order(page, RATE) == "none"
    header(page, RATE).click()
    assert (values(page, RATE), order(page, RATE)) == (sorted(ranked), "ascending")
    header(page, RATE).click()
    assert (values(page, RATE), order(page, RATE)) == (sorted(ranked, reverse=True), "descending")
    header(page, 1).click()
    assert (names(page, 1), order(page, RATE)) == (sorted(names(page, 1)), "none")
    header(page, 1).click()
    header(page, 1).click()
    assert (values(page, RATE), order(page, 1)) == (ranked, "none")
    for _ in range(2):
        header(page, PAPER).click()
        assert names(page, 1)[-3:] == ["perceptron"] * 3


def test_a_long_table_is_filtered_by_words_and_by_data_set(browser: Any, large: str):
    browser.get(large)
    assert find(browser, "#results output").text == "230 of 230 rows"
    find(browser, "#results input").send_keys("=data-003 pa1")
    assert set(names(browser, 0)) == {"data-003"}
    assert find(browser, "#results output").text == "46 of 230 rows"
    find(browser, "#results input").clear()
    find(browser, "#results select").send_keys("data-001")
    assert set(names(browser, 0)) == {"data-001"}
    # Short tables need none.
    assert not browser.find_elements(By.CSS_SELECTOR, "#data input")


def test_of_many_curves_most_are_grey_until_their_names_are_pressed(browser: Any, large: str):
    browser.get(large)
    strokes = """return Object.fromEntries([...document.querySelectorAll("#plot .line")].map(line =>
        [line.dataset.label, getComputedStyle(line.querySelector("path")).stroke]))"""
    grey = browser.execute_script(strokes)["pa1 C=0.046"]
    drawn = list(browser.execute_script(strokes).values())
    assert (len(drawn), drawn.count(grey)) == (46, 41)
    other = find(browser, '.series[data-label="pa1 C=0.046"]')
    ActionChains(browser, duration=0).move_to_element(other).perform()
    assert browser.execute_script(strokes)["pa1 C=0.046"] != grey
    other.click()
    find(browser, "#others").click()
    assert len(curves(browser)) == 6


def test_the_switches_change_what_the_axis_shows(page: Any):
    assert title(page) == "Online cumulative mistake rate"
    find(page, "#window [value=windows]").click()
    assert title(page) == "Mistake rate within each window"
    find(page, "#quantity [value=updates]").click()
    assert title(page) == "Updates per example within each window"
    find(page, "#window [value=cumulative]").click()
    ticks = "return [...document.querySelectorAll('#plot text')].map(each => each.textContent)"
    assert "0" in page.execute_script(ticks)[:1]
    find(page, "#scale [value=log]").click()
    assert title(page) == "Cumulative number of updates"
    assert "0" not in page.execute_script(ticks)[:1]
    find(page, "#quantity [value=seconds]").send_keys(Keys.SPACE)
    assert title(page) == "Cumulative time (s)"
    # A time has no rate within windows.
    assert not find(page, "#window [value=windows]").is_enabled()
    for press, bands in (('.series[data-label="arow"]', 4), ("#bands", 0)):
        find(page, press).click()
        assert len(page.find_elements(By.CSS_SELECTOR, "#plot .band")) == bands
    assert curves(page) == ["perceptron", "cw", "scw1", "scw2"]


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
    find(page, "#dataset").send_keys("synthetic")
    plot.send_keys(Keys.END)
    assert reading(page)[0].endswith("5,000")


def test_the_map_is_read_with_the_arrow_keys_and_by_pointing(page: Any):
    page.execute_script("scrollTo(0, 0); document.querySelector('.cell').focus()")
    page.switch_to.active_element.send_keys(
        Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ARROW_RIGHT
    )
    tip = find(page, "#tip")
    assert tip.text.startswith("svmguide3, arow, mistake rate: ")
    assert "ours 0." in tip.text
    assert "reported 0.218 ± 0.005" in tip.text
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not tip.is_displayed()
    ActionChains(page, duration=0).move_to_element(find(page, ".cell.not-comparable")).perform()
    assert tip.text.endswith("not run")
    # One cell of each map is in the tab order.
    assert len(page.find_elements(By.CSS_SELECTOR, ".cell[tabindex='0']")) == 2


def test_the_keyboard_reaches_every_control_in_order(page: Any):
    stops: list[str] = []
    page.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
    at = """const at = document.activeElement, box = at.getBoundingClientRect();
        const name = at.id || at.value || at.dataset.label || at.className || at.getAttribute("href");
        return [name || at.tagName,
            getComputedStyle(at).outlineStyle, box.width > 0 && box.bottom > 0 && box.top < innerHeight]"""
    while not stops or (stops[-1] != "BODY" and len(stops) < 160):
        ActionChains(page, duration=0).send_keys(Keys.TAB).perform()
        name, outline, seen = page.execute_script(at)
        stops.append(name)
        assert name == "BODY" or (seen and outline in ("auto", "solid")), name
    wanted = (
        "skip,#ranking,theme,sort,cell reproduced,dataset,mistakes,updates,seconds,cumulative,windows,linear,"
        "log,bands,plot,perceptron,scw2,all,none,others"
    )
    places = [stops.index(each) for each in wanted.split(",")]
    assert places == sorted(places)


def test_nothing_is_cut_and_the_page_never_scrolls_sideways(page: Any):
    for width in (390, 768, 1280):
        resize(page, width, 844)
        settle(page)
        assert page.execute_script(SIDEWAYS) <= 0, width
        for selector in ("h1", "p", "figcaption", ".legend button", ".controls > *", "#plot text", "img"):
            assert page.execute_script(CUT, selector) == [], (width, selector)


def test_on_a_phone_the_navigation_is_one_row_and_wide_tables_keep_their_names_in_sight(page: Any):
    resize(page, 390, 844)
    settle(page)
    assert find(page, "nav").size["height"] < 50
    page.execute_script("document.querySelector('#results .scroll').scrollLeft = 200")
    left = "return document.querySelector('#results tbody td:nth-child(2)').getBoundingClientRect().left"
    assert page.execute_script(left) < 30
    # A heading stays in sight while its rows scroll by.
    top = """const box = document.querySelector("#ranking .scroll");
        box.scrollIntoView();
        scrollBy(0, 100);
        return box.querySelector("thead").getBoundingClientRect().top
            - document.querySelector("nav").getBoundingClientRect().bottom"""
    resize(page, 1280, 844)
    settle(page)
    assert abs(page.execute_script(top)) < 2


#: The elements that the window cuts off, beside those in boxes that scroll.
CUT = """const width = document.documentElement.clientWidth;
    return [...document.querySelectorAll(arguments[0])].filter((each) => {
        const { left, right, width: own } = each.getBoundingClientRect();
        return own > 0 && !each.closest(".scroll, .drawn") && (left < 0 || right > width + 1);
    }).map((each) => each.textContent.trim().slice(0, 40))"""


def settle(page: Any) -> None:
    """Wait until the script has followed a new width."""
    page.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")


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


def test_text_is_readable_on_a_light_and_on_a_dark_background(page: Any):
    readable = (
        "h2,nav a,#results td,#results .pm,.note,.cell.reproduced,.cell.close,.winner,.cell.not-comparable,"
        ".key.holds,.kicker,.files a,#quantity button,.legend button"
    )
    elements = readable.split(",")
    ink = "return document.querySelector('#plot .title').getAttribute('fill')"
    light = page.execute_script(ink)
    assert {each: contrast(page, each) for each in elements if contrast(page, each) < 4.5} == {}
    find(page, "#theme").click()
    assert page.execute_script(ink) != light
    assert {each: contrast(page, each) for each in elements if contrast(page, each) < 4.5} == {}
    # The page follows the system until a reader chooses.
    page.refresh()
    colours(page, "dark")
    grounds = []
    for _ in range(2):
        grounds.append(page.execute_script("return getComputedStyle(document.body).backgroundColor"))
        find(page, "#theme").click()
    assert luminance(grounds[0]) < 0.1
    assert luminance(grounds[1]) > 0.9


def test_on_paper_the_page_is_light_and_without_controls(page: Any):
    colours(page, "dark")
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not find(page, "nav").is_displayed()
    assert not find(page, "#quantity").is_displayed()
    # A4 between the margins of the style sheet.
    resize(page, 703, 1000)
    assert page.execute_script(SIDEWAYS) <= 0
    assert luminance(page.execute_script("return getComputedStyle(document.body).backgroundColor")) > 0.9
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    page.execute_script("dispatchEvent(new Event('afterprint'))")
