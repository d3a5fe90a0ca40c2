"""Sched_Allox on the core by hand, against the plan of whole jobs, and its limits."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from tests.baselines.mechanisms.support import look, make
from workbench import InputError, simulate
from workbench.papers.hare.algorithms import job_level
from workbench.papers.hare.instance import HareInstance
from workbench.papers.hare.scheduler import Hare
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario
from workbench.simulation.conservation import check
from workbench.simulation.run import Run

TWO_TYPES = {"slow": ("s", 1), "fast": ("f", 1)}
SPEEDS = {"s": 2.0, "f": 3.0}


def finish_s(run: Run) -> dict[str, float]:
    return dict(zip(run.jobs["job"], run.jobs["finish_s"], strict=True))


def synchronising(scenario: Scenario, sync_s: float) -> Scenario:
    data = scenario.to_dict()
    data["throughputs"] = [
        {**row, "gpus": n, "steps_per_s": row["steps_per_s"] * n, "sync_s": sync_s}
        for row in data["throughputs"]
        for n in (1, 2)
    ]
    return Scenario.from_dict(data)


def test_two_jobs_on_two_gpus_go_where_the_sum_of_their_ends_is_least() -> None:
    """j0 takes 15 or 10 s, j1 30 or 20 s: 15 + 20, against 10 + 30 both on the fast GPU and 10 + 30 the other way."""
    run = simulate(make(TWO_TYPES, [{"steps": 30}, {"steps": 60}], SPEEDS), "sched_allox")
    assert finish_s(run) == {"j0": approx(15), "j1": approx(20)} and check(run) == []


def test_tasks_of_a_round_go_one_after_the_other_on_one_gpu_and_it_waits_while_they_synchronise() -> None:
    """4 steps of two tasks: 2 rounds of 1 + 1 s and 0.5 s. j1 begins when the last one has synchronised."""
    jobs: list[dict[str, Any]] = [{"steps": 4, "tasks_per_round": 2}, {"steps": 1, "arrival_s": 0.1}]
    scenario = synchronising(make({"n": ("t", 1)}, jobs), 0.5)
    run = simulate(scenario, "sched_allox", steps_per_round=1)
    assert finish_s(run) == {"j0": approx(5.0), "j1": approx(6.5)} and check(run) == []
    bars = run.timeline[(run.timeline["job"] == "j0") & (run.timeline["kind"] == "run")]
    assert bars["start_s"].tolist() == approx([0.0, 1.0, 2.5, 3.5])


def test_nobody_moves_and_the_short_one_of_those_that_wait_is_first() -> None:
    jobs = [{"steps": 100}, {"steps": 50, "arrival_s": 1.0}, {"steps": 10, "arrival_s": 2.0}]
    run = simulate(make({"n": ("t", 1)}, jobs), "sched_allox")
    assert finish_s(run) == {"j0": 100, "j1": 160, "j2": 110}


def test_a_job_whose_node_fails_goes_on_elsewhere_and_others_stay() -> None:
    """j0 ends its 10 rounds of 10 s on b-0 after j1: a-0 fails in its third, of which 5 s are lost."""
    faults = {"list": [{"node": "a-0", "from_s": 25.0, "to_s": 1000.0}]}
    scenario = make({"a": ("t", 1), "b": ("t", 1)}, [{"steps": 100}, {"steps": 60}], core={"faults": faults})
    run = simulate(scenario, "sched_allox", most_rounds=10)
    assert finish_s(run) == {"j0": approx(60 + 80), "j1": approx(60)} and check(run) == []
    assert run.jobs["steps_lost"].tolist() == approx([5.0, 0.0])


def test_a_model_that_no_gpu_can_hold_is_an_error_that_names_it() -> None:
    data = make({"n": ("t", 1)}, [{"steps": 5}]).to_dict()
    data["cluster"]["accelerators"][0]["memory_gb"] = 8.0
    data["models"] = [{"name": "m", "memory_gb": 9.0}]
    with pytest.raises(InputError, match=r"j0, memory_gb of m.* 9.*at most 8 GB"):
        simulate(Scenario.from_dict(data), "sched_allox")


def test_more_tasks_than_can_be_listed_are_an_error_that_names_the_job() -> None:
    scenario = make({"n": ("t", 1)}, [{"steps": 2e9, "tasks_per_round": 2}])
    with pytest.raises(InputError, match=r"job j0, tasks: got 2000000000; expected at most 1,000,000: coarser rounds"):
        simulate(scenario, "sched_allox", steps_per_round=1)


@given(seed=st.integers(0, 10_000), arrive=st.booleans())
def test_the_core_carries_out_the_plan_of_whole_jobs(seed: int, arrive: bool) -> None:
    """`sched_allox` of Hare's instances plans with the same rule. On equal GPUs lines may be equally good: with several
    of a type all jobs are there at the start, and the sums are compared."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 8))
    jobs = [{"steps": float(rng.integers(1, 200)), "tasks_per_round": int(rng.integers(1, 4))} for _ in range(count)]
    gpus = [1, 1] if arrive else rng.integers(1, 4, 2).tolist()
    data = make({"a": ("s", gpus[0]), "b": ("f", gpus[1])}, jobs).to_dict()
    data["jobs"] = [
        {**job, "model": f"m{i}"} | ({"arrival_s": float(rng.uniform(0, 60))} if arrive else {})
        for i, job in enumerate(data["jobs"])
    ]
    drawn = {(job["model"], kind): rng.uniform(0.5, 4.0, 2) for job in data["jobs"] for kind in ("s", "f")}
    data["throughputs"] = [
        {"model": model, "accelerator": kind, "gpus": n, "steps_per_s": speed * n, "sync_s": sync}
        for (model, kind), (speed, sync) in drawn.items()
        for n in (1, 2, 3)
    ]
    scenario = Scenario.from_dict(data)
    seen = look(scenario, math.inf)  # with all jobs there
    offline = dataclasses.replace(seen, now_s=0.0, synchronisation_s=scenario.table.synchronisation_s)
    instance = HareInstance.from_snapshot(offline, Hare().settle({}))
    plan = job_level.sched_allox(instance).check()
    run = simulate(scenario, "sched_allox")
    assert check(run) == []
    planned_s = dict(zip(instance.jobs, plan.completion_s.tolist(), strict=True))
    assert sum(finish_s(run).values()) == approx(sum(planned_s.values()))
    assert gpus != [1, 1] or finish_s(run) == approx(planned_s)


@pytest.mark.parametrize("name", ["hare_example", "hare_testbed"])
def test_hare_s_presets_run_and_keep_their_work(name: str) -> None:
    run = simulate(preset(name), "sched_allox")
    assert check(run) == [] and run.jobs["finish_s"].notna().all()
    assert (run.timeline[run.timeline["kind"] == "run"].groupby("job")[["node", "slot"]].nunique() == 1).all().all()
