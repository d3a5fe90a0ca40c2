"""Whether a job can wait for more than three times as long as it runs, which with the latency ratio none does (4.5)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from reproduction.figure import PaperFigure
from reproduction.smallest import Looked, one_gpu, smallest
from workbench.session.api import simulate
from workbench.simulation.run import Run


def waits(run: Run) -> float:
    """The largest latency ratio: seconds waited over seconds that a job runs."""
    took = run.jobs["finish_s"] - run.jobs["arrival_s"]
    runs = np.array([60.0 * job.steps for job in run.scenario.jobs])
    return float(((took - runs) / runs).max())


def starving(size: Any) -> PaperFigure:
    """Hops: with the latency ratio as priority no job waits for more than 3 times as long as it runs (4.5)."""
    knobs = {"profile_iterations": 0, "profile_start_s": 0.0}

    def looked() -> Iterator[Looked]:
        for jobs in range(1, 4):
            for minutes in sorted(product(range(1, 10), repeat=jobs), key=lambda row: (max(row), row)):
                found = waits(simulate(one_gpu(minutes, (0,) * jobs), "hops", knobs, detail=0))
                told = f"one GPU, rounds of 300 s, jobs of {minutes} minutes all there at 0: one waits {found:g} times"
                yield Looked(jobs, 1, found, told if found > 3.0 * (1 + 1e-9) else "")

    return smallest("4.5 starving", "A job waits", "largest latency ratio", "4.5", looked())
