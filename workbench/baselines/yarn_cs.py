"""YARN-CS: Apache YARN's capacity scheduler as the papers compare themselves with it.

Not preemptive and unaware of accelerator types: a job takes the first type in the cluster's order that has room, for as
long as it runs. Jobs stand in one queue, in the order of arrival (Hadar, section IV-B), or in several with a quota of
GPUs each:

- `queues=entities`: one for each entity of the scenario. Those without `quota_gpus` share the GPUs that the quotas
  leave, by weight; jobs of no entity stand in a queue of weight 1.
- `queues=slo`: jobs with `rewards` and best-effort jobs, with quotas as their numbers of jobs stand to each other
  (Chronus, section 4.3), but at least the largest gang of the queue (ours: it would never start), or as `slo_share`
  says.

Each queue starts its jobs first in, first out within its quota, the one that uses least of its own first. Quotas are
static, or (`elastic`) GPUs that are then left over go to whoever waits, beyond the quotas, in the same order; they come
back when the job is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from workbench.base.errors import InputError
from workbench.base.labels import listed
from workbench.baselines.mechanisms import line_decision
from workbench.baselines.mechanisms.explain import arrival, by_order
from workbench.baselines.mechanisms.line import Rule, by_arrival, fill
from workbench.baselines.mechanisms.proportion import in_proportion
from workbench.baselines.mechanisms.trial import Trial
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Memory
from workbench.scheduling.decision import Decision
from workbench.scheduling.declared_room import Room
from workbench.scheduling.knob import Knob
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.job_at_time import Explained, Fact, JobAtTime, Order

QUEUES = Knob(
    "queues",
    "one",
    "One queue, one for each entity (`quota_gpus`), or one for jobs with deadlines and one for best effort",
    choices=("one", "entities", "slo"),
    main=True,
)
SLO_SHARE = Knob(
    "slo_share",
    None,
    "Share of the GPUs for jobs with deadlines when `queues` is slo (Chronus, section 4.3; none: their share of "
    "the jobs)",
    "1",
    source="paper",
    minimum=0.0,
    maximum=1.0,
    optional=True,
)
ELASTIC = Knob("elastic", False, "GPUs left over go to those who wait, beyond their queue's quota")
BLOCKING = Knob("blocking", True, "Nobody passes a job of the same queue that does not fit")
OTHERS = "jobs of no entity"
SLO_QUEUES = ("slo", "best effort")


@dataclass(frozen=True)
class QueueQuotas:
    """The memory: queues and their GPUs, at least one queue."""

    names: tuple[str, ...]
    gpus: tuple[int, ...]


class YarnCs(line_decision.InLine):
    """First in, first out within quotas; nobody moves."""

    name = "yarn_cs"
    title = "YARN capacity scheduler"
    knobs = (line_decision.ROUND_S, QUEUES, SLO_SHARE, ELASTIC, BLOCKING)
    uses = frozenset({"arrival_s", "steps", "gpus", "entity", "entities.quota_gpus", "entities.weight", "rewards"})

    def about(self, knobs: Knobs) -> frozenset[str]:
        """Entities and deadlines only where they make the queues."""
        idle = {"one": {"entity", "rewards"}, "entities": {"rewards"}, "slo": {"entity"}}[knobs["queues"]]
        return self.uses - idle

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        """Raises InputError for quotas beyond the cluster, and for a job that its queue's quota has no room for."""
        quotas = _quotas(scenario, knobs)
        if not knobs["elastic"]:
            _require_fit(scenario.jobs, quotas, knobs["queues"])
        return quotas

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        jobs, quotas = snapshot.jobs, memory
        mine = [quotas.names.index(queue_of(job, knobs["queues"])) for job in jobs.jobs]
        gangs = jobs.gpus.tolist()

        def choose(waiting: Sequence[int], rule: Rule, trial: Trial) -> list[tuple[int, int]]:
            used = [0] * len(quotas.names)
            lines: list[list[int]] = [[] for _ in used]
            for row in waiting:
                lines[mine[row]].append(row)
            for row in set(range(len(jobs))).difference(waiting):
                used[mine[row]] += gangs[row]
            chosen: list[tuple[int, int]] = []
            for beyond in (False, True) if knobs["elastic"] else (False,):
                for number in _neediest_first(used, quotas.gpus):
                    most = np.inf if beyond else quotas.gpus[number] - used[number]
                    started = fill(lines[number], rule, trial, most)
                    gone = {row for row, _ in started}
                    lines[number] = [row for row in lines[number] if row not in gone]
                    used[number] += sum(gangs[row] for row in gone)
                    chosen += started
            return chosen

        rule = Rule(preemptive=False, blocking=bool(knobs["blocking"]), aware=False, steady=True)
        decision = line_decision.serve(snapshot, by_arrival, rule, {}, choose=choose)
        return decision, memory


def queue_of(job: Job, queues: str) -> str:
    """The queue that a job stands in."""
    if queues == "slo":
        return "best effort" if job.rewards is None else "slo"
    return "all jobs" if queues == "one" else job.entity or OTHERS


def _neediest_first(used: Sequence[int], quotas: Sequence[int]) -> list[int]:
    """Queues by the part of their quota that they use; those without a quota last, ties by position."""
    return sorted(range(len(used)), key=lambda i: (used[i] / quotas[i] if quotas[i] else np.inf, i))


def _quotas(scenario: Scenario, knobs: Knobs) -> QueueQuotas:
    total, jobs = scenario.cluster.gpus, scenario.jobs
    if knobs["queues"] == "one":
        return QueueQuotas(("all jobs",), (total,))
    if knobs["queues"] == "slo":
        with_slo = sum(job.rewards is not None for job in jobs)
        share = with_slo / max(1, len(jobs)) if knobs["slo_share"] is None else knobs["slo_share"]
        slo, others = _by_weight(total, [share, 1.0 - share])
        if knobs["slo_share"] is None:
            slo, others = _that_fit(jobs, slo, others)
        return QueueQuotas(SLO_QUEUES, (slo, others))
    given = {entity.name: entity.quota_gpus for entity in scenario.entities}
    weights = {entity.name: entity.weight for entity in scenario.entities}
    if not given or any(job.entity is None for job in jobs):
        given[OTHERS], weights[OTHERS] = None, 1.0
    spoken_for = sum(quota for quota in given.values() if quota is not None)
    if spoken_for > total:
        raise InputError("entities, quota_gpus in all", spoken_for, f"at most the cluster's {total} GPUs")
    free = [name for name, quota in given.items() if quota is None]
    rest = dict(zip(free, _by_weight(total - spoken_for, [weights[name] for name in free]), strict=True))
    return QueueQuotas(tuple(given), tuple(rest[name] if quota is None else quota for name, quota in given.items()))


def _that_fit(jobs: Sequence[Job], slo: int, others: int) -> tuple[int, int]:
    """The quotas of both queues, each raised to the largest gang in it as far as the other one can spare GPUs."""
    most_slo, most_others = (
        max((job.gpus for job in jobs if queue_of(job, "slo") == name), default=0) for name in SLO_QUEUES
    )
    if slo < most_slo:
        moved = max(0, min(most_slo - slo, others - most_others))
        return slo + moved, others - moved
    moved = max(0, min(most_others - others, slo - most_slo))
    return slo - moved, others + moved


def _by_weight(gpus: int, weights: Sequence[float]) -> list[int]:
    """GPUs in all shared out in whole numbers; nothing without weights."""
    return [int(count) for count in in_proportion(gpus, np.array(weights))] if weights else []


def _require_fit(jobs: Sequence[Job], quotas: QueueQuotas, queues: str) -> None:
    """Raise InputError for the first job that is larger than its queue's quota: it would never start."""
    gpus = dict(zip(quotas.names, quotas.gpus, strict=True))
    for job in jobs:
        mine = queue_of(job, queues)
        if job.gpus > gpus[mine]:
            expected = f"at most {gpus[mine]} GPUs, the quota of its queue ({mine}), or elastic=true"
            raise InputError(f"gpus of job {job.name}", job.gpus, expected)


def _explain(job_at: JobAtTime) -> Explained:
    """The line of its queue, by arrival, and how much of the quota is used."""
    knobs, job = job_at.run.knobs, job_at.spec
    mine, quotas = queue_of(job, knobs["queues"]), _quotas(job_at.run.scenario, knobs)
    quota = dict(zip(quotas.names, quotas.gpus, strict=True))[mine]
    same = {each.name: each.gpus for each in job_at.run.scenario.jobs if queue_of(each, knobs["queues"]) == mine}
    users = [name for name in job_at.present if name in same and name not in job_at.waiting]
    used = sum(same[name] for name in users)
    by_arrival = arrival(job_at)
    order = Order(
        by_arrival.label, "s", {name: s for name, s in by_arrival.values.items() if name in same}, "lowest", job_at.at_s
    )
    order = order._replace(ties=by_arrival.ties)
    rule = "Jobs start in the order of their arrival, within the quota of their queue, and keep their GPUs."
    found = by_order(job_at, order, rule, keeps=True, blocking=bool(knobs["blocking"]))
    several = len(quotas.names) > 1
    over = job_at.state == "waiting" and several and not knobs["elastic"] and used + job.gpus > quota
    by = f" by {listed(users)}" if users else ""
    binding = f"the quota of its queue ({mine}): {used} of {quota} GPUs are in use{by}" if over else found.binding
    facts = (Fact(f"quota of its queue ({mine})", float(quota), "GPUs"), Fact("of that in use", float(used), "GPUs"))
    return replace(found, facts=facts, binding=binding)


ROOM = Room(
    name="yarn_cs",
    title="YARN-CS",
    schedulers=(YarnCs(),),
    explanations={"yarn_cs": _explain},
)
