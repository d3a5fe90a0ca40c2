"""Utilities: values by hand, never rising, refused when they are wrong."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import InputError
from workbench.papers.hadar.formulations.utility import NAMED, Utility, UtilityJobs
from workbench.papers.hadar.knobs import UTILITY

JOBS = UtilityJobs(("a", "b"), [12.0, 6.0], [1.0, 2.5], (((2.0, 5.0), (4.0, 1.0)), None), horizon=6.0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("effective_throughput", [[12, 6, 4], [6, 3, 2]]),
        ("neg_jct", [[6, 5, 4], [6, 5, 4]]),
        ("linear", [[6, 5, 4], [15, 12.5, 10]]),
        ("count", [[1, 1, 1], [1, 1, 1]]),
        ("step", [[5, 5, 1], [0, 0, 0]]),
    ],
)
def test_values_by_hand(name, expected):
    assert Utility(name).values([[1, 2, 3], [1, 2, 3]], JOBS).tolist() == expected


def test_some_jobs_are_worth_what_they_are_among_all():
    jobs = UtilityJobs(("a", "b", "c"), [12.0, 6.0, 9.0], [1.0, 2.5, 2.0], (None, ((2.0, 5.0),), None), 6.0, slot=2.0)
    some = jobs.take(np.array([2, 1]))
    assert (some.names, some.horizon, some.slot) == (("c", "b"), 6.0, 2.0)
    for name in NAMED:
        assert Utility(name).values([1, 2], some).tolist() == Utility(name).values([9, 2, 1], jobs)[[2, 1]].tolist()


def test_one_time_for_each_job():
    assert Utility("neg_jct").values([1, 6], JOBS).tolist() == [6, 1]


def test_seconds_in_place_of_slots():
    """With every time 360 times as long, slots and horizon too, neg_jct is 360 times as much."""
    in_s = UtilityJobs(JOBS.names, JOBS.work, JOBS.weight, JOBS.rewards, 6 * 360.0, 360.0)
    found = Utility("neg_jct").values([360.0, 6 * 360.0], in_s)
    assert found.tolist() == [6 * 360, 360]


def test_a_job_that_is_never_done_or_past_the_horizon_is_worth_nothing():
    for name in NAMED:
        assert Utility(name).values([math.inf, math.inf], JOBS).tolist() == [0, 0]
    assert Utility("neg_jct").values([8, 1e9], JOBS).tolist() == [0, 0]


@given(
    name=st.sampled_from(sorted(NAMED)),
    times=st.lists(st.floats(0.01, 1e4), min_size=1, max_size=8, unique=True).map(sorted),
)
def test_no_named_utility_rises_with_time(name, times):
    found = Utility(name).table([times, times], JOBS)
    assert (found >= 0).all() and (np.diff(found, axis=1) <= 1e-9).all()


def test_the_knob_lists_every_name():
    assert UTILITY.choices == tuple(NAMED)
    assert UTILITY.check(UTILITY.default) == UTILITY.default


def test_a_users_own_function_and_staircase():
    squared = Utility("squared", lambda jct, jobs: jobs.weight[:, None] / jct**2)
    assert squared.table([[1, 2], [1, 2]], JOBS).tolist() == [[1, 0.25], [2.5, 0.625]]
    stairs = Utility.steps([(1, 3), (2, 1)])
    assert stairs.table([[1, 1.5, 2, 3]] * 2, JOBS).tolist() == [[3, 1, 1, 0]] * 2


def test_a_utility_that_increases_with_time_is_refused_and_names_the_job():
    rising = Utility("rising", lambda jct, jobs: np.where(jobs.weight[:, None] > 1, jct, 1.0))
    with pytest.raises(InputError, match="job b, utility rising: got '1 at 1, 2 at 2'"):
        rising.table([[1, 2], [1, 2]], JOBS)
    with pytest.raises(InputError, match="does not increase"):
        Utility.steps([(1, 1), (2, 3)]).table([[1, 2], [1, 2]], JOBS)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Utility("fast"), "utility: got 'fast'"),
        (lambda: Utility.steps([]), "rising numbers, at least one"),
        (lambda: Utility.steps([(2, 1), (1, 1)]), "rising numbers"),
        (lambda: Utility("count").values([0, 1], JOBS), "job a, completion time: got 0.0"),
        (lambda: Utility("count").values([1.0], JOBS), "2 rows"),
        (lambda: Utility("x", lambda jct, jobs: -jct).values([1, 1], JOBS), "job a, utility x: got -1.0"),
        (lambda: Utility("x", lambda jct, jobs: jct * np.nan).values([1, 1], JOBS), "job a, utility x: got nan"),
        (lambda: Utility("x", lambda jct, jobs: jct[:1]).values([1, 1], JOBS), "utility x: got \\(1, 1\\)"),
        (lambda: UtilityJobs(("a",), [0.0], [1.0], (None,), 6.0), "job a, work: got 0.0"),
        (lambda: UtilityJobs(("a",), [1.0], [np.nan], (None,), 6.0), "job a, weight: got nan"),
        (lambda: UtilityJobs(("a",), [1.0], [1.0], (), 6.0), "1, one for each job"),
        (lambda: UtilityJobs(("a",), [1.0], [1.0], (None,), 0.0), "utility, horizon: got 0.0"),
        (lambda: UtilityJobs(("a",), [1.0], [1.0], (None,), 6.0, -1.0), "utility, slot: got -1.0"),
    ],
)
def test_wrong_input_says_where(make, message):
    with pytest.raises(InputError, match=message):
        make()
