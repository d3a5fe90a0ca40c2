"""Minimum makespan and finish-time fairness against the authors' simulator (../shared/cases/gavel/runs.json)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.papers.gavel.test_scheduler import spec
from workbench.scenario.traces.gavel import convert
from workbench.session.registry import find_scheduler
from workbench.simulation.loop import simulate


def test_a_single_programme_runs_as_the_bisection_does(shared: Path) -> None:
    """In the paper's mechanism, a batch on 8, 16 and 24 GPUs: the two ends differ by less than 2 %."""
    data = shared / "data/gavel"
    cluster = spec({"v100": 8, "p100": 16, "k80": 24}, 1)
    scenario = convert(data / "minimize_makespan.trace", data / "simulation_throughputs.json", cluster)[0]
    ends = [
        simulate(scenario, find_scheduler("gavel.makespan"), {"method": method}).jobs["finish_s"].max()
        for method in ("single", "bisection")
    ]
    assert ends[0] == pytest.approx(ends[1], rel=0.02)
