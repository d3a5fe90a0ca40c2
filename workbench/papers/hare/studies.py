"""Whole offline schedules side by side, as pages of a lab show them: a snapshot in, what JSON can hold out.

All jobs are known ahead, those to come included, and switches cost nothing: it is the problem of section 5, without
the core's limits. Each study is a function of a snapshot at time 0 and of what was chosen on its page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.base.errors import InputError
from workbench.papers.hare import toy
from workbench.papers.hare.adaptive import AdaptiveSchedule
from workbench.papers.hare.algorithm import Rule, algorithm_1
from workbench.papers.hare.exact import Exact
from workbench.papers.hare.fluid import fluid_start_s
from workbench.papers.hare.from_scenario import KNOBS, instance_of
from workbench.papers.hare.instance import Instance
from workbench.papers.hare.interval_lp import IntervalLP
from workbench.papers.hare.job_level import BASELINES
from workbench.papers.hare.ratio import alpha, claimed
from workbench.papers.hare.relaxed import Relaxation
from workbench.papers.hare.schedule import Schedule
from workbench.papers.hare.synchronisation import schedules
from workbench.papers.hare.time_indexed_lp import TimeIndexedLP
from workbench.papers.hare.together import enough
from workbench.scheduling.contract import Formulation
from workbench.scheduling.decision import Snapshot
from workbench.scheduling.knob import Knob
from workbench.scheduling.solvers import Solver

HARE = "Hare"
SCHEMES = (HARE, *BASELINES)
LAST = (0, 2)
"""Fig. 1(a): the GPUs of J1's tasks, by number."""
EXACT = "exact optimum"
FEW_TASKS = 15
"""Up to so many tasks the optimum is found while somebody waits."""
EXACT_S = 20.0
QUICK = "interval-indexed LP"
BOUNDS: Mapping[str, Formulation[Instance]] = {
    QUICK: IntervalLP(),
    "Hare_Sched_RL, (9) linearised": Relaxation(),
    "time-indexed LP": TimeIndexedLP(),
}
"""By the names under which they are shown."""
OURS = "Algorithm 1, earliest finish"
FORMS: Mapping[str, tuple[Rule, bool]] = {
    "Algorithm 1, as printed": ("earliest_available", False),
    OURS: ("earliest_finish", False),
    "Algorithm 1, gaps filled": ("earliest_finish", True),
}
"""Algorithm 1's forms: how a task's GPU is chosen, and whether gaps are filled."""


def figure_1(snapshot: Snapshot, given: Mapping[str, Any]) -> dict[str, Any]:
    """The schedules of Fig. 1, of three jobs on three GPUs as in `toy.three_jobs`, with any times.

    given: `optimum` (only (c), which takes a few seconds; else (a) and (b)).
    Raises InputError for another number of jobs, rounds, tasks or GPUs.
    """
    data, like = instance_of(snapshot, _settled({})), toy.three_jobs()
    shape = [found.rounds.tolist() + found.tasks.tolist() + [len(found.gpus)] for found in (data, like)]
    if shape[0] != shape[1]:
        expected = "J1 and J2 of one round, J3 of two, each of two tasks, on three GPUs"
        raise InputError("Fig. 1", f"{len(data.jobs)} jobs on {len(data.gpus)} GPUs", expected)
    if given.get("optimum"):
        return _beside(data, {"(c) tasks interleaved, the optimum": toy.interleaved(data)})
    found = {"(a) blind to speeds": toy.oblivious(data, LAST), "(b) a GPU for each job": toy.dedicated(data)}
    return _beside(data, found)


def three_ways(snapshot: Snapshot, given: Mapping[str, Any]) -> dict[str, Any]:
    """Fig. 4: the same jobs with scale-fixed, relaxed scale-fixed and scale-adaptive synchronisation.

    given: `most_rounds` (of a job), `more_work` (part of its work that a scale-adaptive job adds). Raises InputError
    for what cannot be. `cannot` says why scale-fixed is missing: a job has more tasks in a round than GPUs to run it.
    """
    data = instance_of(snapshot, _settled(given))
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
    data, show = instance_of(snapshot, _settled(given)), given.get("show")
    if given.get("bound"):
        least = _least(BOUNDS[QUICK], data)
        return {"bound": least - float(data.weight @ data.arrival_s), **_claim(data, least, _hare(data).objective)}
    if show is not None and show not in SCHEMES:
        raise InputError("show", show, "one of " + ", ".join(SCHEMES))
    values, cannot, shown = {}, {}, None
    schemes: dict[str, Callable[[Instance], Schedule]] = {HARE: _hare, **BASELINES}
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
    """Algorithm 1 in its forms, a lower bound or the optimum: sums of w_n C_n in s x weight.

    given: `which`, the name of one of `BOUNDS`, `EXACT`, or None for Algorithm 1; `most_rounds`. `cannot` says why
    something is missing.
    """
    data, which = instance_of(snapshot, _settled(given)), given.get("which")
    bounds: dict[str, float] = {}
    found: dict[str, float] = {}
    cannot: dict[str, str] = {}
    if which is None:
        start_s = fluid_start_s(data)
        found = {name: algorithm_1(data, start_s, rule, gaps).objective for name, (rule, gaps) in FORMS.items()}
    elif which in BOUNDS:
        try:
            bounds[which] = _least(BOUNDS[which], data)
        except InputError as error:
            cannot[which] = f"{error.value}; expected {error.expected}"
    elif which != EXACT:
        raise InputError("which", which, "one of " + ", ".join((*BOUNDS, EXACT)))
    elif data.task_count > FEW_TASKS:
        cannot[EXACT] = f"at most {FEW_TASKS} tasks while you wait"
    else:
        answer = Exact().run(data, Exact().settle({}), Solver(time_limit_s=EXACT_S))
        assert answer.objective is not None  # it begins with a schedule
        found[EXACT if answer.status == "optimal" else f"best schedule in {EXACT_S:g} s"] = answer.objective
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
    return {knob.name: _checked(knob, given) for knob in KNOBS}


def _checked(knob: Knob, given: Mapping[str, Any]) -> Any:
    return knob.check(given[knob.name]) if knob.name in given else knob.default


def _least(formulation: Formulation[Instance], data: Instance) -> float:
    """The lower bound of a relaxation; raises InputError for more than it takes."""
    bound = formulation.run(data, formulation.settle({})).bound
    assert bound is not None  # all of `BOUNDS` give one
    return bound


def _hare(data: Instance) -> Schedule:
    return algorithm_1(data, fluid_start_s(data))


def _claim(data: Instance, least: float, objective: float) -> dict[str, Any]:
    """alpha, the claim, and what is measured against a lower bound > 0 of the sum of w_n C_n."""
    measured = objective / least if least > 0 else None
    return {"alpha": alpha(data), "claimed": claimed(data), "measured": measured}


def _named(data: Instance) -> dict[str, Any]:
    return {"jobs": list(data.jobs), "gpus": list(_gpu_names(data).values()), "tasks": data.task_count}


def _gpu_names(data: Instance) -> dict[str, str]:
    """GPUs by name; where each is the only one of its type, that says more."""
    kinds = [gpu.accelerator for gpu in data.gpus]
    shown = kinds if len(set(kinds)) == len(kinds) else [gpu.name for gpu in data.gpus]
    return dict(zip([gpu.name for gpu in data.gpus], shown, strict=True))


def _beside(data: Instance, found: Mapping[str, Schedule | AdaptiveSchedule]) -> dict[str, Any]:
    return {"schedules": [_one(title, schedule) for title, schedule in found.items()], **_named(data)}


def _one(title: str, schedule: Schedule | AdaptiveSchedule) -> dict[str, Any]:
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
