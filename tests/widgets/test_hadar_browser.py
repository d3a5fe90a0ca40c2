"""The lab of Hadar in a real browser: prices, payoffs and completion times."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.browser_support import Problems, Server, browser_test, run_notebook, see_chart, shot, solve_first

CELL = 'from widgets import HadarLab\nlab = HadarLab("hadar_lab_M-5")\nlab'


@browser_test
def test_the_lab_of_hadar_shows_prices_and_payoffs(page: Page, lab_server: Server, problems: Problems) -> None:
    run_notebook(page, lab_server, "hadar.ipynb", CELL)
    solve_first(page)
    for tab, view, label in (
        ("Prices", "prices", "Price of a GPU over time"),
        ("Signals", "signals", "payoff, utility of each job over time"),
        ("JCT", "jct", "Job completion time"),
    ):
        see_chart(page, tab, view, label)
        shot(page, f"hadar-{view}")
