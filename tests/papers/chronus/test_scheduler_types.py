"""The scheduler on several accelerator types: the programme chooses them, against trying every plan."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import make
from tests.papers.chronus.plan_support import LEASE_S
from tests.papers.chronus.test_scheduler import SHORT, check_promises, job, with_deadlines
from tests.papers.chronus.test_typed import brute_force
from workbench.papers.chronus.algorithms.terms import AskedJob, AskedRun, NodePool
from workbench.papers.chronus.instance import ChronusInstance
from workbench.papers.chronus.scheduler import Chronus
from workbench.simulation.loop import simulate

KNOBS = {**SHORT, "profile": False, "gap": 0.0}


@st.composite
def tiny(draw: st.DrawFn) -> tuple[list[dict], ChronusInstance]:
    """Three jobs there from the start, on two GPUs of a type and two of one half as fast; and their plan by hand."""
    jobs, asked = [], []
    for _ in range(3):
        gpus, seconds = draw(st.integers(1, 2)), 5 * draw(st.integers(1, 5))
        first_s = float(LEASE_S * draw(st.integers(1, 3)))
        rewards = [[first_s, 100.0], [first_s + LEASE_S, float(draw(st.sampled_from([20, 50])))]]
        jobs.append(job(gpus, 2 * seconds, rewards=rewards))
        runs = [AskedRun(0, gpus, seconds), AskedRun(1, gpus, 2 * seconds)]
        asked.append(AskedJob(gpus, seconds, rewards, runs=runs))
    pools = {NodePool("fast", 2): 2, NodePool("slow", 2): 2}
    return jobs, ChronusInstance.pooled(pools, LEASE_S, asked)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(found=tiny())
def test_verdicts_and_the_total_reward_are_those_of_trying_every_plan_on_two_types(found):
    jobs, data = found
    sure: list[int] = []
    for row in range(len(jobs)):
        if brute_force(data.with_jobs([*sure, row], guaranteed=True)) is not None:
            sure.append(row)
    best = brute_force(data.with_jobs(sure, guaranteed=True)) if sure else 0.0
    scenario = make({"a": ("fast", 2), "b": ("slow", 2)}, jobs, {"fast": 2.0, "slow": 1.0})
    run = simulate(scenario, Chronus(), {**KNOBS, "slo_lease_s": LEASE_S, "be_lease_s": LEASE_S})
    assert (run.jobs["verdict"] == "guaranteed").tolist() == [row in sure for row in range(len(jobs))]
    assert run.decisions["objective"].iloc[0] == pytest.approx(best)
    earned = 0.0
    for row in sure:
        done_s = run.jobs["finish_s"].iloc[row]
        earned += next(reward for deadline_s, reward in data.steps[row] if done_s <= deadline_s + 1e-9)
    assert earned >= best - 1e-9


def test_a_job_gives_its_fast_type_to_one_that_could_not_do_without():
    """The first could meet its deadline on either type and begins on the fast one; the second only on the fast one."""
    jobs = [job(2, 80, rewards=[[240, 100]]), job(2, 80, rewards=[[40, 100]])]
    scenario = make({"a": ("fast", 2), "b": ("slow", 2)}, jobs, {"fast": 2.0, "slow": 1.0})
    each, programme = (simulate(scenario, Chronus(), {**KNOBS, "types": types}) for types in ("each", "programme"))
    assert programme.jobs["verdict"].tolist() == ["guaranteed", "guaranteed"]
    assert programme.jobs["finish_s"].iloc[1] <= 40.0
    assert each.jobs["verdict"].tolist() == ["guaranteed", "guaranteed"]


def test_who_is_refused_on_each_type_is_guaranteed_where_another_can_change_its_type():
    """The second has a lease to spare on neither type beside the first on the fast one, on which both want all."""
    jobs = [job(2, 80, rewards=[[80, 100]]), job(2, 160, rewards=[[80, 100]])]
    scenario = make({"a": ("fast", 2), "b": ("slow", 2)}, jobs, {"fast": 2.0, "slow": 1.0})
    each, programme = (simulate(scenario, Chronus(), {**KNOBS, "types": types}) for types in ("each", "programme"))
    assert each.jobs["verdict"].tolist() == ["guaranteed", "best_effort"]
    assert programme.jobs["verdict"].tolist() == ["guaranteed", "guaranteed"]
    assert programme.jobs["finish_s"].tolist() == [80.0, 80.0]


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scenario=with_deadlines())
def test_on_one_type_the_knob_changes_nothing(scenario):
    each, programme = (simulate(scenario, Chronus(), {**SHORT, "types": types}) for types in ("each", "programme"))
    for name in ("timeline", "jobs", "events", "signals"):
        pd.testing.assert_frame_equal(getattr(each, name), getattr(programme, name))
    clock = ["build_s", "solve_s"]
    pd.testing.assert_frame_equal(each.decisions.drop(columns=clock), programme.decisions.drop(columns=clock))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scenario=with_deadlines(types=2), profile=st.booleans(), topology=st.booleans())
def test_promises_hold_where_jobs_change_their_type(scenario, profile, topology):
    run = simulate(scenario, Chronus(), {**SHORT, "profile": profile, "topology": topology})
    check_promises(scenario, run)
