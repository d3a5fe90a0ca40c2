"""Gavel's policies as schedulers: the shares of a formulation, carried out by the mechanism of section 5."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from workbench.decision import Shares, Snapshot, Solution
from workbench.knob import Knob
from workbench.mechanisms.priority import Allocated
from workbench.mechanisms.share_scheduler import ShareScheduler
from workbench.papers.gavel.max_min_fairness import FairnessData, MaxMinFairness, data_of, runnable
from workbench.papers.gavel.max_min_fairness_matrix import allocate
from workbench.papers.paper import Knobs
from workbench.throughput import FloatArray

MODEL = Knob(
    "model",
    "matrix",
    "Solve the formulation as a sparse matrix (fast), or as the Pyomo model that states it",
    kind="str",
    choices=("matrix", "pyomo"),
)
_FORMULATION = MaxMinFairness()


def max_min_fairness(snapshot: Snapshot, knobs: Knobs, memory: None = None) -> Allocated:
    """Shares of `gavel.max_min_fairness`; jobs that can run nowhere at present have none."""
    rows = np.flatnonzero((runnable(snapshot) > 0).any(axis=1))
    data = data_of(snapshot, rows)
    values, solution = _by_pyomo(data, knobs) if knobs["model"] == "pyomo" else _by_matrix(data, knobs)
    return Allocated(Shares(data.jobs, data.types, values), solution)


def _by_matrix(data: FairnessData, knobs: Knobs) -> tuple[FloatArray, Solution]:
    aware = bool(knobs["heterogeneity_aware"])
    if not aware:  # speeds take no part: jobs that differ in them alone get equal shares
        data = replace(data, speed=np.where(data.can_run, 1.0, 0.0))
    found = allocate(data, aware, str(knobs["optimum"]))
    solved = found.solved
    objective = solved.objective if data.jobs else None
    return found.shares, Solution(
        solved.status, objective, solved.bound, solved.gap, solved.build_s, solved.solve_s, solved.iterations
    )


def _by_pyomo(data: FairnessData, knobs: Knobs) -> tuple[FloatArray, Solution]:
    found = _FORMULATION.run(data, knobs)
    rows = [list(row.values()) for row in found.values["allocation"].values()]
    values = np.array(rows, dtype=float).reshape(len(data.jobs), len(data.types))
    return values, Solution(found.status, found.objective, found.bound, found.gap, found.build_s, found.solve_s)


SCHEDULERS = (
    ShareScheduler(
        "gavel.max_min_fairness",
        "Gavel: max-min fairness (least attained service)",
        max_min_fairness,
        knobs=(*MaxMinFairness.knobs, MODEL),
        uses=frozenset({"weight"}),
        authors={"optimum": "interior"},
    ),
)
