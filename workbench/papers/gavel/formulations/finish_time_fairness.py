r"""Finish-time fairness (Gavel, section 4.2, after Themis): no job is to be done much later than it would be by itself.

min   e                                                                  (ours)  shortfall
s.t.  l_m / n_m throughput(m, X) >= 1 - e                  for all m     (§4.2)  finish_time
      sum_{k in C_m} sum_j X_kj <= 1                       for all m     (2)     job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a                 for all a     (3)     capacity
      0 <= X_kj <= 1, X_kj = 0 if (k, j) notin E           for all k, j  (1)     share
      e free                                                             (ours)  lacking
      throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj  for all m     (§3.1)  throughput

The policy minimises the largest `rho_m(X) = (t_m + n_m / throughput(m, X)) / D_m`: the time from arrival to end, over
the time with a dedicated 1/M of the cluster, `D_m = t^iso_m + n_m / throughput(m, X^iso)`. t_m are the seconds since
job m arrived, n_m the steps that it has left, M the number of jobs, X^iso the isolated allocation; t^iso_m is the time
that the steps done would have taken with it (it starts at 0 and grows at every computation, see `IsolatedTime`). C_m is
job m alone and the pairs it is in (none unless GPUs are shared), T^m_kj the speed of the whole gang of z_m GPUs.
Weights play no part.

(ours): the ratio is not linear in X and rho together. For a given rho it is: job m has `l_m = rho D_m - t_m` seconds
left to do its n_m steps, and rho can be reached if and only if e <= 0. `search` finds the smallest one, by a sequence
of programmes. Heterogeneity-agnostic: one speed for all types, in the isolated throughput too.

Newton (ours). For a given rho, job m needs the throughput `r_m(rho) = n_m / l_m(rho)`, of which the worst-off job gets
the part s = 1 - e. By duality `s(rho) = min_p V(p) / sum_m p_m r_m(rho)`, where p are prices of throughput and V(p) the
most that the cluster earns at them. So s is concave and rises with rho, and the prices of one programme bound it
everywhere from above: the rho at which their bound is 1 is no larger than the smallest rho, and is tried next. That is
Newton's method with the curve of these prices in place of its tangent. There are finitely many prices, so it ends, and
the rho tried last is a lower bound of the optimum.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from workbench.base.arrays import FloatArray, IntArray, fixed
from workbench.base.errors import InputError
from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel.algorithms.equal_jobs import MergedInstance, merge, unweighted
from workbench.papers.gavel.algorithms.large_programmes import Sequel
from workbench.papers.gavel.formulations.allocation import (
    NOTHING_MORE,
    DividedTime,
    ShareFormulation,
    feasible,
    lay_out,
    values,
)
from workbench.papers.gavel.formulations.allocation_assembly import Assembly, Variable
from workbench.papers.gavel.instance import StepsInstance, fastest_throughput, isolated_throughput, seen
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import parameter, pyo, renumber
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import PROVEN, Point, Programme, Solver, SolveReport, SolverFailedError, stood_in
from workbench.scheduling.solvers.solve_report import report

NAME = "gavel.finish_time_fairness"


class IsolatedAccount(NamedTuple):
    """A job at the last computation: its isolated time so far, steps left, and isolated throughput in steps/s."""

    isolated_s: float
    steps_left: float
    steps_per_s: float


@dataclass(frozen=True)
class IsolatedTime:
    """The time that jobs would have needed by themselves for the steps they have done (t^iso_m).

    It starts at 0 and grows whenever shares are computed: by the steps done since the last time, divided by the
    isolated throughput then in force, which changes with the number of jobs. accounts: of all jobs seen so far and not
    finished.
    """

    accounts: Mapping[str, IsolatedAccount] = field(default_factory=dict)

    def until_now(self, jobs: Sequence[str], steps_left: FloatArray) -> FloatArray:
        """(jobs,) seconds by itself, with the steps done since the last computation; 0 for a job not seen before."""
        total_s = np.zeros(len(jobs))
        for row, (job, left) in enumerate(zip(jobs, steps_left.tolist(), strict=True)):
            before = self.accounts.get(job)
            if before is not None:
                total_s[row] = before.isolated_s + max(0.0, before.steps_left - left) / before.steps_per_s
        return total_s

    def after(
        self, jobs: Sequence[str], isolated_s: FloatArray, steps_left: FloatArray, steps_per_s: FloatArray
    ) -> IsolatedTime:
        """The accounts after a computation for these jobs; others keep theirs."""
        rows = zip(isolated_s.tolist(), steps_left.tolist(), steps_per_s.tolist(), strict=True)
        new = {job: IsolatedAccount(*row) for job, row in zip(jobs, rows, strict=True)}
        return IsolatedTime({**self.accounts, **new})

    def only(self, jobs: Sequence[str]) -> IsolatedTime:
        """Without the jobs that are no longer there."""
        return IsolatedTime({job: self.accounts[job] for job in jobs if job in self.accounts})


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

MOST_TRIES = 200
"""Newton takes about five programmes, bisection one for each halving."""

LONG = 1e6
"""A job that may take so many times longer than by itself is not held up by the rest of rho. Without this limit, one
job with a huge rho would leave the others needs that are smaller than a solver's tolerance, and shares of 0. It takes
away at most 1 / LONG of the cluster, from jobs whose rho it hardly changes, being that large."""


@dataclass(frozen=True, eq=False)
class RhoTerms:
    """What rho is made of, (jobs,) each.

    steps: left, n_m; elapsed_s: seconds since arrival, t_m; alone_s: seconds by itself, past and to come, D_m; rest_s:
    those to come; fastest: steps/s that no allocation exceeds.
    """

    steps: FloatArray
    elapsed_s: FloatArray
    alone_s: FloatArray
    rest_s: FloatArray
    fastest: FloatArray

    def rho(self, throughput: FloatArray) -> FloatArray:
        """(jobs,) `(t_m + n_m / throughput) / D_m`; inf for a job without throughput."""
        left_s = np.divide(self.steps, throughput, out=np.full(len(self.steps), np.inf), where=throughput > 0)
        rho: FloatArray = (self.elapsed_s + left_s) / self.alone_s
        return rho

    def left_s(self, rho: float) -> FloatArray:
        """(jobs,) `l_m(rho)`, at most LONG times what the job needs by itself; > 0 for a rho of at least `least`."""
        return np.minimum(rho * self.alone_s - self.elapsed_s, LONG * self.rest_s)

    @property
    def least(self) -> float:
        """The rho that some job would have if it ran on its fastest type all of the time."""
        return float(self.rho(self.fastest).max())


@dataclass(frozen=True, eq=False, kw_only=True)
class FinishTimeInstance(StepsInstance):
    """The numbers of one allocation, (jobs,) each.

    steps: left, > 0; elapsed_s: seconds since arrival (t_m); isolated_s: seconds that the steps done would have taken
    by itself (t^iso_m); largest: the rho that is tried, None for the first one: no allocation has a smaller one.
    """

    elapsed_s: FloatArray
    isolated_s: FloatArray
    largest: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_numbers("elapsed_s", self.elapsed_s >= 0, "seconds >= 0")
        self.check_numbers("isolated_s", self.isolated_s >= 0, "seconds >= 0")

    @classmethod
    def by_job(cls) -> tuple[str, ...]:
        return (*super().by_job(), "elapsed_s", "isolated_s")

    @classmethod
    def numbers(cls, snapshot: Snapshot, knobs: Knobs, rows: IntArray) -> dict[str, Any]:
        """Of jobs without isolated time so far."""
        elapsed_s = snapshot.now_s - snapshot.jobs.arrival_s[rows]
        return {**super().numbers(snapshot, knobs, rows), "elapsed_s": elapsed_s, "isolated_s": np.zeros(len(rows))}

    @cached_property
    def isolated(self) -> FloatArray:
        """(jobs,) `throughput(m, X^iso)`, steps/s."""
        return fixed(isolated_throughput(self))

    @cached_property
    def terms(self) -> RhoTerms:
        """What rho is made of."""
        rest_s = self.steps / self.isolated
        return RhoTerms(self.steps, self.elapsed_s, self.isolated_s + rest_s, rest_s, fastest_throughput(self))

    def rho(self, shares: FloatArray) -> FloatArray:
        """(jobs,) `rho_m(X)` of (combinations x types) shares; inf for a job without throughput."""
        return self.terms.rho(self.throughput(shares))


def left(data: FinishTimeInstance) -> FloatArray:
    """(jobs,) `l_m` for the rho that is tried; it must exceed every `t_m / D_m`."""
    rho = data.terms.least if data.largest is None else data.largest
    left_s = data.terms.left_s(rho)
    if not (left_s > 0).all():
        least = float((data.elapsed_s / data.terms.alone_s).max())
        raise InputError(f"{NAME}, rho", rho, f"more than {least:.9g}, which no allocation can change")
    return left_s


def build(data: FinishTimeInstance) -> pyo.ConcreteModel:
    """Return the unsolved linear programme for the rho that is tried."""
    m = lay_out("gavel_finish_time_fairness", data)
    m.steps = parameter(m.JOBS, numbers=data.column(data.steps), doc="n_m | steps left | steps")
    m.left = parameter(m.JOBS, numbers=data.column(left(data)), doc=LEFT)
    m.lacking = pyo.Var(doc="(ours) e | part of its need that the worst-off job lacks | 1")

    @m.Objective(sense=pyo.minimize, doc="(ours) the part that is lacking")
    def shortfall(m):
        return m.lacking

    @m.Constraint(m.JOBS, doc="(§4.2) fast enough for rho, but for the part that is lacking")
    def finish_time(m, job):
        return m.left[job] / m.steps[job] * m.throughput[job] >= 1 - m.lacking

    return m


def assemble(data: FinishTimeInstance) -> Programme:
    """The same programme as arrays."""
    lacking = Variable("lacking")
    rows = Assembly(data, after=[lacking])
    jobs = np.arange(len(data.jobs))
    part = left(data) / data.steps
    rows.add("finish_time", rows.throughput(-part), (jobs, rows.column(lacking), -1.0), upper=-np.ones(len(jobs)))
    return rows.programme((rows.column(lacking), 1.0), "gavel_finish_time_fairness", maximise=False)


class TriedRho(NamedTuple):
    """The answer of one programme: (combinations x types) shares, their largest rho, s, (jobs,) prices p, report."""

    shares: FloatArray
    largest: float
    part: float
    prices: FloatArray
    solved: SolveReport


Try = Callable[[float], TriedRho]


@dataclass(frozen=True, eq=False)
class FoundRho:
    """The best shares, their largest rho, a rho that none is below, the last report, seconds of all, what was tried.

    iterations: of `rho`, `part` (of its need that the worst-off job got) and `largest_rho`.
    """

    shares: FloatArray
    largest: float
    bound: float
    last: SolveReport
    solve_s: float
    build_s: float
    iterations: tuple[Mapping[str, Any], ...]

    def solved(self, largest: float) -> SolveReport:
        """The report, for shares with that largest rho."""
        found = report(largest, min(self.bound, largest), timed_out=False)
        found = replace(found, solver=self.last.solver, made_by=self.last.made_by)
        return replace(found, build_s=self.build_s, solve_s=self.solve_s, passes=len(self.iterations))


def search(terms: RhoTerms, method: str, tolerance: float, attempt: Try) -> FoundRho:
    """Try one rho after the other until the best shares' rho is within `tolerance`, relative, of the smallest.

    method: newton or bisection. Raises SolverFailedError if the programmes are too inexact for the tolerance.
    """
    began = time.perf_counter()
    best, bound, tried = (_newton if method == "newton" else _bisection)(terms, tolerance, attempt)
    if stood_in():  # a job whose row is gone may have any rho: that of the last programme is not what it is judged by
        best = tried[-1][1]
    elif best.largest - bound > max(tolerance, PROVEN) * best.largest:
        raise SolverFailedError(NAME, f"rho {best.largest:g} found, {bound:g} proven", "a gap within the tolerance")
    solve_s = sum(each.solved.solve_s for _, each in tried)
    return FoundRho(
        best.shares,
        best.largest,
        bound,
        best.solved,
        solve_s,
        time.perf_counter() - began - solve_s,
        tuple({"rho": rho, "part": each.part, "largest_rho": _finite(each.largest)} for rho, each in tried),
    )


def _newton(terms: RhoTerms, tolerance: float, attempt: Try) -> tuple[TriedRho, float, list[tuple[float, TriedRho]]]:
    rho = terms.least
    best = attempt(rho)
    tried = [(rho, best)]
    while best.largest - rho > tolerance * best.largest and len(tried) < MOST_TRIES:
        last = tried[-1][1]
        step = _where_prices_allow(terms, rho, last.prices, last.part)
        if step <= rho:
            break
        rho = step
        tried.append((rho, attempt(rho)))
        best = min(best, tried[-1][1], key=lambda each: each.largest)
    return best, rho, tried


def _bisection(terms: RhoTerms, tolerance: float, attempt: Try) -> tuple[TriedRho, float, list[tuple[float, TriedRho]]]:
    low = terms.least
    best = attempt(low)
    tried = [(low, best)]
    while best.largest - low > tolerance * best.largest and len(tried) < MOST_TRIES:
        # Shares for a rho that is too small may leave a job with nothing; their rho is then no end of an interval.
        middle = (low + best.largest) / 2 if np.isfinite(best.largest) else 2 * low
        found = attempt(middle)
        tried.append((middle, found))
        best = min(best, found, key=lambda each: each.largest)
        if found.part < 1:
            low = middle
    return best, low, tried


def _where_prices_allow(terms: RhoTerms, rho: float, prices: FloatArray, earned: float) -> float:
    """The rho at which `sum_m p_m r_m(rho) = earned`, to the right of a rho at which the sum is larger.

    By Newton's method on `earned / sum`, which is concave, so that it never goes too far. Returns rho itself if the
    sum is not larger.
    """
    paid = prices > 0
    price, steps, alone_s, elapsed_s = (
        column[paid] for column in (prices, terms.steps, terms.alone_s, terms.elapsed_s)
    )
    for _ in range(MOST_TRIES):
        left_s = rho * alone_s - elapsed_s
        needs = price * steps / left_s
        total = float(needs.sum())
        if total <= earned or earned <= 0:
            return rho
        slope = float((needs * alone_s / left_s).sum())
        step = rho + (total - earned) * total / (earned * slope)
        if step <= rho * (1.0 + 1e-15):
            break
        rho = step
    return rho


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def remember(snapshot: Snapshot, knobs: Knobs, rows: IntArray, memory: Any) -> tuple[FinishTimeInstance, IsolatedTime]:
    """The numbers for a scheduler, and what it keeps for the next time: isolated times with the speeds it knows."""
    past = (memory or IsolatedTime()).only(snapshot.jobs.names)
    found = FinishTimeInstance.numbers(snapshot, knobs, rows)
    data = FinishTimeInstance(**{**found, "isolated_s": past.until_now(found["jobs"], found["steps"])})
    return data, past.after(data.jobs, data.isolated_s, data.steps, seen(data, knobs).isolated)


class FinishTimeFairness(ShareFormulation[FinishTimeInstance]):
    """Shares of time that make the largest rho as small as can be."""

    name = NAME
    instance = FinishTimeInstance
    varies = frozenset({"largest"})
    title = "Gavel: finish-time fairness (Themis)"
    reading = (
        "The objective is the largest rho: (time since arrival + steps left / steps/s) over the time that the job "
        "would take with a dedicated equal part of the cluster. Without heterogeneity_aware it is the largest "
        "believed_rho, with the one speed that the policy takes for all types."
    )
    knobs = (gavel.AWARE, gavel.REFERENCE, METHOD, TOLERANCE, *gavel.EXTENSIONS, gavel.OPTIMUM)

    def merged(self, data: FinishTimeInstance, knobs: Knobs) -> MergedInstance[FinishTimeInstance]:
        """Weights play no part; times do."""
        return merge(data, unweighted(seen(data, knobs)), data.steps, data.elapsed_s, data.isolated_s)

    def build(self, data: FinishTimeInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model for the rho that is tried."""
        return build(seen(data, knobs))

    def restate(self, model: pyo.ConcreteModel, data: FinishTimeInstance, knobs: Knobs) -> None:
        """For another rho, or other jobs."""
        from workbench.scheduling.solvers.restating import at_least, renewed

        known = seen(data, knobs)
        left_s = left(known)
        renumber(model.steps, known.column(known.steps))
        renumber(model.left, known.column(left_s))
        rest, part = 1 - model.lacking, known.column(left_s / known.steps)
        renewed(model.finish_time, by=lambda job: at_least(rest, part[job], model.throughput[job]))

    def assemble(self, data: FinishTimeInstance, knobs: Knobs) -> Programme:
        """The same programme as arrays."""
        return assemble(seen(data, knobs))

    def at_once(self, knobs: Knobs) -> bool:
        """Never: rho is searched for."""
        return False

    def optimum(self, data: FinishTimeInstance, knobs: Knobs, solver: Solver) -> DividedTime:
        """The smallest rho, by a sequence of programmes; `iterations` are (rho, part, largest_rho)."""
        known = seen(data, knobs)
        method, tolerance = str(knobs.get("method", METHOD.default)), float(knobs.get("tolerance", TOLERANCE.default))
        interior = solver.method == "interior"
        # Only the last point is the answer; on the way to it vertices are exact.
        vertex, sequel = replace(solver, method="auto") if interior else solver, Sequel()

        def attempt(rho: float, solver: Solver) -> TriedRho:
            programme, point = self.answered(data.at(largest=rho), knobs, solver, sequel)
            return self._tried(data, known, rho, programme, point)

        found = search(known.terms, method, tolerance, lambda rho: attempt(rho, vertex))
        shares = attempt(found.largest, solver).shares if interior else found.shares
        return DividedTime(shares, found.solved(found.largest), iterations=found.iterations)

    def _tried(
        self, data: FinishTimeInstance, known: FinishTimeInstance, rho: float, programme: Programme, point: Point
    ) -> TriedRho:
        """What the programme for one rho came to."""
        values = programme.values(point)
        shares = self.shares(values, data)
        # A row's dual says how much more is lacking where the job needs more.
        duals = np.zeros(len(data.jobs)) if point.duals is None else point.duals[programme.rows["finish_time"]]
        prices = np.abs(duals) * known.terms.left_s(rho) / known.steps
        return TriedRho(shares, float(known.rho(shares).max()), 1.0 - float(values["lacking"][0]), prices, point.solved)

    def allocate(self, data: FinishTimeInstance, knobs: Knobs, solver: Solver | None = None) -> DividedTime:
        """The best shares, and `rho` by job, with true speeds."""
        found = super().allocate(data, knobs, solver)
        return replace(found, by_job={"rho": data.rho(found.shares)})

    def objective(self, data: FinishTimeInstance, shares: FloatArray, knobs: Knobs) -> float | None:
        """The largest rho as the policy sees it."""
        return float(seen(data, knobs).rho(shares).max()) if data.jobs else None

    def report(
        self,
        data: FinishTimeInstance,
        shares: FloatArray,
        knobs: Knobs,
        by_job: Mapping[str, FloatArray] = NOTHING_MORE,
    ) -> Result:
        """Shares, normalised throughput and each job's rho (true speeds in both forms).

        An agnostic policy's objective is the largest of `believed_rho`.
        """
        known = seen(data, knobs)
        rho = known.rho(shares)
        objective = self.objective(data, shares, knobs)
        more = {"rho": rho} if known is data else {"rho": data.rho(shares), "believed_rho": rho}
        return feasible(objective, "min", "1", values(data, shares, more))
