"""AlloX's lines over single GPUs: each job is matched to a GPU and a place in its line, at the least total time.

The job that is k-th from the end of a line delays k jobs, itself included, by its time; all of them wait for the GPU
to be free. An assignment problem (Le et al., EuroSys 2020).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.scipy_alone import load_scipy


class Place(NamedTuple):
    """Where a job stands: on which GPU, and as the how many-th from the end of its line, from 1."""

    job: int
    gpu: int
    from_end: int


def first_in_line(time_s: FloatArray, busy_s: FloatArray) -> list[tuple[int, int]]:
    """(job, GPU) of the jobs that go first where lines are matched at the least total time; see `matched`."""
    return [(place.job, place.gpu) for place in first_of(matched(time_s, busy_s))]


def first_of(line: Iterable[Place]) -> list[Place]:
    """Of each GPU's line the place that goes first."""
    last: dict[int, Place] = {}
    for place in line:
        if place.gpu not in last or place.from_end > last[place.gpu].from_end:
            last[place.gpu] = place
    return list(last.values())


def matched(time_s: FloatArray, busy_s: FloatArray) -> list[Place]:
    """The place of each job where lines are matched at the least total time.

    time_s: (jobs x gpus), infinite where a job cannot run, but finite somewhere for each; busy_s: (gpus,) until each
    line can begin.
    """
    load_scipy()  # when needed: it takes a part of a second
    from scipy.optimize import linear_sum_assignment

    place, gpu = places(time_s, busy_s)
    row, column = linear_sum_assignment(place * time_s[:, gpu] + busy_s[gpu])
    return [
        Place(job, int(gpu[spot]), int(place[spot])) for job, spot in zip(row.tolist(), column.tolist(), strict=True)
    ]


def places(time_s: FloatArray, busy_s: FloatArray) -> tuple[IntArray, IntArray]:
    """(k, GPU) of the places that a best matching may need.

    Among the GPUs on which all jobs take equally long, place k of the r-th to begin costs no job less than the k r
    places up to k of the first r. With k r above the number of jobs one of those is left over.
    """
    jobs, gpus = time_s.shape
    numbers: dict[bytes, int] = {}
    kind = np.array([numbers.setdefault(column.tobytes(), len(numbers)) for column in time_s.T.copy()], dtype=np.int64)
    order = np.lexsort((busy_s, kind))
    rank = np.empty(gpus, dtype=np.int64)
    rank[order] = np.arange(gpus) - np.searchsorted(kind[order], kind[order]) + 1
    place, gpu = np.repeat(np.arange(1, jobs + 1), gpus), np.tile(np.arange(gpus), jobs)
    needed = place * rank[gpu] <= jobs
    return place[needed], gpu[needed]
