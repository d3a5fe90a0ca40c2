"""The lab of Hops in a real browser: its tabs, what was tried set against each other, and a choice of estimator."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser_support import (
    STATUS,
    Problems,
    Server,
    browser_test,
    run_notebook,
    see_chart,
    shot,
    solve_first,
    soon,
    status_after,
    wait_for_text,
)

CELL = """
import workbench
from widgets import HopsLab

whole = workbench.preset("hops_64")  # here a quarter of the work in a quarter of the time: as crowded, sooner solved
jobs = [job.model_copy(update={"steps": job.steps / 4, "arrival_s": job.arrival_s / 4}) for job in whole.jobs]
lab = HopsLab(whole.replace(jobs=jobs))
lab.set(profile_iterations=0)
lab
"""
CHARTS = (
    ("Plan", "plan", "Plan at .*: GPUs of each job"),
    ("Window", "window", "Service window of the queue, at "),
    ("Gains", "gains", "Gain of each job by number of GPUs"),
    ("Fragments", "fragments", "Fragments: idle GPUs while jobs wait"),
    ("Signals", "signals", "latency ratio of each job over time"),
)


@browser_test
def test_the_lab_of_hops_from_the_first_plan_to_an_estimator(
    page: Page, lab_server: Server, problems: Problems
) -> None:
    run_notebook(page, lab_server, "hops.ipynb", CELL)
    solve_first(page)
    for tab, view, label in CHARTS:
        see_chart(page, tab, view, label)
        shot(page, f"hops-{view}")
    change_lambda(page)
    learn_speeds(page)


def change_lambda(page: Page) -> None:
    """Another lambda is solved, and the two runs are set against each other."""
    trade_off = page.locator(".wb-chart-which option").filter(has_text="Trade-off")
    expect(trade_off).to_have_count(0)
    before = page.locator(STATUS).inner_text()
    knob = page.locator(".wb-knob-lambda input")
    knob.fill("4")
    knob.press("Enter")
    status_after(page, before)
    solved(page)
    expect(trade_off).to_have_count(1)
    see_chart(page, "Trade-off", "tradeoff", "Efficiency against fairness")
    shot(page, "hops-tradeoff")


def learn_speeds(page: Page) -> None:
    """An estimator has knobs, and its errors a page."""
    page.locator("button.wb-set-up").click()
    page.locator(".wb-left .lm-TabBar-tab").nth(3).click()
    choice = page.locator(".wb-belief select")
    knob = page.locator(".wb-left .wb-knob-transfer")
    expect(knob).to_be_hidden()
    before = page.locator(STATUS).inner_text()
    choice.select_option(label="Three layers (Hops)")
    knob.wait_for()
    choice.scroll_into_view_if_needed()
    knob.scroll_into_view_if_needed()
    shot(page, "estimator-choice")
    label = page.locator(".wb-belief .widget-label")

    def seen_in_full() -> None:
        assert label.evaluate("e => e.scrollWidth <= e.clientWidth + 1")

    soon(page, seen_in_full)
    status_after(page, before)
    solved(page)
    see_chart(page, "Estimator", "estimator", "Error of believed speeds")
    shot(page, "estimator-page")
    choice.select_option(label="True speeds of single nodes")
    expect(knob).to_be_hidden()
    wait_for_text(page, STATUS, "Edited, not solved|Solving|Done")


def solved(page: Page) -> None:
    """A change is solved by itself where the last solve was quick; else Solve is pressed."""
    if "Edited, not solved" in wait_for_text(page, STATUS, "Edited, not solved|Solving|Done"):
        page.locator("button.wb-solve").click()
    wait_for_text(page, STATUS, r"Done: \d+ (rounds?|decisions?): ")
