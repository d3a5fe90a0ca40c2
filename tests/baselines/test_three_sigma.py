"""3Sigma: the MILP against brute force and against its statement, its options by hand, whole runs."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given as with_random
from hypothesis import strategies as st
from pytest import approx

import workbench
from tests.baselines.mechanisms.support import given, look, make, on, scenarios
from tests.baselines.test_edf import slo, with_rewards
from workbench.analysis.contract_rules.formulations import difference
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.three_sigma_instance import PlannedCycle, ThreeSigmaInstance, in_time, outlasts
from workbench.baselines.three_sigma import ThreeSigma, ThreeSigmaScheduler, assemble, build, choose, restate
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Decision
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import Solver, compile, solve_model
from workbench.simulation.loop import run_loop
from workbench.testing import same_programme


def settle(**knobs: object) -> dict[str, Any]:
    return ThreeSigmaScheduler().settle(knobs)


def ask(snapshot: Snapshot, **knobs: object) -> Decision:
    return ThreeSigmaScheduler().decide(snapshot, None, settle(**knobs), np.random.default_rng(0))[0]


def options(snapshot: Snapshot, **knobs: object) -> dict[tuple[str, str, int], float]:
    data = PlannedCycle.from_snapshot(snapshot, settle(**knobs)).data
    return {data.key(i): float(data.value[i]) for i in range(len(data.job))}


SHAPES = st.tuples(st.integers(1, 2), st.integers(1, 3))


@st.composite
def instances(draw: st.DrawFn, shape: tuple[int, int] | None = None) -> ThreeSigmaInstance:
    """Up to three jobs, every job with some of the possible options; shape: types and slots, up to two and three."""
    jobs, (types, slots) = draw(st.integers(1, 3)), shape or draw(SHAPES)
    every = list(itertools.product(range(jobs), range(types), range(slots)))
    keys = draw(st.lists(st.sampled_from(every), max_size=8, unique=True))
    count = len(keys)
    job, kind, slot = (np.array([key[i] for key in keys], dtype=np.int64) for i in range(3))
    hold = [[draw(st.sampled_from([0.0, 0.5, 1.0])) if t >= key[2] else 0.0 for t in range(slots)] for key in keys]
    return ThreeSigmaInstance(
        jobs=tuple(f"j{i}" for i in range(jobs)),
        types=("a", "b")[:types],
        job=job,
        kind=kind,
        slot=slot,
        gpus=np.array(draw(st.lists(st.integers(1, 3), min_size=count, max_size=count)), dtype=np.int64),
        value=np.array(draw(st.lists(st.sampled_from([1.0, 2.5, 7.0]), min_size=count, max_size=count))),
        hold=np.array(hold).reshape(count, slots),
        free_gpus=np.array([[draw(st.integers(0, 4)) for _ in range(slots)] for _ in range(types)], dtype=float),
    )


def brute_force(data: ThreeSigmaInstance) -> float:
    """The best worth over all choices of at most one option for each job."""
    best = 0.0
    of_job = [[None, *np.flatnonzero(data.job == i).tolist()] for i in range(len(data.jobs))]
    for picked in itertools.product(*of_job):
        chosen = [option for option in picked if option is not None]
        used = np.zeros_like(data.free_gpus)
        for option in chosen:
            used[data.kind[option]] += data.gpus[option] * data.hold[option]
        if (used <= data.free_gpus + 1e-9).all():
            best = max(best, float(data.value[chosen].sum()))
    return best


@with_random(instances())
def test_the_matrix_finds_what_brute_force_finds(data: ThreeSigmaInstance) -> None:
    chosen, solved = choose(data)
    assert float(data.value[chosen].sum()) == approx(brute_force(data)) == approx(solved.objective)


@with_random(instances())
def test_the_statement_says_the_same(data: ThreeSigmaInstance) -> None:
    found = ThreeSigma().run(data, ThreeSigma().settle({}))
    assert found.objective == approx(brute_force(data))
    for name in ("highs", "glpk"):
        model = build(data)
        if len(data.job):
            solve_model(model, Solver(name))
            values = compile.values_of(model)["start"]
            assert float(data.value[values > 0.5].sum()) == approx(brute_force(data))
    if len(data.job):
        same_programme("three_sigma", data)
        assert choose(data, stated=True)[0].tolist() == choose(data)[0].tolist()


@with_random(SHAPES.flatmap(lambda shape: st.lists(instances(shape), min_size=2, max_size=3)))
def test_the_model_of_a_cycle_takes_on_the_numbers_of_the_next(cycles: list[ThreeSigmaInstance]) -> None:
    model = build(cycles[0])
    options = ("job", "kind", "slot", "gpus", "value", "hold")
    for each in cycles[1:]:
        fewer = replace(each, **{name: getattr(each, name)[1:] for name in options})
        for data in (fewer, each, replace(each, free_gpus=each.free_gpus + 1.0)):
            takes_on(model, data)


def takes_on(model: pyo.ConcreteModel, data: ThreeSigmaInstance) -> None:
    restate(model, data)
    assert difference(model, assemble(data)) is None
    assert len(model.start) == len(data.job) and sorted(model.hold) == sorted(build(data).hold)


def two_jobs() -> ThreeSigmaInstance:
    """One GPU for two slots; `a` takes one slot, `b` both. Only `a` first leaves nothing for `b`."""
    return ThreeSigmaInstance(
        jobs=("a", "b"),
        types=("t",),
        job=np.array([0, 0, 1]),
        kind=np.zeros(3, dtype=np.int64),
        slot=np.array([0, 1, 0]),
        gpus=np.ones(3, dtype=np.int64),
        value=np.array([10.0, 9.0, 15.0]),
        hold=np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.5]]),
        free_gpus=np.array([[1.0, 1.5]]),
    )


def test_golden_model_of_two_jobs(same_as_golden: Any) -> None:
    same_as_golden(build(two_jobs()), "three_sigma_two_jobs.lp")


def test_two_jobs_by_hand() -> None:
    """`b` now and `a` in the second slot, where `b` holds its GPU with a chance of a half: 15 + 9 with 1.5 GPUs."""
    chosen, solved = choose(two_jobs())
    assert chosen.tolist() == [1, 2] and solved.objective == approx(24.0) and solved.status == "optimal"


def test_options_end_where_the_deadline_cannot_be_met_and_earlier_is_worth_a_little_more() -> None:
    scenario = make({"n": ("t", 1)}, [slo(1000, steps=700)])
    found = options(look(scenario), slot_s=100.0, slots=10)
    assert set(found) == {("j0", "t", slot) for slot in range(4)}  # 300 s of slack
    assert [found["j0", "t", slot] for slot in range(4)] == approx([100 * (1 - 0.01 * slot / 10) for slot in range(4)])


def test_best_effort_and_late_jobs_are_planned_for_the_first_slot() -> None:
    scenario = make({"n": ("t", 2)}, [{"steps": 250}, slo(100, steps=400), {"steps": 50}])
    found = options(look(scenario), slot_s=100.0, slots=10)
    assert found == approx({("j0", "t", 0): 10 / 2.5, ("j1", "t", 0): 10 / 4, ("j2", "t", 0): 10.0})


def test_a_running_job_with_a_deadline_is_not_planned_but_its_gpus_are_not_there() -> None:
    scenario = make({"n": ("t", 3)}, [slo(9000, steps=1000, gpus=2), {"steps": 100}, {"steps": 100}])
    snapshot = look(scenario, leases=[on("j0", n=2), on("j1", n=1)])  # done at 500 s
    planned = PlannedCycle.from_snapshot(snapshot, settle(slot_s=200.0, slots=4))
    assert planned.data.jobs == ("j1", "j2")
    assert planned.data.free_gpus.tolist() == [[1.0, 1.0, 1.0, 3.0]]
    assert options(snapshot, slot_s=200.0)["j1", "t", 0] == approx(11.0)  # best effort that runs is worth more


def test_the_chances_of_uniform_run_times() -> None:
    """Mean 100, deviation 10: from 100 - 10 sqrt(3) to 100 + 10 sqrt(3)."""
    mean, spans = np.full(3, 100.0), np.array([100.0 - 10 * math.sqrt(3), 100.0, 100.0 + 10 * math.sqrt(3)])
    assert outlasts(mean, spans, 0.1).tolist() == approx([1.0, 0.5, 0.0])
    assert in_time(mean, spans, 0.1).tolist() == approx([0.0, 0.5, 1.0])
    draws = np.random.default_rng(1).uniform(*spans[[0, 2]], 100_000)
    assert draws.std() == approx(10, rel=0.01) and (draws > 105).mean() == approx(
        outlasts(np.full(1, 100.0), np.full(1, 105.0), 0.1)[0], abs=0.01
    )
    assert in_time(np.array([np.inf, 100.0]), np.array([1e9, 100.0]), 0.0).tolist() == [0.0, 1.0]


def test_a_spread_of_run_times_makes_a_tight_start_worth_less() -> None:
    scenario = make({"n": ("t", 1)}, [slo(700, steps=700)])
    assert options(look(scenario), runtime_cv=0.1)["j0", "t", 0] == approx(50.0)


def test_best_effort_makes_room_for_a_deadline_and_not_the_other_way_round() -> None:
    scenario = make({"n": ("t", 1)}, [{}, slo(1100, arrival_s=1)])
    decision = ask(look(scenario, 60.0, leases=[on("j0", n=1)]))
    assert decision.preempt == {"j0"} and given(decision) == {"j1": {"n": 1}}
    held = ask(look(make({"n": ("t", 1)}, [slo(9000), slo(1100, arrival_s=1)]), 60.0, leases=[on("j0", n=1)]))
    assert not held.preempt and not held.assign


def test_best_effort_that_is_not_chosen_stays_where_nobody_else_is() -> None:
    """The plan takes j1 for the GPU it needs; j0, with two, has lost in the plan only if room was short."""
    scenario = make({"n": ("t", 4)}, [{"gpus": 2}, {"gpus": 1}, slo(2000, gpus=1, arrival_s=1)])
    decision = ask(look(scenario, 60.0, leases=[on("j0", n=2), on("j1", n=1)]))
    assert not decision.preempt and given(decision) == {"j2": {"n": 1}}


def test_it_waits_for_a_deadline_where_that_is_worth_more() -> None:
    """One GPU, two jobs that can both be in time only if the tight one goes first."""
    scenario = make({"n": ("t", 1)}, [slo(5000, steps=1000), slo(1300, steps=1000)])
    run = run_loop(scenario, ThreeSigmaScheduler(), {"slot_s": 250.0})
    assert run.jobs["finish_s"].tolist() == [2000.0, 1000.0]


def test_data_that_is_none() -> None:
    good = two_jobs()
    for field, value in (
        ("gpus", np.array([0, 1, 1])),
        ("hold", np.full((3, 2), 1.5)),
        ("slot", np.array([0, 2, 0])),
        ("slot", np.array([0, 0, 0])),
        ("free_gpus", np.array([[-1.0, 1.0]])),
    ):
        with pytest.raises(InputError, match="three_sigma data"):
            ThreeSigmaInstance(**{**vars(good), field: value})


@with_random(scenarios(), st.lists(st.sampled_from([None, 50.0, 300.0, 2000.0]), min_size=1, max_size=4))
def test_everybody_finishes_and_deadlines_are_not_preempted(
    scenario: Scenario, deadlines_s: list[float | None]
) -> None:
    run = run_loop(with_rewards(scenario, deadlines_s), ThreeSigmaScheduler())
    assert run.jobs["finish_s"].notna().all()
    slo_jobs = {job.name for job in run.scenario.jobs if job.rewards}
    lost = run.events[(run.events["event"] == "preempt") & run.events["job"].isin(slo_jobs)]
    assert lost["reason"].str.contains("failed|is down").all()


def test_every_plan_has_a_status() -> None:
    first = run_loop(preset("chronus_example"), ThreeSigmaScheduler())
    solved = first.decisions[first.decisions["status"] != ""]
    assert len(solved) > 10 and set(solved["status"]) <= {"optimal", "feasible"}
    assert (solved["gap"].fillna(0.0) <= 0.01 + 1e-9).all()


def test_an_own_formulation_decides_in_its_place() -> None:
    """Unchanged it makes the same run; with a row more the first job starts later, or not by a plan."""
    shipped = workbench.simulate("preset:chronus_small", "three_sigma", model="pyomo")
    workbench.formulation("mine", base="three_sigma")(lambda m, data: None)
    same = workbench.simulate("preset:chronus_small", "mine")
    for table in ("jobs", "timeline", "events", "signals"):
        assert getattr(same, table).equals(getattr(shipped, table))
    assert set(same.decisions["made_by"]) == {"model", "kept"}
    assert workbench.route("mine").kind == "same programme"

    def not_at_once(m: Any, data: ThreeSigmaInstance) -> None:
        for job, kind, slot in m.OPTIONS:
            if job == "nightly" and slot == 0:
                m.start[job, kind, slot].fix(0)

    workbench.formulation("mine", base="three_sigma")(not_at_once)
    later = workbench.simulate("preset:chronus_small", "mine")
    first = [run.jobs.set_index("job")["first_start_s"]["nightly"] for run in (shipped, same, later)]
    assert first[:2] == [0, 0] and first[2] >= 600
