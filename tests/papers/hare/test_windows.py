"""Windows: exact for a job alone, and no best schedule is outside."""

import numpy as np
import pytest
from hypothesis import given

from tests.papers.hare.exact_support import brute_force, small
from workbench.papers.hare.algorithms.list_schedule import algorithm_1, fluid_start_s
from workbench.papers.hare.algorithms.schedule import TaskSchedule
from workbench.papers.hare.formulations.exact import Exact
from workbench.papers.hare.formulations.task_formulation import known_schedule
from workbench.papers.hare.formulations.windows import alone_s, earliest, no_later_than, tails, windows
from workbench.papers.hare.instance import HareInstance

SLACK = 1e-6


@given(data=small(jobs=1, tasks=8))
def test_a_job_alone_completes_exactly_at_its_earliest(data):
    first, soonest = earliest(data)
    best, _ = brute_force(data)
    assert float(data.weight @ soonest) == pytest.approx(best)
    assert first[0] == data.arrival_s[0] and (np.diff(first) >= 0).all()


def test_a_round_alone_by_hand():
    """Five tasks on GPUs of 2 and 3 s: 2, 4, 6 and 3, 6; with 10 s to synchronise on the first, 12 and 3, 6, 9, 12."""
    assert alone_s(HareInstance.made([[2, 3]], tasks=5)).tolist() == [6.0]
    assert alone_s(HareInstance.made([[2, 3]], [[10, 0]], tasks=5)).tolist() == [12.0]
    assert alone_s(HareInstance.made([[2, None]], [[1, 0]], tasks=2)).tolist() == [5.0]


def test_what_follows_a_round_is_the_rounds_after_it():
    data = HareInstance.made([[2, 3]], [[1, 1]], rounds=3, tasks=2, last_part=0.5)
    assert tails(data).tolist() == [4.0 + 2.0, 2.0, 0.0]


@given(data=small())
def test_some_best_schedule_is_within_its_windows(data):
    """The one found without them, with each task as early as it can be."""
    known = known_schedule(data)
    best = Exact().run(data, {"cuts": False}).values["tasks"]
    gpus = {gpu.name: number for number, gpu in enumerate(data.gpus)}
    plan = TaskSchedule(data, [gpus[task["gpu"]] for task in best], [task["start_s"] for task in best])
    for found in (windows(data, known), windows(data)):
        rounds = data.task_round
        assert (plan.start_s >= found.first_s[rounds] - SLACK).all()
        assert (plan.start_s <= found.last_s[rounds] + SLACK).all()
        assert (plan.round_end_s <= found.end_s + SLACK).all()
        assert (plan.completion_s >= found.soonest_s - SLACK).all()
        assert (plan.completion_s <= found.latest_s + SLACK).all()
        assert plan.makespan_s <= found.horizon_s + SLACK


@given(data=small(jobs=4, tasks=12))
def test_no_schedule_without_needless_waiting_ends_after_the_bound(data):
    for insertion in (False, True):
        assert algorithm_1(data, fluid_start_s(data), insertion=insertion).makespan_s <= no_later_than(data) + SLACK
    assert known_schedule(data).makespan_s <= windows(data).horizon_s + SLACK


def test_no_jobs():
    found = windows(HareInstance.made([], gpus=0))
    assert (len(found.first_s), found.horizon_s, found.released_s) == (0, 0.0, 0.0)
