"""AlloX's lines match jobs to few places: no worse than to all of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from scipy.optimize import linear_sum_assignment

from workbench.baselines.mechanisms.allox_lines import places


@given(
    st.integers(1, 9), st.integers(1, 3), st.lists(st.sampled_from([0.0, 1.5, 3.0]), min_size=1, max_size=8), st.data()
)
def test_leaving_out_places_that_nobody_needs_costs_nothing(
    jobs: int, kinds: int, busy: list[float], data: st.DataObject
) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    kind = rng.integers(0, kinds, len(busy))
    time_s, busy_s = rng.uniform(1.0, 9.0, (jobs, kinds))[:, kind], np.array(busy)
    place, gpu = places(time_s, busy_s)
    every = np.repeat(np.arange(1, jobs + 1), len(busy)), np.tile(np.arange(len(busy)), jobs)
    totals = []
    for k, m in ((place, gpu), every):
        costs = k * time_s[:, m] + busy_s[m]
        totals.append(float(costs[linear_sum_assignment(costs)].sum()))
    assert totals[0] == approx(totals[1])
