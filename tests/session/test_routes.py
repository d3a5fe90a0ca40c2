"""Who decides: what schedulers say of their route, and who their decisions say made them."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import pytest

import workbench
from tests.simulation.support import Scripted, equal_runs, make, with_tables
from workbench import Assignment, Decision, InvalidDecision, Route, Run, Scheduler
from workbench.analysis.metrics.rounds import who_decided
from workbench.scenario.presets import presets
from workbench.scheduling.contract import RouteKind
from workbench.scheduling.solvers import KEPT, SolveReport
from workbench.scheduling.solvers.solve_report import MadeBy
from workbench.session import registry

SOLVED = {"model", "assembly"}
SHIPPED = [found for found in workbench.schedulers() if found.name not in registry._OWN]
"""Not those that other modules of tests declare while they are collected."""
RUNS = [("start_here", 7_200.0), ("hadar_example", None)]


@pytest.mark.parametrize("preset, until_s", RUNS, ids=[preset for preset, _ in RUNS])
@pytest.mark.parametrize("scheduler", SHIPPED, ids=lambda found: found.name)
def test_every_decision_says_who_made_it(scheduler: Scheduler, preset: str, until_s: float | None) -> None:
    run = workbench.simulate(f"preset:{preset}", scheduler, until_s=until_s)
    made, kind = Counter(run.decisions["made_by"]), workbench.route(scheduler).kind
    assert made and set(made) <= set(get_args(MadeBy))
    assert made.keys() - {"kept"}  # somebody decided what is carried over
    if kind == "same programme":
        assert made.keys() & SOLVED
    elif scheduler.name != "chronus":  # whose cycle may ask a solver
        assert made.keys() <= {"algorithm", "kept", *(["assembly"] if kind == "other route" else [])}
    assert sum(made.values()) == len(run.decisions)
    kept = run.decisions["made_by"] == "kept"
    assert set(run.decisions.loc[kept, "status"]) <= {""}, "nothing was solved"


LARGE = {"gavel_simulated", "hops_512", "hare_160", "chronus_96x8", "chronus_120x8"}
"""Presets with more than 64 GPUs."""
STATED = [found.name for found in SHIPPED if workbench.route(found).kind == "same programme"]


@pytest.mark.parametrize("preset", [name for name, _ in presets() if name not in LARGE])
def test_a_run_by_the_stated_model_is_the_run_by_its_assembly(preset: str) -> None:
    """Up to the first round with three jobs, of those who decide more often half a minute of it, or whole where that
    takes less than a second.

    `make test-long` has whole runs, on the large presets too.
    """
    scenario = workbench.preset(preset)
    third_s = sorted(job.arrival_s for job in scenario.jobs)[2]
    for scheduler in STATED:
        gavel = scheduler.startswith("gavel.")
        if len(scenario.jobs) > 100 and not gavel:
            continue  # one plan for so many takes ten seconds
        whole = scheduler == "three_sigma" or (not gavel and len(scenario.jobs) < 10)
        until_s = None if whole else third_s // 360 * 360 + 361 if gavel else third_s + 30
        made = equal_runs(scenario, scheduler, until_s=until_s)
        if made:
            assert "model" not in made[0] and "assembly" not in made[1]
            assert not gavel or [who - {"kept"} for who in made] == [{"assembly"}, {"model"}], scheduler


def test_at_most_six_have_another_route_and_each_says_why() -> None:
    routes = {found.name: workbench.route(found) for found in SHIPPED}
    other = {name: route for name, route in routes.items() if route.kind == "other route"}
    assert set(other) == {"allox", "isolated", "sia"}
    assert all(route.reason in route.sentence and route.formulation in route.sentence for route in other.values())
    assert {route.kind for route in routes.values()} == set(get_args(RouteKind))
    names = {found.name for found in workbench.formulations()}
    assert all(route.formulation in {"", *names} for route in routes.values())


@pytest.mark.parametrize("scheduler, knobs", [("isolated", {}), ("allox", {}), ("allox", {"preset": "authors"})])
def test_another_route_comes_to_the_value_of_the_problem_that_is_stated(scheduler: str, knobs: dict[str, str]) -> None:
    run = workbench.simulate("preset:start_here", scheduler, knobs, until_s=1_800.0)
    decisions = run.decisions[run.decisions["made_by"] != "kept"]
    assert decisions["objective"].notna().all()
    stated = {time_s: workbench.rows(run, at=time_s).attrs for time_s in decisions["time_s"]}
    carried_out = [time_s for time_s, its in stated.items() if its["at_s"] == time_s]
    assert carried_out
    for time_s, found in zip(decisions["time_s"], decisions["objective"], strict=True):
        assert time_s not in carried_out or stated[time_s]["objective"] == pytest.approx(found, rel=1e-7)


def test_a_function_decides_by_an_algorithm_and_says_what_else_made_its_decisions() -> None:
    assert workbench.route("fifo") == Route()
    assert repr(workbench.route("fifo")) == (
        "<Route: algorithm. An algorithm decides, not a formulation: its own rules, which are told with each decision.>"
    )
    scenario = make([{"steps": 10.0}], **{"core": {}})
    found = Decision((Assignment("j0", {"n-0": 1}, 1e9),))
    assert workbench.simulate(scenario, Scripted(lambda s: found)).decisions["made_by"].unique().tolist() == [
        "algorithm"
    ]
    wrong = Decision(solved=SolveReport("optimal", 1.0, made_by="me"))  # type: ignore[arg-type]
    with pytest.raises(
        InvalidDecision, match=r"solved\.made_by 'me'; expected one of model, assembly, algorithm, kept"
    ):
        workbench.simulate(scenario, Scripted(lambda s: wrong))
    assert KEPT.made_by == "kept"


def _said(run: Run, made: list[str]) -> str:
    decisions = run.decisions.iloc[: len(made)].assign(made_by=made)
    return who_decided(with_tables(run, decisions=decisions))


def test_the_sentence_counts_who_decided() -> None:
    run = workbench.simulate("preset:gavel_example", "gavel.max_min_fairness")
    said = "42 rounds: 3 problems solved, 39 kept the shares"
    assert who_decided(run) == said == workbench.summary(run).decided
    assert f"Decided: {said}." in run._repr_html_()
    stated = workbench.simulate("preset:gavel_example", "gavel.max_min_fairness", model="pyomo", until_s=3_600.0)
    assert who_decided(stated) == "10 rounds: 1 problem solved by the Pyomo model, 9 kept the shares"
    mixed = ["model", "assembly", "assembly", "algorithm", "kept"]
    assert _said(run, mixed).endswith(
        ": 1 problem solved by the Pyomo model, 2 problems solved, 1 by an algorithm, 1 kept the shares"
    )
    assert _said(run, []) == "no decisions"
