r"""P1: the plan of all slots that is worth most (Hadar, section III-A), with jobs to come known ahead.

max   sum_j sum_t U_jt f_jt                                                            (1)     total_utility
s.t.  sum_{k<=t} sum_b X_jb / EN_j z_jkb >= F_jt          for all j, t in T_j          (1a)    work_done
      w_jtr <= min(W_j, c_r) sum_{b: X_jb <= X_jr} z_jtb  for all j, t, r              (1b)    slowest_type
      F_jt = F_{j,t-1} + f_jt                             for all j, t in T_j          (1c)    counts
      sum_b z_jtb <= sum_{k>=t} f_jk                      for all j, t in T_j          (1c)    runs_until_completion
      f_jt <= sum_b z_jtb                                 for all j, t in T_j          (1c)    runs_in_last_slot
      sum_t f_jt <= 1, = if j in R                        for all j                    (2b)    completes_once
      sum_j w_jtr <= c_r                                  for all r, t                 (1d)    capacity
      sum_r w_jtr = W_j sum_b z_jtb                       for all j, t in T_j          (1e)    whole_gang
      sum_{t < max(0, a_j) + n_j - 1} f_jt = 0            for all j if cuts            (ours)  not_too_early
      sum_{k<=t} sum_b z_jkb >= n_j F_jt                  for all j, t in T_j if cuts  (ours)  enough_slots
      z_jtb in {0, 1}                                     for all j, t, b              (1b)    run
      0 <= f_jt <= 1                                      for all j, t in T_j          (1c)    complete
      F_jt in {0, 1}                                      for all j, t in T_j          (1c)    completed
      0 <= w_jtr integer                                  for all j, t, r              (1d)    held

The paper's minimum over the types in use (1b) and maximum over the slots in use (1c) are made linear: `z_jtb` chooses
the slowest type of a job in a slot, `f_jt` the slot in which it completes, so that any utility of the completion time
is a column of numbers. `F_jt` says whether it has completed by then; since it is whole, so is `f_jt` (solvers branch
better on it). Machines are added up by type, since no row depends on the machine. A gang may mix types. There are no
variables before a job's arrival (1e) or for slowest types with too few GPUs that are as fast. Of equally fast types the
first stands for all as the slowest. JCT runs to the end of the last slot, at least 1 slot. The copy at hand labels the
arrival (1e); the label of the gang, the row before it, is not readable there, and it stands under (1e) here too.

(erratum) (1a) is printed with the work E_j N_j on the right, and as an equality; slots are whole, so that a job may do
more than its work in the last one. As printed, every job has to complete; P2 may leave jobs out (2b), worth 0. Knob
`require_all` makes (2b) an equality.

(ours): two cuts (knob `cuts`), which no plan in whole numbers breaks: n_j, the work over the best rate rounded up, is
the least number of slots that a job needs. Without them the linear relaxation lets a job complete by a part a slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from workbench.base.arrays import FloatArray, IntArray, fixed
from workbench.base.errors import InputError
from workbench.papers.hadar.instance import HadarInstance, speed_of
from workbench.papers.hadar.knobs import SLOT_KNOBS
from workbench.scheduling.contract import Formulation, Knobs, Result
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import pyo
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import InfeasibleError, Solver, SolverFailedError

NAME = "hadar.offline"
REQUIRE_ALL = Knob(
    "require_all",
    False,
    "Every job has to complete within the slots (otherwise one that does not is worth 0)",
    source="paper",
    main=True,
)
CUTS = Knob(
    "cuts",
    True,
    "Add the rows that tighten the linear relaxation (ours): no job completes in fewer slots than it needs alone; "
    "off: as printed",
)
JOBS = """j | jobs that can complete within the slots
R | jobs that have to: all or none | | required"""
PRESENT = """j,t | slots from the arrival
T_j | those of job j | | PRESENT"""
MOST_VARIABLES = 200_000
"""A larger model would take longer to make than anyone waits for, and longer still to solve."""


def build(data: HadarInstance, *, cuts: bool = True, require_all: bool = False) -> pyo.ConcreteModel:
    """Return the unsolved mixed-integer programme of the jobs that can complete.

    Raises InfeasibleError where all jobs have to complete and one cannot even alone, InputError for a model that would
    have more than `MOST_VARIABLES` variables.
    """
    check_all_fit(data, require_all)
    rows = np.flatnonzero(data.finishable).tolist()
    jobs = [data.jobs[row] for row in rows]
    slots = {data.jobs[row]: range(int(data.first[row]), data.slots) for row in rows}
    slowest = {data.jobs[row]: _slowest(data, row) for row in rows}
    held = {data.jobs[row]: _types(data, row) for row in rows}
    _check_size(data, sum(len(slots[job]) * (2 + len(slowest[job]) + len(held[job])) for job in jobs))

    m = pyo.ConcreteModel("hadar_offline")
    m.required = jobs if require_all else []
    m.JOBS = pyo.Set(
        initialize=jobs,
        doc=JOBS,
    )
    m.TYPES = pyo.Set(initialize=data.types, doc="r | accelerator types\nb | type that is a gang's slowest")
    m.SLOTS = pyo.Set(initialize=range(data.slots), doc="t | time slots\nk | another slot")
    m.PRESENT = pyo.Set(
        dimen=2,
        initialize=[(j, t) for j in jobs for t in slots[j]],
        doc=PRESENT,
    )
    m.RUNS = pyo.Set(
        dimen=3, initialize=[(j, t, b) for j, t in m.PRESENT for b in slowest[j]], doc="j,t,b | slots and slowest types"
    )
    m.HOLDS = pyo.Set(
        dimen=3,
        initialize=[(j, t, r) for j, t in m.PRESENT for r in held[j]],
        doc="j,t,r | slots and types of GPUs held",
    )

    _numbers(m, data, rows)
    m.run = pyo.Var(
        m.RUNS,
        domain=pyo.Binary,
        doc="(1b) z_jtb | whether a job runs in a slot with b its slowest type | 1\nz_jkb | the same of slot k | 1",
    )
    m.complete = pyo.Var(
        m.PRESENT,
        domain=pyo.UnitInterval,
        doc="(1c) f_jt | whether a job completes in a slot | 1\nf_jk | the same of slot k | 1",
    )
    m.completed = pyo.Var(
        m.PRESENT, domain=pyo.Binary, doc="(1c) F_jt | whether a job completes in a slot or before | 1"
    )
    m.held = pyo.Var(
        m.HOLDS, domain=pyo.NonNegativeIntegers, doc="(1d) w_jtr | GPUs of a job on a type in a slot | GPUs"
    )

    def runs(job, t):
        return pyo.quicksum(m.run[job, t, b] for b in slowest[job])

    @m.Objective(sense=pyo.maximize, doc="(1) the sum of the jobs' utilities")
    def total_utility(m):
        return pyo.quicksum(m.utility[job, t] * m.complete[job, t] for job, t in m.PRESENT)

    @m.Constraint(m.PRESENT, doc="(1a) a job that has completed has done its work, as parts of the work")
    def work_done(m, job, t):
        parts = {b: m.rate[job, b] / m.work[job] for b in slowest[job]}
        done = pyo.quicksum(parts[b] * m.run[job, k, b] for k in slots[job] if k <= t for b in slowest[job])
        return done >= m.completed[job, t]

    @m.Constraint(m.HOLDS, doc="(1b) GPUs are on types that are no slower than the slowest")
    def slowest_type(m, job, t, r):
        slower = [m.run[job, t, b] for b in slowest[job] if m.rate[job, b] <= m.rate[job, r]]
        return m.held[job, t, r] <= min(m.gang[job], m.gpus[r]) * pyo.quicksum(slower)

    @m.Constraint(m.PRESENT, doc="(1c) a job has completed if it completes then or before")
    def counts(m, job, t):
        before = m.completed[job, t - 1] if t > slots[job][0] else 0
        return m.completed[job, t] == before + m.complete[job, t]

    @m.Constraint(m.PRESENT, doc="(1c) a job runs no later than in the slot in which it completes")
    def runs_until_completion(m, job, t):
        return runs(job, t) <= pyo.quicksum(m.complete[job, k] for k in slots[job] if k >= t)

    @m.Constraint(m.PRESENT, doc="(1c) a job runs in the slot in which it completes")
    def runs_in_last_slot(m, job, t):
        return m.complete[job, t] <= runs(job, t)

    @m.Constraint(m.JOBS, doc="(2b) a job completes once, or not at all")
    def completes_once(m, job):
        once = pyo.quicksum(m.complete[job, t] for t in slots[job])
        return once == 1 if job in m.required else once <= 1

    users: dict[tuple[str, int], list[str]] = {(r, t): [] for r in data.types for t in range(data.slots)}
    for job, t, r in m.HOLDS:
        users[r, t].append(job)

    @m.Constraint(m.TYPES, m.SLOTS, doc="(1d) no more GPUs than there are")
    def capacity(m, r, t):
        if not users[r, t]:
            return pyo.Constraint.Skip
        return pyo.quicksum(m.held[job, t, r] for job in users[r, t]) <= m.gpus[r]

    @m.Constraint(m.PRESENT, doc="(1e) a gang runs whole or not at all")
    def whole_gang(m, job, t):
        return pyo.quicksum(m.held[job, t, r] for r in held[job]) == m.gang[job] * runs(job, t)

    _cuts(m, slots, slowest, cuts)
    return m


def _numbers(m: pyo.ConcreteModel, data: HadarInstance, rows: Sequence[int]) -> None:
    """What is given: utilities, speeds, work, gangs and capacities of the jobs in these rows of the data."""

    def column(values: IntArray | FloatArray) -> dict[str, float]:
        return {data.jobs[row]: values[row].item() for row in rows}

    at = {data.jobs[row]: row for row in rows}
    m.utility = pyo.Param(
        m.PRESENT,
        initialize={(job, t): float(data.utility[at[job], t]) for job, t in m.PRESENT},
        doc=f"U_jt | utility of completing in a slot, U_j(t + 1 - a_j) | {data.unit}",
    )
    rate = {(data.jobs[row], kind): float(data.rate[row, i]) for row in rows for i, kind in enumerate(data.types)}
    m.rate = pyo.Param(
        m.JOBS,
        m.TYPES,
        initialize=rate,
        doc="X_jb | steps of the gang in a slot if the type is its slowest | steps\nX_jr | the same of r | steps",
    )
    m.work = pyo.Param(
        m.JOBS,
        initialize=column(data.work),
        doc="EN_j | work of a job: epochs E_j times iterations N_j of one | steps",
    )
    m.gang = pyo.Param(m.JOBS, initialize=column(data.gang), doc="W_j | GPUs of the gang | GPUs")
    m.arrival = pyo.Param(m.JOBS, domain=pyo.Integers, initialize=column(data.arrival), doc="a_j | arrival | slot")
    m.least_slots = pyo.Param(m.JOBS, initialize=column(data.least_slots), doc="n_j | slots needed alone | slots")
    m.gpus = pyo.Param(
        m.TYPES, initialize=dict(zip(data.types, data.capacity.tolist(), strict=True)), doc="c_r | capacity | GPUs"
    )


def _cuts(m: pyo.ConcreteModel, slots: Mapping[str, range], slowest: Mapping[str, list[str]], cuts: bool) -> None:
    """The rows that are ours: they cut off no plan, and none is there without the knob `cuts`."""

    @m.Constraint(m.JOBS, doc="(ours) a job does not complete before it can have had the slots it needs")
    def not_too_early(m, job):
        early = slots[job][: m.least_slots[job] - 1]
        too_early = pyo.quicksum(m.complete[job, t] for t in early)
        return too_early == 0 if cuts and len(early) else pyo.Constraint.Skip

    @m.Constraint(m.PRESENT, doc="(ours) a job that has completed has had the slots it needs")
    def enough_slots(m, job, t):
        if not cuts:
            return pyo.Constraint.Skip
        had = pyo.quicksum(m.run[job, k, b] for k in slots[job] if k <= t for b in slowest[job])
        return had >= m.least_slots[job] * m.completed[job, t]


def check_all_fit(data: HadarInstance, require_all: bool) -> None:
    """Raise InfeasibleError if all jobs have to complete and one would not even alone."""
    if require_all and not data.finishable.all():
        row = int(np.flatnonzero(~data.finishable)[0])
        raise InfeasibleError(NAME, f"job {data.jobs[row]} cannot complete: {data.why_not(row)}")


def _check_size(data: HadarInstance, variables: int) -> None:
    if variables > MOST_VARIABLES:
        found = f"{variables} variables for {len(data.jobs)} jobs in {data.slots} slots"
        raise InputError(NAME, found, f"at most {MOST_VARIABLES}: fewer jobs, fewer slots, or longer ones")


def _slowest(data: HadarInstance, row: int) -> list[str]:
    """Types that can be a job's slowest, the first of equally fast ones."""
    kinds: Mapping[float, int] = {
        float(data.rate[row, kind]): int(kind) for kind in reversed(np.flatnonzero(data.usable[row]).tolist())
    }
    return [data.types[kind] for kind in sorted(kinds.values())]


def _types(data: HadarInstance, row: int) -> list[str]:
    """Types on which a job can have GPUs."""
    least = data.rate[row][data.usable[row]].min()
    return [kind for i, kind in enumerate(data.types) if data.rate[row, i] >= least and data.capacity[i] > 0]


def read_plan(model: pyo.ConcreteModel, data: HadarInstance) -> SlotPlan:
    """The plan of a solved model, its limits checked; raises SolverFailedError also if it is worth less than stated."""
    at = {name: row for row, name in enumerate(data.jobs)}
    kinds = {name: column for column, name in enumerate(data.types)}
    gpus = np.zeros((len(data.jobs), data.slots, len(data.types)), dtype=np.int64)
    for job, t, r in model.held:
        gpus[at[job], t, kinds[r]] = round(model.held[job, t, r].value)
    plan = SlotPlan(data, gpus, NAME)
    stated = pyo.value(model.total_utility)
    if plan.objective < stated - 1e-5 * max(1.0, abs(stated)):
        raise SolverFailedError(NAME, f"a plan worth {plan.objective:g}", f"the {stated:g} of its objective")
    return plan.trimmed


class Offline(Formulation[HadarInstance]):
    """The best plan of all slots, known ahead."""

    name = NAME
    title = "Hadar: P1, the best plan of all slots"
    offline = True
    knobs = (*SLOT_KNOBS, REQUIRE_ALL, CUTS)
    reading = (
        "The objective is the sum of utility over the jobs; completion_s is the end of the slot in which a job "
        "completes. allocation is the part of all slots that a gang spends on a type, choices its GPUs in its first "
        "slot (null: not served), plan its GPUs slot by slot."
    )

    def data(self, snapshot: Snapshot, knobs: Knobs) -> HadarInstance:
        """All jobs, also those to come, in slots."""
        return HadarInstance.from_snapshot(snapshot, knobs)

    def build(self, data: HadarInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        return build(data, **{knob.name: bool(knobs.get(knob.name, knob.default)) for knob in (CUTS, REQUIRE_ALL)})

    def read(self, model: pyo.ConcreteModel, data: HadarInstance, knobs: Knobs) -> Result:
        """Completions, utilities and the plan, its limits checked."""
        return read_plan(model, data).result()

    def trivial(self, data: HadarInstance, knobs: Knobs) -> Result | None:
        """Nobody can complete: nothing to plan. Raises InfeasibleError if all jobs have to."""
        check_all_fit(data, bool(knobs.get("require_all", REQUIRE_ALL.default)))
        return None if data.finishable.any() else nothing(data, NAME).result()

    def run(self, data: HadarInstance, knobs: Knobs, solver: Solver | None = None) -> Result:
        """Build, solve, read; says how many slots were too few where not all jobs can complete."""
        try:
            return super().run(data, knobs, solver)
        except InfeasibleError as error:
            if "cannot complete" in str(error.value):
                raise
            raise InfeasibleError(NAME, f"the jobs cannot all complete in {data.slots} slots") from error


TOLERANCE = 2e-6
"""Part of a job's work that may be missing when it counts as done: solvers keep rows to 1e-6."""


@dataclass(frozen=True, eq=False)
class SlotPlan:
    """gpus: (jobs x slots x types) w_jr(t), GPUs held.

    Raises SolverFailedError, in the name of `owner`, for a plan that breaks a limit of P1: capacity (1d), a gang that
    is neither whole nor absent (1e), a slot before the arrival (1e), a type on which the job cannot run.
    """

    instance: HadarInstance
    gpus: IntArray
    owner: str = "P1"

    def __post_init__(self) -> None:
        data, gpus = self.instance, np.array(self.gpus, dtype=np.int64)
        gpus = fixed(gpus.reshape(len(data.jobs), data.slots, len(data.types)))
        object.__setattr__(self, "gpus", gpus)
        used = gpus.sum(axis=0)
        if (gpus < 0).any() or (used > data.capacity).any():
            self._fail(used.max(axis=0).tolist(), f"at most {data.capacity.tolist()} GPUs of each type in a slot")
        held = gpus.sum(axis=2)
        if ((held != 0) & (held != data.gang[:, None])).any():
            row = int(np.argwhere((held != 0) & (held != data.gang[:, None]))[0][0])
            self._fail(sorted(set(held[row].tolist())), f"0 or {data.gang[row]} GPUs for job {data.jobs[row]}")
        early = (np.arange(data.slots) < data.arrival[:, None]) & (held > 0)
        if early.any():
            self._fail(
                int(np.argwhere(early)[0][1]), f"no slot before job {data.jobs[np.argwhere(early)[0][0]]} is there"
            )
        if ((gpus > 0) & (data.rate <= 0)[:, None, :]).any():
            self._fail("GPUs on which a job cannot run", "types with a rate above 0")

    def _fail(self, found: Any, expected: str) -> None:
        raise SolverFailedError(self.owner, found, expected)

    @cached_property
    def speed(self) -> FloatArray:
        """(jobs x slots) steps done: x_j(t) L, the rate of the slowest type held (1b)."""
        return np.stack([speed_of(self.instance, self.gpus[:, t]) for t in range(self.instance.slots)], axis=1)

    @cached_property
    def done(self) -> IntArray:
        """(jobs,) slot in which the work is complete, -1 for a job that never is."""
        enough = np.cumsum(self.speed, axis=1) >= (self.instance.work * (1 - TOLERANCE))[:, None]
        return np.where(enough.any(axis=1), enough.argmax(axis=1), -1)

    @cached_property
    def trimmed(self) -> SlotPlan:
        """The plan without the slots after completion and those of jobs that never complete (1c)."""
        kept = np.arange(self.instance.slots) <= self.done[:, None]
        return SlotPlan(self.instance, np.where(kept[:, :, None], self.gpus, 0), self.owner)

    @cached_property
    def earned(self) -> FloatArray:
        """(jobs,) utility of each job, 0 for one that never completes."""
        rows = np.arange(len(self.done))
        return np.where(self.done >= 0, self.instance.utility[rows, self.done], 0.0)

    @property
    def objective(self) -> float:
        """The sum of the utilities."""
        return float(self.earned.sum())

    def result(self) -> Result:
        """What a formulation reports: see `values`."""
        return Result("feasible", self.objective, "max", self.instance.unit, self.values())

    def values(self) -> dict[str, Any]:
        """JSON-able: by job completion, JCT, utility, share of the GPU time of T slots by type; the plan by slot.

        completion_s: end of the finishing slot, None if never; choices: GPUs by type in the job's first slot, None for
        a job that is not served; plan: `{"job", "slot", "start_s", "end_s", "gpus": {type: GPUs}, "steps"}` for each
        slot that a job runs in; cannot_finish: why, for jobs that would not complete even alone.
        """
        data, gpus = self.instance, self.trimmed.gpus
        held = {name: np.flatnonzero(gpus[row].sum(axis=1)) for row, name in enumerate(data.jobs)}
        ends = {name: int(slot) if slot >= 0 else None for name, slot in zip(data.jobs, self.done, strict=True)}
        share = gpus.sum(axis=1) / (data.gang * data.slots)[:, None]
        found: dict[str, Any] = {
            "completion_s": {
                name: None if slot is None else data.start_s + (slot + 1) * data.slot_s for name, slot in ends.items()
            },
            "jct_slots": {
                name: None if slot is None else slot + 1 - int(data.arrival[row])
                for row, (name, slot) in enumerate(ends.items())
            },
            "utility": dict(zip(data.jobs, self.earned.tolist(), strict=True)),
            "allocation": {
                name: dict(zip(data.types, share[row].tolist(), strict=True)) for row, name in enumerate(data.jobs)
            },
            "choices": {
                name: self._gpus(row, int(held[name][0])) if len(held[name]) else None
                for row, name in enumerate(data.jobs)
            },
            "plan": [
                {
                    "job": name,
                    "slot": slot,
                    "start_s": data.start_s + slot * data.slot_s,
                    "end_s": data.start_s + (slot + 1) * data.slot_s,
                    "gpus": self._gpus(row, slot),
                    "steps": float(self.speed[row, slot]),
                }
                for row, name in enumerate(data.jobs)
                for slot in held[name].tolist()
            ],
        }
        stuck = {data.jobs[row]: data.why_not(row) for row in np.flatnonzero(~data.finishable).tolist()}
        return {**found, "cannot_finish": stuck} if stuck else found

    def _gpus(self, row: int, slot: int) -> dict[str, int]:
        held = zip(self.instance.types, self.gpus[row, slot].tolist(), strict=True)
        return {kind: count for kind, count in held if count}


def nothing(instance: HadarInstance, owner: str = "P1") -> SlotPlan:
    """The plan in which no job runs."""
    gpus = np.zeros((len(instance.jobs), instance.slots, len(instance.types)), dtype=np.int64)
    return SlotPlan(instance, gpus, owner)
