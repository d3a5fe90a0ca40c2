"""Two runs of one scenario, job by job: who is done sooner, and from when on a job holds other GPUs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from workbench.base.errors import InputError, Words
from workbench.scenario.throughput import FloatArray
from workbench.simulation.intervals import Intervals
from workbench.simulation.run import Run

SAME_S = 1e-6
"""Times nearer than this are one."""
SAME_SHARE = 1e-9
"""And those whose difference is a smaller share of them."""


def job_differences(before: Run, after: Run) -> pd.DataFrame:
    """One row for each job, in the scenario's order.

    before_s, after_s: its JCT, NaN if it has not finished; difference_s, ratio: after - before, after / before, NaN
    unless both are known; sooner: `before`, `after`, `same` or, if it finished in neither, empty (a job that finished
    in one alone is sooner there); diverged_s: the first time at which it holds other GPUs in the one than in the other
    (another number, or of another type; which nodes does not count), NaN if never.

    Raises InputError for runs of scenarios with other jobs or types.
    """
    if list(before.jobs["job"]) != list(after.jobs["job"]):
        raise InputError("runs", Words("runs with other jobs"), "two runs of one scenario")
    if before.scenario.cluster.types != after.scenario.cluster.types:
        raise InputError("runs", Words("runs with other GPU types"), "two runs of one scenario")
    first, second = (
        (run.jobs["finish_s"] - run.jobs["arrival_s"]).to_numpy(dtype=np.float64) for run in (before, after)
    )
    difference = second - first
    near = np.abs(difference) <= np.maximum(SAME_S, SAME_SHARE * np.abs(first))
    done, done_after = ~np.isnan(first), ~np.isnan(second)
    cases = [done & done_after & near, done & (~done_after | (difference > 0)), done_after]
    return pd.DataFrame(
        {
            "job": before.jobs["job"].to_numpy(),
            "before_s": first,
            "after_s": second,
            "difference_s": difference,
            "ratio": second / np.where(first > 0, first, np.nan),
            "sooner": np.select(cases, ["same", "before", "after"], ""),
            "diverged_s": _diverged(before, after),
        }
    )


def diverged_s(differences: pd.DataFrame) -> float:
    """The first time at which some job holds other GPUs, NaN if none ever does; differences: of `job_differences`."""
    return float(differences["diverged_s"].min())


def _diverged(before: Run, after: Run) -> FloatArray:
    """For each job the first time at which it holds other GPUs, by number and type."""
    changes = pd.concat([_changes(before, 1), _changes(after, -1)], ignore_index=True)
    changes = changes.sort_values(["job", "accelerator", "time_s"], kind="stable")
    apart = changes["time_s"].diff() > np.maximum(SAME_S, SAME_SHARE * changes["time_s"])
    changes["moment"] = (apart | changes["job"].ne(changes["job"].shift())).cumsum()
    moments = changes.groupby(["job", "accelerator", "moment"], as_index=False).agg(
        time_s=("time_s", "first"), change=("change", "sum")
    )
    moments["apart"] = moments.groupby(["job", "accelerator"])["change"].cumsum()
    found = moments[moments["apart"] != 0].groupby("job")["time_s"].min()
    times: FloatArray = found.reindex(range(len(before.jobs))).to_numpy(dtype=np.float64)
    return times


def _changes(run: Run, sign: int) -> pd.DataFrame:
    """Of every GPU that a job takes and gives back: columns job, accelerator (by number), time_s, change."""
    held = Intervals.of(run)
    parts = []
    for jobs in (held.job, held.other):
        rows = held.held & (jobs >= 0)
        for time, change in ((held.start, sign), (held.end, -sign)):
            part = {"job": jobs[rows], "accelerator": held.accelerator[rows], "time_s": time[rows], "change": change}
            parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)
