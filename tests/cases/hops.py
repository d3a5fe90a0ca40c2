"""Runners of Hops's reference cases (`dlsched-case/1`, `../shared/cases/hops`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from workbench.contract import Result
from workbench.errors import InputError
from workbench.mechanisms.latency_ratio import age_s, latency_ratio
from workbench.papers.hops.configurations import SIGMA, Server, checked_sizes, generate
from workbench.papers.hops.instance import Options, RoundData
from workbench.papers.hops.planning import make_plan
from workbench.papers.hops.round import Round
from workbench.papers.hops.weights import bias
from workbench.papers.hops.window import service_window
from workbench.solvers import InfeasibleError

Case = Mapping[str, Any]
FORMULATION = Round()


def _near(expected: float, got: float, tolerance: float = 1e-6) -> bool:
    return abs(expected - got) <= tolerance * max(1.0, abs(expected))


def round_data(instance: Case) -> RoundData:
    """The data of an instance; jobs are named by their position."""
    servers = {str(name): int(idle) for name, idle in instance["servers"].items()}
    jobs = [
        Options(
            str(job.get("id", row)),
            float(job["priority"]),
            [
                ({str(server): int(gpus) for server, gpus in found["alloc"].items()}, float(found["throughput"]))
                for found in job["configs"]
            ],
        )
        for row, job in enumerate(instance["jobs"])
    ]
    return RoundData.of(servers, jobs)


def _picked(data: RoundData, instance: Case, result: Result) -> list[int | None]:
    """The choices as positions in each job's list of configurations."""
    picked: list[int | None] = []
    for name, job in zip(data.jobs, instance["jobs"], strict=True):
        chosen = result.values["choices"][name]
        listed = [{str(key): gpus for key, gpus in found["alloc"].items()} for found in job["configs"]]
        same = [spot for spot, alloc in enumerate(listed) if alloc == chosen]
        # Of the same GPUs listed twice, the faster entry is meant.
        picked.append(max(same, key=lambda spot: job["configs"][spot]["throughput"]) if same else None)
    return picked


def _feasible(instance: Case, picked: list[int | None]) -> bool:
    """Whether no server gives out more GPUs than are idle, counted from the case itself."""
    used = dict.fromkeys(map(str, instance["servers"]), 0)
    for job, number in zip(instance["jobs"], picked, strict=True):
        for server, gpus in (job["configs"][number]["alloc"] if number is not None else {}).items():
            used[str(server)] += gpus
    return all(used[str(server)] <= idle for server, idle in instance["servers"].items())


def optimise(case: Case, header: Case) -> Case:
    """`hops.round` as both models and as their matrices, against the objective and, where unique, the choice."""
    instance, options, expect = case["instance"], case.get("options") or {}, case["expect"]
    power = options.get("lambda", 1.0)
    power = math.inf if power == "inf" else float(power)
    gap = float(options.get("rel_gap") or 0.0)
    try:
        data = round_data(instance)
        given = options.get("bias", "paper")
        if given != "paper" and not _near(float(given), bias(data.priority)):
            return {"ok": None, "note": f"unsupported: a bias of {given}"}
        found = {}
        for model in ("printed", "aggregated"):
            knobs = FORMULATION.settle({"lambda": power, "model": model, "gap": gap})
            found[model] = FORMULATION.run(data, knobs)
            matrix = make_plan(data, knobs)
            if found[model].objective is not None and not _near(found[model].objective, matrix.solved.objective):
                return {"ok": False, "got": matrix.solved.objective, "note": f"the matrix of the {model} model differs"}
    except (InputError, InfeasibleError) as error:
        refused = expect["status"] in ("infeasible", "invalid_input", "error")
        return {"ok": refused, "expected": expect["status"], "got": error.status, "note": str(error)}
    wrong = [note for model, result in found.items() if (note := _complaint(instance, expect, data, result))]
    shown = found["printed"]
    return {
        "ok": not wrong,
        "expected": {key: expect[key] for key in ("objective", "lexicographic_gains_by_priority") if key in expect},
        "got": {"objective": shown.objective, "choices": _picked(data, instance, shown)},
        "note": "; ".join(wrong),
    }


def _complaint(instance: Case, expect: Case, data: RoundData, result: Result) -> str:
    picked = _picked(data, instance, result)
    model = result.values["model"]
    if not _feasible(instance, picked):
        return f"{model}: a server gives out more than it has"
    if expect["status"] not in ("optimal", "feasible", "ok"):
        return f"{model}: a plan where {expect['status']} was expected"
    if expect.get("objective") is not None and not _near(expect["objective"], result.objective or 0.0):
        return f"{model}: objective {result.objective}"
    gains = expect.get("lexicographic_gains_by_priority")
    if gains is not None:
        got = result.values["gains_by_class"]
        if len(got) != len(gains) or not all(map(_near, gains, got)):
            return f"{model}: gains by class {got}"
    if expect.get("n_optimal") == 1 and picked not in expect["optimal_choices"]:
        return f"{model}: choices {picked}"
    return ""


def window(case: Case, header: Case) -> Case:
    """The service window."""
    instance, expect = case["instance"], case["expect"]
    queue = instance["queue"]
    least = np.array([checked_sizes(job["R"], str(job["id"]))[0] for job in queue], dtype=np.int64)
    inside = service_window(least, int(instance["total_gpus"]))
    got = [job["id"] for job in queue[:inside]]
    return {"ok": got == expect["window"], "expected": expect["window"], "got": got}


def configs(case: Case, header: Case) -> Case:
    """The configurations of a job, in any order."""
    instance, options, expect = case["instance"], case.get("options") or {}, case["expect"]
    servers = [
        Server(str(found["id"]), str(found.get("type", "")), int(found["idle"]), int(found.get("size", found["idle"])))
        for found in instance["servers"]
    ]
    job = instance["job"]
    try:
        sizes = checked_sizes(job["R"])
    except InputError as error:
        return {"ok": expect["status"] == "error", "expected": expect["status"], "got": error.status}
    found = generate(servers, sizes, float(job.get("rho", 1.0)), float(options.get("sigma", SIGMA)))
    got = [{servers[server].name: gpus for server, gpus in layout} for layout in found]
    expected = [{str(key): gpus for key, gpus in layout.items()} for layout in expect["configs"]]
    key: Callable[[dict[str, int]], str] = lambda layout: repr(sorted(layout.items()))  # noqa: E731
    return {"ok": sorted(got, key=key) == sorted(expected, key=key), "expected": expected, "got": got}


def priority(case: Case, header: Case) -> Case:
    """Age (9) and latency ratio (8)."""
    instance, expect = case["instance"], case["expect"]
    try:
        mean = np.array([float(np.mean(checked_sizes(instance["R"])))])
        total = np.array([float(instance["total_samples"])])
        per_gpu = np.array([[float(found["throughput_per_gpu"]) for found in instance["types"]]])
        gpus = np.array([float(found["gpus"]) for found in instance["types"]])
        age = age_s(total, per_gpu, gpus, mean)
        ratio = latency_ratio(np.array([float(instance["wait"])]), age)
    except InputError as error:
        refused = expect["status"] not in ("ok", "optimal", "feasible")
        return {"ok": refused, "expected": expect["status"], "got": error.status, "note": str(error)}
    got = {"R_avg": float(mean[0]), "age": float(age[0]), "priority": float(ratio[0])}
    ok = all(_near(expect[name], value) for name, value in got.items() if name in expect)
    return {"ok": ok, "expected": {name: expect.get(name) for name in got}, "got": got}


RUNNERS = {
    "optimise": optimise,
    "generate/window": window,
    "generate/configs": configs,
    "evaluate/priority": priority,
}
