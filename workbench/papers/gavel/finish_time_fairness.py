r"""Finish-time fairness (Gavel, section 4.2, after Themis): no job is to be done much later than it would be by itself.

min   e                                                                (ours)  shortfall
s.t.  l_m / n_m throughput(m, X) >= 1 - e               for all m      (4.2)   finish_time
      sum_{k in C_m} sum_j X_kj <= 1                    for all m      (2)     job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a              for all a      (3)     capacity
      0 <= X_kj <= 1, X_kj = 0 where k cannot run       for all k, j   (1)     share
      e free                                                           (ours)  lacking

The policy minimises the largest `rho_m(X) = (t_m + n_m / throughput(m, X)) / D_m`: the time from arrival to end, over
the time with a dedicated 1/M of the cluster, `D_m = t^iso_m + n_m / throughput(m, X^iso)`. t_m are the seconds since
job m arrived, n_m the steps that it has left, M the number of jobs, X^iso the isolated allocation; t^iso_m is the time
that the steps done would have taken with it (it starts at 0 and grows at every computation, see `isolated_time`).
throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj; C_m is job m alone and the pairs it is in (none unless GPUs are
shared), T^m_kj the speed of the whole gang of z_m workers. Weights play no part.

(ours): the ratio is not linear in X and rho together. For a given rho it is: job m has `l_m = rho D_m - t_m` seconds
left to do its n_m steps, and rho can be reached if and only if e <= 0. `finish_time_fairness_search` finds the smallest
one. Heterogeneity-agnostic: one speed for all types, in the isolated throughput too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyomo.environ as pyo

from workbench.base.arrays import fixed
from workbench.base.errors import InputError
from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel.allocation import check, feasible, read_shares, values
from workbench.papers.gavel.alone import fastest_throughput, isolated_throughput
from workbench.papers.gavel.finish_time_fairness_search import NAME, Terms, Tried, search
from workbench.papers.gavel.isolated_time import IsolatedTime
from workbench.papers.gavel.model import lay_out
from workbench.papers.gavel.share_formulation import ShareFormulation
from workbench.papers.gavel.steps import StepsData
from workbench.papers.gavel.view import numbers, seen
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.decision import Snapshot
from workbench.scheduling.knob import Knob
from workbench.scheduling.solvers import Solver, solve_model

LEFT = """l_m | time left to the job for this rho: rho times D_m, less t_m | s
rho | largest finish-time ratio that is allowed here | 1
D_m | time with a dedicated 1/M of the cluster, from arrival to end | s
t_m | time since arrival | s
t^iso_m | time that the steps done would have taken with the isolated allocation | s
M | number of jobs | 1"""
METHOD = Knob(
    "method",
    "newton",
    "How the smallest rho is found: by Newton's method, or by halving an interval",
    source="ours",
    kind="str",
    choices=("newton", "bisection"),
)
TOLERANCE = Knob(
    "tolerance",
    1e-8,
    "Relative distance from the smallest rho at which the search stops",
    source="ours",
    minimum=1e-10,
    maximum=1.0,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class FinishTimeData(StepsData):
    """The numbers of one allocation, (jobs,) each.

    steps: left, > 0; elapsed_s: seconds since arrival (t_m); isolated_s: seconds that the steps done would have taken
    by itself (t^iso_m).
    """

    elapsed_s: FloatArray
    isolated_s: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_numbers("elapsed_s", self.elapsed_s >= 0, "seconds >= 0")
        self.check_numbers("isolated_s", self.isolated_s >= 0, "seconds >= 0")

    @classmethod
    def by_job(cls) -> tuple[str, ...]:
        return (*super().by_job(), "elapsed_s", "isolated_s")

    @cached_property
    def isolated(self) -> FloatArray:
        """(jobs,) `throughput(m, X^iso)`, steps/s."""
        return fixed(isolated_throughput(self))

    @cached_property
    def terms(self) -> Terms:
        """What rho is made of."""
        rest_s = self.steps / self.isolated
        return Terms(self.steps, self.elapsed_s, self.isolated_s + rest_s, rest_s, fastest_throughput(self))

    def rho(self, shares: FloatArray) -> FloatArray:
        """(jobs,) `rho_m(X)` of (combinations x types) shares; inf for a job without throughput."""
        return self.terms.rho(self.throughput(shares))


def build(data: FinishTimeData, rho: float) -> pyo.ConcreteModel:
    """Return the unsolved linear programme for one rho; it must exceed every `t_m / D_m`."""
    left_s = data.terms.left_s(rho)
    if not (left_s > 0).all():
        least = float((data.elapsed_s / data.terms.alone_s).max())
        raise InputError(f"{NAME}, rho", rho, f"more than {least:.9g}, which no allocation can change")
    m = pyo.ConcreteModel("gavel_finish_time_fairness")
    lay_out(m, data)
    m.steps = pyo.Param(m.JOBS, initialize=data.column(data.steps), doc="n_m | steps left | steps")
    m.left = pyo.Param(m.JOBS, initialize=data.column(left_s), doc=LEFT)
    m.lacking = pyo.Var(doc="(ours) e | part of its need that the worst-off job lacks | 1")

    @m.Objective(sense=pyo.minimize, doc="(ours) the part that is lacking")
    def shortfall(m):
        return m.lacking

    @m.Constraint(m.JOBS, doc="(4.2) fast enough for rho, but for the part that is lacking")
    def finish_time(m, job):
        return m.left[job] / m.steps[job] * m.throughput[job] >= 1 - m.lacking

    return m


def gather(
    snapshot: Snapshot, knobs: Knobs, rows: npt.ArrayLike | None = None, past: IsolatedTime | None = None
) -> FinishTimeData:
    """The numbers of the jobs at some positions, by default of all; past: their isolated time so far."""
    jobs = snapshot.jobs
    chosen = np.arange(len(jobs)) if rows is None else np.asarray(rows, dtype=np.int64)
    found = numbers(snapshot, knobs, rows)
    steps = jobs.steps_left[chosen]
    elapsed_s = snapshot.now_s - jobs.arrival_s[chosen]
    isolated_s = (past or IsolatedTime()).until_now(found["jobs"], steps)
    return FinishTimeData(**found, steps=steps, elapsed_s=elapsed_s, isolated_s=isolated_s)


def remember(
    snapshot: Snapshot, knobs: Knobs, rows: npt.NDArray[np.int64], memory: Any
) -> tuple[FinishTimeData, IsolatedTime]:
    """The numbers for a scheduler, and what it keeps for the next time: isolated times with the speeds it knows."""
    past = (memory or IsolatedTime()).only(snapshot.jobs.names)
    data = gather(snapshot, knobs, rows, past)
    return data, past.after(data.jobs, data.isolated_s, data.steps, seen(data, knobs).isolated)


class FinishTimeFairness(ShareFormulation[FinishTimeData]):
    """Shares of time that make the largest rho as small as can be."""

    name = NAME
    title = "Gavel: finish-time fairness (Themis)"
    reading = (
        "The objective is the largest rho: (time since arrival + steps left / steps/s) over the time that the job "
        "would take with a dedicated equal part of the cluster. Without heterogeneity_aware it is the largest "
        "believed_rho, with the one speed that the policy takes for all types."
    )
    knobs = (gavel.AWARE, gavel.REFERENCE, METHOD, TOLERANCE, *gavel.EXTENSIONS, gavel.OPTIMUM)

    def data(self, snapshot: Snapshot, knobs: Knobs) -> FinishTimeData:
        """The arrived jobs, none with isolated time so far."""
        return gather(snapshot, knobs)

    def build(self, data: FinishTimeData, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model for the first rho that is tried: no allocation has a smaller one."""
        known = seen(data, knobs)
        return build(known, known.terms.least)

    def run(self, data: FinishTimeData, knobs: Knobs, solver: Solver | None = None) -> Result:
        """The smallest rho, by a sequence of programmes; `iterations` are (rho, part, largest_rho)."""
        if not data.jobs:
            return super().run(data, knobs, solver)
        known = seen(data, knobs)
        options = self.options(knobs, solver or Solver())
        found = search(
            known.terms,
            str(knobs.get("method", METHOD.default)),
            float(knobs.get("tolerance", TOLERANCE.default)),
            lambda rho: attempt(known, rho, options),
        )
        result = self.report(data, check(data, found.shares, self.name), knobs)
        return result.reported(found.solved(found.largest), iterations=found.iterations)

    def report(self, data: FinishTimeData, shares: FloatArray, knobs: Knobs) -> Result:
        """Shares, normalised throughput and each job's rho (true speeds in both forms).

        An agnostic policy's objective is the largest of `believed_rho`.
        """
        known = seen(data, knobs)
        rho = known.rho(shares)
        objective = float(rho.max()) if data.jobs else None
        more = {"rho": rho} if known is data else {"rho": data.rho(shares), "believed_rho": rho}
        return feasible(objective, "min", "1", values(data, shares, more))


def attempt(data: FinishTimeData, rho: float, solver: Solver) -> Tried:
    """Solve the programme for one rho."""
    model = build(data, rho)
    model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    solved = solve_model(model, solver)
    shares = check(data, read_shares(model, data), NAME)
    # A row's dual says how much more is lacking where the job needs more; its sign depends on how Pyomo turns the row.
    duals = np.abs([model.dual.get(model.finish_time[job], 0.0) for job in data.jobs])
    prices = duals * data.terms.left_s(rho) / data.steps
    return Tried(shares, float(data.rho(shares).max()), 1.0 - float(model.lacking.value), prices, solved)
