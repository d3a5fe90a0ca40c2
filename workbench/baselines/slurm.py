"""Slurm as it is configured: multifactor priority, limits, partitions, the main scheduler and backfill.

What the configuration says is read from the scenario's entities and attributes, as `workbench convert --from sacct`
writes them of what `scontrol`, `sacctmgr` and `sshare` print; what it does not say is as Slurm has it by default. The
parts: `workbench.baselines.mechanisms.slurm`. Jobs run to their end once started.

The main scheduler runs batch_sched_delay after what happens (an arrival, an end), and over the whole queue every
sched_interval; backfill every bf_interval; neither before something has changed since: an arrival, an end, priorities
(each PriorityCalcPeriod), a reservation. When within its interval backfill runs stands in no configuration: `phase_s`.

Not in: heterogeneous jobs, preemption by QOS, dependencies but afterok and afterany (others begin when the log says
that they were eligible), licences, job submit plugins, gang scheduling, power saving, burst buffers.
Source: Slurm 22.05, slurm.schedmd.com (sched_config, priority_multifactor, fair_tree, resource_limits, reservations).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from workbench.base.labels import listed
from workbench.baselines.mechanisms.explain import by_signal
from workbench.baselines.mechanisms.slurm.free import FreeNow, Held, Ints
from workbench.baselines.mechanisms.slurm.limits import Ledger, Limit, all_limits
from workbench.baselines.mechanisms.slurm.planning import Pass, Plan, order
from workbench.baselines.mechanisms.slurm.priority import User, decayed, fair_shares, priorities
from workbench.baselines.mechanisms.slurm.site import ENTITY, JOB, NODE, Ask, Machines, SlurmSite, mask, read_site
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Memory, Scheduler, Timing
from workbench.scheduling.decision import Assignment, Decision, Reason, Unit
from workbench.scheduling.knob import Knob
from workbench.scheduling.room import Room
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.job_at_time import Explained, JobAtTime


@dataclass(frozen=True)
class SlurmMemory:
    """What Slurm knows from one pass to the next.

    limits: of each job; usage, fair: of users, at the last PriorityCalcPeriod (calculated_s); since: when what runs
    began; runs: on which types a model's gangs can; ran: seconds since calculated_s of jobs that ended; priority: of
    jobs that wait; told: the last reason of each; ended: jobs that others wait for; last_s: the last call; main_s,
    full_s, backfill_s: when each pass was last made; news: those for which something has changed since.
    """

    site: SlurmSite
    limits: Mapping[str, Sequence[Limit]]
    usage: Mapping[User, float]
    fair: Mapping[User, float]
    since: Mapping[str, float] = field(default_factory=dict)
    runs: Mapping[tuple[str, str], tuple[bool, ...]] = field(default_factory=dict)
    ran: Mapping[str, float] = field(default_factory=dict)
    priority: Mapping[str, float] = field(default_factory=dict)
    told: Mapping[str, str] = field(default_factory=dict)
    ended: frozenset[str] = frozenset()
    last_s: float = 0.0
    calculated_s: float = -math.inf
    main_s: float = -math.inf
    full_s: float = -math.inf
    backfill_s: float = -math.inf
    news: frozenset[str] = frozenset()


PASSES = frozenset({"main", "full", "backfill"})


class Slurm(Scheduler):
    """Event-driven; never preempts."""

    name = "slurm"
    title = "Slurm: multifactor priority, limits and backfill"
    knobs = (
        Knob("phase_s", 0.0, "When backfill first runs after the begin", "s", minimum=0.0, maximum=86400.0),
        Knob("backfill", True, "Whether the backfill scheduler runs", kind="bool"),
        Knob("limits", True, "Whether limits of QOS, accounts and users hold", kind="bool"),
    )
    uses = frozenset(
        {
            *("arrival_s", "steps", "gpus", "user"),
            *(f"attributes.{name}" for name in JOB),
            *(f"nodes.attributes.{name}" for name in NODE),
            *(f"entities.attributes.{name}" for name in ENTITY),
        }
    )

    def timing(self, knobs: Knobs) -> Timing:
        return Timing(causes=frozenset({"arrival", "completion", "repair", "fault"}))

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        site = read_site(scenario)
        if not knobs["limits"]:
            site = replace(site, enforced=False)
        usage = {user: account.usage for user, account in site.users.items()}
        began = knobs["phase_s"] - site.settings["bf_interval"]
        return SlurmMemory(site, all_limits(site), usage, fair_shares(site, usage), backfill_s=began)

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        now, site, settings = snapshot.now_s, memory.site, memory.site.settings
        ended = memory.ended | site.before.intersection(snapshot.finished)
        holds = {**snapshot.leases, **snapshot.ended}
        memory = _counted(snapshot, replace(memory, ended=ended), holds)
        if snapshot.cause != "timer":
            memory = replace(memory, news=PASSES)
        due = {
            "main": memory.main_s + settings["batch_sched_delay"] <= now,
            "full": memory.full_s + settings["sched_interval"] <= now,
            "backfill": knobs["backfill"] and memory.backfill_s + settings["bf_interval"] <= now,
        }
        due = {name: is_due and name in memory.news for name, is_due in due.items()}
        assign = [Assignment(unit, lease.gpus, math.inf) for unit, lease in snapshot.ended.items()]
        ready, reasons = _waiting(snapshot, memory, holds)
        memory, signals = _prioritised(_seen(snapshot, memory, ready), ready)
        if any(due.values()) and ready:
            queue = order(site, ready, memory.priority)
            held, ledger = _held(snapshot, memory, holds), Ledger(memory.limits)
            for each in held:
                ledger.add(each.ask, each.until_s - now)
            room, able = FreeNow(site, _free(snapshot), held), _able(snapshot, memory, ready)
            found = Pass(site, now, queue, able, room, held, ledger, _kept(site, now))
            plan = Plan()
            if due["main"] or due["full"]:
                plan = found.main(len(queue) if due["full"] else int(settings["default_queue_depth"]))
                reasons |= plan.reasons
            if due["backfill"]:
                found.queue = [ask for ask in queue if ask.name not in plan.starts]
                plan.starts |= found.backfill().starts
            names = snapshot.nodes.names
            for name, gpus in plan.starts.items():
                assign.append(Assignment(name, {names[node]: count for node, count in gpus.items()}, math.inf))
            reasons = {name: reason for name, reason in reasons.items() if name not in plan.starts}
            memory = _passed(memory, due, now, plan, len(queue) <= settings["default_queue_depth"])
        why = {name: reason for name, reason in reasons.items() if memory.told.get(name) != reason.text}
        told = {**memory.told, **{name: reason.text for name, reason in why.items()}}
        memory = replace(memory, told=told)
        return Decision(tuple(assign), signals=signals, why=why, next_s=_next(memory, knobs, now, bool(ready))), memory


def _passed(memory: SlurmMemory, due: Mapping[str, bool], now: float, plan: Plan, whole: bool) -> SlurmMemory:
    """After a pass: what was done has no news; who started is news to backfill. whole: the main one saw all jobs."""
    done = {name for name, was_due in due.items() if was_due}
    main = bool(done & {"main", "full"})
    news = memory.news - done - ({"main", "full"} if main and (whole or due["full"]) else set())
    return replace(
        memory,
        news=frozenset(news | (PASSES - done if plan.starts else set())),
        main_s=now if main else memory.main_s,
        full_s=now if main and (whole or due["full"]) else memory.full_s,
        backfill_s=now if due["backfill"] else memory.backfill_s,
        since={**memory.since, **dict.fromkeys(plan.starts, now)},
        priority={name: value for name, value in memory.priority.items() if name not in plan.starts},
        told={name: text for name, text in memory.told.items() if name not in plan.starts},
    )


def _next(memory: SlurmMemory, knobs: Knobs, now: float, waits: bool) -> float | None:
    """When something may be done although nothing happens: a pass that has news, new priorities, a reservation's begin
    or end; None where nobody waits."""
    settings = memory.site.settings
    if not waits:
        return None
    times = [memory.calculated_s + settings["PriorityCalcPeriod"]]
    times += [at_s for each in memory.site.reservations for at_s in each.edges_s]
    times += [memory.main_s + settings["batch_sched_delay"]] if "main" in memory.news else []
    times += [memory.full_s + settings["sched_interval"]] if "full" in memory.news else []
    if knobs["backfill"] and "backfill" in memory.news:
        times.append(memory.backfill_s + settings["bf_interval"])
    return min((at_s for at_s in times if at_s > now), default=None)


def _counted(snapshot: Snapshot, memory: SlurmMemory, holds: Mapping[Unit, Assignment]) -> SlurmMemory:
    """With what ran since; at each PriorityCalcPeriod usage and shares anew: news, as is a reservation."""
    now, site, since, ran = snapshot.now_s, memory.site, dict(memory.since), dict(memory.ran)
    for name in since.keys() - holds.keys():
        ran[name] = ran.get(name, 0.0) + now - max(since.pop(name), memory.calculated_s)
    for name in map(str, holds.keys() - since.keys()):  # it ran when the scenario began
        row = snapshot.jobs.at[name]
        since[name] = now - float(snapshot.jobs.attained_s[row] / snapshot.jobs.gpus[row])
    edges = (at_s for each in site.reservations for at_s in each.edges_s)
    news = PASSES if any(memory.last_s < at_s <= now for at_s in edges) else memory.news
    memory = replace(memory, since=since, ran=ran, last_s=now, news=news)
    period, first = site.settings["PriorityCalcPeriod"], memory.calculated_s == -math.inf
    due_s = now if first else memory.calculated_s + period * ((now - memory.calculated_s) // period)
    if due_s <= memory.calculated_s:
        return memory
    if first:
        return replace(memory, ran={}, priority={}, calculated_s=now, news=PASSES)
    for name, start_s in since.items():
        ran[name] = ran.get(name, 0.0) + max(due_s - max(start_s, memory.calculated_s), 0.0)
    held = [(site.asks[name], seconds) for name, seconds in sorted(ran.items())]
    usage = decayed(site, memory.usage, held, due_s - memory.calculated_s)
    fair = fair_shares(site, usage)
    return replace(memory, usage=usage, fair=fair, ran={}, priority={}, calculated_s=due_s, news=PASSES)


def _prioritised(memory: SlurmMemory, ready: Sequence[Ask]) -> tuple[SlurmMemory, dict[str, Mapping[str, float]]]:
    """With a priority for each job that waits: of the last PriorityCalcPeriod or of when it came; all if one is new."""
    new = [ask for ask in ready if ask.name not in memory.priority]
    if not new:
        return memory, {}
    parts = priorities(memory.site, new, memory.fair, memory.calculated_s)
    found = {ask.name: part["priority"] for ask, part in zip(new, parts, strict=True)}
    priority = {**memory.priority, **found}
    return replace(memory, priority=priority), {"priority": priority}


def _waiting(
    snapshot: Snapshot, memory: SlurmMemory, holds: Mapping[Unit, Assignment]
) -> tuple[list[Ask], dict[str, Reason]]:
    """Jobs that may be planned, and why others that wait may not."""
    site = memory.site
    ready, reasons = list[Ask](), dict[str, Reason]()
    for name in snapshot.jobs.names:
        if name in holds:
            continue
        ask = site.asks[name]
        if waits := [before for _, before in ask.after if before in site.asks and before not in memory.ended]:
            reasons[name] = Reason("Dependency", f"{listed(waits)}, on which it depends, has not ended")
        else:
            ready.append(ask)
    return ready, reasons


def _held(snapshot: Snapshot, memory: SlurmMemory, holds: Mapping[Unit, Assignment]) -> list[Held]:
    """What runs, in the order of its begin."""
    at, found = snapshot.nodes.at, []
    for name, start_s in memory.since.items():
        ask = memory.site.asks[name]
        gpus = {at[node]: count for node, count in holds[name].gpus.items()}
        found.append(Held(ask, gpus, start_s + ask.limit_s))
    return found


def _seen(snapshot: Snapshot, memory: SlurmMemory, ready: Sequence[Ask]) -> SlurmMemory:
    """With the types on which models and gangs that are new can run."""
    if all(ask.kind in memory.runs for ask in ready):
        return memory
    at, speeds = snapshot.jobs.at, snapshot.belief.speeds(snapshot.jobs)
    new = {ask.kind: tuple((speeds[at[ask.name]] > 0).tolist()) for ask in ready if ask.kind not in memory.runs}
    return replace(memory, runs={**memory.runs, **new})


def _able(snapshot: Snapshot, memory: SlurmMemory, ready: Sequence[Ask]) -> dict[str, Ints]:
    """The nodes where each job may run, best first; one array for all jobs of a partition and types."""
    nodes, site = snapshot.nodes, memory.site
    machine = np.array(site.machine, dtype=np.intp)
    by_weight = np.argsort(np.array(site.weight)[machine], kind="stable")
    found, known = dict[str, Ints](), dict[tuple[str, tuple[bool, ...]], Ints]()
    for ask in ready:
        key = ask.partition, memory.runs[ask.kind]
        if key not in known:
            inside = mask(site.inside.get(ask.partition, site.everything), len(site.machines))
            may = np.array(key[1])[nodes.kind] & nodes.up & inside[machine]
            known[key] = by_weight[may[by_weight]]
        found[ask.name] = known[key]
    return found


def _free(snapshot: Snapshot) -> list[int]:
    """GPUs free on each node, without those of leases that end now: jobs run to their end."""
    free: list[int] = snapshot.nodes.free.tolist()
    at = snapshot.nodes.at
    for lease in snapshot.ended.values():
        for node, count in lease.gpus.items():
            free[at[node]] -= count
    return free


def _kept(site: SlurmSite, now: float) -> list[tuple[Machines, float, float, str]]:
    return [
        (sum(1 << i for i, name in enumerate(site.machines) if name in each.nodes), each.start_s, each.end_s, each.name)
        for each in site.reservations
        if each.known_s <= now
    ]


def _explain(moment: JobAtTime) -> Explained:
    """Slurm's word for why a job waits, with the numbers of the limit, and its place by priority."""
    by_priority = by_signal("priority", "priority", "", "highest", RULE)(moment)
    said = moment.said
    if moment.state != "waiting" or said is None:
        return by_priority
    kind = HELD_BY.get(said.code) or ("a limit" if any(word in said.code for word in LIMITS) else "")
    instead = f": {kind}, not lack of GPUs" if kind and moment.has_room else ""
    binding = f"{said.code} ({said.text}){instead}"
    return replace(by_priority, binding=binding)


RULE = "Slurm starts jobs by partition tier and priority, others where they delay nobody who is planned before."
HELD_BY = {"Dependency": "a dependency", "JobArrayTaskLimit": "its array's throttle", "Reservation": "a reservation"}
LIMITS = ("QOSMax", "QOSGrp", "AssocMax", "AssocGrp", "MaxJobsPerAccount")

ROOM = Room(name="slurm", title="Slurm", schedulers=(Slurm(),), explanations={"slurm": _explain})
