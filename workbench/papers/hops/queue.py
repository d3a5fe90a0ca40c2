"""The waiting queue of Hops (sections 3.6, 4.4, 4.5): each job has a priority, the highest is served first.

`latency_ratio` is (8); `ftf` the expected ratio of finish-time fairness; `las`, `sjf` and `srtf` are what has been had
or is to come, with the sign turned, so that the smallest comes first and the weights of (11) rise with the priority.
Between two refreshes, 30 s apart, the order stays as it is: waits count up to the last one. (ours): what a job that
waits has had and what it has left do not change, so only `latency_ratio` and `ftf` look back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np

from workbench.base.boundaries import LONGEST_ROUND_S
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.latency_ratio import ages, latency_ratio
from workbench.papers.hops.finish_time import finish_time_ratio, isolated_s
from workbench.scenario.throughput import FloatArray
from workbench.scheduling import queues
from workbench.scheduling.decision import BoolArray, IntArray, JobView, Snapshot
from workbench.scheduling.knob import Knob

Priority = Literal["latency_ratio", "ftf", "las", "sjf", "srtf"]

PRIORITY = Knob(
    "priority",
    "latency_ratio",
    "What puts a job ahead in the queue: waiting over expected run time, finish-time fairness, or least attained "
    "service, shortest job, shortest remaining time",
    source="paper",
    kind="str",
    choices=get_args(Priority),
    main=True,
)
REFRESH_S = Knob(
    "refresh_s",
    30.0,
    "Time between two sortings of the queue; 0: sorted at every decision",
    "s",
    "paper",
    minimum=0.0,
    maximum=LONGEST_ROUND_S,
)


class Queue(NamedTuple):
    """The queue at a decision. priority: (jobs,) in the order of the snapshot; order: its rows, first to be served
    first; age_s: (jobs,) of (9); refreshed_s: when it was last sorted."""

    priority: FloatArray
    order: IntArray
    age_s: FloatArray
    refreshed_s: float


def queue(snapshot: Snapshot, known_ages: Mapping[str, float], priority: Priority, refresh_s: float) -> Queue:
    """The queue of all unfinished jobs of a snapshot, as it was sorted last. known_ages: see `remembered_ages`."""
    jobs = snapshot.jobs
    age_s = np.array([known_ages[name] for name in jobs.names], dtype=float)
    last_s = refreshed_at(snapshot.now_s, refresh_s)
    value = priorities(snapshot, age_s, priority, last_s)
    return Queue(value, queues.by(-value), age_s, last_s)


def remembered_ages(snapshot: Snapshot, before: Mapping[str, float]) -> dict[str, float]:
    """The age (9) of every unfinished job, estimated at first sight and kept from then on (section 3.6)."""
    new = [row for row, name in enumerate(snapshot.jobs.names) if name not in before]
    view = queues.take(snapshot.jobs, new)
    found = dict(zip(view.names, ages(view, snapshot.belief, snapshot.cluster).tolist(), strict=True)) if new else {}
    return {name: before[name] if name in before else found[name] for name in snapshot.jobs.names}


def refreshed_at(now_s: float, refresh_s: float) -> float:
    """The last multiple of `refresh_s` up to now; now itself with 0."""
    if refresh_s == 0:
        return now_s
    if not refresh_s > 0:
        raise InputError("refresh_s", refresh_s, "seconds >= 0")
    number = math.floor(now_s / refresh_s)
    while (number + 1) * refresh_s <= now_s:
        number += 1
    while number * refresh_s > now_s:
        number -= 1
    return number * refresh_s


def waits_at(jobs: JobView, waiting: BoolArray, now_s: float, at_s: float) -> FloatArray:
    """(jobs,) seconds that jobs had waited at a time shortly before now.

    waiting: who has waited since then, or since a later arrival or suspension; the others' waits have not grown.
    """
    waited = jobs.waited_s - np.where(waiting, now_s - at_s, 0.0)
    return np.maximum(waited, 0.0)


def priorities(snapshot: Snapshot, age_s: FloatArray, priority: Priority, at_s: float) -> FloatArray:
    """(jobs,) the higher, the sooner; at the time of the last refresh, `at_s`."""
    jobs = snapshot.jobs
    if priority == "las":
        return -jobs.attained_s
    if priority == "sjf":
        return -age_s
    part_left = jobs.steps_left / np.array([job.steps - job.steps_done for job in jobs.jobs], dtype=float)
    if priority == "srtf":
        remaining_s: FloatArray = age_s * part_left
        return -remaining_s
    if priority == "ftf":
        since_s = np.maximum(at_s - jobs.arrival_s, 0.0)
        alone_s = isolated_s(jobs, snapshot.belief, snapshot.cluster, len(jobs))
        return finish_time_ratio(age_s, part_left, since_s, alone_s)
    if priority == "latency_ratio":
        waiting = np.array([name not in snapshot.leases and name not in snapshot.ended for name in jobs.names])
        return latency_ratio(waits_at(jobs, waiting, snapshot.now_s, at_s), age_s)
    raise InputError("priority", priority, "one of " + ", ".join(get_args(Priority)))
