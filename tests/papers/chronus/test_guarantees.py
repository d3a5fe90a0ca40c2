"""Guarantees between two boundaries of SLO leases: jobs that end to the second, and jobs that take longer than thought.

In both a job comes in the middle of the last lease, so that the plan is looked at then.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.baselines.mechanisms.support import make
from tests.papers.chronus.test_scheduler import PAPER, check_promises, cluster, job
from workbench.papers.chronus.scheduler import Chronus
from workbench.scenario.scenario import Scenario
from workbench.simulation.loop import run_loop

STEPS_PER_S = 3.644
"""1,500 s at this speed are a profile and one lease, but not in floating point numbers."""


@pytest.mark.parametrize(("arrival_s", "next_s"), list(product([0.0, 33.3], [1000.0, 1300.0, 1600.0])))
def test_a_job_that_ends_just_with_its_lease_keeps_its_guarantee(arrival_s, next_s):
    """It has its only lease from 1200 to 2400 s, its deadline leaves no other; somebody comes meanwhile."""
    jobs = [
        {"steps": 1500 * STEPS_PER_S, "arrival_s": arrival_s, "rewards": [[2900, 100]]},
        {"steps": 900 * STEPS_PER_S, "arrival_s": next_s, "rewards": [[9000, 100]]},
    ]
    scenario = make({"n": ("t", 4)}, jobs, {"t": STEPS_PER_S})
    run = run_loop(scenario, Chronus(), PAPER)
    check_promises(scenario, run)
    assert run.jobs["verdict"].tolist() == ["guaranteed", "guaranteed"]
    assert run.jobs["finish_s"].iloc[0] == pytest.approx(2400.0)


def whole_leases(seed: int) -> Scenario:
    """Jobs most of which are a profile and some whole leases long, at speeds that are no round numbers."""
    rng = np.random.default_rng(seed)
    speed = float(rng.choice([STEPS_PER_S, 0.3333, 1 / 3, 7.1]))
    size, count = int(rng.choice([2, 4, 8])), int(rng.integers(1, 4))
    jobs = []
    for _ in range(int(rng.integers(3, 16))):
        gpus, seconds = int(rng.integers(1, min(8, size * count) + 1)), float(rng.choice([1500, 2700, 3900, 4321.7]))
        first = float(np.floor(seconds * rng.choice([1.5, 1.8, 2.2]) / 60) * 60)
        rewards = [[first, 100.0], *([[first * 1.2, 80.0]] if rng.random() < 0.5 else [])]
        arrival_s = float(rng.choice([0, 60, 333.3, 840, 1000, 1260, 1600, 2222, 3000, 4000, 4800]))
        job = {"gpus": gpus, "steps": seconds * speed * gpus, "arrival_s": arrival_s}
        jobs.append(job if rng.random() < 0.2 else {**job, "rewards": rewards})
    return make({f"n{i}": ("t", size) for i in range(count)}, jobs, {"t": speed})


@pytest.mark.parametrize("seed", range(24))
def test_at_exact_speeds_without_overhead_and_faults_no_guarantee_breaks(seed):
    scenario = whole_leases(seed)
    check_promises(scenario, run_loop(scenario, Chronus(), PAPER))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(24, 600))
def test_at_exact_speeds_no_guarantee_breaks_of_many_more(seed):
    scenario = whole_leases(seed)
    check_promises(scenario, run_loop(scenario, Chronus(), PAPER))


def test_a_job_that_takes_longer_than_thought_gets_more_leases_while_its_deadline_allows():
    """8 GPUs on 4 nodes run at 2 steps/s; by the two-node formula at 8 / (2 + 2 x 0.1) = 3.6.

    Thought to be done after 828 s, it takes 1500 s, more than its lease from 1200 to 2400 s. Best-effort jobs with less
    time left would come before it if its guarantee were forgotten when j1 gets its verdict, at 1500 s.
    """
    rates = {1: 0.5, 2: 1.0, 4: 4 / 2.1, 8: 2.0}
    sizes = [{"model": "m", "accelerator": "t", "gpus": n, "steps_per_s": rate} for n, rate in rates.items()]
    jobs = [
        {"gpus": 8, "steps": 300 * rates[4] + 3000, "rewards": [[3600, 100]]},
        {"gpus": 1, "steps": 500.0, "arrival_s": 1000.0, "rewards": [[90000, 100]]},
        *({"gpus": 2, "steps": 400.0, "arrival_s": 1010.0 + 10 * i} for i in range(8)),
    ]
    plain = make({f"n{i}": ("t", 2) for i in range(5)}, jobs).to_dict()
    scenario = Scenario.from_dict({**plain, "throughputs": sizes})
    run = run_loop(scenario, Chronus(), PAPER)
    assert "guaranteed with 1 lease:" in run.events.loc[run.events["job"] == "j0", "reason"].str.cat()
    check_promises(scenario, run)
    assert run.jobs["finish_s"].iloc[0] == pytest.approx(2700.0)  # in its second lease


def test_jobs_in_their_last_lease_have_a_reason_too():
    seen: list[str] = []

    class Asked(Chronus):
        def decide(self, snapshot, memory, knobs, rng):
            decision, after = super().decide(snapshot, memory, knobs, rng)
            if snapshot.now_s % 300 == 0:
                assert decision.why.keys() >= set(snapshot.jobs.names)
                seen.append(decision.why["j0"].text)
            return decision, after

    scenario = cluster(1, 4, [job(1, 1500, rewards=[[3000, 100]]), job(1, 300, 1900.0)])
    run_loop(scenario, Asked(), PAPER)
    assert any("its last SLO lease" in text for text in seen)
