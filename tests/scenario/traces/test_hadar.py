"""Hadar's rule of drawing jobs from a trace: sizes, the busiest hours, what is dropped, and what is made of a row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from workbench.base.errors import InputError
from workbench.scenario.traces.hadar import MODELS, busiest, draw, size_of

HOUR = 3600.0


def table(*rows: tuple[float, float, float]) -> pd.DataFrame:
    """Rows of (arrival in hours, duration in hours, GPUs)."""
    arrival, duration, gpus = zip(*rows, strict=True)
    return pd.DataFrame({"arrival_s": np.array(arrival) * HOUR, "duration_s": np.array(duration) * HOUR, "gpus": gpus})


def made_up(count: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    hours = 10.0 ** rng.uniform(-1.5, 2.3, count)
    return table(*zip(rng.uniform(0, 24, count), hours, rng.choice([1, 2, 4, 8], count).tolist(), strict=True))


@pytest.mark.parametrize(
    ("gpu_hours", "size"),
    [
        (0.0, None), (0.01, "S"), (1.0, "S"), (1.01, "M"), (10.0, "M"), (10.1, "L"), (50.0, "L"),
        (50.1, None), (59.9, None), (60.0, "XL"), (100.0, "XL"), (100.1, None), (1e6, None),
    ],
)  # fmt: skip
def test_sizes_are_the_papers_and_leave_gaps(gpu_hours: float, size: str | None) -> None:
    assert size_of(gpu_hours) == size


def test_busiest_hours() -> None:
    arrivals = HOUR * np.array([0.5, 5.1, 5.2, 6.9, 7.0, 20.0])
    assert busiest(arrivals, 2) == (5 * HOUR, 7 * HOUR)
    assert busiest(arrivals, 3) == (5 * HOUR, 8 * HOUR)
    assert busiest(arrivals, 100) == (0.0, 100 * HOUR)
    assert busiest(HOUR * np.array([30.0, 31.0]), 1) == (30 * HOUR, 31 * HOUR)
    with pytest.raises(InputError, match="hours"):
        busiest(arrivals, 0)


def test_every_row_is_kept_or_dropped_for_a_reason_by_hand() -> None:
    jobs = table((4, 1, 1), (4, 5, 2), (4, 27, 2), (4, 101, 1), (4, 0, 1), (4, 1, 0), (9, 1, 1), (4.5, 70, 1))
    scenario, report = draw(jobs, from_s=3 * HOUR, to_s=5 * HOUR)
    assert [(job.name, job.gpus, job.size_class) for job in scenario.jobs] == [
        ("job-0", 1, "S"), ("job-1", 2, "M"), ("job-7", 1, "XL"),
    ]  # fmt: skip
    assert {d.reason: (d.count, d.lines) for d in report.dropped} == {
        "no size has 50 to 60 GPU-hours": (1, (3,)),
        "no size has over 100 GPU-hours": (1, (4,)),
        "no GPU or no duration": (2, (5, 6)),
        "arrives outside the window": (1, (7,)),
    }
    assert (report.rows_read, report.rows_kept) == (8, 3)
    assert "S 1, M 1, L 0, XL 1" in report.notes[1]
    assert report.notes[2] == "a sample of 480 jobs was asked for, there are 3: all are kept"
    scenario.require_runnable()
    for job, gpu_hours in zip(scenario.jobs, (1, 10, 70), strict=True):
        speed = scenario.table.row(job.model, "k80", job.gpus)
        assert job.steps / speed * job.gpus == pytest.approx(gpu_hours * HOUR, rel=1e-3)
        assert job.arrival_s == 0 and job.size_class is not None and job.model in MODELS[job.size_class]


def test_480_jobs_from_the_busiest_hours_and_the_account_adds_up() -> None:
    jobs = made_up(5000)
    scenario, report = draw(jobs)
    assert len(scenario.jobs) == 480 == report.rows_kept
    assert report.rows_kept + sum(d.count for d in report.dropped) == report.rows_read == 5000
    low, high = busiest(jobs["arrival_s"].to_numpy())
    for job in scenario.jobs:
        row = jobs.iloc[int(job.name.removeprefix("job-"))]
        assert low <= row["arrival_s"] < high
        assert size_of(row["duration_s"] * row["gpus"] / HOUR) == job.size_class
    assert scenario.cluster.capacity == {"v100": 20, "p100": 20, "k80": 20}


def test_a_seed_is_a_draw() -> None:
    jobs = made_up(2000)
    assert draw(jobs, seed=1) == draw(jobs, seed=1)
    assert draw(jobs, seed=1)[0].jobs != draw(jobs, seed=2)[0].jobs
    few, report = draw(made_up(50))
    assert len(few.jobs) == report.rows_kept < 50  # fewer than 480 have a size: all of them


def test_gangs_that_no_type_can_hold_are_halved_and_keep_their_work() -> None:
    scenario, _ = draw(table((0, 1.0, 32)), cluster="v100=1x4,k80=1x4")
    (job,) = scenario.jobs
    assert job.gpus == 4
    hours = job.steps / scenario.table.row(job.model, "k80", 4) * 4 / HOUR
    assert hours == pytest.approx(32, rel=1e-3)
    scenario.require_runnable()


def test_another_cluster_without_the_reference_type() -> None:
    draw(table((0, 1.0, 1)), cluster="v100=1x4")[0].require_runnable()


@pytest.mark.parametrize(
    ("jobs", "where"),
    [
        (pd.DataFrame({"arrival_s": [0.0], "gpus": [1]}), "columns"),
        (table((0, 1, 1)).assign(gpus=1.5), "gpus in row 1"),
        (table((0, 1, 1)).assign(duration_s=float("nan")), "duration_s in row 1"),
        (table((0, 1, 1)).assign(arrival_s=-1.0), "arrival_s in row 1"),
        (table((0, 1, 1)).assign(arrival_s="x"), "arrival_s in row 1"),
        (table((0, 1, 0)), "no GPU or no duration"),
        (table((0, 1, 1)).iloc[:0], "no rows"),
    ],
)
def test_tables_that_make_no_sense(jobs: pd.DataFrame, where: str) -> None:
    with pytest.raises(InputError, match=where):
        draw(jobs)
