"""Queueing theory: a single GPU under FIFO is M/D/1 or M/M/1; preemption that is free never hurts SRTF."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulation.support import Scripted, check, greedy, make
from workbench.scheduling.decision import Assignment, Decision
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run

SERVICE_S = 10.0
EVENTS = ("arrival", "completion")


def srtf() -> Scripted:
    """The jobs with the least time left run; whoever must, gives way. One GPU each."""

    def answer(snapshot: Snapshot) -> Decision:
        total = int(snapshot.nodes.gpus.sum())
        order = np.argsort(snapshot.jobs.steps_left, kind="stable")[:total]
        chosen = {snapshot.jobs.names[i] for i in order}
        gone = frozenset(unit for unit in snapshot.leases if unit not in chosen)
        free = dict(zip(snapshot.nodes.names, snapshot.nodes.free.tolist(), strict=True))
        for unit in gone:
            for node, gpus in snapshot.leases[unit].gpus.items():
                free[node] += gpus
        assign = []
        for i in order:
            name = snapshot.jobs.names[i]
            if name not in snapshot.leases:
                node = next(node for node, gpus in free.items() if gpus)
                free[node] -= 1
                assign.append(Assignment(name, {node: 1}, math.inf))
        return Decision(assign=tuple(assign), preempt=gone)

    return Scripted(answer, None, EVENTS)


def one_gpu(load: float, count: int, seed: int, *, exponential: bool) -> Run:
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(SERVICE_S / load, count))
    steps = rng.exponential(SERVICE_S, count) if exponential else np.full(count, SERVICE_S)
    jobs = [{"arrival_s": a, "steps": s} for a, s in zip(arrivals.tolist(), steps.tolist(), strict=True)]
    return run_loop(make(jobs), greedy(None, EVENTS), detail=0)


@pytest.mark.parametrize(
    ("exponential", "load", "count"),
    [
        (False, 0.5, 8_000),
        (True, 0.3, 8_000),
        pytest.param(False, 0.8, 200_000, marks=pytest.mark.long),
        pytest.param(True, 0.7, 200_000, marks=pytest.mark.long),
    ],
)
def test_the_mean_wait_is_that_of_theory(exponential: bool, load: float, count: int) -> None:
    """Mean wait by Pollaczek and Khinchine, rho/(1-rho) (1+c^2)/2 services (c = 0 for D, 1 for M), within 3 standard
    errors, and the share of jobs that wait is rho (Poisson arrivals see time averages).

    Waits are correlated. Variance x jobs of their mean in M/M/1: rho (2 + 5 rho - 4 rho^2 + rho^3) / (1 - rho)^4
    services^2 (Blomqvist 1967); in heavy traffic it goes with ((1+c^2)/2)^3: the square for M/D/1 is more than enough.
    """
    wait_s = one_gpu(load, count, seed=5, exponential=exponential).jobs.waited_s
    rho, spread = load, (1 + exponential) / 2
    mean_s = rho / (1 - rho) * spread * SERVICE_S
    blomqvist = rho * (2 + 5 * rho - 4 * rho**2 + rho**3) / (1 - rho) ** 4
    error_s = math.sqrt(blomqvist * spread**2 / count) * SERVICE_S
    assert error_s / mean_s < 0.065
    assert abs(wait_s.mean() - mean_s) < 3 * error_s, (wait_s.mean(), mean_s, error_s)
    assert (wait_s > 0).mean() == pytest.approx(rho, abs=0.02)


SMALL = st.lists(
    st.tuples(st.floats(0, 100), st.floats(0.5, 60)).map(lambda p: {"arrival_s": p[0], "steps": p[1]}),
    min_size=1,
    max_size=8,
)


@given(SMALL)
def test_srtf_is_no_worse_than_fifo_in_mean_jct_on_one_gpu(jobs: list[dict[str, float]]) -> None:
    runs = [run_loop(make(jobs), scheduler) for scheduler in (srtf(), greedy(None, EVENTS))]
    for run in runs:
        check(run)
    means = [(run.jobs.finish_s - run.jobs.arrival_s).mean() for run in runs]
    assert means[0] <= means[1] * (1 + 1e-9) + 1e-9


@given(SMALL)
def test_work_is_conserved(jobs: list[dict[str, float]]) -> None:
    """Whatever the order, one GPU that is never idle while jobs wait is busy at the same times."""
    busy = []
    for scheduler in (srtf(), greedy(None, EVENTS)):
        run = run_loop(make(jobs), scheduler)
        t = run.timeline.sort_values("start_s")
        starts, ends = t.start_s.to_numpy(), t.end_s.to_numpy()
        gap = np.flatnonzero(starts[1:] - ends[:-1] > 1e-6)
        busy.append(np.concatenate([starts[:1], ends[gap], starts[gap + 1], ends[-1:]]))
        assert (t.end_s - t.start_s).sum() == pytest.approx(sum(job["steps"] for job in jobs))
    assert busy[0] == pytest.approx(busy[1], abs=1e-6)


@given(SMALL, st.integers(1, 3))
def test_with_more_gpus_no_job_of_a_fifo_queue_starts_later(jobs: list[dict[str, float]], gpus: int) -> None:
    few, more = (run_loop(make(jobs, count), greedy(None, EVENTS)) for count in (gpus, gpus + 1))
    assert (more.jobs.first_start_s <= few.jobs.first_start_s + 1e-9).all()
