"""Plans without a solver: only where a solver would find nothing better."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from tests.papers.hops import plan_support
from tests.papers.hops.plan_support import SEEDS, random_round
from workbench.papers.hops.algorithms import planning
from workbench.papers.hops.algorithms.planning import fingerprint, make_plan, unbeatable
from workbench.papers.hops.instance import HopsInstance, JobConfigurations


def two_jobs(first=1.0, second=2.0, idle=2, speed=1.0):
    both = [({"s": 1}, speed), ({"s": 2}, 1.8)]
    return HopsInstance.of(
        {"s": idle, "t": idle}, [JobConfigurations("a", first, both), JobConfigurations("b", second, both)]
    )


def test_equal_problems_have_equal_fingerprints():
    base = fingerprint(two_jobs(), 1.0)
    assert base == fingerprint(two_jobs(), 1.0)
    assert base == fingerprint(two_jobs(2.0, 4.0), 1.0), "only the ratios of the weights matter"
    for other in (two_jobs(second=3.0), two_jobs(idle=1), two_jobs(speed=0.9)):
        assert fingerprint(other, 1.0) != base
    assert fingerprint(two_jobs(), 0.0) == fingerprint(two_jobs(second=3.0), 0.0), "lambda 0: all weights are 1"
    assert fingerprint(two_jobs(), np.inf) == fingerprint(two_jobs(second=3.0), np.inf), "the same order"
    assert fingerprint(two_jobs(), np.inf) != fingerprint(two_jobs(second=0.5), np.inf)


def test_a_plan_in_which_all_have_their_best_stays():
    data = HopsInstance.of(
        {"s": 2, "t": 2},
        [JobConfigurations(name, 1.0, [({"s": 2}, 2.0), ({"t": 2}, 2.0), ({"t": 1}, 1.0)]) for name in "ab"],
    )
    best, mixed = {0: ((0, 2),), 1: ((1, 2),)}, {0: ((0, 2),), 1: ((1, 1),)}
    plan = unbeatable(data, best)
    assert plan is not None and {row: placed.layout for row, placed in plan.items()} == best
    assert unbeatable(data, mixed) is None, "b could have more"
    assert unbeatable(data, {0: ((0, 2),)}) is None, "b waits"
    assert unbeatable(data, {}) is None
    both_on_s = {0: ((0, 2),), 1: ((0, 2),)}
    assert unbeatable(data, both_on_s) is None, "two GPUs cannot be given out twice"


@given(seed=SEEDS)
def test_what_stays_is_an_optimum(seed):
    """From the optimum for any weights; brute force is the judge."""
    data = random_round(seed, least_idle=2)
    plan = make_plan(data, {"lambda": 0.0, "gap": 0.0}).plan
    stay = unbeatable(data, {row: placed.layout for row, placed in plan.items()})
    if stay is not None:
        gain = np.zeros(len(data.jobs))
        for row, placed in stay.items():
            gain[row] = placed.gain
        for power in (0.0, 1.0, 3.0):
            assert plan_support.value(data, gain, power) == pytest.approx(plan_support.best(data, power))


@pytest.mark.parametrize("power", [1.0, np.inf])
def test_no_solver_is_asked_then(power, monkeypatch):
    data = HopsInstance.of({"s": 2}, [JobConfigurations("a", 1.0, [({"s": 2}, 2.0), ({"s": 1}, 1.0)])])
    found = make_plan(data, {"lambda": power})
    monkeypatch.setattr(planning, "serve", lambda *arguments: pytest.fail("a solver was asked"))
    again = make_plan(data, {"lambda": power}, previous={0: found.plan[0].layout})
    assert again.plan == found.plan and again.solved.status == "optimal"
    assert again.solved.objective == pytest.approx(found.solved.objective)


@given(seed=SEEDS)
def test_the_start_changes_no_optimum(seed):
    """From any plan that fits, with the solver's start or without, printed and aggregated alike."""
    data = random_round(seed)
    before = make_plan(data, {"lambda": 0.0}).plan
    previous = {row: placed.layout for row, placed in before.items()}
    for model in ("printed", "aggregated"):
        knobs = {"lambda": 1.0, "gap": 0.0, "form": model}
        values = [
            make_plan(data, {**knobs, "start": start}, previous=previous).solved.objective for start in (True, False)
        ]
        assert values[0] == pytest.approx(values[1], abs=1e-6)


def test_the_formulation_starts_from_the_previous_round():
    from workbench.papers.hops.formulations.round import HopsRound

    data = replace(two_jobs(), previous={0: ((0, 1),)})
    formulation = HopsRound()
    for model in ("printed", "aggregated"):
        knobs = formulation.settle({"gap": 0.0, "form": model})
        with_start, without = (formulation.run(data, {**knobs, "start": start}) for start in (True, False))
        assert with_start.objective == pytest.approx(without.objective)
