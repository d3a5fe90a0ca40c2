r"""Minimum makespan (Gavel, section 4.2): all jobs that are there now are done as soon as possible.

min   M                                                                  (§4.2)  last_job
s.t.  throughput(m, Y) >= n_m                              for all m     (§4.2)  finished
      sum_{k in C_m} sum_j Y_kj <= M                       for all m     (2)     job_time
      sum_k sum_{j in J_a} z_k Y_kj <= c_a M               for all a     (3)     capacity
      Y_kj >= 0, Y_kj = 0 if (k, j) notin E                for all k, j  (1)     share
      M >= 0                                                             (ours)  makespan
      throughput(m, Y) = sum_{k in C_m} sum_j T^m_kj Y_kj  for all m     (§3.1)  throughput

C_m is job m alone and the pairs it is in (none unless GPUs are shared), T^m_kj the speed of the whole gang of z_m
GPUs. n_m are the steps that job m has left. (ours): the paper minimises max_m n_m / throughput(m, X) by a bisection
over M (appendix A.1; `build_bisection` states it). In the time Y = M X that combination k spends on type j the problem
is one linear programme; X = Y / M. Heterogeneity-agnostic: one speed for all types.

(ours): solvers keep a row to 1e-7, which is nothing of 1e9 steps and all of 1e-8. What is solved is therefore the same
model with each job's steps counted in the power of 2 next to its n_m, and time in one that suits the jobs
(`StepsInstance.in_units`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel.algorithms.equal_jobs import MergedInstance, merge
from workbench.papers.gavel.formulations.allocation import (
    NOTHING_MORE,
    DividedTime,
    ShareFormulation,
    feasible,
    lay_out,
    values,
)
from workbench.papers.gavel.formulations.allocation_assembly import Assembly, Variable
from workbench.papers.gavel.formulations.kept_model import unchanged
from workbench.papers.gavel.instance import (
    StepsInstance,
    fastest_throughput,
    isolated_throughput,
    next_power_of_2,
    seen,
)
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import parameter, pyo, renumber
from workbench.scheduling.solvers import InfeasibleError, Programme, Solver, SolveReport, SolverFailedError
from workbench.scheduling.solvers.solve_report import report

NAME = "gavel.makespan"

METHOD = Knob(
    "method",
    "single",
    "One linear problem over times, or the paper's bisection over the makespan",
    source="ours",
    choices=("single", "bisection"),
)

TOLERANCE = Knob(
    "tolerance",
    1e-6,
    "Relative width of the interval at which a search stops (bisection of the authors' code: 0.05)",
    source="ours",
    minimum=1e-8,
    maximum=1.0,
)

BRACKET = Knob(
    "bracket",
    "isolated",
    "Where a bisection begins: from the fastest job alone to the isolated allocation, or from 100 to 1e6 s as in the "
    "authors' code",
    source="code",
    choices=("isolated", "authors"),
)

AUTHORS_S = (100.0, 1e6)
"""The authors' bracket in seconds."""

ROUNDING = 1e-9
"""The isolated makespan is this much longer (relative), so that rounding does not make it infeasible."""


def build(data: StepsInstance) -> pyo.ConcreteModel:
    """Return the unsolved linear programme for one allocation; its `share` is Y."""
    m = lay_out("gavel_makespan", data, makespan=pyo.Var(bounds=(0, None), doc="(ours) M | makespan | s"))
    m.share.doc = "(1) Y_kj | time on a type | s"
    m.throughput.doc = m.throughput.doc.replace("X", "Y")
    m.steps = parameter(m.JOBS, numbers=data.column(data.steps), doc="n_m | steps left | steps")

    @m.Objective(sense=pyo.minimize, doc="(§4.2) the end of the last job")
    def last_job(m):
        return m.makespan

    @m.Constraint(m.JOBS, doc="(§4.2) every job does all its steps")
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


def build_bisection(data: StepsInstance) -> pyo.ConcreteModel:
    r"""The smallest makespan by bisection (Gavel, appendix A.1): is there an allocation with which M is kept?

    min   0                                                                  (A.1)  any_allocation
    s.t.  M / n_m throughput(m, X) >= 1                        for all m     (A.1)  finished
          sum_{k in C_m} sum_j X_kj <= 1                       for all m     (2)    job_time
          sum_k sum_{j in J_a} z_k X_kj <= c_a                 for all a     (3)    capacity
          0 <= X_kj <= 1, X_kj = 0 if (k, j) notin E           for all k, j  (1)    share
          throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj  for all m     (§3.1) throughput

    M is a number here, and any allocation will do. The appendix prints the row of capacity without z_k and c_a
    (erratum); section 3.1 has them. (ours): the search begins between the time that some job needs on its fastest type
    and the makespan of the isolated allocation, which is known to be possible. The authors' code (knob `bracket`)
    begins between 100 and 1e6 s, and goes on from there to ten times as much while nothing is possible; where it stops,
    and so how late its makespan is within the tolerance, depends on that.
    """
    m = lay_out("gavel_makespan_bisection", data)
    m.steps = parameter(m.JOBS, numbers=data.column(data.steps), doc="n_m | steps left | steps")
    m.makespan = pyo.Param(initialize=tried(data), mutable=True, within=pyo.Any, doc="M | makespan | s")

    @m.Objective(sense=pyo.minimize, doc="(A.1) any allocation will do")
    def any_allocation(m):
        return 0.0

    @m.Constraint(m.JOBS, doc="(A.1) every job does all its steps")
    def finished(m, job):
        return m.makespan / m.steps[job] * m.throughput[job] >= 1

    return m


def assemble_bisection(data: StepsInstance) -> Programme:
    """The programme of `build_bisection` as arrays."""
    rows = Assembly(data)
    rows.add("finished", rows.throughput(tried(data) / data.steps), lower=np.ones(len(data.jobs)))
    return rows.programme(([], []), "gavel_makespan_bisection", maximise=False)


def tried(data: StepsInstance) -> float:
    """The makespan that is tried, in the unit of time of the speeds."""
    return bracket(data)[1] if data.makespan_s is None else data.makespan_s


def bracket(data: StepsInstance) -> tuple[float, float]:
    """A makespan that nothing beats, and one that can be kept, in seconds."""
    low = float((data.steps / fastest_throughput(data)).max())
    return low, float((data.steps / isolated_throughput(data)).max()) * (1.0 + ROUNDING)


class Attempt(NamedTuple):
    """(combinations x types) shares with which a makespan is kept, and the report of the solve."""

    shares: FloatArray
    solved: SolveReport


class FoundMakespan(NamedTuple):
    """The shares of the last makespan that could be kept, and its report; the longest that is known to be too short.

    iterations: of `makespan_s` and `feasible`; seconds are those of all programmes together.
    """

    shares: FloatArray
    too_short_s: float
    last: SolveReport
    seconds: float
    iterations: tuple[Mapping[str, Any], ...]

    @property
    def kept_s(self) -> float:
        """The last makespan that could be kept."""
        return min(float(tried["makespan_s"]) for tried in self.iterations if tried["feasible"])

    def solved(self, makespan_s: float | None) -> SolveReport:
        """The report, for shares with that makespan."""
        assert makespan_s is not None
        found = report(makespan_s, min(self.too_short_s, makespan_s), timed_out=False)
        found = replace(found, solver=self.last.solver, made_by=self.last.made_by)
        return replace(found, solve_s=self.seconds, passes=len(self.iterations))


def search(
    data: StepsInstance,
    tolerance: float,
    attempt: Callable[[float], Attempt | None],
    begin: str = "isolated",
) -> FoundMakespan:
    """Halve the interval until it is narrower than `tolerance`, relative to the makespan; begin: the knob `bracket`."""
    began = time.perf_counter()
    tried: list[tuple[float, bool]] = []
    best: Attempt | None = None

    def possible(makespan_s: float) -> bool:
        nonlocal best
        found = attempt(makespan_s)
        best = found or best
        tried.append((makespan_s, found is not None))
        return found is not None

    low, high = AUTHORS_S if begin == "authors" else bracket(data)
    if begin == "authors":
        _halve(low, high, tolerance, possible)
        while best is None:  # ends, since the isolated allocation has a makespan
            low, high = high, 10 * high
            _halve(low, high, tolerance, possible)
    elif possible(high):
        _halve(low, high, tolerance, possible)
    if best is None:
        raise InfeasibleError("gavel.makespan", f"the isolated allocation's makespan of {high:g} s cannot be kept")
    iterations = tuple({"makespan_s": makespan_s, "feasible": able} for makespan_s, able in tried)
    too_short_s = max([bracket(data)[0], *(makespan_s for makespan_s, able in tried if not able)])
    return FoundMakespan(best.shares, too_short_s, best.solved, time.perf_counter() - began, iterations)


def _halve(low: float, high: float, tolerance: float, possible: Callable[[float], bool]) -> None:
    """Try the middle of the interval, then of the half that it leaves, until that is narrower than `tolerance`."""
    while high > low * (1.0 + tolerance):
        middle = (low + high) / 2
        low, high = (low, middle) if possible(middle) else (middle, high)


EXACT = 1e-9
"""How far rows may be off where they are all that is asked, unless the solver has been told: HiGHS's own 1e-7 took a
makespan that is too short by 6e-7 for one that can be kept."""


class Makespan(ShareFormulation[StepsInstance]):
    """Shares of time with which the last job is done as soon as can be."""

    name = NAME
    instance = StepsInstance
    whole = "makespan"
    varies = frozenset({"makespan_s"})
    title = "Gavel: minimum makespan"
    values_gpus = True
    reading = (
        "The objective is the largest duration_s: a job's steps left over its steps/s with these shares, kept up to "
        "its end; inf (null) without a share. Without heterogeneity_aware it is the largest believed_duration_s, with "
        "the one speed that the policy takes for all types."
    )
    knobs = (gavel.AWARE, gavel.REFERENCE, METHOD, TOLERANCE, BRACKET, *gavel.EXTENSIONS, gavel.OPTIMUM)

    def statement(self, knobs: Knobs, data: Any = None) -> Any:
        """That of the bisection, if it is chosen."""
        return build_bisection if _bisects(knobs) else self

    def merged(self, data: StepsInstance, knobs: Knobs) -> MergedInstance[StepsInstance]:
        """Jobs are equal if they are in parts of their steps."""
        return merge(data, seen(data, knobs).in_parts(1.0))

    def build(self, data: StepsInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model; of the bisection for one makespan, see `StepsInstance`."""
        known = seen(data, knobs)
        return build_bisection(known) if _bisects(knobs) else build(known)

    def restate(self, model: pyo.ConcreteModel, data: StepsInstance, knobs: Knobs) -> None:
        """For another makespan of the bisection, or other jobs."""
        from workbench.scheduling.solvers.restating import renewed

        known = seen(data, knobs)
        renumber(model.steps, known.column(known.steps))
        if _bisects(knobs):
            model.makespan.set_value(tried(known))
        renewed(model.finished, same=() if _bisects(knobs) else unchanged(model, "steps"))

    def assemble(self, data: StepsInstance, knobs: Knobs) -> Programme:
        """The same programme as arrays."""
        known = seen(data, knobs)
        return assemble_bisection(known) if _bisects(knobs) else assemble(known)

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
        """By the one programme; its unit of time is near the mean, of the orders of magnitude, of what single jobs
        take."""
        alone_s = 1.0 / fastest_throughput(seen(data, knobs).in_parts(1.0))
        unit_s = next_power_of_2(np.sqrt(alone_s.min() * alone_s.max())).item()
        found = super().optimum(data.in_units(unit_s), knobs, solver)
        bound = found.solved.bound
        return replace(found, solved=replace(found.solved, bound=None if bound is None else bound * unit_s))

    def _by_bisection(self, data: StepsInstance, knobs: Knobs, solver: Solver) -> DividedTime:
        known = seen(data, knobs)
        unit_s = bracket(known)[1]
        parts = data.in_parts(unit_s)
        exact = solver.to_within(EXACT)

        def attempt(makespan_s: float, solver: Solver) -> Attempt | None:
            try:
                programme, point = self.answered(parts.at(makespan_s=makespan_s / unit_s), knobs, solver)
            except InfeasibleError:
                return None
            return Attempt(self.shares(programme.values(point), data), point.solved)

        # An interior point is looked for only where there is one: HiGHS's method for it may fail where there is none.
        interior = solver.method == "interior"
        vertex = replace(exact, method="auto") if interior else exact
        tolerance = float(knobs.get("tolerance", TOLERANCE.default))
        begin = str(knobs.get("bracket", BRACKET.default))
        found = search(known, tolerance, lambda makespan_s: attempt(makespan_s, vertex), begin)
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
