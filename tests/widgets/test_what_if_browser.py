"""The what-if lab in a real browser: a trace of one's own, one change, the answer, what to buy, and the report; and
files too large for it.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser_support import (
    SCREEN,
    Problems,
    Server,
    browser_test,
    comes_true,
    run_notebook,
    shot,
    soon,
    wait_for_text,
)
from tests.scenario.traces.slurm_dumps import NODES, dump, limited
from widgets.parts.files import MOST_BYTES

CELL = """
from widgets import WhatIfLab

lab = WhatIfLab("preset:start_here", "las")
lab.set(pairs=3)
lab
"""
QOS = "Name|Priority|GraceTime|MaxTRESPU\nnormal|0|00:00:00|gres/gpu=8\n"
STATUS = ".wb-what-if .wb-status"
TRACE = """job_id,user,gpu_num,state,submit_time,duration
j1,ann,1,COMPLETED,2020-04-01 00:00:00,3600
j2,ann,2,COMPLETED,2020-04-01 00:10:00,7200
j3,bob,1,COMPLETED,2020-04-01 00:20:00,1800
j4,bob,4,COMPLETED,2020-04-01 00:30:00,5400
"""
ABOVE_LIMIT_BYTES = 12_000_000
"""More than a Jupyter server takes in one message: sent, it would end the connection to the kernel."""

PUT = """(input, [name, text, times]) => {
    const chosen = new DataTransfer();
    chosen.items.add(new File([text.repeat(times)], name));
    input.files = chosen.files;
    input.dispatchEvent(new Event("change"));
}"""


def ask(page: Page, done: str) -> None:
    page.locator(".wb-what-if button.wb-solve").click()
    wait_for_text(page, STATUS, done)


def open_tab(page: Page, title: str) -> None:
    page.locator(".wb-what-if .wb-right .lm-TabBar-tab").get_by_text(title, exact=True).click()


def see(page: Page, view: str, label: str) -> None:
    chart = page.locator(f".wb-view-{view}")
    comes_true(page, "s => Number(document.querySelector(s)?.dataset.rows) > 0", f".wb-view-{view}")
    expect(chart.locator("[role=figure]")).to_have_attribute("aria-label", re.compile(label))


def choose(page: Page, button: str, *paths: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.locator(button).click()
    chooser.value.set_files([*paths])


@browser_test
def test_an_operators_question_from_trace_to_report(
    page: Page, lab_server: Server, problems: Problems, tmp_path: Path
) -> None:
    run_notebook(page, lab_server, "what_if.ipynb", CELL)
    wait_for_text(page, STATUS, "Set, not run")
    soon(page, partial(aligned, page))
    shot(page, "what-if-set")
    refuse_what_is_too_large(page)
    ask(page, r"Done: 3 pairs of runs, today and with 1 more v100 node")
    see(page, "today", "Today: 3 jobs, 3 GPUs")
    see(page, "changed", "With the change: 3 jobs, 5 GPUs")
    expect(page.locator(".wb-conclusions")).to_contain_text("too short a log")
    shot(page, "what-if-answer")
    open_tab(page, "Measures")
    see(page, "measures", "Today and with the change: Mean JCT")
    open_tab(page, "Why")
    see(page, "jobs", "Job by job, with 1 more v100 node")
    shot(page, "what-if-jobs")
    open_tab(page, "Model")
    page.locator("button.wb-buy").click()
    wait_for_text(page, ".wb-buy-said", "One more in the row of v100 helps gavel.max_min_fairness most")
    shot(page, "what-if-buy")
    page.set_viewport_size({"width": 1024, "height": 768})

    def not_scrolled() -> None:
        assert page.locator(".wb-what-if .wb-scroll:visible").evaluate("e => e.scrollWidth <= e.clientWidth")

    soon(page, not_scrolled)
    shot(page, "what-if-buy-1024")
    page.set_viewport_size({"width": SCREEN[0], "height": SCREEN[1]})
    with page.expect_download() as download:
        page.locator("button.wb-report").click()
    text = download.value.path().read_text(encoding="utf-8")
    assert download.value.suggested_filename == "what-if.html" and "What to buy next" in text
    own_trace(page, tmp_path)
    other_changes(page)
    slurm_log(page, tmp_path)


def put(page: Page, button: str, name: str, text: str, times: int) -> None:
    """A file as if it had been chosen: through Playwright a large one takes longer than all else here."""
    page.locator(f"{button} input[type=file]").evaluate(PUT, [name, text, times])


def refuse_what_is_too_large(page: Page) -> None:
    """In words and unsent; the page goes on, and takes a file that is not much smaller."""
    put(page, ".wb-upload-open", "year.csv", "x", ABOVE_LIMIT_BYTES)
    wait_for_text(page, ".wb-trace-said", r"year.csv: got 12.0 MB; expected at most 8 MB here; workbench convert")
    put(page, ".wb-what-if .wb-left .wb-upload", "year.csv", "x", ABOVE_LIMIT_BYTES)
    wait_for_text(page, ".wb-filed", r"year.csv: got 12.0 MB; expected at most 8 MB here; open a larger one")
    shot(page, "upload-refused")
    page.locator(".wb-trace-format select").select_option("helios")
    page.locator(".wb-what-if").get_by_placeholder("v100=8x4, k80=4x8").fill("v100=1x4")
    put(page, ".wb-upload-open", "middle.csv", "no,trace\n", MOST_BYTES // 9)
    wait_for_text(page, ".wb-trace-said", r"middle.csv, line 1: got .*; expected a Helios trace")


def aligned(page: Page) -> None:
    """The buttons that take a file end where the fields between and below them do, and show their words whole."""
    places = (".wb-upload-open", ".wb-trace-cluster", ".wb-upload-throughputs", ".wb-today")
    boxes = [page.locator(f".wb-what-if {place}").bounding_box() for place in places]
    ends = [box["x"] + box["width"] for box in boxes if box is not None]
    assert len(ends) == len(places) and max(ends) - min(ends) <= 1, dict(zip(places, ends, strict=True))
    whole = page.locator(".wb-upload-throughputs button").evaluate("button => button.scrollWidth <= button.clientWidth")
    assert whole, "its words are cut"


def own_trace(page: Page, folder: Path) -> None:
    """A Helios trace; before it a file that is none, which is refused in words and changes nothing."""
    bad, trace = folder / "bad.csv", folder / "mine.csv"
    bad.write_text("<script>alert(1)</script>", encoding="utf-8")
    trace.write_text(TRACE, encoding="utf-8")
    page.locator(".wb-what-if .widget-text input[placeholder^=v100]").fill("v100=1x4, k80=1x4")
    choose(page, ".wb-upload-open", bad)
    wait_for_text(page, ".wb-trace-said", r"bad.csv, line 1: got .*; expected a Helios trace")
    choose(page, ".wb-upload-open", trace)
    wait_for_text(page, ".wb-trace-said", "Opened mine.csv: 4 of 4 rows kept")
    wait_for_text(page, STATUS, "Set, not run")
    page.locator(".wb-change-kind select").select_option(label="Load: arrivals closer together")
    ask(page, "Done: 3 pairs of runs, today and with jobs that arrive 1.25 times as fast")
    shot(page, "what-if-own-trace")


def slurm_log(page: Page, folder: Path) -> None:
    """What sacct printed and two files of its site, chosen at once: today's scheduler is Slurm, with its limits."""
    texts = {"sacct.txt": dump(*limited(60)), "nodes.txt": NODES, "qos.txt": QOS, "other.txt": "no file of a site"}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    page.locator(".wb-trace-format select").select_option("sacct")
    page.locator(".wb-trace-cluster input").fill("")
    choose(page, ".wb-upload-open", *(folder / name for name in texts))
    wait_for_text(page, ".wb-trace-said", r"other.txt: got nothing that can be read; expected what sinfo")
    choose(page, ".wb-upload-open", *(folder / name for name in texts if name != "other.txt"))
    wait_for_text(page, ".wb-trace-said", "Opened sacct.txt: 60 of 60 rows kept")
    expect(page.locator(".wb-today select option:checked")).to_have_text("Slurm: multifactor priority")
    page.locator(".wb-change-kind select").select_option(label="Nodes added or removed")
    shot(page, "what-if-slurm")


def other_changes(page: Page) -> None:
    """A scheduler in place of today's, a change that is none, and the answer presented."""
    page.locator(".wb-change-kind select").select_option(label="Scheduler")
    page.locator(".wb-change-scheduler select").select_option(label="Shortest remaining time first")
    ask(page, "Done: 3 pairs of runs, today and with the scheduler srtf")
    open_tab(page, "Measures")
    see(page, "measures", "Today and with the change")
    shot(page, "what-if-scheduler")
    page.locator(".wb-change-kind select").select_option(label="Nodes added or removed")
    count = page.locator(".wb-change-nodes input")
    count.fill("0")
    count.press("Enter")
    wait_for_text(page, STATUS, "not 0")
    expect(page.locator(".wb-what-if button.wb-solve")).to_be_disabled()
    page.locator(".wb-what-if button.wb-undo").click()
    wait_for_text(page, STATUS, "Set, not run")
    page.locator(".wb-present-begin").click()
    expect(page.locator(".wb-present-which")).to_contain_text("Schedule")
    expect(page.locator(".wb-what-if .wb-left")).to_be_hidden()
    shot(page, "what-if-presented")
    page.keyboard.press("Escape")
    page.locator(".wb-what-if .wb-left").wait_for()
