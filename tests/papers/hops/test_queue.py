"""Hops's queue: priorities, refreshing, finish-time fairness, service window, sensitivity, by hand and by rule."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import workbench
from tests.baselines.mechanisms.support import look, make, on, scenarios
from workbench.analysis.metrics.jobs import Speeds
from workbench.base.errors import InputError
from workbench.papers.hops.algorithms.aggregation import aggregate, count, lift, patterns
from workbench.papers.hops.algorithms.configurations import Server
from workbench.papers.hops.algorithms.queue import (
    MOST,
    adjusted_window,
    finish_time_ratio,
    isolated_s,
    priorities,
    queue,
    refreshed_at,
    remembered_ages,
    sensitivities,
    sensitivity,
    service_window,
    waits_at,
)
from workbench.papers.hops.algorithms.round_plan import checked, make_plan
from workbench.papers.hops.instance import HopsInstance, JobConfigurations, JobRequest, list_configurations, shape_of
from workbench.papers.hops.knobs import Priority
from workbench.scenario.scenario import Scenario
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import SolverFailedError

JOBS = [{"steps": 1000}, {"steps": 100}, {"steps": 400, "gpus": 2, "gpu_choices": [1, 2, 3]}, {"steps": 1000}]
WAITED = [600.0, 30.0, 500.0, 100.0]
LEFT = {"j0": 900.0, "j2": 50.0}
ATTAINED = {"j0": 20.0, "j1": 30.0, "j2": 300.0, "j3": 10.0}


def seen(now_s: float = 600.0, waited: list[float] | None = None, running: tuple[str, ...] = ()) -> Snapshot:
    """Four jobs of one step/s per GPU on four GPUs; ages 1000, 100, 200 and 1000 s."""
    leases = [on(name, 900.0, a=1) for name in running]
    snapshot = look(make({"a": ("t", 4)}, JOBS), now_s, left=LEFT, attained=ATTAINED, leases=leases)
    jobs = dataclasses.replace(snapshot.jobs, waited_s=np.array(waited or WAITED))
    return dataclasses.replace(snapshot, jobs=jobs)


def ages_of(snapshot: Snapshot) -> dict[str, float]:
    return remembered_ages(snapshot, {})


@pytest.mark.parametrize(
    ("priority", "values", "order"),
    [
        ("latency_ratio", [0.6, 0.3, 2.5, 0.1], [2, 0, 1, 3]),
        ("las", [-20.0, -30.0, -300.0, -10.0], [3, 0, 1, 2]),
        ("sjf", [-1000.0, -100.0, -200.0, -1000.0], [1, 2, 0, 3]),
        ("srtf", [-900.0, -100.0, -25.0, -1000.0], [2, 1, 0, 3]),
        # Four jobs present: each one's share is a GPU, so 1000, 100, 400 and 1000 s alone.
        ("ftf", [1500 / 1000, 700 / 100, 625 / 400, 1600 / 1000], [1, 3, 2, 0]),
    ],
)
def test_priorities_and_orders_by_hand(priority: Priority, values: list[float], order: list[int]) -> None:
    snapshot = seen()
    found = queue(snapshot, ages_of(snapshot), priority, 30.0)
    assert found.age_s.tolist() == approx([1000.0, 100.0, 200.0, 1000.0])
    assert found.priority.tolist() == approx(values)
    assert found.order.tolist() == order


def test_equal_priorities_come_in_the_order_of_jobs() -> None:
    snapshot = seen(waited=[0.0] * 4)
    assert queue(snapshot, ages_of(snapshot), "latency_ratio", 30.0).order.tolist() == [0, 1, 2, 3]


# --- refreshing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("now_s", "expected"), [(0.0, 0.0), (29.9, 0.0), (30.0, 30.0), (89.0, 60.0), (300.0, 300.0)])
def test_the_queue_is_sorted_every_thirty_seconds(now_s: float, expected: float) -> None:
    assert refreshed_at(now_s, 30.0) == expected


@given(st.floats(0, 1e7), st.floats(0.1, 1e4))
def test_the_last_refresh_is_a_multiple_not_after_now(now_s: float, refresh_s: float) -> None:
    last_s = refreshed_at(now_s, refresh_s)
    assert last_s <= now_s < last_s + refresh_s * (1 + 1e-6)
    assert last_s / refresh_s == approx(round(last_s / refresh_s), abs=1e-6)
    assert refreshed_at(now_s, 0.0) == now_s


def test_between_refreshes_the_order_stays_as_it_is() -> None:
    """At 629 s j1 has waited for 0.59 of its age and j0 for 0.629; at 630 s both for 0.63, at 660 s j1 is first."""
    waits = {600.0: [600.0, 30.0], 629.0: [629.0, 59.0], 630.0: [630.0, 60.0], 660.0: [660.0, 90.0]}
    orders = {}
    for now_s, waited in waits.items():
        snapshot = seen(now_s, [*waited, 0.0, 0.0])
        found = queue(snapshot, ages_of(snapshot), "latency_ratio", 30.0)
        orders[now_s] = found.order.tolist()[:2]
        assert found.priority[0] == approx(refreshed_at(now_s, 30.0) / 1000)
    assert orders == {600.0: [0, 1], 629.0: [0, 1], 630.0: [0, 1], 660.0: [1, 0]}


def test_the_waits_of_running_jobs_do_not_grow() -> None:
    snapshot = seen(620.0, [620.0, 40.0, 5.0, 0.0], running=("j1",))
    waiting = np.array([True, False, True, True])
    assert waits_at(snapshot.jobs, waiting, 620.0, 600.0).tolist() == [600.0, 40.0, 0.0, 0.0]
    found = priorities(snapshot, np.array([1000.0, 100.0, 200.0, 1000.0]), "latency_ratio", 600.0)
    assert found.tolist() == approx([0.6, 0.4, 0.0, 0.0]), "j2 came, or was suspended, after the last sorting"


def test_an_age_is_kept_from_first_sight_on() -> None:
    snapshot = seen()
    before = {"j0": 7.0, "gone": 9.0}
    found = remembered_ages(snapshot, before)
    assert found == approx({"j0": 7.0, "j1": 100.0, "j2": 200.0, "j3": 1000.0})
    assert remembered_ages(snapshot, found) == found
    assert before == {"j0": 7.0, "gone": 9.0}


def test_no_jobs_no_queue() -> None:
    empty = look(make({"a": ("t", 4)}, JOBS), gone=("j0", "j1", "j2", "j3"))
    for priority in ("latency_ratio", "ftf", "las", "sjf", "srtf"):
        assert queue(empty, remembered_ages(empty, {"j0": 1.0}), priority, 30.0).order.tolist() == []  # type: ignore[arg-type]


def test_priorities_that_there_are_not_and_negative_periods_are_refused() -> None:
    snapshot = seen()
    with pytest.raises(InputError, match="priority"):
        priorities(snapshot, np.ones(4), "fifo", 600.0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="refresh_s"):
        refreshed_at(5.0, -1.0)


# --- finish-time fairness ---------------------------------------------------------------------------------------------


def test_a_job_alone_in_the_cluster_is_expected_at_the_fastest_size_that_fits() -> None:
    """Sizes 1, 2 and 3 at 1, 3 and 2 steps/s: on four GPUs, on three and on two the size of two, on one the first."""
    data = make({"a": ("t", 4)}, [{"steps": 600, "gpu_choices": [1, 2, 3]}]).to_dict()
    speeds = {1: 1.0, 2: 3.0, 3: 2.0}
    rows = [{"model": "m", "accelerator": "t", "gpus": n, "steps_per_s": speed} for n, speed in speeds.items()]
    snapshot = look(Scenario.from_dict({**data, "throughputs": rows}))
    found = {n: isolated_s(snapshot.jobs, snapshot.belief, snapshot.cluster, n).tolist() for n in (1, 4 / 3, 2, 3, 9)}
    assert found == {1: [200.0], 4 / 3: [200.0], 2: [200.0], 3: [600.0], 9: [600.0]}


@given(scenarios(), st.floats(1, 12))
def test_time_alone_is_that_of_the_measures(scenario: Scenario, present: float) -> None:
    """With the true speeds a run's `finish_time_fairness` divides by the same seconds."""
    snapshot = workbench.snapshot_at(scenario, 1e4)
    rows = snapshot.jobs.position
    steps = np.array([scenario.jobs[row].steps for row in rows])
    expected = steps * Speeds(scenario).isolated(np.full(len(scenario.jobs), present))[rows]
    assert isolated_s(snapshot.jobs, snapshot.belief, scenario.cluster, present) == approx(expected, rel=1e-12)


def test_the_expected_ratio_grows_as_a_job_waits_and_is_the_measured_one_at_its_end() -> None:
    ratio = [
        finish_time_ratio(np.array([100.0]), np.array([left]), np.array([since]), np.array([400.0]))[0]
        for left, since in ((1.0, 0.0), (1.0, 200.0), (0.5, 250.0), (0.0, 300.0))
    ]
    assert ratio == [0.25, 0.75, 0.75, 0.75]


QUEUES = st.lists(st.integers(1, 16), max_size=30)


def window(least: list[int], total: int) -> int:
    return service_window(np.array(least, dtype=np.int64), total)


def adjusted(inside: int, rho: list[float], least: list[int], idle: int) -> list[int]:
    return adjusted_window(inside, np.array(rho, dtype=float), np.array(least, dtype=np.int64), idle).tolist()


def test_the_job_that_reaches_the_total_is_inside() -> None:
    assert window([4, 2, 2, 1], 8) == 3, "4 + 2 + 2 = 8"
    assert window([4, 2, 3, 1], 8) == 3, "4 + 2 + 3 > 8"
    assert window([4, 2, 1, 1], 9) == 4, "all four are fewer than 9"
    assert window([16, 1], 8) == 1, "the first job is always inside"
    assert window([], 8) == 0


@given(QUEUES, st.integers(1, 100))
def test_the_window_is_the_shortest_head_that_reaches_the_total(least: list[int], total: int) -> None:
    inside = window(least, total)
    assert 0 <= inside <= len(least)
    assert sum(least[: max(inside - 1, 0)]) < total
    assert inside == len(least) or sum(least[:inside]) >= total


def test_the_walk_by_hand() -> None:
    """The queue has 2.0 on average, the two inside 3.5. The third is as sensitive as the average, the fourth too large,
    the fifth comes in (2.67), the sixth is too sensitive, the seventh comes in (2.25), and with the eighth (2.0) it is
    enough."""
    rho = [4.0, 3.0, 2.0, 1.0, 1.0, 3.0, 1.0, 1.0, 2.0]
    assert float(np.mean(rho)) == 2.0
    least = [1, 1, 1, 9, 2, 1, 8, 1, 1]
    assert adjusted(2, rho, least, 8) == [0, 1, 4, 6, 7]


def test_it_ends_as_soon_as_those_inside_are_no_more_sensitive_than_the_queue() -> None:
    """3 against an average of 1.6 becomes 2, then 1.67, then 1.5: whoever comes after that stays outside."""
    assert adjusted(1, [3.0, 1.0, 1.0, 2.0, 1.0], [1, 1, 1, 1, 1], 4) == [0, 1, 2, 4]
    assert adjusted(1, [3.0, 1.0, 1.0, 1.0, 1.0, 2.6], [1] * 6, 4) == [0, 1, 2, 3]
    assert adjusted(1, [3.0, 0.0, 1.5, 1.5, 1.5], [1] * 5, 4) == [0, 1], "1.5 on average, as the queue"


def test_nobody_in_the_queue_or_in_the_window() -> None:
    assert adjusted(0, [], [], 8) == []
    assert adjusted(0, [1.0], [1], 8) == []


@given(st.lists(st.tuples(st.floats(1, 10), st.integers(1, 8)), min_size=1, max_size=20), st.data(), st.integers(0, 10))
def test_the_adjustment_is_the_rule_written_out(jobs: list[tuple[float, int]], data: st.DataObject, idle: int) -> None:
    inside = data.draw(st.integers(1, len(jobs)))
    rho, least = [job[0] for job in jobs], [job[1] for job in jobs]
    chosen, average = list(range(inside)), sum(rho) / len(rho)
    for i in range(inside, len(jobs)):
        if np.mean([rho[j] for j in chosen]) <= average + 1e-12:
            break
        if rho[i] < average and least[i] <= idle:
            chosen.append(i)
    found = adjusted(inside, rho, least, idle)
    spread = abs(np.mean([rho[j] for j in found]) - average)
    assert found == chosen or spread < 1e-9, "unless rounding decides"
    assert found[:inside] == list(range(inside)) and found == sorted(found)


@pytest.mark.parametrize(
    ("least", "total", "where"), [([1, 0], 8, "smallest request of a job"), ([1], 0, "GPUs of the cluster")]
)
def test_requests_and_clusters_of_nothing_are_refused(least: list[int], total: int, where: str) -> None:
    with pytest.raises(InputError) as error:
        window(least, total)
    assert error.value.where == where


def test_infinite_sensitivity_and_windows_beyond_the_queue_are_refused() -> None:
    with pytest.raises(InputError, match="finite"):
        adjusted(1, [1.0, float("inf")], [1, 1], 8)
    with pytest.raises(InputError, match="window"):
        adjusted(3, [1.0, 1.0], [1, 1], 8)


NODES = {"a": ("t", 4), "b": ("t", 4), "c": ("u", 4), "d": ("u", 4)}


def rho(
    rows: list[dict[str, Any]],
    nodes: dict[str, tuple[str, int]] | None = None,
    **job: Any,
) -> float:
    data = make(nodes or NODES, [job]).to_dict()
    data["throughputs"] = [{"model": "m", **row} for row in rows]
    snapshot = look(Scenario.from_dict(data))
    [found] = sensitivities(snapshot.jobs, snapshot.belief, snapshot.cluster).tolist()
    return float(found)


def row(kind: str, gpus: int, speed: float, nodes: int | None = None) -> dict[str, Any]:
    word = {} if nodes is None else {"nodes": nodes, "placement": "unconsolidated"}
    return {"accelerator": kind, "gpus": gpus, "steps_per_s": speed, **word}


def test_one_gpu_against_one_on_each_of_two_servers() -> None:
    """10 steps/s alone; two GPUs do 18 on one server, which does not count, and 12 on two: 10 / 6."""
    assert rho([row("t", 1, 10.0), row("t", 2, 18.0), row("t", 2, 12.0, 2)]) == approx(10 / 6)


def test_the_first_type_with_two_servers_on_which_it_runs_counts() -> None:
    both = [row("u", 1, 10.0), row("u", 2, 10.0, 2)]
    assert rho(both) == approx(2.0)
    assert rho([row("t", 1, 10.0), row("t", 2, 20.0, 2), *both]) == approx(1.0)
    lonely = {"a": ("t", 4), "c": ("u", 4), "d": ("u", 4)}
    assert rho([row("t", 1, 10.0), row("t", 2, 20.0, 2), *both], lonely) == approx(2.0), "t has one server only"


def test_a_job_without_a_speed_on_one_or_two_gpus_is_compared_at_its_smallest_sizes() -> None:
    rows = [row("t", 4, 40.0), row("t", 8, 60.0)]
    assert rho(rows, gpus=4, gpu_choices=[4, 8]) == approx(1.0), "the row of 4 holds for two servers too"
    rows = [{**row("t", 4, 40.0), "nodes": 1}, row("t", 8, 60.0)]
    assert rho(rows, gpus=4, gpu_choices=[4, 8]) == approx(10 / 7.5)


def test_who_cannot_be_spread_is_as_sensitive_as_can_be() -> None:
    assert rho([row("t", 1, 10.0)]) == MOST
    assert rho([row("t", 1, 10.0), row("t", 2, 18.0)], {"a": ("t", 4)}) == MOST, "there is one server only"
    assert sensitivity(10.0, 0.0) == MOST
    assert sensitivity(10.0, 0.1) == MOST, "averages stay finite"


@pytest.mark.parametrize(("agg", "dis", "expected"), [(10.0, 10.0, 1.0), (14.0, 10.0, 1.4), (9.0, 10.0, 0.9)])
def test_the_ratio(agg: float, dis: float, expected: float) -> None:
    assert sensitivity(agg, dis) == approx(expected)


# Ways to cut an idle server, and from shapes to servers

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
