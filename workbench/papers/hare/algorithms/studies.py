"""Whole offline schedules side by side, as pages of a lab show them: a snapshot in, what JSON can hold out.

All jobs are known ahead, those to come included, and switches cost nothing: it is the problem of section 5, without
the core's limits. Each study is a function of a snapshot at time 0 and of what was chosen on its page.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.base.errors import InputError, counted
from workbench.papers.hare.algorithms.job_level import BASELINES
from workbench.papers.hare.algorithms.list_schedule import GpuChoice, algorithm_1, alpha, claimed, fluid_start_s
from workbench.papers.hare.algorithms.schedule import TaskSchedule, in_order
from workbench.papers.hare.algorithms.synchronisation import AdaptiveSchedule, enough, schedules
from workbench.papers.hare.formulations.exact import Exact
from workbench.papers.hare.formulations.interval_lp import IntervalLP
from workbench.papers.hare.formulations.relaxed import Relaxation
from workbench.papers.hare.formulations.time_indexed_lp import TimeIndexedLP
from workbench.papers.hare.instance import HareInstance
from workbench.papers.hare.knobs import ROUND_KNOBS
from workbench.scheduling.contract import Formulation
from workbench.scheduling.snapshot import Snapshot

MOST_GPUS = 8
ROUNDS, TASKS, GPUS = (1, 1, 2), (2, 2, 2), 3
"""Fig. 1: how many rounds J1, J2 and J3 have, tasks of each round, and GPUs."""
LAST = (0, 2)
"""Fig. 1(a): the GPUs of J1's tasks, by number."""


def oblivious(instance: HareInstance, last: Sequence[int]) -> TaskSchedule:
    """(a): J2 on GPU1 and J3's pairs on GPU2 and GPU3; when both are complete, J1's tasks side by side on GPUs `last`.

    instance: of jobs and rounds as in Fig. 1.
    """
    gpu = np.array([*last, 0, 0, 1, 2, 1, 2])
    before = in_order(instance, gpu, [2, 3, 4, 5, 6, 7, 0, 1])
    start = before.start_s.copy()
    start[:2] = before.completion_s[1:].max()
    return TaskSchedule(instance, gpu, start).check("Fig. 1(a)")


def dedicated(instance: HareInstance) -> TaskSchedule:
    """(b): the best schedule with a GPU of its own for each job, on which its tasks run one after the other.

    Raises InputError for more jobs than GPUs, and for more than `MOST_GPUS` GPUs: it tries every assignment.
    """
    jobs, gpus = len(instance.jobs), len(instance.gpus)
    if jobs > gpus or gpus > MOST_GPUS:
        found = f"{counted(jobs, 'job')} on {counted(gpus, 'GPU')}"
        raise InputError("Hare, dedicated GPUs", found, f"no more jobs than GPUs, and at most {MOST_GPUS} GPUs")
    tasks = range(instance.task_count)
    every = (
        in_order(instance, np.array(chosen)[instance.task_job], tasks)
        for chosen in itertools.permutations(range(gpus), jobs)
        if all(instance.runs[job, gpu] for job, gpu in enumerate(chosen))
    )
    return min(every, key=lambda schedule: schedule.objective)


def interleaved(instance: HareInstance) -> TaskSchedule:
    """(c): the best schedule, and of those the one that ends first."""
    found = Exact().run(instance, {"then_makespan": True}).values
    at = {gpu.name: number for number, gpu in enumerate(instance.gpus)}
    gpu = [at[task["gpu"]] for task in found["tasks"]]
    return TaskSchedule(instance, np.array(gpu), np.array([task["start_s"] for task in found["tasks"]])).check(
        "Fig. 1(c)"
    )


HARE = "Hare"
SCHEMES = (HARE, *BASELINES)
QUICK = "interval-indexed LP"
BOUNDS: Mapping[str, Formulation[HareInstance]] = {
    QUICK: IntervalLP(),
    "Hare_Sched_RL, (9) linearised": Relaxation(),
    "time-indexed LP": TimeIndexedLP(),
}
"""By the names under which they are shown."""
OURS = "Algorithm 1, earliest finish"
FORMS: Mapping[str, tuple[GpuChoice, bool]] = {
    "Algorithm 1, as printed": ("earliest_available", False),
    OURS: ("earliest_finish", False),
    "Algorithm 1, gaps filled": ("earliest_finish", True),
}
"""Algorithm 1's forms: how a task's GPU is chosen, and whether gaps are filled."""


def figure_1(snapshot: Snapshot, given: Mapping[str, Any]) -> dict[str, Any]:
    """The schedules of Fig. 1, of three jobs on three GPUs as in `lessons.three_jobs`, with any times.

    given: `optimum` (only (c), which takes a few seconds; else (a) and (b)).
    Raises InputError for another number of jobs, rounds, tasks or GPUs.
    """
    data = HareInstance.from_snapshot(snapshot, _settled({}))
    if (tuple(data.rounds.tolist()), tuple(data.tasks.tolist()), len(data.gpus)) != (ROUNDS, TASKS, GPUS):
        expected = "J1 and J2 of one round, J3 of two, each of two tasks, on three GPUs"
        raise InputError("Fig. 1", f"{len(data.jobs)} jobs on {len(data.gpus)} GPUs", expected)
    if given.get("optimum"):
        return _beside(data, {"(c) tasks interleaved, the optimum": interleaved(data)})
    found = {"(a) blind to speeds": oblivious(data, LAST), "(b) a GPU for each job": dedicated(data)}
    return _beside(data, found)


def three_ways(snapshot: Snapshot, given: Mapping[str, Any]) -> dict[str, Any]:
    """Fig. 4: the same jobs with scale-fixed, relaxed scale-fixed and scale-adaptive synchronisation.

    given: `most_rounds` (of a job), `more_work` (part of its work that a scale-adaptive job adds). Raises InputError
    for what cannot be. `cannot` says why scale-fixed is missing: a job has more tasks in a round than GPUs to run it.
    """
    data = HareInstance.from_snapshot(snapshot, _settled(given))
    names = {
        "scale_fixed": "(a) scale-fixed",
        "relaxed": "(b) relaxed scale-fixed (Hare)",
        "scale_adaptive": "(c) scale-adaptive",
    }
    cannot: dict[str, str] = {}
    try:
        enough(data)
    except InputError as error:
        cannot[names["scale_fixed"]] = str(error)
    found = schedules(data, more_work=float(given.get("more_work", 0.0)), scale_fixed=not cannot)
    shown = {title: found[name] for name, title in names.items() if name in found}
    return {**_beside(data, shown), "cannot": cannot}


def weighted_jct(snapshot: Snapshot, given: Mapping[str, Any]) -> dict[str, Any]:
    """Hare beside what it is compared with: sum of w_n (C_n - a_n) in s x weight, of each that can be.

    given: `show` (the scheme whose schedule is to be drawn; None: none), `most_rounds`, `bound` (only that, by the
    interval-indexed LP, with the claim and Hare's measured ratio). `cannot` says why a scheme is missing.
    """
    data, show = HareInstance.from_snapshot(snapshot, _settled(given)), given.get("show")
    if given.get("bound"):
        least = _least(BOUNDS[QUICK], data)
        return {"bound": least - float(data.weight @ data.arrival_s), **_claim(data, least, _hare(data).objective)}
    if show is not None and show not in SCHEMES:
        raise InputError("show", show, "one of " + ", ".join(SCHEMES))
    values, cannot, shown = {}, {}, None
    schemes: dict[str, Callable[[HareInstance], TaskSchedule]] = {HARE: _hare, **BASELINES}
    for name, scheme in schemes.items():
        try:
            schedule = scheme(data)
        except InputError as error:
            cannot[name] = str(error)
            continue
        values[name] = schedule.weighted_jct_s
        shown = _one(name, schedule) if name == show else shown
    return {"values": values, "cannot": cannot, "schedule": shown, **_named(data)}


def against_bounds(snapshot: Snapshot, given: Mapping[str, Any]) -> dict[str, Any]:
    """Algorithm 1 in its forms, or a lower bound: sums of w_n C_n in s x weight (the optimum: `workbench.exact`).

    given: `which`, the name of one of `BOUNDS`, or None for Algorithm 1; `most_rounds`. `cannot` says why something is
    missing.
    """
    data, which = HareInstance.from_snapshot(snapshot, _settled(given)), given.get("which")
    bounds: dict[str, float] = {}
    found: dict[str, float] = {}
    cannot: dict[str, str] = {}
    if which is None:
        start_s = fluid_start_s(data)
        found = {name: algorithm_1(data, start_s, rule, gaps).objective for name, (rule, gaps) in FORMS.items()}
    elif which not in BOUNDS:
        raise InputError("which", which, "one of " + ", ".join(BOUNDS))
    else:
        try:
            bounds[which] = _least(BOUNDS[which], data)
        except InputError as error:
            cannot[which] = f"{error.value}; expected {error.expected}"
    parts = {"bounds": bounds, "schedules": found, "cannot": cannot}
    return {**parts, "alpha": alpha(data), "claimed": claimed(data), **_named(data)}


STUDIES: Mapping[str, Callable[[Snapshot, Mapping[str, Any]], dict[str, Any]]] = {
    "hare.figure_1": figure_1,
    "hare.three_ways": three_ways,
    "hare.weighted_jct": weighted_jct,
    "hare.against_bounds": against_bounds,
}
"""By the names under which a lab asks for them."""


def _settled(given: Mapping[str, Any]) -> dict[str, Any]:
    """The knobs of coarsening; raises InputError for a value that one does not take."""
    return {knob.name: knob.check(given.get(knob.name, knob.default)) for knob in ROUND_KNOBS}


def _least(formulation: Formulation[HareInstance], data: HareInstance) -> float:
    """The lower bound of a relaxation; raises InputError for more than it takes."""
    bound = formulation.run(data, formulation.settle({})).bound
    assert bound is not None  # all of `BOUNDS` give one
    return bound


def _hare(data: HareInstance) -> TaskSchedule:
    return algorithm_1(data, fluid_start_s(data))


def _claim(data: HareInstance, least: float, objective: float) -> dict[str, Any]:
    """alpha, the claim, and what is measured against a lower bound > 0 of the sum of w_n C_n."""
    measured = objective / least if least > 0 else None
    return {"alpha": alpha(data), "claimed": claimed(data), "measured": measured}


def _named(data: HareInstance) -> dict[str, Any]:
    return {"jobs": list(data.jobs), "gpus": list(_gpu_names(data).values()), "tasks": data.task_count}


def _gpu_names(data: HareInstance) -> dict[str, str]:
    """GPUs by name; where each is the only one of its type, that says more."""
    kinds = [gpu.accelerator for gpu in data.gpus]
    shown = kinds if len(set(kinds)) == len(kinds) else [gpu.name for gpu in data.gpus]
    return dict(zip([gpu.name for gpu in data.gpus], shown, strict=True))


def _beside(data: HareInstance, found: Mapping[str, TaskSchedule | AdaptiveSchedule]) -> dict[str, Any]:
    return {"schedules": [_one(title, schedule) for title, schedule in found.items()], **_named(data)}


def _one(title: str, schedule: TaskSchedule | AdaptiveSchedule) -> dict[str, Any]:
    """A schedule as charts and tables want it."""
    names = _gpu_names(schedule.instance)
    return {
        "title": title,
        "tasks": [row._replace(gpu=names[row.gpu])._asdict() for row in schedule.rows()],
        "objective": schedule.objective,
        "weighted_jct_s": schedule.weighted_jct_s,
        "makespan_s": schedule.makespan_s,
        "completion_s": dict(zip(schedule.instance.jobs, schedule.completion_s.tolist(), strict=True)),
    }
