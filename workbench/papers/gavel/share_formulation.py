"""What Gavel's formulations whose values are shares of time have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pyomo.environ as pyo

from workbench.papers.gavel.allocation import AllocationData, check, read_shares
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Formulation, Knobs, Result
from workbench.scheduling.solvers import Solver

Data = TypeVar("Data", bound=AllocationData)


class ShareFormulation(Formulation[Data]):
    """A formulation whose values are shares of time; what it reports of them is its own."""

    @abstractmethod
    def report(self, data: Data, shares: FloatArray, knobs: Knobs) -> Result:
        """The result of (combinations x types) shares that keep the limits."""

    def read(self, model: pyo.ConcreteModel, data: Data, knobs: Knobs) -> Result:
        """Shares of the solved model, checked, and what `report` says of them."""
        return self.report(data, check(data, read_shares(model, data), self.name), knobs)

    def trivial(self, data: Data, knobs: Knobs) -> Result | None:
        """No jobs, no shares."""
        return None if data.jobs else self.report(data, np.zeros((0, len(data.types))), knobs)

    def grown(self, data: Data, accelerator: str, gpus: float) -> Data:
        """With more workers; P_m stays what it is today, so that a better cluster does not raise the yardstick."""
        added = np.where(np.array(data.accelerators) == accelerator, gpus, 0.0)
        return replace(data, workers=data.workers + added, fair=data.equal)

    def options(self, knobs: Knobs, solver: Solver) -> Solver:
        """A point in the interior of the optimal face comes from an interior point method without crossover."""
        return chosen(knobs, solver)


def chosen(knobs: Knobs, solver: Solver) -> Solver:
    """The solver with the method that the knob `optimum` asks for, unless it has one already."""
    wanted = knobs.get("optimum") == "interior" and solver.method == "auto"
    return replace(solver, method="interior") if wanted else solver
