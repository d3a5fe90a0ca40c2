"""Large clusters by random parts (POP, Narayanan et al., SOSP 2021): jobs dealt out at random, each part of the cluster
divided by itself.

Every part has 1/k of each type's workers, so P_m and isolated throughputs stay what they were. The allocation keeps all
limits; its objective is at best that of the whole. Pairs of jobs in different parts are lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from workbench.papers.gavel.formulations.allocation import DividedTime
from workbench.papers.gavel.instance import AllocationInstance
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import IntArray

Combine = Callable[[Iterable[float]], float]
"""From the parts' objectives to that of the whole: min, max or sum."""


def parts_of(jobs: int, count: int) -> list[IntArray]:
    """Positions of the jobs in each of at most `count` parts, rising; as equal in number as can be, always the same."""
    dealt = np.random.default_rng(count).permutation(jobs)
    return [np.sort(part) for part in np.array_split(dealt, max(min(count, jobs), 1)) if len(part)]


def by_parts(
    data: AllocationInstance,
    knobs: Knobs,
    allocate: Callable[[AllocationInstance, Knobs], DividedTime],
    combine: Combine,
) -> DividedTime:
    """The allocation by `knobs["partitions"]` random parts, with the objective that it has as a whole."""
    if min(int(knobs["partitions"]), len(data.jobs)) < 2:
        return allocate(data, knobs)
    parts = parts_of(len(data.jobs), int(knobs["partitions"]))
    found = [allocate(data.only(rows, 1 / len(parts)), knobs) for rows in parts]
    shares = np.zeros((len(data.units), len(data.types)))
    by_job = {name: np.zeros(len(data.jobs)) for name in found[0].by_job}
    spot = {tuple(sorted(pair)): len(data.jobs) + n for n, pair in enumerate(data.pairs.tolist())}
    for rows, part in zip(parts, found, strict=True):
        shares[rows] = part.shares[: len(rows)]
        inside = data.only(rows).pairs
        for pair, values in zip(rows[inside].tolist(), part.shares[len(rows) :], strict=True):
            shares[spot[tuple(sorted(pair))]] = values
        for name, values in part.by_job.items():
            by_job[name][rows] = values
    reports = [part.solved for part in found]
    solved = replace(
        reports[0],
        objective=combine(report.value for report in reports),
        bound=None,
        gap=None,
        build_s=sum(report.build_s for report in reports),
        solve_s=sum(report.solve_s for report in reports),
        passes=sum(report.passes for report in reports),
    )
    return DividedTime(shares, solved, by_job)
