"""What the tests of Chronus's plans share: small random instances, and their optimum by trying every plan."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from hypothesis import strategies as st

from workbench.papers.chronus.algorithms.terms import AskedJob
from workbench.papers.chronus.instance import ChronusInstance

LEASE_S = 10


def random_jobs(seed: int, jobs: int, gpus: int, leases: int, *, released: bool = False) -> list[AskedJob]:
    """Jobs of up to one GPU more than there are, strict and soft, some with deadlines too early or over."""
    rng = np.random.default_rng(seed)
    asked = []
    for _ in range(jobs):
        late = int(rng.integers(0, 2 * LEASE_S + 1)) if released else 0
        deadlines = sorted(set(rng.integers(late + 1, leases * LEASE_S + 1, rng.integers(1, 4)).tolist()))
        rewards = sorted(rng.integers(2, 101, len(deadlines)).tolist(), reverse=True)
        runtime = int(rng.integers(1, leases * LEASE_S * 2 // 3))
        steps = list(zip(deadlines, rewards, strict=True))
        asked.append(AskedJob(int(rng.integers(1, gpus + 2)), runtime, steps, late))
    return asked


@st.composite
def instances(
    draw: st.DrawFn, jobs: int = 4, gpus: int = 8, leases: int = 5, *, released: bool = True
) -> ChronusInstance:
    """Up to so many jobs; capacity constant or lease by lease, rounded up or not."""
    seed = draw(st.integers(0, 10**6))
    count = draw(st.integers(1, jobs))
    several = released and draw(st.booleans())
    free = draw(st.lists(st.integers(0, gpus), min_size=1, max_size=leases)) if several else draw(st.integers(1, gpus))
    asked = random_jobs(seed, count, gpus, leases, released=released)
    return ChronusInstance.made(free, LEASE_S, asked, node_gpus=draw(st.sampled_from([None, None, 8, 6])))


def ways(data: ChronusInstance, row: int) -> Iterator[tuple[int, ...] | None]:
    """Every set of leases, from 1, with which a job meets a deadline, and None for a miss; from seconds, not leases."""
    yield None
    deadlines = [deadline for deadline, _ in data.steps[row]]
    possible = [
        k
        for k in range(1, int(max(deadlines, default=0)) // data.lease_s + 1)
        if (k - 1) * data.lease_s >= data.arrival_s[row]
    ]
    number = 1
    while number * data.lease_s < data.runtime_s[row]:
        number += 1
    yield from itertools.combinations(possible, number)


def reward_of(data: ChronusInstance, row: int, own: tuple[int, ...] | None) -> float:
    """What a job earns with these leases, by the seconds at which the last one ends."""
    if own is None:
        return data.miss_reward
    return next(reward for deadline, reward in data.steps[row] if own[-1] * data.lease_s <= deadline)


def brute_force(data: ChronusInstance) -> float | None:
    """The optimum of (1)-(6) by trying every plan; None if the guaranteed jobs cannot all be served."""
    best: float | None = None

    def place(row: int, used: dict[int, np.ndarray], earned: float) -> None:
        nonlocal best
        if row == len(data.jobs):
            best = earned if best is None else max(best, earned)
            return
        for own in ways(data, row):
            if own is None and data.guaranteed[row]:
                continue
            after = dict(used)
            for lease in own or ():
                after[lease] = after.get(lease, np.zeros(len(data.sizes), dtype=int)) + data.held[row]
                if (after[lease] > data.capacity[min(lease, len(data.capacity)) - 1]).any():
                    break
            else:
                place(row + 1, after, earned + reward_of(data, row, own))

    place(0, {}, 0.0)
    return best


def check(data: ChronusInstance, leases: dict[str, list[int] | None]) -> float:
    """The reward of a plan, its limits asserted from the seconds of the instance."""
    used: dict[int, np.ndarray] = {}
    earned = 0.0
    for row, name in enumerate(data.jobs):
        own = leases[name]
        assert own is not None or not data.guaranteed[row]
        if own is not None:
            assert list(own) == sorted(set(own)) and own[-1] * data.lease_s <= data.steps[row][-1][0]
            assert (own[0] - 1) * data.lease_s >= data.arrival_s[row] and own[0] >= 1
            assert (len(own) - 1) * data.lease_s < data.runtime_s[row] <= len(own) * data.lease_s
        earned += reward_of(data, row, None if own is None else tuple(own))
        for lease in own or ():
            used[lease] = used.get(lease, np.zeros(len(data.sizes), dtype=int)) + data.held[row]
    for lease, taken in used.items():
        assert (taken <= data.capacity[min(lease, len(data.capacity)) - 1]).all(), (lease, taken)
    return earned
