"""Tasks in sequence on slots: barriers, synchronisation beside the next task, and a slow second opinion."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from tests.simulation.support import Scripted, check, events, give, row, rows, script
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Decision, InvalidDecision, Slot, Switch, Task
from workbench.scheduling.snapshot import TaskView
from workbench.simulation.conservation import check as violations
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run
from workbench.simulation.stop import Stalled, Until

FAST, SLOW = Slot("f-0", 0), Slot("s-0", 0)
CAUSES = {"arrival", "fault", "repair"}


def world(jobs: list[dict[str, Any]], sync_s: float | None = 0.5, **rest: Any) -> Scenario:
    """Two nodes: two fast GPUs (a task takes 1 s) and two slow ones (2 s); all synchronise in sync_s."""
    rates = {"fast": 1.0, "slow": 0.5}
    return Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [{"name": kind} for kind in rates],
                "nodes": [{"name": kind[0], "accelerator": kind, "gpus": 2} for kind in rates],
            },
            "jobs": [{"name": f"j{i}", "model": "m", **job} for i, job in enumerate(jobs)],
            "throughputs": [
                {"model": "m", "accelerator": kind, "gpus": n, "steps_per_s": 0.8 * n * rate if n > 1 else rate}
                | ({} if sync_s is None else {"sync_s": sync_s})
                for kind, rate in rates.items()
                for n in (1, 2, 3)
            ],
            **rest,
        }
    )


def tasks(job: str, *numbers: tuple[int, int]) -> tuple[Task, ...]:
    return tuple(Task(job, number, task) for number, task in numbers)


class Costs:
    """A switch costs so much by the job that comes, unless it was the last one; what a GPU holds is the jobs' names."""

    def __init__(self, **seconds: float) -> None:
        self.seconds = seconds

    def begin(self, slot: Slot, task: Task, step_s: float, held: str | None) -> Switch:
        last = (held or "").split(">")[-1]
        seconds = 0.0 if task.job == last else self.seconds[task.job]
        now = f"{held or ''}>{task.job}"
        return Switch(seconds, f"{now}: {step_s:g} s a step", now)

    def fault(self, held: str) -> str:
        return "lost"


def played(scenario: Scenario, sequences: dict[Slot, tuple[Task, ...]], costs: Any = None, stop: Any = None) -> Run:
    answer = Decision(sequences=sequences, switching=costs)
    run = run_loop(scenario, script({0.0: answer}, round_s=None, causes=CAUSES), stop=stop)
    check(run, tasks=True)
    return run


def bars(run: Run, job: str) -> list[tuple[Slot, str, float, float]]:
    return [(Slot(node, slot), kind, start_s, end_s) for node, slot, _, kind, start_s, end_s in rows(run, job)]


def test_a_round_waits_for_the_slowest_task_and_its_synchronisation() -> None:
    sequences = {FAST: tasks("j0", (0, 0), (1, 0)), SLOW: tasks("j0", (0, 1), (1, 1))}
    run = played(world([{"steps": 4.0, "gpus": 2}]), sequences)
    assert bars(run, "j0") == [
        (FAST, "run", 0, 1),
        (SLOW, "run", 0, 2),
        (FAST, "sync", 1, 1.5),
        (SLOW, "sync", 2, 2.5),
        (FAST, "run", 2.5, 3.5),
        (SLOW, "run", 2.5, 4.5),
        (FAST, "sync", 3.5, 4),
        (SLOW, "sync", 4.5, 5),
    ]
    r = row(run, "j0")
    assert (r.finish_s, r.steps_done, r.attained_s, r.run_s) == (5, 4, 6, 6)
    assert r.waited_s == approx(1.0)  # both slots free while it synchronises: 2 to 2.5, 4.5 to 5
    assert events(run, "j0") == [(0, "arrival"), (0, "start"), (5, "finish")]


def test_synchronisation_runs_beside_the_next_job() -> None:
    jobs = [{"steps": 2.0}, {"steps": 1.0}]
    run = played(world(jobs, sync_s=3.0), {FAST: (Task("j0", 0, 0), Task("j1", 0, 0), Task("j0", 1, 0))})
    assert [bar[1:] for bar in bars(run, "j0")] == [("run", 0, 1), ("sync", 1, 4), ("run", 4, 5), ("sync", 5, 8)]
    assert [bar[1:] for bar in bars(run, "j1")] == [("run", 1, 2), ("sync", 2, 5)]


def test_more_tasks_than_gpus_run_one_after_the_other() -> None:
    run = played(world([{"steps": 3.0, "gpus": 1, "tasks_per_round": 3}]), {FAST: tasks("j0", (0, 0), (0, 1), (0, 2))})
    assert row(run, "j0").finish_s == 3.5 and row(run, "j0").attained_s == 3


def test_a_sequence_is_not_reordered() -> None:
    """j1 could start at 1 s, but it stands behind j0's second round."""
    run = played(world([{"steps": 2.0}, {"steps": 1.0}], 2.0), {FAST: (*tasks("j0", (0, 0), (1, 0)), Task("j1", 0, 0))})
    assert row(run, "j1").first_start_s == 4


def test_synchronisation_from_the_throughput_table() -> None:
    """K / r(K) - 1 / r(1) = 2 / 1.6 - 1 on the fast type."""
    sequences = {FAST: tasks("j0", (0, 0)), Slot("f-0", 1): tasks("j0", (0, 1))}
    assert row(played(world([{"steps": 2.0, "gpus": 2}], None), sequences), "j0").finish_s == approx(1.25)


def test_the_last_round_shares_what_is_left() -> None:
    sequences = {FAST: tasks("j0", (0, 0), (1, 0)), Slot("f-0", 1): tasks("j0", (0, 1), (1, 1))}
    run = played(world([{"steps": 3.0, "gpus": 2}], 0.0), sequences)
    assert row(run, "j0").finish_s == 2 and run.timeline.steps.sum() == approx(3)


def coarse(job: str, steps: int, *numbers: tuple[int, int]) -> tuple[Task, ...]:
    return tuple(Task(job, number, task, steps) for number, task in numbers)


def test_a_coarse_task_does_several_steps_and_synchronises_once_for_all() -> None:
    """10 steps of one GPU, 4 a task: 4 + 4 + 2 steps of 2 s on the slow type, each with 0.5 s to synchronise."""
    run = played(world([{"steps": 10.0}]), {SLOW: coarse("j0", 4, (0, 0), (1, 0), (2, 0))})
    assert [bar[1:] for bar in bars(run, "j0")] == [
        ("run", 0, 8), ("sync", 8, 10), ("run", 10, 18), ("sync", 18, 20), ("run", 20, 24), ("sync", 24, 25),
    ]  # fmt: skip
    assert run.timeline[run.timeline.kind == "run"].steps.tolist() == [4, 4, 2]
    assert row(run, "j0").steps_done == 10


@pytest.mark.parametrize("steps_each", [1, 2, 3, 6, 7])
def test_a_job_alone_takes_as_long_in_coarse_rounds(steps_each: int) -> None:
    """12 steps of each of two GPUs; only whole steps are computed, so the sum of steps is all that counts."""
    numbers = range(math.ceil(12 / steps_each))
    sequences = {Slot("f-0", i): coarse("j0", steps_each, *((n, i) for n in numbers)) for i in (0, 1)}
    run = played(world([{"steps": 24.0, "gpus": 2}]), sequences)
    assert row(run, "j0").finish_s == approx(12 * (1 + 0.5)) and row(run, "j0").steps_done == approx(24)


def test_tasks_of_a_job_have_equally_many_steps() -> None:
    scenario = world([{"steps": 8.0}])
    mixed = {FAST: (Task("j0", 0, 0, 2), Task("j0", 1, 0, 4))}
    with pytest.raises(InvalidDecision, match="2 steps as its other tasks"):
        played(scenario, mixed)
    with pytest.raises(InvalidDecision, match="at least 1 step"):
        played(scenario, {FAST: (Task("j0", 0, 0, 0),)})
    later = {0.0: {FAST: coarse("j0", 2, (0, 0), (1, 0))}, 60.0: {FAST: coarse("j0", 4, (2, 0))}}
    answers = script({time_s: Decision(sequences=tasks) for time_s, tasks in later.items()})
    slow = world([{"steps": 80.0}])
    with pytest.raises(InvalidDecision, match="2 steps as its tasks that have started"):
        run_loop(slow, answers)


def test_what_has_not_started_may_be_planned_with_other_steps() -> None:
    jobs = [{"steps": 70.0}, {"steps": 4.0}]
    first = {FAST: (Task("j0", 0, 0, 70), *coarse("j1", 2, (0, 0), (1, 0)))}
    then = {FAST: coarse("j1", 4, (0, 0))}
    run = run_loop(world(jobs, 0.0), script({0.0: Decision(sequences=first), 60.0: Decision(sequences=then)}))
    assert [bar[1:] for bar in bars(run, "j1")] == [("run", 70, 74)]


def test_new_sequences_replace_what_has_not_started() -> None:
    scenario = world([{"steps": 3.0}, {"steps": 1.0, "arrival_s": 0.5}], 0.0)
    first = Decision(sequences={FAST: tasks("j0", (0, 0), (1, 0), (2, 0))})
    then = Decision(sequences={FAST: (Task("j1", 0, 0),), SLOW: tasks("j0", (1, 0), (2, 0))})
    scheduler = script({0.0: first, 0.5: then}, round_s=None, causes=CAUSES)
    run = run_loop(scenario, scheduler)
    check(run, tasks=True)
    assert bars(run, "j0") == [(FAST, "run", 0, 1), (SLOW, "run", 1, 3), (SLOW, "run", 3, 5)]
    assert bars(run, "j1") == [(FAST, "run", 1, 2)]


def test_every_task_is_a_unit_of_its_own_and_the_run_adds_up() -> None:
    """More tasks than the gang has GPUs, on both slots of a node: no rule of `metrics.check` breaks."""
    sequences = {FAST: tasks("j0", (0, 0), (0, 2), (1, 1)), Slot("f-0", 1): tasks("j0", (0, 1), (1, 0), (1, 2))}
    run = played(world([{"steps": 6.0, "gpus": 1, "tasks_per_round": 3}]), sequences)
    assert violations(run) == []
    ran = run.timeline[run.timeline.kind == "run"]
    assert sorted(ran.unit) == ["j0 #0.0", "j0 #0.1", "j0 #0.2", "j0 #1.0", "j0 #1.1", "j0 #1.2"]
    assert set(ran.job) == {"j0"} and set(ran.gpus) == {1}


def test_a_slot_switches_before_it_computes() -> None:
    """The second task of j0 needs no switch; switching holds the slot, and does no steps."""
    jobs = [{"steps": 2.0}, {"steps": 1.0}]
    run = played(world(jobs, 0.0), {FAST: (*tasks("j0", (0, 0), (1, 0)), *tasks("j1", (0, 0)))}, Costs(j0=0.5, j1=0.25))
    assert [bar[1:] for bar in bars(run, "j0")] == [("switch", 0, 0.5), ("run", 0.5, 1.5), ("run", 1.5, 2.5)]
    assert [bar[1:] for bar in bars(run, "j1")] == [("switch", 2.5, 2.75), ("run", 2.75, 3.75)]
    assert row(run, "j0").attained_s == 2.5 and row(run, "j0").run_s == 2.0 and violations(run) == []


def test_a_switch_is_told_what_the_gpu_holds_and_how_long_a_step_takes() -> None:
    """Two jobs take turns on the fast GPU, where a step takes 1 s; a fault at 3.5 s leaves nothing there."""
    sequence = (Task("j0", 0, 0), Task("j1", 0, 0), Task("j0", 1, 0))
    faults = {"list": [{"node": "f-0", "from_s": 3.5, "to_s": 4.0}]}
    answers = {
        0.0: Decision(sequences={FAST: sequence}, switching=Costs(j0=0.0, j1=0.25)),
        4.0: Decision(sequences={FAST: (Task("j0", 2, 0),)}, switching=Costs(j0=0.0)),
    }
    scenario = world([{"steps": 3.0}, {"steps": 1.0}], 0.0, core={"faults": faults})
    run = run_loop(scenario, script(answers, round_s=None, causes=CAUSES | {"repair"}))
    told = run.events[run.events.event == "switch"]
    assert told[["time_s", "job", "unit", "where", "reason"]].values.tolist() == [
        [0.0, "j0", "j0 #0.0", "f-0/0", ">j0: 1 s a step"],
        [1.0, "j1", "j1 #0.0", "f-0/0", ">j0>j1: 1 s a step"],
        [2.25, "j0", "j0 #1.0", "f-0/0", ">j0>j1>j0: 1 s a step"],
        [4.0, "j0", "j0 #2.0", "f-0/0", "lost>j0: 1 s a step"],
    ]


@pytest.mark.parametrize("seconds", [-1.0, math.inf, math.nan])
def test_a_switch_takes_a_number_of_seconds(seconds: float) -> None:
    with pytest.raises(InvalidDecision, match="seconds >= 0"):
        played(world([{"steps": 2.0}]), {FAST: tasks("j0", (0, 0), (1, 0))}, Costs(j0=seconds))


def test_a_node_that_fails_during_a_switch_loses_no_steps() -> None:
    faults = {"list": [{"node": "f-0", "from_s": 0.25, "to_s": 9.0}]}
    steps = {0.0: (FAST, Costs(j0=0.5)), 0.25: (SLOW, None)}
    answers = {
        time_s: Decision(sequences={slot: tasks("j0", (0, 0))}, switching=costs)
        for time_s, (slot, costs) in steps.items()
    }
    scenario = world([{"steps": 1.0}], 0.0, core={"faults": faults})
    run = run_loop(scenario, script(answers, round_s=None, causes=CAUSES))
    assert [bar[1:] for bar in bars(run, "j0")] == [("switch", 0, 0.25), ("run", 0.25, 2.25)]
    assert row(run, "j0").steps_lost == 0 and violations(run) == []


def together(job: str, *numbers: tuple[int, int]) -> tuple[Task, ...]:
    return tuple(Task(job, number, task, together=True) for number, task in numbers)


def test_tasks_that_start_together_wait_for_the_last_slot() -> None:
    """Fig. 4(a): the slow slot is busy until 2 s; the fast one waits for it, in both rounds."""
    jobs = [{"steps": 4.0, "gpus": 2}, {"steps": 1.0}]
    sequences = {FAST: together("j0", (0, 0), (1, 0)), SLOW: (Task("j1", 0, 0), *together("j0", (0, 1), (1, 1)))}
    run = played(world(jobs), sequences)
    assert bars(run, "j0") == [
        (FAST, "run", 2, 3), (SLOW, "run", 2, 4), (FAST, "sync", 3, 3.5), (SLOW, "sync", 4, 4.5),
        (FAST, "run", 4.5, 5.5), (SLOW, "run", 4.5, 6.5), (FAST, "sync", 5.5, 6), (SLOW, "sync", 6.5, 7),
    ]  # fmt: skip


def test_together_two_tasks_on_one_slot_never_start() -> None:
    with pytest.raises(Stalled):
        played(world([{"steps": 2.0, "gpus": 2}]), {FAST: together("j0", (0, 0), (0, 1))})


def test_tasks_without_a_speed_alone_compute_as_long_as_their_gang() -> None:
    """The table has the gang of two only: 2 steps in 2 / 1.6 s, synchronisation included."""
    data = world([{"steps": 4.0, "gpus": 2}], None).to_dict()
    data["throughputs"] = [row for row in data["throughputs"] if row.get("gpus") == 2]
    sequences = {FAST: tasks("j0", (0, 0), (1, 0)), Slot("f-0", 1): tasks("j0", (0, 1), (1, 1))}
    run = played(Scenario.from_dict(data), sequences)
    assert row(run, "j0").finish_s == approx(2 * 2 / 1.6) and set(run.timeline.kind) == {"run"}


def test_a_slow_node_computes_longer() -> None:
    data = world([{"steps": 1.0}]).to_dict()
    data["cluster"]["nodes"][0]["speed"] = 0.5
    assert row(played(Scenario.from_dict(data), {FAST: tasks("j0", (0, 0))}), "j0").finish_s == 2.5


def test_a_failed_node_loses_its_task_and_its_sequence() -> None:
    faults = {"list": [{"node": "f-0", "from_s": 1.5, "to_s": 10.0}]}
    scenario = world([{"steps": 2.0}], 0.0, core={"faults": faults})
    again = Decision(sequences={SLOW: tasks("j0", (1, 0))})
    first = Decision(sequences={FAST: tasks("j0", (0, 0), (1, 0))})
    run = run_loop(scenario, script({0.0: first, 1.5: again}, round_s=None, causes=CAUSES))
    check(run, tasks=True)
    assert row(run, "j0").steps_lost == 0.5 and row(run, "j0").finish_s == 3.5


def test_until_cuts_tasks() -> None:
    run = played(world([{"steps": 2.0}]), {SLOW: tasks("j0", (0, 0), (1, 0))}, stop=Until(3.0))
    assert bars(run, "j0") == [(SLOW, "run", 0, 2), (SLOW, "sync", 2, 2.5), (SLOW, "run", 2.5, 3)]
    assert row(run, "j0").steps_done == 1.25


def test_sequences_that_wait_for_each_other_are_stalled() -> None:
    jobs = [{"steps": 2.0}, {"steps": 2.0}]
    sequences = {
        FAST: (Task("j0", 1, 0), Task("j1", 0, 0)),
        SLOW: (Task("j1", 1, 0), Task("j0", 0, 0)),
    }
    with pytest.raises(Stalled):
        played(world(jobs), sequences)


def test_completions_of_tasks_are_a_cause_and_gpus_are_shown_as_taken() -> None:
    seen = []

    def answer(snapshot: Any) -> Decision:
        seen.append((snapshot.now_s, snapshot.cause, snapshot.nodes.free.tolist(), snapshot.jobs.steps_left.tolist()))
        sequences = {FAST: tasks("j0", (0, 0)), SLOW: tasks("j1", (0, 0))}
        return Decision(sequences=sequences) if snapshot.now_s == 0 else Decision()

    run_loop(world([{"steps": 1.0}, {"steps": 1.0}]), Scripted(answer, None, {"completion"}))
    assert seen == [(0, "arrival", [2, 2], [1, 1]), (1.5, "completion", [2, 1], [1])]


def test_who_sees_only_the_snapshot_can_plan_anew_what_has_not_started() -> None:
    """Deals all tasks that have not started to all slots in turn, round by round, at every arrival and fault."""
    seen: list[TaskView] = []

    def answer(snapshot: Any) -> Decision:
        view: TaskView = snapshot.tasks
        seen.append(view)
        open_tasks = []
        for job, left in zip(snapshot.jobs.jobs, snapshot.jobs.steps_left.tolist(), strict=True):
            wide = job.tasks_per_round or job.gpus
            count = view.rounds.get(job.name, math.ceil(left / wide))
            for number, task in itertools.product(range(view.rounds_done.get(job.name, 0), count), range(wide)):
                if (number, task) not in view.started.get(job.name, ()):
                    open_tasks.append(Task(job.name, number, task))
        nodes = zip(snapshot.nodes.names, snapshot.nodes.gpus.tolist(), snapshot.nodes.up.tolist(), strict=True)
        slots = [Slot(name, i) for name, gpus, up in nodes if up for i in range(gpus)]
        open_tasks.sort(key=lambda task: task.round)
        return Decision(sequences={slot: tuple(open_tasks[i :: len(slots)]) for i, slot in enumerate(slots)})

    faults = {"list": [{"node": "f-0", "from_s": 4.25, "to_s": 6.0}]}
    jobs = [{"steps": 9.0, "gpus": 2}, {"steps": 7.0, "gpus": 3, "arrival_s": 1.75}, {"steps": 2.0, "arrival_s": 3.5}]
    run = run_loop(world(jobs, core={"faults": faults}), Scripted(answer, None, CAUSES))
    check(run, tasks=True)
    assert run.jobs.finish_s.notna().all()
    first, then = seen[:2]
    assert not first.rounds_done and not first.waiting
    assert then.rounds == {"j0": 5} and then.rounds_done == {"j0": 1} and then.started["j0"] == {(1, 0), (1, 1)}
    assert then.computing[SLOW] == (Task("j0", 1, 0), 1.5, 3.5) and then.waiting[SLOW] == (Task("j0", 3, 0),)


@pytest.mark.parametrize(
    ("sequences", "limit"),
    [
        ({Slot("f-0", 2): tasks("j0", (0, 0))}, "free slot"),
        ({Slot("z-0", 0): tasks("j0", (0, 0))}, "free slot"),
        ({SLOW: tasks("j0", (0, 0))}, "free slot"),  # j2 holds it
        ({FAST: tasks("x", (0, 0))}, "arrived"),
        ({FAST: tasks("j0", (3, 0))}, "round below 3"),
        ({FAST: tasks("j0", (0, 1))}, "task below 1"),
        ({FAST: tasks("j0", (-1, 0))}, "round below 3"),
        ({FAST: tasks("j0", (0, 0), (0, 0))}, "once"),
        ({FAST: tasks("j0", (0, 0)), Slot("s-0", 1): tasks("j0", (0, 0))}, "once"),
        ({FAST: tasks("j1", (0, 0))}, "not started"),
        ({FAST: tasks("j2", (0, 0))}, "one unit"),
        ({FAST: (("j0", 0, 0),)}, "a Task"),
        ({FAST: (Task("j4", 0, 0), Task("j4", 0, 1, together=True))}, "together=False and width=None as its round's"),
        ({FAST: (Task("j4", 0, 0, width=1), Task("j4", 0, 1, width=2))}, "width=1 as its round's"),
        ({FAST: (Task("j4", 0, 1, width=1),)}, "a task below 1"),
        ({FAST: (Task("j4", 0, 0, width=3),)}, "a width from 1 to 2"),
        ({FAST: (Task("j4", 4, 0, width=1),)}, "a round below 4"),
        ({FAST: tuple(Task("j4", r, 0, width=w) for r, w in enumerate((2, 1, 2)))}, "no more tasks than are left, 4"),
        ({FAST: (Task("j4", 0, 0, width=0.5),)}, "a Task"),
        ({FAST: tasks("j3", (0, 0))}, "throughput > 0"),
    ],
)
def test_limits(sequences: Any, limit: str) -> None:
    data = world([{"steps": 3.0}, {"steps": 9.0}, {"steps": 9.0}]).to_dict()
    data["jobs"].append({"name": "j3", "model": "n", "steps": 1.0})
    data["jobs"].append({"name": "j4", "model": "m", "steps": 4.0, "gpus": 2})
    data["throughputs"].append({"model": "n", "accelerator": "slow", "steps_per_s": 1.0})
    first = Decision(sequences={Slot("f-0", 1): tasks("j1", (0, 0))})

    def answer(snapshot: Any) -> Decision:
        if snapshot.now_s == 0:
            return Decision(assign=give("j2", {"s-0": 1}, 100.0).assign, next_s=0.25)
        return first if snapshot.now_s == 0.25 else Decision(sequences=sequences)

    with pytest.raises(InvalidDecision, match=limit):
        run_loop(Scenario.from_dict(data), Scripted(answer, 0.5))


def test_assignments_and_sequences_are_not_mixed() -> None:
    both = Decision(assign=give("j0", {"f-0": 1}).assign, sequences={SLOW: tasks("j1", (0, 0))})
    with pytest.raises(InvalidDecision, match="one or the other"):
        run_loop(world([{"steps": 1.0}] * 2), Scripted(lambda s: both))
    steps = {0.0: Decision(sequences={SLOW: tasks("j0", (0, 0))}), 1.0: give("j0", {"f-0": 1})}
    with pytest.raises(InvalidDecision, match="tasks in sequences"):
        run_loop(world([{"steps": 1.0}]), script(steps, round_s=1.0))


# A second opinion ----------------------------------------------------------------------------------------------------


@st.composite
def plans(draw: st.DrawFn) -> tuple[Scenario, dict[Slot, tuple[Task, ...]]]:
    jobs = [
        {"steps": float(rounds * per_round), "tasks_per_round": per_round}
        for rounds, per_round in draw(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=3))
    ]
    scenario = world(jobs, draw(st.sampled_from([0.0, 0.3, 2.0])))
    slots = [FAST, Slot("f-0", 1), SLOW, Slot("s-0", 1)]
    sequences: dict[Slot, list[Task]] = {slot: [] for slot in slots}
    todo = {job.name: 0 for job in scenario.jobs}
    while todo:  # rounds in order, so that no task stands before one it waits for
        name = draw(st.sampled_from(sorted(todo)))
        job = next(job for job in scenario.jobs if job.name == name)
        for number in draw(st.permutations(range(job.tasks_per_round or 1))):
            sequences[draw(st.sampled_from(slots))].append(Task(name, todo[name], number))
        todo[name] += 1
        if todo[name] * (job.tasks_per_round or 1) == job.steps:
            del todo[name]
    return scenario, {slot: tuple(found) for slot, found in sequences.items()}


@given(plans())
def test_the_core_does_what_equations_six_and_seven_say(plan: tuple[Scenario, dict[Slot, tuple[Task, ...]]]) -> None:
    """Starts are the least times that respect the slot's order and the barriers, found by repeating both rules."""
    scenario, sequences = plan
    run = played(scenario, sequences)
    start = {task: 0.0 for found in sequences.values() for task in found}
    seconds = {task: 1.0 if slot.node == "f-0" else 2.0 for slot, found in sequences.items() for task in found}
    sync_s = scenario.throughputs[0].sync_s or 0.0
    for _ in range(len(start) + 1):
        for found in sequences.values():
            for before, after in itertools.pairwise(found):
                start[after] = max(start[after], start[before] + seconds[before])
        for task, other in itertools.product(start, start):
            if task.job == other.job and task.round == other.round + 1:
                start[task] = max(start[task], start[other] + seconds[other] + sync_s)
    for job in scenario.jobs:
        mine = [task for task in start if task.job == job.name]
        assert row(run, job.name).finish_s == approx(max(start[t] + seconds[t] + sync_s for t in mine))
        assert row(run, job.name).first_start_s == approx(min(start[t] for t in mine))
        assert row(run, job.name).attained_s == approx(sum(seconds[t] for t in mine))
        assert not math.isnan(row(run, job.name).finish_s)


def test_what_tasks_computed_is_measured_by_job_and_node() -> None:
    """At 3.5 s j0 has had two tasks of 0.5 s on the fast node, here of speed 2, and one of 2 s on the slow one; the one
    that computes is measured once it is done."""
    data = world([{"steps": 4.0}, {"steps": 1.0, "arrival_s": 3.5}], 0.0).to_dict()
    data["cluster"]["nodes"][0]["speed"] = 2.0
    seen: list[Any] = []

    def answer(snapshot: Any) -> Decision:
        seen.append({(each.job, *each.gpus): each[3:] for each in snapshot.observations})
        if snapshot.now_s > 0:
            return Decision(sequences={FAST: tasks("j1", (0, 0))})
        return Decision(sequences={FAST: tasks("j0", (0, 0), (1, 0)), SLOW: tasks("j0", (2, 0), (3, 0))})

    run_loop(Scenario.from_dict(data), Scripted(answer, round_s=None, causes=CAUSES))
    assert seen == [{}, {("j0", "f-0"): (2.0, 1.0), ("j0", "s-0"): (0.5, 2.0)}]
