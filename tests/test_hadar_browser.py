"""The lab of Hadar in a real browser: prices, payoffs and completion times."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.browser_support import (
    Problems,
    Server,
    browser_test,
    open_notebook,
    run_all_cells,
    see_chart,
    shot,
    wait_for_text,
    write_notebook,
)

CELL = 'from widgets import HadarLab\nlab = HadarLab("hadar_lab_M-5")\nlab'
STATUS = ".wb-status"


@browser_test
def test_the_lab_of_hadar_shows_prices_and_payoffs(page: Page, lab_server: Server, problems: Problems) -> None:
    open_notebook(page, lab_server, write_notebook(lab_server, "hadar.ipynb", CELL))
    run_all_cells(page)
    wait_for_text(page, STATUS, "not solved", 60)
    page.locator("button.wb-solve").click()
    wait_for_text(page, STATUS, r"Done: \d+ decisions", 60)
    for tab, view, label in (
        ("Prices", "prices", "Price of a GPU over time"),
        ("Signals", "signals", "payoff, utility of each job over time"),
        ("JCT", "jct", "Job completion time"),
    ):
        see_chart(page, tab, view, label)
        shot(page, f"hadar-{view}")
