"""Who raises a job's level, and how fast: entities with weights, fairness or FIFO among their own jobs (section 4.3).

A *level* is a normalised throughput that water filling has reached, `throughput(m, X) / P_m`. A job m with weight
`w^job_m` in the present iteration rises by `w^job_m / z_m` per unit of the programme's t.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.errors import InputError
from workbench.papers.gavel.allocation import AllocationData
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import BoolArray, IntArray


@dataclass(frozen=True, eq=False, kw_only=True)
class HierarchicalData(AllocationData):
    """The numbers of hierarchical water filling; jobs in the order in which FIFO takes them.

    owner: (jobs,) position of each job's entity; entities: their names, for messages; entity_weight: (entities,);
    fifo: (entities,) 1 for FIFO among its jobs, 0 for fairness. Raises InputError that names the entity or job.
    """

    owner: FloatArray
    entities: tuple[str, ...]
    entity_weight: FloatArray
    fifo: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shaped("entity_weight", (len(self.entities),))
        self.shaped("fifo", (len(self.entities),))
        for name, weight in zip(self.entities, self.entity_weight.tolist(), strict=True):
            if not 0 < weight < np.inf:
                raise InputError(f"entity {name}, weight", weight, "a number > 0")
        self.check_numbers(
            "owner", np.isin(self.owner, np.arange(len(self.entities))), f"a position in entities {self.entities}"
        )

    @classmethod
    def by_job(cls) -> tuple[str, ...]:
        return (*super().by_job(), "owner")

    @classmethod
    def single(cls, data: AllocationData) -> HierarchicalData:
        """One level only: every job an entity of its own, with the job's weight."""
        count = len(data.jobs)
        return cls(
            **fields(data),
            owner=np.arange(count, dtype=float),
            entities=data.jobs,
            entity_weight=data.weight,
            fifo=np.zeros(count),
        )

    @property
    def rule(self) -> Rule:
        """Who rises."""
        return Rule(
            self.owner.astype(np.int64), self.weight, self.entity_weight, self.fifo > 0, np.ones(len(self.jobs))
        )


@dataclass(frozen=True, eq=False)
class Rule:
    """Jobs, or classes of equal jobs, of entities; members: (jobs,) how many each is."""

    owner: IntArray
    weight: FloatArray
    entity_weight: FloatArray
    fifo: BoolArray
    members: FloatArray

    def weights(self, bottlenecked: BoolArray) -> FloatArray:
        """(jobs,) `w^job_m`: of each entity's weight, its first job that can rise has all (FIFO), or each its part."""
        found = np.zeros(len(self.owner))
        rising = np.flatnonzero(~bottlenecked)
        _, first = np.unique(self.owner[rising], return_index=True)
        head = np.zeros(len(self.owner), dtype=bool)
        head[rising[first]] = True
        takes = ~bottlenecked & (head | ~self.fifo[self.owner])
        weight = np.where(self.fifo[self.owner], 1.0, self.weight)
        total = np.bincount(self.owner[takes], (weight * self.members)[takes], minlength=len(self.entity_weight))
        found[takes] = self.entity_weight[self.owner[takes]] * weight[takes] / total[self.owner[takes]]
        return found


def fields(data: AllocationData) -> dict[str, Any]:
    """The fields that `data` has as an `AllocationData`, whatever its class adds."""
    return {name: getattr(data, name) for name in AllocationData.__dataclass_fields__}
