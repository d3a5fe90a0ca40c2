"""`workbench.ideal`: a scheduler that divides time, in the fluid limit."""

from __future__ import annotations

import pytest
from pytest import approx

import workbench
from tests.baselines.mechanisms.support import make
from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.simulation.fluid import Fluid

TWO = make({"a": ("t", 1)}, [{"steps": 1000}, {"steps": 3000}])


def test_two_jobs_share_one_gpu() -> None:
    """1 step/s: halves until 2000 s, then the longer one alone until 4000 s."""
    found = workbench.ideal(TWO, "gavel.max_min_fairness")
    assert isinstance(found, Fluid)
    assert found.jobs["finish_s"].tolist() == approx([2000, 4000])


def test_knobs_reach_the_policy_by_name_and_as_a_mapping() -> None:
    """Agnostic, either job gets half of each type; aware, each gets the type on which it is fast."""
    scenario = Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [{"name": "x"}, {"name": "y"}],
                "nodes": [{"name": n, "accelerator": n, "gpus": 1} for n in "xy"],
            },
            "jobs": [{"name": n, "model": n, "steps": 1000} for n in "xy"],
            "throughputs": [
                {"model": m, "accelerator": n, "steps_per_s": 10 if m == n else 2} for m in "xy" for n in "xy"
            ],
        }
    )
    aware = workbench.ideal(scenario, "gavel.max_min_fairness")
    assert aware.end_s == approx(100)
    agnostic = [
        workbench.ideal(scenario, "isolated"),
        workbench.ideal(scenario, "gavel.max_min_fairness", heterogeneity_aware=False, optimum="interior"),
        workbench.ideal(scenario, "gavel.max_min_fairness", {"heterogeneity_aware": "off", "optimum": "interior"}),
    ]
    assert [found.jobs["finish_s"].min() for found in agnostic] == approx([1000 / 6] * 3, rel=1e-4)


def test_rounds_come_near_the_ideal() -> None:
    run = workbench.simulate(TWO, "gavel.max_min_fairness", round_s=1)
    ideal = workbench.ideal(TWO, "gavel.max_min_fairness")
    assert run.jobs["finish_s"].tolist() == approx(ideal.jobs["finish_s"].tolist(), abs=2)


def test_placement_counts_with_two_placed_types() -> None:
    """Two nodes of 2 GPUs and two gangs of 2, apart at half the speed: both together on a node each, 100 s."""
    data = make({"a": ("t", 2), "b": ("t", 2)}, [{"gpus": 2, "steps": 200}, {"gpus": 2, "steps": 200}]).to_dict()
    data["throughputs"] += [{**row, "placement": "unconsolidated", "steps_per_s": 1.0} for row in data["throughputs"]]
    found = workbench.ideal(Scenario.from_dict(data), "gavel.max_min_fairness", placement_sensitive=True)
    assert found.jobs["finish_s"].tolist() == approx([100, 100])
    assert set(found.shares["accelerator"]) == {"t"}


def test_a_scheduler_that_divides_no_time_is_refused_and_the_others_are_named() -> None:
    for name in ("las", "allox", "gandiva"):
        with pytest.raises(InputError) as error:
            workbench.ideal(TWO, name)
        assert error.value.where == "scheduler" and "gavel.max_min_fairness, " in str(error.value)
        assert name not in str(error.value).split("shares: ")[1].split(", ")


@pytest.mark.parametrize(
    ("knobs", "where"),
    [({"space_sharing": True}, "core.space_sharing"), ({"nonsense": 1}, "knobs of gavel.max_min_fairness")],
)
def test_bad_knobs(knobs: dict[str, object], where: str) -> None:
    with pytest.raises(InputError) as error:
        workbench.ideal(TWO, "gavel.max_min_fairness", **knobs)
    assert error.value.where == where
