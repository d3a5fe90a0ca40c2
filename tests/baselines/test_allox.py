"""AlloX: the matching against brute force and the model, gangs, and what the scheduler makes of it."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from scipy.optimize import linear_sum_assignment

import workbench
from tests.baselines.mechanisms.support import given as placed
from tests.baselines.mechanisms.support import look, make, on
from tests.cases.gavel import least_with_first
from workbench.base.errors import InputError
from workbench.baselines.allox import Allox, AlloxInstance, AlloxScheduler, match
from workbench.baselines.mechanisms.allox_lines import places
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Scheduler
from workbench.scheduling.decision import Decision


def data(speed: Any, capacity: Any, steps: Any = None, waited_s: Any = None, gang: Any = None) -> AlloxInstance:
    speed = np.array(speed, dtype=float)
    jobs, types = speed.shape
    return AlloxInstance(
        tuple(f"j{i}" for i in range(jobs)),
        tuple(f"t{i}" for i in range(types)),
        speed,
        np.ones(jobs) if steps is None else steps,
        np.zeros(jobs) if waited_s is None else waited_s,
        np.ones(jobs) if gang is None else gang,
        capacity,
    )


def least_by_brute_force(given: AlloxInstance) -> float:
    """The least sum of completion times over all ways to give jobs to single GPUs, each GPU shortest job first."""
    gpus = [kind for kind, count in enumerate(given.capacity.tolist()) for _ in range(count)]
    best = math.inf
    for chosen in itertools.product(range(len(gpus)), repeat=len(given.jobs)):
        lines: dict[int, list[float]] = {}
        for row, gpu in enumerate(chosen):
            lines.setdefault(gpu, []).append(float(given.time_s[row, gpus[gpu]]))
        total = sum(sum(itertools.accumulate(sorted(line))) for line in lines.values())
        best = min(best, total)
    return best + float(given.waited_s.sum())


@st.composite
def instances(draw: st.DrawFn) -> AlloxInstance:
    jobs, types = draw(st.integers(1, 5)), draw(st.integers(1, 2))
    speed = [[draw(st.sampled_from([0.0, 0.5, 1.0, 3.0])) for _ in range(types)] for _ in range(jobs)]
    for row in speed:
        row[0] = row[0] or 1.0
    capacity = [draw(st.integers(1, 2)), *(draw(st.integers(0, 2)) for _ in range(types - 1))]
    steps = [draw(st.integers(1, 50)) for _ in range(jobs)]
    return data(speed, capacity, steps, [draw(st.integers(0, 30)) for _ in range(jobs)])


@given(instances())
def test_matching_and_model_are_the_optimum_of_brute_force(instance: AlloxInstance) -> None:
    least = least_by_brute_force(instance)
    assert match(instance).total_s(instance) == approx(least, rel=1e-12)
    found = Allox().run(instance, {})
    assert found.objective == approx(least, rel=1e-9) and found.bound == approx(least, rel=1e-6)


@given(instances())
def test_lines_have_no_gaps_and_one_job_at_each_place(instance: AlloxInstance) -> None:
    found = match(instance)
    lines: dict[tuple[int, int], list[int]] = {}
    for line in zip(found.kind.tolist(), found.gpu.tolist(), found.place.tolist(), strict=True):
        lines.setdefault(line[:2], []).append(line[2])
    assert all(sorted(places) == list(range(1, len(places) + 1)) for places in lines.values())
    assert all(gpu < instance.capacity[kind] for kind, gpu in lines)
    assert found.first().sum() == len(lines)


@given(instances())
def test_the_check_of_another_optimal_answer_knows_the_optimum(instance: AlloxInstance) -> None:
    """`tests/cases`: who is first in the matching found has an optimal matching; nobody at all running has none."""
    found = match(instance)
    first = np.zeros((len(instance.jobs), len(instance.types)), dtype=bool)
    first[np.arange(len(instance.jobs)), found.kind] = found.first()
    assert least_with_first(instance, first) == approx(found.total_s(instance), rel=1e-9)
    assert least_with_first(instance, np.zeros_like(first)) is None


def test_worked_by_hand() -> None:
    """One GPU, jobs of 3, 1 and 2 s: shortest first, 1 + (1 + 2) + (1 + 2 + 3) = 10 s; 7 s of waiting are added."""
    found = Allox().run(data([[1], [1], [1]], [1], [3, 1, 2], [4, 0, 3]), {})
    assert found.objective == approx(17.0)
    assert found.values["place_from_end"] == {"j0": 1, "j1": 3, "j2": 2}
    assert found.values["allocation"] == {"j0": {"t0": 0.0}, "j1": {"t0": 1.0}, "j2": {"t0": 0.0}}


def test_who_gains_most_gets_the_fast_type() -> None:
    """10 and 10 s on the fast one, 100 and 20 on the slow one: 10 + 20 s, not 10 + 100, nor 10 + 20 in one line."""
    found = Allox().run(data([[10, 1], [10, 5]], [1, 1], [100, 100]), {})
    assert found.values["matched_type"] in ({"j0": "t0", "j1": "t1"}, {"j0": "t0", "j1": "t0"})
    assert found.objective == approx(30.0)


def test_a_gang_counts_as_so_many_times_as_long() -> None:
    assert data([[2.0]], [4], [10], gang=[4]).time_s.tolist() == [[20.0]]


@pytest.mark.parametrize(
    ("bad", "where"),
    [
        ({"steps": [0.0]}, "j0, steps"),
        ({"speed": [[-1.0]]}, "j0, speed"),
        ({"speed": [[math.nan]]}, "j0, speed"),
        ({"speed": [[0.0]]}, "j0, speed"),
        ({"gang": [3]}, "j0, speed"),
        ({"gang": [0]}, "j0, gang"),
        ({"capacity": [1.5]}, "t0, capacity"),
        ({"capacity": [1, 2]}, "allox data, capacity"),
        ({"waited_s": [-1]}, "j0, waited_s"),
    ],
)
def test_bad_data(bad: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError) as error:
        data(**{"speed": [[1.0]], "capacity": [2], **bad})
    assert error.value.where == where


# --- the scheduler ----------------------------------------------------------------------------------------------------


def decide(snapshot: Any, **knobs: Any) -> Decision:
    scheduler: Scheduler = AlloxScheduler()
    return scheduler.decide(snapshot, None, scheduler.settle(knobs), np.random.default_rng(0))[0]


def test_the_first_of_each_line_start() -> None:
    scenario = make({"a": ("t", 2)}, [{"steps": 5}, {"steps": 1}, {"steps": 3}, {"steps": 4}])
    assert set(placed(decide(look(scenario)))) == {"j1", "j2"}


def test_running_jobs_keep_their_gpus_unless_preemptive() -> None:
    """j0 runs with 100 steps left, j1 waits with 1: only with `preemptive` does it take the GPU."""
    scenario = make({"a": ("t", 1)}, [{"steps": 100}, {"steps": 1}])
    snapshot = look(scenario, leases=[on("j0", a=1)])
    assert decide(snapshot, preemptive=False) == Decision()
    found = decide(snapshot)
    assert placed(found) == {"j1": {"a": 1}} and found.preempt == {"j0"}
    alone = look(scenario, leases=[on("j0", a=1)], gone=["j1"])
    assert replace(decide(alone), signals={}, solved=None) == Decision()


def test_an_assignment_that_ends_is_renewed() -> None:
    scenario = make({"a": ("t", 1)}, [{"steps": 100}, {"steps": 1}])
    assert placed(decide(look(scenario, ended=[on("j0", 0.0, a=1)]), preemptive=False)) == {"j0": {"a": 1}}


def test_alpha_looks_at_the_longest_there_but_never_at_fewer_than_there_are_gpus() -> None:
    jobs = [{"steps": 100, "arrival_s": 0}, {"steps": 1, "arrival_s": 1}, {"steps": 1, "arrival_s": 2}]
    scenario = make({"a": ("t", 1)}, jobs)
    assert set(placed(decide(look(scenario, 5.0)))) < {"j1", "j2"}
    assert set(placed(decide(look(scenario, 5.0), alpha=0.0))) == {"j0"}
    assert set(placed(decide(look(scenario, 5.0), alpha=0.7))) == {"j1"}


def test_a_gang_is_passed_by_who_fits_until_its_gpus_are_free() -> None:
    scenario = make({"a": ("t", 2)}, [{"gpus": 2, "steps": 2}, {"steps": 50}])
    assert set(placed(decide(look(scenario)))) == {"j0"}
    crowded = make({"a": ("t", 2)}, [{"steps": 100}, {"gpus": 2, "steps": 2}, {"steps": 50}])
    assert set(placed(decide(look(crowded, leases=[on("j0", a=1)]), preemptive=False))) == {"j2"}
    run = workbench.simulate(crowded, "allox", preemptive=False)
    assert run.jobs["finish_s"].notna().all()


def test_on_one_gpu_all_there_at_once_it_is_shortest_job_first() -> None:
    scenario = make({"a": ("t", 1)}, [{"steps": n} for n in (30, 10, 20)])
    assert workbench.simulate(scenario, "allox", round_s=0).jobs["finish_s"].tolist() == approx([60, 10, 30])


def test_the_matching_comes_true_when_all_jobs_are_there_at_once() -> None:
    """Without later arrivals the mean completion time of the run is the optimum, decided anew at every completion."""
    rng = np.random.default_rng(5)
    models = [f"m{i}" for i in range(12)]
    scenario = Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [{"name": "x"}, {"name": "y"}],
                "nodes": [{"name": n, "accelerator": n, "gpus": 2} for n in "xy"],
            },
            "jobs": [{"name": m, "model": m, "steps": int(rng.integers(50, 500))} for m in models],
            "throughputs": [
                {"model": m, "accelerator": n, "steps_per_s": float(rng.uniform(0.5, 4))} for m in models for n in "xy"
            ],
        }
    )
    best = workbench.solve(scenario, "allox").objective
    run = workbench.simulate(scenario, "allox", round_s=0)
    assert best is not None and run.jobs["finish_s"].sum() == approx(best, rel=1e-6)
    for other in ("fifo", "srtf", "las"):
        assert run.jobs["finish_s"].sum() <= workbench.simulate(scenario, other).jobs["finish_s"].sum()


# AlloX's lines match jobs to few places: no worse than to all of them


@given(
    st.integers(1, 9), st.integers(1, 3), st.lists(st.sampled_from([0.0, 1.5, 3.0]), min_size=1, max_size=8), st.data()
)
def test_leaving_out_places_that_nobody_needs_costs_nothing(
    jobs: int, kinds: int, busy: list[float], data: st.DataObject
) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    kind = rng.integers(0, kinds, len(busy))
    time_s, busy_s = rng.uniform(1.0, 9.0, (jobs, kinds))[:, kind], np.array(busy)
    place, gpu = places(time_s, busy_s)
    every = np.repeat(np.arange(1, jobs + 1), len(busy)), np.tile(np.arange(len(busy)), jobs)
    totals = []
    for k, m in ((place, gpu), every):
        costs = k * time_s[:, m] + busy_s[m]
        totals.append(float(costs[linear_sum_assignment(costs)].sum()))
    assert totals[0] == approx(totals[1])
