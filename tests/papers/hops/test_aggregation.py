"""Ways to cut an idle server, and from shapes to servers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.papers.hops.algorithms.aggregation import aggregate, count, lift, patterns
from workbench.papers.hops.algorithms.configurations import Server
from workbench.papers.hops.algorithms.planning import checked, make_plan
from workbench.papers.hops.instance import HopsInstance, JobConfigurations, JobRequest, list_configurations, shape_of
from workbench.scheduling.solvers import SolverFailedError

EXACT = {"lambda": 1.0, "form": "aggregated", "gap": 0.0}


def cut_of(data, *patterns):
    """How often each of the aggregate's cuts is used, from a list of (idle, pattern)."""
    wanted = list(patterns)
    return [wanted.count((data.groups[group][1], pattern)) for group, pattern in data.cuts]


def two_by_four():
    """Two servers of 4; x on one piece of 4 or on 2 + 2, y on 2."""
    spread = ({"a": 2, "b": 2}, 3.0)
    small = [({"a": 2}, 1.0), ({"b": 2}, 1.0)]
    return aggregate(
        HopsInstance.of(
            {"a": 4, "b": 4}, [JobConfigurations("x", 1.0, [spread]), JobConfigurations("y", 1.0, small)], [0, 0]
        )
    )


def test_the_pieces_of_a_job_are_on_different_servers():
    data = two_by_four()
    plan = lift(data, {0: 0, 1: 1}, cut_of(data, (4, (2, 2)), (4, (2, 2))))
    assert plan[0].layout == ((0, 2), (1, 2))
    assert plan[1].layout in (((0, 2),), ((1, 2),))


def test_an_exchange_keeps_them_apart():
    """One server of 4 and one of 2, cut into three 2s: if y took the 2 first, x would have both halves of the 4."""
    spread, small = [({"a": 2, "b": 2}, 3.0)], [({"a": 2}, 1.0), ({"b": 2}, 1.0)]
    data = aggregate(
        HopsInstance.of(
            {"a": 4, "b": 2}, [JobConfigurations("x", 1.0, spread), JobConfigurations("y", 1.0, small)], [0, 0]
        )
    )
    plan = lift(data, {0: 0, 1: 1}, cut_of(data, (4, (2, 2)), (2, (2,))))
    assert plan[0].layout == ((0, 2), (1, 2))
    assert plan[1].layout == ((0, 2),)


def test_two_pieces_on_one_server_become_one():
    """Only one server is cut: x gets a whole server, and the gain that was planned."""
    data = two_by_four()
    plan = lift(data, {0: 0}, cut_of(data, (4, (2, 2))))
    assert plan[0].layout == ((0, 4),)
    assert plan[0].gain == pytest.approx(1.0)


def test_more_pieces_than_were_cut_are_an_error():
    data = two_by_four()
    with pytest.raises(SolverFailedError, match="no piece of 2 GPUs left"):
        lift(data, {0: 0, 1: 1}, cut_of(data, (4, (2, 2))))


def test_who_can_stay_does_and_otherwise_everybody_is_placed_anew():
    data = two_by_four()
    cut = cut_of(data, (4, (2, 2)), (4, (2, 2)))
    assert lift(data, {1: 1}, cut, {1: ((1, 2),)})[1].layout == ((1, 2),)
    # The gang that stays in the middle of what another one needs would leave no whole server.
    whole = [({"a": 4}, 4.0), ({"b": 4}, 4.0)]
    small = [({"a": 2}, 1.0), ({"b": 2}, 1.0)]
    jobs = [JobConfigurations("x", 1.0, whole), JobConfigurations("y", 1.0, small), JobConfigurations("z", 1.0, small)]
    data = aggregate(HopsInstance.of({"a": 4, "b": 4}, jobs, [0, 0]))
    plan = lift(data, {0: 0, 1: 1, 2: 2}, cut_of(data, (4, (4,)), (4, (2, 2))), {1: ((0, 2),), 2: ((1, 2),)})
    assert [gpus for _, gpus in plan[0].layout] == [4]
    assert checked(data.data, plan) == plan


@given(seed=st.integers(0, 2**32 - 1))
def test_a_plan_for_a_whole_cluster_fits_and_is_worth_what_the_solver_says(seed):
    """Uneven idle GPUs, odd sizes, many distributed jobs; also when it starts from an older plan."""
    rng = np.random.default_rng(seed)
    servers = [Server(f"s{i}", "ab"[i % 2], int(rng.integers(0, 9)), 8) for i in range(12)]
    pools = [(i % 2) * 2 + (i % 3 == 0) for i in range(12)]
    requests = [
        JobRequest(f"j{row}", rng.choice(np.arange(1, 17), 3, replace=False).tolist(), float(rng.uniform(0, 3)), 1.0)
        for row in range(14)
    ]
    speed = rng.uniform(0.5, 2.0, (14, 4))

    def rate(row, layout):
        slowest = min(float(speed[row, pools[server]]) for server, _ in layout)
        return slowest * sum(gpus for _, gpus in layout) ** 0.9 / len(layout) ** 0.1

    data = list_configurations(servers, pools, requests, rate)
    before: dict[int, tuple[tuple[int, int], ...]] = {}
    for _ in range(2):
        found = make_plan(data, EXACT, previous=before)
        plan = checked(data, found.plan)
        assert found.solved.bound is not None
        assert found.solved.objective == pytest.approx(found.solved.bound, rel=1e-5)
        for row, placed in plan.items():
            mine = np.flatnonzero(data.job == row)
            sizes = {sum(gpus for _, gpus in data.layouts[spot]) for spot in data.layout[mine].tolist()}
            assert sum(gpus for _, gpus in placed.layout) in sizes
            if len(placed.layout) == 1:
                assert shape_of(placed.layout, data.pools) in data.shapes
        before = {row: placed.layout for row, placed in plan.items()}


def test_eight_gpus_in_all_sizes_are_the_partitions_of_eight():
    assert len(patterns(8, range(1, 9))) == 22


def test_by_hand():
    assert set(patterns(5, [4, 2])) == {(4,), (2, 2)}
    assert patterns(3, [4]) == ((),)
    assert patterns(0, [1]) == ((),)
    assert patterns(4, []) == ((),)


@given(idle=st.integers(0, 14), sizes=st.sets(st.integers(1, 9)))
def test_every_way_fits_is_there_once_and_has_no_room_left(idle, sizes):
    found = patterns(idle, sorted(sizes))
    assert len(set(found)) == len(found) == count(idle, sizes)
    for pattern in found:
        assert set(pattern) <= sizes and sum(pattern) <= idle
        assert not sizes or idle - sum(pattern) < min(sizes)
