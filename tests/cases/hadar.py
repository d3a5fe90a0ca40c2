"""Runners of Hadar's reference cases (`../shared/cases/hadar`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.papers.hadar.algorithm_2 import recursive
from workbench.papers.hadar.algorithms.forking import copy_ids
from workbench.papers.hadar.algorithms.prices import price, utility_bounds
from workbench.papers.hadar.algorithms.selection import exact
from workbench.papers.hadar.algorithms.tracker import split, whole_steps
from workbench.papers.hadar.formulations.offline import Offline
from workbench.papers.hadar.formulations.round import HadarRound, RoundInstance
from workbench.papers.hadar.formulations.utility import Utility, UtilityJobs
from workbench.papers.hadar.instance import HadarInstance
from workbench.scheduling.estimators.pmi import estimate, performance_memory_index
from workbench.scheduling.solvers import InfeasibleError

Case = Mapping[str, Any]


def p1_instance(case: Case, *, slots: int | None = None, utility: str | None = None) -> HadarInstance:
    """The instance of a P1 case; slots, utility: in place of the case's own."""
    stated = case["instance"]
    jobs = stated["jobs"]
    return HadarInstance.made(
        stated["capacity"],
        stated["slots"] if slots is None else slots,
        [job["arrival"] for job in jobs],
        [job["W"] for job in jobs],
        [job["work"] for job in jobs],
        [job["rate"] for job in jobs],
        utility or stated["utility"],
    )


def p1(case: Case, header: Case) -> dict[str, Any]:
    """Status and optimal value to 1e-6; and where the case states them, the most jobs done and the least slots."""
    expect, knobs = case["expect"], {"require_all": bool(case["options"].get("require_all", False))}
    expected = {"status": expect["status"], "objective": expect["objective"]}
    try:
        found = Offline().run(p1_instance(case), knobs)
        got: dict[str, Any] = {"status": found.status, "objective": found.objective}
    except InfeasibleError as error:
        got = {"status": error.status, "objective": None}
    if "max_jobs_finished" in expect:
        expected["max_jobs_finished"] = expect["max_jobs_finished"]
        got["max_jobs_finished"] = Offline().run(p1_instance(case, utility="count"), {}).objective
    if "min_makespan" in expect:
        expected["min_makespan"] = expect["min_makespan"]
        got["min_makespan"] = _least_slots(case)
    ok = expected["status"] == got["status"] and all(
        expected[name] == got[name] if None in (expected[name], got[name]) else abs(expected[name] - got[name]) <= 1e-6
        for name in expected.keys() - {"status"}
    )
    return {"ok": ok, "expected": expected, "got": got, "note": ""}


def _least_slots(case: Case) -> int | None:
    """The fewest slots, up to those of the case, in which all jobs complete."""
    for slots in range(1, case["instance"]["slots"] + 1):
        try:
            Offline().run(p1_instance(case, slots=slots, utility="count"), {"require_all": True})
            return slots
        except InfeasibleError:
            continue
    return None


def _close(expected: Any, got: Any) -> bool:
    """Equal to 1e-6, relative for numbers above 1; one number stands for equal ones."""
    return bool(np.allclose(np.asarray(got, dtype=float), np.asarray(expected, dtype=float), rtol=1e-6, atol=1e-6))


def price_of(case: Case, header: Case) -> dict[str, Any]:
    """(5) for each number of GPUs held."""
    stated = case["instance"]
    got = price(stated["Umin"], stated["Umax"], stated["c"], stated["gamma"]).tolist()
    expected = case["expect"]["price"]
    return {"ok": _close(expected, got), "expected": expected, "got": got, "note": ""}


def bounds_of(case: Case, header: Case) -> dict[str, Any]:
    """(6), (7) and alpha; tmin and tmax by the fastest and the slowest type on which a job runs, T from slot 0."""
    stated, jobs = case["instance"], case["instance"]["jobs"]
    work, gang, arrival = (np.array([job[key] for job in jobs], dtype=float) for key in ("EN", "W", "a"))
    speed = np.array([np.atleast_1d(job["X"]) for job in jobs], dtype=float)
    terms = UtilityJobs(tuple(map(str, range(len(jobs)))), work, np.ones(len(jobs)), (None,) * len(jobs), stated["T"])
    utility = Utility(stated["utility"])
    shortest = work / gang / speed.max(axis=1)
    longest = work / gang / np.where(speed > 0, speed, np.inf).min(axis=1)
    best, last = utility.values(shortest, terms), utility.values(stated["T"] - arrival, terms)
    low, high = utility_bounds(best, last, longest, gang, speed > 0, stated["eta"])
    alpha = max(1.0, float(np.log(high / low).max()))
    got = {"tmin": shortest.tolist(), "tmax": longest.tolist(), "Umax": high.tolist(), "Umin": low.tolist()}
    got = {**got, "alpha": alpha}
    expected = {key: value for key, value in case["expect"].items() if key in got}
    ok = bool(expected) and all(_close(value, got[key]) for key, value in expected.items())
    return {"ok": ok, "expected": expected, "got": got, "note": ""}


def round_selection(case: Case, header: Case) -> dict[str, Any]:
    """The optimum of model, dynamic programme and recursion to 1e-6; the linear programme is no worse.

    A choice is compared where it is the only best one.
    """
    stated, expect = case["instance"], case["expect"]
    own = [[(option["w"], option["payoff"]) for option in options] for options in stated["options"]]
    data = RoundInstance.of(stated["capacity"], own)
    found = HadarRound().run(data, {"relaxed": False})
    bound = HadarRound().run(data, {"relaxed": True}).objective
    got = {
        "model": found.objective,
        "dynamic": exact(data.problem).objective,
        "recursive": recursive(data.problem).objective,
    }
    ok = all(_close(expect["objective"], value) for value in got.values()) and bound >= expect["objective"] - 1e-6
    if expect.get("n_optimal") == 1:
        ok = ok and list(found.values["option"].values()) in expect["optimal_choices"]
    note = f"{found.status}, linear programme {bound:g}"
    return {"ok": ok, "expected": expect["objective"], "got": got, "note": note}


def _first(stated: Mapping[str, Any], *names: str) -> Any:
    """The value under the first of some names for the same thing."""
    for name in names:
        if name in stated:
            return stated[name]
    raise KeyError(names[0])


def fork(case: Case, header: Case) -> dict[str, Any]:
    """Ids of copies, of one parent or of several in turn, and the split of steps left in whole steps."""
    stated, expect = case["instance"], case["expect"]
    got: dict[str, Any] = {}
    ids = next((name for name in IDS if name in expect), None)
    if ids is not None:
        parents = _first(stated, *PARENTS)
        rates = next((stated[name] for name in RATES if name in stated), [])
        forks = next((stated[name] for name in ("forks", "copies", "n", "nodes", "i") if name in stated), len(rates))
        forks = forks if isinstance(forks, int) else len(forks)
        most = _first(stated, "max_job_count", "max_jobs")
        several = [list(copy_ids(parent, forks, most)) for parent in np.atleast_1d(parents).tolist()]
        got[ids] = several if isinstance(expect[ids][0], list) else [job_id for each in several for job_id in each]
    steps = next((name for name in ("split", "portions", "steps", "shares", "allocation") if name in expect), None)
    if steps is not None:
        left = _first(stated, "steps", "remaining", "remaining_steps", "steps_left")
        got[steps] = split(whole_steps(left), _first(stated, *RATES)).tolist()
    expected = {key: value for key, value in expect.items() if key in got}
    return {"ok": bool(got) and expected == got, "expected": expected, "got": got, "note": ""}


def throughput(case: Case, header: Case) -> dict[str, Any]:
    """(10), with PMI = TFLOPS / sqrt(VRAM)."""
    stated = case["instance"]
    pmi = performance_memory_index(stated["tflops"], stated["vram"])
    got = estimate(pmi, stated["batch"], stated["pcie"], stated["model_weight"], stated["dataset_size"])
    expected = case["expect"]["value"]
    return {"ok": _close(expected, got), "expected": expected, "got": got, "note": stated.get("pmi", "")}


IDS = ("job_ids", "job_IDs", "ids", "copy_ids", "copies", "job_id", "job_ID", "id")
PARENTS = ("parent_job_id", "parent_id", "parent", "job_id", "job", "parents", "parent_ids", "jobs")
"""Names that ids of copies and of their parents may have."""
RATES = ("throughput", "throughputs", "rates", "rate", "speeds", "X")
"""Names that throughputs of copies may have."""

RUNNERS = {
    "optimise/P1": p1,
    "optimise/round_selection": round_selection,
    "evaluate/price": price_of,
    "evaluate/price_bounds": bounds_of,
    "evaluate/fork": fork,
    "evaluate/throughput": throughput,
}
