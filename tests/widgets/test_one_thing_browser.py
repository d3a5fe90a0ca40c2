"""From a bar to its equation and back: an idle GPU is clicked, a row dragged, its cell changed, run and compared."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Page, expect

from tests.browser_support import (
    SETTLED,
    Problems,
    Server,
    answered,
    browser_test,
    grab,
    open_page,
    run_notebook,
    shot,
    solve_first,
    soon,
    wait_for_text,
)

GANTT = ".wb-view-gantt"
CELL = """from widgets import GavelLab
lab = GavelLab("start_here")
lab._results._gantt.view.renderer = "svg"  # its marks can be read
lab"""
OPACITY = f"""() => [...document.querySelectorAll('{GANTT} svg .mark-rect path')].map(x => x.__data__)
    .filter(x => x?.datum?.kind).map(x => [x.datum.job, x.opacity ?? 1])"""
HOW_FAR_DOWN = "e => e.getBoundingClientRect().top - e.closest('.wb-lab').getBoundingClientRect().top"
PLACE = """svg => {{
    const plot = svg.querySelector(".background").getBoundingClientRect(), box = svg.getBoundingClientRect();
    const ends = [...svg.querySelectorAll(".mark-symbol path")].map(x => x.__data__?.datum?.t);
    const x = plot.x + plot.width * {minute} / Math.max(...ends.filter(Number.isFinite));
    return [(x - box.x) / box.width, (plot.y + plot.height * {down} - box.y) / box.height];
}}"""

FOOT_UNSEEN = """lab => {
    const notebook = lab.closest(".jp-WindowedPanel-outer");
    notebook.scrollTop -= notebook.getBoundingClientRect().bottom + 120 - lab.getBoundingClientRect().bottom;
}"""


def click_picture(page: Page, minute: float, down: float) -> None:
    """Click at this minute, at a share of the plot's height."""
    grab(page, page.locator(f"{GANTT} svg.marks"), at=PLACE.format(minute=minute, down=down))
    page.mouse.up()


def pointed_out(page: Page) -> set[str]:
    """The jobs whose bars are not faded; all bars of a job are alike."""
    opacity: dict[str, set[float]] = {}
    for job, how in page.evaluate(OPACITY):
        opacity.setdefault(job, set()).add(how)
    assert all(len(each) == 1 for each in opacity.values())
    return {job for job, each in opacity.items() if each == {1}}


@browser_test
def test_from_a_bar_to_its_equation_and_back(page: Page, lab_server: Server, problems: Problems) -> None:
    run_notebook(page, lab_server, "one_thing.ipynb", CELL, "")
    solve_first(page)
    page.locator(f"{GANTT}[data-draws] svg").wait_for()
    click_picture(page, 45, 0.5)
    said = wait_for_text(page, ".wb-explain-told", "fast-0/1 .*idle at 45 min.*Rows that .*Share.*Rank.*Placement")
    assert (
        "vision needs 2 GPUs of v100 at once, and 1 is left" in said
        and "Decisive: no job falls below the common level t (vision): with that row taken away" in said
    )
    scene(page, "one-thing-why", GANTT)

    open_page(page, "Model")
    row = page.locator(".wb-row-list tr", has_text="capacity[v100]")
    row.wait_for()
    of_k80 = page.locator(".wb-row-list tr", has_text="capacity[k80]")
    wait_for_text(page, ".wb-rows .wb-decisive", "Decisive for .*: (?!each row)")
    answered(page, SETTLED)
    high = page.locator(".wb-picture").bounding_box()["height"]  # type: ignore[index]
    first = page.locator(".wb-row-list tbody tr").first
    page.locator(".wb-lab").evaluate(FOOT_UNSEEN)
    place = first.bounding_box()
    first.click()
    expect(page.locator(".wb-row-tray")).to_contain_text("in force")
    assert first.bounding_box() == place, "a click on a row leaves it where it is, and its columns"
    of_k80.click()
    in_it = set(re.findall(r"share\[(\w+),k80\]", of_k80.inner_text()))
    soon(page, lambda: assert_equal(pointed_out(page), in_it))
    row.click()
    soon(page, lambda: assert_equal(pointed_out(page), {"vision", "game", "translation"}))
    page.locator(".wb-row-list tr", has_text="(2) job_time[game]").click()
    soon(page, lambda: assert_equal(pointed_out(page), {"game"}))
    expect(page.locator(".wb-row-tray")).to_contain_text("job_time[game]")
    row.click()
    scene(page, "one-thing-row", GANTT)
    expect(page.locator(".wb-row-tray")).to_contain_text("no more GPUs of a type than there are")
    assert page.locator(".wb-picture").bounding_box()["height"] == high, "what is said of a row takes none of it"  # type: ignore[index]
    stood = page.locator(".wb-contents").evaluate(HOW_FAR_DOWN)
    handle = page.locator(".wb-row-right:visible .noUi-handle")
    x, y = grab(page, handle)
    page.mouse.move(x - 40, y, steps=4)
    wait_for_text(
        page,
        ".wb-rows",
        " alone: .the level of .*worst_job. goes from",
    )
    wait_for_text(page, ".wb-gains", "pays?[,;].*on average")
    page.mouse.up()
    assert page.locator(".wb-contents").evaluate(HOW_FAR_DOWN) == stood, "what is said of a row moves no page"

    def of_the_last_value() -> None:
        right = f"{float(page.locator('.wb-row-number input').input_value()):g}"
        assert (
            f"In every decision of the run, from its start: capacity[v100] <= {right} in place"
            in page.locator(".wb-outdated").inner_text()
        )
        said = page.locator(".wb-rows").first.text_content() or ""
        assert re.search(
            rf"Rows with numbers of the changed run, .*capacity.v100. <= {re.escape(right)} in place",
            said,
            re.DOTALL,
        )

    soon(page, of_the_last_value)
    scene(page, "one-thing-dragged", GANTT)

    page.locator(".wb-row-as-code").click()
    text = page.locator(".wb-row-code textarea")
    wanted = r'def mine\(m, data\):\n    "Another right side of capacity\[v100\]".*beside.widget'
    expect(text).to_have_value(re.compile(wanted, re.DOTALL))
    whole = "e => { const [one, page] = [e, e.closest('.wb-contents > *')].map(each => each.getBoundingClientRect());"
    assert text.evaluate(f"{whole} return one.bottom <= page.bottom && one.height >= 90; }}"), "six lines are in sight"
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".wb-copy").click()
    expect(page.locator(".wb-copy")).to_have_text("Copied: paste it into a new cell")
    code = text.input_value()
    assert answered(page, "navigator.clipboard.readText()") == code
    cap = "    if ('game', 'v100') in m.share:\n        m.share['game', 'v100'].setub(0.3)\n"
    changed = code.replace("\n\n\nbeside", f"\n{cap}\n\nbeside")
    cell = page.locator(".jp-CodeCell").nth(1)
    cell.locator(".cm-content").click()
    page.keyboard.insert_text(changed)
    page.keyboard.press("Shift+Enter")
    wait_for_text(page, ".wb-compare .wb-status", r"Done: \d schedulers, \d+ runs")
    page.locator(".wb-compare", has_text="mine").wait_for()
    page.locator(".wb-compare .wb-pages .lm-TabBar-tab").get_by_text("Measures", exact=True).click()
    mine = page.locator(".wb-compare .wb-measures tr", has_text="Mean JCT").first
    found = re.search(r"\u00d7\s(\d\.\d\d)\s\((\d\.\d\d)\sto\s(\d\.\d\d)\)", mine.inner_text())
    assert found and float(found[2]) < float(found[1]) < float(found[3]), "five seeds have jobs of their own"
    expect(page.locator(".wb-compare")).to_contain_text("interval over draws of such jobs")
    scene(page, "one-thing-compared", ".wb-compare")


def scene(page: Page, name: str, top: str) -> None:
    """A screenshot from an element downwards: README's moving picture is made of these."""
    page.locator(top).last.evaluate("seen => seen.scrollIntoView({block: 'start'})")
    shot(page, name)


def assert_equal(one: object, two: object) -> None:
    assert one == two, json.dumps(sorted(map(str, [one, two])))
