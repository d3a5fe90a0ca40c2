"""The lab of Hare in a real browser: its runs with tasks and switches, the pages beside them, in Lab and in Voila."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser_support import (
    Problems,
    Server,
    browser_test,
    comes_true,
    drawn,
    open_page,
    run_notebook,
    shot,
    solve_first,
    soon,
    wait_for_text,
)

CELL = """
from widgets import HareLab

HareLab("hare_testbed")
"""
SAID = ".wb-beside ~ * > .wb-page:not([style*='display: none']) .wb-page-status"


@browser_test
def test_the_lab_of_hare_in_jupyterlab(page: Page, lab_server: Server, problems: Problems) -> None:
    run_notebook(page, lab_server, "hare.ipynb", CELL)
    the_story(page, "lab")


@pytest.mark.long
@browser_test
def test_the_lab_of_hare_in_voila(page: Page, voila_server: Server, problems: Problems) -> None:
    run_notebook(page, voila_server, "hare.ipynb", CELL)
    the_story(page, "voila")


def the_story(page: Page, where: str) -> None:
    """A run, then each page."""
    solve_first(page)
    shot(page, f"hare-{where}-run")
    drawn(page, "gantt", r"Tasks by GPU: \d+ tasks of 24 jobs on 15 GPUs")
    shot(page, f"hare-{where}-tasks")
    open_page(page, "Vary")
    figure_1(page, where)
    synchronisation(page, where)
    what_if(page, where)
    bounds(page, where)


def turn_to(page: Page, title: str) -> None:
    page.locator(".wb-beside button").get_by_text(title, exact=True).click()


def figure_1(page: Page, where: str) -> None:
    """Three schedules side by side; a time that cannot be is refused beside its cell, not with a traceback."""
    turn_to(page, "Fig. 1")
    wait_for_text(page, SAID, r"\(a\) 10\.5 s, \(b\) 9 s, \(c\) 8\.5 s")
    for letter in "abc":
        drawn(page, f"figure1-{letter}", "8 tasks of 3 jobs on 3 GPUs")

    def one_line() -> None:
        assert page.locator(".wb-playback:visible").evaluate("e => e.offsetHeight") < 2 * 40

    soon(page, one_line)
    shot(page, f"hare-{where}-figure1")


def synchronisation(page: Page, where: str) -> None:
    turn_to(page, "Fig. 4: synchronisation")
    wait_for_text(page, SAID, "scale-fixed 1.*x")
    for letter in "abc":
        drawn(page, f"synchronisation-{letter}", "6 tasks of 4 jobs on 3 GPUs")
    shot(page, f"hare-{where}-synchronisation")
    page.locator(".wb-sync-jobs select").select_option(label="of the lab")
    drawn(page, "synchronisation-a", "tasks of 24 jobs on 15 GPUs")
    wait_for_text(page, SAID, "adaptive .*x relaxed")
    shot(page, f"hare-{where}-synchronisation-run")


def what_if(page: Page, where: str) -> None:
    turn_to(page, "Figs. 14-19: weighted JCT")
    wait_for_text(page, SAID, r"Weighted JCT over Hare's: Gavel_FIFO \d")
    drawn(page, "what-bars", "1 lower bound and 5 schedules")
    drawn(page, "what-curve", "Fig. 14")
    drawn(page, "what-schedule", "tasks of 24 jobs on 16 GPUs")
    shot(page, f"hare-{where}-what-if")
    before = page.locator(SAID).first.inner_text()
    handle = page.locator(".wb-what-gpus .noUi-handle")
    handle.focus()
    handle.press("ArrowRight")
    comes_true(page, "([s, before]) => document.querySelector(s).innerText !== before", [SAID, before])
    drawn(page, "what-schedule", "tasks of 24 jobs on 24 GPUs")
    page.locator(".wb-what-figure select").select_option(label="Fig. 16: heterogeneity")
    drawn(page, "what-curve", "Fig. 16")
    wait_for_text(page, SAID, "Claimed")
    shot(page, f"hare-{where}-what-if-16")


def bounds(page: Page, where: str) -> None:
    turn_to(page, "Bounds")
    wait_for_text(page, SAID, "Claimed")
    drawn(page, "bounds", "1 lower bound and 3 schedules")
    shot(page, f"hare-{where}-bounds")
    turn_to(page, "This lab's run")
    page.locator("button.wb-vary-run").wait_for()
