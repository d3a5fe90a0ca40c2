"""Scale-fixed, relaxed and scale-adaptive rounds: Fig. 4 by hand, limits, and scale-fixed on the core."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from tests.baselines.mechanisms.support import make, scenarios
from tests.papers.hare.list_support import instances
from workbench import simulate
from workbench.analysis.contract_rules.schedulers import Watched
from workbench.base.errors import InputError
from workbench.papers.hare.algorithms.list_schedule import fluid_start_s, safe_order
from workbench.papers.hare.algorithms.schedule import TaskSchedule
from workbench.papers.hare.algorithms.synchronisation import AdaptiveSchedule, place_adaptive, place_together, schedules
from workbench.papers.hare.instance import HareInstance
from workbench.papers.hare.scheduler import Hare
from workbench.scenario.scenario import Scenario
from workbench.simulation.conservation import check
from workbench.simulation.loop import run_loop as run_of


def test_figure_4() -> None:
    """Three GPUs are free after 1, 2 and 3 s; a job of three tasks of 1 s comes. Scale-fixed waits for the third GPU,
    relaxed runs two tasks on the first, scale-adaptive makes two rounds, of one task and of two."""
    data = HareInstance.made([[1.0] * 3], tasks=3, free_s=[1.0, 2.0, 3.0])
    found = schedules(data)
    assert {name: each.makespan_s for name, each in found.items()} == {
        "relaxed": 3.0,
        "scale_fixed": 4.0,
        "scale_adaptive": 3.0,
    }
    adaptive = found["scale_adaptive"]
    assert [(row.round, row.task, row.gpu, row.start_s) for row in adaptive.rows()] == [
        (0, 0, "GPU1", 1.0),
        (1, 0, "GPU1", 2.0),
        (1, 1, "GPU2", 2.0),
    ]


def test_a_gang_takes_the_gpus_on_which_it_ends_first() -> None:
    """Two fast GPUs are free at 5 s, two slow ones at once: a round of 2 s or of 6 s; one of 1 s or 9 s waits."""
    data = HareInstance.made([[2.0, 2.0, 6.0, 6.0], [1.0, 1.0, 9.0, 9.0]], tasks=2, free_s=[5.0, 5.0, 0.0, 0.0])
    found = place_together(data, range(4)).check()
    assert found.gpu.tolist() == [2, 3, 0, 1] and found.start_s.tolist() == [0.0, 0.0, 5.0, 5.0]


def test_a_gang_of_more_tasks_than_gpus_is_refused() -> None:
    with pytest.raises(InputError, match="at most 1 GPU that can run it"):
        place_together(HareInstance.made([[1.0, None]], tasks=2), range(2))


def test_adaptive_takes_no_gpu_that_slows_the_round_down_more_than_it_helps() -> None:
    data = HareInstance.made([[1.0, 1.5], [1.0, 9.0]], tasks=2, arrival_s=[0.0, 50.0])
    found = place_adaptive(data, fluid_start_s(data))
    assert [(row.job, row.round, row.gpu, row.start_s) for row in found.rows()] == [
        ("J1", 0, "GPU1", 0.0), ("J1", 0, "GPU2", 0.0), ("J2", 0, "GPU1", 50.0), ("J2", 1, "GPU1", 51.0),
    ]  # fmt: skip


def test_tasks_keep_their_time_when_a_round_takes_some_of_the_last_ones() -> None:
    """Two rounds of two tasks, those of the last one half as long; one GPU until 2 s, then two."""
    data = HareInstance.made([[2.0, 2.0]], tasks=2, rounds=2, last_part=0.5, free_s=[0.0, 2.0])
    found = place_adaptive(data, fluid_start_s(data))
    assert [(row.round, row.gpu, row.start_s, row.end_s) for row in found.rows()] == [
        (0, "GPU1", 0.0, 2.0), (1, "GPU1", 2.0, 4.0), (1, "GPU2", 2.0, 3.0), (2, "GPU1", 4.0, 5.0),
    ]  # fmt: skip
    assert found.completion_s.tolist() == [5.0]


def test_more_work_is_for_jobs_whose_rounds_were_smaller() -> None:
    data = HareInstance.made([[1.0], [1.0]], tasks=[1, 2], rounds=2, arrival_s=[0.0, 9.0])
    counts = [np.bincount(place_adaptive(data, fluid_start_s(data), more).job).tolist() for more in (0.0, 0.5)]
    assert counts == [[2, 4], [2, 6]]
    with pytest.raises(InputError, match="more_work"):
        place_adaptive(data, fluid_start_s(data), -1.0)


@given(data=instances())
def test_scale_fixed_schedules_keep_the_limits_and_start_together(data: HareInstance) -> None:
    if (data.runs.sum(axis=1) < data.tasks).any():
        return
    found = place_together(data, safe_order(data, fluid_start_s(data))).check()
    for r in range(len(data.round_job)):
        mine = slice(int(data.round_task[r]), int(data.round_task[r + 1]))
        assert len(set(found.start_s[mine].tolist())) == 1
        assert len(set(found.gpu[mine].tolist())) == data.round_tasks[r]


@given(data=instances(), more=st.sampled_from([0.0, 0.3]))
def test_adaptive_schedules_keep_the_limits(data: HareInstance, more: float) -> None:
    found: AdaptiveSchedule = place_adaptive(data, fluid_start_s(data), more)
    end_s = found.start_s + found.train_s
    assert (found.start_s >= np.maximum(data.arrival_s[found.job], data.free_s[found.gpu])).all()
    assert (np.bincount(found.job, minlength=len(data.jobs)) >= np.bincount(data.task_job)).all()
    for m in range(len(data.gpus)):
        order = np.argsort(found.start_s[found.gpu == m], kind="stable")
        assert (found.start_s[found.gpu == m][order][1:] >= end_s[found.gpu == m][order][:-1] - 1e-9).all()
    for job in range(len(data.jobs)):
        mine = found.job == job
        for r in range(1, int(found.round[mine].max()) + 1):
            before = mine & (found.round == r - 1)
            assert found.start_s[mine & (found.round == r)].min() >= (end_s + found.sync_s)[before].max() - 1e-9


def test_a_schedule_is_of_either_kind() -> None:
    kinds = {name: type(found) for name, found in schedules(HareInstance.made([[1.0]])).items()}
    assert kinds == {"relaxed": TaskSchedule, "scale_fixed": TaskSchedule, "scale_adaptive": AdaptiveSchedule}
    empty = place_adaptive(HareInstance.made(np.zeros((0, 1)), gpus=1), np.zeros(0))
    assert empty.makespan_s == 0.0 and empty.rows() == []


@given(scenario=scenarios())
def test_on_the_core_scale_fixed_rounds_start_together_as_planned(scenario: Scenario) -> None:
    """The gangs of these scenarios fit into the cluster; nodes that are down for a while delay them."""
    gangs = [(job, {row.accelerator for row in scenario.throughputs if row.steps_per_s > 0 and row.model == job.model})
             for job in scenario.jobs]  # fmt: skip
    if any(sum(scenario.cluster.capacity.get(kind, 0) for kind in kinds) < job.gpus for job, kinds in gangs):
        return
    run = run_of(scenario, Watched(Hare()), {"switching": "free", "synchronisation": "scale_fixed"})
    assert check(run) == [] and run.jobs["finish_s"].notna().all()
    if scenario.core.faults.list:
        return
    ran = run.timeline[run.timeline["kind"] == "run"]
    starts = ran.assign(round=ran["unit"].str.partition(".")[0]).groupby("round")["start_s"]
    assert (starts.max() == starts.min()).all()
    plans = run.signals[run.signals["signal"] == "planned_finish_s"].groupby("job")["value"].last()
    finish = run.jobs.set_index("job")["finish_s"]
    assert finish.to_dict() == approx(plans[finish.index].to_dict())


def test_on_the_core_figure_4_goes_as_planned() -> None:
    """Fig. 4 with the times of `hare_synchronisation`: scale-adaptive is one task, and then the two others at once."""
    planned: dict[str, dict[str, float]] = {}
    for name in ("relaxed", "scale_fixed", "scale_adaptive"):
        run = simulate("preset:hare_synchronisation", "hare", switching="free", synchronisation=name)
        assert check(run) == []
        plans = run.signals[run.signals["signal"] == "planned_finish_s"].groupby("job")["value"].last()
        ends = run.jobs.set_index("job")["finish_s"]
        assert ends.to_dict() == approx(plans[ends.index].to_dict())
        planned[name] = ends.to_dict()
        if name == "scale_adaptive":
            ran = run.timeline[(run.timeline["job"] == "n") & (run.timeline["kind"] == "run")]
            assert ran[["unit", "start_s", "end_s"]].values.tolist() == [
                ["n #0.0", 1.0, 2.0], ["n #1.0", 2.5, 3.5], ["n #1.1", 2.5, 4.0],
            ]  # fmt: skip
    assert {name: ends["n"] for name, ends in planned.items()} == {
        "relaxed": 4.0,
        "scale_fixed": 6.0,
        "scale_adaptive": 4.5,
    }


@given(scenario=scenarios())
def test_on_the_core_scale_adaptive_rounds_keep_a_job_s_work_and_end_as_planned(scenario: Scenario) -> None:
    """Whatever comes while rounds are narrower: the same tasks of the same steps as with Hare's, and no more."""
    runs = {
        name: run_of(scenario, Watched(Hare()), {"switching": "free", "synchronisation": name})
        for name in ("relaxed", "scale_adaptive")
    }
    assert all(check(run) == [] and run.jobs["finish_s"].notna().all() for run in runs.values())
    if scenario.core.faults.list:
        return
    done = {
        name: run.timeline[run.timeline["kind"] == "run"].groupby("job")["steps"].apply(sorted).to_dict()
        for name, run in runs.items()
    }
    assert done["scale_adaptive"].keys() == done["relaxed"].keys()
    assert all(steps == approx(done["relaxed"][name]) for name, steps in done["scale_adaptive"].items())
    run = runs["scale_adaptive"]
    plans = run.signals[run.signals["signal"] == "planned_finish_s"].groupby("job")["value"].last()
    finish = run.jobs.set_index("job")["finish_s"]
    assert finish.to_dict() == approx(plans[finish.index].to_dict())


def test_a_round_that_a_fault_has_cut_ends_with_its_own_tasks() -> None:
    """Rounds of two; b-0 fails in the second after 2 s of 5. Its task is done on a-0, and from then on rounds are of
    one task: 6 more of 5 s after that of the second round which a-0 does itself."""
    faults = {"list": [{"node": "b-0", "from_s": 7.0, "to_s": 1000.0}]}
    scenario = make({"a": ("t", 1), "b": ("t", 1)}, [{"steps": 40, "gpus": 2}], core={"faults": faults})
    run = simulate(scenario, "hare", most_rounds=4, switching="free", synchronisation="scale_adaptive")
    assert check(run) == []
    assert run.jobs["steps_lost"].sum() == approx(2.0) and run.jobs["finish_s"].tolist() == approx([10 + 5 * 5])
    ran = run.timeline[(run.timeline["kind"] == "run") & (run.timeline["start_s"] > 7.0)]
    assert ran["unit"].tolist() == ["j0 #1.1", "j0 #2.0", "j0 #3.0", "j0 #4.0", "j0 #5.0"]


def test_relaxed_uses_what_scale_fixed_leaves_idle() -> None:
    scenario = make({"n": ("t", 3)}, [{"steps": 300, "gpus": 2}, {"steps": 300, "gpus": 2}, {"steps": 90}])
    makespans = {
        name: simulate(scenario, "hare", switching="free", synchronisation=name).jobs["finish_s"].max()
        for name in ("relaxed", "scale_fixed")
    }
    assert makespans["relaxed"] < makespans["scale_fixed"]
