"""A formulation made a policy that divides time, and a scheduler with the paper's mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.contract import Formulation, Knobs, Result
from workbench.decision import Shares, Snapshot, Solution, Unit, WorkerType
from workbench.knob import Value
from workbench.mechanisms.priority import Allocated
from workbench.mechanisms.share_scheduler import ShareScheduler
from workbench.mechanisms.worker_types import worker_types
from workbench.papers.gavel.allocation import AllocationData
from workbench.papers.gavel.knobs import MODEL, PARTITIONS
from workbench.papers.gavel.matrix import Allocation
from workbench.papers.gavel.pop import Combine, by_parts
from workbench.papers.gavel.view import able
from workbench.throughput import FloatArray

Data = Callable[[Snapshot, Knobs, npt.NDArray[np.int64], Any], tuple[AllocationData, Any]]
Allocate = Callable[[Any, Knobs], Allocation]


@dataclass(frozen=True)
class Policy:
    """A formulation as a policy that divides time (`mechanisms.priority.SharePolicy`).

    data: the data of the jobs at some positions, and the policy's memory for the next time; allocate: the sparse
    matrix, if there is one; signals: names of the numbers by job that are recorded beside the shares; combine: how the
    objectives of parts of the cluster make that of the whole, if it can be divided by parts (`pop`).
    """

    formulation: Formulation[Any]
    data: Data
    allocate: Allocate | None = None
    signals: tuple[str, ...] = ()
    combine: Combine | None = None

    def __call__(self, snapshot: Snapshot, knobs: Knobs, memory: Any) -> Allocated:
        data, memory = self.data(snapshot, knobs, able(snapshot, knobs), memory)
        if self.allocate is None or knobs.get("model") == "pyomo":
            found = self.formulation.run(data, knobs)
            shares, solution = _table(found, data), _of_result(found)
            signals = {name: found.values[name] for name in self.signals}
        else:
            allocation = self._allocate(data, knobs)
            shares, solution = allocation.shares, _of_allocation(allocation, data)
            signals = {name: data.column(allocation.by_job[name]) for name in self.signals}
        kinds = worker_types(snapshot.cluster, knobs)
        return Allocated(_shares(data, shares, kinds), solution, memory, signals)

    def _allocate(self, data: AllocationData, knobs: Knobs) -> Allocation:
        assert self.allocate is not None
        if self.combine is None:
            return self.allocate(data, knobs)
        return by_parts(data, knobs, self.allocate, self.combine)


def _table(found: Result, data: AllocationData) -> FloatArray:
    rows = [list(row.values()) for row in found.values["allocation"].values()]
    return np.array(rows, dtype=float).reshape(len(data.units), len(data.types))


def _of_result(found: Result) -> Solution:
    return Solution(found.status, found.objective, found.bound, found.gap, found.build_s, found.solve_s)


def _of_allocation(allocation: Allocation, data: AllocationData) -> Solution:
    solved = allocation.solved
    objective = solved.objective if data.jobs else None
    return Solution(
        solved.status, objective, solved.bound, solved.gap, solved.build_s, solved.solve_s, solved.iterations
    )


def _shares(data: AllocationData, values: FloatArray, kinds: tuple[WorkerType, ...]) -> Shares:
    """Shares of the jobs and of those pairs that have one: most pairs have none."""
    jobs = len(data.jobs)
    pairs = np.flatnonzero(values[jobs:].any(axis=1))
    units: tuple[Unit, ...] = (*data.jobs, *((data.jobs[a], data.jobs[b]) for a, b in data.pairs[pairs].tolist()))
    return Shares(units, data.types, np.concatenate([values[:jobs], values[jobs + pairs]]), kinds)


def scheduler(
    formulation: Formulation[Any],
    title: str,
    data: Data,
    allocate: Allocate | None = None,
    uses: frozenset[str] = frozenset(),
    authors: dict[str, Value] | None = None,
    defaults: Mapping[str, Value] | None = None,
    signals: tuple[str, ...] = (),
    combine: Combine | None = None,
) -> ShareScheduler:
    """The scheduler of a formulation, with the same name and knobs; defaults: those that differ in a simulation."""
    own = (replace(knob, default=(defaults or {}).get(knob.name, knob.default)) for knob in formulation.knobs)
    knobs = (*own, *((MODEL,) if allocate is not None else ()), *((PARTITIONS,) if combine is not None else ()))
    policy = Policy(formulation, data, allocate, signals, combine)
    return ShareScheduler(formulation.name, title, policy, knobs=knobs, uses=uses, authors=authors)
