"""Tiresias: its queues, orders and promotions by hand, the Gittins index against its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given as with_random
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import OneType, given, look, make, on, scenarios
from workbench.base.errors import InputError
from workbench.baselines.fifo import Fifo
from workbench.baselines.las import Las
from workbench.baselines.tiresias import AttainedService, Tiresias, TiresiasMemory, gittins_index, services_gpu_s
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Decision
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run

NOBODY = TiresiasMemory({}, np.zeros(0))


def ask(snapshot: Snapshot, memory: TiresiasMemory = NOBODY, **knobs: object) -> tuple[Decision, TiresiasMemory]:
    return Tiresias().decide(snapshot, memory, Tiresias().settle(knobs), np.random.default_rng(0))


def finish(run: Run) -> dict[str, float]:
    return dict(zip(run.jobs["job"], run.jobs["finish_s"].tolist(), strict=True))


def one_gpu(*steps: float, **more: float) -> Scenario:
    return make({"a": ("t", 1)}, [{"steps": count, **more} for count in steps])


def test_two_long_jobs_by_hand() -> None:
    """Each has its 200 GPU-seconds in the first queue; then the first to have started runs on, and the other."""
    run = run_loop(one_gpu(500, 500), Tiresias(), {"round_s": 100.0, "threshold_gpu_s": 200.0})
    # j0 0-200, j1 200-400, j0 400-700 (done), j1 700-1000
    assert finish(run) == {"j0": 700.0, "j1": 1000.0}
    assert run.jobs["preemptions"].tolist() == [1, 1]


def test_a_new_job_goes_before_those_that_have_fallen() -> None:
    scenario = make({"a": ("t", 1)}, [{"steps": 1000}, {"steps": 150, "arrival_s": 300}])
    run = run_loop(scenario, Tiresias(), {"round_s": 100.0, "threshold_gpu_s": 200.0})
    assert finish(run) == {"j1": 450.0, "j0": 1200.0}  # j1 300-450; the GPU is given out again at 500
    first = run_loop(scenario, Tiresias(), {"round_s": 100.0, "threshold_gpu_s": math.inf})
    assert finish(first) == {"j0": 1000.0, "j1": 1150.0}  # one queue: first in, first out


def test_service_counts_gpus_times_seconds() -> None:
    scenario = make({"a": ("t", 2)}, [{"steps": 2000, "gpus": 2}, {"steps": 1000}])
    snapshot = look(scenario, 100.0, leases=[on("j0", a=2)], attained={"j0": 200.0})
    decision, _ = ask(snapshot, threshold_gpu_s=200.0)
    assert decision.preempt == {"j0"} and given(decision) == {"j1": {"a": 1}}
    assert dict(decision.signals["queue"]) == {"j0": 2.0, "j1": 1.0}
    stays, _ = ask(snapshot, threshold_gpu_s=200.1)
    assert not stays.preempt and not stays.assign
    # A rounding error below the threshold is at the threshold.
    assert (
        ask(look(scenario, 100.0, attained={"j0": 200.0 - 1e-10}), threshold_gpu_s=200.0)[0].signals["queue"]["j0"] == 2
    )


def test_within_a_queue_those_that_have_started_come_first() -> None:
    """An earlier gang that did not fit pre-empts nobody of its queue; by arrival it does."""
    jobs = [{"gpus": 2}, {}, {}]
    scenario = make({"a": ("t", 2)}, jobs)
    snapshot = look(scenario, 50.0, leases=[on("j1", a=1)], attained={"j1": 50.0})
    by_start, memory = ask(snapshot)
    assert not by_start.preempt and given(by_start) == {"j2": {"a": 1}}
    assert memory.courses == {"j1": AttainedService(50.0, 0.0, 0.0)}
    by_arrival, _ = ask(snapshot, rank="arrival")
    assert by_arrival.preempt == {"j1"} and given(by_arrival) == {"j0": {"a": 2}}


def test_order_of_first_start_is_kept_over_pauses() -> None:
    scenario = one_gpu(1000, 1000, 1000)
    courses = {"j0": AttainedService(500.0, 0.0, 0.0), "j1": AttainedService(100.0, 0.0, 0.0)}
    snapshot = look(scenario, 900.0, attained={"j0": 300.0, "j1": 300.0})
    assert given(ask(snapshot, TiresiasMemory(courses, np.zeros(0)))[0]) == {"j1": {"a": 1}}
    assert given(ask(snapshot, TiresiasMemory(courses, np.zeros(0)), rank="arrival")[0]) == {"j0": {"a": 1}}


def test_types_are_all_the_same_to_it() -> None:
    scenario = make({"a": ("slow", 1), "b": ("fast", 1)}, [{}], {"slow": 1.0, "fast": 9.0})
    assert given(ask(look(scenario))[0]) == {"j0": {"a": 1}}


def test_promotion_by_hand() -> None:
    """j0 fell at 100 s and waits while j1 and j2 have theirs; with the knob at 1 it is back after 100 s of waiting."""
    scenario = one_gpu(300, 100, 100)
    knobs = {"round_s": 50.0, "threshold_gpu_s": 100.0}
    # off: j0 0-100, j1 100-200, j2 200-300, j0 300-500
    assert finish(run_loop(scenario, Tiresias(), knobs)) == {"j1": 200.0, "j2": 300.0, "j0": 500.0}
    # 0.5: by 150 s it has waited 50 = 0.5 x 100 and is first in the first queue, having started first;
    # it pre-empts j1, falls again at 250, and is back at 300: 300-400. j1 250-300 and j2 400-500.
    promoted = run_loop(scenario, Tiresias(), {**knobs, "promote_knob": 0.5})
    assert finish(promoted) == {"j1": 300.0, "j0": 400.0, "j2": 500.0}


def test_promotion_starts_service_and_wait_anew_and_those_who_run_are_not_promoted() -> None:
    scenario = one_gpu(1e6, 1e6)
    memory = TiresiasMemory({"j0": AttainedService(0.0, 0.0, 0.0)}, np.zeros(0))
    waiting = look(scenario, 10_000.0, attained={"j0": 4000.0})
    waiting.jobs.waited_s[:] = [4000.0, 0.0]
    _, after = ask(waiting, memory, promote_knob=1.0)
    assert after.courses["j0"] == AttainedService(0.0, 4000.0, 4000.0)
    assert ask(waiting, memory, promote_knob=1.01)[1].courses["j0"] == AttainedService(0.0, 0.0, 0.0)
    running = look(scenario, 10_000.0, leases=[on("j0", a=1)], attained={"j0": 4000.0})
    running.jobs.waited_s[:] = [4000.0, 0.0]
    assert ask(running, memory, promote_knob=1.0)[1].courses["j0"] == AttainedService(0.0, 0.0, 0.0)


def test_finished_jobs_are_forgotten() -> None:
    memory = TiresiasMemory({"j0": AttainedService(0.0, 0.0, 0.0), "j1": AttainedService(1.0, 0.0, 0.0)}, np.zeros(0))
    assert set(ask(look(one_gpu(10, 10), gone=["j0"]), memory)[1].courses) == {"j1"}


@pytest.mark.parametrize(
    "knobs", [{"rank": "las"}, {"threshold_gpu_s": -1.0}, {"promote_knob": 0.0}, {"round_s": 0.0}, {"queues": 3}]
)
def test_knobs_that_make_no_sense(knobs: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Tiresias().settle(knobs)


# ---- the Gittins index ----


def by_definition(sample: list[float], attained: float, quantum: float) -> float:
    """The index over the sample, term by term."""
    longer = [s - attained for s in sample if s > attained]
    if not longer:
        return 0.0
    chance = sum(left <= quantum for left in longer) / len(longer)
    return chance / (sum(min(left, quantum) for left in longer) / len(longer))


def test_gittins_index_by_hand() -> None:
    sample = np.array([1.0, 2.0, 10.0])
    # a = 0, D = 2: two of three are done, at a cost of (1 + 2 + 2) / 3
    assert gittins_index(sample, np.array([0.0]), np.array([2.0])) == pytest.approx([2 / 5])
    # a = 2: only the longest is left, 8 to go; and nobody outlives it
    assert gittins_index(sample, np.array([2.0, 10.0]), np.array([np.inf, np.inf])) == pytest.approx([1 / 8, 0.0])


@with_random(
    st.lists(st.integers(1, 50), min_size=1, max_size=12),
    st.integers(0, 60),
    st.one_of(st.integers(1, 60), st.just(math.inf)),
)
def test_gittins_index_is_its_definition(sample: list[int], attained: int, quantum: float) -> None:
    found = gittins_index(np.sort(np.array(sample, dtype=float)), np.array([float(attained)]), np.array([quantum]))
    assert found == pytest.approx([by_definition([float(s) for s in sample], attained, quantum)])


def test_gittins_index_of_known_distributions() -> None:
    """Exponential services have no memory; where jobs are either short or very long, the index falls with service."""
    rng = np.random.default_rng(0)
    memoryless = np.sort(rng.exponential(100.0, 200_000))
    found = gittins_index(memoryless, np.array([0.0, 50.0, 200.0]), np.array([30.0, 30.0, 30.0]))
    assert found == pytest.approx([0.01] * 3, rel=0.03)
    mixed = np.sort(np.where(rng.random(50_000) < 0.5, 10.0, 1000.0))
    falling = gittins_index(mixed, np.array([0.0, 10.0]), np.array([np.inf, np.inf]))
    assert falling[0] > falling[1]


def test_services_are_those_of_the_scenario() -> None:
    nodes = {"a": ("slow", 1), "b": ("fast", 3)}
    jobs = [{"steps": 700}, {"steps": 140, "gpus": 1, "attained_s": 5.0, "steps_done": 70}]
    scenario = make(nodes, jobs, {"slow": 1.0, "fast": 9.0})
    # the mean speed is (1 x 1 + 3 x 9) / 4 = 7
    assert services_gpu_s(scenario).tolist() == [15.0, 100.0]


def test_gittins_ranks_the_queue_by_hand() -> None:
    """Of two jobs in the first queue, the one that is likelier to be done by the threshold goes first."""
    scenario = one_gpu(100, 100, 100, 1000)  # services 100 (three times) and 1000
    memory = Tiresias().start(scenario, Tiresias().settle({"rank": "gittins"}))
    snapshot = look(scenario, 100.0, gone=["j0", "j1"], attained={"j3": 90.0, "j2": 20.0})
    assert given(ask(snapshot, memory, rank="gittins")[0]) == {"j3": {"a": 1}}  # 10 s to go with chance 3/4
    assert given(ask(snapshot, memory, rank="arrival")[0]) == {"j2": {"a": 1}}


# ---- properties ----


@with_random(scenarios())
def test_nobody_fallen_and_everybody_fallen_are_the_same(scenario: Scenario) -> None:
    """A threshold of 0 and none at all are one queue each: the same runs."""
    for rank in ("start", "arrival"):
        all_behind = run_loop(scenario, Tiresias(), {"threshold_gpu_s": 0.0, "rank": rank})
        all_before = run_loop(scenario, Tiresias(), {"threshold_gpu_s": math.inf, "rank": rank})
        assert all_behind.jobs.equals(all_before.jobs)


class Ordered(OneType):
    """Watched, and nobody of the second queue holds GPUs that one who waits in the first could have."""

    def check(self, snapshot: Snapshot, decision: Decision) -> None:
        super().check(snapshot, decision)
        jobs, queue = snapshot.jobs, decision.signals["queue"]
        held = {unit: lease.gpus for unit, lease in snapshot.leases.items() if unit not in decision.preempt}
        held |= {a.unit: a.gpus for a in decision.assign}
        kind = dict(zip(snapshot.nodes.names, snapshot.nodes.kind.tolist(), strict=True))
        speeds = snapshot.belief.speeds(jobs)
        for row, name in enumerate(jobs.names):
            if name in held or queue[name] == 2:
                continue
            for unit, gpus in held.items():
                takes = speeds[row, kind[next(iter(gpus))]] > 0 and jobs.gpus[row] <= sum(gpus.values())
                assert not (takes and queue[str(unit)] == 2), f"{unit} runs, {name} waits"


@with_random(scenarios())
def test_nobody_waits_in_the_first_queue_for_gpus_of_the_second(scenario: Scenario) -> None:
    run = run_loop(scenario, Ordered(Tiresias()), {"round_s": 60.0, "threshold_gpu_s": 300.0})
    assert run.jobs["finish_s"].notna().all()


def test_fewer_preemptions_than_plain_las_and_short_jobs_sooner_than_first_in_first_out() -> None:
    rng = np.random.default_rng(1)
    steps = np.where(rng.random(40) < 0.5, 500.0, 20_000.0)
    scenario = make({"a": ("t", 4)}, [{"steps": float(s), "arrival_s": 400.0 * i} for i, s in enumerate(steps)])
    las, tiresias, fifo = (run_loop(scenario, scheduler) for scheduler in (Las(), Tiresias(), Fifo()))
    assert tiresias.jobs["preemptions"].sum() < las.jobs["preemptions"].sum()
    jct = {run.scheduler: (run.jobs["finish_s"] - run.jobs["arrival_s"]).to_numpy() for run in (tiresias, fifo)}
    assert jct["tiresias"][steps == 500].mean() < jct["fifo"][steps == 500].mean() / 5
