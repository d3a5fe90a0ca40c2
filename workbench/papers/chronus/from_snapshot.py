"""The instance of a plan from what a scheduler sees: the jobs with deadlines, from the next boundary of SLO leases on.

The runtime left is that of a consolidated gang as believed, less what leases in force will do up to the boundary.

Section 3.1 has one accelerator type and one size of nodes. On other clusters (section 7, ours) a job has an option for
each pool of alike nodes on whose type it runs, and, where `gpu_range` is on, for each of its `gpu_choices` there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from workbench.base.errors import InputError
from workbench.papers.chronus.instance import Asked, Instance, Leases
from workbench.papers.chronus.options import Choice, Pool, Run
from workbench.papers.chronus.terms import SLO_LEASE_S, next_boundary, seconds_down, seconds_up
from workbench.scenario.rewards import HIGHEST, LOWEST, Steps
from workbench.scenario.throughput import FloatArray, Placement
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import Snapshot
from workbench.scheduling.knob import Knob

ROUND_UP = Knob(
    "round_up",
    True,
    "Count gangs rounded up to {1, 2, 4, 8n} (6), so that all can be placed consolidated; off: as asked for (3)",
    source="paper",
    kind="bool",
    main=True,
)
ALL_GUARANTEED = Knob(
    "all_guaranteed",
    False,
    "Every job must meet one of its deadlines, as (5) is printed: a question of feasibility",
    source="paper",
    kind="bool",
    main=True,
)
MISS_REWARD = Knob(
    "miss_reward", LOWEST, "Reward of a job that meets none of its deadlines", unit="1", source="paper", minimum=0.0
)
RESERVE_OVERHEAD = Knob(
    "reserve_overhead",
    0,
    "Seconds of each lease kept for resuming when leases are counted; 0 as the paper counts them",
    unit="s",
    kind="int",
    minimum=0,
)
GPU_RANGE = Knob(
    "gpu_range",
    False,
    "A job may run as any of its gpu_choices (section 7, auto-scaling), one of them for a whole plan; off: as its gpus",
    kind="bool",
)
HIGHEST_REWARD = Knob(
    "highest_reward",
    None,
    "Rewards are scaled so that 1 to 100 becomes miss_reward to this (section 7: the range is open); none: as stated",
    unit="1",
    minimum=0.0,
    optional=True,
)
KNOBS = (SLO_LEASE_S, ROUND_UP, ALL_GUARANTEED, MISS_REWARD, HIGHEST_REWARD, RESERVE_OVERHEAD, GPU_RANGE)


def instance_of(
    snapshot: Snapshot,
    knobs: Knobs,
    previous: Leases | None = None,
    running: Mapping[str, Choice] | None = None,
) -> Instance:
    """The unfinished jobs with deadlines on all nodes that are up.

    A job that will be done by the boundary is left out. previous: the last plan in leases of this one; running: what
    jobs run as in it. Raises InputError for a job that runs on no type that could hold it, and for rewards that do not
    fit their range.
    """
    lease_s = int(knobs["slo_lease_s"])
    start_s = next_boundary(snapshot.now_s, lease_s)
    left = _steps_left(snapshot, start_s)
    rows = [row for row, job in enumerate(snapshot.jobs.jobs) if job.rewards is not None and left[row] > 0]
    pools = _pools(snapshot, bool(knobs["round_up"]))
    sure, ranges = bool(knobs["all_guaranteed"]), bool(knobs.get("gpu_range", GPU_RANGE.default))
    asked = []
    for row in rows:
        job = snapshot.jobs.jobs[row]
        steps = _steps(_in_range(job.rewards or (), knobs), job.arrival_s - start_s)
        runs = [
            Run(pool, gpus, max(1, int(seconds_up(left[row] / speed))))
            for pool, gpus, speed in _speeds(snapshot, row, tuple(pools), ranges)
            if speed > 0
        ]
        asked.append(Asked(job.gpus, 1, steps, 0, sure, runs or _too_large(snapshot, row)))
    return Instance.pooled(
        pools,
        lease_s,
        asked,
        names=[snapshot.jobs.jobs[row].name for row in rows],
        miss_reward=float(knobs["miss_reward"]),
        reserved_s=int(knobs["reserve_overhead"]),
        start_s=start_s,
        previous=previous,
        running=running,
    )


def _pools(snapshot: Snapshot, rounded: bool) -> dict[Pool, int]:
    """The pools with the GPUs of their nodes that are up, types and sizes of nodes in the order of the cluster."""
    found: dict[Pool, int] = {}
    nodes = snapshot.nodes
    for kind, gpus, up in zip(nodes.kind.tolist(), nodes.gpus.tolist(), nodes.up.tolist(), strict=True):
        pool = Pool(snapshot.types[kind], gpus if rounded else None)
        found[pool] = found.get(pool, 0) + (gpus if up else 0)
    return found


def _speeds(snapshot: Snapshot, row: int, pools: tuple[Pool, ...], ranges: bool) -> Iterator[tuple[int, int, float]]:
    """Number of the pool, GPUs and steps/s of each option of a job, on as few nodes of the pool as hold it."""
    job = snapshot.jobs.jobs[row]
    for number, pool in enumerate(pools):
        for gpus in job.sizes if ranges else (job.gpus,):
            fewest = snapshot.cluster.fewest_nodes(pool.accelerator, gpus)
            nodes = fewest if pool.node_gpus is None else -(-gpus // pool.node_gpus)
            if fewest is None or nodes is None:
                continue
            if gpus == job.gpus and nodes == fewest:
                yield number, gpus, float(snapshot.speeds()[row, snapshot.types.index(pool.accelerator)])
            else:
                word: Placement = "consolidated" if nodes <= fewest else "unconsolidated"
                yield number, gpus, snapshot.belief.steps_per_s(job, pool.accelerator, gpus, word, nodes)


def _too_large(snapshot: Snapshot, row: int) -> list[Run]:
    """The option, never possible, of a job that no type could hold; raises InputError for one that a type could."""
    job = snapshot.jobs.jobs[row]
    holding = [name for name in snapshot.types if snapshot.cluster.fewest_nodes(name, job.gpus) is not None]
    if holding:
        expected = f"a speed above 0 on {' or '.join(holding)}"
        raise InputError(f"job {job.name}, steps/s of {job.gpus} GPUs", 0.0, expected)
    return [Run(0, job.gpus, 1)]


def _in_range(rewards: Steps, knobs: Knobs) -> Steps:
    """Rewards as stated, or scaled from the paper's range to that of the knobs."""
    highest, lowest = knobs.get("highest_reward"), float(knobs["miss_reward"])
    if highest is None:
        return rewards
    if highest <= lowest:
        raise InputError("knob highest_reward", highest, f"a number above the reward of a miss, {lowest:g}")
    scale = (float(highest) - lowest) / (HIGHEST - LOWEST)
    return tuple((deadline_s, lowest + (reward - LOWEST) * scale) for deadline_s, reward in rewards)


def _steps_left(snapshot: Snapshot, until_s: float) -> FloatArray:
    """(jobs,) steps left at a time to come, if leases in force run as believed."""
    left = np.array(snapshot.jobs.steps_left)
    for row, job in enumerate(snapshot.jobs.jobs):
        lease = snapshot.leases.get(job.name)
        if lease is not None and lease.kind == "run":
            seconds = min(lease.until_s, until_s) - snapshot.now_s
            left[row] -= max(0.0, seconds) * snapshot.belief.on_nodes(job, lease.gpus)
    return left


def _steps(rewards: Steps, shift_s: float) -> Steps:
    """Rewards with deadlines in whole seconds from the start of the plan; of equal ones the first, worth most."""
    at = seconds_down([deadline_s + shift_s for deadline_s, _ in rewards]).tolist()
    first = {deadline: reward for deadline, (_, reward) in reversed(list(zip(at, rewards, strict=True)))}
    return tuple((float(deadline), first[deadline]) for deadline in sorted(first))
