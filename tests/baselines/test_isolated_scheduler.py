"""The isolated shares through Gavel's rounds."""

from __future__ import annotations

import numpy as np
import pytest

from tests.baselines.mechanisms.support import look, make
from workbench.baselines.isolated import IsolatedPolicy
from workbench.session.registry import find_scheduler
from workbench.simulation.loop import simulate


def test_each_job_owns_its_part_of_each_type() -> None:
    snapshot = look(make({"a": ("fast", 2), "b": ("slow", 4)}, [{}, {"gpus": 2}]))
    found = IsolatedPolicy()(snapshot, {})
    assert found.shares.values == pytest.approx(np.array([[1 / 3, 2 / 3], [1 / 3, 2 / 3]]))


def test_a_job_spends_its_time_as_divided() -> None:
    scenario = make({"a": ("fast", 1), "b": ("slow", 1)}, [{"steps": 36_000} for _ in range(2)], {"fast": 1, "slow": 1})
    run = simulate(scenario, find_scheduler("isolated"))
    used = (
        run.timeline.assign(s=run.timeline["end_s"] - run.timeline["start_s"])
        .groupby(["job", "accelerator"])["s"]
        .sum()
    )
    assert used["j0", "fast"] == pytest.approx(18_000, abs=360)
    assert used["j1", "slow"] == pytest.approx(18_000, abs=360)
