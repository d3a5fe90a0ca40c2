"""A schedule: its times by hand, every limit it may break, and the earliest starts of an order."""

import json

import numpy as np
import pytest
from hypothesis import given

from tests.papers.hare.exact_support import small
from tests.papers.hare.list_support import large
from workbench.papers.hare.algorithms.schedule import InvalidSchedule, TaskSchedule, in_order
from workbench.papers.hare.formulations.task_formulation import known_schedule
from workbench.papers.hare.instance import HareInstance

DATA = HareInstance.made(
    [[2, 3], [1, 2]], [[1, 1], [0, 1]], rounds=[2, 1], tasks=[1, 2], weight=[2, 1], arrival_s=[0, 1]
)
"""Tasks: 0 and 1 are J1's rounds, 2 and 3 J2's round."""
GOOD = TaskSchedule(DATA, [0, 0, 0, 1], [0.0, 3.0, 2.0, 1.0])


def test_times_by_hand():
    assert GOOD.check() is GOOD
    assert GOOD.end_s.tolist() == [2.0, 5.0, 3.0, 3.0]
    assert GOOD.synchronised_s.tolist() == [3.0, 6.0, 3.0, 4.0]
    assert GOOD.round_end_s.tolist() == [3.0, 6.0, 4.0]
    assert GOOD.completion_s.tolist() == [6.0, 4.0]
    assert GOOD.objective == 2 * 6 + 4
    assert GOOD.weighted_jct_s == 2 * 6 + (4 - 1)
    assert GOOD.makespan_s == 6.0
    assert GOOD.sequences == ((0, 2, 1), (3,))


def test_rows_and_values_say_all_of_it():
    assert GOOD.rows()[3] == ("J2", 0, 1, "GPU2", 1.0, 3.0, 4.0)
    values = GOOD.values()
    json.dumps(values, allow_nan=False)
    assert values["completion_s"] == {"J1": 6.0, "J2": 4.0}
    assert values["tasks"][1] == {
        "job": "J1", "round": 1, "task": 0, "gpu": "GPU1", "start_s": 3.0, "end_s": 5.0, "synchronised_s": 6.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("gpu", "start", "where", "limit"),
    [
        ([0, 0, 0, 2], [0, 3, 2, 1], "job J2, round 0, task 1", "a GPU from 0 to 1"),
        ([0, 0, 0, -1], [0, 3, 2, 1], "job J2, round 0, task 1", "a GPU from 0 to 1"),
        ([0, 0, 0, 1], [0, 3, np.nan, 1], "job J2, round 0, task 0", "finite"),
        ([0, 0, 0, 1], [0, 3, 2, 0.5], "job J2, round 0, task 1", r"arrival \(4\)"),
        ([0, 0, 0, 1], [0, 2, 2, 1], "job J1, round 1, task 0", r"barrier \(7\)"),
        ([0, 0, 0, 1], [0, 3, 1.5, 1], "job J2, round 0, task 0", r"computed \(8\)"),
        ([0, 0, 0, 0], [0, 3, 2, 2], "job J2, round 0, task 1", r"computed \(8\)"),
        ([0, 0, 0, 0], [0, 3, 2, 4.9], "job J2, round 0, task 1", r"computed \(8\)"),
    ],
)
def test_a_broken_limit_is_named_with_its_task(gpu, start, where, limit):
    with pytest.raises(InvalidSchedule, match=limit) as raised:
        TaskSchedule(DATA, gpu, start).check("mine")
    assert raised.value.where == f"mine, {where}" and raised.value.status == "invalid_schedule"


def test_a_gpu_that_cannot_run_the_task_and_one_that_is_not_free_yet():
    with pytest.raises(InvalidSchedule, match=r"can run \(5\)"):
        TaskSchedule(HareInstance.made([[1, None]]), [1], [0.0]).check()
    with pytest.raises(InvalidSchedule, match="free GPU"):
        TaskSchedule(HareInstance.made([[1]], free_s=[2]), [0], [1.0]).check()


def test_a_barrier_of_tasks_that_started_before_counts():
    data = HareInstance.made([[1]], rounds=2, tasks=2, first_tasks=1, barrier_s=5)
    found = in_order(data, [0, 0, 0], range(3)).check()
    assert found.start_s.tolist() == [0.0, 5.0, 6.0] and found.completion_s.tolist() == [7.0]
    with pytest.raises(InvalidSchedule, match=r"barrier \(7\)"):
        TaskSchedule(data, [0, 0, 0], [0.0, 4.0, 5.0]).check()
    alone = HareInstance.made([[1]], tasks=2, first_tasks=1, barrier_s=5)
    assert in_order(alone, [0], [0]).completion_s.tolist() == [5.0]


def test_synchronising_overlaps_the_next_task_of_the_gpu():
    data = HareInstance.made([[2], [1]], [[9], [0]])
    assert in_order(data, [0, 0], [0, 1]).check().completion_s.tolist() == [11.0, 3.0]


def test_no_tasks():
    empty = HareInstance.made([], gpus=2)
    assert in_order(empty, [], []).check().objective == 0.0
    assert TaskSchedule(empty, [], []).makespan_s == 0.0


@pytest.mark.parametrize("order", [[1, 0, 2, 3], [0, 1, 2], [0, 1, 2, 2], [0, 0, 1, 2, 3]])
def test_an_order_that_breaks_a_round_or_misses_a_task_is_an_error(order):
    with pytest.raises(ValueError, match="task"):
        in_order(DATA, [0, 0, 0, 1], order)


@given(data=small(jobs=4, tasks=12))
def test_what_starts_as_early_as_it_can_keeps_all_limits_and_nothing_starts_earlier(data):
    found = known_schedule(data).check()
    again = in_order(data, found.gpu, np.lexsort((found.end_s, data.task_round, found.start_s)))
    assert (again.check().start_s <= found.start_s + 1e-9).all()
    for task in range(data.task_count):
        start = again.start_s.copy()
        start[task] -= 0.25
        with pytest.raises(InvalidSchedule):
            TaskSchedule(data, again.gpu, start).check()


def test_a_schedule_as_large_as_the_budget_is_checked_in_no_time():
    data = large()
    found = in_order(data, np.arange(data.task_count) % 160, range(data.task_count))
    assert found.check().instance.task_count == 12_000
    assert sum(map(len, found.sequences)) == 12_000
