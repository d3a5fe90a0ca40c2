"""What one more in the row of each GPU type is worth to a formulation, from the duals of its linear programme.

A dual is the slope of the objective in the number of GPUs; a whole GPU is a step. So each is checked by solving again
with one more GPU, and where the two differ the reason is told: the slope holds for less than a whole GPU, or the
programme has several duals (it is degenerate). What jobs are measured by (P_m of max-min fairness, the throughput under
an equal share of today's cluster) stays as it is: otherwise a better cluster would also raise the yardstick. So it is
a number of the row, not the worth of a GPU that is really there, for which `what_if` runs the cluster with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from workbench.analysis.metrics.summary import amount
from workbench.base.errors import NOTHING, InputError, told_of_arguments
from workbench.base.rounding import short_number
from workbench.scenario.cluster import Cluster
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Formulation, Result
from workbench.scheduling.solvers import Solver
from workbench.session.api import load, snapshot_at, time_of_solve
from workbench.session.registry import find_formulation, formulations

SMALL_GPUS = 0.01
"""A step small enough to see the slope to the right of today's number of GPUs."""
SAME = 1e-3
"""Two values of a GPU that differ by less, relative to the larger, are one."""
NOISE = 1e-6
"""Less than this part of the objective is the solver's rounding."""


IN_THE_ROW = (
    " It is no forecast of a run: with a GPU really added, today's scheduler may even end jobs later. "
    "Ask a run with it."
)


class MarginalValue(NamedTuple):
    """What one more in the row of a type is worth, as an improvement of the objective: above 0 is better.

    gpus: of the type today; price_per_hour: USD (NaN: not known); dual: slope of the objective, one_more: found by
    solving again, both per GPU and, `_per_usd`, per USD/h; note: why the two differ.
    """

    accelerator: str
    gpus: int
    price_per_hour: float
    dual: float
    one_more: float
    dual_per_usd: float
    one_more_per_usd: float
    note: str


@dataclass(frozen=True, eq=False, repr=False)
class MarginalValues:
    """Values of one more in each type's row. objective, sense, unit: of the formulation today; at_s, jobs: for whom."""

    formulation: str
    objective: float
    sense: str
    unit: str
    at_s: float
    jobs: int
    values: tuple[MarginalValue, ...]

    @property
    def table(self) -> pd.DataFrame:
        """One row per accelerator type with the fields of `MarginalValue`."""
        return pd.DataFrame(self.values, columns=list(MarginalValue._fields))

    def __repr__(self) -> str:
        return f"<MarginalValues: {self.words}>"

    def as_json(self) -> dict[str, Any]:
        """Plain objects, null for what is not known."""
        rows = [
            {name: None if value != value else value for name, value in row._asdict().items()} for row in self.values
        ]
        return {**vars(self), "values": rows}

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> MarginalValues:
        """The values that `as_json` told of."""

        def read(row: Mapping[str, Any]) -> MarginalValue:
            known: dict[str, Any] = {name: math.nan if value is None else value for name, value in row.items()}
            return MarginalValue(**known)

        return MarginalValues(**{**found, "values": tuple(read(row) for row in found["values"])})

    @property
    def words(self) -> str:
        """The type whose row is worth most, in a sentence."""
        helping = [value for value in self.values if value.one_more > 0]
        if not helping:
            return f"One more in the row of no type improves the objective of {self.formulation}."
        best = max(helping, key=lambda value: value.one_more)
        worth = amount(best.one_more, self.unit)
        text = f"One more in the row of {best.accelerator} helps {self.formulation} most: by {worth}"
        if self.unit == "1" and self.objective:  # a number without a unit says nothing by itself
            part = 100 * best.one_more / abs(self.objective)
            text += f", {part:.2g} % of its objective today, {amount(self.objective, self.unit)}"
        priced = [value for value in helping if not math.isnan(value.one_more_per_usd)]
        if not priced:
            return f"{text}.{IN_THE_ROW}"
        cheap = max(priced, key=lambda value: value.one_more_per_usd)
        worth = amount(cheap.one_more_per_usd, self.unit)
        return f"{text}; for the money {cheap.accelerator}: {worth} per USD/h.{IN_THE_ROW}"

    def _repr_html_(self) -> str:
        return self.table.to_html(index=False, border=0, float_format=lambda value: short_number(value, 4))


@told_of_arguments
def marginal_values(
    scenario: Scenario | str | Path,
    formulation: str | Formulation[Any] | None = None,
    given: Mapping[str, Any] | None = None,
    /,
    *,
    at: float | None = None,
    solver: Solver | None = None,
) -> MarginalValues:
    """Value of one more in each type's row to the jobs that have arrived by `at` (default as for `solve`), as if
    nothing had been scheduled yet (`snapshot_at`).

    formulation: by default the first that is declared with `values_gpus`; given: its knobs. What one more node of one
    GPU changes in a run says `what_if`.

    Raises InputError for a formulation that is not one linear programme with a capacity per type, and where no job has
    arrived; what `solve` raises.
    """
    scenario = load(scenario)
    if formulation is None:
        formulation = next((each for each in formulations() if each.values_gpus), NOTHING)
    found = find_formulation(formulation)
    settled = found.settle(given or {})
    at_s = time_of_solve(scenario, found.name, at)
    scenario.require_runnable()
    data = found.data(snapshot_at(scenario, at_s, offline=found.offline), settled)
    today = found.run(data, settled, solver)
    if today.objective is None:
        raise InputError("at", at_s, "a time by which a job has arrived")
    rows = _rows(found, data, settled, today, scenario.cluster, solver)
    arrived = sum(job.arrival_s <= at_s for job in scenario.jobs)
    return MarginalValues(found.name, today.objective, today.sense, today.unit, at_s, arrived, tuple(rows))


def _rows(
    found: Formulation[Any], data: Any, knobs: Mapping[str, Any], today: Result, cluster: Cluster, solver: Solver | None
) -> list[MarginalValue]:
    from workbench.scheduling.solvers.limits import Sensitivity

    assert today.objective is not None
    rows = []
    first = found.grown(data, cluster.types[0], 0.0)
    sensitivity = Sensitivity(found.build(first, knobs), found.options(knobs, solver or Solver()))
    if abs(sensitivity.objective - today.objective) > NOISE * max(1.0, abs(today.objective)):
        expected = "a formulation that is solved as one linear programme; the answer of this one comes from several"
        raise InputError("formulation", found.name, expected)
    sign = 1.0 if today.sense == "max" else -1.0
    price = {a.name: math.nan if a.price_per_hour is None else a.price_per_hour for a in cluster.accelerators}

    def resolved(name: str, gpus: float) -> float:
        better = found.run(found.grown(data, name, gpus), knobs, solver).objective
        assert better is not None and today.objective is not None
        return sign * (better - today.objective) / gpus

    for name, gpus in cluster.capacity.items():
        step = found.build(found.grown(data, name, SMALL_GPUS), knobs)
        dual = _clean(sign * sensitivity.slope(step) / SMALL_GPUS, today.objective)
        one_more = _clean(resolved(name, 1.0), today.objective)
        note = ""
        if abs(dual - one_more) > SAME * max(abs(dual), abs(one_more)):
            slope = 2.0 * resolved(name, SMALL_GPUS / 2) - resolved(name, SMALL_GPUS)  # without its curvature
            note = _why(dual, slope, today)
        usd = price[name] or math.nan
        rows.append(MarginalValue(name, gpus, price[name], dual, one_more, dual / usd, one_more / usd, note))
    return rows


def _clean(value: float, objective: float) -> float:
    """What is only the solver's rounding is 0."""
    return 0.0 if abs(value) <= NOISE * max(1e-9, abs(objective)) else value


def _why(dual: float, slope: float, today: Result) -> str:
    """Why a dual is not what a whole GPU brings; slope: that towards more GPUs, by solving for parts of one."""
    assert today.objective is not None
    if abs(dual - slope) <= SAME * max(abs(dual), abs(slope)) + NOISE * abs(today.objective) / SMALL_GPUS:
        return "the dual is the slope at today's GPUs; it holds for less than a whole one (step size)"
    said = amount(dual, today.unit), amount(slope, today.unit)
    return f"several duals (degenerate): this one is {said[0]}, the slope towards more GPUs is {said[1]}"
