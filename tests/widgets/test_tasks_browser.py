"""Eight questions that a lab is for, each answered in Chromium in at most three clicks from the lab as it opens."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.browser_support import (
    Problems,
    Server,
    browser_test,
    grab,
    open_page,
    run_all_cells,
    run_notebook,
    shot,
    solve_first,
    wait_for_text,
)
from tests.widgets.test_one_thing_browser import CELL, GANTT, click_picture
from workbench import preset, simulate
from workbench.analysis.metrics import completions, gains
from workbench.scenario.cluster import Cluster
from workbench.simulation.run import Run

MOST = 3
SCENARIO, SCHEDULER = preset("start_here"), "gavel.max_min_fairness"
"""What the lab opens with."""
V100, K80 = 0.5, 0.83
"""How far down the picture of `start_here` the second V100 and the K80 are."""


class Hand:
    """A user's hand on one lab: counts what it does. A choice from a list is two clicks, a drag is one."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks = page, 0

    def click(self, control: str | Locator, text: str = "") -> None:
        """Press what is there, with this text if there are several."""
        self.clicks += 1
        found = self.page.locator(control, has_text=text) if isinstance(control, str) else control
        found.first.click()

    def open(self, title: str) -> None:
        """One of the five pages."""
        self.clicks += 1
        open_page(self.page, title)

    def point(self, minute: float, down: float) -> None:
        """Click in the picture."""
        self.clicks += 1
        click_picture(self.page, minute, down)

    def choose(self, control: str, label: str) -> None:
        """Choose from a list."""
        self.clicks += 2
        self.page.locator(control).select_option(label=label)

    def drag(self, control: str, px: int) -> None:
        """Drag a slider at one go, and let go."""
        self.clicks += 1
        x, y = grab(self.page, self.page.locator(control))
        self.page.mouse.move(x + px, y)
        self.page.mouse.up()

    def sees_what_changes(self, after: Run) -> None:
        """The sentence of who gains and who pays is that of this run against the one that the lab opens with."""
        said = gains(completions(simulate(SCENARIO, SCHEDULER), after))
        wait_for_text(self.page, ".wb-gains", f"^Against .+: {re.escape(said)}$")


def who_holds(hand: Hand) -> None:
    """Who has the K80 at 45 min, and since when?"""
    hand.point(45, K80)
    wait_for_text(hand.page, ".wb-job", "game: slow-0/0 .k80. from 42 min to 48 min, A3C, 1 GPU")
    hand.open("Why")
    wait_for_text(hand.page, ".wb-explain-told", "At 45 min game runs on 1 k80 of slow-0, since 42 min")


def which_row(hand: Hand) -> None:
    """Which row of the model stops job 2?"""
    hand.open("Model")
    hand.choose(".wb-stage .wb-explain-job select", "game")
    wait_for_text(
        hand.page, ".wb-decisive", r"Decisive for game at 45 min: epigraph.vision. .*game would run on 1 v100"
    )
    hand.page.locator(".wb-row-list tr.wb-marked", has_text="job_time[game]").wait_for()


def one_more_k80(hand: Hand) -> None:
    """What does one more K80 do, and to whom?"""
    hand.click("button.wb-set-up")
    count = hand.page.locator(".wb-left table tbody tr:nth-child(2) input").nth(2)
    hand.click(count)
    count.fill("2")
    count.press("Enter")
    fast, slow = SCENARIO.cluster.nodes
    nodes = (fast, slow.model_copy(update={"count": 2}))
    cluster = Cluster(accelerators=SCENARIO.cluster.accelerators, nodes=nodes)
    hand.sees_what_changes(simulate(SCENARIO.replace(cluster=cluster), SCHEDULER))


def idle_v100(hand: Hand) -> None:
    """Why does a V100 stand idle at 45 min while `game` runs on the K80?"""
    hand.point(45, V100)
    said = wait_for_text(hand.page, ".wb-explain-told p", "fast-0/1 .v100. is idle at 45 min.*Decisive")
    assert "vision needs 2 GPUs of v100 at once, and 1 is left" in said
    assert "game runs on slow-0 (k80), as it had had nothing of its share of k80 since 30 min" in said
    weighed = hand.page.locator(".wb-lab p", has_text=re.compile("^vision would have both v100 then with a weight"))
    expect(weighed.filter(visible=True)).to_have_count(1)
    hand.page.locator(".wb-explain-now").click()
    hand.page.locator(".wb-explain-otherwise p").wait_for()
    assert weighed.count() == 2
    expect(weighed.filter(visible=True)).to_have_count(1)  # not twice, one below the other


def not_faster(hand: Hand) -> None:
    """Why is `game` not on the faster type?"""
    hand.point(45, K80)
    hand.open("Why")
    wait_for_text(hand.page, ".wb-explain-told b", "game")  # nobody asks before the page is about the bar
    hand.click(".wb-explain-faster")
    wait_for_text(hand.page, ".wb-explain-otherwise", "game is not on v100, 2 times as fast for it: .*its turn came")


def run_now(hand: Hand) -> None:
    """What would make `vision`, which waits, run now?"""
    hand.open("Why")
    hand.click(".wb-explain-now")
    found = r"vision would have both v100 then with a weight of ([\d.]+) in place of 1, found by trying"
    said = re.search(found, wait_for_text(hand.page, ".wb-explain-otherwise", found))
    assert said and [gpus_of_vision(float(said[1]) - less) for less in (0, 0.02)] == [2, 0]


def gpus_of_vision(weight: float) -> int:
    """How many it has at 42 min, where the lab opens, with this weight."""
    jobs = [job.model_copy(update={"weight": weight}) if job.name == "vision" else job for job in SCENARIO.jobs]
    timeline = simulate(SCENARIO.replace(jobs=jobs), SCHEDULER).timeline
    return len(timeline.query("job == 'vision' and start_s <= 2520 < end_s"))


def which_is_better(hand: Hand) -> None:
    """Who gains and who pays if whoever came first has GPUs first?"""
    hand.choose(".wb-scheduler select", "Gavel's: first in, first out")
    hand.sees_what_changes(simulate(SCENARIO, "gavel.fifo"))


def what_rounds_do(hand: Hand) -> None:
    """What do rounds of 30 min do?"""
    hand.drag(".wb-knob-round_s .noUi-handle", 300)
    hand.sees_what_changes(simulate(SCENARIO, SCHEDULER, round_s=1800.0))


LABS: tuple[tuple[Callable[[Hand], None], ...], ...] = (
    *((run_now, not_faster, idle_v100, who_holds, which_row, one_more_k80), (which_is_better,), (what_rounds_do,)),
)
"""The questions put to each lab, the first as it opens: those before the last change nothing."""


@browser_test
def test_eight_questions_take_three_clicks_each(page: Page, lab_server: Server, problems: Problems) -> None:
    run_notebook(page, lab_server, "tasks.ipynb", CELL)
    took = {}
    for tasks in LABS:
        if took:
            run_all_cells(page)  # another lab
        solve_first(page)
        page.locator(f"{GANTT}[data-draws] svg").wait_for()
        for task in tasks:
            if task is not tasks[0]:
                open_page(page, "Schedule")
            hand = Hand(page)
            task(hand)
            shot(page, f"task-{task.__name__}")
            took[task.__doc__] = hand.clicks
    for text in ("^vision: ", "^Click a bar", "^vision: "):  # a second click lets go, a third selects again
        hand.point(5, V100)
        wait_for_text(page, ".wb-job", text)
        page.wait_for_timeout(600)  # no double click
    page.keyboard.press("Escape")
    wait_for_text(page, ".wb-job", "^Click a bar")
    assert len(took) == 8 and max(took.values()) <= MOST, took
