"""What the policies that maximise a sum compare jobs by: what a GPU of a type adds to the sum in a job's hands.

Of a sum under (2) job_time and (3) capacity alone, whoever has a share of a type is worth at least as much there, per
GPU of its gang, as whoever has no share at all: otherwise time taken from the one and given to the other adds to it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.papers.gavel import fifo, max_throughput, min_cost, shortest_job_first
from workbench.papers.gavel.allocation import AllocationData
from workbench.papers.gavel.prices import PricedData
from workbench.papers.gavel.steps import StepsData
from workbench.papers.gavel.view import seen
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs
from workbench.simulation.schema import WORTH_ON

DURATION = "duration_s"
"""A signal: remaining steps / steps/s on the job's fastest type, as the policy sees them."""


def per_gpu(data: AllocationData, worth: FloatArray) -> dict[str, FloatArray]:
    """{signal: (jobs,) worth per GPU} by accelerator type, NaN where a job cannot run; of two placements the better.

    worth: (jobs x types) what one step/s adds to the sum.
    """
    value = np.where(data.can_run, worth * data.speed / data.gang[:, None], -np.inf)
    found = {}
    for pool, name in enumerate(data.accelerators):
        best = value[:, data.pool == pool].max(axis=1, initial=-np.inf)
        found[WORTH_ON + name] = np.where(np.isfinite(best), best, np.nan)
    return found


def in_line(data: AllocationData, knobs: Knobs) -> Mapping[str, FloatArray]:
    """First in, first out: by the place in line."""
    known = seen(data, knobs)
    return per_gpu(known, fifo.worth(known, fifo.places(known)))


def by_length(data: StepsData, knobs: Knobs) -> Mapping[str, FloatArray]:
    """Shortest job first: the durations, and by the place in their order; as printed (`literal`) there is no sum."""
    known = seen(data, knobs)
    lengths = {DURATION: known.steps / fifo.fastest(known)}
    if knobs["literal"] or not data.jobs:
        return lengths
    return lengths | per_gpu(known, fifo.worth(known, shortest_job_first.value(known)))


def by_throughput(data: AllocationData, knobs: Knobs) -> Mapping[str, FloatArray]:
    """Maximum throughput; parts of the cluster (`partitions`) are sums of their own, which compare nobody else."""
    known = seen(data, knobs)
    return {} if int(knobs["partitions"]) > 1 else per_gpu(known, max_throughput.worth(known, knobs))


def per_dollar(data: PricedData, knobs: Knobs) -> Mapping[str, FloatArray]:
    """The policies of cost: steps/s per dollar; of the ratio, too, whose every GPU is paid."""
    known = seen(data, knobs)
    return per_gpu(known, min_cost.worth(known, max_throughput.value(known, knobs)))
