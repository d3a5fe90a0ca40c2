"""How long from a slider to the picture, in a real Chromium on a JupyterLab of its own.

`python -m benchmarks.lab [--moves N] [--json]` opens each paper's lab on a small preset and moves its slider N times,
by the keyboard, each move when the picture of the one before is there and to another value: at its ends it turns round.
Then it drags with the pointer for a second. Of each lab it tells the median and the 95th percentile of the seconds from
key to changed picture, the pictures that a drag showed (at most one for each other value that the slider has: Chronus's
lease has twelve usual lengths), and how many of them were of an older value than the picture before them, or last of
another value than the slider's. Exit code 1 if one was, or a budget is missed.

`--beside 0 4 19` does it for the first lab beside so many other kernels on the server, as in a class: each has run
lesson 01 whole and still has its widgets. First they rest, then each has its lab's knob set every five to fifteen
seconds. It tells the memory of a kernel with its lab process too (PSS: shared pages are divided; Linux).
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jupyter_client.blocking.client import BlockingKernelClient
from playwright.sync_api import Page, sync_playwright

from tests.browser_support import (
    CLOSE,
    PROJECT,
    Server,
    answered,
    chromium,
    chromium_path,
    grab,
    run_notebook,
    serving,
    wait_for_text,
)

BUDGET_S, LARGE_BUDGET_S = 0.15, 0.4
"""Up to ten jobs; 20 jobs on 60 GPUs."""
PATIENCE_MS = 60_000
DRAG_STEPS, DRAG_S = 25, 1.0


class LabMoves(NamedTuple):
    """A lab, the cell that opens it, and the knob whose slider is moved; then: what else is done in the cell."""

    name: str
    cell: str
    knob: str
    budget_s: float = BUDGET_S
    then: str = ""


LABS = (
    LabMoves("gavel", 'GavelLab("start_here", knobs=[("round_s", 60, 1260)])', "round_s"),
    LabMoves("hadar", 'HadarLab("hadar_example", knobs=[("round_s", 60, 660)])', "round_s"),
    LabMoves("hadare", 'HadarLab("hadar_example", "hadare", knobs=[("round_s", 60, 660)])', "round_s"),
    LabMoves("hops", 'HopsLab("hops_example", knobs=[("lambda", 0, 4)])', "lambda"),
    LabMoves(
        "hare", 'HareLab("hare_example", knobs=[("switch_s", 0, 2)])', "switch_s", then='lab.set(switching="custom")'
    ),
    LabMoves("chronus", 'ChronusLab("chronus_small")', "slo_lease_s"),
    LabMoves("large", 'GavelLab("compare_mixed", knobs=[("round_s", 180, 1380)])', "round_s", LARGE_BUDGET_S),
)
LESSON = PROJECT / "notebooks" / "01_gavel.ipynb"
# A student: turns a knob, and looks. Then `turned` is how often, `drawn` how often another run was there.
STUDENT = """
import asyncio, random, widgets
lab, turned, drawn = widgets.GavelLab("start_here"), 0, 0
async def study():
    global turned, drawn
    while True:
        await asyncio.sleep(random.uniform(5, 15))
        turned, before = turned + 1, lab.run
        lab.set(round_s=60 * random.randint(1, 20))
        await asyncio.sleep(3)
        drawn += lab.run is not before
task = asyncio.ensure_future(study())
"""
CHART, HANDLE, STATUS = ".wb-view-gantt", ".wb-knob-{} .noUi-handle", ".wb-status"
# Notes each key, and each picture of something else than the one before, with what it is of.
WATCH = """([handle, chart]) => {
    const slider = document.querySelector(handle), view = document.querySelector(chart);
    const notes = globalThis.wbNotes = {keys: [], drawn: []};
    slider.addEventListener("keydown", () => notes.keys.push(performance.now()), true);
    let before = view.dataset.of;
    const drawn = () => view.dataset.of !== before && notes.drawn.push([performance.now(), before = view.dataset.of]);
    new MutationObserver(drawn)
        .observe(view, {attributes: true, attributeFilter: ["data-of"]});
}"""


class LabTimes(NamedTuple):
    """What a lab did. p50_s, p95_s: from key to picture; pictures: that a drag showed, of so many `others` that the
    slider has beside the first; stale: of older values."""

    lab: str
    moves: int
    p50_s: float
    p95_s: float
    pictures: int
    others: int
    stale: int
    budget_s: float = BUDGET_S

    @property
    def good(self) -> bool:
        """Whether it keeps the budget and shows nothing old."""
        return self.stale == 0 and self.p95_s <= self.budget_s


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the labs, and print a table or JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab", description="From a slider to the picture.")
    parser.add_argument("--moves", type=int, default=100, help="moves of each lab's slider (default 100)")
    parser.add_argument("--beside", type=int, nargs="+", default=[], metavar="N", help="N other kernels, ascending")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("labs", metavar="LAB", nargs="*", help=f"of {', '.join(lab.name for lab in LABS)}")
    asked = parser.parse_args(argv)
    executable = chromium_path()
    if executable is None or asked.moves < 1:
        parser.error("no Chromium found (WORKBENCH_CHROMIUM may name one)" if asked.moves > 0 else "--moves from 1")
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "chromium").mkdir()
        browser = chromium(executable, folder / "chromium")
        with serving("lab", folder) as server, browser as address, sync_playwright() as driver:
            page = driver.chromium.connect_over_cdp(address).contexts[0].new_page()
            page.set_default_timeout(PATIENCE_MS)
            if asked.beside:
                _in_class(page, server, asked.beside, asked.moves)
                return 0
            for lab in LABS:
                if not asked.labs or lab.name in asked.labs:
                    found.append(measured(page, server, lab, asked.moves))
                    answered(page, CLOSE)
    if asked.json:
        print(json.dumps({"labs": [each._asdict() for each in found], "stale": sum(each.stale for each in found)}))
    else:
        for each in found:
            rests = "" if each.budget_s < LARGE_BUDGET_S else "  over ten jobs: solved when the slider rests"
            times = "{:8} {:4} moves  p50 {:.3f} s  p95 {:.3f} s  {:3} of {:2} pictures  {} stale"
            print(times.format(*each[:7]) + rests)
    return 0 if all(each.good for each in found) else 1


def measured(page: Page, server: Server, lab: LabMoves, moves: int) -> LabTimes:
    """Open a lab, move its slider by keys, each when the picture before is there, and drag it."""
    run_notebook(page, server, f"{lab.name}.ipynb", f"import widgets\nlab = widgets.{lab.cell}\n{lab.then}\nlab")
    if not wait_for_text(page, STATUS, "not solved|Done").startswith("Done"):
        page.locator("button.wb-solve").first.click()
    wait_for_text(page, STATUS, "Done")
    page.wait_for_selector(f"{CHART} canvas")
    handle = page.locator(HANDLE.format(lab.knob)).first
    page.evaluate(WATCH, [HANDLE.format(lab.knob), CHART])
    handle.focus()
    first, last = (float(handle.get_attribute(f"aria-value{end}") or 0) for end in ("min", "max"))
    taken, key = [], "ArrowRight"
    for _ in range(moves):
        before, stands = _notes(page), float(handle.get_attribute("aria-valuenow") or 0)
        key = {last: "ArrowLeft", first: "ArrowRight"}.get(stands, key)
        page.keyboard.press(key)
        page.wait_for_function("n => wbNotes.drawn.length > n", arg=len(before["drawn"]))
        now = _notes(page)
        taken.append((now["drawn"][len(before["drawn"])][0] - now["keys"][len(before["keys"])]) / 1000)
    pictures, stale = _dragged(page, lab)
    others, ranked = round(last - first), sorted(taken)
    return LabTimes(
        lab.name,
        len(ranked),
        round(ranked[len(ranked) // 2], 4),
        round(ranked[min(len(ranked) - 1, int(0.95 * len(ranked)))], 4),
        pictures,
        others,
        stale,
        lab.budget_s,
    )


def _in_class(page: Page, server: Server, beside: Sequence[int], moves: int) -> None:
    """Print, for each number of other kernels, what they take and how long the first lab's picture takes."""
    others: list[BlockingKernelClient] = []
    cells = json.loads(LESSON.read_text(encoding="utf-8"))["cells"]
    lesson = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for number in beside:
        fresh = [_kernel(server) for _ in range(number - len(others))]
        for each in fresh:
            for source in lesson:
                _run(each, source)
        others += fresh
        taken = [_pss_mb(int(_run(each, "import os; os.getpid()"))) for each in others]
        for student, how in (("", "at rest"), (STUDENT, "at work")):
            for each in others if student else ():
                _run(each, student)
            found = measured(page, server, LABS[0], moves)
            answered(page, CLOSE)
            seen = [_run(each, "(turned, drawn)") for each in others] if student else []
            memory = f"{sum(taken) / max(1, len(taken)):.0f} MB each, {sum(taken):.0f} in all"
            times = "p50 {:.3f} s, p95 {:.3f} s, {} of {} pictures in a drag, {} stale".format(*found[2:7])
            print(f"{number} others {how}: {times}; {memory} {' '.join(seen)}", flush=True)
        for each in others:
            _run(each, "task.cancel()")


def _kernel(server: Server) -> BlockingKernelClient:
    """A new kernel of the server, and a connection to it."""
    number = json.loads(server.request("POST", "api/kernels"))["id"]
    file = server.root.parent / "home" / "runtime" / f"kernel-{number}.json"
    client = BlockingKernelClient(connection_file=str(file))
    client.load_connection_file()
    client.start_channels(hb=False)  # it would not beat yet
    client.wait_for_ready(timeout=PATIENCE_MS / 1000)
    return client


def _run(client: BlockingKernelClient, source: str) -> str:
    """Run a cell; return its result in words, or raise what it raised."""
    said: list[str] = []

    def hear(message: dict[str, Any]) -> None:
        if message["msg_type"] == "execute_result":
            said.append(message["content"]["data"]["text/plain"])

    reply = client.execute_interactive(source, timeout=PATIENCE_MS / 1000, output_hook=hear)
    if reply["content"]["status"] != "ok":
        raise RuntimeError(reply["content"])
    return said[-1] if said else ""


def _pss_mb(process: int) -> float:
    """Proportional memory of a process and all that it started."""
    parts = Path(f"/proc/{process}/smaps_rollup").read_text().split("Pss:")[1].split()
    children = Path(f"/proc/{process}/task").glob("*/children")
    return int(parts[0]) / 1024 + sum(_pss_mb(int(child)) for each in children for child in each.read_text().split())


def _notes(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate("wbNotes")
    return found


def _dragged(page: Page, lab: LabMoves) -> tuple[int, int]:
    """From one end of the slider to the other within a second: pictures that were shown, and how many were old."""
    handle = page.locator(HANDLE.format(lab.knob)).first
    for _ in range(50):
        handle.press("ArrowLeft")
    _rest(page)
    _, y = grab(page, handle)
    track = page.locator(f".wb-knob-{lab.knob} .noUi-base").first.bounding_box()
    assert track is not None
    begun = len(_notes(page)["drawn"])
    for step in range(1, DRAG_STEPS + 1):
        page.mouse.move(track["x"] + track["width"] * step / DRAG_STEPS, y)
        page.wait_for_timeout(1000 * DRAG_S / DRAG_STEPS)
    page.mouse.up()
    _rest(page)
    values = [_number(json.loads(of)[lab.knob]) for _, of in _notes(page)["drawn"][begun:]]
    stale = sum(after < before for before, after in itertools.pairwise(values))
    last = _number(json.loads(page.evaluate(f"document.querySelector('{CHART}').dataset.of"))[lab.knob])
    return len(set(values)), stale + (not values or last != max(values))


def _number(value: Any) -> float:
    return math.inf if value in (None, "inf") else float(value)


def _rest(page: Page) -> None:
    """Wait until nothing is being solved, and no picture has come for a second."""
    before = -1
    while (now := len(_notes(page)["drawn"])) != before:
        before = now
        page.wait_for_timeout(1000)
        wait_for_text(page, STATUS, "Done")


if __name__ == "__main__":
    sys.exit(main())
