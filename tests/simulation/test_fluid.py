"""The fluid limit: worked by hand, against ever shorter rounds, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from tests.baselines.mechanisms.support import make
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.priority import PolicyAnswer
from workbench.baselines.mechanisms.share_scheduler import ShareScheduler
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.synthetic import generate
from workbench.scheduling.contract import Scheduler
from workbench.scheduling.decision import Shares, members
from workbench.session.registry import find_scheduler
from workbench.simulation.fluid import Fluid, flow
from workbench.simulation.loop import run_loop


def gavel(scenario) -> Fluid:
    scheduler = find_scheduler("gavel.max_min_fairness")
    return flow(scenario, scheduler.policy, scheduler.settle({}))


def fixed(*rows: tuple[str | tuple[str, str], tuple[float, ...]]):
    """A policy that gives every unit whose jobs are there the same shares whenever it is asked."""

    def policy(snapshot, knobs, memory):
        there = [(unit, x) for unit, x in rows if set(members(unit)) <= set(snapshot.jobs.names)]
        values = np.array([x for _, x in there], dtype=float).reshape(len(there), len(snapshot.types))
        return PolicyAnswer(Shares(tuple(unit for unit, _ in there), snapshot.types, values))

    return policy


def test_two_jobs_on_one_gpu_share_it_until_the_shorter_one_is_done():
    """1 step/s: half speed each until the shorter one's 100 steps are done at 200 s; the other has 200 left: 400 s.

    The longer one waits for half of the first 200 s and holds the GPU for 100 + 200 s.
    """
    found = gavel(make({"a": ("t", 1)}, [{"steps": 100}, {"steps": 300}])).jobs
    assert found["finish_s"].tolist() == approx([200, 400])
    assert found["waited_s"].tolist() == approx([100, 100])
    assert found["attained_s"].tolist() == approx([100, 300])
    assert found["first_start_s"].tolist() == [0, 0]


def test_shares_change_at_arrivals_and_after_an_idle_time():
    """Alone until 60 s (60 of 100 steps), halves until 140 s; the other's last 60 of 100 until 200 s; then 500 s."""
    found = gavel(
        make({"a": ("t", 1)}, [{"steps": 100}, {"steps": 100, "arrival_s": 60}, {"steps": 7, "arrival_s": 500}])
    )
    assert found.jobs["finish_s"].tolist() == approx([140, 200, 507])
    assert found.end_s == approx(507)
    assert sorted(set(found.shares["time_s"])) == approx([0, 60, 140, 500])


def test_a_pair_runs_at_the_speeds_of_the_pair():
    """Half the time for j0 + j1 at 2 and 0.5 steps/s, half for j1 alone at 1 step/s.

    j0 does 1 step/s: 100 s. j1 does 0.75 steps/s, then 0.5: the last 25 of its 100 steps take 50 s.
    """
    pair = {"model": "m", "with_model": "n", "accelerator": "t", "steps_per_s": 2.0, "with_steps_per_s": 0.5}
    scenario = make({"a": ("t", 1)}, [{"steps": 100}, {"steps": 100}])
    rows = [row.model_dump() for row in scenario.throughputs]
    rows += [{**row, "model": "n"} for row in rows]
    body = {**scenario.to_dict(), "throughputs": rows, "colocated": [pair]}
    body["jobs"][1]["model"] = "n"
    found = flow(
        Scenario.from_dict(body),
        fixed(
            (("j0", "j1"), (1.0,)),
            ("j1", (1.0,)),
        ),
        {},
    ).jobs
    # j1 also has its own share from the start here, so that it runs at 1.5 steps/s for 50 s.
    assert found["finish_s"].tolist() == approx([50, 75])


def test_a_gang_holds_its_gpus_for_its_share():
    found = flow(make({"a": ("t", 2)}, [{"steps": 100, "gpus": 2}]), fixed(("j0", (0.25,))), {}).jobs
    assert found["finish_s"].tolist() == approx([200])  # 2 steps/s for a quarter of the time
    assert found["attained_s"].tolist() == approx([100])
    assert found["waited_s"].tolist() == approx([150])


def test_the_limit_of_short_rounds():
    """Restarts free: the mean JCT under Gavel's rounds comes as near as the rounds are short."""
    scenario = make(
        {"a": ("fast", 2), "b": ("slow", 2)}, [{"steps": 9000 + 1700 * i} for i in range(7)], {"fast": 3.0, "slow": 1.0}
    )
    ideal = gavel(scenario).jobs
    scheduler: Scheduler = find_scheduler("gavel.max_min_fairness")
    apart = []
    for round_s in (360.0, 60.0, 6.0):
        jobs = run_loop(scenario, scheduler, {"round_s": round_s}).jobs
        apart.append(float(np.abs(jobs["finish_s"] - ideal["finish_s"]).max()))
    assert apart[0] > apart[1] > apart[2]
    assert apart[2] <= 30


@given(st.lists(st.tuples(st.integers(1, 500), st.integers(0, 300)), min_size=1, max_size=6))
def test_the_gpu_is_never_idle_while_somebody_waits(jobs):
    """One GPU at 1 step/s, any fair policy: the last completion is that of one queue served in any order."""
    found = gavel(make({"a": ("t", 1)}, [{"steps": n, "arrival_s": at} for n, at in jobs]))
    free_s = 0.0
    for steps, arrival_s in sorted(jobs, key=lambda job: job[1]):
        free_s = max(free_s, arrival_s) + steps
    assert found.end_s == approx(free_s)
    assert found.jobs["attained_s"].tolist() == approx([float(n) for n, _ in jobs])
    assert found.jobs["steps_done"].tolist() == approx([float(n) for n, _ in jobs])


def test_a_policy_that_starves_everybody_is_named():
    with pytest.raises(InputError, match="some waiting job a share"):
        flow(make({"a": ("t", 1)}, [{}]), fixed(("j0", (0.0,))), {})
    with pytest.raises(InputError, match="accelerator types"):
        flow(make({"a": ("t", 1)}, [{}]), lambda *_: PolicyAnswer(Shares(("j0",), ("zz",), np.ones((1, 1)))), {})


# A fluid run ends although rounding leaves a job with less work than a float of the time can tell apart


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
