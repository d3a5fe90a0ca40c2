"""The model and its assembly as arrays are one programme, entry by entry."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import workbench
from tests.papers.gavel.support import DATA, TWO, finish_data, merged, plain, priced, random_data, stepped  # noqa: F401
from tests.simulation.support import equal_runs
from workbench.analysis.contract_rules.formulations import difference
from workbench.papers.gavel.formulations import makespan
from workbench.papers.gavel.formulations.bottleneck import LevelInstance
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness, assemble
from workbench.papers.gavel.instance import Merged
from workbench.scenario.presets import presets
from workbench.scheduling.solvers import restating, watched
from workbench.session.api import snapshot_at
from workbench.testing import ContractError, same_programme

AWARE = {"heterogeneity_aware": (True, False)}
PRICES = {**AWARE, "objective": ("throughput_per_dollar", "ratio")}
CASES = {
    "max_min_fairness": (plain, AWARE),
    "makespan": (stepped, {**AWARE, "method": ("single", "bisection")}),
    "finish_time_fairness": (lambda data: finish_data(data, 3.0, 2.0), AWARE),
    "fifo": (plain, AWARE),
    "shortest_job_first": (stepped, {**AWARE, "literal": (True, False)}),
    "max_throughput": (plain, {**AWARE, "normalised": (True, False)}),
    "min_cost": (priced, {**PRICES, "normalised": (True, False)}),
    "min_cost_slo": (lambda data: data, {**PRICES, "infeasible": ("drop",)}),
    "water_filling": (plain, AWARE),
}


@settings(max_examples=10)
@given(data=DATA)
def test_so_are_those_of_the_iterations_of_water_filling(data):
    told = plain(data).with_numbers(gang=3.0 * data.gang)
    level = 0.1 * np.arange(len(data.jobs))
    same_programme("gavel.water_filling", LevelInstance.of(told, level, data.weight))


@settings(max_examples=5)
@given(data=DATA)
def test_a_model_that_takes_on_the_numbers_of_the_next_step_states_them(data):
    jobs = np.arange(len(data.jobs))
    last = LevelInstance.of(plain(data), 0.1 * jobs, data.weight)
    finish, steps = finish_data(data, 3.0, 2.0), stepped(data)
    rho, most_s = finish.terms.least, makespan.bracket(steps)[1]
    slos = [data, data.with_numbers(steps=0.5 * data.steps, slo_s=0.9 * data.slo_s), data.without(jobs % 2 == 0)]
    for name, knobs, turns in (
        ("water_filling", {}, [last.at(active=last.active * (jobs % 2)), last, last.at(level=0.0 * last.level)]),
        ("finish_time_fairness", {}, [finish, finish.at(largest=2.0 * rho), finish.at(largest=1.5 * rho)]),
        ("makespan", {"method": "bisection"}, [steps.at(makespan_s=part * most_s) for part in (0.7, 0.9, 0.8)]),
        ("min_cost_slo", {"infeasible": "drop"}, slos),
        ("min_cost_slo", {"infeasible": "drop", "objective": "ratio"}, slos),
    ):
        formulation = workbench.find_formulation(f"gavel.{name}")
        settled, models = {**formulation.settle(knobs), "model": "pyomo"}, []
        for turn in turns:
            (model, _), programme = formulation.posed(turn, settled)
            models.append(model)
            assert difference(model, programme) is None
            assert difference(model, formulation.assemble(turn, settled)) is None
        assert models[0] is models[1] is models[2]
        with watched():
            (other, _), _ = formulation.posed(turns[0], settled)
        assert other is not models[0]


@pytest.mark.parametrize("name, scaled", [*((name, {}) for name in CASES), ("min_cost", {"objective": "ratio"})])
@settings(max_examples=3)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_model_after_jobs_ended_and_came_keeps_the_parts_of_those_that_stay(name, scaled, seed):
    told = CASES[name][0](random_data(seed, pairs=False))
    formulation, jobs = workbench.find_formulation(f"gavel.{name}"), len(told.jobs)
    assume(jobs > 2)
    settled = {**formulation.settle(scaled), "model": "pyomo"}
    slower = told.with_numbers(speed=0.5 * told.speed)
    twice = Merged(np.full(jobs, 2.0), told.units)
    turns = [
        (told.only(range(jobs - 1)), False),
        (told.only(range(1, jobs)), True),
        (told, True),  # the one that came is the first
        (slower, True),
        (slower.with_numbers(gang=told.gang * np.where(np.arange(jobs), 1.0, 3.0)), True),  # one is stated anew
        (told.only(range(jobs - 1, -1, -1)), True),  # in another order
        (slower.with_numbers(gang=3.0 * told.gang), True),  # all are
        (told.with_numbers(merged=twice), True),
        (slower.with_numbers(merged=twice), True),
    ]
    vars(restating._mine).pop("last", None)
    share = None
    for turn, kept in turns:
        (model, _), programme = formulation.posed(turn, settled)
        assert difference(model, programme) is None
        assert difference(model, formulation.assemble(turn, settled)) is None
        assert (model.share is share) == kept
        share = model.share


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=10)
@given(data=DATA)
def test_model_and_assembly_are_one_programme_whatever_the_knobs_say(name, data):
    of, knobs = CASES[name]
    for values in itertools.product(*knobs.values()):
        for gang in (data.gang, 3.0 * data.gang):  # products with powers of 2 are exact in any order
            told = of(data).with_numbers(gang=gang)
            same_programme(f"gavel.{name}", told, dict(zip(knobs, values, strict=True)))


STATED = [*CASES, "hierarchical"]
OTHERS = [name for name, _ in presets() if name != "gavel_example"]


def test_hierarchical_by_its_entities():
    """Fairness and first in, first out among an entity's jobs, and jobs of none; also as GPUs of one kind."""
    scenario = workbench.preset("gavel_example")
    body = scenario.to_dict()
    body["entities"] = [{"name": "e", "weight": 2.0, "policy": "fifo"}, {"name": "f"}]
    jobs = [{**job, "name": f"{job['name']} {n}", "entity": who} for job in body["jobs"] for n, who in enumerate("eef")]
    body["jobs"] = [*jobs, *body["jobs"]]
    formulation = workbench.find_formulation("gavel.hierarchical")
    data = formulation.data(snapshot_at(workbench.Scenario.from_dict(body), 0.0), formulation.settle({}))
    assert len(set(data.owner.tolist())) == 5 and set(data.fifo.tolist()) == {0.0, 1.0}
    for aware in (True, False):
        same_programme("gavel.hierarchical", data, {"heterogeneity_aware": aware})


def runs_alike(preset, name):
    made = equal_runs(f"preset:{preset}", f"gavel.{name}")
    assert [who - {"kept"} for who in made] in ([{"assembly"}, {"model"}], [])


@pytest.mark.parametrize("name", STATED)
def test_a_run_by_the_model_is_the_run_by_the_assembly(name):
    runs_alike("gavel_example", name)


@pytest.mark.usefixtures("merged")
@pytest.mark.parametrize("aware", (True, False))
@pytest.mark.parametrize("name", STATED)
def test_so_it_is_where_equal_jobs_and_their_pairs_are_merged(name, aware):
    """Three jobs of each of three models, paired with each other and with their equals."""
    body = workbench.preset("gavel_sharing").to_dict()
    alone = [job for job in body["jobs"] if job.get("gpus", 1) == 1][:3]
    body["jobs"] = [{**job, "name": f"{job['name']} {n}", "arrival_s": 0.0} for job in alone for n in range(3)]
    told = {"space_sharing": True, "heterogeneity_aware": aware, "until_s": 3_000.0}
    made = equal_runs(workbench.Scenario.from_dict(body), f"gavel.{name}", **told)
    assert [who - {"kept"} for who in made] == [{"assembly"}, {"model"}]


@pytest.mark.long
@pytest.mark.parametrize("name", STATED)
@pytest.mark.parametrize("preset", OTHERS)
def test_so_it_is_on_every_preset(preset, name):
    runs_alike(preset, name)


def other_weights(data):
    return assemble(replace(data, weight=data.weight * (1 + 1e-15)))


def other(**changed):
    return lambda data: replace(assemble(data), **changed)


def more(part, at):
    def change(data):
        found = assemble(data)
        numbers = getattr(found, part).copy()
        numbers[at] += 1
        return replace(found, **{part: numbers})

    return change


@pytest.mark.parametrize(
    "wrong, said",
    [
        (
            other_weights,
            "coefficient of share[a,v100] in epigraph[a]: got -1.9999999999999978",
        ),
        (other(maximise=False), "maximise: got False"),
        (other(name="x"), "name: got 'x'"),
        (other(integer=np.ones(5, dtype=bool)), "integer of share[a,v100]: got True"),
        (other(columns={"level": np.arange(1)}), "columns of share: got nothing"),
        (more("upper", 3), "upper of share[b,k80]: got 1.0; expected the model's, 0.0"),
        (more("row_upper", 2), "row_upper of capacity[v100]: got 3.0; expected the model's, 2.0"),
        (more("cost", -1), "cost of level: got 2.0; expected the model's, 1.0"),
    ],
)
def test_the_first_difference_is_told_by_row_and_column(wrong, said):
    class Wrong(MaxMinFairness):
        def assemble(self, data, knobs):
            return wrong(data)

    with pytest.raises(ContractError) as told:
        same_programme(Wrong(), plain(TWO))
    assert said in str(told.value)
    assert str(told.value).startswith("gavel.max_min_fairness, assemble, ")
