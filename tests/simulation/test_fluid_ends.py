"""A fluid run ends although rounding leaves a job with less work than a float of the time can tell apart."""

from __future__ import annotations

import pytest

from workbench.baselines.mechanisms.share_scheduler import ShareScheduler
from workbench.scenario.traces.synthetic import generate
from workbench.session.registry import find_scheduler
from workbench.simulation.fluid import flow


@pytest.mark.parametrize("seed", range(3))
def test_every_job_finishes_once_and_a_call_follows_each_event(seed: int) -> None:
    scheduler = find_scheduler("gavel.max_min_fairness")
    assert isinstance(scheduler, ShareScheduler)
    cluster = "v100=2x4,p100=2x4,k80=2x4"
    scenario = generate(cluster, 120, seed, arrivals="poisson", mean_gap_s=8100.0, reference="v100")
    calls = 0

    def policy(*given):  # type: ignore[no-untyped-def]
        nonlocal calls
        calls += 1
        assert calls <= 2 * len(scenario.jobs), "the run stands still"
        return scheduler.policy(*given)

    done = flow(scenario, policy, scheduler.settle({}))
    assert done.jobs["finish_s"].notna().all()
