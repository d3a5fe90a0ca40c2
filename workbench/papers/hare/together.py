"""Scale-fixed synchronisation (section 2.2.3, Fig. 4a): a round's tasks start together, each on a GPU of its own.

Rounds come in Algorithm 1's order. A round starts when as many GPUs as it has tasks are free, and takes those on which
it has synchronised first (ours; the paper does not say which): of each set of GPUs that are fast enough for one end, as
many as it needs that are free first.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from workbench.base.errors import InputError, counted
from workbench.papers.hare.instance import Instance
from workbench.papers.hare.schedule import Schedule
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import IntArray


def place_together(instance: Instance, order: Iterable[int]) -> Schedule:
    """Every round as a gang, when the first of its tasks comes in `order`, none before an earlier round of its job.

    Raises InputError naming a job whose rounds have more tasks than there are GPUs that can run it.
    """
    enough(instance)
    free, both = np.array(instance.free_s, dtype=float), instance.train_s + instance.sync_s
    gpu, start = np.full(instance.task_count, -1, dtype=np.int64), np.zeros(instance.task_count)
    rounds, ends = instance.task_round.tolist(), np.full(len(instance.round_job), np.nan)
    for task in order:
        r = rounds[task]
        if not np.isnan(ends[r]):
            continue
        job, begins = int(instance.round_job[r]), bool(instance.round_number[r] == 0)
        ready_s = max(float(instance.arrival_s[job]), 0.0 if begins else float(ends[r - 1]))
        part, width = float(instance.round_part[r]), int(instance.round_tasks[r])
        start_s, taken = _gang(free, ready_s, both[job] * part, width)
        first = int(instance.round_task[r])
        gpu[first : first + width], start[first : first + width] = taken, start_s
        free[taken] = start_s + instance.train_s[job, taken] * part
        ends[r] = max(start_s + float(both[job, taken].max()) * part, float(instance.barrier_s[job]) if begins else 0.0)
    return Schedule(instance, gpu, start)


def enough(instance: Instance) -> None:
    """Raise InputError naming a job whose rounds have more tasks than there are GPUs that can run it."""
    able = instance.runs.sum(axis=1)
    for row in np.flatnonzero(able < instance.tasks).tolist():
        expected = f"at most {counted(int(able[row]), 'GPU')} that can run it (relaxed: they go one after the other)"
        raise InputError(
            f"job {instance.jobs[row]}, scale-fixed: tasks that start together", int(instance.tasks[row]), expected
        )


def _gang(free: FloatArray, ready_s: float, both: FloatArray, width: int) -> tuple[float, IntArray]:
    """When and on which GPUs a round has synchronised first; of equal ones those that became free last."""
    could = np.maximum(free, ready_s)
    best: tuple[float, float, float] | None = None
    for slowest in np.unique(both[np.isfinite(both)]).tolist():
        able = both <= slowest
        if able.sum() >= width:
            start_s = float(np.partition(could[able], width - 1)[width - 1])
            if best is None or start_s + slowest < best[0]:
                best = (start_s + slowest, start_s, slowest)
    assert best is not None  # `enough` has counted the GPUs
    _, start_s, slowest = best
    able = np.flatnonzero((both <= slowest) & (could <= start_s))
    return start_s, np.sort(able[np.lexsort((able, -free[able]))][:width])
