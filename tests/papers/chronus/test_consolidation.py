"""Placement: Proposition 1 for nodes of any size, its erratum, quasi-consolidation, local search against everything."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.papers.chronus.consolidation_support import consolidated
from workbench.base.errors import InputError
from workbench.papers.chronus.algorithms.consolidation import pieces, place_best_effort, place_friendly, round_up
from workbench.papers.chronus.algorithms.local_search import (
    after,
    fewest,
    local_search,
    most_consolidated,
    quasi_consolidate,
    shape_of,
    shapes,
    state_of,
    ways,
)
from workbench.papers.chronus.algorithms.terms import offered, taken_in


def check(gangs, free, placed, node_gpus=None):
    """No GPU given twice, gangs whole, and with node_gpus on as few nodes as hold them."""
    left = dict(free)
    for name, gpus in placed.items():
        assert sum(gpus.values()) == gangs[name] and min(gpus.values()) > 0
        for node, count in gpus.items():
            left[node] -= count
        if node_gpus is not None:
            assert len(gpus) == -(-gangs[name] // node_gpus)
    assert min(left.values(), default=0) >= 0


def keeps_limits(gangs, nodes, node_gpus):
    """The rows of `round_up`: GPUs in pieces of each size."""
    sizes, capacity = offered(node_gpus, np.array([nodes * node_gpus]))
    held = taken_in(node_gpus, np.array(list(gangs.values()), dtype=int), sizes)
    return bool((held.sum(axis=0) <= capacity[0]).all())


@st.composite
def friendly(draw):
    """Friendly gangs, nodes and the size of nodes."""
    node_gpus = draw(st.integers(1, 12))
    gangs = draw(st.lists(st.integers(1, 2 * node_gpus), max_size=8))
    return {f"j{i}": round_up(gpus, node_gpus) for i, gpus in enumerate(gangs)}, draw(st.integers(0, 6)), node_gpus


@settings(max_examples=300, deadline=None)
@given(case=friendly())
def test_proposition_1_holds_for_nodes_of_any_size(case):
    """Gangs that keep the limits are placed consolidated, others are not placed; trying everything agrees."""
    gangs, nodes, node_gpus = case
    names = [f"n{i}" for i in range(nodes)]
    placed = place_friendly(gangs, names, node_gpus)
    assert (placed is not None) == keeps_limits(gangs, nodes, node_gpus)
    free = dict.fromkeys(names, node_gpus)
    assert (placed is None) == (consolidated(gangs, free, node_gpus) is None)
    if placed is not None:
        assert list(placed) == list(gangs)
        check(gangs, free, placed, node_gpus)


def test_three_gangs_of_four_on_two_nodes_of_six():
    """(erratum): 12 GPUs, but no way."""
    gangs = dict.fromkeys("abc", 4)
    assert place_friendly(gangs, ["n0", "n1"], 6) is None
    assert consolidated(gangs, {"n0": 6, "n1": 6}, 6) is None
    assert place_friendly({"a": 4, "b": 4, "c": 2, "d": 2}, ["n0", "n1"], 6) is not None


def test_gangs_that_are_not_friendly_can_have_gpus_and_no_consolidated_placement():
    """Three gangs of 5 on two nodes of 8 have 16 GPUs, and 6, 6 and 4 as well; 3 and 5 twice are fine."""
    free = {"n0": 8, "n1": 8}
    assert consolidated(dict(zip("abc", (5, 5, 5), strict=True)), free, 8) is None
    assert consolidated(dict(zip("abc", (6, 6, 4), strict=True)), free, 8) is None
    check(gangs := dict(zip("abcd", (3, 5, 3, 5), strict=True)), free, consolidated(gangs, free, 8), 8)
    check(gangs := dict(zip("ab", (12, 4), strict=True)), free, consolidated(gangs, free, 8), 8)
    with pytest.raises(InputError, match="job a, GPUs: got 3; expected a friendly gang on nodes of 8"):
        place_friendly({"a": 3}, ["n0"], 8)
    for wrong in ([3], np.array([3]), True):
        with pytest.raises(InputError, match="GPUs of a gang: got"):
            round_up(wrong, 8)
        with pytest.raises(InputError, match="GPUs of a node: got"):
            round_up(3, wrong)
        with pytest.raises(InputError, match="GPUs of a node: got"):
            pieces(wrong)
    with pytest.raises(InputError, match="job a, GPUs: got 0"):
        consolidated({"a": 0}, free, 8)


def test_who_can_stay_stays_unless_the_others_then_do_not_fit():
    gangs = {"a": 4, "b": 2}
    assert place_friendly(gangs, ["n0", "n1"], 8, {"a": {"n1": 4}}) == {"a": {"n1": 4}, "b": {"n1": 2}}
    spread = {"a": {"n0": 4}, "b": {"n1": 4}}
    placed = place_friendly({"a": 4, "b": 4, "c": 8}, ["n0", "n1"], 8, spread)
    check({"a": 4, "b": 4, "c": 8}, {"n0": 8, "n1": 8}, placed, 8)
    moved = place_friendly({"a": 8}, ["n0"], 8, {"a": {"gone": 8}})
    assert moved == {"a": {"n0": 8}}


@given(free=st.lists(st.integers(0, 4), min_size=1, max_size=4), gpus=st.integers(1, 6))
def test_ways_and_shapes_are_all_there_are_each_once(free, gpus):
    state = state_of(free)
    every = {
        tuple(sorted(((f, t) for f, t in zip(free, taken, strict=True) if t), reverse=True))
        for taken in itertools.product(*(range(f + 1) for f in free))
        if sum(taken) == gpus
    }
    found = [tuple(sorted(way, reverse=True)) for way in ways(gpus, state)]
    assert len(found) == len(set(found)) and set(found) == every
    assert set(shapes(gpus, state)) == {shape_of(way) for way in every}
    few = fewest(gpus, state)
    assert (few is None) == (not every)
    if few is not None:
        assert len(few) == min(map(len, every)) and sum(after(state, few)) == sum(state) - gpus


def slower(factor):
    """A gang on n nodes runs at 1 / (1 + factor (n - 1))."""
    return lambda name, shape: 10.0 / (1 + factor.get(name, 0.5) * (len(shape) - 1))


def brute_force(gangs, free, node_gpus, speed):
    """The best sum of RW by trying everything."""
    names = list(gangs)

    def best(spot, left):
        if spot == len(names):
            return 0.0
        gpus, found = gangs[names[spot]], -math.inf
        few = speed(
            names[spot], (*(node_gpus,) * (gpus // node_gpus), *((gpus % node_gpus,) if gpus % node_gpus else ()))
        )
        for taken in itertools.product(*(range(f + 1) for f in left)):
            if sum(taken) == gpus:
                shape = tuple(sorted((t for t in taken if t), reverse=True))
                rest = best(spot + 1, tuple(f - t for f, t in zip(left, taken, strict=True)))
                found = max(found, gpus * speed(names[spot], shape) / few + rest)
        return found

    return best(0, tuple(free.values()))


@given(
    free=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    factors=st.lists(st.sampled_from([0.0, 0.1, 0.5, 2.0]), min_size=3, max_size=3),
)
def test_local_search_finds_the_best_of_everything(free, sizes, factors):
    nodes = {f"n{i}": gpus for i, gpus in enumerate(free)}
    gangs = {f"j{i}": gpus for i, gpus in enumerate(sizes)}
    speed = slower({f"j{i}": factor for i, factor in enumerate(factors)})
    if sum(sizes) > sum(free):
        with pytest.raises(InputError, match="GPUs of the gangs to place"):
            local_search(gangs, nodes, 4, speed)
        return
    found = local_search(gangs, nodes, 4, speed)
    check(gangs, nodes, found.gpus)
    worth = sum(
        gpus
        * speed(name, tuple(sorted(found.gpus[name].values(), reverse=True)))
        / speed(name, most_consolidated(gpus, 4))
        for name, gpus in gangs.items()
    )
    assert found.reward == pytest.approx(worth)
    assert found.reward == pytest.approx(brute_force(gangs, nodes, 4, speed))
    fewer = local_search(gangs, nodes, 4, speed, most=1)
    assert fewer.reward <= found.reward + 1e-9


def test_the_gang_with_the_larger_potential_gets_the_whole_node():
    """A node with 4 free GPUs and two with 2: whoever suffers more from two nodes has the first."""
    nodes, gangs = {"n0": 2, "n1": 4, "n2": 2}, {"a": 4, "b": 4}
    for hurt, other in (("a", "b"), ("b", "a")):
        found = local_search(gangs, nodes, 4, slower({hurt: 2.0, other: 0.1}))
        assert found.gpus[hurt] == {"n1": 4} and found.gpus[other] == {"n0": 2, "n2": 2}
        assert found.searched == 2


def test_search_beats_quasi_consolidation_where_a_snug_fit_costs_another_gang_its_node():
    """Nodes with 4 and 3 free. The two gangs of 2 go first, one on each node, and split the gang of 3 in two."""
    nodes, gangs = {"n0": 4, "n1": 3}, {"a": 2, "b": 2, "c": 3}
    speed = slower({"a": 2.0, "b": 2.0, "c": 0.1})
    alone = local_search(gangs, nodes, 4, speed, most=1)
    assert (alone.searched, alone.reward) == (0, pytest.approx(4 + 3 / 1.1))
    found = local_search(gangs, nodes, 4, speed)
    assert (found.searched, found.reward) == (3, pytest.approx(7))
    assert found.gpus == {"a": {"n0": 2}, "b": {"n0": 2}, "c": {"n1": 3}}


def test_nothing_is_searched_where_all_can_be_consolidated():
    found = local_search({"a": 4, "b": 2, "c": 2}, {"n0": 4, "n1": 4}, 4, slower({}))
    assert (found.searched, found.reward) == (0, 8.0)


def test_quasi_consolidation_leaves_out_who_has_no_room():
    assert quasi_consolidate({"a": 3, "b": 2, "c": 1}, {"n0": 4}) == {"a": {"n0": 3}, "c": {"n0": 1}}
    assert quasi_consolidate({"a": 5}, {"n0": 2, "n1": 4, "n2": 4}) == {"a": {"n1": 4, "n0": 1}}


def test_large_best_effort_gangs_get_whole_nodes_and_small_ones_what_is_left():
    """20 GPUs take three of the four whole nodes; the gang of 16 after them waits, and so does the last small one."""
    free = {"n0": 5, **{f"n{i}": 8 for i in range(1, 5)}}
    gangs = {"small": 3, "large": 20, "next": 16, "half": 4, "more": 8, "none": 6}
    found = place_best_effort(gangs, free, 8, slower({}))
    check({name: gangs[name] for name in found.gpus}, free, found.gpus)
    assert found.gpus["large"] == {"n1": 8, "n2": 8, "n3": 4}
    assert list(found.gpus) == ["small", "large", "half", "more"]
    assert {name: len(gpus) for name, gpus in found.gpus.items()} == {"small": 1, "large": 3, "half": 1, "more": 1}
    assert found.reward == 3 + 20 + 4 + 8


@given(free=st.lists(st.integers(0, 8), min_size=1, max_size=6), sizes=st.lists(st.integers(1, 30), max_size=6))
def test_best_effort_placement_never_gives_a_gpu_twice(free, sizes):
    nodes, gangs = {f"n{i}": n for i, n in enumerate(free)}, {f"j{i}": n for i, n in enumerate(sizes)}
    found = place_best_effort(gangs, nodes, 8, slower({}), most=500)
    check({name: gangs[name] for name in found.gpus}, nodes, found.gpus)
    for name in found.gpus:
        if gangs[name] >= 16:
            assert len(found.gpus[name]) == -(-gangs[name] // 8)


def test_bad_gangs():
    with pytest.raises(InputError, match="job a, GPUs: got 0"):
        local_search({"a": 0}, {"n0": 4}, 4, slower({}))
    with pytest.raises(InputError, match="job a, consolidated steps/s: got 0"):
        local_search({"a": 1}, {"n0": 4}, 4, lambda name, shape: 0)
