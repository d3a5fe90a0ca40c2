"""The limits a decision must keep. Nothing is repaired: the first one broken raises InvalidDecision."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from itertools import chain
from types import NoneType
from typing import Any, NoReturn, get_args

import numpy as np

from workbench.base.errors import Words, counted, one_of
from workbench.base.text import is_name, is_seen
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scenario.throughput import Placement
from workbench.scheduling.decision import (
    Assignment,
    Decision,
    FoundValue,
    InvalidDecision,
    Kind,
    PlacedType,
    Reason,
    Shares,
    Slot,
    Switch,
    Switching,
    Task,
    Unit,
    Verdict,
    is_copy,
    members,
    unit_name,
)
from workbench.scheduling.solvers.solve_report import MadeBy, SolveReport
from workbench.simulation.nodes import Nodes

UNIT = "a job, a copy (job, number) or a pair (job, job)"

KINDS, VERDICTS, PLACEMENTS, MAKERS = map(get_args, (Kind, Verdict, Placement, MadeBy))
NAME = "text of 1 to 200 characters, without control and bidirectional characters"
LINE = "text on one line, without control and bidirectional characters"
A_JOB = "the name of a job of the scenario"
MOST_REASONS = 10_000
"""So many reasons are known to be right; then all are looked at anew."""
ROUNDING = 1e-6
"""By how much a solver's share may lie outside 0 to 1."""

PARTS: tuple[tuple[str, tuple[type, ...], str], ...] = (
    ("preempt", (frozenset, Set), "a set of units"),
    ("sequences", (type(None), Mapping), "{Slot: tuple of Task}, or None"),
    ("switching", (type(None), Switching), "a Switching, or None"),
    ("verdicts", (dict, Mapping), "{job: verdict}"),
    ("shares", (Shares, type(None)), "Shares, or None"),
    ("signals", (dict, Mapping), "{signal: {job: value}}"),
    ("solved", (SolveReport, type(None)), "a SolveReport, or None"),
    ("why", (dict, Mapping), "{job: Reason}"),
)
"""Parts of a decision, and what each is."""
EXACT = 2**53
"""Up to here a float holds every whole number."""
USUAL_PARTS = (frozenset, NoneType, NoneType, dict, NoneType, dict, NoneType, dict)
USUAL_FIELDS = (str, dict, float, str, NoneType, float)
USUAL_TASK = (str, int, int, int, bool, NoneType)
"""What PARTS of a decision and the fields of an assignment and of a task nearly always are: they need no closer look.
"""


class Checker:
    """Checks of the decisions of one scheduler on one scenario; jobs: their names."""

    def __init__(self, scenario: Scenario, scheduler: str, jobs: Set[str]) -> None:
        self.scheduler = scheduler
        self._sharing = scenario.core.space_sharing
        self._jobs = jobs
        self._types = frozenset(scenario.cluster.types)
        self._shares: Shares | None = None  # the last that were found to be right, and
        self._reasons: dict[int, Reason] = {}  # some reasons that were, by id

    def fail(self, now_s: float, unit: Unit | None, value: object, limit: str) -> NoReturn:
        """Raise InvalidDecision for this scheduler."""
        raise InvalidDecision(self.scheduler, now_s, unit, value, limit)

    def answer(self, answer: Any, now_s: float) -> tuple[Decision, Any]:
        """What `decide` returned: a decision and the scheduler's memory."""
        if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[0], Decision):
            self.fail(now_s, None, answer, "a pair (Decision, memory)")
        return answer

    def _tasks(self, sequences: Mapping[Slot, tuple[Task, ...]], now_s: float) -> None:
        """Every part of sequences is of its declared type."""
        for slot, tasks in sequences.items():
            if not isinstance(slot, Slot):
                self.fail(now_s, None, slot, "a Slot")
            if not isinstance(tasks, (tuple, list)):
                self.fail(now_s, None, f"{tasks!r} on {slot}", "a tuple of Task")
        every = list(chain.from_iterable(sequences.values()))
        for task in every if not _are_usual(every) else ():
            whole = isinstance(task, Task) and all(map(_is_whole, task[1:4]))
            if not whole or not isinstance(task.job, str) or not (task.width is None or _is_whole(task.width)):
                self.fail(now_s, None, task, "a Task(job, round, number, steps, together, width)")
            if not isinstance(task.together, (bool, np.bool_)):
                self.fail(now_s, None, task, "together true or false")

    def _check_signals(self, signals: Mapping[str, Mapping[str, float]], now_s: float) -> None:
        def fail(where: str, value: object, limit: str) -> NoReturn:
            self.fail(now_s, None, FoundValue(where, value), limit)

        for signal, values in signals.items():
            if not is_name(signal):
                fail("the name of a signal,", signal, NAME)
            if not isinstance(values, Mapping):
                fail(f"signals[{signal!r}]", values, "{job: value}")
            if not set(values) <= self._jobs:
                job = next(job for job in values if job not in self._jobs)
                fail(f"a job of signals[{signal!r}],", job, A_JOB)
            if not set(map(type, values.values())) <= {float, np.float64}:
                for job, value in values.items():
                    if not _is_number(value):
                        fail(f"signals[{signal!r}][{job!r}]", value, "a number (NaN where there is none)")

    def recorded(self, decision: Decision, now_s: float) -> None:
        """What else is recorded and not executed: shares, the report and reasons."""

        def fail(where: str, value: object, limit: str) -> NoReturn:
            self.fail(now_s, None, FoundValue(where, value), limit)

        if decision.shares is not None and decision.shares is not self._shares:
            self._check_shares(decision.shares, fail)
            self._shares = decision.shares
        if decision.solved is not None:
            _check_report(decision.solved, fail)
        for job, reason in decision.why.items():
            if job not in self._jobs:
                fail("a job of why,", job, A_JOB)
            if self._reasons.get(id(reason)) is not reason or reason is None:
                _check_reason(f"why[{job!r}]", reason, fail)
                if len(self._reasons) > MOST_REASONS:
                    self._reasons.clear()
                self._reasons[id(reason)] = reason

    def _check_shares(self, shares: Shares, fail: Callable[[str, object, str], NoReturn]) -> None:
        for name, what in (("units", "a tuple of units"), ("types", "a tuple of types"), ("kinds", "() or a tuple")):
            if not isinstance(getattr(shares, name), (tuple, list)):
                fail(f"shares.{name}", getattr(shares, name), what)
        for unit in shares.units:
            known = type(unit) is str and unit in self._jobs
            if not known and (not _is_unit(unit) or not set(members(unit)) <= self._jobs):
                fail("shares.units:", unit, f"{UNIT} of the scenario")
        for accelerator in shares.types:
            if not is_name(accelerator) or (not shares.kinds and accelerator not in self._types):
                fail("shares.types:", accelerator, "the name of an accelerator type of the cluster")
        for kind in shares.kinds:
            right = isinstance(kind, PlacedType) and isinstance(kind.accelerator, str)
            word = kind.placement if right else None
            right = right and (word is None or (isinstance(word, str) and word in PLACEMENTS))
            if not right or kind.accelerator not in self._types:
                fail("shares.kinds:", kind, "PlacedType(accelerator type, placement or None)")
        if shares.kinds and len(shares.kinds) != len(shares.types):
            fail("shares.kinds", shares.kinds, f"one for each of its {len(shares.types)} types")
        values, size = shares.values, (len(shares.units), len(shares.types))
        if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu":
            fail("shares.values", values, "an array of numbers, units x types")
        if values.shape != size:
            fail("shares.values of shape", values.shape, f"{size[0]} units x {size[1]} types")
        wrong = ~((values >= -ROUNDING) & (values <= 1 + ROUNDING))
        if wrong.any():
            row, column = (int(found[0]) for found in np.nonzero(wrong))
            where = f"shares of {unit_name(shares.units[row])} on {shares.types[column]}:"
            fail(where, values[row, column].item(), "a share from 0 to 1")

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

    def shape(self, decision: Decision, now_s: float, *, in_detail: bool) -> None:
        """Parts of the declared types, each unit once, ends in the future, and sensible numbers; signals are looked at
        where they are recorded (in_detail)."""
        d = decision
        if tuple(map(type, d.__dict__.values()))[1:-2] != USUAL_PARTS:
            for name, kinds, expected in PARTS:
                if not isinstance(getattr(d, name), kinds):
                    self.fail(now_s, None, f"{name}={getattr(d, name)!r}", expected)
        seen: set[Unit] = set()
        for a in d.assign:
            if type(a) is not Assignment or tuple(map(type, a)) != USUAL_FIELDS:
                self._types_of(a, now_s)
            unit, gpus, until_s, _, _, _ = a
            for node, count in gpus.items():
                if (type(count) is not int or count < 1) and not _is_count(count):
                    self.fail(now_s, unit, f"{count!r} GPUs on {node!r}", "a whole number >= 1")
            if unit in seen:
                self.fail(now_s, unit, "two assignments", "each unit once")
            seen.add(unit)
            if not until_s > now_s:
                self.fail(now_s, unit, f"until {until_s:g} s", "an end after now")
        for unit in d.preempt:
            if type(unit) is not str and not _is_unit(unit):
                self.fail(now_s, None, unit, UNIT)
        if d.sequences:
            self._tasks(d.sequences, now_s)
        if in_detail and d.signals:
            self._check_signals(d.signals, now_s)
        if d.why or d.solved is not None or d.shares is not None:
            self.recorded(d, now_s)
        next_s, quiet_s = d.next_s, d.quiet_s
        if next_s is not None and type(next_s) is not float and not _is_number(next_s):
            self.fail(now_s, None, f"next_s {next_s!r}", "a time after now, or None")
        if (type(quiet_s) is not float and not _is_number(quiet_s)) or not quiet_s < math.inf:
            self.fail(now_s, None, f"quiet_s {quiet_s!r}", "a time, not infinity")
        for name, verdict in d.verdicts.items():
            if not isinstance(name, str):
                self.fail(now_s, None, name, "a job's name")
            if not isinstance(verdict, str) or verdict not in VERDICTS:
                self.fail(now_s, name, verdict, "a verdict, one of " + ", ".join(VERDICTS))
            if verdict == "refused" and any(name in members(unit) for unit in seen):
                self.fail(now_s, name, "refused and assigned", "no GPUs for a refused job")
        if next_s is not None and not next_s > now_s:
            self.fail(now_s, None, f"next_s {next_s:g}", "a time after now, or None")

    def new(self, a: Assignment, now_s: float, jobs: Sequence[Job], nodes: Nodes, left: dict[str, int]) -> None:
        """What a new assignment asks for, but for speed.

        left: what is free of nodes that others of the decision leave or take; this one is taken off.
        """
        unit, gpus, _, kind, steps, tail_s = a
        for node in gpus:
            if node not in nodes.at:
                self.fail(now_s, unit, node, "the name of a node")
        if not gpus:
            self.fail(now_s, unit, {}, "at least one GPU")
        plain = isinstance(unit, str) and isinstance(kind, str) and steps is None and tail_s == 0.0
        if not plain or kind != "run":  # as hardly ever
            if not isinstance(kind, str) or kind not in KINDS:
                self.fail(now_s, unit, kind, "kind run or profile")
            self.limits(a, now_s)
            self._gang(a, now_s, jobs)
        elif sum(gpus.values()) != jobs[0].gpus:
            self._gang(a, now_s, jobs)
        for node, count in gpus.items():
            i = nodes.at[node]
            if not nodes.all_up and not nodes.up[i]:
                self.fail(now_s, unit, node, "a node that is up")
            free = left[node] if node in left else nodes.idle[i]
            if count > free:
                asked = Words(f"{counted(int(count), 'GPU')} on {node}")
                self.fail(now_s, unit, asked, f"at most the {free} that are free")
            left[node] = free - count

    def limits(self, a: Assignment, now_s: float) -> None:
        """The steps and the tail of an assignment, new or renewed."""
        if a.steps is None and a.tail_s == 0.0 and type(a.unit) is str:
            return  # as nearly always
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


def _check_report(solved: SolveReport, fail: Callable[[str, object, str], NoReturn]) -> None:
    if not is_seen(solved.status):
        fail("solved.status", solved.status, LINE)
    for name in ("objective", "bound", "gap"):
        value = getattr(solved, name)
        if value is not None and not _is_number(value):
            fail(f"solved.{name}", value, "a number, or None")
    for name in ("build_s", "solve_s"):
        value = getattr(solved, name)
        if not _is_number(value) or not 0 <= value < math.inf:
            fail(f"solved.{name}", value, "a number of seconds >= 0")
    if not isinstance(solved.made_by, str) or solved.made_by not in MAKERS:
        fail("solved.made_by", solved.made_by, one_of(solved.made_by, MAKERS))


def _check_reason(where: str, reason: object, fail: Callable[[str, object, str], NoReturn]) -> None:
    if not isinstance(reason, Reason):
        fail(where, reason, "a Reason")
    for name, text in (("code", reason.code), ("text", reason.text)):
        if not is_seen(text):
            fail(f"{where}.{name}", text, LINE)
    if not isinstance(reason.facts, Mapping):
        fail(f"{where}.facts", reason.facts, "{name: number or text}")
    for name, value in reason.facts.items():
        if not is_seen(name):
            fail(f"{where}.facts, a name:", name, LINE)
        if not _is_number(value) and not is_seen(value):
            fail(f"{where}.facts[{name!r}]", value, f"a number, or {LINE}")


def is_switch(switch: object) -> bool:
    """Whether a value is a Switch of a number of seconds >= 0 with a reason on one line."""
    return (
        isinstance(switch, Switch)
        and _is_number(switch.switch_s)
        and 0 <= switch.switch_s < math.inf
        and is_seen(switch.reason)
    )


def _are_usual(tasks: Sequence[Any]) -> bool:
    """Whether all are tasks, with fields of the usual types and numbers that a float holds exactly."""
    if set(map(type, tasks)) != {Task} or set(map(len, tasks)) != {len(USUAL_TASK)}:
        return False
    columns = tuple(zip(*tasks, strict=True))
    if any(set(map(type, column)) != {usual} for column, usual in zip(columns, USUAL_TASK, strict=True)):
        return False
    return bool(max(map(max, columns[1:4])) <= EXACT and min(map(min, columns[1:4])) >= -EXACT)


def _is_unit(unit: object) -> bool:
    """Whether a value has the shape of a unit."""
    if isinstance(unit, str):
        return True
    if not isinstance(unit, tuple) or len(unit) != 2 or not isinstance(unit[0], str):
        return False
    return isinstance(unit[1], (str, int, np.integer)) and not isinstance(unit[1], bool)


def _is_number(value: object) -> bool:
    """Whether a value is a number that a float holds, Python's or numpy's."""
    if type(value) is float:
        return True
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return isinstance(value, (float, np.floating, np.integer))


def _is_whole(value: object) -> bool:
    """Whether a value is a whole number that a float holds exactly, Python's or numpy's."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(abs(int(value)) <= EXACT)


def _is_count(value: object) -> bool:
    """Whether a value is a whole number of at least 1, Python's or numpy's."""
    return isinstance(value, (int, np.integer)) and _is_whole(value) and bool(value >= 1)
