"""`hadar.round`: by hand, both solvers, the golden model, its numbers from a snapshot, bad input."""

import numpy as np
import pytest

from tests.baselines.mechanisms.support import look, make, on
from workbench.base.errors import InputError
from workbench.papers.hadar.algorithms import selection
from workbench.papers.hadar.formulations.round import HadarRound, RoundInstance, build
from workbench.scenario.presets import preset
from workbench.scenario.scenario import ScenarioError
from workbench.scheduling.solvers import Solver, SolverFailedError, solve_model
from workbench.session.api import solve

ROUND = HadarRound()
TWO = RoundInstance.of([1, 2], [[((1, 1), 5.0), ((0, 2), 4.0)], [((0, 1), 3.0), ((1, 0), 1.0)]])
"""Both first options together need two GPUs of type 1: 5 + 3 = 8."""
ODD = RoundInstance.of([3], [[((2,), 3.0)], [((2,), 3.0)]])
"""One of two gangs of 2 on 3 GPUs; in parts one and a half."""


@pytest.mark.parametrize("name", ["highs", "glpk"])
@pytest.mark.parametrize(("data", "whole", "parts"), [(TWO, 8.0, 8.0), (ODD, 3.0, 4.5)])
def test_optimum_by_hand(name, data, whole, parts):
    found = ROUND.run(data, {"relaxed": False}, Solver(name))
    assert found.status == "optimal" and found.objective == pytest.approx(whole)
    assert ROUND.run(data, {"relaxed": True}, Solver(name)).objective == pytest.approx(parts)


def test_values():
    values = ROUND.run(TWO, {"relaxed": False}).values
    assert values["choices"] == {"job 0": {"type 0": 1, "type 1": 1}, "job 1": {"type 1": 1}}
    assert values["option"] == {"job 0": 0, "job 1": 0}
    assert values["payoff"] == {"job 0": 5.0, "job 1": 3.0}


@pytest.mark.parametrize("data", [RoundInstance.of([2], []), RoundInstance.of([2], [[], []]), RoundInstance.of([], [])])
def test_nobody_to_choose(data):
    found = ROUND.run(data, {"relaxed": False})
    assert found.status == "optimal" and found.objective == 0
    assert not any(found.values["choices"].values())


def test_an_option_that_does_not_fit_is_not_chosen():
    found = ROUND.run(RoundInstance.of([1], [[((2,), 9.0), ((1,), 1.0)]]), {"relaxed": False})
    assert found.objective == pytest.approx(1.0)


@pytest.mark.parametrize("relaxed", [False, True])
def test_golden_model_of_two_jobs(relaxed, same_as_golden):
    same_as_golden(build(TWO, relaxed), f"round_two_jobs{'_relaxed' if relaxed else ''}.lp")


def test_values_that_break_a_limit_are_refused():
    model = build(ODD)
    solve_model(model)
    for variable in model.choose.values():
        variable.set_value(1)
    with pytest.raises(SolverFailedError, match=r"GPUs of .*; expected at most|options of .*; expected at most 1"):
        ROUND.read(model, ODD, {"relaxed": False})


@pytest.mark.parametrize(
    ("capacity", "options", "said"),
    [
        ([-1], [], "type 0, capacity"),
        ([1.5], [], "type 0, capacity"),
        ([1], [[((-1,), 1.0)]], "job 0, option 0, gpus"),
        ([1], [[((1,), 1.0), ((1,), np.nan)]], "job 0, option 1, payoff"),
        ([1], [[((1, 1), 1.0)]], "one for each type"),
    ],
)
def test_bad_numbers_name_job_and_option(capacity, options, said):
    with pytest.raises(InputError, match=said):
        RoundInstance.of(capacity, options)


def test_positions_of_jobs_must_rise():
    with pytest.raises(InputError, match="rising positions"):
        RoundInstance(("t",), [1], ("a", "b"), [1, 0], [[1], [1]], [1.0, 1.0])


def test_the_papers_example():
    """J1 and J2 mix types or share one, J3 finds one GPU too few: 5 of the 6 GPUs are held by gangs of 3 and 2."""
    found = solve(preset("hadar_example"), "hadar.round")
    assert found.values["choices"]["J2"] == {"p100": 2}
    assert sum(found.values["choices"]["J1"].values()) == 3
    assert found.values["choices"]["J3"] is None
    assert found.values["initial_dual"] <= found.values["optimum_lower"] / 2 * (1 + 1e-9)


def test_numbers_from_a_snapshot_by_hand():
    """One job of 2 GPUs on 2 fast or 2 slow ones, 1 round or 2; U = 720 / 1 or / 2. One fast GPU is held."""
    scenario = make({"f": ("fast", 2), "s": ("slow", 2)}, [{"gpus": 2, "steps": 720}, {}], {"fast": 1.0, "slow": 0.5})
    knobs = ROUND.settle({"mixed_types": False, "utility": "effective_throughput"})
    data = ROUND.data(look(scenario, leases=[on("j1", f=1)]), knobs)
    assert data.jobs == ("j0",) and data.capacity.tolist() == [1, 2]
    assert data.gpus.tolist() == [[0, 2]]
    # tmin 1, tmax 2, T = 2 + ceil-ed 720 x 2 / (2 x 2 + 2 x 1) / 360 = 3 slots: B = (720 / 3) / (2 x 2) = 60,
    # OPT_lower = 240.
    assert data.prices["eta"] == pytest.approx(3 * (4 * 60) / (2 * 240))
    low, high = 60 / (4 * 1.5), 720 / 2
    assert data.prices["lowest_price"] == {"fast": pytest.approx(low), "slow": pytest.approx(low)}
    assert data.prices["price"]["fast"] == pytest.approx(low * (high / low) ** 0.5)
    assert data.payoff.tolist() == pytest.approx([360 - 2 * 2 * low])


def test_a_mixed_gang_runs_at_the_speed_of_its_slowest_type():
    scenario = make({"f": ("fast", 1), "s": ("slow", 1)}, [{"gpus": 2, "steps": 720}], {"fast": 1.0, "slow": 0.5})
    data = ROUND.data(look(scenario), ROUND.settle({"communication_cost": 0.0, "utility": "effective_throughput"}))
    assert data.gpus.tolist() == [[1, 1]]
    price = data.prices["price"]
    assert data.payoff.tolist() == pytest.approx([360 - 2 * (price["fast"] + price["slow"])])


def test_one_round_prices_only_this_round():
    scenario = make({"a": ("t", 1)}, [{"steps": 3600}])
    several, one = (
        ROUND.data(look(scenario), ROUND.settle({"payoff": each, "utility": "effective_throughput"}))
        for each in ("remaining_rounds", "one_round")
    )
    price = several.prices["price"]["t"]
    assert several.payoff[0] == pytest.approx(360 - 10 * price)
    assert one.payoff[0] == pytest.approx(360 - price)


def test_a_gang_larger_than_the_cluster_and_a_job_without_a_speed_are_refused():
    with pytest.raises(ScenarioError, match="can run nowhere"):
        solve(make({"a": ("t", 2)}, [{"gpus": 3}]), "hadar.round")
    with pytest.raises(ScenarioError, match="can run nowhere"):
        solve(make({"a": ("t", 2)}, [{}], {"t": 0.0}), "hadar.round")


def test_the_methods_agree_on_random_rounds():
    rng = np.random.default_rng(7)
    for _ in range(5):
        options = [[(rng.integers(1, 3, 2).tolist(), float(rng.uniform(1, 9))) for _ in range(3)] for _ in range(6)]
        data = RoundInstance.of([4, 5], options)
        whole, by_states = ROUND.run(data, {"relaxed": False}).objective, selection.exact(data.problem).objective
        relaxed = selection.relaxed(data.problem)
        linear, made_whole = relaxed.bound, relaxed.objective
        assert whole == pytest.approx(by_states, rel=1e-6) and made_whole <= by_states + 1e-9 <= linear + 1e-6
