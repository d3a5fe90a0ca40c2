"""The schedulers of the policies that maximise a sum over the jobs: FIFO, shortest job first, throughput and cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.contract import Knobs
from workbench.decision import Snapshot
from workbench.papers.gavel import fifo, max_throughput, min_cost, min_cost_slo, shortest_job_first, slo
from workbench.papers.gavel.allocation import AllocationData
from workbench.papers.gavel.matrix import Allocation
from workbench.papers.gavel.policy import Data, scheduler
from workbench.papers.gavel.prices import PricedData
from workbench.papers.gavel.view import seen


def _forgetful(gather: Callable[[Snapshot, Knobs, npt.ArrayLike | None], AllocationData]) -> Data:
    """The data of a policy that remembers nothing."""

    def data(snapshot: Snapshot, knobs: Knobs, rows: npt.NDArray[np.int64], memory: Any) -> tuple[AllocationData, Any]:
        return gather(snapshot, knobs, rows), None

    return data


def _min_cost(data: PricedData, knobs: Knobs) -> Allocation:
    return min_cost.allocate(seen(data, knobs), knobs)


SUMS = (
    scheduler(fifo.Fifo(), fifo.Fifo.title, _forgetful(fifo.gather), fifo.allocate, authors={"optimum": "interior"}),
    scheduler(
        shortest_job_first.ShortestJobFirst(),
        shortest_job_first.ShortestJobFirst.title,
        _forgetful(shortest_job_first.gather),
        shortest_job_first.allocate,
        authors={"optimum": "interior"},
    ),
    scheduler(
        max_throughput.MaxThroughput(),
        max_throughput.MaxThroughput.title,
        _forgetful(max_throughput.gather),
        max_throughput.allocate,
        authors={"optimum": "interior"},
        combine=sum,
    ),
    scheduler(
        min_cost.MinCost(),
        min_cost.MinCost.title,
        _forgetful(min_cost.gather),
        _min_cost,
        authors={"optimum": "interior"},
    ),
    scheduler(
        min_cost_slo.MinCostSlo(),
        min_cost_slo.MinCostSlo.title,
        _forgetful(slo.gather),
        min_cost_slo.allocate,
        uses=frozenset({"rewards"}),
        authors={"optimum": "interior", "infeasible": "drop_all"},
        defaults={"infeasible": "drop"},
        signals=("slo_dropped",),
    ),
)
