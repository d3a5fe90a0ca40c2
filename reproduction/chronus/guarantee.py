"""Whether a job with a guarantee can be late: a guarantee counts whole leases and leaves out what a restart costs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from reproduction.figure import PaperFigure
from reproduction.smallest import Looked, one_gpu, smallest
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
    leases = [LEASE_MIN * count for count in range(1, 4)]

    def looked() -> Iterator[Looked]:
        for jobs in range(1, 3):
            spans = product(leases, repeat=jobs)
            choices = product(spans, product(leases, repeat=jobs), product((0, LEASE_MIN), repeat=jobs))
            for minutes, deadlines, arrivals in sorted(choices, key=lambda each: (sum(each[0]), each)):
                if any(length > most for length, most in zip(minutes, deadlines, strict=True)):
                    continue
                late, told = broken(minutes, deadlines, arrivals, 30.0), ""
                if late:
                    held = broken(minutes, deadlines, arrivals, 0.0)
                    told = (
                        f"one GPU, jobs of {minutes} minutes that come at {arrivals} with {deadlines} minutes to go: "
                        f"{late} late with 30 s a restart, {held} without"
                    )
                yield Looked(jobs, 1, float(late), told)

    return smallest("Guarantee", "A guarantee is broken", "guaranteed jobs that are late", "3.3", looked())
