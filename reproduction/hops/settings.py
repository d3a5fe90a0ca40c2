"""Sizes of the reproduction of Hops, its clusters and jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reproduction.line import Line
from workbench.scenario.job import Job
from workbench.scenario.presets.hops import JOBS, hops_64, hops_512_jobs
from workbench.scenario.scenario import Scenario

HOUR = 3600.0
GPUS = 512
"""paper: 4.3."""
ROUND_S = 300.0
"""ours: the paper does not print it; all three schedulers have the same."""
RATE = 100
"""paper: 4.3, jobs an hour."""
PHYSICAL_SCALE, SIMULATED_SCALE = 1.8, 1.1
"""ours: Hops then ends about when it does in Tables 3 and 4. Fig. 8, the lengths of the jobs, is not in numbers."""


@dataclass(frozen=True)
class HopsSize:
    """How large a reproduction is.

    seed: of the jobs, 0 those of the presets. length: of jobs, over that of the full size. physical: jobs of Table 3,
    on 64 GPUs. shrink: the 512 GPUs of Table 4 are divided by it, and so is the rate of arrivals; simulated: jobs
    there. sweep_shrink, sweep: the same for Fig. 13, rates: jobs an hour at 512 GPUs. moments: how many plans of
    Fig. 14, with the cluster divided by plan_shrink. waiting: jobs of Fig. 15, on the same. gpus: clusters of Fig. 15.
    limit_s: wall time after which a plan of Figs. 14 and 15 counts as it is.
    hops_belief, sia_belief: estimators by name that tell these two speeds, None: what their papers say; split: Sia's
    gangs may stand on several nodes; hosts_alike: of Table 3's cluster, no host is slower than another of its type;
    median_up: a job's sizes are those from the median up; rivals: lines in place of those of their names, where a
    baseline can be had in several ways.
    """

    name: str
    shrink: int
    simulated: int
    sweep_shrink: int
    sweep: int
    rates: tuple[int, ...]
    moments: int
    plan_shrink: int
    waiting: tuple[int, ...]
    gpus: tuple[int, ...]
    limit_s: float
    seed: int = 0
    length: float = 1.0
    physical: int = 25
    hops_belief: str | None = None
    sia_belief: str | None = None
    split: bool = False
    hosts_alike: bool = False
    median_up: bool = False
    rivals: tuple[Line, ...] = ()


SIZES = {
    size.name: size
    for size in (
        HopsSize(
            name="tiny",
            length=0.4,
            physical=8,
            shrink=8,
            simulated=8,
            sweep_shrink=8,
            sweep=4,
            rates=(30, 1200),
            moments=1,
            plan_shrink=8,
            waiting=(25, 100),
            gpus=(64, 128),
            limit_s=1.0,
        ),
        HopsSize(
            name="small",
            shrink=8,
            simulated=62,
            sweep_shrink=16,
            sweep=31,
            rates=(30, 1200),
            moments=1,
            plan_shrink=4,
            waiting=(50, 100),
            gpus=(64, 128),
            limit_s=10.0,
        ),
        HopsSize(
            name="middle",
            shrink=4,
            simulated=125,
            sweep_shrink=8,
            sweep=62,
            rates=(30, 120, 1200),
            moments=3,
            plan_shrink=4,
            waiting=(50, 100, 200, 500),
            gpus=(64, 128, 256),
            limit_s=10.0,
        ),
        HopsSize(
            name="full",
            shrink=1,
            simulated=500,
            sweep_shrink=4,
            sweep=125,
            rates=(30, 60, 120, 300, 600, 1200),
            moments=5,
            plan_shrink=1,
            waiting=(100, 200, 500, 1000, 2000),
            gpus=(128, 256, 512, 1024, 1504),
            limit_s=20.0,
        ),
    )
}


def physical(jobs: int, length: float = 1.0, seed: int = 0) -> Scenario:
    """Section 4.2: the first jobs of `hops_64`, scaled; length, seed: see `HopsSize`."""
    whole = Scenario.from_dict(hops_64(4 + seed), "hops_64")
    return whole.replace(jobs=[longer(job, length * PHYSICAL_SCALE) for job in whole.jobs[:jobs]])


def simulated(jobs: int, shrink: int, rate: int = RATE, length: float = 1.0, seed: int = 0) -> Scenario:
    """Sections 4.3 and 4.6: so many jobs of 500, scaled, on the 512 GPUs and at the rate of arrivals over `shrink`."""
    whole = Scenario.from_dict(hops_512_jobs(JOBS, rate, 5 + seed), "hops_512")
    made = [
        longer(job, length * SIMULATED_SCALE).model_copy(update={"arrival_s": job.arrival_s * shrink})
        for job in whole.jobs[:jobs]
    ]
    return whole.replace(cluster=resized(whole, 1 / shrink), jobs=made)


def resized(scenario: Scenario, factor: float) -> dict[str, object]:
    """The cluster with `factor` times as many nodes of each kind, at least one."""
    groups = [
        {**group.model_dump(mode="json"), "count": max(1, round(group.count * factor))}
        for group in scenario.cluster.nodes
    ]
    return {**scenario.to_dict()["cluster"], "nodes": groups}


def longer(job: Job, scale: float) -> Job:
    """A job with so many times the steps."""
    return job.model_copy(update={"steps": float(max(1, round(scale * job.steps)))})


def with_sizes(scenario: Scenario, choose: Callable[[Job], tuple[int, ...] | None]) -> Scenario:
    """The same jobs with other requirement sets; None: the median alone."""
    return scenario.replace(jobs=[job.model_copy(update={"gpu_choices": choose(job)}) for job in scenario.jobs])


def from_median(job: Job) -> tuple[int, ...]:
    """A job's sizes from its median up."""
    return tuple(n for n in job.sizes if n >= job.gpus)


def physical_scale(size: HopsSize) -> str:
    """Of section 4.2."""
    return f"{size.physical} jobs on 64 GPUs; the paper 25 on 64, of lengths and sizes that it does not print"


def simulated_scale(size: HopsSize) -> str:
    """Of sections 4.3 and 4.4."""
    return _scale(size.simulated, size.shrink)


def sweep_scale(size: HopsSize) -> str:
    """Of sections 4.5 and 4.6."""
    return _scale(size.sweep, size.sweep_shrink)


def _scale(jobs: int, shrink: int) -> str:
    made = f"{jobs} jobs on {round(GPUS / shrink)} GPUs; the paper {JOBS} on {GPUS}"
    return made if shrink == 1 else f"{made}: smaller, so that many seeds fit a few hours of two cores"


def plan_scale(size: HopsSize) -> str:
    """Of section 4.7."""
    return f"one plan at a time, {round(GPUS / size.plan_shrink)} GPUs where they are not what varies; the paper {GPUS}"
