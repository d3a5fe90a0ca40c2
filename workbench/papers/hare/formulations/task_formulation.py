"""What Hare's formulations share: the jobs as rounds of tasks, all known ahead, and what their results look like.

Models are solved in units (ours) of about one for a task's time, and about one for a job's weight (`Units`). Solvers
keep rows, whole numbers and optima to absolute tolerances of about 1e-6. Times of 1e-7 s would be rounding to
them, and squares of 1e7 s too large. So a model is built from an instance whose times are divided by a power of ten of
the mean T^c + T^s, and weights likewise by one of their mean; what is found is multiplied again. Where a module says
seconds, it means this unit while a solver is at work.

Exact models begin from a good feasible schedule (ours), `known_schedule`, which a search over the order of the jobs
finds. The tasks are placed by Algorithm 1's greedy with earliest finish and insertion (`place`), job by job. Two
jobs exchange places in the order for as long as that lowers the objective.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.papers.hare.algorithms.list_schedule import algorithm_1, fluid_start_s, list_schedule, safe_order
from workbench.papers.hare.algorithms.schedule import TaskSchedule, in_order
from workbench.papers.hare.instance import HareInstance
from workbench.scheduling.contract import Formulation, Knobs, Result
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import pyo
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import Solver, SolverFailedError

OBJECTIVES = ("objective", "bound", "on_grid", "bound_on_grid", "schedule")
"""What of `Result.iterations` is an objective, in s x weight."""


NEXT = "Q | pairs (i, j): tasks of a round and of its job's next one"
TASKS = """i | tasks of all rounds
j | another task
R_n | rounds r of a job | | rounds
D_r | tasks of a round | | tasks"""


def rounds_of(data: HareInstance) -> dict[int, range]:
    """Rounds of each job."""
    return {n: range(*data.job_round[n : n + 2].tolist()) for n in range(len(data.jobs))}


def tasks_of(data: HareInstance) -> dict[int, range]:
    """Tasks of each round."""
    return {r: range(*data.round_task[r : r + 2].tolist()) for r in range(len(data.round_job))}


def add_rounds(m: pyo.ConcreteModel, jobs: Sequence[int], where: Mapping[int, Sequence[int]]) -> None:
    """Add (4) to (7), which Hare_Sched and its relaxation share; jobs: of each task; where: GPUs that can run it."""

    def synchronised(m, i):
        return m.start[i] + pyo.quicksum((m.train[i, g] + m.sync[i, g]) * m.assign[i, g] for g in where[i])

    @m.Constraint(m.TASKS, doc="(4) no task starts before its job arrives")
    def after_arrival(m, i):
        return m.start[i] >= m.arrival[jobs[i]]

    @m.Constraint(m.TASKS, doc="(5) a task is on exactly one GPU")
    def one_gpu(m, i):
        return pyo.quicksum(m.assign[i, g] for g in where[i]) == 1

    @m.Constraint(m.TASKS, doc="(6) a job completes when all its tasks have synchronised")
    def completion(m, i):
        return m.complete[jobs[i]] >= synchronised(m, i)

    @m.Constraint(m.NEXT, doc="(7) a round starts when all tasks of the one before have synchronised")
    def barrier(m, i, j):
        return m.start[j] >= synchronised(m, i)


class Units(NamedTuple):
    """Seconds of a unit of time, and weight of a unit of weight."""

    time_s: float = 1.0
    weight: float = 1.0

    @property
    def worth(self) -> float:
        """A unit of the objective in s x weight."""
        return self.time_s * self.weight

    def instance(self, data: HareInstance) -> HareInstance:
        """The instance in these units."""
        if self == Units():
            return data
        times = ("train_s", "sync_s", "arrival_s", "free_s", "barrier_s")
        scaled = {name: getattr(data, name) / self.time_s for name in times}
        return replace(data, weight=data.weight / self.weight, **scaled)

    def knobs(self, knobs: Mapping[str, Any], declared: tuple[Knob, ...]) -> dict[str, Any]:
        """Values of knobs, those in seconds in these units."""
        times = {knob.name for knob in declared if knob.unit == "s"}
        return {
            name: value / self.time_s if name in times and value is not None else value for name, value in knobs.items()
        }

    def solver(self, solver: Solver) -> Solver:
        """The same solver; its listener is told objectives in s x weight."""
        listener = solver.on_progress
        if listener is None:
            return solver
        return replace(
            solver,
            on_progress=lambda progress: listener(
                progress._replace(incumbent=self._worth(progress.incumbent), bound=self._worth(progress.bound))
            ),
        )

    def result(self, found: Result) -> Result:
        """What was found in these units, in seconds: objectives, and the values whose names end in `_s`."""
        if self == Units():
            return found
        steps = tuple(
            {name: self._worth(value) if name in OBJECTIVES else value for name, value in step.items()}
            for step in found.iterations
        )
        values = {
            name: self._worth(value) if name == "weighted_jct_s" else self._values(name, value)
            for name, value in found.values.items()
        }
        return replace(
            found,
            objective=self._worth(found.objective),
            bound=self._worth(found.bound),
            values=values,
            iterations=steps,
        )

    def _worth(self, value: float | None) -> float | None:
        return None if value is None else value * self.worth

    def _values(self, name: str, value: Any) -> Any:
        """Times in seconds where a name says so, those by job or round below it included."""
        if isinstance(value, Mapping):
            return {key: self._values(name if name.endswith("_s") else key, each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._values(name, each) for each in value]
        return value * self.time_s if name.endswith("_s") else value


def units_of(data: HareInstance) -> Units:
    """The units of an instance; seconds and weights of 1 where it has no times above 0."""
    return Units(_power((data.train_s + data.sync_s)[data.runs]), _power(data.weight))


def _power(values: FloatArray) -> float:
    """The power of ten next to the mean of those above 0; 1 without any."""
    above = values[values > 0]
    return float(f"1e{round(math.log10(float(above.mean())))}") if len(above) else 1.0


MOST_PLACED = 20_000
"""Tasks that the search places in all: a fraction of a second."""


@lru_cache(maxsize=2)  # a model is built and read with the same one
def known_schedule(instance: HareInstance) -> TaskSchedule:
    """A feasible schedule: Algorithm 1's, or a better one that the search finds. The same every time."""
    begin = fluid_start_s(instance)
    best = min(
        (algorithm_1(instance, begin, insertion=insertion) for insertion in (False, True)),
        key=lambda schedule: schedule.objective,
    )
    first = begin[instance.round_task[instance.job_round[:-1]]] if instance.jobs else begin
    last = best.completion_s
    trials = MOST_PLACED // max(1, instance.task_count)
    for order in (np.argsort(first, kind="stable").tolist(), np.argsort(last, kind="stable").tolist()):
        found, trials = _exchanged(instance, order, trials)
        best = min(best, found, key=lambda schedule: schedule.objective)
    return best


def _job_by_job(instance: HareInstance, jobs: list[int]) -> TaskSchedule:
    """Each job's tasks in turn, with insertion."""
    ends = instance.round_task[instance.job_round].tolist()
    tasks = (range(ends[job], ends[job + 1]) for job in jobs)
    return list_schedule(instance, list(itertools.chain.from_iterable(tasks)), insertion=True)


def _exchanged(instance: HareInstance, jobs: list[int], trials: int) -> tuple[TaskSchedule, int]:
    """The best schedule found from an order of jobs, and the trials that are left."""
    best = _job_by_job(instance, jobs)
    better = True
    while better:
        better = False
        for i, k in itertools.combinations(range(len(jobs)), 2):
            if trials <= 0:
                return best, 0
            trials -= 1
            jobs[i], jobs[k] = jobs[k], jobs[i]
            found = _job_by_job(instance, jobs)
            if found.objective < best.objective * (1 - 1e-12):
                best, better = found, True
            else:
                jobs[i], jobs[k] = jobs[k], jobs[i]
    return best, trials


UNIT = "s x weight"


class TaskFormulation(Formulation[HareInstance]):
    """A formulation of all tasks, or a bound of one."""

    offline = True

    def data(self, snapshot: Snapshot, knobs: Knobs) -> HareInstance:
        """All jobs, also those to come, as rounds of tasks."""
        return HareInstance.from_snapshot(snapshot, knobs)

    def trivial(self, data: HareInstance, knobs: Knobs) -> Result | None:
        """Without jobs there is nothing to schedule."""
        return None if data.jobs else nothing(data)

    def run(self, data: HareInstance, knobs: Knobs, solver: Solver | None = None) -> Result:
        """Solve in units that suit the instance (`Units`), and answer in seconds."""
        if self.trivial(data, knobs) is not None:
            return super().run(data, knobs, solver)
        units = Units() if self.own else units_of(data)
        found = self.find(units.instance(data), units.knobs(knobs, self.knobs), units.solver(solver or Solver()))
        return units.result(found)

    def find(self, data: HareInstance, knobs: Knobs, solver: Solver) -> Result:
        """Build, solve and read, all in the units of `data`, which has jobs."""
        return super().run(data, knobs, solver)


def nothing(data: HareInstance) -> Result:
    """The answer for no jobs."""
    return replace(schedule_result(known_schedule(data)), bound=0.0, gap=0.0)


def schedule_of(data: HareInstance, gpu: IntArray, start_s: FloatArray, stated: float, owner: str) -> TaskSchedule:
    """As `carried_out`; raises SolverFailedError in the name of `owner` if it is worse than the objective stated."""
    found = carried_out(data, gpu, start_s, owner)
    if found.objective > stated + 1e-5 * max(1.0, abs(stated)):
        raise SolverFailedError(owner, f"a schedule of {found.objective:g}", f"the {stated:g} of its objective")
    return found


def carried_out(data: HareInstance, gpu: IntArray, start_s: FloatArray, owner: str) -> TaskSchedule:
    """The schedule with this assignment and the order of these starts (tasks,), each task as early as it can be."""
    return in_order(data, gpu, safe_order(data, start_s)).check(owner)


def schedule_result(schedule: TaskSchedule) -> Result:
    """The result of a formulation of schedules."""
    return Result("feasible", schedule.objective, "min", UNIT, schedule.values())


def bound_result(
    data: HareInstance, bound: float, completion_s: FloatArray, which: str, more: dict[str, Any]
) -> Result:
    """The result of a relaxation; which: the bound's name, shown wherever it is.

    Raises SolverFailedError if the completions are not worth the bound.
    """
    worth = float(data.weight @ completion_s)
    if abs(worth - bound) > 1e-5 * max(1.0, abs(bound)):
        raise SolverFailedError(which, f"completions worth {worth:g}", f"the {bound:g} of its objective")
    completion = dict(zip(data.jobs, completion_s.tolist(), strict=True))
    return Result("feasible", worth, "min", UNIT, {"lower_bound": which, "completion_s": completion, **more})
