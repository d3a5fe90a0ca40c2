"""EDF: deadlines in order, best effort makes room and jobs with deadlines do not, by hand and on random scenarios."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given as with_random
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import given, look, make, on, scenarios
from workbench.baselines.edf import Edf
from workbench.baselines.fifo import Fifo
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Decision
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run


def slo(deadline_s: float, **more: Any) -> dict[str, Any]:
    return {"rewards": [[deadline_s, 100.0]], **more}


def ask(snapshot: Snapshot, **knobs: object) -> Decision:
    return Edf().decide(snapshot, None, Edf().settle(knobs), np.random.default_rng(0))[0]


def finish(run: Run) -> dict[str, float]:
    return dict(zip(run.jobs["job"], run.jobs["finish_s"].tolist(), strict=True))


def with_rewards(scenario: Scenario, deadlines_s: list[float | None]) -> Scenario:
    """The scenario with deadlines dealt out to its jobs in turn; none: best effort."""
    jobs = [
        job.model_copy(update={"rewards": None if at is None else ((at, 100.0), (2 * at, 50.0))})
        for job, at in zip(scenario.jobs, deadlines_s * len(scenario.jobs), strict=False)
    ]
    return scenario.replace(jobs=jobs)


def test_the_earliest_deadline_counts_from_the_arrival_and_best_effort_comes_last() -> None:
    jobs = [{"steps": 100}, slo(900, steps=100), slo(300, steps=100, arrival_s=50), slo(500, steps=100, arrival_s=50)]
    run = run_loop(make({"n": ("t", 1)}, jobs), Edf(), {"round_s": 0.0})
    # j1 (due 900) runs from 0 and keeps its GPU; then j2 (due 350), j3 (due 550), j0
    assert finish(run) == {"j1": 100.0, "j2": 200.0, "j3": 300.0, "j0": 400.0}


def test_best_effort_makes_room_the_last_one_first_and_no_more_than_needed() -> None:
    scenario = make({"n": ("t", 3)}, [{}, {"arrival_s": 1}, slo(300, steps=100, arrival_s=2), {"arrival_s": 3}])
    snapshot = look(scenario, 5.0, leases=[on("j0", n=1), on("j1", n=1), on("j3", n=1)])
    decision = ask(snapshot)
    assert decision.preempt == {"j3"} and given(decision) == {"j2": {"n": 1}}


def test_a_job_with_a_deadline_never_makes_room() -> None:
    scenario = make({"n": ("t", 1)}, [slo(9000), slo(2000, arrival_s=1)])
    decision = ask(look(scenario, 5.0, leases=[on("j0", n=1)]))
    assert not decision.preempt and not decision.assign


def test_best_effort_does_not_take_from_best_effort() -> None:
    scenario = make({"n": ("t", 2)}, [{"gpus": 2}, {"arrival_s": 1}])
    decision = ask(look(scenario, 5.0, leases=[on("j1", n=1)]))
    assert not decision.preempt and not decision.assign


def test_only_the_first_deadline_of_a_soft_job_counts() -> None:
    soft = {"rewards": [[400.0, 100.0], [800.0, 50.0]]}
    scenario = make({"n": ("t", 1)}, [slo(500), soft])
    assert set(given(ask(look(scenario)))) == {"j1"}
    assert dict(ask(look(scenario)).signals["deadline_s"]) == {"j0": 500.0, "j1": 400.0}


def test_a_job_whose_deadline_is_over_keeps_its_place_or_goes_to_best_effort() -> None:
    scenario = make({"n": ("t", 1)}, [slo(100), slo(9000)])
    snapshot = look(scenario, 200.0)
    assert set(given(ask(snapshot))) == {"j0"}
    assert set(given(ask(snapshot, missed="best_effort"))) == {"j1"}
    assert set(given(ask(look(scenario, 100.0), missed="best_effort"))) == {"j0"}  # at its deadline it is not over


@with_random(scenarios())
def test_without_deadlines_it_is_first_in_first_out(scenario: Scenario) -> None:
    edf = run_loop(scenario, Edf(), {"round_s": 60.0})
    fifo = run_loop(scenario, Fifo(), {"round_s": 60.0, "blocking": False})
    assert edf.timeline.equals(fifo.timeline)


@with_random(scenarios(), st.lists(st.sampled_from([None, 50.0, 300.0, 2000.0]), min_size=1, max_size=4))
def test_jobs_with_deadlines_are_preempted_by_faults_only(scenario: Scenario, deadlines_s: list[float | None]) -> None:
    run = run_loop(with_rewards(scenario, deadlines_s), Edf())
    assert run.jobs["finish_s"].notna().all()
    slo_jobs = {job.name for job in run.scenario.jobs if job.rewards}
    lost = run.events[(run.events["event"] == "preempt") & run.events["job"].isin(slo_jobs)]
    assert lost["reason"].str.contains("failed|is down").all()
