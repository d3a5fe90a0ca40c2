"""Minimum cost: both objectives by hand, independent optima, both solvers, the matrix, the golden models."""

import dataclasses

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from tests.baselines.mechanisms.support import look, make
from tests.papers.gavel.support import DATA, PAPER, TWO, by_assembly, dense, equal_share, priced, solve_all, table
from workbench.base.errors import InputError
from workbench.papers.gavel.formulations.min_cost import NAME, MinCost, PricedInstance, build_ratio
from workbench.scheduling import notation
from workbench.scheduling.solvers import solve_model
from workbench.session.registry import find_scheduler

POLICY = MinCost()
allocate = by_assembly(POLICY)
AWARE = pytest.mark.parametrize("aware", [True, False])


def test_throughput_per_dollar_by_hand():
    """V100 2 USD/h, K80 0.5 USD/h: steps per dollar (2, 2), (1.5, 2), (1, 2), so one job on each.

    Job 0 on the V100 (2) and another on the K80 (2): 4, for 2.5 USD/h.
    """
    found = solve_all(POLICY, priced(PAPER), {}, allocate, 4)
    assert found.values["allocation"]["job 0"]["v100"] == pytest.approx(1)
    assert found.values["cost_usd_per_h"] == pytest.approx(2.5)
    assert found.unit == "steps/s per USD/h"


def test_the_ratio_by_hand():
    """Job 0 earns 2 on either type, the others 2 on the K80: the best ratio is 2; with the largest throughput both run.

    Job 0 on the V100 (4 steps/s, 2 USD/h), anybody on the K80 (1 step/s, 0.5 USD/h): 5 / 2.5.
    """
    found = solve_all(POLICY, priced(PAPER), {"objective": "ratio"}, allocate, 2)
    assert found.values["allocation"]["job 0"]["v100"] == pytest.approx(1)
    assert table(found, PAPER).sum(axis=0) == pytest.approx([1, 1])
    assert found.values["cost_usd_per_h"] == pytest.approx(2.5)


def test_the_ratio_starves_every_job_but_the_cheapest():
    """Ratios 2 and 1.9 steps/s per USD/h: the second job would lower the ratio, so it gets nothing at all."""
    data = PricedInstance(("a", "b"), ("t",), [[2], [1.9]], [1, 1], [1, 1], [4], price=[1])
    knobs = {"objective": "ratio"}
    assert table(solve_all(POLICY, data, knobs, allocate, 2), data).ravel() == pytest.approx([1, 0])
    assert allocate(data, knobs).shares.ravel() == pytest.approx([1, 0])
    assert table(POLICY.run(data, {}), data).ravel() == pytest.approx([1, 1])


def test_cost_carries_the_scale_factor():
    """a does 6 steps/s on 4 GPUs, b 2 on one, at 1 USD/h each: ratios 1.5 and 2. Without z, a would look better."""
    data = PricedInstance(("a", "b"), ("t",), [[6], [2]], [1, 1], [4, 1], [5], price=[1])
    found = solve_all(POLICY, data, {"objective": "ratio"}, allocate, 2)
    assert table(found, data).ravel() == pytest.approx([0, 1])
    assert data.cost(np.array([[1.0], [0.5]])) == 4.5


def test_a_pairs_cost_counts_once():
    """a and b do 3 steps/s alone, 2 each together on one GPU of 1 USD/h: 4 steps per dollar and not 2."""
    data = PricedInstance(
        ("a", "b"), ("t",), [[3], [3]], [1, 1], [1, 1], [1], price=[1], pairs=[[0, 1]], pair_speed=[[[2], [2]]]
    )
    for objective in ("ratio", "throughput_per_dollar"):
        found = solve_all(POLICY, data, {"objective": objective}, allocate, 4)
        assert found.values["allocation"]["a + b"]["t"] == pytest.approx(1)
        assert found.values["cost_usd_per_h"] == pytest.approx(1)


@AWARE
@given(data=DATA, normalised=st.booleans())
def test_throughput_per_dollar_equals_an_independent_optimum(aware, data, normalised):
    parts = dense(data, aware)
    value = 1 / equal_share(data, aware) if normalised else np.ones(len(data.jobs))
    price = data.price[np.asarray(data.accelerator)]
    expected = -parts.best(np.einsum("m,mjc,j->c", value, parts.gained, 1 / price)).fun
    solve_all(POLICY, priced(data), {"heterogeneity_aware": aware, "normalised": normalised}, allocate, expected)


@AWARE
@given(data=DATA, normalised=st.booleans())
def test_the_ratio_is_that_of_the_best_single_entry_and_its_throughput_the_largest(aware, data, normalised):
    """A ratio of sums is at most the best of the ratios; with only the best entries, throughput is a programme."""
    parts = dense(data, aware)
    value = 1 / equal_share(data, aware) if normalised else np.ones(len(data.jobs))
    gain = value @ parts.throughput
    each = gain / parts.cost
    best = each.max()
    knobs = {"heterogeneity_aware": aware, "normalised": normalised, "objective": "ratio"}
    found = solve_all(POLICY, priced(data), knobs, allocate, best)
    open_to = [(0, high if one >= best * (1 - 1e-9) else 0) for one, (_, high) in zip(each, parts.bounds, strict=True)]
    most = pytest.approx(-parts.best(gain, bounds=open_to).fun, rel=1e-5)
    assert gain @ table(found, data).ravel() == most
    assert gain @ allocate(priced(data), knobs).shares.ravel() == most


@given(data=DATA, factor=st.floats(0.01, 100))
def test_the_currency_does_not_matter(data, factor):
    other = dataclasses.replace(priced(data), price=data.price * factor)
    for objective in ("ratio", "throughput_per_dollar"):
        knobs = {"objective": objective}
        expected = allocate(priced(data), knobs).solved.objective / factor
        assert allocate(other, knobs).solved.objective == pytest.approx(expected, rel=1e-6)


@given(data=DATA)
def test_equal_prices_make_it_maximum_throughput(data):
    flat = dataclasses.replace(priced(data), price=np.full(len(data.price), 2.0))
    parts = dense(flat)
    most = -parts.best(parts.throughput.sum(axis=0)).fun
    assert allocate(flat, {}).solved.objective == pytest.approx(most / 2, rel=1e-6)


def test_a_missing_price_is_named():
    scenario = make({"n": ("t", 1)}, [{}])
    with pytest.raises(InputError, match="accelerator t, price_per_hour: got None; expected a price > 0"):
        POLICY.data(look(scenario), {})


def test_the_page_of_the_ratio_says_what_its_model_says():
    """The contract test looks at the default knobs only."""
    model = POLICY.build(priced(TWO), {"objective": "ratio"})
    assert {line.part: line.tag for line in notation.equations(build_ratio)} == notation.tags(model)
    assert all(notation.to_tex(line.formula) for line in notation.equations(build_ratio))


def test_a_student_may_add_a_constraint():
    """At most 0.4 USD/h: the K80 for 0.8 of the time, 2 steps/s per USD/h."""
    model = POLICY.build(priced(PAPER), {})
    spent = sum(model.price[kind] * model.share[unit, kind] for unit, kind in model.share)
    model.budget = pyo.Constraint(expr=spent <= 0.4)
    solve_model(model)
    found = POLICY.read(model, priced(PAPER), {})
    assert found.values["cost_usd_per_h"] <= 0.4 + 1e-9
    assert found.objective == pytest.approx(1.6)


@pytest.mark.parametrize("objective", ["ratio", "throughput_per_dollar"])
def test_the_scheduler_takes_prices_from_the_cluster(objective):
    """1 step/s for 1 USD/h against 3 for 6: one GPU of each, one job; per dollar the slow one is the better."""
    scenario = make({"a": ("fast", 1), "b": ("slow", 1)}, [{}], {"fast": 3.0, "slow": 1.0})
    text = scenario.to_dict()
    for accelerator in text["cluster"]["accelerators"]:
        accelerator["price_per_hour"] = {"fast": 6.0, "slow": 1.0}[accelerator["name"]]
    scheduler = find_scheduler("gavel.min_cost")
    for model in ("assembly", "pyomo"):
        knobs = scheduler.settle({"model": model, "objective": objective})
        found = scheduler.policy(look(type(scenario).from_dict(text)), knobs, None)
        assert found.shares.values.tolist() == [pytest.approx([0, 1])]


def test_gpus_that_cost_too_much_stay_idle_in_a_simulation():
    """By the ratio a dollar buys 1 / 0.45 = 2.2 steps/s on the K80 and at most 4 / 2.48 = 1.6 on the V100.

    So the three jobs run on the K80, one after the other: two hours' steps each, of 4, 3 and 2 times its speed, 18 h
    at 0.45 USD/h. Whoever fills the V100 pays more.
    """
    scenario = workbench.preset("gavel_example")
    run = workbench.simulate(scenario, NAME, objective="ratio")
    assert run.knobs["leftovers"] == "none"
    assert workbench.summary(run)["makespan_s"] == pytest.approx(18 * 3600)
    assert workbench.summary(run)["cost_usd"] == pytest.approx(18 * 0.45)
    filled = workbench.simulate(scenario, NAME, objective="ratio", leftovers="all")
    assert workbench.summary(filled)["cost_usd"] > 1.5 * 18 * 0.45
    assert find_scheduler(NAME).settle({"preset": "authors"})["leftovers"] == "known"
    assert find_scheduler("gavel.max_throughput").settle({})["leftovers"] == "all"


def test_units_of_throughput_per_dollar():
    for normalised, unit in ((False, "steps/s per USD/h"), (True, "h/USD")):
        assert POLICY.run(PAPER, {"normalised": normalised}).unit == unit


def test_no_share_is_minus_0():
    found = workbench.solve("preset:gavel_example", NAME)
    assert not np.signbit(table(found, PAPER)).any()
    assert not np.signbit(list(found.values["normalized_throughput"].values())).any()
