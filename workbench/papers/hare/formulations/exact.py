r"""`Hare_Sched` as printed (section 5.1): when each task starts and on which GPU; the non-overlap rows with a big M.

min   sum_n w_n C_n                                                                     (§5.1)  weighted_completion
s.t.  x_i >= a_n                                        for all n, r in R_n, i in D_r   (4)     after_arrival
      sum_m y_im = 1                                    for all i                       (5)     one_gpu
      C_n >= x_i + sum_m y_im (T^c_im + T^s_im)         for all n, r in R_n, i in D_r   (6)     completion
      x_j >= x_i + sum_m y_im (T^c_im + T^s_im)         for all (i, j) in Q             (7)     barrier
      x_j >= x_i + sum_m y_im T^c_im - B_ij (1 - o_ij)  for all (i, j) in P             (8)     one_after_other
      o_ij + o_ji >= y_im + y_jm - 1                    for all (i, j) in P, m in M_ij  (8)     same_gpu
      x_i >= f_m y_im                                   for all i, m in M_i, f_m > e_i  (ours)  gpu_free
      x_i <= x_j                                        for all j, i in S_j if cuts     (ours)  in_turn
      e_i <= x_i <= l_i                                 for all i                       (4)     start
      y_im in {0, 1}                                    for all i, m in M_i             (5)     assign
      z_n <= C_n <= Z_n                                 for all n                       (6)     complete
      o_ij in {0, 1}                                    for all (i, j) in P             (8)     before

(8) is printed as `|x_i - x_j| >= y_km T^c_km` for two tasks on one GPU, k the one that starts first. Here `o_ij` says
whether task i has computed before task j starts, and two tasks on one GPU are in one order or the other. Where `o_ij`
is 0, the row allows what the windows allow: `B_ij` is the latest end of i less the earliest start of j. Tasks of one
job in different rounds are in order by (7), which is printed for i in D_r and j in D_{r+1}. A task holds its GPU for
T^c; synchronising overlaps the next task.

(ours): GPUs that are free from `f_m` on only, for plans that begin in mid-life. With the knob `cuts`: tasks of a round
start in the order of their numbers, since they are alike; of a type no more GPUs than there are tasks; and starts and
completions stay within the windows (`windows.py`) of schedules no worse than a known one, which the solver begins from.
A solver keeps rows to a tolerance, so that times are computed again from the assignment and the order. Times and
weights are solved in units that suit them (`Units`).
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.errors import InputError, Words
from workbench.base.rounding import short_number
from workbench.papers.hare.algorithms.schedule import TaskSchedule
from workbench.papers.hare.formulations.task_formulation import (
    NEXT,
    TASKS,
    UNIT,
    TaskFormulation,
    add_rounds,
    carried_out,
    known_schedule,
    rounds_of,
    schedule_of,
    schedule_result,
    tasks_of,
)
from workbench.papers.hare.formulations.windows import windows
from workbench.papers.hare.instance import HareInstance, next_tasks
from workbench.papers.hare.knobs import ROUND_KNOBS, SYMMETRY_CUTS, THEN_MAKESPAN
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.model_notes import notes
from workbench.scheduling.modelling import pyo
from workbench.scheduling.solvers import Solver, SolveReport, solve_model

NAME = "hare.exact"
MOST_TASKS = 40
"""Tasks of all jobs together."""
PROVEN_TASKS, LIMIT_S = 15, 60.0
"""Of more tasks a proof takes longer than anyone waits for: without a time limit asked for, so many seconds are one."""


RUNS = """i,m | tasks and the GPUs that can run them
M_i | GPUs that can run task i | | RUNS"""
PAIRS = """P | pairs (i, j): task j may follow i on one GPU
M_ij | GPUs that can run both, for i < j | | both
S_j | the task before it in its round, if there is one | | turn"""


def build(data: HareInstance, known: TaskSchedule | None = None, *, cuts: bool = True) -> pyo.ConcreteModel:
    """Return the unsolved mixed-integer programme; its variables have the values of `known`, a feasible schedule.

    Raises InputError for more than `MOST_TASKS` tasks.
    """
    check_size(data)
    window = windows(data, known if cuts else None)
    tasks, gpus = range(data.task_count), _gpus(data, cuts)
    rounds, jobs = data.task_round.tolist(), data.task_job.tolist()
    where = {i: [g for g in gpus if data.runs[jobs[i], g]] for i in tasks}
    runs = [(i, g) for i in tasks for g in where[i]]

    m = pyo.ConcreteModel("hare_exact")
    m.rounds, m.tasks = rounds_of(data), tasks_of(data)
    m.earliest = {i: float(window.first_s[rounds[i]]) for i in tasks}
    m.latest = {i: float(window.last_s[rounds[i]]) for i in tasks}
    m.soonest = dict(enumerate(window.soonest_s.tolist()))
    m.last = dict(enumerate(window.latest_s.tolist()))
    m.JOBS = pyo.Set(initialize=range(len(data.jobs)), doc="n | jobs")
    m.GPUS = pyo.Set(initialize=gpus, doc="m | GPUs")
    m.TASKS = pyo.Set(initialize=tasks, doc=TASKS)
    m.RUNS = pyo.Set(
        dimen=2,
        initialize=runs,
        doc=RUNS,
    )
    m.NEXT = pyo.Set(dimen=2, initialize=next_tasks(data), doc=NEXT)
    m.PAIRS = pyo.Set(dimen=2, initialize=_pairs(data, where, cuts), doc=PAIRS)

    m.both = {(i, j): [g for g in where[i] if g in where[j]] for i, j in m.PAIRS if i < j}
    m.turn = {i + 1: (i,) for i in tasks if i + 1 < len(tasks) and rounds[i] == rounds[i + 1]}
    m.weight = pyo.Param(m.JOBS, initialize=dict(enumerate(data.weight.tolist())), doc="w_n | weight | 1")
    m.arrival = pyo.Param(m.JOBS, initialize=dict(enumerate(data.arrival_s.tolist())), doc="a_n | arrival | s")
    m.train = pyo.Param(
        m.RUNS, initialize={(i, g): data.task_train_s(i, g) for i, g in runs}, doc="T^c_im | training time | s"
    )
    m.sync = pyo.Param(
        m.RUNS, initialize={(i, g): data.task_sync_s(i, g) for i, g in runs}, doc="T^s_im | synchronisation time | s"
    )
    m.free = pyo.Param(
        m.GPUS, initialize={g: float(data.free_s[g]) for g in gpus}, doc="f_m | when a GPU becomes free | s"
    )
    m.big = pyo.Param(
        m.PAIRS,
        initialize={(i, j): max(0.0, float(window.end_s[rounds[i]] - window.first_s[rounds[j]])) for i, j in m.PAIRS},
        doc="B_ij | latest end of i less the earliest start of j | s",
    )

    m.start = pyo.Var(
        m.TASKS,
        bounds=lambda m, i: (m.earliest[i], m.latest[i]),
        doc="(4) x_i | start | s\nx_j | the same of task j | s\n"
        "e_i | earliest start | s | earliest\nl_i | latest start | s | latest",
    )
    m.assign = pyo.Var(
        m.RUNS,
        domain=pyo.Binary,
        doc="(5) y_im | whether a task runs on a GPU | 1\ny_jm | the same of task j | 1",
    )
    m.complete = pyo.Var(
        m.JOBS,
        bounds=lambda m, n: (m.soonest[n], m.last[n]),
        doc="(6) C_n | completion | s\nz_n | earliest completion | s | soonest\nZ_n | latest completion | s | last",
    )
    m.before = pyo.Var(
        m.PAIRS,
        domain=pyo.Binary,
        doc="(8) o_ij | whether i has computed when j starts | 1\no_ji | the other order | 1",
    )

    def computed(m, i):
        return m.start[i] + pyo.quicksum(m.train[i, g] * m.assign[i, g] for g in where[i])

    @m.Objective(sense=pyo.minimize, doc="(§5.1) total weighted completion time")
    def weighted_completion(m):
        return pyo.quicksum(m.weight[n] * m.complete[n] for n in m.JOBS)

    add_rounds(m, data.task_job.tolist(), where)

    @m.Constraint(m.PAIRS, doc="(8) if i is before j, it has computed when j starts")
    def one_after_other(m, i, j):
        return m.start[j] >= computed(m, i) - m.big[i, j] * (1 - m.before[i, j])

    @m.Constraint(m.PAIRS, m.GPUS, doc="(8) two tasks on one GPU are one before the other")
    def same_gpu(m, i, j, g):
        if g not in m.both.get((i, j), ()):
            return pyo.Constraint.Skip
        other = m.before[j, i] if (j, i) in m.PAIRS else 0
        return m.before[i, j] + other >= m.assign[i, g] + m.assign[j, g] - 1

    @m.Constraint(m.RUNS, doc="(ours) no task starts before its GPU is free")
    def gpu_free(m, i, g):
        if m.free[g] <= m.earliest[i]:
            return pyo.Constraint.Skip
        return m.start[i] >= m.free[g] * m.assign[i, g]

    @m.Constraint(m.TASKS, doc="(ours) tasks of a round start in the order of their numbers")
    def in_turn(m, i):
        return m.start[i] <= m.start[i + 1] if cuts and i + 1 in m.turn else pyo.Constraint.Skip

    if known is not None:
        _begin_from(m, known, gpus)
    return m


def check_size(data: HareInstance) -> None:
    """Raise InputError for more tasks than the model is for."""
    if data.task_count > MOST_TASKS:
        raise InputError(
            NAME,
            Words(f"{data.task_count:,} tasks"),
            f"at most {MOST_TASKS} tasks: fewer jobs or coarser rounds; or the scheduler hare (Algorithm 1) for a "
            "schedule and hare.interval_lp for a bound, at any size",
        )


def _gpus(data: HareInstance, cuts: bool) -> list[int]:
    """Numbers of the GPUs; with cuts no more of a type than there are tasks."""
    each = np.argsort(data.kind, kind="stable")
    place = np.arange(len(each)) - np.searchsorted(data.kind[each], data.kind[each])
    return sorted(each[place < data.task_count].tolist() if cuts else each.tolist())


def _pairs(data: HareInstance, where: Mapping[int, list[int]], cuts: bool) -> list[tuple[int, int]]:
    """Ordered pairs of tasks that (7) leaves open and that have a GPU in common."""
    jobs, rounds = data.task_job.tolist(), data.task_round.tolist()
    open_ = [(i, j) for i, j in itertools.permutations(where, 2) if jobs[i] != jobs[j] or (rounds[i] == rounds[j])]
    turned = {(i, j) for i, j in open_ if cuts and rounds[i] == rounds[j] and i > j}
    return [(i, j) for i, j in open_ if (i, j) not in turned and not set(where[i]).isdisjoint(where[j])]


def _begin_from(m: pyo.ConcreteModel, known: TaskSchedule, gpus: list[int]) -> None:
    """Give the variables the values of a schedule, with tasks of a round in turn and GPUs of a type in turn."""
    data = known.instance
    order = np.lexsort((known.start_s, data.task_round))  # a round's tasks by their start
    on, start = _first_of_kind(known, gpus)[order], known.start_s[order]
    end = known.end_s[order]
    for i in m.TASKS:
        m.start[i].set_value(float(start[i]), skip_validation=True)
    for i, g in m.RUNS:
        m.assign[i, g].set_value(int(on[i] == g))
    for n in m.JOBS:
        m.complete[n].set_value(float(known.completion_s[n]), skip_validation=True)
    for i, j in m.PAIRS:
        m.before[i, j].set_value(int(end[i] <= start[j] and (start[i], i) < (start[j], j)))
    for variable in m.component_data_objects(pyo.Var):
        variable.stale = True  # not the values of a solver


def _first_of_kind(known: TaskSchedule, gpus: list[int]) -> IntArray:
    """(tasks,) GPUs of a schedule, those of each type renamed to the first ones of it."""
    kind = known.instance.kind
    left = {k: [g for g in gpus if kind[g] == k] for k in set(kind.tolist())}
    new = {g: left[int(kind[g])].pop(0) for g in np.unique(known.gpu).tolist()}
    return np.array([new[g] for g in known.gpu.tolist()], dtype=np.int64)


def read_schedule(model: pyo.ConcreteModel, data: HareInstance) -> TaskSchedule:
    """The schedule of a solved model."""
    return schedule_of(data, *_chosen(model, data), pyo.value(model.weighted_completion), NAME)


def _chosen(model: pyo.ConcreteModel, data: HareInstance) -> tuple[IntArray, FloatArray]:
    """(tasks,) GPUs and starts of a solved model."""
    start = np.array([model.start[i].value for i in model.TASKS])
    gpu = np.zeros(data.task_count, dtype=np.int64)
    for i, g in model.RUNS:
        if model.assign[i, g].value > 0.5:
            gpu[i] = g
    return gpu, start


def _own_result(model: pyo.ConcreteModel, data: HareInstance) -> Result:
    """The schedule of an own model, whose rows may let tasks start before they can: then it says which."""
    gpu, start_s = _chosen(model, data)
    found = carried_out(data, gpu, start_s, model.name)
    late = np.flatnonzero(found.start_s > start_s + 1e-5 * np.maximum(1.0, start_s))
    if not len(late):
        noted = notes(model)
        own = noted.own_objective or noted.other_numbers
        stated = math.nan if own else pyo.value(model.weighted_completion)
        sooner = found.objective < stated - 1e-5 * max(1.0, abs(stated))
        says = (
            f"{model.name}: the model's answer is worth {short_number(stated)} {UNIT}. `tasks` is the schedule carried "
            f"out, in which each task of its order starts as early as it can: worth {short_number(found.objective)} "
            f"{UNIT}; rows that start tasks later than that are not kept by it."
        )
        return replace(schedule_result(found), warnings=(says,) if sooner else ())
    first = int(late[start_s[late].argmin()])
    row = found.rows()[first]
    which = f"task {row.task} of round {row.round} of {row.job}"
    says = (
        f"{model.name}: the model lets {which} start at {short_number(start_s[first])} s. `tasks` is the schedule "
        f"carried out, where it starts at {short_number(row.start_s)} s: "
        f"worth {short_number(found.objective)} {UNIT}."
    )
    return replace(schedule_result(found), warnings=(says,))


class Exact(TaskFormulation):
    """The best schedule of all tasks, with every start in continuous time."""

    name = NAME
    title = "Hare: Hare_Sched, the best schedule of all tasks"
    knobs = (*ROUND_KNOBS, SYMMETRY_CUTS, THEN_MAKESPAN)
    ways = frozenset({SYMMETRY_CUTS.name, THEN_MAKESPAN.name})
    reading = (
        "The objective is the sum of weight times completion time over the jobs (not JCT: arrivals are not taken off). "
        "tasks lists start, end (the GPU is free) and synchronised of each task; completion_s is when a job's last "
        f"round has synchronised. Above {PROVEN_TASKS} tasks a solve stops after {LIMIT_S:g} s unless a time limit is "
        "given: status time_limit, with the best schedule so far and a bound."
    )

    def build(self, data: HareInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model, with the values of a known schedule; without cuts if it is an own one, whose rows might
        have no schedule left within them."""
        cuts = not self.own and bool(knobs.get("cuts", SYMMETRY_CUTS.default))
        return build(data, known_schedule(data), cuts=cuts)

    def options(self, knobs: Knobs, solver: Solver) -> Solver:
        """Begin from the known schedule."""
        return replace(solver, start=True)

    def read(self, model: pyo.ConcreteModel, data: HareInstance, knobs: Knobs) -> Result:
        """The schedule, its limits checked."""
        return _own_result(model, data) if self.own else schedule_result(read_schedule(model, data))

    def find(self, data: HareInstance, knobs: Knobs, solver: Solver) -> Result:
        """Build, solve, read; with `then_makespan` a second time, for the makespan among the best schedules.

        Both solves are listed in `iterations`; the status is that of the weaker one. With more than `PROVEN_TASKS`
        tasks and no time limit each solve stops after `LIMIT_S`: the best schedule so far, and a bound.
        """
        if solver.time_limit_s is None and data.task_count > PROVEN_TASKS:
            solver = replace(solver, time_limit_s=LIMIT_S)
        if not knobs.get("then_makespan"):
            return super().find(data, knobs, solver)
        options = self.options(knobs, solver)
        began = time.perf_counter()
        model = self.build(data, knobs)
        build_s = time.perf_counter() - began
        first = solve_model(model, options)
        best, second = ends_first(read_schedule(model, data), options)
        steps = {"weighted completion time": first, "makespan": second}
        return replace(
            schedule_result(best),
            status=first.status if second.status == "optimal" else second.status,
            bound=first.bound,
            gap=first.gap,
            solver=first.solver,
            build_s=build_s + first.build_s + second.build_s,
            solve_s=first.solve_s + second.solve_s,
            iterations=tuple(
                {"of": of, "objective": each.objective, "bound": each.bound, "status": each.status}
                for of, each in steps.items()
            ),
        )


def ends_first(best: TaskSchedule, solver: Solver) -> tuple[TaskSchedule, SolveReport]:
    """The schedule that ends first among those as good as `best`, and the report of the solve (`add_makespan`)."""
    model = build(best.instance, best)
    add_makespan(model, best.objective)
    model.end.set_value(best.makespan_s)
    solved = solve_model(model, solver)
    found = read_schedule(model, best.instance)
    return min(found, best, key=lambda schedule: (schedule.makespan_s, schedule.objective)), solved


BEST_SLACK = 1e-7
"""Part of the best objective that counts as rounding."""


def add_makespan(m: pyo.ConcreteModel, best: float) -> None:
    r"""Make the makespan the objective of a model, whose best objective is kept: of the best the first to end (ours).

    min   E                                                                     (ours)  last_completion
    s.t.  sum_n w_n C_n <= V                                                    (ours)  no_worse
          E >= C_n                                  for all n                   (ours)  ends_last
          0 <= E                                                                (ours)  end

    All other rows are those of `hare.exact`; V is its best objective, and a part of 1e-7 of it for rounding.
    """
    m.weighted_completion.deactivate()
    m.best = pyo.Param(initialize=best * (1 + BEST_SLACK), doc="V | best objective, with what is rounding | s x weight")
    m.end = pyo.Var(domain=pyo.NonNegativeReals, doc="(ours) E | when the last job completes | s")

    @m.Objective(sense=pyo.minimize, doc="(ours) the makespan")
    def last_completion(m):
        return m.end

    @m.Constraint(doc="(ours) the schedule is one of the best")
    def no_worse(m):
        return m.weighted_completion.expr <= m.best

    @m.Constraint(m.JOBS, doc="(ours) no job completes later")
    def ends_last(m, n):
        return m.end >= m.complete[n]
