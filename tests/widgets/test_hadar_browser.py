"""The lab of Hadar in a real browser: prices, payoffs and completion times, and why a job waits at a time."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser_support import (
    SCREEN,
    Problems,
    Server,
    browser_test,
    comes_true,
    open_page,
    run_notebook,
    see_chart,
    shot,
    solve_first,
    wait_for_text,
)

CELL = 'from widgets import HadarLab\nlab = HadarLab("hadar_simulated")\nlab'
TOLD = ".wb-explain-told"


@browser_test
def test_the_lab_of_hadar_shows_prices_and_payoffs_and_explains(
    page: Page, lab_server: Server, problems: Problems
) -> None:
    run_notebook(page, lab_server, "hadar.ipynb", CELL)
    solve_first(page)
    for tab, view, label in (
        ("Prices", "prices", "Price of a GPU over time"),
        ("Signals", "signals", "payoff, utility of each job over time"),
        ("JCT", "jct", "Job completion time"),
    ):
        see_chart(page, tab, view, label)
        shot(page, f"hadar-{view}")
    explain_a_job_and_a_time(page)


def explain_a_job_and_a_time(page: Page) -> None:
    """A job chosen in the list, a time typed, the table of those it lost to."""
    open_page(page, "Why")
    wait_for_text(page, TOLD, "At .* job-0 ")
    page.locator(".wb-contents .wb-explain-job select").select_option("job-3")
    wait_for_text(page, TOLD, "At 0 s job-3 waits")
    expect(page.locator(TOLD)).to_contain_text("payoffs add up to more without it (equation 8)")
    page.locator(f"{TOLD} details").evaluate_all("all => all.forEach(each => { each.open = true; })")
    table = page.locator(f"{TOLD} table.wb-data").first
    expect(table.locator("th").nth(5)).to_have_text("Payoff")
    table.scroll_into_view_if_needed()
    shot(page, "explain")
    page.locator(f"{TOLD} table.wb-data").last.scroll_into_view_if_needed()
    shot(page, "explain-facts")
    page.set_viewport_size({"width": 1024, "height": 768})
    fits = "s => [...document.querySelectorAll(s)].every(e => e.scrollWidth <= e.clientWidth)"
    comes_true(page, fits, f"{TOLD} .wb-scroll", "no table scrolls sideways")
    shot(page, "explain-1024")
    page.set_viewport_size({"width": SCREEN[0], "height": SCREEN[1]})
    at = page.locator(".wb-contents .wb-explain-at input")
    at.fill("20 h")
    at.press("Enter")
    wait_for_text(page, TOLD, "At 20 h job-3 is done")
    at.fill("soon")
    at.press("Enter")
    page.get_by_text("'soon' is not a duration").wait_for()
