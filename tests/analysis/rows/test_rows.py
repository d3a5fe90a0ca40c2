"""Rows with numbers: what they add up to, where they are told by whom, and D15's three values of one more K80."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest

import workbench
from tests.analysis.what_if.test_marginal import instance
from tests.scheduling.solvers.test_conflict import one_gpu
from workbench.analysis.rows.edit import beside
from workbench.analysis.rows.stated import solved
from workbench.base.errors import InputError
from workbench.scheduling.contract import Formulation, Result
from workbench.scheduling.solvers import ConflictError, Solver, solve_matrix
from workbench.scheduling.solvers.compile import compile_model
from workbench.scheduling.solvers.limits import LimitRows
from workbench.session.registry import find_formulation
from workbench.simulation.run import Run
from workbench.testing import posed

GAVEL = [each.name for each in workbench.formulations() if each.name.startswith("gavel.")]
SEVERAL = "gavel.finish_time_fairness"
"""Whose answer is that of several programmes, none of which has it as its objective: the last one comes to 0."""
FIRST = {"gavel.water_filling", "gavel.hierarchical"}


@cache
def first_run() -> Run:
    return workbench.simulate("preset:start_here", "gavel.max_min_fairness")


@cache
def example(formulation: str = "gavel.max_min_fairness") -> Result:
    return workbench.solve("preset:gavel_example", formulation)


def held(table: pd.DataFrame, objective: float) -> None:
    """What every table of rows keeps."""
    assert ((table["left"] - table["right"]).abs() == table["slack"]).all()
    assert (table["binding"] == (table["slack"] < 1e-7)).all()
    sign = table["sense"].map({"<=": 1, ">=": -1, "=": 0})
    assert (sign * (table["right"] - table["left"]) >= -1e-6).all()
    if table["dual"].notna().all():
        total = float((table["dual"] * table["right"]).sum())
        assert total == pytest.approx(objective, rel=1e-6, abs=1e-6)
        assert (table.loc[~table["binding"], "dual"].abs() < 1e-6).all()


@pytest.mark.parametrize("name", GAVEL)
@pytest.mark.parametrize("scenario", ["preset:gavel_example", "preset:start_here", instance(1), instance(2)])
def test_duals_add_up_to_the_objective(name: str, scenario: object) -> None:
    if name == "gavel.hierarchical" and not isinstance(scenario, str):
        pytest.skip("the same programme as water filling without entities")
    result = workbench.solve(scenario, name)  # type: ignore[arg-type]
    assert result.objective is not None
    table = workbench.rows(result)
    held(table, 0.0 if name == SEVERAL else result.objective)
    assert table.attrs["formulation"] == name
    if name == SEVERAL:
        assert table.attrs["objective"] == pytest.approx(0.0, abs=1e-6)
        needs = table["part"] == "finish_time"
        assert (table["dual"] * table["right"])[needs].sum() == pytest.approx(1.0)
    if name in FIRST:
        assert table.attrs["notes"] == [] or "first of" in table.attrs["notes"][0] or "unique" in str(table.attrs)


@pytest.mark.parametrize("name", ["hadar.dual", "hare.time_indexed_lp", "hare.interval_lp", "isolated"])
def test_duals_of_the_other_linear_programmes_add_up_too(name: str) -> None:
    result = workbench.solve("preset:hare_example", name)
    assert result.objective
    held(workbench.rows(result), result.objective)


RELAXED: list[tuple[str, str, dict[str, Any]]] = [
    ("hare_example", "hadar.offline", {}),
    ("hare_example", "hadar.schedules", {}),
    ("start_here", "hadar.round", {}),
    ("start_here", "hops.round", {"form": "printed"}),
    ("start_here", "hops.round", {"form": "aggregated"}),
    ("hare_example", "hare.exact", {}),
    ("hare_example", "hare.relaxation", {}),
    ("hare_example", "hare.time_indexed", {}),
    ("chronus_small", "chronus.leases", {}),
    ("hare_example", "gavel.bottleneck", {}),
    ("hare_example", "allox", {}),
    ("start_here", "sia", {}),
    ("start_here", "three_sigma", {}),
]


@pytest.mark.parametrize("preset, name, knobs", RELAXED)
def test_prices_of_a_relaxed_problem_add_up_to_its_best_value(preset: str, name: str, knobs: dict[str, Any]) -> None:
    found = find_formulation(name)
    data, settled = posed(found, workbench.preset(preset), **knobs)
    programme = compile_model(found.build(data, settled)).programme
    assert programme.mixed
    relaxed = replace(programme, integer=None)
    point = solve_matrix(relaxed)
    limits = LimitRows.of(relaxed, point)
    total = float(limits.dual @ limits.right) + relaxed.offset
    assert total == pytest.approx(point.solved.objective, rel=1e-6, abs=1e-6)
    assert total, "nothing to add up"


def test_a_constant_of_the_objective_is_a_row() -> None:
    result = workbench.solve("preset:chronus_small", "chronus.leases")
    table, programme = workbench.rows(result), solved(result).compiled.programme
    assert programme.offset and table["index"].iloc[-1] == "constant"
    best = solve_matrix(replace(programme, integer=None)).solved.objective
    assert (table["price_of_relaxed"] * table["right"]).sum() == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("name", ["hadar.round", "hops.round", "gavel.bottleneck"])
def test_whole_numbers_have_slack_and_the_price_of_the_relaxed_problem(name: str) -> None:
    table = workbench.rows(workbench.solve("preset:start_here", name))
    assert table["dual"].isna().all()
    assert table["left_rate"].isna().all()
    assert table["price_of_relaxed"].notna().any()
    assert "whole numbers" in table.attrs["notes"][-1]
    held(table, 0.0)


def test_rows_of_the_first_programme_by_hand() -> None:
    """P_m of gavel_example gives z/(w P) = 1.6, .4; the level .7273 = 8/11 stands on both capacities."""
    table = workbench.rows(example()).set_index(["part", "index"])
    row = table.loc[("capacity", "k80")]
    assert row["row"] == "share[job 0,k80] + share[job 1,k80] + share[job 2,k80] <= 1"
    assert (row["tag"], row["left"], row["sense"], row["right"]) == ("3", pytest.approx(1.0), "<=", 1.0)
    assert row["dual"] == pytest.approx(8 / 55)
    steps = workbench.rows(example("gavel.max_throughput"))
    assert steps.attrs["unit"] == "1" or f"in {steps.attrs['unit']} per unit of right" in steps.attrs["notes"][-1]
    makespan = workbench.rows(example("gavel.makespan"))
    assert makespan.attrs["unit"] == "s" and makespan.attrs["notes"][-1] == "dual and rates are in s per unit of right"
    assert table.loc[("epigraph", "job 0"), "row"] == "- 1.6 share[job 0,v100] - 0.4 share[job 0,k80] + level <= 0"


def world(names: list[str], gpus: int) -> workbench.Scenario:
    """Jobs of one model on one type."""
    jobs = [{"name": name, "model": "m", "steps": 1e4} for name in names]
    cluster = {
        "accelerators": [{"name": "v100"}],
        "nodes": [{"name": "n", "accelerator": "v100", "gpus": gpus}],
    }
    speeds = [{"model": "m", "accelerator": "v100", "gpus": 1, "steps_per_s": 2.0}]
    return workbench.Scenario.from_dict({"cluster": cluster, "jobs": jobs, "throughputs": speeds})


def test_a_long_sum_is_cut_in_the_middle() -> None:
    scenario = world([f"j{i}" for i in range(20)], 4)
    table = workbench.rows(workbench.solve(scenario, "gavel.max_throughput")).set_index(["part", "index"])
    text = table.loc[("capacity", "v100"), "row"]
    assert text.startswith("share[j0,v100] + share[j1,v100] + share[j2,v100] + ... 14 more ... + share[j17,v100]")
    assert text.endswith("<= 4")


def test_one_more_k80_is_three_numbers() -> None:
    """The dual, the row's right side, and a GPU in the cluster, which also moves what jobs are measured by."""
    result = example()
    assert result.objective == pytest.approx(8 / 11)
    dual = workbench.rows(result).set_index(["part", "index"]).loc[("capacity", "k80")]
    assert dual["dual"] == pytest.approx(0.1454545, abs=1e-6)
    assert dual["right_range"] < 1  # it does not hold for a whole one
    row = workbench.relax(result, "capacity[k80]", 1)
    assert row.after == pytest.approx(0.85)
    assert row.after - result.objective == pytest.approx(0.1227273, abs=1e-6)
    assert "what_if" in row._repr_html_() and "worth" not in row.text() + row._repr_html_()
    nodes = workbench.preset("gavel_example").cluster
    grown = workbench.Cluster(
        accelerators=nodes.accelerators,
        nodes=(*nodes.nodes, workbench.NodeGroup(name="one-more", accelerator="k80", gpus=1)),
        network_gbps=nodes.network_gbps,
    )
    gpu = workbench.solve(workbench.preset("gavel_example").replace(cluster=grown), "gavel.max_min_fairness")
    assert gpu.objective == pytest.approx(1.0)
    assert gpu.objective - result.objective == pytest.approx(0.2727273, abs=1e-6)


def test_rows_of_a_run_are_those_of_the_decision_in_force() -> None:
    """At 45 min of start_here the shares of 30 min are in force: the level 1 as the run recorded it."""
    run = first_run()
    table = workbench.rows(run, 45 * 60)
    assert table.attrs["at_s"] == 1800.0
    recorded = run.decisions.loc[run.decisions["time_s"] == 1800.0, "objective"].item()
    held(table, recorded)
    left = table.set_index(["part", "index"])["left"]
    shares = run.shares[run.shares["time_s"] == 1800.0]
    for unit, kind, share in zip(shares["unit"], shares["accelerator"], shares["share"], strict=True):
        assert left["share", f"{unit},{kind}"].tolist()[0] == pytest.approx(share)
    assert workbench.rows(run, 30 * 60).equals(table)
    assert workbench.rows(run, 29 * 60).attrs["at_s"] == 720.0
    assert workbench.rows(run).attrs["at_s"] == 6840.0


@pytest.mark.parametrize(
    ("scheduler", "knobs"),
    [("hops", {}), ("hops", {"form": "aggregated"}), ("sia", {}), ("three_sigma", {}), ("gavel.makespan", {})],
)
def test_rows_of_other_runs(scheduler: str, knobs: dict[str, str]) -> None:
    """The rows of each decision that a solver made have the objective that the run recorded, to its gap."""
    run = workbench.simulate("preset:start_here", scheduler, knobs)
    made = run.decisions[run.decisions["made_by"].isin(["assembly", "model"])]
    for time_s, objective, gap in made[["time_s", "objective", "gap"]].iloc[[1, -1]].itertuples(index=False):
        table = workbench.rows(run, float(time_s))
        assert table.attrs["at_s"] == time_s
        held(table, objective)
        assert table.attrs["objective"] == pytest.approx(objective, rel=gap + 1e-6)


def test_rows_of_another_answer_than_the_one_found_say_so() -> None:
    found = example()
    other = {job: {kind: share / 2 for kind, share in own.items()} for job, own in found.values["allocation"].items()}
    told = "there are several best answers, and what was decided is another than these rows'"
    for allocation, said in ((found.values["allocation"], False), (other, True)):
        table = workbench.rows(replace(found, values={**found.values, "allocation": allocation}))
        assert (told in table.attrs["notes"]) == said


def test_relax_and_without_solve_again() -> None:
    result = example()
    assert result.objective is not None
    for name, by in (("capacity[v100]", 0.1), ("job_time[job 2]", -0.2), ("epigraph[job 1]", 0.05)):
        row = workbench.rows(result).set_index(["part", "index"]).loc[tuple(name.rstrip("]").split("["))]
        found = workbench.relax(result, name, by)
        rate = row["right_rate" if by > 0 else "left_rate"]
        assert abs(by) <= row["right_range" if by > 0 else "left_range"]
        assert found.after == pytest.approx(result.objective + by * rate)
    free = workbench.without(result, "job_time")
    assert free.changes and free.after > result.objective  # type: ignore[operator]
    assert free.text().startswith(
        'Without "a job runs at most all of the time, alone or in a pair" (job_time, 3 rows): '
        '"the level of the job that is worst off" (worst_job) goes from 0.7273 to 0.7347, which is better.'
    )
    assert not workbench.without(result, "job_time[job 0]").changes
    alone = workbench.without(result, "epigraph[job 1]").text()
    assert "(worst_job), now without epigraph[job 1], goes from 0.7273 to " in alone, "it is the best of the others"
    none = workbench.relax(result, "capacity[k80]", -5)
    assert (none.status, none.after) == ("infeasible", None)
    assert workbench.without(result, "epigraph").status == "unbounded"
    in_run = workbench.relax(first_run(), "capacity[v100]", 1, at=45 * 60)
    assert in_run.before == pytest.approx(1.0) and in_run.after > 1.2  # type: ignore[operator]


def test_a_bound_is_a_row() -> None:
    """Made to be 0, job 0's share of the K80 stays; allowed below 0, the level rises by its dual."""
    table = workbench.rows(example()).set_index(["part", "index", "sense"])
    dual = table.loc[("share", "job 0,k80", ">="), "dual"]
    found = workbench.relax(example(), "share[job 0,k80] >=", 0.1)
    assert found.after == pytest.approx(8 / 11 - 0.1 * dual)
    assert found.text().startswith('With "share of time on a type" (share[job 0,k80]) >= -0.1 in place of 0:')


def test_names_are_text() -> None:
    result = workbench.solve(world(["<b>x</b>", "y"], 1), "gavel.max_min_fairness")
    assert "<b>" not in workbench.without(result, "epigraph[<b>x</b>]")._repr_html_()


def test_infeasible_problems_show_the_rows_in_conflict() -> None:
    jobs = [{"name": name, "steps": 1200.0, "rewards": [[1300.0, 100.0]]} for name in ("one", "two")]

    @workbench.formulation("mine", base="gavel.max_min_fairness")
    def mine(m: pyo.ConcreteModel, data: object) -> None:
        m.most = pyo.Constraint(m.JOBS, rule=lambda m, job: m.share[job, "v100"] >= 0.9)

    with pytest.raises(ConflictError) as in_run:
        workbench.simulate("preset:start_here", "mine")
    assert {"most", "capacity"} <= set(workbench.rows(in_run.value)["part"])
    with pytest.raises(ConflictError) as caught:
        workbench.solve(one_gpu(jobs), "chronus.leases", all_guaranteed=True)
    table = workbench.rows(caught.value)
    assert sorted(table["part"] + "[" + table["index"] + "]") == sorted(
        name if "[" in name else f"{name}[]" for name in {row.name for row in caught.value.conflict.rows}
    )
    assert table["left"].isna().all() and table["row"].str.len().gt(0).all()
    assert "cannot hold together" in table.attrs["notes"][0]
    assert pickle.loads(pickle.dumps(caught.value)).stated is None


@pytest.mark.parametrize(
    "scheduler", [each.name for each in workbench.schedulers() if not each.name.startswith("gavel.")]
)
def test_every_decision_has_its_rows_or_one_sentence(scheduler: str) -> None:
    run = workbench.simulate("preset:start_here", scheduler, until_s=2000.0)
    if workbench.route(scheduler).kind == "algorithm":
        with pytest.raises(
            InputError, match=r"got An algorithm decides[^;]*(; the problem is \S+)?; expected .*chain"
        ) as told:
            workbench.rows(run)
        assert "\n" not in str(told.value) and ".;" not in str(told.value)
        return
    table = workbench.rows(run)
    held(table, table.attrs["objective"])
    assert table["row"].ne("").all() and table["tag"].ne("").all()


def test_what_is_scaled_for_a_solver_is_told_in_the_result_s_units() -> None:
    """Hops's weights are over the largest: rows, relaxed rows and one's own formulation speak of the paper's."""
    workbench.formulation("mine", base="hops.round")(
        lambda m, data: m.capacity["slow-0"].set_value(m.capacity["slow-0"].expr)
    )
    for name in ("hops.round", "mine"):
        found = workbench.solve("preset:hops_example", name)
        assert found.objective == pytest.approx(1.0824, rel=1e-4)
        assert workbench.rows(found).attrs["objective"] == pytest.approx(found.objective)
        assert not any("comes to" in note for note in workbench.rows(found).attrs["notes"])
        more = workbench.relax(found, "capacity[slow-0]", 1)
        assert more.before == pytest.approx(found.objective) and "goes from 1.082 to 1.301" in more.text()


def test_of_two_grids_the_rows_and_the_schedule_have_their_own_worth() -> None:
    found = workbench.solve("preset:hare_example", "hare.time_indexed", step_s=0.7)
    table, up = workbench.rows(found), found.iterations[0]["on_grid"]
    assert table.attrs["objective"] == pytest.approx(up)
    assert up == pytest.approx(10.5) and "comes to 10.5, what is made of its answer to " in table.attrs["notes"][0]
    assert "search ended" not in table.attrs["notes"][0]


@pytest.mark.parametrize(
    ("scheduler", "knobs", "note"),
    [
        ("gavel.shortest_job_first", {"literal": True}, "this programme comes to 1, the answer to 2,520.03"),
        ("gavel.max_min_fairness", {"partitions": 2}, "rows of the last of 2 programmes that were solved in turn"),
    ],
)
def test_rows_are_of_the_programme_that_decided(scheduler: str, knobs: dict[str, object], note: str) -> None:
    """As printed SJF takes the best of a programme for each job; parts of the cluster have one each."""
    table = workbench.rows(workbench.simulate("preset:start_here", scheduler, knobs, until_s=2000.0))
    held(table, table.attrs["objective"])
    told = table.attrs["notes"][0]
    assert told.startswith(note) and told.endswith("; what is in force at 33 min 20 s was decided at 30 min")


@pytest.mark.parametrize("method", ["newton", "bisection"])
def test_of_several_programmes_the_last_is_shown(method: str) -> None:
    """At the smallest rho nobody lacks anything, and each job's speed is what rho asks for or more."""
    result = workbench.solve("preset:gavel_example", "gavel.finish_time_fairness", method=method)
    assert result.objective is not None
    table = workbench.rows(result)
    held(table, 0.0)
    assert f"the last of {len(result.iterations)} programmes" in table.attrs["notes"][0]
    assert f"all of them to {result.objective:.6g}" in table.attrs["notes"][0]
    needs = table[table["part"] == "finish_time"]
    assert len(needs) == 3 and needs["binding"].any()
    tighter = workbench.relax(result, "capacity[v100]", -0.1)
    assert tighter.after == pytest.approx(-0.1 * table.set_index(["part", "index"])["dual"]["capacity", "v100"])
    for way in ("test", "prices"):
        filled = workbench.rows(workbench.solve("preset:hadar_example", "gavel.water_filling", bottleneck=way))
        held(filled, filled.attrs["objective"])
        assert "to 2.82353" in filled.attrs["notes"][0]
        assert (filled[filled["part"] == "floor"]["right"] > 0.9).all()  # levels of the iteration before
    for step_s, way in ((0.7, "up"), (1.3, "down")):  # the better of two grids' schedules is the answer
        both = workbench.solve("preset:hare_example", "hare.time_indexed", rounding="both", step_s=step_s)
        grid = workbench.rows(both)
        its = next(step for step in both.iterations if step["rounding"] == way)
        assert both.objective == its["schedule"] and grid.attrs["objective"] == pytest.approx(its["on_grid"])
        told = grid.attrs["notes"][0]
        assert f"by rounding='{way}', whose answer it is, of 2 programmes" in told and "best answers" not in told
    bisected = workbench.solve("preset:gavel_example", "gavel.makespan", method="bisection")
    kept = workbench.rows(bisected)
    assert "programmes that were solved in turn" in kept.attrs["notes"][0] and "finished" in set(kept["part"])


def test_rows_of_runs_whose_programme_is_one_step_of_several() -> None:
    """Lambda infinite: the last class's, beside what those before it keep; AlloX: its matching; Chronus: its plan."""
    hops = workbench.rows(workbench.simulate("preset:start_here", "hops", {"lambda": "inf"}), 2700.0)
    held(hops, 0.0)
    assert "kept" in set(hops["part"]) and "last of 2" in hops.attrs["notes"][0]
    for through, at_s in (("queue", 2700.0), ("gavel_rounds", 1200.0)):
        allox = workbench.simulate("preset:start_here", "allox", through=through)
        lines = workbench.rows(allox, at_s)
        held(lines, 0.0)
        assert set(lines["part"]) == {"matched", "places", "match"} and lines.attrs["at_s"] <= at_s
        assert "best answers" not in str(lines.attrs["notes"])
    in_line = workbench.chain(allox, "fast-0/0", 1200.0)
    assert in_line.job == "vision" and in_line.causes == ("matched[vision]",)
    chronus = workbench.simulate("preset:chronus_example", "chronus")
    made = chronus.decisions[chronus.decisions["made_by"] == "model"]
    leases = workbench.rows(chronus, float(made["time_s"].iloc[0]))
    held(leases, 0.0)
    assert leases.attrs["objective"] == pytest.approx(made["objective"].iloc[0])
    assert {"capacity", "leases_by_deadline", "one_deadline"} <= set(leases["part"])
    with pytest.raises(InputError, match=rf"solved last, {made['time_s'].iloc[-1]:g} s"):
        workbench.rows(chronus, chronus.end_s / 2)


@pytest.mark.parametrize("end", [{"until_s": 1000.0}, {"window": (0, 0)}])
def test_a_run_that_was_ended_early_is_made_again_to_the_same_end(end: dict[str, Any]) -> None:
    run = workbench.simulate("preset:hadar_example", "hadar", **end)
    assert run.end_s < workbench.simulate("preset:hadar_example", "hadar").end_s
    assert beside(run, 720.0).at_s == 720.0


def test_what_has_no_rows_is_told() -> None:
    with pytest.raises(InputError, match=r"did you mean capacity\[k80\]"):
        workbench.relax(example(), "capasity[k80]")
    with pytest.raises(InputError, match="a number"):
        workbench.relax(example(), "capacity[k80]", math.nan)
    with pytest.raises(InputError, match=r"workbench\.solve"):
        workbench.rows(Result("optimal", 1.0, "max", "1", {}))
    with pytest.raises(InputError, match="seconds from 0"):
        workbench.rows(first_run(), 1e9)
    with pytest.raises(InputError, match="no time"):
        workbench.rows(example(), 3.0)
    with pytest.raises(InputError, match="a run"):
        workbench.rows(3)  # type: ignore[arg-type]


def test_glpk_finds_the_same_value_of_a_moved_row() -> None:
    for name in ("capacity[v100]", "job_time", "epigraph[job 2]"):
        other = workbench.solve("preset:gavel_example", "gavel.max_min_fairness", solver=Solver(name="glpk"))
        one, two = (workbench.relax(result, name, 0.25) for result in (example(), other))
        assert one.after == pytest.approx(two.after, abs=1e-7)
    assert np.isfinite(one.before)


def test_a_result_compares_without_its_problem() -> None:
    result = example()
    assert result.problem is not None and isinstance(result.problem.formulation, Formulation)
