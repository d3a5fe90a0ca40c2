"""What Chronus says of a job at a time: its verdict, its deadlines, its leases, its place among best-effort jobs.

Why a job was guaranteed or not is told afterwards: `admission_again` asks the question of admission once more, with its
explanation (ours). The scheduler gives its verdicts without looking for the earliest deadline that it would have
accepted, nor for the jobs in the way. Both follow from what it knew: the guaranteed jobs of that cycle, what was left
of each, and the GPUs outside the profiling cluster. Clusters of one accelerator type and one size of nodes (section
3.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.base.errors import InputError
from workbench.base.rounding import short_number
from workbench.base.units import clock
from workbench.papers.chronus.algorithms.admission import admit
from workbench.papers.chronus.algorithms.cycle import BEST_EFFORT, GUARANTEED
from workbench.papers.chronus.algorithms.guarantees import Claims, steps_from, worth_meeting
from workbench.papers.chronus.algorithms.spot import BY
from workbench.papers.chronus.algorithms.terms import next_boundary
from workbench.papers.chronus.instance import ChronusInstance
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.job_at_time import Explained, Fact, JobAtTime, Link, Order

STUDY = "admission"
SIGNALS = ("queue", "remaining_s", "plan_gpus", "plan_gpus_later")
"""By which a verdict is given; the last two are the GPUs that the plan reckons with, outside the profiling cluster, in
the first lease and in later ones."""


def admission_again(snapshot: Snapshot, given: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict on `job` beside the jobs of `guaranteed`, as JSON has it.

    snapshot: all jobs, known ahead; given: job; at_s, when the verdict was given; later: who had one after it then;
    holding: who had GPUs, of the guaranteed until the next SLO lease; signals: the run's then (`SIGNALS`); knobs: of
    the run. Found: guaranteed, how, why,
    in_the_way, earliest_s and rewards' last deadline that would do (None: no deadline would), leases of the plan if
    there is one, start_s and lease_s of these leases.
    Raises InputError for a job that is not there or has no deadline, for several types, and for signals not recorded.
    """
    data = admission_instance(snapshot, given)
    found = admit(data, str(given["job"]))
    return {
        "job": found.job,
        "guaranteed": found.guaranteed,
        "how": found.how,
        "why": found.why,
        "earliest_s": found.earliest_s,
        "in_the_way": list(found.in_the_way),
        "leases": None if found.leases is None else {name: list(own) for name, own in found.leases.items()},
        "start_s": data.start_s,
        "lease_s": data.lease_s,
    }


def admission_instance(snapshot: Snapshot, given: Mapping[str, Any]) -> ChronusInstance:
    """The plan's instance that the question is about; see `explain`."""
    knobs, at_s = given["knobs"], float(given["at_s"])
    slo_s, miss = int(knobs["slo_lease_s"]), float(knobs["miss_reward"])
    start_s = next_boundary(at_s, slo_s)
    every = {job.name: job for job in (*snapshot.jobs.jobs, *snapshot.future)}
    job, signals = str(given["job"]), given["signals"]
    if not set(SIGNALS) <= {*signals}:
        raise InputError("admission explained", job, "a verdict whose decision the run has recorded in detail")
    asked_later = {job, *given["later"]}
    sure = [name for name, queue in signals["queue"].items() if queue == GUARANTEED and name not in asked_later]
    names = [*sure, job]
    for name in names:
        if name not in every:
            raise InputError("admission, job", name, "a job of the scenario")
    remaining, running = signals["remaining_s"], {*given["holding"]} & {*sure}
    ahead = {name: start_s - at_s if name in running else 0.0 for name in names}
    left = [max(0.0, float(remaining[name]) - ahead[name]) for name in names]
    kept = [
        row for row, (name, seconds) in enumerate(zip(names, left, strict=True)) if seconds > 0 or name == names[-1]
    ]
    claims = Claims(
        tuple(names[row] for row in kept),
        tuple(every[names[row]].gpus for row in kept),
        tuple(left[row] for row in kept),
        tuple(
            steps_from(worth_meeting(every[names[row]].rewards, miss), every[names[row]].arrival_s, start_s)
            for row in kept
        ),
    )
    gpus = [int(next(iter(signals[plan].values()))) for plan in ("plan_gpus", "plan_gpus_later")]
    promised = np.arange(len(kept)) < len(kept) - 1
    return claims.instance(gpus, _node_gpus(snapshot, knobs), start_s, knobs, promised, {})


def _node_gpus(snapshot: Snapshot, knobs: Mapping[str, Any]) -> int | None:
    """The size of nodes for which gangs are rounded up, None if they are not; so also where nodes differ in size."""
    if len(snapshot.types) > 1:
        expected = "one accelerator type (Chronus, 3.1): on several each type has a plan of its own"
        raise InputError("admission explained", f"{len(snapshot.types)} types", expected)
    sizes = set(snapshot.nodes.gpus.tolist())
    return sizes.pop() if knobs["round_up"] and len(sizes) == 1 else None


STUDIES = {STUDY: admission_again}
BINDING = {
    "profile_waits": "every new job is profiled first, on the profiling cluster, first come first served",
    "profiled": "every new job is profiled first",
    "held_back": "submission control limits what one user's jobs may take of the profiling cluster in an interval",
    "spot_waits": "the GPUs that SLO leases leave are too few for it, after any best-effort jobs before it",
    "spot_lease": "it was early enough in the line for the GPUs that SLO leases leave",
    "spare_lease": "it has GPUs that neither SLO leases nor jobs without a guarantee take",
    "later_lease": "the plan meets its deadline with later leases, and gives these to others (4, erratum)",
    "first_lease": "the plan has the first SLO lease for it; these begin at the next multiple of their length",
    "slo_lease": "the plan has this lease for it, to meet its deadline (4, erratum)",
    "lease_lost": "no nodes hold its gang consolidated (placement)",
    "lease_later": "its SLO lease is lost, and SLO leases begin together, at the next multiple of their length",
    "refused": "beside the jobs that are guaranteed already no plan meets its deadlines (3, 6, erratum), so that it is "
    "best effort, on the GPUs that SLO leases leave",
    "refused_alone": "even with no other job it has too few whole leases before its deadlines, so that it is best "
    "effort, on the GPUs that SLO leases leave",
    "guaranteed": "SLO leases begin together, at the next multiple of their length; with these a plan meets its "
    "deadline beside all that are guaranteed already",
    "best_effort": "it has no deadline, so that it is best effort, on the GPUs that SLO leases leave",
    "guarantee_broken": "its guarantee could not be kept, so that it is best effort, on what SLO leases leave",
}
"""What decided, by the code of the scheduler's reason (models in `workbench.papers.chronus.formulations.leases`)."""
BETWEEN = (
    "leases of best-effort jobs, and the longer ones of jobs with a guarantee, begin together, at the next multiple of "
    "their length"
)
ON_SPOT = frozenset({"spot_waits", "refused", "refused_alone", "best_effort", "guarantee_broken"})
"""Reasons of jobs that get what SLO leases leave."""


LEASES = (
    ("remaining_s", "remaining run time at {}", "s"),
    ("leases_planned", "leases planned at {}", "leases"),
    ("next_lease_s", "next lease, from {} on", "s"),
)
"""What is recorded of a job's leases: the signal, what it is called with the time of its decision, its unit."""


def explain(job_at: JobAtTime) -> Explained:
    """Verdict, deadlines, leases planned and to come, and remaining time."""
    facts, sentences = [], []
    for deadline_s, reward in job_at.spec.rewards or ():
        left_s = float(job_at.row["arrival_s"]) + deadline_s - job_at.at_s
        facts.append(Fact(f"deadline worth {reward:g}, in", left_s, "s"))
    for name, label, unit in LEASES:
        found = job_at.signals(name)
        if found is not None and not math.isnan(found[1].get(job_at.job, math.nan)):  # not known before its profile
            facts.append(Fact(label.format(clock(found[0])), found[1][job_at.job], unit))
    planned = tuple(facts[len(job_at.spec.rewards or ()) :])
    facts += _of_cluster(job_at)
    verdicts, said = job_at.events("verdict"), job_at.said
    for event in verdicts:
        if said is None or event["reason"] != said.text:
            sentences.append(f"Verdict at {clock(event['time_s'])}: {event['reason']}.")
    binding = BINDING.get(said.code, "") if said is not None else ""
    if said is not None and said.code == "first_lease" and _was_put_off(job_at):
        binding = BINDING["later_lease"]
    if said is not None and said.code == "guaranteed":
        binding = _new_guarantee(job_at, said.at_s)
    if job_at.state == "waiting" and (said is None or (said.code in ON_SPOT and _is_between(job_at, said.at_s))):
        binding = _unasked(job_at)
    links = _links(job_at, tuple(facts), planned, binding)
    anyway = binding not in {BINDING[code] for code in (*ON_SPOT, "lease_lost")}
    return Explained(tuple(sentences), tuple(facts), binding, _order(job_at), links=links, anyway=anyway)


def _links(job_at: JobAtTime, facts: tuple[Fact, ...], planned: tuple[Fact, ...], binding: str) -> tuple[Link, ...]:
    """The job's promise, its leases (planned: what is known of them), and where it was placed."""
    verdicts = job_at.events("verdict")
    when = tuple(Fact("verdict given at", float(event["time_s"]), "s") for event in verdicts[-1:])
    given = f"at {clock(verdicts[-1]['time_s'])}: {verdicts[-1]['reason']}" if verdicts else "none yet"
    listed = "; ".join(f"{fact.name}: {_shown(fact)}" for fact in planned) or "none planned"
    return (
        Link(
            "promise",
            f"Verdict on {job_at.job}: {given}.",
            (*when, *(fact for fact in facts if fact.name.startswith("deadline"))),
        ),
        Link("lease", f"Its leases: {listed}. What decided: {binding or 'nothing is recorded'}.", planned),
        job_at.placement(),
    )


def _shown(fact: Fact) -> str:
    value = float(fact.value)
    return clock(value) if fact.unit == "s" else short_number(value)


def _new_guarantee(job_at: JobAtTime, said_s: float) -> str:
    """Why a job that is guaranteed since the last cycle has its lease, or waits for it."""
    leases_begin = said_s % float(job_at.run.knobs["slo_lease_s"]) == 0
    if job_at.state != "waiting" or not leases_begin:
        return BINDING["guaranteed"]
    found = job_at.signals("next_lease_s")
    lost = found is not None and found[1].get(job_at.job) == 0
    return BINDING["lease_lost" if lost else "later_lease"]


def _was_put_off(job_at: JobAtTime) -> bool:
    """Whether it was guaranteed already when the SLO leases of now began, which others have."""
    slo_s = float(job_at.run.knobs["slo_lease_s"])
    verdicts = job_at.events("verdict")
    return bool(verdicts) and verdicts[-1]["time_s"] <= slo_s * (job_at.at_s // slo_s)


def _is_between(job_at: JobAtTime, said_s: float) -> bool:
    """Whether there are GPUs for it now that its lease cannot begin on, as it does within a cycle of leases."""
    return job_at.has_free_gpus and job_at.call is not None and said_s < job_at.call.time_s


def _unasked(job_at: JobAtTime) -> str:
    """Why a job waits of which the last cycle has said nothing that holds now."""
    if job_at.events("verdict"):
        return BETWEEN if job_at.has_free_gpus else ""
    if job_at.spans and job_at.spans[0][0] < job_at.at_s:
        return "it has been profiled, and verdicts are given in the next cycle"
    return BINDING["profile_waits"] if job_at.run.knobs["profile"] else "it has no verdict yet"


def _of_cluster(job_at: JobAtTime) -> list[Fact]:
    """How the GPUs were divided at the last decision."""
    parts = {"profiling_gpus": "profiling cluster", "guaranteed_gpus": "SLO leases", "spot_gpus": "left for the rest"}
    values = {label: job_at.of_cluster(name) for name, label in parts.items()}
    return [Fact(f"GPUs: {label}", value, "GPUs") for label, value in values.items() if value is not None]


def _order(job_at: JobAtTime) -> Order | None:
    """Best-effort jobs stand in a line; who is guaranteed goes by the plan, who is new by the profiler's line."""
    found, queue = job_at.signals("remaining_s"), job_at.signals("queue")
    if found is None or queue is None or queue[1].get(job_at.job) != BEST_EFFORT:
        return None
    if job_at.said is not None and found[0] < job_at.said.at_s:
        return None  # a later cycle has told its place, and recorded the numbers of some jobs only
    by = str(job_at.run.knobs["be_order"])
    gangs = dict(zip(job_at.run.jobs["job"], job_at.run.jobs["gpus"].tolist(), strict=True))
    size = {job: gangs[job] if by == "remaining_gpu_time" else 1 for job in found[1]}
    values = {job: left_s * size[job] for job, left_s in found[1].items() if queue[1].get(job) == BEST_EFFORT}
    unit = "s" if by == "remaining_time" else "GPU-s"
    return Order(f"{BY[by]} among best-effort jobs", unit, values, "lowest", found[0], job_at.by_arrival)
