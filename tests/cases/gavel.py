"""Runners of Gavel's reference cases (`../shared/cases/gavel`, made from the authors' code)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.baselines.isolated import Isolated, IsolatedData
from workbench.papers.gavel.max_min_fairness import FairnessData, MaxMinFairness
from workbench.shares import isolated_share

Case = Mapping[str, Any]


def _near(expected: float | None, got: float | None, relative: float = 1e-6) -> bool:
    if expected is None or got is None:
        return expected is None and got is None
    return bool(abs(got - expected) <= relative * max(1e-9, abs(expected)))


def _jobs(case: Case) -> tuple[str, ...]:
    return tuple(str(job["id"]) for job in case["jobs"])


def _types(case: Case) -> tuple[str, ...]:
    return tuple(str(name) for name in case.get("worker_types") or sorted(case["cluster_spec"]))


def _workers(case: Case) -> list[float]:
    return [float(case["cluster_spec"].get(name, 0)) for name in _types(case)]


def _gangs(case: Case) -> list[int]:
    return [int(job.get("scale_factor", 1)) for job in case["jobs"]]


def fairness_data(case: Case) -> FairnessData:
    """The data of an instance; speeds that are missing, null or negative (-inf) mean that the job cannot run."""
    speed = [[max(0.0, job["throughputs"].get(name) or 0.0) for name in _types(case)] for job in case["jobs"]]
    weight = [float(job.get("priority_weight", 1.0)) for job in case["jobs"]]
    return FairnessData(_jobs(case), _types(case), speed, weight, _gangs(case), _workers(case))


def _max_min_fairness(case: Case, aware: bool) -> dict[str, Any]:
    """Optimal value, relative 1e-6; the allocation is not unique, its limits are checked when it is read."""
    reference = case.get("exact") or case["gavel"]
    expected = reference["objective"]
    found = MaxMinFairness().run(fairness_data(case), {"heterogeneity_aware": aware})
    return {"ok": _near(expected, found.objective), "expected": expected, "got": found.objective, "note": found.status}


def las(case: Case, header: Case) -> dict[str, Any]:
    """Heterogeneity-aware max-min fairness."""
    return _max_min_fairness(case, True)


def las_agnostic(case: Case, header: Case) -> dict[str, Any]:
    """Heterogeneity-agnostic max-min fairness."""
    return _max_min_fairness(case, False)


def isolated(case: Case, header: Case) -> dict[str, Any]:
    """Shares equal to 1e-9 (the file has 9 digits): those of the linear programme and those of the closed form."""
    data = IsolatedData(_jobs(case), _types(case), _gangs(case), _workers(case))
    stated = {str(job): shares for job, shares in case["gavel"]["allocation"].items()}
    expected = [[stated[job].get(name, 0.0) for name in data.types] for job in data.jobs]
    allocation = Isolated().run(data, {}).values["allocation"]
    got = [[allocation[job][name] for name in data.types] for job in data.jobs]
    closed = isolated_share(data.workers, data.gang).reshape(len(data.jobs), len(data.types))
    apart = max(np.abs(np.array(found) - expected).max(initial=0.0) for found in (got, closed))
    return {"ok": bool(apart <= 1e-9), "expected": expected, "got": got, "note": f"largest difference {apart:.2g}"}


RUNNERS = {
    "las": las,
    "max_min_fairness_perf": las,
    "las_agnostic": las_agnostic,
    "max_min_fairness": las_agnostic,
    "isolated": isolated,
    "isolated / proportional": isolated,
}
"""By the name of the file or the policy in its header."""
