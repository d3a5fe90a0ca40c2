"""The Job Tracker (sections V-A, V-B): what copies were given and report, and how steps are split among them.

At the end of a round every node that ran a copy reports the steps it has done and how long they took. Aggregation sums
them by job. Consolidation averages the parameters of a job's copies and takes `overhead_s` at the end of the round: it
is charged to jobs of which several copies ran, since one copy has nothing to be averaged with (ours). Here it is a time
only; `reproduction.hadar.averaging` averages parameters. A job's steps left are split among its copies in proportion to
their throughputs, in whole steps by largest remainder (`split`).

In the last round the beta fastest nodes of the round before finish up, 1 <= beta <= n (`finishing`). A round is the
last one if every job is believed to end in it. A job's nodes are then ordered: first those whose copies did all they
were told in the round before, the quickest first, then the others by throughput. The paper leaves beta open: here
(ours) it is the number of nodes with which the job ends soonest, restarts and the consolidation of several copies
included; of equals the smallest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.proportion import in_proportion
from workbench.scheduling.snapshot import Observation

SAME = 1e-9
"""Share of its steps by which a copy may miss them and still has done them all (rounding)."""


class CopyWork(NamedTuple):
    """What a copy was told to do in a round: whole steps on GPUs of one node."""

    job: str
    copy: int
    node: str
    gpus: int
    steps: int


class CopyReport(NamedTuple):
    """What a node tells the tracker of its copy: steps done, the seconds they took, whether these were all."""

    job: str
    copy: int
    node: str
    steps: float
    seconds: float
    complete: bool


@dataclass(frozen=True)
class Tracker:
    """The scheduler's memory.

    ids: each job's parent id; max_job_count: for the ids of copies; restart_s: seconds of a restart by the number of
    GPUs, from 0 on, empty if none costs any; started: the jobs that have run; given: in the last round; reports: on it.
    """

    ids: Mapping[str, int]
    max_job_count: int
    restart_s: tuple[float, ...] = ()
    started: tuple[str, ...] = ()
    given: tuple[CopyWork, ...] = ()
    reports: tuple[CopyReport, ...] = ()

    def hear(self, observations: Iterable[Observation]) -> Tracker:
        """With the reports on the last round's copies, from what was measured of them."""
        done: dict[tuple[str, int], tuple[float, float]] = {}
        for seen in observations:
            if isinstance(seen.unit, tuple) and not isinstance(seen.unit[1], str):
                steps, seconds = done.get((seen.job, seen.unit[1]), (0.0, 0.0))
                done[seen.job, seen.unit[1]] = steps + seen.steps_per_s * seen.seconds, seconds + seen.seconds
        reports = []
        for order in self.given:
            steps, seconds = done.get((order.job, order.copy), (0.0, 0.0))
            complete = steps >= order.steps * (1 - SAME)
            reports.append(CopyReport(order.job, order.copy, order.node, steps, seconds, complete))
        return replace(self, reports=tuple(reports))

    def give(self, given: Sequence[CopyWork], whole: Iterable[str], jobs: Sequence[str]) -> Tracker:
        """With what copies are told now; whole: jobs that run unforked; jobs: those still there."""
        ran = {*self.started, *whole, *(order.job for order in given)}
        return replace(self, given=tuple(given), started=tuple(name for name in jobs if name in ran), reports=())

    def first_done(self, job: str) -> list[str]:
        """The nodes whose copies of a job did all they were told in the last round, the quickest first."""
        done = [report for report in self.reports if report.job == job and report.complete]
        return [report.node for report in sorted(done, key=lambda report: report.seconds)]


def aggregate(reports: Iterable[CopyReport]) -> dict[str, float]:
    """Steps that each job's copies have done together."""
    total: dict[str, float] = {}
    for report in reports:
        total[report.job] = total.get(report.job, 0.0) + report.steps
    return total


MOST_STEPS = 10**12
"""More steps are not split: floating point numbers would no longer tell single steps apart."""
WHOLE = 1e-9
"""Part of a job's steps left by which they may miss a whole number (ours)."""


def whole_steps(steps_left: float) -> int:
    """The steps left in whole numbers: a step that was begun counts as one."""
    return math.ceil(steps_left - WHOLE * max(1.0, steps_left))


def split(steps: int, throughput: npt.ArrayLike) -> IntArray:
    """(copies,) whole steps that sum to `steps`, in proportion to (copies,) throughputs in steps/s.

    Raises InputError for steps below 0 or above 1e12, and for throughputs that are negative, not finite or all 0.
    """
    weights: FloatArray = np.array(throughput, dtype=float)
    if not 0 <= steps <= MOST_STEPS or steps != int(steps):
        raise InputError("steps to split", steps, f"a whole number from 0 to {MOST_STEPS:.0e}")
    if weights.ndim != 1 or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        raise InputError("throughputs of copies", weights.tolist(), "numbers >= 0, at least one of them above 0")
    return in_proportion(int(steps), weights)


class Candidate(NamedTuple):
    """A node that a job may finish up on: steps/s of a copy, seconds of a restart there, its place in the last round.

    place: 0 for the copy that was done first, None if it was not done or not there.
    """

    node: int
    steps_per_s: float
    restart_s: float
    place: int | None


def finishing(candidates: Sequence[Candidate], steps_left: float, overhead_s: float) -> list[int]:
    """The nodes on which a job finishes up, the first ones of the order in the module's text."""
    line = sorted(candidates, key=lambda c: (c.place is None, c.place or 0, -c.steps_per_s))
    best, best_s = len(line), float("inf")
    for beta in range(1, len(line) + 1):
        those = line[:beta]
        run_s = steps_left / sum(c.steps_per_s for c in those)
        end_s = run_s + max(c.restart_s for c in those) + (overhead_s if beta > 1 else 0.0)
        if end_s < best_s * (1 - 1e-12):
            best, best_s = beta, end_s
    return [c.node for c in line[:best]]
