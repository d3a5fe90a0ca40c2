"""What each job of a Slurm site asks for, and whom it waits for: its attributes, as `workbench.scenario.traces.sacct`
writes them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from workbench.scenario.job import Job
from workbench.scenario.traces.slurm_site import CPU
from workbench.scenario.traces.slurm_text import ENDED

JOB = (
    *("partition", "account", "qos", "limit_s", "cpus", "memory_mb", "nodes", "billing", "features", "asked", "array"),
    *("array_most", "dependency", "reservation", "eligible_s", "submit_s", "tasks_per_node", "start_s"),
    *("nodelist", "exclude", "nice", "hosts", "end_s", "state"),
)
"""Attributes of jobs that are read; of start_s only whether it is there, but for `rules_of`; of state only whether it
is one of FAILED."""
FAILED = frozenset(ENDED) - {"COMPLETED"}
"""States (sacct(1)) of a job that afterok will not let another follow; of one that still ran nothing is known."""
UNLIMITED_S = 365 * 86400.0
"""How long a job without a limit is thought to run (Slurm: `INFINITE` is a year for backfill)."""


@dataclass(frozen=True, slots=True)
class Partition:
    """tier, factor: PriorityTier and PriorityJobFactor; longest_s: MaxTime; qos: whose limits hold in it; policy: by
    what its jobs are in order, in place of priority (ours; `POLICIES`, empty: priority); most_nodes: MaxNodes; as_set:
    which of MaxTime and MaxNodes a what-if set to less than it was."""

    name: str
    tier: float = 1.0
    factor: float = 1.0
    longest_s: float = math.inf
    default_s: float = math.inf
    qos: str = ""
    policy: str = ""
    most_nodes: float = math.inf
    as_set: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Ask:
    """What a job asks for: gpus, cpus and memory_mb of each of its `nodes` nodes (0: on as many as it takes; GPUs in
    all). even: each node counts for as many CPUs as it asks there (--ntasks-per-node). ran: whether the log saw it run;
    uses: usage of a second. number: when it was submitted, and the numbers in its name, by which equal priorities are
    in order. who: user and account; kind: its model, gang and the nodes it may have, which are a partition's; tier: the
    partition's; comes: its place by arrival; beyond: which of its partition's MaxTime and MaxNodes it asks for more
    than, unless it ran all the same (or empty); shape: all that tells when it can start, but how long it may take."""

    name: str
    user: str
    account: str
    partition: str
    qos: str
    gpus: int
    nodes: int
    cpus: float
    memory_mb: float
    limit_s: float
    nice: float
    billing: float
    since_s: float
    number: tuple[float, int, int]
    array: str
    array_most: float
    after: tuple[tuple[str, str], ...]
    reservation: str
    tres: Mapping[str, float]
    on_cpus: bool
    even: bool
    ran: bool
    uses: float
    who: tuple[str, str]
    shape: str
    kind: tuple[str, str, str]
    tier: float
    comes: int
    beyond: str


def ask_of(
    job: Job,
    partitions: Mapping[str, Partition],
    reservations: Set[str],
    qos: Mapping[str, Mapping[str, Any]],
    comes: int,
) -> Ask:
    """What one job asks for; a reservation that nothing is known of is none (ours). qos: the records of those there
    are; comes: its place by arrival."""
    a = dict(job.attributes)
    reservation = str(a.get("reservation", ""))
    partition = str(a.get("partition", ""))
    known = partitions.get(partition, Partition(partition))
    its = qos.get(str(a.get("qos", "")), {})
    nodes = int(a.get("nodes", 0.0))
    on_cpus = job.model == f"recorded on {CPU}"
    asked_s, ran = float(a.get("limit_s", known.default_s)), "start_s" in a
    longest_s = math.inf if says(its, "Flags", "PartitionTimeLimit") else known.longest_s
    limit_s = min(asked_s, longest_s)
    most_nodes = math.inf if says(its, "Flags", "PartitionMaxNodes") else known.most_nodes
    over = {"MaxTime": asked_s > longest_s, "MaxNodes": nodes > most_nodes}
    cpus, memory = (float(a.get(name, 0.0)) / max(nodes, 1) for name in ("cpus", "memory_mb"))
    gpus = 0 if on_cpus else job.gpus
    tres = {"gres/gpu": float(gpus), "cpu": cpus * max(nodes, 1), "mem": memory * max(nodes, 1)}
    tres["node"] = float(max(nodes, 1))
    tres["billing"] = float(a.get("billing", max(tres["cpu"], 1.0)))
    if asked := [] if on_cpus else str(a.get("asked", "")).lower().split(","):  # of several types equal parts (ours)
        tres |= {f"gres/gpu:{kind}": gpus / len(asked) for kind in asked if kind}
    bound = [f"{name}={a[name]}" for name in ("features", "nodelist", "exclude") if a.get(name)]
    kind = job.model, str(job.gpus), " ".join([partition, *bound])
    held = reservation if reservation in reservations else ""
    shape = "|".join(map(str, (*kind, nodes, cpus, memory, held)))
    return Ask(
        name=job.name,
        user=job.user or "",
        account=str(a.get("account", "")),
        partition=partition,
        qos=str(a.get("qos", "")),
        gpus=job.gpus,
        nodes=nodes,
        cpus=cpus,
        memory_mb=memory,
        limit_s=limit_s if limit_s < math.inf else UNLIMITED_S,
        nice=float(a.get("nice", 0.0)),
        billing=tres["billing"],
        since_s=min(float(a.get("eligible_s", job.arrival_s)), job.arrival_s),
        number=(float(a.get("submit_s", job.arrival_s)), *_numbers(job.name)),
        array=str(a.get("array", "")),
        array_most=float(a.get("array_most", math.inf)),
        after=_after(str(a.get("dependency", ""))),
        reservation=held,
        tres=tres,
        on_cpus=on_cpus,
        even="tasks_per_node" in a,
        ran=ran,
        uses=tres["billing"] * float(its.get("UsageFactor", 1.0)),
        who=(job.user or "", str(a.get("account", ""))),
        shape=shape,
        kind=kind,
        tier=known.tier,
        comes=comes,
        beyond=next((name for name, is_over in over.items() if is_over and (name in known.as_set or not ran)), ""),
    )


def says(record: Mapping[str, Any], name: str, word: str) -> bool:
    """Whether a setting has a word, in any capitals, as Slurm takes them."""
    return word.lower() in str(record.get(name, "")).lower()


def _numbers(name: str) -> tuple[int, int]:
    """123 and 4 of `job-123_4`."""
    match = re.match(r"\D*(\d{1,18})(?:\D+(\d{1,9}))?", name)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)


def _after(text: str) -> tuple[tuple[str, str], ...]:
    """`afterok:151:152,afterany:7` as (kind, job) pairs; other kinds are left to the log's eligible times, and so is a
    list (`?`) of which one is enough."""
    found = []
    for part in [] if "?" in text else text.split(","):
        kind, *names = part.split(":")
        if kind in ("afterok", "afterany"):
            found += [(kind, f"job-{name.partition('+')[0]}") for name in names]
    return tuple(found)


def wait_for_arrays(asks: dict[str, Ask]) -> None:
    """Who waits for an array waits for all of its tasks (job_array.html, "Job Dependencies"); for a job that is not
    known, or has no smaller number than its own (of ids that were given out anew), for nobody."""
    tasks = dict[str, list[str]]()
    for ask in asks.values():
        if ask.array:
            tasks.setdefault(f"job-{ask.array}", []).append(ask.name)
    for name, ask in asks.items():
        if ask.after:
            after = [(kind, one) for kind, job in ask.after for one in tasks.get(job, [job]) if one in asks]
            mine = ask.number[1:] if ask.number[1] else (math.inf,)
            asks[name] = replace(ask, after=tuple((kind, one) for kind, one in after if asks[one].number[1:] < mine))


def failed_of(jobs: Sequence[Job], asks: Mapping[str, Ask]) -> frozenset[str]:
    """The jobs that none can follow by afterok, as they ended in the log otherwise than with exit code 0, or, but for
    those that ran there all the same, cannot follow one of these themselves."""
    found = {job.name for job in jobs if job.attributes.get("state") in FAILED}
    asking = [ask for ask in asks.values() if ask.after and not ask.ran and ask.name not in found]
    while more := {ask.name for ask in asking if any(kind == "afterok" and job in found for kind, job in ask.after)}:
        found |= more
        asking = [ask for ask in asking if ask.name not in more]
    return frozenset(found)
