"""FIFO, SRTF and LAS by hand, and against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given as with_random

from tests.baselines.mechanisms.support import given, look, make, on, scenarios
from workbench.base.errors import InputError
from workbench.baselines.fifo import Fifo
from workbench.baselines.isolated import IsolatedPolicy
from workbench.baselines.las import Las
from workbench.baselines.srtf import Srtf
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Memory, Scheduler
from workbench.scheduling.decision import Decision
from workbench.scheduling.snapshot import Snapshot
from workbench.session.registry import find_scheduler
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run

TYPES = {"a": ("slow", 2), "b": ("fast", 2)}
SPEEDS = {"slow": 1.0, "fast": 4.0}


def ask(scheduler: Scheduler, snapshot: Snapshot, **knobs: object) -> Decision:
    settled = scheduler.settle(knobs)
    gangs = make({"a": ("t", 8)}, [{"gpus": job.gpus} for job in snapshot.jobs.jobs])  # restarts cost nothing
    return scheduler.decide(snapshot, scheduler.start(gangs, settled), settled, np.random.default_rng(0))[0]


def finish(run: Run) -> dict[str, float]:
    return dict(zip(run.jobs["job"], run.jobs["finish_s"].tolist(), strict=True))


def mean_jct(run: Run) -> float:
    return float((run.jobs["finish_s"] - run.jobs["arrival_s"]).mean())


def test_fifo_takes_the_fastest_free_type_or_the_first() -> None:
    snapshot = look(make(TYPES, [{}, {"gpus": 2}, {}], SPEEDS))
    assert given(ask(Fifo(), snapshot)) == {"j0": {"b": 1}, "j1": {"a": 2}, "j2": {"b": 1}}
    agnostic = ask(Fifo(), snapshot, heterogeneity_aware=False)
    assert given(agnostic) == {"j0": {"a": 1}, "j1": {"b": 2}, "j2": {"a": 1}}


def test_fifo_head_of_the_line_blocks() -> None:
    snapshot = look(make(TYPES, [{}, {}, {"gpus": 2}, {"gpus": 2}, {}], SPEEDS), leases=[on("j0", a=1)])
    blocked = ask(Fifo(), snapshot)
    assert given(blocked) == {"j1": {"b": 1}} and not blocked.preempt
    assert given(ask(Fifo(), snapshot, blocking=False)) == {"j1": {"b": 1}, "j4": {"b": 1}}
    assert blocked.next_s == math.inf


def test_who_fits_nowhere_blocks_nobody() -> None:
    snapshot = look(make(TYPES, [{"gpus": 3}, {}]))
    assert given(ask(Fifo(), snapshot)) == {"j1": {"a": 1}}


def test_fifo_never_takes_gpus_away_and_renews_what_ends() -> None:
    snapshot = look(make(TYPES, [{"arrival_s": 0}, {}, {}], SPEEDS), ended=[on("j2", b=2)])
    decision = ask(Fifo(), look(make(TYPES, [{}, {}, {"gpus": 2}], SPEEDS), ended=[on("j2", b=2)]))
    assert given(decision) == {"j2": {"b": 2}, "j0": {"a": 1}, "j1": {"a": 1}}
    assert "j2" not in decision.why and decision.why["j0"].code == "next_in_line"
    assert snapshot.jobs.names == ("j0", "j1", "j2")


def test_srtf_takes_gpus_of_those_last_in_line_only_if_there_is_no_other_place() -> None:
    jobs = [{"steps": 4000, "gpus": 2}, {"steps": 800, "gpus": 2}, {"steps": 10}]
    leases = [on("j0", b=2), on("j1", a=2)]
    decision = ask(Srtf(), look(make(TYPES, jobs, SPEEDS), leases=leases))
    # remaining 500, 100 and 2.5 s at 4 steps/s a GPU: j2 pushes j0, the last in line, off the fast type
    assert given(decision) == {"j2": {"b": 1}} and decision.preempt == {"j0"}
    assert decision.why["j0"].code == "overtaken"
    assert dict(decision.signals["remaining_s"]) == {"j0": 500.0, "j1": 100.0, "j2": 2.5}
    free = look(make({**TYPES, "c": ("slow", 1)}, jobs, SPEEDS), leases=leases)
    assert given(ask(Srtf(), free)) == {"j2": {"c": 1}} and not ask(Srtf(), free).preempt


def test_srtf_victim_gets_what_is_left_elsewhere() -> None:
    jobs = [{"steps": 4000}, {"steps": 800}, {"steps": 10, "gpus": 2}]
    leases = [
        on("j0", b=1),
        on("j1", b=1),
    ]
    decision = ask(Srtf(), look(make({"a": ("slow", 1), "b": ("fast", 2)}, jobs, SPEEDS), leases=leases))
    assert given(decision) == {"j2": {"b": 2}, "j1": {"a": 1}}
    assert decision.preempt == {"j0", "j1"}


def test_las_serves_the_least_attained() -> None:
    scenario = make({"a": ("t", 1)}, [{"steps": 1000}, {"steps": 1000}])
    run = run_loop(scenario, Las(), {"round_s": 100.0})
    assert finish(run) == {"j0": 1900.0, "j1": 2000.0}
    assert run.jobs["preemptions"].tolist() == [9, 9]
    decision = ask(Las(), look(scenario, leases=[on("j0", a=1)], attained={"j0": 100.0}))
    assert decision.preempt == {"j0"} and given(decision) == {"j1": {"a": 1}} and decision.next_s is None


def test_las_is_quiet_when_everybody_runs() -> None:
    scenario = make({"a": ("t", 2)}, [{"steps": 10_000}, {"steps": 20_000}])
    assert len(run_loop(scenario, Las()).decisions) == 2


def test_events_or_rounds() -> None:
    scenario = make({"a": ("t", 1)}, [{"steps": 50}, {"steps": 50, "arrival_s": 10}])
    assert finish(run_loop(scenario, Fifo(), {"round_s": 0})) == {"j0": 50.0, "j1": 100.0}
    assert finish(run_loop(scenario, Fifo(), {"round_s": 60})) == {"j0": 50.0, "j1": 110.0}


@with_random(scenarios())
def test_skipped_rounds_change_nothing(scenario: Scenario) -> None:
    """SRTF leaves out rounds between arrivals and completions; asked in each of them it does the same."""

    class Eager(Srtf):
        def decide(
            self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
        ) -> tuple[Decision, Memory]:
            decision, memory = super().decide(snapshot, memory, knobs, rng)
            return Decision(decision.assign, decision.preempt), memory

    lazy, eager = run_loop(scenario, Srtf()), run_loop(scenario, Eager())
    assert lazy.jobs.equals(eager.jobs)
    assert len(lazy.decisions) <= len(eager.decisions)


@pytest.mark.parametrize("seed", range(5))
def test_srtf_is_no_worse_than_fifo_when_preemption_is_free(seed: int) -> None:
    """One type, single GPUs, decided at every event: the mean JCT of SRTF is optimal on one GPU."""
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(100.0, 40)).tolist()
    jobs = [{"steps": float(s), "arrival_s": a} for s, a in zip(rng.exponential(90.0, 40) + 1, arrivals, strict=True)]
    scenario = make({"a": ("t", 1)}, jobs)
    srtf, fifo = run_loop(scenario, Srtf(), {"round_s": 0}), run_loop(scenario, Fifo(), {"round_s": 0})
    assert mean_jct(srtf) <= mean_jct(fifo) + 1e-6
    assert srtf.jobs["finish_s"].max() == pytest.approx(fifo.jobs["finish_s"].max())


def apart_is_impossible(scenario: Scenario) -> Scenario:
    """The same where gangs of two do not run on two nodes."""
    split = {"model": "m", "accelerator": "t", "gpus": 2, "placement": "unconsolidated", "steps_per_s": 0}
    return scenario.replace(throughputs=(*scenario.throughputs, split))


@pytest.mark.parametrize("scheduler", [Srtf(), Las()], ids=["srtf", "las"])
def test_nobody_makes_room_for_a_gang_that_cannot_run_there(scheduler: Scheduler) -> None:
    jobs = [{"steps": 2e6}, {"steps": 5}, {"steps": 1e6}, {"steps": 6}, {"steps": 1000, "gpus": 2}]
    scenario = apart_is_impossible(make({"a": ("t", 2), "b": ("t", 2)}, jobs))
    leases = [on("j0", a=1), on("j1", a=1), on("j2", b=1), on("j3", b=1)]
    attained = {"j0": 2e4, "j1": 0.0, "j2": 1e4, "j3": 0.0, "j4": 100.0}
    decision = ask(scheduler, look(scenario, leases=leases, attained=attained))
    assert not decision.assign and not decision.preempt and not decision.why
    # once j1 is done, j0 makes room on its node, and nobody else
    later = look(scenario, 10.0, leases=[leases[0], *leases[2:]], gone=["j1"], attained=attained)
    decision = ask(scheduler, later)
    assert given(decision) == {"j4": {"a": 2}} and decision.preempt == {"j0"}


def test_those_who_made_room_in_vain_stay() -> None:
    jobs = [{"steps": 1e5}, {"steps": 1e4}, {"steps": 1e6}, {"steps": 5}, {"steps": 1000, "gpus": 2}]
    scenario = apart_is_impossible(make({"a": ("t", 2), "b": ("t", 2)}, jobs))
    leases = [on("j0", a=1), on("j1", a=1), on("j2", b=1), on("j3", b=1)]
    decision = ask(Srtf(), look(scenario, leases=leases))
    # j2 on b goes first and is not enough: j4 gets node a, j0 the GPU that j2 had, or j2 stays
    moved = given(decision)
    assert moved["j4"] == {"a": 2} and "j3" not in decision.preempt
    assert "j1" in moved and decision.preempt == {"j0", "j1", "j2"} - ({"j2"} if "j2" in moved else set())


def test_a_gang_that_cannot_run_apart_blocks_fifo() -> None:
    jobs = [{}, {}, {}, {"gpus": 2}, {}]
    nodes = {"a": ("t", 2), "b": ("t", 2), "c": ("t", 2)}
    scenario = apart_is_impossible(make(nodes, jobs))
    leases = [on("j0", a=1), on("j1", b=1), on("j2", c=1)]
    assert given(ask(Fifo(), look(scenario, leases=leases))) == {}
    assert given(ask(Fifo(), look(scenario, leases=leases), blocking=False)) == {"j4": {"a": 1}}


def test_fifo_in_rounds_of_gavel_needs_rounds() -> None:
    with pytest.raises(InputError, match="round_s") as caught:
        Fifo().settle({"preset": "authors", "round_s": 0})
    assert caught.value.value == 0
    assert Fifo().settle({"round_s": 0})["round_s"] == 0


# The isolated shares through Gavel's rounds


def test_each_job_owns_its_part_of_each_type() -> None:
    snapshot = look(make({"a": ("fast", 2), "b": ("slow", 4)}, [{}, {"gpus": 2}]))
    found = IsolatedPolicy()(snapshot, {})
    assert found.shares.values == pytest.approx(np.array([[1 / 3, 2 / 3], [1 / 3, 2 / 3]]))


def test_a_job_spends_its_time_as_divided() -> None:
    scenario = make({"a": ("fast", 1), "b": ("slow", 1)}, [{"steps": 36_000} for _ in range(2)], {"fast": 1, "slow": 1})
    run = run_loop(scenario, find_scheduler("isolated"))
    used = (
        run.timeline.assign(s=run.timeline["end_s"] - run.timeline["start_s"])
        .groupby(["job", "accelerator"])["s"]
        .sum()
    )
    assert used["j0", "fast"] == pytest.approx(18_000, abs=360)
    assert used["j1", "slow"] == pytest.approx(18_000, abs=360)
