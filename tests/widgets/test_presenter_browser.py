"""Presenting a lab in a real browser: it fills the window in large type, shows a panel at a time, and is put back."""

from __future__ import annotations

import math
import statistics
from functools import partial
from typing import Literal

from playwright.sync_api import Page, expect

from tests.browser_support import (
    SETTLED,
    Problems,
    Server,
    answered,
    browser_test,
    comes_true,
    grab,
    open_page,
    run_notebook,
    shot,
    soon,
    use_theme,
    wait_for_text,
)
from tests.widgets.lab.support import AT_REST, WHOLE_ROWS

CELL = 'from widgets import GavelLab\nlab = GavelLab("gavel_example")\nlab'
SCENES = """
from widgets import Scene
lab.scenes([
    Scene("Short rounds.", control="round_s", number="mean_jct_s"),
    Scene("Long rounds. Who waits for the next one to begin, and who gains?", control="round_s", number="mean_jct_s",
          knobs={"round_s": 1800}),
    Scene("The model.", page="Model"),
])
"""
HALL = {"width": 1280, "height": 720}
LEAST_PX = 17.9
"""Of any text that is seen, but for indices in formulas."""
SMALLEST = """() => {
    const lab = document.querySelector(".wb-presenting");
    const seen = [...lab.querySelectorAll("*")].filter(e => e.checkVisibility() && e.getClientRects().length
        && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())
        && !["STYLE", "OPTION", "SCRIPT"].includes(e.tagName) && !e.closest("mjx-container, .MathJax, math"));
    const px = e => parseFloat(getComputedStyle(e).fontSize) * (e.closest("svg.marks") ? 1.5 : 1);
    return seen.map(e => [px(e), e.textContent.trim().slice(0, 30), e.className?.baseVal ?? e.className])
        .filter(x => x[0] > 0).sort((a, b) => a[0] - b[0])[0];
}"""
LAST_ROW = """[".wb-contents", ".wb-beside"]
    .map(part => document.querySelector(".wb-lab " + part).getBoundingClientRect())
    .reduce((page, rows) => page.bottom - rows.bottom)"""
SCROLLING = """() => [...document.querySelectorAll(".wb-presenting .wb-chart-box")]
    .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth).length"""
PLACES = """() => ["h2", ".wb-solve", ".wb-view-gantt", ".wb-left", ".wb-stage"].map(s => {
    const e = document.querySelector(".wb-lab " + s), r = e.getBoundingClientRect();
    return [s, Math.round(r.width), Math.round(r.height), getComputedStyle(e).fontSize];
})"""


@browser_test
def test_a_lab_is_presented_and_put_back(page: Page, lab_server: Server, problems: Problems) -> None:
    run_notebook(page, lab_server, "presented.ipynb", CELL)
    wait_for_text(page, ".wb-status", "not solved|Done")
    page.locator("button.wb-solve").click()
    wait_for_text(page, ".wb-status", r"Done: \d+ (rounds?|decisions?): ")
    page.set_viewport_size(HALL)
    page.locator(".wb-view-gantt canvas").wait_for()
    before = settled(page)

    page.locator(".wb-present-begin").click()
    lab = page.locator(".wb-lab")
    chart = page.locator(".wb-view-gantt svg.marks")
    chart.wait_for()
    expect(lab).to_have_attribute("data-panel", "result")
    box = lab.bounding_box()
    assert box == {"x": 0, "y": 0, **HALL}
    titles = page.locator(".wb-present-which option").all_inner_texts()
    shot(page, "present-schedule")
    page.set_viewport_size({**HALL, "height": 620})
    answered(page, AT_REST)
    assert page.evaluate(LAST_ROW) >= 0, "the picture leaves the page its last rows"
    page.set_viewport_size(HALL)
    answered(page, AT_REST)
    plays_by_keys(page)
    drag(page, 150)
    click_a_bar(page)

    page.locator(".wb-present-which").select_option("0")
    lab.focus()
    for number, title in enumerate(titles):
        expect(page.locator(".wb-present-place")).to_have_text(f"{number + 1} of {len(titles)}")
        answered(page, SETTLED)
        shot(page, f"present-{number:02}-{title.replace(' ', '-')}")
        soon(page, partial(all_is_seen, page, title))
        if title == "Model":
            comes_true(page, f"({WHOLE_ROWS})(document.querySelector('.wb-lab')) >= 3", why="rows beside the picture")
        expect(page.locator(".wb-playback")).to_be_visible(visible=title not in ("Measures", "Vary"))
        page.keyboard.press("ArrowRight" if number else "PageDown")

    page.locator(".wb-present-back").focus()
    page.keyboard.press("Escape")
    page.locator(".wb-present-begin").wait_for()
    expect(page.locator(".wb-pages > .lm-TabBar .lm-mod-current")).to_have_text(titles[-1])  # where the lecture ended
    open_page(page, "Schedule")
    page.locator(".wb-view-gantt canvas").wait_for()

    def back_in_place() -> None:
        assert page.evaluate(PLACES) == before

    soon(page, back_in_place)
    assert lab.evaluate("e => e.popover === null && !e.dataset.panel && !e.dataset.magnify")
    page.locator(".wb-round").focus()
    page.keyboard.press("Alt+p")
    expect(lab).to_have_attribute("data-panel", "result")
    page.locator(".wb-present-leave").click()
    page.locator(".wb-present-begin").wait_for()
    shows_scenes(page)


def shows_scenes(page: Page) -> None:
    """Picture, one control, a number and a sentence in the whole window; arrows go from one to the next."""
    kernel = "jupyterapp.shell.currentWidget.sessionContext.session.kernel"
    answered(page, f"code => {kernel}.requestExecute({{code}}).done.then(() => true)", SCENES)
    page.locator(".wb-present-begin").click()
    expect(page.locator(".wb-scene")).to_contain_text("Short rounds.")
    themes: tuple[Literal["Dark", "Light"], ...] = ("Dark", "Light")
    for theme in themes:
        use_theme(page, theme)
        shot(page, f"scene-{theme}")
    goes_through_scenes(page)


def goes_through_scenes(page: Page) -> None:
    """From the first to the last and back, and out: as it was; also on a dashboard, test_lab_browser.py."""
    scene, lab = page.locator(".wb-scene"), page.locator(".wb-lab")
    expect(page.locator(".wb-main-knobs input[type=text]:visible")).to_have_count(1)
    expect(page.locator(".wb-main-knobs select:visible")).to_have_count(0)
    page.keyboard.press("ArrowRight")
    expect(scene).to_contain_text("Long rounds.")
    expect(scene.locator("b")).to_be_visible()
    expect(scene).to_contain_text("before")
    expect(page.locator(":is(.wb-pin, .wb-alone):visible")).to_have_count(0)

    def all_in_the_window() -> None:
        assert lab.evaluate("e => e.scrollHeight <= e.clientHeight && e.scrollWidth <= e.clientWidth")
        assert lab.locator("h2").evaluate("e => e.offsetHeight < 2 * parseFloat(getComputedStyle(e).fontSize)")
        leave = page.locator(".wb-present-leave").bounding_box()
        assert leave is not None and leave["x"] + leave["width"] <= HALL["width"] - 20
        picture = page.locator(".wb-view-gantt").bounding_box()
        assert picture is not None and HALL["height"] / 3 < picture["height"] <= HALL["height"] - picture["y"]

    soon(page, all_in_the_window)
    shot(page, "scene-2")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".wb-formulation")).to_be_visible()
    shot(page, "scene-3")
    page.keyboard.press("ArrowLeft")
    expect(scene).to_contain_text("Long rounds.")
    page.keyboard.press("Escape")
    page.locator(".wb-present-begin").wait_for()
    expect(page.locator(".wb-knob-round_s input")).to_have_value("6 min")


def plays_by_keys(page: Page) -> None:
    """Without a click before: the focus is on the lab. On the bar keys are the bar's, on a chart the chart's."""
    slider = page.locator(".wb-round")
    page.keyboard.press("Home")
    expect(slider).to_have_value("0")
    slider.press("ArrowRight")
    expect(slider).to_have_value("1")
    expect(page.locator(".wb-play-time")).to_have_text("up to 12 min")  # the kernel has it: nothing comes late
    page.locator(".wb-present-on").focus()
    page.keyboard.press("Home")
    expect(slider).to_have_value("1")
    page.locator(".wb-view-gantt [role=figure]").focus()
    page.keyboard.press("Home")
    expect(slider).to_have_value("0")
    expect(page.locator(".wb-play-time")).to_have_text("up to 6 min")
    page.emulate_media(reduced_motion="reduce")
    page.locator(".wb-play-speed").select_option("8")
    page.evaluate("""() => {
        window.seen = [], window.played = [];
        const told = document.querySelector(".wb-play-time"), playback = document.querySelector(".wb-playback");
        new MutationObserver(() => window.seen.push(told.textContent)).observe(told, {childList: true});
        new MutationObserver(() => window.played.push(playback.dataset.playing)).observe(playback, {attributes: true});
    }""")
    page.locator(".wb-view-gantt [role=figure]").focus()
    page.keyboard.press(" ")
    comes_true(page, "window.played.includes('true') && window.played.at(-1) === 'false'", why="plays, and ends")
    rounds_a_frame = 8 * 500 / 250  # twice a second, and still 8 times as fast
    frames = math.ceil(int(slider.get_attribute("max") or 0) / rounds_a_frame)
    assert len(page.evaluate("[...new Set(window.seen)]")) <= frames + 1, "people who want less motion see few steps"
    page.emulate_media(reduced_motion="no-preference")


def drag(page: Page, px: int) -> None:
    """What is dragged stays under the pointer although the chart is magnified; a double click puts it back."""
    labels = """() => Object.fromEntries([...document.querySelectorAll(".wb-view-gantt svg .role-axis-label text")]
        .map(e => [e.textContent, e.getBoundingClientRect().x]))"""
    before = page.evaluate(labels)
    x, y = grab(page, page.locator(".wb-view-gantt svg.marks"))
    page.mouse.move(x + px / 2, y, steps=4)
    page.mouse.move(x + px, y, steps=4)
    page.mouse.up()

    def moved() -> None:
        way = [x - before[text] for text, x in page.evaluate(labels).items() if text in before]
        assert way and abs(statistics.median(way) - px) < 1, (
            "labels at the ends of the axis are set otherwise than in between"
        )

    def back() -> None:
        assert page.evaluate(labels) == before

    soon(page, moved)
    page.mouse.dblclick(x, y)
    soon(page, back)


def settled(page: Page) -> object:
    """Where things are once they no longer move."""
    places = None

    def at_rest() -> None:
        nonlocal places
        before, places = places, page.evaluate(PLACES)
        page.wait_for_timeout(400)
        assert places == before

    soon(page, at_rest)
    return places


def all_is_seen(page: Page, title: str) -> None:
    """On the panel shown now letters are large enough, and nothing is cut off or has to be scrolled."""
    smallest = page.evaluate(SMALLEST)
    assert smallest[0] >= LEAST_PX, (title, smallest)
    at_the_side = page.locator(".wb-lab").evaluate("e => e.scrollWidth <= e.clientWidth + 1")
    assert at_the_side, f"{title}: nothing is cut off at the side"
    assert not page.evaluate(SCROLLING), f"{title}: the chart is as wide as there is room"


BAR = """svg => {
    const bars = [...svg.querySelectorAll(".mark-rect path")].filter(bar => bar.__data__?.datum?.kind);
    const box = svg.getBoundingClientRect(), seen = bars.map(bar => bar.getBoundingClientRect());
    const wide = seen.find(place => place.width > 40 && place.height > 15);
    return [(wide.x + wide.width / 2 - box.x) / box.width, (wide.y + wide.height / 2 - box.y) / box.height];
}"""
"""The middle of a job's bar."""


def click_a_bar(page: Page) -> None:
    """What is under the pointer is known although the chart is magnified: the job is named, the tooltip seen."""
    x, y = grab(page, page.locator(".wb-view-gantt svg.marks"), at=BAR)
    page.mouse.up()
    page.locator(".wb-explain-told b").first.wait_for()
    page.mouse.move(x + 5, y)
    tooltip = page.locator("#vg-tooltip-element")
    tooltip.wait_for()
    assert tooltip.evaluate("e => e.closest('.wb-presenting') !== null")
    page.locator(".wb-contents").dispatch_event("scroll")
    tooltip.wait_for(state="hidden")  # what it is of is elsewhere by now
    page.mouse.move(5, 5)
