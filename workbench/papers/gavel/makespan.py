r"""Minimum makespan (Gavel, section 4.2): all jobs that are there now are done as soon as possible.

min   M                                                                (4.2)   last_job
s.t.  throughput(m, Y) >= n_m                           for all m      (4.2)   finished
      sum_{k in C_m} sum_j Y_kj <= M                    for all m      (2)     job_time
      sum_k sum_{j in J_a} z_k Y_kj <= c_a M            for all a      (3)     capacity
      Y_kj >= 0, Y_kj = 0 where k cannot run            for all k, j   (1)     share
      M >= 0                                                           (ours)  makespan

throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj; C_m is job m alone and the pairs it is in (none unless GPUs are
shared), T^m_kj the speed of the whole gang of z_m workers. n_m are the steps that job m has left. (ours): the paper
minimises max_m n_m / throughput(m, X) by a bisection over M (appendix A.1, `makespan_bisection`). In the time Y = M X
that combination k spends on type j the problem is one linear programme; X = Y / M. Heterogeneity-agnostic: one speed
for all types.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyomo.environ as pyo

from workbench.contract import Knobs, Result
from workbench.decision import Snapshot
from workbench.knob import Knob
from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel import makespan_bisection as bisection
from workbench.papers.gavel.allocation import AllocationData, check, feasible, read_shares, values
from workbench.papers.gavel.model import lay_out
from workbench.papers.gavel.share_formulation import ShareFormulation
from workbench.papers.gavel.view import numbers, seen
from workbench.solvers import Solver
from workbench.throughput import FloatArray

NAME = "gavel.makespan"

METHOD = Knob(
    "method",
    "single",
    "One linear programme over times, or the paper's bisection over the makespan",
    source="ours",
    kind="str",
    choices=("single", "bisection"),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class MakespanData(AllocationData):
    """The numbers of one allocation; steps: (jobs,) remaining steps, > 0."""

    steps: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_numbers("steps", self.steps > 0, "a number of steps > 0")

    @classmethod
    def by_job(cls) -> tuple[str, ...]:
        return ("steps",)


def build(data: MakespanData) -> pyo.ConcreteModel:
    """Return the unsolved linear programme for one allocation; its `share` is Y."""
    m = pyo.ConcreteModel("gavel_makespan")
    m.makespan = pyo.Var(bounds=(0, None), doc="(ours) M | makespan | s")
    lay_out(m, data, m.makespan)
    m.share.doc = "(1) Y_kj | time on a type | s"
    m.steps = pyo.Param(m.JOBS, initialize=data.column(data.steps), doc="n_m | steps left | steps")

    @m.Objective(sense=pyo.minimize, doc="(4.2) the end of the last job")
    def last_job(m):
        return m.makespan

    @m.Constraint(m.JOBS, doc="(4.2) every job does all its steps")
    def finished(m, job):
        return m.throughput[job] >= m.steps[job]

    return m


def durations(data: MakespanData, shares: FloatArray) -> FloatArray:
    """(jobs,) `n_m / throughput(m, X)` in seconds of (combinations x types) shares; inf for a job without any."""
    throughput = data.throughput(shares)
    seconds: FloatArray = np.full(len(data.jobs), np.inf)
    np.divide(data.steps, throughput, out=seconds, where=throughput > 0)
    return seconds


def objective(data: MakespanData, shares: FloatArray) -> float | None:
    """`max_m n_m / throughput(m, X)` in seconds; None without jobs."""
    return float(durations(data, shares).max()) if data.jobs else None


def gather(snapshot: Snapshot, knobs: Knobs, rows: npt.ArrayLike | None = None) -> MakespanData:
    """The numbers of the jobs at some positions, by default of all."""
    chosen = np.arange(len(snapshot.jobs)) if rows is None else np.asarray(rows, dtype=np.int64)
    return MakespanData(**numbers(snapshot, knobs, rows), steps=snapshot.jobs.steps_left[chosen])


class Makespan(ShareFormulation[MakespanData]):
    """Shares of time with which the last job is done as soon as can be."""

    name = NAME
    title = "Gavel: minimum makespan"
    knobs = (gavel.AWARE, gavel.REFERENCE, METHOD, bisection.TOLERANCE, *gavel.EXTENSIONS, gavel.OPTIMUM)

    def data(self, snapshot: Snapshot, knobs: Knobs) -> MakespanData:
        """The arrived jobs; a type on which a job's gang does not fit is one on which it cannot run."""
        return gather(snapshot, knobs)

    def build(self, data: MakespanData, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model; of the bisection the first one, whose makespan can be kept."""
        known = seen(data, knobs)
        if knobs.get("method") == "bisection":
            return bisection.build(known, known.steps, bisection.bracket(known, known.steps)[1])
        return build(known)

    def read(self, model: pyo.ConcreteModel, data: MakespanData, knobs: Knobs) -> Result:
        """Shares of the solved model, checked, and what `report` says of them."""
        shares = read_shares(model, data)
        if isinstance(model.makespan, pyo.Var):
            shares = shares / model.makespan.value
        return self.report(data, check(data, shares, self.name), knobs)

    def run(self, data: MakespanData, knobs: Knobs, solver: Solver | None = None) -> Result:
        """Build, solve, read; or the bisection, whose `iterations` are (makespan_s, feasible)."""
        if not data.jobs or knobs.get("method") != "bisection":
            return super().run(data, knobs, solver)
        known = seen(data, knobs)
        options = self.options(knobs, solver or Solver())
        found = bisection.search(
            known,
            known.steps,
            float(knobs.get("tolerance", bisection.TOLERANCE.default)),
            lambda makespan_s: bisection.attempt(known, known.steps, makespan_s, options),
        )
        shares = check(data, found.shares, self.name)
        solved = found.solved(objective(known, shares))
        return replace(
            self.report(data, shares, knobs),
            status=solved.status,
            bound=solved.bound,
            gap=solved.gap,
            solver=solved.solver,
            build_s=solved.build_s,
            solve_s=solved.solve_s,
            iterations=found.iterations,
        )

    def report(self, data: MakespanData, shares: FloatArray, knobs: Knobs) -> Result:
        """Shares, normalised throughput (true speeds in both forms), and each job's duration as the policy sees it."""
        known = seen(data, knobs)
        more = {"duration_s": durations(known, shares)}
        return feasible(objective(known, shares), "min", "s", values(data, shares, more))
