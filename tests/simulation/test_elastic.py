"""Jobs that change their size: steps are the same on any size, each gang goes at its own speed, a change is a move."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from tests.simulation.hand import played, spans
from tests.simulation.support import ROUND_S, Scripted, check, events, first_fit, give, make, row
from workbench.scenario.job import median_size
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Assignment, Decision, InvalidDecision
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.loop import run_loop

RESTART_10 = {"core": {"restart": {"restart_s": 10.0}}}


def elastic(steps: float, sizes: list[int], **rest: Any) -> dict[str, Any]:
    return {"steps": steps, "gpus": sizes[0], "gpu_choices": sizes, **rest}


def test_a_job_grows_and_shrinks_on_the_same_steps() -> None:
    """60 s on 1 GPU, 60 s on 4, and the last 40 of 340 steps on 2: 60 + 240 + 40."""
    scenario = make([elastic(340.0, [1, 2, 4])], 4)
    run = played(
        scenario,
        {0.0: give("j0", {"n-0": 1}, 60.0), 60.0: give("j0", {"n-0": 4}, 120.0), 120.0: give("j0", {"n-0": 2})},
    )
    r = row(run, "j0")
    assert (r.finish_s, r.steps_done, r.moves, r.renewals) == (140.0, 340.0, 2, 0)
    assert (r.attained_s, r.run_s, r.waited_s) == (60 + 240 + 40, 60 + 240 + 40, 0)
    held = run.timeline.groupby(["start_s", "end_s"]).agg(slots=("slot", "count"), steps=("steps", "sum"))
    assert held.slots.tolist() == [1, 4, 2] and held.steps.tolist() == approx([60.0, 240.0, 40.0])
    assert run.timeline.groupby(["start_s"]).gpus.first().tolist() == [1, 4, 2]


def test_every_size_goes_at_its_own_speed() -> None:
    """1 GPU does 1 step/s, 2 only 1.5: 60 steps, then 60 more in 40 s."""
    scenario = make([elastic(120.0, [1, 2])], 2).to_dict()
    rows = [{"model": "m", "accelerator": "t", "gpus": n, "steps_per_s": v} for n, v in ((1, 1.0), (2, 1.5))]
    run = played(
        Scenario.from_dict({**scenario, "throughputs": rows}),
        {0.0: give("j0", {"n-0": 1}, 60.0), 60.0: give("j0", {"n-0": 2})},
    )
    assert row(run, "j0").finish_s == approx(100.0)


def test_a_change_of_size_pays_for_a_restart_and_the_first_start_does_not() -> None:
    run = played(
        make([elastic(180.0, [1, 2])], 2, **RESTART_10),
        {0.0: give("j0", {"n-0": 1}, 60.0), 60.0: give("j0", {"n-0": 2})},
    )
    assert spans(run, "j0")[:2] == [("n-0", "run", 0, 60), ("n-0", "restart", 60, 70)]
    r = row(run, "j0")
    assert (r.restarts, r.moves, r.finish_s, r.attained_s) == (1, 1, 130.0, 60 + 2 * 70)
    assert (60, "move") in events(run, "j0")


@pytest.mark.parametrize(("gpus", "cost_s"), [(2, 20.0), (4, 30.0)])
def test_a_restart_costs_what_the_new_size_costs(gpus: int, cost_s: float) -> None:
    core = {"restart": {"law": "log2", "restart_s": 10.0}}
    scenario = make([elastic(60.0 + 60.0 * gpus, [1, 2, 4])], 4, core=core)
    run = played(scenario, {0.0: give("j0", {"n-0": 1}, 60.0), 60.0: give("j0", {"n-0": gpus})})
    assert row(run, "j0").finish_s == approx(60 + cost_s + 60)


def test_the_same_size_again_is_a_renewal() -> None:
    run = played(
        make([elastic(200.0, [1, 2])], 2, **RESTART_10),
        {0.0: give("j0", {"n-0": 2}, 60.0), 60.0: give("j0", {"n-0": 2})},
    )
    r = row(run, "j0")
    assert (r.restarts, r.moves, r.renewals, r.finish_s) == (0, 0, 1, 100.0)


def test_a_job_that_shrinks_leaves_its_other_gpus_to_others_at_once() -> None:
    scenario = make([elastic(360.0, [2, 4]), {"steps": 60.0, "gpus": 2, "arrival_s": 30.0}], 4)
    both = Decision(assign=(Assignment("j0", {"n-0": 2}, 200.0), Assignment("j1", {"n-0": 2}, 200.0)))
    run = played(scenario, {0.0: give("j0", {"n-0": 4}, 60.0), 60.0: both})
    assert row(run, "j1").first_start_s == 60.0 and row(run, "j1").finish_s == 90.0
    assert row(run, "j0").finish_s == 120.0


def test_a_lease_is_broken_off_for_another_size() -> None:
    """In the middle of its lease, at the arrival of another job, it makes room by shrinking."""
    scenario = make([elastic(360.0, [2, 4]), {"steps": 60.0, "gpus": 2, "arrival_s": 30.0}], 4)
    shrink = Decision(
        assign=(Assignment("j0", {"n-0": 2}, 500.0), Assignment("j1", {"n-0": 2}, 500.0)), preempt=frozenset({"j0"})
    )
    run = played(scenario, {0.0: give("j0", {"n-0": 4}, 500.0), 30.0: shrink}, causes=("arrival",))
    assert row(run, "j1").first_start_s == 30.0
    assert row(run, "j0").finish_s == 30.0 + 240.0 / 2


@pytest.mark.parametrize("gpus", [1, 3])
def test_a_size_that_the_user_did_not_choose_is_refused(gpus: int) -> None:
    with pytest.raises(InvalidDecision, match="its gang, 2 or 4 GPUs"):
        played(make([elastic(100.0, [2, 4])], 4), {0.0: give("j0", {"n-0": gpus})})


def test_a_rigid_job_keeps_its_size() -> None:
    with pytest.raises(InvalidDecision):
        played(make([{"steps": 100.0, "gpus": 2}], 4), {0.0: give("j0", {"n-0": 4})})


def test_observations_tell_the_speed_of_each_size() -> None:
    seen = []

    def answer(snapshot: Snapshot) -> Decision:
        seen.extend((dict(o.gpus), o.steps_per_s, o.seconds) for o in snapshot.observations)
        gpus = {0.0: 1, 60.0: 4}.get(snapshot.now_s, 2)
        return give("j0", {"n-0": gpus}, snapshot.now_s + ROUND_S)

    run_loop(make([elastic(400.0, [1, 2, 4])], 4), Scripted(answer), {})
    assert seen == [({"n-0": 1}, 1.0, 60.0), ({"n-0": 4}, 4.0, 60.0)]


@given(data=st.data())
def test_laws_hold_when_sizes_change_at_random(data: st.DataObject) -> None:
    """Sizes are drawn anew in every round; steps are conserved, gangs are of a size that was chosen."""
    jobs = [
        elastic(
            float(data.draw(st.integers(1, 600))),
            sorted(data.draw(st.sets(st.integers(1, 5), min_size=1, max_size=4))),
            arrival_s=float(data.draw(st.sampled_from([0, 30, 60, 100]))),
        )
        for _ in range(data.draw(st.integers(1, 4)))
    ]
    restart_s = data.draw(st.sampled_from([0.0, 7.0]))

    def answer(snapshot: Snapshot) -> Decision:
        free = dict(zip(snapshot.nodes.names, snapshot.nodes.free.tolist(), strict=True))
        assign = []
        for job in snapshot.jobs.jobs:
            size = data.draw(st.sampled_from(job.sizes))
            if size <= sum(free.values()):
                assign.append(Assignment(job.name, first_fit(free, size), snapshot.now_s + ROUND_S))
        return Decision(assign=tuple(assign))

    scenario = make(jobs, {"a": 3, "b": 2}, core={"restart": {"restart_s": restart_s}})
    run = run_loop(scenario, Scripted(answer), {})
    check(run)
    assert run.jobs.finish_s.notna().all() and run.jobs.steps_done.tolist() == run.jobs.steps.tolist()


# --- the median -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "median"), [([4], 4), ([1, 2], 1), ([1, 2, 16], 2), ([1, 2, 4, 8], 2), ([1, 2, 3, 4, 5, 6, 7, 16], 4)]
)
def test_the_median_is_a_size_that_was_chosen_the_smaller_of_two(sizes: list[int], median: int) -> None:
    assert median_size(sizes) == median
