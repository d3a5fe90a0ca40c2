"""The numbers of one iteration of water filling: how high each job's level is, and how fast it is to rise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from workbench.papers.gavel.allocation import AllocationData
from workbench.papers.gavel.alone import fastest_throughput
from workbench.papers.gavel.entities import fields
from workbench.scenario.throughput import FloatArray

SLACK = 1e-4
"""A job that can rise by less than this, relative to its level, is bottlenecked (the authors' code: the same)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LevelData(AllocationData):
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
    def of(cls, data: AllocationData, level: FloatArray, active: FloatArray) -> Self:
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
        part = min(1.0, float(self.workers.sum()) / float(self.gang.sum()))
        return SLACK * np.maximum(self.level, part * self.most)
