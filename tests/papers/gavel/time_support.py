"""What the tests of minimum makespan and finish-time fairness share: their data, and isolated throughputs by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.papers.gavel.sum_support import EXTENDED, PLAIN, SloData, dense
from workbench.papers.gavel.finish_time_fairness import FinishTimeData
from workbench.papers.gavel.steps import StepsData
from workbench.scenario.throughput import FloatArray


def makespan_data(data: SloData) -> StepsData:
    """The same without prices and SLOs."""
    return StepsData(**{name: getattr(data, name) for name in EXTENDED}, steps=data.steps)


def finish_data(data: SloData, elapsed_s: Any = 0.0, isolated_s: Any = 0.0) -> FinishTimeData:
    """The same with times by job, or one time for all."""
    every = np.ones(len(data.jobs))
    times = {"elapsed_s": every * elapsed_s, "isolated_s": every * isolated_s}
    return FinishTimeData(**{name: getattr(data, name) for name in EXTENDED}, steps=data.steps, **times)


def isolated(data: SloData, aware: bool = True) -> FloatArray:
    """(jobs,) throughput with 1/M of the cluster, written from the paper; of two placements the faster one."""
    gained, types = dense(data, aware).gained, len(data.types)
    found = []
    for m in range(len(data.jobs)):
        best = np.zeros(len(data.workers))
        for j in range(types):
            pool = int(np.asarray(data.accelerator)[j])
            best[pool] = max(best[pool], gained[m, j, m * types + j])
        owned = data.workers / len(data.jobs) / data.gang[m]
        found.append(best @ owned / max(1.0, owned.sum()))
    return np.array(found)


def instance(case: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an allocation's data, of one of the authors' instances."""
    types, jobs = tuple(case["worker_types"]), case["jobs"]
    fields = (
        tuple(str(job["id"]) for job in jobs),
        types,
        [[job["throughputs"][name] for name in types] for job in jobs],
        [job["priority_weight"] for job in jobs],
        [job["scale_factor"] for job in jobs],
        [case["cluster_spec"][name] for name in types],
    )
    return dict(zip(PLAIN, fields, strict=True), steps=[job["num_steps_remaining"] for job in jobs])
