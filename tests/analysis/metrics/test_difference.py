"""Two runs job by job: who is done sooner, and when they part, held against a walk through both timelines."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import workbench
from workbench.analysis.metrics import completions_of, diverged_s, gains, job_differences
from workbench.base.errors import InputError
from workbench.simulation.run import Run

MIXED = workbench.preset("compare_mixed")


def held(run: Run, job: str, at_s: float) -> Counter[str]:
    """GPUs that a job holds at a time, by type: read row by row."""
    rows = run.timeline[(run.timeline["start_s"] <= at_s) & (at_s < run.timeline["end_s"])]
    rows = rows[~rows["kind"].isin(["sync", "down"])]
    return Counter(rows[(rows["job"] == job) | (rows["with_job"] == job)]["accelerator"])


def walked(before: Run, after: Run, job: str) -> float:
    """The first time at which it holds other GPUs, looked at in the middle of every interval between two changes."""
    times = np.unique(
        np.concatenate([run.timeline[["start_s", "end_s"]].to_numpy().ravel() for run in (before, after)])
    )
    times = [times[0], *(time for time, last in zip(times[1:], times, strict=False) if time - last > 1e-5)]
    for start, end in itertools.pairwise(times):
        if held(before, job, (start + end) / 2) != held(after, job, (start + end) / 2):
            return float(start)
    return math.nan


@pytest.mark.parametrize(("one", "other"), [("fifo", "srtf"), ("gavel.max_min_fairness", "hare"), ("las", "tiresias")])
def test_when_two_runs_part_is_what_a_walk_through_both_finds(one: str, other: str) -> None:
    before, after = workbench.simulate(MIXED, one), workbench.simulate(MIXED, other)
    found = job_differences(before, after).set_index("job")
    for job in MIXED.jobs[::4]:
        expected = walked(before, after, job.name)
        assert found["diverged_s"][job.name] == pytest.approx(expected, abs=1e-3, nan_ok=True), job.name
    assert diverged_s(found) == found["diverged_s"].min()


def test_two_jobs_that_share_gpus_hold_both_of_them() -> None:
    whole = workbench.preset("gavel_sharing")
    sharing = whole.replace(jobs=[job.model_copy(update={"arrival_s": 0.0}) for job in whole.jobs[:24]])
    before = workbench.simulate(sharing, "las", until_s=40_000, round_s=3600)
    after = workbench.simulate(sharing, "gavel.max_min_fairness", until_s=40_000, round_s=3600, space_sharing=True)
    assert (after.timeline["with_job"] != "").any()
    found = job_differences(before, after).set_index("job")
    for job in sharing.jobs[:4]:
        assert found["diverged_s"][job.name] == pytest.approx(walked(before, after, job.name), abs=1e-3, nan_ok=True)


def test_who_is_sooner_by_how_much_and_who_never_finished() -> None:
    small = workbench.preset("start_here")
    before, whole = workbench.simulate(small, "fifo"), workbench.simulate(small, "srtf")
    found = job_differences(before, whole)
    jct = [(run.jobs["finish_s"] - run.jobs["arrival_s"]) for run in (before, whole)]
    assert found["difference_s"].tolist() == pytest.approx((jct[1] - jct[0]).tolist())
    for row in found.itertuples():
        expected = "same" if abs(row.difference_s) < 1e-6 else "before" if row.difference_s > 0 else "after"
        assert row.sooner == expected
    cut = workbench.simulate(small, "fifo", until_s=60)
    assert set(job_differences(cut, whole)["sooner"]) == {"after"} and set(job_differences(whole, cut)["sooner"]) == {
        "before"
    }
    assert set(job_differences(cut, cut)["sooner"]) == {""}
    assert job_differences(cut, whole)["difference_s"].isna().all()


def test_a_run_does_not_part_from_itself() -> None:
    run = workbench.simulate("preset:start_here", "las")
    found = job_differences(run, run)
    assert math.isnan(diverged_s(found)) and set(found["sooner"]) == {"same"}
    assert (found["ratio"] == 1).all() and (found["difference_s"] == 0).all()


def test_runs_of_other_jobs_cannot_be_set_against_each_other() -> None:
    with pytest.raises(InputError, match="other jobs"):
        job_differences(
            workbench.simulate("preset:start_here", "fifo"), workbench.simulate("preset:gavel_example", "fifo")
        )


def test_a_table_without_jobs_has_no_rows() -> None:
    empty = workbench.preset("start_here").replace(jobs=[])
    run = workbench.simulate(empty, "fifo")
    assert isinstance(job_differences(run, run), pd.DataFrame) and job_differences(run, run).empty


def test_one_sentence_says_who_gains_and_who_pays() -> None:
    def said(before: list[float], after: list[float]) -> str:
        names = [f"j{i}" for i in range(len(before))]
        return gains(completions_of(names, np.array(before, dtype=float), np.array(after, dtype=float)))

    assert said([60, 60], [60, 60]) == "Every job ends when it did."
    assert said([60, 6000], [59.5, 5994.1]) == "Every job ends about when it did."
    short = "j0 (0.8 s sooner) gains, j1 ends about as before; on average 0.35 s sooner."
    assert said([8, 20], [7.2, 20.1]) == short, "of jobs of seconds, too"
    assert (
        said([60, 6000], [59.0, 5994.1]) == "j0 (1 s sooner) gains, j1 ends about as before; on average 3.45 s sooner."
    )
    assert said([600, 60], [60, 120]) == "j0 (9 min sooner) gains, j1 (1 min later) pays; on average 4 min sooner."
    exact = "j0 (1 h 12 min sooner) gains; on average 1 h 12 min sooner."
    assert said([9720], [5400]) == exact, "as exact as the picture, not 1 h"
    assert said([600] * 5, [60] * 5) == (
        "j0 (9 min sooner), j1 (9 min sooner), j2 (9 min sooner) and 2 others gain; on average 9 min sooner."
    )
    ends = "j1 ends only now, j0 no longer ends, j2 ends as before; on average no change."
    assert said([60, np.nan, 10], [np.nan, 60, 10]) == ends
