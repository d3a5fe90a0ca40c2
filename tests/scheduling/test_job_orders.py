"""Orders of jobs."""

from __future__ import annotations

import gc
import weakref

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import look, make
from workbench.scheduling import job_orders

JOBS = [{"steps": 300}, {"steps": 100}, {"steps": 200, "gpus": 2}]


def test_equal_within_the_tolerance_means_job_order() -> None:
    assert job_orders.by(np.array([1.0, 1.0 - 1e-12, 0.5])).tolist() == [2, 0, 1]
    assert job_orders.by(np.array([1e6 + 1e-4, 1e6])).tolist() == [0, 1]
    assert job_orders.by(np.array([1.0 + 1e-6, 1.0])).tolist() == [1, 0]
    assert job_orders.by(np.array([1e12 + 500, 1e12, np.nan])).tolist() == [0, 1, 2]


def test_who_cannot_run_comes_last() -> None:
    with np.errstate(all="raise"):
        keys = job_orders.seconds(np.array([5.0, 5.0, 5.0]), np.array([0.0, 1.0, 0.0]))
        assert job_orders.by(keys).tolist() == [1, 0, 2]


@given(st.lists(st.floats(0, 1e6), max_size=30))
def test_an_order_is_a_permutation_that_rises(values: list[float]) -> None:
    keys = np.array(values, dtype=float)
    order = job_orders.by(keys)
    assert sorted(order.tolist()) == list(range(len(values)))
    slack = job_orders.TOLERANCE * np.maximum(1.0, np.abs(keys).max(initial=0.0)) * len(values)
    assert (np.diff(keys[order]) >= -slack).all()


@given(
    st.lists(
        st.sampled_from([0.0, 1e-10, 1.0, 1.0 + 5e-10, 1.0 + 2e-9, 7e5, 7e5 + 3e-4, 7e5 + 1e-2, np.inf]), max_size=120
    )
)
def test_an_order_is_by_groups_of_neighbours_within_the_tolerance(values: list[float]) -> None:
    rising, group, groups = sorted(range(len(values)), key=values.__getitem__), 0, {}
    for before, row in zip([None, *rising], rising, strict=False):
        if before is not None:
            group += values[row] > values[before] + job_orders.TOLERANCE * max(1.0, values[before])
        groups[row] = group
    assert job_orders.by(np.array(values)).tolist() == sorted(rising, key=lambda row: (groups[row], row))


def test_take_keeps_every_column() -> None:
    jobs = look(make({"a": ("t", 4)}, JOBS)).jobs
    some = job_orders.take(jobs, [2, 0])
    assert some.names == ("j2", "j0")
    assert some.gpus.tolist() == [2, 1] and some.steps_left.tolist() == [200.0, 300.0]
    gone = weakref.ref(jobs)
    assert some.at == {"j2": 0, "j0": 1}
    gc.disable()
    try:
        del jobs, some
        assert gone() is None  # at once, not only when Python looks for cycles
    finally:
        gc.enable()
