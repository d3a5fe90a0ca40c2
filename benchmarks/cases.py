"""What is measured: every budget of the project, as data. Sizes map to wall seconds allowed, None where none is set."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.case import Case, Peer, Work, data_folder, lean_fifo, queue_of
from benchmarks.rounds import (
    chronus_cycle,
    chronus_run,
    hadar_round,
    hare_list,
    hops_model,
    hops_queue,
    hops_round,
    sia_round,
)
from benchmarks.slurm_month import slurm_month

if TYPE_CHECKING:
    from workbench.papers.gavel.instance import AllocationInstance
    from workbench.scenario.scenario import Scenario

MEASURED = "CPU seconds by us on two cores of a 2.5 GHz Xeon in 2026, other work beside it"
GAVEL, ACCASIM = "the authors' code of Gavel", "accasim"
PEAK_MB = 300.0
GAVEL_TRACE = "gavel/cs36_n400_lam900_s0.trace"
GAVEL_SPEEDS = "gavel/simulation_throughputs.json"
MIX2_TRACE, MIX2_JOBS = "chronus/trace_job_Philly_MIX2.csv", 30_746
GPU_TYPES = 3
CONFIGURATIONS = 26
ASSEMBLY = {"model": "assembly"}


def fairness_data(jobs: int, configurations: int | None = None, seed: int | None = None) -> AllocationInstance:
    """Random speeds of jobs that are all different, or drawn from so many configurations; a quarter as many GPUs.

    seed: default the number of jobs.
    """
    from workbench.papers.gavel.instance import AllocationInstance

    rng = np.random.default_rng(jobs if seed is None else seed)
    kinds = configurations or jobs
    speed = rng.uniform(1.0, 10.0, (kinds, 1)) * np.sort(rng.uniform(0.1, 1.0, (kinds, GPU_TYPES)), axis=1)
    gang = rng.choice([1, 2, 4, 8], p=[0.7, 0.1, 0.15, 0.05], size=kinds)
    drawn = np.arange(jobs) if configurations is None else rng.integers(kinds, size=jobs)
    names = tuple(f"job-{i}" for i in range(jobs))
    capacity = np.full(GPU_TYPES, max(8, jobs // 4 // GPU_TYPES))
    return AllocationInstance(names, ("k80", "p100", "v100"), speed[drawn], np.ones(jobs), gang[drawn], capacity)


def allocation(configurations: int | None) -> Callable[[int], Work]:
    """From Python data to the allocation, as the schedulers do it."""

    def prepare(jobs: int) -> Work:
        from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness

        data = fairness_data(jobs, configurations)
        return lambda: f"objective {MaxMinFairness().allocate(data, ASSEMBLY).solved.objective:.6f}"

    return prepare


def batch(policy: str) -> Callable[[int], Work]:
    """Minimum makespan or finish-time fairness for jobs that are all different, as the schedulers do it.

    The jobs have been there for about as long as they would have taken by themselves for what they have done.
    """

    def prepare(jobs: int) -> Work:
        from workbench.papers.gavel.formulations.finish_time_fairness import FinishTimeFairness, FinishTimeInstance
        from workbench.papers.gavel.formulations.makespan import Makespan
        from workbench.papers.gavel.instance import StepsInstance

        rng = np.random.default_rng(jobs)
        numbers = {**vars(fairness_data(jobs)), "steps": rng.uniform(1e4, 1e7, jobs)}
        numbers = {name: value for name, value in numbers.items() if name in StepsInstance.__dataclass_fields__}
        if policy == "makespan":
            data = StepsInstance(**numbers)
            return lambda: f"{Makespan().allocate(data, ASSEMBLY).solved.objective:.6g} s"
        none = np.zeros(jobs)
        alone_s = FinishTimeInstance(**numbers, elapsed_s=none, isolated_s=none).terms.alone_s
        done_s = alone_s * rng.uniform(0.0, 1.0, jobs)
        late = FinishTimeInstance(**numbers, elapsed_s=done_s * rng.uniform(0.8, 1.25, jobs), isolated_s=done_s)

        def work() -> str:
            solved = FinishTimeFairness().allocate(late, ASSEMBLY).solved
            return f"rho {solved.objective:.6f}, {solved.passes} programmes"

        return work

    return prepare


def space_sharing(configurations: int | None) -> Callable[[int], Work]:
    """The same with pairs: single-GPU jobs, every two of which may share, and almost all pairs gain."""

    def prepare(jobs: int) -> Work:
        from dataclasses import replace

        from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness

        base = fairness_data(jobs, configurations)
        rng = np.random.default_rng(jobs)
        kinds = np.unique(base.speed, axis=0, return_inverse=True)[1].ravel()
        demand = rng.uniform(0.2, 1.0, jobs)
        part = 1.0 / np.maximum(1.0, demand[:, None] + demand) * rng.uniform(0.8, 1.0, (jobs, jobs))
        one, two = np.triu_indices(jobs, 1)
        ours, theirs = part[kinds[one], kinds[two]], part[kinds[two], kinds[one]]
        gains = ours + theirs > 1
        one, two, ours, theirs = one[gains], two[gains], ours[gains], theirs[gains]
        pair_speed = np.stack([ours[:, None] * base.speed[one], theirs[:, None] * base.speed[two]], axis=1)
        pairs = np.column_stack([one, two])
        data = replace(base, gang=np.ones(jobs), pairs=pairs, pair_speed=pair_speed)

        def work() -> str:
            found = MaxMinFairness().allocate(replace(data), ASSEMBLY)  # numbers checked anew
            return f"objective {found.solved.objective:.6f}, {len(pairs)} pairs"

        return work

    return prepare


def parts(jobs: int) -> Work:
    """The allocation by 16 random parts of the cluster (POP), and how much of the objective that loses."""
    from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness
    from workbench.papers.gavel.scheduler import by_parts

    data = fairness_data(jobs)
    allocate = MaxMinFairness().allocate
    whole = allocate(data, ASSEMBLY).solved.value

    def work() -> str:
        found = by_parts(data, {**ASSEMBLY, "partitions": 16}, allocate, min)
        return f"loses {1 - found.solved.value / whole:.2%}"

    return work


def pyomo_model(jobs: int) -> Work:
    """The Pyomo model as the formulation shows it, each time a new one: build, solve, read."""
    from workbench.scheduling.solvers import watched
    from workbench.session.registry import find_formulation

    formulation = find_formulation("gavel.max_min_fairness")
    data = fairness_data(jobs)

    def work() -> str:
        with watched():  # where somebody looks, nothing of the model before is kept
            return f"objective {formulation.run(data, formulation.settle({})).objective:.6f}"

    return work


def replay(jobs: int) -> Work:
    """A trace like Gavel's continuous-single one on 36/36/36 GPUs, heterogeneity-aware LAS, 360 s rounds.

    With 400 jobs it takes 1,917 decisions, 570 computations of shares and 27,292 starts: under the built-in speeds
    jobs move twice as often as in the authors' own trace of this law (`replay_of_authors`).
    """
    from workbench.scenario.traces.synthetic import generate

    return las(generate("v100=36x1,p100=36x1,k80=36x1", jobs, 0, "poisson", 900.0))


def replay_of_authors(jobs: int) -> Work:
    """The trace that Gavel's own generator makes of this law (one GPU a job, a job every 900 s), with Gavel's speeds.

    With 400 jobs it takes 1,981 decisions, 579 computations of shares and 14,428 starts.
    """
    from workbench.scenario.traces import convert, parse_cluster

    folder, cluster = data_folder(), parse_cluster("v100=36x1,p100=36x1,k80=36x1")
    scenario, _ = convert("gavel", folder / GAVEL_TRACE, throughputs=folder / GAVEL_SPEEDS, cluster=cluster)
    if len(scenario.jobs) != jobs:
        raise RuntimeError(f"{GAVEL_TRACE}: {len(scenario.jobs)} jobs, not {jobs}")
    return las(scenario)


def chronus_mix2(jobs: int) -> Work:
    """Chronus on its authors' trace MIX2 of Philly's log, 120 nodes of 8 GPUs; 100 decisions in detail.

    Of fewer jobs than it has: those from number 13,501 on, where the queue is longest.
    """
    from workbench.scenario.traces import convert, parse_cluster
    from workbench.session.api import simulate

    scenario, _ = convert("chronus", data_folder() / MIX2_TRACE, cluster=parse_cluster("v100=120x8"))
    if jobs < MIX2_JOBS:
        scenario = scenario.replace(jobs=scenario.jobs[13_500 : 13_500 + jobs])
    if len(scenario.jobs) != jobs:
        raise RuntimeError(f"{MIX2_TRACE}: {len(scenario.jobs)} jobs, not {jobs}")

    def work() -> str:
        run = simulate(scenario, "chronus", detail=100)
        return f"{len(run.decisions)} decisions, {(run.jobs['verdict'] == 'guaranteed').sum()} guaranteed"

    return work


def las(scenario: Scenario) -> Work:
    """The scenario under Gavel's heterogeneity-aware LAS."""
    from workbench.session.api import simulate

    def work() -> str:
        run = simulate(scenario, "gavel.max_min_fairness")
        return f"{len(run.decisions)} decisions, {int((run.decisions['status'] != '').sum())} solves"

    return work


def short_runs(*, dask: bool) -> Callable[[int], Work]:
    """A sweep of runs of some 20 ms, with a process for each core, or on a Dask cluster of as many that is there."""

    def prepare(runs: int) -> Work:
        import workbench

        place: dict[str, Any] = {"workers": os.cpu_count()}
        if dask:
            from distributed import LocalCluster

            cluster = LocalCluster(threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
            place = {"dask": cluster.scheduler_address}
        vary = {"round_s": [360.0 + i for i in range(runs)]}

        def work() -> None:
            workbench.sweep("preset:gavel_example", "gavel.max_min_fairness", vary=vary, **place)

        return work

    return prepare


def knob_to_chart(jobs: int) -> Work:
    """What a lab does when a knob changes, but for the page: request, simulation, run read back, chart prepared."""
    import threading

    from widgets.work.process import ProcessWork
    from widgets.work.workplace import Message
    from workbench.analysis.charts import gantt
    from workbench.scenario.traces.synthetic import generate

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


def long_run(scheduler: str, nodes: int = 64, **knobs: Any) -> Callable[[int], Work]:
    """Jobs of `queue_of` under a scheduler, at most 100 decisions recorded in detail."""

    def prepare(jobs: int) -> Work:
        from workbench.scenario.scenario import Scenario
        from workbench.session.api import simulate
        from workbench.simulation.schema import TABLES

        rows = [{"model": "m", "accelerator": "v100", "gpus": n, "steps_per_s": float(n)} for n in (1, 2, 4, 8)]
        made = [
            {"name": f"job-{i}", "model": "m", "gpus": int(gpus), "steps": float(gpus * s), "arrival_s": float(at_s)}
            for i, (at_s, gpus, s) in enumerate(zip(*queue_of(jobs, nodes), strict=True))
        ]
        cluster = {
            "accelerators": [{"name": "v100"}],
            "nodes": [{"name": "n", "accelerator": "v100", "gpus": 8, "count": nodes}],
        }
        scenario = Scenario.from_dict({"cluster": cluster, "jobs": made, "throughputs": rows})

        def work() -> Callable[[], str]:
            run = simulate(scenario, scheduler, detail=100, **{"round_s": 360.0, **knobs})

            def read() -> str:
                began = time.process_time()
                rows = ", ".join(f"{len(run.table(table.name))} {table.name}" for table in TABLES)
                return f"{time.process_time() - began:.2f} s more to read all tables: {rows}"

            return read

        return work

    return prepare


def by_gpus(gpus: int) -> Work:
    """The same for 5,000 jobs, first in, first out event by event: equal load on so many GPUs."""
    return long_run("fifo", gpus // 8, round_s=0)(5000)


def measured(who: str, *found: tuple[int, float] | tuple[int, float, float]) -> dict[int, Peer]:
    """What a peer was measured at, by size: one number, or the least and the most."""
    return {size: Peer(who, seconds[0], seconds[-1], MEASURED) for size, *seconds in found}


def event_by_event(
    name: str, budget_s: float, peers: dict[int, Peer], most_lean: float | None = None, **knobs: Any
) -> Case:
    """First in, first out on 512 GPUs, asked at every arrival and completion; the lean loop has the same jobs."""
    return Case(
        f"long run, 512 GPUs, {name} event by event",
        {10_000: None, 100_000: budget_s},
        long_run("fifo", round_s=0, **knobs),
        repeats=1,
        warm=0,
        peers=peers,
        lean=lambda jobs: lean_fifo(jobs, 64),
        most_lean=most_lean,
        peak_mb=PEAK_MB,
    )


def fresh(code: str) -> Callable[[int], Work]:
    """Some Python in a process of its own."""

    def work() -> None:
        subprocess.run([sys.executable, "-c", code], check=True)

    return lambda size: work


def water_filling(policy: str, seed: int | None = None) -> Callable[[int], Work]:
    """Hierarchical water filling, all jobs different, in 5 entities with fairness, FIFO or both; a GPU for each job."""

    def prepare(jobs: int) -> Work:
        from workbench.papers.gavel.formulations.water_filling import Hierarchical, HierarchicalInstance
        from workbench.papers.gavel.instance import fields

        rng = np.random.default_rng(jobs if seed is None else seed)
        numbers = fields(fairness_data(jobs, seed=seed))
        numbers |= {"capacity": np.full(GPU_TYPES, jobs // GPU_TYPES), "weight": rng.choice([1.0, 2.0, 5.0], jobs)}
        data = HierarchicalInstance(
            **numbers,
            owner=rng.integers(5, size=jobs).astype(float),
            entities=tuple("abcde"),
            entity_weight=np.array([1.0, 2.0, 3.0, 2.0, 1.0]),
            fifo=np.array({"fairness": [0.0] * 5, "fifo": [1.0] * 5, "mixed": [0.0, 1.0, 0.0, 1.0, 0.0]}[policy]),
        )
        knobs = {**ASSEMBLY, "bottleneck": "prices"}
        return lambda: f"{Hierarchical().allocate(data, knobs).solved.passes} programmes"

    return prepare


CASES = (
    Case(
        "max-min fairness, all different",
        {32: None, 128: 0.005, 512: 0.040, 2048: 0.150, 10_000: None},
        allocation(None),
        peers=measured(GAVEL, (128, 0.012), (512, 0.032), (2048, 0.10, 0.15)),
    ),
    Case(
        "max-min fairness, 26 configurations",
        {32: None, 128: 0.005, 512: 0.005, 2048: 0.010, 10_000: None},
        allocation(CONFIGURATIONS),
    ),
    Case("max-min fairness in 16 random parts, all different", {512: None, 2048: None, 10_000: None}, parts),
    Case(
        "max-min fairness with space sharing, all different",
        {256: None, 512: 2.0},
        space_sharing(None),
        repeats=2,
        peers=measured(GAVEL, (256, 10.0)),
    ),
    Case(
        "max-min fairness with space sharing, 26 configurations",
        {256: 2.0, 512: 10.0},
        space_sharing(CONFIGURATIONS),
        repeats=3,
    ),
    Case("max-min fairness, Pyomo model", {128: None, 512: None, 2048: 0.5}, pyomo_model, repeats=3),
    Case(
        "minimum makespan, all different",
        {32: None, 128: None, 512: None, 2048: 0.2},
        batch("makespan"),
        peers=measured(GAVEL, (512, 0.12), (2048, 0.4, 0.6)),
    ),
    Case(
        "finish-time fairness, all different",
        {32: None, 128: None, 512: None, 2048: 0.4},
        batch("finish_time_fairness"),
        peers=measured(GAVEL, (512, 3.0), (2048, 20.6)),
    ),
    Case(
        "water filling, 5 entities, fairness",
        {512: None, 2048: 1.0},
        water_filling("fairness"),
        repeats=2,
        peers=measured(GAVEL, (2048, 9.2)),
    ),
    Case("water filling, 5 entities, FIFO", {512: None, 2048: 1.0}, water_filling("fifo"), repeats=2),
    Case("water filling, 5 entities, mixed", {512: None, 2048: 1.0}, water_filling("mixed"), repeats=2),
    Case("Hadar round, all jobs decided on", {32: None, 480: None, 2048: 0.5}, hadar_round, repeats=3),
    Case("Hare list schedule, jobs of 60 tasks on 160 GPUs", {20: None, 200: 0.05}, hare_list(insertion=False)),
    Case("Hare list schedule with insertion, the same", {20: None, 200: None}, hare_list(insertion=True)),
    Case("Hops round", {64: None, 512: 0.4, 1504: 0.7}, hops_round(), repeats=3),
    Case("Hops round, Pyomo model", {64: None, 512: 1.0, 1504: 5.0}, hops_model("aggregated"), repeats=2),
    Case(
        "Hops round by length of the queue, 512 GPUs",
        {100: 1.0, 250: 1.0, 500: 1.0, 1000: 1.0, 2000: 1.0},
        hops_queue,
        repeats=2,
    ),
    Case("Hops round, lambda infinite", {64: None, 512: 1.0}, hops_round(float("inf")), repeats=1),
    Case("Hops round, printed model built", {64: None, 512: None}, hops_model("printed"), repeats=1, warm=0),
    Case("Chronus cycle, guaranteed jobs on 768 GPUs", {30: None, 300: 0.1}, chronus_cycle("ordinary"), repeats=3),
    Case("Chronus cycle, guaranteed until 768 GPUs are full", {30: None, 300: 2.0}, chronus_cycle("full"), repeats=2),
    Case("Chronus cycle, three types of 256 GPUs", {30: None, 300: None}, chronus_cycle("types"), repeats=2),
    Case("long run, 960 GPUs, chronus", {5000: 120.0}, chronus_run, repeats=1, warm=0),
    Case(
        "Chronus over Philly's MIX2 trace",
        {MIX2_JOBS: 150.0},
        chronus_mix2,
        repeats=1,
        warm=0,
        needs=(MIX2_TRACE,),
    ),
    Case("Sia round, 512 GPUs", {100: 1.0, 500: None}, sia_round, repeats=3),
    Case("replay, 108 GPUs, LAS", {100: None, 400: 1.0}, replay, repeats=2, warm=0, bounded=True),
    Case(
        "replay of Gavel's own trace, 108 GPUs, LAS",
        {400: 1.0},
        replay_of_authors,
        repeats=3,
        warm=0,
        needs=(GAVEL_TRACE, GAVEL_SPEEDS),
        peers=measured(GAVEL, (400, 4.3, 5.2)),
        bounded=True,
    ),
    Case("knob to chart, 60 GPUs, without the page", {20: 1.0}, knob_to_chart, repeats=3, elsewhere=True),
    Case(
        "a Slurm month to six pairs, days drawn anew",
        {60: None, 30_000: 180.0},
        slurm_month,
        repeats=1,
        warm=0,
        elsewhere=True,
    ),
    Case(
        "first result in a fresh process, over import numpy, pandas",
        {1: None},
        fresh("import workbench; workbench.simulate('preset:start_here', 'gavel.max_min_fairness')"),
        lean=fresh("import numpy, pandas"),
        most_lean=1.5,
    ),
    Case("a sweep of short runs, processes", {100: None}, short_runs(dask=False), repeats=2, busy=0.85),
    Case("a sweep of short runs, a local Dask cluster", {100: None}, short_runs(dask=True), repeats=2, busy=0.85),
    Case("long run, 512 GPUs, fifo", {25_000: None, 100_000: 6.0}, long_run("fifo"), repeats=1, warm=0),
    Case("long run, 512 GPUs, las", {25_000: None, 100_000: 6.0}, long_run("las"), repeats=1, warm=0),
    Case("long run, 512 GPUs, srtf", {25_000: None, 100_000: 6.0}, long_run("srtf"), repeats=1, warm=0),
    Case(
        "fifo event by event, 5,000 jobs, by GPUs",
        {64: None, 512: None, 4096: None},
        by_gpus,
        repeats=1,
        most_growth=1.3,
    ),
    event_by_event("fifo", 12.0, measured(ACCASIM, (10_000, 1.2), (100_000, 11.6)), most_lean=25.0),
    event_by_event("fifo with EASY backfilling", 20.0, {}, backfill="speeds"),
)
