"""What the tests of Hare's models share: small random instances, and their optimum by trying everything."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tests.papers.hare.list_support import instances
from workbench.papers.hare.instance import HareInstance

MOST_TASKS = 7


def small(*, jobs: int = 3, gpus: int = 3, tasks: int = MOST_TASKS, **kinds: bool) -> st.SearchStrategy[HareInstance]:
    """Instances of `list_support` with few tasks: begun rounds, shorter last rounds, arrivals, GPUs that cannot run."""
    return instances(jobs=jobs, gpus=gpus, **kinds).filter(lambda data: data.task_count <= tasks)


def brute_force(data: HareInstance) -> tuple[float, float]:
    """The optimum, and the least makespan among the best, by trying every order and every GPU.

    Tasks start one after the other, each as early as it can behind those before it on its GPU: among these schedules
    are all in which no task could start earlier with the same order on each GPU, and so the best ones.
    """
    best = [np.inf, np.inf]
    seen: set[tuple[object, ...]] = set()
    rounds, first = data.rounds.tolist(), data.job_round.tolist()

    def explore(state: tuple[tuple[int, int, float, float], ...], free: tuple[float, ...]) -> None:
        """state: for each job its round, tasks started in it, when they may start, when those have synchronised."""
        if (state, free) in seen:
            return
        seen.add((state, free))
        if all(r == rounds[job] for job, (r, *_) in enumerate(state)):
            ends = [ready for _, _, ready, _ in state]
            value, last = float(data.weight @ np.array(ends)), max(ends)
            if value < best[0] - 1e-9 or (value < best[0] + 1e-9 and last < best[1]):
                best[:] = [min(value, best[0]), last]
            return
        for job, (r, begun, ready, ends) in enumerate(state):
            if r == rounds[job]:
                continue
            part, count = data.round_part[first[job] + r], data.round_tasks[first[job] + r]
            for gpu in np.flatnonzero(data.runs[job]).tolist():
                end = max(free[gpu], ready) + data.train_s[job, gpu] * part
                last = max(ends, end + data.sync_s[job, gpu] * part)
                now = (r, begun + 1, ready, last) if begun + 1 < count else (r + 1, 0, last, 0.0)
                explore((*state[:job], now, *state[job + 1 :]), (*free[:gpu], end, *free[gpu + 1 :]))

    begin = zip(data.arrival_s.tolist(), data.barrier_s.tolist(), strict=True)
    explore(tuple((0, 0, arrival, barrier) for arrival, barrier in begin), tuple(data.free_s.tolist()))
    return float(best[0]), float(best[1])
