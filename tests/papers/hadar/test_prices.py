"""Prices (5)-(7): by hand, limits, default eta, floor, and the guarantee that an empty cluster takes somebody."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.hadar.optimality import price_table
from workbench.base.errors import InputError
from workbench.papers.hadar.algorithms.prices import FLOOR, price, price_bounds, utility_bounds

PART = st.floats(0.0, 1.0)


def test_price_is_geometric_between_its_bounds():
    assert price(0.5, 8.0, 4, [0, 1, 2, 3, 4]).tolist() == pytest.approx([0.5, 1.0, 2.0, 4.0, 8.0])


def test_a_type_without_gpus_has_the_highest_price():
    assert price([1.0, 1.0], [9.0, 9.0], [0, 2], [0, 0]).tolist() == [9.0, 1.0]


@pytest.mark.parametrize(
    ("least", "most", "held"), [(0.0, 1.0, 0), (2.0, 1.0, 0), (1.0, np.inf, 0), (1.0, 2.0, -1), (1.0, 2.0, 5)]
)
def test_prices_without_sense_are_refused(least, most, held):
    with pytest.raises(InputError, match="price"):
        price(least, most, 4, held)


def test_a_price_beyond_the_largest_number_is_refused():
    with pytest.raises(InputError, match="ratio Umax / Umin below 1e308"):
        price(5e-318, 5.0, 4, [0, 1])


def test_bounds_by_hand():
    """Effective throughput, T = 10: U(4) = 10 and 5, U(10) = 4 and 2, both gangs need 4 slots on either type."""
    least, most = utility_bounds([10, 5], [4, 2], [4, 4], [2, 1], [[True], [True]], 1.0)
    assert most.tolist() == [5.0]
    assert least.tolist() == [0.125]


def test_bounds_of_a_type_are_over_the_jobs_that_run_there():
    """Job 0: 8 / 2 = 4 and 4 / (2 x 2) / 4 = 1/4; job 1: 3 / 1 and 3 / (1 x 1) / 4. Nobody runs on the third type."""
    runs = [[True, False, False], [True, True, False]]
    least, most = utility_bounds([8, 3], [4, 3], [2, 1], [2, 1], runs, 1.0)
    assert most.tolist() == [4.0, 3.0, 4.0]
    assert least.tolist() == [0.25, 0.75, 0.25]


def test_default_eta_is_the_smallest_with_the_initial_dual_at_half_the_optimum():
    """B = min(4 / 8, 2 / 4) = 1/2, T c B / (2 OPT_lower) = 10 x 6 x 0.5 / 4 = 7.5."""
    found = price_bounds([10, 5], [4, 2], [4, 4], [2, 1], [[True], [True]], [6], 10.0)
    assert found.eta == pytest.approx(7.5)
    assert found.optimum_lower == 2.0
    assert found.initial_dual == pytest.approx(1.0)
    assert found.initial_dual == pytest.approx(10 * 6 * float(found.price([0])[0]))
    assert found.alpha == pytest.approx(np.log(5.0 / (0.125 / 7.5)))


def test_alpha_is_at_least_one():
    found = price_bounds([1.0], [1.0], [1.0], [1.0], [[True]], [1], 1.0, 0.5)
    assert found.most / found.least == pytest.approx(2.0)
    assert found.alpha == 1.0


def test_a_utility_of_zero_at_the_horizon_is_raised_to_the_floor():
    found = price_bounds([10.0, 4.0], [0.0, 4.0], [1.0, 1.0], [1.0, 1.0], [[True], [True]], [2], 3.0)
    assert found.optimum_lower == pytest.approx(10.0 * FLOOR)
    assert found.least[0] > 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"best": [], "last": [], "longest": [], "gang": [], "runs": np.zeros((0, 1), bool)}, "no jobs"),
        ({"best": [0.0]}, "utility > 0"),
        ({"best": [np.inf]}, "utility > 0"),
        ({"last": [9.0]}, "no more for a later"),
        ({"longest": [0.0]}, "slots > 0"),
        ({"eta": 1e-9}, "at least 0.125"),
    ],
)
def test_bad_numbers_are_refused(changed, said):
    good = {"best": [2.0], "last": [1.0], "longest": [1.0], "gang": [1.0], "runs": [[True]], "capacity": [1]}
    with pytest.raises(InputError, match=said):
        price_bounds(**{**good, "slots": 2.0, **changed})


@given(
    st.lists(st.tuples(st.floats(0.01, 1e6), PART, st.integers(1, 9), PART, st.integers(1, 8)), min_size=1, max_size=6),
    st.lists(st.integers(0, 40), min_size=1, max_size=3),
)
def test_the_initial_dual_is_at_most_half_and_prices_are_in_order(jobs, capacity):
    best, part, longest, _, gang = (np.array(column, dtype=float) for column in zip(*jobs, strict=True))
    runs = np.ones((len(jobs), len(capacity)), dtype=bool)
    slots = float(longest.max()) + 1.0
    found = price_bounds(best, best * part, longest, gang, runs, capacity, slots)
    assert found.initial_dual <= found.optimum_lower / 2 * (1 + 1e-9)
    assert (found.least > 0).all() and (found.least <= found.most).all()


def test_table_to_draw():
    found = price_bounds([8.0], [4.0], [2.0], [2.0], [[True, True]], [4, 1], 4.0)
    table = price_table(found, ("v100", "k80"))
    assert table.groupby("type", sort=False)["held"].max().to_dict() == {"v100": 4, "k80": 1}
    v100 = table[table["type"] == "v100"]["price"]
    assert v100.is_monotonic_increasing
    assert v100.iloc[0] == found.least[0] and v100.iloc[-1] == pytest.approx(found.most[0])
