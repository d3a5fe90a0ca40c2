"""Every lab held to axe-core's rules in Chromium, page by page, light and dark (`tests/axe_core`, not in the wheel)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page

from tests.browser_support import (
    Problems,
    Server,
    browser_test,
    open_page,
    run_notebook,
    shot,
    solve_first,
    use_theme,
)
from widgets.lab.results import PAGES

AXE = Path(__file__).parents[1] / "axe_core" / "axe.min.js"
FOUND = """async () => {
    const found = await axe.run('.wb-lab', {resultTypes: ['violations']});
    return found.violations.filter(each => ['serious', 'critical'].includes(each.impact))
        .flatMap(each => each.nodes.map(node => [each.id, node.target.join(' '), node.html.slice(0, 160),
            node.any[0]?.message ?? '']));
}"""
LABS = ("GavelLab()", "HadarLab()", 'HadarLab(scheduler="hadare")', "HopsLab()", "HareLab()", "ChronusLab()")
THEMES: tuple[Literal["Dark", "Light"], ...] = ("Dark", "Light")


def serious(page: Page) -> list[list[Any]]:
    """What axe-core calls serious or critical in the lab that is there."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[list[Any]] = page.evaluate(FOUND)
    return found


@browser_test
@pytest.mark.parametrize("lab", LABS)
def test_axe(page: Page, lab_server: Server, problems: Problems, lab: str) -> None:
    """Each page of a lab, and its drawer, light and dark."""
    run_notebook(page, lab_server, "axe.ipynb", f"import widgets\nlab = widgets.{lab}\nlab")
    solve_first(page)
    import json

    page.set_viewport_size({"width": 1280, "height": 900})
    out = []
    try:
        for theme in THEMES:
            use_theme(page, theme)
            for title in PAGES:
                open_page(page, title)
                page.wait_for_timeout(1500 if title in ("Model", "Vary") else 500)
                for each in serious(page):
                    out.append([theme, title, *each])
                shot(page, f"{lab}-{theme}-{title}".replace('"', ""))
            open_page(page, "Schedule")
            page.locator("button.wb-set-up").click()
            for i in range(4):
                page.locator(".wb-left .lm-TabBar-tab").nth(i).click()
                page.wait_for_timeout(300)
                for each in serious(page):
                    out.append([theme, f"left{i}", *each])
            shot(page, f"{lab}-{theme}-left".replace('"', ""))
            page.locator("button.wb-set-up").click()
    finally:
        use_theme(page, "Light")
    Path(f"/tmp/i20b/axe-{lab}.json").write_text(json.dumps(out, indent=1))
