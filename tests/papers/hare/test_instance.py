"""The instance: what is derived from it, and every wrong number told by job, GPU and field."""

import math

import numpy as np
import pytest

from workbench.base.errors import InputError
from workbench.papers.hare import instance
from workbench.papers.hare.instance import CannotRun, Gpu, HareInstance
from workbench.scheduling.decision import Slot

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
