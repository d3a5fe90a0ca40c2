"""Rounds of fewer tasks than K (`Task.width`): by hand, with the steps that are left, and cut by a fault."""

from __future__ import annotations

from typing import Any

import pytest
from pytest import approx

from tests.simulation.support import Scripted, make, row, script
from workbench.scheduling.decision import Decision, InvalidDecision, Slot, Task
from workbench.scheduling.snapshot import Snapshot, TaskView
from workbench.simulation.conservation import check
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run

CAUSES = {"arrival", "fault", "repair"}
A, B = Slot("a-0", 0), Slot("a-0", 1)


def wide(steps_each: int, *rounds: tuple[int, int, int]) -> tuple[Task, ...]:
    """Tasks of j0 as (round, number, width)."""
    return tuple(Task("j0", number, task, steps_each, width=width) for number, task, width in rounds)


def played(jobs: list[dict[str, Any]], answers: dict[float, dict[Slot, tuple[Task, ...]]], **rest: Any) -> Run:
    decisions = {time_s: Decision(sequences=sequences) for time_s, sequences in answers.items()}
    run = run_loop(make(jobs, {"a": 2}, **rest), script(decisions, round_s=None, causes=CAUSES))
    assert check(run) == []
    return run


def bars(run: Run) -> list[tuple[str, int, float, float, float]]:
    ran = run.timeline[(run.timeline["kind"] == "run") & (run.timeline["job"] == "j0")]
    return list(ran[["unit", "slot", "start_s", "end_s", "steps"]].itertuples(index=False, name=None))


def test_a_narrow_round_does_the_steps_of_its_tasks_and_the_last_tasks_share_the_rest() -> None:
    """7 steps of two tasks of 2: 2, 2, and 1.5 and 1.5, which take 2 s each. Rounds of one, two and one."""
    run = played(
        [{"steps": 7.0, "gpus": 2}],
        {0.0: {A: wide(2, (0, 0, 1), (1, 0, 2), (2, 0, 1)), B: wide(2, (1, 1, 2))}},
    )
    assert bars(run) == [
        ("j0 #0.0", 0, 0.0, 2.0, 2.0),
        ("j0 #1.0", 0, 2.0, 4.0, 2.0),
        ("j0 #1.1", 1, 2.0, 4.0, 1.5),
        ("j0 #2.0", 0, 4.0, 6.0, 1.5),
    ]
    assert row(run, "j0").steps_done == 7.0 and row(run, "j0").finish_s == 6.0


def test_rounds_may_be_planned_anew_in_other_widths() -> None:
    """j1 comes while j0's first round of one is on: the three tasks that are left become rounds of two and of one."""
    run = played(
        [{"steps": 4.0, "gpus": 2}, {"steps": 1.0, "arrival_s": 0.5}],
        {
            0.0: {A: wide(1, *((number, 0, 1) for number in range(4)))},
            0.5: {A: wide(1, (1, 0, 2), (2, 0, 1)), B: (Task("j1", 0, 0), *wide(1, (1, 1, 2)))},
        },
    )
    assert [bar[:4] for bar in bars(run)] == [
        ("j0 #0.0", 0, 0.0, 1.0), ("j0 #1.0", 0, 1.0, 2.0), ("j0 #1.1", 1, 1.5, 2.5), ("j0 #2.0", 0, 2.5, 3.5),
    ]  # fmt: skip


def test_a_round_that_has_begun_keeps_its_width() -> None:
    jobs = [{"steps": 8.0, "gpus": 2}, {"steps": 1.0, "arrival_s": 0.5}]
    later = {A: wide(4, (0, 1, 1))}
    with pytest.raises(InvalidDecision, match="width=2 as its round has begun"):
        played(jobs, {0.0: {A: wide(4, (0, 0, 2))}, 0.5: later})


def test_a_scheduler_sees_how_wide_the_round_is_and_how_many_tasks_are_done() -> None:
    seen: list[TaskView] = []
    first = Decision(sequences={A: wide(1, (0, 0, 1), (1, 0, 2)), B: wide(1, (1, 1, 2))})
    scenario = make([{"steps": 4.0, "gpus": 2}, {"steps": 1.0, "arrival_s": 1.5}], {"a": 2})

    def answer(snapshot: Snapshot) -> Decision:
        if snapshot.now_s == 0.0:
            return first
        seen.append(snapshot.tasks)
        return Decision(sequences={A: wide(1, (2, 0, 1)), B: (Task("j1", 0, 0),)})

    run = run_loop(scenario, Scripted(answer, None, CAUSES))
    assert check(run) == [] and row(run, "j0").finish_s == approx(3.0)
    assert seen[0].tasks_done == {"j0": 1} and seen[0].width == {"j0": 2} and seen[0].rounds_done == {"j0": 1}


def test_a_task_that_a_fault_takes_is_done_again_in_its_round() -> None:
    """b-0 fails at 1.5 s with the second task of a round of two; then a-0 does it, before the last two."""
    faults = {"list": [{"node": "b-0", "from_s": 1.5, "to_s": 99.0}]}
    other = Slot("b-0", 0)
    sequences = {
        0.0: {A: wide(2, (0, 0, 2), (1, 0, 1), (2, 0, 1)), other: wide(2, (0, 1, 2))},
        1.5: {A: wide(2, (0, 1, 2), (1, 0, 1), (2, 0, 1))},
    }
    decisions = {time_s: Decision(sequences=each) for time_s, each in sequences.items()}
    scenario = make([{"steps": 8.0, "gpus": 2}], {"a": 1, "b": 1}, core={"faults": faults})
    run = run_loop(scenario, script(decisions, round_s=None, causes=CAUSES))
    assert check(run) == []
    assert row(run, "j0").steps_lost == 1.5 and row(run, "j0").finish_s == 8.0
