"""Placement as placed types: numbers, the optimum by hand, and gangs that are really placed as their type says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import given as placed
from tests.baselines.mechanisms.support import look, make
from workbench.analysis.charts import allocation, received_table, shares_at
from workbench.baselines.mechanisms import priority
from workbench.baselines.mechanisms.placed_types import placed_types, speeds
from workbench.baselines.mechanisms.priority import PolicyAnswer
from workbench.baselines.mechanisms.share_scheduler import ShareScheduler
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness
from workbench.papers.gavel.instance import AllocationInstance, seen
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import PlacedType, Shares
from workbench.scheduling.snapshot import Snapshot
from workbench.session.registry import find_scheduler
from workbench.simulation.fluid import flow
from workbench.simulation.loop import run_loop

AWARE = {"placement_sensitive": True}
TOGETHER, SPREAD = PlacedType("t", "consolidated"), PlacedType("t", "unconsolidated")


def scenario(jobs: Sequence[Mapping[str, Any]], nodes: Sequence[int], rows: Mapping[tuple[str, int], Any]) -> Scenario:
    """Nodes a, b, ... of type t; rows: {(model, GPUs): (steps/s together, steps/s spread)}."""
    base = make({chr(97 + i): ("t", gpus) for i, gpus in enumerate(nodes)}, [{}])
    table = []
    for (model, gpus), (near, far) in rows.items():
        row = {"model": model, "accelerator": "t", "gpus": gpus}
        table.append({**row, "steps_per_s": near})
        if gpus > 1:
            table.append({**row, "placement": "unconsolidated", "steps_per_s": far})
    named = [{"name": f"j{i}", "model": "m", "steps": 1000, **job} for i, job in enumerate(jobs)]
    core = {"restart": {"law": "fixed", "restart_s": 0}}
    return Scenario.from_dict({**base.to_dict(), "jobs": named, "throughputs": table, "core": core})


ROWS = {("m", 1): (1.0, 0.0), ("m", 2): (2.0, 1.5), ("m", 4): (4.0, 1.0)}


def data_of(snapshot: Snapshot, **knobs: Any) -> AllocationInstance:
    return AllocationInstance.from_snapshot(snapshot, {**AWARE, **knobs})


class Fixed:
    """A policy with fixed shares, `{job: (together, spread)}`, of the jobs that are there."""

    def __init__(self, shares: Mapping[str, tuple[float, ...]]) -> None:
        self.shares = shares

    def __call__(self, snapshot: Snapshot, knobs: Mapping[str, Any], memory: Any) -> PolicyAnswer:
        kinds = placed_types(snapshot.cluster, knobs)
        names = tuple(name for name in self.shares if name in snapshot.jobs.at)
        values = np.array([self.shares[name] for name in names]).reshape(len(names), len(kinds))
        return PolicyAnswer(Shares(names, tuple(kind.name for kind in kinds), values, kinds))


def decide(seen: Scenario, shares: Mapping[str, tuple[float, ...]], **more: Any) -> tuple[Any, priority.PriorityMemory]:
    scheduler = ShareScheduler("test", "Test", Fixed(shares), knobs=find_scheduler("gavel.max_min_fairness").knobs[1:5])
    knobs = scheduler.settle({**AWARE, "initial_time": 0.5})
    memory = scheduler.start(seen, knobs)
    return scheduler.decide(look(seen, **more), memory, knobs, np.random.default_rng(0))


def test_two_placed_types_share_the_gpus_of_one_accelerator_type() -> None:
    snapshot = look(scenario([{"gpus": 2}, {"gpus": 4}, {}], [4, 4], ROWS))
    data = data_of(snapshot)
    assert data.types == ("t", "t spread") and data.accelerators == ("t",)
    assert data.capacity.tolist() == [8.0]
    assert data.speed.tolist() == [[2.0, 1.5], [4.0, 1.0], [1.0, 0.0]]
    assert data.equal.tolist() == [2.0, 4.0, 1.0]
    assert data.used(np.array([[0.5, 0.5], [0.0, 1.0], [0.25, 0.0]])).tolist() == [2 + 4 + 0.25]
    assert data_of(snapshot, placement_sensitive=False).types == ("t",)


@pytest.mark.parametrize(
    ("nodes", "gpus", "down", "expected"),
    [
        ([4], 2, [], [2.0]),  # one node: no such placed type
        ([4, 4], 1, [], [1.0, 0.0]),  # one GPU is always on one node
        ([2, 2], 4, [], [4.0, 0.0]),  # the fewest nodes are all there are
        ([1, 1, 2], 2, [], [2.0, 1.5]),
        ([1, 1, 2], 2, ["c-0"], [0.0, 1.5]),  # only on more nodes than the cluster could do with
        ([4, 4], 2, ["b-0"], [2.0, 0.0]),
    ],
)
def test_what_can_be_so_placed(nodes: list[int], gpus: int, down: list[str], expected: list[float]) -> None:
    snapshot = look(scenario([{"gpus": gpus}], nodes, ROWS), down=down)
    assert speeds(snapshot, snapshot.jobs, placed_types(snapshot.cluster, AWARE)).tolist() == [expected]


def test_a_job_that_runs_only_spread_is_measured_by_that_speed() -> None:
    data = data_of(look(scenario([{"gpus": 2}], [2, 2], {("m", 2): (0.0, 1.5)})))
    assert data.equal.tolist() == [1.5]
    assert MaxMinFairness().run(data, {}).values["normalized_throughput"] == {"j0": pytest.approx(1.0)}


def test_the_optimum_by_hand() -> None:
    """Three gangs of 2 on four GPUs, weights 2, 1, 1: 2 X_0 r_0 / 2 = 2 X_1 r_1 = 2 X_2 r_2 with r = 1 together.

    Faster spread (3 instead of 2 steps/s), r = 3/2 there. All spread: X_0 = 2 X_1, X_1 = X_2, 2 (4 X_1) = 4 would need
    X_0 = 1: X = (1, 1/2, 1/2), all GPUs in use, level 2 x 3/2 / 2 = 3/2. Together only it is 1.
    """
    jobs = [{"gpus": 2, "weight": 2.0}, {"gpus": 2}, {"gpus": 2}]
    seen_jobs = look(scenario(jobs, [2, 2], {("m", 2): (2.0, 3.0)}))
    data = data_of(seen_jobs)
    assert MaxMinFairness().run(data, {}).objective == pytest.approx(1.5)
    assert MaxMinFairness().allocate(data, {}).solved.objective == pytest.approx(1.5)
    apart = data_of(seen_jobs, placement_sensitive=False)
    assert MaxMinFairness().allocate(apart, {}).solved.objective == pytest.approx(1.0)
    known = seen(data, {"heterogeneity_aware": False})
    assert (known.speed == 2.0).all(), "one number a job, that of consolidated GPUs"


def test_gangs_are_placed_as_their_placed_type_says() -> None:
    seen_jobs = scenario([{"gpus": 2}, {"gpus": 2}, {"gpus": 2}, {}, {}], [4, 4], ROWS)
    shares = {"j0": (0.9, 0.0), "j1": (0.0, 0.9), "j2": (0.8, 0.0), "j3": (0.5, 0.0), "j4": (0.5, 0.0)}
    decision, memory = decide(seen_jobs, shares)
    found = placed(decision)
    assert len(found["j0"]) == len(found["j2"]) == 1 and found["j1"] == {"a": 1, "b": 1}
    assert memory.plan.types == ("t", "t spread")
    kind_of = {
        memory.plan.units[u]: memory.plan.types[k] for u, k in zip(memory.ran.unit, memory.ran.kind, strict=True)
    }
    assert kind_of == {"j0": "t", "j1": "t spread", "j2": "t", "j3": "t", "j4": "t"}


def test_both_placements_draw_on_the_same_free_gpus() -> None:
    seen_jobs = scenario([{"gpus": 2}] * 3, [2, 2], ROWS)
    decision, _ = decide(seen_jobs, {"j0": (0.9, 0.0), "j1": (0.0, 0.8), "j2": (0.7, 0.0)})
    assert sum(sum(gpus.values()) for gpus in placed(decision).values()) == 4
    assert "j2" not in placed(decision)


def test_who_finds_no_room_of_its_kind_takes_the_other_and_is_booked_there() -> None:
    """j1 is spread over both nodes, so that no node is left to j0: it runs spread too, and its time counts as such."""
    seen_jobs = scenario([{"gpus": 2}, {"gpus": 2}], [2, 2], ROWS)
    decision, memory = decide(seen_jobs, {"j0": (0.9, 0.0), "j1": (0.0, 0.8)})
    assert placed(decision) == {"j0": {"a": 1, "b": 1}, "j1": {"a": 1, "b": 1}}
    assert memory.ran.kind.tolist() == [1, 1]


def test_the_core_runs_it_at_the_speed_of_its_placement() -> None:
    """Spread is faster here, so both run spread over both nodes: 3 steps/s, 900 steps in 300 s."""
    seen_jobs = scenario([{"gpus": 2, "steps": 900}] * 2, [2, 2], {("m", 2): (2.0, 3.0)})
    scheduler = find_scheduler("gavel.max_min_fairness")
    run = run_loop(seen_jobs, scheduler, AWARE)
    assert run.jobs["finish_s"].tolist() == pytest.approx([300.0, 300.0])
    assert set(run.shares["accelerator"]) == {"t"} and set(run.shares["placement"]) == {"unconsolidated"}
    assert allocation(shares_at(run.shares)).data["heads"]["text"].tolist() == ["t spread"]
    told = received_table(run.shares, run.timeline, run.decisions)
    assert (told["target"] == told["received"]).all() and len(told)
    assert run_loop(seen_jobs, scheduler).jobs["finish_s"].tolist() == pytest.approx([450.0, 450.0])
    assert flow(seen_jobs, scheduler.policy, scheduler.settle(AWARE)).end_s == pytest.approx(300.0)


@given(seed=st.integers(0, 10**6))
def test_every_placement_is_booked_as_what_it_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = rng.choice([1, 2, 4], int(rng.integers(2, 5))).tolist()
    rows = {("m", n): tuple(rng.uniform(0.5, 4.0, 2)) for n in (1, 2, 4)}
    jobs = [
        {"gpus": int(rng.choice([n for n in (1, 2, 4) if n <= sum(nodes)]))} for _ in range(int(rng.integers(1, 7)))
    ]
    seen_jobs = scenario(jobs, nodes, rows)
    shares = {f"j{i}": tuple(row) for i, row in enumerate((rng.random((len(jobs), 2)) / 2).tolist())}
    decision, memory = decide(seen_jobs, shares)
    snapshot = look(seen_jobs)
    assert len(decision.assign) == len(memory.ran.unit) > 0
    for a, kind in zip(decision.assign, memory.ran.kind.tolist(), strict=True):
        fewest = snapshot.cluster.fewest_nodes("t", sum(a.gpus.values()))
        assert fewest is not None
        assert (len(a.gpus) <= fewest) == (memory.plan.kinds[kind].placement == "consolidated")
        assert sum(a.gpus.values()) == snapshot.jobs.jobs[snapshot.jobs.at[str(a.unit)]].gpus
    run = run_loop(seen_jobs, find_scheduler("gavel.max_min_fairness"), AWARE)
    assert run.jobs["finish_s"].notna().all()


def test_names() -> None:
    assert [TOGETHER.name, SPREAD.name, PlacedType("t").name] == ["t", "t spread", "t"]
