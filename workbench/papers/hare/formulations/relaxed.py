r"""`Hare_Sched_RL` (section 5.2): a bound, with the order of tasks on a GPU given up for what all orders obey.

min   sum_n w_n C_n                                                                          (§5.2)  weighted_completion
s.t.  x_i >= a_n                                              for all n, r in R_n, i in D_r  (4)     after_arrival
      sum_m y_im = 1                                          for all i                      (5)     one_gpu
      C_n >= x_i + sum_m y_im (T^c_im + T^s_im)               for all n, r in R_n, i in D_r  (6)     completion
      x_j >= x_i + sum_m y_im (T^c_im + T^s_im)               for all (i, j) in Q            (7)     barrier
      sum_i T^c_im (u_im + (T^c_im/2 - f_m) y_im) >= Q_m / 2  for all m                      (9)     late_enough
      Q_m >= 2 l_mp sum_i T^c_im y_im - l_mp l_mp             for all m, p                   (9)     square
      x_i = sum_m u_im                                        for all i                      (ours)  split
      u_im <= B y_im                                          for all i, m                   (ours)  start_where
      u_im >= e_im y_im                                       for all i, m                   (ours)  not_too_early
      0 <= x_i                                                for all i                      (4)     start
      0 <= y_im <= 1, y_im integer if whole                   for all i, m                   (5)     assign
      z_n <= C_n                                              for all n                      (6)     complete
      0 <= u_im                                               for all i, m                   (ours)  start_on
      0 <= Q_m                                                for all m                      (9)     squared

(9) is Queyranne's inequality: the ends of a GPU's tasks, weighted by their times, cannot all be small. Half the square
of each task's time stands on both sides of it and is taken off. It is quadratic in two ways. The products of start and
assignment become `u_im`, the start of a task where it runs and 0 elsewhere; the square of a GPU's whole time, which has
to be at least that much, becomes `Q_m`, at least as large as its tangents at the points `l_mp`. Both only make it
weaker, so that it stays a bound. The square of `y_im` is `y_im`.

With the knob `whole` off, tasks may be split over GPUs: a weaker bound, and a linear programme. Time counts from `f_m`,
the earliest start on a GPU, where the paper has 0. (ours) With the knob `cuts`, no start is earlier than `e_im`: the
GPU is free, and the rounds before are done as soon as the job could do them alone on all GPUs; without it only that the
GPU is free. `B` is a time by which some optimal schedule has ended. Times and weights are solved in units that suit
them (`Units`), as the squares of (9) would otherwise be beyond what a solver takes.

The bound of Lemma 2 in the paper, (10), uses (9) for prefixes of Algorithm 1's order and its own assignment. That does
not follow from (9) for all tasks and the relaxation's assignment, so that the ratio of Theorem 4 stays a claim.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError, Words
from workbench.papers.hare.formulations.task_formulation import (
    TASKS,
    TaskFormulation,
    add_rounds,
    bound_result,
    rounds_of,
    tasks_of,
    units_of,
)
from workbench.papers.hare.formulations.windows import windows
from workbench.papers.hare.instance import HareInstance, next_tasks
from workbench.papers.hare.knobs import CUTS, ROUND_KNOBS, TANGENTS, WHOLE
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.modelling import pyo
from workbench.scheduling.solvers import solve_model

NAME = "hare.relaxation"
MOST_PAIRS = 20_000
"""Pairs of task and GPU; a larger model takes longer to make than anyone waits for."""


def build(data: HareInstance, *, whole: bool = True, cuts: bool = True, tangents: int = 24) -> pyo.ConcreteModel:
    """Return the unsolved programme, mixed-integer if `whole`.

    Raises InputError for more than `MOST_PAIRS` pairs of task and GPU.
    """
    _check_size(data)
    window = windows(data)
    tasks, gpus = range(data.task_count), range(len(data.gpus))
    rounds, jobs = data.task_round.tolist(), data.task_job.tolist()
    where = {i: [g for g in gpus if data.runs[jobs[i], g]] for i in tasks}
    runs = [(i, g) for i in tasks for g in where[i]]
    on: dict[int, list[int]] = {g: [] for g in gpus}
    for i, g in runs:
        on[g].append(i)
    train = {(i, g): data.task_train_s(i, g) for i, g in runs}
    free = np.maximum(data.free_s, data.origin_s)
    points = {g: _points(sum(train[i, g] for i in on[g]), window.horizon_s - free[g], tangents) for g in gpus}

    m = pyo.ConcreteModel("hare_relaxation")
    m.rounds, m.tasks = rounds_of(data), tasks_of(data)
    m.soonest = {n: float(window.soonest_s[n]) if cuts else 0.0 for n in range(len(data.jobs))}
    m.JOBS = pyo.Set(initialize=range(len(data.jobs)), doc="n | jobs")
    m.GPUS = pyo.Set(initialize=[g for g in gpus if on[g]], doc="m | GPUs")
    m.TASKS = pyo.Set(initialize=tasks, doc=TASKS)
    m.POINTS = pyo.Set(initialize=range(tangents), doc="p | tangents of a square")
    m.RUNS = pyo.Set(dimen=2, initialize=runs, doc="i,m | tasks and the GPUs that can run them")
    m.NEXT = pyo.Set(
        dimen=2, initialize=next_tasks(data), doc="Q | pairs (i, j): tasks of a round and of its job's next one"
    )

    m.weight = pyo.Param(m.JOBS, initialize=dict(enumerate(data.weight.tolist())), doc="w_n | weight | 1")
    m.arrival = pyo.Param(m.JOBS, initialize=dict(enumerate(data.arrival_s.tolist())), doc="a_n | arrival | s")
    m.train = pyo.Param(m.RUNS, initialize=train, doc="T^c_im | training time | s")
    m.sync = pyo.Param(
        m.RUNS, initialize={(i, g): data.task_sync_s(i, g) for i, g in runs}, doc="T^s_im | synchronisation time | s"
    )
    m.free = pyo.Param(m.GPUS, initialize={g: float(free[g]) for g in m.GPUS}, doc="f_m | earliest start on a GPU | s")
    m.earliest = pyo.Param(
        m.RUNS,
        initialize={(i, g): max(float(free[g]), float(window.first_s[rounds[i]]) if cuts else 0.0) for i, g in runs},
        doc="e_im | earliest start of a task on a GPU | s",
    )
    m.point = pyo.Param(
        m.GPUS,
        m.POINTS,
        initialize={(g, p): points[g][p] for g in m.GPUS for p in m.POINTS},
        doc="l_mp | load at which a tangent touches the square | s",
    )
    m.horizon = pyo.Param(initialize=window.horizon_s, doc="B | time by which all jobs have completed | s")

    m.start = pyo.Var(m.TASKS, domain=pyo.NonNegativeReals, doc="(4) x_i | start | s\nx_j | the same of task j | s")
    m.assign = pyo.Var(
        m.RUNS,
        domain=pyo.Binary if whole else pyo.UnitInterval,
        doc="(5) y_im | whether a task runs on a GPU, or which part of it | 1",
    )
    m.complete = pyo.Var(
        m.JOBS,
        bounds=lambda m, n: (m.soonest[n], None),
        doc="(6) C_n | completion | s\nz_n | earliest completion, 0 without cuts | s | soonest",
    )
    m.start_on = pyo.Var(m.RUNS, domain=pyo.NonNegativeReals, doc="(ours) u_im | start times assignment | s")
    m.squared = pyo.Var(m.GPUS, domain=pyo.NonNegativeReals, doc="(9) Q_m | square of a GPU's training time | s^2")

    @m.Objective(sense=pyo.minimize, doc="(§5.2) total weighted completion time")
    def weighted_completion(m):
        return pyo.quicksum(m.weight[n] * m.complete[n] for n in m.JOBS)

    add_rounds(m, data.task_job.tolist(), where)

    @m.Constraint(m.GPUS, doc="(9) the middles of a GPU's tasks, weighted by their times, are late enough")
    def late_enough(m, g):
        half = {i: train[i, g] / 2 - m.free[g] for i in on[g]}
        middle = (train[i, g] * (m.start_on[i, g] + half[i] * m.assign[i, g]) for i in on[g])
        return pyo.quicksum(middle) >= m.squared[g] / 2

    @m.Constraint(m.GPUS, m.POINTS, doc="(9) a square is above its tangents")
    def square(m, g, p):
        whole_s = pyo.quicksum(train[i, g] * m.assign[i, g] for i in on[g])
        return m.squared[g] >= 2 * m.point[g, p] * whole_s - m.point[g, p] ** 2

    @m.Constraint(m.TASKS, doc="(ours) a task starts where it runs")
    def split(m, i):
        return m.start[i] == pyo.quicksum(m.start_on[i, g] for g in where[i])

    @m.Constraint(m.RUNS, doc="(ours) no start where a task does not run")
    def start_where(m, i, g):
        return m.start_on[i, g] <= m.horizon * m.assign[i, g]

    @m.Constraint(m.RUNS, doc="(ours) no start before the GPU, and with cuts the task, can be ready")
    def not_too_early(m, i, g):
        return m.start_on[i, g] >= m.earliest[i, g] * m.assign[i, g]

    return m


def _points(work_s: float, free_s: float, count: int) -> list[float]:
    """Loads of a GPU at which tangents touch: evenly spread, up to the most it can have (a lone GPU has all)."""
    most = max(0.0, min(work_s, free_s))
    return [most * (p + 1) / count for p in range(count)]


def _check_size(data: HareInstance) -> None:
    pairs = int(data.runs.sum(axis=1)[data.task_job].sum())
    if pairs > MOST_PAIRS:
        raise InputError(
            NAME,
            Words(f"{pairs:,} pairs of a task and a GPU that can run it"),
            f"at most {MOST_PAIRS:,}: fewer jobs or coarser rounds; or hare.interval_lp, a bound at any size",
        )


@dataclass(frozen=True, eq=False)
class Relaxed:
    """What the relaxation says: bound: below every schedule's objective; start_s: (tasks,) x^; completion_s: (jobs,).

    assigned: (tasks x gpus) y^, whole or in parts.
    """

    bound: float
    start_s: FloatArray
    completion_s: FloatArray
    assigned: FloatArray


def read_relaxed(model: pyo.ConcreteModel, data: HareInstance, bound: float | None = None) -> Relaxed:
    """The values of a solved model; bound: the solver's, where it stopped before the optimum."""
    assigned = np.zeros((data.task_count, len(data.gpus)))
    for i, g in model.RUNS:
        assigned[i, g] = model.assign[i, g].value
    return Relaxed(
        float(pyo.value(model.weighted_completion)) if bound is None else bound,
        np.array([model.start[i].value for i in model.TASKS], dtype=float),
        np.array([model.complete[n].value for n in model.JOBS], dtype=float),
        assigned,
    )


def relax(data: HareInstance, *, whole: bool = False, cuts: bool = True) -> Relaxed:
    """Solve the relaxation in units that suit it (`Units`): what Algorithm 1 begins with."""
    units = units_of(data)
    model = build(units.instance(data), whole=whole, cuts=cuts)
    found = read_relaxed(model, data, solve_model(model).bound)
    return Relaxed(
        found.bound * units.worth, found.start_s * units.time_s, found.completion_s * units.time_s, found.assigned
    )


class Relaxation(TaskFormulation):
    """Hare_Sched_RL: a bound on every schedule, and the starts that Algorithm 1 orders tasks by."""

    name = NAME
    title = "Hare: Hare_Sched_RL, the relaxation by (9)"
    knobs = (*ROUND_KNOBS, WHOLE, CUTS, TANGENTS)
    reading = (
        "The bound is below every schedule's sum of weight times completion time; solved to the end, the objective is "
        "the bound, and not a schedule's own. completion_s and start_s are those of the relaxation: several tasks may "
        "be on a GPU at a time."
    )

    def build(self, data: HareInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        return build(
            data,
            whole=bool(knobs.get("whole", WHOLE.default)),
            cuts=bool(knobs.get("cuts", CUTS.default)),
            tangents=int(knobs.get("tangents", TANGENTS.default)),
        )

    def read(self, model: pyo.ConcreteModel, data: HareInstance, knobs: Knobs) -> Result:
        """The bound, and the relaxation's starts and completions by job: of each round its first task's start."""
        found = read_relaxed(model, data)
        starts = found.start_s[data.round_task[:-1]].tolist()
        by_round: dict[str, list[float]] = {name: [] for name in data.jobs}
        for job, start in zip(data.round_job.tolist(), starts, strict=True):
            by_round[data.jobs[job]].append(start)
        return bound_result(data, found.bound, found.completion_s, "Hare_Sched_RL", {"start_s": by_round})
