r"""Minimum cost subject to SLOs (Gavel, section 4.2).

max   sum_m v_m sum_{k in C_m} sum_j T^m_kj X_kj / p_j                     (4.2)  throughput_per_dollar
s.t.  sum_{k in C_m} sum_j X_kj <= 1                       for all m       (2)    job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a                 for all a       (3)    capacity
      throughput(m, X) / f_m >= 1                          for all m in S  (4.2)  slo
      0 <= X_kj <= 1, X_kj = 0 if (k, j) notin E           for all k, j    (1)    share
      throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj  for all m       (3.1)  throughput

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

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from workbench.papers.gavel.algorithms.equal_jobs import Merge, merge, unweighted
from workbench.papers.gavel.algorithms.slo_conflicts import INFEASIBLE, attempt, missed_or_too_fast
from workbench.papers.gavel.formulations import min_cost
from workbench.papers.gavel.formulations import min_cost_ratio as ratio
from workbench.papers.gavel.formulations.allocation import NOTHING_MORE, DividedTime
from workbench.papers.gavel.formulations.max_throughput import value
from workbench.papers.gavel.instance import SloInstance, seen
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.decision import BoolArray
from workbench.scheduling.modelling import pyo
from workbench.scheduling.solvers import Programme, Solver, SolverFailedError

NAME = "gavel.min_cost_slo"


def build(data: SloInstance, value: FloatArray, floor: FloatArray) -> pyo.ConcreteModel:
    """Return the unsolved linear programme of the sum; value: (jobs,) `v_m`; floor: (jobs,) steps/s, 0 for none."""
    m = min_cost.build(data, value)
    m.name = "gavel_min_cost_slo"
    ratio.add_floors(m, ratio.floors(data, floor))
    return m


def policy(knobs: Knobs) -> str:
    """The value of `infeasible`."""
    return str(knobs.get("infeasible", INFEASIBLE.default))


def _said(data: SloInstance, dropped: BoolArray) -> FloatArray:
    """(jobs,) 1 where the SLO is dropped, 0 where it is not, NaN for a job without an SLO."""
    return np.where(np.isfinite(data.slo_s), dropped.astype(float), np.nan)


class MinCostSlo(ratio.RatioFormulation[SloInstance]):
    """Shares of time with the most throughput for the money that meet the jobs' deadlines."""

    name = NAME
    instance = SloInstance
    title = "Gavel: minimum cost with SLOs"
    reading = min_cost.MinCost.reading + " slo_dropped is 1 for a job whose SLO was left out, since not all can be met."
    knobs = (*min_cost.MinCost.knobs, INFEASIBLE)

    def build(self, data: SloInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model with all SLOs; one that has been missed has no row, or raises SloConflictError."""
        if data.missed.any() and policy(knobs) == "raise":
            raise missed_or_too_fast(data, data.missed, NAME)
        known = seen(data.without(data.missed), knobs)
        by = ratio.build if ratio.by_ratio(knobs) else build
        return by(known, value(known, knobs), known.floor)

    def assemble(self, data: SloInstance, knobs: Knobs) -> Programme:
        """The same programme as arrays."""
        known = seen(data.without(data.missed), knobs)
        if ratio.by_ratio(knobs):
            return ratio.assemble(known, value(known, knobs), known.floor)
        return min_cost.assemble(known, value(known, knobs), known.floor, "gavel_min_cost_slo")

    def merged(self, data: SloInstance, knobs: Knobs) -> Merge[SloInstance]:
        """Weights play no part; the needs do."""
        known = seen(data, knobs)
        return merge(data, unweighted(known), value(known, knobs), known.floor)

    def allocate(self, data: SloInstance, knobs: Knobs, solver: Solver | None = None) -> DividedTime:
        """The best shares without the SLOs that are dropped, and `slo_dropped` by job; raises SloConflictError."""

        def solve(dropped: BoolArray) -> DividedTime:
            return super(MinCostSlo, self).allocate(data.without(dropped), knobs, solver)

        found, dropped = attempt(seen(data, knobs), policy(knobs), NAME, solve)
        return replace(found, by_job={"slo_dropped": _said(data, dropped)})

    def objective(self, data: SloInstance, shares: FloatArray, knobs: Knobs) -> float | None:
        """Throughput per dollar, as a sum or as a ratio."""
        return min_cost.objective(seen(data, knobs), shares, knobs) if data.jobs else None

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
