"""A lab in a real browser, in JupyterLab and in Voila: open, solve, drag a knob, select, break, mend, export.

What that costs is told in what the kernel sends and how often the chart is drawn, which no other load changes.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from playwright.sync_api import Locator, Page, expect

from tests.browser_support import (
    IDLE,
    PROJECT,
    SCREEN,
    SETTLED,
    STATUS,
    Problems,
    Server,
    answered,
    browser_test,
    comes_true,
    grab,
    open_notebook,
    open_page,
    run_all_cells,
    run_notebook,
    shot,
    solve_first,
    soon,
    status_after,
    use_theme,
    wait_for_text,
    write_notebook,
)
from tests.widgets.test_presenter_browser import HALL, SCENES, goes_through_scenes
from widgets.lab.results import PAGES, PICTURE
from workbench.base.units import format_duration

GANTT = ".wb-view-gantt"
FIRST_GANTT_KB, KNOB_KB, REPLAY_KB = 1200, 80, 5000
"""What the kernel may send to a page; what the same costs in seconds `benchmarks/lab.py` measures."""
NARROW, WIDE = 1024, 1440
TAB_STOPS = 10
IN_ORDER = [".wb-main-knobs", ".wb-pages", ".wb-stage", ".wb-contents"]
"""The parts of a lab from above."""
CLIPPED = """lab => [...lab.querySelectorAll('*')]
    .filter(x => x.checkVisibility() && x.clientWidth > 0 && !x.closest('select, svg, mjx-container, .wb-hidden'))
    .filter(x => [...x.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
    .filter(x => ['hidden', 'clip'].includes(getComputedStyle(x).overflowX) && x.scrollWidth > x.clientWidth + 1)
    .map(x => x.textContent)"""
"""Texts of a lab of which a part is not seen."""
CUT_PICTURE = """lab => [...lab.querySelectorAll('.wb-picture, .wb-picture *')]
    .filter(x => x.checkVisibility() && getComputedStyle(x).overflowY !== 'visible' && !x.closest('.wb-hidden'))
    .filter(x => x.scrollHeight > x.clientHeight + 1).map(x => [x.className, x.scrollHeight, x.clientHeight])"""
"""What scrolls in the main picture of a lab, or is cut there."""
NAMELESS = """() => [...document.querySelectorAll('.wb-lab :is(input, select, button, [role=slider], textarea)')]
    .filter(x => x.offsetParent !== null && x.type !== 'file')
    .filter(x => !(x.getAttribute('aria-label') || x.getAttribute('aria-labelledby')))
    .filter(x => x.role === 'slider' || !(x.labels?.length || x.title || x.textContent.trim()
                 || x.closest('[title], .widget-inline-hbox')?.matches('[title], :has(label)')))
    .map(x => x.outerHTML.slice(0, 120))"""
"""Visible controls that a screen reader could not name; the lab names sliders when it has time."""


def journey(page: Page, server: Server, name: str) -> None:
    """What a new user does in the first minutes, after pressing Solve."""

    def all_is_seen() -> None:
        line = page.locator(f"{STATUS} [role=status]").evaluate("e => [e.offsetHeight, e.scrollWidth - e.clientWidth]")
        assert line[0] < 2 * 13 and line[1] <= 0, "the status is one line, and all of it is seen"

    soon(page, all_is_seen)
    shot(page, f"{name}-solved")

    at_a_small_screen(page, server.kind)
    type_a_knob(page)
    select_a_job(page)
    shot(page, f"{name}-selected")
    if server.kind == "lab":  # what a dashboard does in no other way
        drag_a_knob(page)
        play(page)
        edit_a_job(page)
        undo(page)
        by_job(page)
    break_and_mend(page, name)
    show_numbers_and_export(page, server, name)
    save_twice(page, server)
    if server.kind == "lab":
        look_at_every_tab(page, name)


def solve(page: Page) -> None:
    """Press Solve and see a Gantt chart."""
    solve_first(page)
    page.wait_for_selector(f"{GANTT} canvas")


def at_a_small_screen(page: Page, where: str) -> None:
    """On the dashboard five pages within 1280 x 720, of one height, nothing cut; Solve is near for the keyboard."""
    page.set_viewport_size({"width": SCREEN[0], "height": 720})
    heights = set()
    for title in PAGES if where == "voila" else ():  # in JupyterLab those of every lab: test_every_lab_browser
        open_page(page, title)
        page.wait_for_timeout(100)
        heights.add(tuple(page.locator(".wb-lab").evaluate("e => [e.scrollHeight, e.scrollWidth - e.clientWidth]")))
        assert page.locator(".wb-lab").evaluate(CLIPPED) == [], title
    assert len(heights) <= 1 and all(height <= 720 and over <= 0 for height, over in heights), heights
    open_page(page, PAGES[0])
    page.locator(".wb-top select").first.focus()
    for _ in range(TAB_STOPS):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('button.wb-solve') !== null"):
            break
    else:
        raise AssertionError(f"Solve is more than {TAB_STOPS} Tab stops away")
    seen: list[str] = []
    for _ in range(4 * TAB_STOPS):
        page.keyboard.press("Tab")
        here = page.evaluate("parts => parts.find(part => document.activeElement.closest(part)) ?? ''", IN_ORDER)
        seen += [here] if here and here not in seen else []
    assert seen == IN_ORDER, "the keyboard goes the way of the eye"
    page.set_viewport_size({"width": SCREEN[0], "height": SCREEN[1]})


def type_a_knob(page: Page) -> None:
    """A longer round is solved at once, without pressing Solve; the knob keeps the focus."""
    before = shown(page)
    knob = page.locator(".wb-knob-round_s input")
    knob.fill("12 min")
    knob.press("Enter")
    changed(page, before)
    comes_true(page, "document.activeElement.closest('.wb-knob-round_s') !== null")


TWO_KEYS = """handle => {
    for (let i = 0; i < 2; i++) handle.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft", bubbles: true}));
}"""


def drag_a_knob(page: Page) -> None:
    """The slider below it moves the value and the picture, by mouse before that is let go, and by keyboard."""
    before = shown(page)
    handle = page.locator(".wb-knob-round_s .noUi-handle")
    x, y = grab(page, handle)
    for moved_px in (10, 30):
        page.mouse.move(x + moved_px, y, steps=4)
        before = changed(page, before)
    page.mouse.up()
    knob = page.locator(".wb-knob-round_s input")
    answered(page, SETTLED)
    expect(knob).not_to_have_value("12 min")
    wait_for_text(page, ".wb-gains", "on average|when it did|No job ends")

    def of_the_last_value() -> None:
        assert format_duration(json.loads(shown(page))["round_s"]) == knob.input_value()

    soon(page, of_the_last_value)
    before = shown(page)
    page.locator("button.wb-undo").click()  # the whole way of the pointer is one step
    expect(knob).to_have_value("12 min")
    changed(page, before)
    page.locator("button.wb-redo").click()
    comes_true(page, "([chart, of]) => document.querySelector(chart).dataset.of === of", [GANTT, before])
    answered(page, SETTLED)  # the slider stands there again
    stood = knob.input_value()
    handle.evaluate(TWO_KEYS)
    changed(page, before)
    answered(page, SETTLED)
    expect(knob).not_to_have_value(stood)
    page.locator("button.wb-undo").click()  # keys in quick succession are one step too
    expect(knob).to_have_value(stood)
    page.locator("button.wb-redo").click()
    expect(knob).not_to_have_value(stood)
    handle.focus()
    answered(page, SETTLED)


def shown(page: Page) -> str:
    """The knobs of the run whose picture is painted, as JSON."""
    return page.locator(GANTT).get_attribute("data-of") or ""


def changed(page: Page, before: str) -> str:
    """The picture is of other knobs, and the status says that it is done; returns which."""
    comes_true(page, "([chart, before]) => document.querySelector(chart).dataset.of !== before", [GANTT, before])
    wait_for_text(page, STATUS, "Done")
    return shown(page)


RECORD_PLAYED = """() => {
    const told = document.querySelector(".wb-lab .wb-play-time");
    window.seen = [];
    new MutationObserver(() => window.seen.push(told.textContent)).observe(told, {childList: true});
}"""


def play(page: Page) -> None:
    """Play goes through the rounds from the beginning."""
    wait_for_text(page, ".wb-lab .wb-play-time", r"up to \d h")
    page.evaluate(RECORD_PLAYED)
    page.locator(".wb-lab .wb-play-toggle").click()
    rounds = "new Set(window.seen.filter(text => /up to [1-5]?[0-9] min/.test(text))).size"
    comes_true(page, f"{rounds} >= 2", why="played from the beginning")
    page.locator(f"{GANTT} [role=figure]").focus()
    page.keyboard.press("Home")
    expect(page.locator(".wb-lab .wb-round")).to_have_value("0")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".wb-lab .wb-round")).to_have_value("1")
    page.keyboard.press(" ")
    expect(page.locator(".wb-lab .wb-playback")).to_have_attribute("data-playing", "true")
    page.keyboard.press(" ")
    expect(page.locator(".wb-lab .wb-playback")).to_have_attribute("data-playing", "false")
    grab(page, page.locator(".wb-lab .wb-round"), across=0.99)
    page.mouse.up()
    wait_for_text(page, ".wb-lab .wb-play-time", r"up to \d h")


def select_a_job(page: Page) -> None:
    """A click on a bar asks why, names the job under the chart on the page Schedule, and marks its row."""
    canvas = page.locator(f"{GANTT} canvas").first
    for share in (0.25, 0.35, 0.45, 0.55, 0.65):
        grab(page, canvas, share, 0.4)
        page.mouse.up()
        page.locator(".wb-pages .lm-mod-current", has_text="Why").wait_for()  # of an empty place, too
        page.locator(".wb-explain-told b").first.wait_for()
        open_page(page, "Schedule")
        if page.locator(".wb-job", has_text="arrived at").count():
            return
    raise AssertionError("no bar where one was clicked")


def open_drawer(page: Page) -> None:
    """Open what can be set, if it is closed."""
    if page.locator(".wb-left").is_hidden():
        page.locator("button.wb-set-up").click()


def edit_a_job(page: Page) -> None:
    """Nothing of the first columns is cut; entering a cell leaves the selection alone, a row's number takes it."""
    if not page.locator(".wb-job b").count():  # Undo has let it go
        select_a_job(page)
    followed = page.locator(".wb-job b").inner_text()
    open_drawer(page)
    page.locator(".wb-left .lm-TabBar-tab").nth(1).click()
    jobs = page.locator(".wb-left .wb-table:visible").first
    expect(jobs.locator("thead th").nth(4)).to_have_text("Weight")
    inside = "e => e.getBoundingClientRect().right <= e.closest('.wb-table-scroll').getBoundingClientRect().right"

    def all_is_seen() -> None:
        assert cut(jobs) == []
        assert jobs.locator("thead th").nth(4).evaluate(inside)

    soon(page, all_is_seen)
    names = [jobs.locator(f"tbody tr:nth-child({i}) input").first.input_value() for i in (1, 2, 3)]
    row = next(i for i, found in enumerate(names) if found != followed)
    jobs.locator("tbody tr").nth(row).locator("input").nth(1).click()
    answered(page, SETTLED)
    assert page.locator(".wb-job b").inner_text() == followed
    jobs.locator("tbody tr").nth(row).locator("th").click()
    expect(page.locator(".wb-job b")).to_have_text(names[row])
    shot(page, "followed")
    page.locator(".wb-left .lm-TabBar-tab").nth(0).click()


def cut(table: Locator) -> list[str]:
    """Headings and cells of a table whose text does not fit; a list of choices has an arrow of 20 pixels besides."""
    found: list[str] = table.evaluate(
        r"""table => {
            const context = document.createElement("canvas").getContext("2d");
            const fits = (element, text, besides) => {
                const style = getComputedStyle(element);
                context.font = style.font;
                const padding = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
                return context.measureText(text).width + padding + besides <= element.clientWidth + 1;
            };
            const heads = [...table.querySelectorAll("thead th:not(:first-child)")]
                .filter(x => x.innerText.split(/\s/).some(word => !fits(x, word, 0))).map(x => x.innerText);
            const cells = [...table.querySelectorAll("tbody :is(input[type=text], select)")]
                .filter(x => !fits(x, x.value, x.tagName === "SELECT" ? 20 : 0)).map(x => x.value);
            return [...heads, ...cells];
        }"""
    )
    return found


def break_and_mend(page: Page, name: str) -> None:
    """A wrong cell says so beside itself, and Solve waits."""
    open_drawer(page)
    cell = page.locator(".wb-left table input").nth(1)
    before = cell.input_value()
    cell.click()
    cell.fill("0")
    cell.press("Enter")
    page.locator(".wb-left [aria-invalid=true]").first.wait_for()
    expect(page.locator("button.wb-solve")).to_be_disabled()
    wait_for_text(page, STATUS, "Nodes, row 1, GPUs each: must be at least 1")
    shot(page, f"{name}-invalid")
    cell = page.locator(".wb-left [aria-invalid=true]").first
    cell.click()
    cell.fill(before)
    cell.press("Enter")
    wait_for_text(page, STATUS, "Done")


def undo(page: Page) -> None:
    """Undo takes the last edit back, Redo does it again."""
    before = page.locator(".wb-knob-round_s input").input_value()
    page.locator("button.wb-undo").click()
    wait_for_text(page, STATUS, "Done|not solved")
    expect(page.locator(".wb-knob-round_s input")).not_to_have_value(before)
    page.locator("button.wb-redo").click()
    wait_for_text(page, STATUS, "Done|not solved")
    expect(page.locator(".wb-knob-round_s input")).to_have_value(before)


def by_job(page: Page) -> None:
    """One row for each job."""
    page.locator(".wb-by button").nth(1).click()
    expect(page.locator(f"{GANTT} [role=figure]")).to_have_attribute("aria-label", re.compile("Schedule by job"))
    shot(page, "by-job")
    page.locator(".wb-by button").nth(0).click()


def show_numbers_and_export(page: Page, server: Server, name: str) -> None:
    """The numbers behind the chart, and its picture in a file beside the notebook."""
    open_page(page, "Measures")
    page.locator(".wb-chart-which:visible select").select_option(label=PICTURE)
    charts = page.locator(".wb-page-charts .wb-chart-tools:visible")
    expect(charts.locator(".wb-export")).to_have_text("Export the schedule")  # the kernel may be busy
    charts.locator(".wb-numbers").click()
    expect(page.locator(".wb-page-charts table.wb-data:visible")).to_contain_text("Start (s)")
    charts.locator(".wb-numbers").click()
    if server.kind == "voila":
        with page.expect_download() as coming:
            charts.locator("button.wb-export").click()
        assert coming.value.suggested_filename == "gantt.png"
        assert Path(coming.value.path()).read_bytes().startswith(b"\x89PNG")
        return
    charts.locator("button.wb-export").click()
    expect(charts).to_contain_text(re.compile(r"Written to .*gantt-\d+\.png"))
    assert (server.root / "gantt-1.png").stat().st_size > 1000


def save_twice(page: Page, server: Server) -> None:
    """The lab's own file may be written again; on a dashboard the browser gets it, and the server's disk nothing."""
    name = f"saved-{server.kind}.json"
    box = page.locator(".wb-file input")
    box.fill(name)
    box.press("Tab")
    if server.kind == "voila":
        with page.expect_download() as coming:
            page.locator("button.wb-save").click()
        assert coming.value.suggested_filename == name
        assert '"workbench-scenario/1"' in Path(coming.value.path()).read_text(encoding="utf-8")
        assert not (server.root / name).exists()
        return
    page.locator("button.wb-save").click()
    wait_for_text(page, ".wb-filed", f"Saved to .*{name}")
    first = (server.root / name).stat().st_ino
    page.locator("button.wb-save").click()

    def written_anew() -> None:
        assert (server.root / name).stat().st_ino != first

    soon(page, written_anew)
    comes_true(page, IDLE)
    (server.root / name).write_text("somebody else's")
    expect(page.locator("button.wb-replace")).to_be_hidden()
    page.locator("button.wb-save").click()
    wait_for_text(page, ".wb-filed", "Not saved")
    assert (server.root / name).read_text() == "somebody else's"
    shot(page, "replace")
    page.locator("button.wb-replace").click()
    wait_for_text(page, ".wb-filed", f"Saved to .*{name}")
    expect(page.locator("button.wb-replace")).to_be_hidden()
    assert (server.root / name).read_text().startswith("{")


def look_at_every_tab(page: Page, name: str) -> None:
    """Every page and every tab of the drawer shows something, and every control has a name."""
    for side, there in ((".wb-left", ["Cluster", "Jobs", "Throughputs", "Knobs"]), (".wb-results", [*PAGES])):
        tabs = page.locator(f"{side} .lm-TabBar-tab")
        expect(tabs).to_have_text(there)
        for i in range(len(there)):
            tabs.nth(i).click()
            answered(page, SETTLED)
            shot(page, f"{name}{side[3:]}-tab-{i}")
            comes_true(page, f"() => ({NAMELESS})().length === 0", why=f"{side} tab {i}: {page.evaluate(NAMELESS)}")


def start_here(server: Server) -> str:
    shutil.copy(PROJECT / "notebooks" / "00_start_here.ipynb", server.root)
    return "00_start_here.ipynb"


@browser_test
def test_the_first_notebook_in_jupyterlab(page: Page, lab_server: Server, problems: Problems) -> None:
    """What `make lab` opens: Solve shows a Gantt, what the kernel sends until then, and all other cells run."""
    page.goto(lab_server.address(start_here(lab_server)), wait_until="commit")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
    comes_true(page, IDLE)
    page.evaluate(COUNT)
    page.evaluate("window.jupyterapp.shell.collapseLeft()")
    for _ in range(2):  # the title and the lab alone: what other cells send would count too
        answered(page, "() => window.jupyterapp.commands.execute('notebook:run-cell-and-select-next')")
    page.wait_for_selector("button.wb-solve:not([disabled])")
    page.locator("button.wb-solve").click()
    page.wait_for_selector(f"{GANTT} canvas")
    wait_for_text(page, STATUS, "Done")
    answered(page, SETTLED)
    assert page.evaluate(SENT_KB) < FIRST_GANTT_KB
    page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-below')")
    comes_true(page, IDLE)
    assert page.locator(".jp-RenderedText[data-mime-type*=stderr], .jp-OutputArea-output pre .ansi-red-fg").count() == 0
    journey(page, lab_server, "lab")


WRONG = (
    'workbench.preset("no_such_preset")',
    'print("The other.")\nraise RuntimeError("a secret of the server")',
)


@browser_test
def test_the_first_notebook_in_voila(page: Page, voila_server: Server, problems: Problems) -> None:
    """A dashboard serves scenes too: arrow keys, one control, the number with that before, all in the window. Of what
    goes wrong it says our own errors in words, of others not even their text, which may hold what is nobody's business.
    """
    path = voila_server.root / start_here(voila_server)
    notebook = nbformat.read(path, as_version=4)
    made = next(number for number, cell in enumerate(notebook.cells) if "GavelLab(" in cell.source)
    notebook.cells.insert(made + 1, nbformat.v4.new_code_cell(SCENES))
    notebook.cells += map(nbformat.v4.new_code_cell, WRONG)
    nbformat.write(notebook, path)
    open_notebook(page, voila_server, path.name)
    wait_for_text(page, "body", "got 'no_such_preset'; expected one of start_here")
    wait_for_text(page, "body", "The other.*error when executing cell")
    text = page.locator("body").inner_text()
    assert "a secret" not in text and "Traceback" not in text and str(PROJECT) not in text
    solve(page)
    page.set_viewport_size(HALL)
    page.locator(".wb-present-begin").click()
    expect(page.locator(".wb-scene")).to_contain_text("Short rounds.")
    goes_through_scenes(page)
    page.set_viewport_size({"width": SCREEN[0], "height": SCREEN[1]})
    journey(page, voila_server, "voila")


DRAWS = """(document.querySelector('.wb-view-gantt [data-draws]') ?? document.querySelector('.wb-view-gantt'))
.dataset.draws"""

# From now on, what the kernel sends to the page is counted.
COUNT = """() => {
    const told = window.jupyterapp.shell.currentWidget.sessionContext.iopubMessage;
    told.counted ??= told.connect((_, {header, content, buffers}) => {
        if (header.msg_type === "update_display_data") return; // a saved notebook's still, put out when nothing waits
        window.sent += JSON.stringify(content).length + (buffers ?? []).reduce((n, each) => n + each.byteLength, 0);
    });
    window.sent = 0;
}"""
SENT_KB = "window.sent / 1000"


@browser_test
def test_a_replay_of_400_jobs_stays_usable(page: Page, lab_server: Server, problems: Problems, shared: Path) -> None:
    """A trace of Gavel's, 108 GPUs: what is sent for its chart, drawn once; an edit afterwards is answered."""
    trace, table = shared / "data/gavel/cs36_n400_lam900_s0.trace", shared / "data/gavel/simulation_throughputs.json"
    options = ["--from", "gavel", "--throughputs", str(table), "--cluster", "v100=9x4,p100=9x4,k80=9x4"]
    target = str(lab_server.root / "s400.json")
    subprocess.run([sys.executable, "-m", "workbench", "convert", str(trace), *options, "-o", target], check=True)
    run_notebook(page, lab_server, "many.ipynb", 'from widgets import GavelLab\nlab = GavelLab("s400.json")\nlab')
    wait_for_text(page, STATUS, "not solved")
    page.evaluate(COUNT)
    page.locator("button.wb-solve").click()
    page.wait_for_selector(f"{GANTT} canvas")
    wait_for_text(page, STATUS, "Done")
    answered(page, SETTLED)
    assert page.evaluate(SENT_KB) < REPLAY_KB and page.evaluate(DRAWS) == "1"
    shot(page, "many-jobs")
    page.locator("button.wb-set-up").click()
    cell = page.locator(".wb-left table input").nth(2)
    before = page.locator(STATUS).inner_text()
    cell.fill("8")
    cell.press("Enter")
    status_after(page, before)  # a quick machine solves anew at once: "Edited, not solved" may never be seen
    wait_for_text(page, STATUS, "Edited, not solved|Done")


@browser_test
def test_nothing_is_cut_off_and_a_knob_draws_the_chart_once(page: Page, lab_server: Server, problems: Problems) -> None:
    """In a narrow window, then in a wide one, with long names, in the dark; between them the first notebook is.

    With these 20 jobs on 60 GPUs: what is sent for a knob, and how often its chart is drawn.
    """
    cell = (
        "import workbench\nfrom widgets import GavelLab\n"
        's = workbench.preset("hadar_simulated")\n'
        'long = s.jobs[0].model_copy(update={"name": "a-job-with-a-very-long-name-indeed-from-the-research-group"})\n'
        "lab = GavelLab(s.replace(jobs=(long, *s.jobs[1:20])))\nlab"
    )
    page.set_viewport_size({"width": NARROW, "height": SCREEN[1]})
    open_notebook(page, lab_server, write_notebook(lab_server, "dark.ipynb", cell))
    use_theme(page, "Dark")
    try:
        run_all_cells(page)
        solve(page)
        expect(page.locator(".wb-present-bar")).to_be_hidden()
        for width in (NARROW, WIDE):
            page.set_viewport_size({"width": width, "height": SCREEN[1]})
            answered(page, SETTLED)
            look_for_what_is_cut(page, f"dark-{width}")
            ends = [page.locator(f".wb-top {x}").bounding_box() for x in (".wb-set-up", ".wb-present-begin")]
            assert ends[0] is not None and ends[1] is not None
            assert abs(ends[0]["y"] - ends[1]["y"]) < ends[0]["height"] / 2, "the top bar is one line"
    finally:
        use_theme(page, "Light")
    page.set_viewport_size({"width": SCREEN[0], "height": SCREEN[1]})
    answered(page, SETTLED)
    for minutes in (7, 8):
        page.locator(".wb-knob-round_s input").fill(f"{minutes} min")
        before = page.evaluate(DRAWS)
        page.evaluate(COUNT)
        page.locator(".wb-knob-round_s input").press("Enter")
        comes_true(page, f"before => {DRAWS} !== before", before)
        wait_for_text(page, STATUS, "Done")
        answered(page, SETTLED)
        assert page.evaluate(SENT_KB) < KNOB_KB and int(page.evaluate(DRAWS)) == int(before) + 1


def look_for_what_is_cut(page: Page, name: str) -> None:
    page.locator(".wb-top").scroll_into_view_if_needed()
    shot(page, name)
    page.locator("button.wb-set-up").click()
    for i in range(4):
        page.locator(".wb-left .lm-TabBar-tab").nth(i).click()
        answered(page, SETTLED)
        shot(page, f"{name}-left-{i}")
    page.locator("button.wb-set-up").click()
    cut = page.evaluate(
        """() => [...document.querySelectorAll('.wb-lab :is(button, .lm-TabBar-tabLabel, .widget-label)')]
        .filter(x => x.offsetParent !== null && x.textContent.trim() && x.scrollWidth > x.clientWidth + 1)
        .map(x => x.textContent)"""
    )
    assert cut == []
    assert page.evaluate(
        "(() => { const x = document.querySelector('.wb-lab'); return x.scrollWidth <= x.clientWidth + 1; })()"
    )
