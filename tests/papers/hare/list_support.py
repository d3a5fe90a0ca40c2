"""Instances for the tests of Hare's algorithm: random ones, and one as large as its budget."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from workbench.papers.hare.instance import Gpu, HareInstance


@st.composite
def instances(
    draw: st.DrawFn, *, jobs: int = 4, gpus: int = 4, sync: bool = True, arrivals: bool = True
) -> HareInstance:
    """Small instances with GPUs that cannot run a job, arrivals, and rounds that have begun."""
    count, machines = draw(st.integers(1, jobs)), draw(st.integers(1, gpus))
    times = st.sampled_from([0.5, 1.0, 1.5, 2.0, 4.0, math.inf])
    train = [draw(st.lists(times, min_size=machines, max_size=machines)) for _ in range(count)]
    for row in train:
        row[draw(st.integers(0, machines - 1))] = draw(st.sampled_from([0.5, 1.0, 3.0]))
    some = st.sampled_from([0.0, 0.25, 1.0]) if sync else st.just(0.0)
    tasks = draw(st.lists(st.integers(1, 3), min_size=count, max_size=count))
    return HareInstance.made(
        train,
        [draw(st.lists(some, min_size=machines, max_size=machines)) for _ in range(count)],
        rounds=draw(st.lists(st.integers(1, 3), min_size=count, max_size=count)),
        tasks=tasks,
        weight=draw(st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=count, max_size=count)),
        arrival_s=draw(st.lists(st.sampled_from([0.0, 0.5, 3.0]), min_size=count, max_size=count)) if arrivals else 0.0,
        free_s=draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=machines, max_size=machines)) if arrivals else 0.0,
        first_tasks=[draw(st.integers(1, most)) for most in tasks],
        barrier_s=draw(st.lists(st.sampled_from([0.0, 2.0]), min_size=count, max_size=count)) if arrivals else 0.0,
        last_part=draw(st.lists(st.sampled_from([0.5, 1.0]), min_size=count, max_size=count)),
    )


def large(seed: int = 0, jobs: int = 200, gpus: int = 160, kinds: int = 4, tasks: int = 12_000) -> HareInstance:
    """Jobs with arrivals on GPUs of a few types, drawn with a seed, with exactly so many tasks."""
    rng = np.random.default_rng(seed)
    kind = np.sort(rng.integers(0, kinds, gpus))
    speed = np.column_stack([np.ones(jobs), *(rng.uniform(1.0, 1.0 + 2.0 * k, jobs) for k in range(1, kinds))])
    train = rng.uniform(1, 20, jobs)[:, None] / speed
    wide = rng.choice([1, 2, 4, 8], jobs)
    rounds = np.maximum(1, np.rint(rng.uniform(0.2, 1.8, jobs) * tasks / jobs / wide)).astype(int)
    while (over := int(rounds @ wide) - tasks) != 0:  # jobs of one task a round make up the difference
        row = int(rng.choice(np.flatnonzero((wide == 1) & (rounds > 1))))
        rounds[row] = max(1, rounds[row] - over)
    names = [Gpu(f"g{i}", f"t{kind[i]}", f"n{i // 8}", i % 8) for i in range(gpus)]
    return HareInstance.made(
        train[:, kind],
        (0.15 * train.min(axis=1)[:, None] * rng.uniform(0.2, 1, (jobs, kinds)))[:, kind],
        rounds=rounds,
        tasks=wide,
        weight=rng.integers(1, 5, jobs).astype(float),
        arrival_s=np.sort(rng.exponential(1.0, jobs).cumsum()),
        gpus=names,
    )
