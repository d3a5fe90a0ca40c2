"""The instance of a plan from what a scheduler sees: the jobs with deadlines, from the next boundary of SLO leases on.

The runtime left is that of a consolidated gang as believed, less what leases in force will do up to the boundary. One
accelerator type (section 3.1).
"""

from __future__ import annotations

import numpy as np

from workbench.contract import Knobs
from workbench.decision import Snapshot
from workbench.errors import InputError
from workbench.knob import Knob
from workbench.papers.chronus.instance import Instance, Leases, limits
from workbench.papers.chronus.rewards import LOWEST, Steps
from workbench.papers.chronus.terms import SLO_LEASE_S, next_boundary, seconds_down, seconds_up
from workbench.throughput import FloatArray

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
KNOBS = (SLO_LEASE_S, ROUND_UP, ALL_GUARANTEED, MISS_REWARD, RESERVE_OVERHEAD)


def instance_of(snapshot: Snapshot, knobs: Knobs, previous: Leases | None = None) -> Instance:
    """The unfinished jobs with deadlines on all nodes that are up.

    A job that will be done by the boundary is left out. Raises InputError for several accelerator types, for nodes of
    different sizes where gangs are rounded up, and for a job that does not run on the type.
    """
    lease_s = int(knobs["slo_lease_s"])
    kinds = sorted(set(snapshot.nodes.kind.tolist()))
    if len(kinds) > 1:
        names = [snapshot.types[kind] for kind in kinds]
        raise InputError("accelerator types of the cluster", names, "one type (Chronus, section 3.1)")
    start_s = next_boundary(snapshot.now_s, lease_s)
    left = _steps_left(snapshot, start_s)
    rows = [row for row, job in enumerate(snapshot.jobs.jobs) if job.rewards is not None and left[row] > 0]
    jobs = [snapshot.jobs.jobs[row] for row in rows]
    speed = snapshot.speeds()[rows, kinds[0]] if kinds else np.zeros(len(rows))
    for job, rate in zip(jobs, speed.tolist(), strict=True):
        if rate <= 0 and snapshot.cluster.fewest_nodes(snapshot.types[kinds[0]], job.gpus) is not None:
            expected = f"a speed above 0 on {snapshot.types[kinds[0]]}"
            raise InputError(f"job {job.name}, steps/s of {job.gpus} GPUs", rate, expected)
    up = np.where(snapshot.nodes.up, snapshot.nodes.gpus, 0)
    gangs = np.array([job.gpus for job in jobs], dtype=np.int64)
    sizes, capacity, held = limits(np.array([up.sum()]), gangs, _node_gpus(snapshot) if knobs["round_up"] else None)
    return Instance(
        jobs=tuple(job.name for job in jobs),
        lease_s=lease_s,
        sizes=sizes,
        capacity=capacity,
        gpus=gangs,
        held=held,
        runtime_s=seconds_up(np.where(speed > 0, left[rows] / np.where(speed > 0, speed, 1.0), 1.0)).clip(1),
        arrival_s=np.zeros(len(jobs), dtype=np.int64),
        steps=tuple(_steps(job.rewards or (), job.arrival_s - start_s) for job in jobs),
        guaranteed=np.full(len(jobs), bool(knobs["all_guaranteed"])),
        miss_reward=float(knobs["miss_reward"]),
        reserved_s=int(knobs["reserve_overhead"]),
        start_s=start_s,
        previous=previous or {},
    )


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


def _node_gpus(snapshot: Snapshot) -> int:
    sizes = sorted(set(snapshot.nodes.gpus[snapshot.nodes.up].tolist()))
    if len(sizes) > 1:
        raise InputError("GPUs of nodes", sizes, "nodes of one size, or round_up off")
    return sizes[0] if sizes else 1
