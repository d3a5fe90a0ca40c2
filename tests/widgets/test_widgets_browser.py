"""The chart and the table in a real browser, by themselves; `test_lab_browser.py` has them in Voila too."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser_support import (
    Problems,
    Server,
    browser_test,
    comes_true,
    open_notebook,
    run_all_cells,
    run_notebook,
    shot,
    soon,
    wait_for_text,
    write_notebook,
)

SETUP = """
import altair as alt, ipywidgets as ui, numpy as np, pandas as pd
from widgets.parts.vega_view import VegaView
from widgets.parts.edit_table import EditColumn, EditTable

def bars(n, slots=20):
    i = np.arange(n)
    start = (i // slots) * 60.0
    return pd.DataFrame({"slot": i % slots, "start_s": start, "end_s": start + 55, "job": [f"job {k % 40}" for k in i]})

chosen = "!isValid(selected) || datum.job === selected"
chart = (alt.Chart(alt.NamedData("bars"), width="container", height=280).mark_bar()
    .encode(x=alt.X("start_s:Q", title="Time (s)"), x2="end_s:Q", y=alt.Y("slot:O", title="GPU slot"),
            color=alt.Color("job:N", legend=None), opacity=alt.condition(chosen, alt.value(1), alt.value(0.2)),
            tooltip=["job:N", "slot:O", "start_s:Q"])
    .add_params(alt.param(name="selected", value=None)))
view = VegaView(chart, {"bars": bars(200)}, aria_label="Gantt chart of 200 bars")
named = alt.Chart(alt.NamedData("names"), width=100, height=40).mark_bar().encode(x="n:Q", y="name:N")
def names(length): return pd.DataFrame({"name": ["a" * length, "b"], "n": [1, 2]})
beside = VegaView(named, {"names": names(1)})
"""
TABLE = """
table = EditTable(
    [EditColumn("name", "Job", help="Any name, once"),
     EditColumn("model", "Model", "choice", choices=("resnet50", "a3c")),
     EditColumn("gpus", "GPUs", "int", minimum=1, maximum=8),
     EditColumn("arrival_s", "Arrival", "duration", minimum=0),
     EditColumn("steps_per_s", "Throughput", "float", unit="steps/s", minimum=0),
     EditColumn("elastic", "Elastic", "bool")],
    [dict(name=f"job {i}", model="resnet50", gpus=1 + i % 4, arrival_s=90.0 * i, steps_per_s=i / 3, elastic=False)
     for i in range(3)],
    caption="Jobs", template=dict(name="new", model="a3c", gpus=1, arrival_s=0, steps_per_s=1.0))
"""
PANEL = """
said = ui.HTML("ready").add_class("t-said")
def tell(_=None): said.value = f"picked {view.picked} valid {table.valid} rows {len(table.rows)} first {table.rows[0]}"
def on(label, name, action):
    button = ui.Button(description=label).add_class(name); button.on_click(lambda _: action()); return button
def offer():
    at = table.columns
    choices = at[1].choices + ("lstm",)
    table.columns = [at[0], EditColumn("model", "Model", "choice", choices=choices), *at[2:]]
def flood():
    for n in range(1, 101): view.set_data("bars", bars(n))
def select(_): view.selected = view.picked.get("job"); tell()
view.observe(select, "picked"); table.observe(tell, "rows"); table.observe(tell, "errors")
view.add_class("t-chart"); table.add_class("t-table")
wrong = {"mark": "bar", "data": {"values": [{}]}, "transform": [{"filter": "nonsense(1)"}]}
broken = VegaView(wrong).add_class("t-broken")
buttons = ui.HBox([
    on("20,000 bars", "t-many", lambda: view.set_data("bars", bars(20_000))),
    on("100 updates at once", "t-flood", flood), on("200 bars", "t-few", lambda: view.set_data("bars", bars(200))),
    on("One more model", "t-offer", offer), on("Mend", "t-mend", lambda: broken.show(chart, {"bars": bars(40)})),
    on("Longer names", "t-longer", lambda: beside.set_data("names", names(20)))])
hidden = VegaView(chart, {"bars": bars(60)}).add_class("t-hidden")
tabs = ui.Tab([ui.HTML("first"), hidden], titles=["One", "Two"])
ui.VBox([table, buttons, said, view, broken, beside.add_class("t-beside"), tabs])
"""
BIG = """
big = EditTable([EditColumn(f"c{i}", f"Column {i}", "float" if i else "text") for i in range(8)],
    [dict({f"c{i}": r * i / 7 for i in range(1, 8)}, c0=f"row {r}") for r in range(500)], caption="500 rows")
readable = EditTable([EditColumn("slot", "Slot", "int"), EditColumn("time_s", "Time", "duration")],
    [dict(slot=i, time_s=i * 1234.5) for i in range(40)], read_only=True, height="10em", caption="Read only")
echo = ui.HTML("").add_class("t-echo")
readable.observe(lambda c: setattr(echo, "value", f"row {c.new}"), "selected")
ui.VBox([big.add_class("t-big"), readable.add_class("t-readable"), echo])
"""

TOLD_LATER = """
from IPython.display import display
from widgets.parts.status_line import StatusLine
line = StatusLine(text="before").add_class("t-line")
late = VegaView().add_class("t-late")
display(ui.VBox([line, late, table.add_class("t-table")]))
line.text, table.caption = "told later", "Jobs told later"
late.show(chart, {"bars": bars(40)})
"""
# Anywidget's two seconds for the program of a widget are over before any program is there.
SLOW = """() => {
    const timeout = AbortSignal.timeout;
    AbortSignal.timeout = (ms) => {
        if (ms !== 2000) return timeout.call(AbortSignal, ms);
        const late = new AbortController();
        queueMicrotask(() => late.abort());
        return late.signal;
    };
    window.quick = () => (AbortSignal.timeout = timeout);
}"""


IN_ROW = "row => document.activeElement.cell?.line.position === row"
"""Whether the cell that has the focus is in a row, from 0."""


def drawn(page: Page, selector: str, condition: str) -> dict[str, str]:
    """Wait for a chart whose record (draws, what, rows, ms) fulfils a JavaScript condition on `d`; return it."""
    comes_true(
        page,
        f"(s) => {{ const d = document.querySelector(s)?.dataset; return d?.draws && ({condition}); }}",
        selector,
    )
    record: dict[str, str] = page.evaluate("(s) => ({...document.querySelector(s).dataset})", selector)
    return record


def cell(page: Page, row: int, label: str, table: str = ".t-table") -> str:
    """Return a selector of the input in a row (from 1) under a column heading."""
    position = page.locator(f"{table} thead th").all_inner_texts().index(label) + 1
    return f"{table} tbody tr:nth-child({row}) > :nth-child({position}) > :first-child"


def paste(page: Page, selector: str, text: str) -> None:
    """Paste as the clipboard would, without touching the one of this machine."""
    page.locator(selector).focus()
    page.evaluate(
        """([selector, text]) => {
            const data = new DataTransfer();
            data.setData("text/plain", text);
            document.querySelector(selector)
                .dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
        }""",
        [selector, text],
    )


def click_first_bar(page: Page) -> None:
    # The chart draws on a canvas: the place of a bar is asked from nobody, but the first bar starts at the axis.
    page.locator(".t-chart canvas").click(position={"x": 60, "y": 10})


def draw_update_and_pick(page: Page) -> None:
    record = drawn(page, ".t-chart", "d.rows === '200'")
    assert record["what"] == "embed"
    figure = page.locator(".t-chart [role=figure]")
    expect(figure).to_have_attribute("aria-label", "Gantt chart of 200 bars")

    def as_wide_as_its_place() -> None:
        canvas = page.locator(".t-chart canvas").bounding_box()
        root = page.locator(".t-chart").bounding_box()
        assert canvas and root and abs(canvas["width"] - root["width"]) < 3

    soon(page, as_wide_as_its_place)

    figure.scroll_into_view_if_needed()
    click_first_bar(page)
    wait_for_text(page, ".t-said", "picked {'job': 'job 0'")
    drawn(page, ".t-chart", "d.what === 'params'")
    shot(page, "picked")
    page.keyboard.press("Escape")  # a click has left the keyboard there
    wait_for_text(page, ".t-said", "picked {}")

    before = int(record["draws"])
    page.click(".t-many")
    record = drawn(page, ".t-chart", "d.rows === '20000'")
    assert record["what"] == "data" and int(record["draws"]) <= before + 4, "new data must not draw a new chart"
    page.click(".t-flood")
    record = drawn(page, ".t-chart", "d.rows === '100'")
    assert int(record["draws"]) - before < 80, "updates that came while drawing should be skipped"
    page.click(".t-few")
    drawn(page, ".t-chart", "d.rows === '200'")


def recover_and_reveal(page: Page) -> None:
    wait_for_text(page, ".t-broken [role=alert]", "could not be drawn: .*nonsense")
    page.click(".t-mend")
    drawn(page, ".t-broken", "d.rows === '40'")
    comes_true(page, "document.querySelector('.t-broken canvas').getBoundingClientRect().width > 300")
    expect(page.locator(".t-broken [role=alert]")).to_be_hidden()
    assert page.locator(".t-hidden canvas").count() == 0, "a chart in a closed tab is drawn when it is opened"
    page.get_by_role("tab", name="Two").click()
    drawn(page, ".t-hidden", "d.rows === '60'")
    comes_true(page, "document.querySelector('.t-hidden canvas').getBoundingClientRect().width > 300")


def make_room(page: Page) -> None:
    """What stands beside the plot is seen whole, also where new data make it larger."""
    drawn(page, ".t-beside", "d.what === 'embed'")
    before = page.locator(".t-beside canvas").bounding_box()
    page.click(".t-longer")
    drawn(page, ".t-beside", "d.what === 'data'")
    assert before is not None
    wider = "wide => document.querySelector('.t-beside canvas').getBoundingClientRect().width > wide"
    comes_true(page, wider, before["width"] + 50)


def edit_wrongly_and_mend(page: Page) -> None:
    page.wait_for_selector(".t-table tbody input")
    gpus = cell(page, 1, "GPUs")
    page.fill(gpus, "many")
    page.press(gpus, "Enter")
    wait_for_text(page, ".t-table .wb-cell-error", "not a whole number")
    expect(page.locator(gpus)).to_have_value("many")  # what was typed is not lost
    expect(page.locator(gpus)).to_have_attribute("aria-invalid", "true")
    described = page.get_attribute(gpus, "aria-describedby")
    assert described
    expect(page.locator(f"[id='{described.split()[-1]}']")).to_have_text(re.compile("^'many'"))
    wait_for_text(page, ".t-said", "valid False")
    comes_true(page, IN_ROW, 1, "Enter goes to the row below")
    shot(page, "table-error")
    page.locator(".t-table .wb-cell-error").click()
    comes_true(page, IN_ROW, 0, "a click on what is said goes to its cell")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.type("3")
    page.keyboard.press("Tab")
    wait_for_text(page, ".t-said", "valid True.*'gpus': 3")
    expect(page.locator(".t-table .wb-cell-error")).to_have_count(0)
    expect(page.locator(".t-table tbody [tabindex='0']")).to_have_count(1)  # one Tab stop, the rest by arrow keys
    page.focus(gpus)
    for key, at in (("ArrowRight", "Arrival"), ("ArrowLeft", "GPUs")):
        page.keyboard.press(key)
        comes_true(page, "at => document.activeElement.cell?.column.header.startsWith(at)", at)
    page.keyboard.press("F2")
    page.keyboard.press("ArrowLeft")
    comes_true(
        page, "() => document.activeElement.cell?.column.header === 'GPUs'", why="within a text it moves the caret"
    )


def type_while_other_choices_come(page: Page) -> None:
    name = cell(page, 2, "Job")
    page.focus(name)
    page.keyboard.type("half")
    page.evaluate("document.querySelector('button.t-offer').click()")
    comes_true(page, "s => document.querySelector(s).options.length === 3", cell(page, 1, "Model"))
    page.keyboard.type("way")
    page.keyboard.press("Enter")
    expect(page.locator(name)).to_have_value("halfway")
    comes_true(page, IN_ROW, 2, "Enter is heard, as the cell has kept the focus")
    page.keyboard.press("Control+z")
    expect(page.locator(name)).to_have_value("job 1")


def durations_and_numbers(page: Page) -> None:
    arrival, rate = cell(page, 2, "Arrival"), cell(page, 2, "Throughput (steps/s)")
    page.fill(arrival, "1.5 h")
    page.press(arrival, "Enter")
    comes_true(page, "(s) => document.querySelector(s).value === '1 h 30 min'", arrival)
    for _ in range(2):  # a number alone is in the cell's unit, and says so also where it is the value that was there
        page.fill(arrival, "15")
        page.press(arrival, "Enter")
        expect(page.locator(arrival)).to_have_value("15 min")
    expect(page.locator(rate)).to_have_value("0.333333")
    page.focus(rate)
    expect(page.locator(rate)).to_have_value("0.3333333333333333")  # editing shows every digit
    page.keyboard.press("ArrowDown")
    expect(page.locator(rate)).to_have_value("0.333333")
    gpus = cell(page, 3, "GPUs")
    for number in ("2", "3"):  # in the last row Enter stays: a click and a number replace what was sent
        page.click(gpus)
        page.keyboard.type(number)
        page.keyboard.press("Enter")
        wait_for_text(page, ".t-said", "valid True")
        expect(page.locator(gpus)).to_have_value(number)


def paste_and_undo(page: Page) -> None:
    name = cell(page, 3, "Job")
    paste(page, name, "p1\tresnet50\t2\t5 min\np2\tnosuch\t99\tsoon\np3\ta3c\t1\t0\n")
    wait_for_text(page, ".t-said", "valid False rows 5")
    expect(page.locator(".t-table .wb-cell-error")).to_have_count(3)
    expect(page.locator(cell(page, 4, "Arrival"))).to_have_value("soon")
    wait_for_text(page, ".t-table .wb-table-status", "Pasted 3 rows, 2 of them new")
    shot(page, "table-pasted")
    page.focus(name)
    page.keyboard.press("Control+z")
    wait_for_text(page, ".t-said", "valid True rows 3")
    expect(page.locator(name)).to_have_value("job 2")
    page.keyboard.press("Control+y")
    wait_for_text(page, ".t-said", "rows 5")
    page.locator(".t-table").get_by_role("button", name="Undo").click()
    wait_for_text(page, ".t-said", "rows 3")


def rows_come_and_go(page: Page) -> None:
    page.focus(cell(page, 3, "Job"))
    page.locator(".t-table").get_by_role("button", name="Add row").click()
    wait_for_text(page, ".t-said", "rows 4")
    comes_true(page, "document.activeElement.cell?.line.position === 3")
    page.keyboard.type("<b>mine</b>")
    page.keyboard.press("Enter")
    page.locator(".t-table").get_by_role("button", name="Duplicate").click()
    wait_for_text(page, ".t-said", "rows 5")
    expect(page.locator(cell(page, 5, "Job"))).to_have_value("<b>mine</b>")
    expect(page.locator(".t-table b")).to_have_count(0)
    page.locator(".t-table").get_by_role("button", name="Remove").click()
    wait_for_text(page, ".t-said", "rows 4")
    page.select_option(cell(page, 1, "Model"), "a3c")
    page.check(cell(page, 1, "Elastic"))
    wait_for_text(page, ".t-said", "'model': 'a3c'.*'elastic': True")


def many_rows_and_reading(page: Page) -> None:
    page.wait_for_selector(cell(page, 500, "Column 7", ".t-big"))
    where = cell(page, 250, "Column 3", ".t-big")
    page.focus(where)
    keys = ["1", "12", "12.", "12.5", "12.57", "12.5"] * 5
    changed = page.evaluate(
        """([selector, keys]) => {
            const input = document.querySelector(selector), seen = new MutationObserver(() => null);
            seen.observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true});
            for (const text of keys) {
                input.value = text;
                input.dispatchEvent(new InputEvent("input", {bubbles: true}));
            }
            return seen.takeRecords().length;
        }""",
        [where, keys],
    )
    assert changed <= 2 * len(keys), "a key changes its cell alone"
    version = page.locator(".t-big").get_attribute("data-version")
    page.keyboard.press("Enter")
    comes_true(page, "(v) => document.querySelector('.t-big').dataset.version !== v", version)
    expect(page.locator(where)).to_have_value("12.5")
    comes_true(page, IN_ROW, 250)

    page.locator(".t-readable tbody tr").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    wait_for_text(page, ".t-echo", "row 2")
    expect(page.locator(".t-readable input")).to_have_count(0)
    expect(page.locator(".t-readable tr[aria-current=true]")).to_have_text(re.compile(r"^\s*3\s*2\s*41 min 9 s\s*$"))
    shot(page, "tables")


@browser_test
def test_chart_and_table(page: Page, lab_server: Server, problems: Problems) -> None:
    problems.allowed.append("nonsense")  # the chart that cannot be drawn
    run_notebook(page, lab_server, "widgets.ipynb", SETUP + TABLE + PANEL, BIG)
    edit_wrongly_and_mend(page)
    type_while_other_choices_come(page)
    durations_and_numbers(page)
    paste_and_undo(page)
    rows_come_and_go(page)
    draw_update_and_pick(page)
    recover_and_reveal(page)
    make_room(page)
    many_rows_and_reading(page)


@browser_test
def test_what_the_kernel_tells_a_page_that_is_slow_to_load_widgets_arrives(
    page: Page, lab_server: Server, problems: Problems
) -> None:
    open_notebook(page, lab_server, write_notebook(lab_server, "slow.ipynb", SETUP + TABLE + TOLD_LATER))
    page.evaluate(SLOW)
    try:
        run_all_cells(page)
        wait_for_text(page, ".t-line", "told later")
        comes_true(page, "() => document.querySelector('.t-late')?.dataset.rows === '40'")
        wait_for_text(page, ".t-table", "Jobs told later")
        page.fill(cell(page, 1, "GPUs"), "many")
        page.press(cell(page, 1, "GPUs"), "Enter")
        wait_for_text(page, ".t-table .wb-cell-error", "not a whole number")
    finally:
        page.evaluate("quick()")
