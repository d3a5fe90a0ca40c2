r"""`Hare_Sched` on a grid of time (ours): how many tasks of each round start in each slot on each type of GPU.

min   sum_n w_n C_n                                                                  (§5.1) weighted_completion
s.t.  sum_k sum_t s_rkt = D_r                         for all r                      (5)    all_tasks
      D_r F_rt <= sum_k sum_{u <= t - b_rk} s_rku     for all r, t in T_r            (6)    synchronised
      C_n >= g + h (e_n + sum_{t in T_r} (1 - F_rt))  for all n, r = L_n             (6)    completion
      sum_k sum_{u <= t} s_qku <= D_q F_rt            for all q, r in B_q, t in T_r  (7)    barrier
      sum_r sum_{t - p_rk < u <= t} s_rku <= c_k      for all k, t                   (8)    one_task_a_gpu
      0 <= s_rkt integer                              for all r, k, t                (4)    starts
      F_rt in {0, 1}                                  for all r, t in T_r            (6)    finished
      z_n <= C_n                                      for all n                      (6)    complete

Tasks of a round are alike and so are GPUs of a type, so that counts lose nothing and no two plans differ in names only.
A task that starts in slot t on type k holds a GPU for p_rk slots and has synchronised b_rk slots after its start. Slot
t begins t steps of h seconds after the origin g. There are starts between the arrival (4), or the earliest end of the
round before, and the latest slot that a schedule no worse than a known one can use; F_rt is there for the slots in
which the round may or may not have synchronised, 0 before them and 1 after; e_n is the first of them of a job's last
round. The solver begins from the known schedule.

On a grid, times are multiples of its step. Where they are not, knob `rounding`: rounded up, every plan is a feasible
schedule; rounded down, the optimum is a bound. Whichever it is, the schedule shown has each task on the GPU and in the
order found, as early as it can be in continuous time. Times and weights are solved in units that suit them
(`Units`).
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from workbench.base.errors import InputError, Words
from workbench.papers.hare.algorithms.schedule import TaskSchedule
from workbench.papers.hare.formulations.task_formulation import UNIT, TaskFormulation, known_schedule, schedule_of
from workbench.papers.hare.formulations.time_grid import Rounding, TimeGrid, choose_step, on_grid
from workbench.papers.hare.instance import HareInstance
from workbench.papers.hare.knobs import ROUND_KNOBS, ROUNDING, SLOTS, STEP_S
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.modelling import pyo
from workbench.scheduling.solvers import Solver, relative_gap, solve_model
from workbench.scheduling.solvers.solve_report import report

NAME = "hare.time_indexed"
MOST_VARIABLES = 60_000
"""A larger model takes longer to make than anyone waits for, and longer still to solve."""


ROUNDS = """r | rounds of all jobs
q | the next round of the same job
B_q | the round before it, if there is one | | before
L_n | a job's last round | | last"""


def build(grid: TimeGrid, *, whole: bool = True, owner: str = NAME) -> pyo.ConcreteModel:
    """Return the unsolved programme; its variables have the values of the grid's known schedule.

    whole: with whole counts; else its linear relaxation. Raises InputError, in the name of `owner`, for a model that
    would have more than `MOST_VARIABLES` variables.
    """
    data = grid.instance
    rounds, kinds, slots = range(len(data.round_job)), range(len(data.count)), range(grid.slots + 1)
    starts = {(r, k): grid.starts(r, k) for r in rounds for k in kinds}
    open_ = {r: range(int(grid.soonest[r]), int(grid.latest[r])) for r in rounds}
    _check_size(grid, sum(map(len, starts.values())) + sum(map(len, open_.values())), owner)
    follows = {r: r + 1 for r in rounds if r + 1 < len(rounds) and data.round_job[r] == data.round_job[r + 1]}

    m = pyo.ConcreteModel(owner.replace(".", "_"))
    m.before = {after: (r,) for r, after in follows.items()}
    m.last = last = {n: int(data.job_round[n + 1]) - 1 for n in range(len(data.jobs))}
    m.earliest = dict(enumerate(grid.soonest_s.tolist()))
    m.JOBS = pyo.Set(initialize=range(len(data.jobs)), doc="n | jobs")
    m.ROUNDS = pyo.Set(initialize=rounds, doc=ROUNDS)
    m.TYPES = pyo.Set(initialize=kinds, doc="k | types of GPUs")
    m.SLOTS = pyo.Set(initialize=slots, doc="t | slots of the grid, and its end\nu | another slot")
    m.STARTS = pyo.Set(
        dimen=3,
        initialize=[(r, k, t) for (r, k), each in starts.items() for t in each],
        doc="r,k,t | slots in which a task of a round may start on a type",
    )
    m.OPEN = pyo.Set(
        dimen=2,
        initialize=[(r, t) for r, each in open_.items() for t in each],
        doc="r,t | slots in which a round may or may not have synchronised\nT_r | those of round r | | OPEN",
    )

    runs = [(r, k) for r in rounds for k in kinds if grid.train[r, k] >= 0]
    m.RUNS = pyo.Set(dimen=2, initialize=runs, doc="r,k | rounds and the types that can run them")
    m.weight = pyo.Param(m.JOBS, initialize=dict(enumerate(data.weight.tolist())), doc="w_n | weight | 1")
    m.tasks = pyo.Param(
        m.ROUNDS,
        initialize=dict(enumerate(data.round_tasks.tolist())),
        doc="D_r | parallel tasks of a round | tasks\nD_q | the same of round q | tasks",
    )
    m.gpus = pyo.Param(m.TYPES, initialize=dict(enumerate(data.count.tolist())), doc="c_k | GPUs of a type | GPUs")
    m.train = pyo.Param(
        m.RUNS,
        initialize={(r, k): int(grid.train[r, k]) for r, k in runs},
        doc="p_rk | training time T^c of a task in slots | slots",
    )
    m.both = pyo.Param(
        m.RUNS,
        initialize={(r, k): int(grid.both[r, k]) for r, k in runs},
        doc="b_rk | training and synchronisation time T^c + T^s in slots | slots",
    )
    m.soonest = pyo.Param(
        m.JOBS,
        initialize={n: int(grid.soonest[last[n]]) for n in m.JOBS},
        doc="e_n | first slot by which a job can have completed | slot",
    )
    m.step = pyo.Param(initialize=grid.step_s, doc="h | step of the grid | s")
    m.origin = pyo.Param(initialize=data.origin_s, doc="g | origin of the grid | s")

    counts = pyo.NonNegativeIntegers if whole else pyo.NonNegativeReals
    m.starts = pyo.Var(
        m.STARTS,
        domain=counts,
        doc="(4) s_rkt | tasks of a round that start in a slot on a type | tasks\n"
        "s_rku | the same of slot u | tasks\ns_qku | the same of round q | tasks",
    )
    m.finished = pyo.Var(
        m.OPEN,
        domain=pyo.Binary if whole else pyo.UnitInterval,
        doc="(6) F_rt | whether all tasks of a round have synchronised when a slot begins | 1",
    )
    m.complete = pyo.Var(
        m.JOBS,
        bounds=lambda m, n: (m.earliest[n], None),
        doc="(6) C_n | completion | s\nz_n | earliest completion: alone on all GPUs, not rounded | s | earliest",
    )

    def started(m, r, until):
        """Tasks of a round that start before a slot of each type."""
        return pyo.quicksum(m.starts[r, k, u] for k in kinds for u in _below(starts[r, k], until(k)))

    @m.Objective(sense=pyo.minimize, doc="(§5.1) total weighted completion time")
    def weighted_completion(m):
        return pyo.quicksum(m.weight[n] * m.complete[n] for n in m.JOBS)

    @m.Constraint(m.ROUNDS, doc="(5) every task starts once")
    def all_tasks(m, r):
        return started(m, r, lambda _: grid.slots + 1) == m.tasks[r]

    @m.Constraint(m.OPEN, doc="(6) a round has synchronised when all its tasks have")
    def synchronised(m, r, t):
        return m.tasks[r] * m.finished[r, t] <= started(m, r, lambda k: t - int(grid.both[r, k]) + 1)

    @m.Constraint(m.JOBS, doc="(6) a job completes when its last round has synchronised")
    def completion(m, n):
        later = pyo.quicksum(1 - m.finished[last[n], t] for t in open_[last[n]])
        return m.complete[n] >= m.origin + m.step * (m.soonest[n] + later)

    @m.Constraint(m.OPEN, doc="(7) the next round starts when all tasks of the one before have synchronised")
    def barrier(m, r, t):
        if r not in follows:
            return pyo.Constraint.Skip
        return started(m, follows[r], lambda _: t + 1) <= m.tasks[follows[r]] * m.finished[r, t]

    @m.Constraint(m.TYPES, m.SLOTS, doc="(8) no more tasks than GPUs")
    def one_task_a_gpu(m, k, t):
        busy = [m.starts[r, k, u] for r in rounds for u in _below(starts[r, k], t + 1, t - int(grid.train[r, k]) + 1)]
        if not busy:
            return pyo.Constraint.Skip
        return pyo.quicksum(busy) <= m.gpus[k]

    _begin_from(m, grid)
    return m


def _check_size(grid: TimeGrid, variables: int, owner: str) -> None:
    if variables > MOST_VARIABLES:
        raise InputError(
            owner,
            Words(f"{variables:,} variables for {grid.instance.task_count:,} tasks in {grid.slots:,} slots"),
            f"at most {MOST_VARIABLES:,}: fewer jobs, coarser rounds or a longer step; or the scheduler hare "
            "(Algorithm 1) for a schedule and hare.interval_lp for a bound, at any size",
        )


def _below(slots: range, end: int, begin: int = 0) -> range:
    """The slots from `begin` to before `end`."""
    return range(max(slots.start, begin), min(slots.stop, end))


def _begin_from(m: pyo.ConcreteModel, grid: TimeGrid) -> None:
    """Give the variables the values of the known schedule."""
    data = grid.instance
    ends = np.zeros(len(data.round_job), dtype=np.int64)
    for index in m.starts:
        m.starts[index].set_value(0)
    for r, k, t in zip(data.task_round.tolist(), grid.known_kind.tolist(), grid.known.tolist(), strict=True):
        m.starts[r, k, t].set_value(m.starts[r, k, t].value + 1)
        ends[r] = max(ends[r], t + grid.both[r, k])
    for r, t in m.OPEN:
        m.finished[r, t].set_value(int(t >= ends[r]))
    for n in m.JOBS:
        end = max(int(ends[data.job_round[n + 1] - 1]), pyo.value(m.soonest[n]))
        m.complete[n].set_value(max(data.origin_s + grid.step_s * end, float(grid.soonest_s[n])))
    for variable in m.component_data_objects(pyo.Var):
        variable.stale = True  # not the values of a solver


def read_schedule(model: pyo.ConcreteModel, grid: TimeGrid) -> TaskSchedule:
    """The schedule of a solved model in continuous time; tasks and GPUs of a kind are taken in turn."""
    data = grid.instance
    begun = [(t, r, k) for r, k, t in model.starts for _ in range(round(model.starts[r, k, t].value))]
    gpu, start = np.zeros(data.task_count, dtype=np.int64), np.zeros(data.task_count)
    number = data.round_task[:-1].tolist()
    idle = {
        k: [[int(grid.free[k]), g] for g in np.flatnonzero(data.kind == k).tolist()] for k in range(len(data.count))
    }
    for t, r, k in sorted(begun):
        free = min(idle[k])
        gpu[number[r]], start[number[r]] = free[1], t
        free[0] = max(free[0], t) + int(grid.train[r, k])
        number[r] += 1
    stated = float(pyo.value(model.weighted_completion)) if grid.is_exact else np.inf
    return schedule_of(data, gpu, start, stated, NAME)


class TimeIndexed(TaskFormulation):
    """The best schedule on a grid of time, and a bound for all schedules."""

    name = NAME
    title = "Hare: the best schedule on a grid of time"
    knobs = (*ROUND_KNOBS, STEP_S, SLOTS, ROUNDING)
    reading = (
        "The objective is the sum of weight times completion time of the schedule shown, in continuous time; the bound "
        "is that of the grid with times rounded down. step_s is the grid's step; exact says whether all times are "
        "multiples of it, so that the best schedule on the grid is the best of all."
    )

    def build(self, data: HareInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model; with `both` the one with times rounded up."""
        rounding: Rounding = "down" if knobs.get("rounding") == "down" else "up"
        return build(grid_of(data, knobs, rounding))

    def options(self, knobs: Knobs, solver: Solver) -> Solver:
        """Begin from the known schedule."""
        return replace(solver, start=True)

    def read(self, model: pyo.ConcreteModel, data: HareInstance, knobs: Knobs) -> Result:
        """The schedule, its limits checked."""
        rounding: Rounding = "down" if knobs.get("rounding") == "down" else "up"
        return _result(model, grid_of(data, knobs, rounding))

    def find(self, data: HareInstance, knobs: Knobs, solver: Solver) -> Result:
        """One model where all times are multiples of the step; else the one with times rounded up, or down, or both.

        Of both, the better schedule is the answer, the bound is that of times rounded down, and each has half of the
        time limit.
        """
        asked = str(knobs.get("rounding", ROUNDING.default))
        first: Rounding = "down" if asked == "down" else "up"
        grid = grid_of(data, knobs, first)
        if asked != "both" or grid.is_exact:
            return self._on(grid, knobs, solver)
        if solver.time_limit_s is not None:
            solver = replace(solver, time_limit_s=solver.time_limit_s / 2)
        down = on_grid(data, grid.step_s, "down", grid.known_schedule)
        return _better(self._on(grid, knobs, solver), self._on(down, knobs, solver))

    def _on(self, grid: TimeGrid, knobs: Knobs, solver: Solver) -> Result:
        """The answer of one model. Rounded up, its bound holds on the grid only."""
        began = time.perf_counter()
        model = build(grid)
        build_s = time.perf_counter() - began
        solved = solve_model(model, self.options(knobs, solver))
        found = _result(model, grid)
        bound = solved.bound if grid.is_exact or grid.rounding == "down" else None
        step = {"rounding": grid.rounding, "on_grid": solved.objective, "bound_on_grid": solved.bound}
        return replace(
            found,
            status=_status(solved.status, found.objective, bound),
            bound=bound,
            gap=relative_gap(found.objective or 0.0, bound),
            solver=solved.solver,
            build_s=build_s + solved.build_s,
            solve_s=solved.solve_s,
            iterations=({**step, "schedule": found.objective, "status": solved.status, "solve_s": solved.solve_s},),
        )


def _status(status: str, objective: float | None, bound: float | None) -> str:
    """Optimal only if the schedule shown is proven so: on a grid it may be better or worse than the grid's optimum."""
    return report(objective or 0.0, bound, status == "time_limit").status


def _better(up: Result, down: Result) -> Result:
    """The better of two schedules, with the bound of times rounded down."""
    best = up if (up.objective or 0.0) <= (down.objective or 0.0) else down
    late = "time_limit" in (step["status"] for step in (*up.iterations, *down.iterations))
    return replace(
        best,
        status=_status("time_limit" if late else "feasible", best.objective, down.bound),
        bound=down.bound,
        gap=relative_gap(best.objective or 0.0, down.bound),
        build_s=up.build_s + down.build_s,
        solve_s=up.solve_s + down.solve_s,
        iterations=(*up.iterations, *down.iterations),
    )


def grid_of(data: HareInstance, knobs: Knobs, rounding: Rounding) -> TimeGrid:
    """The grid that the knobs name, with a known schedule."""
    known = known_schedule(data)
    step_s = choose_step(data, known, knobs.get("step_s"), int(knobs.get("slots", SLOTS.default)))
    return on_grid(data, step_s, rounding, known)


def _result(model: pyo.ConcreteModel, grid: TimeGrid) -> Result:
    schedule = read_schedule(model, grid)
    on = {"step_s": grid.step_s, "exact": grid.is_exact}
    return Result("feasible", schedule.objective, "min", UNIT, {**schedule.values(), **on})
