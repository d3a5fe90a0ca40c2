"""One row per task of a run: by hand, and on random scenarios that no barrier is crossed and all steps are there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest import approx

from tests.baselines.mechanisms.support import make, scenarios
from workbench import simulate
from workbench.base.errors import InputError
from workbench.papers.hare.algorithms.switching import switching_table, task_table
from workbench.papers.hare.scheduler import Hare
from workbench.scenario.scenario import Scenario
from workbench.simulation.conservation import check
from workbench.simulation.loop import simulate as run_of
from workbench.simulation.stop import Until


def turns(**knobs: Any) -> Any:
    """Two jobs of two rounds take turns on one GPU; a task computes 1 s, synchronises 1 s."""
    data = make({"n": ("t", 1)}, [{"steps": 2}] * 2).to_dict()
    data["throughputs"] = [{**row, "sync_s": 1.0} for row in data["throughputs"]]
    return simulate(Scenario.from_dict(data), "hare", steps_per_round=1, **knobs)


def test_a_row_by_hand() -> None:
    found = task_table(turns(switching="custom", switch_s=0.25).timeline)
    assert found[["job", "round", "task", "switch_s", "start_s", "end_s", "synchronised_s"]].values.tolist() == [
        ["j0", 0, 0, 0.0, 0.0, 1.0, 2.0],
        ["j1", 0, 0, 0.25, 1.25, 2.25, 3.25],
        ["j0", 1, 0, 0.25, 2.5, 3.5, 4.5],
        ["j1", 1, 0, 0.25, 3.75, 4.75, 5.75],
    ]
    assert found["steps"].tolist() == [1.0] * 4 and set(found["node"]) == {"n-0"}


def test_switching_as_in_table_3() -> None:
    run = turns(switching="custom", switch_s=0.25)
    found = switching_table(run.scenario, run.timeline)
    assert found.values.tolist() == [["m", 3, 0.25, approx(0.75 / 4.75)]]
    free = switching_table(run.scenario, turns(switching="free").timeline)
    assert free["switches"].tolist() == [0] and free["share"].tolist() == [0.0]


def test_a_run_of_gangs_has_no_tasks() -> None:
    with pytest.raises(InputError, match="task sequences"):
        task_table(simulate(make({"n": ("t", 1)}, [{"steps": 2}]), "fifo").timeline)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    scenario=scenarios(),
    sync_s=st.sampled_from([None, 0.3, 5.0]),
    switching=st.sampled_from(["hare", "default", "free"]),
    synchronisation=st.sampled_from(["relaxed", "scale_fixed"]),
    assignment=st.sampled_from(["earliest_finish", "earliest_available"]),
    insertion=st.booleans(),
    most_rounds=st.sampled_from([1, 3, 30]),
    until=st.sampled_from([250.0, 20_000.0]),
)
def test_no_barrier_is_crossed_no_gpu_double_booked_and_no_step_lost(
    scenario: Scenario, sync_s: float | None, until: float, **knobs: Any
) -> None:
    data = scenario.to_dict()
    data["throughputs"] = [row | ({} if sync_s is None else {"sync_s": sync_s}) for row in data["throughputs"]]
    data["throughputs"] += [{**row, "gpus": 1} for row in data["throughputs"] if row.get("gpus", 1) > 1]
    scenario = Scenario.from_dict(data)
    if knobs["synchronisation"] == "scale_fixed":
        types = {
            job.name: {
                row.accelerator for row in scenario.throughputs if row.model == job.model and row.steps_per_s > 0
            }
            for job in scenario.jobs
        }
        room = {name: sum(scenario.cluster.workers.get(kind, 0) for kind in kinds) for name, kinds in types.items()}
        if any(room[job.name] < job.gpus for job in scenario.jobs):
            return
    run = run_of(scenario, Hare(), knobs, stop=Until(until))
    assert check(run) == []
    found = task_table(run.timeline) if (run.timeline["job"] != "").any() else None
    if found is None:
        return
    assert not found.duplicated(["job", "round", "task"]).any()
    for _, job in found.groupby("job"):
        ends = job.groupby("round")["synchronised_s"].max()
        starts = (job["start_s"] - job["switch_s"]).groupby(job["round"]).min()
        assert list(ends.index) == list(range(len(ends)))
        assert (starts.to_numpy()[1:] >= ends.to_numpy()[:-1] - 1e-6).all()
    done = run.jobs.set_index("job")
    steps = found.groupby("job")["steps"].sum().reindex(done.index, fill_value=0.0)
    whole = done["finish_s"].notna()
    assert np.allclose(steps[whole], done["steps"][whole])
