"""What one more in the row of a type is worth: by hand, against solving again on random instances, and theory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import workbench
from workbench.analysis.what_if.marginal import MarginalValue, MarginalValues, marginal_values
from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.scheduling.solvers import Solver

LINEAR = ("gavel.max_min_fairness", "gavel.makespan", "gavel.max_throughput")


def instance(seed: int) -> Scenario:
    """Eight different jobs on three types; all numbers random, so that no dual is one of several."""
    rng = np.random.default_rng(seed)
    types = ("fast", "middle", "slow")
    jobs = [
        {"name": f"j{i}", "model": f"m{i}", "steps": float(rng.uniform(1e3, 1e4)), "gpus": int(rng.integers(1, 3))}
        for i in range(8)
    ]
    rows = [
        {"model": job["model"], "accelerator": name, "gpus": job["gpus"], "steps_per_s": float(rng.uniform(0.5, 2) * s)}
        for job in jobs
        for name, s in zip(types, (8.0, 4.0, 1.0), strict=True)
    ]
    nodes = [{"name": name, "accelerator": name, "gpus": int(rng.integers(2, 5))} for name in types]
    accelerators = [{"name": name, "price_per_hour": price} for name, price in zip(types, (3.0, 2.0, 0.5), strict=True)]
    cluster = {"accelerators": accelerators, "nodes": nodes}
    return Scenario.from_dict({"cluster": cluster, "jobs": jobs, "throughputs": rows})


def of(found: MarginalValues, name: str) -> MarginalValue:
    return next(value for value in found.values if value.accelerator == name)


def test_gavels_example_by_hand() -> None:
    """Total throughput of jobs (4, 1), (3, 1), (2, 1) on one V100 and one K80: 4 + 1. A second V100 brings 3, and the
    third job stays on the K80; a second K80 brings 1. Slopes and steps agree, as each job runs all of its time."""
    found = marginal_values("preset:gavel_example", "gavel.max_throughput", solver=Solver("highs"))
    assert found.objective == pytest.approx(5.0) and (found.sense, found.unit, found.jobs) == ("max", "steps/s", 3)
    assert of(found, "v100").one_more == pytest.approx(3.0) and of(found, "k80").one_more == pytest.approx(1.0)
    assert of(found, "k80").dual == pytest.approx(1.0)
    assert of(found, "v100").one_more_per_usd == pytest.approx(3.0 / of(found, "v100").price_per_hour)


@pytest.mark.parametrize("formulation", LINEAR)
@pytest.mark.parametrize("seed", range(6))
def test_duals_are_finite_differences(formulation: str, seed: int) -> None:
    """A dual lies between the slopes towards more and fewer GPUs, by solving again; where these agree it is both.

    Total throughput has integral corners, so that its slopes often differ (degenerate); the others are smooth here.
    """
    scenario, step = instance(seed), 1e-3
    solving = workbench.find_formulation(formulation)
    knobs = solving.settle({})
    data: Any = solving.data(workbench.snapshot_at(scenario), knobs)
    found = marginal_values(scenario, formulation)
    sign = 1.0 if found.sense == "max" else -1.0
    for value in found.values:
        slopes = []
        for gpus in (step, -step):
            objective = solving.run(solving.grown(data, value.accelerator, gpus), knobs).objective
            assert objective is not None
            slopes.append(sign * (objective - found.objective) / gpus)
        slack = 2e-3 * abs(slopes[1]) + 1e-6
        assert slopes[0] - slack <= value.dual <= slopes[1] + slack
        if formulation != "gavel.max_throughput":
            assert slopes[0] == pytest.approx(slopes[1], rel=2e-3, abs=1e-6)


@pytest.mark.parametrize("formulation", LINEAR)
@pytest.mark.parametrize("seed", range(6))
def test_one_more_gpu_never_does_harm_and_brings_no_more_than_its_slope(formulation: str, seed: int) -> None:
    """More room cannot make a best value worse. A maximum is concave in the right-hand side, and a makespan convex in
    the number of GPUs (total work over capacity), so a step brings at most the slope."""
    for value in marginal_values(instance(seed), formulation).values:
        assert value.one_more >= 0 and value.dual >= 0
        assert value.one_more <= value.dual * (1 + 1e-6) + 1e-9
        assert bool(value.note) == (abs(value.dual - value.one_more) > 1e-3 * value.dual)


def test_both_solvers_find_the_same_values() -> None:
    for formulation in LINEAR[:2]:  # the third is degenerate: each solver has a dual of its own
        one, other = (marginal_values(instance(1), formulation, solver=Solver(name)) for name in ("highs", "glpk"))
        for a, b in zip(one.values, other.values, strict=True):
            assert (a.dual, a.one_more) == pytest.approx((b.dual, b.one_more), rel=1e-5, abs=1e-9)


def test_the_yardstick_of_fairness_stays_todays() -> None:
    """A faster cluster would raise P_m, and with it hide what it brings: solved anew the level can even fall."""
    scenario = workbench.preset("gavel_physical")
    found = marginal_values(scenario)
    grown = scenario.replace(
        cluster={
            **scenario.cluster.model_dump(mode="json"),
            "nodes": [
                *scenario.cluster.model_dump(mode="json")["nodes"],
                {"name": "x", "accelerator": "v100", "gpus": 1},
            ],
        }
    )
    anew = workbench.solve(grown, "gavel.max_min_fairness").objective
    assert anew is not None and anew - found.objective < of(found, "v100").one_more


def test_a_degenerate_dual_is_told_apart_from_a_kink() -> None:
    """Agnostic, three jobs of one GPU on three: each has a whole GPU. More bring nothing, fewer would cost 1/3 each."""
    found = marginal_values("preset:start_here", "gavel.max_min_fairness", {"heterogeneity_aware": False})
    assert all(value.one_more == 0 for value in found.values)
    assert all("degenerate" in value.note for value in found.values if value.dual)
    assert found.words.startswith("One more in the row of no type")
    kink = of(marginal_values("preset:start_here"), "v100")
    assert kink.dual > kink.one_more > 0 and "step size" in kink.note


def test_times_are_told_as_people_read_them() -> None:
    found = marginal_values("preset:gavel_physical", "gavel.makespan")
    value = of(found, "v100")
    assert value.one_more == pytest.approx(21 * 60 + 19, abs=0.5)
    assert "by 21 min 19 s; for the money v100: 8 min 36 s per USD/h." in found.words
    assert "no forecast of a run: with a GPU really added, today's scheduler may even end jobs later." in found.words


def test_without_prices_nothing_is_said_per_usd() -> None:
    data = instance(0).to_dict()
    data["cluster"]["accelerators"] = [{"name": a["name"]} for a in data["cluster"]["accelerators"]]
    found = marginal_values(Scenario.from_dict(data))
    assert all(math.isnan(value.dual_per_usd) for value in found.values) and "USD" not in found.words


@pytest.mark.parametrize(
    ("formulation", "knobs", "said"),
    [
        ("hadar.round", {}, "a capacity for each accelerator type"),
        ("gavel.finish_time_fairness", {}, "one linear programme"),
        ("nobody", {}, "nobody"),
        ("", {}, "formulation: got ''; expected one of "),  # no default in its place
        (0, {}, "formulation: got 0; expected one of "),
        ("gavel.makespan", {"method": "bisection"}, "one linear programme"),
    ],
)
def test_what_has_no_duals_is_refused(formulation: Any, knobs: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        marginal_values("preset:gavel_physical", formulation, knobs)


def test_somebody_must_have_arrived() -> None:
    late = instance(0).to_dict()
    late["jobs"] = [{**job, "arrival_s": 100.0} for job in late["jobs"]]
    with pytest.raises(InputError, match="a job has arrived"):
        marginal_values(Scenario.from_dict(late), at=50.0)
