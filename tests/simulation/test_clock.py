"""When the core asks a scheduler, worked out by hand: boundaries, causes, stalling. Rounds last 60 s by default."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from pytest import approx

from tests.simulation.hand import EMPTY, RESTART_10, A, B, two_nodes
from tests.simulation.support import Scripted, check, give, greedy, make, row, script
from workbench.baselines.fifo import Fifo
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Timing
from workbench.scheduling.decision import Assignment, Decision
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.loop import run_loop
from workbench.simulation.stop import Stalled, Until, WindowFinished

# Time and boundaries -------------------------------------------------------------------------------------------------


def test_an_arrival_at_a_boundary_is_seen_there() -> None:
    scenario = two_nodes([{"steps": 10.0, "arrival_s": 60.0}, {"steps": 10.0, "arrival_s": 60.1}])
    seen = []

    def answer(snapshot: Snapshot) -> Decision:
        seen.append((snapshot.now_s, snapshot.cause, snapshot.jobs.names))
        found = zip(snapshot.jobs.names, (A, B), strict=False)
        return Decision(assign=tuple(Assignment(name, gpus, math.inf) for name, gpus in found))

    run = run_loop(scenario, Scripted(answer))
    assert seen == [(60, "round", ("j0",)), (120, "round", ("j1",))]
    assert row(run, "j0").waited_s == 0 and row(run, "j1").waited_s == approx(59.9)


ARRIVE_S, GANGS = [0, 5, 6, 7, 8, 30, 30, 195, 195, 196, 197], [2, 1, 2, 1, 2, 2, 1, 2, 2, 1, 1]
LINE = [*zip(ARRIVE_S, range(40, 51), GANGS, strict=True)]


@pytest.mark.parametrize(
    ("jobs", "faults", "knobs", "spared"),
    [
        pytest.param(LINE, [], {}, {7.0, 8.0, 85.5, 197.0, 219.0, 267.5}, id="in line"),
        pytest.param([(0, 40, 4), (5, 10, 1)], [(0, 100)], {"backfill": "speeds"}, set(), id="who may pass"),
        pytest.param(LINE, [], {"heterogeneity_aware": False}, {85.5, 219.0, 267.5}, id="who draws a type"),
    ],
)
def test_where_nobody_waits_a_scheduler_that_asks_only_for_those_who_wait_is_not_asked(
    jobs: list[tuple[float, float, int]], faults: list[tuple[float, float]], knobs: Knobs, spared: set[float]
) -> None:
    """FIFO as it is, and asked every time, where it answers so itself: the same run, without the calls when nobody
    waits, or jobs come behind one that waits, unless they may pass it or a type is drawn anew for it.

    jobs: (arrival, seconds, GPUs), on two nodes of 2 GPUs.
    """
    data = make(
        [{"steps": steps, "gpus": gpus, "arrival_s": float(at_s)} for at_s, steps, gpus in jobs],
        {"a": 2, "b": 2},
        core={"faults": {"list": [{"node": "a-0", "from_s": from_s, "to_s": to_s} for from_s, to_s in faults]}},
    ).to_dict()
    if "heterogeneity_aware" in knobs:
        data["cluster"]["accelerators"].append({"name": "u"})
        data["cluster"]["nodes"][1]["accelerator"] = "u"
        data["throughputs"] += [{**row, "accelerator": "u"} for row in data["throughputs"][:2]]
    asked: dict[bool, list[float]] = {True: [], False: []}

    class Counted(Fifo):
        def __init__(self, only_waiting: bool) -> None:
            self.only_waiting = only_waiting

        def timing(self, knobs: Knobs) -> Timing:
            return replace(super().timing(knobs), only_waiting=self.only_waiting)

        def decide(self, snapshot: Snapshot, *rest: Any) -> tuple[Decision, Any]:
            assert snapshot.jobs.waiting or not self.only_waiting
            asked[self.only_waiting].append(snapshot.now_s)
            return super().decide(snapshot, *rest)

    runs = [run_loop(Scenario.from_dict(data), Counted(only), {"round_s": 0.0, **knobs}) for only in (True, False)]
    for name in ("jobs", "timeline", "decisions", "events", "reasons"):
        pd.testing.assert_frame_equal(getattr(runs[0], name), getattr(runs[1], name))
    assert asked[False] == runs[0].decisions["time_s"].tolist()
    assert {*asked[False]} - {*asked[True]} == spared


@pytest.mark.parametrize("round_s", [60.0, 0.1, 0.7, 1 / 3])
def test_a_completion_at_a_boundary_needs_no_further_round(round_s: float) -> None:
    """Seven rounds of running and two pauses end at a boundary, but for rounding."""
    runs, number = {0, 1, 2, 4, 5, 7, 8}, iter(range(100))
    asked = []

    def answer(snapshot: Snapshot) -> Decision:
        asked.append(snapshot.now_s)
        return give("j0", A, snapshot.now_s + round_s) if next(number) in runs else EMPTY

    run = run_loop(two_nodes([{"steps": 7 * round_s}]), Scripted(answer, round_s))
    check(run)
    assert len(asked) == 9
    assert row(run, "j0").finish_s == approx(9 * round_s) and row(run, "j0").renewals == 4


@pytest.mark.parametrize("round_s", [0.1, 0.7, 1 / 3, 360.0])
def test_now_plus_a_round_is_a_boundary(round_s: float) -> None:
    """A scheduler that adds up rounds is asked at each one once, and renews without a pause."""
    scheduler = Scripted(lambda s: give("j0", A, s.now_s + round_s), round_s, {"lease_end", "completion"})
    run = run_loop(two_nodes([{"steps": 500.5 * round_s}], **RESTART_10), scheduler)
    assert len(scheduler.calls) == 501 and {cause for _, cause in scheduler.calls} == {"round"}
    assert len(run.timeline) == 1 and row(run, "j0").restarts == 0


def test_nothing_happens_until_next_s_unless_something_changes() -> None:
    scenario = two_nodes([{"steps": 3000.0}, {"steps": 30.0, "arrival_s": 1000.0}])

    def answer(snapshot: Snapshot) -> Decision:
        free = [name for name in snapshot.jobs.names if name not in snapshot.leases]
        assign = tuple(Assignment(name, A if name == "j0" else B, math.inf) for name in free)
        return Decision(assign=assign, next_s=math.inf)

    scheduler = Scripted(answer)
    run = run_loop(scenario, scheduler)
    # the arrival at 1000, the completion at 1020 + 30, the end at 3000
    assert scheduler.calls == [(0, "round"), (1020, "round"), (1080, "round")]
    assert row(run, "j0").finish_s == 3000 and run.end_s == 3000


def test_what_comes_and_ends_before_quiet_s_is_told_then() -> None:
    """j1 ends at 20, j2 comes at 30: both told at 50; what comes and ends after that at once."""
    lasts = [{"steps": 100.0}, {"steps": 20.0}, {"steps": 5.0, "arrival_s": 30.0}, {"steps": 5.0, "arrival_s": 70.0}]
    told = []

    def answer(snapshot: Snapshot) -> Decision:
        told.append((snapshot.now_s, snapshot.finished))
        free = [name for name in snapshot.jobs.names if name not in snapshot.leases]
        assign = tuple(Assignment(name, A if name == "j0" else B, math.inf) for name in free)
        return Decision(assign=assign, quiet_s=50.0)

    scheduler = Scripted(answer, None, {"arrival", "completion"})
    run = run_loop(two_nodes(lasts), scheduler)
    assert told == [(0, {}), (50, {"j1": 20}), (55, {"j2": 55}), (70, {}), (75, {"j3": 75})]
    assert run.jobs["finish_s"].tolist() == [100, 20, 55, 75]


@pytest.mark.parametrize(
    ("given", "told", "end_s"),
    [
        ({"stop": Until(40.0)}, [(0, "arrival", {})], 40),
        ({"stop": WindowFinished(1, 1)}, [(0, "arrival", {})], 50),
        ({"next_s": 40.0}, [(0, "arrival", {}), (40, "completion", {"j1": 20}), (50, "completion", {"j2": 45})], 100),
        ({"next_s": 90.0}, [(0, "arrival", {}), (50, "completion", {"j1": 20}), (55, "completion", {"j2": 55})], 100),
        (
            {"outages": [(25.0, 35.0)]},
            [(0, "arrival", {}), (25, "fault", {"j1": 20}), (35, "repair", {}), (50, "completion", {"j2": 40})],
            100,
        ),
        ({"round_s": 40.0}, [(0, "round", {}), (40, "round", {"j1": 20}), (50, "completion", {"j2": 45})], 100),
        (
            {"round_s": 40.0, "outages": [(25.0, 35.0)]},
            [(0, "round", {}), (25, "fault", {"j1": 20}), (35, "repair", {}), (40, "round", {"j2": 40})],
            100,
        ),
    ],
    ids=["until_s", "window", "next_s before", "next_s after", "outage", "rounds", "rounds and outage"],
)
def test_quiet_s_beside_all_else_that_asks(
    given: dict[str, Any], told: list[tuple[float, str, dict[str, float]]], end_s: float
) -> None:
    """Quiet until 50: j1 ends at 20, j2 comes at 30. A time of end and next_s cut it short, a fault is told at once
    with what ended before, a window that has finished ends the run when the quiet does."""
    lasts = [{"steps": 100.0}, {"steps": 20.0}, {"steps": 5.0, "arrival_s": 30.0}]
    outages = [{"node": "b-0", "from_s": from_s, "to_s": to_s} for from_s, to_s in given.get("outages", ())]
    found = []

    def answer(snapshot: Snapshot) -> Decision:
        found.append((snapshot.now_s, snapshot.cause, snapshot.finished))
        free = [name for name in snapshot.jobs.names if name not in snapshot.leases]
        free = [name for name in free if name == "j0" or snapshot.nodes.up[1]]
        assign = tuple(Assignment(name, A if name == "j0" else B, math.inf) for name in free)
        return Decision(assign=assign, quiet_s=50.0, next_s=given.get("next_s") if snapshot.now_s == 0 else None)

    scheduler = Scripted(answer, given.get("round_s"), {"arrival", "completion", "fault", "repair"})
    run = run_loop(two_nodes(lasts, faults={"list": outages}), scheduler, stop=given.get("stop"))
    assert found[: len(told)] == told
    assert run.end_s == end_s and row(run, "j1").finish_s == 20


def test_next_s_between_rounds_is_a_timer() -> None:
    scheduler = Scripted(lambda s: Decision(assign=give("j0", A).assign if s.now_s == 0 else (), next_s=s.now_s + 25.0))
    run_loop(two_nodes([{"steps": 100.0}]), scheduler)
    assert scheduler.calls == [(0, "round"), (25, "timer"), (50, "timer"), (75, "timer")]  # the round at 60 is skipped


def test_next_s_beyond_the_next_boundary_skips_rounds() -> None:
    scheduler = Scripted(lambda s: Decision(assign=give("j0", A).assign if s.now_s == 0 else (), next_s=s.now_s + 200))
    run_loop(two_nodes([{"steps": 500.0}]), scheduler)
    assert scheduler.calls == [(0, "round"), (200, "timer"), (400, "timer")]


def test_an_idle_cluster_waits_for_the_boundary_after_the_next_arrival() -> None:
    scheduler = greedy(60.0, ())
    scenario = two_nodes([{"steps": 10.0}, {"steps": 10.0, "arrival_s": 10_000.0}])
    run = run_loop(scenario, scheduler)
    assert scheduler.calls == [(0, "round"), (10_020, "round")]
    assert row(run, "j1").finish_s == 10_030 and row(run, "j1").waited_s == 20


def test_an_idle_cluster_asks_at_the_arrival_if_arrivals_are_a_cause() -> None:
    scheduler = greedy(60.0, {"arrival"})
    run_loop(two_nodes([{"steps": 10.0, "arrival_s": 5.0}, {"steps": 10.0, "arrival_s": 130.0}]), scheduler)
    assert scheduler.calls == [(5, "arrival"), (130, "arrival")]


def test_a_run_ends_with_its_last_completion() -> None:
    assert run_loop(two_nodes([{"steps": 70.0}]), greedy(60.0, ())).end_s == 70
    assert run_loop(two_nodes([]), greedy()).end_s == 0


# Causes --------------------------------------------------------------------------------------------------------------


def test_each_cause_is_asked_at_its_time() -> None:
    faults = {"list": [{"node": "b-0", "from_s": 12.0, "to_s": 14.0}]}
    scenario = two_nodes([{"steps": 20.0}, {"steps": 100.0, "arrival_s": 7.0}], faults=faults)
    steps = {0.0: give("j0", A), 20.0: give("j1", A, 33.0), 33.0: give("j1", A, math.inf), 7.0: Decision(next_s=10.5)}
    causes = {"arrival", "completion", "lease_end", "fault", "repair"}
    scheduler = script(steps, round_s=None, causes=causes)
    run_loop(scenario, scheduler)
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
    run_loop(make([{"steps": 20.0}, {"steps": 110.0, "arrival_s": 5.0}]), scheduler)
    cut = 180 if not causes or causes == ("lease_end",) else None
    calls = scheduler.calls
    assert [call for call in calls if call[0] <= 120] == expected
    assert cut is None or calls[-1][0] <= cut


def test_idle_is_not_asked_when_nobody_waits() -> None:
    scheduler = greedy(None, {"arrival", "idle"})
    run_loop(make([{"steps": 20.0}, {"steps": 10.0, "arrival_s": 5.0}], 2), scheduler)
    assert scheduler.calls == [(0, "arrival"), (5, "arrival")]


def test_one_call_for_several_causes_names_the_first() -> None:
    scheduler = greedy(None, {"arrival", "completion"})
    run_loop(make([{"steps": 20.0}, {"steps": 10.0, "arrival_s": 20.0}]), scheduler)
    assert scheduler.calls == [(0, "arrival"), (20, "completion")]


def test_running_jobs_finish_though_nobody_is_asked_any_more() -> None:
    scheduler = greedy(None, {"arrival"})
    run = run_loop(make([{"steps": 20.0}, {"steps": 30.0}], 2), scheduler)
    assert scheduler.calls == [(0, "arrival")] and run.jobs.finish_s.tolist() == [20, 30]


@pytest.mark.parametrize("round_s", [None, 60.0])
@pytest.mark.parametrize("drawn", [False, True])
def test_who_never_gives_gpus_is_stalled(round_s: float | None, drawn: bool) -> None:
    faults = {"mtbf_s": 1000.0, "mttr_s": 10.0} if drawn else {}
    lazy = Scripted(lambda s: EMPTY, round_s, {"fault", "repair"} if drawn else set())
    with pytest.raises(Stalled, match="j0"):
        run_loop(two_nodes([{"steps": 20.0}], faults=faults), lazy)


def test_restarts_longer_than_a_round_are_stalled() -> None:
    scenario = make([{"steps": 1000.0}] * 2, core={"restart": {"restart_s": 400.0}})
    turns = Scripted(lambda s: give(f"j{int(s.now_s // 360) % 2}", {"n-0": 1}, s.now_s + 360.0), 360.0)
    with pytest.raises(
        Stalled, match="rounds without a step of j0, j1: a restart takes 400 s'; expected rounds longer"
    ):
        run_loop(scenario, turns)


def test_many_arrivals_during_a_restart_are_not_stalling() -> None:
    jobs = [{"steps": 50.0}] + [{"steps": 1.0, "arrival_s": 20.0 + i * 0.01} for i in range(1500)]
    scenario = make(jobs, core={"restart": {"restart_s": 400.0}})
    steps = {10.0: Decision(preempt=frozenset({"j0"})), 11.0: give("j0", {"n-0": 1})}
    scheduler = Scripted(
        lambda s: give("j0", {"n-0": 1}) if s.now_s == 0 else steps.get(s.now_s, EMPTY), 1.0, {"arrival"}
    )
    run = run_loop(scenario, scheduler, stop=WindowFinished(0, 0))
    assert row(run, "j0").finish_s == 11 + 400 + 40


def test_waiting_for_a_repair_is_not_stalling() -> None:
    faults = {"list": [{"node": node, "from_s": 0.0, "to_s": 100_000.0} for node in ("a-0", "b-0")]}
    lazy = Scripted(lambda s: give("j0", A) if s.nodes.up.any() else EMPTY)
    run = run_loop(two_nodes([{"steps": 20.0}], faults=faults), lazy)
    assert row(run, "j0").finish_s == 100_020 + 20
