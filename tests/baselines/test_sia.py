"""Sia: its programme against brute force and its matrix twin, by hand, and what the scheduler makes of it."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

import workbench
from tests.baselines.mechanisms.support import given as placed
from tests.baselines.mechanisms.support import look, make, on
from workbench.base.errors import InputError
from workbench.baselines import sia
from workbench.baselines.sia import Sia, SiaInstance, SiaScheduler, build, choose, objective, restart_factor
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Decision
from workbench.scheduling.solvers import Solver, SolverFailedError, solve_model
from workbench.session.api import snapshot_at

PROBLEM = Sia()
KNOBS = PROBLEM.settle({})
Row = tuple[int, int, int, float, float]


def data(rows: list[Row], capacity: list[int], jobs: int, start: list[float] | None = None) -> SiaInstance:
    """Rows: (job, type, GPUs, steps/s, restart factor)."""
    columns: list[Any] = list(zip(*rows, strict=True)) if rows else [()] * 5  # also bad ones, which SiaInstance refuses
    names = tuple(f"j{i}" for i in range(jobs)), tuple(f"t{i}" for i in range(len(capacity)))
    return SiaInstance(*names, *columns, np.array(capacity), np.array([1.0] * jobs if start is None else start))


TWO = data([(0, 0, 1, 2.0, 1.0), (0, 0, 2, 3.6, 0.9), (0, 1, 1, 0.9, 0.9), (1, 0, 1, 1.0, 1.0)], [2, 1], 2)
"""Two jobs: one that runs on one GPU of t0 now, and a new one."""


def least_by_brute_force(problem: SiaInstance, power: float, idle_cost: float) -> float:
    """The least cost over all ways to give each job one of its configurations, or none."""
    speeds: list[list[float]] = [[] for _ in problem.jobs]
    options: list[list[tuple[float, int, int]]] = [[(idle_cost, 0, 0)] for _ in problem.jobs]
    for row, speed in zip(problem.job.tolist(), problem.speed.tolist(), strict=True):
        speeds[row].append(speed)
    columns = (problem.job, problem.kind, problem.gpus, problem.speed, problem.factor)
    for row, kind, gpus, speed, factor in zip(*(column.tolist() for column in columns), strict=True):
        gain = factor * float(problem.start[row]) * speed / min(speeds[row])
        if gain > 0 or power > 0:
            options[row].append((-math.copysign(1.0, power) * gain**power, kind, gpus))
    best = math.inf
    for chosen in itertools.product(*options):
        used = [sum(gpus for _, kind, gpus in chosen if kind == j) for j in range(len(problem.types))]
        if all(count <= most for count, most in zip(used, problem.capacity.tolist(), strict=True)):
            best = min(best, sum(cost for cost, _, _ in chosen))
    return best


@st.composite
def problems(draw: st.DrawFn) -> SiaInstance:
    jobs, types = draw(st.integers(0, 4)), draw(st.integers(1, 2))
    rows = [
        (i, j, n, draw(st.sampled_from([0.3, 1.0, 1.7, 4.0])), draw(st.sampled_from([0.0, 0.3, 0.9, 1.0])))
        for i in range(jobs)
        for j in range(types)
        for n in draw(st.sets(st.integers(1, 4), max_size=3))
    ]
    start = [draw(st.sampled_from([1.0, 1.0, 3.0])) for _ in range(jobs)]
    return data(rows, [draw(st.integers(0, 5)) for _ in range(types)], jobs, start)


@given(problems(), st.sampled_from([-1.0, -0.5, 0.5, 1.0]), st.sampled_from([0.0, 0.7, 1.1]))
def test_model_and_twin_find_the_optimum_of_brute_force(problem: SiaInstance, power: float, idle_cost: float) -> None:
    least = least_by_brute_force(problem, power, idle_cost)
    chosen, solved = choose(problem, power, idle_cost)
    assert objective(problem, chosen, power, idle_cost) == approx(least, abs=1e-9)
    assert solved.status == "optimal" and solved.objective == approx(least, abs=1e-6)
    found = PROBLEM.run(problem, {**KNOBS, "p": power, "lambda_n": idle_cost})
    assert found.objective == approx(least, abs=1e-9)


@settings(max_examples=10)
@given(problems())
def test_both_solvers_agree(problem: SiaInstance) -> None:
    found = [PROBLEM.run(problem, KNOBS, Solver(name)).objective for name in ("highs", "glpk")]
    assert found[0] == approx(found[1], abs=1e-9)
    twins = [objective(problem, choose(problem, -0.5, 1.1, Solver(name))[0], -0.5, 1.1) for name in ("highs", "glpk")]
    assert twins == approx([found[0], found[0]], abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_twin_is_the_model_where_gpus_are_short(seed: int) -> None:
    """30 jobs on 40 GPUs of three types: more than can be tried out, and the relaxed programme is off."""
    rng = np.random.default_rng(seed)
    rows = [
        (i, j, n, float(base[j] * n ** rng.uniform(0.5, 0.95)), 1.0)
        for i in range(30)
        for base in [rng.uniform(0.5, 3.0, 3)]
        for j in range(3)
        for n in (1, 2, 3, 5, 8)
    ]
    problem = data(rows, [15, 15, 10], 30)
    model = PROBLEM.run(problem, KNOBS)
    chosen, solved = choose(problem, -0.5, 1.1)
    assert solved.status == model.status == "optimal"
    assert objective(problem, chosen, -0.5, 1.1) == approx(model.objective, rel=1e-6)
    loose, report = choose(problem, -0.5, 1.1, Solver(gap=0.01))
    assert report.bound is not None and report.bound <= solved.objective + 1e-9
    assert objective(problem, loose, -0.5, 1.1) <= 1.01 * solved.objective


def test_worked_by_hand() -> None:
    """Two GPUs for j0 cost (0.9 x 4)^-0.5 + 1.1 = 1.627, one for each job (2 / 0.9)^-0.5 + 1 = 1.671: j1 waits."""
    found = PROBLEM.run(TWO, KNOBS)
    assert found.objective == approx((0.9 * 4) ** -0.5 + 1.1)
    assert found.values["configurations"] == {"j0": {"type": "t0", "gpus": 2}, "j1": None}
    assert found.values["gain"] == {"j0": approx(4.0), "j1": 0.0}


def test_waiting_has_to_cost_more_for_both_to_run() -> None:
    found = PROBLEM.run(TWO, {**KNOBS, "lambda_n": 1.2})
    assert found.objective == approx((2 / 0.9) ** -0.5 + 1)
    assert found.values["configurations"] == {"j0": {"type": "t0", "gpus": 1}, "j1": {"type": "t0", "gpus": 1}}


def test_gains_from_the_least_size_let_a_large_gang_go_first() -> None:
    """3 GPUs: from 1, the job of one size costs 1 wherever it runs, and the other one 2^-0.5; from 3, 3^-0.5 counts."""
    scenario = make({"a": ("x", 3)}, [{"gpus": 3}, {"gpus": 2, "gpu_choices": [1, 2]}])
    given = {
        value: PROBLEM.run(PROBLEM.data(look(scenario), knobs), knobs).values["configurations"]
        for value in (False, True)
        for knobs in [{**KNOBS, "from_least_size": value}]
    }
    assert given[False] == {"j0": None, "j1": {"type": "x", "gpus": 2}}
    assert given[True] == {"j0": {"type": "x", "gpus": 3}, "j1": None}


def test_a_power_above_0_lets_the_fast_job_take_all() -> None:
    """Gains of 4 x 0.9 against 2 / 0.9 + 1; a job that gets nothing costs nothing here."""
    found = PROBLEM.run(TWO, {**KNOBS, "p": 1.0, "lambda_n": 0.0})
    assert found.objective == approx(-0.9 * 4)
    assert found.values["configurations"] == {"j0": {"type": "t0", "gpus": 2}, "j1": None}


def test_golden_model_of_two_jobs(same_as_golden: Any) -> None:
    same_as_golden(build(TWO, -0.5, 1.1), "sia_two_jobs.lp")


def test_no_jobs_and_jobs_without_configurations() -> None:
    assert PROBLEM.run(data([], [3], 0), KNOBS).objective == 0.0
    assert PROBLEM.run(data([], [3], 2), KNOBS).objective == approx(2.2)
    assert choose(data([], [3], 2), -0.5, 1.1)[1].objective == approx(2.2)


def test_values_that_break_a_limit_are_refused() -> None:
    model = build(TWO, -0.5, 1.1)
    solve_model(model)
    model.choose["j0", "t1", 1].set_value(1)
    with pytest.raises(SolverFailedError, match="at most one configuration"):
        PROBLEM.read(model, TWO, KNOBS)
    model.choose["j0", "t1", 1].set_value(0)
    model.choose["j1", "t0", 1].set_value(1)
    with pytest.raises(SolverFailedError, match="3 GPUs of t0"):
        PROBLEM.read(model, TWO, KNOBS)


@pytest.mark.parametrize(
    ("rows", "capacity", "where"),
    [
        ([(0, 0, 0, 1.0, 1.0)], [1], r"gpus\[0\]"),
        ([(0, 0, 1.5, 1.0, 1.0)], [1], r"gpus\[0\]"),
        ([(1, 0, 1, 1.0, 1.0)], [1], r"job\[0\]"),
        ([(0, 2, 1, 1.0, 1.0)], [1], r"kind\[0\]"),
        ([(0, 0, 1, 0.0, 1.0)], [1], r"speed\[0\]"),
        ([(0, 0, 1, math.nan, 1.0)], [1], r"speed\[0\]"),
        ([(0, 0, 1, 1.0, 1.1)], [1], r"factor\[0\]"),
        ([(0, 0, 1, 1.0, 1.0)], [-1], r"capacity\[0\]"),
    ],
)
def test_bad_data(rows: Any, capacity: Any, where: str) -> None:
    with pytest.raises(InputError, match=where):
        data(rows, capacity, 1)


def test_a_power_of_0_is_refused() -> None:
    with pytest.raises(InputError, match="other than 0"):
        PROBLEM.run(TWO, {**KNOBS, "p": 0.0})


@pytest.mark.parametrize(
    ("age_s", "restarts", "penalty_s", "factor"),
    [(0, 0, 30, 0.0), (30, 0, 30, 0.5), (600, 2, 30, 540 / 630), (50, 2, 30, 0.0), (0, 5, 0, 1.0)],
)
def test_restart_factor(age_s: float, restarts: int, penalty_s: float, factor: float) -> None:
    assert restart_factor(age_s, restarts, penalty_s) == approx(factor)


# --- from a snapshot --------------------------------------------------------------------------------------------------

NODES = {"a": ("x", 4), "b": ("x", 4), "c": ("y", 2)}


def elastic(sizes: list[int], **rest: Any) -> dict[str, Any]:
    return {"gpus": sizes[-1], "gpu_choices": sizes, **rest}


def offered(problem: SiaInstance, job: str) -> dict[str, list[int]]:
    """`{type: sizes}` of a job's configurations."""
    found: dict[str, list[int]] = {}
    for row, kind, gpus in zip(problem.job.tolist(), problem.kind.tolist(), problem.gpus.tolist(), strict=True):
        if problem.jobs[row] == job:
            found.setdefault(problem.types[kind], []).append(gpus)
    return found


def test_sizes_offered() -> None:
    """x has two nodes of 4, y one of 2; a rigid job of 3 keeps its size whatever the knob says."""
    snapshot = look(make(NODES, [elastic([1, 2, 3, 4, 6, 8]), {"gpus": 3}]))
    every = PROBLEM.data(snapshot, KNOBS)
    assert offered(every, "j0") == {"x": [1, 2, 3, 4, 6, 8], "y": [1, 2]}
    powers = PROBLEM.data(snapshot, {**KNOBS, "configurations": "powers"})
    assert offered(powers, "j0") == {"x": [1, 2, 4, 8], "y": [1, 2]}
    assert offered(every, "j1") == offered(powers, "j1") == {"x": [3]}


def test_powers_of_nodes_that_differ_are_up_to_the_largest_and_then_the_largest_together() -> None:
    snapshot = look(make({"a": ("x", 6), "b": ("x", 4)}, [elastic(list(range(1, 11)))]))
    found = PROBLEM.data(snapshot, {**KNOBS, "configurations": "powers"})
    assert offered(found, "j0") == {"x": [1, 2, 4, 6, 10]}


def test_a_job_without_any_such_size_is_named() -> None:
    snapshot = look(make(NODES, [elastic([3, 5])]))
    with pytest.raises(InputError, match=r"gpu_choices of job j0.*configurations=choices"):
        PROBLEM.data(snapshot, {**KNOBS, "configurations": "powers"})


def test_the_factor_counts_for_all_configurations_but_the_one_that_is_held() -> None:
    scenario = make(NODES, [elastic([1, 2]), elastic([1, 2])])
    found = PROBLEM.data(look(scenario, 90.0, ended=[on("j0", 90.0, a=2)]), KNOBS)
    factor = {
        (found.jobs[i], found.types[j], n): f
        for i, j, n, f in zip(found.job, found.kind, found.gpus.tolist(), found.factor.tolist(), strict=True)
    }
    assert factor["j0", "x", 2] == 1.0
    assert {factor["j0", "x", 1], factor["j0", "y", 1], factor["j0", "y", 2]} == {90 / 120}
    assert {value for (job, _, _), value in factor.items() if job == "j1"} == {1.0}


def decide(snapshot: Any, **knobs: Any) -> Decision:
    scheduler = SiaScheduler()
    decision, memory = scheduler.decide(snapshot, None, scheduler.settle(knobs), np.random.default_rng(0))
    assert memory is None
    return decision


def test_gpus_left_over_make_jobs_larger() -> None:
    """10 GPUs, two jobs of up to 4: both get 4 of x on a node of their own."""
    scenario = make(NODES, [elastic([1, 2, 4]), elastic([1, 2, 4])], {"x": 1.0, "y": 1.0})
    assert sorted(placed(decide(look(scenario))).values(), key=str) == [{"a": 4}, {"b": 4}]


def test_a_job_stays_where_it_is_while_its_configuration_does() -> None:
    scenario = make(NODES, [elastic([1, 2, 4]), elastic([1, 2, 4])])
    snapshot = look(scenario, 60.0, ended=[on("j0", 60.0, b=4), on("j1", 60.0, a=4)])
    assert placed(decide(snapshot)) == {"j0": {"b": 4}, "j1": {"a": 4}}


def test_a_lease_in_force_is_kept_or_ended() -> None:
    """After 6000 s a restart weighs little: 2 x 2^-0.5 is less than 4^-0.5 + 1.1."""
    scenario = make({"a": ("x", 4)}, [elastic([1, 2, 4]), elastic([1, 2])])
    decision = decide(look(scenario, 6000.0, leases=[on("j0", 7000.0, a=4)]))
    assert decision.preempt == {"j0"} and placed(decision) == {"j0": {"a": 2}, "j1": {"a": 2}}
    alone = decide(look(make({"a": ("x", 4)}, [elastic([1, 2, 4])]), 6000.0, leases=[on("j0", 7000.0, a=4)]))
    assert alone.preempt == set() and alone.assign == ()


def test_who_is_chosen_but_finds_no_nodes_waits_and_is_told() -> None:
    """8 GPUs are enough for 3 + 3 + 2, but one is left on each node of 4, and j2 does not run spread."""
    rows = [
        {"model": "m", "accelerator": "x", "gpus": n, "placement": word, "steps_per_s": n * (word == "consolidated")}
        for n in (2, 3)
        for word in ("consolidated", "unconsolidated")
    ]
    nodes = {"a": ("x", 4), "b": ("x", 4)}
    scenario = make(nodes, [{"gpus": 3}, {"gpus": 3}, {"gpus": 2}]).to_dict()
    snapshot = look(workbench.Scenario.from_dict({**scenario, "throughputs": rows}))
    decision = decide(snapshot)
    assert placed(decision) == {"j0": {"a": 3}, "j1": {"b": 3}}
    assert decision.why["j2"].code == "no_nodes" and decision.why["j2"].facts == {"type": "x", "gpus": 2.0}


def test_the_queue_says_who_is_placed_first_among_equals() -> None:
    """Two nodes of 3 for three gangs of 2 that cannot be spread: by arrival j2 finds none, by waiting j0 does not."""
    rows = [
        {"model": "m", "accelerator": "x", "gpus": 2, "placement": word, "steps_per_s": 2.0 * (word == "consolidated")}
        for word in ("consolidated", "unconsolidated")
    ]
    scenario = make({"a": ("x", 3), "b": ("x", 3)}, [{"gpus": 2}] * 3).to_dict()
    snapshot = look(workbench.Scenario.from_dict({**scenario, "throughputs": rows}))
    waited = dataclasses.replace(snapshot, jobs=dataclasses.replace(snapshot.jobs, waited_s=np.array([1.0, 3.0, 2.0])))
    assert set(placed(decide(waited))) == {"j0", "j1"}
    assert set(placed(decide(waited, queue="latency_ratio"))) == {"j1", "j2"}


def test_who_is_not_chosen_is_told() -> None:
    decision = decide(look(make({"a": ("x", 1)}, [{}, {}])))
    assert len(decision.assign) == 1 and [reason.code for reason in decision.why.values()] == ["not_chosen"]


def test_a_run_grows_a_job_when_the_other_has_ended() -> None:
    """4 GPUs at 1 step/s each: 2 + 2 until j0's 120 steps are done at 60 s, then j1 has 4 for its other 240."""
    scenario = make({"a": ("x", 4)}, [elastic([1, 2, 4], steps=120), elastic([1, 2, 4], steps=360)])
    run = workbench.simulate(scenario, "sia", penalty_s=0)
    assert run.jobs["finish_s"].tolist() == approx([60.0, 120.0])
    assert run.jobs["moves"].tolist() == [0, 1]


def test_hops_s_large_cluster_is_planned_exactly_as_by_the_model() -> None:
    """100 elastic jobs on 512 GPUs. Time is measured in benchmarks, not here."""
    scenario = preset("hops_512")
    snapshot = snapshot_at(scenario, max(job.arrival_s for job in scenario.jobs))
    problem = PROBLEM.data(snapshot, KNOBS)
    chosen, _ = choose(problem, -0.5, 1.1, Solver(gap=1e-4))
    model = PROBLEM.run(problem, KNOBS, Solver(gap=1e-4))
    assert model.objective == approx(objective(problem, chosen, -0.5, 1.1), rel=2e-4)
    used = np.bincount(problem.kind[chosen], problem.gpus[chosen])
    assert (used <= problem.capacity).all() and len(set(problem.job[chosen].tolist())) == len(chosen)


def test_what_is_offered_costs_the_twin_nothing_that_the_model_needs() -> None:
    """The twin leaves out a configuration only where another one of the same type is no larger and no dearer."""
    problem = data([(0, 0, 1, 1.0, 1.0), (0, 0, 2, 1.0, 1.0), (0, 0, 3, 2.0, 1.0), (0, 1, 4, 1.0, 1.0)], [3, 4], 1)
    assert sia._needed(problem, problem.cost(-0.5) - 1.1).tolist() == [True, False, True, True]


# Where Sia places what it has chosen: a gang that fits a node is not split, unless the knob `split` says so


def three_of_three() -> Scenario:
    """Two nodes of 4 GPUs of one type for two gangs of 3 and one of 2; n GPUs do n steps/s however they are placed."""
    rows = [
        {"model": "m", "accelerator": "x", "gpus": n, "placement": word, "steps_per_s": float(n)}
        for n in (2, 3, 6)
        for word in ("consolidated", "unconsolidated")
    ]
    cluster = {"accelerators": [{"name": "x"}], "nodes": [{"name": "a", "accelerator": "x", "gpus": 4, "count": 2}]}
    jobs: list[dict[str, Any]] = [
        {"name": f"j{i}", "model": "m", "gpus": n, "steps": 60.0 * n} for i, n in enumerate((3, 3, 2))
    ]
    return Scenario.from_dict({"cluster": cluster, "jobs": jobs, "throughputs": rows})


def test_a_gang_that_fits_a_node_waits_for_one_though_enough_gpus_are_idle() -> None:
    run = workbench.simulate(three_of_three(), "sia", round_s=60.0)
    assert run.jobs["finish_s"].tolist() == pytest.approx([60.0, 60.0, 120.0])
    assert run.decisions["busy_gpus"].iloc[0] == 6 and workbench.summary(run)["fragments_gpus"] == pytest.approx(1.0)


def test_with_the_knob_it_is_split_over_nodes() -> None:
    run = workbench.simulate(three_of_three(), "sia", round_s=60.0, split=True)
    assert run.jobs["finish_s"].tolist() == pytest.approx([60.0, 60.0, 60.0])
    assert set(run.timeline.loc[run.timeline["job"] == "j2", "node"]) == {"a-0", "a-1"}


def test_a_gang_larger_than_a_node_is_on_as_few_as_can_hold_it() -> None:
    whole = three_of_three()
    large = whole.replace(jobs=[whole.jobs[0].model_copy(update={"gpus": 6, "steps": 360.0})])
    run = workbench.simulate(large, "sia", round_s=60.0)
    assert run.jobs["finish_s"].tolist() == pytest.approx([60.0])
    assert run.timeline.groupby("node")["slot"].nunique().tolist() == [4, 2]
