"""The models of a round and their assemblies as arrays are one programme, entry by entry; so runs are equal."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.papers.hops.plan_support import SEEDS, random_round
from tests.simulation.support import equal_runs
from workbench.analysis.contract_rules.formulations import difference
from workbench.papers.hops.formulations.round import build, restate
from workbench.papers.hops.formulations.round_assembly import PrintedAssembly, assemble
from workbench.scenario.presets import preset, presets
from workbench.testing import same_programme

FORMS = st.sampled_from(["printed", "aggregated"])
POWERS = st.sampled_from([0.0, 1.0, 2.5, 40.0, "inf"])


@example(3, "printed", "inf", False)  # of two classes, as the next
@example(3, "aggregated", "inf", False)
@given(SEEDS, FORMS, POWERS, st.booleans())
def test_the_assembly_of_a_round_is_the_programme_of_its_model(seed, form, power, spread):
    data = random_round(seed, spread)
    if len(data.job):
        same_programme("hops.round", data, {"form": form, "lambda": power})


@given(SEEDS, st.booleans(), st.sampled_from([0.0, 1.0, 2.5]))
def test_the_model_of_a_round_takes_on_the_numbers_of_the_next(seed, spread, power):
    data = random_round(seed, spread)
    fewer = replace(data, **{name: getattr(data, name)[1:] for name in ("job", "layout", "throughput")})
    numbers = {"priority": 1.0 - data.priority, "idle": data.idle + 1, "jobs": tuple(f"{name}'" for name in data.jobs)}
    model = build(data, power)
    for each in (fewer, data, *(replace(data, **{name: value}) for name, value in numbers.items()), fewer):
        restate(model, each, power)
        assert len(model.choose) == len(each.job)
        if len(each.job):
            assert difference(model, assemble(PrintedAssembly(each), power)) is None


def decided(scheduler, scenario, **told):
    assert ["model" in made for made in equal_runs(scenario, scheduler, **told)] == [False, True]


@pytest.mark.parametrize("knobs", [{}, {"form": "aggregated"}, {"lambda": "inf"}, {"lambda": 40.0, "gap": 0.0}])
def test_a_run_of_hops_is_the_same_from_the_stated_model(knobs):
    decided("hops", preset("start_here"), **knobs)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, _ in presets()])
@pytest.mark.parametrize("scheduler", ["hops", "three_sigma"])
def test_all_runs_are(scheduler, name):
    decided(scheduler, preset(name))
