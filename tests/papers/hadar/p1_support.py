"""What the tests of P1, P2 and P3 share: small random instances, and their optimum by trying everything."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
from hypothesis import strategies as st

from workbench.papers.hadar.instance import HadarInstance

UTILITIES = ("effective_throughput", "neg_jct", "count", "linear", "step")


def random_instance(
    seed: int, jobs: int = 2, types: int = 2, slots: int = 3, utility: str = "neg_jct"
) -> HadarInstance:
    """Jobs with gangs of 1 to 3 on 1 to 3 GPUs of each type; some cannot run on a type, some not at all."""
    rng = np.random.default_rng(seed)
    rate = rng.integers(0, 6, (jobs, types)).astype(float)
    deadline = rng.integers(1, slots + 1, jobs)
    return HadarInstance.made(
        rng.integers(1, 4, types),
        slots,
        rng.integers(0, slots, jobs),
        rng.integers(1, 4, jobs),
        rng.integers(1, 11, jobs).astype(float),
        rate,
        utility,
        weight=rng.uniform(0.5, 3.0, jobs),
        rewards=tuple(((float(last), 3.0), (float(last + 1), 1.0)) for last in deadline),
    )


@st.composite
def instances(draw: st.DrawFn, jobs: int = 2, types: int = 2, slots: int = 4) -> HadarInstance:
    """`random_instance` of up to so many jobs, types and slots."""
    return random_instance(
        draw(st.integers(0, 10**6)),
        draw(st.integers(1, jobs)),
        draw(st.integers(1, types)),
        draw(st.integers(1, slots)),
        draw(st.sampled_from(UTILITIES)),
    )


def brute_force(data: HadarInstance, require_all: bool = False) -> float | None:
    """The optimum of P1 by trying every placement of every set of jobs in every slot; None if there is no plan."""
    kinds = range(len(data.types))
    ways = [
        [w for w in itertools.product(*(range(int(c) + 1) for c in data.capacity)) if sum(w) == data.gang[j]]
        for j in range(len(data.jobs))
    ]
    speed = [
        {w: min(float(data.rate[j, k]) for k in kinds if w[k]) for w in own} for j, own in enumerate(ways)
    ]  # 0 where one of the GPUs could not run

    @cache
    def best(t: int, left: tuple[float, ...]) -> float:
        if t == data.slots:
            return -np.inf if require_all and any(work > 1e-9 for work in left) else 0.0
        choices = []
        for j, work in enumerate(left):
            able = work > 1e-9 and data.arrival[j] <= t
            choices.append([None, *(w for w in ways[j] if speed[j][w] > 0)] if able else [None])
        found = -np.inf
        for chosen in itertools.product(*choices):
            if any(sum(w[k] for w in chosen if w) > data.capacity[k] for k in kinds):
                continue
            after = [work - (speed[j][w] if w else 0.0) for j, (work, w) in enumerate(zip(left, chosen, strict=True))]
            ended = [j for j, w in enumerate(chosen) if w and after[j] <= 1e-9]
            gained = sum(float(data.utility[j, t]) for j in ended)
            found = max(found, gained + best(t + 1, tuple(max(0.0, work) for work in after)))
        return found

    value = best(0, tuple(data.work.tolist()))
    return None if np.isinf(value) else value
