"""The numbers of an allocation for policies that look at how much the jobs have left to do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from workbench.papers.gavel.allocation import AllocationData
from workbench.papers.gavel.alone import fastest_throughput, isolated_throughput
from workbench.papers.gavel.view import numbers
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import Snapshot

LEAST = 1e-12
"""A job whose fastest type does it within this part of the isolated makespan counts as needing this part: solvers
cannot tell numbers apart that differ by more. n such jobs make the makespan longer by at most n of these parts."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StepsData(AllocationData):
    """The numbers of an allocation, and steps: (jobs,) remaining steps, > 0. Raises InputError that names the job."""

    steps: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_numbers("steps", self.steps > 0, "a number of steps > 0")

    @classmethod
    def by_job(cls) -> tuple[str, ...]:
        return (*super().by_job(), "steps")

    def in_parts(self, unit_s: float) -> Self:
        """The same with speeds in parts of the steps left (`LEAST` of them at least) per `unit_s`; without weights."""
        isolated_s = float((self.steps / isolated_throughput(self)).max())
        part = unit_s / np.maximum(self.steps, fastest_throughput(self) * (isolated_s * LEAST))
        return replace(
            self,
            speed=self.speed * part[:, None],
            pair_speed=self.pair_speed * part[self.pairs][:, :, None],
            weight=np.ones(len(self.jobs)),
            steps=np.ones(len(self.jobs)),
        )


def gather(snapshot: Snapshot, knobs: Knobs, rows: npt.ArrayLike | None = None) -> StepsData:
    """The numbers of the jobs at some positions, by default of all, and their remaining steps."""
    chosen = np.arange(len(snapshot.jobs)) if rows is None else np.asarray(rows, dtype=np.int64)
    return StepsData(**numbers(snapshot, knobs, rows), steps=snapshot.jobs.steps_left[chosen])
