"""Small runs worked out by hand: who holds what, when, and what it costs. Rounds last 60 s unless a test says else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from pytest import approx

from tests.simulation.support import Scripted, check, events, give, greedy, make, row, rows, script
from workbench.decision import Assignment, Decision, Reason, Shares, Snapshot, Solution
from workbench.run import Run
from workbench.scenario import Scenario
from workbench.simulation.loop import Stalled, simulate
from workbench.simulation.observers import Progress, Report
from workbench.simulation.stop import CancelFlag, Cancelled, Until, WindowFinished

A, B = {"a-0": 1}, {"b-0": 1}
RESTART_10 = {"restart": {"restart_s": 10.0}}
EMPTY = Decision()


def two_nodes(jobs: list[dict[str, Any]], **core: Any) -> Scenario:
    """Nodes a-0 and b-0 of one GPU each, 1 step/s."""
    return make(jobs, {"a": 1, "b": 1}, core=core)


def played(scenario: Scenario, steps: dict[float, Decision], stop: Any = None, **timing: Any) -> Run:
    run = simulate(scenario, script(steps, **timing), stop=stop)
    check(run)
    return run


def spans(run: Run, job: str) -> list[tuple[str, str, float, float]]:
    return [(node, kind, start_s, end_s) for node, _, _, kind, start_s, end_s in rows(run, job)]


# Restarts ------------------------------------------------------------------------------------------------------------


def test_first_start_and_renewals_are_free() -> None:
    run = played(
        two_nodes([{"steps": 150.0}], **RESTART_10), {60.0 * i: give("j0", A, 60.0 * i + 60) for i in range(3)}
    )
    assert spans(run, "j0") == [("a-0", "run", 0.0, 150.0)]
    assert (row(run, "j0").restarts, row(run, "j0").renewals, row(run, "j0").preemptions) == (0, 2, 0)
    assert events(run, "j0") == [(0, "arrival"), (0, "start"), (60, "renew"), (120, "renew"), (150, "finish")]
    assert run.end_s == 150.0


def test_a_move_pays() -> None:
    run = played(two_nodes([{"steps": 100.0}], **RESTART_10), {0.0: give("j0", A, 60.0), 60.0: give("j0", B)})
    assert spans(run, "j0") == [("a-0", "run", 0, 60), ("b-0", "restart", 60, 70), ("b-0", "run", 70, 110)]
    r = row(run, "j0")
    assert (r.restarts, r.moves, r.preemptions, r.finish_s, r.attained_s, r.run_s) == (1, 1, 0, 110, 110, 100)


def test_a_pause_pays_even_on_the_same_gpu() -> None:
    run = played(two_nodes([{"steps": 100.0}], **RESTART_10), {0.0: give("j0", A, 60.0), 120.0: give("j0", A)})
    assert spans(run, "j0") == [("a-0", "run", 0, 60), ("a-0", "restart", 120, 130), ("a-0", "run", 130, 170)]
    r = row(run, "j0")
    assert (r.restarts, r.moves, r.preemptions, r.waited_s) == (1, 0, 1, 60)
    assert events(run, "j0")[2] == (60, "preempt")


def test_an_early_preemption_pays_and_keeps_the_steps() -> None:
    stop = Decision(preempt=frozenset({"j0"}))
    steps = {0.0: give("j0", A), 60.0: stop, 120.0: give("j0", A)}
    assert row(played(two_nodes([{"steps": 100.0}], **RESTART_10), steps), "j0").finish_s == 170


def test_preempted_and_given_the_same_again_goes_on() -> None:
    again = Decision(assign=(Assignment("j0", A, 90.0),), preempt=frozenset({"j0"}))
    run = played(two_nodes([{"steps": 80.0}], **RESTART_10), {0.0: give("j0", A), 60.0: again})
    assert spans(run, "j0") == [("a-0", "run", 0, 80)]


@pytest.mark.parametrize(("gpus", "cost_s"), [(1, 10.0), (2, 20.0), (4, 30.0)])
def test_log2_restart(gpus: int, cost_s: float) -> None:
    core = {"restart": {"law": "log2", "restart_s": 10.0}}
    scenario = make([{"steps": 100.0 * gpus, "gpus": gpus}], {"a": gpus, "b": gpus}, core=core)
    run = played(scenario, {0.0: give("j0", {"a-0": gpus}, 60.0), 60.0: give("j0", {"b-0": gpus})})
    assert row(run, "j0").finish_s == 100 + cost_s


def test_a_restart_cut_short_is_paid_again() -> None:
    core = {"restart": {"restart_s": 90.0}}
    steps = {0.0: give("j0", A, 60.0), 60.0: give("j0", B, 120.0), 120.0: give("j0", A)}
    run = played(two_nodes([{"steps": 100.0}], **core), steps)
    assert spans(run, "j0")[1:] == [("b-0", "restart", 60, 120), ("a-0", "restart", 120, 210), ("a-0", "run", 210, 250)]


def test_what_ran_at_the_start_may_go_on_or_move_or_stop() -> None:
    running = [{"job": "j0", "gpus": {"a-0": 1}}]
    scenario = make([{"steps": 30.0}], {"a": 1, "b": 1}, core=RESTART_10, running=running)
    assert row(played(scenario, {0.0: give("j0", A)}), "j0").finish_s == 30
    assert row(played(scenario, {0.0: give("j0", B)}), "j0").finish_s == 40
    stopped = played(scenario, {60.0: give("j0", A)})
    assert row(stopped, "j0").finish_s == 100 and row(stopped, "j0").preemptions == 1


def test_steps_done_and_attained_before_the_start_count() -> None:
    run = played(two_nodes([{"steps": 100.0, "steps_done": 70.0, "attained_s": 500.0}]), {0.0: give("j0", A)})
    assert row(run, "j0").finish_s == 30 and row(run, "j0").attained_s == 530


# Caps, profiles, copies, tails ---------------------------------------------------------------------------------------


def test_after_its_steps_a_unit_holds_its_gpus() -> None:
    run = played(two_nodes([{"steps": 100.0}]), {0.0: give("j0", A, 60.0, steps=25.0), 60.0: give("j0", A)})
    assert spans(run, "j0") == [("a-0", "run", 0, 25), ("a-0", "hold", 25, 60), ("a-0", "run", 60, 135)]
    assert row(run, "j0").attained_s == 135 and row(run, "j0").run_s == 100


def test_profiling_counts_its_steps_unless_told_not_to() -> None:
    steps = {0.0: give("j0", A, 60.0, kind="profile"), 60.0: give("j0", A)}
    kept = played(two_nodes([{"steps": 100.0}]), steps)
    assert spans(kept, "j0") == [("a-0", "profile", 0, 60), ("a-0", "run", 60, 100)]
    assert row(kept, "j0").moves == 1  # another kind of assignment is a new one
    lost = played(two_nodes([{"steps": 100.0}]), {**steps, 0.0: give("j0", A, 60.0, kind="profile", steps=0.0)})
    assert spans(lost, "j0") == [("a-0", "profile", 0, 60), ("a-0", "run", 60, 160)]


def copies(until_s: float, steps: tuple[float, float], tail_s: float = 5.0) -> Decision:
    gpus = (A, B)
    return Decision(
        assign=tuple(Assignment(("j0", i), gpus[i], until_s, steps=steps[i], tail_s=tail_s) for i in range(2))
    )


def test_copies_consolidate_at_the_end_of_their_assignment() -> None:
    steps = {0.0: copies(60.0, (30.0, 100.0)), 60.0: copies(120.0, (100.0, 100.0))}
    run = played(two_nodes([{"steps": 200.0}]), steps, stop=Until(120.0))
    first = [("a-0", "run", 0, 30), ("b-0", "run", 0, 55), ("a-0", "hold", 30, 55)]
    assert spans(run, "j0")[:3] == first
    assert spans(run, "j0")[3:5] == [("a-0", "consolidate", 55, 60), ("b-0", "consolidate", 55, 60)]
    assert row(run, "j0").steps_done == 85 + 55 + 55


def test_copies_that_complete_the_job_consolidate_at_once() -> None:
    run = played(two_nodes([{"steps": 50.0}]), {0.0: copies(60.0, (20.0, 30.0))})
    assert spans(run, "j0") == [
        ("a-0", "run", 0, 20),
        ("b-0", "run", 0, 30),
        ("a-0", "hold", 20, 30),
        ("a-0", "consolidate", 30, 35),
        ("b-0", "consolidate", 30, 35),
    ]
    assert row(run, "j0").finish_s == 35 and row(run, "j0").waited_s == 0 and row(run, "j0").attained_s == 70


def test_a_copy_that_fails_after_its_share_loses_it_and_the_job_does_not_end() -> None:
    faults = {"list": [{"node": "a-0", "from_s": 25.0, "to_s": 30.0}]}
    scenario = two_nodes([{"steps": 50.0}], faults=faults)
    run = played(scenario, {0.0: copies(60.0, (20.0, 30.0)), 60.0: give("j0", B)})
    assert row(run, "j0").steps_lost == 20
    assert row(run, "j0").finish_s == 80  # 30 steps by the other copy, 20 again from 60 s on
    assert ("b-0", "hold", 30, 55) in spans(run, "j0") and ("b-0", "consolidate", 55, 60) in spans(run, "j0")


# Pairs ---------------------------------------------------------------------------------------------------------------


def pair_world(**core: Any) -> Scenario:
    shared = {"model": "m", "with_model": "n", "accelerator": "t", "steps_per_s": 0.5, "with_steps_per_s": 0.8}
    data = make([{"steps": 30.0}], 1).to_dict()
    data["jobs"].append({"name": "j1", "model": "n", "steps": 100.0})
    data["throughputs"].append({"model": "n", "accelerator": "t", "steps_per_s": 2.0})
    return Scenario.from_dict(data | {"colocated": [shared], "core": {"space_sharing": True, **core}})


def test_when_one_of_a_pair_finishes_the_other_goes_on_alone() -> None:
    run = played(pair_world(**RESTART_10), {0.0: give(("j0", "j1"), {"n-0": 1})})
    # j0: 30 / 0.5 = 60 s; by then j1 has 48 steps; 52 more at 2 steps/s: 86 s
    assert [r[2:] for r in rows(run)] == [("j0 + j1", "run", 0, 60), ("j1", "run", 60, 86)]
    assert run.timeline.steps.tolist() == [30, 52] and run.timeline.with_steps.tolist() == [48, 0]
    assert row(run, "j1").restarts == 0 and row(run, "j1").preemptions == 0 and row(run, "j1").moves == 0


def test_a_pair_named_the_other_way_round() -> None:
    run = played(pair_world(), {0.0: give(("j1", "j0"), {"n-0": 1})})
    assert row(run, "j0").finish_s == 60 and row(run, "j1").finish_s == 86


def test_the_cap_of_a_pair_stays_for_the_one_that_goes_on() -> None:
    run = played(pair_world(), {0.0: give(("j0", "j1"), {"n-0": 1}, 120.0, steps=60.0), 120.0: give("j1", {"n-0": 1})})
    # 48 of j1's 60 steps are done at 60 s, the other 12 take 6 s
    assert [r[2:] for r in rows(run, "j1")][1:3] == [("j1", "run", 60, 66), ("j1", "hold", 66, 120)]
    assert row(run, "j1").finish_s == 140


def test_both_of_a_pair_at_once() -> None:
    data = pair_world().to_dict()
    data["jobs"][1]["steps"] = 48.0
    run = played(Scenario.from_dict(data), {0.0: give(("j0", "j1"), {"n-0": 1})})
    assert run.jobs.finish_s.tolist() == [60, 60] and len(run.timeline) == 1


def test_going_alone_is_the_same_run_for_a_checkpoint() -> None:
    core = {"faults": {"list": [{"node": "n-0", "from_s": 70.0, "to_s": 75.0}]}}
    steps = {0.0: give(("j0", "j1"), {"n-0": 1}), 120.0: give("j1", {"n-0": 1})}
    everything = played(pair_world(**core), steps)
    assert row(everything, "j1").steps_lost == approx(48 + 20)
    since_50 = played(pair_world(**core, checkpoint_s=25.0), steps)
    assert row(since_50, "j1").steps_lost == approx(10 * 0.8 + 20)  # from the checkpoint at 50 s
    since_60 = played(pair_world(**core, checkpoint_s=60.0), steps)
    assert row(since_60, "j1").steps_lost == approx(20)


# Faults --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("checkpoint_s", "lost"), [(None, 45.0), (20.0, 5.0), (45.0, 0.0), (100.0, 45.0)])
def test_a_fault_loses_the_steps_since_the_last_checkpoint(checkpoint_s: float | None, lost: float) -> None:
    faults = {"list": [{"node": "a-0", "from_s": 45.0, "to_s": 100.0}]}
    scenario = two_nodes([{"steps": 50.0}], checkpoint_s=checkpoint_s, faults=faults, **RESTART_10)
    run = played(scenario, {0.0: give("j0", A), 60.0: give("j0", B)})
    assert row(run, "j0").steps_lost == lost
    assert row(run, "j0").finish_s == 60 + 10 + 5 + lost
    assert [r[2:] for r in rows(run) if r[3] == "down"] == [("", "down", 45, min(100, row(run, "j0").finish_s))]
    assert events(run)[0] == (45, "fault")


def test_checkpoints_go_on_while_a_unit_holds() -> None:
    faults = {"list": [{"node": "a-0", "from_s": 110.0, "to_s": 115.0}]}
    steps = {0.0: give("j0", A, 120.0, steps=50.0), 120.0: give("j0", A)}
    run = played(two_nodes([{"steps": 80.0}], checkpoint_s=100.0, faults=faults), steps)
    assert row(run, "j0").steps_lost == 0 and row(run, "j0").finish_s == 150


def test_a_renewal_keeps_the_checkpoints_of_the_run() -> None:
    faults = {"list": [{"node": "a-0", "from_s": 110.0, "to_s": 115.0}]}
    steps = {0.0: give("j0", A, 60.0), 60.0: give("j0", A, 120.0), 120.0: give("j0", A)}
    one = played(two_nodes([{"steps": 130.0}], checkpoint_s=40.0, faults=faults), steps)
    assert row(one, "j0").steps_lost == 30  # checkpoints at 40 and 80
    capped = {**steps, 60.0: give("j0", A, 120.0, steps=1000.0)}
    assert row(played(two_nodes([{"steps": 130.0}], checkpoint_s=40.0, faults=faults), capped), "j0").steps_lost == 30


@pytest.mark.parametrize(("from_s", "lost"), [(59.0, 59.0), (60.0, 60.0), (61.0, 61.0)])
def test_a_fault_on_a_boundary_is_like_any_other(from_s: float, lost: float) -> None:
    faults = {"list": [{"node": "a-0", "from_s": from_s, "to_s": 100.0}]}
    steps = {0.0: give("j0", A, 60.0), 60.0: give("j0", A if from_s > 60 else B, 120.0), 120.0: give("j0", B)}
    assert row(played(two_nodes([{"steps": 80.0}], faults=faults), steps), "j0").steps_lost == lost


def test_faults_that_overlap_are_one() -> None:
    listed = [{"node": "a-0", "from_s": 10.0, "to_s": 30.0}, {"node": "a-0", "from_s": 20.0, "to_s": 40.0}]
    listed += [{"node": "a-0", "from_s": 40.0, "to_s": 50.0}]
    run = played(two_nodes([{"steps": 60.0}], faults={"list": listed}), {0.0: give("j0", B)})
    assert [r[4:] for r in rows(run) if r[0] == "a-0"] == [(10, 50)]
    assert events(run) == [(10, "fault"), (50, "repair")]


def test_a_node_down_at_the_start_starts_nothing() -> None:
    faults = {"list": [{"node": "a-0", "from_s": 0.0, "to_s": 30.0}]}
    running = [{"job": "j0", "gpus": {"a-0": 1}}]
    scenario = make([{"steps": 20.0}], {"a": 1, "b": 1}, core={"faults": faults}, running=running)
    run = played(scenario, {60.0: give("j0", A)})
    assert rows(run)[0] == ("a-0", 0, "", "down", 0, 30) and row(run, "j0").finish_s == 80
    assert events(run, "j0")[:2] == [(0, "arrival"), (0, "preempt")] and row(run, "j0").preemptions == 1
    assert "a-0 is down" in set(run.events.reason)


# Time and boundaries -------------------------------------------------------------------------------------------------


def test_an_arrival_at_a_boundary_is_seen_there() -> None:
    scenario = two_nodes([{"steps": 10.0, "arrival_s": 60.0}, {"steps": 10.0, "arrival_s": 60.1}])
    seen = []

    def answer(snapshot: Snapshot) -> Decision:
        seen.append((snapshot.now_s, snapshot.cause, snapshot.jobs.names))
        found = zip(snapshot.jobs.names, (A, B), strict=False)
        return Decision(assign=tuple(Assignment(name, gpus, math.inf) for name, gpus in found))

    run = simulate(scenario, Scripted(answer))
    assert seen == [(60, "round", ("j0",)), (120, "round", ("j1",))]
    assert row(run, "j0").waited_s == 0 and row(run, "j1").waited_s == approx(59.9)


@pytest.mark.parametrize("round_s", [60.0, 0.1, 0.7, 1 / 3])
def test_a_completion_at_a_boundary_needs_no_further_round(round_s: float) -> None:
    """Seven rounds of running and two pauses end at a boundary, but for rounding."""
    runs, number = {0, 1, 2, 4, 5, 7, 8}, iter(range(100))
    asked = []

    def answer(snapshot: Snapshot) -> Decision:
        asked.append(snapshot.now_s)
        return give("j0", A, snapshot.now_s + round_s) if next(number) in runs else EMPTY

    run = simulate(two_nodes([{"steps": 7 * round_s}]), Scripted(answer, round_s))
    check(run)
    assert len(asked) == 9
    assert row(run, "j0").finish_s == approx(9 * round_s) and row(run, "j0").renewals == 4


@pytest.mark.parametrize("round_s", [0.1, 0.7, 1 / 3, 360.0])
def test_now_plus_a_round_is_a_boundary(round_s: float) -> None:
    """A scheduler that adds up rounds is asked at each one once, and renews without a pause."""
    scheduler = Scripted(lambda s: give("j0", A, s.now_s + round_s), round_s, {"lease_end", "completion"})
    run = simulate(two_nodes([{"steps": 500.5 * round_s}], **RESTART_10), scheduler)
    assert len(scheduler.calls) == 501 and {cause for _, cause in scheduler.calls} == {"round"}
    assert len(run.timeline) == 1 and row(run, "j0").restarts == 0


def test_nothing_happens_until_next_s_unless_something_changes() -> None:
    scenario = two_nodes([{"steps": 3000.0}, {"steps": 30.0, "arrival_s": 1000.0}])

    def answer(snapshot: Snapshot) -> Decision:
        free = [name for name in snapshot.jobs.names if name not in snapshot.leases]
        assign = tuple(Assignment(name, A if name == "j0" else B, math.inf) for name in free)
        return Decision(assign=assign, next_s=math.inf)

    scheduler = Scripted(answer)
    run = simulate(scenario, scheduler)
    # the arrival at 1000, the completion at 1020 + 30, the end at 3000
    assert scheduler.calls == [(0, "round"), (1020, "round"), (1080, "round")]
    assert row(run, "j0").finish_s == 3000 and run.end_s == 3000


def test_next_s_between_rounds_is_a_timer() -> None:
    scheduler = Scripted(lambda s: Decision(assign=give("j0", A).assign if s.now_s == 0 else (), next_s=s.now_s + 25.0))
    simulate(two_nodes([{"steps": 100.0}]), scheduler)
    assert scheduler.calls == [(0, "round"), (25, "timer"), (50, "timer"), (75, "timer")]  # the round at 60 is skipped


def test_next_s_beyond_the_next_boundary_skips_rounds() -> None:
    scheduler = Scripted(lambda s: Decision(assign=give("j0", A).assign if s.now_s == 0 else (), next_s=s.now_s + 200))
    simulate(two_nodes([{"steps": 500.0}]), scheduler)
    assert scheduler.calls == [(0, "round"), (200, "timer"), (400, "timer")]


def test_an_idle_cluster_waits_for_the_boundary_after_the_next_arrival() -> None:
    scheduler = greedy(60.0, ())
    scenario = two_nodes([{"steps": 10.0}, {"steps": 10.0, "arrival_s": 10_000.0}])
    run = simulate(scenario, scheduler)
    assert scheduler.calls == [(0, "round"), (10_020, "round")]
    assert row(run, "j1").finish_s == 10_030 and row(run, "j1").waited_s == 20


def test_an_idle_cluster_asks_at_the_arrival_if_arrivals_are_a_cause() -> None:
    scheduler = greedy(60.0, {"arrival"})
    simulate(two_nodes([{"steps": 10.0, "arrival_s": 5.0}, {"steps": 10.0, "arrival_s": 130.0}]), scheduler)
    assert scheduler.calls == [(5, "arrival"), (130, "arrival")]


def test_a_run_ends_with_its_last_completion() -> None:
    assert simulate(two_nodes([{"steps": 70.0}]), greedy(60.0, ())).end_s == 70
    assert simulate(two_nodes([]), greedy()).end_s == 0


# Causes --------------------------------------------------------------------------------------------------------------


def test_each_cause_is_asked_at_its_time() -> None:
    faults = {"list": [{"node": "b-0", "from_s": 12.0, "to_s": 14.0}]}
    scenario = two_nodes([{"steps": 20.0}, {"steps": 100.0, "arrival_s": 7.0}], faults=faults)
    steps = {0.0: give("j0", A), 20.0: give("j1", A, 33.0), 33.0: give("j1", A, math.inf), 7.0: Decision(next_s=10.5)}
    causes = {"arrival", "completion", "lease_end", "fault", "repair"}
    scheduler = script(steps, round_s=None, causes=causes)
    simulate(scenario, scheduler)
    assert scheduler.calls == [
        (0, "arrival"),
        (7, "arrival"),
        (10.5, "timer"),
        (12, "fault"),
        (14, "repair"),
        (20, "completion"),
        (33, "lease_end"),
    ]


@pytest.mark.parametrize(
    ("causes", "expected"),
    [
        ((), [(0, "round"), (60, "round"), (120, "round")]),
        (("idle",), [(0, "round"), (20, "idle"), (60, "round"), (120, "round")]),
        (("completion",), [(0, "round"), (20, "completion"), (60, "round"), (120, "round")]),
        (("lease_end",), [(0, "round"), (60, "round"), (120, "round")]),
        (("arrival",), [(0, "round"), (5, "arrival"), (60, "round"), (120, "round")]),
    ],
)
def test_causes_come_on_top_of_rounds(causes: tuple[str, ...], expected: list[tuple[float, str]]) -> None:
    scheduler = greedy(60.0, causes)
    simulate(make([{"steps": 20.0}, {"steps": 110.0, "arrival_s": 5.0}]), scheduler)
    cut = 180 if not causes or causes == ("lease_end",) else None
    calls = scheduler.calls
    assert [call for call in calls if call[0] <= 120] == expected
    assert cut is None or calls[-1][0] <= cut


def test_idle_is_not_asked_when_nobody_waits() -> None:
    scheduler = greedy(None, {"arrival", "idle"})
    simulate(make([{"steps": 20.0}, {"steps": 10.0, "arrival_s": 5.0}], 2), scheduler)
    assert scheduler.calls == [(0, "arrival"), (5, "arrival")]


def test_one_call_for_several_causes_names_the_first() -> None:
    scheduler = greedy(None, {"arrival", "completion"})
    simulate(make([{"steps": 20.0}, {"steps": 10.0, "arrival_s": 20.0}]), scheduler)
    assert scheduler.calls == [(0, "arrival"), (20, "completion")]


def test_running_jobs_finish_though_nobody_is_asked_any_more() -> None:
    scheduler = greedy(None, {"arrival"})
    run = simulate(make([{"steps": 20.0}, {"steps": 30.0}], 2), scheduler)
    assert scheduler.calls == [(0, "arrival")] and run.jobs.finish_s.tolist() == [20, 30]


@pytest.mark.parametrize("round_s", [None, 60.0])
@pytest.mark.parametrize("drawn", [False, True])
def test_who_never_gives_gpus_is_stalled(round_s: float | None, drawn: bool) -> None:
    faults = {"mtbf_s": 1000.0, "mttr_s": 10.0} if drawn else {}
    lazy = Scripted(lambda s: EMPTY, round_s, {"fault", "repair"} if drawn else set())
    with pytest.raises(Stalled, match="j0"):
        simulate(two_nodes([{"steps": 20.0}], faults=faults), lazy)


def test_restarts_longer_than_a_round_are_stalled() -> None:
    scenario = make([{"steps": 1000.0}] * 2, core={"restart": {"restart_s": 400.0}})
    turns = Scripted(lambda s: give(f"j{int(s.now_s // 360) % 2}", {"n-0": 1}, s.now_s + 360.0), 360.0)
    with pytest.raises(Stalled, match="rounds without a step: a restart takes 400 s'; expected rounds longer"):
        simulate(scenario, turns)


def test_many_arrivals_during_a_restart_are_not_stalling() -> None:
    jobs = [{"steps": 50.0}] + [{"steps": 1.0, "arrival_s": 20.0 + i * 0.01} for i in range(1500)]
    scenario = make(jobs, core={"restart": {"restart_s": 400.0}})
    steps = {10.0: Decision(preempt=frozenset({"j0"})), 11.0: give("j0", {"n-0": 1})}
    scheduler = Scripted(
        lambda s: give("j0", {"n-0": 1}) if s.now_s == 0 else steps.get(s.now_s, EMPTY), 1.0, {"arrival"}
    )
    run = simulate(scenario, scheduler, stop=WindowFinished(0, 0))
    assert row(run, "j0").finish_s == 11 + 400 + 40


def test_waiting_for_a_repair_is_not_stalling() -> None:
    faults = {"list": [{"node": node, "from_s": 0.0, "to_s": 100_000.0} for node in ("a-0", "b-0")]}
    lazy = Scripted(lambda s: give("j0", A) if s.nodes.up.any() else EMPTY)
    run = simulate(two_nodes([{"steps": 20.0}], faults=faults), lazy)
    assert row(run, "j0").finish_s == 100_020 + 20


# What a scheduler sees -----------------------------------------------------------------------------------------------


def test_only_offline_schedulers_see_the_future() -> None:
    scenario, seen = two_nodes([{"steps": 10.0, "arrival_s": 10.0}, {"steps": 10.0}]), []

    def answer(snapshot: Snapshot) -> Decision:
        seen.append([job.name for job in snapshot.future])
        return give(snapshot.jobs.names[0], A)

    for offline in (False, True):
        simulate(scenario, Scripted(answer, None, {"arrival", "completion"}, offline))
    assert seen == [[], [], ["j0"], []]


def test_a_snapshot_shows_progress_and_waiting() -> None:
    scenario = two_nodes([{"steps": 100.0}, {"steps": 100.0, "arrival_s": 30.0}, {"steps": 100.0}])
    seen: list[Snapshot] = []

    def answer(snapshot: Snapshot) -> Decision:
        seen.append(snapshot)
        return {0.0: give("j0", A, 60.0), 60.0: give("j1", B)}.get(snapshot.now_s, EMPTY)

    simulate(scenario, Scripted(answer), stop=Until(70.0))
    at_60 = seen[1]
    assert at_60.jobs.names == ("j0", "j2", "j1") and at_60.jobs.position.tolist() == [0, 2, 1]
    assert at_60.jobs.steps_left.tolist() == [40, 100, 100]
    assert at_60.jobs.attained_s.tolist() == [60, 0, 0] and at_60.jobs.waited_s.tolist() == [0, 60, 30]
    assert at_60.nodes.free.tolist() == [1, 1] and set(at_60.ended) == {"j0"} and not at_60.leases
    assert at_60.workers.tolist() == [2]


def test_finished_jobs_are_told_once() -> None:
    told = []

    def answer(snapshot: Snapshot) -> Decision:
        told.append(snapshot.finished)
        return give("j0", A) if snapshot.now_s == 0 else give("j1", A) if snapshot.now_s == 60 else EMPTY

    simulate(two_nodes([{"steps": 10.0}, {"steps": 100.0}]), Scripted(answer))
    assert told == [(), ("j0",), ()]


def test_observations_are_what_was_measured_since_the_last_call() -> None:
    scenario = make([{"steps": 100.0}, {"steps": 15.0}], {"a": 1, "b": 1}, rate=0.5, core=RESTART_10)
    seen = []

    def answer(snapshot: Snapshot) -> Decision:
        seen.append([(o.job, o.steps_per_s, o.seconds) for o in snapshot.observations])
        moves = {0.0: (("j0", A), ("j1", B)), 60.0: (("j0", B),)}
        until_s = 60.0 if snapshot.now_s == 0 else math.inf
        return Decision(assign=tuple(Assignment(n, g, until_s) for n, g in moves.get(snapshot.now_s, ())))

    simulate(scenario, Scripted(answer))
    # at 60: both ran, j1 until 30 s; from 60 on j0 restarts for 10 s; then a round each
    assert [sorted(found) for found in seen[:4]] == [
        [],
        [("j0", 0.5, 60), ("j1", 0.5, 30)],
        [("j0", 0.5, 50)],
        [("j0", 0.5, 60)],
    ]


@pytest.mark.parametrize("steps", [None, 0.0, 5.0])
def test_a_profile_measures_whatever_its_steps_count(steps: float | None) -> None:
    seen = []

    def answer(snapshot: Snapshot) -> Decision:
        seen.append([(o.steps_per_s, o.seconds) for o in snapshot.observations])
        return give("j0", A, 60.0, kind="profile", steps=steps) if snapshot.now_s == 0 else EMPTY

    simulate(make([{"steps": 100.0}], {"a": 1}, rate=0.5), Scripted(answer), stop=Until(61.0))
    assert seen[1] == [(0.5, 60.0)]


def test_observations_of_an_old_snapshot_are_not_to_be_read() -> None:
    kept: list[Snapshot] = []

    def answer(snapshot: Snapshot) -> Decision:
        if kept:
            with pytest.raises(RuntimeError, match="while deciding"):
                _ = kept[0].observations
        kept.append(snapshot)
        return give("j0", A) if snapshot.now_s == 0 else EMPTY

    simulate(two_nodes([{"steps": 70.0}]), Scripted(answer))
    assert len(kept) == 2


def test_true_speeds_of_nodes_stay_in_the_core() -> None:
    data = two_nodes([{"steps": 100.0}]).to_dict()
    data["cluster"]["nodes"][0]["speed"] = 0.5
    believed = []

    def answer(snapshot: Snapshot) -> Decision:
        believed.append(snapshot.belief.on_nodes(snapshot.jobs.jobs[0], A))
        return give("j0", A, 300.0)

    run = simulate(Scenario.from_dict(data), Scripted(answer))
    assert believed[0] == 1.0 and row(run, "j0").finish_s == 200


# Verdicts, records, stopping -----------------------------------------------------------------------------------------


def test_a_refused_job_leaves() -> None:
    no = Decision(verdicts={"j1": "refused", "j0": "guaranteed"}, why={"j1": Reason("late", "cannot be met")})
    run = played(two_nodes([{"steps": 100.0}, {"steps": 10.0}]), {0.0: give("j0", A), 60.0: no})
    assert run.jobs.verdict.tolist() == ["guaranteed", "refused"]
    assert math.isnan(row(run, "j1").finish_s) and row(run, "j1").waited_s == 60
    reasons = run.events[(run.events.job == "j1") & (run.events.event == "verdict")].reason
    assert reasons.tolist() == ["cannot be met"] and run.end_s == 100


def test_a_refused_job_that_runs_gives_its_gpus_back() -> None:
    steps = {0.0: give("j0", A), 60.0: Decision(verdicts={"j0": "refused"})}
    run = played(two_nodes([{"steps": 100.0}]), steps)
    assert spans(run, "j0") == [("a-0", "run", 0, 60)] and run.end_s == 60
    assert run.decisions.changed.tolist() == [True, True]


def test_a_window_ends_a_run() -> None:
    jobs = [{"steps": 10.0, "arrival_s": 10.0 * i} for i in range(6)]
    run = simulate(make(jobs), greedy(), stop=WindowFinished(1, 2))
    assert run.jobs.finish_s.notna().tolist() == [True, True, True, False, False, False]
    refuse = Scripted(lambda s: Decision(verdicts=dict.fromkeys(s.jobs.names, "refused")), None, {"arrival"})
    assert simulate(make(jobs), refuse, stop=WindowFinished(0, 1)).end_s == 20
    assert simulate(make(jobs), greedy(), stop=WindowFinished(3, 99)).end_s == 60


def test_cancelling_ends_at_the_next_decision() -> None:
    flag = CancelFlag(Until(1000.0))
    calls = []

    def answer(snapshot: Snapshot) -> Decision:
        calls.append(snapshot.now_s)
        if len(calls) == 3:
            flag.cancel()
        return give("j0", A) if snapshot.now_s == 0 else EMPTY

    with pytest.raises(Cancelled, match="180 s"):
        simulate(two_nodes([{"steps": 5000.0}]), Scripted(answer), stop=flag)
    assert len(calls) == 3
    assert simulate(two_nodes([{"steps": 5000.0}]), greedy(), stop=CancelFlag(Until(70.0))).end_s == 70


def test_observers_are_told_of_each_decision() -> None:
    told: list[Progress] = []
    scenario = two_nodes([{"steps": 10.0}, {"steps": 200.0}, {"steps": 200.0}])
    simulate(scenario, greedy(60.0, ()), observers=[Report(told.append, every_s=0.0)])
    assert told[0] == Progress(now_s=0, decisions=1, finished=0, jobs=3, running=2, waiting=1)
    assert told[1] == Progress(now_s=60, decisions=2, finished=1, jobs=3, running=2, waiting=0)
    few: list[Progress] = []
    simulate(scenario, greedy(60.0, ()), observers=[Report(few.append, every_s=1000.0)])
    assert len(few) == 1


def test_detail_limits_what_is_recorded_and_nothing_else() -> None:
    def answer(snapshot: Snapshot) -> Decision:
        return Decision(
            assign=(Assignment("j0", A, snapshot.now_s + 60.0),),
            signals={"priority": {"j0": snapshot.now_s}},
            shares=Shares(("j0",), snapshot.types, np.array([[min(1.0, 0.1 + snapshot.now_s)]])),
            solution=Solution("optimal", 1.0),
        )

    whole, part, none = (simulate(two_nodes([{"steps": 300.0}]), Scripted(answer), detail=d) for d in (None, 2, 0))
    assert (len(whole.signals), len(part.signals), len(none.signals)) == (5, 2, 0)
    assert (len(whole.shares), len(part.shares), len(none.shares)) == (2, 2, 0)  # recorded when they change
    assert whole.timeline.equals(none.timeline) and whole.jobs.equals(part.jobs)
    assert len(none.decisions) == 5 and (whole.events.event == "renew").sum() == 4
    assert whole.decisions.status.tolist() == ["optimal"] * 5


def test_the_order_of_a_set_of_names_does_not_matter() -> None:
    """Sets of strings are iterated in another order in each process."""

    class Backwards(frozenset):  # type: ignore[type-arg]
        def __iter__(self) -> Any:
            return iter(sorted(super().__iter__(), reverse=True))

    jobs = [{"steps": 100.0}] * 2
    first = {0.0: Decision(assign=(Assignment("j0", A, math.inf), Assignment("j1", B, math.inf)))}
    both = [simulate(two_nodes(jobs), script({**first, 60.0: Decision(preempt=kind({"j0", "j1"}))}), stop=Until(99.0))
            for kind in (frozenset, Backwards)]  # fmt: skip
    assert both[0] == both[1]
