"""Chronus: the clusters of section 4.1 and a small one, with jobs that have deadlines.

Each preset has the workload MIX2 of Table 1, its variants `_slo` and `_mix1` the same jobs with the deadlines of the
other two. The paper names no GPU type: V100 is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.scenario.presets.catalogue import Data, Preset, add, register
from workbench.scenario.presets.parts import HOUR, cluster_of, node_groups, streams
from workbench.scenario.throughput import Scaling
from workbench.scenario.traces.deadlines import WORKLOADS, draw_rewards
from workbench.scenario.traces.synthetic import Workload, draw_arrivals, draw_short

POWER = Scaling(law="power", efficiency=0.9)  # ours: fills the gangs of 3 and 6 that the tables lack
GANGS = (1, 2, 4, 8, 16, 32, 64)
SHARES = (0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.1)  # ours: large gangs, so that few jobs fill the cluster
# ours: gangs of 3 and 6 GPUs are hostile to consolidation (section 3.4)
SMALL_GANGS = (1, 2, 3, 4, 6, 8)
SMALL_SHARES = (0.25, 0.15, 0.1, 0.2, 0.1, 0.2)
SMALL_HOURS = (2.0, 8.0)  # ours: 6 to 24 SLO leases of 20 minutes
KINDS = {0: "best effort", 1: "strict"}  # by the number of deadlines; more of them are soft


# ours: name, model, GPUs, minutes, minutes of arrival, deadlines in minutes with what they are worth
SMALL = (
    ("nightly", "VGG16", 4, 60, 0, ((90, 100),)),
    ("explore", "AlexNet", 2, 40, 0, ()),
    ("retrain", "MobileNet", 2, 60, 10, ((80, 100),)),
    ("rush", "InceptionNet", 4, 60, 20, ((75, 100),)),
    ("tune", "VGG16", 2, 40, 30, ((60, 100), (90, 50))),
    ("try-out", "MobileNet", 1, 30, 30, ()),
)


@register
def chronus_small() -> Data:
    """Chronus in small: six jobs, two nodes of 4 GPUs; deadlines: strict one, soft two, best effort none (ours)."""
    # Chosen for its size, so that a lab can follow a slider, and so that what the paper is about is seen: deadlines met
    # by leases, a best-effort job that gives way to them, and promises that depend on the length of a lease. How other
    # schedulers fare on it was no ground for choosing it.
    work = Workload.build(cluster_of(node_groups(("node", "v100", 2, 4)), 100.0), "chronus", scaling=POWER)
    jobs = []
    for name, model, gpus, minutes, arrival, deadlines in SMALL:
        job = work.job(name, model, gpus, 60.0 * minutes, 60.0 * arrival)
        rewards = {"rewards": [[60.0 * at, float(worth)] for at, worth in deadlines]} if deadlines else {}
        jobs.append({**job, **rewards, "size_class": KINDS.get(len(deadlines), "soft")})
    return {**work.scenario(jobs), **_as_authors()}


@register
def chronus_example() -> Data:
    """Chronus in small: 4 nodes of 8 GPUs, 24 jobs in 2 h, some refused; MIX2 (others: ..._slo, _mix1)."""
    return _example("mix2")


@register
def chronus_96x8() -> Data:
    """Chronus, section 4.1: 96 nodes of 8 GPUs; 80 jobs, MIX2: strict/soft/best effort 30/60/10 % (paper: 6,599)."""
    return _of_paper(96, 80, 7, "mix2")


@register
def chronus_120x8() -> Data:
    """Chronus, section 4.1: 120 nodes of 8 GPUs; 100 jobs, MIX2: strict/soft/best effort 30/60/10 % (paper: 30,940)."""
    return _of_paper(120, 100, 8, "mix2")


def _example(workload: str) -> Data:
    work = Workload.build(_cluster(4), "chronus", scaling=POWER)
    length, *others = streams(3, 4)
    shortest, longest = SMALL_HOURS
    durations = HOUR * shortest * (longest / shortest) ** length.random(24)
    return _chronus(work, durations, 2 * HOUR, SMALL_GANGS, SMALL_SHARES, others, 3, workload)


def _of_paper(nodes: int, count: int, seed: int, workload: str) -> Data:
    """Runtimes of 1 to 4 h within the first two hours are ours."""
    work = Workload.build(_cluster(nodes), "chronus")
    length, *others = streams(seed, 4)
    return _chronus(work, draw_short(length, count), 2 * HOUR, GANGS, SHARES, others, seed, workload)


def _cluster(nodes: int) -> Data:
    return cluster_of(node_groups(("node", "v100", nodes, 8)), 100.0)


def _chronus(
    work: Workload,
    durations_s: FloatArray,
    window_s: float,
    gangs: Sequence[int],
    shares: Sequence[float],
    streams: Sequence[np.random.Generator],
    seed: int,
    workload: str,
) -> Data:
    """Jobs of these runtimes that arrive within about so long; the same for all workloads, deadlines as in 4.1."""
    pick, scale, gaps = streams
    count = len(durations_s)
    arrivals = draw_arrivals(gaps, count, window_s / count)
    wanted = scale.choice(gangs, count, p=shares)
    models = pick.choice(list(work.models), count).tolist()
    rewards = draw_rewards(durations_s, WORKLOADS[workload], seed)
    jobs = []
    for i, steps in enumerate(rewards):
        job = work.job(f"job-{i}", models[i], int(wanted[i]), float(durations_s[i]), float(arrivals[i]))
        job["size_class"] = KINDS.get(len(steps or ()), "soft")
        if steps is not None:
            job["rewards"] = [[round(deadline_s, 3), reward] for deadline_s, reward in steps]
        jobs.append(job)
    return {**work.scenario(jobs), "seed": seed, **_as_authors()}


def _as_authors() -> Data:
    """What a resume costs, and the schedulers to compare, as a trace of theirs is read."""
    from workbench.scenario.traces.chronus import RESTART
    from workbench.scenario.traces.timed import SCHEDULERS

    return {"core": {"restart": RESTART.model_dump()}, "schedulers": list(SCHEDULERS)}


def _elastic(of: Data) -> Data:
    """Its jobs on a quarter to four times of their GPUs, in powers of 2 up to a node (ours)."""
    jobs = []
    for job in of["jobs"]:
        choices = sorted({job["gpus"], *(n for n in (1, 2, 4, 8) if job["gpus"] / 4 <= n <= job["gpus"] * 4)})
        jobs.append({**job, "gpu_choices": choices})
    return {**of, "jobs": jobs}


def _register_workloads() -> None:
    """The other workloads on each cluster, as variants."""
    clusters: dict[str, tuple[str, Callable[[str], Data]]] = {
        "chronus_example": ("4 nodes of 8 GPUs", _example),
        "chronus_96x8": ("96 nodes of 8 GPUs", partial(_of_paper, 96, 80, 7)),
        "chronus_120x8": ("120 nodes of 8 GPUs", partial(_of_paper, 120, 100, 8)),
    }
    for base, (what, build) in clusters.items():
        for workload in WORKLOADS:
            name = f"{base}_{workload}"
            description = f"Chronus: {what}, the jobs of {base} with the deadlines of workload {workload.upper()}"
            add(Preset(name, description, partial(build, workload), base))
    description = "Chronus: the jobs of chronus_example, elastic: on a quarter to four times of their GPUs"
    add(Preset("chronus_example_elastic", description, lambda: _elastic(_example("mix2")), "chronus_example"))


_register_workloads()
