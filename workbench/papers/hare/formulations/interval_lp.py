r"""A bound at any size (ours): how much of each job is trained on each type of GPU in each of a few intervals of time.

min   sum_n w_n C_n                                                     (§5.1) weighted_completion
s.t.  A_nl = A_{n,l-1} + sum_k v_nkl             for all n, l           (5)    adds_up
      A_{n,L} = W_n                              for all n              (5)    all_work
      C_n >= sum_l t_l sum_k v_nkl / W_n + e_n   for all n              (6)    middle
      C_n >= s_nl + q_nl (W_n - A_{n,l-1})       for all n, l           (7)    rounds_left
      sum_k T^c_nk v_nkl <= D_n (t_{l+1} - t_l)  for all n, l if l < L  (7)    in_parallel
      sum_n T^c_nk v_nkl <= c_k h_kl             for all k, l if l < L  (8)    capacity
      0 <= v_nkl                                 for all n, k, l        (4)    trained
      0 <= A_nl <= g_nl                          for all n, l           (7)    done
      z_n <= C_n                                 for all n              (6)    complete

Interval l begins at `t_l` and ends where the next one begins; on GPUs of type k, which may become free within it,
`h_kl`. The last one has no end: it takes whatever is left, and with an end the programme would be no bound. Work counts
in tasks; a task of a shorter last round is a part of one. The rows say what every schedule keeps.

- A job is not complete before the middle of its training, plus `e_n`: the mean, over its work, of the time from the
  middle of a task's training to the job's completion, which is at least half of T^c, T^s and the rounds that follow,
  alone on all GPUs. Training within an interval counts as if at its beginning.
- Of the work that is left when an interval begins, all but one round's is to be done in whole rounds, of S seconds at
  least: with R of it left, the job completes at t_l + S (R / `D_n` - 1) or later. Where nothing is left, that may be
  later than its earliest completion; then `s_nl` is that, and `q_nl` such that with all work left it comes to the same.
- At most `D_n` tasks run at once; by the end of an interval no more than `g_nl` can be done: of each round what its
  tasks can do from the earliest time at which the job alone on all GPUs could begin it.
- A type's GPUs train no longer than the interval lasts.

Jobs are not split into rounds, so that its size does not grow with tasks and GPUs; that is what it loses to
`hare.time_indexed_lp`. Times and weights are solved in units that suit them (`Units`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.papers.hare.algorithms.list_schedule import machine_s
from workbench.papers.hare.formulations.task_formulation import TaskFormulation, bound_result
from workbench.papers.hare.formulations.windows import Windows, alone_s, tails, windows
from workbench.papers.hare.instance import HareInstance
from workbench.papers.hare.knobs import INTERVALS, ROUND_KNOBS
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.modelling import pyo

NAME = "hare.interval_lp"
FINEST = 1 / 500
"""The end of the first interval at the earliest, as a part of the whole time."""


@dataclass(frozen=True, eq=False)
class IntervalInstance:
    """What the model is made of, by job, type and interval.

    start_s: (intervals,) t_l; length_s: (types x intervals) h_kl, but for the last interval, which has no end; work:
    (jobs,) W_n, tasks; after_s: (jobs,) e_n; least_s, per_task_s: (jobs x intervals) s_nl, q_nl; most: (jobs x
    intervals) g_nl, tasks.
    """

    start_s: FloatArray
    length_s: FloatArray
    work: FloatArray
    after_s: FloatArray
    least_s: FloatArray
    per_task_s: FloatArray
    most: FloatArray
    window: Windows


def intervals_of(data: HareInstance, count: int) -> IntervalInstance:
    """The numbers of an instance with so many intervals, each longer than the one before by the same factor."""
    window = windows(data)
    whole_s = max(float(window.soonest_s.max()), window.released_s + float(machine_s(data).sum())) - data.origin_s
    first_s = max(float(window.soonest_s.min()) - data.origin_s, whole_s * FINEST)
    ends = data.origin_s + np.geomspace(min(first_s, whole_s), whole_s, count - 1)
    start = np.concatenate([[data.origin_s], ends])
    free = data.free_s[data.first_gpu][:, None]
    length = np.maximum(ends - np.maximum(start[:-1], free), 0.0)

    of_round = data.round_tasks * data.round_part
    work: FloatArray = np.bincount(data.round_job, of_round, minlength=len(data.jobs)).astype(float)
    half = (data.train_s / 2 + data.sync_s).min(axis=1)[data.round_job] * data.round_part
    after = np.bincount(data.round_job, of_round * (half + tails(data)), minlength=len(data.jobs)) / work
    shortest = data.train_s.min(axis=1)[data.round_job] * data.round_part
    most = np.empty((len(data.jobs), count))
    for i, end in enumerate((*ends, np.inf)):
        since = np.maximum(end - window.first_s, 0.0)
        part = np.where(since < shortest, since / np.maximum(shortest, 1e-300), 1.0)
        most[:, i] = np.bincount(data.round_job, of_round * part, minlength=len(data.jobs))
    least, per_task = _left(data, start, work, window.soonest_s)
    return IntervalInstance(start, length, work, after, least, per_task, most, window)


def _left(
    data: HareInstance, start_s: FloatArray, work: FloatArray, soonest_s: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(jobs x intervals) s_nl and q_nl."""
    span, each = alone_s(data)[:, None], (alone_s(data) / data.tasks)[:, None]
    least = start_s - span
    late = least > soonest_s[:, None]
    per_task = np.where(late, each + (least - soonest_s[:, None]) / work[:, None], each)
    return np.where(late, soonest_s[:, None], least), per_task


def build(data: HareInstance, count: int = 24) -> pyo.ConcreteModel:
    """Return the unsolved linear programme."""
    given = intervals_of(data, count)
    jobs, kinds, last = range(len(data.jobs)), range(len(data.count)), count - 1
    train = data.train_s[:, data.first_gpu]
    runs = {n: [k for k in kinds if np.isfinite(train[n, k])] for n in jobs}
    where = [(n, k, i) for n in jobs for i in range(count) if given.most[n, i] > 0 for k in runs[n]]
    there = set(where)

    m = pyo.ConcreteModel("hare_interval_lp")
    m.last, m.soonest = last, dict(enumerate(given.window.soonest_s.tolist()))
    m.JOBS = pyo.Set(initialize=jobs, doc="n | jobs")
    m.TYPES = pyo.Set(initialize=kinds, doc="k | types of GPUs")
    m.INTERVALS = pyo.Set(initialize=range(count), doc="l | intervals of time in turn\nL | the last one | | last")
    m.RUNS = pyo.Set(
        dimen=2, initialize=[(n, k) for n in jobs for k in runs[n]], doc="n,k | jobs and types they run on"
    )
    m.TRAINS = pyo.Set(dimen=3, initialize=where, doc="n,k,l | intervals in which a job can be trained on a type")

    def column(values: FloatArray) -> dict[int, float]:
        return dict(enumerate(values.tolist()))

    m.weight = pyo.Param(m.JOBS, initialize=column(data.weight), doc="w_n | weight | 1")
    m.tasks = pyo.Param(m.JOBS, initialize=dict(enumerate(data.tasks.tolist())), doc="D_n | tasks of a round | tasks")
    m.work = pyo.Param(m.JOBS, initialize=column(given.work), doc="W_n | tasks of all rounds | tasks")
    m.after = pyo.Param(
        m.JOBS, initialize=column(given.after_s), doc="e_n | mean time from training to completion, at least | s"
    )
    m.train = pyo.Param(
        m.RUNS, initialize={(n, k): float(train[n, k]) for n, k in m.RUNS}, doc="T^c_nk | training time of a task | s"
    )
    m.gpus = pyo.Param(m.TYPES, initialize=dict(enumerate(data.count.tolist())), doc="c_k | GPUs of a type | GPUs")
    m.start = pyo.Param(m.INTERVALS, initialize=column(given.start_s), doc="t_l | beginning of an interval | s")
    m.length = pyo.Param(
        m.TYPES,
        range(last),
        initialize={(k, i): float(given.length_s[k, i]) for k in kinds for i in range(last)},
        doc="h_kl | length of an interval on a type's GPUs | s",
    )

    def table(values: FloatArray) -> dict[tuple[int, int], float]:
        return {(n, i): float(values[n, i]) for n in jobs for i in range(count)}

    m.most = pyo.Param(
        m.JOBS,
        m.INTERVALS,
        initialize=table(given.most),
        doc="g_nl | work that can be done by the end of an interval, at most | tasks",
    )
    m.least = pyo.Param(
        m.JOBS,
        m.INTERVALS,
        initialize=table(given.least_s),
        within=pyo.Reals,
        doc="s_nl | completion with no work left, at least | s",
    )
    m.per_task = pyo.Param(
        m.JOBS, m.INTERVALS, initialize=table(given.per_task_s), doc="q_nl | later by, for each task left | s"
    )

    m.trained = pyo.Var(
        m.TRAINS, domain=pyo.NonNegativeReals, doc="(4) v_nkl | work done in an interval on a type | tasks"
    )
    m.done = pyo.Var(
        m.JOBS,
        m.INTERVALS,
        bounds=lambda m, n, i: (0.0, m.most[n, i]),
        doc="(7) A_nl | work done by the end of an interval | tasks",
    )
    m.complete = pyo.Var(
        m.JOBS,
        bounds=lambda m, n: (m.soonest[n], None),
        doc="(6) C_n | completion | s\nz_n | earliest completion: alone on all GPUs | s | soonest",
    )

    @m.Objective(sense=pyo.minimize, doc="(§5.1) total weighted completion time")
    def weighted_completion(m):
        return pyo.quicksum(m.weight[n] * m.complete[n] for n in m.JOBS)

    @m.Constraint(m.JOBS, m.INTERVALS, doc="(5) work adds up")
    def adds_up(m, n, i):
        before = m.done[n, i - 1] if i else 0.0
        return m.done[n, i] == before + pyo.quicksum(m.trained[n, k, i] for k in runs[n] if (n, k, i) in there)

    @m.Constraint(m.JOBS, doc="(5) all work is done in the end")
    def all_work(m, n):
        return m.done[n, last] == m.work[n]

    @m.Constraint(m.JOBS, doc="(6) a job completes some time after the middle of its training")
    def middle(m, n):
        began = pyo.quicksum(
            m.start[i] / m.work[n] * m.trained[n, k, i] for i in m.INTERVALS for k in runs[n] if (n, k, i) in there
        )
        return m.complete[n] >= began + m.after[n]

    @m.Constraint(m.JOBS, m.INTERVALS, doc="(7) what is left takes whole rounds, but for one")
    def rounds_left(m, n, i):
        before = m.done[n, i - 1] if i else 0.0
        return m.complete[n] >= m.least[n, i] + m.per_task[n, i] * (m.work[n] - before)

    @m.Constraint(m.JOBS, range(last), doc="(7) a job trains no more tasks at once than a round has")
    def in_parallel(m, n, i):
        busy = [m.train[n, k] * m.trained[n, k, i] for k in runs[n] if (n, k, i) in there]
        if not busy:
            return pyo.Constraint.Skip
        return pyo.quicksum(busy) <= m.tasks[n] * (m.start[i + 1] - m.start[i])

    @m.Constraint(m.TYPES, range(last), doc="(8) GPUs train no longer than an interval lasts")
    def capacity(m, k, i):
        busy = [m.train[n, k] * m.trained[n, k, i] for n in jobs if (n, k, i) in there]
        return pyo.quicksum(busy) <= m.gpus[k] * m.length[k, i] if busy else pyo.Constraint.Skip

    return m


class IntervalLP(TaskFormulation):
    """A bound at any size."""

    name = NAME
    title = "Hare: the bound of the interval-indexed linear programme"
    knobs = (*ROUND_KNOBS, INTERVALS)
    reading = (
        "The objective is a bound that no schedule's sum of weight times completion time is below, not a schedule's "
        "own; the fewer intervals, the lower it is."
    )

    def build(self, data: HareInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        return build(data, int(knobs.get("intervals", INTERVALS.default)))

    def read(self, model: pyo.ConcreteModel, data: HareInstance, knobs: Knobs) -> Result:
        """The bound, and the relaxation's completions."""
        completion = np.array([model.complete[n].value for n in model.JOBS], dtype=float)
        stated = float(pyo.value(model.weighted_completion))
        return bound_result(data, stated, completion, "interval-indexed LP", {"intervals": len(model.INTERVALS)})
