"""HadarE (section V): every job is forked into copies that train on several nodes at once, in rounds.

In every round
1. the Job Tracker hears what the copies of the last round have done, and sums it (`tracker`);
2. nodes are given to copies: at most `forks` copies of a job, at most one of them on a node, each holding the smaller
   of the job's gang and the node's GPUs (`copies`);
3. in what is believed to be the last round the fastest nodes finish up (`last_round`);
4. the job's steps left are split among its copies (`split`). A copy that is done early waits, and at the end of the
   slot several copies of a job are consolidated.

A copy keeps its number while it stays on its node: going on there costs no restart. Jobs that arrive within a slot wait
for the next one. A copy whose portion would be no whole step is not started; its node goes to another one.

(ours): a job that no node can run a copy of, since its gang is larger than every node and its speed on fewer GPUs is
not known, is not forked. Such jobs get their GPUs before the copies (`unforked`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.base.errors import InputError
from workbench.baselines.mechanisms.rounds import ROUND_S
from workbench.papers.hadar.hadare.copies import COPY_PAYOFF, COPY_UTILITY
from workbench.papers.hadar.hadare.copy_plan import CopyPlan, plan_copies
from workbench.papers.hadar.hadare.copy_view import View
from workbench.papers.hadar.hadare.forker import FORKS, MAX_JOB_COUNT, copy_ids, register
from workbench.papers.hadar.hadare.last_round import LAST_ROUND
from workbench.papers.hadar.hadare.split import DISPATCH, SPLIT
from workbench.papers.hadar.hadare.tracker import OVERHEAD_S, Given, Tracker, aggregate
from workbench.papers.hadar.hadare.unforked import unforked
from workbench.papers.hadar.utility import READS
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Memory, Scheduler, Timing
from workbench.scheduling.decision import Assignment, Decision, IntArray, Reason, Snapshot, Unit, is_copy
from workbench.scheduling.knob import Value
from workbench.scheduling.placement import Gpus


class HadarE(Scheduler):
    """Forked copies of every job on as many nodes as there are."""

    name = "hadare"
    title = "HadarE: forked copies of jobs on several nodes at once"
    knobs = (FORKS, ROUND_S, OVERHEAD_S, COPY_PAYOFF, COPY_UTILITY, SPLIT, DISPATCH, LAST_ROUND, MAX_JOB_COUNT)
    uses = frozenset({"arrival_s", "steps", "gpus", "weight", "rewards"})

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
        view = View.of(snapshot, memory.hear(snapshot.observations), knobs)
        whole = unforked(view)
        room = view.snapshot.nodes.free.copy()
        for gpus in whole.values():
            for node, count in gpus.items():
                room[view.at[node]] -= count
        plan = plan_copies(view, room, knobs)
        assign, given = _assignments(view, plan)
        names, done = snapshot.jobs.names, aggregate(view.tracker.reports)
        decision = Decision(
            assign=(*(Assignment(name, gpus, view.until_s) for name, gpus in whole.items()), *assign),
            signals={
                "copies": {name: float(len(plan.get(row, ()))) for row, name in enumerate(names)},
                "last_round_steps": {job: steps for job, steps in done.items() if job in snapshot.jobs.at},
            },
            why={**_without(view, room, given, whole), **_reasons(view, given, whole)},
        )
        return decision, view.tracker.give(given, map(str, whole), names)


def _assignments(view: View, plan: CopyPlan) -> tuple[list[Assignment], list[Given]]:
    """The copies with their numbers: the one that a copy had on that node before, else the lowest that is left."""
    before = {
        (unit[0], next(iter(lease.gpus))): unit[1] for unit, lease in view.snapshot.ended.items() if is_copy(unit)
    }
    assign, given = [], []
    for job, copies in plan.items():
        name = view.snapshot.jobs.names[job]
        nodes = [view.snapshot.nodes.names[node] for node, _ in copies]
        numbers = {node: int(before[name, node]) for node in nodes if (name, node) in before}
        new = iter(sorted(set(range(1, view.forks + 1)) - set(numbers.values())))
        tail_s = view.overhead_s if len(copies) > 1 else 0.0
        for node, (at, steps) in zip(nodes, copies, strict=True):
            number = numbers[node] if node in numbers else next(new)
            gpus = int(view.need[job, at])
            assign.append(Assignment((name, number), {node: gpus}, view.until_s, steps=float(steps), tail_s=tail_s))
            given.append(Given(name, number, node, gpus, steps))
    return assign, given


def _without(view: View, room: IntArray, given: list[Given], whole: Mapping[Unit, Gpus]) -> dict[str, Reason]:
    """Why jobs have no copy; room: (nodes,) GPUs for copies."""
    left = room.copy()
    for told in given:
        left[view.at[told.node]] -= told.gpus
    why: dict[str, Reason] = {}
    served = {*(told.job for told in given), *map(str, whole)}
    for row, name in enumerate(view.snapshot.jobs.names):
        runs = view.speed[row] > 0
        if name in served:
            continue
        if not view.forked[row]:
            text = "no node can run a copy of it, and too few GPUs are free for it to run whole"
            why[name] = Reason("no_room", text, {"gpus": float(view.snapshot.jobs.gpus[row])})
        elif not runs.any():
            why[name] = Reason("nodes_down", "the nodes on which a copy of it runs are down")
        elif (runs & (view.need[row] <= left)).any():
            why[name] = Reason("no_step", "a copy of it would do no whole step in this slot on the nodes that are free")
        elif not (runs & (view.need[row] <= room)).any():
            text = "jobs of which no node can run a copy run whole, on the nodes where a copy of it runs"
            why[name] = Reason("whole_there", text)
        else:
            text = "copies of other jobs are worth more on the nodes where one of it runs (equal ones: first come)"
            why[name] = Reason("others_there", text)
    return why


def _reasons(view: View, given: list[Given], whole: Mapping[Unit, Gpus]) -> dict[str, Reason]:
    """Why each job has what it has; the ids of its copies are as the tracker registers them."""
    why = {
        str(name): Reason(
            "unforked", "no node can run a copy of it: it runs whole", {"gpus": float(sum(gpus.values()))}
        )
        for name, gpus in whole.items()
    }
    by_job: dict[str, list[Given]] = {}
    for told in given:
        by_job.setdefault(told.job, []).append(told)
    for name, those in by_job.items():
        most = view.tracker.max_job_count
        ids = copy_ids(view.tracker.ids[name], max(told.copy for told in those), most)
        parts = ", ".join(f"{told.steps} steps on {told.node}" for told in those)
        listed = ", ".join(str(ids[told.copy - 1]) for told in those)
        text = f"{'copy' if len(those) == 1 else 'copies'} {listed}: {parts}"
        why[name] = Reason("forked", text, {"copies": float(len(those)), "ids": listed})
    return why
