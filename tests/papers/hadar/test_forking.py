"""Ids of copies, and which of them run where: against brute force, and what holds for every choice."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import InputError
from workbench.papers.hadar.algorithms.forking import (
    URGENCY,
    ChosenCopies,
    NodeRound,
    Part,
    Payoff,
    UtilityPayoff,
    choose,
    copy_ids,
    register,
    utility_payoff,
)
from workbench.papers.hadar.formulations.utility import Utility, UtilityJobs
from workbench.papers.hadar.knobs import FORKS
from workbench.scenario.rewards import Steps


def round_of(speed: Any, steps: Any, seconds: float = 100.0, most: int = 9, gpus: int = 1, need: int = 1) -> NodeRound:
    table = np.array(speed, dtype=float)
    jobs, nodes = table.shape
    return NodeRound(
        speed=table,
        seconds=np.full(table.shape, seconds),
        need=np.full(table.shape, need),
        runs=table > 0,
        free=np.full(nodes, gpus),
        steps_left=np.array(steps, dtype=float),
        most=np.full(jobs, most),
    )


STAIRS: tuple[Steps | None, ...] = (((150.0, 5.0), (400.0, 2.0)), None, ((1.0, 9.0),), ((30_000.0, 1.0),))
"""Rewards of the first, second, ... job: reached or missed by some of the jobs drawn, none at all, out of reach."""


def hadar(
    round_: NodeRound,
    name: str = "effective_throughput",
    slot_s: float = 100.0,
    rewards: tuple[Steps | None, ...] = STAIRS,
) -> UtilityPayoff:
    jobs, nodes = round_.speed.shape
    names = tuple(f"j{i}" for i in range(jobs))
    facts = UtilityJobs(names, round_.steps_left, np.ones(jobs), rewards[:jobs], horizon=1e5, slot=slot_s)
    kind = np.arange(nodes)
    return utility_payoff(round_, Utility(name), facts, np.zeros(jobs), kind, round_.free, slot_s)


def test_short_jobs_get_the_fast_nodes_and_no_more_than_they_need() -> None:
    # The short job is done by node 0 in this slot; the long one gets the others.
    chosen = choose(round_of([[4, 2, 1], [4, 2, 1]], [10_000, 300]), Part(URGENCY["remaining"])).copies
    assert chosen == [(1, 0), (0, 1), (0, 2)]
    # 500 steps: node 0 does 400 of them, node 2 the rest (a payoff of 0.2 as on node 1: ties to the first node).
    chosen = choose(round_of([[4, 2, 1], [4, 2, 1]], [10_000, 500]), Part(URGENCY["remaining"])).copies
    assert chosen == [(1, 0), (1, 1), (0, 2)]


def test_by_work_every_node_does_what_it_is_best_at() -> None:
    """Over what the whole cluster does for a job: 4/6 for job 0 on node 0, then 2/5 and 1/5 (not 1/6) for job 1."""
    chosen = choose(round_of([[4, 1, 1], [2, 1, 2]], [10_000, 10_000]), Part(URGENCY["work"])).copies
    assert chosen == [(0, 0), (1, 2), (1, 1)]


@pytest.mark.parametrize(("long", "chosen"), [(16_000, [(1, 0), (1, 1)]), (4_000, [(0, 0), (1, 1)])])
def test_balanced_gives_a_short_job_what_another_is_better_at(long: int, chosen: list[tuple[int, int]]) -> None:
    """Node 0 is worth 3/4 to the long job, 2/4 to the short one, times the fourth root of how much longer the other
    is: 2 for 16 times as long, 1.41 for 4 times."""
    round_ = round_of([[3, 1], [2, 2]], [long, 1_000])
    assert choose(round_, Part(URGENCY["balanced"])).copies == chosen
    assert choose(round_, Part(URGENCY["work"])).copies == [(0, 0), (1, 1)]
    assert choose(round_, Part(URGENCY["remaining"])).copies == [(1, 0), (1, 1)]


def test_the_rest_of_the_nodes_makes_jobs_end_sooner() -> None:
    # Both jobs fit into the slot on one node each; node 2 takes 33.3 s from job 0, 8.3 s from job 1.
    chosen = choose(round_of([[2, 1, 1], [0, 2, 1]], [200, 50]), Part(URGENCY["remaining"]))
    assert chosen.copies == [(0, 0), (1, 1), (0, 2)]
    np.testing.assert_array_equal([*chosen.payoff.values()], [1.0, 1.0, np.nan])


def test_who_is_outbid_keeps_its_payoff_of_when_there_was_a_node_for_it() -> None:
    """Job 1 runs on node 0 alone, which job 0 takes first, and then node 1."""
    chosen = choose(round_of([[4, 2], [1, 0]], [10_000, 10_000]), Part(URGENCY["remaining"]))
    assert chosen.payoff == {(0, 0): 0.04, (0, 1): 0.02} and chosen.bid.tolist() == [0.02, 0.01]


def test_prices_rise_as_gpus_of_a_type_are_given_out() -> None:
    round_ = round_of([[2.0, 1.0], [2.0, 1.0]], [1000, 1000], gpus=4)
    payoff = hadar(round_)
    assert sorted(choose(round_, payoff).copies) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    chosen = ChosenCopies.nothing(round_)
    before = payoff.price(chosen)
    chosen.take(0, 1)  # each node is the only one of its type
    after = payoff.price(chosen)
    assert before is not None and after is not None
    assert after[0] == before[0] and after[1] > before[1]


def test_jobs_that_can_earn_nothing_get_the_nodes_that_the_others_leave() -> None:
    """Job 1 is paid for an end by 600 s, job 0 for one by 1 s, which it misses: prices are those of job 1 alone."""
    round_ = round_of([[2.0, 1.0, 1.0, 1.0]] * 2, [1000, 1000], most=2)
    payoff = hadar(round_, "step", rewards=(((1.0, 9.0),), ((600.0, 5.0),)))
    assert payoff.bounds is not None and payoff.bounds.most.tolist() == [5.0] * 4
    chosen = choose(round_, payoff).copies
    assert chosen[0] == (1, 0) and {node for _, node in chosen} == {0, 1, 2, 3}


def test_gpus_cost_nothing_when_no_job_can_earn_anything() -> None:
    round_ = round_of([[2.0, 1.0], [2.0, 1.0]], [1000, 1000])
    payoff = hadar(round_, "step", rewards=(None, ((1.0, 9.0),)))
    assert payoff.bounds is None and payoff.price(ChosenCopies.nothing(round_)) is None
    assert {node for _, node in choose(round_, payoff).copies} == {0, 1}


@st.composite
def rounds(draw: st.DrawFn) -> NodeRound:
    jobs, nodes = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    table = st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0]), min_size=nodes, max_size=nodes)
    speed = np.array(draw(st.lists(table, min_size=jobs, max_size=jobs)))
    need = np.array(draw(st.lists(st.integers(1, 3), min_size=jobs, max_size=jobs)))
    free = np.array(draw(st.lists(st.integers(0, 4), min_size=nodes, max_size=nodes)))
    return NodeRound(
        speed=speed,
        seconds=np.full(speed.shape, 100.0),
        need=np.minimum(need[:, None], np.maximum(free, 1)[None, :]),
        runs=speed > 0,
        free=free,
        steps_left=np.array(draw(st.lists(st.integers(1, 2000), min_size=jobs, max_size=jobs)), dtype=float),
        most=np.array(draw(st.lists(st.integers(1, 5), min_size=jobs, max_size=jobs))),
    )


def payoffs(round_: NodeRound) -> list[Payoff]:
    return [
        *(Part(urgency) for urgency in URGENCY.values()),
        hadar(round_),
        hadar(round_, "neg_jct"),
        hadar(round_, "step"),
    ]


@given(rounds())
def test_limits_hold_and_nothing_more_fits(round_: NodeRound) -> None:
    for payoff in payoffs(round_):
        copies = choose(round_, payoff).copies
        assert len(set(copies)) == len(copies)  # at most one copy of a job on a node
        free, count = round_.free.copy(), np.zeros(len(round_.most), dtype=int)
        for job, node in copies:
            assert round_.runs[job, node]
            free[node] -= round_.need[job, node]
            count[job] += 1
        assert (free >= 0).all() and (count <= round_.most).all()
        for job, node in itertools.product(*map(range, round_.speed.shape)):
            fits = round_.runs[job, node] and free[node] >= round_.need[job, node] and count[job] < round_.most[job]
            assert not fits or (job, node) in copies  # no node idles while an unfinished job has a copy left


@given(rounds())
def test_the_same_question_has_the_same_answer(round_: NodeRound) -> None:
    for one, other in zip(payoffs(round_), payoffs(round_), strict=True):
        assert choose(round_, one).copies == choose(round_, other).copies


@given(
    st.lists(st.lists(st.sampled_from([1.0, 2.0, 3.0, 7.0]), min_size=3, max_size=3), min_size=2, max_size=3),
    st.integers(1, 3),
)
def test_parts_of_long_jobs_are_as_large_as_can_be(speed: list[list[float]], most: int) -> None:
    """With no job near its end and a copy of every job for every node, the sum of payoffs is separable: each node's
    best is the optimum. With fewer copies a greedy choice is at least half of it (a matroid's worst case)."""
    round_ = round_of(speed, [1e6 * (i + 1) for i in range(len(speed))], most=most)
    value = round_.speed / round_.steps_left[:, None]
    best = max(
        sum(value[job, node] for node, job in enumerate(jobs) if job >= 0)
        for jobs in itertools.product(range(-1, len(speed)), repeat=3)
        if all(jobs.count(job) <= most for job in range(len(speed)))
    )
    found = sum(value[copy] for copy in choose(round_, Part(URGENCY["remaining"])).copies)
    assert found >= best / 2
    if most == 3:
        assert found == pytest.approx(best)


def test_ids_by_hand() -> None:
    assert copy_ids(3, 4, 10) == (13, 23, 33, 43)
    assert register(["a", "b"], 2) == {2: ("a", 1), 4: ("a", 2), 3: ("b", 1), 5: ("b", 2)}
    assert register(["a"], 2, 100) == {100: ("a", 1), 200: ("a", 2)}


@given(st.integers(1, 12), st.integers(1, 8), st.integers(0, 5))
def test_no_two_copies_have_the_same_id(jobs: int, forks: int, more: int) -> None:
    assert len(register([f"j{i}" for i in range(jobs)], forks, jobs + more)) == jobs * forks


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="forks: got 0"):
        copy_ids(0, 0, 1)
    with pytest.raises(InputError, match="max_job_count: got 0"):
        copy_ids(0, 1, 0)
    with pytest.raises(InputError, match="parent_job_id: got 11"):
        copy_ids(11, 1, 10)
    with pytest.raises(InputError, match="at least the number of jobs"):
        register(["a", "b", "c"], 1, 2)
    with pytest.raises(InputError, match="knob forks: got 0"):
        FORKS.check(0)
