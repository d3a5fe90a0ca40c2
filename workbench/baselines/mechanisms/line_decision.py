"""The decision of a line: who stays, starts, makes room, or moves to a faster type; `line` says who is served."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import ge
from typing import Any

import numpy as np

from workbench.base.errors import counted
from workbench.base.round_times import LONGEST_ROUND_S, ROUND_HELP
from workbench.baselines.mechanisms.line import Keys, Rule, fill, in_line, push
from workbench.baselines.mechanisms.restarts import Restarts
from workbench.baselines.mechanisms.trial import Trial
from workbench.scenario.scenario import Scenario
from workbench.scheduling import job_orders
from workbench.scheduling.contract import Knobs, Scheduler, Timing
from workbench.scheduling.decision import BLOCKED, GOES_ON, Assignment, Cause, Decision, Reason, Unit
from workbench.scheduling.knob import Knob
from workbench.scheduling.placement import FreeGpus, Gpus, Request, place, runs_spread
from workbench.scheduling.snapshot import Snapshot

ROUND_S = Knob(
    "round_s",
    360.0,
    f"{ROUND_HELP}; 0: decide at every arrival and completion",
    "s",
    minimum=0.0,
    maximum=LONGEST_ROUND_S,
    main=True,
)
_Choose = Callable[[Sequence[int], Rule, Trial], list[tuple[int, int]]]
"""(row, type) of those who get free GPUs, of the rows that wait, in line
(`workbench.baselines.mechanisms.line.fill`)."""
EVENTS: frozenset[Cause] = frozenset({"arrival", "completion", "fault", "repair"})


def aware(help: str) -> Knob:
    """The knob `heterogeneity_aware`; what it does beside choosing types differs between the lines."""
    return Knob("heterogeneity_aware", True, help, main=True)


def timing(knobs: Mapping[str, Any]) -> Timing:
    """Rounds, or every arrival, completion and change of a node."""
    return Timing(knobs["round_s"]) if knobs["round_s"] > 0 else Timing(None, EVENTS)


class InLine(Scheduler):
    """A scheduler of one line, asked in rounds or at events as its knob `round_s` says."""

    def timing(self, knobs: Knobs) -> Timing:
        return timing(knobs)


def start(scenario: Scenario, knobs: Mapping[str, Any]) -> Restarts | None:
    """The memory of a line whose jobs move if it is aware of types."""
    return Restarts.of(scenario) if knobs["heterogeneity_aware"] else None


@dataclass
class _Plan:
    """Who is to hold other GPUs than before, and the GPUs free beside all.

    given: GPUs of who had no lease beyond now, or made room and has some again; waited: rows of who waits at first or
    makes room; changes: whether leases may be changed; victims: GPUs of those who had to make room (they may be fresh
    again), by row; gone: whose leases end; fresh: those who get GPUs at their turn in line.
    """

    snapshot: Snapshot
    given: dict[Unit, Gpus]
    free_gpus: FreeGpus
    waited: Sequence[int]
    changes: bool
    victims: dict[str, Gpus] = field(default_factory=dict)
    gone: frozenset[Unit] = frozenset()
    fresh: set[str] = field(default_factory=set)

    @property
    def leases(self) -> Mapping[Unit, Assignment]:
        """Those that may be changed."""
        return self.snapshot.leases if self.changes else {}

    def held(self) -> dict[Unit, Gpus]:
        """GPUs of everybody who is to hold some."""
        return {unit: a.gpus for unit, a in self.leases.items() if unit not in self.victims} | self.given

    def waiting(self) -> Sequence[int]:
        """Rows of those who have none by the plan."""
        jobs = self.snapshot.jobs.now
        return [row for row in self.waited if jobs[row].name not in self.given] if self.given else self.waited

    def assign(self) -> tuple[Assignment, ...]:
        """To those who are to hold GPUs that they do not hold anyway."""
        back = [unit for unit in self.victims if unit not in self.gone and unit in self.leases]
        return tuple([Assignment(unit, gpus, math.inf) for unit, gpus in self.given.items() if unit not in back])


def serve(
    snapshot: Snapshot,
    keys: Keys,
    rule: Rule,
    signals: Mapping[str, Mapping[str, float]],
    restarts: Restarts | None = None,
    choose: _Choose = fill,
) -> Decision:
    """Give the line its GPUs. Assignments have no end: those who stay are not named, those who must go are preempted.

    1. A running job keeps its GPUs, unless a job before it in line fits nowhere else: then those last in line make
       room, on the first type (as that job prefers them) where that is enough. Jobs that do not fit at all are passed.
    2. With `restarts`, what they cost, jobs then move, down the line, to faster types that have GPUs left over, where
       they are done sooner with the restart paid for. Nobody makes room for that.
    3. Jobs that wait get what the movers leave, if they fit; only at the next decision does anybody make room for them.

    choose: who of those that wait gets GPUs that are free, where they do not simply go down the line.
    """
    waiting, ended = snapshot.jobs.waiting, snapshot.ended
    moves = restarts is not None and len(snapshot.types) > 1
    if not (waiting or ended or moves):
        return Decision(signals=signals, next_s=math.inf) if signals else GOES_ON
    if not (rule.preemptive or moves or ended):
        return _started(snapshot, waiting, keys, rule, signals, choose)
    staying, free_gpus = kept(snapshot)
    if ended:
        waiting = sorted({*waiting, *(snapshot.jobs.at[str(unit)] for unit in ended)})
    plan = _Plan(snapshot, staying, free_gpus, waiting, rule.preemptive or moves)
    _admit(plan, keys, rule, choose)
    moved = restarts is not None and moves and _move(plan, keys, rule, restarts.by_gang)
    return Decision(
        assign=plan.assign(),
        preempt=plan.gone,
        signals=signals,
        why=_reasons(plan),
        next_s=math.inf if (rule.steady and not moved) or not plan.waiting() else None,
    )


def _started(
    snapshot: Snapshot,
    waiting: Sequence[int],
    keys: Keys,
    rule: Rule,
    signals: Mapping[str, Mapping[str, float]],
    choose: _Choose,
) -> Decision:
    """The same where nobody can lose anything: those who wait get what is free."""
    trial = Trial(snapshot, FreeGpus(snapshot.nodes))
    chosen = choose(in_line(waiting, keys), rule, trial)
    placed = trial.placed if len(chosen) < 2 else _together(snapshot, chosen, trial, {}, anew=False)[0]
    next_s = math.inf if rule.steady or len(placed) == len(waiting) else None
    if not placed:
        if signals or next_s is None:
            return Decision(signals=signals, next_s=next_s)
        return BLOCKED if trial.blocked else GOES_ON
    types, kind_of, assign, why = snapshot.types, trial.free_gpus.kind_of, [], {}
    for unit, gpus in placed.items():
        kind = chosen[0][1] if len(chosen) == 1 else kind_of(gpus)
        assign.append(Assignment(unit, gpus, math.inf))
        why[str(unit)] = _next_in_line(sum(gpus.values()), types[kind])
    return Decision(assign=tuple(assign), signals=signals, why=why, next_s=next_s)


def _together(
    snapshot: Snapshot, chosen: Sequence[tuple[int, int]], trial: Trial, had: Mapping[str, Gpus], *, anew: bool
) -> tuple[dict[Unit, Gpus], FreeGpus]:
    """GPUs of those who were chosen, and the GPUs free beside them: placed anew together, large gangs first, if they
    did not come so (or `anew`), unless they find less than in the trial; had: GPUs of the victims."""
    gangs = [trial.jobs[row].gpus for row, _ in chosen]
    if trial.refused or not (anew or not (trial.final or all(map(ge, gangs, gangs[1:])))):
        return trial.placed, trial.free_gpus
    free_gpus = kept(snapshot)[1]
    for gpus in had.values():
        free_gpus.lend(gpus)
    jobs = {trial.jobs[row].name: trial.jobs[row] for row, _ in chosen}
    kinds = [kind for _, kind in chosen]
    requests = [*map(Request, jobs, kinds, gangs, map(had.get, jobs))]

    def runs(unit: Unit, gpus: Gpus) -> bool:
        return snapshot.belief.on_nodes(jobs[str(unit)], gpus) > 0

    placed = place(requests, free_gpus, keep_first=True, accept=runs)
    return (placed, free_gpus) if len(placed) == len(chosen) else (trial.placed, trial.free_gpus)


def kept(snapshot: Snapshot) -> tuple[dict[Unit, Gpus], FreeGpus]:
    """Who goes on where its assignment ends now, and the GPUs free beside them."""
    free_gpus = FreeGpus(snapshot.nodes)
    if not snapshot.ended:
        return {}, free_gpus
    gpus = {unit: lease.gpus for unit, lease in snapshot.ended.items()}
    return {
        unit: those
        for unit, those in gpus.items()
        if free_gpus.keep(free_gpus.kind_of(those), sum(those.values()), those)
    }, free_gpus


def _admit(plan: _Plan, keys: Keys, rule: Rule, choose: _Choose) -> None:
    """Give GPUs to those who wait, and take them from those who must make room."""
    snapshot, waiting = plan.snapshot, plan.waiting()
    if not waiting:
        return
    trial, jobs = Trial(snapshot, plan.free_gpus), snapshot.jobs.now
    pushes = rule.preemptive and len(waiting) < len(jobs)
    short = pushes and sum(jobs[row].gpus for row in waiting) > sum(trial.left)  # not all will fit
    chosen = [] if short else choose(in_line(waiting, keys), rule, trial)
    if pushes and len(chosen) < len(waiting):
        trial, held = Trial(snapshot, kept(snapshot)[1]), plan.held()
        chosen, rows = push(waiting, keys, rule, trial, held)
        plan.victims = {jobs[row].name: held[jobs[row].name] for row in rows}
        plan.given = {unit: gpus for unit, gpus in plan.given.items() if unit not in plan.victims}
        plan.waited = sorted({*plan.waited, *rows})
    had = plan.victims
    placed, plan.free_gpus = _together(snapshot, chosen, trial, had, anew=trial.free_gpus is not plan.free_gpus)
    plan.given |= placed
    plan.gone = frozenset([name for name, gpus in had.items() if placed.get(name) != gpus and name in plan.leases])
    plan.fresh.update([str(unit) for unit, gpus in placed.items() if had.get(str(unit)) != gpus])


def _move(plan: _Plan, keys: Keys, rule: Rule, restart_s: Mapping[int, float]) -> bool:
    """Move jobs to faster types, and let those who wait fill the gaps; returns whether anybody moved."""
    held, leases = plan.held(), plan.leases
    if not move_up(plan.snapshot, keys, held, plan.free_gpus, restart_s):
        return False
    trial = Trial(plan.snapshot, plan.free_gpus)
    fill(in_line(plan.waiting(), keys), rule, trial)
    held |= trial.placed
    plan.fresh.update(map(str, trial.placed))
    plan.gone = frozenset([unit for unit, lease in leases.items() if held.get(unit) != lease.gpus])
    again = plan.gone | plan.victims.keys()
    plan.given = {unit: gpus for unit, gpus in held.items() if unit not in leases or unit in again}
    return True


def _reasons(plan: _Plan) -> dict[str, Reason]:
    """Reasons for those who start, move or lose their GPUs."""
    overtaken, types = Reason("overtaken", "jobs before it in line took its GPUs"), plan.snapshot.types
    why = {name: overtaken for name in plan.victims if name in plan.gone}
    for unit, gpus in plan.given.items():
        name = str(unit)
        if name in plan.fresh:
            why[name] = _next_in_line(sum(gpus.values()), types[plan.free_gpus.kind_of(gpus)])
        elif name in plan.gone:
            kind = types[plan.free_gpus.kind_of(gpus)]
            why[name] = Reason("faster_type", f"done sooner on {kind}", {"type": kind})
    return why


@cache
def _next_in_line(gpus: int, kind: str) -> Reason:
    return Reason("next_in_line", f"next in line, {counted(gpus, 'GPU')} of {kind}", {"type": kind})


def move_up(
    snapshot: Snapshot, keys: Keys, held: dict[Unit, Gpus], free_gpus: FreeGpus, restart_s: Mapping[int, float]
) -> bool:
    """Move jobs to free GPUs of types on which they are done sooner; returns whether anybody moved.

    Down the line each job takes the type on which its believed remaining time is shortest, the `restart_s` of its gang
    included if it runs already; and again, since movers leave GPUs to others, until nobody gains. `held` and
    `free_gpus` change. This ends: a move makes one job sooner and none later.
    """
    moved = False
    while (
        len(snapshot.types) > 1
        and any(free_gpus.free)
        and _Offer(snapshot, held, free_gpus, restart_s).down_the_line(keys)
    ):
        moved = True
    return moved


class _Offer:
    """The GPUs left over, offered once to everybody who holds some.

    rows: of the jobs, ascending; left: free GPUs per type. By job: most_s, seconds in which it must be done elsewhere
    to gain; restart_s that it loses by moving; go_s (jobs x types), believed seconds until it is done if it moves, as
    if on the fewest nodes.
    """

    def __init__(
        self, snapshot: Snapshot, held: dict[Unit, Gpus], free_gpus: FreeGpus, restart_s: Mapping[int, float]
    ) -> None:
        self.snapshot, self.held, self.free_gpus = snapshot, held, free_gpus
        self.left = free_gpus.left(len(snapshot.types))
        self.rows = np.array(sorted(snapshot.jobs.at[str(unit)] for unit in held), dtype=np.int64)
        self.jobs = jobs = job_orders.take(snapshot.jobs, self.rows)
        gpus = [held[name] for name in jobs.names]
        speed = snapshot.belief.speeds(jobs)
        here = speed[np.arange(len(gpus)), [free_gpus.kind_of(those) for those in gpus]]
        for spot, those in enumerate(gpus):
            if len(those) > 1:
                here[spot] = snapshot.belief.on_nodes(jobs.jobs[spot], those)
        has = {**snapshot.leases, **snapshot.ended}
        runs = [name in has and has[name].gpus == those for name, those in zip(jobs.names, gpus, strict=True)]
        costs = [restart_s[gang] if on else 0.0 for gang, on in zip(jobs.gpus.tolist(), runs, strict=True)]
        stay_s = job_orders.seconds(jobs.steps_left, here)
        self.restart_s = np.array(costs)
        self.most_s = stay_s - job_orders.TOLERANCE * np.where(stay_s < np.inf, np.maximum(1.0, stay_s), 0.0)
        self.go_s = job_orders.seconds(jobs.steps_left[:, None], speed) + self.restart_s[:, None]

    def down_the_line(self, keys: Keys) -> bool:
        """Let everybody take what suits best; returns whether anybody took something."""
        gains = (self.jobs.gpus[:, None] <= np.array(self.left)) & (self.go_s < self.most_s[:, None])
        gainers = np.flatnonzero(gains.any(axis=1))
        spot_of = dict(zip(self.rows[gainers].tolist(), gainers.tolist(), strict=True))
        ranked = dict(zip(spot_of, np.argsort(self.go_s[gainers], axis=1, kind="stable").tolist(), strict=True))
        moved = False
        for row in in_line(list(spot_of), keys):
            spot = spot_of[row]
            moved |= any(gains[spot, kind] and self._move(spot, kind) for kind in ranked[row])
        return moved

    def _move(self, spot: int, kind: int) -> bool:
        """Move a job to a type, unless too few GPUs are left or it does not gain on those nodes that have them."""
        name, gang = self.jobs.names[spot], int(self.jobs.gpus[spot])
        if self.left[kind] < gang:
            return False
        found = place([Request(name, kind, gang)], self.free_gpus, accept=runs_spread(self.snapshot)).get(name)
        if found is None:
            return False
        if len(found) > 1:
            speed = self.snapshot.belief.on_nodes(self.jobs.jobs[spot], found)
            if self.restart_s[spot] + self.jobs.steps_left[spot] / speed >= self.most_s[spot]:
                self.free_gpus.give_back(kind, found)
                return False
        before, self.held[name] = self.held[name], found
        self.left[self.free_gpus.kind_of(before)] += self.free_gpus.lend(before)
        self.left[kind] -= gang
        return True
