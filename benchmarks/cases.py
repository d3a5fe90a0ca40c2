"""What is measured: every budget of the project, as data. Sizes map to wall seconds allowed, None where none is set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

MEMORY_MB = 2000.0
GPU_TYPES = 3
CONFIGURATIONS = 26

Work = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """One benchmark: `prepare(size)` returns the work to time; what the work returns is shown as a note."""

    name: str
    budgets: Mapping[int, float | None]
    prepare: Callable[[int], Work]
    repeats: int = 5
    warm: int = 1


def fairness_data(jobs: int, configurations: int | None = None) -> object:
    """Random speeds of jobs that are all different, or drawn from so many configurations; a quarter as many GPUs."""
    from workbench.papers.gavel.max_min_fairness import FairnessData

    rng = np.random.default_rng(jobs)
    kinds = configurations or jobs
    speed = rng.uniform(1.0, 10.0, (kinds, 1)) * np.sort(rng.uniform(0.1, 1.0, (kinds, GPU_TYPES)), axis=1)
    gang = rng.choice([1, 2, 4, 8], p=[0.7, 0.1, 0.15, 0.05], size=kinds)
    drawn = np.arange(jobs) if configurations is None else rng.integers(kinds, size=jobs)
    names = tuple(f"job-{i}" for i in range(jobs))
    workers = np.full(GPU_TYPES, max(8, jobs // 4 // GPU_TYPES))
    return FairnessData(names, ("k80", "p100", "v100"), speed[drawn], np.ones(jobs), gang[drawn], workers)


def allocation(configurations: int | None) -> Callable[[int], Work]:
    """From Python data to the allocation, as the schedulers do it."""

    def prepare(jobs: int) -> Work:
        from workbench.papers.gavel.max_min_fairness_matrix import allocate

        data = fairness_data(jobs, configurations)
        return lambda: f"objective {allocate(data).solved.objective:.6f}"  # type: ignore[arg-type]

    return prepare


def pyomo_model(jobs: int) -> Work:
    """The Pyomo model as the formulation shows it: build, solve, read."""
    from workbench.papers.paper import find_formulation

    formulation = find_formulation("gavel.max_min_fairness")
    data = fairness_data(jobs)
    return lambda: f"objective {formulation.run(data, formulation.settle({})).objective:.6f}"


def replay(jobs: int) -> Work:
    """A trace like Gavel's continuous-multiple one on 36/36/36 GPUs, heterogeneity-aware LAS, 360 s rounds."""
    from workbench.api import simulate
    from workbench.traces.synthetic import generate

    scenario = generate("v100=36x1,p100=36x1,k80=36x1", jobs, 0, "poisson", 900.0, multi_gpu=True)

    def work() -> str:
        run = simulate(scenario, "gavel.max_min_fairness")
        return f"{len(run.decisions)} rounds, {int((run.decisions['status'] != '').sum())} solves"

    return work


def knob_to_chart(jobs: int) -> Work:
    """What a lab does when a knob changes, but for the page: request, simulation, run read back, chart prepared."""
    import threading

    from widgets.work import Message, ProcessWork
    from workbench.charts import gantt
    from workbench.traces.synthetic import generate

    scenario = generate("v100=5x4,p100=5x4,k80=5x4", jobs, 0, "static", multi_gpu=True, durations="short")
    process = ProcessWork()
    request = {"kind": "simulate", "scenario": scenario.to_dict(), "scheduler": "gavel.max_min_fairness", "knobs": {}}

    def work() -> str:
        done, found = threading.Event(), []

        def hear(message: Message) -> None:
            if message["kind"] != "progress":
                found.append(message)
                done.set()

        process.submit(request, hear)
        if not done.wait(60.0) or found[0]["kind"] != "done":
            raise RuntimeError(f"no run came back: {found}")
        run = found[0]["run"]
        gantt(run.timeline, run.jobs, run.decisions, run.events, cluster=scenario.cluster)
        return f"{len(run.decisions)} rounds, {len(run.timeline)} intervals"

    return work


def long_run(scheduler: str) -> Callable[[int], Work]:
    """Many jobs of 1 or more GPUs on 512 GPUs at load 0.9, at most 100 decisions recorded in detail."""

    def prepare(jobs: int) -> Work:
        from workbench.api import simulate
        from workbench.scenario import Scenario

        rng = np.random.default_rng(1)
        gpus = rng.choice([1, 2, 4, 8], p=[0.7, 0.1, 0.15, 0.05], size=jobs)
        hours = rng.exponential(2.0, size=jobs) + 0.1
        gap_s = float((gpus * hours).mean()) * 3600 / 512 / 0.9
        arrival = np.cumsum(rng.exponential(gap_s, size=jobs))
        rows = [{"model": "m", "accelerator": "v100", "gpus": n, "steps_per_s": float(n)} for n in (1, 2, 4, 8)]
        made = [
            {"name": f"job-{i}", "model": "m", "gpus": int(g), "steps": float(g * h * 3600), "arrival_s": float(a)}
            for i, (g, h, a) in enumerate(zip(gpus, hours, arrival, strict=True))
        ]
        cluster = {
            "accelerators": [{"name": "v100"}],
            "nodes": [{"name": "n", "accelerator": "v100", "gpus": 8, "count": 64}],
        }
        scenario = Scenario.from_dict({"cluster": cluster, "jobs": made, "throughputs": rows})

        def work() -> str:
            run = simulate(scenario, scheduler, round_s=360.0, detail=100)
            return f"{len(run.decisions)} rounds, {len(run.timeline)} intervals"

        return work

    return prepare


CASES = (
    Case("max-min fairness, all different", {128: 0.010, 512: 0.050, 2048: 0.250}, allocation(None)),
    Case("max-min fairness, 26 configurations", {128: 0.005, 512: 0.005, 2048: 0.010}, allocation(CONFIGURATIONS)),
    Case("max-min fairness, Pyomo model", {128: None, 512: None, 2048: 1.0}, pyomo_model, repeats=3),
    Case("replay, 108 GPUs, LAS", {100: None, 200: None, 400: 2.5}, replay, repeats=2, warm=0),
    Case("knob to chart, 60 GPUs, without the page", {20: 1.0}, knob_to_chart, repeats=3),
    Case("long run, 512 GPUs, fifo", {25_000: None, 100_000: 60.0}, long_run("fifo"), repeats=1, warm=0),
    Case("long run, 512 GPUs, las", {25_000: None, 100_000: 60.0}, long_run("las"), repeats=1, warm=0),
    Case("long run, 512 GPUs, srtf", {25_000: None, 100_000: 60.0}, long_run("srtf"), repeats=1, warm=0),
)
