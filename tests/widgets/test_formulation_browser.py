"""The page of a formulation at the width of a small laptop: text wraps, equations scroll, symbols are set as maths."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser_support import (
    Problems,
    Server,
    browser_test,
    comes_true,
    open_page,
    run_notebook,
    shot,
    solve_first,
    soon,
    wait_for_text,
)

PAGE = ".wb-formulation"
WIDE = """() => {
    const page = document.querySelector('.wb-formulation'), right = page.getBoundingClientRect().right + 1
    return [...page.querySelectorAll('p, .wb-equations, .wb-symbols .wb-scroll, .wb-symbols table')]
        .filter(x => x.getBoundingClientRect().right > right)
        .map(x => x.outerHTML.slice(0, 80))
}"""

UNREACHED = """() => [...document.querySelectorAll('.wb-formulation *')]
    .filter(x => x.checkVisibility() && x.scrollWidth > x.clientWidth + 1 && x.tabIndex < 0)
    .filter(x => getComputedStyle(x).overflowX === 'auto' && !x.querySelector('[tabindex="0"], a, button, input'))
    .map(x => x.outerHTML.slice(0, 80))"""
"""What scrolls and cannot be scrolled by keyboard, since nothing in it takes the focus."""


@browser_test
def test_nothing_of_a_formulation_is_cut(page: Page, lab_server: Server, problems: Problems) -> None:
    cell = 'from widgets import GavelLab\nlab = GavelLab("gavel_example")\nlab.set("gavel.water_filling")\nlab'
    run_notebook(page, lab_server, "formulation.ipynb", cell)
    solve_first(page)
    open_page(page, "Model")
    look_at(page, "water_filling")
    beside = page.locator(f"{PAGE} .wb-side-by-side")
    assert beside.locator(".wb-equations").count() == beside.locator("pre .wb-py-string").locator("xpath=..").count()
    wait_for_text(page, f"{PAGE} .wb-rows", "Rows with numbers, decided at .*water filling.*objective.*capacity.*yes")
    before = page.locator(f"{PAGE} .wb-statement").inner_text()
    page.locator(".wb-scheduler select").select_option(label="Minimum cost with SLOs")
    comes_true(page, "before => document.querySelector('.wb-statement').innerText !== before", before)
    look_at(page, "min_cost_slo")


def look_at(page: Page, formulation: str) -> None:
    page.locator(f"{PAGE} .wb-equations mjx-container").first.wait_for()
    page.locator(f"{PAGE} .wb-symbols mjx-container").first.wait_for()
    shot(page, f"formulation-{formulation}")
    expect(page.locator(f"{PAGE} .wb-symbols")).not_to_contain_text("$")

    def nothing_is_cut() -> None:
        assert page.evaluate(WIDE) == [] and page.evaluate(UNREACHED) == []

    soon(page, nothing_is_cut)
    assert page.locator(f"{PAGE} mjx-merror").count() == 0
