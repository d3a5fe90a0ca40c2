"""What a scheduler sees, and what a run records, worked out by hand. Rounds last 60 s unless a test says else."""

from __future__ import annotations

import math
from dataclasses import fields
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

from tests.simulation.hand import EMPTY, RESTART_10, A, B, played, spans, two_nodes
from tests.simulation.support import Scripted, give, greedy, make, row, script
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Assignment, Decision, PerJob, Reason, Shares
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers.solve_report import SolveReport
from workbench.simulation.loop import ProgressReport, RunProgress, run_loop
from workbench.simulation.stop import CancelFlag, RunCancelledError, Until, WindowFinished

# What a scheduler sees -----------------------------------------------------------------------------------------------


def test_only_offline_schedulers_see_the_future() -> None:
    scenario, seen = two_nodes([{"steps": 10.0, "arrival_s": 10.0}, {"steps": 10.0}]), []

    def answer(snapshot: Snapshot) -> Decision:
        seen.append([job.name for job in snapshot.future])
        return give(snapshot.jobs.names[0], A)

    for offline in (False, True):
        run_loop(scenario, Scripted(answer, None, {"arrival", "completion"}, offline))
    assert seen == [[], [], ["j0"], []]


def test_a_snapshot_shows_progress_and_waiting() -> None:
    scenario = two_nodes([{"steps": 100.0}, {"steps": 100.0, "arrival_s": 30.0}, {"steps": 100.0}])
    seen: list[Snapshot] = []

    def answer(snapshot: Snapshot) -> Decision:
        seen.append(snapshot.keep())
        return {0.0: give("j0", A, 60.0), 60.0: give("j1", B)}.get(snapshot.now_s, EMPTY)

    run_loop(scenario, Scripted(answer), stop=Until(70.0))
    at_60 = seen[1]
    assert at_60.jobs.names == ("j0", "j2", "j1") and at_60.jobs.position.tolist() == [0, 2, 1]
    assert at_60.jobs.steps_left.tolist() == [40, 100, 100]
    assert at_60.jobs.attained_s.tolist() == [60, 0, 0] and at_60.jobs.waited_s.tolist() == [0, 60, 30]
    assert at_60.nodes.free.tolist() == [1, 1] and set(at_60.ended) == {"j0"} and not at_60.leases
    assert at_60.capacity.tolist() == [2]


def test_finished_jobs_are_told_once() -> None:
    told = []

    def answer(snapshot: Snapshot) -> Decision:
        told.append(snapshot.finished)
        return give("j0", A) if snapshot.now_s == 0 else give("j1", A) if snapshot.now_s == 60 else EMPTY

    run_loop(two_nodes([{"steps": 10.0}, {"steps": 100.0}]), Scripted(answer))
    assert told == [{}, {"j0": 10}, {}]


def test_observations_are_what_was_measured_since_the_last_call() -> None:
    scenario = make([{"steps": 100.0}, {"steps": 15.0}], {"a": 1, "b": 1}, rate=0.5, core=RESTART_10)
    seen = []

    def answer(snapshot: Snapshot) -> Decision:
        seen.append([(o.job, o.steps_per_s, o.seconds) for o in snapshot.observations])
        moves = {0.0: (("j0", A), ("j1", B)), 60.0: (("j0", B),)}
        until_s = 60.0 if snapshot.now_s == 0 else math.inf
        return Decision(assign=tuple(Assignment(n, g, until_s) for n, g in moves.get(snapshot.now_s, ())))

    run_loop(scenario, Scripted(answer))
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

    run_loop(make([{"steps": 100.0}], {"a": 1}, rate=0.5), Scripted(answer), stop=Until(61.0))
    assert seen[1] == [(0.5, 60.0)]


def test_observations_of_an_old_snapshot_are_not_to_be_read() -> None:
    kept: list[Snapshot] = []

    def answer(snapshot: Snapshot) -> Decision:
        if kept:
            with pytest.raises(RuntimeError, match="while deciding"):
                _ = kept[0].observations
        kept.append(snapshot)
        return give("j0", A) if snapshot.now_s == 0 else EMPTY

    run_loop(two_nodes([{"steps": 70.0}]), Scripted(answer))
    assert len(kept) == 2


def kept_parts(turns: int) -> list[tuple[list[tuple[Snapshot, str]], dict[str, str]]]:
    """A run whose scheduler reads every so many parts of its snapshots: all parts, and what it read, as text."""
    kept: list[tuple[list[tuple[Snapshot, str]], dict[str, str]]] = []

    def answer(snapshot: Snapshot) -> Decision:
        views = (("", snapshot, ("capacity",)), ("nodes.", snapshot.nodes, ("at", "of_kind", "by_free")),
                 ("jobs.", snapshot.jobs, ("names", "at", "waiting")))  # fmt: skip
        parts = [(snapshot, first + name) for first, view, derived in views
                 for name in (*(each.name for each in fields(view)), *derived)
                 if name not in ("nodes", "jobs", "belief", "observe") or first]  # fmt: skip
        kept.append((parts, {name: shown(snapshot, name) for _, name in parts[len(kept) % turns :: turns]}))
        return give(*[("j0", A), ("j1", B)][len(kept) % 2], snapshot.now_s + 60.0)

    run_loop(two_nodes([{"steps": 100.0}, {"steps": 100.0}]), Scripted(answer), stop=Until(240.0))
    return kept


def shown(snapshot: Snapshot, name: str) -> str:
    return repr(attrgetter(name)(snapshot))


def test_what_a_scheduler_keeps_of_a_snapshot_stays_as_it_was_or_cannot_be_read() -> None:
    every, raised = kept_parts(1), set()
    for (_, values), (parts, read) in zip(every, kept_parts(2), strict=True):
        for snapshot, name in parts:
            try:
                assert shown(snapshot, name) == values[name], name
            except RuntimeError as error:
                assert "while deciding" in str(error) and name not in read
                raised.add(name)
    assert len(every) > 2
    assert {"jobs.steps_left", "jobs.held", "jobs.waiting", "nodes.free"} <= raised
    assert {"leases", "ended"} <= raised


def test_true_speeds_of_nodes_stay_in_the_core() -> None:
    data = two_nodes([{"steps": 100.0}]).to_dict()
    data["cluster"]["nodes"][0]["speed"] = 0.5
    believed = []

    def answer(snapshot: Snapshot) -> Decision:
        believed.append(snapshot.belief.on_nodes(snapshot.jobs.jobs[0], A))
        return give("j0", A, 300.0)

    run = run_loop(Scenario.from_dict(data), Scripted(answer))
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
    run = run_loop(make(jobs), greedy(), stop=WindowFinished(1, 2))
    assert run.jobs.finish_s.notna().tolist() == [True, True, True, False, False, False]
    refuse = Scripted(lambda s: Decision(verdicts=dict.fromkeys(s.jobs.names, "refused")), None, {"arrival"})
    assert run_loop(make(jobs), refuse, stop=WindowFinished(0, 1)).end_s == 20
    assert run_loop(make(jobs), greedy(), stop=WindowFinished(3, 99)).end_s == 60


def test_cancelling_ends_at_the_next_decision() -> None:
    flag = CancelFlag(Until(1000.0))
    calls = []

    def answer(snapshot: Snapshot) -> Decision:
        calls.append(snapshot.now_s)
        if len(calls) == 3:
            flag.cancel()
        return give("j0", A) if snapshot.now_s == 0 else EMPTY

    with pytest.raises(RunCancelledError, match="180 s"):
        run_loop(two_nodes([{"steps": 5000.0}]), Scripted(answer), stop=flag)
    assert len(calls) == 3
    assert run_loop(two_nodes([{"steps": 5000.0}]), greedy(), stop=CancelFlag(Until(70.0))).end_s == 70


def test_observers_are_told_of_each_decision() -> None:
    told: list[RunProgress] = []
    scenario = two_nodes([{"steps": 10.0}, {"steps": 200.0}, {"steps": 200.0}])
    run_loop(scenario, greedy(60.0, ()), observers=[ProgressReport(told.append, every_s=0.0)])
    assert told[0] == RunProgress(now_s=0, decisions=1, finished=0, jobs=3, running=2, waiting=1)
    assert told[1] == RunProgress(now_s=60, decisions=2, finished=1, jobs=3, running=2, waiting=0)
    few: list[RunProgress] = []
    run_loop(scenario, greedy(60.0, ()), observers=[ProgressReport(few.append, every_s=1000.0)])
    assert len(few) == 1


def test_detail_limits_what_is_recorded_and_nothing_else() -> None:
    asked: list[float] = []

    def answer(snapshot: Snapshot) -> Decision:
        def priority() -> Any:
            asked.append(snapshot.now_s)
            return np.array([snapshot.now_s])

        return Decision(
            assign=(Assignment("j0", A, snapshot.now_s + 60.0),),
            signals={"priority": PerJob(("j0",), priority)},
            shares=Shares(("j0",), snapshot.types, np.array([[min(1.0, 0.1 + snapshot.now_s)]])),
            solved=SolveReport("optimal", 1.0),
        )

    whole, part, none = (run_loop(two_nodes([{"steps": 300.0}]), Scripted(answer), detail=d) for d in (None, 2, 0))
    assert (len(whole.signals), len(part.signals), len(none.signals)) == (5, 2, 0)
    assert asked == [0.0, 60.0, 120.0, 180.0, 240.0, 0.0, 60.0]  # signals that are not recorded are not worked out
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
    both = [run_loop(two_nodes(jobs), script({**first, 60.0: Decision(preempt=kind({"j0", "j1"}))}), stop=Until(99.0))
            for kind in (frozenset, Backwards)]  # fmt: skip
    assert both[0] == both[1]
