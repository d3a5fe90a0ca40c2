"""Lease terms, rewards, rounding up and the instance: counts by hand, bad input, from a snapshot."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from tests.cases.chronus import attained_share
from workbench.base.errors import InputError
from workbench.papers.chronus.algorithms.consolidation import in_pieces, is_friendly, pieces, powers, round_up
from workbench.papers.chronus.algorithms.terms import (
    AskedJob,
    LeaseTerms,
    check_steps,
    first_lease,
    leases_before,
    leases_needed,
    next_boundary,
    seconds_up,
)
from workbench.papers.chronus.formulations.leases import LeaseSelection
from workbench.papers.chronus.instance import ChronusInstance
from workbench.scenario.rewards import LOWEST
from workbench.session.api import snapshot_at

KNOBS = LeaseSelection().settle({})


def test_leases_are_counted_in_whole_seconds():
    assert leases_needed([1, 1200, 1201, 2400], 1200).tolist() == [1, 1, 2, 2]
    assert leases_before([1199, 1200, 2399, 2400], 1200).tolist() == [0, 1, 1, 2]
    assert first_lease([-5, 0, 1, 1200, 1201], 1200).tolist() == [1, 1, 2, 2, 3]
    assert [next_boundary(now, 1200) for now in (0, 1, 1200, 1200.0000000001, 1201)] == [0, 1200, 1200, 1200, 2400]
    assert seconds_up(0.1 + 0.2 + 2399.7).tolist() == 2400


@pytest.mark.parametrize(
    ("slo", "be", "complaint"),
    [
        (0, 300, "SLO lease: got 0; expected a whole number of seconds"),
        (-1200, 300, "SLO lease: got -1200"),
        (1200, 0, "best-effort lease: got 0"),
        (1200.5, 300, "SLO lease: got 1200.5"),
        (1200, 500, "SLO lease: got 1200; expected a multiple of the best-effort lease, 500 s"),
        (300, 1200, "a multiple of the best-effort lease, 1200 s"),
        (True, 1, "SLO lease: got True"),
    ],
)
def test_lease_lengths_that_cannot_be(slo, be, complaint):
    with pytest.raises(InputError, match=complaint):
        LeaseTerms(slo, be)


def test_four_best_effort_leases_in_an_slo_lease():
    assert LeaseTerms().ratio == 4 and LeaseTerms(300, 300).ratio == 1


@pytest.mark.parametrize(
    ("steps", "complaint"),
    [
        (((10.0, 50.0), (20.0, 80.0)), "rewards, reward: got 80.0; expected rewards that do not increase with time"),
        (((20.0, 80.0), (20.0, 50.0)), "expected deadlines that rise: above 20 s"),
        (((20.0, 0.5),), "rewards, reward: got 0.5; expected at least the reward of a miss, 1"),
        (((math.nan, 5.0),), "rewards, step"),
        (((20.0, math.inf),), "rewards, step"),
    ],
)
def test_rewards_that_cannot_be(steps, complaint):
    with pytest.raises(InputError, match=complaint):
        check_steps("rewards", steps, LOWEST)


def test_the_miss_rate_is_one_minus_what_is_printed():
    """As a run's measure is, see test_slo.py."""
    assert attained_share([100, 100]) == 1 and attained_share([1, 1]) == 0
    assert attained_share([100, 80, 1]) == pytest.approx((99 + 79) / 99 / 3)


def test_gangs_are_rounded_up_to_friendly_ones():
    assert [round_up(g, 8) for g in (1, 2, 3, 4, 5, 7, 8, 9, 16, 17)] == [1, 2, 4, 4, 8, 8, 8, 16, 16, 24]
    assert [round_up(g, 6) for g in (1, 2, 3, 4, 5, 6, 7, 12)] == [1, 2, 4, 4, 6, 6, 12, 12]
    assert [round_up(g, 1) for g in (1, 2, 3)] == [1, 2, 3]
    assert (pieces(8), pieces(6), pieces(7)) == ((8,), (4, 2), (4, 2, 1))
    assert (powers(8), powers(6), powers(7), powers(12)) == ((1,), (1, 4), (1, 2, 4), (1, 8))
    assert in_pieces([1, 2, 4, 6, 12], 6, (1, 4)).tolist() == [[1, 0], [2, 0], [4, 4], [6, 4], [12, 8]]
    for bad in (0, -3, 1.5, True):
        with pytest.raises(InputError, match="GPUs of a gang"):
            round_up(bad, 8)
    with pytest.raises(InputError, match="GPUs of a node: got 0"):
        pieces(0)


@given(gpus=st.integers(1, 200), node=st.integers(1, 16))
def test_rounding_up_is_the_least_friendly_gang_and_changes_no_friendly_one(gpus, node):
    found = round_up(gpus, node)
    assert found >= gpus and round_up(found, node) == found
    assert not any(is_friendly(other, node) for other in range(gpus, found))
    assert sum(pieces(node)) == node


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"lease_s": 0}, "lease: got 0; expected a whole number of seconds"),
        ({"lease_s": -60}, "lease: got -60"),
        (
            {"asked": [AskedJob(8, 1200, [(600, 100)], 700)]},
            "job j0, deadline: got 600.0; expected one after the arrival",
        ),
        ({"asked": [AskedJob(8, 1200, [(600, 10), (900, 20)])]}, "job j0, reward: got 20.0"),
        ({"asked": [AskedJob(8, 1200, [(900, 10), (600, 5)])]}, "job j0, deadline: got 600.0"),
        ({"asked": [AskedJob(0, 1200, [(900, 10)])]}, "job j0, gpus: got 0.0; expected a whole number >= 1"),
        ({"asked": [AskedJob(1, 0, [(900, 10)])]}, "job j0, runtime_s: got 0.0"),
        ({"asked": [AskedJob(1, 1.5, [(900, 10)])]}, "job j0, runtime_s: got 1.5"),
        ({"asked": [AskedJob(1, 1, [(900.5, 10)])]}, "job j0, deadline: got 900.5; expected whole seconds"),
        ({"asked": [AskedJob(1, 1, [], guaranteed=True)]}, "job j0, steps: got .*a deadline, as it is guaranteed"),
        ({"asked": [AskedJob(1, 1, [(900, 10)])] * 2, "names": ["a", "a"]}, "jobs of the plan"),
        ({"gpus": -8}, "plan, capacity: got -8.0"),
        ({"reserved_s": 1200}, "kept for resuming: got 1200; expected 0 to 1199"),
    ],
)
def test_instances_that_cannot_be(changes, complaint):
    given_ = {"gpus": 8, "lease_s": 1200, "asked": [AskedJob(8, 1200, [(2400, 100)])], **changes}
    with pytest.raises(InputError, match=complaint):
        ChronusInstance.made(**given_)


def test_the_jobs_of_a_snapshot_in_leases_from_the_next_boundary():
    """At the last arrival: what is left of runtimes and deadlines, by the scenario itself."""
    scenario = workbench.preset("chronus_96x8")
    now = 1300.0
    data = ChronusInstance.from_snapshot(snapshot_at(scenario, now), KNOBS)
    there = [job for job in scenario.jobs if job.arrival_s <= now and job.rewards]
    assert data.jobs == tuple(job.name for job in there)
    assert data.start_s == 2400 and data.lease_s == 1200 and data.capacity.tolist() == [[768]]
    for row, job in enumerate(there):
        runtime_s = job.steps / scenario.table.row(job.model, "v100", job.gpus)
        assert data.runtime_s[row] == math.ceil(runtime_s - 1e-6)
        deadlines = [job.arrival_s + deadline_s - 2400 for deadline_s, _ in job.rewards]
        assert data.by[row].tolist() == [max(0, math.floor((d + 1e-6) / 1200)) for d in deadlines]
    assert (data.first == 1).all() and not data.guaranteed.any()


def test_what_a_lease_in_force_does_until_the_boundary_counts():
    scenario = workbench.preset("chronus_96x8")
    now = 1300.0
    snapshot = snapshot_at(scenario, now)
    before = ChronusInstance.from_snapshot(snapshot, KNOBS)
    job = next(job for job in snapshot.jobs.jobs if job.rewards and job.gpus <= 8)
    node = snapshot.nodes.names[0]
    lease = workbench.Assignment(job.name, {node: job.gpus}, until_s=2400.0)
    running = {field: getattr(snapshot, field) for field in snapshot.__dataclass_fields__}
    after = ChronusInstance.from_snapshot(type(snapshot)(**{**running, "leases": {job.name: lease}}), KNOBS)
    row = before.jobs.index(job.name)
    assert before.runtime_s[row] - after.runtime_s[row] == pytest.approx(1100, abs=1)
    others = np.arange(len(before.jobs)) != row
    assert (before.runtime_s[others] == after.runtime_s[others]).all()


def test_deadlines_that_round_to_the_same_second_are_the_one_worth_more():
    scenario = workbench.preset("chronus_96x8")
    job = scenario.jobs[0].model_copy(update={"rewards": ((5000.2, 100.0), (5000.6, 80.0), (9000.0, 5.0))})
    one = scenario.replace(jobs=(job.model_copy(update={"arrival_s": 0.0}),))
    data = ChronusInstance.from_snapshot(snapshot_at(one, 0.0), KNOBS)
    assert data.steps == (((5000.0, 100.0), (9000.0, 5.0)),)
