"""The Job Tracker (sections V-A, V-B): what copies were given, what they report, aggregation and consolidation.

At the end of a round every node that ran a copy reports the steps it has done and how long they took. Aggregation sums
them by job. Consolidation averages the parameters of a job's copies and takes `overhead_s` at the end of the round: it
is charged to jobs of which several copies ran, since one copy has nothing to be averaged with (ours). Here it is a time
only; `workbench.papers.hadar.hadare.training` averages parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from workbench.scheduling.decision import Observation
from workbench.scheduling.knob import Knob

OVERHEAD_S = Knob(
    "overhead_s",
    10.0,
    "Aggregation and consolidation at the end of a round, for a job of which several copies ran",
    "s",
    minimum=0.0,
    maximum=1e6,
)

SAME = 1e-9
"""Share of its steps by which a copy may miss them and still has done them all (rounding)."""


class Given(NamedTuple):
    """What a copy was told to do in a round: whole steps on GPUs of one node."""

    job: str
    copy: int
    node: str
    gpus: int
    steps: int


class Report(NamedTuple):
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
    given: tuple[Given, ...] = ()
    reports: tuple[Report, ...] = ()

    def hear(self, observations: Iterable[Observation]) -> Tracker:
        """With the reports on the last round's copies, from what was measured of them."""
        done: dict[tuple[str, int], tuple[float, float]] = {}
        for seen in observations:
            if isinstance(seen.unit, tuple) and not isinstance(seen.unit[1], str):
                steps, seconds = done.get((seen.job, seen.unit[1]), (0.0, 0.0))
                done[seen.job, seen.unit[1]] = steps + seen.steps_per_s * seen.seconds, seconds + seen.seconds
        reports = []
        for told in self.given:
            steps, seconds = done.get((told.job, told.copy), (0.0, 0.0))
            complete = steps >= told.steps * (1 - SAME)
            reports.append(Report(told.job, told.copy, told.node, steps, seconds, complete))
        return replace(self, reports=tuple(reports))

    def give(self, given: Sequence[Given], whole: Iterable[str], jobs: Sequence[str]) -> Tracker:
        """With what copies are told now; whole: jobs that run unforked; jobs: those still there."""
        ran = {*self.started, *whole, *(told.job for told in given)}
        return replace(self, given=tuple(given), started=tuple(name for name in jobs if name in ran), reports=())

    def first_done(self, job: str) -> list[str]:
        """The nodes whose copies of a job did all they were told in the last round, the quickest first."""
        done = [report for report in self.reports if report.job == job and report.complete]
        return [report.node for report in sorted(done, key=lambda report: report.seconds)]


def aggregate(reports: Iterable[Report]) -> dict[str, float]:
    """Steps that each job's copies have done together."""
    total: dict[str, float] = {}
    for report in reports:
        total[report.job] = total.get(report.job, 0.0) + report.steps
    return total
