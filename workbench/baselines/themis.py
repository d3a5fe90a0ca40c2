"""Themis: leases of GPUs go to the jobs that are treated least fairly, by finish-time fairness.

    rho = T_sh / T_id,   T_sh = now - arrival + remaining run time,   T_id = run time x max(1, gang / (N / n))

N is the GPUs of the cluster, n the mean number of jobs present since the job arrived: T_id is when it would be done
with an n-th of the cluster to itself, its gang taking turns with itself where that is less than the gang. Run times are
at the job's mean speed over the types, by their GPUs: Themis knows no types, a job takes the first one that has room.

GPUs are leased: at the end of a lease (a round) they are given out anew. Of the jobs that are there the `1 - f` with
the largest rho are offered them first, and may take them from others; then those who hold GPUs keep them; what is left
goes to the others, by rho.
Source: Mahajan et al., Themis (NSDI 2020), sections 3 and 4. (ours): its auction, in which jobs bid for subsets of the
GPUs on offer and may lose some as hidden payments, is a greedy choice by rho here, the order of its outcome; all leases
end together; a job is its own application. Gavel's policy of that name, which Chronus compares itself with, is
`gavel.finish_time_fairness` without `heterogeneity_aware`. It knows no deadlines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.labels import listed
from workbench.base.round_times import LONGEST_ROUND_S
from workbench.baselines.mechanisms import line_decision
from workbench.baselines.mechanisms.explain import by_order
from workbench.baselines.mechanisms.line import Rule
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Memory
from workbench.scheduling.decision import Decision, PerJob
from workbench.scheduling.declared_room import Room
from workbench.scheduling.job_orders import holds, places, seconds
from workbench.scheduling.knob import Knob
from workbench.scheduling.reference_shares import equal_share
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.job_at_time import Explained, JobAtTime

ROUND_S = Knob(
    "round_s",
    1200.0,
    "Length of a lease; all end together",
    "s",
    "paper",
    minimum=1.0,
    maximum=LONGEST_ROUND_S,
    main=True,
)
FAIRNESS = Knob(
    "f",
    0.8,
    "The part 1 - f of the jobs, those with the largest rho, is offered GPUs before those who hold some keep them: "
    "near 1 fewer jobs change places, at 0 all go by rho",
    "1",
    "paper",
    minimum=0.0,
    maximum=1.0,
    main=True,
)
RULE = Rule(preemptive=True, blocking=False, aware=False, steady=False)


@dataclass(frozen=True)
class ThemisMemory:
    """The memory. at_s: the last call; count: jobs present since then; total: job-seconds until then; since: when each
    job was first seen, and the total then."""

    at_s: float = 0.0
    count: int = 0
    total: float = 0.0
    since: Mapping[str, tuple[float, float]] = field(default_factory=dict)


class Themis(line_decision.InLine):
    """Leases by finish-time fairness; preemptive, in rounds, heterogeneity-unaware."""

    name = "themis"
    title = "Themis: finish-time fairness"
    knobs = (ROUND_S, FAIRNESS)

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        return ThemisMemory()

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        jobs, known = snapshot.jobs, seen(snapshot, memory)
        present = mean_present(snapshot, known)
        rho = finish_time_fairness(snapshot, present)
        worst = places(-rho)
        offered = worst < (1.0 - knobs["f"]) * len(jobs)
        place = places(np.select([offered, holds(snapshot)], [0, 1], 2), -rho)
        signals = {"finish_time_fairness": PerJob(jobs.names, rho)}
        return line_decision.serve(snapshot, lambda rows: place[rows], RULE, signals), known


def seen(snapshot: Snapshot, before: ThemisMemory) -> ThemisMemory:
    """The memory at this call, with the jobs that have come since the last one and without those that are gone."""
    now_s, names = snapshot.now_s, snapshot.jobs.names
    total = before.total + before.count * (now_s - before.at_s)
    return ThemisMemory(now_s, len(names), total, {name: before.since.get(name, (now_s, total)) for name in names})


def mean_present(snapshot: Snapshot, known: ThemisMemory) -> FloatArray:
    """(jobs,) mean number of jobs present since each was first seen; those present now for one seen just now."""
    first_s, then = np.array([known.since[name] for name in snapshot.jobs.names]).reshape(-1, 2).T
    span_s = known.at_s - first_s
    now = np.full(len(span_s), float(known.count))
    mean: FloatArray = np.divide(known.total - then, span_s, out=now, where=span_s > 0)
    return mean


def finish_time_fairness(snapshot: Snapshot, present: FloatArray) -> FloatArray:
    """(jobs,) rho of each job, if it ran from now on; present: (jobs,) n."""
    jobs, capacity = snapshot.jobs, list(snapshot.cluster.capacity.values())
    speed: FloatArray = snapshot.speeds() @ equal_share(capacity)
    whole = np.array([job.steps - job.steps_done for job in jobs.jobs], dtype=float)
    shared_s = snapshot.now_s - jobs.arrival_s + seconds(jobs.steps_left, speed)
    alone_s = seconds(whole, speed) * np.maximum(1.0, jobs.gpus * present / sum(capacity))
    with np.errstate(invalid="ignore"):
        rho: FloatArray = shared_s / alone_s
    return np.where(speed > 0, rho, 1.0)


def _explain(job_at: JobAtTime) -> Explained:
    """The order by rho; who waits has lost to jobs before it, and outside the part 1 - f to all that had GPUs."""
    rule = (
        "At the end of a lease the part 1 - f of the jobs with the largest rho is offered GPUs first, then those who "
        "hold some keep them, then the others by rho."
    )
    order = job_at.order("finish_time_fairness", "finish-time fairness rho", "", "highest")
    found = by_order(job_at, order, rule)
    place = None if order is None else order.place(job_at.job)
    if job_at.state != "waiting" or order is None or place is None:
        return found
    kept = dict.fromkeys(each.job for each in job_at.others if not order.before(each.job, job_at.job))
    if not kept or place <= (1.0 - job_at.run.knobs["f"]) * len(order.values):
        return found
    why = f"{listed(kept)} had GPUs and keep them, since it is not among the part 1 - f with the largest rho"
    ahead = any(order.before(each.job, job_at.job) for each in job_at.others)
    return replace(found, binding=f"{found.binding}; {why}" if ahead else why)


ROOM = Room(
    name="themis",
    title="Themis",
    schedulers=(Themis(),),
    explanations={"themis": _explain},
)
