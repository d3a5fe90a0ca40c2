"""On the authors' own traces Chronus is ahead of Themis on MIX2, with profiles and with run times known."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproduction.chronus.first_days import kept
from workbench import compare
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import convert, parse_cluster

LINES = (("chronus", {}), ("chronus", {"profile": "off"}), ("themis", {}))


def first_days(shared: Path, workload: str, days: int, nodes: int, sample: int) -> Scenario:
    trace = shared / "data" / "chronus" / f"trace_job_Philly_{workload}.csv"
    cluster = parse_cluster(f"v100={nodes}x8")
    return convert("chronus", trace, cluster=cluster, to_s=days * 86400.0, sample=sample)[0]


def test_chronus_is_ahead_on_a_day_of_mix2_and_nobody_waits_long_for_a_profile(shared: Path) -> None:
    found = compare(first_days(shared, "MIX2", 1, 3, 180), LINES).measures
    default, known, themis = found["weighted_miss_rate"]
    assert default < themis and known < themis
    assert found["mean_profiling_delay_s"].iloc[0] < 60


@pytest.mark.long
@pytest.mark.parametrize("workload", ["MIX2", "SLO"])
def test_chronus_is_ahead_on_the_first_five_days(shared: Path, workload: str) -> None:
    """1,270 jobs on 10 nodes of 8, as many on a node as in the whole file on its cluster, and a quarter more."""
    found = compare(first_days(shared, workload, 5, 10, 1270), (*LINES, ("genie", {}), ("edf", {}))).measures
    default, known, *others = found["weighted_miss_rate"]
    assert max(default, known) < min(others)
    again = kept()[kept()["workload"] == f"P_{workload}"]["weighted_miss_rate"]
    assert again.tolist() == pytest.approx([default, known, *others], abs=1e-4), "the table that is kept"
