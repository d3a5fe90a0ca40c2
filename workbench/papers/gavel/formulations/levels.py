"""Who raises a job's level, and how fast: entities with weights, fairness or FIFO among their own jobs (section 4.3).

A *level* is a normalised throughput that water filling has reached, `throughput(m, X) / P_m`. A job m with weight
`w^job_m` in the present iteration rises by `w^job_m / z_m` per unit of the programme's t (`gavel.water_filling`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from workbench.base.errors import InputError
from workbench.papers.gavel.algorithms.equal_jobs import MergedInstance, merge
from workbench.papers.gavel.instance import AllocationInstance, fastest_throughput
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import BoolArray, IntArray
from workbench.scheduling.snapshot import Snapshot


@dataclass(frozen=True, eq=False, kw_only=True)
class HierarchicalInstance(AllocationInstance):
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
    def numbers(cls, snapshot: Snapshot, knobs: Knobs, rows: IntArray) -> dict[str, Any]:
        jobs = [snapshot.jobs.jobs[row] for row in rows.tolist()]
        named = {entity.name: position for position, entity in enumerate(snapshot.entities)}
        alone = [job for job in jobs if job.entity is None]  # told apart by position: any name may be an entity's too
        at = {job.name: len(named) + position for position, job in enumerate(alone)}
        return {
            **super().numbers(snapshot, knobs, rows),
            "owner": np.array([at[job.name] if job.entity is None else named[job.entity] for job in jobs], dtype=float),
            "entities": (*named, *(f"{job.name} alone" for job in alone)),
            "entity_weight": np.array([*(e.weight for e in snapshot.entities), *(job.weight for job in alone)]),
            "fifo": np.array([*(float(e.policy == "fifo") for e in snapshot.entities), *(0.0 for _ in alone)]),
        }

    @classmethod
    def single(cls, data: AllocationInstance) -> HierarchicalInstance:
        """One level only: every job an entity of its own, with the job's weight."""
        count = len(data.jobs)
        return cls(
            **fields(data),
            owner=np.arange(count, dtype=float),
            entities=data.jobs,
            entity_weight=data.weight,
            fifo=np.zeros(count),
        )

    def merged_alike(self, seen: AllocationInstance) -> MergedInstance[Self]:
        """Equal jobs that rise alike stand for each other; lone ones together are an entity with the weight of all.

        Jobs of an entity with fairness rise alike, lone jobs of entities of equal weights too, nobody in a queue.
        seen: the data, in the units in which jobs are compared.
        """
        rule = self.rule
        lone = np.bincount(rule.owner, minlength=len(self.entities))[rule.owner] == 1
        among = np.where(rule.fifo[rule.owner], -1.0 - np.arange(len(self.jobs)), self.owner)
        weight = rule.entity_weight[rule.owner]
        kin = np.column_stack([np.where(lone, weight, 0.0), np.where(lone, -0.5, among)])
        found = merge(self, seen, kin)
        if found.small is self:
            return found
        small, count = found.small, len(self.entities)
        alone, own = lone[found.first], weight[found.first] * found.small.count
        together = small.with_numbers(
            owner=np.where(alone, count + np.arange(len(own), dtype=float), small.owner),
            entities=(*self.entities, *small.jobs),
            entity_weight=np.concatenate([self.entity_weight, own]),
            fifo=np.concatenate([self.fifo, np.zeros(len(own))]),
        )
        return replace(found, small=together, posed=together if found.posed is small else self)

    @property
    def rule(self) -> RisingRule:
        """Who rises."""
        return RisingRule(self.owner.astype(np.int64), self.weight, self.entity_weight, self.fifo > 0, self.count)


@dataclass(frozen=True, eq=False)
class RisingRule:
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


def fields(data: AllocationInstance) -> dict[str, Any]:
    """The fields that `data` has as an `AllocationInstance`, whatever its class adds."""
    return {name: getattr(data, name) for name in AllocationInstance.__dataclass_fields__}


SLACK = 1e-4
"""A job that can rise by less than this, relative to its level, is bottlenecked (the authors' code: the same)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LevelInstance(AllocationInstance):
    """One iteration. level: (jobs,) t_m >= 0 reached so far; active: (jobs,) `w^job_m` >= 0, 0 for who is not to rise.

    Raises InputError that names the job.
    """

    level: FloatArray
    active: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_numbers("level", self.level >= 0, "a number >= 0")
        self.check_numbers("active", self.active >= 0, "a number >= 0")

    @classmethod
    def by_job(cls) -> tuple[str, ...]:
        return (*super().by_job(), "level", "active")

    @classmethod
    def of(cls, data: AllocationInstance, level: FloatArray, active: FloatArray) -> Self:
        """The data with these levels and weights."""
        return cls(**fields(data), level=level, active=active)

    def risen(self, step: float) -> FloatArray:
        """(jobs,) `t_m + w^job_m t / z_m`."""
        return self.level + max(0.0, step) * self.active / self.gang

    @property
    def most(self) -> FloatArray:
        """(jobs,) the largest normalised throughput that a job could have if it were alone: all of its time."""
        return fastest_throughput(self) / self.equal

    @property
    def margin(self) -> FloatArray:
        """(jobs,) by how much a level must be able to rise to count as one that can.

        Relative to the level, at least to what the job would have if all asked-for workers got equal parts of the
        workers there are: a queue's jobs have level 0, and a solver may overstep limits by 1e-7 (integers: 1e-6).
        """
        part = min(1.0, float(self.workers.sum()) / float((self.gang * self.count).sum()))
        return SLACK * np.maximum(self.level, part * self.most)
