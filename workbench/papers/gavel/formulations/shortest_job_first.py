r"""Shortest job first (Gavel, section 4.2), as first in, first out in the order of the jobs' shortest durations.

max   sum_m v_m throughput(m, X) / T^fastest_m                           (ours)  first_come
s.t.  sum_{k in C_m} sum_j X_kj <= 1                       for all m     (2)     job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a                 for all a     (3)     capacity
      0 <= X_kj <= 1, X_kj = 0 if (k, j) notin E           for all k, j  (1)     share
      throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj  for all m     (§3.1)  throughput

C_m is job m alone and the pairs it is in (none unless GPUs are shared), T^m_kj the speed of the whole gang of z_m
GPUs, T^fastest_m that on the fastest type on which job m can run alone, n_m its remaining steps. v_m = M for the job
with the smallest n_m / T^fastest_m, 1 for that with the largest; equal jobs in the order of arrival.
Heterogeneity-agnostic: n_m / T_m, with one speed T_m for all types.

(ours): the paper prints the smallest over all jobs of n_m / throughput(m, X), to be made as small as can be. That is M
linear programmes, one for each job (the same model with v = 1 for that job and 0 for the others), of which the one
counts whose job is done first; it says nothing about the other jobs. Knob `literal` does just that, its objective is a
duration in s, and who is not in that programme gets what the solver leaves. The model shown is then that of the job
with the smallest n_m / T^fastest_m.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel.formulations import fifo
from workbench.papers.gavel.formulations.allocation import (
    NOTHING_MORE,
    DividedTime,
    ShareFormulation,
    feasible,
    total,
    values,
)
from workbench.papers.gavel.formulations.allocation_assembly import Assembly
from workbench.papers.gavel.formulations.fifo import fastest, places, worth
from workbench.papers.gavel.instance import AllocationInstance, StepsInstance, seen
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import pyo
from workbench.scheduling.solvers import Programme, Solver, answer

NAME = "gavel.shortest_job_first"

LITERAL = Knob(
    "literal",
    False,
    "As printed (section 4.2): the best of M problems that each serve one job alone; the others get what the "
    "solver leaves",
    source="paper",
)


def in_line(data: StepsInstance) -> IntArray:
    """Positions of the jobs, the shortest first; equal ones in the order of the jobs."""
    return np.argsort(data.steps / fastest(data), kind="stable")


def value(data: StepsInstance) -> FloatArray:
    """(jobs,) `v_m`, from M for the shortest job to 1 for the longest."""
    found = np.empty(len(data.jobs))
    found[in_line(data)] = places(data)
    return found


def alone(data: StepsInstance, row: int) -> FloatArray:
    """(jobs,) `v_m` of the programme of one job."""
    found = np.zeros(len(data.jobs))
    found[row] = 1.0
    return found


def weights(data: StepsInstance, knobs: Knobs) -> FloatArray:
    """(jobs,) `v_m`, as printed (`literal`) of the programme of the shortest job."""
    literal = knobs.get("literal", False) and len(data.jobs) > 0
    return alone(data, int(in_line(data)[0])) if literal else value(data)


def build(data: AllocationInstance, value: FloatArray) -> pyo.ConcreteModel:
    """Return the unsolved linear programme, FIFO's; value: (jobs,) `v_m`."""
    m = fifo.build(data, value)
    m.name = "gavel_shortest_job_first"
    m.first_come.doc = "(ours) relative throughput, more so of the shorter jobs"
    return m


class ShortestJobFirst(ShareFormulation[StepsInstance]):
    """Shares of time that serve the jobs in the order of their remaining time on their fastest types."""

    name = NAME
    instance = StepsInstance
    title = "Gavel: shortest job first"
    reading = (
        "The objective is the sum over the jobs of place x steps/s / those on the job's fastest type alone; place is "
        "the number of jobs for the one that would be done first alone and 1 for the last. With literal it is the "
        "duration in s of the one job that is served. "
        "Without heterogeneity_aware the speeds are the one that the policy takes for all types."
    )
    knobs = (gavel.AWARE, gavel.REFERENCE, LITERAL, *gavel.EXTENSIONS, gavel.OPTIMUM)

    def build(self, data: StepsInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model; `literal`: that of the job with the smallest n_m / T^fastest_m."""
        known = seen(data, knobs)
        return build(known, weights(known, knobs))

    def restate(self, model: pyo.ConcreteModel, data: StepsInstance, knobs: Knobs) -> None:
        """For other jobs."""
        known = seen(data, knobs)
        fifo.restate(model, known, weights(known, knobs))

    def assemble(self, data: StepsInstance, knobs: Knobs) -> Programme:
        """The same programme as arrays."""
        known = seen(data, knobs)
        return fifo.assemble(known, weights(known, knobs), "gavel_shortest_job_first")

    def at_once(self, knobs: Knobs) -> bool:
        """Not as printed."""
        return not knobs.get("literal", False)

    def optimum(self, data: StepsInstance, knobs: Knobs, solver: Solver) -> DividedTime:
        """Of the one programme; `literal`: of that of each job, which differ in what they maximise, the best."""
        if not knobs.get("literal", False):
            return super().optimum(data, knobs, solver)
        began = time.perf_counter()
        known, (compiled, programme), found = seen(data, knobs), self.posed(data, knobs), []
        for row in range(len(data.jobs)):
            cost = np.zeros(len(programme.cost))
            at, worth = Assembly(known).worth(alone(known, row) / fastest(known))
            cost[programme.columns["share"][at]] = worth
            one_job = replace(programme, cost=cost)
            point = self.solve(one_job, data, knobs, solver)
            speed = known.throughput(self.shares(one_job.values(point), data))[row]
            found.append((float(known.steps[row] / speed), one_job, point))
        _, one_job, point = min(found, key=lambda each: each[0])
        solve_s = sum(each.solved.solve_s for _, _, each in found)
        if compiled is not None:  # who watches, or asks what a changed row would bring, is told of the one that decides
            model, first = compiled
            decides = replace(first, programme=one_job)
            point = answer(model, decides, solver, lambda programme: self.solve(programme, data, knobs, solver))
        best = DividedTime(self.shares(one_job.values(point), data), point.solved)
        build_s = time.perf_counter() - began - solve_s
        return replace(best, solved=replace(best.solved, bound=None, gap=None, build_s=build_s, solve_s=solve_s))

    def objective(self, data: StepsInstance, shares: FloatArray, knobs: Knobs) -> float | None:
        """The weighted sum, or (`literal`) the shortest duration in s."""
        known = seen(data, knobs)
        if not data.jobs:
            return None
        if not knobs.get("literal", False):
            return total(known, worth(known, value(known)), shares)
        gained = known.throughput(shares)
        running = gained > 0
        return float((known.steps[running] / gained[running]).min(initial=np.inf))

    def report(
        self, data: StepsInstance, shares: FloatArray, knobs: Knobs, by_job: Mapping[str, FloatArray] = NOTHING_MORE
    ) -> Result:
        """Shares and normalised throughput (`throughput(m, X) / P_m`, true speeds in both forms)."""
        literal = bool(knobs.get("literal", False))
        found = self.objective(data, shares, knobs)
        return feasible(found, "min" if literal else "max", "s" if literal else "1", values(data, shares))
