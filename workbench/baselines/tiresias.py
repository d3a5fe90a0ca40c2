"""Tiresias: two queues by attained service, so that new and short jobs go before those that have had much already.

A job starts in the first queue and falls into the second once it has had `threshold_gpu_s` GPU-seconds. The first queue
goes first; within a queue jobs stand in the order in which they first started (`rank=start`; those that have not yet
come last, by arrival) or arrived: discretised 2D-LAS, in which a job of the same queue hardly ever pre-empts another.
Preemptive, in rounds; jobs that do not fit are passed. Accelerator types are all the same to it: a job takes the first
one in the cluster's order that has room.

With `rank=gittins` those of a queue stand by the discretised 2D-Gittins index: how likely a job is to be done soon,
over the distribution of all jobs' services, given what it has had:

    G(a) = P(S - a <= D | S > a) / E[min(S - a, D) | S > a]

S is a job's service in all, in GPU-seconds, a what it has had, D what it may still have in its queue (infinite in the
last one). The distribution is known, as in the authors' simulator: all jobs of the scenario, at the mean speed of their
gangs over the types. That D ends with the queue is how we read the paper.

PromoteKnob (off, as Hadar runs it): a job of the second queue goes back to the first, as if it had had nothing, once it
has waited so many times as long as it has run, both since it was last there.
Source: Gu et al., Tiresias (NSDI 2019), section 3.3, and the authors' simulator; Hadar, section IV-B. Not here: its
placement by profiled skew (gangs are on the fewest nodes).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.round_times import LONGEST_ROUND_S, ROUND_HELP
from workbench.baselines.mechanisms import line_decision
from workbench.baselines.mechanisms.explain import by_order
from workbench.baselines.mechanisms.line import Rule
from workbench.scenario.scenario import Scenario
from workbench.scheduling import job_orders
from workbench.scheduling.contract import Knobs, Memory
from workbench.scheduling.decision import Decision, PerJob
from workbench.scheduling.declared_room import Room
from workbench.scheduling.knob import Knob
from workbench.scheduling.reference_shares import equal_share
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.job_at_time import Explained, Fact, JobAtTime, Order

THRESHOLD = Knob(
    "threshold_gpu_s",
    3250.0,
    "Attained service at which a job falls into the second queue",
    "GPU s",
    source="code",
    minimum=0.0,
    maximum=math.inf,
    main=True,
)
RANK = Knob(
    "rank",
    "start",
    "Order within a queue: by first start (2D-LAS), by arrival, or by the 2D-Gittins index over all jobs' services",
    source="paper",
    choices=("start", "arrival", "gittins"),
)
PROMOTE = Knob(
    "promote_knob",
    None,
    "A job goes back to the first queue once it has waited so many times as long as it has run (section 3.3; "
    "none: never)",
    "1",
    source="paper",
    minimum=0.01,
    maximum=math.inf,
    optional=True,
)
RULE = Rule(preemptive=True, blocking=False, aware=False, steady=False)


class AttainedService(NamedTuple):
    """A job that has started: when it was first seen to have, and what it had had and waited when it last entered the
    first queue (its wait before its first start does not count)."""

    start_s: float
    attained_s: float
    waited_s: float


@dataclass(frozen=True, eq=False)
class TiresiasMemory:
    """The memory: the jobs that have started, and (jobs,) rising services of all jobs, empty where no rank asks."""

    courses: Mapping[str, AttainedService]
    services_gpu_s: FloatArray


class Tiresias(line_decision.InLine):
    """Two queues; heterogeneity-unaware, preemptive, in rounds."""

    name = "tiresias"
    title = "Tiresias: two queues by attained service"
    knobs = (
        Knob("round_s", 360.0, ROUND_HELP, "s", minimum=1.0, maximum=LONGEST_ROUND_S, main=True),
        THRESHOLD,
        RANK,
        PROMOTE,
    )
    uses = frozenset({"arrival_s", "steps", "gpus", "attained_s"})

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        known = services_gpu_s(scenario) if knobs["rank"] == "gittins" else np.zeros(0)
        return TiresiasMemory({}, known)

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        jobs = snapshot.jobs
        courses = _promoted(snapshot, _courses(snapshot, memory.courses), knobs)
        base_s = np.array([courses[name].attained_s if name in courses else 0.0 for name in jobs.names])
        service = jobs.attained_s - base_s
        behind = fallen(service, knobs["threshold_gpu_s"])
        place = _places(snapshot, courses, memory.services_gpu_s, service, behind, knobs)
        signals = {
            "attained_s": PerJob(lambda: jobs.names, jobs.attained_s),
            "queue": PerJob(lambda: jobs.names, (1 + behind).astype(np.float64)),
        }
        decision = line_decision.serve(snapshot, lambda rows: place[rows], RULE, signals)
        return decision, TiresiasMemory(courses, memory.services_gpu_s)


def fallen(service_gpu_s: FloatArray, threshold_gpu_s: float) -> IntArray:
    """(jobs,) 1 for those in the second queue, 0 for those in the first; a job at the threshold has fallen."""
    if math.isinf(threshold_gpu_s):
        return np.zeros(len(service_gpu_s), dtype=np.int64)
    least = threshold_gpu_s - job_orders.TOLERANCE * max(1.0, threshold_gpu_s)
    return (service_gpu_s >= least).astype(np.int64)


def services_gpu_s(scenario: Scenario) -> FloatArray:
    """(jobs,) GPU-seconds that each job takes in all at its gang's mean speed over the types' GPUs, rising.

    Jobs that run on no single type are left out.
    """
    jobs = scenario.jobs
    speeds = scenario.table.matrix([job.model for job in jobs], [job.gpus for job in jobs])
    mean = speeds @ equal_share(list(scenario.cluster.capacity.values()))
    left = np.array([job.steps - job.steps_done for job in jobs], dtype=float)
    gangs = np.array([job.gpus for job in jobs], dtype=float)
    before = np.array([job.attained_s for job in jobs], dtype=float)
    able = mean > 0
    return np.sort(before[able] + gangs[able] * left[able] / mean[able])


def gittins_index(services_gpu_s: FloatArray, attained_gpu_s: FloatArray, quantum_gpu_s: FloatArray) -> FloatArray:
    """(jobs,) chance per GPU-second of being done within the quantum, for jobs that have attained so much.

    services_gpu_s: the rising sample that stands for the distribution; quantum_gpu_s: (jobs,) > 0, may be infinite. 0
    for a job that has outlived the whole sample.
    """
    sums = np.concatenate([[0.0], np.cumsum(services_gpu_s)])
    first = np.searchsorted(services_gpu_s, attained_gpu_s, side="right")
    last = np.searchsorted(services_gpu_s, attained_gpu_s + quantum_gpu_s, side="right")
    done = last - first
    longer = len(services_gpu_s) - last
    spent = sums[last] - sums[first] - done * attained_gpu_s
    spent += np.where(longer > 0, longer * np.where(longer > 0, quantum_gpu_s, 0.0), 0.0)
    index: FloatArray = np.divide(done, spent, out=np.zeros(len(spent)), where=spent > 0)
    return index


def _courses(snapshot: Snapshot, known: Mapping[str, AttainedService]) -> dict[str, AttainedService]:
    """The courses of the unfinished jobs, those that have started since the last call included."""
    jobs = snapshot.jobs
    holds = {*snapshot.leases, *snapshot.ended}
    return {
        name: known.get(name) or AttainedService(snapshot.now_s, 0.0, float(jobs.waited_s[row]))
        for row, name in enumerate(jobs.names)
        if name in known or name in holds or jobs.attained_s[row] > 0
    }


def _promoted(snapshot: Snapshot, courses: dict[str, AttainedService], knobs: Knobs) -> dict[str, AttainedService]:
    """The same with those that have waited too long back in the first queue."""
    factor, jobs = knobs["promote_knob"], snapshot.jobs
    if factor is None:
        return courses
    found = dict(courses)
    for name, course in courses.items():
        row = jobs.at[name]
        service = jobs.attained_s[row] - course.attained_s
        waited_s = jobs.waited_s[row] - course.waited_s
        below = fallen(np.array([service]), knobs["threshold_gpu_s"])[0] == 1
        waits = name not in snapshot.leases and name not in snapshot.ended
        if below and waits and waited_s >= factor * service / jobs.gpus[row]:
            found[name] = AttainedService(course.start_s, float(jobs.attained_s[row]), float(jobs.waited_s[row]))
    return found


def _places(
    snapshot: Snapshot,
    courses: Mapping[str, AttainedService],
    sample_gpu_s: FloatArray,
    service_gpu_s: FloatArray,
    behind: IntArray,
    knobs: Knobs,
) -> FloatArray:
    """(jobs,) place in line of each job, from 0."""
    names, threshold = snapshot.jobs.names, knobs["threshold_gpu_s"]
    start_s = np.array([courses[name].start_s if name in courses else math.inf for name in names])
    if knobs["rank"] == "gittins":
        quantum = np.where(behind == 1, math.inf, threshold - service_gpu_s)
        order = np.lexsort((start_s, -gittins_index(sample_gpu_s, service_gpu_s, quantum), behind))
    elif knobs["rank"] == "start":
        order = np.lexsort((start_s, behind))
    else:
        order = np.argsort(behind, kind="stable")
    place = np.empty(len(names))
    place[order] = np.arange(len(names))
    return place


def _explain(job_at: JobAtTime) -> Explained:
    """The queue of each job; within it first start, arrival or the Gittins index."""
    rule = (
        "Jobs with fewer than threshold_gpu_s GPU-seconds stand in the first queue, which goes first; within a queue "
        f"by {WITHIN[job_at.run.knobs['rank']]}."
    )
    queue_of, attained = job_at.signals("queue"), job_at.signal("attained_s")
    if queue_of is None:
        return Explained((rule,))
    at_s, number = queue_of
    facts = [Fact("threshold", float(job_at.run.knobs["threshold_gpu_s"]), "GPU-s")]
    facts += [Fact("attained service at the last decision", attained, "GPU-s")] if attained is not None else []
    facts += [Fact("queue", number[job_at.job])] if job_at.job in number else []
    if job_at.run.knobs["rank"] == "gittins":
        found = by_order(job_at, Order("queue", "", number, "lowest", at_s), rule)
    else:
        found = by_order(job_at, Order("place in line", "", _line(job_at, number, at_s), "lowest", at_s), rule)
    return replace(found, facts=tuple(facts))


WITHIN = {"start": "first start, then arrival", "arrival": "arrival", "gittins": "the Gittins index"}


def _line(job_at: JobAtTime, queue_of: Mapping[str, float], at_s: float) -> dict[str, float]:
    """Places from 1 of jobs by queue, first start (if the knob says so; before the decision) and arrival."""
    jobs = job_at.run.jobs.set_index("job")
    first = jobs["first_start_s"] if job_at.run.knobs["rank"] == "start" else jobs["arrival_s"]
    began = {job: s if s < at_s or job_at.run.knobs["rank"] == "arrival" else math.inf for job, s in first.items()}
    order = sorted(queue_of, key=lambda job: (queue_of[job], began[job], jobs.loc[job, "arrival_s"]))
    return {job: float(place) for place, job in enumerate(order, start=1)}


ROOM = Room(
    name="tiresias",
    title="Tiresias",
    schedulers=(Tiresias(),),
    explanations={"tiresias": _explain},
)
