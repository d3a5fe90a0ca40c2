"""The lab of Chronus in a real browser: its pages, a deadline that is dragged, a knob that is varied."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser_support import (
    SCREEN,
    SETTLED,
    STATUS,
    Problems,
    Server,
    answered,
    browser_test,
    comes_true,
    drawn,
    grab,
    open_page,
    run_notebook,
    see_chart,
    shot,
    solve_first,
    soon,
    status_after,
    wait_for_text,
)

CELL = """
from widgets import ChronusLab

lab = ChronusLab("chronus_example")
lab.set("chronus")
lab
"""
CHARTS = (
    ("Rewards", "rewards", "Rewards of the jobs"),
    ("Clusters", "clusters", "GPUs of the logical clusters"),
)


@browser_test
def test_the_lab_of_chronus_from_the_first_leases_to_a_dragged_deadline(
    page: Page, lab_server: Server, problems: Problems
) -> None:
    open_solved(page, lab_server)
    drawn(page, "gantt", "Leases and deadlines")
    shot(page, "chronus-leases")
    come_closer(page)
    for chart, view, label in CHARTS:
        see_chart(page, chart, view, label)
        shot(page, f"chronus-{view}")
    explain_a_verdict(page)
    drag_a_deadline(page)
    vary_a_knob(page)
    set_up_beside(page)


def set_up_beside(page: Page) -> None:
    """Beside an open drawer the key has more lines, and the picture room for them; a page that is read has its own, and
    begins at its top with each question."""
    page.set_viewport_size({"width": SCREEN[0], "height": 720})
    open_page(page, "Schedule")
    page.locator(".wb-by").get_by_text("Leases").click()
    drawn(page, "gantt", "Leases and deadlines")
    answered(page, SETTLED)
    high = "() => document.querySelector('.wb-view-gantt canvas').offsetHeight"
    before = page.evaluate(high)
    page.locator("button.wb-set-up").click()
    comes_true(page, f"before => ({high})() >= before + 15", before, why="two lines of the key in place of one")
    open_page(page, "Why")
    wait_for_text(page, ".wb-explain-told b", "At ")
    comes_true(page, "() => document.querySelector('.wb-contents').offsetHeight >= 160")
    page.locator(".wb-explain-told summary").first.click()
    of_page = "document.querySelector('.wb-explain-told').closest('.wb-contents > *')"
    comes_true(page, f"() => {{ {of_page}.scrollTop = 40; return {of_page}.scrollTop > 0 }}")
    page.locator(".wb-contents .wb-explain-job select").select_option(index=1)
    comes_true(page, f"() => {of_page}.scrollTop === 0")
    shot(page, "chronus-set-up")


def come_closer(page: Page) -> None:
    """What is dragged on the overview is what the picture shows; keys go on from there, and back to the whole."""
    page.locator(".wb-by").get_by_text("By GPU").click()
    drawn(page, "gantt", "Schedule by GPU")
    comes_true(page, "() => Number(document.querySelector('.wb-overview')?.dataset.rows) > 0", why="an overview, drawn")
    overview = page.locator(".wb-overview canvas")
    x, y = grab(page, overview, 0.4, 0.2)
    page.mouse.move(x + 200, y + 20, steps=3)
    page.mouse.up()
    seen = "() => JSON.parse(document.querySelector('.wb-view-gantt').dataset.window ?? '{}')"
    comes_true(page, f"() => {{ const now = ({seen})(); return now.t?.[0] > 0 && now.row?.[1] - now.row[0] < 20 }}")
    shot(page, "chronus-closer")
    start, end = page.evaluate(seen)["t"]
    page.locator(".wb-view-gantt .wb-chart-box").press("+")
    comes_true(page, f"(was) => {{ const [a, b] = ({seen})().t; return b - a < was }}", 0.9 * (end - start))
    page.locator(".wb-view-gantt .wb-chart-box").press("0")
    comes_true(page, f"() => !({seen})().t")
    x, y = grab(page, overview, 0.4, 0.4)
    page.mouse.move(x + 200, y, steps=3)
    page.mouse.up()
    comes_true(page, f"() => ({seen})().t?.[0] > 0 && !({seen})().row", why="along alone: all rows")
    page.locator(".wb-view-gantt .wb-chart-box").press("0")
    comes_true(page, f"() => !({seen})().t")
    page.locator(".wb-by").get_by_text("Leases").click()
    drawn(page, "gantt", "Leases and deadlines")


@pytest.mark.long
@browser_test
def test_the_lab_of_chronus_without_code(page: Page, voila_server: Server, problems: Problems) -> None:
    open_solved(page, voila_server)
    drawn(page, "gantt", "Leases and deadlines")
    shot(page, "chronus-voila")
    drag_a_deadline(page)


def open_solved(page: Page, server: Server) -> None:
    run_notebook(page, server, "chronus.ipynb", CELL)
    solve_first(page)
    expect(page.locator("button.wb-undo")).to_be_disabled()  # no control of the page has changed a value by itself


def explain_a_verdict(page: Page) -> None:
    """A refused job is told the earliest deadline; with that it is guaranteed, and Undo takes it back."""
    open_page(page, "Why")
    told = ".wb-admission-told"
    wait_for_text(page, told, ": best effort.*earliest deadline that would be accepted")
    drawn(page, "admission", "best effort")
    shot(page, "chronus-admission")
    page.locator("button.wb-admission-accept").click()
    solved_until(page, told, "job-[0-9]+: guaranteed")
    shot(page, "chronus-accepted")
    page.locator("button.wb-undo").click()
    solved_until(page, told, ": best effort.*earliest deadline that would be accepted")


def drag_a_deadline(page: Page) -> None:
    """The first deadline is dragged: the run follows, and Undo comes back."""
    see_chart(page, "Rewards", "rewards", "Rewards of the jobs")
    handle = page.locator(".wb-rewards .wb-handle").first
    handle.scroll_into_view_if_needed()
    before = handle.get_attribute("aria-valuetext")
    assert before is not None

    def taken() -> None:  # what is said above it comes a moment later than the chart, and moves it from under a pointer
        page.mouse.up()
        spot = handle.bounding_box()
        assert spot is not None
        x, y = spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - 60, y, steps=5)
        assert handle.get_attribute("aria-valuetext") != before

    soon(page, taken)
    shot(page, "chronus-dragging")
    text = page.locator(STATUS).inner_text()
    page.mouse.up()
    status_after(page, text)
    moved = page.locator(".wb-rewards .wb-handle").first
    expect(moved).not_to_have_attribute("aria-valuetext", before)
    solved_again(page)
    shot(page, "chronus-dragged")
    moved.focus()
    after = moved.get_attribute("aria-valuetext")
    assert after is not None
    moved.press("Shift+ArrowRight")
    expect(page.locator(".wb-rewards .wb-handle").first).not_to_have_attribute("aria-valuetext", after)

    page.locator("button.wb-undo").click()
    expect(page.locator(".wb-rewards .wb-handle").first).to_have_attribute("aria-valuetext", after)
    page.locator("button.wb-undo").click()
    expect(page.locator(".wb-rewards .wb-handle").first).to_have_attribute("aria-valuetext", before)
    solved_again(page)


def solved_until(page: Page, selector: str, pattern: str) -> None:
    """Wait for a text after an edit; press Solve where the lab does not by itself, as the last run took long."""

    def holds() -> None:
        if "not solved" in page.locator(STATUS).inner_text():
            page.locator("button.wb-solve").click()
        assert re.search(pattern, page.locator(selector).text_content() or "", re.DOTALL), pattern

    soon(page, holds)


def solved_again(page: Page) -> None:
    """After an edit a lab solves by itself if the last run was quick; on a busy machine it was not."""
    if "not solved" in wait_for_text(page, STATUS, r"Done: \d+ (rounds?|decisions?): |not solved"):
        page.locator("button.wb-solve").click()
    wait_for_text(page, STATUS, r"Done: \d+ (rounds?|decisions?): ")


def vary_a_knob(page: Page) -> None:
    """Three runs are made and set beside each other; the lab's own run stays."""
    open_page(page, "Vary")
    page.locator(".wb-vary-what select").select_option(label="Rewards of the jobs")
    shot(page, "chronus-vary-before")
    page.locator("button.wb-vary-run").click()
    wait_for_text(page, ".wb-vary-said", "3 of 3 runs made")
    drawn(page, "vary", "Rewards of the jobs")
    shot(page, "chronus-vary")
