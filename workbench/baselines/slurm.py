"""Slurm as it is configured: multifactor priority, limits, partitions, the main scheduler and backfill.

What the configuration says is read from the scenario's entities and attributes, as `workbench convert --from sacct`
writes them of what `scontrol`, `sacctmgr` and `sshare` print; what it does not say is as Slurm has it by default. The
parts: `workbench.baselines.mechanisms.slurm`. Jobs run to their end once started.

The main scheduler runs batch_sched_delay after what happens (an arrival, an end), and over the whole queue every
sched_interval; backfill every bf_interval; neither before something has changed since: an arrival, an end, priorities
(each PriorityCalcPeriod), a reservation. When within its interval backfill runs stands in no configuration: `phase_s`;
nor when within theirs priorities are calculated: here at the same part of it (ours).
A job that could not start on an empty site, or whose reservation is over, is refused (ours: Slurm lets some wait).

Not in: heterogeneous jobs, preemption by QOS, dependencies but afterok and afterany (others begin when the log says
that they were eligible), licences, job submit plugins, gang scheduling, power saving, burst buffers.
Source: Slurm 22.05, slurm.schedmd.com (sched_config, priority_multifactor, fair_tree, resource_limits, reservations).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import takewhile
from operator import attrgetter

import numpy as np

from workbench.base.arrays import BoolArray, IntArray
from workbench.base.labels import listed
from workbench.baselines.mechanisms.explain import by_signal
from workbench.baselines.mechanisms.slurm.asks import JOB, Ask
from workbench.baselines.mechanisms.slurm.free import FreeNow, RunningJob, bits
from workbench.baselines.mechanisms.slurm.limits import Ledger, beyond
from workbench.baselines.mechanisms.slurm.passes import IdleCycle, PassOutcome, SchedulingPass, in_order, reserved
from workbench.baselines.mechanisms.slurm.priority import (
    Standing,
    User,
    decayed,
    fair_shares,
    priorities,
    queue_place,
    standing,
)
from workbench.baselines.mechanisms.slurm.site import ENTITY, NODE, SlurmSite, read_site
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Memory, Scheduler, Timing
from workbench.scheduling.decision import Assignment, Decision, Reason, Verdict
from workbench.scheduling.declared_room import Room
from workbench.scheduling.knob import Knob
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.job_at_time import Explained, JobAtTime


@dataclass(slots=True)
class SlurmMemory:
    """What Slurm knows from one pass to the next. A decision changes a copy of its own, never what stands in a field.

    whole: an empty site; free_now, ledger: beside what runs, whose limits are counted but for resources x minutes;
    inside: the nodes of each partition; stand: `standing`; usage, fair: of users, at the last PriorityCalcPeriod
    (calculated_s), the next is due at calculate_s; held: what runs, in the order of its begin; runs: on which types
    jobs of a kind can; fitting: whether a job of a shape has room on an empty site; ran: seconds since calculated_s of
    jobs that ended; steady: of users, how many jobs run since before it, and what a second of them uses; priority: of
    jobs that wait; queue: those that may be planned, by place, places: these; alike: of those that fit and are held
    back alike, by shape and group of the ledger, one, and how many; after: those that depend on others; up:
    the nodes that were (nodes,); able: where jobs of a kind may run; last_reasons: of each; ended: jobs that others
    wait for; last_s: the last call; main_s, full_s, backfill_s: when each pass was last made; idle: of backfill's last
    cycle (`SchedulingPass.idle`); news: those for which something has changed since; waited: those in the queue that
    never started in the log, elsewhere: how many run on other machines, as they did, turn: the next of
    `SlurmSite.turns`.
    """

    site: SlurmSite
    whole: FreeNow
    free_now: FreeNow
    ledger: Ledger
    inside: Mapping[str, int]
    stand: Mapping[str, Standing]
    usage: Mapping[User, float]
    fair: Mapping[User, float]
    held: dict[str, RunningJob] = field(default_factory=dict)
    runs: Mapping[tuple[str, str, str], tuple[bool, ...]] = field(default_factory=dict)
    fitting: Mapping[str, bool] = field(default_factory=dict)
    ran: Mapping[str, float] = field(default_factory=dict)
    steady: dict[User, tuple[int, float]] = field(default_factory=dict)
    priority: Mapping[str, float] = field(default_factory=dict)
    queue: Sequence[Ask] = ()
    places: Sequence[int] = ()
    alike: dict[tuple[str, str], tuple[Ask, int]] = field(default_factory=dict)
    after: Sequence[Ask] = ()
    up: BoolArray | None = None
    able: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    last_reasons: Mapping[str, Reason] = field(default_factory=dict)
    ended: frozenset[str] = frozenset()
    last_s: float = -math.inf
    calculated_s: float = -math.inf
    calculate_s: float = -math.inf
    main_s: float = -math.inf
    full_s: float = -math.inf
    backfill_s: float = -math.inf
    idle: Mapping[str, IdleCycle] = field(default_factory=dict)
    news: frozenset[str] = frozenset()
    waited: frozenset[str] = frozenset()
    elsewhere: int = 0
    turn: int = 0


COMES = attrgetter("comes")
PASSES = frozenset({"main", "full", "backfill"})
CHANGED = frozenset({"fault", "repair"})
"""Causes by which what runs may change otherwise than by its end and by what was decided."""


class Slurm(Scheduler):
    """Event-driven; never preempts."""

    name = "slurm"
    title = "Slurm: multifactor priority, limits and backfill"
    knobs = (
        Knob(
            "phase_s",
            0.0,
            "When backfill first runs after the begin; at the same part of their period priorities are calculated",
            "s",
            minimum=0.0,
            maximum=86400.0,
        ),
        Knob("backfill", True, "Whether the backfill scheduler runs"),
        Knob("limits", True, "Whether limits of QOS, accounts and users hold"),
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
        site = replace(site, enforced=site.enforced and knobs["limits"], backfills=site.backfills and knobs["backfill"])
        usage = {user: account.usage for user, account in site.users.items()}
        began = knobs["phase_s"] - site.settings["bf_interval"]
        free_now, ledger, fair = FreeNow.of_site(site), Ledger.of_site(site), fair_shares(site, usage)
        inside = {name: free_now.on(site.machines_of(name)) for name in {ask.partition for ask in site.asks.values()}}
        return SlurmMemory(
            site=site,
            whole=free_now,
            free_now=free_now.copy(),
            ledger=ledger,
            inside=inside,
            stand=standing(site),
            usage=usage,
            fair=fair,
            backfill_s=began,
            ended=frozenset(site.beside),
        )

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        now, memory, since_s = snapshot.now_s, copy(memory), memory.last_s
        if over := memory.site.before.intersection(snapshot.finished):
            memory.ended |= over
        turned = _turn(memory, now)
        calculated = _count(snapshot, memory, knobs["phase_s"])
        if snapshot.cause != "timer":
            memory.news = PASSES
        due = {name: at_s <= now and name in memory.news for name, at_s in _due_s(memory).items()}
        assign = [Assignment(unit, lease.gpus, math.inf) for unit, lease in snapshot.ended.items()]
        came, reasons = _waiting(snapshot, memory, since_s, turned)
        never, beside = _never(snapshot, memory, came), memory.site.beside
        signals = _line_up(snapshot, memory, [ask for ask in came if ask.name not in never], calculated)
        if never:
            _leave(memory, [ask for ask in memory.queue if ask.name in never])
            never = {name: reason for name, reason in never.items() if name not in beside}
        waits = len(memory.queue) > len(memory.waited)
        if any(due.values()) and waits:
            told, plan = snapshot.in_detail, PassOutcome()
            if told or memory.site.reservations or _some_can_start(memory):
                plan = self._planned(memory, now, due, told=told)
            names = snapshot.nodes.names
            for name, gpus in plan.starts.items():
                assign.append(Assignment(name, {names[node]: count for node, count in gpus.items()}, math.inf))
            told_of = plan.reasons.keys() - plan.starts.keys() - beside.keys()
            reasons |= {name: plan.reasons[name] for name in plan.reasons if name in told_of}
            _pass(memory, due, now, plan)
        before = memory.last_reasons
        why = {
            name: reason
            for name, reason in (reasons.items() if snapshot.in_detail else ())
            if (old := before.get(name)) is not reason and (old is None or old.text != reason.text)
        }
        if why:
            memory.last_reasons = {**before, **why}
        next_s = _next(memory, now) if waits else None
        quiet_s = _quiet(memory)
        refused: dict[str, Verdict] = dict.fromkeys(never, "refused")
        return Decision(
            tuple(assign), verdicts=refused, signals=signals, why={**why, **never}, next_s=next_s, quiet_s=quiet_s
        ), memory

    @staticmethod
    def _planned(memory: SlurmMemory, now: float, due: Mapping[str, bool], *, told: bool) -> PassOutcome:
        """What the passes that are due come to; who starts has its GPUs. told: whether reasons are."""
        site, held = memory.site, [*memory.held.values()]
        queue = in_order(site, memory.queue)
        free_now, ledger = memory.free_now.copy(), memory.ledger.copy()
        ledger.add_all_minutes(held, memory.calculated_s if site.by_priority else -math.inf)
        plan = PassOutcome()
        found = SchedulingPass(
            site=site,
            now_s=now,
            queue=queue,
            able=memory.able,
            free_now=free_now,
            held=held,
            ledger=ledger,
            kept=reserved(site, free_now, now),
            idle=memory.idle,
            inside=memory.inside,
            said=memory.last_reasons if told else None,
        )
        if due["main"] or due["full"]:
            plan = found.main(len(queue) if due["full"] else int(site.settings["default_queue_depth"]))
        memory.idle = {name: idle for name, idle in memory.idle.items() if not idle.nodes & found.touched}
        if due["backfill"]:
            found.queue = [ask for ask in queue if ask.name not in plan.starts] if plan.starts else queue
            filled = found.backfill()
            plan.starts |= filled.starts
            memory.idle = filled.idle
        memory.free_now, memory.ledger = found.free_now, found.ledger.without_minutes()
        return plan


def _pass(memory: SlurmMemory, due: Mapping[str, bool], now: float, plan: PassOutcome) -> None:
    """After a pass: what was done has no news; who started is news to backfill."""
    done = {name for name, was_due in due.items() if was_due}
    main = bool(done & {"main", "full"})
    whole = due["full"] or len(memory.queue) <= memory.site.settings["default_queue_depth"]
    news = memory.news - done - ({"main", "full"} if main and whole else set())
    memory.main_s = now if main else memory.main_s
    memory.full_s = now if main and whole else memory.full_s
    memory.backfill_s = now if due["backfill"] else memory.backfill_s
    memory.news = frozenset(news | (PASSES - done if plan.starts else set()))
    if plan.starts:
        asks = [memory.site.asks[name] for name in plan.starts]
        started = [memory.free_now.held(ask, plan.starts[ask.name], now) for ask in asks]
        memory.held = {**memory.held, **{each.ask.name: each for each in started}}
        _leave(memory, asks)
        _run_on(memory, asks if now <= memory.calculated_s else [], 1)


def _some_can_start(memory: SlurmMemory) -> bool:
    """Whether some job that waits fits beside what runs, and no limit holds it back; else no pass starts any."""
    free_now, ledger, able = memory.free_now, memory.ledger, memory.able
    return any(
        ledger.reason(ask) is None and free_now.fits_now(ask, able[ask.kind]) for ask, _ in memory.alike.values()
    )


def _wait(memory: SlurmMemory, asks: Sequence[Ask], sign: int) -> None:
    """Some jobs more (or, -1, less) in the queue."""
    memory.alike = alike = dict(memory.alike)
    group = memory.ledger.group
    if waited := {ask.name for ask in asks}.intersection(memory.site.beside):
        memory.waited = memory.waited | waited if sign > 0 else memory.waited - waited
        asks = [ask for ask in asks if ask.name not in waited]
    for ask in asks:
        key = ask.shape, group[ask.name]
        one, jobs = alike.get(key, (ask, 0))
        alike[key] = one, jobs + sign
        if jobs + sign == 0:
            del alike[key]


def _leave(memory: SlurmMemory, asks: Sequence[Ask]) -> None:
    """Some jobs wait no more."""
    memory.queue, memory.places = [*memory.queue], [*memory.places]
    memory.priority, memory.last_reasons = dict(memory.priority), dict(memory.last_reasons)
    _wait(memory, asks, -1)
    for ask in asks:
        at = bisect_left(memory.places, queue_place(memory.priority[ask.name], memory.stand[ask.name]))
        del memory.queue[at], memory.places[at]
        del memory.priority[ask.name]
        memory.last_reasons.pop(ask.name, None)


def _change(memory: SlurmMemory, started: Sequence[RunningJob], ended: Sequence[RunningJob] = ()) -> None:
    """What runs after some have started and ended."""
    held, free_now, ledger, touched = dict(memory.held), memory.free_now.copy(), memory.ledger.copy(), 0
    for each in ended:
        del held[each.ask.name]
        free_now.change(each.ask, each.gpus, 1)
        ledger.count(each.ask, each.gpus, -1)
        touched |= each.nodes
    for each in started:
        held[each.ask.name] = each
        free_now.change(each.ask, each.gpus, -1)
        ledger.count(each.ask, each.gpus, 1)
        touched |= each.nodes
    memory.held, memory.free_now, memory.ledger = held, free_now, ledger
    _run_on(memory, [each.ask for each in ended if each.since_s <= memory.calculated_s], -1)
    _run_on(memory, [each.ask for each in started if each.since_s <= memory.calculated_s], 1)
    memory.idle = {name: idle for name, idle in memory.idle.items() if not idle.nodes & touched}


def _due_s(memory: SlurmMemory) -> dict[str, float]:
    """From when on each pass may be made, if it has news; infinite of those that do not run."""
    site, settings = memory.site, memory.site.settings
    return {
        "main": memory.main_s + settings["batch_sched_delay"] if site.schedules else math.inf,
        "full": memory.full_s + settings["sched_interval"] if site.schedules else math.inf,
        "backfill": memory.backfill_s + settings["bf_interval"] if site.backfills else math.inf,
    }


def _next(memory: SlurmMemory, now: float) -> float | None:
    """When something may be done although nothing happens: a pass that has news, new priorities, a reservation's begin
    or end, a turn of a job beside the scenario's."""
    times = [memory.calculate_s, *(at_s for at_s, *_ in memory.site.turns[memory.turn : memory.turn + 1])]
    times += [at_s for each in memory.site.reservations for at_s in each.edges_s]
    times += [at_s for name, at_s in _due_s(memory).items() if name in memory.news]
    return min((at_s for at_s in times if at_s > now), default=None)


def _quiet(memory: SlurmMemory) -> float:
    """Before when no pass is made whatever comes or ends, nor anything else that depends on it."""
    edges = [at_s for each in memory.site.reservations for at_s in each.edges_s if at_s > memory.last_s]
    return min(*_due_s(memory).values(), *edges, memory.calculate_s)


def _count(snapshot: Snapshot, memory: SlurmMemory, phase_s: float) -> bool:
    """Count what ran since; at each PriorityCalcPeriod usage and shares anew (then True): news, as is a reservation."""
    now, site, ran = snapshot.now_s, memory.site, memory.ran
    if site.reservations and any(memory.last_s < at_s <= now for each in site.reservations for at_s in each.edges_s):
        memory.news = PASSES
    began = list[RunningJob]()
    ended = [memory.held[name] for name in snapshot.finished if name in memory.held]
    if snapshot.ended or memory.up is None or snapshot.cause in CHANGED:  # not by us, or by a fault
        holds = {**snapshot.leases, **snapshot.ended}
        ended = [each for name, each in memory.held.items() if name not in holds and name not in site.beside]
        began = [_began(snapshot, memory, lease) for unit, lease in holds.items() if unit not in memory.held]
    if ended:
        ran = dict(ran)
        for each in ended:
            name = each.ask.name
            ran[name] = ran.get(name, 0.0) + _used_s(memory, each, snapshot.finished.get(name, now))
    if began or ended:
        _change(memory, began, ended)
    memory.ran, memory.last_s = ran, now
    if now < memory.calculate_s:
        return False
    period, first = site.settings["PriorityCalcPeriod"], memory.calculated_s == -math.inf
    due_s = now if first else memory.calculate_s + period * ((now - memory.calculate_s) // period)
    part = phase_s / max(site.settings["bf_interval"], 1.0) % 1.0 if first else 0.0
    memory.calculate_s = due_s + period * (part or 1.0)
    new = [*takewhile(lambda each: each.since_s > memory.calculated_s, reversed(memory.held.values()))]
    since_s = max(memory.calculated_s, 0.0)
    held = [(site.asks[name], span_s) for name, span_s in ran.items()]
    held += [(each.ask, due_s - max(each.since_s, since_s)) for each in reversed(new) if each.since_s < due_s]
    whole = {who: uses for who, (_, uses) in memory.steady.items()}
    memory.usage = decayed(site, memory.usage, held, due_s - since_s, whole)
    memory.fair = fair_shares(site, memory.usage)
    memory.ran, memory.priority = {}, {}
    _run_on(memory, [each.ask for each in new if each.since_s <= due_s], 1)
    memory.calculated_s, memory.news = due_s, PASSES
    return True


def _used_s(memory: SlurmMemory, job: RunningJob, end_s: float) -> float:
    """Seconds since the last PriorityCalcPeriod, or the begin, of a job that ended: till then, or (`counts_ends`) till
    the last one before, also where no call fell on it."""
    due_s, period = memory.calculate_s, memory.site.settings["PriorityCalcPeriod"]
    if not memory.site.counts_ends and due_s > -math.inf:
        end_s = due_s + period * ((end_s - due_s) // period)
    return max(end_s - max(job.since_s, memory.calculated_s, 0.0), 0.0)


def _run_on(memory: SlurmMemory, asks: Sequence[Ask], sign: int) -> None:
    """Some jobs more (or, -1, less) of those that run since before priorities were calculated."""
    steady = dict(memory.steady) if asks else memory.steady
    for ask in asks:
        jobs, uses = steady.get(ask.who, (0, 0.0))
        steady[ask.who] = jobs + sign, uses + sign * ask.uses
        if jobs + sign == 0:
            del steady[ask.who]
    memory.steady = steady


def _waiting(
    snapshot: Snapshot, memory: SlurmMemory, since_s: float, turned: Sequence[Ask]
) -> tuple[list[Ask], dict[str, Reason]]:
    """The jobs that may be planned and are not in the queue yet, and why others that wait may not; where nodes or jobs
    have changed otherwise than by arrivals and by what was decided, the queue is made anew of all. turned: `_turn`."""
    site, jobs = memory.site, snapshot.jobs.now
    new = len(jobs)
    while new and jobs[new - 1].arrival_s > since_s:
        new -= 1
    changed = snapshot.cause in CHANGED or memory.up is None
    if len(memory.held) == memory.elsewhere:  # nodes change also while no job is there
        changed = changed or not np.array_equal(memory.up, snapshot.nodes.up)  # type: ignore[arg-type]
    held = len(memory.held) - memory.elsewhere
    if changed or len(memory.queue) - len(memory.waited) + len(memory.after) != new - held:
        memory.up, memory.able, memory.after = snapshot.nodes.up.copy(), {}, ()
        memory.queue, memory.places, memory.alike = (), (), {}
        memory.free_now = memory.free_now.with_gpus(_free(snapshot))
        asks = [site.asks[jobs[row].name] for row in snapshot.jobs.waiting]
        asks += [site.asks[name] for name in sorted(memory.waited)]
    else:
        asks = [*memory.after, *(site.asks[job.name] for job in jobs[new:])]
    asks += turned
    ready, held_up, reasons = list[Ask](), list[Ask](), dict[str, Reason]()
    for ask in asks:
        waits = [f"{job} ({kind})" for kind, job in ask.after if job not in memory.ended]
        (held_up if waits else ready).append(ask)
        if waits:
            reasons[ask.name] = Reason("Dependency", f"{listed(waits)}, on which it depends, has not ended")
    memory.after = held_up
    return ready, reasons


def _turn(memory: SlurmMemory, now: float) -> list[Ask]:
    """The jobs that come by now of those that never started in the log; others of them leave the queue, and those that
    ran elsewhere begin and end as they did."""
    site, come, leave = memory.site, dict[str, Ask](), list[Ask]()
    began, ended, ran = dict[str, RunningJob](), list[RunningJob](), dict(memory.ran)
    while memory.turn < len(site.turns) and site.turns[memory.turn][0] <= now:
        at_s, leaves, name = site.turns[memory.turn]
        memory.turn, ask = memory.turn + 1, site.asks[name]
        if ask.ran and leaves:
            held = began.pop(name, None) or memory.held[name]
            ended += [held] if name in memory.held else []
            ran[name] = _used_s(memory, held, at_s)
        elif ask.ran:
            began[name] = memory.free_now.held(ask, {}, at_s)
        elif not leaves:
            come[name] = ask
        elif come.pop(name, None) is None and name in memory.waited:
            leave.append(ask)
    if leave or ended:  # who comes of these never starts
        memory.news = PASSES
        _leave(memory, leave)
    memory.ran = ran  # also of who began and ended since the last call
    if began or ended:
        memory.elsewhere += len(began) - len(ended)
        _change(memory, [*began.values()], ended)
    return [*come.values()]


def _line_up(
    snapshot: Snapshot, memory: SlurmMemory, came: Sequence[Ask], calculated: bool
) -> dict[str, Mapping[str, float]]:
    """Put those that came into the queue, by a priority of the last PriorityCalcPeriod; after one all anew. What is
    recorded of it."""
    if not came and not (calculated and memory.queue):
        return {}
    site, known = memory.site, memory.priority
    _wait(memory, came, 1)
    new = sorted((*memory.queue, *came), key=COMES) if calculated else [ask for ask in came if ask.name not in known]
    found = priorities(site, new, memory.fair, memory.calculated_s, memory.stand)
    memory.priority = priority = {**known, **found}
    stand = memory.stand
    at_place = {queue_place(priority[ask.name], stand[ask.name]): ask for ask in (new if calculated else came)}
    places = sorted(at_place)
    if calculated or not memory.queue:
        memory.places, memory.queue = places, [at_place[each] for each in places]
    else:
        memory.places, memory.queue = [*memory.places], [*memory.queue]
        for each in places:
            ask = at_place[each]
            at = bisect_left(memory.places, each)
            memory.places.insert(at, each)
            memory.queue.insert(at, ask)
    told = {name: value for name, value in priority.items() if name not in site.beside} if memory.waited else priority
    return {"priority": told} if new else {}


def _began(snapshot: Snapshot, memory: SlurmMemory, lease: Assignment) -> RunningJob:
    """What a job holds that ran when the scenario began."""
    at, name = snapshot.nodes.at, str(lease.unit)
    row = snapshot.jobs.at[name]
    ran_s = float(snapshot.jobs.attained_s[row] / snapshot.jobs.gpus[row])
    return memory.free_now.held(
        memory.site.asks[name], {at[node]: n for node, n in lease.gpus.items()}, snapshot.now_s - ran_s
    )


def _never(snapshot: Snapshot, memory: SlurmMemory, came: Sequence[Ask]) -> dict[str, Reason]:
    """New jobs that could not start on an empty site with all nodes up, or follow (afterok) one that failed in the log,
    those whose reservation is over, and why; who waits for them does no more. Also notes where jobs of kinds that are
    new can run, and may now."""
    site, found = memory.site, dict[str, Reason]()
    if not came and not site.reservations:
        return found
    _note_kinds(snapshot, memory, came)
    if site.reservations:
        ends = {each.name: each.end_s for each in sorted(site.reservations, key=lambda each: each.end_s)}  # the last's
        for ask in (*memory.queue, *came):
            if ask.reservation and snapshot.now_s + ask.limit_s > ends[ask.reservation]:
                text = f"its reservation {ask.reservation} ends before it could by its limit"
                found[ask.name] = Reason("Reservation", text)
    new = [ask for ask in came if ask.name not in found and ask.name not in memory.priority]
    _note_fitting(snapshot, memory, new)
    for ask in new:
        lost = [job for kind, job in ask.after if kind == "afterok" and job in site.failed and not ask.ran]
        if lost:
            text = f"{listed(lost)}, after whose success it may start, had none"
            found[ask.name] = Reason("DependencyNeverSatisfied", text)
        elif ask.beyond:
            found[ask.name] = beyond(ask, site.partitions[ask.partition])
        elif reason := memory.ledger.never(ask):
            found[ask.name] = reason
        elif not ask.reservation and not memory.fitting[ask.shape]:
            where = f" of partition {ask.partition} that are large enough for it" if ask.partition else ""
            found[ask.name] = Reason("BadConstraints", f"no nodes{where}, {ITS_TYPES}")
    if over := site.before.intersection(found):
        memory.ended |= over
    return found


def _note_fitting(snapshot: Snapshot, memory: SlurmMemory, came: Sequence[Ask]) -> None:
    """Note whether jobs of shapes that are new have room on an empty site with all nodes up."""
    new = {ask.shape: ask for ask in came if ask.shape not in memory.fitting}
    if not new:
        return
    nodes, free_now, fitting = snapshot.nodes, memory.whole.with_gpus(snapshot.nodes.gpus), dict(memory.fitting)
    for shape, ask in new.items():
        may = np.array(memory.runs[ask.kind])[nodes.kind] & memory.site.machines_of(ask.kind[2])[free_now.machine]
        fitting[shape] = free_now.fits_now(ask, bits(may[[*free_now.order]][None])[0])
    memory.fitting = fitting


def _note_kinds(snapshot: Snapshot, memory: SlurmMemory, came: Sequence[Ask]) -> None:
    """Note the types on which jobs of kinds that are new can run, and the nodes where they may now."""
    new = {ask.kind: ask for ask in came if ask.kind not in memory.able}
    if not new:
        return
    nodes, free_now = snapshot.nodes, memory.free_now
    if not memory.runs.keys() >= new.keys():
        at, speeds, beside = snapshot.jobs.at, snapshot.belief.speeds(snapshot.jobs), memory.site.beside
        types = [name.lower() for name in snapshot.types]
        runs = {
            kind: tuple(
                [each in beside[ask.name] for each in types]
                if ask.name in beside
                else (speeds[at[ask.name]] > 0).tolist()
            )
            for kind, ask in new.items()
        }
        memory.runs = {**memory.runs, **runs}
    able = {}
    for kind in new:
        may = np.array(memory.runs[kind])[nodes.kind] & nodes.up & memory.site.machines_of(kind[2])[free_now.machine]
        able[kind] = bits(may[[*free_now.order]][None])[0]
    memory.able = {**memory.able, **able}


def _free(snapshot: Snapshot) -> IntArray:
    """GPUs free on each node, without those of leases that end now: jobs run to their end."""
    free = snapshot.nodes.free.copy()
    at = snapshot.nodes.at
    for lease in snapshot.ended.values():
        for node, count in lease.gpus.items():
            free[at[node]] -= count
    return free


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
ITS_TYPES = "of the types on which it can run"
HELD_BY = {"Dependency": "a dependency", "JobArrayTaskLimit": "its array's throttle", "Reservation": "a reservation"}
LIMITS = ("QOSMax", "QOSGrp", "AssocMax", "AssocGrp", "PerAccount")

ROOM = Room(name="slurm", title="Slurm", schedulers=(Slurm(),), explanations={"slurm": _explain})
