"""What Hare's formulations share: the jobs as rounds of tasks, all known ahead, and what their results look like."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workbench.papers.hare.algorithm import safe_order
from workbench.papers.hare.from_scenario import instance_of
from workbench.papers.hare.instance import Instance
from workbench.papers.hare.schedule import Schedule, in_order
from workbench.papers.hare.start import known_schedule
from workbench.papers.hare.units import units_of
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Formulation, Knobs, Result
from workbench.scheduling.decision import IntArray, Snapshot
from workbench.scheduling.solvers import Solver, SolverFailedError

UNIT = "s x weight"


class TaskFormulation(Formulation[Instance]):
    """A formulation of all tasks, or a bound of one."""

    offline = True

    def data(self, snapshot: Snapshot, knobs: Knobs) -> Instance:
        """All jobs, also those to come, as rounds of tasks."""
        return instance_of(snapshot, knobs)

    def trivial(self, data: Instance, knobs: Knobs) -> Result | None:
        """Without jobs there is nothing to schedule."""
        return None if data.jobs else nothing(data)

    def run(self, data: Instance, knobs: Knobs, solver: Solver | None = None) -> Result:
        """Solve in units that suit the instance (`units.py`), and answer in seconds."""
        if self.trivial(data, knobs) is not None:
            return super().run(data, knobs, solver)
        units = units_of(data)
        found = self.find(units.instance(data), units.knobs(knobs, self.knobs), units.solver(solver or Solver()))
        return units.result(found)

    def find(self, data: Instance, knobs: Knobs, solver: Solver) -> Result:
        """Build, solve and read, all in the units of `data`, which has jobs."""
        return super().run(data, knobs, solver)


def nothing(data: Instance) -> Result:
    """The answer for no jobs."""
    return replace(schedule_result(known_schedule(data)), bound=0.0, gap=0.0)


def schedule_of(data: Instance, gpu: IntArray, start_s: FloatArray, stated: float, owner: str) -> Schedule:
    """The schedule with this assignment and the order of these starts (tasks,), each task as early as it can be.

    Raises SolverFailedError in the name of `owner` if it is worse than the objective stated.
    """
    found = in_order(data, gpu, safe_order(data, start_s)).check(owner)
    if found.objective > stated + 1e-5 * max(1.0, abs(stated)):
        raise SolverFailedError(owner, f"a schedule of {found.objective:g}", f"the {stated:g} of its objective")
    return found


def schedule_result(schedule: Schedule) -> Result:
    """The result of a formulation of schedules."""
    return Result("feasible", schedule.objective, "min", UNIT, schedule.values())


def bound_result(data: Instance, bound: float, completion_s: FloatArray, which: str, more: dict[str, Any]) -> Result:
    """The result of a relaxation; which: the bound's name, shown wherever it is.

    Raises SolverFailedError if the completions are not worth the bound.
    """
    worth = float(data.weight @ completion_s)
    if abs(worth - bound) > 1e-5 * max(1.0, abs(bound)):
        raise SolverFailedError(which, f"completions worth {worth:g}", f"the {bound:g} of its objective")
    completion = dict(zip(data.jobs, completion_s.tolist(), strict=True))
    return Result("feasible", worth, "min", UNIT, {"lower_bound": which, "completion_s": completion, **more})
