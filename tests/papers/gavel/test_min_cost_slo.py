"""Minimum cost with SLOs: by hand, independent optima, jobs that conflict, late jobs in a simulation, golden model."""

import dataclasses
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import look, make
from tests.papers.gavel.support import DATA, PAPER, TWO, by_assembly, dense, priced, random_data, solve_all, table
from workbench.base.errors import InputError
from workbench.papers.gavel.formulations.min_cost import MinCost
from workbench.papers.gavel.formulations.min_cost_slo import (
    NAME,
    MinCostSlo,
    SloConflictError,
    SloInstance,
    conflict,
    hopeless,
    short,
)
from workbench.scheduling.solvers import InfeasibleError, SolverFailedError, solve_model
from workbench.session.registry import find_scheduler
from workbench.simulation.loop import run_loop

POLICY = MinCostSlo()
allocate = by_assembly(POLICY)
AWARE = pytest.mark.parametrize("aware", [True, False])
OBJECTIVES = pytest.mark.parametrize("objective", ["throughput_per_dollar", "ratio"])
HUGE = np.inf


def one_type(needs, capacity=1, **more):
    """Jobs of 1 GPU and 1 step/s on one type, which need these parts of their time (inf: the deadline has passed)."""
    names = tuple("abcdef"[: len(needs)])
    slo_s = [HUGE if need == 0 else -5.0 if need == HUGE else 100 / need for need in needs]
    ones = [1] * len(needs)
    fields = {"price": [1], "steps": [100] * len(needs), "slo_s": slo_s, **more}
    return SloInstance(names, ("t",), [[1]] * len(needs), ones, ones, [capacity], **fields)


def with_slo(**slo_s):
    """The paper's jobs with deadlines in so many seconds."""
    return dataclasses.replace(PAPER, slo_s=[slo_s.get(name.replace(" ", ""), HUGE) for name in PAPER.jobs])


def test_the_papers_jobs_by_hand():
    """Job 2 (200 steps) has 100 s: 2 steps/s, so it has all of the V100, and another job the K80: 1 + 2 per dollar.

    Without its SLO job 0 has the V100: 4. With 125 s it needs 1.6: X on the V100, 1 - X on the K80 with 2 X + 1 - X =
    1.6, so X = 0.6, and the K80 has 0.6 for the others, of which job 0 has 0.4 on the V100: all entries of the K80 and
    of job 0 earn 2, so 0.6 + 2 x 0.4 + 2 = 3.4.
    """
    assert solve_all(POLICY, with_slo(job2=100), {}, allocate, 3).values["slo_dropped"] == {"job 2": 0}
    assert solve_all(POLICY, with_slo(job2=125), {}, allocate, 3.4).objective == pytest.approx(3.4)
    assert solve_all(POLICY, PAPER, {}, allocate, 4).values["cost_usd_per_h"] == pytest.approx(2.5)


def test_the_ratio_with_slos_by_hand():
    """Job 2 with all of the V100: (2 + 1) / (2 + 0.5) = 1.2, the K80 used too since it earns 2 > 1."""
    found = solve_all(POLICY, with_slo(job2=100), {"objective": "ratio"}, allocate, 1.2)
    assert found.values["cost_usd_per_h"] == pytest.approx(2.5)


def test_agnostic_slos_take_the_mean_speed():
    """Mean speeds (2.5, 2, 1.5): 2 steps/s for job 2 are out of reach, 1.5 are not, whatever they are in truth."""
    agnostic = {"heterogeneity_aware": False}
    with pytest.raises(InfeasibleError, match=r"job 2 needs 2 steps/s and does at most 1\.5"):
        POLICY.run(with_slo(job2=100), agnostic)
    found = POLICY.run(with_slo(job2=200 / 1.5), agnostic)
    assert sum(found.values["allocation"]["job 2"].values()) == pytest.approx(1)


@AWARE
@OBJECTIVES
@given(data=DATA)
@example(data=random_data(430336087))  # an interior point with HiGHS's own tolerances ended 2e-6 below the best ratio
def test_optimum_equals_an_independent_one(aware, objective, data):
    """scipy on the paper's rows; the ratio by Dinkelbach's steps: that of the best `throughput - ratio * cost`."""
    parts = dense(data, aware)
    floor = np.where(np.isfinite(data.slo_s), data.steps / data.slo_s, 0)
    price = data.price[np.asarray(data.accelerator)]
    found = parts.best(np.einsum("mjc,j->c", parts.gained, 1 / price), floor)
    knobs = {"heterogeneity_aware": aware, "objective": objective}
    if found.status == 2:
        for run in (lambda: POLICY.run(data, knobs), lambda: allocate(data, knobs)):
            with pytest.raises(SloConflictError, match="SLOs of j"):
                run()
        return
    expected = -found.fun
    if objective == "ratio":
        gain = parts.throughput.sum(axis=0)
        expected = 0.0
        for _ in range(50):
            found = parts.best(gain - expected * parts.cost, floor)
            if found.fun >= -1e-9:
                break
            expected = gain @ found.x / (parts.cost @ found.x)
        else:
            raise AssertionError("each step ends higher")
        if not floor.any():
            expected = (gain / parts.cost).max()
    result = solve_all(POLICY, data, knobs, allocate, expected)
    assert (parts.throughput @ table(result, data).ravel() >= floor * (1 - 1e-6)).all()


@OBJECTIVES
@given(data=DATA)
def test_without_slos_it_is_minimum_cost(objective, data):
    free = dataclasses.replace(data, slo_s=np.full(len(data.jobs), HUGE))
    expected = MinCost().allocate(priced(data), {"objective": objective}).solved.objective
    assert allocate(free, {"objective": objective}).solved.objective == pytest.approx(expected, rel=1e-6)


@OBJECTIVES
@pytest.mark.parametrize("slo_s", [2e9, 1e12, 1e30])
def test_an_slo_of_next_to_nothing_is_met_and_costs_nothing(objective, slo_s):
    """Job 2 needs 1e-7 to 2e-28 steps/s, less than a solver's tolerance: at no cost, but it has them."""
    knobs = {"objective": objective}
    free = dataclasses.replace(PAPER, price=[1.0, 1.5])
    expected = MinCost().allocate(priced(free), knobs).solved.objective
    data = dataclasses.replace(free, slo_s=[HUGE, HUGE, slo_s])
    found = solve_all(POLICY, data, knobs, allocate, expected)
    for shares in (table(found, data), allocate(data, knobs).shares):
        assert data.throughput(shares)[2] >= 200 / slo_s * (1 - 1e-6)
    assert found.values["slo_dropped"] == {"job 2": 0}


def test_the_jobs_that_conflict_are_named_and_no_others():
    """One GPU; a needs 0.5, b 0.3, c 0.7, d 0.2: a and c conflict (b and c do not), and so do b, c and d."""
    data = one_type([0.5, 0.3, 0.7, 0.2])
    for run in (POLICY.run, allocate):
        with pytest.raises(SloConflictError, match="cannot all be met") as error:
            run(data, {})
        assert error.value.jobs in (("a", "c"), ("b", "c", "d"))
    pair = one_type([0.6, 0.1, 0.6])
    with pytest.raises(
        SloConflictError,
        match=r"SLOs of a, c: got deadlines that cannot all be met: a needs 0\.6, c needs 0\.6 steps/s",
    ):
        POLICY.run(pair, {})


def test_names_are_never_cut_off():
    """40 jobs that each need a 39th of a GPU: it takes all of them to conflict."""
    names = tuple(f"a job with a long name, number {i}" for i in range(40))
    ones = [1] * 40
    data = SloInstance(names, ("t",), [[1]] * 40, ones, ones, [1], price=[1], steps=ones, slo_s=[39.0] * 40)
    for run in (POLICY.run, allocate):
        with pytest.raises(SloConflictError) as error:
            run(data, {})
        assert error.value.jobs == names
        assert all(name in str(error.value) for name in names)
        assert error.value.as_json()["status"] == "infeasible"
        assert pickle.loads(pickle.dumps(error.value)).jobs == names


def can_all_be_met(data, rows):
    """By scipy."""
    floor = np.zeros(len(data.jobs))
    floor[list(rows)] = (data.steps / data.slo_s)[list(rows)]
    parts = dense(data)
    return parts.best(np.zeros(len(parts.cost)), floor).status == 0


def infeasible(seed):
    """A random instance whose SLOs cannot all be met, though each could alone; None if this one's can."""
    data = random_data(seed)
    data = dataclasses.replace(data, slo_s=data.slo_s / 3)
    data = data.without(hopeless(data))
    return None if can_all_be_met(data, np.flatnonzero(np.isfinite(data.slo_s))) else data


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.integers(0, 2**32 - 1).map(infeasible).filter(lambda data: data is not None))
def test_what_conflicts_is_irreducible_and_what_is_dropped_suffices(data):
    named = conflict(data).tolist()
    assert not can_all_be_met(data, named)
    for fewer in itertools.combinations(named, len(named) - 1):
        assert can_all_be_met(data, fewer)
    kept = np.isfinite(data.slo_s) & ~short(data)
    assert can_all_be_met(data, np.flatnonzero(kept))
    found, fast = POLICY.run(data, {"infeasible": "drop"}), allocate(data, {"infeasible": "drop"})
    dropped = found.values["slo_dropped"]
    assert any(dropped.values()) and dropped == data.given(fast.by_job["slo_dropped"])
    assert list(dropped) == [job for job, slo_s in zip(data.jobs, data.slo_s, strict=True) if slo_s < HUGE]
    assert found.objective == pytest.approx(fast.solved.objective, rel=1e-6)


def test_drop_leaves_out_what_falls_short():
    """Two GPUs for needs of 0.9, 0.9, 0.9: the least shortfall is 0.7 of one of them, or spread; two can be met."""
    data = one_type([0.9, 0.9, 0.9], capacity=2)
    found = POLICY.run(data, {"infeasible": "drop"})
    assert sum(found.values["slo_dropped"].values()) == 1
    everything = POLICY.run(data, {"infeasible": "drop_all"})
    assert sum(everything.values["slo_dropped"].values()) == 3
    assert found.objective == everything.objective == pytest.approx(2)


def test_missed_deadlines_are_named_or_dropped():
    """a is 5 s late, b needs 0.5: alone it can be met."""
    data = one_type([HUGE, 0.5])
    for run in (POLICY.run, allocate):
        with pytest.raises(SloConflictError, match="SLOs of a: got a missed its deadline 5 s ago; expected"):
            run(data, {})
    with pytest.raises(SloConflictError, match="SLOs of a: got a missed its deadline 5 s ago; expected"):
        POLICY.build(data, {})
    assert set(POLICY.build(data, {"infeasible": "drop"}).slo) == {"b"}
    assert POLICY.run(data, {"infeasible": "drop"}).values["slo_dropped"] == {"a": 1, "b": 0}
    assert POLICY.run(data, {"infeasible": "drop_all"}).values["slo_dropped"] == {"a": 1, "b": 1}
    now = dataclasses.replace(data, slo_s=[0.0, HUGE])
    assert POLICY.run(now, {"infeasible": "drop"}).values["slo_dropped"] == {"a": 1}


def test_an_slo_beyond_every_type_is_named():
    with pytest.raises(InfeasibleError, match="b needs 2 steps/s and does at most 1"):
        POLICY.run(one_type([0.5, 2]), {})
    data = dataclasses.replace(one_type([0.8]), gang=[4], capacity=[2])
    with pytest.raises(InfeasibleError, match=r"SLOs of a: got a deadline that cannot be met: a needs 0\.8 steps/s"):
        POLICY.run(data, {})


def test_the_deadline_is_the_last_one_with_a_reward():
    def job(rewards):
        return make({"n": ("t", 1)}, [{"rewards": rewards}]).jobs[0]

    assert job([[100, 5], [300, 2], [900, 0]]).deadline_s == 300
    assert job([[100, 0]]).deadline_s == np.inf
    assert job(None).deadline_s == np.inf


def with_prices(scenario):
    text = scenario.to_dict()
    for accelerator in text["cluster"]["accelerators"]:
        accelerator["price_per_hour"] = 1.0
    return type(scenario).from_dict(text)


def test_seconds_left_count_from_the_arrival():
    scenario = with_prices(make({"n": ("t", 1)}, [{"arrival_s": 50, "rewards": [[100, 1]]}, {}]))
    data = POLICY.data(look(scenario, now_s=120, left={"j0": 15}), {})
    assert dict(zip(data.jobs, data.slo_s.tolist(), strict=True)) == {"j0": 30, "j1": np.inf}
    assert dict(zip(data.jobs, data.floor.tolist(), strict=True)) == {"j0": 0.5, "j1": 0}


def test_late_jobs_do_not_stop_a_simulation():
    """One GPU, two jobs of 3600 s that are both due after 4000 s: one can make it, the other's SLO is dropped.

    `slo_dropped` is recorded with each computation of the shares. A third job arrives when the deadlines have passed.
    """
    jobs = [{"steps": 3600, "rewards": [[4000, 1]]}] * 2 + [{"steps": 360, "arrival_s": 5000}]
    scenario = with_prices(make({"n": ("t", 1)}, jobs))
    for model in ("assembly", "pyomo"):
        run = run_loop(scenario, find_scheduler(NAME), {"model": model})
        assert run.jobs["finish_s"].notna().all()
        assert (run.jobs["finish_s"].head(2) <= 4000).sum() == 1
        dropped = run.signals[run.signals["signal"] == "slo_dropped"]
        at_start = dropped[dropped["time_s"] == 0]
        assert at_start["value"].sum() == 1
        assert dropped.loc[dropped["time_s"] > 5000, "value"].max() == 1
    with pytest.raises(InfeasibleError, match="SLOs of j0, j1: got deadlines that cannot all be met: j0 needs"):
        run_loop(scenario, find_scheduler(NAME), {"infeasible": "raise"})


def test_the_scheduler_meets_deadlines_that_min_cost_misses():
    """Section 7.3: cheap GPUs miss tight SLOs. Here 1 step/s for 1 USD/h or 3 for 6; 3600 steps within 1800 s."""
    text = make(
        {"a": ("fast", 1), "b": ("slow", 1)}, [{"steps": 3600, "rewards": [[1800, 1]]}], {"fast": 3.0, "slow": 1.0}
    ).to_dict()
    for accelerator in text["cluster"]["accelerators"]:
        accelerator["price_per_hour"] = {"fast": 6.0, "slow": 1.0}[accelerator["name"]]
    scenario = type(make({"n": ("t", 1)}, [{}])).from_dict(text)
    cheap = run_loop(scenario, find_scheduler("gavel.min_cost"), {"leftovers": "none"})
    timely = run_loop(scenario, find_scheduler(NAME), {"leftovers": "none", "refresh_s": 360})
    assert cheap.jobs["finish_s"].item() == pytest.approx(3600)
    assert timely.jobs["finish_s"].item() <= 1800


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"steps": [1, 0]}, "job b, steps: got 0"),
        ({"slo_s": [np.nan, 1]}, "job a, slo_s: got nan"),
        ({"slo_s": [-np.inf, 1]}, "job a, slo_s: got -inf"),
        ({"slo_s": [1]}, "slo_s"),
        ({"price": [1, 0]}, "accelerator k80, price_per_hour: got 0"),
    ],
)
def test_bad_numbers_are_named(change, named):
    with pytest.raises(InputError, match=named):
        dataclasses.replace(TWO, **change)


def test_slos_are_checked_when_values_are_read():
    model = POLICY.build(with_slo(job2=100), {})
    model.slo.deactivate()
    solve_model(model)
    with pytest.raises(SolverFailedError, match="steps/s for job 2"):
        POLICY.read(model, with_slo(job2=100), {})
