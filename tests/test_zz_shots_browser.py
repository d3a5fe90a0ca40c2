import shutil, os
import pytest
from playwright.sync_api import Page
from tests.browser_support import PROJECT, Server, browser_test, open_notebook, run_all_cells
@browser_test
@pytest.mark.parametrize("name", ["reproduce_gavel", "01_gavel"])
def test_shots(page: Page, lab_server: Server, name: str, problems) -> None:
    shutil.copy(PROJECT / "notebooks" / f"{name}.ipynb", lab_server.root)
    page.set_viewport_size({"width": 1280, "height": 2600})
    open_notebook(page, lab_server, f"{name}.ipynb")
    run_all_cells(page)
    os.makedirs("/tmp/shots", exist_ok=True)
    page.wait_for_timeout(1500)
    page.evaluate("document.querySelector('.jp-WindowedPanel-outer').scrollTop = 0")
    page.wait_for_timeout(1500)
    for i in range(12):
        page.screenshot(path=f"/tmp/shots/{name}-{i:02d}.png")
        more = page.evaluate("(() => { const e = document.querySelector('.jp-WindowedPanel-outer'); const b = e.scrollTop; e.scrollTop += 2450; return e.scrollTop > b + 5; })()")
        page.wait_for_timeout(1200)
        if not more: break
