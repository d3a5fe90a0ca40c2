"""Gavel's policies as schedulers: shares of time by policy, rounds by the paper's mechanism."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.contract import Knobs
from workbench.decision import Snapshot
from workbench.papers.gavel.allocation import AllocationData
from workbench.papers.gavel.matrix import Allocation
from workbench.papers.gavel.max_min_fairness import MaxMinFairness
from workbench.papers.gavel.max_min_fairness_matrix import allocate as max_min_fairness
from workbench.papers.gavel.policy import scheduler
from workbench.papers.gavel.sum_schedulers import SUMS
from workbench.papers.gavel.time_schedulers import TIMES
from workbench.papers.gavel.view import numbers, seen
from workbench.papers.gavel.water_schedulers import WATER


def _plain(snapshot: Snapshot, knobs: Knobs, rows: npt.NDArray[np.int64], memory: Any) -> tuple[AllocationData, Any]:
    return AllocationData(**numbers(snapshot, knobs, rows)), None


def _max_min_fairness(data: AllocationData, knobs: Knobs) -> Allocation:
    return max_min_fairness(seen(data, knobs), str(knobs["optimum"]))


SCHEDULERS = (
    scheduler(
        MaxMinFairness(),
        "Gavel: max-min fairness (least attained service)",
        _plain,
        _max_min_fairness,
        uses=frozenset({"weight"}),
        authors={"optimum": "interior"},
        combine=min,
    ),
    *TIMES,
    *SUMS,
    *WATER,
)
