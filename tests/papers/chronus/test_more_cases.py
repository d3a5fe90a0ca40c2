"""Unusual cases of the reference schema, made here: the runners against trying every plan, and each key by hand."""

import itertools

import pytest

from tests.cases.chronus import RUNNERS

HEADER = {"schema": "dlsched-case/1"}


def optimum(stated):
    """The best plan by trying all, straight from a case: None if all have to be served and cannot."""
    lease, best = stated["lease"], None
    ways = []
    for job in stated["jobs"]:
        gpus = job["gpus"] if not stated.get("round_up") else rounded(job["gpus"])
        needed, first = -(-job["runtime"] // lease), -(-job.get("arrival", 0) // lease) + 1
        last = max((deadline // lease for deadline, _ in job["steps"]), default=0)
        own = [] if stated.get("all_guaranteed") else [(gpus, (), stated["miss_reward"])]
        for leases in itertools.combinations(range(first, last + 1), needed):
            reward = next(r for deadline, r in job["steps"] if leases[-1] <= deadline // lease)
            own.append((gpus, leases, reward))
        ways.append(own)
    for plan in itertools.product(*ways):
        used = {}
        for gpus, leases, _ in plan:
            for k in leases:
                used[k] = used.get(k, 0) + gpus
        if max(used.values(), default=0) <= stated["gpus"]:
            worth = sum(reward for *_, reward in plan)
            best = worth if best is None else max(best, worth)
    return best


def rounded(gpus):
    return next((size for size in (1, 2, 4, 8) if size >= gpus), -(-gpus // 8) * 8)


def case(**stated):
    expected = optimum(stated)
    status = "infeasible" if expected is None else "optimal"
    return {"instance": stated, "options": {}, "expect": {"status": status, "objective": expected}}


def job(gpus, runtime, *steps, **more):
    return {"gpus": gpus, "runtime": runtime, "steps": [list(step) for step in steps], **more}


UNUSUAL = {
    "no jobs": case(gpus=8, lease=1200, miss_reward=1, jobs=[]),
    "a miss is worth nothing": case(gpus=4, lease=10, miss_reward=0, jobs=[job(4, 10, (10, 5)), job(4, 10, (10, 7))]),
    "a miss is worth as much": case(gpus=4, lease=10, miss_reward=5, jobs=[job(4, 10, (10, 5)), job(4, 10, (10, 7))]),
    "leases of a second": case(gpus=3, lease=1, miss_reward=1, jobs=[job(2, 3, (5, 9)), job(2, 2, (4, 8))]),
    "arrivals on and beside a boundary": case(
        gpus=8, lease=10, miss_reward=1, jobs=[job(8, 10, (30, 9), arrival=10), job(8, 10, (20, 8), arrival=9)]
    ),
    "equal rewards": case(
        gpus=8, lease=10, miss_reward=1, jobs=[job(8, 10, (10, 9), (20, 9)), job(8, 10, (10, 9), (30, 2))]
    ),
    "rounded up to several nodes": case(
        gpus=24, lease=10, miss_reward=1, round_up=True, jobs=[job(9, 10, (10, 50)), job(6, 10, (20, 40), (30, 3))]
    ),
    "rounded up and guaranteed": case(
        gpus=8,
        lease=10,
        miss_reward=1,
        round_up=True,
        all_guaranteed=True,
        jobs=[job(5, 10, (20, 9)), job(3, 10, (20, 9))],
    ),
    "guaranteed but too many": case(
        gpus=3, lease=10, miss_reward=1, all_guaranteed=True, jobs=[job(2, 10, (20, 9))] * 3
    ),
    "deadlines between boundaries": case(
        gpus=4, lease=10, miss_reward=1, jobs=[job(4, 11, (29, 9), (31, 4)), job(2, 9, (19, 8))]
    ),
    "larger than the cluster": case(gpus=4, lease=10, miss_reward=2, jobs=[job(5, 10, (90, 9)), job(4, 10, (10, 9))]),
    "rewards that are no whole numbers": case(
        gpus=4, lease=10, miss_reward=0.5, jobs=[job(3, 10, (10, 2.25), (20, 1.75)), job(2, 10, (10, 2.5))]
    ),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_an_unusual_case(name):
    found = RUNNERS["optimise/selector"](UNUSUAL[name], HEADER)
    assert found["ok"], found
