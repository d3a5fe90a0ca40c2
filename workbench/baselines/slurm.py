"""Slurm as it is configured: multifactor priority, limits, partitions, the main scheduler and backfill.

What the configuration says is read from the scenario's entities and attributes, as `workbench convert --from sacct`
writes them of what `scontrol`, `sacctmgr` and `sshare` print; what it does not say is as Slurm has it by default. The
parts: `workbench.baselines.mechanisms.slurm`. Jobs run to their end once started.

The main scheduler runs batch_sched_delay after what happens (an arrival, an end), and over the whole queue every
sched_interval; backfill every bf_interval; neither before something has changed since: an arrival, an end, priorities
(each PriorityCalcPeriod), a reservation. When within its interval backfill runs stands in no configuration: `phase_s`.
A job that could not start on an empty site, or whose reservation is over, is refused (ours: Slurm lets some wait).

Not in: heterogeneous jobs, preemption by QOS, dependencies but afterok and afterany (others begin when the log says
that they were eligible), licences, job submit plugins, gang scheduling, power saving, burst buffers.
Source: Slurm 22.05, slurm.schedmd.com (sched_config, priority_multifactor, fair_tree, resource_limits, reservations).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from workbench.base.labels import listed
from workbench.baselines.mechanisms.explain import by_signal
from workbench.baselines.mechanisms.slurm.free import FreeNow, Held, bits
from workbench.baselines.mechanisms.slurm.limits import Ledger
from workbench.baselines.mechanisms.slurm.planning import Idle, Pass, Place, Plan, Reserved, order, place
from workbench.baselines.mechanisms.slurm.priority import User, decayed, fair_shares, priorities
from workbench.baselines.mechanisms.slurm.site import ENTITY, JOB, NODE, Ask, SlurmSite, read_site
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Memory, Scheduler, Timing
from workbench.scheduling.decision import Assignment, Decision, Reason, Verdict
from workbench.scheduling.knob import Knob
from workbench.scheduling.room import Room
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.job_at_time import Explained, JobAtTime


@dataclass(slots=True)
class SlurmMemory:
    """What Slurm knows from one pass to the next. A decision changes a copy of its own, never what stands in a field.

    whole: an empty site; room, ledger: beside what runs (GPUs are the snapshot's), whose limits are counted but for
    resources x minutes; usage, fair: of users, at the last PriorityCalcPeriod (calculated_s); held: what runs, in the
    order of its begin; runs: on which types a model's gangs can; ran: seconds since calculated_s of jobs that ended;
    priority, place: of jobs that wait, the latter in the queue; up: the nodes that were (nodes,); able: where jobs that
    wait may run; possible: jobs that wait and could start on an empty site; last_reasons: of each; ended: jobs that
    others wait for; last_s: the last call; main_s, full_s, backfill_s: when each pass was last made; idle: of
    backfill's last cycle (`Pass.idle`); news: those for which something has changed since.
    """

    site: SlurmSite
    whole: FreeNow
    room: FreeNow
    ledger: Ledger
    usage: Mapping[User, float]
    fair: Mapping[User, float]
    held: Mapping[str, Held] = field(default_factory=dict)
    runs: Mapping[tuple[str, str], tuple[bool, ...]] = field(default_factory=dict)
    ran: Mapping[str, float] = field(default_factory=dict)
    priority: Mapping[str, float] = field(default_factory=dict)
    place: Mapping[str, Place] = field(default_factory=dict)
    up: NDArray[np.bool_] | None = None
    able: Mapping[str, int] = field(default_factory=dict)
    possible: frozenset[str] = frozenset()
    last_reasons: Mapping[str, str] = field(default_factory=dict)
    ended: frozenset[str] = frozenset()
    last_s: float = 0.0
    calculated_s: float = -math.inf
    main_s: float = -math.inf
    full_s: float = -math.inf
    backfill_s: float = -math.inf
    idle: Mapping[str, Idle] = field(default_factory=dict)
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
        room, ledger = FreeNow.of_site(site), Ledger.of_site(site)
        return SlurmMemory(site, room, room.copy(), ledger, usage, fair_shares(site, usage), backfill_s=began)

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        now, site, settings, memory = snapshot.now_s, memory.site, memory.site.settings, copy(memory)
        memory.ended |= site.before.intersection(snapshot.finished)
        _count(snapshot, memory)
        if snapshot.cause != "timer":
            memory.news = PASSES
        due = {
            "main": memory.main_s + settings["batch_sched_delay"] <= now,
            "full": memory.full_s + settings["sched_interval"] <= now,
            "backfill": knobs["backfill"] and memory.backfill_s + settings["bf_interval"] <= now,
        }
        due = {name: is_due and name in memory.news for name, is_due in due.items()}
        assign = [Assignment(unit, lease.gpus, math.inf) for unit, lease in snapshot.ended.items()]
        ready, reasons = _waiting(snapshot, memory)
        _see(snapshot, memory, ready)
        never = _never(snapshot, memory, ready)
        ready = [ask for ask in ready if ask.name not in never]
        signals = _prioritise(memory, ready)
        if any(due.values()) and ready:
            queue, held = order(site, ready, memory.place), [*memory.held.values()]
            room, ledger = memory.room.copy(), memory.ledger.copy()
            room.gpus = _free(snapshot)
            ledger.add_all_minutes(held, now)
            found = Pass(site, now, queue, memory.able, room, held, ledger, _kept(memory, now), memory.idle)
            plan = Plan()
            if due["main"] or due["full"]:
                plan = found.main(len(queue) if due["full"] else int(settings["default_queue_depth"]))
                reasons |= plan.reasons
            if due["backfill"]:
                found.queue = [ask for ask in queue if ask.name not in plan.starts]
                filled = found.backfill()
                plan.starts |= filled.starts
                memory.idle = filled.idle
            names = snapshot.nodes.names
            for name, gpus in plan.starts.items():
                assign.append(Assignment(name, {names[node]: count for node, count in gpus.items()}, math.inf))
            reasons = {name: reason for name, reason in reasons.items() if name not in plan.starts}
            _pass(memory, due, now, plan, len(queue) <= settings["default_queue_depth"])
        why = {name: reason for name, reason in reasons.items() if memory.last_reasons.get(name) != reason.text}
        if why:
            memory.last_reasons = {**memory.last_reasons, **{name: reason.text for name, reason in why.items()}}
        next_s = _next(memory, knobs, now, bool(ready))
        refused: dict[str, Verdict] = dict.fromkeys(never, "refused")
        return Decision(tuple(assign), verdicts=refused, signals=signals, why={**why, **never}, next_s=next_s), memory


def _pass(memory: SlurmMemory, due: Mapping[str, bool], now: float, plan: Plan, whole: bool) -> None:
    """After a pass: what was done has no news; who started is news to backfill. whole: the main one saw all jobs."""
    done = {name for name, was_due in due.items() if was_due}
    main = bool(done & {"main", "full"})
    news = memory.news - done - ({"main", "full"} if main and (whole or due["full"]) else set())
    memory.main_s = now if main else memory.main_s
    memory.full_s = now if main and (whole or due["full"]) else memory.full_s
    memory.backfill_s = now if due["backfill"] else memory.backfill_s
    memory.news = frozenset(news | (PASSES - done if plan.starts else set()))
    if plan.starts:
        _change(memory, [memory.room.held(memory.site.asks[name], gpus, now) for name, gpus in plan.starts.items()])
        memory.priority = {name: value for name, value in memory.priority.items() if name not in plan.starts}
        memory.last_reasons = {name: text for name, text in memory.last_reasons.items() if name not in plan.starts}


def _change(memory: SlurmMemory, started: Sequence[Held], ended: Sequence[Held] = ()) -> None:
    """What runs after some have started and ended."""
    held, room, ledger = dict(memory.held), memory.room.copy(), memory.ledger.copy()
    for each in ended:
        del held[each.ask.name]
        room.change(each.ask, each.gpus, 1)
        ledger.count(each.ask, -1)
    for each in started:
        held[each.ask.name] = each
        room.change(each.ask, each.gpus, -1)
        ledger.count(each.ask, 1)
    memory.held, memory.room, memory.ledger = held, room, ledger


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


def _count(snapshot: Snapshot, memory: SlurmMemory) -> None:
    """Count what ran since; at each PriorityCalcPeriod usage and shares anew: news, as is a reservation."""
    now, site, ran = snapshot.now_s, memory.site, dict(memory.ran)
    if any(memory.last_s < at_s <= now for each in site.reservations for at_s in each.edges_s):
        memory.news = PASSES
    began, jobs = list[Held](), snapshot.jobs
    ended = [memory.held[name] for name in snapshot.finished if name in memory.held]
    if snapshot.ended or len(jobs.now) - len(jobs.waiting) != len(memory.held) - len(ended):  # not by us, or by a fault
        holds = {**snapshot.leases, **snapshot.ended}
        ended = [each for name, each in memory.held.items() if name not in holds]
        began = [_began(snapshot, memory, lease) for unit, lease in holds.items() if unit not in memory.held]
    for each in ended:
        ran[each.ask.name] = ran.get(each.ask.name, 0.0) + now - max(each.since_s, memory.calculated_s)
    if began or ended:
        _change(memory, began, ended)
    memory.ran, memory.last_s = ran, now
    period, first = site.settings["PriorityCalcPeriod"], memory.calculated_s == -math.inf
    due_s = now if first else memory.calculated_s + period * ((now - memory.calculated_s) // period)
    if due_s <= memory.calculated_s:
        return
    if not first:
        for name, each in memory.held.items():
            ran[name] = ran.get(name, 0.0) + max(due_s - max(each.since_s, memory.calculated_s), 0.0)
        held = [(site.asks[name], seconds) for name, seconds in sorted(ran.items())]
        memory.usage = decayed(site, memory.usage, held, due_s - memory.calculated_s)
        memory.fair = fair_shares(site, memory.usage)
    memory.ran, memory.priority, memory.place = {}, {}, {}
    memory.calculated_s, memory.news = due_s, PASSES


def _prioritise(memory: SlurmMemory, ready: Sequence[Ask]) -> dict[str, Mapping[str, float]]:
    """A priority for each job that waits: of the last PriorityCalcPeriod or of when it came; all if one is new."""
    new = [ask for ask in ready if ask.name not in memory.priority]
    if not new:
        return {}
    parts = priorities(memory.site, new, memory.fair, memory.calculated_s)
    found = {ask.name: part["priority"] for ask, part in zip(new, parts, strict=True)}
    memory.priority = {**memory.priority, **found}
    memory.place = {**memory.place, **{ask.name: place(memory.site, ask, found[ask.name]) for ask in new}}
    return {"priority": memory.priority}


def _waiting(snapshot: Snapshot, memory: SlurmMemory) -> tuple[list[Ask], dict[str, Reason]]:
    """Jobs that may be planned, and why others that wait may not."""
    site = memory.site
    ready, reasons = list[Ask](), dict[str, Reason]()
    jobs = snapshot.jobs.now
    for row in snapshot.jobs.waiting:
        ask = site.asks[jobs[row].name]
        if not ask.after:
            ready.append(ask)
        elif waits := [f"{job} ({kind})" for kind, job in ask.after if job in site.asks and job not in memory.ended]:
            reasons[ask.name] = Reason("Dependency", f"{listed(waits)}, on which it depends, has not ended")
        else:
            ready.append(ask)
    return ready, reasons


def _began(snapshot: Snapshot, memory: SlurmMemory, lease: Assignment) -> Held:
    """What a job holds that ran when the scenario began."""
    at, name = snapshot.nodes.at, str(lease.unit)
    row = snapshot.jobs.at[name]
    ran_s = float(snapshot.jobs.attained_s[row] / snapshot.jobs.gpus[row])
    return memory.room.held(
        memory.site.asks[name], {at[node]: n for node, n in lease.gpus.items()}, snapshot.now_s - ran_s
    )


def _see(snapshot: Snapshot, memory: SlurmMemory, ready: Sequence[Ask]) -> None:
    """Note the types on which models and gangs that are new can run, and the nodes where jobs that are new may now."""
    if snapshot.cause in ("fault", "repair") or memory.up is None or (memory.up != snapshot.nodes.up).any():
        memory.up, memory.able = snapshot.nodes.up.copy(), {}
    new = [ask for ask in ready if ask.name not in memory.able]
    if not new:
        return
    if not all(ask.kind in memory.runs for ask in new):
        at, speeds = snapshot.jobs.at, snapshot.belief.speeds(snapshot.jobs)
        runs = {ask.kind: tuple((speeds[at[ask.name]] > 0).tolist()) for ask in new if ask.kind not in memory.runs}
        memory.runs = {**memory.runs, **runs}
    able = _able(snapshot, memory)
    here = {ask.name: memory.able[ask.name] for ask in ready if ask.name in memory.able}
    memory.able = {**here, **{ask.name: able(ask) for ask in new}}


def _never(snapshot: Snapshot, memory: SlurmMemory, ready: Sequence[Ask]) -> dict[str, Reason]:
    """New jobs that could not start on an empty site with all nodes up, those whose reservation is over, and why; who
    waits for them does no more."""
    nodes, site, found = snapshot.nodes, memory.site, dict[str, Reason]()
    new = [ask for ask in ready if ask.name not in memory.possible]
    if not new and not site.reservations:
        return found
    ends = {each.name: each.end_s for each in sorted(site.reservations, key=lambda each: each.end_s)}  # the last one's
    for ask in (ask for ask in ready if ask.reservation and snapshot.now_s + ask.limit_s > ends[ask.reservation]):
        text = f"its reservation {ask.reservation} ends before it could by its limit"
        found[ask.name] = Reason("Reservation", text)
    room = memory.whole.copy()
    room.gpus = nodes.gpus
    for ask in (ask for ask in new if ask.name not in found):
        may = np.array(memory.runs[ask.kind])[nodes.kind] & site.machines_of(ask.partition)[room.machine]
        if reason := memory.ledger.never(ask):
            found[ask.name] = reason
        elif not ask.reservation and room.place(ask, bits(may[room.order][None])[0]) is None:
            text = (
                f"no nodes of partition {ask.partition} that are large enough for it" if ask.partition else "no nodes"
            )
            found[ask.name] = Reason("BadConstraints", f"{text}, of the types on which it can run")
    memory.possible = frozenset(ask.name for ask in ready)
    memory.ended |= site.before.intersection(found)
    return found


def _able(snapshot: Snapshot, memory: SlurmMemory) -> Callable[[Ask], int]:
    """The nodes where a job may run."""
    nodes, site, room = snapshot.nodes, memory.site, memory.room

    @cache
    def of(partition: str, runs: tuple[bool, ...]) -> int:
        may = np.array(runs)[nodes.kind] & nodes.up & site.machines_of(partition)[room.machine]
        return bits(may[room.order][None])[0]

    return lambda ask: of(ask.partition, memory.runs[ask.kind])


def _free(snapshot: Snapshot) -> NDArray[np.int64]:
    """GPUs free on each node, without those of leases that end now: jobs run to their end."""
    free = snapshot.nodes.free.copy()
    at = snapshot.nodes.at
    for lease in snapshot.ended.values():
        for node, count in lease.gpus.items():
            free[at[node]] -= count
    return free


def _kept(memory: SlurmMemory, now: float) -> tuple[Reserved, ...]:
    """What reservations keep that are known and not over."""
    site = memory.site
    return tuple(
        (memory.room.on(np.isin(site.machines, [*each.nodes])), each.start_s, each.end_s, each.name)
        for each in site.reservations
        if each.known_s <= now < each.end_s
    )


def _explain(job_at: JobAtTime) -> Explained:
    """Slurm's word for why a job waits, with the numbers of the limit, and its place by priority."""
    by_priority = by_signal("priority", "priority", "", "highest", RULE)(job_at)
    said = job_at.said
    if job_at.state != "waiting" or said is None:
        return by_priority
    kind = HELD_BY.get(said.code) or ("a limit" if any(word in said.code for word in LIMITS) else "")
    instead = f": {kind}, not lack of GPUs" if kind and job_at.has_free_gpus else ""
    binding = f"{said.code} ({said.text}){instead}"
    return replace(by_priority, binding=binding)


RULE = (
    "Slurm starts jobs by partition tier and priority (in a partition with a Policy by that), others where they delay "
    "nobody who is planned before."
)
HELD_BY = {"Dependency": "a dependency", "JobArrayTaskLimit": "its array's throttle", "Reservation": "a reservation"}
LIMITS = ("QOSMax", "QOSGrp", "AssocMax", "AssocGrp", "MaxJobsPerAccount")

ROOM = Room(name="slurm", title="Slurm", schedulers=(Slurm(),), explanations={"slurm": _explain})
