"""Small runs worked out by hand: who holds what, when, and what it costs. Rounds last 60 s unless a test says else."""

from __future__ import annotations

from typing import Any

import pytest
from pytest import approx

from tests.simulation.hand import RESTART_10, A, B, played, spans, two_nodes
from tests.simulation.support import events, give, make, row, rows
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Assignment, Decision
from workbench.simulation.stop import Until

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
    assert row(kept, "j0").moves == 0 and kept.decisions["changed"].tolist()[:2] == [True, False]  # on the same GPUs
    moved = played(two_nodes([{"steps": 100.0}]), {**steps, 60.0: give("j0", B)})
    assert row(moved, "j0").moves == 1 and moved.decisions["changed"].tolist()[:2] == [True, True]
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


def test_the_cap_of_a_pair_stays_for_the_one_that_goes_on() -> None:
    run = played(pair_world(), {0.0: give(("j0", "j1"), {"n-0": 1}, 120.0, steps=60.0), 120.0: give("j1", {"n-0": 1})})
    # 48 of j1's 60 steps are done at 60 s, the other 12 take 6 s
    assert [r[2:] for r in rows(run, "j1")][1:3] == [("j1", "run", 60, 66), ("j1", "hold", 66, 120)]
    assert row(run, "j1").finish_s == 140


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
