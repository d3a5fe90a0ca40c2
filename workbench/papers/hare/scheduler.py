"""Hare as a scheduler: Algorithm 1's sequences of tasks on every GPU, planned anew over what has not started.

The paper is offline. Here (ours) the plan is made when a job arrives or a node fails or comes back, from the jobs that
are there, without knowing those to come; tasks that compute go on, all others are planned again. In between the core
carries the sequences out: rounds wait for their barriers, whatever times were believed.

Recorded for every job: `planned_finish_s` (when its last round synchronises by the plan), `first_middle_s` (H of its
first task, which decides who goes first) and `steps_per_round` (k, `workbench.baselines.mechanisms.task_rounds`); with
`profile_steps` also `profile_s` (how long after its arrival its model's profile is done; 0 if it was known). The event
of its start says how it was planned, and where its times were clamped. `solution.objective` is the plan's sum of
w_n C_n. A plan ignores what switches cost, as the paper's does; the core charges them
(`workbench.papers.hare.algorithms.switching`).

With a history of profiles (section 3) a (model, accelerator) pair seen before is not profiled again. A new job is
profiled in the preparation stage, beside the cluster: `profile_steps` steps on one GPU of each type on
which it runs, all types at a time. It may be scheduled when that is done; what its model took on a type is kept, and
later jobs of the model wait for no profile. The paper says neither how long a profile is nor that it delays a job:
without steps (the default) there is none.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError, Words, counted
from workbench.base.units import moment
from workbench.baselines.mechanisms.task_rounds import MOST_ROUNDS, STEPS_PER_ROUND
from workbench.papers.hare import knobs
from workbench.papers.hare.algorithms.list_schedule import GpuChoice, fluid_start_s, list_schedule, middle_s, safe_order
from workbench.papers.hare.algorithms.schedule import TaskSchedule, in_order
from workbench.papers.hare.algorithms.switching import Switches
from workbench.papers.hare.algorithms.synchronisation import (
    AdaptiveSchedule,
    core_tasks,
    place_adaptive,
    place_together,
)
from workbench.papers.hare.formulations.exact import Exact
from workbench.papers.hare.formulations.relaxed import relax
from workbench.papers.hare.instance import HareInstance, TasksLeft, step_s, tasks_left
from workbench.papers.hare.knobs import ASSIGNMENT, INSERTION, PROFILE_STEPS, RELAXATION, SYNCHRONISATION
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import (
    SLIPS,
    ExactProblem,
    Formulation,
    Knobs,
    Mechanism,
    Memory,
    Route,
    Scheduler,
    Timing,
)
from workbench.scheduling.decision import Decision, PerJob, Reason
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers.solve_report import MadeBy, SolveReport

HALF = 0.5
"""A whole variable above it is 1."""


class ProfiledPair(NamedTuple):
    """What is profiled: a model on a type of accelerator."""

    model: str
    accelerator: str


@dataclass(frozen=True)
class ProfileHistory:
    """Pairs that have been profiled, each with the time at which its profile was done."""

    done_s: tuple[tuple[ProfiledPair, float], ...] = ()

    def profiled(self, model: str, step_s: dict[str, float], steps: int, now_s: float) -> tuple[ProfileHistory, float]:
        """The history with a model's pairs in it, and when all of them are done.

        step_s: seconds of a step on each type on which the model runs.
        """
        known = dict(self.done_s)
        for kind, seconds in step_s.items():
            known.setdefault(ProfiledPair(model, kind), now_s + steps * seconds)
        ready_s = max((known[ProfiledPair(model, kind)] for kind in step_s), default=now_s)
        return ProfileHistory(tuple(known.items())), max(now_s, ready_s)


NAME = "hare"
KNOBS = (ASSIGNMENT, *knobs.ROUND_KNOBS, *knobs.SWITCHING_KNOBS, INSERTION, SYNCHRONISATION, RELAXATION, PROFILE_STEPS)


@dataclass(frozen=True)
class HareMemory:
    """The scheduler's memory.

    switches: what they cost; history: of profiles; ready_s: when the profile of each job is done.
    """

    switches: Switches
    history: ProfileHistory = field(default_factory=ProfileHistory)
    ready_s: Mapping[str, float] = field(default_factory=dict)


class Hare(Scheduler):
    """Tasks of all jobs, interleaved on the GPUs in the order of their middle completion times."""

    name = NAME
    title = "Hare"
    knobs = KNOBS
    formulation = "hare.exact"
    ways = frozenset({ASSIGNMENT.name, INSERTION.name, SYNCHRONISATION.name, RELAXATION.name})
    uses = frozenset(
        {"arrival_s", "steps", "gpus", "weight", "tasks_per_round"}
        | {"models.memory_gb", "models.model_gb", "accelerators.memory_gb"}
    )

    def route(self, knobs: Knobs) -> Route:
        if self.instead is not None:
            return super().route(knobs)
        order = "the relaxation's" if knobs["relaxation"] != "fluid" else "a fluid relaxation's"
        return Route("algorithm", "hare.exact", f"Algorithm 1 places tasks in the order of {order} middle times")

    def exact(self, snapshot: Snapshot, knobs: Knobs, end_s: float) -> ExactProblem:
        """Hare_Sched of all jobs, in rounds as coarse as the run's."""
        formulation = Exact()
        settled = formulation.settle({knob.name: knobs[knob.name] for knob in formulation.knobs if knob.name in knobs})
        data = formulation.data(snapshot, settled)

        def worth(finish_s: FloatArray) -> float:
            return float(data.weight @ finish_s)

        counted, without = "sum of weighted completion times", "what switching costs; its jobs are known ahead"
        return ExactProblem(
            formulation, data, settled, worth, lambda found: list(found.values["tasks"]), counted, without
        )

    def timing(self, knobs: Knobs) -> Timing:
        return Timing(None, frozenset({"arrival", "fault", "repair"}))

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        return HareMemory(Switches.of(scenario, knobs))

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        began = time.perf_counter()
        memory = _profiled(snapshot, memory, knobs)
        waits_s = [ready for ready in memory.ready_s.values() if ready > snapshot.now_s]
        without = frozenset(name for name, ready in memory.ready_s.items() if ready > snapshot.now_s)
        scaled = knobs.get("synchronisation") == "scale_adaptive"
        found = tasks_left(snapshot, knobs, without, together=_together(knobs), scaled=scaled)
        made_by: MadeBy = "algorithm" if self.instead is None else "model"
        plan: TaskSchedule | AdaptiveSchedule
        worth: float | None
        if self.instead is None:
            start_s, bound = _starts(found.instance, knobs)
            middle = middle_s(found.instance, start_s)
            plan = place_adaptive(found.instance, start_s) if scaled else _plan(found.instance, middle, knobs)
            worth = plan.objective
        else:
            plan, worth, bound = _planned_by(self.instead, found.instance, knobs)
            middle = middle_s(found.instance, plan.start_s)
        solve_s = time.perf_counter() - began
        tasks = (
            core_tasks(plan, found.steps_each, snapshot.tasks)
            if isinstance(plan, AdaptiveSchedule)
            else found.tasks(_together(knobs))
        )
        gpus = plan.instance.gpus
        decision = Decision(
            sequences={
                gpu.slot: tuple(map(tasks.__getitem__, numbers))
                for gpu, numbers in zip(gpus, plan.sequences, strict=True)
                if numbers
            },
            switching=memory.switches,
            signals={**_signals(found, plan, middle), **_profile_signal(snapshot, memory)},
            solved=SolveReport("feasible", worth, bound=bound, solve_s=solve_s, made_by=made_by),
            why=_reasons(found, plan),
            next_s=min(waits_s, default=None),
        )
        return decision, memory


class OrderMechanism(Mechanism):
    """`order`: variables `start[i]`, s, and `assign[i, g]`, 1 where task i is on GPU g; what counts is the order of the
    tasks on each GPU.

    The function gets a `HareInstance`: tasks i from 0 (`data.task_count`), their job `data.task_job` and round
    `data.task_round`, GPUs g from 0 (`data.gpus`), seconds (jobs x gpus) that a task computes `data.train_s` (inf where
    it cannot) and then synchronises `data.sync_s`; `data.free_s` is when a GPU is free. A GPU takes its tasks in the
    order of their starts, each as soon as it can: a start later than the order needs is not carried out. Values:
    `tasks`, as of hare.exact. Planned when a job comes and a node changes, with Hare's knobs of rounds and switching.
    """

    variables = {"start": 1, "assign": 2}
    form = "tasks, a list of {gpu, start_s} for each task in the order of data.task_job"
    knobs = (MOST_ROUNDS, STEPS_PER_ROUND)

    @staticmethod
    def data(snapshot: Snapshot, knobs: Knobs) -> HareInstance:
        return Exact().data(snapshot, knobs)

    @staticmethod
    def values(model: Any, data: Any, name: str) -> dict[str, Any]:
        on = np.full(data.task_count, -1)
        for (task, gpu), variable in model.assign.items():
            if variable.value > HALF:
                where = f"formulation {name}, task {task}"
                if task not in range(data.task_count) or gpu not in range(len(data.gpus)):
                    raise InputError(where, gpu, "a task and a GPU that are there")
                if on[task] >= 0:
                    raise InputError(where, gpu, "one GPU")
                if not math.isfinite(data.train_s[data.task_job[task], gpu]):
                    raise InputError(where, gpu, "a GPU on which its job runs")
                on[task] = gpu
        for task in np.flatnonzero(on < 0)[:1].tolist():
            raise InputError(f"formulation {name}, task {task}", Words("no GPU"), "one")
        start_s = np.array([model.start[task].value for task in range(data.task_count)], dtype=float)
        return in_order(data, on, safe_order(data, start_s)).check(name).values()

    @staticmethod
    def scheduler(formulation: Formulation[Any]) -> Scheduler:
        return Hare().with_formulation(formulation)


def _planned_by(
    formulation: Formulation[Any], instance: HareInstance, knobs: Knobs
) -> tuple[TaskSchedule, float | None, float | None]:
    """The schedule of an own formulation, its model's objective and bound."""
    found = formulation.run(instance, formulation.settle({}) | knobs)
    number = {gpu.name: column for column, gpu in enumerate(instance.gpus)}
    with OrderMechanism.reading(formulation.name, found.values):
        tasks = found.values["tasks"]
        on, start_s = [number[task["gpu"]] for task in tasks], [task["start_s"] for task in tasks]
        plan = TaskSchedule(instance, np.array(on, dtype=np.int64), np.array(start_s, dtype=float))
        plan.check(formulation.name)
    said = SLIPS.get()
    if said is not None and found.warnings:
        said.setdefault(f"{formulation.name}, starts", found.warnings[0])
    return plan, found.objective, found.bound


def _together(knobs: Knobs) -> bool:
    return bool(knobs.get("synchronisation") == "scale_fixed")


def _starts(instance: HareInstance, knobs: Knobs) -> tuple[FloatArray, float | None]:
    """(tasks,) x^ of the relaxation, and its bound on the plan's objective if it is one."""
    if knobs["relaxation"] == "fluid" or not instance.jobs:
        return fluid_start_s(instance), None
    found = relax(instance)
    return found.start_s, found.bound


def _plan(instance: HareInstance, middle: FloatArray, knobs: Knobs) -> TaskSchedule:
    """The schedule for the middle completion times of the tasks."""
    order = safe_order(instance, middle)
    if _together(knobs):
        return place_together(instance, order)
    rule: GpuChoice = "earliest_available" if knobs["assignment"] == "earliest_available" else "earliest_finish"
    return list_schedule(instance, order, rule, bool(knobs["insertion"]))


def _profiled(snapshot: Snapshot, memory: HareMemory, knobs: Knobs) -> HareMemory:
    """With the profiles of the jobs that are new."""
    steps, history, ready_s = int(knobs["profile_steps"]), memory.history, dict(memory.ready_s)
    if not steps:
        return memory
    for job in snapshot.jobs.jobs:
        if job.name not in ready_s:
            seconds = step_s(snapshot, job)
            history, ready_s[job.name] = history.profiled(job.model, seconds, steps, snapshot.now_s)
    there = set(snapshot.jobs.names)
    return replace(memory, history=history, ready_s={name: s for name, s in ready_s.items() if name in there})


def _profile_signal(snapshot: Snapshot, memory: HareMemory) -> dict[str, dict[str, float]]:
    """Seconds from each job's arrival to the end of its model's profile; 0 where all pairs were known."""
    ready_s = memory.ready_s
    waits_s = {job.name: max(ready_s[job.name] - job.arrival_s, 0.0) for job in snapshot.jobs.jobs if ready_s}
    return {"profile_s": waits_s} if waits_s else {}


def _signals(found: TasksLeft, plan: TaskSchedule | AdaptiveSchedule, middle: FloatArray) -> dict[str, PerJob]:
    """Numbers of each job, in the order of the middle times of their first tasks, by which tasks are placed."""
    data = plan.instance
    first = middle[data.round_task[data.job_round[:-1]]]
    order = np.argsort(first, kind="stable")
    jobs, steps_each = [data.jobs[row] for row in order.tolist()], np.array(found.steps_each, dtype=float)
    return {
        "planned_finish_s": PerJob(jobs, plan.completion_s[order]),
        "first_middle_s": PerJob(jobs, first[order]),
        "steps_per_round": PerJob(jobs, steps_each[order]),
    }


def _reasons(found: TasksLeft, plan: TaskSchedule | AdaptiveSchedule) -> dict[str, Reason]:
    """How each job was planned, and whom no GPU that is up can run."""
    data = found.instance
    first = plan.first_task.tolist()
    starts, ends = plan.start_s[first].tolist(), plan.completion_s.tolist()
    notes = {(note.model, note.tasks): str(note) for note in found.notes}
    why = {}
    for row, name in enumerate(data.jobs):
        rounds, each = int(data.rounds[row]), found.rows[row].steps_each
        what = f"{counted(rounds, 'round')} of {counted(int(data.tasks[row]), 'task')} of {counted(each, 'step')} to go"
        if isinstance(plan, AdaptiveSchedule):
            what += " or more, each of as many tasks as there are GPUs"
        kind = data.gpus[plan.gpu[first[row]]].accelerator
        text = f"{what}, by the plan from {moment(starts[row])}, first on {kind}, to {moment(ends[row])}"
        note = notes.get((found.rows[row].job.model, int(data.tasks[row])))
        text += f" ({note})" if note else ""
        facts = {"rounds": float(rounds), "steps_each": float(each), "finish_s": float(ends[row])}
        why[name] = Reason("planned", text, facts)
    why |= {name: Reason("stranded", "the nodes on which it runs are down") for name in found.stranded}
    return why
