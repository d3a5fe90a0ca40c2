"""The lab of comparison in a real browser: runs appear as they end, with one selection and one playback."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser_support import (
    DRAWN,
    SCREEN,
    SETTLED,
    STATUS,
    Problems,
    Server,
    answered,
    browser_test,
    comes_true,
    run_notebook,
    shot,
    soon,
    wait_for_text,
)

CELL = """
from widgets import CompareLab

sharing = ("gavel.max_min_fairness", {"space_sharing": True})  # not possible on this scenario: its column says so
lab = CompareLab("compare_mixed", ["gavel.max_min_fairness", "srtf", "chronus", sharing])
lab
"""
TABS = ".wb-results .lm-TabBar-tab"
NOT_SCROLLED = """() => {
    const table = [...document.querySelectorAll("[aria-label=Measures]")].find(e => e.checkVisibility());
    return table.scrollWidth <= table.clientWidth;
}"""
GANTTS = ".wb-gantts > :not([style*='display: none']) .wb-chart:not(.wb-overview)"


@browser_test
def test_the_lab_of_comparison_from_the_first_gantt_to_the_trade_off(
    page: Page, lab_server: Server, problems: Problems
) -> None:
    run_notebook(page, lab_server, "compare.ipynb", CELL)
    compare(page)
    shot(page, "compare-schedules")
    own_axes(page)
    follow_a_job(page)
    play(page)
    for tab, view in (("Measures", "jct"), ("Measures", "latency"), ("Vary", "tradeoff"), ("Why", "difference")):
        open_tab(page, tab)
        comes_true(page, DRAWN, f".wb-view-{view}")
        shot(page, f"compare-{view}")
    wait_for_text(page, ".wb-difference-said", "done sooner with Shortest remaining time first.*The schedules part at")
    read_measures(page)
    present(page)
    edit_the_list(page)


def compare(page: Page) -> None:
    """Three Gantts on one axis, and a reason in the column of the fourth scheduler."""
    wait_for_text(page, STATUS, "Press Compare")
    page.locator("button.wb-solve").click()
    wait_for_text(page, STATUS, r"Done: 4 schedulers, 4 runs in .*; 1 failed")
    expect(page.locator(GANTTS)).to_have_count(3)
    for number in range(3):
        comes_true(page, f'() => document.querySelectorAll("{GANTTS}")[{number}].dataset.rows > 0')
    charts = page.locator(f"{GANTTS} canvas")

    def one_time_axis() -> None:
        boxes = [charts.nth(number).bounding_box() for number in range(3)]
        assert all(box is not None for box in boxes)
        (first, second, third) = [tuple(map(round, box.values())) for box in boxes if box is not None]
        assert first[0] == third[0] and first[2] == second[2] == third[2], "one axis in each column"
        assert first[0] + first[2] <= second[0] and third[1] < 720, "two beside each other, all seen with Set-up folded"

    soon(page, one_time_axis)


def follow_a_job(page: Page) -> None:
    """A row of the jobs is followed: marked in all schedules, with its JCT under each scheduler."""
    page.locator(".wb-set-up").click()
    done = page.locator(".wb-compare .wb-solve-bar").bounding_box()
    assert done is not None and done["width"] > 400, "beside Set-up, too, there is room for what is done and Cancel"
    draws = [page.locator(GANTTS).nth(n).get_attribute("data-draws") for n in range(3)]
    page.locator(".wb-left .lm-TabBar-tab").filter(has_text="Jobs").click()
    page.locator(".wb-left .wb-table:visible").first.locator("tbody tr").first.locator("th").click()
    expect(page.locator(".wb-results .wb-job")).to_contain_text("plain-0, JCT with")
    for n in range(3):
        expect(page.locator(GANTTS).nth(n)).not_to_have_attribute("data-draws", draws[n] or "")
        expect(page.locator(GANTTS).nth(n)).to_have_attribute("data-what", "params")
    page.locator(".wb-left .lm-TabBar-tab").filter(has_text="Schedulers").click()
    shot(page, "compare-followed")


def own_axes(page: Page) -> None:
    """Shorter schedules are drawn anew over their own lengths, then on one axis again; the slider has room."""

    def draws() -> list[str | None]:
        return [page.locator(GANTTS).nth(number).get_attribute("data-draws") for number in range(3)]

    def drawn_anew() -> None:
        assert sum(now != was for now, was in zip(draws(), before, strict=True)) >= 2  # the longest may be too

    for _ in range(2):
        answered(page, SETTLED)
        before = draws()
        page.locator(".wb-own-axes").click()
        soon(page, drawn_anew)
        shot(page, "compare-axes")
    slider = page.locator(".wb-playback .wb-round").bounding_box()
    assert slider is not None and slider["width"] > 150


def play(page: Page) -> None:
    """One playback moves all schedules."""
    label = page.locator(".wb-play-time")
    before = label.inner_text()
    page.locator(".wb-playback .wb-round").focus()
    page.keyboard.press("Home")
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    expect(label).not_to_have_text(before)
    shot(page, "compare-playback")
    page.keyboard.press("End")
    expect(label).to_have_text(before)


def open_tab(page: Page, name: str) -> None:
    page.locator(TABS).filter(has_text=name).click()


def read_measures(page: Page) -> None:
    """The best of each row is marked, the failed scheduler says why, nothing scrolls sideways; and what each reads."""
    open_tab(page, "Measures")
    table = page.locator("[aria-label=Measures]").locator("visible=true")  # another is for saved notebooks
    expect(table.locator("thead th")).to_have_count(5)
    table.locator(".wb-best").nth(4).wait_for()
    comes_true(page, NOT_SCROLLED)
    expect(table.locator(".wb-why")).to_contain_text("failed: Tick")
    shot(page, "compare-measures")
    open_tab(page, "Model")
    expect(page.locator(".wb-reads-table").last).to_contain_text("Elastic sizes")
    expect(page.locator(".wb-decides")).to_contain_text(
        "The model decides: what is solved is what \u201cGavel: max-min"
    )
    shot(page, "compare-reads")
    open_tab(page, "Measures")
    page.set_viewport_size({"width": 1110, "height": 768})
    comes_true(page, NOT_SCROLLED, why="beside Set-up each scheduler has its column in sight")
    page.set_viewport_size({"width": 1024, "height": 768})
    shot(page, "compare-measures-1024")
    comes_true(page, NOT_SCROLLED)
    tops = "[...document.querySelectorAll('.wb-compare .wb-left .lm-TabBar-tab')].map(e => e.getBoundingClientRect().y)"
    comes_true(page, f"new Set({tops}.map(Math.round)).size === 1", why="the tabs are in one row")
    page.set_viewport_size({"width": SCREEN[0], "height": SCREEN[1]})


def edit_the_list(page: Page) -> None:
    """A scheduler more: what is shown is old then; Compare shows the new one too."""
    page.locator("button.wb-add-scheduler").click()
    wait_for_text(page, STATUS, "Edited, not compared")
    expect(page.locator(".wb-outdated")).to_contain_text("before your last change")
    number = page.locator(".wb-seeds")
    where = number.bounding_box()
    page.locator(".wb-remove-scheduler").nth(3).click()
    expect(page.locator(".wb-remove-scheduler").locator("visible=true")).to_have_count(4)
    assert number.bounding_box() == where, "what stands beside the list stays where it is"
    page.locator(".wb-row-knobs").nth(1).click()
    page.locator(".wb-schedulers .wb-knob-round_s").first.wait_for()
    shot(page, "compare-knobs")
    page.locator("button.wb-solve").click()
    wait_for_text(page, STATUS, r"Done: 4 schedulers, 4 runs in")
    expect(page.locator(GANTTS)).to_have_count(4)


def present(page: Page) -> None:
    """Large type, one panel at a time, the schedules first; Escape brings the lab back."""
    page.locator(".wb-present-begin").click()
    expect(page.locator(".wb-present-which")).to_contain_text("Schedule")
    page.locator(GANTTS).first.wait_for()
    expect(page.locator(".wb-left")).to_be_hidden()
    shot(page, "compare-presented")
    for _ in range(3):
        page.locator(".wb-present-on").click()
    page.locator("[aria-label=Measures]").locator("visible=true").wait_for()
    shot(page, "compare-presented-measures")
    page.keyboard.press("Escape")
    page.locator(".wb-schedulers").wait_for()
