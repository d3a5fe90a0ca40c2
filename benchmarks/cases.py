"""What is measured: every budget of the project, as data. Sizes map to wall seconds allowed, None where none is set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from workbench.papers.gavel.allocation import AllocationData

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


def fairness_data(jobs: int, configurations: int | None = None) -> AllocationData:
    """Random speeds of jobs that are all different, or drawn from so many configurations; a quarter as many GPUs."""
    from workbench.papers.gavel.allocation import AllocationData

    rng = np.random.default_rng(jobs)
    kinds = configurations or jobs
    speed = rng.uniform(1.0, 10.0, (kinds, 1)) * np.sort(rng.uniform(0.1, 1.0, (kinds, GPU_TYPES)), axis=1)
    gang = rng.choice([1, 2, 4, 8], p=[0.7, 0.1, 0.15, 0.05], size=kinds)
    drawn = np.arange(jobs) if configurations is None else rng.integers(kinds, size=jobs)
    names = tuple(f"job-{i}" for i in range(jobs))
    workers = np.full(GPU_TYPES, max(8, jobs // 4 // GPU_TYPES))
    return AllocationData(names, ("k80", "p100", "v100"), speed[drawn], np.ones(jobs), gang[drawn], workers)


def allocation(configurations: int | None) -> Callable[[int], Work]:
    """From Python data to the allocation, as the schedulers do it."""

    def prepare(jobs: int) -> Work:
        from workbench.papers.gavel.max_min_fairness_matrix import allocate

        data = fairness_data(jobs, configurations)
        return lambda: f"objective {allocate(data).solved.objective:.6f}"

    return prepare


def batch(policy: str) -> Callable[[int], Work]:
    """Minimum makespan or finish-time fairness for jobs that are all different, as the schedulers do it.

    The jobs have been there for about as long as they would have taken by themselves for what they have done.
    """

    def prepare(jobs: int) -> Work:
        from workbench.papers.gavel import finish_time_fairness_matrix, makespan_matrix
        from workbench.papers.gavel.finish_time_fairness import FinishTimeData
        from workbench.papers.gavel.steps import StepsData

        rng = np.random.default_rng(jobs)
        numbers = {**vars(fairness_data(jobs)), "steps": rng.uniform(1e4, 1e7, jobs)}
        numbers = {name: value for name, value in numbers.items() if name in StepsData.__dataclass_fields__}
        if policy == "makespan":
            data = StepsData(**numbers)
            return lambda: f"{makespan_matrix.allocate(data).solved.objective:.6g} s"
        none = np.zeros(jobs)
        alone_s = FinishTimeData(**numbers, elapsed_s=none, isolated_s=none).terms.alone_s
        done_s = alone_s * rng.uniform(0.0, 1.0, jobs)
        late = FinishTimeData(**numbers, elapsed_s=done_s * rng.uniform(0.8, 1.25, jobs), isolated_s=done_s)

        def work() -> str:
            solved = finish_time_fairness_matrix.allocate(late).solved
            return f"rho {solved.objective:.6f}, {solved.iterations} programmes"

        return work

    return prepare


def space_sharing(configurations: int | None) -> Callable[[int], Work]:
    """The same with pairs: single-GPU jobs, every two of which may share, and almost all pairs gain."""

    def prepare(jobs: int) -> Work:
        from dataclasses import replace

        from workbench.papers.gavel.max_min_fairness_matrix import allocate

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
            found = allocate(replace(data))  # numbers checked anew
            return f"objective {found.solved.objective:.6f}, {len(pairs)} pairs"

        return work

    return prepare


def parts(jobs: int) -> Work:
    """The allocation by 16 random parts of the cluster (POP), and how much of the objective that loses."""
    from workbench.papers.gavel.max_min_fairness_matrix import allocate
    from workbench.papers.gavel.pop import by_parts

    data = fairness_data(jobs)
    whole = allocate(data).solved.objective

    def work() -> str:
        found = by_parts(data, {"partitions": 16}, lambda part, _: allocate(part), min)
        return f"loses {1 - found.solved.objective / whole:.2%}"

    return work


def pyomo_model(jobs: int) -> Work:
    """The Pyomo model as the formulation shows it: build, solve, read."""
    from workbench.papers.paper import find_formulation

    formulation = find_formulation("gavel.max_min_fairness")
    data = fairness_data(jobs)
    return lambda: f"objective {formulation.run(data, formulation.settle({})).objective:.6f}"


def replay(jobs: int) -> Work:
    """A trace like Gavel's continuous-single one on 36/36/36 GPUs, heterogeneity-aware LAS, 360 s rounds.

    With 400 jobs the authors' own trace of this law (one GPU a job, a job every 900 s) takes 1,981 decisions, 579
    computations of shares and 14,428 starts; this one takes 1,917, 570 and 27,292, since its jobs move twice as often.
    """
    from workbench.api import simulate
    from workbench.traces.synthetic import generate

    scenario = generate("v100=36x1,p100=36x1,k80=36x1", jobs, 0, "poisson", 900.0)

    def work() -> str:
        run = simulate(scenario, "gavel.max_min_fairness")
        return f"{len(run.decisions)} decisions, {int((run.decisions['status'] != '').sum())} solves"

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


def water_filling(policy: str) -> Callable[[int], Work]:
    """Hierarchical water filling, all jobs different, in 5 entities with fairness, FIFO or both; a GPU for each job."""

    def prepare(jobs: int) -> Work:
        from workbench.papers.gavel.entities import HierarchicalData, fields
        from workbench.papers.gavel.water_filling_matrix import allocate

        rng = np.random.default_rng(jobs)
        numbers = fields(fairness_data(jobs))
        numbers |= {"workers": np.full(GPU_TYPES, jobs // GPU_TYPES), "weight": rng.choice([1.0, 2.0, 5.0], jobs)}
        data = HierarchicalData(
            **numbers,
            owner=rng.integers(5, size=jobs).astype(float),
            entities=tuple("abcde"),
            entity_weight=np.array([1.0, 2.0, 3.0, 2.0, 1.0]),
            fifo=np.array({"fairness": [0.0] * 5, "fifo": [1.0] * 5, "mixed": [0.0, 1.0, 0.0, 1.0, 0.0]}[policy]),
        )
        return lambda: f"{allocate(data).solved.iterations} programmes"

    return prepare


def hadar_round(jobs: int) -> Work:
    """One round of Hadar from a snapshot to the decision, all GPUs free: 60 of them for 480 jobs, 768 for 2048."""
    from workbench.api import snapshot_at
    from workbench.papers.paper import find_scheduler
    from workbench.traces.synthetic import generate

    nodes = {480: 5, 2048: 64}.get(jobs, max(1, jobs // 96))
    cluster = f"v100={nodes}x4,p100={nodes}x4,k80={nodes}x4"
    scenario = generate(cluster, jobs, 0, "static", multi_gpu=True)
    snapshot, hadar = snapshot_at(scenario, 0.0), find_scheduler("hadar")
    knobs = hadar.settle({})
    memory = hadar.start(scenario, knobs)

    def work() -> str:
        decision = hadar.decide(snapshot, memory, knobs, np.random.default_rng(0))[0]
        held = sum(sum(given.gpus.values()) for given in decision.assign)
        found = decision.solution
        assert found is not None and found.gap is not None
        return f"{found.status}, gap {found.gap:.3%}, {found.iterations} passes, {held} of {12 * nodes} GPUs held"

    return work


def hare_list(insertion: bool) -> Callable[[int], Work]:
    """Algorithm 1 with its relaxation, from the instance to the schedule: 60 tasks a job on 160 GPUs of four types."""

    def prepare(jobs: int) -> Work:
        from workbench.papers.hare.algorithm import algorithm_1
        from workbench.papers.hare.fluid import fluid_start_s
        from workbench.papers.hare.instance import Instance

        rng = np.random.default_rng(jobs)
        tasks = rng.choice([1, 2, 4, 5, 10], jobs)
        train = rng.uniform(1.0, 20.0, (jobs, 1)) / np.sort(rng.uniform(1.0, 7.0, (jobs, 4)), axis=1)
        data = Instance.made(
            np.repeat(train, 40, axis=1),
            np.repeat(0.15 * train, 40, axis=1),
            rounds=60 // tasks,
            tasks=tasks,
            weight=rng.integers(1, 5, jobs),
            arrival_s=rng.exponential(1.0, jobs).cumsum(),
        )

        def work() -> str:
            found = algorithm_1(data, fluid_start_s(data), insertion=insertion)
            return f"{data.task_count} tasks, weighted JCT {found.weighted_jct_s:.0f} s"

        return work

    return prepare


def hops_data(gpus: int) -> tuple[Any, ...]:
    """What a round of Hops is listed from: servers of 8 idle GPUs of five kinds as in section 4.3, and a full window.

    Jobs have 1 to 8 sizes of 1 to 16 GPUs, all different; about 135 of them at 512 GPUs. Speeds fall with the server's
    class, for gangs that are spread by the sensitivity of the job.
    """
    from workbench.papers.hops.configurations import Layout, Server
    from workbench.papers.hops.listing import Request

    rng, nodes = np.random.default_rng(0), gpus // 8
    few = nodes // 8
    kinds = [("gtx1080ti", 2 * few, 1.0), ("titanxp", 2 * few, 1.0), ("rtx3090", nodes - 6 * few, 0.9)]
    kinds += [("rtx3090", few, 0.95), ("rtx3090", few, 1.0)]
    servers, pools = [], []
    for pool, (kind, count, _) in enumerate(kinds):
        servers += [Server(f"{kind}-{pool}-{i}", kind, 8, 8) for i in range(count)]
        pools += [pool] * count
    requests: list[Request] = []
    while sum(request.sizes[0] for request in requests) < gpus:
        sizes = sorted(rng.choice(np.arange(1, 17), size=rng.integers(1, 9), replace=False).tolist())
        requests.append(Request(f"job-{len(requests)}", sizes, float(rng.gamma(1.0, 0.5)), float(rng.uniform(1, 2))))
    base = {"gtx1080ti": 1.0, "titanxp": 1.3, "rtx3090": 2.4}
    fits = [dict(zip(base, rng.uniform(0.7, 1.3, len(base)), strict=True)) for _ in requests]
    decay = rng.uniform(0.75, 0.98, len(requests))

    def rate(row: int, layout: Layout) -> float:
        total, kind = sum(taken for _, taken in layout), servers[layout[0][0]].kind
        slowest = min(kinds[pools[server]][2] for server, _ in layout)
        apart = requests[row].rho if len(layout) > 1 else 1.0
        return float(base[kind] * fits[row][kind] * total * decay[row] ** np.log2(total) * slowest / apart)

    return servers, pools, requests, rate


def hops_round(power: float = 1.0) -> Callable[[int], Work]:
    """From servers, jobs and speeds to each job's GPUs, as the scheduler does it, with the gap of that size."""

    def prepare(gpus: int) -> Work:
        from workbench.papers.hops.listing import list_configurations
        from workbench.papers.hops.planning import make_plan

        given = hops_data(gpus)

        def work() -> str:
            data = list_configurations(*given)
            found = make_plan(data, {"lambda": power})
            gap = "" if found.solved.gap is None else f", gap {100 * found.solved.gap:.2f} %"
            return f"{found.model}, {len(found.plan)} of {len(data.jobs)} jobs{gap}"

        return work

    return prepare


def hops_queue(jobs: int) -> Work:
    """The first decision of a round on Hops's 512 GPUs, all free, with so many jobs in the queue (Fig. 15, left).

    From a snapshot, nothing known of any job: ages, the queue, its window and the first plan, which the window keeps
    from growing with the queue. The jobs are the preset's 500, again and again.
    """
    from workbench.api import snapshot_at
    from workbench.papers.paper import find_scheduler
    from workbench.presets import preset

    base, hops = preset("hops_512_100"), find_scheduler("hops")
    again = [base.jobs[i % len(base.jobs)].model_copy(update={"name": f"job-{i}"}) for i in range(jobs)]
    scenario = base.replace(jobs=again)
    snapshot = snapshot_at(scenario, max(job.arrival_s for job in again))
    knobs = hops.settle({"profile_iterations": 0, "decision_s": 0.0, "replan": False})
    memory = hops.start(scenario, knobs)

    def work() -> str:
        decision = hops.decide(snapshot, memory, knobs, np.random.default_rng(0))[0]
        found = decision.solution
        assert found is not None
        inside = len(decision.signals["weight"])
        return f"{inside} of {jobs} jobs in the window, {len(decision.assign)} served, solved in {found.solve_s:.2f} s"

    return work


def sia_round(jobs: int) -> Work:
    """From a snapshot of Hops's 512 GPUs, all jobs waiting, to each job's configuration, with the scheduler's gap."""
    from workbench.api import snapshot_at
    from workbench.baselines.sia import Sia, SiaScheduler, choose
    from workbench.presets import preset
    from workbench.solvers import Solver

    scenario, problem = preset("hops_512_100"), Sia()
    snapshot = snapshot_at(scenario.replace(jobs=scenario.jobs[:jobs]), scenario.jobs[jobs - 1].arrival_s)
    knobs: Mapping[str, Any] = SiaScheduler().settle({})
    solver = Solver(gap=float(knobs["gap"]))

    def work() -> str:
        data = problem.data(snapshot, knobs)
        chosen, solved = choose(data, float(knobs["p"]), float(knobs["lambda_n"]), solver)
        gap = "" if solved.gap is None else f", gap {100 * solved.gap:.3f} %"
        return f"{len(chosen)} of {len(data.jobs)} jobs, {len(data.job)} configurations{gap}"

    return work


def chronus_cycle(kind: str) -> Callable[[int], Work]:
    """The plan of an SLO cycle for guaranteed jobs on 768 GPUs, from the instance to checked leases, with its gap.

    ordinary: jobs that a plan served, as many as asked for. full: all that admission let in of twice as many as asked
    for, until the cluster has no room; types: with three types of GPUs to choose from and nobody guaranteed.
    """

    def prepare(jobs: int) -> Work:
        from dataclasses import replace

        from workbench.papers.chronus import master
        from workbench.papers.chronus.admission import admit_all
        from workbench.papers.chronus.instance import Asked, Instance
        from workbench.papers.chronus.options import Pool, Run
        from workbench.rewards import SOFT_STEPS

        rng, asked, offered = np.random.default_rng(jobs), [], {"ordinary": jobs + jobs // 3, "full": 2 * jobs}
        for gang in rng.choice(
            [1, 2, 4, 8, 16, 32, 64], offered.get(kind, jobs), p=[0.3, 0.1, 0.1, 0.2, 0.15, 0.1, 0.05]
        ):
            runtime_s = float(np.exp(rng.normal(np.log(3 * 3600), 0.8)).clip(600, 24 * 3600))
            first_s, done = runtime_s * rng.uniform(1.2, 2.0), rng.uniform(0.0, 0.6)
            spent_s = runtime_s * done * rng.uniform(1.0, 1.2)
            soft = SOFT_STEPS if rng.random() < 0.67 else SOFT_STEPS[:1]
            steps = [(int(late * first_s - spent_s), worth) for late, worth in soft]
            left_s = int(runtime_s * (1 - done)) + 1
            runs = [Run(pool, int(gang), int(left_s * slow)) for pool, slow in enumerate((1.0, 1.5, 2.5))]
            asked.append(Asked(int(gang), left_s, steps, runs=runs if kind == "types" else ()))
        if kind == "types":
            pools = {Pool("v100", 8): 256, Pool("p100", 8): 256, Pool("k80", 8): 256}
            data = Instance.pooled(pools, 1200, asked)
        else:
            data = Instance.made(768, 1200, asked, node_gpus=8)
        if kind == "ordinary":
            plan = master.solve(data).plan
            assert plan is not None
            data = data.with_jobs(np.flatnonzero(plan.has.any(axis=1))[:jobs], guaranteed=True)
        elif kind == "full":
            verdicts = [verdict for verdict in admit_all(data, data.jobs, explain=False) if verdict.guaranteed]
            sure = [data.jobs.index(verdict.job) for verdict in verdicts]
            data = replace(data.with_jobs(sure, guaranteed=True), previous=verdicts[-1].leases or {})

        def work() -> str:
            found = master.solve(data)
            assert found.plan is not None
            linear = found.linear / found.plan.objective - 1
            return (
                f"{len(data.jobs)} jobs, {data.leases} leases, gap {100 * (found.solved.gap or 0.0):.2f} %, "
                f"to the linear bound {100 * linear:.2f} %"
            )

        return work

    return prepare


def chronus_run(jobs: int) -> Work:
    """A run of the scheduler on 120 nodes of 8 GPUs, jobs as in the preset chronus_120x8, workload MIX2, a job every
    four minutes (load about 0.8); at most 100 decisions recorded in detail. How many guarantees broke is told."""
    from workbench.api import simulate
    from workbench.presets.parts import cluster_of, node_groups, streams
    from workbench.scenario import Scenario
    from workbench.traces.deadlines import WORKLOADS, draw_rewards
    from workbench.traces.synthetic import Workload, draw_arrivals, draw_short

    length, pick, scale, gaps = streams(jobs, 4)
    work = Workload.build(cluster_of(node_groups(("node", "v100", 120, 8)), 100.0), "chronus")
    durations = draw_short(length, jobs)
    models = pick.choice(list(work.models), jobs).tolist()
    gangs = scale.choice([1, 2, 4, 8, 16, 32, 64], jobs, p=[0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.1])
    arrivals, rewards = draw_arrivals(gaps, jobs, 240.0), draw_rewards(durations, WORKLOADS["mix2"], jobs)
    listed = []
    for i, steps in enumerate(rewards):
        job = work.job(f"job-{i}", models[i], int(gangs[i]), float(durations[i]), float(arrivals[i]))
        listed.append(job if steps is None else {**job, "rewards": [list(step) for step in steps]})
    scenario = Scenario.from_dict(work.scenario(listed))

    def work_done() -> str:
        run = simulate(scenario, "chronus", detail=100)
        broken = run.events["reason"].str.startswith("its guarantee is broken").sum()
        return (
            f"{len(run.decisions)} decisions, {(run.jobs['verdict'] == 'guaranteed').sum()} guaranteed, {broken} broken"
        )

    return work_done


def hops_model(model: str) -> Callable[[int], Work]:
    """The same by the Pyomo model as shown: the aggregated one solved; the printed one built only, for its size."""

    def prepare(gpus: int) -> Work:
        from workbench.notation import model_size
        from workbench.papers.hops.listing import list_configurations
        from workbench.papers.hops.round import Round

        given, formulation = hops_data(gpus), Round()
        knobs = formulation.settle({"model": model})

        def work() -> str:
            data = list_configurations(*given)
            if model == "printed":
                return str(model_size(formulation.build(data, knobs)))
            found = formulation.run(data, knobs)
            return f"objective {found.objective:.6f}, gap {100 * (found.gap or 0.0):.2f} %"

        return work

    return prepare


CASES = (
    Case(
        "max-min fairness, all different",
        {32: None, 128: 0.010, 512: 0.050, 2048: 0.250, 10_000: None},
        allocation(None),
    ),
    Case(
        "max-min fairness, 26 configurations",
        {32: None, 128: 0.005, 512: 0.005, 2048: 0.010, 10_000: None},
        allocation(CONFIGURATIONS),
    ),
    Case("max-min fairness in 16 random parts, all different", {512: None, 2048: None, 10_000: None}, parts),
    Case("max-min fairness with space sharing, all different", {256: 2.0, 512: 10.0}, space_sharing(None), repeats=2),
    Case(
        "max-min fairness with space sharing, 26 configurations",
        {256: 2.0, 512: 10.0},
        space_sharing(CONFIGURATIONS),
        repeats=3,
    ),
    Case("max-min fairness, Pyomo model", {128: None, 512: None, 2048: 1.0}, pyomo_model, repeats=3),
    Case(
        "minimum makespan, all different", {32: None, 128: None, 512: None, 2048: 0.4, 10_000: None}, batch("makespan")
    ),
    Case(
        "finish-time fairness, all different",
        {32: None, 128: None, 512: None, 2048: 2.0, 10_000: None},
        batch("finish_time_fairness"),
    ),
    Case("water filling, 5 entities, fairness", {512: None, 2048: 3.0}, water_filling("fairness"), repeats=2),
    Case("water filling, 5 entities, FIFO", {512: None, 2048: 3.0}, water_filling("fifo"), repeats=2),
    Case("water filling, 5 entities, mixed", {512: None, 2048: 3.0}, water_filling("mixed"), repeats=2),
    Case("Hadar round, all jobs decided on", {32: None, 480: 0.3, 2048: 1.0}, hadar_round, repeats=3),
    Case("Hare list schedule, jobs of 60 tasks on 160 GPUs", {20: None, 200: 0.5}, hare_list(insertion=False)),
    Case("Hare list schedule with insertion, the same", {20: None, 200: None}, hare_list(insertion=True)),
    Case("Hops round", {64: None, 512: 1.0, 1504: 5.0}, hops_round(), repeats=3),
    Case("Hops round, Pyomo model", {64: None, 512: 1.0, 1504: 5.0}, hops_model("aggregated"), repeats=2),
    Case(
        "Hops round by length of the queue, 512 GPUs", {100: 1.0, 250: 1.0, 500: 1.0, 1000: 1.0, 2000: 1.0}, hops_queue
    ),
    Case("Hops round, lambda infinite", {64: None, 512: None}, hops_round(float("inf")), repeats=1),
    Case("Hops round, printed model built", {64: None, 512: None}, hops_model("printed"), repeats=1, warm=0),
    Case("Chronus cycle, guaranteed jobs on 768 GPUs", {30: None, 300: 2.0}, chronus_cycle("ordinary"), repeats=3),
    Case("Chronus cycle, guaranteed until 768 GPUs are full", {30: None, 300: 2.0}, chronus_cycle("full"), repeats=2),
    Case("Chronus cycle, three types of 256 GPUs", {30: None, 300: None}, chronus_cycle("types"), repeats=2),
    Case("long run, 960 GPUs, chronus", {5000: 120.0, 30_940: 600.0}, chronus_run, repeats=1, warm=0),
    Case("Sia round, 512 GPUs", {100: 1.0, 500: None}, sia_round, repeats=3),
    Case("replay, 108 GPUs, LAS", {100: None, 200: None, 400: 2.5}, replay, repeats=2, warm=0),
    Case("knob to chart, 60 GPUs, without the page", {20: 1.0}, knob_to_chart, repeats=3),
    Case("long run, 512 GPUs, fifo", {25_000: None, 100_000: 60.0}, long_run("fifo"), repeats=1, warm=0),
    Case("long run, 512 GPUs, las", {25_000: None, 100_000: 60.0}, long_run("las"), repeats=1, warm=0),
    Case("long run, 512 GPUs, srtf", {25_000: None, 100_000: 60.0}, long_run("srtf"), repeats=1, warm=0),
)
