"""Points, distributions and gains of a load sweep, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reproduction.gavel import SIZES, batch, load, sweep
from reproduction.gavel.settings import continuous, gpus_of
from reproduction.gavel.sweep import distribution, gain, gains, highest, points, single
from reproduction.line import Line
from workbench.scenario.scenario import Scenario


def jobs(line: str, per_hour: float, seed: int, *jct_h: float) -> pd.DataFrame:
    found = pd.DataFrame({"line": line, "per_hour": per_hour, "seed": seed, "jct_h": jct_h})
    return found.assign(least_h=found["jct_h"].fillna(30.0))


TWO = pd.concat(
    [
        jobs("slow", 1.0, 0, 2.0, 4.0),
        jobs("slow", 1.0, 1, 6.0, 8.0),
        jobs("fast", 1.0, 0, 1.0, 1.0),
        jobs("fast", 1.0, 1, 1.0, 5.0),
        jobs("slow", 2.0, 0, 50.0, math.nan),
        jobs("slow", 2.0, 1, 10.0, 10.0),
        jobs("fast", 2.0, 0, 4.0, 4.0),
        jobs("fast", 2.0, 1, 4.0, 4.0),
    ],
    ignore_index=True,
)


def test_a_point_is_the_mean_over_seeds_with_their_deviation() -> None:
    row = points(TWO, "jct_h").iloc[0]
    assert (row["line"], row["x"], row["y"], row["saturated"]) == ("slow", 1.0, 5.0, False)
    assert row["high"] - row["y"] == pytest.approx(math.sqrt(8.0))  # 3 and 7


def test_one_unfinished_job_in_one_seed_saturates_a_point_and_it_is_not_averaged() -> None:
    table = points(TWO, "jct_h").set_index(["line", "x"])
    assert table["saturated"].to_dict()["slow", 2.0] and math.isnan(table["y"].to_dict()["slow", 2.0])
    assert not table["saturated"].to_dict()["fast", 2.0]


def test_a_gain_is_at_the_highest_load_that_saturates_neither_and_its_curve_counts_unfinished_jobs() -> None:
    table = points(TWO, "jct_h")
    assert gain(table, "slow", "fast") == pytest.approx(5.0 / 2.0)
    assert gain(points(TWO.assign(jct_h=TWO["least_h"]), "jct_h"), "slow", "fast") == pytest.approx(25.0 / 4.0)
    assert gains(TWO, "least_h", "slow", "fast").to_dict() == pytest.approx({1.0: 5.0 / 2.0, 2.0: 25.0 / 4.0})
    assert gains(TWO, "jct_h", "slow", "fast").to_dict() == pytest.approx({1.0: 5.0 / 2.0, 2.0: math.nan}, nan_ok=True)
    assert {row.measure: row.ours for row in load._unfinished(TWO)} == {
        f"unfinished, {line}, {rate} jobs/h": 25.0 * ((line, rate) == ("slow", 2))
        for line in ("slow", "fast")
        for rate in (1, 2)
    }
    assert math.isnan(gain(table[table["x"] == 2.0], "slow", "fast"))


def test_a_highest_rate_is_unknown_where_all_or_none_is_sustained(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, found in ((2.0, sweep.RATES[9]), (0.1, math.nan), (99.0, math.nan)):

        def run(line: Line, scenario: Scenario, window: object, most: float = most) -> float:
            per_hour = 9.0 / np.diff([job.arrival_s / 3600 for job in scenario.jobs]).mean()  # 12 GPUs of 108
            return math.nan if per_hour > 1.05 * most else 1.0

        monkeypatch.setattr(sweep, "windowed", run)
        monkeypatch.setattr(sweep, "measured", lambda run, window: pd.DataFrame({"jct_h": [1.0, run]}))
        size = replace(SIZES["small"], trailing=2000)
        assert highest(single(size), Line("any", "las"), size) == pytest.approx(found, nan_ok=True)


def test_a_distribution_is_at_the_highest_load_that_nobody_saturates() -> None:
    found = distribution(TWO, "jct_h")
    slow = found[found["line"] == "slow"]
    assert slow["x"].tolist() == [2.0, 4.0, 6.0, 8.0] and slow["y"].tolist() == [0.25, 0.5, 0.75, 1.0]


def test_rates_are_those_of_the_papers_cluster_scaled_by_gpus() -> None:
    assert gpus_of("v100=3x4,p100=3x4,k80=3x4") == 36
    found = continuous("v100=3x4,p100=3x4,k80=3x4", 2000, 3.0, 0)
    last_h = max(job.arrival_s for job in found.jobs) / 3600
    assert 2000 / last_h == pytest.approx(1.0, rel=0.1)
    assert len(batch._batch(SIZES["small"], 360, 0).jobs) == 40  # on 12 GPUs of 108


def test_the_jobs_that_are_measured_and_the_rates_are_those_of_the_authors_program() -> None:
    """Its EXPERIMENTS.md: `-s 4000 -e 5000 -c 36:36:36`, `-a 0.0 -b 6.0 -n 16` and `-b 3.0 -n 11` with several GPUs."""
    for name in ("authors_steady", "authors_whole"):
        size = SIZES[name]
        share = gpus_of(size.cluster) / 108
        first, last = size.window
        assert (first, last + 1 - first) == (math.floor(4000 * share), math.floor(1000 * share)), name
        for rates, end, count in ((size.single, 6.0, 16), (size.multiple, 3.0, 11)):
            grid = np.linspace(0.0, end, count)[1:]
            assert all(np.isclose(grid, rate).any() for rate in rates) and rates[-1] >= 0.9 * end


def test_the_most_jobs_of_a_batch_are_the_most_in_whatever_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def makespan(line: Line, scenario: Scenario) -> float:
        return float(len(scenario.jobs) ** (1 + (line.name == batch.AGNOSTIC)))

    monkeypatch.setattr(batch, "_makespan_h", makespan)
    size = replace(SIZES["small"], batches=(90, 36))
    found = {row.measure: row.ours for row in batch.figure_19(size).rows}
    assert found["makespan, agnostic / Gavel, most jobs"] == 10  # on 12 GPUs of 108
    assert found == {row.measure: row.ours for row in batch.figure_19(replace(size, batches=(36, 90))).rows}


def test_a_trace_is_long_enough_for_its_window() -> None:
    for size in SIZES.values():
        assert size.window[1] < size.warm + size.measured + size.trailing
        assert min(size.rounds_s) == 360.0


def test_a_run_that_a_cause_does_not_change_is_not_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[str, float, int]] = []

    def run(line: Line, scenario: Scenario, window: tuple[int, int]) -> str:
        done.append((line.scheduler, scenario.jobs[-1].arrival_s, window[0]))
        return line.name

    monkeypatch.setattr(sweep, "windowed", run)
    monkeypatch.setattr(sweep, "measured", lambda run, window: pd.DataFrame({"job": [run]}))
    tiny = replace(SIZES["tiny"], single=(3.0,), seeds=range(7, 9))
    lines = [Line("one", "fifo"), Line("other", "las")]
    first, rival = sweep.sweep(single(tiny), lines, tiny), replace(tiny, rivals=(Line("other", "srtf"),))
    assert len(first) == len(done) == 4
    sweep.sweep(single(rival), lines, rival)
    assert [scheduler for scheduler, *_ in done[4:]] == ["srtf", "srtf"]
    later = replace(tiny, warm=tiny.warm + 1)
    sweep.sweep(single(later), lines, later)
    assert len(done) == len(set(done)) == 10  # of other jobs all are
    sweep._point.cache_clear()
