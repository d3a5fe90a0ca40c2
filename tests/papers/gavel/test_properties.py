"""What holds for several of Gavel's policies: on one type speeds do not matter, sharing pays, pairs never hurt."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import look, make
from tests.papers.gavel.support import (  # noqa: F401
    DATA,
    MERGED,
    TWO,
    by_assembly,
    finish_data,
    merged,
    plain,
    priced,
    random_data,
    stepped,
)
from workbench.papers.gavel.formulations import fifo as first_come
from workbench.papers.gavel.formulations.allocation import DividedTime
from workbench.papers.gavel.formulations.finish_time_fairness import FinishTimeFairness
from workbench.papers.gavel.formulations.makespan import Makespan
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness
from workbench.papers.gavel.formulations.min_cost import MinCost
from workbench.papers.gavel.formulations.min_cost_slo import SloInstance
from workbench.papers.gavel.formulations.water_filling import Hierarchical, HierarchicalInstance, WaterFilling
from workbench.papers.gavel.instance import AllocationInstance, fields, isolated_throughput
from workbench.scheduling.solvers import Solver
from workbench.session.registry import find_formulation, find_scheduler
from workbench.simulation.loop import simulate

Policy = Callable[[SloInstance, dict[str, Any]], DividedTime]
AGNOSTIC = {"heterogeneity_aware": False}


def one_type(data: SloInstance) -> SloInstance:
    """The same on the last type alone, where every job can run; pairs keep at most 0.9 of their speeds there.

    A pair that costs next to nothing is ill-conditioned: rounding of one level is then a large gain of another.
    """
    here = [len(data.types) - 1]
    accelerator_of = [int(data.accelerator_of[-1])]
    return dataclasses.replace(
        data, types=("t",), speed=data.speed[:, here], pair_speed=0.9 * data.pair_speed[:, :, here],
        capacity=data.capacity[accelerator_of], price=data.price[accelerator_of], accelerators=(), accelerator=None,
    )  # fmt: skip


def alone(data: Any) -> Any:
    """The same without pairs."""
    return dataclasses.replace(
        data, pairs=np.zeros((0, 2), dtype=np.int64), pair_speed=np.zeros((0, 2, len(data.types)))
    )


def entities(data: SloInstance) -> HierarchicalInstance:
    """Two entities of weights 1 and 2, the second by FIFO, whose jobs take turns."""
    owner = np.arange(len(data.jobs)) % 2
    return HierarchicalInstance(
        **fields(plain(data)), owner=owner, entities=("e", "f"), entity_weight=[1.0, 2.0], fifo=[0, 1]
    )


ASSEMBLY, PRICES = {"model": "assembly"}, {"bottleneck": "prices"}


def max_min(data: SloInstance, knobs: dict[str, Any]) -> DividedTime:
    return MaxMinFairness().allocate(plain(data), ASSEMBLY | knobs)


def makespan(data: SloInstance, knobs: dict[str, Any]) -> DividedTime:
    return Makespan().allocate(stepped(data), ASSEMBLY | knobs)


def finish_time(data: SloInstance, knobs: dict[str, Any]) -> DividedTime:
    return FinishTimeFairness().allocate(finish_data(data, elapsed_s=5.0), ASSEMBLY | knobs)


def fifo(data: SloInstance, knobs: dict[str, Any]) -> DividedTime:
    return first_come.FirstInFirstOut().allocate(plain(data), ASSEMBLY | knobs)


def one_level(data: SloInstance, knobs: dict[str, Any]) -> DividedTime:
    return WaterFilling().allocate(plain(data), ASSEMBLY | PRICES | knobs)


def hierarchy(data: SloInstance, knobs: dict[str, Any]) -> DividedTime:
    return Hierarchical().allocate(entities(data), ASSEMBLY | PRICES | knobs)


@pytest.mark.parametrize("policy", [max_min, makespan, finish_time, fifo, one_level, hierarchy])
@given(seed=st.integers(0, 2**32 - 1))
def test_on_one_type_of_accelerator_the_agnostic_policy_is_the_aware_one(policy: Policy, seed: int) -> None:
    data = one_type(random_data(seed))
    aware, agnostic = policy(data, {}), policy(data, AGNOSTIC)
    assert agnostic.solved.objective == pytest.approx(aware.solved.objective, rel=1e-5)
    for name, numbers_by_job in aware.by_job.items():
        assert agnostic.by_job[name] == pytest.approx(numbers_by_job, rel=1e-3, abs=1e-3), name


@pytest.mark.parametrize("policy", [makespan, finish_time])
@pytest.mark.usefixtures("merged")
@MERGED
@given(seed=st.integers(0, 2**32 - 1))
def test_equal_jobs_get_equal_shares(policy: Policy, seed: int) -> None:
    data = random_data(seed, pairs=False)
    data = dataclasses.replace(data, weight=np.ones(len(data.jobs)))
    found = policy(data, {}).shares
    keys = [(*row, gang, n) for row, gang, n in zip(data.speed, data.gang, data.steps, strict=True)]
    for key in set(keys):
        rows = found[[other == key for other in keys]]
        assert np.abs(rows - rows[0]).max() == 0


@given(data=DATA)
def test_fifo_serves_in_all_at_least_as_well_as_a_dedicated_part_for_each(data: SloInstance) -> None:
    relative = isolated_throughput(data) / first_come.fastest(data)
    assert fifo(data, {}).solved.objective >= first_come.places(data) @ relative * (1 - 1e-6)


NEVER_WORSE = pytest.mark.parametrize(
    ("name", "made", "sign"), [("fifo", plain, 1), ("max_throughput", plain, 1), ("makespan", stepped, -1)]
)
"""A larger objective is better (1), or a smaller one."""


def objective(name: str, data: Any) -> float:
    found = find_formulation(f"gavel.{name}").allocate(data, ASSEMBLY).solved.objective
    assert found is not None
    return found


@NEVER_WORSE
@given(data=DATA)
def test_pairs_never_hurt(name: str, made: Callable[[SloInstance], Any], sign: int, data: SloInstance) -> None:
    assert sign * objective(name, made(data)) >= sign * objective(name, alone(made(data))) * (1 - sign * 1e-6)


@NEVER_WORSE
@given(data=DATA, more=st.integers(1, 5))
def test_more_gpus_never_hurt(
    name: str, made: Callable[[SloInstance], Any], sign: int, data: SloInstance, more: int
) -> None:
    larger = dataclasses.replace(data, capacity=data.capacity + more)
    assert sign * objective(name, made(larger)) >= sign * objective(name, made(data)) * (1 - sign * 1e-6)


NOBODY = SloInstance((), ("k80",), np.zeros((0, 1)), [], [], [4], price=[1], steps=[], slo_s=[])


@pytest.mark.parametrize(
    ("name", "made", "knobs", "sense"),
    [
        ("fifo", plain, {}, "max"),
        ("finish_time_fairness", finish_data, {}, "min"),
        ("makespan", stepped, {"method": "single"}, "min"),
        ("makespan", stepped, {"method": "bisection"}, "min"),
        ("max_min_fairness", plain, {}, "max"),
        ("max_throughput", plain, {}, "max"),
        ("min_cost", priced, {"objective": "ratio"}, "max"),
        ("min_cost", priced, {"objective": "throughput_per_dollar"}, "max"),
        ("min_cost_slo", lambda nobody: nobody, {}, "max"),
        ("shortest_job_first", stepped, {"literal": False}, "max"),
        ("shortest_job_first", stepped, {"literal": True}, "min"),
    ],
)
def test_no_jobs_need_no_solver(
    name: str, made: Callable[[SloInstance], Any], knobs: dict[str, Any], sense: str
) -> None:
    formulation = find_formulation(f"gavel.{name}")
    found = formulation.run(made(NOBODY), knobs, Solver("no such solver"))  # type: ignore[arg-type]
    assert (found.status, found.objective, found.sense) == ("optimal", None, sense)
    assert found.values.keys() == formulation.run(made(TWO), knobs).values.keys() and not any(found.values.values())
    assert by_assembly(formulation)(made(NOBODY), knobs).shares.shape == (0, 1)


@given(data=DATA)
def test_colocation_never_lowers_the_first_level_of_water_filling(data: SloInstance) -> None:
    assert one_level(data, {}).solved.objective >= one_level(alone(data), {}).solved.objective * (1 - 1e-6)


@pytest.mark.parametrize("normalised", [False, True])
@given(data=DATA)
def test_colocation_never_lowers_the_throughput_per_dollar(data: SloInstance, normalised: bool) -> None:
    knobs = {"normalised": normalised}
    together, apart = (
        MinCost().allocate(each, ASSEMBLY | knobs).solved.objective for each in (priced(data), alone(priced(data)))
    )
    assert together >= apart * (1 - 1e-6)


@given(data=DATA, reference=st.booleans())
def test_to_an_agnostic_policy_nobody_is_faster_in_a_pair_who_is_not_on_any_type(
    data: SloInstance, reference: bool
) -> None:
    blind = data.agnostic(data.types[-1] if reference else "")
    one = blind.speed.max(axis=1)
    assert (data.pair_speed <= data.speed[data.pairs]).all(), "so it is made"
    assert (blind.pair_speed <= one[blind.pairs][:, :, None] * (1 + 1e-12)).all()
    assert (blind.allowed == data.allowed).all()


def test_a_pair_on_a_fast_type_only_is_left_where_gpus_would_be_idle() -> None:
    """One V100 and three K80 for two jobs: alone both have all of their time, together they would lose 45 %."""
    pair = {"pairs": [[0, 1]], "pair_speed": [[[2.2, 0.0], [2.2, 0.0]]]}
    data = AllocationInstance(("a", "b"), ("v100", "k80"), [[4, 1], [4, 1]], [1, 1], [1, 1], [1, 3], **pair)
    assert data.agnostic().speed == pytest.approx(np.full((2, 2), 1.75))
    assert data.agnostic().pair_speed[0] == pytest.approx(np.array([[0.55 * 1.75, 0.0]] * 2))
    found = MaxMinFairness().run(data, AGNOSTIC)
    assert found.objective == pytest.approx(1.0)
    assert found.values["allocation"]["a + b"] == pytest.approx({"v100": 0.0, "k80": 0.0})


@pytest.mark.parametrize("name", ["gavel.makespan", "gavel.finish_time_fairness"])
def test_the_authors_reference_counts_as_none_on_a_cluster_without_it(name: str) -> None:
    scenario = make({"a": ("t", 1), "b": ("u", 1)}, [{"steps": 500}, {"steps": 900}, {"steps": 700}])
    runs = [
        simulate(scenario, find_scheduler(name), {"preset": "authors", **AGNOSTIC, **more})
        for more in ({}, {"reference": ""})
    ]
    assert runs[0].jobs["finish_s"].notna().all()
    assert runs[0].jobs["finish_s"].tolist() == runs[1].jobs["finish_s"].tolist()


def test_gangs_that_gain_nothing_from_being_spread_are_together() -> None:
    """Equal speeds are one choice; those of 4 GPUs differ, and keep both."""
    scenario = make({"a": ("t", 4), "b": ("t", 4)}, [{"gpus": 2}, {"gpus": 4}])
    rows = [
        {"model": "m", "accelerator": "t", "gpus": gpus, "placement": word, "steps_per_s": speed}
        for gpus, word, speed in (
            (2, "consolidated", 2.0), (2, "unconsolidated", 2.0), (4, "consolidated", 4.0), (4, "unconsolidated", 3.0)
        )
    ]  # fmt: skip
    found = AllocationInstance.from_snapshot(look(scenario.replace(throughputs=rows)), {"placement_sensitive": True})
    assert found.types == ("t", "t spread")
    assert found.speed.tolist() == [[2.0, 0.0], [4.0, 3.0]]
