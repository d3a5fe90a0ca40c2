"""Maximum total throughput: by hand, independent optima, properties, both solvers, the matrix, the golden model."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import look, make
from tests.papers.gavel.support import (  # noqa: F401
    DATA,
    MERGED,
    PAPER,
    TWO,
    by_assembly,
    dense,
    equal_share,
    merged,
    plain,
    random_data,
    solve_all,
    table,
)
from workbench.base.errors import InputError
from workbench.papers.gavel.algorithms.equal_jobs import merge, unweighted
from workbench.papers.gavel.formulations.max_throughput import MaxThroughput
from workbench.papers.gavel.instance import AllocationInstance
from workbench.session.registry import find_scheduler

POLICY = MaxThroughput()
allocate = by_assembly(POLICY)
KNOBS = st.fixed_dictionaries({"heterogeneity_aware": st.booleans(), "normalised": st.booleans()})


@pytest.mark.parametrize(
    ("knobs", "expected", "unit"),
    [
        ({}, 4 + 1, "steps/s"),
        ({"normalised": True}, 4 / 2.5 + 1 / 1.5, "1"),
        ({"heterogeneity_aware": False}, 2.5 + 2, "steps/s"),
        ({"heterogeneity_aware": False, "reference": "v100"}, 4 + 3, "steps/s"),
        ({"heterogeneity_aware": False, "normalised": True}, 2, "1"),
    ],
)
def test_the_papers_jobs_by_hand(knobs, expected, unit):
    """Two GPUs, so two jobs run at a time. P = (2.5, 2, 1.5).

    Steps/s: job 0 on the V100 (4), any other on the K80 (1). Normalised: job 0 on the V100 (1.6), and the K80 is worth
    most to job 2 (2/3). Agnostic: the mean speeds are P, and the two fastest jobs run; or, by the V100, 4 + 3; or any
    two jobs, at 1 each.
    """
    data = plain(PAPER)
    found = solve_all(POLICY, data, knobs, allocate, expected)
    assert found.unit == unit and found.sense == "max"


def test_normalised_changes_who_runs():
    """One GPU: b does more steps per second, but a gains as much by it; the tie of 1 goes either way, the sum not."""
    data = AllocationInstance(("a", "b"), ("x", "y"), [[3, 1], [100, 90]], [1, 1], [1, 1], [1, 1])
    raw = POLICY.run(data, {}).values["allocation"]
    assert (raw["a"], raw["b"]) == ({"x": 0.0, "y": 1.0}, {"x": 1.0, "y": 0.0})
    fair = POLICY.run(data, {"normalised": True}).values["allocation"]
    assert (fair["a"], fair["b"]) == ({"x": 1.0, "y": 0.0}, {"x": 0.0, "y": 1.0})


@given(data=DATA, knobs=KNOBS)
def test_optimum_equals_an_independent_one(data, knobs):
    parts = dense(data, knobs["heterogeneity_aware"])
    value = 1 / equal_share(data, knobs["heterogeneity_aware"]) if knobs["normalised"] else np.ones(len(data.jobs))
    expected = -parts.best(value @ parts.throughput).fun
    solve_all(POLICY, plain(data), knobs, allocate, expected)


@given(seed=st.integers(0, 2**32 - 1), factor=st.floats(0.01, 100))
def test_steps_per_second_scale_and_cancel_when_normalised(seed, factor):
    data = plain(random_data(seed))
    faster = dataclasses.replace(data, speed=data.speed * factor, pair_speed=data.pair_speed * factor)
    assert allocate(faster, {}).solved.objective == pytest.approx(factor * allocate(data, {}).solved.objective)
    same = {"normalised": True}
    assert allocate(faster, same).solved.objective == pytest.approx(allocate(data, same).solved.objective)


@pytest.mark.usefixtures("merged")
@MERGED
@given(seed=st.integers(0, 2**32 - 1))
def test_equal_jobs_get_equal_shares_whatever_their_weights(seed):
    data = plain(random_data(seed, pairs=False))
    member, found = merge(data, unweighted(data)).member, allocate(data, {}).shares
    for group in range(member.max() + 1):
        rows = found[member == group]
        assert (rows == rows[0]).all()
    heavier = dataclasses.replace(data, weight=np.arange(1.0, len(data.jobs) + 1))
    assert np.array_equal(allocate(heavier, {}).shares, found)


def test_bad_input_is_named():
    with pytest.raises(InputError, match="reference: got 'a100'; expected one of v100, k80"):
        POLICY.run(plain(TWO), {"heterogeneity_aware": False, "reference": "a100"})
    with pytest.raises(InputError, match="knob normalised: got 3"):
        POLICY.settle({"normalised": 3})


def test_the_scheduler_gives_the_fastest_job_the_fastest_type():
    scenario = make({"a": ("fast", 1), "b": ("slow", 1)}, [{}, {}], {"fast": 3.0, "slow": 1.0})
    scheduler = find_scheduler("gavel.max_throughput")
    found = {model: scheduler.policy(look(scenario), scheduler.settle({"model": model}), None) for model in MODELS}
    for each in found.values():
        assert each.solved.objective == pytest.approx(4)
        assert each.shares.values.sum(axis=0) == pytest.approx([1, 1])


MODELS = ("assembly", "pyomo")


def test_results_name_every_combination():
    data = plain(random_data(5))
    found = POLICY.run(data, {})
    assert table(found, data).shape == (len(data.units), len(data.types))
