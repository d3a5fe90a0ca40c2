"""Whether a job with a guarantee can be late: a guarantee counts whole leases and leaves out what a restart costs."""

from __future__ import annotations

from itertools import product
from typing import Any

from reproduction.figure import PaperFigure
from reproduction.smallest import Smallest, one_gpu
from workbench.analysis.metrics import summary
from workbench.session.api import simulate

LEASE_MIN = 20


def broken(minutes: tuple[int, ...], deadlines: tuple[int, ...], arrivals: tuple[int, ...], restart_s: float) -> int:
    """Jobs with a guarantee that are late, where each restart costs so much; deadlines: minutes after arrival."""
    rewards = [[[60.0 * deadline, 100.0]] for deadline in deadlines]
    core = {"restart": {"law": "fixed", "restart_s": restart_s}}
    run = simulate(one_gpu(minutes, arrivals, rewards=rewards, core=core), "chronus", profile=False, detail=0)

    return int(summary(run)["broken_guarantees"])


def guarantee(size: Any) -> PaperFigure:
    """Chronus guarantees deadlines by whole leases and leaves out what a restart costs."""
    tried, leases = 0, [LEASE_MIN * count for count in range(1, 4)]
    for jobs in range(1, 3):
        choices = product(
            product(leases, repeat=jobs), product(leases, repeat=jobs), product((0, LEASE_MIN), repeat=jobs)
        )
        for minutes, deadlines, arrivals in sorted(choices, key=lambda each: (sum(each[0]), each)):
            if any(length > most for length, most in zip(minutes, deadlines, strict=True)):
                continue
            late = broken(minutes, deadlines, arrivals, 30.0)
            if late:
                held = broken(minutes, deadlines, arrivals, 0.0)
                example = (
                    f"one GPU, jobs of {minutes} minutes that come at {arrivals} with {deadlines} minutes to go: "
                    f"{late} late with 30 s a restart, {held} without"
                )
                found = Smallest(example, jobs, 1, float(late), tried)
                return found.figure("Guarantee", "A guarantee is broken", "guaranteed jobs that are late", "3.3")
            tried += 1
    raise AssertionError("the search ends at a counterexample")
