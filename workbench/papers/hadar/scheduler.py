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

Recorded for every job of the queue: `utility` and `payoff` of what it got (payoff: of its best option at the prices of
the round's start, if it got nothing and has one). `price of <type>` is what a GPU of the type costs per round once the
round is decided, the same for all jobs: recorded with the first one of the queue (`charts.prices`). `solution` is the
sum of payoffs of the jobs that got real servers at a price and how far it may be from the best (`Allocation.solution`).
A round of too many states is decided by the linear programme at the prices of its start, whatever `prices` says: the
reasons of its jobs say so, and its answer is feasible, not optimal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from workbench.base.errors import counted
from workbench.baselines.mechanisms.per_job import PerJob
from workbench.baselines.mechanisms.restarts import Restarts
from workbench.papers.hadar import placing
from workbench.papers.hadar.dual_subroutine import Allocation, Chosen, allocate
from workbench.papers.hadar.known import Basis, Known
from workbench.papers.hadar.queued import Queue, gather, require_time
from workbench.papers.hadar.rules import IDLE_GPUS, KNOBS, Rules
from workbench.papers.hadar.utility import READS
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Memory, Scheduler, Timing
from workbench.scheduling.decision import Assignment, Decision, Learns, Reason, Snapshot, Unit
from workbench.scheduling.knob import Knob
from workbench.scheduling.placement import FreeGpus, Gpus
from workbench.simulation.schema import PRICE_OF

NAME = "hadar"
PRICES = Knob(
    "prices",
    "within_round",
    "Prices rise with every job taken in a round (jobs in the order of arrival), or are those of its start. A round "
    "decided by the linear programme has those of its start",
    "",
    "paper",
    kind="str",
    choices=("within_round", "start_of_round"),
)
METHOD = Knob(
    "method",
    "auto",
    "How a round is decided: exactly by dynamic programming over free GPUs, by the linear programme made whole, or by "
    "the first unless the round has too many states for it",
    kind="str",
    choices=("auto", "dp", "lp"),
)
RESCHEDULE = Knob(
    "reschedule",
    "on_change",
    "Who is decided on in a round: all jobs if one came or ended, or a node or a believed speed changed since the last "
    "one; all jobs in any case; or only those that wait, while the others keep their GPUs until they are done",
    "",
    "paper",
    kind="str",
    choices=("on_change", "all", "waiting"),
    main=True,
)


class Hadar(Scheduler):
    """Jobs whose utility is worth the price of their GPUs run."""

    name = NAME
    title = "Hadar"
    knobs = (*KNOBS, PRICES, METHOD, RESCHEDULE, IDLE_GPUS)
    uses = frozenset({"arrival_s", "steps", "gpus", "weight", "rewards"})

    def about(self, knobs: Knobs) -> frozenset[str]:
        """Weights and rewards only where the utility reads them."""
        return self.uses - (set(READS.values()) - {READS.get(knobs["utility"])})

    def timing(self, knobs: Knobs) -> Timing:
        return Timing(round_s=knobs["round_s"])

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        """What a restart costs by the size of the gang. Raises InputError for a horizon that is too short."""
        models, gangs = [job.model for job in scenario.jobs], [job.gpus for job in scenario.jobs]
        speeds = [scenario.table.matrix(models, gangs, placement) for placement in ("consolidated", "unconsolidated")]
        require_time(scenario.jobs, np.maximum(*speeds).max(axis=1, initial=0.0), Rules.of(knobs))
        return Known(Restarts.of(scenario))

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        restart_s = memory.restarts.by_gang
        if knobs["reschedule"] == "waiting":
            return _waiting(snapshot, restart_s, knobs), memory
        if memory.last is not None and memory.last.holds(snapshot):
            return Decision(), memory  # all go on
        decision, gets = _all(snapshot, restart_s, knobs)
        if knobs["reschedule"] == "all" or not gets:
            return decision, replace(memory, last=None)
        if isinstance(snapshot.belief, Learns):  # speeds may change in any round: ask again, and look
            return decision, replace(memory, last=Basis.of(snapshot, gets))
        return replace(decision, next_s=math.inf), memory


def _waiting(snapshot: Snapshot, restart_s: Mapping[int, float], knobs: Knobs) -> Decision:
    """Decide on the jobs without GPUs; the others keep theirs."""
    room = FreeGpus(snapshot.nodes)
    kept = {unit: lease.gpus for unit, lease in snapshot.ended.items() if placing.keep(room, lease.gpus)}
    again = tuple(Assignment(unit, gpus, math.inf) for unit, gpus in kept.items())
    rows = [row for row, name in enumerate(snapshot.jobs.names) if name not in snapshot.leases and name not in kept]
    if not rows or not any(room.free):
        return Decision(assign=again, next_s=math.inf)
    queue = gather(snapshot, rows, Rules.of(knobs), restart_s)
    found = _allocate(snapshot, queue, room, knobs)
    fresh = tuple(Assignment(queue.view.names[row], chosen.gpus, math.inf) for row, chosen in found.chosen.items())
    decision = _recorded(snapshot, queue, found, (*again, *fresh))
    if fresh or np.isfinite(found.best).any():
        return decision
    return replace(decision, next_s=math.inf)  # nobody fits until a job comes or ends, or a node changes


def _all(snapshot: Snapshot, restart_s: Mapping[int, float], knobs: Knobs) -> tuple[Decision, dict[str, Gpus]]:
    """Decide on all jobs; who gets other GPUs than it has, or none, loses its own. Also the GPUs of each job then."""
    leases = {unit: lease.gpus for unit, lease in snapshot.leases.items()}
    held = {str(unit): lease.gpus for unit, lease in (*snapshot.leases.items(), *snapshot.ended.items())}
    room = FreeGpus(snapshot.nodes)
    for gpus in leases.values():
        placing.give_back(room, gpus)
    queue = gather(snapshot, list(range(len(snapshot.jobs))), Rules.of(knobs), restart_s)
    found = _allocate(snapshot, queue, room, knobs, held)
    gets = {queue.view.names[row]: chosen.gpus for row, chosen in found.chosen.items()}
    stays = {unit for unit, gpus in leases.items() if gets.get(str(unit)) == gpus}
    fresh = tuple(Assignment(name, gpus, math.inf) for name, gpus in gets.items() if name not in stays)
    return _recorded(snapshot, queue, found, fresh, frozenset(leases) - stays), gets


def _allocate(
    snapshot: Snapshot, queue: Queue, room: FreeGpus, knobs: Knobs, held: Mapping[str, Gpus] | None = None
) -> Allocation:
    fill = knobs["idle_gpus"] == "fill"
    return allocate(snapshot, queue, room, Rules.of(knobs), knobs["prices"], knobs["method"], held, fill)


def _recorded(
    snapshot: Snapshot,
    queue: Queue,
    found: Allocation,
    assign: tuple[Assignment, ...],
    preempt: frozenset[Unit] = frozenset(),
) -> Decision:
    """The decision with what it went by."""
    names = queue.view.names
    had = sorted(found.chosen)
    known = np.flatnonzero(np.isfinite(found.best) | np.isin(np.arange(len(queue)), had))
    payoff, utility = found.best.copy(), np.zeros(len(queue))
    for row, chosen in found.chosen.items():
        payoff[row], utility[row] = chosen.payoff, chosen.utility
    signals: dict[str, Mapping[str, float]] = {
        "payoff": PerJob([names[row] for row in known], payoff[known]),
        "utility": PerJob([names[row] for row in had], utility[had]),
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


def _reason(snapshot: Snapshot, queue: Queue, found: Allocation, row: int) -> Reason:
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
    how = " (linear programme, made whole)" if found.first.method == "lp" else ""
    text = f"the payoffs add up to more without its own, {payoff:.3g} at the prices of the round's start{how}"
    return Reason("outbid", text, {"payoff": payoff})


def _of_chosen(snapshot: Snapshot, chosen: Chosen, *, priced_at_start: bool) -> Reason:
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
        f"over {chosen.rounds:g} rounds"
    )
    if priced_at_start:
        text += ", at the prices of the round's start (linear programme)"
    return Reason("stays" if chosen.stay else "positive_payoff", text, numbers)
