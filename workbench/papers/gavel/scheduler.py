"""Gavel's policies as schedulers: shares of time by policy, rounds by the paper's mechanism."""

from __future__ import annotations

from workbench.baselines.mechanisms.priority.explain import explain
from workbench.papers.gavel.allocation import AllocationData
from workbench.papers.gavel.explain import EXPLAINERS
from workbench.papers.gavel.matrix import Allocation
from workbench.papers.gavel.max_min_fairness import MaxMinFairness
from workbench.papers.gavel.max_min_fairness_matrix import allocate as max_min_fairness
from workbench.papers.gavel.policy import forgetful, scheduler
from workbench.papers.gavel.sum_schedulers import SUMS
from workbench.papers.gavel.time_schedulers import TIMES
from workbench.papers.gavel.view import gather, seen
from workbench.papers.gavel.water_schedulers import WATER
from workbench.scheduling.contract import Knobs


def _max_min_fairness(data: AllocationData, knobs: Knobs) -> Allocation:
    return max_min_fairness(seen(data, knobs), str(knobs["optimum"]))


SCHEDULERS = (
    scheduler(
        MaxMinFairness(),
        "Gavel: max-min fairness (least attained service)",
        forgetful(gather),
        _max_min_fairness,
        uses=frozenset({"weight"}),
        authors={"optimum": "interior"},
        combine=min,
    ),
    *TIMES,
    *SUMS,
    *WATER,
)
EXPLAIN = {each.name: EXPLAINERS.get(each.name, explain) for each in SCHEDULERS}
