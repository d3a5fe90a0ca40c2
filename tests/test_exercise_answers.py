"""What the answers to the exercises of the notebooks say, computed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, permutations

import pytest

import workbench
from workbench.papers.chronus.algorithms import admission
from workbench.papers.chronus.algorithms.terms import AskedJob
from workbench.papers.chronus.instance import ChronusInstance
from workbench.scenario.rewards import strict

MINUTE = 60
WANTED = {"a": (2, 40, 60), "b": (2, 20, 40), "c": (4, 20, 40), "d": (4, 20, 60)}
"""Of notebook 06's example: GPUs, minutes to run, minutes until the deadline."""


def test_of_hare_rounds_that_start_together_cost_a_second_and_a_half() -> None:
    runs = [
        workbench.simulate("preset:hare_example", "hare", synchronisation=how) for how in ("relaxed", "scale_fixed")
    ]
    assert [run.jobs["finish_s"].sum() for run in runs] == pytest.approx([8.5, 10], abs=0.02)
    held = runs[1].timeline
    together = held[held["unit"].str.startswith("J3")]
    assert set(together["accelerator"]) == {"GPU1", "GPU2"} and together["end_s"].max() == pytest.approx(2)


def test_of_hare_whole_jobs_in_intervals_give_the_lowest_bound() -> None:
    """Exercise 2: with training within an interval counted as if at its beginning."""
    bound = {
        name: workbench.solve("preset:hare_example", f"hare.{name}").bound
        for name in ("interval_lp", "relaxation", "time_indexed_lp")
    }
    assert bound["interval_lp"] < 0.85 * min(bound["relaxation"], bound["time_indexed_lp"])


def test_of_hare_on_one_gpu_smiths_rule_is_optimal() -> None:
    """Exercise 3: jobs by falling weight over total time, against the optimum and every other order."""
    work = {"a": (3.0, 1.0), "b": (1.0, 2.0), "c": (2.0, 3.0), "d": (2.0, 1.0)}  # seconds of training, weight
    data = {
        "cluster": {"accelerators": [{"name": "g"}], "nodes": [{"name": "n", "accelerator": "g", "gpus": 1}]},
        "jobs": [{"name": name, "model": name, "steps": 1, "weight": own[1]} for name, own in work.items()],
        "throughputs": [{"model": name, "accelerator": "g", "steps_per_s": 1 / own[0]} for name, own in work.items()],
    }

    def cost(order: Sequence[str]) -> float:
        return sum(work[job][1] * sum(work[other][0] for other in order[: i + 1]) for i, job in enumerate(order))

    smith = sorted(work, key=lambda job: -work[job][1] / work[job][0])
    found = workbench.solve(workbench.Scenario.from_dict(data), "hare.exact")
    assert found.objective == pytest.approx(cost(smith)) == min(map(cost, permutations(work)))


def test_of_hare_the_answer_stays_as_it_is_when_the_rounds_are_doubled_often_enough() -> None:
    """Exercise 5: the sum of the completion times, without a true answer to hold it against."""
    sums = {
        rounds: float(workbench.simulate("preset:hare_testbed", "hare", most_rounds=rounds).jobs["finish_s"].sum())
        for rounds in (2, 4, 8, 15, 30, 60)
    }
    changes = [abs(after / before - 1) for before, after in pairwise(sums.values())]
    assert min(changes[:2]) > 0.05 and max(changes[2:]) < 0.02


def verdicts(gpus: int, order: str) -> dict[str, tuple[bool, tuple[str, ...]]]:
    """Who is guaranteed, and who stands in the way, if the example's jobs ask in that order."""
    asked = [AskedJob(own, runs * MINUTE, strict(by * MINUTE)) for own, runs, by in WANTED.values()]
    instance = ChronusInstance.made(gpus, 20 * MINUTE, asked, names=list(WANTED))
    return {one.job: (one.guaranteed, one.in_the_way) for one in admission.admit_all(instance, list(order))}


def test_of_chronus_a_fifth_gpu_helps_nobody_and_a_sixth_helps_d() -> None:
    assert verdicts(5, "abcd")["d"] == (False, ("a", "c"))
    assert all(guaranteed for guaranteed, _ in verdicts(6, "abcd").values())


def test_of_chronus_who_asks_last_is_refused() -> None:
    found = verdicts(4, "dcba")
    assert found["a"] == (False, ("c", "d")) and all(found[job][0] for job in "dcb")


def test_of_chronus_rounding_alone_can_lose_a_job() -> None:
    alone = ChronusInstance.made(100, 20 * MINUTE, [AskedJob(1, 21 * MINUTE, strict(39 * MINUTE))], names=["alone"])
    (found,) = admission.admit_all(alone, alone.jobs)
    assert not found.guaranteed and found.why == "it needs 2 leases and has 1 before its last deadline"
