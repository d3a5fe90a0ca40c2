"""The instance: what is derived from it, every wrong number told by job, GPU, field; from a snapshot, in mid-life."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from tests.baselines.mechanisms.support import look
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.task_rounds import steps_each
from workbench.papers.hare import instance
from workbench.papers.hare.instance import CannotRun, Gpu, HareInstance, step_s, tasks_left
from workbench.papers.hare.scheduler import Hare
from workbench.scenario.scenario import Scenario
from workbench.scenario.throughput import TaskRounds, TaskTimes
from workbench.scheduling.decision import Slot, Task
from workbench.scheduling.snapshot import Snapshot, TaskView

BIG, LITTLE = Gpu("a/0", "v100", "a", 0, 32.0), Gpu("b/1", "k80", "b", 1, 12.0)


def test_rounds_and_tasks_are_numbered_by_job_round_and_task():
    data = HareInstance.made([[1.0], [2.0]], rounds=[2, 3], tasks=[2, 1])
    assert data.round_job.tolist() == [0, 0, 1, 1, 1]
    assert data.round_number.tolist() == [0, 1, 0, 1, 2]
    assert data.job_round.tolist() == [0, 2, 5]
    assert data.round_tasks.tolist() == [2, 2, 1, 1, 1]
    assert data.round_task.tolist() == [0, 2, 4, 5, 6, 7]
    assert data.task_round.tolist() == [0, 0, 1, 1, 2, 3, 4]
    assert data.task_job.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert data.task_number.tolist() == [0, 1, 0, 1, 0, 0, 0]
    assert data.task_count == 7


def test_a_begun_first_round_and_a_shorter_last_one():
    data = HareInstance.made([[4.0]], [[2.0]], rounds=3, tasks=3, first_tasks=1, last_part=0.5)
    assert data.round_tasks.tolist() == [1, 3, 3]
    assert data.task_number.tolist() == [2, 0, 1, 2, 0, 1, 2]
    assert data.round_part.tolist() == [1.0, 1.0, 0.5]
    assert (data.task_train_s(0, 0), data.task_train_s(6, 0), data.task_sync_s(6, 0)) == (4.0, 2.0, 1.0)


def test_one_round_is_first_and_last():
    data = HareInstance.made([[4.0]], tasks=3, first_tasks=2, last_part=0.25)
    assert data.round_tasks.tolist() == [2] and data.round_part.tolist() == [0.25]


def test_gpus_with_equal_times_are_one_type_whatever_they_are_called():
    data = HareInstance.made([[1, 2, 1, None], [3, 3, 3, 3]], free_s=[0, 0, 0, 0])
    assert data.kind.tolist() == [0, 1, 0, 2]
    assert data.count.tolist() == [2, 1, 1] and data.first_gpu.tolist() == [0, 1, 3]
    assert HareInstance.made([[1, 1]], free_s=[0, 5]).kind.tolist() == [0, 1]
    assert HareInstance.made([[1, 1]], [[0, 1]]).kind.tolist() == [0, 1]


def test_the_origin_is_when_a_task_could_first_start():
    assert HareInstance.made([[1, 1]], arrival_s=3, free_s=[2, 7]).origin_s == 3.0
    assert HareInstance.made([[1, 1]], arrival_s=1, free_s=[2, 7]).origin_s == 2.0
    assert HareInstance.made([], gpus=2).origin_s == 0.0


def test_no_jobs_and_no_gpus():
    data = HareInstance.made([], gpus=0)
    assert (data.task_count, data.kind.tolist(), data.count.tolist()) == (0, [], [])


def test_a_gpu_knows_its_slot():
    assert LITTLE.slot == Slot("b", 1)


def test_memory_rules_out_gpus():
    data = HareInstance.made([[1, 2], [1, 2]], [[1, 1], [1, 1]], gpus=[BIG, LITTLE], memory_gb=[16, 8])
    assert data.runs.tolist() == [[True, False], [True, True]]
    assert math.isinf(data.train_s[0, 1]) and data.sync_s[0, 1] == 0.0


def test_memory_that_is_not_known_rules_out_nothing():
    unknown = BIG._replace(memory_gb=None)
    assert HareInstance.made([[1]], gpus=[unknown], memory_gb=1000).runs.all()
    assert HareInstance.made([[1]], gpus=[BIG]).runs.all()


def test_memory_larger_than_any_gpu_names_the_job_and_the_largest():
    with pytest.raises(CannotRun, match=r"job J1, memory_gb: got 64.0; expected at most 32 GB"):
        HareInstance.made([[1, 2]], gpus=[BIG, LITTLE], memory_gb=64)
    with pytest.raises(CannotRun, match=r"at most 12 GB, the largest memory of the GPUs on which it runs"):
        HareInstance.made([[None, 2]], gpus=[BIG, LITTLE], memory_gb=16)


@pytest.mark.parametrize("train", [[[1, 1], [None, math.nan]], [[1, 1], [math.inf, None]]])
def test_a_task_that_no_gpu_can_run_is_infeasible_input(train):
    with pytest.raises(CannotRun, match=r"job J2, train_s: got a task that no GPU can run") as raised:
        HareInstance.made(train)
    assert raised.value.status == "infeasible" and raised.value.exit_code == 2
    with pytest.raises(CannotRun):
        HareInstance.made([[]], gpus=0)


@pytest.mark.parametrize(
    ("changes", "where", "value"),
    [
        ({"rounds": [1, 0]}, "job J2, rounds", 0.0),
        ({"rounds": 1.5}, "job J1, rounds", 1.5),
        ({"rounds": math.nan}, "job J1, rounds", math.nan),
        ({"tasks": [0, 1]}, "job J1, tasks", 0.0),
        ({"weight": [1, 0]}, "job J2, weight", 0.0),
        ({"weight": -1}, "job J1, weight", -1.0),
        ({"weight": math.inf}, "job J1, weight", math.inf),
        ({"arrival_s": -1}, "job J1, arrival_s", -1.0),
        ({"arrival_s": math.inf}, "job J1, arrival_s", math.inf),
        ({"free_s": [0, -2]}, "GPU GPU2, free_s", -2.0),
        ({"barrier_s": [0, -1]}, "job J2, barrier_s", -1.0),
        ({"first_tasks": [1, 2]}, "job J2, first_tasks", 2.0),
        ({"first_tasks": 0}, "job J1, first_tasks", 0.0),
        ({"last_part": 0}, "job J1, last_part", 0.0),
        ({"last_part": [1, 1.5]}, "job J2, last_part", 1.5),
        ({"memory_gb": -1}, "job J1, memory_gb", -1.0),
        ({"train_s": [[1, 2], [1, -2]]}, "job J2 on GPU2, train_s", -2.0),
        ({"sync_s": [[0, 0], [-1, 0]]}, "job J2 on GPU1, sync_s", -1.0),
        ({"sync_s": [[0, None], [0, 0]]}, "job J1 on GPU2, sync_s", math.nan),
        ({"sync_s": [[0, math.inf], [0, 0]]}, "job J1 on GPU2, sync_s", math.inf),
    ],
)
def test_a_wrong_number_is_told_by_its_place(changes, where, value):
    with pytest.raises(InputError) as raised:
        HareInstance.made(**{"train_s": [[1, 2], [1, 2]], **changes})
    assert raised.value.where == where
    assert raised.value.value == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize(
    "changes",
    [
        {"weight": [1, 1, 1]},
        {"sync_s": [[1]]},
        {"gpus": 3},
        {"jobs": ["a"]},
        {"jobs": ["a", "a"]},
        {"gpus": [BIG, BIG]},
    ],
)
def test_arrays_and_names_that_do_not_fit(changes):
    with pytest.raises(InputError):
        HareInstance.made(**{"train_s": [[1, 2], [1, 2]], **changes})


def test_synchronising_where_a_job_cannot_run_does_not_matter():
    assert HareInstance.made([[1, None]], [[2, None]]).sync_s.tolist() == [[2.0, 0.0]]
    assert HareInstance.made([[1, None]], [[2, 3]]).sync_s.tolist() == [[2.0, 0.0]]


def test_more_tasks_than_memory_has_room_for_are_refused(monkeypatch):
    monkeypatch.setattr(instance, "MOST_TASKS", 10)
    with pytest.raises(InputError, match=r"tasks of all jobs: got 12; expected at most 10: coarser rounds"):
        HareInstance.made([[1]], rounds=4, tasks=3)


def test_arrays_are_read_only():
    data = HareInstance.made([[1.0, 2.0]])
    for name in ("train_s", "sync_s", "weight", "rounds", "kind", "round_task", "task_job"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(data, name)[0] = 1
    given = np.array([[1.0, 2.0]])
    HareInstance.made(given)
    given[0, 0] = 5.0  # the caller's own array stays writable


KNOBS = Hare().settle({"steps_per_round": 1})


def world(jobs: list[dict[str, Any]], **rest: Any) -> Scenario:
    """Two fast GPUs on node f-0, one slow on s-0; alone 2 and 1 steps/s, a gang of two 3 and 1.6."""
    rows = [("fast", 1, 2.0), ("fast", 2, 3.0), ("slow", 1, 1.0), ("slow", 2, 1.6)]
    data: dict[str, Any] = {
        "cluster": {
            "accelerators": [{"name": "fast", "memory_gb": 8}, {"name": "slow", "memory_gb": 16}],
            "nodes": [
                {"name": "f", "accelerator": "fast", "gpus": 2},
                {"name": "s", "accelerator": "slow", "gpus": 1},
            ],
        },
        "jobs": [{"name": f"j{i}", "model": "m", **job} for i, job in enumerate(jobs)],
        "throughputs": [{"model": "m", "accelerator": kind, "gpus": n, "steps_per_s": rate} for kind, n, rate in rows],
    }
    return Scenario.from_dict({**data, **rest})


def test_a_job_is_rounds_of_its_gang_with_times_from_the_table() -> None:
    """T^c = 1/r(1); T^s = 2/r(2) - 1/r(1)."""
    data = HareInstance.from_snapshot(look(world([{"steps": 7, "gpus": 2, "weight": 3.0}])), KNOBS)
    assert data.rounds.tolist() == [4] and data.tasks.tolist() == [2] and data.weight.tolist() == [3.0]
    assert data.train_s.tolist() == [[0.5, 0.5, 1.0]]
    assert data.sync_s[0].tolist() == approx([2 / 3 - 0.5, 2 / 3 - 0.5, 0.25])
    assert [gpu.slot for gpu in data.gpus] == [Slot("f-0", 0), Slot("f-0", 1), Slot("s-0", 0)]
    assert data.last_part.tolist() == [1.0]  # half a step takes as long as a whole one


def test_tasks_per_round_takes_the_place_of_the_gang() -> None:
    data = HareInstance.from_snapshot(look(world([{"steps": 8, "gpus": 2, "tasks_per_round": 1}])), KNOBS)
    assert data.rounds.tolist() == [8] and data.tasks.tolist() == [1]
    assert data.sync_s.tolist() == [[0.0, 0.0, 0.0]]


def test_measured_synchronisation_counts_first() -> None:
    scenario = world([{"steps": 8, "gpus": 2}])
    rows = [{**row, "sync_s": 0.3} if row["gpus"] == 2 else row for row in rows_of(scenario)]
    found = snapshot_of(world([{"steps": 8, "gpus": 2}], throughputs=rows))
    assert HareInstance.from_snapshot(found, KNOBS).sync_s.tolist() == [[0.3, 0.3, 0.3]]


def rows_of(scenario: Scenario) -> list[dict[str, Any]]:
    return [{"gpus": 1, **row} for row in scenario.to_dict()["throughputs"]]


def snapshot_of(scenario: Scenario, **changes: Any) -> Snapshot:
    """As the core shows it: with the facts of models and measured synchronisation."""
    from dataclasses import replace

    facts = {"models": scenario.models, "synchronisation_s": scenario.table.synchronisation_s}
    return replace(look(scenario), **facts, **changes)


def test_a_gang_faster_than_its_gpus_alone_is_clamped_and_said_so() -> None:
    rows = [{**row, "steps_per_s": 5.0} if row["steps_per_s"] == 3.0 else row for row in rows_of(world([]))]
    found = tasks_left(look(world([{"steps": 8, "gpus": 2}], throughputs=rows)), KNOBS)
    assert found.instance.sync_s[0].tolist() == approx([0.0, 0.0, 0.25])
    assert [str(note) for note in found.notes] == [
        "m in rounds of 2 on fast: a gang is faster than its GPUs one by one; no time to synchronise is left"
    ]


def test_without_a_speed_alone_the_gang_s_time_counts_as_computing_and_it_is_said_so() -> None:
    rows = [row for row in rows_of(world([])) if row["gpus"] == 2]
    found = tasks_left(look(world([{"steps": 8, "gpus": 2}], throughputs=rows)), KNOBS)
    assert found.instance.train_s[0].tolist() == approx([2 / 3, 2 / 3, 1.25])
    assert not found.instance.sync_s.any()
    assert [(note.note, note.types) for note in found.notes] == [("from_gang", ("fast", "slow"))]


def test_times_of_a_task_by_hand() -> None:
    speeds = {1: 2.0, 4: 5.0}
    assert TaskTimes.of(lambda n: speeds.get(n, 0.0), 4, (4,), None) == (0.5, 4 / 5 - 0.5, "")
    assert TaskTimes.of(lambda n: speeds.get(n, 0.0), 3, (4,), None) == (0.5, 0.0, "")
    assert TaskTimes.of(lambda n: 6.0 if n == 4 else 0.0, 3, (4,), 9.0) == (4 / 6, 0.0, "from_gang")
    assert TaskTimes.of(lambda n: 0.0, 3, (4,), 9.0) == (float("inf"), 0.0, "")


@given(steps=st.integers(1, 10**7), tasks=st.integers(1, 64), each=st.integers(1, 10**5))
def test_the_rounds_do_all_steps_and_none_is_empty(steps: int, tasks: int, each: int) -> None:
    plan = TaskRounds.of(float(steps), tasks, each)
    total = tasks * sum(plan.steps(number) for number in (0, plan.count - 1)[: plan.count])
    total += tasks * each * max(0, plan.count - 2)
    assert total == approx(steps) and 0 < plan.last_steps <= each * (1 + 1e-9)


@given(steps=st.integers(1, 10**7), tasks=st.integers(1, 64), most=st.integers(1, 100))
def test_a_job_has_at_most_so_many_rounds_and_k_is_the_least(steps: int, tasks: int, most: int) -> None:
    job = world([{"steps": steps, "gpus": 2, "tasks_per_round": tasks}]).jobs[0]
    each = steps_each(job, Hare().settle({"most_rounds": most}))
    assert TaskRounds.of(steps, tasks, each).count <= most
    assert each == 1 or TaskRounds.of(steps, tasks, each - 1).count > most


def test_coarse_rounds_take_k_times_as_long_and_the_last_one_less() -> None:
    """10 rounds of one step in 4 rounds of 3, 3, 3 and 1 steps."""
    data = HareInstance.from_snapshot(look(world([{"steps": 20, "gpus": 2}])), Hare().settle({"steps_per_round": 3}))
    assert data.rounds.tolist() == [4] and data.train_s.tolist() == [[1.5, 1.5, 3.0]]
    assert data.last_part.tolist() == approx([1 / 3])


def test_peak_memory_rules_gpus_out() -> None:
    facts = [{"name": "m", "memory_gb": 12.0}]
    data = HareInstance.from_snapshot(snapshot_of(world([{"steps": 8}], models=facts)), KNOBS)
    assert data.runs.tolist() == [[False, False, True]]
    with pytest.raises(CannotRun, match="16 GB"):
        HareInstance.from_snapshot(snapshot_of(world([{"steps": 8}], models=[{"name": "m", "memory_gb": 20.0}])), KNOBS)


def test_jobs_of_nodes_that_are_down_are_left_out_and_named() -> None:
    rows = [row for row in rows_of(world([])) if row["accelerator"] == "slow"]
    scenario = world([{"steps": 8}], throughputs=rows)
    found = tasks_left(look(scenario, down=["s-0"]), KNOBS)
    assert found.stranded == ("j0",) and not found.instance.jobs
    with pytest.raises(CannotRun):
        HareInstance.from_snapshot(look(scenario, down=["s-0"]), KNOBS)


def test_seconds_of_a_step_by_type() -> None:
    scenario = world([{"steps": 8}])
    assert step_s(look(scenario), scenario.jobs[0]) == {"fast": 0.5, "slow": 1.0}


def test_in_mid_life_what_has_started_is_left_out() -> None:
    """j0 is in round 1 of 4: its task 1 computes on f-0/1 until 2 s and synchronises until 2.5 s; task 0 is open.
    All tasks of j1's round 0 of 2 have started, those of its last synchronise until 3 s. j2's last round is on its way.
    """
    scenario = world([{"steps": 8, "gpus": 2}, {"steps": 4, "gpus": 2}, {"steps": 2, "gpus": 2}])
    view = TaskView(
        rounds={"j0": 4, "j1": 2, "j2": 1},
        rounds_done={"j0": 1, "j1": 0, "j2": 0},
        started={
            "j0": frozenset({(1, 1)}),
            "j1": frozenset({(0, 0), (0, 1)}),
            "j2": frozenset({(0, 0), (0, 1)}),
        },
        computing={Slot("f-0", 1): (Task("j0", 1, 1), 0.5, 2.0)},
        barrier_s={"j0": 2.5, "j1": 3.0, "j2": 4.0},
    )
    found = tasks_left(snapshot_of(scenario, tasks=view, now_s=1.0), KNOBS)
    data = found.instance
    assert data.jobs == ("j0", "j1") and data.rounds.tolist() == [3, 1]
    assert data.free_s.tolist() == [1.0, 2.0, 1.0]
    assert data.first_tasks.tolist() == [1, 2] and data.barrier_s.tolist() == [2.5, 0.0]
    assert data.arrival_s.tolist() == [0.0, 3.0]
    names = [task[:3] for task in found.tasks()]
    assert names == [("j0", 1, 0), *(("j0", r, i) for r in (2, 3) for i in (0, 1)), ("j1", 1, 0), ("j1", 1, 1)]
    assert data.task_count == len(names) and np.array_equal(data.task_job, [0] * 5 + [1] * 2)
