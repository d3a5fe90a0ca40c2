"""The fluid limit: every job gets exactly its shares of time, without rounds, slots, restarts or faults.

Gavel compares its mechanism with this ideal (section 7.5, Fig. 13). Shares are computed anew at every arrival and
completion; in between job m runs at `sum_k sum_j X_kj T^m_kj` steps/s.

The shares of single jobs on one GPU each can always be carried out by short enough rounds. Those of pairs and of gangs
may be out of reach of any rounds, though they keep capacity and each job's time; the distance from the ideal is then
not the mechanism's alone. Pairs: (a, b) and (c, a) with 1/2 each of one type's GPU, (b, c) with 1/2 of another's. Any
two have a job in common, so they would take turns for 3/2 of the time. Gangs: two of 3 GPUs with 2/3 each of 4 GPUs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError
from workbench.base.round_times import TIE
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Cause, PlacedType, Shares, members
from workbench.scheduling.estimators.oracle import Oracle
from workbench.scheduling.snapshot import Belief, JobView, NodeView, Snapshot, later
from workbench.simulation.jobbook import JobBook
from workbench.simulation.nodes import Nodes
from workbench.simulation.recorder import ShareRows, share_columns
from workbench.simulation.schema import JOBS, SHARES

if TYPE_CHECKING:
    import pandas as pd


class DividedAnswer(Protocol):
    """What a policy answers (`workbench.baselines.mechanisms.priority.PolicyAnswer`)."""

    @property
    def shares(self) -> Shares: ...

    @property
    def memory(self) -> Any: ...


class DividingPolicy(Protocol):
    """A policy that divides time (`workbench.baselines.mechanisms.priority.SharePolicy`)."""

    def __call__(self, snapshot: Snapshot, knobs: Mapping[str, Any], memory: Any) -> DividedAnswer: ...


@dataclass(frozen=True, eq=False)
class Fluid:
    """What came of it: the tables `jobs` and `shares` of a run (no slots, so no timeline), and the end in s."""

    scenario: Scenario
    jobs: pd.DataFrame
    shares: pd.DataFrame
    end_s: float


def flow(scenario: Scenario, policy: DividingPolicy, knobs: Mapping[str, Any], belief: Belief | None = None) -> Fluid:
    """Run a policy that divides time until every job has finished, each job at exactly its shares.

    belief: what the policy is shown, default the true speeds; jobs run at the true ones of a type's nodes of speed 1.
    Raises InputError if no job with steps left has a share, ScenarioError (jobs that can run nowhere), and what the
    policy's solver raises.
    """
    scenario.require_runnable()
    book, nodes = JobBook(scenario), Nodes(scenario)
    belief, truth = belief or Oracle(scenario), Oracle(scenario)
    shown, memory = MappingProxyType(dict(knobs)), None
    now_s = 0.0
    cause: Cause = "arrival"
    recorded: list[ShareRows] = []
    finished: dict[str, float] = {}
    while book.unfinished:
        if not book.present:
            now_s = book.next_arrival_s
            cause = "arrival"
        book.admit(now_s)
        snapshot = _look(scenario, book, nodes, belief, now_s, cause, finished)
        divided = policy(snapshot, shown, memory)
        memory, finished = divided.memory, {}
        rate, held = _rates(scenario, divided.shares, snapshot, truth)
        recorded.append(ShareRows.of(divided.shares, len(recorded), now_s))
        ranks = book.active()
        with np.errstate(divide="ignore"):
            left_s = np.where(rate > 0, book.left[ranks] / rate, np.inf)
        next_s = min(now_s + float(left_s.min()), book.next_arrival_s)
        if next_s == math.inf:
            waiting = ", ".join(snapshot.jobs.names[:5])
            raise InputError(f"fluid run at {now_s:g} s", waiting, "a policy that gives some waiting job a share")
        pause = next_s - now_s
        # The second: what is left can take less time than a float of this size tells apart.
        done = (left_s <= pause * (1 + TIE)) | (now_s + left_s <= next_s)
        _book(book, ranks, rate, held, pause, now_s)
        for rank in ranks[done].tolist():
            book.leave(rank, next_s, finished=True)
            finished[book.jobs[rank].name] = next_s
        now_s, cause = next_s, "completion" if done.any() else "arrival"
    return Fluid(scenario, JOBS.frame(book.columns()), SHARES.frame(share_columns(recorded)), now_s)


def _look(
    scenario: Scenario,
    book: JobBook,
    nodes: Nodes,
    belief: Belief,
    now_s: float,
    cause: Cause,
    finished: Mapping[str, float],
) -> Snapshot:
    ranks = book.active()
    return Snapshot(
        now_s=now_s,
        cause=cause,
        cluster=scenario.cluster,
        types=scenario.cluster.types,
        nodes=NodeView(nodes.names, nodes.kind, nodes.gpus, nodes.gpus, nodes.up),
        jobs=later(JobView, lambda name: book.left[ranks] if name == "steps_left" else book.column(name, now_s), {}),
        leases={},
        ended={},
        finished=finished,
        belief=belief,
        entities=scenario.entities,
    ).keep()


def _rates(scenario: Scenario, shares: Shares, snapshot: Snapshot, truth: Oracle) -> tuple[FloatArray, FloatArray]:
    """(jobs,) steps/s of the active jobs, and the GPUs that each holds on average."""
    kinds = shares.kinds or tuple(map(PlacedType, shares.types))
    wrong = {kind.accelerator for kind in kinds} - set(snapshot.types)
    if wrong:
        raise InputError("fluid run, types of the shares", sorted(wrong), "the cluster's accelerator types")
    by_word = {word: truth.speeds(snapshot.jobs, word) for word in {kind.word for kind in kinds}}
    alone = np.column_stack([by_word[kind.word][:, snapshot.types.index(kind.accelerator)] for kind in kinds])
    at, jobs = snapshot.jobs.at, snapshot.jobs.jobs
    rate, held = np.zeros(len(jobs)), np.zeros(len(jobs))
    for unit, values in zip(shares.units, shares.values, strict=True):
        rows = [at[name] for name in members(unit)]
        for row in rows:
            held[row] += values.sum() * snapshot.jobs.gpus[row]
        if len(rows) == 1:
            rate[rows[0]] += alone[rows[0]] @ values
            continue
        for kind in np.flatnonzero(values).tolist():
            where = kinds[kind]
            speeds = truth.pair(jobs[rows[0]], jobs[rows[1]], where.accelerator, where.word)
            for row, speed in zip(rows, speeds or (0.0, 0.0), strict=True):
                rate[row] += speed * values[kind]
    return rate, held


def _book(book: JobBook, ranks: Any, rate: FloatArray, held: FloatArray, pause: float, now_s: float) -> None:
    """Book what the active jobs did in some seconds; a job waits for the part of the time in which it has no share."""
    book.left[ranks] = np.maximum(book.left[ranks] - rate * pause, 0.0)
    book.attained_s[ranks] += held * pause
    book.run_s[ranks] += held * pause
    book.waited_s[ranks] += np.maximum(1.0 - held / book.gpus[ranks], 0.0) * pause
    starts = ranks[(held > 0) & np.isnan(book.first_start_s[ranks])]
    book.first_start_s[starts] = now_s
    book.since_s[ranks] = now_s + pause
