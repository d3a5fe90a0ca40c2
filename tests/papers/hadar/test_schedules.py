"""P2 and P3: schedules listed by hand, P1 = P2, weak and strong duality, prices, golden models, limits."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from reproduction.hadar.optimality import duality
from tests.papers.hadar.p1_support import brute_force, instances
from workbench.base.errors import InputError
from workbench.papers.hadar.formulations import dual, schedules
from workbench.papers.hadar.formulations.dual import Dual, Prices
from workbench.papers.hadar.formulations.offline import Offline
from workbench.papers.hadar.formulations.schedules import HadarSchedules, JobSchedule, enumerate_schedules, gangs
from workbench.papers.hadar.instance import HadarInstance
from workbench.papers.hadar.lessons.three_jobs import three_jobs
from workbench.scheduling.solvers import Solver, SolverFailedError, solve_model

P2, P3 = HadarSchedules(), Dual()
TWO = enumerate_schedules(HadarInstance.made([2, 1], 3, [0, 0], [2, 1], [4, 3], [[2, 1], [3, 2]]))


def test_the_schedules_of_one_job_by_hand():
    """Work 3 at 2 on r0 or 1 on r1, three slots: 2 + 2, 2 + 1 or 1 + 2 in any two, 1 + 1 + 1; never a slot too many."""
    data = enumerate_schedules(HadarInstance.made([1, 1], 3, [0], [1], [3], [[2, 1]]))
    fast, slow = (1, 0), (0, 1)
    expected = {
        JobSchedule(0, pair, kinds)
        for pair in itertools.combinations(range(3), 2)
        for kinds in ((fast, fast), (fast, slow), (slow, fast))
    } | {JobSchedule(0, (0, 1, 2), (slow, slow, slow))}
    assert set(data.schedules) == expected and len(data.schedules) == len(expected)


def test_a_gang_may_mix_types_and_runs_at_the_slowest():
    data = HadarInstance.made([2, 3, 1], 1, [0], [3], [1], [[40, 20, 30]])
    found = dict(gangs(data, 0))
    assert found == {
        (2, 1, 0): 20.0, (2, 0, 1): 30.0, (1, 2, 0): 20.0, (1, 1, 1): 20.0, (0, 3, 0): 20.0, (0, 2, 1): 20.0,
    }  # fmt: skip


@given(data=instances(jobs=3, slots=3))
def test_p1_and_p2_and_trying_everything_agree(data):
    best = P2.run(enumerate_schedules(data), {}).objective
    assert best == pytest.approx(brute_force(data), abs=1e-6)
    assert best == pytest.approx(Offline().run(data, {}).objective, abs=1e-6)


@given(data=instances(jobs=3, slots=3), solver=st.sampled_from(["highs", "glpk"]))
def test_p2_is_no_more_than_its_relaxation_which_equals_p3(data, solver):
    found = duality(enumerate_schedules(data), Solver(solver))
    assert found["P2"] <= found["P2 relaxed"] + 1e-6
    assert found["P2 relaxed"] == pytest.approx(found["P3"], rel=1e-6, abs=1e-6)


@given(data=instances(jobs=3, slots=3), seed=st.integers(0, 10**6))
def test_any_prices_cost_no_less_than_any_choice_of_schedules_is_worth(data, seed):
    """Weak duality (3) >= (2), at prices drawn at random."""
    listed = enumerate_schedules(data)
    price = np.random.default_rng(seed).exponential(2.0, (len(data.types), data.slots))
    assert Prices(listed, price).objective >= P2.run(listed, {}).objective - 1e-6


@given(data=instances(jobs=2, slots=3))
def test_schedules_that_are_not_listed_change_neither_optimum(data):
    """All schedules, also those with a slot too many, by scipy's linear programme."""
    every, utility, rows = [], [], []
    for j in range(len(data.jobs)):
        ways = gangs(data, j)
        for length in range(1, data.slots + 1):
            for slots in itertools.combinations(range(int(data.first[j]), data.slots), length):
                for chosen in itertools.product(ways, repeat=length):
                    done = np.cumsum([steps for _, steps in chosen])
                    if done[-1] >= data.work[j] * (1 - 1e-9):
                        used = np.zeros((data.slots, len(data.types)))
                        used[list(slots)] = [gpus for gpus, _ in chosen]
                        every.append(used.ravel())
                        utility.append(data.utility[j, slots[-1]])
                        rows.append(np.eye(len(data.jobs))[j])
    found = P3.run(enumerate_schedules(data), {}).objective
    if not every:
        assert found == 0
        return
    limits = np.hstack([np.array(every), np.array(rows)]).T
    right = np.concatenate([np.tile(data.capacity, data.slots), np.ones(len(data.jobs))])
    assert found == pytest.approx(-linprog(-np.array(utility), limits, right).fun, rel=1e-6, abs=1e-6)


def test_prices_of_one_gpu_that_two_jobs_want_by_hand():
    """One slot, one GPU, jobs worth 3 and 2: any price from 2 to 3 clears it, and (3) is 3."""
    data = HadarInstance(("a", "b"), ("r",), [1], 1, [0, 0], [1, 1], [1, 1], [[1], [1]], [[3.0], [2.0]])
    found = P3.run(enumerate_schedules(data), {})
    [row] = found.values["prices"]
    assert found.objective == pytest.approx(3) and found.sense == "min"
    assert 2 - 1e-9 <= row["price"] <= 3 + 1e-9
    assert found.values["payoff"]["a"] == pytest.approx(3 - row["price"])
    assert found.values["payoff"]["b"] == pytest.approx(0)
    assert found.values["best"]["b"]["payoff"] == pytest.approx(2 - row["price"])
    json.dumps(found.values, allow_nan=False)


def test_parts_of_schedules_can_be_worth_more_than_whole_ones():
    """Three gangs of 2 on 3 GPUs: one runs whole; halves of all three fill 3 GPUs and are worth half as much again."""
    data = enumerate_schedules(HadarInstance.made([3], 1, [0] * 3, [2] * 3, [1] * 3, [[1]] * 3, "count"))
    assert duality(data) == pytest.approx({"P2": 1.0, "P2 relaxed": 1.5, "P3": 1.5})
    parts = P2.run(data, {"relaxed": True}).values
    assert sum(parts["served"].values()) == pytest.approx(1.5)
    assert sum(row["part"] for row in parts["chosen"]) == pytest.approx(1.5)


@pytest.mark.parametrize(("build", "name"), [(schedules.build, "schedules"), (dual.build, "dual")])
def test_golden_model_of_two_jobs(build, name, same_as_golden):
    same_as_golden(build(TWO), f"{name}_two_jobs.lp")


def test_too_many_schedules_name_the_job():
    with pytest.raises(InputError, match="more by job j0"):
        enumerate_schedules(three_jobs(6), most=100)


def test_no_jobs_and_no_schedules():
    for data in (HadarInstance.made([2], 3, [], [], [], []), HadarInstance.made([1], 2, [0], [2], [1], [[1]])):
        listed = enumerate_schedules(data)
        assert listed.schedules == ()
        assert duality(listed) == {"P2": 0.0, "P2 relaxed": 0.0, "P3": 0.0}


def test_a_choice_that_overfills_is_refused():
    model = schedules.build(TWO)
    solve_model(model)
    for key in model.choose:
        model.choose[key].set_value(1.0)
    with pytest.raises(SolverFailedError, match="schedules for one job"):
        schedules.read_choice(model, TWO)
