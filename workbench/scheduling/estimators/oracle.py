"""The estimators that know the table: true speeds of types or of single nodes; what all others begin with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import ClassVar

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scenario.throughput import Placement
from workbench.scheduling.snapshot import JobView

MODEL = attrgetter("model")


def preferred(speed: Sequence[float], aware: bool) -> list[int]:
    """Positions of the types with a speed, in cluster order, or the fastest first (`aware`; equal ones stay so)."""
    kinds = [kind for kind, steps_per_s in enumerate(speed) if steps_per_s > 0]
    if aware:
        kinds.sort(key=speed.__getitem__, reverse=True)
    return kinds


class Oracle:
    """Belief equal to the scenario's throughput table (see `workbench.scheduling.snapshot.Belief`): nodes of a type
    are alike."""

    node_speeds: ClassVar[bool] = False

    def __init__(self, scenario: Scenario) -> None:
        self._table = scenario.table
        self._numbers: dict[Placement, dict[tuple[str, int], int]] = {}
        self._rows: FloatArray = np.zeros((0, len(scenario.cluster.types)))
        self._preferred: dict[tuple[str, int, bool], list[int]] = {}

    def speeds(self, jobs: JobView, placement: Placement = "consolidated") -> FloatArray:
        """(jobs x types) steps/s of each job's gang on one type."""
        known = self._numbers.setdefault(placement, {})
        keys = [*zip(map(MODEL, jobs.now), jobs.gpus.tolist(), strict=True)]
        try:
            numbers = [*map(known.__getitem__, keys)]
        except KeyError:
            for model, gpus in dict.fromkeys(keys):
                if (model, gpus) not in known:
                    self._look_up(model, gpus, placement)
            numbers = [*map(known.__getitem__, keys)]
        return self._rows[np.array(numbers, dtype=np.int64)]

    def kinds_for(self, job: Job, aware: bool) -> list[int]:
        """Positions of the types on which a job's gang runs, by `preferred`; to be read only."""
        key = job.model, job.gpus, aware
        found = self._preferred.get(key)
        if found is None:
            speed = self._table.matrix([job.model], [job.gpus], "consolidated")[0].tolist()
            found = self._preferred[key] = preferred(speed, aware)
        return found

    def _look_up(self, model: str, gpus: int, placement: Placement) -> None:
        """Add the row of the table for a model and a gang that nobody has asked for."""
        self._numbers[placement][model, gpus] = len(self._rows)
        self._rows = np.concatenate([self._rows, self._table.matrix([model], [gpus], placement)])

    def steps_per_s(
        self,
        job: Job,
        accelerator: str,
        gpus: int,
        placement: Placement = "consolidated",
        nodes: int | None = None,
    ) -> float:
        """Steps/s of a job on `gpus` GPUs of one type."""
        return self._table.row(job.model, accelerator, gpus, placement, nodes)

    def on_nodes(self, job: Job, gpus: Mapping[str, int]) -> float:
        """Steps/s of a job's gang on `{node: GPUs}`."""
        return self._table.on_nodes(job.model, gpus, node_speeds=self.node_speeds)

    def pair(
        self, job: Job, other: Job, accelerator: str, placement: Placement = "consolidated"
    ) -> tuple[float, float] | None:
        """Steps/s of two jobs that share their slots on one type; None if they may not."""
        return self._table.pair_row(job.model, other.model, accelerator, job.gpus, placement)


class NodeOracle(Oracle):
    """The same, with the speed of every single node: what Hops comes to know."""

    node_speeds = True


class GangEstimator(Oracle, ABC):
    """Where a job runs is known; how fast a gang is there is estimated. Nothing is said of jobs that share GPUs."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self._types = {node.name: node.accelerator for node in scenario.cluster.each_node}
        self._jobs = {job.name: job for job in scenario.jobs}

    def speeds(self, jobs: JobView, placement: Placement = "consolidated") -> FloatArray:
        """(jobs x types) steps/s of each job's gang on one type, as estimated or measured."""
        able = super().speeds(jobs, placement) > 0
        rows = [
            [self._gang(job, kind, int(gpus)) for kind in self._table.cluster.types]
            for job, gpus in zip(jobs.jobs, jobs.gpus, strict=True)
        ]
        return np.where(able, np.array(rows, dtype=float).reshape(able.shape), 0.0)

    def steps_per_s(
        self,
        job: Job,
        accelerator: str,
        gpus: int,
        placement: Placement = "consolidated",
        nodes: int | None = None,
    ) -> float:
        """Steps/s of a job on `gpus` GPUs of one type, as estimated or measured; 0 where it cannot run."""
        able = super().steps_per_s(job, accelerator, gpus, placement, nodes) > 0
        return self._gang(job, accelerator, gpus) if able else 0.0

    def on_nodes(self, job: Job, gpus: Mapping[str, int]) -> float:
        """Steps/s of a job's gang on `{node: GPUs}`, that of its slowest node; 0 where it cannot run."""
        if super().on_nodes(job, gpus) <= 0:
            return 0.0
        return min(self._on_node(job, node, sum(gpus.values())) for node in gpus)

    def pair(
        self, job: Job, other: Job, accelerator: str, placement: Placement = "consolidated"
    ) -> tuple[float, float] | None:
        """None: nothing is said of jobs that share their GPUs."""
        return None

    @abstractmethod
    def _gang(self, job: Job, kind: str, gpus: int) -> float:
        """Steps/s of a gang on a type on which it can run."""

    def _on_node(self, job: Job, node: str, gpus: int) -> float:
        """Steps/s of a gang with GPUs of a node, by default those of its type."""
        return self._gang(job, self._types[node], gpus)
