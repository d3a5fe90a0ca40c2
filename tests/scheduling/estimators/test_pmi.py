"""HadarE's throughput estimate (10): by hand, what it learns, and what a run with it comes to."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from pytest import approx

import workbench
from workbench.analysis.metrics.summary import summary
from workbench.base.errors import InputError
from workbench.papers.hadar.scheduler import HadarE
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.by_name import maker
from workbench.scheduling.estimators.pmi import SCALE, Pmi, estimate, performance_memory_index
from workbench.scheduling.snapshot import LearningBelief, Observation
from workbench.simulation.loop import run_loop

DATA: dict[str, Any] = {
    "cluster": {
        "accelerators": [
            {"name": "new", "tflops": 64, "memory_gb": 16, "pcie_scaling": 2.0},
            {"name": "old", "tflops": 9, "memory_gb": 9},
            {"name": "unused"},
        ],
        "nodes": [
            {"name": "a", "accelerator": "new", "gpus": 2},
            {"name": "b", "accelerator": "old", "gpus": 1, "count": 2},
        ],
    },
    "jobs": [
        {"name": "j", "model": "m", "steps": 1000},
        {"name": "k", "model": "k", "steps": 1000},
    ],
    "throughputs": [
        {"model": model, "accelerator": kind, "gpus": gpus, "steps_per_s": rate * gpus}
        for model, kind, rate in (("m", "new", 20), ("m", "old", 8), ("k", "new", 3), ("k", "old", 0))
        for gpus in (1, 2)
    ],
    "models": [
        {"name": "m", "batch_size": 8, "size_class": "M", "dataset_class": "XL"},
        {"name": "k", "batch_size": 3, "size_class": "S", "dataset_class": "L"},
    ],
}
SCENARIO = Scenario.from_dict(DATA)
J, K = SCENARIO.jobs


def measured(belief: Pmi, job: str, node: str, steps_per_s: float, seconds: float = 10.0, gpus: int = 1) -> None:
    belief.learn([Observation(job, (job, 1), {node: gpus}, steps_per_s, seconds)])


def test_by_hand() -> None:
    assert performance_memory_index(16.0, 16.0) == 4.0
    assert estimate(4.0, 32, 1.0, 2.0, 4.0) == 16.0
    belief = Pmi(SCENARIO)
    assert SCALE == {"S": 1, "M": 2, "L": 3, "XL": 4}
    assert belief.steps_per_s(J, "new", 1) == 64 / 4 * 8 * 2 / (2 * 4)
    assert belief.steps_per_s(J, "old", 1) == 9 / 3 * 8 / (2 * 4)
    assert belief.steps_per_s(K, "new", 2) == 2 * (64 / 4 * 3 * 2 / (1 * 3))
    assert belief.on_nodes(J, {"a-0": 1, "b-0": 1}) == 2 * 3  # the slower node counts for both GPUs


def test_where_a_job_cannot_run_is_known() -> None:
    belief = Pmi(SCENARIO)
    assert belief.steps_per_s(K, "old", 1) == 0 and belief.on_nodes(K, {"b-0": 1}) == 0
    assert belief.pair(J, K, "new") is None


def test_speeds_are_those_of_single_types() -> None:
    seen: list[np.ndarray[Any, Any]] = []

    class Look(HadarE):
        def decide(self, snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
            belief = snapshot.belief
            one_by_one = [[belief.steps_per_s(job, t, job.gpus) for t in snapshot.types] for job in snapshot.jobs.jobs]
            seen.append(belief.speeds(snapshot.jobs) - np.array(one_by_one))
            return super().decide(snapshot, memory, knobs, rng)

    run_loop(SCENARIO, Look(), belief=Pmi(SCENARIO))
    assert seen and all((difference == 0).all() for difference in seen)


def test_what_was_measured_replaces_the_estimate() -> None:
    belief = Pmi(SCENARIO)
    measured(belief, "j", "b-0", 6.0)
    assert belief.on_nodes(J, {"b-0": 1}) == 6.0
    assert belief.on_nodes(J, {"b-1": 1}) == 6.0  # the mean over the nodes of that type where it ran
    measured(belief, "j", "b-1", 8.0)
    measured(belief, "j", "b-0", 9.0, 20.0)
    assert belief.on_nodes(J, {"b-0": 1}) == approx(8.0)  # (6 x 10 + 9 x 20) / 30
    assert belief.steps_per_s(J, "old", 1) == approx(8.0)
    assert belief.on_nodes(J, {"b-1": 1}) == 8.0


def test_the_first_measurement_gives_the_estimates_their_unit() -> None:
    belief = Pmi(SCENARIO)
    measured(belief, "j", "b-0", 6.0)  # twice the 3 estimated
    assert belief.steps_per_s(J, "new", 1) == approx(2 * 32)
    assert belief.steps_per_s(K, "new", 1) == approx(2 * 32)  # another model: the mean over those measured
    measured(belief, "j", "a-0", 16.0)  # half the 32 estimated
    assert belief.steps_per_s(J, "new", 2) == approx((2 + 0.5) / 2 * 64)
    measured(belief, "k", "a-0", 64.0)
    assert belief.steps_per_s(K, "new", 2) == approx(2 * 64)


def test_pairs_and_gangs_over_several_nodes_say_nothing() -> None:
    belief = Pmi(SCENARIO)
    belief.learn([Observation("j", ("j", "k"), {"a-0": 1}, 5.0, 10.0)])
    belief.learn([Observation("j", "j", {"a-0": 1, "b-0": 1}, 5.0, 10.0)])
    assert belief.steps_per_s(J, "new", 1) == 32


@pytest.mark.parametrize(
    ("where", "value", "what"),
    [
        (("cluster", "accelerators", 0, "tflops"), None, r"cluster.accelerators\[0\] \(new\).tflops: got None"),
        (("cluster", "accelerators", 1, "memory_gb"), None, r"cluster.accelerators\[1\] \(old\).memory_gb"),
        (("models", 0, "batch_size"), None, r"models\[0\] \(m\).batch_size"),
        (("models", 1, "size_class"), None, r"models\[1\] \(k\).size_class: got None; expected one of S, M, L, XL"),
        (("models", 1, "dataset_class"), "huge", r"models\[1\] \(k\).dataset_class: got 'huge'"),
        (("models",), [], "models: got .*; expected an entry for m"),
    ],
)
def test_what_it_needs_is_asked_for(where: tuple[Any, ...], value: Any, what: str) -> None:
    data = copy.deepcopy(DATA)
    part: Any = data
    for key in where[:-1]:
        part = part[key]
    part[where[-1]] = value
    if value is None:
        del part[where[-1]]
    with pytest.raises(InputError, match=what):
        Pmi(Scenario.from_dict(data))


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_numbers_that_are_none_are_refused(value: float) -> None:
    with pytest.raises(InputError, match="tflops"):
        performance_memory_index(value, 16.0)
    with pytest.raises(InputError, match="dataset_size"):
        estimate(1.0, 1.0, 1.0, 1.0, value)


def test_it_is_found_by_name_and_every_run_takes_a_new_one() -> None:
    assert isinstance(maker("pmi")(SCENARIO), Pmi) and isinstance(Pmi(SCENARIO), LearningBelief)
    with pytest.raises(InputError, match="each run has its own"):
        workbench.simulate(SCENARIO, "fifo", belief=Pmi(SCENARIO))


@pytest.mark.parametrize("name", ["hadar_aws", "hadar_lab"])
def test_it_learns_the_true_speeds_where_copies_ran_and_costs_little(name: str) -> None:
    scenario = workbench.preset(name)
    made: list[Pmi] = []

    def make(of: Scenario) -> Pmi:
        made.append(Pmi(of))
        return made[-1]

    run = workbench.simulate(scenario, "hadare", belief=make)
    assert run == workbench.simulate(scenario, "hadare", belief=make)
    models = {job.name: job for job in scenario.jobs}
    ran = run.timeline[run.timeline.kind == "run"][["job", "node"]].drop_duplicates()
    for job, node in ran.itertuples(index=False, name=None):
        true = scenario.table.on_nodes(models[job].model, {node: 1})
        assert made[0].on_nodes(models[job], {node: 1}) == approx(true)
    known = workbench.simulate(scenario, "hadare")
    assert summary(run)["makespan_s"] < 1.1 * summary(known)["makespan_s"]
