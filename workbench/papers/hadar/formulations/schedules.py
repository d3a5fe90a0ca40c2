r"""P2: every feasible schedule of a job is listed, and at most one of each job chosen (Hadar, section III-B).

max   sum_j sum_{s in S_j} U_js y_js                                    (2)   total_utility
s.t.  sum_j sum_{s in S_j} w_jsrt y_js <= c_r      for all r, t         (2a)  capacity
      sum_{s in S_j} y_js <= 1                     for all j            (2b)  one_schedule
      0 <= y_js <= 1, y_js integer if not relaxed  for all j, s in S_j  (2c)  choose

A schedule s says on how many GPUs of which types a job runs in each slot, from its arrival until its work is done; it
keeps (1a) to (1c), the gang and the arrival (1e) by itself, and U_js is its utility. So P2 has the optimum of P1 where
no job has to complete. There are exponentially many schedules: this is for a classroom. With knob `relaxed` it is the
linear programme, whose dual is P3 (`dual`).

(ours): a schedule from which a slot can be left out, with the work still done, is not listed. Without that slot it
completes no later, so it is worth no less, and takes no GPU that it did not take before: whatever the prices, and also
in the linear programme, nothing is lost. Machines are added up by type, as in P1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError
from workbench.papers.hadar.algorithms.find_alloc import splits
from workbench.papers.hadar.formulations.offline import TOLERANCE, SlotPlan, nothing
from workbench.papers.hadar.instance import ROUNDING, HadarInstance
from workbench.papers.hadar.knobs import SLOT_S, SLOTS, UTILITY
from workbench.scheduling.contract import Formulation, Knobs, Result
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import pyo
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import SolverFailedError

NAME = "hadar.schedules"
SLOT_S = replace(
    SLOT_S,
    default=720.0,
    source="ours",
    help=SLOT_S.help + "; longer than elsewhere, since the number of schedules grows with every slot",
)
MOST_SCHEDULES = 20_000
"""To list at most, of all jobs together; more are an error."""
RELAXED = Knob(
    "relaxed",
    False,
    "Let parts of schedules be chosen: the linear problem, whose optimum is that of P3",
    source="paper",
    main=True,
)
KNOBS = (SLOT_S, SLOTS, UTILITY)


class JobSchedule(NamedTuple):
    """One schedule of a job: the slots it runs in, rising, and GPUs by type in each of them. The last one completes it.

    job: its position.
    """

    job: int
    slots: tuple[int, ...]
    gpus: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class ScheduleInstance:
    """An instance and the schedules of its jobs, job by job."""

    instance: HadarInstance
    schedules: tuple[JobSchedule, ...]

    @cached_property
    def utility(self) -> FloatArray:
        """(schedules,) U_js."""
        rows = [schedule.job for schedule in self.schedules]
        ends = [schedule.slots[-1] for schedule in self.schedules]
        return self.instance.utility[rows, ends]

    @cached_property
    def keys(self) -> tuple[tuple[str, int], ...]:
        """Job and number, from 0, of each schedule."""
        counts: dict[int, Iterator[int]] = {}
        return tuple(
            (self.instance.jobs[one.job], next(counts.setdefault(one.job, itertools.count()))) for one in self.schedules
        )

    def cost(self, price: FloatArray) -> FloatArray:
        """(schedules,) what the GPUs of a schedule cost at (types x slots) prices."""
        return np.array([self._cost(one, price) for one in self.schedules], dtype=float)

    @staticmethod
    def _cost(one: JobSchedule, price: FloatArray) -> float:
        return float(sum(np.dot(price[:, t], gpus) for t, gpus in zip(one.slots, one.gpus, strict=True)))


def enumerate_schedules(data: HadarInstance, most: int = MOST_SCHEDULES) -> ScheduleInstance:
    """Every schedule of every job from which no slot can be left out.

    Raises InputError that names the job with which there are more than `most`.
    """
    found: list[JobSchedule] = []
    for row in range(len(data.jobs)):
        for schedule in _of_job(data, row):
            if len(found) == most:
                where = f"{NAME}, schedules"
                expected = f"at most {most} schedules: fewer jobs, types or slots, or longer slots"
                raise InputError(where, f"more by job {data.jobs[row]}", expected)
            found.append(schedule)
    return ScheduleInstance(data, tuple(found))


def gangs(data: HadarInstance, row: int) -> list[tuple[tuple[int, ...], float]]:
    """The ways to place a job's whole gang on types where it runs: GPUs by type, and steps in a slot."""
    most = np.where(data.rate[row] > 0, np.minimum(data.capacity, data.gang[row]), 0).tolist()
    found = []
    for gpus in splits(int(data.gang[row]), most):
        found.append((gpus, float(data.rate[row][np.array(gpus) > 0].min())))
    return found


def _of_job(data: HadarInstance, row: int) -> Iterator[JobSchedule]:
    """The schedules of one job, slot by slot."""
    ways, best = gangs(data, row), float(data.best_rate[row])
    need = float(data.work[row]) * (1 - ROUNDING)

    def extend(
        slots: tuple[int, ...], held: tuple[tuple[int, ...], ...], done: float, least: float
    ) -> Iterator[JobSchedule]:
        if done >= need:
            if done - least < need:  # else the slot with the least steps can be left out
                yield JobSchedule(row, slots, held)
            return
        for t in range(slots[-1] + 1 if slots else int(data.first[row]), data.slots):
            if done + (data.slots - t) * best < need:
                return
            for gpus, steps in ways:
                yield from extend((*slots, t), (*held, gpus), done + steps, min(least, steps))

    return extend((), (), 0.0, np.inf) if ways else iter(())


def lay_out(m: pyo.ConcreteModel, data: ScheduleInstance) -> dict[tuple[str, int], list[tuple[tuple[str, int], int]]]:
    """Sets and params of P2 and P3; returns the schedules, and GPUs they use, of each type and slot."""
    stated = data.instance
    used: dict[tuple[str, int], list[tuple[tuple[str, int], int]]] = {
        (r, t): [] for r in stated.types for t in range(stated.slots)
    }
    for key, one in zip(data.keys, data.schedules, strict=True):
        for t, gpus in zip(one.slots, one.gpus, strict=True):
            for r, count in zip(stated.types, gpus, strict=True):
                if count:
                    used[r, t].append((key, count))
    m.JOBS = pyo.Set(initialize=list(dict.fromkeys(job for job, _ in data.keys)), doc="j | jobs that have a schedule")
    m.TYPES = pyo.Set(initialize=stated.types, doc="r | accelerator types")
    m.SLOTS = pyo.Set(initialize=range(stated.slots), doc="t | time slots")
    m.SCHEDULES = pyo.Set(dimen=2, initialize=data.keys, doc="j,s | schedules of a job\nS_j | those of j | | SCHEDULES")
    m.held = {(*key, r, t): count for (r, t), users in used.items() for key, count in users}
    m.utility = pyo.Param(
        m.SCHEDULES,
        initialize=dict(zip(data.keys, data.utility.tolist(), strict=True)),
        doc=f"U_js | utility of a schedule, U_j(f_js - a_j) | {stated.unit}\n"
        "w_jsrt | GPUs of a type that a schedule holds in a slot | GPUs | held",
    )
    m.gpus = pyo.Param(
        m.TYPES, initialize=dict(zip(stated.types, stated.capacity.tolist(), strict=True)), doc="c_r | capacity | GPUs"
    )
    return used


def of_job(data: ScheduleInstance) -> dict[str, list[tuple[str, int]]]:
    """Keys of the schedules of each job that has any."""
    found: dict[str, list[tuple[str, int]]] = {}
    for key in data.keys:
        found.setdefault(key[0], []).append(key)
    return found


def build(data: ScheduleInstance, *, relaxed: bool = False) -> pyo.ConcreteModel:
    """Return the unsolved choice of schedules."""
    m = pyo.ConcreteModel("hadar_schedules")
    used, own = lay_out(m, data), of_job(data)
    m.choose = pyo.Var(
        m.SCHEDULES,
        domain=pyo.UnitInterval if relaxed else pyo.Binary,
        doc="(2c) y_js | whether a job runs by a schedule | 1",
    )

    @m.Objective(sense=pyo.maximize, doc="(2) the sum of the jobs' utilities")
    def total_utility(m):
        return pyo.quicksum(m.utility[key] * m.choose[key] for key in m.SCHEDULES)

    @m.Constraint(m.TYPES, m.SLOTS, doc="(2a) no more GPUs than there are")
    def capacity(m, r, t):
        if not used[r, t]:
            return pyo.Constraint.Skip
        return pyo.quicksum(count * m.choose[key] for key, count in used[r, t]) <= m.gpus[r]

    @m.Constraint(m.JOBS, doc="(2b) at most one schedule for each job")
    def one_schedule(m, job):
        return pyo.quicksum(m.choose[key] for key in own[job]) <= 1

    return m


def read_choice(model: pyo.ConcreteModel, data: ScheduleInstance) -> FloatArray:
    """(schedules,) y of a solved model, within 0 and 1; raises SolverFailedError if it breaks (2a) or (2b)."""
    chosen: FloatArray = np.clip(np.array([model.choose[key].value for key in data.keys], dtype=float), 0.0, 1.0)
    stated = data.instance
    used, once = np.zeros((stated.slots, len(stated.types))), np.zeros(len(stated.jobs))
    for part, one in zip(chosen.tolist(), data.schedules, strict=True):
        once[one.job] += part
        used[list(one.slots)] += part * np.array(one.gpus)
    if (used > stated.capacity + TOLERANCE * np.maximum(1, stated.capacity)).any() or (once > 1 + TOLERANCE).any():
        found = f"up to {used.max(axis=0).tolist()} GPUs and {once.max():g} schedules for one job"
        raise SolverFailedError(NAME, found, f"at most {stated.capacity.tolist()} GPUs and 1 schedule")
    return chosen


def plan_of(data: ScheduleInstance, chosen: FloatArray) -> SlotPlan:
    """The plan of whole schedules: those with y above one half."""
    stated = data.instance
    gpus = np.zeros((len(stated.jobs), stated.slots, len(stated.types)), dtype=np.int64)
    for at in np.flatnonzero(chosen > 0.5).tolist():
        one = data.schedules[at]
        gpus[one.job, list(one.slots)] += np.array(one.gpus)
    return SlotPlan(stated, gpus, NAME)


class HadarSchedules(Formulation[ScheduleInstance]):
    """The best choice of one schedule for each job."""

    name = NAME
    title = "Hadar: P2, one schedule for each job"
    offline = True
    knobs = (*KNOBS, RELAXED)
    reading = (
        "The objective is the sum of utility over the jobs. schedules is how many each job has; relaxed, chosen lists "
        "the parts of schedules; otherwise plan is the GPUs slot by slot, as in hadar.offline."
    )

    def data(self, snapshot: Snapshot, knobs: Knobs) -> ScheduleInstance:
        """All jobs, also those to come, in slots, and their schedules."""
        return enumerate_schedules(HadarInstance.from_snapshot(snapshot, knobs))

    def build(self, data: ScheduleInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        return build(data, relaxed=_relaxed(knobs))

    def read(self, model: pyo.ConcreteModel, data: ScheduleInstance, knobs: Knobs) -> Result:
        """The chosen schedules, their limits checked."""
        chosen = read_choice(model, data)
        found = _parts(data, chosen) if _relaxed(knobs) else plan_of(data, chosen).result()
        return replace(found, values={**found.values, "schedules": _counts(data)})

    def trivial(self, data: ScheduleInstance, knobs: Knobs) -> Result | None:
        """No job has a schedule: nothing to choose."""
        if data.schedules:
            return None
        found = _parts(data, np.zeros(0)) if _relaxed(knobs) else nothing(data.instance, NAME).result()
        return replace(found, values={**found.values, "schedules": _counts(data)})


def _relaxed(knobs: Knobs) -> bool:
    return bool(knobs.get("relaxed", RELAXED.default))


def _counts(data: ScheduleInstance) -> dict[str, int]:
    own = of_job(data)
    return {job: len(own.get(job, ())) for job in data.instance.jobs}


def _parts(data: ScheduleInstance, chosen: FloatArray) -> Result:
    """Parts of schedules: utility and part served of each job, shares of time, and the schedules that have a part."""
    stated = data.instance
    served, earned = np.zeros(len(stated.jobs)), np.zeros(len(stated.jobs))
    share = np.zeros((len(stated.jobs), len(stated.types)))
    listed: list[dict[str, Any]] = []
    for part, utility, one in zip(chosen.tolist(), data.utility.tolist(), data.schedules, strict=True):
        served[one.job] += part
        earned[one.job] += part * utility
        share[one.job] += part * np.sum(one.gpus, axis=0) / (stated.gang[one.job] * stated.slots)
        if part > TOLERANCE:
            listed.append({"job": stated.jobs[one.job], "part": part, **as_row(stated, one)})
    values = {
        "utility": dict(zip(stated.jobs, earned.tolist(), strict=True)),
        "served": dict(zip(stated.jobs, served.tolist(), strict=True)),
        "allocation": {
            job: dict(zip(stated.types, row, strict=True)) for job, row in zip(stated.jobs, share.tolist(), strict=True)
        },
        "chosen": listed,
    }
    return Result("feasible", float(earned.sum()), "max", stated.unit, values)


def as_row(stated: HadarInstance, one: JobSchedule) -> dict[str, Any]:
    """A schedule for a table: the slot that completes the job, and GPUs by type in each of its slots."""
    gpus = [dict(zip(stated.types, held, strict=True)) for held in one.gpus]
    kept = [{kind: count for kind, count in held.items() if count} for held in gpus]
    return {"completes_in_slot": one.slots[-1], "gpus": dict(zip(map(str, one.slots), kept, strict=True))}
