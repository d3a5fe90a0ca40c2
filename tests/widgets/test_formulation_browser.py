"""The page of a formulation at the width of a small laptop: text wraps, equations scroll, symbols are set as maths."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser_support import Server, browser_test, run_notebook, shot, soon

PAGE = ".wb-formulation"
WIDE = """() => {
    const page = document.querySelector('.wb-formulation'), right = page.getBoundingClientRect().right + 1
    return [...page.querySelectorAll('p, .wb-equations, .wb-symbols .wb-scroll, .wb-symbols table')]
        .filter(x => x.getBoundingClientRect().right > right)
        .map(x => x.outerHTML.slice(0, 80))
}"""


@browser_test
@pytest.mark.parametrize("scheduler", ["gavel.water_filling", "gavel.min_cost_slo"])
def test_nothing_of_a_formulation_is_cut(page: Page, lab_server: Server, scheduler: str) -> None:
    cell = f'from widgets import GavelLab\nlab = GavelLab("gavel_example")\nlab.set("{scheduler}")\nlab.solve()\nlab'
    run_notebook(page, lab_server, scheduler.replace(".", "_") + ".ipynb", cell)
    page.locator(".wb-results .lm-TabBar-tab", has_text="Formulation").click()
    expect(page.locator(f"{PAGE} .wb-equations mjx-container")).to_be_visible()
    expect(page.locator(f"{PAGE} .wb-symbols mjx-container").first).to_be_visible()
    shot(page, f"formulation-{scheduler}")
    expect(page.locator(f"{PAGE} .wb-symbols")).not_to_contain_text("$")

    def nothing_is_cut() -> None:
        assert page.evaluate(WIDE) == []

    soon(page, nothing_is_cut)
    assert page.locator(f"{PAGE} mjx-merror").count() == 0
