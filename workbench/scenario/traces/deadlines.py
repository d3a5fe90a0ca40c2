"""Deadlines for a trace that has none, and the workloads SLO, MIX1 and MIX2 (Chronus, section 4.1 and Table 1).

A strict job with the runtime R is to be done within U[1.2, 2] x R after its arrival. A soft job draws its first
deadline D in the same way; done within D, 1.1 D, 1.2 D and 1.5 D it is worth 100, 80, 50 and 20. After the last
deadline a job is worth 1, as a best-effort job always is (the smallest reward, which no step of a job states). R is the
job's runtime on the fastest of its types, its gang on the fewest nodes (ours: the paper's clusters have one type).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError
from workbench.scenario.rewards import SOFT_STEPS, Steps
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.trace_file import check_seed


class DeadlineMix(NamedTuple):
    """Shares of strict, soft and best-effort jobs; they add up to 1."""

    strict: float
    soft: float
    best_effort: float


WORKLOADS = {"slo": DeadlineMix(1.0, 0.0, 0.0), "mix1": DeadlineMix(0.7, 0.0, 0.3), "mix2": DeadlineMix(0.3, 0.6, 0.1)}
"""paper: Chronus, Table 1."""
FACTORS = (1.2, 2.0)
"""paper: Chronus 4.1, range of the first deadline, in runtimes."""
_STREAM = 1


def with_deadlines(scenario: Scenario, workload: str | DeadlineMix, seed: int = 0) -> Scenario:
    """The scenario with its jobs made strict, soft and best effort at random; rewards that it had are replaced.

    workload: slo, mix1, mix2 or shares of one's own. Each job's kind is a draw of its own, so that shares are met on
    average; of one seed a job's deadline is the same in all workloads. Raises InputError for an unknown workload, for
    shares that are none, and for a job that can run nowhere, as it has no runtime.
    """
    check_seed(seed)
    mix = _mix(workload)
    runtime_s = runtimes(scenario)
    rewards = draw_rewards(runtime_s, mix, seed)
    pairs = zip(scenario.jobs, rewards, strict=True)
    return scenario.replace(jobs=[job.model_copy(update={"rewards": steps}) for job, steps in pairs])


def draw_rewards(runtime_s: FloatArray, mix: DeadlineMix, seed: int) -> list[Steps | None]:
    """Rewards of jobs of such runtimes, `(deadline in s after arrival, reward)` steps; None for best effort."""
    kinds, factors = (np.random.default_rng(part) for part in np.random.SeedSequence([_STREAM, seed]).spawn(2))
    kind = np.searchsorted(np.cumsum(mix[:2]), kinds.random(len(runtime_s)), side="right")
    first_s = runtime_s * factors.uniform(*FACTORS, len(runtime_s))
    taken = (SOFT_STEPS[:1], SOFT_STEPS, ())
    return [
        tuple((at_s * factor, reward) for factor, reward in taken[which]) or None
        for at_s, which in zip(first_s.tolist(), kind, strict=True)
    ]


def runtimes(scenario: Scenario) -> FloatArray:
    """Seconds that each job runs on the fastest of its types; raises InputError for a job that can run nowhere."""
    if not scenario.jobs:
        return np.zeros(0)
    jobs = scenario.jobs
    fastest = scenario.table.matrix([job.model for job in jobs], [job.gpus for job in jobs]).max(axis=1)
    for position in np.flatnonzero(fastest <= 0).tolist():
        expected = "a job that can run on some type of the cluster: its deadline follows from its runtime"
        raise InputError(f"jobs[{position}]", jobs[position].name, expected)
    steps = np.asarray([job.steps for job in jobs], dtype=np.float64)
    return np.asarray(steps / fastest, dtype=np.float64)


def count_kinds(scenario: Scenario) -> tuple[int, int, int]:
    """How many jobs are strict (one deadline), soft (several) and best effort (none)."""
    deadlines = [len(job.rewards or ()) for job in scenario.jobs]
    strict, none = deadlines.count(1), deadlines.count(0)
    return strict, len(deadlines) - strict - none, none


def check_workload(workload: str | None) -> None:
    """Raise InputError for a workload of another name; None is none at all."""
    if workload is not None and workload not in WORKLOADS:
        raise InputError("workload", workload, f"one of: {', '.join(WORKLOADS)}")


def _mix(workload: str | DeadlineMix) -> DeadlineMix:
    if isinstance(workload, str):
        check_workload(workload)
        return WORKLOADS[workload]
    if not (min(workload) >= 0 and abs(sum(workload) - 1.0) <= 1e-9):
        raise InputError("workload", tuple(workload), "shares from 0 to 1 that add up to 1")
    return workload
