"""Algorithm 1: the order of middle completion times, GPUs as printed and by earliest finish, gaps; Theorem 4."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from tests.calls import calls_at_most
from tests.papers.hare.list_support import instances, large
from workbench.papers.hare.algorithms.list_schedule import (
    AlikeGpus,
    GpuChoice,
    _Idle,
    algorithm_1,
    alpha,
    claimed,
    fluid_start_s,
    kinds_of,
    list_schedule,
    machine_s,
    middle_s,
    safe_order,
    served,
)
from workbench.papers.hare.algorithms.schedule import in_order
from workbench.papers.hare.instance import HareInstance

RULES: tuple[GpuChoice, ...] = ("earliest_finish", "earliest_available")


every = pytest.mark.parametrize(("rule", "insertion"), list(itertools.product(RULES, (False, True))))


def test_the_middle_completion_time_is_the_largest_over_the_gpus_that_can_run_the_task() -> None:
    data = HareInstance.made([[2.0, 6.0, math.inf]], rounds=2, last_part=0.5)
    assert middle_s(data, np.array([1.0, 7.0])).tolist() == [1.0 + 3.0, 7.0 + 1.5]


def test_no_task_precedes_one_that_it_waits_for() -> None:
    """The relaxation starts J1's second round before its first, and J2 between them."""
    data = HareInstance.made([[1.0], [1.0]], rounds=[2, 1])
    assert safe_order(data, np.array([5.0, 1.0, 3.0])).tolist() == [2, 0, 1]
    with pytest.raises(ValueError, match="the round before"):
        list_schedule(data, [1, 0, 2])
    with pytest.raises(ValueError, match="twice"):
        list_schedule(data, [0, 1])


def test_equal_middle_times_go_by_job_round_and_number() -> None:
    data = HareInstance.made([[1.0]] * 2, rounds=2, tasks=2)
    assert safe_order(data, np.zeros(8)).tolist() == list(range(8))


def test_line_12_as_printed_uses_a_slow_gpu_that_is_free() -> None:
    """Two tasks, 1 s on the one GPU and 10 s on the other: line 12 gives 10 s, earliest finish the optimum, 2 s."""
    data = HareInstance.made([[1.0, 10.0]], tasks=2)
    assert algorithm_1(data, fluid_start_s(data), "earliest_available").makespan_s == 10.0
    assert algorithm_1(data, fluid_start_s(data)).makespan_s == 2.0


def test_line_12_passes_gpus_that_cannot_run_the_task() -> None:
    data = HareInstance.made([[math.inf, 4.0]], tasks=2)
    found = algorithm_1(data, fluid_start_s(data), "earliest_available").check()
    assert found.gpu.tolist() == [1, 1] and found.makespan_s == 8.0


def test_earliest_finish_counts_synchronisation() -> None:
    data = HareInstance.made([[1.0, 2.0]], [[5.0, 0.5]])
    assert algorithm_1(data, fluid_start_s(data)).gpu.tolist() == [1]


def test_of_equal_finishes_the_shortest_gap_is_left() -> None:
    """J2 arrives at 4 s; the GPUs are free from 0 and 3 s on."""
    data = HareInstance.made([[1.0, 1.0]], arrival_s=4.0, free_s=[0.0, 3.0])
    assert list_schedule(data, [0]).gpu.tolist() == [1]


def test_a_gap_before_a_task_that_is_placed_is_used_only_with_insertion() -> None:
    """J1 arrives at 5 s and is first in the order; J2, 3 s long, fits before it, J3, 6 s long, does not."""
    data = HareInstance.made([[2.0], [3.0], [6.0]], arrival_s=[5.0, 0.0, 0.0])
    assert list_schedule(data, [0, 1, 2]).start_s.tolist() == [5.0, 7.0, 10.0]
    assert list_schedule(data, [0, 1, 2], insertion=True).start_s.tolist() == [5.0, 0.0, 7.0]


def test_two_tasks_share_a_gap_and_one_that_fills_it_exactly_fits() -> None:
    data = HareInstance.made([[1.0], [1.0], [2.0], [1.0]], arrival_s=[4.0, 0.0, 0.0, 0.0])
    found = list_schedule(data, [0, 1, 2, 3], insertion=True).check()
    assert found.start_s.tolist() == [4.0, 0.0, 1.0, 3.0]


@given(data=st.data(), rule=st.sampled_from(RULES), insertion=st.booleans())
def test_every_schedule_keeps_the_limits(data: st.DataObject, rule: GpuChoice, insertion: bool) -> None:
    instance = data.draw(instances())
    starts = data.draw(st.lists(st.floats(0, 9), min_size=instance.task_count, max_size=instance.task_count))
    algorithm_1(instance, np.array(starts), rule, insertion).check()
    algorithm_1(instance, fluid_start_s(instance), rule, insertion).check()


@given(instances(sync=False))
def test_without_insertion_it_is_what_lines_5_to_18_say_word_for_word(data: HareInstance) -> None:
    """A second hand at line 12: plain loops over lists, one GPU after the other."""
    order = safe_order(data, middle_s(data, fluid_start_s(data))).tolist()
    free = data.free_s.tolist()
    ends = {}
    starts = np.zeros(data.task_count)
    for task in order:
        job, r = int(data.task_job[task]), int(data.task_round[task])
        ready = float(data.arrival_s[job])
        if data.round_number[r] > 0:
            earlier = [i for i in order if data.task_round[i] == r - 1]
            ready = max(ready, *(ends[i] for i in earlier), float(data.barrier_s[job]))
        able = [m for m in range(len(free)) if math.isfinite(data.train_s[job, m])]
        m = min(able, key=lambda m: free[m])
        starts[task] = max(ready, free[m])
        free[m] = starts[task] + data.task_train_s(task, m)
        ends[task] = free[m] + data.task_sync_s(task, m)
    assert list_schedule(data, order, "earliest_available").start_s == approx(starts)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.sampled_from([0.5, 1.0, 2.0])), min_size=1, max_size=6),
    st.sampled_from(RULES),
)
def test_one_gpu_without_synchronisation_or_arrivals_gives_weighted_shortest_processing_time(
    jobs: list[tuple[int, float]], rule: GpuChoice
) -> None:
    """Smith's rule is optimal there, for jobs of one task and, as their rounds follow each other, of several."""
    seconds, weight = [s for s, _ in jobs], [w for _, w in jobs]
    rounds = [1 + i % 3 for i in range(len(jobs))]
    data = HareInstance.made([[float(s)] for s in seconds], weight=weight, rounds=rounds)
    total = [s * r for s, r in zip(seconds, rounds, strict=True)]
    now = best = 0.0
    for row in sorted(range(len(jobs)), key=lambda i: total[i] / weight[i]):
        now += total[row]
        best += weight[row] * now
    assert algorithm_1(data, fluid_start_s(data), rule).objective == approx(best)


def test_the_fluid_machine_by_hand() -> None:
    """4 tasks at 4/3 tasks a second are 3 s of the machine; a round takes 1 s, so that J1 uses 3/4 of it, J2 1.5/2.

    J2 comes at 1 s and goes first: it leaves 1/4 of the machine until 3 s, when J1 has done 0.75 + 0.5 of its 3 s.
    """
    data = HareInstance.made([[1.0, 3.0], [1.0, 3.0]], rounds=[4, 2], weight=[1.0, 3.0], arrival_s=[0.0, 1.0])
    assert machine_s(data).tolist() == approx([3.0, 1.5])
    first, second = served(machine_s(data), np.array([0.75, 0.75]), data.weight, data.arrival_s)
    assert first == [(0.0, 0.0, 0.75), (1.0, 0.75, 0.25), (3.0, 1.25, 0.75)] and second == [(1.0, 0.0, 0.75)]
    # J1's quarters of 3 s are done at 0.75 (1 s), at 1.5 (a third of a second after 3 s) and at 2.25.
    assert fluid_start_s(data).tolist() == approx([0.0, 1.0, 3 + 1 / 3, 4 + 1 / 3, 1.0, 2.0])


def test_a_job_that_is_interrupted_goes_on_later() -> None:
    (first, second) = served(np.array([3.0, 1.0]), np.ones(2), np.ones(2), np.array([0.0, 1.0]))
    assert first == [(0.0, 0.0, 1.0), (2.0, 1.0, 1.0)] and second == [(1.0, 0.0, 1.0)]


def test_jobs_that_synchronise_as_long_as_they_compute_take_turns_in_the_fluid_too() -> None:
    data = HareInstance.made([[1.0], [1.0]], [[1.0], [1.0]], rounds=3)
    assert fluid_start_s(data).tolist() == approx([0.0, 2.0, 4.0] * 2)
    assert algorithm_1(data, fluid_start_s(data)).completion_s.tolist() == [6.0, 7.0]


def test_without_jobs_the_schedule_is_empty() -> None:
    data = HareInstance.made(np.zeros((0, 2)), gpus=2)
    assert algorithm_1(data, fluid_start_s(data)).makespan_s == 0.0


@every
def test_the_largest_size_of_the_paper(rule: GpuChoice, insertion: bool) -> None:
    """200 jobs, 160 GPUs, 12,000 tasks, relaxation included; gaps are searched one by one."""
    data = large()
    assert (len(data.jobs), len(data.gpus), data.task_count) == (200, 160, 12_000)
    with calls_at_most(620_000 if insertion and rule == "earliest_finish" else 500_000 if insertion else 330_000):
        found = algorithm_1(data, fluid_start_s(data), rule, insertion)
    found.check()


def test_speed_and_gaps_are_worth_it_at_scale() -> None:
    data = large(seed=3)
    printed, finish, gaps = (
        algorithm_1(data, fluid_start_s(data), rule, insertion).weighted_jct_s
        for rule, insertion in ((RULES[1], False), (RULES[0], False), (RULES[0], True))
    )
    assert finish < 0.7 * printed and gaps < 1.02 * finish


@settings(max_examples=200)
@given(data=st.data(), rule=st.sampled_from(RULES))
def test_lines_of_gpus_that_are_alike_give_what_a_look_at_every_gpu_gives(data: st.DataObject, rule: GpuChoice) -> None:
    """Whole seconds, so that there are many ties; three kinds of GPUs, of which J1 can run on one only."""
    kinds = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=7).filter(lambda found: 0 in found))
    seconds = np.array([[1.0, math.inf, math.inf], [2.0, 1.0, 3.0], [0.0, 2.0, 2.0]])[:, kinds]
    sync = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 1.0], [1.0, 1.0, 0.0]])[:, kinds]
    free = data.draw(st.lists(st.integers(0, 3), min_size=len(kinds), max_size=len(kinds)))
    instance = HareInstance.made(seconds, sync, rounds=[3, 2, 2], tasks=[2, 3, 1], arrival_s=[0, 1, 2], free_s=free)
    numbers = kinds_of(instance)
    assert sorted(m for kind in numbers for m in kind) == list(range(len(kinds))) and len(numbers) == len(set(kinds))
    asked = st.tuples(st.integers(0, 2), st.sampled_from([0.5, 1.0]), st.integers(0, 4), st.integers(1, 6))
    lines = AlikeGpus(instance, numbers, rule == "earliest_available")
    every_gpu = _Idle(instance, rule == "earliest_available", insertion=False)
    for number, (job, part, more_s, count) in enumerate(data.draw(st.lists(asked, max_size=8))):
        ready_s = float(number // 2 + more_s)
        assert lines.put(job, part, ready_s, count) == every_gpu.put(job, part, ready_s, count)


def test_alpha_is_the_largest_spread_over_the_gpus_that_can_run_a_task() -> None:
    data = HareInstance.made([[1.0, 3.0, math.inf], [2.0, 2.0, 5.0]], [[0.0, 0.5, 9.0], [0.1, 0.1, 0.4]])
    assert alpha(data) == approx(4.0)  # J2's synchronisation; J1's 9 s are where it cannot run, its 0 s do not count
    assert claimed(data) == approx(24.0)
    assert alpha(HareInstance.made([[2.0, 2.0]])) == 1.0
    assert alpha(HareInstance.made([[0.0, 0.0]])) == 1.0


def test_the_measured_ratio_by_hand() -> None:
    """Two tasks, 1 and 10 s: line 12 takes 10 s, 5 times the optimum; alpha is 10, the claim 120."""
    data = HareInstance.made([[1.0, 10.0]], tasks=2)
    found = algorithm_1(data, fluid_start_s(data), "earliest_available")
    assert (alpha(data), claimed(data), found.objective / 2.0) == (10.0, 120.0, 5.0)


def test_the_paper_s_own_three_jobs_keep_the_claim() -> None:
    """Fig. 1 by the reconstructed table: the optimum is 8.5 s, alpha is 3."""
    data = HareInstance.made([[1.5, 2.5, 1.5], [1.5, 2.0, 2.5], [0.5, 1.0, 1.5]], rounds=[1, 1, 2], tasks=2)
    found = algorithm_1(data, fluid_start_s(data), "earliest_available").objective / 8.5
    assert alpha(data) == approx(3.0) and 1.0 <= found <= claimed(data) == approx(15.0)
    assert algorithm_1(data, fluid_start_s(data)).objective / 8.5 < found


def best(data: HareInstance) -> float:
    """The least objective over all orders and assignments."""
    orders = [
        order
        for order in itertools.permutations(range(data.task_count))
        if all(
            data.round_number[data.task_round[a]] <= data.round_number[data.task_round[b]]
            for a, b in itertools.combinations(order, 2)
            if data.task_job[a] == data.task_job[b]
        )
    ]
    able = [np.flatnonzero(data.runs[job]).tolist() for job in data.task_job.tolist()]
    return min(in_order(data, gpu, order).objective for order in orders for gpu in itertools.product(*able))


@given(instances(jobs=2, gpus=2).filter(lambda data: data.task_count <= 4))
def test_algorithm_1_is_no_better_than_the_best_schedule(data: HareInstance) -> None:
    optimum = best(data)
    for rule in ("earliest_finish", "earliest_available"):
        assert algorithm_1(data, fluid_start_s(data), rule).objective >= optimum * (1 - 1e-9)
