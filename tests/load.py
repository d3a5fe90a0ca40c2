"""What something costs in seconds of CPU time, and the budgets of tests: seconds of one machine, wherever they run."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator

import numpy as np
import psutil

YARDSTICK_S = 0.024
"""What the yardstick takes on the machine on which the budgets were set, while it is idle."""


def cpu_s(pid: int | None = None) -> float:
    """CPU time so far of a process (this one by default) and of all that it has started: kernels, servers, browsers.

    The difference of two readings is at least the wall time of what went on between them on an idle machine, but for
    what waits.
    """
    total = 0.0
    for process in (root := psutil.Process(pid), *root.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            spent = process.cpu_times()
            total += spent.user + spent.system + spent.children_user + spent.children_system
    return total


def slowness() -> float:
    """How much longer a little Python and a little numpy take just now than where budgets were set; at least 1."""
    began = time.thread_time()
    counts: dict[int, int] = {}
    for i in range(80_000):
        counts[i % 977] = counts.get(i % 977, 0) + i
    numbers = np.linspace(0.0, 1.0, 100_000)
    for _ in range(3):
        numbers = np.sort(np.sin(1e6 * numbers))
    return max(1.0, (time.thread_time() - began) / YARDSTICK_S)


@contextlib.contextmanager
def at_most(budget_s: float, *, family: bool = False, since_s: float | None = None) -> Iterator[None]:
    """Fail if the block takes more seconds of CPU time than the budget.

    CPU time depends on the machine and on what else it does: shared cores, clock, caches. The budget is meant on the
    machine of `YARDSTICK_S` and grows, never shrinks, by the `slowness` before or after, whichever is greater.
    A budget is at least three times what the block takes (pytest -rP --log-level=info tells); closer ones are in
    benchmarks/.

    family: count kernels, servers and browsers too (`cpu_s`), also those that other tests have left at work; a block
    without any counts this process alone. since_s: a reading of `cpu_s` to count from instead.
    """
    slow = slowness()
    read = cpu_s if family else time.process_time
    began = read() if since_s is None else since_s
    yield
    spent = read() - began
    if spent > budget_s * slow:
        slow = max(slow, slowness())
    said = f"spent {spent:.2f} s of CPU time; allowed {budget_s * slow:.2f} s: {budget_s:g} s, {slow:.2f} times slower"
    logging.getLogger(__name__).info(said)
    assert spent <= budget_s * slow, said
