"""`hops.round`: brute force on small rounds, both models and their matrices, both solvers, lambda's ends, bad input."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given

from tests.papers.hops.plan_support import SEEDS, best, best_ladder, best_pooled, random_round
from workbench.base.errors import InputError
from workbench.papers.hops.algorithms.aggregation import aggregate
from workbench.papers.hops.algorithms.gains import gain_of
from workbench.papers.hops.algorithms.round_plan import class_gains, form_of, make_plan
from workbench.papers.hops.formulations import round_assembly
from workbench.papers.hops.formulations.lexicographic import levels
from workbench.papers.hops.formulations.round import HopsRound
from workbench.papers.hops.instance import HopsInstance, JobConfigurations
from workbench.papers.hops.knobs import gap_of
from workbench.scheduling.solvers import Solver, SolverFailedError, TimeLimitError, solve_matrix, solve_model

HOPS = HopsRound()
BOTH = pytest.mark.parametrize("solver", ["highs", "glpk"])
FORMS = pytest.mark.parametrize("form", ["printed", "aggregated"])
POWERS = pytest.mark.parametrize("power", [0.0, 1.0, 2.0])

TWO = HopsInstance.of(
    {"a": 2, "b": 1},
    [
        JobConfigurations("x", 2.0, [({"a": 1}, 10.0)]),
        JobConfigurations("y", 1.5, [({"a": 1}, 10.0), ({"a": 2}, 29.0), ({"a": 2, "b": 1}, 30.0)]),
    ],
)


def knobs(power=1.0, form="printed", gap=0.0, **more):
    return HOPS.settle({"lambda": power, "form": form, "gap": gap, **more})


def fits(data, choices):
    used = dict.fromkeys(data.servers, 0)
    for gpus in choices.values():
        for server, count in (gpus or {}).items():
            used[server] += count
    return all(used[name] <= idle for name, idle in zip(data.servers, data.idle.tolist(), strict=True))


@BOTH
@FORMS
def test_the_two_job_round_by_hand(solver, form):
    """y on 2 GPUs of a counts 1.5 x 2.9 = 4.35, on three 4.5; with x on a (2 x 1) it could have one: 2 + 1.5 = 3.5."""
    found = HOPS.run(TWO, knobs(form=form), Solver(solver))
    assert (found.status, found.sense) == ("optimal", "max")
    assert found.objective == pytest.approx(4.5)
    assert found.bound == pytest.approx(4.5)
    assert found.values["choices"] == {"x": None, "y": {"a": 2, "b": 1}}
    assert found.values["gain"] == pytest.approx({"x": 0.0, "y": 3.0})
    assert found.values["idle_gpus"] == 0
    assert found.values["weight"] == pytest.approx({"x": 2.0, "y": 1.5})


@FORMS
def test_with_lambda_infinite_the_first_in_the_queue_comes_first(form):
    found = HOPS.run(TWO, knobs("inf", form))
    assert found.values["choices"] == {"x": {"a": 1}, "y": {"a": 1}}
    assert found.values["gains_by_class"] == pytest.approx([1.0, 1.0])
    assert found.objective is None
    assert [step["gain"] for step in found.iterations] == pytest.approx([1.0, 1.0])


@POWERS
@given(seed=SEEDS)
def test_the_printed_model_is_the_best_of_all_plans(power, seed):
    data = random_round(seed)
    expected = best(data, power)
    for solver in ("highs", "glpk"):
        found = HOPS.run(data, knobs(power), Solver(solver))
        assert found.objective == pytest.approx(expected, rel=1e-6)
        assert fits(data, found.values["choices"])
    matrix = make_plan(data, knobs(power))
    assert matrix.solved.objective == pytest.approx(expected, rel=1e-6)


@POWERS
@given(seed=SEEDS)
def test_the_aggregated_model_is_the_best_of_all_pooled_plans_and_never_below_the_printed_one(power, seed):
    """Whatever it finds fits on real servers (`checked`), with the pieces of each job where its shape says."""
    data = random_round(seed)
    expected = best_pooled(data, power)
    assert expected >= best(data, power) - 1e-9
    for solver in ("highs", "glpk"):
        found = HOPS.run(data, knobs(power, "aggregated"), Solver(solver))
        assert found.objective == pytest.approx(expected, rel=1e-6)
        assert found.values["form"] == "aggregated"
        assert fits(data, found.values["choices"])
    matrix = make_plan(data, knobs(power, "aggregated"))
    assert matrix.solved.objective == pytest.approx(expected, rel=1e-6)


def test_without_neighbours_the_aggregated_model_finds_more():
    """Three servers of 8, two jobs of 12. Windows fill servers from their start, so that two of them always clash."""
    servers, both = {"a": 8, "b": 8, "c": 8}, [({"a": 8, "b": 4}, 1.0), ({"b": 8, "c": 4}, 1.0)]
    data = HopsInstance.of(servers, [JobConfigurations("x", 1.0, both), JobConfigurations("y", 1.0, both)], [0, 0, 0])
    assert HOPS.run(data, knobs()).objective == pytest.approx(1.0)
    found = HOPS.run(data, knobs(form="aggregated"))
    assert found.objective == pytest.approx(2.0)
    assert sorted(sorted(gpus.values()) for gpus in found.values["choices"].values()) == [[4, 8], [4, 8]]


@FORMS
@given(seed=SEEDS)
def test_lambda_zero_maximises_the_gain(form, seed):
    data = random_round(seed)
    found = HOPS.run(data, knobs(0.0, form))
    assert found.objective == pytest.approx(sum(found.values["gain"].values()))
    expected = (best if form == "printed" else best_pooled)(data, 0.0)
    assert sum(found.values["gain"].values()) == pytest.approx(expected, rel=1e-6)


@given(seed=SEEDS)
def test_with_lambda_infinite_no_lower_class_displaces_a_higher_one(seed):
    """The gains by class are the largest of all plans in lexicographic order, by the model and by its matrix."""
    data = random_round(seed)
    expected = best_ladder(data)
    for solver in ("highs", "glpk"):
        found = HOPS.run(data, knobs("inf"), Solver(solver))
        assert found.values["gains_by_class"] == pytest.approx(expected, abs=1e-5)
        assert fits(data, found.values["choices"])
    planned = make_plan(data, knobs("inf"))
    assert class_gains(data, gain_of(data, planned.plan)) == pytest.approx(expected, abs=1e-5)


@given(seed=SEEDS)
def test_a_large_lambda_does_what_an_infinite_one_does(seed):
    """Weights of 3.01, 1.51, 1.01 and 0.01 to the 40th lie tiers apart; nobody is lost to rounding."""
    data = random_round(seed)
    expected = best_ladder(data)
    for tier in levels(data, 40.0):
        assert tier.weight[tier.rows] * tier.scale == pytest.approx(data.weights(40.0).plain[tier.rows])
    for form in ("printed", "aggregated"):
        found, planned = HOPS.run(data, knobs(40.0, form)), make_plan(data, knobs(40.0, form))
        assert found.objective == pytest.approx(planned.solved.objective, rel=1e-5)
        assert found.bound is None or found.bound >= found.objective * (1 - 1e-6)
        if form == "printed":
            for plan in (found.values["gain"].values(), gain_of(data, planned.plan).tolist()):
                gain = np.array(list(plan))
                assert class_gains(data, gain) == pytest.approx(expected, abs=1e-4)


@given(seed=SEEDS)
def test_the_matrix_serves_the_classes_of_interchangeable_servers_as_the_model_does(seed):
    data = random_round(seed)
    found = HOPS.run(data, knobs("inf", "aggregated"))
    planned = make_plan(data, knobs("inf", "aggregated"))
    assert class_gains(data, gain_of(data, planned.plan)) == pytest.approx(found.values["gains_by_class"], abs=1e-5)


def test_with_lambda_infinite_choices_that_are_settled_against_leave_the_programme(monkeypatch):
    sizes = []

    def noted(programme, solver):
        sizes.append(programme.matrix.shape[1])
        return solve_matrix(programme, solver)

    monkeypatch.setattr(round_assembly, "solve_matrix", noted)
    one, two, three = ({"a": gpus} for gpus in (1, 2, 3))
    jobs = [
        JobConfigurations(name, left, [(one, 10.0), (two, 21.0), (three, 32.0)]) for name, left in (("x", 2), ("y", 1))
    ]
    assert make_plan(HopsInstance.of({"a": 4}, jobs), knobs("inf")).plan.keys() == {0, 1}
    assert sizes == [6, 4]  # two of x are settled against before y is served
    found = [
        class_gains(data, gain_of(data, make_plan(data, knobs("inf")).plan)) for data in map(random_round, range(9))
    ]
    shrunk = len(sizes)
    monkeypatch.setattr(
        round_assembly._Ladder,
        "solve",
        lambda self, block, solver: noted(dataclasses.replace(self.programme, cost=self._gain(block)), solver),
    )
    for seed, left_out in enumerate(found):  # the same classes' gains with all columns
        data = random_round(seed)
        whole = class_gains(data, gain_of(data, make_plan(data, knobs("inf")).plan))
        assert left_out == pytest.approx(whole, abs=1e-5)
    assert sum(sizes[2:shrunk]) < sum(sizes[shrunk:])


@given(seed=SEEDS)
def test_a_start_from_the_last_plan_changes_no_optimum_and_keeps_who_can_stay(seed):
    data = random_round(seed)
    for form in ("printed", "aggregated"):
        first = make_plan(data, knobs(form=form))
        layouts = {row: placed.layout for row, placed in first.plan.items()}
        again = make_plan(data, knobs(form=form), previous=layouts)
        assert again.solved.objective == pytest.approx(first.solved.objective, rel=1e-6)


def test_a_job_stays_on_its_server_if_its_shape_stays():
    on = [({name: 2}, 5.0) for name in ("a", "b", "c")]
    data = HopsInstance.of(
        {"a": 2, "b": 2, "c": 2}, [JobConfigurations("x", 1.0, on), JobConfigurations("y", 2.0, on)], [0, 0, 0]
    )
    planned = make_plan(data, knobs(form="aggregated"), previous={0: ((2, 2),), 1: ((1, 2),)})
    assert {row: placed.layout for row, placed in planned.plan.items()} == {0: ((2, 2),), 1: ((1, 2),)}


@FORMS
def test_equal_and_negative_priorities_and_one_huge_job(form):
    on = {"a": 4}
    equal = HopsInstance.of(
        on, [JobConfigurations("x", 0.0, [({"a": 4}, 1.0)]), JobConfigurations("y", 0.0, [({"a": 4}, 1.0)])]
    )
    assert HOPS.run(equal, knobs(form=form)).objective == pytest.approx(0.01)
    negative = HopsInstance.of(
        on, [JobConfigurations("x", -3.0, [({"a": 4}, 1.0)]), JobConfigurations("y", -1.0, [({"a": 4}, 1.0)])]
    )
    assert HOPS.run(negative, knobs(form=form)).values["choices"] == {"x": None, "y": {"a": 4}}
    assert HOPS.run(negative, knobs(form=form)).objective == pytest.approx(2.01)
    huge = HopsInstance.of(on, [JobConfigurations("x", 1.0, [({"a": 9}, 5.0), ({"a": 3}, 2.0)])])
    found = HOPS.run(huge, knobs(form=form))
    assert found.values["choices"] == {"x": {"a": 3}}
    none = HopsInstance.of(on, [JobConfigurations("x", 1.0, [({"a": 9}, 5.0)])])
    assert HOPS.run(none, knobs(form=form)).values["choices"] == {"x": None}


@pytest.mark.parametrize("power", [1.0, "inf"])
def test_no_jobs_no_configurations_and_no_idle_gpus_need_no_luck(power):
    nobody = HopsInstance.of({"a": 4}, [])
    unheard = Solver("no such solver")  # type: ignore[arg-type]
    found = HOPS.run(nobody, knobs(power), unheard)
    assert (found.status, found.values["choices"], found.solver) == ("optimal", {}, "none needed")
    assert make_plan(nobody, knobs(power), unheard).plan == {}
    nothing = HopsInstance.of({"a": 4}, [JobConfigurations("x", 1.0, [])])
    assert HOPS.run(nothing, knobs(power), unheard).values["choices"] == {"x": None}
    busy = HopsInstance.of({"a": 0}, [JobConfigurations("x", 1.0, [({"a": 1}, 1.0)])])
    for form in ("printed", "aggregated"):
        assert HOPS.run(busy, knobs(power, form)).values["choices"] == {"x": None}
        assert make_plan(busy, knobs(power, form)).plan == {}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"priority": [math.nan, 1.0]}, "x, priority: got nan"),
        ({"priority": [1.0, math.inf]}, "y, priority: got inf"),
        ({"idle": [-1, 1]}, "a, idle GPUs: got -1"),
        ({"idle": [0.5, 1]}, "whole numbers"),
        ({"idle": [1]}, "an array of shape"),
        ({"throughput": [10.0, 10.0, 0.0, 30.0]}, "y, throughput: got 0.0"),
        ({"throughput": [math.nan, 10.0, 29.0, 30.0]}, "x, throughput: got nan"),
        ({"jobs": ("x", "x")}, "names that differ"),
        ({"layouts": (((0, 0),),) * 3}, "numbers of GPUs from 1"),
        ({"layouts": (((7, 1),),) * 3}, "different servers"),
        ({"job": [1, 0, 0, 0]}, "rising order"),
        ({"layout": [0, 0, 9, 1]}, "positions of layouts"),
    ],
)
def test_bad_numbers_are_named(change, named):
    with pytest.raises(InputError, match=named):
        dataclasses.replace(TWO, **change)


def test_an_unknown_server_and_unlike_servers_of_a_pool_are_named():
    with pytest.raises(InputError, match="x, configuration: got 'z'; expected one of the servers a"):
        HopsInstance.of({"a": 1}, [JobConfigurations("x", 1.0, [({"z": 1}, 1.0)])])
    unlike = [({"a": 1}, 1.0), ({"b": 1}, 2.0)]
    with pytest.raises(InputError, match="as on the other servers of the pool"):
        HopsInstance.of({"a": 1, "b": 1}, [JobConfigurations("x", 1.0, unlike)], [0, 0])


def test_of_a_configuration_listed_twice_the_faster_counts_and_both_count_for_the_smallest():
    twice = HopsInstance.of({"a": 1}, [JobConfigurations("x", 2.0, [({"a": 1}, 1.0), ({"a": 1}, 3.0)])])
    for form in ("printed", "aggregated"):
        assert HOPS.run(twice, knobs(form=form)).objective == pytest.approx(6.0)


@pytest.mark.parametrize("given_", [{"lambda": -1}, {"lambda": math.nan}, {"gap": -0.1}, {"gap": 2}, {"form": "both"}])
def test_knobs_out_of_range_are_refused(given_):
    with pytest.raises(InputError):
        HOPS.settle(given_)


def test_the_gap_is_below_one_and_wider_for_large_clusters():
    with pytest.raises(InputError, match="below 1"):
        HOPS.run(TWO, knobs(gap=1.0))
    assert [gap_of({}, gpus) for gpus in (1000, 1001)] == [0.01, 0.05]
    assert gap_of({"gap": 0.0}, 2000) == 0.0


def test_a_power_that_no_number_holds_is_refused_before_solving():
    with pytest.raises(InputError, match="knob lambda: got 2000"):
        HOPS.run(TWO, knobs(2000.0))


def test_out_of_time_without_a_plan_is_an_error_of_its_own():
    with pytest.raises(TimeLimitError):
        make_plan(random_round(3), knobs("inf"), Solver(time_limit_s=0.0))


def test_a_student_may_add_a_constraint():
    model = HOPS.build(TWO, knobs())
    model.choose["y", 3].fix(0)
    solve_model(model)
    found = HOPS.read(model, TWO, knobs())
    assert found.values["choices"]["y"] == {"a": 2}
    assert found.objective == pytest.approx(4.35)


def test_limits_are_checked_when_values_are_read():
    model = HOPS.build(TWO, knobs())
    model.capacity.deactivate()
    solve_model(model)
    with pytest.raises(SolverFailedError, match="3 GPUs of a"):
        HOPS.read(model, TWO, knobs())


def test_auto_takes_the_printed_model_for_few_configurations():
    assert form_of(TWO, {"form": "auto"}) == "printed"
    many = [({f"s{i}": 1}, 1.0) for i in range(101)]
    data = HopsInstance.of(
        {f"s{i}": 1 for i in range(101)}, [JobConfigurations(name, 1.0, many) for name in "xyz"], [0] * 101
    )
    assert form_of(data, {"form": "auto"}) == "aggregated"
    assert HOPS.run(data, knobs(form="auto")).values["form"] == "aggregated"


def test_servers_that_can_be_cut_in_too_many_ways_are_not_aggregated():
    sizes = [({"s": size}, float(size)) for size in range(1, 65)]
    data = HopsInstance.of({"s": 64}, [JobConfigurations(f"j{i}", 1.0, sizes) for i in range(6)])
    assert form_of(data, {"form": "auto"}) == "printed"
    with pytest.raises(InputError, match="ways to cut"):
        aggregate(data)


@pytest.mark.parametrize(
    ("name", "changed"),
    [("round", {}), ("aggregated", {"form": "aggregated"}), ("lexicographic", {"lambda": "inf"})],
)
def test_golden_models_of_two_jobs(name, changed, same_as_golden):
    """Every row and bound of the two-job round, compared by meaning."""
    model = HOPS.build(TWO, {**knobs(), **HOPS.settle(changed)})
    same_as_golden(model, f"{name}_two_jobs.lp")


@given(seed=SEEDS)
def test_units_of_throughput_do_not_matter(seed):
    data = random_round(seed)
    scale = np.linspace(1.0, 50.0, max(len(data.jobs), 1))[data.job]
    other = dataclasses.replace(data, throughput=data.throughput * scale)
    assert HOPS.run(other, knobs()).objective == pytest.approx(HOPS.run(data, knobs()).objective, rel=1e-6)
