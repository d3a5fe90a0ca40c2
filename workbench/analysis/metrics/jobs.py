"""Measures of each job."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from workbench.analysis.metrics.declared import PER_JOB
from workbench.analysis.metrics.slo import reward_shares
from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.simulation.intervals import Intervals, is_refused, left_s, presence
from workbench.simulation.run import Run

if TYPE_CHECKING:
    import pandas as pd


def per_job(run: Run) -> pd.DataFrame:
    """One row per job in the scenario's order; columns, units and definitions: `PER_JOB`, then the jobs' attributes.

    Raises InputError for what is no run; see `measures_of_jobs`.
    """
    found = PER_JOB.frame(measures_of_jobs(run))
    facts = [job.attributes for job in run.scenario.jobs]
    for name in dict.fromkeys(chain.from_iterable(facts)):
        found[f"attributes.{name}"] = [each.get(name) for each in facts]
    return found


def measures_of_jobs(run: Run, *, intervals: Intervals | None = None) -> dict[str, npt.NDArray[Any]]:
    """The columns of `per_job` as arrays, without attributes.

    Missing where undefined: what needs a completion is missing for a job without one.
    """
    if not isinstance(run, Run):
        raise InputError("run", run, "a Run, what `simulate` returns")
    jobs = run.cells.columns("jobs")
    arrival, finish = jobs["arrival_s"], jobs["finish_s"]
    jct = finish - arrival
    lived = (arrival < run.end_s) & ~(is_refused(run) & np.isnan(finish))
    wait = np.where(lived, jobs["waited_s"], np.nan)
    speeds = Speeds(run.scenario)
    given = np.array([job.steps_done for job in run.scenario.jobs], dtype=float)
    steps = jobs["steps"] - given
    return PER_JOB.arrays(
        {
            **{name: jobs[name] for name in PER_JOB.names if name in jobs},
            "jct_s": jct,
            "wait_s": wait,
            "finish_time_fairness": jct / (steps * speeds.isolated(_present(run))),
            "latency_ratio": np.where(np.isnan(finish), np.nan, wait) / (steps * speeds.expected()),
            "reward_share": reward_shares(run),
            "cost_usd": _cost(run, Intervals.of(run) if intervals is None else intervals),
        }
    )


def _present(run: Run) -> FloatArray:
    """Jobs present, the job itself included, on average over each job's life."""
    times, count = presence(run)
    arrival, gone = run.cells.column("jobs", "arrival_s"), np.minimum(left_s(run), run.end_s)
    if not len(times):
        return np.ones(len(arrival))
    last = len(times) - 1
    begin = np.minimum(np.searchsorted(times, arrival), last)
    at_arrival = np.maximum(count[begin], 1.0)
    job_s = np.concatenate([[0.0], np.cumsum(count[:-1] * np.diff(times))])
    end = np.clip(np.searchsorted(times, gone, side="right") - 1, 0, last)
    until = job_s[end] + count[end] * np.maximum(gone - times[end], 0.0)
    life = gone - arrival
    return np.where(life > 0, (until - job_s[begin]) / np.where(life > 0, life, 1.0), at_arrival)


def _cost(run: Run, intervals: Intervals) -> FloatArray:
    """USD per job: GPU-hours held x the type's price, half of a pair's to each; missing if a price is unknown."""
    prices = {a.name: a.price_per_hour for a in run.scenario.cluster.accelerators}
    known = [prices[name] for name in run.scenario.cluster.types]
    price = np.array([np.nan if value is None else value for value in known], dtype=float)
    usd = intervals.seconds / 3600.0 * price[intervals.accelerator] * np.where(intervals.other >= 0, 0.5, 1.0)
    return intervals.by_job(usd, None, intervals.held, len(run.scenario.jobs))


class Speeds:
    """Seconds per step of each job as fairness measures expect them: mean over types by their number of GPUs.

    Types on which a job has no speed are left out and the others' weights scaled up to 1. Speeds are the throughput
    table's for consolidated gangs (unconsolidated where only those have a row), without node speeds.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._table, cluster = scenario.table, scenario.cluster
        self._types, self._gpus = cluster.types, cluster.gpus
        self._weight = np.array([cluster.capacity[name] for name in cluster.types], dtype=float) / cluster.gpus
        classes: dict[tuple[str, int, tuple[int, ...]], int] = {}
        member = [classes.setdefault((job.model, job.gpus, job.sizes), len(classes)) for job in scenario.jobs]
        self._member, self._classes = np.array(member, dtype=np.int64), list(classes)
        self._known: dict[tuple[str, int], FloatArray] = {}

    def isolated(self, present: FloatArray) -> FloatArray:
        """On 1/present of the cluster's GPUs: at the fastest size that fits, else at the smallest that runs."""
        share = self._gpus / present
        result = np.full(len(share), np.nan)
        for number, (model, _, sizes) in enumerate(self._classes):
            speed = np.maximum.accumulate([self._on(model, size) for size in sizes], axis=0)
            for row in range(len(sizes) - 2, -1, -1):
                speed[row] = np.where(speed[row] > 0, speed[row], speed[row + 1])
            seconds = np.array([self._mean(row) for row in speed])
            mine = np.flatnonzero(self._member == number)
            fits = np.searchsorted(sizes, share[mine] * (1 + 1e-9), side="right") - 1
            result[mine] = seconds[np.maximum(fits, 0)]
        return result

    def expected(self) -> FloatArray:
        """Hops (9): speed per GPU of the gang asked for, times the mean of the sizes that the job may have."""
        found = [
            self._mean(self._asked(number) / gpus * float(np.mean(sizes)))
            for number, (_, gpus, sizes) in enumerate(self._classes)
        ]
        return np.array(found, dtype=float)[self._member]

    def fastest(self) -> FloatArray:
        """Steps/s of the gang asked for on its fastest type."""
        return np.array([self._asked(i).max() for i in range(len(self._classes))], dtype=float)[self._member]

    def _asked(self, number: int) -> FloatArray:
        """(types,) steps/s of the gang asked for; of the smallest size that runs somewhere if that one does not."""
        model, gpus, sizes = self._classes[number]
        for size in (gpus, *sizes):
            speed = self._on(model, size)
            if speed.any():
                return speed * (gpus / size)
        return self._on(model, gpus)

    def _on(self, model: str, gpus: int) -> FloatArray:
        """(types,) steps/s, 0 where it cannot run."""
        key = (model, gpus)
        if key not in self._known:
            row = self._table.row
            self._known[key] = np.array(
                [row(model, t, gpus) or row(model, t, gpus, "unconsolidated") for t in self._types], dtype=float
            )
        return self._known[key]

    def _mean(self, speed: FloatArray) -> float:
        runs = speed > 0
        return float((self._weight[runs] / speed[runs]).sum() / self._weight[runs].sum()) if runs.any() else np.nan
