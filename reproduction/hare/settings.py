"""Sizes of the reproduction of Hare, its clusters and jobs, and the problem that every scheme gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from workbench.papers.hare.algorithms.vary import at_bandwidth, at_batch
from workbench.papers.hare.instance import HareInstance
from workbench.scenario.presets import preset
from workbench.scenario.presets.hare import GPUS, JOBS, KINDS, QUARTERS, hare_workload
from workbench.scenario.scenario import Scenario
from workbench.session.api import snapshot_at

MINUTE = 60.0
ROUNDS = 30
"""ours: rounds of a job at most (the default of `most_rounds`); the figure `7.3 reasons` has other numbers."""
TESTBED_JOBS = 24
"""ours: the paper does not say how many jobs its testbed had."""
EARLIEST = "Hare by earliest finish (ours), as line 12 prints it beside that but in Figs. 4 and 13"


@dataclass(frozen=True)
class HareSize:
    """How large a reproduction is.

    seeds: of the workloads of a figure. part: GPUs and jobs of section 7.3 are multiplied by it. gpus, jobs: of
    Figs. 14 and 15 before that; gbps, batches: of Figs. 18 and 19. rounds: of a job at most; testbed_jobs: of section
    7.2; stronger: others that are had in another way (`STRONGER`); tasks: of each round, None: as drawn; sync: how many
    times as long as they are times to synchronise are.
    """

    name: str
    seeds: range
    part: float
    gpus: tuple[int, ...]
    jobs: tuple[int, ...]
    gbps: tuple[float, ...]
    batches: tuple[float, ...]
    rounds: int = ROUNDS
    testbed_jobs: int = TESTBED_JOBS
    stronger: tuple[str, ...] = ()
    tasks: int | None = None
    sync: float = 1.0

    def of(self, count: int) -> int:
        """A number of GPUs or jobs at this size."""
        return max(1, round(self.part * count))


SIZES = {
    size.name: size
    for size in (
        HareSize("tiny", range(2), 0.1, (80, 160), (100, 300), (10.0, 25.0), (1.0, 4.0), testbed_jobs=12),
        HareSize("middle", range(3), 0.5, (80, 160, 240), (100, 200, 300), (10.0, 25.0), (0.5, 1.0, 4.0)),
        HareSize("full", range(3), 1.0, (80, 160, 240), (100, 200, 300), (10.0, 15.0, 25.0), (0.5, 1.0, 4.0)),
    )
}


@dataclass(frozen=True)
class FigurePoint:
    """One point of a figure, but for the seed; as in section 7.3 by default.

    shares: of the classes CV, NLP, Speech, Rec.; gbps: None, the 25 of the testbed; batch: over B_0; rounds: of a job
    at most; stronger, tasks, sync: see `HareSize`.
    """

    gpus: int = GPUS
    jobs: int = JOBS
    level: str = "high"
    shares: tuple[float, ...] = QUARTERS
    gbps: float | None = None
    batch: float = 1.0
    rounds: int = ROUNDS
    stronger: tuple[str, ...] = ()
    tasks: int | None = None
    sync: float = 1.0

    def at(self, size: HareSize) -> FigurePoint:
        """The point at a size."""
        return replace(
            self,
            gpus=size.of(self.gpus),
            jobs=size.of(self.jobs),
            rounds=self.rounds if self.rounds != ROUNDS else size.rounds,
            stronger=size.stronger,
            tasks=size.tasks,
            sync=size.sync,
        )

    def scenario(self, seed: int) -> Scenario:
        """Cluster and jobs."""
        found = hare_workload(self.gpus, self.jobs, self.level, self.shares, seed)
        found = found if self.batch == 1.0 else at_batch(found, self.batch)
        return found if self.gbps is None else at_bandwidth(found, self.gbps)

    def instance(self, seed: int) -> HareInstance:
        """The problem that every scheme gets."""
        return cut(problem(self.scenario(seed), seed, self.rounds), self.tasks, self.sync)


def more_of(kind: str) -> tuple[float, ...]:
    """Shares with twice as many jobs of one class (Fig. 17): 40 % of it, 20 % of each other."""
    return tuple(2.0 if name == kind else 1.0 for name in KINDS)


def testbed(seed: int, jobs: int = TESTBED_JOBS) -> Scenario:
    """Section 7.1: the 15 GPUs of `hare_testbed` with other jobs."""
    cluster = preset("hare_testbed").cluster
    return hare_workload(cluster.gpus, jobs, seed=seed).replace(cluster=cluster)


def problem(scenario: Scenario, seed: int, rounds: int = ROUNDS) -> HareInstance:
    """All jobs of a scenario, those to come included, on its GPUs in an order that says nothing of their speed.

    A scheme that is blind to types takes GPUs in their order, which in a scenario is by type.
    """
    found = HareInstance.from_snapshot(
        snapshot_at(scenario, 0.0, offline=True), {"most_rounds": rounds, "steps_per_round": None}
    )
    return in_gpu_order(found, np.random.default_rng(seed).permutation(len(found.gpus)).tolist())


def cut(instance: HareInstance, tasks: int | None = None, sync: float = 1.0) -> HareInstance:
    """The same work in rounds of so many tasks each, as many rounds as before (None: as they are), which take `sync`
    times as long to synchronise."""
    if tasks is not None:
        each, part = np.full(len(instance.jobs), tasks, dtype=np.int64), instance.tasks / tasks
        instance = replace(instance, tasks=each, first_tasks=each, train_s=instance.train_s * part[:, None])
    return instance if sync == 1.0 else replace(instance, sync_s=sync * instance.sync_s)


def in_gpu_order(instance: HareInstance, order: Sequence[int]) -> HareInstance:
    """The same problem with its GPUs in another order."""
    places = list(order)
    return replace(
        instance,
        gpus=tuple(instance.gpus[m] for m in places),
        train_s=instance.train_s[:, places],
        sync_s=instance.sync_s[:, places],
        free_s=instance.free_s[places],
    )


def simulated_scale(size: HareSize) -> str:
    """Of section 7.3."""
    here = f"{size.of(JOBS)} jobs on {size.of(GPUS)} GPUs where these are not what varies"
    return f"{here}; the paper {JOBS} on {GPUS}; {EARLIEST}"


def testbed_scale(size: HareSize) -> str:
    """Of section 7.2."""
    jobs = f"{size.testbed_jobs} jobs (the paper does not say how many)"
    return f"{jobs} on 15 GPUs, as in the paper; {EARLIEST}"
