r"""Shortest job first (Gavel, section 4.2), as first in, first out in the order of the jobs' shortest durations.

max   sum_m v_m throughput(m, X) / T^fastest_m                           (ours)  first_come
s.t.  sum_{k in C_m} sum_j X_kj <= 1                       for all m     (2)     job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a                 for all a     (3)     capacity
      0 <= X_kj <= 1, X_kj = 0 if (k, j) notin E           for all k, j  (1)     share
      throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj  for all m     (3.1)   throughput

C_m is job m alone and the pairs it is in (none unless GPUs are shared), T^m_kj the speed of the whole gang of z_m
workers, T^fastest_m that on the fastest type on which job m can run alone, n_m its remaining steps. v_m = M for the job
with the smallest n_m / T^fastest_m, 1 for that with the largest; equal jobs in the order of arrival.
Heterogeneity-agnostic: n_m / T_m, with one speed T_m for all types.

(ours): the paper prints the smallest over all jobs of n_m / throughput(m, X), to be made as small as can be. That is M
linear programmes, one for each job (the same model with v = 1 for that job and 0 for the others), of which the best one
counts; it says nothing about the other jobs. Knob `literal` does just that, its objective is a duration in s, and who
is not in the best programme gets what the solver leaves.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel.formulations import fifo
from workbench.papers.gavel.formulations import shortest_job_literal as one_job
from workbench.papers.gavel.formulations.allocation import ShareFormulation, feasible, values
from workbench.papers.gavel.formulations.assembly import SolvedShares, total, weighted_sum
from workbench.papers.gavel.formulations.fifo import fastest, places, worth
from workbench.papers.gavel.instance import AllocationInstance, StepsInstance, seen
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.decision import IntArray
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import pyo
from workbench.scheduling.solvers import Solver, solve_model

NAME = "gavel.shortest_job_first"

LITERAL = Knob(
    "literal",
    False,
    "As printed: the best of M programmes that each serve one job alone; the others get what the solver leaves",
    source="paper",
    kind="bool",
)


def in_line(data: StepsInstance) -> IntArray:
    """Positions of the jobs, the shortest first; equal ones in the order of the jobs."""
    return np.argsort(data.steps / fastest(data), kind="stable")


def value(data: StepsInstance) -> FloatArray:
    """(jobs,) `v_m`, from M for the shortest job to 1 for the longest."""
    found = np.empty(len(data.jobs))
    found[in_line(data)] = places(data)
    return found


def build(data: AllocationInstance, value: FloatArray) -> pyo.ConcreteModel:
    """Return the unsolved linear programme, FIFO's; value: (jobs,) `v_m`."""
    m = fifo.build(data, value)
    m.name = "gavel_shortest_job_first"
    m.first_come.doc = "(ours) relative throughput, more so of the shorter jobs"
    return m


def objective(data: StepsInstance, shares: FloatArray, knobs: Knobs) -> float:
    """Of (combinations x types) shares: the weighted sum, or (`literal`) the shortest duration in s."""
    if not knobs.get("literal", False):
        return total(data, worth(data, value(data)), shares)
    gained = data.throughput(shares)
    running = gained > 0
    return float((data.steps[running] / gained[running]).min(initial=np.inf))


def allocate(data: StepsInstance, knobs: Knobs) -> SolvedShares:
    """The same by the sparse matrix."""
    known, optimum = seen(data, knobs), str(knobs.get("optimum", "vertex"))
    if not data.jobs or not knobs.get("literal", False):
        return weighted_sum(known, worth(known, value(known)), NAME, optimum=optimum)
    found = []
    for row in range(len(data.jobs)):
        one = weighted_sum(known, worth(known, one_job.alone(known, row)), NAME, optimum=optimum)
        duration_s = float(known.steps[row] / known.throughput(one.shares)[row])
        found.append(SolvedShares(one.shares, replace(one.solved, objective=duration_s, bound=None, gap=None)))
    best = min(found, key=lambda each: each.solved.value)
    build_s, solve_s = (sum(getattr(each.solved, name) for each in found) for name in ("build_s", "solve_s"))
    return replace(best, solved=replace(best.solved, build_s=build_s, solve_s=solve_s))


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

    def statement(self, knobs: Knobs, data: Any = None) -> Any:
        """That of the programme of one job, if the problem is taken as printed."""
        return one_job if knobs.get("literal", False) else self

    def build(self, data: StepsInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model; `literal`: that of the job with the smallest n_m / T^fastest_m."""
        known = seen(data, knobs)
        literal = knobs.get("literal", False) and len(data.jobs) > 0
        return one_job.build(known, int(in_line(known)[0])) if literal else build(known, value(known))

    def run(self, data: StepsInstance, knobs: Knobs, solver: Solver | None = None) -> Result:
        """Build, solve, read; `literal`: solve the programme of each job, and keep the best."""
        if not data.jobs or not knobs.get("literal", False):
            return super().run(data, knobs, solver)
        options = self.options(knobs, solver or Solver())
        began = time.perf_counter()
        model = self.build(data, knobs)
        build_s, solve_s, found = time.perf_counter() - began, 0.0, []
        for row in range(len(data.jobs)):
            model.value.store_values(data.column(one_job.alone(data, row)))
            solved = solve_model(model, options)
            build_s, solve_s = build_s + solved.build_s, solve_s + solved.solve_s
            found.append(replace(self.read(model, data, knobs), status=solved.status, solver=solved.solver))
        best = min(found, key=lambda each: np.inf if each.objective is None else each.objective)
        return replace(best, build_s=build_s, solve_s=solve_s)

    def report(self, data: StepsInstance, shares: FloatArray, knobs: Knobs) -> Result:
        """Shares and normalised throughput (`throughput(m, X) / P_m`, true speeds in both forms)."""
        literal = bool(knobs.get("literal", False))
        found = objective(seen(data, knobs), shares, knobs) if data.jobs else None
        return feasible(found, "min" if literal else "max", "s" if literal else "1", values(data, shares))
