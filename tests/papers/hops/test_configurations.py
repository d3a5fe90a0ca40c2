"""Requirement sets and configurations, classes of server speed, learning rates: the text's rules, by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from tests.cases.hops import generate
from workbench.base.errors import InputError
from workbench.papers.hops.algorithms.configurations import (
    Server,
    aggregated,
    checked_sizes,
    distributed,
    may_be_distributed,
    speed_classes,
    split,
    thinned,
)
from workbench.papers.hops.algorithms.learning_rates import learning_rate
from workbench.scenario.job import requirement_set
from workbench.scenario.presets import preset
from workbench.session.api import snapshot_at


def cluster(*idle, size=8, kind="a"):
    return [Server(str(i), kind, free, size) for i, free in enumerate(idle)]


def named(servers, layouts):
    return [{servers[server].name: gpus for server, gpus in layout} for layout in layouts]


@pytest.mark.parametrize(
    ("least", "most", "number", "expected"),
    [
        (1, 16, 4, (1, 6, 11, 16)),
        (2, 2, 8, (2,)),
        (1, 4, 8, (1, 2, 3, 4)),
        (1, 16, 1, (1,)),
        (1, 8, 3, (1, 5, 8)),  # 4.5 rounded up
    ],
)
def test_a_requirement_set_has_equal_steps_from_bound_to_bound(least, most, number, expected):
    assert requirement_set(least, most, number) == expected


@given(least=st.integers(1, 40), more=st.integers(0, 60), number=st.integers(2, 12))
def test_a_requirement_set_keeps_its_bounds_and_its_number(least, more, number):
    sizes = requirement_set(least, least + more, number)
    assert sizes[0] == least and sizes[-1] == least + more
    assert len(sizes) == min(number, more + 1)
    steps = [b - a for a, b in pairwise(sizes)]
    assert not steps or max(steps) - min(steps) <= 1


@pytest.mark.parametrize("bounds", [(0, 4, 2), (4, 3, 2), (1, 4, 0), (1.5, 4, 2), (True, 4, 2)])
def test_bounds_that_are_none_are_refused(bounds):
    with pytest.raises(InputError, match="requirement set, R_"):
        requirement_set(*bounds)


@pytest.mark.parametrize(("sizes", "named"), [((), "no size"), ((0,), "got 0"), ((2.0,), "got 2.0"), ((True,), "True")])
def test_an_empty_requirement_set_and_sizes_that_are_none_are_refused(sizes, named):
    with pytest.raises(InputError, match=named):
        checked_sizes(sizes)


def test_sizes_are_sorted_and_each_counts_once():
    assert checked_sizes([4, 1, 4]) == (1, 4)


def test_thinned_sizes_keep_the_ends_and_the_users_own_numbers():
    assert thinned((1, 2, 3, 4), 8) == (1, 2, 3, 4)
    assert thinned((1, 2, 4, 8, 16), 3) == (1, 4, 16)
    assert thinned((1, 2, 4, 8), 1) == (1,)


@given(least=st.integers(1, 40), more=st.integers(0, 60), number=st.integers(1, 12))
def test_thinning_all_numbers_between_two_bounds_gives_the_requirement_set(least, more, number):
    every = tuple(range(least, least + more + 1))
    assert thinned(every, number) == requirement_set(least, least + more, number)


def test_an_aggregated_configuration_may_take_the_whole_server():
    servers = cluster(3, 2, 4)
    assert named(servers, aggregated(servers, "a", 4)) == [{"2": 4}]
    assert aggregated(servers, "a", 5) == []


def test_distributed_ones_fill_neighbours_from_each_server():
    """Idle 3, 2, 4: of 5 GPUs from 0 (3 + 2) and from 1 (2 + 3); of 4 from 2 would be one server alone."""
    servers = cluster(3, 2, 4)
    assert named(servers, distributed(servers, "a", 5)) == [{"0": 3, "1": 2}, {"1": 2, "2": 3}]
    assert named(servers, distributed(servers, "a", 4)) == [{"0": 3, "1": 1}, {"1": 2, "2": 2}]


def test_only_the_fewest_servers_count_and_full_ones_are_passed_over():
    """Idle 1, 0, 2, 4, 1: of 6 GPUs 2 + 4 from server 2; 1 + 2 + 3 from server 0 would be on three."""
    servers = cluster(1, 0, 2, 4, 1)
    assert named(servers, distributed(servers, "a", 6)) == [{"2": 2, "3": 4}]
    assert named(servers, distributed(servers, "a", 3)) == [{"0": 1, "2": 2}, {"2": 2, "3": 1}]


def test_types_do_not_mix():
    servers = [Server("x", "a", 2, 4), Server("y", "b", 2, 4), Server("z", "a", 2, 4)]
    assert named(servers, generate(servers, (4,), 1.0)) == [{"x": 2, "z": 2}]


def test_sensitivity_decides_who_is_distributed():
    assert may_be_distributed((1, 4), 1.4, 8)
    assert not may_be_distributed((1, 4), 1.4001, 8)
    servers = cluster(3, 2, 4)
    assert named(servers, generate(servers, (4, 5), 1.4001)) == [{"2": 4}]
    assert len(named(servers, generate(servers, (4, 5), 1.1))) == 5


def test_a_sensitive_job_larger_than_every_server_is_distributed_all_the_same():
    servers = cluster(8, 8, 8)
    assert named(servers, generate(servers, (12, 16), 5.0)) == [
        {"0": 8, "1": 4},
        {"1": 8, "2": 4},
        {"0": 8, "1": 8},
        {"1": 8, "2": 8},
    ]
    assert named(servers, generate(servers, (8, 16), 5.0)) == [{"0": 8}, {"1": 8}, {"2": 8}]


def test_a_request_larger_than_the_cluster_has_no_configuration():
    assert list(generate(cluster(8, 8), (17,), 1.0)) == []
    assert list(generate([], (1,), 1.0)) == []


@given(idle=st.lists(st.integers(0, 6), max_size=6), gpus=st.integers(1, 12))
def test_configurations_grow_linearly_with_the_servers_and_fit(idle, gpus):
    servers = cluster(*idle)
    found = list(generate(servers, (gpus,), 1.0))
    assert len(found) <= 2 * len(servers)
    assert len(set(found)) == len(found)
    for layout in found:
        assert sum(taken for _, taken in layout) == gpus
        assert all(0 < taken <= servers[server].idle for server, taken in layout)
        # Each but the last server is taken whole.
        assert all(taken == servers[server].idle for server, taken in layout[:-1])


class Believed:
    """A belief in which servers have speeds of their own."""

    def __init__(self, speed):
        self.speed = speed

    def on_nodes(self, job, gpus):
        return min(self.speed[name] for name in gpus) * sum(gpus.values())

    def steps_per_s(self, job, accelerator, gpus, placement="consolidated", nodes=None):
        return float(gpus)


def test_values_are_split_at_the_widest_gaps():
    assert split(np.array([1.0, 0.8, 0.9, 0.81]), 3).tolist() == [2, 0, 1, 0]
    assert split(np.array([1.0, 0.8, 0.9, 0.81]), 2).tolist() == [1, 0, 1, 0]
    assert split(np.array([1.0, 0.8]), 1).tolist() == [0, 0]
    assert split(np.array([1.0, 1.005, 1.01]), 3).tolist() == [0, 0, 0]
    assert split(np.array([2.0]), 3).tolist() == [0]


def test_classes_are_of_one_type_and_as_fast_as_their_servers_on_average():
    servers = [Server("p", "a", 4, 4), Server("q", "b", 4, 4), Server("r", "b", 4, 4), Server("s", "b", 4, 4)]
    job = preset("hops_64").jobs[0]
    found = speed_classes(servers, [job], Believed({"p": 1.0, "q": 1.0, "r": 0.5, "s": 0.98}), 2)
    assert found.pools == [0, 2, 1, 2]
    assert found.factor == pytest.approx(np.array([[1.0, 0.5, 0.99]]))


def test_where_nothing_is_known_of_servers_a_type_is_one_class():
    """The oracle knows types, not servers."""
    snapshot = snapshot_at(preset("hops_64"))
    servers = [Server(node.name, node.accelerator, node.gpus, node.gpus) for node in snapshot.cluster.each_node]
    found = speed_classes(servers, snapshot.jobs.jobs, snapshot.belief, 3)
    assert len(set(found.pools)) == len(snapshot.types)
    assert (found.factor == 1.0).all()


def test_servers_without_idle_gpus_have_no_say():
    """r is the slowest, but nobody can get it; b has no idle GPU at all."""
    servers = [Server("p", "a", 4, 4), Server("q", "a", 1, 4), Server("r", "a", 0, 4), Server("s", "b", 0, 4)]
    job = preset("hops_64").jobs[0]
    found = speed_classes(servers, [job, job], Believed({"p": 1.0, "q": 0.8, "r": 0.1, "s": 0.1}), 2)
    assert found.pools == [1, 0, 0, 2]
    assert found.factor == pytest.approx(np.array([[0.8, 1.0, 1.0]] * 2))
    nobody = speed_classes(servers, [], Believed({}), 3)
    assert nobody.factor.shape == (0, 2) and nobody.pools == [0, 0, 0, 1]


def test_linear_scaling_by_hand() -> None:
    """Goyal et al.: 0.1 for 256 images on 8 GPUs, so 3.2 for 8192 on 256."""
    assert learning_rate(0.1, 8, 256) == approx(3.2)


def test_square_root_scaling_by_hand() -> None:
    assert [learning_rate(0.02, 4, gpus, "square_root") for gpus in (1, 4, 16)] == approx([0.01, 0.02, 0.04])


@pytest.mark.parametrize("rule", ["linear", "square_root"])
def test_scaling_there_and_back_changes_nothing(rule: Any) -> None:
    assert learning_rate(learning_rate(0.1, 2, 16, rule), 16, 2, rule) == approx(0.1)
