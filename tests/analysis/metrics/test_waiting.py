"""Waiting is all waiting. It is recomputed here from the rows of the timeline alone, one second-hand at a time."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest

import workbench
from workbench.analysis.metrics import METRICS, check, summary
from workbench.scenario.presets import preset
from workbench.simulation.run import Run

RUNS = {
    ("las", "start_here"): None,
    ("gavel.max_min_fairness", "start_here"): None,
    ("hadare", "hare_testbed"): None,  # copies
    ("hare", "hare_testbed"): None,  # tasks of rounds
    ("themis", "chronus_example"): 9000.0,  # jobs are left, some never came
    ("chronus", "chronus_example"): 6000.0,  # profiles, refused jobs, jobs that are left
}
"""Scheduler, preset, and when the run is cut off."""


def waits_s(run: Run) -> dict[str, float]:
    """Seconds without GPUs of each job that was not refused, from arrival to completion or the run's end."""
    held = defaultdict(list)
    for row in run.timeline.itertuples():
        if row.kind not in ("sync", "down"):
            for job in filter(None, (row.job, row.with_job)):
                held[job].append((row.start_s, row.end_s))
    found = {}
    for job in run.jobs.itertuples():
        end_s = run.end_s if math.isnan(job.finish_s) else job.finish_s
        if end_s <= job.arrival_s or (job.verdict == "refused" and math.isnan(job.finish_s)):
            continue
        wait_s, free_s = 0.0, job.arrival_s
        for start_s, until_s in sorted(held[job.job]):
            wait_s, free_s = wait_s + max(start_s - free_s, 0.0), max(free_s, until_s)
        found[job.job] = wait_s + max(end_s - free_s, 0.0)
    return found


def first_starts_s(run: Run) -> list[float]:
    """Seconds from arrival to the first GPUs."""
    lived = set(waits_s(run))
    first = run.timeline[~run.timeline["kind"].isin(["sync", "down"])]
    at = {}
    for row in first.sort_values("start_s").itertuples():
        for job in filter(None, (row.job, row.with_job)):
            at.setdefault(job, row.start_s)
    return [at[job.job] - job.arrival_s for job in run.jobs.itertuples() if job.job in at and job.job in lived]


@pytest.mark.parametrize(("scheduler", "preset"), RUNS)
def test_every_second_without_gpus_counts(scheduler: str, preset: str) -> None:
    run = workbench.simulate(f"preset:{preset}", scheduler, until_s=RUNS[scheduler, preset])
    found, waited = summary(run), list(waits_s(run).values())
    expected = {
        "mean_wait_s": np.mean(waited),
        "median_wait_s": np.median(waited),
        "p95_wait_s": np.percentile(waited, 95),
        "max_wait_s": max(waited),
        "mean_first_start_s": np.mean(first_starts_s(run)),
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-6), name
    assert check(run) == []


def test_time_sharing_shows_its_pauses() -> None:
    """Three jobs take turns on one GPU in rounds of 100 s: all start in the first 200 s, and wait for 400, 500, 600."""
    one = {"accelerators": [{"name": "v100"}], "nodes": [{"name": "a", "accelerator": "v100", "gpus": 1}]}
    scenario = workbench.Scenario.from_dict(
        {
            "cluster": one,
            "jobs": [{"name": f"j{i}", "model": "m", "steps": 300.0} for i in range(3)],
            "throughputs": [{"model": "m", "accelerator": "v100", "gpus": 1, "steps_per_s": 1.0}],
            "core": {"restart": {"restart_s": 0}},
        }
    )
    found = summary(workbench.simulate(scenario, "gavel.max_min_fairness", {"round_s": 100.0}))
    assert found["mean_first_start_s"] == pytest.approx(100)
    assert [found[f"{name}_wait_s"] for name in ("mean", "median", "max")] == pytest.approx([500, 500, 600])


def test_measures_say_which_waiting() -> None:
    named = {metric.name: metric.label for metric in METRICS}
    assert {"mean_wait_s", "median_wait_s", "p95_wait_s", "mean_first_start_s"} <= named.keys()
    assert not [name for name in named if "queueing" in name or "waited" in name]
    assert named["mean_wait_s"] == "Mean wait without GPUs" and "first start" in named["mean_first_start_s"]


# Measures per round of a scheduler that also decides within its rounds


def test_decisions_within_a_round_are_no_rounds_of_their_own() -> None:
    """Hops plans again within a round: a round is counted with its first decision, and changed if any of them did."""
    whole = preset("hops_64")
    run = workbench.simulate(whole.replace(jobs=whole.jobs[:6]), "hops", round_s=300.0, detail=0)
    found, table = workbench.summary(run), run.decisions
    number = np.floor(table["time_s"] / 300.0 + 1e-9)
    first = table[~number.duplicated()]
    idle = (first["up_gpus"] - first["busy_gpus"]).where(first["waiting_jobs"] > 0, 0)
    assert len(first) < len(table) and found["decisions"] == len(table)
    assert found["rounds"] == len(first)
    assert found["fragments_gpus"] == pytest.approx(idle.mean())
    assert found["changed_rounds"] == pytest.approx(number[table["changed"]].nunique() / len(first))
    assert 0 < found["changed_rounds"] <= 1
