"""The policies that look at when jobs are done, as schedulers: minimum makespan and finish-time fairness."""

from __future__ import annotations

from dataclasses import replace

from workbench.papers.gavel import finish_time_fairness_matrix, makespan_matrix, steps
from workbench.papers.gavel.finish_time_fairness import FinishTimeData, FinishTimeFairness, remember
from workbench.papers.gavel.makespan import Makespan
from workbench.papers.gavel.matrix import Allocation
from workbench.papers.gavel.policy import forgetful, scheduler
from workbench.papers.gavel.view import seen
from workbench.scheduling.contract import Knobs


def _makespan(data: steps.StepsData, knobs: Knobs) -> Allocation:
    known, optimum = seen(data, knobs), str(knobs["optimum"])
    if knobs["method"] == "bisection":
        return makespan_matrix.bisect(known, float(knobs["tolerance"]), optimum, begin=str(knobs["bracket"]))
    return makespan_matrix.allocate(known, optimum)


def _finish_time_fairness(data: FinishTimeData, knobs: Knobs) -> Allocation:
    known = seen(data, knobs)
    method, tolerance, optimum = str(knobs["method"]), float(knobs["tolerance"]), str(knobs["optimum"])
    found = finish_time_fairness_matrix.allocate(known, method, tolerance, optimum)
    return replace(found, by_job={"rho": data.rho(found.shares)}) if data.jobs else found


TIMES = (
    scheduler(
        Makespan(),
        "Gavel: minimum makespan",
        forgetful(steps.gather),
        _makespan,
        authors={
            "optimum": "interior",
            "reference": "v100",
            "method": "bisection",
            "tolerance": 0.05,
            "bracket": "authors",
        },
        combine=max,
    ),
    scheduler(
        FinishTimeFairness(),
        "Gavel: finish-time fairness (Themis)",
        remember,
        _finish_time_fairness,
        authors={"optimum": "interior", "reference": "v100"},
        signals=("rho",),
    ),
)
