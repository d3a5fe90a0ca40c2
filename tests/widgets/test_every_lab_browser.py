"""Every lab and each of its pages in Chromium: five pages, nothing cut, the picture whole, one height within
1280 x 720, axe-core in light or dark, no warning; and the notebook as it was saved, without a kernel.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Error, Locator, Page, expect

from tests.browser_support import (
    CLOSE,
    SCREEN,
    SETTLED,
    STATUS,
    Problems,
    Server,
    answered,
    browser_test,
    comes_true,
    run_notebook,
    shot,
    use_theme,
)
from tests.widgets.lab.support import AT_REST, HEIGHT, WHOLE_ROWS
from tests.widgets.test_lab_browser import CLIPPED, CUT_PICTURE
from widgets.lab.results import PAGES

AXE = (Path(__file__).parents[1] / "axe_core" / "axe.min.js").read_text(encoding="utf-8")
LABS = {
    "Gavel": "GavelLab()",
    "Hadar": "HadarLab()",
    "HadarE": 'HadarLab(scheduler="hadare")',
    "Hops": "HopsLab()",
    "Hare": "HareLab()",
    "Chronus": "ChronusLab()",
    "Compare": 'CompareLab("start_here", ["gavel.max_min_fairness", "srtf"])',
    "What if": 'WhatIfLab("start_here", "las")',
}
BEGIN = {"Compare": "lab.set(seeds=2)\nlab.compare()", "What if": "lab.run()"}
HIGH = 720
LEAST_ROWS = 3
"""Rows of the problem, or steps of the algorithm, in sight on the page Model, all columns, beside the whole picture."""
ALONE = """lab => {
    const others = [...document.querySelectorAll(".jp-OutputArea-output")].filter(output => !output.contains(lab));
    const places = others.map(() => document.createComment(""));
    others.forEach((output, i) => output.replaceWith(places[i]));
    window.together = () => others.forEach((output, i) => places[i].replaceWith(output));
}"""
"""Takes the other labs out of the page until `together()`: axe-core reads the whole page, whatever it is asked."""
AUDIT = """async lab => {
    const runOnly = {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]};
    const found = await axe.run(lab, {runOnly, resultTypes: ["violations"]});
    return found.violations.filter(one => ["serious", "critical"].includes(one.impact))
        .flatMap(one => one.nodes.map(node => [one.id, node.target.join(" "), node.html.slice(0, 160)]));
}"""
OPEN_PAGE = "lab => [...lab.querySelectorAll('.wb-contents > *')].find(x => x.checkVisibility()) ?? lab"
"""All that axe-core has to read once it has read the lab with another page: what stands around it is the same."""
TABLES_WHOLE = """lab => [...lab.querySelectorAll('.wb-left .wb-table-scroll')].filter(e => e.checkVisibility())
    .every(e => e.scrollWidth <= e.clientWidth)"""
SHADED = """lab => [...lab.querySelectorAll('.wb-contents > *, .wb-pages > .widget-tab-contents')]
    .every(e => getComputedStyle(e).backgroundAttachment === "local, scroll")"""
DRAWERS = """() => [".wb-what-if", ".wb-compare"].map(lab => document.querySelector(lab + " .wb-left"))
    .map(drawer => Math.round(100 * drawer.offsetWidth / drawer.parentElement.offsetWidth))"""
HOLE = """lab => {
    const [stage, page] = ['.wb-stage', '.wb-contents'].map(part => lab.querySelector(part));
    const seen = [...stage?.children ?? []].filter(x => x.offsetHeight).map(x => x.getBoundingClientRect().bottom);
    return seen.length ? page.getBoundingClientRect().top - Math.max(...seen) : 0;
}"""
"""What is empty between the picture, with what is said of it, and the open page."""
NAMED = """lab => ![...lab.querySelectorAll(':is(.noUi-handle, select[title], input[title])')]
    .some(x => x.checkVisibility() && !x.getAttribute('aria-label') && !x.getAttribute('aria-labelledby'))"""
"""A lab names controls when it has time: one that has just come may have no name for a moment."""
STILLS = """() => [...document.querySelectorAll('.jp-OutputArea-output img')]
    .filter(image => image.checkVisibility() && image.naturalWidth > 200).map(image => image.alt)"""

TOLD = """() => [...document.querySelectorAll('.jp-OutputArea-output')].map(output => output.textContent)
    .filter(text => text.includes('as it was last') && text.includes('Mean JCT') && !text.includes('Change some'))"""


@browser_test
def test_every_page_of_every_lab_and_the_saved_notebook_without_a_kernel(
    page: Page, lab_server: Server, problems: Problems
) -> None:
    page.set_viewport_size({"width": SCREEN[0], "height": HIGH})
    cells = [f"lab = widgets.{cell}\n{BEGIN.get(name, '')}\nlab" for name, cell in LABS.items()]
    run_notebook(page, lab_server, "every.ipynb", "import widgets", *cells)
    labs = page.locator(".wb-lab")
    expect(labs).to_have_count(len(LABS))
    for number in range(len(LABS)):
        done = f"[...document.querySelectorAll('.wb-lab .wb-status')][{number}].textContent.startsWith('Done')"
        comes_true(page, done)
    assert page.evaluate(DRAWERS) == [38, 0], "its own style goes before that of all; Compare begins with it folded"
    page.add_script_tag(content=AXE)
    nameless = "() => document.querySelector('.wb-lab').append(document.createElement('button'))"
    page.evaluate(nameless)
    page.evaluate(ALONE, labs.first.element_handle())
    assert answered(page, AUDIT, labs.first.element_handle()), "axe-core finds a button without a name"
    page.evaluate("() => { document.querySelector('.wb-lab').lastChild.remove(); together(); }")
    with pytest.raises(Error, match="no answer within 100 ms"):
        answered(page, "new Promise(() => null)", patience_s=0.1)
    found: dict[str, Any] = {}
    themes: tuple[Literal["Dark", "Light"], ...] = ("Dark", "Light")
    for turn, theme in enumerate(themes):
        use_theme(page, theme)
        for number, name in enumerate(LABS):
            page.evaluate(ALONE, labs.nth(number).element_handle())
            lab, heights = labs, set()
            assert lab.locator(".wb-pages > .lm-TabBar .lm-TabBar-tab").all_text_contents() == list(PAGES)
            assert lab.evaluate(SHADED), "a shade at a page's foot that goes away at its end: more is below"
            for place, title in enumerate(PAGES):
                if (number + place + turn) % 2:  # each page in one of the themes
                    continue
                look_at(page, lab, title)
                part = lab.evaluate_handle(OPEN_PAGE) if heights else lab.element_handle()
                shot(page, f"every-{theme}-{name}-{title}")
                heights.add(tuple(lab.evaluate("e => [e.scrollHeight, e.offsetHeight, e.scrollWidth > e.clientWidth]")))
                comes_true(page, f"lab => ({CUT_PICTURE})(lab).length === 0", lab.element_handle(), f"{name}, {title}")
                comes_true(page, f"lab => ({HOLE})(lab) < 12", lab.element_handle(), f"{name}, {title}: no hole")
                if title == "Model" and name not in BEGIN:
                    comes_true(page, f"lab => ({WHOLE_ROWS})(lab) >= {LEAST_ROWS}", lab.element_handle(), name)
                for _ in range(2):  # a control may come between: what is said of it then is not said again
                    comes_true(page, NAMED, lab.element_handle(), f"{name}, {title}: names of all controls")
                    wrong = [("cut", text) for text in lab.evaluate(CLIPPED)]
                    wrong += answered(page, AUDIT, part)
                    if not wrong:
                        break
                else:
                    found[f"{name}, {title}, {theme}"] = wrong
            if theme == "Light" and lab.locator(".wb-main-knobs").count():
                beside_set_up(page, lab, name)
            page.evaluate("() => together()")
            assert len(heights) == 1 and max(heights)[1] <= HIGH and not max(heights)[2], (name, heights)
    assert not found, json.dumps(found, indent=1)
    as_saved(page, lab_server, problems)


def beside_set_up(page: Page, lab: Locator, name: str) -> None:
    """With Set-up open the picture is whole beside Model; in a higher window it has its share of the height."""
    lab.locator("button.wb-set-up").click()
    look_at(page, lab, "Model")
    comes_true(page, f"lab => ({CUT_PICTURE})(lab).length === 0", lab.element_handle(), f"{name}, Model beside Set-up")
    assert lab.locator(f"{STATUS} [role=status]").evaluate("e => e.offsetHeight") < 26, "the status has its own line"
    shot(page, f"every-set-up-{name}")
    if name == "Gavel":
        page.evaluate("window.jupyterapp.shell.expandLeft()")
        answered(page, SETTLED)
        assert lab.evaluate(TABLES_WHOLE), "beside the list of files too each column of nodes and types is in sight"
        shot(page, "every-set-up-files")
        page.evaluate("window.jupyterapp.shell.collapseLeft()")
    lab.locator("button.wb-set-up").click()
    answered(page, SETTLED)
    low = answered(page, AT_REST)
    page.set_viewport_size({"width": SCREEN[0], "height": 900})
    comes_true(page, f"low => ({HEIGHT}) > low + 60", low, f"{name}: the picture is higher in a window 900 high")
    if name not in BEGIN:
        comes_true(page, f"lab => ({WHOLE_ROWS})(lab) >= {LEAST_ROWS}", lab.element_handle(), f"{name}: rows in it")
    page.set_viewport_size({"width": SCREEN[0], "height": HIGH})
    answered(page, SETTLED)


def look_at(page: Page, lab: Locator, title: str) -> None:
    """A page of a lab, in sight and at rest."""
    lab.evaluate("e => e.scrollIntoView({block: 'start'})")
    lab.locator(".wb-pages > .lm-TabBar .lm-TabBar-tab").get_by_text(title, exact=True).click()
    answered(page, SETTLED)


def as_saved(page: Page, server: Server, problems: Problems) -> None:
    """Saved, and opened elsewhere with no kernel: each lab's last picture and measures stand there."""
    comes_true(page, f"n => ({TOLD})().length === n", len(LABS))
    answered(page, "window.jupyterapp.commands.execute('docmanager:save')")
    saved = json.loads((server.root / "every.ipynb").read_text(encoding="utf-8"))
    page.evaluate(CLOSE)
    problems.allowed.append("reading 'kernel'")  # what the widgets' own extension says of a notebook without one
    saved["metadata"]["mailed"] = True  # so that no signature of this server fits
    (server.root / "mailed.ipynb").write_text(json.dumps(saved), encoding="utf-8")
    answered(
        page,
        "async () => (await window.jupyterapp.commands.execute('docmanager:open', {path: 'mailed.ipynb',"
        " kernelPreference: {shouldStart: false, autoStartDefault: false}})).revealed",
    )
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
    assert page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session === null"), "no kernel"
    comes_true(page, f"n => ({TOLD})().length === n && ({STILLS})().length >= n", len(LABS))  # a lab may have two
    shot(page, "every-mailed")
