"""The units in which Hare's models are solved (ours): about one for a task's time, and about one for a job's weight.

Solvers keep rows, whole numbers and optima to absolute tolerances of about 1e-6. Times of 1e-7 s would be rounding to
them, and squares of 1e7 s too large. So a model is built from an instance whose times are divided by a power of ten of
the mean T^c + T^s, and weights likewise by one of their mean; what is found is multiplied again. Where a module says
seconds, it means this unit while a solver is at work.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from workbench.papers.hare.instance import Instance
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Result
from workbench.scheduling.knob import Knob
from workbench.scheduling.solvers import Solver

OBJECTIVES = ("objective", "bound", "on_grid", "bound_on_grid", "schedule")
"""What of `Result.iterations` is an objective, in s x weight."""


class Units(NamedTuple):
    """Seconds of a unit of time, and weight of a unit of weight."""

    time_s: float = 1.0
    weight: float = 1.0

    @property
    def worth(self) -> float:
        """A unit of the objective in s x weight."""
        return self.time_s * self.weight

    def instance(self, data: Instance) -> Instance:
        """The instance in these units."""
        if self == Units():
            return data
        times = ("train_s", "sync_s", "arrival_s", "free_s", "barrier_s")
        scaled = {name: getattr(data, name) / self.time_s for name in times}
        return replace(data, weight=data.weight / self.weight, **scaled)

    def knobs(self, knobs: Mapping[str, Any], declared: tuple[Knob, ...]) -> dict[str, Any]:
        """Values of knobs, those in seconds in these units."""
        times = {knob.name for knob in declared if knob.unit == "s"}
        return {
            name: value / self.time_s if name in times and value is not None else value for name, value in knobs.items()
        }

    def solver(self, solver: Solver) -> Solver:
        """The same solver; its listener is told objectives in s x weight."""
        listener = solver.on_progress
        if listener is None:
            return solver
        return replace(
            solver,
            on_progress=lambda told: listener(
                told._replace(incumbent=self._worth(told.incumbent), bound=self._worth(told.bound))
            ),
        )

    def result(self, found: Result) -> Result:
        """What was found in these units, in seconds: objectives, and the values whose names end in `_s`."""
        if self == Units():
            return found
        steps = tuple(
            {name: self._worth(value) if name in OBJECTIVES else value for name, value in step.items()}
            for step in found.iterations
        )
        values = {
            name: self._worth(value) if name == "weighted_jct_s" else self._values(name, value)
            for name, value in found.values.items()
        }
        return replace(
            found,
            objective=self._worth(found.objective),
            bound=self._worth(found.bound),
            values=values,
            iterations=steps,
        )

    def _worth(self, value: float | None) -> float | None:
        return None if value is None else value * self.worth

    def _values(self, name: str, value: Any) -> Any:
        """Times in seconds where a name says so, those by job or round below it included."""
        if isinstance(value, Mapping):
            return {key: self._values(name if name.endswith("_s") else key, each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._values(name, each) for each in value]
        return value * self.time_s if name.endswith("_s") else value


def units_of(data: Instance) -> Units:
    """The units of an instance; seconds and weights of 1 where it has no times above 0."""
    return Units(_power((data.train_s + data.sync_s)[data.runs]), _power(data.weight))


def _power(values: FloatArray) -> float:
    """The power of ten next to the mean of those above 0; 1 without any."""
    above = values[values > 0]
    return float(f"1e{round(math.log10(float(above.mean())))}") if len(above) else 1.0
