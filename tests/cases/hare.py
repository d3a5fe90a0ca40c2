"""Runners of Hare's reference cases (`../shared/cases/hare`)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.papers.hare.algorithms.list_schedule import algorithm_1, fluid_start_s
from workbench.papers.hare.algorithms.schedule import in_order
from workbench.papers.hare.algorithms.studies import dedicated, oblivious
from workbench.papers.hare.formulations.exact import Exact
from workbench.papers.hare.formulations.interval_lp import IntervalLP
from workbench.papers.hare.formulations.relaxed import Relaxation, relax
from workbench.papers.hare.formulations.time_indexed import TimeIndexed
from workbench.papers.hare.formulations.time_indexed_lp import TimeIndexedLP
from workbench.papers.hare.instance import CannotRun, HareInstance

Case = Mapping[str, Any]
TOLERANCE = 1e-6
BOUNDS = (Relaxation(), TimeIndexedLP(), IntervalLP())


def instance_of(case: Case) -> HareInstance:
    """The instance of a case; raises CannotRun for a job that no GPU can run."""
    stated = case["instance"]
    jobs = stated["jobs"]
    return HareInstance.made(
        stated["compute"],
        stated["sync"],
        rounds=[job["rounds"] for job in jobs],
        tasks=[job["tasks_per_round"] for job in jobs],
        weight=[job["weight"] for job in jobs],
        arrival_s=[job["arrival"] for job in jobs],
        gpus=stated["gpus"],
    )


def optimise(case: Case, header: Case) -> dict[str, Any]:
    """The disjunctive and the time-indexed optimum to 1e-6, the least makespan among the best, and bounds no higher.

    Where times have no step in common, the time-indexed schedule is no better than the optimum, and its bound no worse.
    And Algorithm 1 as printed, and what Fig. 1 compares with, where the case states them.
    """
    expect = case["expect"]
    try:
        data = instance_of(case)
    except CannotRun as error:
        ok = expect["status"] == error.status and expect["objective"] is None
        return {"ok": ok, "expected": expect["status"], "got": error.status, "note": " ".join(str(error).split())}
    found, counts = Exact().run(data, {"then_makespan": True}), TimeIndexed().run(data, {})
    pairs: dict[str, tuple[Any, Any]] = {
        "status": (expect["status"], found.status),
        "objective": (expect["objective"], found.objective),
    }
    if counts.status == "optimal":
        pairs["time_indexed"] = (expect["objective"], counts.objective)
    for name, compare in COMPARED.items():
        if name in expect:
            pairs[name] = compare(expect[name], data, found.values)
    bounds = {each.name: each.run(data, {}).objective for each in BOUNDS}
    ok = all(_equal(expected, got) for expected, got in pairs.values())
    ok = ok and counts.objective >= found.objective - TOLERANCE
    ok = ok and all(bound <= found.objective + TOLERANCE for bound in (counts.bound, *bounds.values()))
    note = "bounds " + ", ".join(f"{name} {bound:g}" for name, bound in bounds.items())
    expected, got = ({name: pair[side] for name, pair in pairs.items()} for side in (0, 1))
    return {"ok": ok, "expected": expected, "got": got, "note": note}


def _equal(expected: Any, got: Any) -> bool:
    """Equal; numbers to 1e-6, also in lists and mappings."""
    if isinstance(expected, Mapping):
        return expected.keys() == got.keys() and all(_equal(expected[name], got[name]) for name in expected)
    if isinstance(expected, str | list) or expected is None:
        return bool(expected == got)
    return bool(abs(expected - got) <= TOLERANCE)


def _makespan(expected: float, data: HareInstance, values: Case) -> tuple[Any, Any]:
    return expected, values["makespan_s"]


def _as_printed(expected: float, data: HareInstance, values: Case) -> tuple[Any, Any]:
    """Line 12 as printed, from the relaxation as printed; its optimum need not be unique, nor the order it gives."""
    starts = (relax(data, whole=True, cuts=False).start_s, relax(data).start_s, fluid_start_s(data))
    got = [algorithm_1(data, start, "earliest_available").objective for start in starts]
    return expected, next((value for value in got if _equal(expected, value)), got[0])


def _best_dedicated(expected: Case, data: HareInstance, values: Case) -> tuple[Any, Any]:
    """The total, and that the stated assignment comes to it."""
    stated = in_order(data, np.array(expected["assignment"])[data.task_job], range(data.task_count))
    return [expected["total"]] * 2, [dedicated(data).objective, stated.objective]


def _oblivious(expected: Case, data: HareInstance, values: Case) -> tuple[Any, Any]:
    """Fig. 1(a): total and makespan, and the pairs of GPUs for J1 that give them."""
    every = {pair: oblivious(data, pair) for pair in itertools.combinations(range(len(data.gpus)), 2)}
    best = min(every.values(), key=lambda schedule: schedule.objective)
    names = [
        "".join(str(gpu + 1) for gpu in pair) for pair, each in every.items() if _equal(best.objective, each.objective)
    ]
    return expected, {"total": best.objective, "makespan": best.makespan_s, "J1_gpu_pairs": names}


COMPARED = {
    "min_makespan_among_optima": _makespan,
    "algorithm1_as_printed": _as_printed,
    "best_dedicated": _best_dedicated,
    "oblivious": _oblivious,
}

RUNNERS = {"optimise": optimise}
