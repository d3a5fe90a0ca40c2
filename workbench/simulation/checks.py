"""The limits a decision must keep. Nothing is repaired: the first one broken raises InvalidDecision."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import Any, NoReturn, get_args

import numpy as np

from workbench.decision import (
    Assignment,
    Decision,
    InvalidDecision,
    Kind,
    Reason,
    Shares,
    Slot,
    Solution,
    Switching,
    Task,
    Unit,
    Verdict,
    is_copy,
    members,
    unit_name,
)
from workbench.errors import Words, counted
from workbench.job import Job
from workbench.scenario import Scenario

UNIT = "a job, a copy (job, number) or a pair (job, job)"

KINDS, VERDICTS = get_args(Kind), get_args(Verdict)

PARTS: tuple[tuple[str, tuple[type, ...], str], ...] = (
    ("assign", (tuple, list), "a tuple of Assignment"),
    ("preempt", (frozenset, Set), "a set of units"),
    ("sequences", (type(None), Mapping), "{Slot: tuple of Task}, or None"),
    ("switching", (type(None), Switching), "a Switching, or None"),
    ("verdicts", (dict, Mapping), "{job: verdict}"),
    ("shares", (Shares, type(None)), "Shares, or None"),
    ("signals", (dict, Mapping), "{signal: {job: value}}"),
    ("solution", (Solution, type(None)), "a Solution, or None"),
    ("why", (dict, Mapping), "{job: Reason}"),
)
"""Parts of a decision, and what each is: the usual class first, about abstract ones Python takes long to tell."""


class Checker:
    """Checks of the decisions of one scheduler on one scenario."""

    def __init__(self, scenario: Scenario, scheduler: str) -> None:
        self._scheduler = scheduler
        self._sharing = scenario.core.space_sharing
        self._sizes = {node.name: node.gpus for node in scenario.cluster.machines}

    def fail(self, now_s: float, unit: Unit | None, value: object, limit: str) -> NoReturn:
        """Raise InvalidDecision for this scheduler."""
        raise InvalidDecision(self._scheduler, now_s, unit, value, limit)

    def answer(self, answer: Any, now_s: float) -> tuple[Decision, Any]:
        """What `decide` returned: a decision and the scheduler's memory."""
        if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[0], Decision):
            self.fail(now_s, None, answer, "a pair (Decision, memory)")
        return answer[0], answer[1]

    def types(self, decision: Decision, now_s: float) -> None:
        """Every part of a decision is of its declared type."""
        for name, kinds, expected in PARTS:
            if not isinstance(getattr(decision, name), kinds):
                self.fail(now_s, None, f"{name}={getattr(decision, name)!r}", expected)
        for a in decision.assign:
            if not _is_usual(a):
                self._types_of(a, now_s)
        for unit in decision.preempt:
            if not _is_unit(unit):
                self.fail(now_s, None, unit, UNIT)
        for slot, tasks in (decision.sequences or {}).items():
            if not isinstance(slot, Slot):
                self.fail(now_s, None, slot, "a Slot")
            if not isinstance(tasks, (tuple, list)):
                self.fail(now_s, None, f"{tasks!r} on {slot}", "a tuple of Task")
            for task in tasks:
                whole = isinstance(task, Task) and all(map(_is_whole, task[1:4]))
                if not whole or not (task.width is None or _is_whole(task.width)):
                    self.fail(now_s, None, task, "a Task(job, round, number, steps, together, width)")
        for reason in decision.why.values():
            if not isinstance(reason, Reason):
                self.fail(now_s, None, f"why {reason!r}", "a Reason")
        for values in decision.signals.values():
            if not isinstance(values, Mapping):
                self.fail(now_s, None, f"signals {values!r}", "{signal: {job: value}}")
        if decision.next_s is not None and not _is_number(decision.next_s):
            self.fail(now_s, None, f"next_s {decision.next_s!r}", "a time after now, or None")

    def _types_of(self, a: Any, now_s: float) -> None:
        if not isinstance(a, Assignment):
            self.fail(now_s, None, a, "an Assignment(unit, gpus, until_s)")
        if type(a.unit) is not str and not _is_unit(a.unit):
            self.fail(now_s, None, a.unit, UNIT)
        if type(a.gpus) is not dict and not isinstance(a.gpus, Mapping):
            self.fail(now_s, a.unit, f"gpus {a.gpus!r}", "{node: GPUs}")
        if not _is_number(a.until_s):
            self.fail(now_s, a.unit, f"until {a.until_s!r}", "a number of seconds, an end after now")
        if a.steps is not None and not _is_number(a.steps):
            self.fail(now_s, a.unit, f"steps {a.steps!r}", "a number >= 0, or None")
        if not _is_number(a.tail_s):
            self.fail(now_s, a.unit, f"tail_s {a.tail_s!r}", "a number of seconds")

    def shape(self, decision: Decision, now_s: float) -> None:
        """Each unit once, ends in the future, and sensible numbers."""
        self.types(decision, now_s)
        seen: set[Unit] = set()
        for a in decision.assign:
            if a.unit in seen:
                self.fail(now_s, a.unit, "two assignments", "each unit once")
            seen.add(a.unit)
            if not a.until_s > now_s:
                self.fail(now_s, a.unit, f"until {a.until_s:g} s", "an end after now")
        for name, verdict in decision.verdicts.items():
            if not isinstance(name, str):
                self.fail(now_s, None, name, "a job's name")
            if not isinstance(verdict, str) or verdict not in VERDICTS:
                self.fail(now_s, name, verdict, "a verdict, one of " + ", ".join(VERDICTS))
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
        if a.kind not in KINDS:
            self.fail(now_s, a.unit, a.kind, "kind run or profile")
        self.limits(a, now_s)
        self._gang(a, now_s, jobs)

    def limits(self, a: Assignment, now_s: float) -> None:
        """The steps and the tail of an assignment, new or renewed."""
        if a.steps is None and a.tail_s == 0.0 and type(a.unit) is str:
            return
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
                self.fail(now_s, a.unit, Words(counted(total, "GPU")), "the gang of both jobs")
        elif is_copy(a.unit):
            if len(a.gpus) != 1 or not 1 <= total <= job.gpus:
                self.fail(now_s, a.unit, dict(a.gpus), f"one node with at most {counted(job.gpus, 'GPU')} (a copy)")
        elif a.kind == "profile":
            if not 1 <= total <= max(job.sizes):
                most = counted(max(job.sizes), "GPU")
                self.fail(now_s, a.unit, Words(counted(total, "GPU")), f"at least 1 and at most {most} to profile")
        elif total not in job.sizes:
            self.fail(now_s, a.unit, Words(counted(total, "GPU")), f"its gang, {counted(job.sizes, 'GPU')}")


def _is_usual(a: Any) -> bool:
    """Whether an assignment is one as nearly all are, of a job without a cap: its types need no closer look."""
    return (
        type(a) is Assignment
        and type(a.unit) is str
        and type(a.gpus) is dict
        and type(a.until_s) is float
        and a.steps is None
        and type(a.tail_s) is float
    )


def _is_unit(unit: object) -> bool:
    """Whether a value has the shape of a unit."""
    if isinstance(unit, str):
        return True
    if not isinstance(unit, tuple) or len(unit) != 2 or not isinstance(unit[0], str):
        return False
    return isinstance(unit[1], (str, int, np.integer)) and not isinstance(unit[1], bool)


def _is_number(value: object) -> bool:
    """Whether a value is a number, Python's or numpy's."""
    return type(value) is float or (
        isinstance(value, (float, int, np.floating, np.integer)) and not isinstance(value, bool)
    )


def _is_whole(value: object) -> bool:
    """Whether a value is a whole number, Python's or numpy's."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    """Whether a value is a whole number of at least 1, Python's or numpy's."""
    if type(value) is int:
        return value >= 1
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 1)
