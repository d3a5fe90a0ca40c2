"""What is timed of Hadar, Hops, Hare, Chronus and Sia: rounds, plans, and Chronus over a long time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.case import Work


def hadar_round(jobs: int) -> Work:
    """One round of Hadar from a snapshot to the decision, all GPUs free: 60 of them for 480 jobs, 768 for 2048."""
    from workbench.scenario.traces.synthetic import generate
    from workbench.session.api import snapshot_at
    from workbench.session.registry import find_scheduler

    nodes = {480: 5, 2048: 64}.get(jobs, max(1, jobs // 96))
    cluster = f"v100={nodes}x4,p100={nodes}x4,k80={nodes}x4"
    scenario = generate(cluster, jobs, 0, "static", multi_gpu=True)
    snapshot, hadar = snapshot_at(scenario, 0.0), find_scheduler("hadar")
    knobs = hadar.settle({})
    memory = hadar.start(scenario, knobs)

    def work() -> str:
        decision = hadar.decide(snapshot, memory, knobs, np.random.default_rng(0))[0]
        held = sum(sum(given.gpus.values()) for given in decision.assign)
        found = decision.solved
        assert found is not None and found.gap is not None
        return f"{found.status}, gap {found.gap:.3%}, {found.passes} passes, {held} of {12 * nodes} GPUs held"

    return work


def hare_list(insertion: bool) -> Callable[[int], Work]:
    """Algorithm 1 with its relaxation, from the instance to the schedule: 60 tasks a job on 160 GPUs of four types."""

    def prepare(jobs: int) -> Work:
        from workbench.papers.hare.algorithms.list_schedule import algorithm_1, fluid_start_s
        from workbench.papers.hare.instance import HareInstance

        rng = np.random.default_rng(jobs)
        tasks = rng.choice([1, 2, 4, 5, 10], jobs)
        train = rng.uniform(1.0, 20.0, (jobs, 1)) / np.sort(rng.uniform(1.0, 7.0, (jobs, 4)), axis=1)
        data = HareInstance.made(
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
    from workbench.papers.hops.algorithms.configurations import Layout, Server
    from workbench.papers.hops.instance import JobRequest

    rng, nodes = np.random.default_rng(0), gpus // 8
    few = nodes // 8
    kinds = [("gtx1080ti", 2 * few, 1.0), ("titanxp", 2 * few, 1.0), ("rtx3090", nodes - 6 * few, 0.9)]
    kinds += [("rtx3090", few, 0.95), ("rtx3090", few, 1.0)]
    servers, pools = [], []
    for pool, (kind, count, _) in enumerate(kinds):
        servers += [Server(f"{kind}-{pool}-{i}", kind, 8, 8) for i in range(count)]
        pools += [pool] * count
    requests: list[JobRequest] = []
    while sum(request.sizes[0] for request in requests) < gpus:
        sizes = sorted(rng.choice(np.arange(1, 17), size=rng.integers(1, 9), replace=False).tolist())
        requests.append(JobRequest(f"job-{len(requests)}", sizes, float(rng.gamma(1.0, 0.5)), float(rng.uniform(1, 2))))
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
        from workbench.papers.hops.algorithms.round_plan import make_plan
        from workbench.papers.hops.instance import list_configurations

        given = hops_data(gpus)

        def work() -> str:
            data = list_configurations(*given)
            found = make_plan(data, {"lambda": power})
            gap = "" if found.solved.gap is None else f", gap {100 * found.solved.gap:.2f} %"
            return f"{found.form}, {len(found.plan)} of {len(data.jobs)} jobs{gap}"

        return work

    return prepare


def hops_queue(jobs: int) -> Work:
    """The first decision of a round on Hops's 512 GPUs, all free, with so many jobs in the queue (Fig. 15, left).

    From a snapshot, nothing known of any job: ages, the queue, its window and the first plan, which the window keeps
    from growing with the queue. The jobs are the preset's 500, again and again.
    """
    from workbench.scenario.presets import preset
    from workbench.session.api import snapshot_at
    from workbench.session.registry import find_scheduler

    base, hops = preset("hops_512_100"), find_scheduler("hops")
    again = [base.jobs[i % len(base.jobs)].model_copy(update={"name": f"job-{i}"}) for i in range(jobs)]
    scenario = base.replace(jobs=again)
    snapshot = snapshot_at(scenario, max(job.arrival_s for job in again))
    knobs = hops.settle({"profile_iterations": 0, "decision_s": 0.0, "replan": False})
    memory = hops.start(scenario, knobs)

    def work() -> str:
        decision = hops.decide(snapshot, memory, knobs, np.random.default_rng(0))[0]
        found = decision.solved
        assert found is not None
        inside = len(decision.signals["weight"])
        return f"{inside} of {jobs} jobs in the window, {len(decision.assign)} served, solved in {found.solve_s:.2f} s"

    return work


def sia_round(jobs: int) -> Work:
    """From a snapshot of Hops's 512 GPUs, all jobs waiting, to each job's configuration, with the scheduler's gap."""
    from workbench.baselines.sia import Sia, SiaScheduler, choose
    from workbench.scenario.presets import preset
    from workbench.scheduling.solvers import Solver
    from workbench.session.api import snapshot_at

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

        from workbench.papers.chronus.algorithms.admission import admit_all
        from workbench.papers.chronus.algorithms.terms import AskedJob, AskedRun, NodePool
        from workbench.papers.chronus.formulations import master
        from workbench.papers.chronus.instance import ChronusInstance
        from workbench.scenario.rewards import SOFT_STEPS

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
            runs = [AskedRun(pool, int(gang), int(left_s * slow)) for pool, slow in enumerate((1.0, 1.5, 2.5))]
            asked.append(AskedJob(int(gang), left_s, steps, runs=runs if kind == "types" else ()))
        if kind == "types":
            pools = {NodePool("v100", 8): 256, NodePool("p100", 8): 256, NodePool("k80", 8): 256}
            data = ChronusInstance.pooled(pools, 1200, asked)
        else:
            data = ChronusInstance.made(768, 1200, asked, node_gpus=8)
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
    from workbench.scenario.presets.parts import cluster_of, node_groups, streams
    from workbench.scenario.scenario import Scenario
    from workbench.scenario.traces.deadlines import WORKLOADS, draw_rewards
    from workbench.scenario.traces.synthetic import Workload, draw_arrivals, draw_short
    from workbench.session.api import simulate

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
        from workbench.papers.hops.formulations.round import HopsRound
        from workbench.papers.hops.instance import list_configurations
        from workbench.scheduling.notation import model_size

        given, formulation = hops_data(gpus), HopsRound()
        knobs = formulation.settle({"form": model})

        def work() -> str:
            data = list_configurations(*given)
            if model == "printed":
                return str(model_size(formulation.build(data, knobs)))
            found = formulation.run(data, knobs)
            return f"objective {found.objective:.6f}, gap {100 * (found.gap or 0.0):.2f} %"

        return work

    return prepare
