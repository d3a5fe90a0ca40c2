"""The copies of a round and their steps: nodes to copies, the last round, the split."""

from __future__ import annotations

import numpy as np

from workbench.papers.hadar.hadare.copies import DONE, URGENCY, Copy, NodeRound, Part, Payoff, choose, utility_payoff
from workbench.papers.hadar.hadare.copy_view import View
from workbench.papers.hadar.hadare.last_round import Candidate, finishing
from workbench.papers.hadar.hadare.split import SAME, split, whole_steps
from workbench.papers.hadar.utility import Utility, UtilityJobs
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import IntArray

CopyPlan = dict[int, list[tuple[int, int]]]
"""Copies of each job's row: (node, whole steps)."""


def plan_copies(view: View, free: IntArray, knobs: Knobs) -> CopyPlan:
    """Which copies run, and their steps. What would be given no step is left out, and its node given out anew."""
    runs = (view.speed > 0) & view.forked[:, None]
    whole = np.array([whole_steps(left) for left in view.steps_left.tolist()], dtype=np.int64)
    seconds = _useful_seconds(view, knobs)
    while True:
        round_ = NodeRound(
            speed=view.speed,
            seconds=seconds,
            need=view.need,
            runs=runs,
            free=free,
            steps_left=view.steps_left,
            most=np.minimum(view.forks, np.maximum(whole, 1)),
        )
        copies = choose(round_, _payoff(view, round_, knobs))
        fastest = knobs["last_round"] == "fastest" and _is_last(view, round_, copies)
        if fastest:
            copies = _finish_up(view, copies)
        waiting = knobs["split"] == "all_copies" and not fastest
        plan: CopyPlan = {}
        for job, node in copies:
            plan.setdefault(job, []).append((node, 0))
        idle: list[Copy] = []
        for job, those in plan.items():
            nodes = [node for node, _ in those]
            steps = _steps(view, job, nodes, max(int(whole[job]), 1), waiting)
            if knobs["dispatch"] == "slot":
                steps = _within_slot(view, job, nodes, steps)
            plan[job] = list(zip(nodes, steps, strict=True))
            idle += [(job, node) for node, count in plan[job] if count == 0]
        if not idle:
            return plan
        runs = runs.copy()
        for job, node in idle:
            runs[job, node] = False


def _useful_seconds(view: View, knobs: Knobs) -> FloatArray:
    """(jobs x nodes) how long a copy runs in the slot; one that has a fixed portion of the steps left, no longer."""
    if knobs["split"] != "all_copies":
        return view.seconds
    ordered = np.sort(view.speed, axis=1)[:, -view.forks :]
    # Beside a node, the copies are on the fastest others.
    together = ordered.sum(axis=1)[:, None] + np.minimum(view.speed - ordered[:, :1], 0.0)
    portion_s: FloatArray = np.divide(
        view.steps_left[:, None], together, out=np.zeros(together.shape), where=together > 0
    )
    return np.minimum(view.seconds, portion_s)


def _payoff(view: View, round_: NodeRound, knobs: Knobs) -> Payoff:
    if knobs["payoff"] != "utility":
        return Part(URGENCY[knobs["payoff"]])
    snapshot, jobs = view.snapshot, view.snapshot.jobs
    age_s = snapshot.now_s - jobs.arrival_s
    slowest = np.where(round_.runs, round_.speed, np.inf).min(axis=1)
    # The horizon T (ours): by then all would be done one after the other, each on its slowest node.
    horizon_s = float((view.steps_left / slowest).sum() + age_s.max() + knobs["round_s"])
    facts = UtilityJobs(
        names=jobs.names,
        work=np.array([job.steps for job in jobs.jobs]),
        weight=jobs.weight,
        rewards=tuple(job.rewards for job in jobs.jobs),
        horizon=horizon_s,
        slot=knobs["round_s"],
    )
    utility = Utility(knobs["utility"])
    return utility_payoff(round_, utility, facts, age_s, snapshot.nodes.kind, snapshot.workers, knobs["round_s"])


def _is_last(view: View, round_: NodeRound, copies: list[Copy]) -> bool:
    """Whether the copies are believed to do all steps left of all jobs in the slot."""
    does = np.zeros(len(view.steps_left))
    for job, node in copies:
        does[job] += round_.speed[job, node] * round_.seconds[job, node]
    return not (does < view.steps_left * (1 - DONE)).any()


def _finish_up(view: View, copies: list[Copy]) -> list[Copy]:
    """For the last round, of each job's nodes the fastest."""
    chosen: list[Copy] = []
    for job in dict.fromkeys(job for job, _ in copies):
        first = view.tracker.first_done(view.snapshot.jobs.names[job])
        place = {view.at[node]: number for number, node in enumerate(first)}
        candidates = [
            Candidate(node, float(view.speed[job, node]), float(view.restart_s[job, node]), place.get(node))
            for row, node in copies
            if row == job
        ]
        nodes = finishing(candidates, float(view.steps_left[job]), view.overhead_s)
        chosen += [(job, node) for node in nodes]
    return chosen


def _steps(view: View, job: int, nodes: list[int], left: int, waiting: bool) -> list[int]:
    """Whole steps for the copies of a job on some nodes; waiting: the portions of copies that do not run are left."""
    speed = view.speed[job]
    weights = speed[nodes]
    if waiting:
        others = [node for node in np.argsort(-speed, kind="stable").tolist() if node not in nodes and speed[node] > 0]
        weights = speed[[*nodes, *others[: view.forks - len(nodes)]]]
    return [int(count) for count in split(left, weights)[: len(nodes)]]


def _within_slot(view: View, job: int, nodes: list[int], steps: list[int]) -> list[int]:
    """No more steps than a copy is believed to do in the slot, but one at least of those that it has."""
    most = np.maximum(np.floor(view.speed[job, nodes] * view.seconds[job, nodes] + SAME), 1.0)
    return [min(count, int(limit)) for count, limit in zip(steps, most.tolist(), strict=True)]
