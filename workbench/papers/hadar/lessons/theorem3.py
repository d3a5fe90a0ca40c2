"""Theorem 3 and its corollary (section V-C) as checks on finished runs.

CRU(r) = 1 / (n T_s) sum_h T_h^B, the part of round r in which nodes are busy: T_h^B is the time in which some GPU of
node h computes, T_s the slot. A run's CRU is the mean over its rounds, so the last round counts as a whole slot. (The
metric `cru` divides by the time to the last completion instead.) Only rounds at whose start a job was there count.

Theorem 3: CRU with n copies of each job >= CRU with x < n copies, and = CRU with more than n. Its premise: a slot is
shorter than the shortest job, and nothing is spent on consolidation. What it says of a round holds for the nodes that
are ASSIGNED a copy; a copy of a job that ends may be done early, and then a node waits although it was assigned. So the
checks say both: `assigned`, the part of nodes that got a copy, and `busy`, CRU(r). The last round is left out, in which
fewer nodes may be needed. Nodes that fail are counted as idle: check runs without faults.

Corollary: with n copies, every node is assigned a copy in every round but possibly the last one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.simulation.run import Run

COMPUTES = ("run", "profile")
NOT_HELD = ("sync", "down")
SAME = 1e-9
"""Parts of nodes and of time that differ by no more are equal."""


def cru_by_round(run: Run) -> pd.DataFrame:
    """One row for each round at whose start a job was there.

    Columns: round (from 0), start_s, jobs (there at its start), assigned (part of the nodes that hold a copy at its
    start), busy (CRU(r)). Raises InputError for a run without rounds, or of a scheduler with other ones.
    """
    slot_s = _slot_s(run)
    names = [node.name for node in run.scenario.cluster.each_node]
    at = pd.Index(names)
    held = run.timeline[(run.timeline["job"] != "") & ~run.timeline["kind"].isin(NOT_HELD)]
    node = at.get_indexer(pd.Index(held["node"]))
    start, end = held["start_s"].to_numpy(dtype=float), held["end_s"].to_numpy(dtype=float)
    computes = held["kind"].isin(COMPUTES).to_numpy()
    arrival = run.jobs["arrival_s"].to_numpy(dtype=float)
    finish = run.jobs["finish_s"].fillna(np.inf).to_numpy(dtype=float)
    rows = []
    for number in range(math.ceil(run.end_s / slot_s * (1 - SAME))):
        from_s, to_s = number * slot_s, (number + 1) * slot_s
        jobs = int(((arrival <= from_s) & (finish > from_s * (1 + SAME))).sum())
        if not jobs:
            continue
        inside = (start < to_s * (1 - SAME)) & (end > from_s)
        at_start = inside & (start <= from_s + SAME * slot_s)
        busy_s = _union(node[inside & computes], start[inside & computes], end[inside & computes], from_s, to_s)
        assigned = len(set(node[at_start].tolist())) / len(names)
        rows.append((number, from_s, jobs, assigned, busy_s / (len(names) * slot_s)))
    return pd.DataFrame(rows, columns=["round", "start_s", "jobs", "assigned", "busy"])


def cru(run: Run, *, last: bool = True) -> float:
    """Cluster resource utilisation, the mean of CRU(r) over the rounds; last: with the last one. NaN without any."""
    table = cru_by_round(run)
    table = table if last else table.iloc[:-1]
    return float(table["busy"].mean()) if len(table) else math.nan


def premise(run: Run) -> bool:
    """Whether a slot is shorter than the shortest job's training alone on its fastest node, and overheads are 0.

    Raises InputError naming a job that no node can run a copy of: the theorem is about forked jobs.
    """
    shortest_s = min((_alone_s(run.scenario, job) for job in run.scenario.jobs), default=math.inf)
    free = run.scenario.core.restart.restart_s == 0 and run.knobs.get("overhead_s", 0.0) == 0
    return free and _slot_s(run) < shortest_s


def theorem3(runs: Mapping[int, Run]) -> pd.DataFrame:
    """Utilisation against the number of copies: `runs` are of one scenario, by their fork count.

    Columns: forks, rounds, assigned and busy (means over all rounds but the last), cru (with the last), most (forks are
    at least the nodes), holds_assigned and holds_busy: whether the means are no more than those with n copies; of
    `most`, the same. Where there is nothing to compare, means of no rounds (NaN), it holds. Raises InputError if no run
    has as many copies as nodes.
    """
    if not runs:
        raise InputError("runs", {}, "at least one run, with as many copies of each job as nodes")
    nodes = len(next(iter(runs.values())).scenario.cluster.each_node)
    full = min((forks for forks in runs if forks >= nodes), default=None)
    if full is None:
        raise InputError("runs", sorted(runs), f"one with at least as many copies of each job as nodes ({nodes})")
    rows = []
    best: tuple[float, float] | None = None
    for forks in (full, *sorted(set(runs) - {full})):
        table = cru_by_round(runs[forks])
        inner = table.iloc[:-1]
        assigned, busy = (float(inner[name].mean()) if len(inner) else math.nan for name in ("assigned", "busy"))
        best = best or (assigned, busy)
        holds = [
            not (abs(mine - most) > SAME if forks >= nodes else mine > most + SAME)
            for mine, most in zip((assigned, busy), best, strict=True)
        ]
        rows.append((forks, len(table), assigned, busy, float(table["busy"].mean()), forks >= nodes, *holds))
    columns = ["forks", "rounds", "assigned", "busy", "cru", "most", "holds_assigned", "holds_busy"]
    return pd.DataFrame(rows, columns=columns).sort_values("forks", ignore_index=True)


def _alone_s(scenario: Scenario, job: Job) -> float:
    """Seconds of a job's training left as one copy on its fastest node."""
    machines = scenario.cluster.each_node
    speeds = [scenario.table.on_nodes(job.model, {node.name: min(job.gpus, node.gpus)}) for node in machines]
    if max(speeds) <= 0:
        raise InputError(f"Theorem 3, job {job.name}", "no node that can run a copy of it", "jobs that can be forked")
    return (job.steps - job.steps_done) / max(speeds)


def _slot_s(run: Run) -> float:
    slot_s = run.knobs.get("round_s")
    if not isinstance(slot_s, (int, float)) or slot_s <= 0:
        raise InputError("knob round_s of the run", slot_s, "a number of seconds > 0: the checks are by rounds")
    return float(slot_s)


def _union(node: IntArray, start: FloatArray, end: FloatArray, from_s: float, to_s: float) -> float:
    """Seconds between two times in which each node computes, over all nodes; a node with several busy GPUs once."""
    total, last, covered_s = 0.0, -1, from_s
    for i in np.lexsort((start, node)).tolist():
        if node[i] != last:
            last, covered_s = int(node[i]), from_s
        begin, until = max(float(start[i]), covered_s), min(float(end[i]), to_s)
        if until > begin:
            total, covered_s = total + until - begin, until
    return total
