"""What becomes of jobs with deadlines: misses, rewards, guarantees, leases; and of best effort beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.analysis.metrics.declared import OF_SLOS
from workbench.base.arrays import BoolArray, FloatArray
from workbench.scenario.job import Job
from workbench.scenario.rewards import LOWEST
from workbench.simulation.intervals import Intervals, is_refused, positions
from workbench.simulation.run import Run

SAME_S = 1e-6
"""A job done so little after its deadline was in time; the rest is rounding."""


def reward_shares(run: Run) -> FloatArray:
    """(jobs,) share of its highest reward that each job attains, see `PER_JOB`; NaN for jobs without rewards."""
    finish_s = run.cells.column("jobs", "finish_s")
    at_best_s = np.where(np.isnan(finish_s), np.where(is_refused(run), np.inf, run.end_s), finish_s)
    spent_s = at_best_s - run.cells.column("jobs", "arrival_s")
    return np.array([_share(job, after) for job, after in zip(run.scenario.jobs, spent_s.tolist(), strict=True)])


def _share(job: Job, after_s: float) -> float:
    """(reward - lowest) / (highest - lowest) for a completion so long after the arrival; (9) for one job."""
    highest = job.rewards[0][1] if job.rewards else 0.0
    if highest <= 0:
        return np.nan
    lowest = LOWEST if highest > LOWEST else 0.0
    reward = next((value for deadline_s, value in job.rewards or () if after_s <= deadline_s + SAME_S), lowest)
    return max(reward - lowest, 0.0) / (highest - lowest)


@dataclass(frozen=True, eq=False)
class Verdicts:
    """(jobs,) whether each job had a guarantee at some time, and whether it never had one but another verdict.

    A verdict is recorded when it changes. So a job whose last one is best effort and not its first had a guarantee; one
    that was refused in the end had one if two verdicts went before.
    """

    promised: BoolArray
    turned_down: BoolArray

    @classmethod
    def of(cls, run: Run) -> Verdicts:
        """From the last verdicts and how many there were."""
        last = run.cells.column("jobs", "verdict")
        said = run.cells.column("events", "job")[run.cells.column("events", "event") == "verdict"]
        row = positions(run.cells.column("jobs", "job"), said)
        count = np.bincount(row[row >= 0], minlength=len(last))
        promised = (
            (last == "guaranteed") | ((last == "best_effort") & (count > 1)) | ((last == "refused") & (count > 2))
        )
        return cls(promised, (last != "") & ~promised)


def broken_s(run: Run) -> dict[str, float]:
    """When guarantees were broken, by job: at the last of several verdicts, where it is best effort."""
    said: dict[str, list[float]] = {}
    events, jobs = run.cells.columns("events"), run.cells.columns("jobs")
    verdicts = events["event"] == "verdict"
    for job, time_s in zip(*(events[name][verdicts].tolist() for name in ("job", "time_s")), strict=True):
        said.setdefault(job, []).append(time_s)
    last = dict(zip(jobs["job"], jobs["verdict"], strict=True))
    return {job: times[-1] for job, times in said.items() if len(times) > 1 and last[job] == "best_effort"}


def slo_values(
    run: Run, jobs: Mapping[str, npt.NDArray[Any]], measured: BoolArray, kept: BoolArray, intervals: Intervals
) -> dict[str, float]:
    """Values of `OF_SLOS`, NaN where unknown; jobs: of `per_job`; measured: (jobs,) which of them count; kept: (jobs,)
    which of them means of times do not leave out."""
    shares = jobs["reward_share"]
    slo = measured & ~np.isnan(shares)
    found = dict.fromkeys(OF_SLOS, np.nan)
    if not slo.any():
        return found
    number = np.array([len(job.rewards or ()) for job in run.scenario.jobs])
    attained = float(shares[slo].mean())
    jct_s = jobs["jct_s"]
    late = _late(run, jobs)
    found |= {
        "slo_violations": int((slo & late).sum()),
        "slo_violation_rate": float((slo & late).sum() / slo.sum()),
        "weighted_miss_rate": 1.0 - attained,
        "reward_attained": attained,
        "strict_miss_rate": 1.0 - _mean(shares[slo & (number == 1)]),
        "soft_miss_rate": 1.0 - _mean(shares[slo & (number > 1)]),
        "best_effort_jct_s": _mean(jct_s[measured & kept & np.isnan(shares) & ~np.isnan(jct_s)]),
    }
    return found | _guarantees(run, slo, shares, late) | _leases(run, measured, kept, intervals)


def _late(run: Run, jobs: Mapping[str, npt.NDArray[Any]]) -> BoolArray:
    """(jobs,) whether a job is not done by its last deadline, or will not be; false where it has none."""
    slo_s = np.array([job.deadline_s for job in run.scenario.jobs], dtype=float)
    finish_s, due_s = jobs["finish_s"], jobs["arrival_s"] + slo_s
    late = np.where(np.isnan(finish_s), is_refused(run) | (due_s < run.end_s), finish_s > due_s + SAME_S)
    found: BoolArray = late & np.isfinite(slo_s)
    return found


def _guarantees(run: Run, slo: BoolArray, shares: FloatArray, late: BoolArray) -> dict[str, float]:
    """Unknown where no verdict was given to a job with an SLO."""
    if not (slo & (run.cells.column("jobs", "verdict") != "")).any():
        return {}
    verdicts = Verdicts.of(run)
    turned_down = slo & verdicts.turned_down
    return {
        "guaranteed": int((slo & verdicts.promised).sum()),
        "unguaranteed": int(turned_down.sum()),
        "unguaranteed_miss_rate": 1.0 - _mean(shares[turned_down]),
        "broken_guarantees": int((slo & verdicts.promised & late).sum()),
    }


def _leases(run: Run, measured: BoolArray, kept: BoolArray, intervals: Intervals) -> dict[str, float]:
    """Profiles: their delays; leases: how many were renewed, and how many ended or were ended without being so."""
    profile = intervals.is_kind("profile")
    first_s = np.full(len(measured), np.inf)
    np.minimum.at(first_s, intervals.job[profile], intervals.start[profile])
    profiled = measured & kept & np.isfinite(first_s)
    delay_s = (first_s - run.cells.column("jobs", "arrival_s"))[profiled]
    ends = set(zip(intervals.job[profile].tolist(), intervals.end[profile].tolist(), strict=True))
    events = run.cells.columns("events")
    lost = events["event"] == "preempt"
    rows = positions(run.cells.column("jobs", "job"), events["job"][lost]).tolist()
    losses = [row for row, at_s in zip(rows, events["time_s"][lost].tolist(), strict=True) if (row, at_s) not in ends]
    return {
        "mean_profiling_delay_s": _mean(delay_s),
        "max_profiling_delay_s": float(delay_s.max()) if len(delay_s) else np.nan,
        "renewals": int(run.cells.column("jobs", "renewals")[measured].sum()),
        "suspensions": int(measured[losses].sum()) if losses else 0,
    }


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else np.nan
