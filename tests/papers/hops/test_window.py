"""The service window and its adjustment for fragments: by hand, and against the rule written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import InputError
from workbench.papers.hops.window import adjusted_window, service_window

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


@given(QUEUES, st.integers(1, 100), st.integers(0, 50))
def test_a_larger_cluster_never_narrows_it(least: list[int], total: int, more: int) -> None:
    assert window(least, total + more) >= window(least, total)


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


def test_a_window_of_insensitive_jobs_stays_as_it_is() -> None:
    assert adjusted(2, [1.0, 1.0, 3.0, 1.0], [1, 1, 1, 1], 8) == [0, 1]
    assert adjusted(1, [2.0, 1.0, 3.0], [1, 1, 1], 8) == [0], "as sensitive as the queue"


def test_a_request_may_fill_the_idle_gpus_exactly() -> None:
    assert adjusted(1, [3.0, 1.0], [1, 4], 4) == [0, 1]
    assert adjusted(1, [3.0, 1.0], [1, 5], 4) == [0]


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
