"""Sia's bootstrapped speeds: the formula by hand, what is learnt of which job, and what a run with it comes to."""

from __future__ import annotations

from typing import Any

from pytest import approx

import workbench
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.by_name import maker
from workbench.scheduling.estimators.scaled_across_types import ScaledAcrossTypes
from workbench.scheduling.snapshot import LearningBelief, Observation

DATA: dict[str, Any] = {
    "cluster": {
        "accelerators": [{"name": "a"}, {"name": "b"}],
        "nodes": [
            {"name": "na", "accelerator": "a", "gpus": 4, "count": 2},
            {"name": "nb", "accelerator": "b", "gpus": 4},
        ],
    },
    "jobs": [
        {"name": name, "model": model, "steps": 1000, "gpus": 2, "gpu_choices": [2, 4]}
        for name, model in (("j", "m"), ("k", "m"), ("big", "two"))
    ],
    "throughputs": [
        {"model": model, "accelerator": kind, "gpus": gpus, "steps_per_s": speed}
        for model, kind, speeds in (
            ("m", "a", {1: 10, 2: 16, 4: 24}),
            ("m", "b", {1: 2, 2: 4, 4: 7}),
            ("two", "a", {1: 0, 2: 6, 4: 9}),
            ("two", "b", {1: 0, 2: 0, 4: 3}),
        )
        for gpus, speed in speeds.items()
    ],
}
SCENARIO = Scenario.from_dict(DATA)
J, K, BIG = SCENARIO.jobs


def test_by_hand() -> None:
    belief = ScaledAcrossTypes(SCENARIO)
    assert isinstance(belief, LearningBelief)
    # One GPU is known, gangs scale perfectly; `two` needs two GPUs of a, four of b.
    assert [belief.steps_per_s(J, "a", n) for n in (1, 2, 4)] == [10.0, 20.0, 40.0]
    assert [belief.steps_per_s(BIG, "a", n) for n in (1, 2, 4)] == [0.0, 6.0, 12.0]
    assert [belief.steps_per_s(BIG, "b", n) for n in (2, 4)] == [0.0, 3.0]
    belief.learn([Observation("j", "j", {"na-0": 4}, 24.0, 10.0)])
    assert belief.steps_per_s(J, "a", 4) == 24.0
    assert belief.steps_per_s(J, "b", 4) == approx(2 / 10 * 24)  # Sia's formula
    assert belief.steps_per_s(J, "a", 2) == approx(20 * 0.6)  # (ours) as the nearest that was measured
    assert belief.steps_per_s(J, "a", 1) == 10.0  # what was profiled stays
    assert belief.steps_per_s(K, "a", 4) == 40.0  # another job of the same model was not measured
    belief.learn(
        [Observation("j", "j", {"nb-0": 2}, 4.0, 5.0), Observation("j", "j", {"na-0": 2, "na-1": 2}, 12.0, 30.0)]
    )
    assert belief.steps_per_s(J, "a", 4) == approx((24 * 10 + 12 * 30) / 40)  # wherever the gang stands
    assert belief.steps_per_s(J, "b", 4) == approx(8.0)  # its own type says that it scales perfectly
    assert belief.on_nodes(J, {"nb-0": 2}) == 4.0 and belief.on_nodes(J, {"na-0": 1, "nb-0": 1}) == approx(4.0)


def test_pairs_and_gangs_on_two_types_teach_nothing_of_one() -> None:
    belief = ScaledAcrossTypes(SCENARIO)
    belief.learn(
        [Observation("j", ("j", "k"), {"na-0": 2}, 1.0, 9.0), Observation("j", "j", {"na-0": 1, "nb-0": 1}, 1.0, 9)]
    )
    assert belief.steps_per_s(J, "a", 2) == 20.0 and belief.pair(J, K, "a") is None


def test_a_run_learns_what_it_measures() -> None:
    jobs = [job.model_copy(update={"steps": 100_000}) for job in SCENARIO.jobs]
    log = maker("scaled").log()
    assert log is not None
    run = workbench.simulate(SCENARIO.replace(jobs=jobs), "sia", belief=log, round_s=60.0)
    assert run.belief == "scaled" and run.jobs["finish_s"].notna().all()
    errors = log.table()["error"]
    assert errors.iloc[0] > 0.1 and errors.iloc[-1] < errors.iloc[0] / 2
