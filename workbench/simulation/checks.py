"""The limits a decision must keep. Nothing is repaired: the first one broken raises InvalidDecision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NoReturn, get_args

import numpy as np

from workbench.decision import Assignment, Decision, InvalidDecision, Kind, Unit, Verdict, is_copy, members, unit_name
from workbench.job import Job
from workbench.scenario import Scenario


class Checker:
    """Checks of the decisions of one scheduler on one scenario."""

    def __init__(self, scenario: Scenario, scheduler: str) -> None:
        self._scheduler = scheduler
        self._sharing = scenario.core.space_sharing
        self._sizes = {node.name: node.gpus for node in scenario.cluster.machines}

    def fail(self, now_s: float, unit: Unit | None, value: object, limit: str) -> NoReturn:
        """Raise InvalidDecision for this scheduler."""
        raise InvalidDecision(self._scheduler, now_s, unit, value, limit)

    def shape(self, decision: Decision, now_s: float) -> None:
        """Each unit once, ends in the future, and sensible numbers."""
        seen: set[Unit] = set()
        for a in decision.assign:
            if type(a.unit) is not str and not _is_unit(a.unit):
                self.fail(now_s, None, a.unit, "a job, a copy (job, number) or a pair (job, job)")
            if a.unit in seen:
                self.fail(now_s, a.unit, "two assignments", "each unit once")
            seen.add(a.unit)
            if not a.until_s > now_s:
                self.fail(now_s, a.unit, f"until {a.until_s:g} s", "an end after now")
        for name, verdict in decision.verdicts.items():
            if verdict not in get_args(Verdict):
                self.fail(now_s, name, verdict, "a verdict, one of " + ", ".join(get_args(Verdict)))
            if verdict == "refused" and any(name in members(unit) for unit in seen):
                self.fail(now_s, name, "refused and assigned", "no GPUs for a refused job")
        if decision.next_s is not None and not decision.next_s > now_s:
            self.fail(now_s, None, f"next_s {decision.next_s:g}", "a time after now, or None")

    def new(self, a: Assignment, now_s: float, jobs: Sequence[Job]) -> None:
        """What a new assignment asks for, but for the room on the nodes."""
        for node, gpus in a.gpus.items():
            if node not in self._sizes:
                self.fail(now_s, a.unit, node, "the name of a node")
            if not _is_count(gpus):
                self.fail(now_s, a.unit, f"{gpus!r} GPUs on {node}", "a whole number >= 1")
        if not a.gpus:
            self.fail(now_s, a.unit, {}, "at least one GPU")
        if a.kind not in get_args(Kind):
            self.fail(now_s, a.unit, a.kind, "kind run or profile")
        self.limits(a, now_s)
        self._gang(a, now_s, jobs)

    def limits(self, a: Assignment, now_s: float) -> None:
        """The steps and the tail of an assignment, new or renewed."""
        if a.steps is None and is_copy(a.unit):
            self.fail(now_s, a.unit, None, "a copy's number of steps")
        if a.steps is not None and not 0 <= a.steps < math.inf:
            self.fail(now_s, a.unit, f"steps {a.steps!r}", "a number >= 0, or None")
        if a.tail_s and len(members(a.unit)) == 2:
            self.fail(now_s, a.unit, f"tail_s {a.tail_s!r}", "no consolidation of a pair")
        if not 0 <= a.tail_s <= a.until_s - now_s:
            self.fail(now_s, a.unit, f"tail_s {a.tail_s!r}", "seconds that fit into the assignment")

    def _gang(self, a: Assignment, now_s: float, jobs: Sequence[Job]) -> None:
        total = sum(a.gpus.values())
        job = jobs[0]
        if len(jobs) == 2:
            if not self._sharing:
                self.fail(now_s, a.unit, unit_name(a.unit), "no pairs (core.space_sharing is false)")
            if jobs[0].name == jobs[1].name:
                self.fail(now_s, a.unit, unit_name(a.unit), "two different jobs in a pair")
            if any(total not in each.sizes for each in jobs):
                self.fail(now_s, a.unit, f"{total} GPUs", "the gang of both jobs")
        elif is_copy(a.unit):
            if len(a.gpus) != 1 or not 1 <= total <= job.gpus:
                self.fail(now_s, a.unit, dict(a.gpus), f"one node with at most {job.gpus} GPUs (a copy)")
        elif a.kind == "profile":
            if not 1 <= total <= max(job.sizes):
                self.fail(now_s, a.unit, f"{total} GPUs", f"1 to {max(job.sizes)} GPUs to profile")
        elif total not in job.sizes:
            self.fail(now_s, a.unit, f"{total} GPUs", f"its gang, {' or '.join(map(str, job.sizes))} GPUs")


def _is_unit(unit: object) -> bool:
    """Whether a value has the shape of a unit."""
    if isinstance(unit, str):
        return True
    if not isinstance(unit, tuple) or len(unit) != 2 or not isinstance(unit[0], str):
        return False
    return isinstance(unit[1], (str, int, np.integer)) and not isinstance(unit[1], bool)


def _is_count(value: object) -> bool:
    """Whether a value is a whole number of at least 1, Python's or numpy's."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 1)
