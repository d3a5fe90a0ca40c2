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

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel.algorithms.equal_jobs import MergedInstance, merge
from workbench.papers.gavel.formulations import makespan_bisection as bisection
from workbench.papers.gavel.formulations.allocation import (
    NOTHING_MORE,
    DividedTime,
    ShareFormulation,
    feasible,
    lay_out,
    values,
)
from workbench.papers.gavel.formulations.allocation_assembly import Assembly, Variable
from workbench.papers.gavel.instance import StepsInstance, fastest_throughput, seen
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import parameter, pyo
from workbench.scheduling.solvers import InfeasibleError, Programme, Solver, SolverFailedError

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
    m = lay_out("gavel_makespan", data, makespan=pyo.Var(bounds=(0, None), doc="(ours) M | makespan | s"))
    m.share.doc = "(1) Y_kj | time on a type | s"
    m.throughput.doc = m.throughput.doc.replace("X", "Y")
    m.steps = parameter(m.JOBS, numbers=data.column(data.steps), doc="n_m | steps left | steps")

    @m.Objective(sense=pyo.minimize, doc="(4.2) the end of the last job")
    def last_job(m):
        return m.makespan

    @m.Constraint(m.JOBS, doc="(4.2) every job does all its steps")
    def finished(m, job):
        return m.throughput[job] >= m.steps[job]

    return m


def assemble(data: StepsInstance) -> Programme:
    """The same programme as arrays."""
    makespan = Variable("makespan", lower=0.0)
    rows = Assembly(data, before=[makespan], whole="makespan")
    rows.add("finished", rows.throughput(np.ones(len(data.jobs))), lower=data.steps)
    return rows.programme((rows.column(makespan), 1.0), "gavel_makespan", maximise=False)


def durations(data: StepsInstance, shares: FloatArray) -> FloatArray:
    """(jobs,) `n_m / throughput(m, X)` in seconds of (combinations x types) shares; inf for a job without any."""
    throughput = data.throughput(shares)
    seconds: FloatArray = np.full(len(data.jobs), np.inf)
    np.divide(data.steps, throughput, out=seconds, where=throughput > 0)
    return seconds


TOLERANCE = 1e-9
"""How far rows may be off where they are all that is asked, unless the solver has been told: HiGHS's own 1e-7 took a
makespan that is too short by 6e-7 for one that can be kept."""


class Makespan(ShareFormulation[StepsInstance]):
    """Shares of time with which the last job is done as soon as can be."""

    name = NAME
    instance = StepsInstance
    whole = "makespan"
    varies = frozenset({"makespan_s"})
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

    def merged(self, data: StepsInstance, knobs: Knobs) -> MergedInstance[StepsInstance]:
        """Jobs are equal if they are in parts of their steps."""
        return merge(data, seen(data, knobs).in_parts(1.0))

    def build(self, data: StepsInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model; of the bisection for one makespan, see `StepsInstance`."""
        known = seen(data, knobs)
        return bisection.build(known) if _bisects(knobs) else build(known)

    def restate(self, model: pyo.ConcreteModel, data: StepsInstance, knobs: Knobs) -> None:
        """Another makespan of the bisection; the one programme has none."""
        bisection.restate(model, seen(data, knobs))

    def assemble(self, data: StepsInstance, knobs: Knobs) -> Programme:
        """The same programme as arrays."""
        known = seen(data, knobs)
        return bisection.assemble(known) if _bisects(knobs) else assemble(known)

    def at_once(self, knobs: Knobs) -> bool:
        """Never: times are counted in a unit that suits the jobs."""
        return False

    def optimum(self, data: StepsInstance, knobs: Knobs, solver: Solver) -> DividedTime:
        """By the one programme, or by the bisection, whose `iterations` are (makespan_s, feasible)."""
        # GLPK's presolve passes rows that are broken by 1e-3, and little could be removed.
        by = self._by_bisection if _bisects(knobs) else self._at_once
        found = by(data, knobs, solver.without_presolve())
        seconds = durations(seen(data, knobs), found.shares)
        idle = [job for job, each in zip(data.jobs, seconds.tolist(), strict=True) if each == np.inf]
        if idle:
            got, expected = f"no time for {', '.join(idle)}", "a share for every job, however small (HiGHS finds it)"
            raise SolverFailedError(f"{self.name}, {found.solved.solver}", got, expected)
        return found

    def _at_once(self, data: StepsInstance, knobs: Knobs, solver: Solver) -> DividedTime:
        """By the one programme; its unit of time is the mean, of the orders of magnitude, of what single jobs take."""
        alone_s = 1.0 / fastest_throughput(seen(data, knobs).in_parts(1.0))
        unit_s = float(np.sqrt(alone_s.min() * alone_s.max()))
        found = super().optimum(data.in_parts(unit_s), knobs, solver)
        bound = found.solved.bound
        return replace(found, solved=replace(found.solved, bound=None if bound is None else bound * unit_s))

    def _by_bisection(self, data: StepsInstance, knobs: Knobs, solver: Solver) -> DividedTime:
        known = seen(data, knobs)
        unit_s = bisection.bracket(known)[1]
        parts = data.in_parts(unit_s)
        exact = solver.to_within(TOLERANCE)

        def attempt(makespan_s: float, solver: Solver) -> bisection.Attempt | None:
            try:
                programme, point = self.answered(parts.at(makespan_s=makespan_s / unit_s), knobs, solver)
            except InfeasibleError:
                return None
            return bisection.Attempt(self.shares(programme.values(point), data), point.solved)

        # An interior point is looked for only where there is one: HiGHS's method for it may fail where there is none.
        interior = solver.method == "interior"
        vertex = replace(exact, method="auto") if interior else exact
        tolerance = float(knobs.get("tolerance", bisection.TOLERANCE.default))
        begin = str(knobs.get("bracket", bisection.BRACKET.default))
        found = bisection.search(known, tolerance, lambda makespan_s: attempt(makespan_s, vertex), begin)
        last = attempt(found.kept_s, exact) if interior else None
        if interior and last is None:
            raise SolverFailedError(NAME, "no interior optimum where there is a vertex", "knob optimum: vertex")
        shares = found.shares if last is None else last.shares
        return DividedTime(shares, found.solved(float(durations(known, shares).max())), iterations=found.iterations)

    def objective(self, data: StepsInstance, shares: FloatArray, knobs: Knobs) -> float | None:
        """`max_m n_m / throughput(m, X)` in seconds."""
        return float(durations(seen(data, knobs), shares).max()) if data.jobs else None

    def report(
        self, data: StepsInstance, shares: FloatArray, knobs: Knobs, by_job: Mapping[str, FloatArray] = NOTHING_MORE
    ) -> Result:
        """Shares, normalised throughput and each job's duration (true speeds in both forms).

        An agnostic policy's objective is the largest of `believed_duration_s`.
        """
        known = seen(data, knobs)
        more = {"duration_s": durations(data, shares)}
        if known is not data:
            more["believed_duration_s"] = durations(known, shares)
        return feasible(self.objective(data, shares, knobs), "min", "s", values(data, shares, more))


def _bisects(knobs: Knobs) -> bool:
    return knobs.get("method") == "bisection"
