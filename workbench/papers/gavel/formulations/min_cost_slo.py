r"""Minimum cost subject to SLOs (Gavel, section 4.2).

max   sum_m v_m sum_{k in C_m} sum_j T^m_kj X_kj / p_j                     (code)  throughput_per_dollar
s.t.  sum_{k in C_m} sum_j X_kj <= 1                       for all m       (2)     job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a                 for all a       (3)     capacity
      throughput(m, X) / f_m >= 1                          for all m in S  (§4.2)  slo
      0 <= X_kj <= 1, X_kj = 0 if (k, j) notin E           for all k, j    (1)     share
      throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj  for all m       (§3.1)  throughput

The problem of `min_cost`, with its knobs, for jobs with deadlines: S are the jobs with an SLO, n_m their remaining
steps, SLO_m the seconds left to the deadline (the last one with a reward), f_m = n_m / SLO_m. The paper's row is
throughput(m, X) >= n_m / SLO_m; (ours): divided by its right side, since solvers keep a row to 1e-7 whatever it counts.
Heterogeneity-agnostic: with one speed for all types, so that a row that holds for the policy may not hold in truth.

Where the rows cannot all hold, or a deadline has passed, knob `infeasible` decides: `raise` names jobs whose SLOs
conflict (without any one of them the others can be met); `drop` leaves out the rows that fall short where the
shortfalls, as parts of each job's own need, have the smallest sum; `drop_all` leaves out all rows, as the authors' code
does. `slo_dropped` says whose. The scheduler drops by default, for jobs may be late in a simulation, and solves anew in
every round (ours, knob `refresh_s`), for n_m and SLO_m move, and the mechanism may have given other than X. Rounds are
whole, so a job may still be late by some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.base.errors import Words
from workbench.papers.gavel.algorithms.equal_jobs import MergedInstance, merge, unweighted
from workbench.papers.gavel.algorithms.large_programmes import solve
from workbench.papers.gavel.formulations import min_cost
from workbench.papers.gavel.formulations.allocation import NOTHING_MORE, DividedTime
from workbench.papers.gavel.formulations.allocation_assembly import Assembly, Variable
from workbench.papers.gavel.formulations.max_throughput import value
from workbench.papers.gavel.instance import fastest_throughput, seen
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import pyo
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import InfeasibleError, Point, Programme, SolveError, Solver, SolverFailedError

NAME = "gavel.min_cost_slo"

INFEASIBLE = Knob(
    "infeasible",
    "raise",
    "Where the SLOs cannot all be met: raise an error that names the jobs, drop the SLOs that fall short, or drop all "
    "SLOs (the authors' code)",
    source="ours",
    choices=("raise", "drop", "drop_all"),
)

SHORT = 1e-9
"""A row that falls short by less (relative) counts as met; the rest is rounding."""

Found = TypeVar("Found")

LEAST_NEED = 1e-9
"""A need below this part of a job's fastest speed counts as this part: a share of time that costs nobody anything."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SloInstance(min_cost.PricedInstance):
    """The numbers of a priced allocation; steps: (jobs,) remaining steps, > 0; slo_s: (jobs,) seconds left to the
    deadline, inf for none, <= 0 if it has passed."""

    steps: FloatArray
    slo_s: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_numbers("steps", self.steps > 0, "a number of steps > 0")
        self.check_numbers("slo_s", self.slo_s > -np.inf, "seconds to the deadline, inf for none", infinite=True)

    @classmethod
    def by_job(cls) -> tuple[str, ...]:
        return ("steps", "slo_s")

    @classmethod
    def numbers(cls, snapshot: Snapshot, knobs: Knobs, rows: IntArray) -> dict[str, Any]:
        jobs = (snapshot.jobs.jobs[row] for row in rows.tolist())
        due_s = np.array([job.arrival_s + job.deadline_s for job in jobs], dtype=float)
        left = {"steps": snapshot.jobs.steps_left[rows], "slo_s": due_s - snapshot.now_s}
        return {**super().numbers(snapshot, knobs, rows), **left}

    @property
    def missed(self) -> BoolArray:
        """(jobs,) whether the deadline has passed."""
        missed: BoolArray = self.slo_s <= 0
        return missed

    @property
    def floor(self) -> FloatArray:
        """(jobs,) `n_m / SLO_m`, steps/s; 0 without an SLO, inf if it has been missed.

        At least `LEAST_NEED` of the job's fastest speed: solvers cannot tell numbers apart that differ by more.
        """
        left_s = np.where(self.missed, np.inf, self.slo_s)
        floor: FloatArray = np.where(self.missed, np.inf, self.steps / left_s)
        return np.where(floor > 0, np.maximum(floor, LEAST_NEED * fastest_throughput(self)), 0.0)

    def without(self, dropped: BoolArray) -> SloInstance:
        """The same without the SLOs of some jobs."""
        return replace(self, slo_s=np.where(dropped, np.inf, self.slo_s))


def build(data: SloInstance, value: FloatArray, floor: FloatArray) -> pyo.ConcreteModel:
    """Return the unsolved linear programme of the sum; value: (jobs,) `v_m`; floor: (jobs,) steps/s, 0 for none."""
    m = min_cost.build(data, value)
    m.name = "gavel_min_cost_slo"
    min_cost.add_floors(m, min_cost.floors(data, floor))
    return m


def policy(knobs: Knobs) -> str:
    """The value of `infeasible`."""
    return str(knobs.get("infeasible", INFEASIBLE.default))


def _said(data: SloInstance, dropped: BoolArray) -> FloatArray:
    """(jobs,) 1 where the SLO is dropped, 0 where it is not, NaN for a job without an SLO."""
    return np.where(np.isfinite(data.slo_s), dropped.astype(float), np.nan)


class MinCostSlo(min_cost.CostFormulation[SloInstance]):
    """Shares of time with the most throughput for the money that meet the jobs' deadlines."""

    name = NAME
    instance = SloInstance
    varies = frozenset({"steps", "slo_s"})
    title = "Gavel: minimum cost with SLOs"
    reading = min_cost.MinCost.reading + " slo_dropped is 1 for a job whose SLO was left out, since not all can be met."
    knobs = (*min_cost.MinCost.knobs, INFEASIBLE)

    def build(self, data: SloInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model with all SLOs; one that has been missed has no row, or raises SloConflictError."""
        if data.missed.any() and policy(knobs) == "raise":
            raise missed_or_too_fast(data, data.missed)
        known = seen(data.without(data.missed), knobs)
        by = min_cost.build_ratio if min_cost.by_ratio(knobs) else build
        return by(known, value(known, knobs), known.floor)

    def restate(self, model: pyo.ConcreteModel, data: SloInstance, knobs: Knobs) -> None:
        """With what is left of the jobs and until their deadlines now, without some of the SLOs, or for other jobs."""
        from workbench.scheduling.solvers.restating import renewed

        known = seen(data.without(data.missed), knobs)
        if model.has_other_jobs:
            min_cost.restate(model, known, value(known, knobs))
        floor = min_cost.floors(known, known.floor)
        for part in (model.slo, model.floor, model.WITH_SLO):
            part.clear()
        model.WITH_SLO.update(floor)
        model.floor.store_values(floor)
        renewed(model.slo)

    def assemble(self, data: SloInstance, knobs: Knobs) -> Programme:
        """The same programme as arrays."""
        known = seen(data.without(data.missed), knobs)
        if min_cost.by_ratio(knobs):
            return min_cost.assemble_ratio(known, value(known, knobs), known.floor)
        return min_cost.assemble(known, value(known, knobs), known.floor, "gavel_min_cost_slo")

    def merged(self, data: SloInstance, knobs: Knobs) -> MergedInstance[SloInstance]:
        """Weights play no part; the needs do."""
        known = seen(data, knobs)
        return merge(data, unweighted(known), value(known, knobs), known.floor)

    def allocate(self, data: SloInstance, knobs: Knobs, solver: Solver | None = None) -> DividedTime:
        """The best shares without the SLOs that are dropped, and `slo_dropped` by job; raises SloConflictError."""

        def solve(dropped: BoolArray) -> DividedTime:
            return super(MinCostSlo, self).allocate(data.without(dropped), knobs, solver)

        found, dropped = attempt(seen(data, knobs), policy(knobs), solve)
        return replace(found, by_job={"slo_dropped": _said(data, dropped)})

    def report(
        self, data: SloInstance, shares: FloatArray, knobs: Knobs, by_job: Mapping[str, FloatArray] = NOTHING_MORE
    ) -> Result:
        """Shares, normalised throughput (`throughput(m, X) / P_m`, true speeds in both forms) and cost in USD/h.

        Raises SolverFailedError if an SLO is not met.
        """
        known = seen(data, knobs)
        dropped = known.missed | (by_job.get("slo_dropped", np.zeros(len(data.jobs))) > 0)
        floor = np.where(dropped, 0.0, known.floor)
        missing = floor - known.throughput(shares)
        if (missing > 1e-6 * floor).any():
            row = int(np.argmax(missing))
            got = f"{known.throughput(shares)[row]:g} steps/s for {data.jobs[row]}"
            raise SolverFailedError(NAME, got, f"its SLO's {floor[row]:g}")
        found = min_cost.report(known, data, shares, knobs)
        said = data.given(by_job.get("slo_dropped", np.full(len(data.jobs), np.nan)))
        return replace(found, values={**found.values, "slo_dropped": said})


class SloConflictError(InfeasibleError):
    """SLOs that cannot be met; jobs: whose they are."""

    def __init__(self, jobs: tuple[str, ...], detail: str) -> None:
        expected = "SLOs that can be met together (or knob infeasible=drop, which leaves out those that fall short)"
        SolveError.__init__(self, f"{NAME}, SLOs of {', '.join(jobs)}", Words(detail), expected)
        self.jobs = jobs


def attempt(data: SloInstance, infeasible: str, solve: Callable[[BoolArray], Found]) -> tuple[Found, BoolArray]:
    """What `solve` finds without the SLOs of some jobs, and which those are: none if all can be met.

    data: as the policy sees them; infeasible: the knob. Raises SloConflictError.
    """
    wanted, lost = np.isfinite(data.slo_s), hopeless(data)
    dropped = np.zeros(len(data.jobs), dtype=bool)
    if lost.any():
        if infeasible == "raise":
            raise missed_or_too_fast(data, lost)
        dropped = lost if infeasible == "drop" else wanted
    while True:
        try:
            return solve(dropped), dropped
        except InfeasibleError as error:
            left = data.without(dropped)
            if not (left.floor > 0).any():
                raise
            if infeasible == "raise":
                raise _together(left, conflict(left)) from error
            dropped = dropped | short(left) if infeasible == "drop" else wanted


def hopeless(data: SloInstance) -> BoolArray:
    """(jobs,) whose SLO cannot be met whatever the others do: missed, or too fast for every type."""
    return data.floor > fastest_throughput(data) * (1.0 + SHORT)


def short(data: SloInstance) -> BoolArray:
    """(jobs,) whose SLOs to drop so that the others can be met.

    Those that fall short where the sum of what is missing, as parts of each job's own need, is as small as can be.
    """
    rows, missing, _ = _elastic(data)
    dropped = np.zeros(len(data.jobs), dtype=bool)
    dropped[rows[missing > min(SHORT, float(missing.max()) / 2)]] = True
    return dropped


def conflict(data: SloInstance) -> IntArray:
    """Positions of jobs whose SLOs cannot be met together, while without any one of them the others can.

    data: with SLOs that cannot all be met. Found by leaving out one after the other (deletion filter), among the rows
    that the least shortfall's duals point at: those alone are infeasible already.
    """
    rows, _, weight = _elastic(data)
    core = rows[weight > SHORT]
    if _can_be_met(data, core):
        core = rows
    for row in core.tolist():
        fewer = core[core != row]
        if not _can_be_met(data, fewer):
            core = fewer
    return core


def _elastic(data: SloInstance) -> tuple[IntArray, FloatArray, FloatArray]:
    """Positions of the jobs with an SLO, by which part of its need each falls short, and its row's dual."""
    floor = data.floor
    rows = np.flatnonzero(floor > 0)
    short = Variable("short", lower=0.0, size=len(rows))
    lp = Assembly(data, after=[short])
    columns = lp.column(short)
    lp.slo(floor, (np.arange(len(rows)), columns, 1.0))
    point = _solved(data, lp.programme((columns, 1.0), NAME, maximise=False))
    duals = np.ones(len(rows)) if point.duals is None else np.abs(point.duals[lp.rows["slo"]])
    return rows, point.values[columns], duals


def _can_be_met(data: SloInstance, rows: IntArray) -> bool:
    floor = np.zeros(len(data.jobs))
    floor[rows] = data.floor[rows]
    lp = Assembly(data)
    lp.slo(floor)
    try:
        _solved(data, lp.programme(([], []), NAME, maximise=True))
    except InfeasibleError:
        return False
    return True


def _solved(data: SloInstance, programme: Programme) -> Point:
    late = np.arange(len(programme.cost)) // len(data.types) >= len(data.jobs)
    late[data.limit.size :] = False
    return solve(programme, len(data.jobs), late, Solver())


def missed_or_too_fast(data: SloInstance, lost: BoolArray) -> SloConflictError:
    """The error for SLOs of which each is lost by itself."""
    said = []
    for row in np.flatnonzero(lost).tolist():
        if data.missed[row]:
            said.append(f"{data.jobs[row]} missed its deadline {-data.slo_s[row]:g} s ago")
            continue
        most = data.entries.steps_per_s[data.entries.job == row].max()
        said.append(f"{data.jobs[row]} needs {data.floor[row]:.6g} steps/s and does at most {most:.6g}")
    return SloConflictError(_names(data, np.flatnonzero(lost)), "; ".join(said))


def _together(data: SloInstance, rows: IntArray) -> SloConflictError:
    needs = ", ".join(f"{data.jobs[row]} needs {data.floor[row]:.6g}" for row in rows.tolist())
    what = "deadlines that cannot all be met" if len(rows) > 1 else "a deadline that cannot be met"
    return SloConflictError(_names(data, rows), f"{what}: {needs} steps/s")


def _names(data: SloInstance, rows: IntArray) -> tuple[str, ...]:
    return tuple(data.jobs[row] for row in rows.tolist())
