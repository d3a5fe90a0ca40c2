"""The formula of an iteration's time, (1) to (5) of Hops: by hand, its reductions, random numbers, and back again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from workbench.base.errors import InputError
from workbench.scheduling.estimators.iteration import (
    Formula,
    Modules,
    Pattern,
    communication_s,
    iteration_s,
    modules_of,
    steps_per_s,
)
from workbench.scheduling.estimators.loading import Loading

STEADY = Loading.of([(1.0, 0.05, 0.0)])
UNSTABLE = Loading.of([(0.8, 0.01, 0.002), (0.2, 0.1, 0.02)])
PATTERNS: tuple[Pattern, ...] = (1, 2)


def modules(loading: Loading = STEADY, pattern: Pattern = 1) -> Modules:
    return Modules(0.03, 0.06, 0.01, loading, pattern)


# --- (2) --------------------------------------------------------------------------------------------------------------


def test_communication_by_hand() -> None:
    """0.5 GB are 4 Gbit: 0.04 s at 100 Gbit/s, of which 3/4 inside a node of four GPUs; 0.16 s over 25 Gbit/s."""
    assert communication_s(0.5, 4, 1, 100.0, 25.0) == approx(0.03)
    assert communication_s(0.5, 4, 2, 100.0, 25.0) == approx(0.16)
    assert communication_s(0.5, 8, 2, 100.0, 25.0) == approx(0.16), "across nodes only the network counts"


def test_one_gpu_does_not_communicate_and_needs_no_bandwidth() -> None:
    assert communication_s(0.5, 1, 1, None, None) == 0.0


def test_inside_a_node_communication_tends_to_one_pass_over_the_link() -> None:
    seconds = [communication_s(1.0, gpus, 1, 8.0, None) for gpus in (1, 2, 4, 8, 1000)]
    assert seconds == sorted(seconds) and seconds[-1] == approx(1.0, rel=2e-3)
    assert communication_s(1.0, 1000, 1, 8.0, 8.0) < communication_s(1.0, 1000, 2, 8.0, 8.0) == 1.0


@pytest.mark.parametrize(
    ("gpus", "nodes", "link", "network", "where"),
    [
        (2, 1, None, 25.0, "link_gbps"),
        (2, 2, 100.0, None, "network_gbps"),
        (2, 1, 0.0, 25.0, "link_gbps"),
        (2, 3, 100.0, 25.0, "nodes of a configuration"),
        (2, 0, 100.0, 25.0, "nodes of a configuration"),
    ],
)
def test_bandwidths_that_are_needed_are_asked_for(
    gpus: int, nodes: int, link: float | None, network: float | None, where: str
) -> None:
    with pytest.raises(InputError) as error:
        communication_s(0.5, gpus, nodes, link, network)
    assert error.value.where == where


@pytest.mark.parametrize("parameters_gb", [-0.1, float("nan"), float("inf")])
def test_parameters_that_are_no_size_are_refused(parameters_gb: float) -> None:
    with pytest.raises(InputError, match="parameters_gb"):
        communication_s(parameters_gb, 2, 1, 100.0, 25.0)


# --- (1) --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "loading_s", "exchange_s", "expected"),
    [
        (1, 0.05, 0.0, 0.07 + 0.03),  # computing hides loading
        (1, 0.05, 0.05, 0.06 + 0.01 + 0.01 + 0.03),  # 0.2 of the exchange sticks out
        (1, 0.05, 0.10, 0.10 + 0.01 + 0.03),  # the exchange is longer than the backward pass
        (1, 0.20, 0.10, 0.20 + 0.03),  # loading is longer than all of that
        (2, 0.05, 0.0, 0.05 + 0.06 + 0.01 + 0.03),
        (2, 0.05, 0.05, 0.05 + 0.07 + 0.01 + 0.03),
        (2, 0.20, 0.10, 0.20 + 0.10 + 0.01 + 0.03),
    ],
)
def test_both_patterns_by_hand(pattern: Pattern, loading_s: float, exchange_s: float, expected: float) -> None:
    found = iteration_s(modules(Loading.of([(1.0, loading_s, 0.0)]), pattern), 4, exchange_s)
    assert found == approx(expected, rel=1e-14)
    assert steps_per_s(found, 4) == approx(4 / expected)


def test_the_update_is_left_out_of_pattern_two_as_printed_and_only_there() -> None:
    for pattern, gone in zip(PATTERNS, (0.0, 0.01), strict=True):
        whole, printed = (
            iteration_s(modules(UNSTABLE, pattern), 1, 0.0, how) for how in (Formula(), Formula(update=False))
        )
        assert whole - printed == approx(gone, abs=1e-15)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("gpus", [1, 2, 8])
@pytest.mark.parametrize("exchange_s", [0.0, 0.04, 0.12])
def test_the_expectation_is_the_mean_of_simulated_iterations(pattern: Pattern, gpus: int, exchange_s: float) -> None:
    """(4) with T_w: GPUs load, hide it or not, and meet; none of the formula's expectations is used."""
    rng, rounds = np.random.default_rng(gpus), 200_000
    case = rng.choice(2, p=UNSTABLE.probability, size=(rounds, gpus))
    loads = rng.normal(UNSTABLE.mean_s[case], UNSTABLE.deviation_s[case])
    parts = modules(UNSTABLE, pattern)
    back_s = max(0.06 + 0.2 * exchange_s, exchange_s)
    ready = np.maximum(loads, back_s + 0.01) if pattern == 1 else loads + back_s + 0.01
    simulated = ready.max(axis=1) + 0.03
    error = simulated.std() / np.sqrt(rounds)
    assert iteration_s(parts, gpus, exchange_s) == approx(simulated.mean(), abs=4 * error)
    alone = ready[:, 0] + 0.03
    found = iteration_s(parts, gpus, exchange_s, Formula(waiting=False))
    assert found == approx(alone.mean(), abs=4 * alone.std() / np.sqrt(rounds))


def test_means_alone_are_never_slower() -> None:
    for pattern in PATTERNS:
        for gpus in (1, 4):
            exact = iteration_s(modules(UNSTABLE, pattern), gpus, 0.02)
            mean = iteration_s(modules(UNSTABLE, pattern), gpus, 0.02, Formula(mean_only=True))
            assert mean <= exact + 1e-12
    assert iteration_s(modules(STEADY), 4, 0.02, Formula(mean_only=True)) == iteration_s(modules(STEADY), 4, 0.02)


def test_a_mixture_of_one_case_twice_is_that_case() -> None:
    twice = Loading.of([(0.3, 0.06, 0.01), (0.7, 0.06, 0.01)])
    once = Loading.of([(1.0, 0.06, 0.01)])
    for pattern in PATTERNS:
        found = [iteration_s(modules(loading, pattern), 4, 0.05) for loading in (twice, once)]
        assert found[0] == approx(found[1], rel=1e-12)


def test_with_equal_bandwidths_two_nodes_cost_what_a_ring_of_many_gpus_does() -> None:
    apart = communication_s(0.4, 2, 2, 40.0, 40.0)
    together = communication_s(0.4, 2, 1, 40.0, 40.0)
    assert together == approx(apart / 2)
    assert iteration_s(modules(), 2, apart) >= iteration_s(modules(), 2, together)


# --- back again -------------------------------------------------------------------------------------------------------


@given(
    st.sampled_from(PATTERNS),
    st.booleans(),
    st.booleans(),
    st.sampled_from([1, 2, 16]),
    st.floats(0.0, 0.3),
    st.floats(0.001, 2.0),
)
def test_modules_are_found_again_from_the_length_of_an_iteration(
    pattern: Pattern, update: bool, waiting: bool, gpus: int, exchange_s: float, computing_s: float
) -> None:
    how = Formula(update=update, waiting=waiting)
    parts = Modules(0.3 * computing_s, 0.6 * computing_s, 0.1 * computing_s, UNSTABLE, pattern)
    length_s = iteration_s(parts, gpus, exchange_s, how)
    found = modules_of(length_s, UNSTABLE, gpus, exchange_s, pattern, how)
    assert iteration_s(found, gpus, exchange_s, how) == approx(length_s, rel=1e-9)


def test_modules_of_an_iteration_without_loading_are_fixed_parts_of_it() -> None:
    found = modules_of(0.5, Loading.of(None))
    assert (found.forward_s, found.backward_s, found.update_s) == approx((0.15, 0.3, 0.05))


def test_an_iteration_shorter_than_its_loading_is_refused() -> None:
    with pytest.raises(InputError, match=r"at least the 0\.028 s"):
        modules_of(0.02, UNSTABLE)
    assert modules_of(0.028, UNSTABLE, pattern=2).forward_s == approx(0.0, abs=1e-12)
