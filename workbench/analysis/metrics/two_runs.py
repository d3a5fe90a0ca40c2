"""Two runs of one scenario, job by job: who is done sooner, and from when on a job holds other GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError, Words, counted
from workbench.base.units import format_duration
from workbench.simulation.intervals import Intervals
from workbench.simulation.run import Run

if TYPE_CHECKING:
    import pandas as pd

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
    return completions(before, after).assign(diverged_s=_diverged(before, after))


def completions(before: Run, after: Run) -> pd.DataFrame:
    """The columns of `job_differences` but `diverged_s`, which costs most; raises as that."""
    if list(before.jobs["job"]) != list(after.jobs["job"]):
        raise InputError("runs", Words("runs with other jobs"), "two runs of one scenario")
    if before.scenario.cluster.types != after.scenario.cluster.types:
        raise InputError("runs", Words("runs with other GPU types"), "two runs of one scenario")
    return completions_of(before.jobs["job"].tolist(), jct_s(before), jct_s(after))


def jct_s(run: Run) -> FloatArray:
    """(jobs,) seconds from arrival to completion, NaN of a job that has not finished."""
    found: FloatArray = run.cells.column("jobs", "finish_s") - run.cells.column("jobs", "arrival_s")
    return found


def completions_of(jobs: Sequence[str], first: FloatArray, second: FloatArray) -> pd.DataFrame:
    """`completions` of jobs by name, from the JCT of each in both runs, s, NaN where it has not finished."""
    import pandas as pd

    difference = second - first
    near = np.abs(difference) <= np.maximum(SAME_S, SAME_SHARE * np.abs(first))
    done, done_after = ~np.isnan(first), ~np.isnan(second)
    cases = [done & done_after & near, done & (~done_after | (difference > 0)), done_after]
    return pd.DataFrame(
        {
            "job": pd.array(list(jobs), dtype="str"),
            "before_s": first,
            "after_s": second,
            "difference_s": difference,
            "ratio": second / np.where(first > 0, first, np.nan),
            "sooner": np.select(cases, ["same", "before", "after"], ""),
        }
    )


LEAST_S, LEAST_OF_SHORT, LEAST_SHARE = 1.0, 1e-2, 1e-3
"""Differences that a sentence tells of: from so many seconds, of times below 100 s from such a part, and of long ones
from such a part on."""
MOST_NAMED = 3
"""Jobs that a sentence names on each side."""


def gains(differences: pd.DataFrame) -> str:
    """Who gains from the first run to the second and who pays, in one sentence; differences: of `job_differences`.

    What is less than a second (of times below 100 s a hundredth), or than a thousandth of the time before, is nobody's.
    """
    known = differences[differences["difference_s"].notna()]
    before_s = known["before_s"]
    least_s = np.maximum(np.minimum(LEAST_S, LEAST_OF_SHORT * before_s), LEAST_SHARE * before_s)
    known = known.assign(sooner=known["sooner"].where(known["difference_s"].abs() >= least_s, "same"))
    sooner = known[known["sooner"] == "after"].sort_values("difference_s", kind="stable")
    later = known[known["sooner"] == "before"].sort_values("difference_s", ascending=False, kind="stable")
    sides = [
        f"{_named(rows, how)} {verb}{'s' if len(rows) == 1 else ''}"
        for rows, how, verb in ((sooner, "sooner", "gain"), (later, "later", "pay"))
        if len(rows)
    ]
    for which, said in (("after", "ends only now"), ("before", "no longer ends")):
        alone = differences[differences["difference_s"].isna() & (differences["sooner"] == which)]["job"]
        sides += [f"{_listed(alone.astype(str).tolist())} {said}"] if len(alone) else []
    if not sides:
        if known["difference_s"].any():
            return "Every job ends about when it did."
        return "Every job ends when it did."
    mean_s = float(known["difference_s"].mean()) if len(known) else 0.0
    short_s = LEAST_OF_SHORT * float(known["before_s"].mean()) if len(known) else LEAST_S
    way = "later" if mean_s > 0 else "sooner"
    mean = f"{format_duration(abs(mean_s), parts=2)} {way}" if abs(mean_s) >= min(LEAST_S, short_s) else "no change"
    same = known[known["sooner"] == "same"]
    if 0 < len(same) <= MOST_NAMED:
        about = "about " if same["difference_s"].any() else ""
        sides.append(f"{_listed(same['job'].astype(str).tolist())} end{'s' * (len(same) == 1)} {about}as before")
    return f"{', '.join(sides)}; on average {mean}."


def diverged_s(differences: pd.DataFrame) -> float:
    """The first time at which some job holds other GPUs, NaN if none ever does; differences: of `job_differences`."""
    return float(differences["diverged_s"].min())


def _named(rows: pd.DataFrame, way: str) -> str:
    """Jobs with how much sooner or later they end, the most first."""
    pairs = zip(rows["job"].astype(str), rows["difference_s"].abs(), strict=True)
    said = [f"{job} ({format_duration(float(by_s), parts=2)} {way})" for job, by_s in pairs]
    return _listed(said)


def _listed(said: Sequence[str]) -> str:
    shown, more = list(said[:MOST_NAMED]), len(said) - MOST_NAMED
    parts = [*shown, counted(more, "other")] if more > 0 else shown
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _diverged(before: Run, after: Run) -> FloatArray:
    """For each job the first time at which it holds other GPUs, by number and type."""
    import pandas as pd

    changes = pd.concat([_changes(before, 1), _changes(after, -1)], ignore_index=True)
    changes = changes.sort_values(["job", "accelerator", "time_s"], kind="stable")
    apart = changes["time_s"].diff() > np.maximum(SAME_S, SAME_SHARE * changes["time_s"])
    changes["instant"] = (apart | changes["job"].ne(changes["job"].shift())).cumsum()
    moments = changes.groupby(["job", "accelerator", "instant"], as_index=False).agg(
        time_s=("time_s", "first"), change=("change", "sum")
    )
    moments["apart"] = moments.groupby(["job", "accelerator"])["change"].cumsum()
    found = moments[moments["apart"] != 0].groupby("job")["time_s"].min()
    times: FloatArray = found.reindex(range(len(before.jobs))).to_numpy(dtype=np.float64)
    return times


def _changes(run: Run, sign: int) -> pd.DataFrame:
    """Of every GPU that a job takes and gives back: columns job, accelerator (by number), time_s, change."""
    import pandas as pd

    held = Intervals.of(run)
    parts = []
    for jobs in (held.job, held.other):
        rows = held.held & (jobs >= 0)
        for time, change in ((held.start, sign), (held.end, -sign)):
            part = {"job": jobs[rows], "accelerator": held.accelerator[rows], "time_s": time[rows], "change": change}
            parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)
