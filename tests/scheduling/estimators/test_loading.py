"""The mixture of normals of data loading: its closed forms against numerical integration and random numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pytest import approx
from scipy import integrate, stats

from workbench.scheduling.estimators.loading import Loading, LoadRecord, expected_max, waiting_s

UNSTABLE = Loading.of([(0.8, 0.01, 0.002), (0.2, 0.1, 0.02)])


def one(mean: float, deviation: float, least: float) -> float:
    return float(expected_max(np.array([mean]), np.array([deviation]), least)[0])


def integrated(mean: float, deviation: float, least: float) -> float:
    """E max(N, c) by quadrature, as its definition."""
    density = stats.norm(mean, deviation).pdf
    ends = mean - 12 * deviation, mean + 12 * deviation
    cut = min(max(least, ends[0]), ends[1])
    value, _ = integrate.quad(lambda x: max(x, least) * density(x), ends[0], ends[1], points=[cut, mean], limit=200)
    return float(value)


@pytest.mark.parametrize("mean", [0.0, 0.05, 1.0, -0.3])
@pytest.mark.parametrize("deviation", [0.001, 0.02, 0.5])
@pytest.mark.parametrize("least", [-1.0, 0.0, 0.049, 0.06, 3.0])
def test_the_closed_form_is_the_integral(mean: float, deviation: float, least: float) -> None:
    assert one(mean, deviation, least) == approx(integrated(mean, deviation, least), rel=1e-7, abs=1e-9)


def test_without_deviation_it_is_the_larger_of_two_numbers() -> None:
    with np.errstate(all="raise"):
        assert expected_max(np.array([1.0, 2.0, 3.0]), np.zeros(3), 2.0).tolist() == [2.0, 2.0, 3.0]


# --- waiting ----------------------------------------------------------------------------------------------------------


def draw(loading: Loading, shape: tuple[int, int], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    case = rng.choice(len(loading.probability), p=loading.probability, size=shape)
    return case, rng.normal(loading.mean_s[case], loading.deviation_s[case])


@pytest.mark.parametrize("gpus", [2, 4, 16])
@pytest.mark.parametrize("least", [-math.inf, 0.005, 0.03, 0.11, 1.0])
@pytest.mark.parametrize(
    "loading",
    [UNSTABLE, Loading.of([(0.5, 0.1, 0.03), (0.5, 0.2, 0.0)]), Loading.of([(0.9, 0.0, 0.0), (0.1, 0.2, 0.0)])],
)
def test_waiting_is_the_mean_wait_of_simulated_gpus(loading: Loading, gpus: int, least: float) -> None:
    case, seconds = draw(loading, (100_000, gpus), np.random.default_rng(gpus))
    seconds = np.maximum(seconds, least)
    waits = seconds.max(axis=1) - seconds[:, 0]
    found = waiting_s(loading, gpus, least)
    for number in range(len(found)):
        mine = waits[case[:, 0] == number]
        assert found[number] == approx(mine.mean(), abs=4 * mine.std() / math.sqrt(len(mine)) + 1e-9)


def test_waiting_by_hand_for_two_gpus_who_miss_half_the_time() -> None:
    """Loads take 0 or 1 s: who hits waits 1 s if the other misses, who misses waits for nobody."""
    loading = Loading.of([(0.5, 0.0, 0.0), (0.5, 1.0, 0.0)])
    assert waiting_s(loading, 2).tolist() == [0.5, 0.0]
    assert waiting_s(loading, 3).tolist() == [0.75, 0.0]
    assert waiting_s(loading, 2, 0.75).tolist() == [0.125, 0.0]


def test_nobody_waits_alone_or_where_loads_are_all_alike() -> None:
    assert waiting_s(UNSTABLE, 1).tolist() == [0.0, 0.0]
    assert waiting_s(Loading.of(None), 8).tolist() == [0.0]
    assert waiting_s(Loading.of([(1.0, 0.2, 0.0)]), 8).tolist() == [0.0]


# --- what is measured of it -------------------------------------------------------------------------------------------


def test_a_record_converges_to_the_mixture_it_was_drawn_from() -> None:
    found = LoadRecord.empty(2).drawn(UNSTABLE, 400_000, np.random.default_rng(0)).loading()
    assert found.probability == approx(UNSTABLE.probability, abs=0.005)
    assert found.mean_s == approx(UNSTABLE.mean_s, rel=0.005)
    assert found.deviation_s == approx(UNSTABLE.deviation_s, rel=0.01)


def test_sums_are_drawn_as_single_loads_would_come_out() -> None:
    """The spread of the measured mean and deviation over many records of 12 loads, against loads drawn one by one."""
    rng, alone = np.random.default_rng(5), Loading.of([(1.0, 0.1, 0.02)])
    records = [LoadRecord.empty(1).drawn(alone, 12, rng).loading() for _ in range(4000)]
    single = rng.normal(0.1, 0.02, (4000, 12))
    for found, expected in (
        (np.array([r.mean_s[0] for r in records]), single.mean(axis=1)),
        (np.array([r.deviation_s[0] for r in records]), single.std(axis=1)),
    ):
        assert stats.ks_2samp(found, expected).pvalue > 0.001


def test_records_add_up_and_a_case_not_met_has_probability_zero() -> None:
    record = LoadRecord(np.array([3.0, 0.0]), np.array([0.3, 0.0]), np.array([0.03, 0.0]))
    assert record.loading().probability.tolist() == [1.0, 0.0]
    assert record.loading().mean_s.tolist() == approx([0.1, 0.0])
    assert record.loading().deviation_s.tolist() == approx([0.0, 0.0], abs=1e-8)
    more = record.drawn(UNSTABLE, 10, np.random.default_rng(2))
    assert more.loads.sum() == 13 and more.loads[0] >= 3


def test_no_loads_measured_is_no_time() -> None:
    found = LoadRecord.empty(2).drawn(UNSTABLE, 0, np.random.default_rng(0)).loading()
    assert not (found.probability.any() or found.mean_s.any() or found.deviation_s.any())
