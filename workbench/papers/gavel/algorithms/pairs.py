"""Which two jobs may share their GPUs (space sharing), and how fast both then are."""

from __future__ import annotations

import numpy as np

from workbench.scenario.job import Job
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import IntArray, WorkerType
from workbench.scheduling.snapshot import Snapshot

GAIN = 1e-9
"""How far the sum of normalised speeds must exceed 1: below that it is rounding."""


def candidates(
    snapshot: Snapshot, rows: IntArray, kinds: tuple[WorkerType, ...], speed: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Pairs of the jobs at the positions `rows` that may share their GPUs (space sharing), and their speeds.

    A pair (k) of two jobs with equally many GPUs is kept on worker type j if it gains there:

        T^a_kj / T_aj + T^b_kj / T_bj > 1

    Leaving out the others costs nothing: where the sum is at most 1, the two do as much in the pair's time one after
    the other, each alone on the same GPUs. The paper says "combinations that actually perform well", the rule is
    (ours).

    speed: (rows x worker types) steps/s alone. Returns (pairs x 2) positions in `rows`, in their order, and (pairs x 2
    x worker types) steps/s of both members, 0 where the pair may not share or does not gain. Beliefs are asked once for
    each two combinations of model and gang.
    """
    jobs = [snapshot.jobs.jobs[row] for row in rows.tolist()]
    gang = snapshot.jobs.gpus[rows]
    order: dict[tuple[str, int], int] = {}
    member = np.array(
        [order.setdefault((job.model, size), len(order)) for job, size in zip(jobs, gang.tolist(), strict=True)],
        dtype=np.int64,
    )
    _, first = np.unique(member, return_index=True)
    known, number = _speeds(snapshot, [jobs[row] for row in first.tolist()], gang[first], kinds)
    one, two = np.triu_indices(len(jobs), 1)
    spot = number[member[one], member[two]]
    may = spot >= 0
    one, two, spot = one[may], two[may], spot[may]
    both = known[spot]
    turned = member[one] > member[two]
    both[turned] = both[turned, ::-1]
    alone = np.stack([speed[one], speed[two]], axis=1)
    part = np.divide(both, alone, out=np.zeros_like(both), where=alone > 0)
    gains = (part > 0).all(axis=1) & (part.sum(axis=1) > 1.0 + GAIN)
    kept = gains.any(axis=1)
    pairs = np.column_stack([one, two])[kept]
    return pairs, np.where(gains[kept][:, None, :], both[kept], 0.0)


def _speeds(
    snapshot: Snapshot, jobs: list[Job], gang: IntArray, kinds: tuple[WorkerType, ...]
) -> tuple[FloatArray, IntArray]:
    """Speeds of the pairs of different configurations that may share on some type, and the (jobs x jobs) table of
    their numbers, -1 where there is none.

    Two jobs of one configuration are alike, neither is the first of the pair: each has the mean of both speeds.
    """
    number = np.full((len(jobs), len(jobs)), -1)
    found: list[list[tuple[float, float]]] = []
    places = [(kind.accelerator, kind.word) for kind in kinds]
    for a, one in enumerate(jobs):
        for b in (a + np.flatnonzero(gang[a:] == gang[a])).tolist():
            rates = [snapshot.belief.pair(one, jobs[b], name, word) or (0.0, 0.0) for name, word in places]
            if a == b:
                rates = [((x + y) / 2, (x + y) / 2) for x, y in rates]
            if any(min(pair) > 0 for pair in rates):
                number[a, b] = number[b, a] = len(found)
                found.append(rates)
    speeds = np.array(found, dtype=float).reshape(len(found), len(kinds), 2)
    return np.ascontiguousarray(speeds.transpose(0, 2, 1)), number
