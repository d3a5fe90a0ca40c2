"""A process that answers when a test says so, and how to wait for a real one."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from tests.browser_support import PATIENCE_S
from widgets import Lab
from widgets.work.workplace import Message
from workbench.analysis.charts import Drawing
from workbench.cli.lab_process import SimulatedRun, simulated
from workbench.session import registry
from workbench.simulation.stop import AllFinished

HEIGHT = "document.querySelector('.wb-lab .wb-picture').clientHeight"
AT_REST = f"""async () => {{
    for (let same = 0, high = -1; same < 30; high = {HEIGHT}) {{
        await new Promise(requestAnimationFrame);
        same = {HEIGHT} === high ? same + 1 : 0;
    }}
    return {HEIGHT};
}}"""
"""The height of the picture, once it no longer changes: it follows its place a moment later."""
WHOLE_ROWS = """lab => {
    const page = [...lab.querySelectorAll('.wb-contents > *')].find(x => x.checkVisibility()).getBoundingClientRect();
    return [...lab.querySelectorAll(':is(.wb-row-list, .wb-decided) tbody tr')].map(row => row.getBoundingClientRect())
        .filter(row => row.height && row.top >= page.top && row.bottom <= page.bottom && row.right <= page.right)
        .length;
}"""
"""How many of the rows with numbers, or of an algorithm's steps, are seen whole on the page that is open."""


class Waiter:
    """Stands in for the labs' process: keeps requests until a test answers them."""

    def __init__(self) -> None:
        self.asked: list[tuple[Message, Callable[[Message], None]]] = []
        self.cancelled = 0
        self._askers: list[Any] = []

    def submit(self, request: Message, hear: Callable[[Message], None], asker: Any = None) -> None:
        self.asked.append((request, hear))
        self._askers.append(asker)

    def cancel(self, asker: Any = None) -> None:
        """As the process's: an asker's own newest request is told, no other's."""
        self.cancelled += 1
        own = [hear for (_, hear), whose in zip(self.asked, self._askers, strict=True) if whose == asker]
        if own:
            own[-1]({"kind": "cancelled"})

    def answer(self, number: int = -1, wall_s: float = 0.1) -> None:
        """Carry out a request as the labs' process does and tell it done."""
        request, hear = self.asked[number]
        done = carried_out(request)
        hear({"kind": "done", **done._asdict(), "wall_s": wall_s})


def carried_out(request: Message) -> SimulatedRun:
    """What the labs' process would hand over; what a scheduler of ours has done with the same request is kept."""
    if request["scheduler"] in registry._OWN:  # a test's own, of which there may be several of one name
        return simulated(request, AllFinished(), lambda message: None)
    done = _carried_out(json.dumps(request))
    return done._replace(run=replace(done.run))


@lru_cache(maxsize=32)
def _carried_out(request: str) -> SimulatedRun:
    return simulated(json.loads(request), AllFinished(), lambda message: None)


def solve(lab: Any, **knobs: Any) -> None:
    """Set knobs, ask, and answer through the `Waiter` that the test gave the lab."""
    lab.set(**knobs)
    lab.solve()
    lab.waiter.answer()


def titles(lab: Lab) -> tuple[str, ...]:
    """The pictures on the stage and the charts of the page Measures."""
    found: tuple[str, ...] = lab._results.titles
    return found


def look_at(lab: Lab, chart: str) -> Drawing:
    """Open a picture or a chart."""
    assert chart in titles(lab)
    lab._results.open(chart)
    drawing = lab._results._pages.get(chart, lab._results._gantt).drawing
    assert drawing is not None
    return drawing


def jobs(lab: Lab) -> Any:
    return lab._scenario.editors.tables["jobs"]


async def until(ready: Callable[[], object], seconds: float = PATIENCE_S) -> None:
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "this did not happen"
        await asyncio.sleep(0.01)


def run(story: Callable[[], Awaitable[None]]) -> None:
    async def all_of_it() -> None:
        await story()

    asyncio.run(all_of_it())
