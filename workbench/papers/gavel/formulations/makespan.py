r"""Minimum makespan (Gavel, section 4.2): all jobs that are there now are done as soon as possible.

min   M                                                                  (4.2)   last_job
s.t.  throughput(m, Y) >= n_m                              for all m     (4.2)   finished
      sum_{k in C_m} sum_j Y_kj <= M                       for all m     (2)     job_time
      sum_k sum_{j in J_a} z_k Y_kj <= c_a M               for all a     (3)     capacity
      Y_kj >= 0, Y_kj = 0 if (k, j) notin E                for all k, j  (1)     share
      M >= 0                                                             (ours)  makespan
      throughput(m, Y) = sum_{k in C_m} sum_j T^m_kj Y_kj  for all m     (3.1)   throughput

C_m is job m alone and the pairs it is in (none unless GPUs are shared), T^m_kj the speed of the whole gang of z_m
workers. n_m are the steps that job m has left. (ours): the paper minimises max_m n_m / throughput(m, X) by a bisection
over M (appendix A.1, `makespan_bisection`). In the time Y = M X that combination k spends on type j the problem is one
linear programme; X = Y / M. Heterogeneity-agnostic: one speed for all types.

(ours): solvers keep a row to 1e-7, which is nothing of 1e9 steps and all of 1e-8. What is solved is therefore the same
model with steps counted in parts of each job's n_m, and time in a unit that suits the jobs (`StepsInstance.in_parts`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel.formulations import makespan_bisection as bisection
from workbench.papers.gavel.formulations.allocation import (
    ShareFormulation,
    check,
    feasible,
    lay_out,
    read_shares,
    values,
)
from workbench.papers.gavel.instance import StepsInstance, fastest_throughput, seen
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import pyo
from workbench.scheduling.solvers import Solver, SolverFailedError, solve_model

NAME = "gavel.makespan"

METHOD = Knob(
    "method",
    "single",
    "One linear programme over times, or the paper's bisection over the makespan",
    source="ours",
    kind="str",
    choices=("single", "bisection"),
)


def build(data: StepsInstance) -> pyo.ConcreteModel:
    """Return the unsolved linear programme for one allocation; its `share` is Y."""
    m = pyo.ConcreteModel("gavel_makespan")
    m.makespan = pyo.Var(bounds=(0, None), doc="(ours) M | makespan | s")
    lay_out(m, data, m.makespan)
    m.share.doc = "(1) Y_kj | time on a type | s"
    m.throughput.doc = m.throughput.doc.replace("X", "Y")
    m.steps = pyo.Param(m.JOBS, initialize=data.column(data.steps), doc="n_m | steps left | steps")

    @m.Objective(sense=pyo.minimize, doc="(4.2) the end of the last job")
    def last_job(m):
        return m.makespan

    @m.Constraint(m.JOBS, doc="(4.2) every job does all its steps")
    def finished(m, job):
        return m.throughput[job] >= m.steps[job]

    return m


def durations(data: StepsInstance, shares: FloatArray) -> FloatArray:
    """(jobs,) `n_m / throughput(m, X)` in seconds of (combinations x types) shares; inf for a job without any."""
    throughput = data.throughput(shares)
    seconds: FloatArray = np.full(len(data.jobs), np.inf)
    np.divide(data.steps, throughput, out=seconds, where=throughput > 0)
    return seconds


def objective(data: StepsInstance, shares: FloatArray) -> float | None:
    """`max_m n_m / throughput(m, X)` in seconds; None without jobs."""
    return float(durations(data, shares).max()) if data.jobs else None


class Makespan(ShareFormulation[StepsInstance]):
    """Shares of time with which the last job is done as soon as can be."""

    name = NAME
    instance = StepsInstance
    title = "Gavel: minimum makespan"
    reading = (
        "The objective is the largest duration_s: a job's steps left over its steps/s with these shares, kept up to "
        "its end; inf (null) without a share. Without heterogeneity_aware it is the largest believed_duration_s, with "
        "the one speed that the policy takes for all types."
    )
    knobs = (
        gavel.AWARE,
        gavel.REFERENCE,
        METHOD,
        bisection.TOLERANCE,
        bisection.BRACKET,
        *gavel.EXTENSIONS,
        gavel.OPTIMUM,
    )

    def statement(self, knobs: Knobs, data: Any = None) -> Any:
        """That of the bisection, if it is chosen."""
        return bisection if knobs.get("method") == "bisection" else self

    def build(self, data: StepsInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model; of the bisection the first one, whose makespan can be kept."""
        known = seen(data, knobs)
        if knobs.get("method") == "bisection":
            return bisection.build(known, known.steps, bisection.bracket(known, known.steps)[1])
        return build(known)

    def read(self, model: pyo.ConcreteModel, data: StepsInstance, knobs: Knobs) -> Result:
        """Shares of the solved model, checked, and what `report` says of them."""
        shares = read_shares(model, data)
        if isinstance(model.makespan, pyo.Var):
            shares = shares / model.makespan.value
        return self.report(data, check(data, shares, self.name), knobs)

    def run(self, data: StepsInstance, knobs: Knobs, solver: Solver | None = None) -> Result:
        """Build, solve, read; or the bisection, whose `iterations` are (makespan_s, feasible)."""
        if not data.jobs:
            return super().run(data, knobs, solver)
        # GLPK's presolve passes rows that are broken by 1e-3, and little could be removed.
        options = self.options(knobs, solver or Solver()).without_presolve()
        by = self._by_bisection if knobs.get("method") == "bisection" else self._at_once
        found = by(data, knobs, options)
        idle = [job for job, seconds in found.values["duration_s"].items() if seconds == np.inf]
        if idle:
            got, expected = f"no time for {', '.join(idle)}", "a share for every job, however small (HiGHS finds it)"
            raise SolverFailedError(f"{self.name}, {found.solver}", got, expected)
        return found

    def _at_once(self, data: StepsInstance, knobs: Knobs, solver: Solver) -> Result:
        """By the one programme; its unit of time is the mean, of the orders of magnitude, of what single jobs take."""
        known = seen(data, knobs)
        alone_s = 1.0 / fastest_throughput(known.in_parts(1.0))
        unit_s = float(np.sqrt(alone_s.min() * alone_s.max()))
        model = build(known.in_parts(unit_s))
        solved = solve_model(model, solver)
        bound_s = None if solved.bound is None else solved.bound * unit_s
        return self.read(model, data, knobs).reported(replace(solved, bound=bound_s))

    def _by_bisection(self, data: StepsInstance, knobs: Knobs, solver: Solver) -> Result:
        known = seen(data, knobs)
        unit_s = bisection.bracket(known, known.steps)[1]
        parts = known.in_parts(unit_s)
        found = bisection.search(
            known,
            known.steps,
            float(knobs.get("tolerance", bisection.TOLERANCE.default)),
            lambda makespan_s: bisection.attempt(parts, parts.steps, makespan_s / unit_s, solver),
            str(knobs.get("bracket", bisection.BRACKET.default)),
        )
        shares = check(data, found.shares, self.name)
        solved = found.solved(objective(known, shares))
        return self.report(data, shares, knobs).reported(solved, iterations=found.iterations)

    def report(self, data: StepsInstance, shares: FloatArray, knobs: Knobs) -> Result:
        """Shares, normalised throughput and each job's duration (true speeds in both forms).

        An agnostic policy's objective is the largest of `believed_duration_s`.
        """
        known = seen(data, knobs)
        more = {"duration_s": durations(data, shares)}
        if known is not data:
            more["believed_duration_s"] = durations(known, shares)
        return feasible(objective(known, shares), "min", "s", values(data, shares, more))
