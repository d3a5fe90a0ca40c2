"""Runners of Hops's reference cases (`dlsched-case/1`, `../shared/cases/hops`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.latency_ratio import age_s, latency_ratio
from workbench.papers.hops.algorithms.configurations import (
    SIGMA,
    Layout,
    Server,
    aggregated,
    checked_sizes,
    distributed,
    may_be_distributed,
)
from workbench.papers.hops.algorithms.gains import gain_of
from workbench.papers.hops.algorithms.queue import service_window
from workbench.papers.hops.algorithms.round_plan import class_gains, make_plan
from workbench.papers.hops.formulations.round import HopsRound
from workbench.papers.hops.instance import HopsInstance, JobConfigurations, bias
from workbench.scheduling.contract import Result
from workbench.scheduling.solvers import InfeasibleError

Case = Mapping[str, Any]
FORMULATION = HopsRound()
FINE = ("optimal", "feasible", "ok")
"""What a case may expect of input that is to be taken."""


def generate(servers: Sequence[Server], sizes: Sequence[int], rho: float, sigma: float = SIGMA) -> Iterator[Layout]:
    """All configurations of a job: by type in the order of the servers, then by size; none for a request too large."""
    kinds = dict.fromkeys(server.kind for server in servers)
    for kind in kinds:
        largest = max(server.size for server in servers if server.kind == kind)
        spread = may_be_distributed(sizes, rho, largest, sigma)
        for gpus in sizes:
            yield from aggregated(servers, kind, gpus)
            if spread:
                yield from distributed(servers, kind, gpus)


def _near(expected: float, got: float, tolerance: float = 1e-6) -> bool:
    return abs(expected - got) <= tolerance * max(1.0, abs(expected))


def _power(options: Case) -> float:
    """lambda; the word `inf` for infinity."""
    return float(options.get("lambda", 1.0))


def _shift(instance: Case, options: Case) -> float | None:
    """What to add to priorities so that ours, with the paper's bias, weigh as the case's; None if nothing does that."""
    given = options.get("bias", "paper")
    priority = np.array([float(job["priority"]) for job in instance["jobs"]])
    if given in ("paper", None) or _near(float(given), bias(priority)):
        return 0.0
    return float(given) if priority.min(initial=np.inf) + float(given) > 0 else None


def round_data(instance: Case, shift: float = 0.0) -> HopsInstance:
    """The data of an instance; jobs are named by their position."""
    servers = {str(name): int(idle) for name, idle in instance["servers"].items()}
    jobs = [
        JobConfigurations(
            str(row),
            float(job["priority"]) + shift,
            [
                ({str(server): int(gpus) for server, gpus in found["alloc"].items()}, float(found["throughput"]))
                for found in job["configs"]
            ],
        )
        for row, job in enumerate(instance["jobs"])
    ]
    return HopsInstance.of(servers, jobs)


def _picked(data: HopsInstance, instance: Case, result: Result) -> list[int | None]:
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
    gap = float(options.get("rel_gap") or 0.0)
    try:
        shift = _shift(instance, options)
        if shift is None:
            return {"ok": None, "note": f"unsupported: a bias of {options['bias']}, with which a weight is not above 0"}
        data = round_data(instance, shift)
        found = {}
        for model in ("printed", "aggregated"):
            knobs = FORMULATION.settle({"lambda": _power(options), "form": model, "gap": gap})
            found[model] = FORMULATION.run(data, knobs)
            gain = gain_of(data, make_plan(data, knobs).plan)
            if gap == 0 and not _alike(data, found[model], gain):
                return {"ok": False, "got": gain.tolist(), "note": f"the matrix of the {model} model differs"}
    except (InputError, InfeasibleError) as error:
        return _refused(expect, error)
    wrong = [note for result in found.values() if (note := _complaint(instance, expect, data, result, gap))]
    shown = found["printed"]
    return {
        "ok": not wrong,
        "expected": {key: expect[key] for key in ("objective", "lexicographic_gains_by_priority") if key in expect},
        "got": {"objective": shown.objective, "choices": _picked(data, instance, shown)},
        "note": "; ".join(wrong),
    }


def _refused(expect: Case, error: InputError | InfeasibleError) -> Case:
    refused = expect["status"] not in FINE
    return {"ok": refused, "expected": expect["status"], "got": error.status, "note": str(error)}


def _alike(data: HopsInstance, result: Result, gain: FloatArray) -> bool:
    """Whether a plan of these gains is worth as much as the result."""
    if result.objective is None:
        return all(map(_near, result.values["gains_by_class"], class_gains(data, gain)))
    weight = np.array([result.values["weight"][name] for name in data.jobs])
    return _near(result.objective, float(weight @ gain))


def _complaint(instance: Case, expect: Case, data: HopsInstance, result: Result, gap: float) -> str:
    picked = _picked(data, instance, result)
    model = result.values["form"]
    if not _feasible(instance, picked):
        return f"{model}: a server gives out more than it has"
    if expect["status"] not in FINE:
        return f"{model}: a plan where {expect['status']} was expected"
    if expect.get("objective") is not None:
        got = result.objective or 0.0
        if not (_near(expect["objective"], got) or expect["objective"] / (1.0 + gap) <= got < expect["objective"]):
            return f"{model}: objective {result.objective}"
    gains = expect.get("lexicographic_gains_by_priority")
    if gains is not None:
        got = result.values["gains_by_class"]
        if len(got) != len(gains) or not all(map(_near, gains, got)):
            return f"{model}: gains by class {got}"
    if expect.get("n_optimal") == 1 and gap == 0 and picked not in expect["optimal_choices"]:
        return f"{model}: choices {picked}"
    return ""


def window(case: Case, header: Case) -> Case:
    """The service window."""
    instance, expect = case["instance"], case["expect"]
    queue = instance["queue"]
    try:
        least = np.array([checked_sizes(job["R"], str(job["id"]))[0] for job in queue], dtype=np.int64)
        inside = service_window(least, int(instance["total_gpus"]))
    except InputError as error:
        return _refused(expect, error)
    got = [job["id"] for job in queue[:inside]]
    return {"ok": got == expect.get("window"), "expected": expect.get("window"), "got": got}


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
        return _refused(expect, error)
    found = generate(servers, sizes, float(job.get("rho", 1.0)), float(options.get("sigma", SIGMA)))
    got = [{servers[server].name: gpus for server, gpus in layout} for layout in found]
    expected = [{str(key): gpus for key, gpus in layout.items()} for layout in expect.get("configs", [])]
    same = _in_order(got) == _in_order(expected)
    return {"ok": same and expect["status"] in FINE, "expected": expected, "got": got}


def _in_order(layouts: list[dict[str, int]]) -> list[list[tuple[str, int]]]:
    return sorted(sorted(layout.items()) for layout in layouts)


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
        return _refused(expect, error)
    got = {"R_avg": float(mean[0]), "age": float(age[0]), "priority": float(ratio[0])}
    named = [name for name in got if expect.get(name) is not None]
    ok = expect["status"] in FINE and bool(named) and all(_near(expect[name], got[name]) for name in named)
    return {"ok": ok, "expected": {name: expect.get(name) for name in got}, "got": got}


RUNNERS = {
    "optimise": optimise,
    "generate/window": window,
    "generate/configs": configs,
    "evaluate/priority": priority,
}
