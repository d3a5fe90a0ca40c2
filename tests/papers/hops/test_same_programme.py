"""The models of a round and their assemblies as arrays are one programme, entry by entry; so runs are equal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.papers.hops.plan_support import SEEDS, random_round
from tests.simulation.support import equal_runs
from workbench.scenario.presets import preset, presets
from workbench.simulation.loop import Stalled
from workbench.testing import same_programme

FORMS = st.sampled_from(["printed", "aggregated"])
POWERS = st.sampled_from([0.0, 1.0, 2.5, 40.0, "inf"])


@given(SEEDS, FORMS, POWERS, st.booleans())
def test_the_assembly_of_a_round_is_the_programme_of_its_model(seed, form, power, spread):
    data = random_round(seed, spread)
    if len(data.job):
        same_programme("hops.round", data, {"form": form, "lambda": power})


def decided(scheduler, scenario, **told):
    assert ["model" in made for made in equal_runs(scenario, scheduler, **told)] == [False, True]


@pytest.mark.parametrize("knobs", [{}, {"form": "aggregated"}, {"lambda": "inf"}, {"lambda": 40.0, "gap": 0.0}])
def test_a_run_of_hops_is_the_same_from_the_stated_model(knobs):
    decided("hops", preset("start_here"), **knobs)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, _ in presets()])
@pytest.mark.parametrize("scheduler", ["hops", "three_sigma"])
def test_all_runs_are(scheduler, name):
    if (scheduler, name) == ("hops", "hadar_480"):  # whose rounds are shorter than a restart
        with pytest.raises(Stalled):
            decided(scheduler, preset(name))
    else:
        decided(scheduler, preset(name))
