"""The policies that look at when jobs are done, as schedulers: minimum makespan and finish-time fairness."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.contract import Knobs
from workbench.decision import Snapshot
from workbench.papers.gavel import finish_time_fairness_matrix, makespan_matrix
from workbench.papers.gavel.finish_time_fairness import FinishTimeData, FinishTimeFairness, remember
from workbench.papers.gavel.makespan import Makespan, MakespanData, gather
from workbench.papers.gavel.matrix import Allocation
from workbench.papers.gavel.policy import scheduler
from workbench.papers.gavel.view import seen


def _makespan_data(
    snapshot: Snapshot, knobs: Knobs, rows: npt.NDArray[np.int64], memory: Any
) -> tuple[MakespanData, Any]:
    return gather(snapshot, knobs, rows), None


def _makespan(data: MakespanData, knobs: Knobs) -> Allocation:
    known, optimum = seen(data, knobs), str(knobs["optimum"])
    if knobs["method"] == "bisection":
        return makespan_matrix.bisect(known, float(knobs["tolerance"]), optimum)
    return makespan_matrix.allocate(known, optimum)


def _finish_time_fairness(data: FinishTimeData, knobs: Knobs) -> Allocation:
    known = seen(data, knobs)
    method, tolerance, optimum = str(knobs["method"]), float(knobs["tolerance"]), str(knobs["optimum"])
    return finish_time_fairness_matrix.allocate(known, method, tolerance, optimum)


TIMES = (
    scheduler(
        Makespan(),
        "Gavel: minimum makespan",
        _makespan_data,
        _makespan,
        authors={"optimum": "interior", "reference": "v100", "method": "bisection", "tolerance": 0.05},
        combine=max,
    ),
    scheduler(
        FinishTimeFairness(),
        "Gavel: finish-time fairness (Themis)",
        remember,
        _finish_time_fairness,
        authors={"optimum": "interior", "reference": "v100"},
    ),
)
