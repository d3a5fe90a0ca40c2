"""What the exercises of 02_hadar answer; what else its text says is checked where the page is run."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import workbench
from reproduction.hadar import optimality
from workbench.papers.hadar.formulations import dual
from workbench.papers.hadar.formulations.schedules import enumerate_schedules
from workbench.papers.hadar.instance import HadarInstance
from workbench.papers.hadar.lessons.three_jobs import three_jobs
from workbench.scenario.traces.synthetic import generate

EXAMPLE = workbench.preset("hadar_example")


def test_exercise_1_a_second_k80_saves_two_slots():
    data = json.loads(EXAMPLE.to_json())
    data["cluster"]["nodes"][2]["gpus"] = 2
    more = workbench.Scenario.from_dict(data)
    done = {slots: workbench.solve(more, "hadar.offline", slots=slots, utility="count").objective for slots in (3, 4)}
    assert done == {3: pytest.approx(2), 4: pytest.approx(3)}


def test_exercise_2_a_price_that_nobody_pays_loosens_the_bound():
    one_gpu = enumerate_schedules(HadarInstance.made([1], 4, [0, 0], [1, 1], [4, 1], [[2], [2]]))
    found = dual.Prices(one_gpu, np.array([[2.0, 0.0, 0.0, 0.0]]))
    assert found.payoff.tolist() == [2, 3] and found.objective == 7
    assert all(one_gpu.schedules[at].slots[0] > 0 for at in found.best if at is not None)


def test_exercise_3_twice_eta_is_half_the_lowest_price():
    data = three_jobs(7)
    first = optimality.bounds_of(data)
    second = optimality.bounds_of(data, 2 * first.eta)
    assert second.least == pytest.approx(first.least / 2) and second.most.tolist() == first.most.tolist()
    assert second.initial_dual == pytest.approx(first.initial_dual / 2)
    assert second.alpha - first.alpha == pytest.approx(math.log(2))


def test_exercise_4_with_equal_utilities_the_cheapest_go_first():
    runs = [workbench.simulate(EXAMPLE, "hadar", utility=utility) for utility in ("neg_jct", "count")]
    assert runs[0].jobs.equals(runs[1].jobs)
    assert runs[0].jobs["first_start_s"].tolist() == [0, 0, 720]


def test_exercise_5_never_moving_costs_39_minutes():
    mean_min = [workbench.simulate(EXAMPLE, "hadar", **knobs).jobs["finish_s"].mean() / 60 for knobs in (
        {}, {"reschedule": "waiting"}
    )]  # fmt: skip
    assert mean_min == pytest.approx([24, 63], abs=0.5)


def test_exercise_6_gangs_of_one_gpu_make_the_linear_programme_whole():
    knobs = workbench.find_formulation("hadar.round")
    for seed in range(3):
        mix = generate("v100=1x2,p100=1x2,k80=1x2", 12, seed=seed, durations="short")
        assert {job.gpus for job in mix.jobs} == {1}
        found = list(optimality.by_every_method(knobs.data(workbench.snapshot_at(mix), knobs.settle({}))).values())
        assert found == pytest.approx([found[0]] * 4, rel=1e-6)


def test_exercise_7_a_near_horizon_gives_the_optimum():
    mix = generate("v100=1x1,k80=1x2", 4, seed=0, durations="short", reference="v100")
    offline = workbench.find_formulation("hadar.offline")
    data = offline.data(workbench.snapshot_at(mix), offline.settle({"slot_s": 3600.0, "utility": "neg_jct"}))
    assert data.slots == 9
    runs = [
        workbench.simulate(mix, "hadar", round_s=3600.0, utility="neg_jct", **knobs).jobs
        for knobs in ({}, {"horizon_s": 9 * 3600.0})
    ]
    ended = [dict(zip(jobs["job"], jobs["finish_s"], strict=True)) for jobs in runs]
    default, near = optimality.measured([(data, end) for end in ended])["ratio"]
    assert default > 1.1 and near == pytest.approx(1)
