"""A formulation made a policy that divides time, and a scheduler with the paper's mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.baselines.mechanisms.priority import Allocated
from workbench.baselines.mechanisms.share_scheduler import ShareScheduler
from workbench.baselines.mechanisms.worker_types import worker_types
from workbench.papers.gavel.allocation import AllocationData
from workbench.papers.gavel.knobs import MODEL, PARTITIONS
from workbench.papers.gavel.matrix import Allocation
from workbench.papers.gavel.pop import Combine, by_parts
from workbench.papers.gavel.view import able
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Formulation, Knobs
from workbench.scheduling.decision import Shares, Snapshot, Unit, WorkerType
from workbench.scheduling.knob import Value

Data = Callable[[Snapshot, Knobs, npt.NDArray[np.int64], Any], tuple[AllocationData, Any]]
Allocate = Callable[[Any, Knobs], Allocation]
Numbers = Callable[[Any, Knobs], Mapping[str, FloatArray]]


@dataclass(frozen=True)
class Policy:
    """A formulation as a policy that divides time (`mechanisms.priority.SharePolicy`).

    data: the data of the jobs at some positions, and the policy's memory for the next time; allocate: the sparse
    matrix, if there is one; signals: names of the numbers by job that are recorded beside the shares; combine: how the
    objectives of parts of the cluster make that of the whole, if it can be divided by parts (`pop`); numbers: more
    numbers by job to record, which the policy goes by (NaN where a job has none).
    """

    formulation: Formulation[Any]
    data: Data
    allocate: Allocate | None = None
    signals: tuple[str, ...] = ()
    combine: Combine | None = None
    numbers: Numbers | None = None

    def __call__(self, snapshot: Snapshot, knobs: Knobs, memory: Any) -> Allocated:
        data, memory = self.data(snapshot, knobs, able(snapshot, knobs), memory)
        stated = knobs.get("model") == "pyomo"
        allocate = self._as_stated if stated or self.allocate is None else self.allocate
        found = allocate(data, knobs) if self.combine is None else by_parts(data, knobs, allocate, self.combine)
        signals = {name: data.given(found.by_job[name]) for name in self.signals}
        if self.numbers is not None:
            signals |= {name: data.given(values) for name, values in self.numbers(data, knobs).items()}
        kinds = worker_types(snapshot.cluster, knobs)
        solved = found.solved if data.jobs else replace(found.solved, objective=None)
        return Allocated(_shares(data, found.shares, kinds), solved, memory, signals)

    def _as_stated(self, data: AllocationData, knobs: Knobs) -> Allocation:
        """By the formulation's Pyomo model."""
        found = self.formulation.run(data, knobs)
        rows = [list(row.values()) for row in found.values["allocation"].values()]
        shares = np.array(rows, dtype=float).reshape(len(data.units), len(data.types))
        by_job = {name: found.values[name] for name in self.signals}
        return Allocation(shares, found, {name: _column(data, values) for name, values in by_job.items()})


def _column(data: AllocationData, values: Mapping[str, float]) -> FloatArray:
    """(jobs,) values, NaN for a job without one."""
    return np.array([values.get(job, np.nan) for job in data.jobs], dtype=float)


def _shares(data: AllocationData, values: FloatArray, kinds: tuple[WorkerType, ...]) -> Shares:
    """Shares of the jobs and of those pairs that have one: most pairs have none."""
    jobs = len(data.jobs)
    pairs = np.flatnonzero(values[jobs:].any(axis=1))
    units: tuple[Unit, ...] = (*data.jobs, *((data.jobs[a], data.jobs[b]) for a, b in data.pairs[pairs].tolist()))
    return Shares(units, data.types, np.concatenate([values[:jobs], values[jobs + pairs]]), kinds)


def forgetful(gather: Callable[[Snapshot, Knobs, npt.ArrayLike | None], AllocationData]) -> Data:
    """The data of a policy that remembers nothing."""

    def data(snapshot: Snapshot, knobs: Knobs, rows: npt.NDArray[np.int64], memory: Any) -> tuple[AllocationData, Any]:
        return gather(snapshot, knobs, rows), None

    return data


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
    numbers: Numbers | None = None,
) -> ShareScheduler:
    """The scheduler of a formulation, with the same name and knobs; defaults: those that differ in a simulation."""
    more = (*((MODEL,) if allocate is not None else ()), *((PARTITIONS,) if combine is not None else ()))
    policy = Policy(formulation, data, allocate, signals, combine, numbers)
    knobs = (*formulation.knobs, *more)
    return ShareScheduler(formulation.name, title, policy, knobs=knobs, uses=uses, authors=authors, defaults=defaults)
