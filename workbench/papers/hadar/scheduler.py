"""Hadar (Algorithm 1): in each round the dual subroutine decides on the jobs of the queue.

The queue is in the order of arrival. It is every unfinished job: one that gets other GPUs than it has pays for a
restart, which its payoff counts. Algorithm 1 decides in every round (`reschedule=all`), section IV, Scalability, on
"solely newly incoming jobs, if no preemption exists", and 30 % of the rounds change an allocation. Read together (ours,
`on_change`): all jobs are decided on in rounds before which a job came or ended, a node changed, or speeds that are
believed did (with a belief that learns from what is measured), else all go on. With `waiting` a running job keeps its
GPUs until it is done and only the jobs that wait are decided on: much faster, but a job that began on slow GPUs stays
there.

A job that is not worth the price of any GPUs waits (Algorithm 2). If GPUs are left over then, `idle_gpus=fill` (ours)
gives them to waiting jobs at no price: Hadar leaves as few GPUs idle as YARN-CS does (Fig. 3).

Recorded for every job of the queue: `utility` and `payoff` of what it got (of its best option at the prices of the
round's start, if it got nothing and has one). `price of <type>` is what a GPU of the type costs per round once the
round is decided, the same for all jobs: recorded with the first one of the queue (`charts.prices`). `solution` is the
sum of payoffs of the jobs that got real servers at a price and how far it may be from the best
(`RoundAllocation.solution`). A round of too many states is decided by the linear programme at the prices of its start,
whatever `prices` says: the reasons of its jobs say so, and its answer is feasible, not optimal.

HadarE (section V): every job is forked into copies that train on several nodes at once, in rounds. In every round
1. the Job Tracker hears what the copies of the last round have done, and sums it (`aggregate`);
2. nodes are given to copies: at most `forks` copies of a job, at most one of them on a node, each holding the smaller
   of the job's gang and the node's GPUs (`choose`);
3. in what is believed to be the last round the fastest nodes finish up (`finishing`);
4. the job's steps left are split among its copies (`split`). A copy that is done early waits, and at the end of the
   slot several copies of a job are consolidated.

A copy keeps its number while it stays on its node: going on there costs no restart. Jobs that arrive within a slot wait
for the next one. A copy whose portion would be no whole step is not started; its node goes to another one.

(ours): a job that no node can run a copy of, since its gang is larger than every node and its speed on fewer GPUs is
not known, is not forked. Such jobs get their GPUs before the copies (`unforked`).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray, fixed
from workbench.base.errors import InputError, Words, counted
from workbench.baselines.mechanisms.restarts import Restarts
from workbench.baselines.mechanisms.rounds import ROUND_S
from workbench.papers.hadar.algorithms.dual_subroutine import (
    ChosenOption,
    RoundAllocation,
    allocate,
    give_back,
    keep_gpus,
)
from workbench.papers.hadar.algorithms.forking import CopyPlan, copy_ids, plan_copies, register, unforked
from workbench.papers.hadar.algorithms.selection import Knapsack, Selection
from workbench.papers.hadar.algorithms.tracker import CopyWork, Tracker, aggregate
from workbench.papers.hadar.formulations.offline import REQUIRE_ALL, Offline
from workbench.papers.hadar.formulations.round import RoundInstance
from workbench.papers.hadar.formulations.utility import READS
from workbench.papers.hadar.instance import ROUNDING_SLOTS, CopyInstance, HadarQueue, require_time
from workbench.papers.hadar.knobs import (
    COPY_PAYOFF,
    COPY_UTILITY,
    DISPATCH,
    FORKS,
    IDLE_GPUS,
    LAST_ROUND,
    MAX_JOB_COUNT,
    METHOD,
    OVERHEAD_S,
    PRICES,
    RESCHEDULE,
    ROUND_KNOBS,
    SPLIT,
    HadarRules,
)
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import NO_EXACT, ExactProblem, Formulation, Knobs, Memory, Route, Scheduler, Timing
from workbench.scheduling.decision import Assignment, Decision, PerJob, Reason, Unit, is_copy
from workbench.scheduling.knob import Value
from workbench.scheduling.placement import FreeGpus, Gpus
from workbench.scheduling.snapshot import LearningBelief, Snapshot
from workbench.scheduling.solvers import KEPT
from workbench.simulation.schema import PRICE_OF

NAME = "hadar"


class Hadar(Scheduler):
    """Jobs whose utility is worth the price of their GPUs run."""

    name = NAME
    title = "Hadar"
    knobs = (*ROUND_KNOBS, PRICES, METHOD, RESCHEDULE, IDLE_GPUS)
    uses = frozenset({"arrival_s", "steps", "gpus", "weight", "rewards"})
    formulation = "hadar.round"
    pays: Mapping[str, float] = {}
    """By job, the part of the prices that it pays, to ask what that would change; all of them where nothing is said."""
    ways = frozenset({PRICES.name, METHOD.name})

    def route(self, knobs: Knobs) -> Route:
        if self.instead is not None:
            return super().route(knobs)
        return Route("algorithm", "hadar.offline", "Algorithm 2 chooses the jobs of each round by price and payoff")

    def exact(self, snapshot: Snapshot, knobs: Knobs, end_s: float) -> ExactProblem:
        """P1 as printed, so that every job completes, with a round for a slot; (ours) in half as many slots again as
        the run took, as the plan that ends last is not always the worst."""
        slot_s = float(knobs["round_s"])
        slots = max(1, math.ceil(1.5 * end_s / slot_s))
        formulation = Offline()
        asked = {"slot_s": slot_s, "slots": slots, "utility": knobs["utility"], REQUIRE_ALL.name: True}
        settled = formulation.settle(asked)
        data = formulation.data(snapshot, settled)

        def worth(finish_s: FloatArray) -> float:
            if np.isnan(finish_s).any():
                return math.nan
            slot = np.maximum(np.ceil(finish_s / slot_s - ROUNDING_SLOTS).astype(np.int64) - 1, 0)
            return float(data.utility[np.arange(len(slot)), slot].sum())

        without = f"costs of restarts and of gangs on several servers, and plans of more than {slots} slots"
        relative = knobs["utility"] != "neg_jct"
        if not relative:
            without += (
                f"; utility here is {slots + 1} slots less a job's slots from arrival to completion; Algorithm 2 "
                "begins with another number of slots: compare differences between utilities, not utilities"
            )
        counted = "utility of all jobs together"
        return ExactProblem(
            formulation, data, settled, worth, lambda found: list(found.values["plan"]), counted, without, relative
        )

    def about(self, knobs: Knobs) -> frozenset[str]:
        """Weights and rewards only where the utility reads them."""
        return self.uses - (set(READS.values()) - {READS.get(knobs["utility"])})

    def charging(self, job: str, part: float) -> Hadar:
        found = copy.copy(self)
        found.pays = {job: part}
        return found

    def queue(self, snapshot: Snapshot, rows: list[int], knobs: Knobs, restart_s: Mapping[int, float]) -> HadarQueue:
        """The jobs in some rows, and what part of the prices they pay."""
        found = HadarQueue.from_snapshot(snapshot, rows, HadarRules.of(knobs), restart_s)
        return replace(
            found, pays={found.view.at[job]: part for job, part in self.pays.items() if job in found.view.at}
        )

    def timing(self, knobs: Knobs) -> Timing:
        return Timing(round_s=knobs["round_s"])

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        """What a restart costs by the size of the gang. Raises InputError for a horizon that is too short."""
        models, gangs = [job.model for job in scenario.jobs], [job.gpus for job in scenario.jobs]
        speeds = [scenario.table.matrix(models, gangs, placement) for placement in ("consolidated", "unconsolidated")]
        require_time(scenario.jobs, np.maximum(*speeds).max(axis=1, initial=0.0), HadarRules.of(knobs))
        return HadarMemory(Restarts.of(scenario))

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        restart_s = memory.restarts.by_gang
        if knobs["reschedule"] == "waiting":
            return _waiting(snapshot, restart_s, knobs, self), memory
        if memory.last is not None and memory.last.holds(snapshot):
            return Decision(solved=KEPT), memory  # all go on
        decision, gets = _all(snapshot, restart_s, knobs, self)
        if knobs["reschedule"] == "all" or not gets:
            return decision, replace(memory, last=None)
        if isinstance(snapshot.belief, LearningBelief):  # speeds may change in any round: ask again, and look
            return decision, replace(memory, last=Basis.of(snapshot, gets))
        return replace(decision, next_s=math.inf), memory


def _waiting(snapshot: Snapshot, restart_s: Mapping[int, float], knobs: Knobs, asked: Hadar) -> Decision:
    """Decide on the jobs without GPUs; the others keep theirs."""
    free_gpus = FreeGpus(snapshot.nodes)
    kept = {unit: lease.gpus for unit, lease in snapshot.ended.items() if keep_gpus(free_gpus, lease.gpus)}
    again = tuple(Assignment(unit, gpus, math.inf) for unit, gpus in kept.items())
    rows = [row for row, name in enumerate(snapshot.jobs.names) if name not in snapshot.leases and name not in kept]
    if not rows or not any(free_gpus.free):
        return Decision(assign=again, solved=KEPT, next_s=math.inf)
    queue = asked.queue(snapshot, rows, knobs, restart_s)
    found = _allocate(snapshot, queue, free_gpus, knobs, asked)
    fresh = tuple(Assignment(queue.view.names[row], chosen.gpus, math.inf) for row, chosen in found.chosen.items())
    decision = _recorded(snapshot, queue, found, (*again, *fresh))
    if fresh or np.isfinite(found.best).any():
        return decision
    return replace(decision, next_s=math.inf)  # nobody fits until a job comes or ends, or a node changes


def _all(
    snapshot: Snapshot, restart_s: Mapping[int, float], knobs: Knobs, asked: Hadar
) -> tuple[Decision, dict[str, Gpus]]:
    """Decide on all jobs; who gets other GPUs than it has, or none, loses its own. Also the GPUs of each job then.

    Who runs on a drained node goes on: nobody else could have its GPUs.
    """
    down = snapshot.nodes.down
    drained = {str(unit): lease.gpus for unit, lease in snapshot.leases.items() if not down.isdisjoint(lease.gpus)}
    leases = {unit: lease.gpus for unit, lease in snapshot.leases.items() if unit not in drained}
    held = {str(unit): lease.gpus for unit, lease in (*snapshot.leases.items(), *snapshot.ended.items())}
    free_gpus = FreeGpus(snapshot.nodes)
    for gpus in leases.values():
        give_back(free_gpus, gpus)
    rows = [row for row, name in enumerate(snapshot.jobs.names) if name not in drained]
    if not rows:
        return Decision(solved=KEPT), drained
    queue = asked.queue(snapshot, rows, knobs, restart_s)
    found = _allocate(snapshot, queue, free_gpus, knobs, asked, held)
    gets = {queue.view.names[row]: chosen.gpus for row, chosen in found.chosen.items()}
    stays = {unit for unit, gpus in leases.items() if gets.get(str(unit)) == gpus}
    fresh = tuple(Assignment(name, gpus, math.inf) for name, gpus in gets.items() if name not in stays)
    return _recorded(snapshot, queue, found, fresh, frozenset(leases) - stays), gets | drained


def _allocate(
    snapshot: Snapshot,
    queue: HadarQueue,
    free_gpus: FreeGpus,
    knobs: Knobs,
    asked: Hadar,
    held: Mapping[str, Gpus] | None = None,
) -> RoundAllocation:
    fill, rules, instead = knobs["idle_gpus"] == "fill", HadarRules.of(knobs), asked.instead
    if instead is None:
        return allocate(snapshot, queue, free_gpus, rules, knobs["prices"], knobs["method"], held, fill)
    by = partial(_chosen_by, instead, instead.settle({}) | knobs, snapshot.types)
    return allocate(snapshot, queue, free_gpus, rules, "start_of_round", "auto", held, fill, by)


def _chosen_by(
    formulation: Formulation[Any], knobs: Knobs, types: tuple[str, ...], queue: HadarQueue, found: Knapsack
) -> Selection:
    """The selection of an own formulation, at the prices of the round's start."""
    assert queue.bounds is not None
    price = queue.bounds.price(queue.bounds.capacity - found.free)
    prices = {"price": dict(zip(types, price.tolist(), strict=True))}
    names, options = queue.view.names, (found.job, found.gpus, found.value)
    data = RoundInstance(types, found.free, names, *options, prices, fixed(found.charge.copy()))
    solved = formulation.run(data, knobs)
    choice = np.full(found.jobs, -1)
    for job, number in enumerate(solved.values["option"].values()):
        if number is not None:
            choice[job] = found.spans[job][number]
    payoff = np.where(choice >= 0, found.value[choice], 0.0)
    took_s, value = solved.build_s + solved.solve_s, float(payoff.sum())
    own = None if solved.objective is None or np.isclose(solved.objective, value) else solved.objective
    return Selection(choice, payoff, solved.status, solved.bound, solved.gap, took_s, "model", own)


def _recorded(
    snapshot: Snapshot,
    queue: HadarQueue,
    found: RoundAllocation,
    assign: tuple[Assignment, ...],
    preempt: frozenset[Unit] = frozenset(),
) -> Decision:
    """The decision with what it went by."""
    names = queue.view.names
    had = sorted(found.chosen)
    known = np.flatnonzero(np.isfinite(found.best) | np.isin(np.arange(len(queue)), had))
    payoff, utility = found.best.copy(), found.best_utility.copy()
    for row, chosen in found.chosen.items():
        payoff[row], utility[row] = chosen.payoff, chosen.utility
    signals: dict[str, Mapping[str, float]] = {
        "payoff": PerJob([names[row] for row in known], payoff[known]),
        "utility": PerJob([names[row] for row in known], utility[known]),
    }
    if queue.bounds is not None:
        for kind, price in zip(snapshot.types, queue.bounds.price(found.held).tolist(), strict=True):
            signals[PRICE_OF + kind] = {names[0]: price}
    return Decision(
        assign=assign,
        preempt=preempt,
        signals=signals,
        solved=found.solution,
        why={name: _reason(snapshot, queue, found, row) for row, name in enumerate(names)},
    )


def _reason(snapshot: Snapshot, queue: HadarQueue, found: RoundAllocation, row: int) -> Reason:
    """Why a job of the queue got what it got."""
    gang = int(queue.view.gpus[row])
    chosen = found.chosen.get(row)
    if chosen is not None:
        return _of_chosen(snapshot, chosen, priced_at_start=found.other_prices)
    if queue.best[row] <= 0:
        text = f"it can earn nothing, however soon it ends, and of what is left over no {counted(gang, 'GPU')} run it"
        return Reason("worth_nothing", text, {"gpus": float(gang)})
    if not np.isfinite(found.best[row]):
        text = f"no {counted(gang, 'GPU')} free on which it runs"
        return Reason("no_room", text, {"gpus": float(gang)})
    payoff = float(found.best[row])
    if payoff <= 0:
        text = f"its GPUs cost more than it is worth: a payoff of {payoff:.3g} at best"
        return Reason("payoff_not_positive", text, {"payoff": payoff})
    if found.first.choice[row] >= 0:
        text = f"its payoff, {payoff:.3g}, was chosen, but the GPUs lie on servers on which its gang has no place then"
        return Reason("no_servers", text, {"payoff": payoff})
    if found.first.method == "model":
        text = f"the answer of the model is without it; its payoff is {payoff:.3g} at the prices of the round's start"
        return Reason("outbid", text, {"payoff": payoff})
    how = " (linear programme, made whole)" if found.first.method == "lp" else ""
    text = f"the payoffs add up to more without its own, {payoff:.3g} at the prices of the round's start{how}"
    return Reason("outbid", text, {"payoff": payoff})


def _of_chosen(snapshot: Snapshot, chosen: ChosenOption, *, priced_at_start: bool) -> Reason:
    kinds = dict(zip(snapshot.nodes.names, snapshot.nodes.kind.tolist(), strict=True))
    counts: dict[str, int] = {}
    for node, count in chosen.gpus.items():
        kind = snapshot.types[kinds[node]]
        counts[kind] = counts.get(kind, 0) + count
    where = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    servers = counted(len(chosen.gpus), "server")
    if chosen.left_over:
        why = (
            "its GPUs would cost more than it is worth"
            if chosen.utility > 0
            else "it can earn nothing, however soon it ends"
        )
        return Reason("left_over", f"{why}; {where} were left over", {"servers": len(chosen.gpus)})
    numbers = {"payoff": chosen.payoff, "utility": chosen.utility, "cost": chosen.cost, "rounds": chosen.rounds}
    text = (
        f"payoff {chosen.payoff:.3g}: utility {chosen.utility:.3g} less {chosen.cost:.3g} for {where} on {servers} "
        f"over {chosen.rounds:g} round{'' if chosen.rounds == 1 else 's'}"
    )
    if priced_at_start:
        text += ", at the prices of the round's start (linear programme)"
    return Reason("stays" if chosen.stay else "positive_payoff", text, numbers)


LEFT_OVER = "left over, and no other job gains more time there"
"""Why a copy is on a node on which no payoff decided."""
SAME_SPEED = 1e-6
"""Part by which a believed speed may change and still count as the same (rounding of what was measured)."""


@dataclass(frozen=True, eq=False)
class Basis:
    """What a decision went by: another one is due when any of it has changed.

    jobs: names of the queue; held: GPUs by job, as decided; up: (nodes,) whether up; speeds: (2 x jobs x types)
    believed steps/s of consolidated and of spread gangs; own: (held,) believed steps/s on the GPUs held.
    """

    jobs: tuple[str, ...]
    held: Mapping[str, Gpus]
    up: BoolArray
    speeds: FloatArray
    own: FloatArray

    @classmethod
    def of(cls, snapshot: Snapshot, held: Mapping[str, Gpus]) -> Basis:
        """With these GPUs held."""
        jobs = snapshot.jobs
        return cls(
            jobs=jobs.names,
            held=held,
            up=snapshot.nodes.up,
            speeds=np.stack([snapshot.speeds(), snapshot.speeds("unconsolidated")]),
            own=np.array([snapshot.belief.on_nodes(jobs.jobs[jobs.at[name]], gpus) for name, gpus in held.items()]),
        )

    def holds(self, snapshot: Snapshot) -> bool:
        """Whether nothing of it has changed since."""
        leases = {str(unit): lease.gpus for unit, lease in snapshot.leases.items()}
        if snapshot.jobs.names != tuple(self.jobs) or leases != self.held or snapshot.ended:
            return False
        now = Basis.of(snapshot, {name: leases[name] for name in self.held})
        same = [np.allclose(a, b, rtol=SAME_SPEED, atol=0) for a, b in ((now.speeds, self.speeds), (now.own, self.own))]
        return bool(np.array_equal(now.up, self.up)) and all(same)


@dataclass(frozen=True, eq=False)
class HadarMemory:
    """The scheduler's memory.

    restarts: what they cost; last: what the last decision went by, None if the next one does not depend on it.
    """

    restarts: Restarts
    last: Basis | None = None


class HadarE(Scheduler):
    """Forked copies of every job on as many nodes as there are."""

    name = "hadare"
    title = "HadarE: copies of a job on several nodes"
    knobs = (FORKS, ROUND_S, OVERHEAD_S, COPY_PAYOFF, COPY_UTILITY, SPLIT, DISPATCH, LAST_ROUND, MAX_JOB_COUNT)
    uses = frozenset({"arrival_s", "steps", "gpus", "weight", "rewards"})

    def route(self, knobs: Knobs) -> Route:
        return Route(reason="copies are dealt out to the nodes of each round by their payoffs, largest first")

    def exact(self, snapshot: Snapshot, knobs: Knobs, end_s: float) -> ExactProblem:
        """None: the paper states no problem for copies, and P1 is none of them, as it holds a job to its W_j GPUs:
        two copies of one job on two nodes end it in half of the time of the best schedule of P1."""
        got = Words("copies of a job on several nodes at once, for which the paper states no problem to solve")
        expected = (
            "hadar, whose problem holds a job to its own gang, so that copies may do better than its optimum; for the "
            "bound that stands instead see Theorem 3: each node has a copy as long as there are jobs with steps left"
        )
        raise InputError(NO_EXACT.format(self.name), got, expected)

    def about(self, knobs: Knobs) -> frozenset[str]:
        """Weights and rewards only where the payoff is by a utility that reads them."""
        read = READS.get(knobs["utility"]) if knobs["payoff"] == "utility" else None
        return self.uses - (set(READS.values()) - {read})

    def settle(self, given: Mapping[str, Any]) -> dict[str, Value]:
        knobs: dict[str, Any] = super().settle(given)
        overhead_s, slot_s = knobs["overhead_s"], knobs["round_s"]
        if overhead_s >= slot_s:
            raise InputError("knob overhead_s", overhead_s, f"less than a slot, round_s ({slot_s:g} s)")
        return knobs

    def timing(self, knobs: Knobs) -> Timing:
        return Timing(knobs["round_s"])

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        names = [job.name for job in scenario.jobs]
        register(names, 1, knobs["max_job_count"])
        restart = scenario.core.restart
        most = max(job.gpus for job in scenario.jobs) if names else 0
        return Tracker(
            ids={name: parent for parent, name in enumerate(names)},
            max_job_count=knobs["max_job_count"] or max(len(names), 1),
            restart_s=(0.0, *map(restart.seconds, range(1, most + 1))) if restart.restart_s else (),
        )

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        data = CopyInstance.from_snapshot(snapshot, memory.hear(snapshot.observations), knobs)
        whole = unforked(data)
        free_gpus = data.snapshot.nodes.free.copy()
        for gpus in whole.values():
            for node, count in gpus.items():
                free_gpus[data.at[node]] -= count
        plan = plan_copies(data, free_gpus, knobs)
        assign, given = _assignments(data, plan)
        names, done = snapshot.jobs.names, aggregate(data.tracker.reports)
        decision = Decision(
            assign=(*(Assignment(name, gpus, data.until_s) for name, gpus in whole.items()), *assign),
            signals={
                "copies": {name: float(len(plan.copies.get(row, ()))) for row, name in enumerate(names)},
                "payoff": _payoffs(data, plan),
                "last_round_steps": {job: steps for job, steps in done.items() if job in snapshot.jobs.at},
            },
            why={**_without(data, free_gpus, given, whole, plan), **_reasons(data, given, whole, plan)},
        )
        return decision, data.tracker.give(given, map(str, whole), names)


def _assignments(data: CopyInstance, plan: CopyPlan) -> tuple[list[Assignment], list[CopyWork]]:
    """The copies with their numbers: the one that a copy had on that node before, else the lowest that is left."""
    before = {
        (unit[0], next(iter(lease.gpus))): unit[1] for unit, lease in data.snapshot.ended.items() if is_copy(unit)
    }
    assign, given = [], []
    for job, copies in plan.copies.items():
        name = data.snapshot.jobs.names[job]
        nodes = [data.snapshot.nodes.names[node] for node, _ in copies]
        numbers = {node: int(before[name, node]) for node in nodes if (name, node) in before}
        new = iter(sorted(set(range(1, data.forks + 1)) - set(numbers.values())))
        tail_s = data.overhead_s if len(copies) > 1 else 0.0
        for node, (at, steps) in zip(nodes, copies, strict=True):
            number = numbers[node] if node in numbers else next(new)
            gpus = int(data.need[job, at])
            assign.append(Assignment((name, number), {node: gpus}, data.until_s, steps=float(steps), tail_s=tail_s))
            given.append(CopyWork(name, number, node, gpus, steps))
    return assign, given


def _payoffs(data: CopyInstance, plan: CopyPlan) -> dict[str, float]:
    """Payoffs of each job's copies together, each at the prices when it was chosen; of a job without one, the largest
    when there was a node for it last."""
    found = {}
    for row, name in enumerate(data.snapshot.jobs.names):
        paid = [worth for node, _ in plan.copies.get(row, ()) if not math.isnan(worth := plan.payoff[row, node])]
        if paid or (row not in plan.copies and np.isfinite(plan.bid[row])):
            found[name] = sum(paid) if paid else float(plan.bid[row])
    return found


def _without(
    data: CopyInstance, free_gpus: IntArray, given: list[CopyWork], whole: Mapping[Unit, Gpus], plan: CopyPlan
) -> dict[str, Reason]:
    """Why jobs have no copy; free_gpus: (nodes,) GPUs for copies."""
    left = free_gpus.copy()
    for order in given:
        left[data.at[order.node]] -= order.gpus
    why: dict[str, Reason] = {}
    served = {*(order.job for order in given), *map(str, whole)}
    for row, name in enumerate(data.snapshot.jobs.names):
        runs = data.speed[row] > 0
        if name in served:
            continue
        if not data.forked[row]:
            text = "no node can run a copy of it, and too few GPUs are free for it to run whole"
            why[name] = Reason("no_room", text, {"gpus": float(data.snapshot.jobs.gpus[row])})
        elif not runs.any():
            why[name] = Reason("nodes_down", "the nodes on which a copy of it runs are down")
        elif (runs & (data.need[row] <= left)).any():
            why[name] = Reason("no_step", "a copy of it would do no whole step in this slot on the nodes that are free")
        elif not (runs & (data.need[row] <= free_gpus)).any():
            text = "jobs of which no node can run a copy run whole, on the nodes where a copy of it could run"
            why[name] = Reason("whole_there", text)
        else:
            text = "copies of other jobs have larger payoffs on the nodes where a copy of it could run, or came first"
            bid = f"; its own was {plan.bid[row]:.3g} when the last of these was given out"
            text += bid if np.isfinite(plan.bid[row]) else ""
            why[name] = Reason("others_there", text)
    return why


def _reasons(
    data: CopyInstance, given: list[CopyWork], whole: Mapping[Unit, Gpus], plan: CopyPlan
) -> dict[str, Reason]:
    """Why each job has what it has; the ids of its copies are as the tracker registers them."""
    why = {
        str(name): Reason(
            "unforked", "no node can run a copy of it: it runs whole", {"gpus": float(sum(gpus.values()))}
        )
        for name, gpus in whole.items()
    }
    by_job: dict[str, list[CopyWork]] = {}
    for order in given:
        by_job.setdefault(order.job, []).append(order)
    for name, those in by_job.items():
        most = data.tracker.max_job_count
        ids = copy_ids(data.tracker.ids[name], max(order.copy for order in those), most)
        worth = [plan.payoff[data.snapshot.jobs.at[name], data.at[order.node]] for order in those]
        parts = ", ".join(
            f"{order.steps:,} training steps on {order.node} ({f'payoff {of:.3g}' if of == of else LEFT_OVER})"
            for order, of in zip(those, worth, strict=True)
        )
        listed = ", ".join(str(ids[order.copy - 1]) for order in those)
        text = f"{'1 copy (id' if len(those) == 1 else f'{len(those)} copies (ids'} {listed}): {parts}"
        why[name] = Reason("forked", text, {"copies": float(len(those)), "ids": listed})
    return why
