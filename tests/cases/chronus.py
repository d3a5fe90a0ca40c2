"""Runners of Chronus's reference cases (`dlsched-case/1`, `../shared/cases/chronus`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from tests.papers.chronus.consolidation_support import consolidated
from workbench.papers.chronus.algorithms.consolidation import is_friendly, place_friendly, round_up
from workbench.papers.chronus.algorithms.terms import AskedJob, check_lease, leases_before, leases_needed
from workbench.papers.chronus.formulations.leases import LeaseSelection
from workbench.papers.chronus.instance import ChronusInstance
from workbench.scenario.rewards import HIGHEST, LOWEST
from workbench.scheduling.contract import Result
from workbench.scheduling.solvers import InfeasibleError

Case = Mapping[str, Any]
FORMULATION = LeaseSelection()
NODE_GPUS = 8
"""GPUs of a node, where a case does not say."""


def attained_share(rewards: Sequence[float], lowest: float = LOWEST, highest: float = HIGHEST) -> float:
    """(9) as printed: the mean of (reward - lowest) / (highest - lowest) over the jobs with an SLO.

    (erratum) That is the share of the reward that is attained; the rate of misses, wDMR, is 1 minus it, which is how
    the paper's figures are to be read.
    """
    return fmean((reward - lowest) / (highest - lowest) for reward in rewards)


def _near(expected: float, got: float | None, tolerance: float = 1e-6) -> bool:
    return got is not None and abs(expected - got) <= tolerance * max(1.0, abs(expected))


def _said(case: Case, name: str, otherwise: Any) -> Any:
    """What a case says under a name, in its instance or its options."""
    return case["instance"].get(name, case.get("options", {}).get(name, otherwise))


def instance_of(case: Case) -> ChronusInstance:
    """The instance of a case; jobs are named by their position. (6) is that of whole GPUs, whatever the nodes."""
    stated = case["instance"]
    sure = bool(_said(case, "all_guaranteed", False))
    jobs = [
        AskedJob(
            round_up(job["gpus"], NODE_GPUS) if _said(case, "round_up", False) else job["gpus"],
            job["runtime"],
            job["steps"],
            job.get("arrival", 0),
            sure,
        )
        for job in stated["jobs"]
    ]
    names = [str(row) for row in range(len(jobs))]
    lowest = float(_said(case, "miss_reward", 1))
    return ChronusInstance.made(stated["gpus"], stated["lease"], jobs, miss_reward=lowest, names=names)


def _feasible(case: Case, result: Result) -> bool:
    """Whether the plan keeps capacity, arrivals and numbers of leases and is worth its objective, from the case."""
    stated = case["instance"]
    used: dict[int, int] = {}
    worth = 0.0
    for row, job in enumerate(stated["jobs"]):
        own = result.values["leases"][str(row)]
        if own is None:
            worth += _said(case, "miss_reward", 1)
            continue
        first = -(-job.get("arrival", 0) // stated["lease"]) + 1
        if own != sorted(set(own)) or own[0] < first or len(own) != -(-job["runtime"] // stated["lease"]):
            return False
        met = [reward for deadline, reward in job["steps"] if own[-1] <= deadline // stated["lease"]]
        if not met:
            return False
        worth += met[0]
        for lease in own:
            gpus = round_up(job["gpus"], NODE_GPUS) if _said(case, "round_up", False) else job["gpus"]
            used[lease] = used.get(lease, 0) + gpus
    return max(used.values(), default=0) <= stated["gpus"] and _near(worth, result.objective)


def selector(case: Case, header: Case) -> dict[str, Any]:
    """The optimum of the printed model to 1e-6, and of `auto`; the master's bound is no lower than it.

    A plan, and who is served, is compared where it is the only best one.
    """
    data, expect = instance_of(case), case["expect"]
    knobs = FORMULATION.settle({})
    found: dict[str, Result] = {}
    for form in ("printed", "auto"):
        try:
            found[form] = FORMULATION.run(data, {**knobs, "form": form})
        except InfeasibleError as error:
            return {
                "ok": expect["status"] == "infeasible",
                "expected": expect["status"],
                "got": "infeasible",
                "note": str(error.value),
            }
    if expect["status"] == "infeasible":
        return {"ok": False, "expected": "infeasible", "got": found["printed"].objective, "note": ""}
    got = {model: result.objective for model, result in found.items()}
    ok = all(_near(expect["objective"], value) for value in got.values())
    ok = ok and all(_feasible(case, result) for result in found.values())
    plan = list(found["printed"].values["leases"].values())
    if expect.get("n_optimal") == 1 and expect.get("an_optimal_lease_plan") is not None:
        ok = ok and plan == expect["an_optimal_lease_plan"]
    if expect.get("guaranteed") is not None:
        ok = ok and [own is not None for own in plan] == expect["guaranteed"]
    master = FORMULATION.run(data, {**knobs, "form": "master"})
    if master.bound is not None:
        ok = ok and master.bound >= expect["objective"] - 1e-6 and _feasible(case, master)
    note = f"{found['printed'].status}; master {master.objective:g}, at most {master.bound:g}" if master.bound else ""
    return {"ok": ok, "expected": expect["objective"], "got": got, "note": note}


def consolidated_placement(case: Case, header: Case) -> dict[str, Any]:
    """Whether every job can be on as few nodes as hold it; friendly gangs by Proposition 1's construction too."""
    stated = case["instance"]
    size = int(_said(case, "node_gpus", _said(case, "gpus_per_node", NODE_GPUS)))
    nodes = stated["nodes"]
    free = (
        {f"n{i}": size for i in range(nodes)}
        if isinstance(nodes, int)
        else {f"n{i}": int(node["gpus"] if isinstance(node, Mapping) else node) for i, node in enumerate(nodes)}
    )
    jobs = {str(row): int(job["gpus"] if isinstance(job, Mapping) else job) for row, job in enumerate(stated["jobs"])}
    placed = consolidated(jobs, free, size)
    expected = case["expect"]["status"]
    got = "feasible" if placed is not None else "infeasible"
    ok = (placed is None) == (expected == "infeasible")
    if all(is_friendly(gpus, size) for gpus in jobs.values()) and set(free.values()) <= {size}:
        built = place_friendly(jobs, list(free), size)
        ok = ok and (built is None) == (placed is None)
        placed = built
    if placed is not None:
        used = dict.fromkeys(free, 0)
        for name, gpus in placed.items():
            ok = ok and sum(gpus.values()) == jobs[name] and len(gpus) == -(-jobs[name] // size)
            for node, count in gpus.items():
                used[node] += count
        ok = ok and all(used[node] <= free[node] for node in free)
    return {"ok": ok, "expected": expected, "got": got, "note": ""}


def miss_rate(case: Case, header: Case) -> dict[str, Any]:
    """1 minus (9) as printed, for each list of rewards."""
    stated, expected = case["instance"], case["expect"]["values"]
    span = (float(stated.get("min", 1)), float(stated.get("max", 100)))
    got = [1 - attained_share(rewards, *span) for rewards in stated["rewards"]]
    ok = len(got) == len(expected) and all(_near(a, b, 1e-9) for a, b in zip(expected, got, strict=True))
    return {
        "ok": ok,
        "expected": expected,
        "got": got,
        "note": f"printed {attained_share(stated['rewards'][0], *span)}",
    }


def lease_counts(case: Case, header: Case) -> dict[str, Any]:
    """RL and DL."""
    stated, expect = case["instance"], case["expect"]
    lease = check_lease("lease", stated["lease"])
    got = {
        "RL": leases_needed(stated["runtime"], lease).tolist(),
        "DL": leases_before(stated["deadline"], lease).tolist(),
    }
    expected = {key: expect[key] for key in got}
    return {"ok": expected == got, "expected": expected, "got": got, "note": ""}


RUNNERS = {
    "optimise/selector": selector,
    "optimise/consolidated_placement": consolidated_placement,
    "evaluate/consolidated_placement": consolidated_placement,
    "evaluate/wDMR": miss_rate,
    "evaluate/lease_counts": lease_counts,
}
