"""The dashboard in a real browser: from the index to a page and a lab, and no third until the lab is closed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser_support import Problems, Server, browser_test, serving, shot, write_notebook
from tests.test_dashboard import get

FREED_S = 60.0
LABS = ("Compare", "Gavel")
"""The second on a dashboard: test_lab_browser.py."""


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving("voila", tmp_path_factory.mktemp("dashboard"), "--kernels=2") as server:
        codes = {name: f"from widgets import {name}Lab\n{name}Lab()" for name in LABS}
        codes |= dict.fromkeys(("First", "Third"), "print(6 * 7)")
        for name, code in codes.items():
            heading, kernel = f"# The page of {name}\n\nWhat {name} does.", "python3" if name in LABS else "plain"
            write_notebook(server, f"{name.lower()}.ipynb", code, heading=heading, kernel=kernel)
        yield server


@browser_test
def test_from_the_index_to_a_page_and_a_lab_and_no_third(page: Page, dashboard: Server, problems: Problems) -> None:
    problems.allowed.append("503")
    page.goto(f"{dashboard.url}/?token={dashboard.token}")
    expect(page.locator("ul.lab a")).to_have_text([f"The page of {n}What {n} does.{n.lower()}.ipynb" for n in LABS])
    shot(page, "dashboard-index")
    pages = [page, page.context.new_page(), page.context.new_page()]
    for opened, name in zip(pages, ("first", "compare", "third"), strict=True):
        if opened is not page:
            problems.watch(opened)
            opened.goto(f"{dashboard.url}/")  # the cookie of the first page will do
        opened.locator("ul.lab a, ul.page a").get_by_text(f"{name}.ipynb").click()
        if name == "compare":
            opened.wait_for_selector(".wb-lab h2")
            expect(opened.locator(".wb-lab h2")).to_have_text("Compare lab")
        elif name == "first":
            expect(opened.get_by_text("42", exact=True)).to_be_visible()
    third = pages[2]
    expect(third.locator("h1")).to_have_text("All places are taken")
    shot(third, "dashboard-full")
    full = get(third.url, dashboard.token)
    assert full.status == 503 and 'http-equiv="refresh"' in full.text
    assert get(f"{dashboard.url}/", dashboard.token).status == 200, "the index needs no kernel"
    pages[1].close(run_before_unload=True)
    freed = time.monotonic() + FREED_S
    while third.get_by_text("Try now").count():
        assert time.monotonic() < freed, "the place of a page that was closed is not free"
        third.wait_for_timeout(1000)
        third.get_by_text("Try now").click()
    expect(third.get_by_text("42", exact=True)).to_be_visible()
