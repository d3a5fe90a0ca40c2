"""GavelLab in a real browser, in JupyterLab and in Voila: open, solve, drag a knob, select, break, mend, cancel."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser_support import (
    Problems,
    Server,
    browser_test,
    open_notebook,
    run_all_cells,
    shot,
    wait_for_text,
    write_notebook,
)

CELL = 'from widgets import GavelLab\nlab = GavelLab("start_here")\nlab'
STATUS = ".wb-status"
GANTT = ".wb-view-gantt"


def journey(page: Page, name: str) -> None:
    """What a new user does in the first minutes."""
    wait_for_text(page, STATUS, "not solved", 60)
    page.locator("button.wb-solve").click()
    wait_for_text(page, STATUS, r"Done: \d+ decisions", 60)
    page.wait_for_selector(f"{GANTT} canvas")
    expect(page.locator(".wb-results table.wb-data").first).to_contain_text("Mean JCT")
    shot(page, f"{name}-solved")

    drag_a_knob(page)
    select_a_job(page)
    shot(page, f"{name}-selected")
    break_and_mend(page)
    undo(page)
    look_at_every_tab(page, name)


def drag_a_knob(page: Page) -> None:
    """A shorter round is solved at once, without pressing Solve."""
    before = page.locator(STATUS).inner_text()
    knob = page.locator(".wb-knob-round_s input")
    knob.fill("12 min")
    knob.press("Enter")
    page.wait_for_function("before => document.querySelector('.wb-status').innerText !== before", arg=before)
    wait_for_text(page, STATUS, "Done", 30)


def select_a_job(page: Page) -> None:
    """A click on a bar names the job under the chart."""
    canvas = page.locator(f"{GANTT} canvas").first
    box = canvas.bounding_box()
    assert box is not None
    for share in (0.35, 0.45, 0.55, 0.65):
        page.mouse.click(box["x"] + box["width"] * share, box["y"] + box["height"] * 0.4)
        page.wait_for_timeout(300)
        if re.search(r"arrived at", page.locator(".wb-job").inner_text()):
            return
    raise AssertionError("no bar could be clicked")


def break_and_mend(page: Page) -> None:
    """A wrong cell says so beside itself, and Solve waits."""
    cell = page.locator(".wb-left table input").nth(2)
    cell.click()
    cell.fill("0")
    cell.press("Enter")
    expect(page.locator(".wb-left [aria-invalid=true]").first).to_be_visible()
    expect(page.locator("button.wb-solve")).to_be_disabled()
    cell = page.locator(".wb-left [aria-invalid=true]").first
    cell.click()
    cell.fill("4")
    cell.press("Enter")
    wait_for_text(page, STATUS, "Done", 30)


def undo(page: Page) -> None:
    """Undo takes the last edit back."""
    page.locator("button.wb-undo").click()
    wait_for_text(page, STATUS, "Done|not solved", 30)


def look_at_every_tab(page: Page, name: str) -> None:
    """Every tab of the results shows something."""
    tabs = page.locator(".wb-results .lm-TabBar-tab")
    for i in range(tabs.count()):
        tabs.nth(i).click()
        page.wait_for_timeout(700)
        shot(page, f"{name}-tab-{i}")
    assert tabs.count() >= 7


@browser_test
def test_in_jupyterlab(page: Page, lab_server: Server, problems: Problems) -> None:
    open_notebook(page, lab_server, write_notebook(lab_server, "gavel_lab.ipynb", CELL))
    run_all_cells(page)
    journey(page, "lab")


@browser_test
def test_in_voila(page: Page, voila_server: Server, problems: Problems) -> None:
    open_notebook(page, voila_server, write_notebook(voila_server, "gavel_lab.ipynb", CELL))
    journey(page, "voila")
