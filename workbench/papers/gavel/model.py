"""The part that the Pyomo models of all policies share: combinations, worker types, allocation and its limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from workbench.papers.gavel.allocation import AllocationData
from workbench.scheduling.decision import unit_name

COMBINATIONS = """k | jobs, and pairs of jobs that share their GPUs
C_m | combinations that job m is in: itself and its pairs"""
ACCELERATORS = """a | accelerator types
J_a | worker types of accelerator type a: itself, or one for each placement"""

GANG = """z_k | scale factor | GPUs
z_m | that of job m | GPUs"""


def lay_out(m: pyo.ConcreteModel, data: AllocationData, whole: Any = 1) -> None:
    """Add sets, parameters, `share`, the limits (2) and (3), and the expression `throughput` of each job.

    Section 3.1, with space sharing and placement; without them a combination is a job, a worker type an accelerator
    type. whole: what all of a job's time counts as; a variable of the model where shares are scaled by it.
    """
    units = [unit_name(unit) for unit in data.units]
    kinds = list(zip(data.types, data.pool.tolist(), strict=True))
    of = {name: [kind for kind, pool in kinds if pool == row] for row, name in enumerate(data.accelerators)}
    most = data.table(np.where(data.allowed, 1.0, 0.0))
    scaled = isinstance(whole, pyo.Var)

    m.JOBS = pyo.Set(initialize=data.jobs, doc="m | active jobs")
    m.COMBINATIONS = pyo.Set(initialize=units, doc=COMBINATIONS)
    m.TYPES = pyo.Set(initialize=data.types, doc="j | worker types")
    m.ACCELERATORS = pyo.Set(initialize=data.accelerators, doc=ACCELERATORS)

    steps: dict[str, list[tuple[str, str, float]]] = {job: [] for job in data.jobs}
    inside: dict[str, list[str]] = {job: [] for job in data.jobs}
    for unit, rows in zip(units, data.members, strict=True):
        for row in rows:
            inside[data.jobs[row]].append(unit)
    e = data.entries
    where = [(units[row], data.types[kind]) for row, kind in zip(e.combination.tolist(), e.kind.tolist(), strict=True)]
    for row, entry, speed in zip(e.job.tolist(), e.entry.tolist(), e.steps_per_s.tolist(), strict=True):
        steps[data.jobs[row]].append((*where[entry], speed))
    keys = {(job, unit, kind): speed for job, terms in steps.items() for unit, kind, speed in terms}
    workers = dict(zip(data.accelerators, data.workers.tolist(), strict=True))
    gang = dict(zip(units, data.unit_gang.tolist(), strict=True))

    m.speed = pyo.Param(keys.keys(), initialize=keys, doc="T^m_kj | throughput of job m in k on j | steps/s")
    m.gang = pyo.Param(m.COMBINATIONS, initialize=gang, doc=GANG)
    m.workers = pyo.Param(m.ACCELERATORS, initialize=workers, doc="c_a | workers | GPUs")

    def bounds(m, unit, kind):
        return 0, most[unit, kind] if not scaled or most[unit, kind] == 0 else None

    m.share = pyo.Var(m.COMBINATIONS, m.TYPES, bounds=bounds, doc="(1) X_kj | share of time on a type | 1")

    @m.Expression(m.JOBS, doc="throughput(m, X) | sum of speed times share over C_m and all j | steps/s")
    def throughput(m, job):
        return pyo.quicksum(m.speed[job, unit, kind] * m.share[unit, kind] for unit, kind, _ in steps[job])

    @m.Constraint(m.JOBS, doc="(2) a job runs at most all of the time, alone or in a pair")
    def job_time(m, job):
        return pyo.quicksum(m.share[unit, kind] for unit in inside[job] for kind in m.TYPES) <= whole

    @m.Constraint(m.ACCELERATORS, doc="(3) no more workers than there are")
    def capacity(m, name):
        used = pyo.quicksum(m.gang[unit] * m.share[unit, kind] for unit in m.COMBINATIONS for kind in of[name])
        return used <= m.workers[name] * whole
