"""Small rounds of Hops: random ones with their optima by trying everything, and scenarios made by hand."""

import itertools

import numpy as np
from hypothesis import strategies as st

from workbench.papers.hops.algorithms.configurations import Server
from workbench.papers.hops.formulations.lexicographic import priority_classes
from workbench.papers.hops.instance import JobRequest, bias, list_configurations
from workbench.scenario.scenario import Scenario


def random_round(seed, spread=True, least_idle=0):
    """A few servers of one or two types and speed classes, and jobs with priorities of every sign, often equal ones.

    Gangs over servers are no faster than on one; some jobs do not run on a type. spread: jobs may be distributed.
    """
    rng = np.random.default_rng(seed)
    count, kinds = int(rng.integers(1, 5)), int(rng.integers(1, 3))
    pools = sorted(int(pool) for pool in rng.integers(0, kinds + 1, count))
    idle = [int(gpus) for gpus in rng.integers(least_idle, 5, count)]
    servers = [
        Server(f"s{i}", f"t{min(pool, kinds - 1)}", free, 4)
        for i, (pool, free) in enumerate(zip(pools, idle, strict=True))
    ]
    requests = []
    for row in range(int(rng.integers(0, 5))):
        sizes = rng.choice(np.arange(1, 7), size=int(rng.integers(1, 3)), replace=False).tolist()
        rho = float(rng.choice([1.0, 1.2])) if spread else 9.0
        requests.append(JobRequest(f"j{row}", sizes, float(rng.choice([-1.0, 0.0, 0.5, 2.0])), rho))
    speed, decay = rng.uniform(0.5, 3.0, (len(requests), kinds + 1)), rng.uniform(0.6, 1.0, len(requests))
    speed *= rng.random(speed.shape) < 0.85

    def rate(row, layout):
        gpus = sum(size for _, size in layout)
        slowest = min(float(speed[row, pools[server]]) for server, _ in layout)
        return slowest * gpus ** float(decay[row]) / (requests[row].rho if len(layout) > 1 else 1.0)

    if not spread:
        requests = [one._replace(sizes=[size for size in one.sizes if size <= 4] or [1]) for one in requests]
    return list_configurations(servers, pools, requests, rate)


SEEDS = st.integers(0, 2**32 - 1)


def plans(data):
    """Every plan that fits, as a configuration or None of each job (the printed model's limits)."""
    own = [[None, *np.flatnonzero(data.job == row).tolist()] for row in range(len(data.jobs))]

    def extend(row, idle):
        if row == len(own):
            yield ()
            return
        for configuration in own[row]:
            left = dict(idle)
            for server, gpus in () if configuration is None else data.layouts[data.layout[configuration]]:
                left[server] -= gpus
            if min(left.values(), default=0) >= 0:
                for rest in extend(row + 1, left):
                    yield (configuration, *rest)

    yield from extend(0, dict(enumerate(data.idle.tolist())))


def gains(data, plan):
    """(jobs,) the gain of each job, worked out from the throughputs themselves."""
    found = []
    for row, configuration in enumerate(plan):
        mine = data.throughput[data.job == row]
        found.append(0.0 if configuration is None else data.throughput[configuration] / mine.min())
    return np.array(found)


def value(data, gain, power):
    """(11), unscaled."""
    return float(sum((p + bias(data.priority)) ** power * g for p, g in zip(data.priority, gain, strict=True)))


def best(data, power):
    """The optimum of the printed model."""
    return max(value(data, gains(data, plan), power) for plan in plans(data))


def best_ladder(data):
    """The best vector of gains by priority class, the highest class first."""
    order = priority_classes(data.priority)
    ladders = [[round(float(gains(data, plan)[rows].sum()), 9) for rows in order] for plan in plans(data)]
    return max(ladders)


def best_pooled(data, power):
    """The optimum where a shape's pieces may lie on any servers of their pools, two on one as well."""
    shapes = list(data.shapes)
    own = [[None, *np.flatnonzero(data.job == row).tolist()] for row in range(len(data.jobs))]
    found = 0.0
    for plan in itertools.product(*own):
        worth = value(data, gains(data, plan), power)
        if worth > found:
            pieces = [piece for c in plan if c is not None for piece in shapes[data.shape[c]]]
            if _packs(data, sorted(pieces, key=lambda piece: -piece[1]), data.idle.tolist()):
                found = worth
    return found


def _packs(data, pieces, idle):
    if not pieces:
        return True
    (pool, gpus), rest = pieces[0], pieces[1:]
    for server in {(idle[i], i) for i in range(len(idle)) if data.pools[i] == pool and idle[i] >= gpus}:
        left = list(idle)
        left[server[1]] -= gpus
        if _packs(data, rest, left):
            return True
    return False


def scenario(jobs, speeds=(1.0, 1.0), gpus=2):
    """Two servers of one type; everything runs at its number of GPUs, spread gangs at half of it."""
    rows = [
        {"model": "m", "accelerator": "v100", "gpus": n, "placement": word, "steps_per_s": n * part}
        for n in range(1, 5)
        for word, part in (("consolidated", 1.0), ("unconsolidated", 0.5))
    ]
    nodes = [{"name": f"n{i}", "accelerator": "v100", "gpus": gpus, "speed": speed} for i, speed in enumerate(speeds)]
    cluster = {"accelerators": [{"name": "v100"}], "nodes": nodes}
    return Scenario.from_dict({"cluster": cluster, "jobs": jobs, "throughputs": rows})


def job(name, arrival_s=0.0, sizes=(1, 2), steps=100.0, **more):
    return {
        "name": name, "model": "m", "steps": steps, "arrival_s": arrival_s, "gpus": sizes[0],
        "gpu_choices": list(sizes), **more,
    }  # fmt: skip
