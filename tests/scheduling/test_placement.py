"""Choosing nodes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.scheduling.placement import FreeGpus, Request, place
from workbench.scheduling.snapshot import NodeView

STYLES = ("consolidate", "fill", "spread")


def view(sizes: list[int], kinds: list[int] | None = None, free: list[int] | None = None) -> NodeView:
    kind = np.array(kinds or [0] * len(sizes))
    names = tuple(f"n{i}" for i in range(len(sizes)))
    return NodeView(names, kind, np.array(sizes), np.array(sizes if free is None else free), np.ones(len(sizes), bool))


def test_consolidate_takes_the_fullest_node_that_holds_the_gang() -> None:
    room = FreeGpus(view([8, 8, 8], free=[8, 3, 2]))
    assert room.consolidate(0, 2) == {"n2": 2}
    assert room.consolidate(0, 2) == {"n1": 2}
    assert room.consolidate(0, 2) == {"n0": 2}
    assert room.free == [6, 1, 0]


def test_consolidate_over_several_nodes_takes_the_fewest_and_a_snug_last_one() -> None:
    room = FreeGpus(view([4, 4, 4, 4], free=[1, 4, 3, 2]))
    assert room.consolidate(0, 6) == {"n1": 4, "n3": 2}
    assert room.free == [1, 0, 3, 0]


def test_fill_takes_nodes_in_order() -> None:
    room = FreeGpus(view([2, 2, 2]))
    assert room.fill(0, 3) == {"n0": 2, "n1": 1}
    assert room.fill(0, 2) == {"n1": 1, "n2": 1}


def test_spread_takes_one_gpu_of_each_of_the_emptiest() -> None:
    room = FreeGpus(view([4, 2, 3]))
    assert room.spread(0, 4) == {"n0": 2, "n1": 1, "n2": 1}


@pytest.mark.parametrize("style", STYLES)
def test_too_few_gpus_take_nothing(style: str) -> None:
    room = FreeGpus(view([2, 2], kinds=[0, 1]))
    assert room.find(style, 0, 3) is None  # type: ignore[arg-type]
    assert room.free == [2, 2]


def test_keep_needs_every_former_gpu_of_the_right_type_and_number() -> None:
    room = FreeGpus(view([4, 4], kinds=[0, 1]))
    assert not room.keep(1, 2, {"n0": 2})
    assert not room.keep(0, 3, {"n0": 2})
    assert not room.keep(0, 2, {"gone": 2})
    assert room.keep(0, 3, {"n0": 3})
    assert not room.keep(0, 2, {"n0": 2})


def test_large_gangs_first_and_who_can_stay_stays() -> None:
    requests = [Request("small", 0, 1, {"n0": 1}), Request("new", 0, 2), Request("large", 0, 2, {"n1": 2})]
    assert place(requests, FreeGpus(view([2, 2])), "fill") == {"large": {"n1": 2}, "new": {"n0": 2}}
    kept = place(requests, FreeGpus(view([2, 2])), "fill", keep_first=True)
    assert kept == {"small": {"n0": 1}, "large": {"n1": 2}}


def test_what_a_unit_does_not_accept_is_given_back() -> None:
    requests = [Request("wide", 0, 3), Request("narrow", 0, 2)]
    placed = place(requests, FreeGpus(view([2, 2])), accept=lambda unit, gpus: False)
    assert placed == {"narrow": {"n0": 2}}


@given(st.data())
def test_never_more_than_is_free_and_always_the_whole_gang_on_one_type(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=8))
    kinds = data.draw(st.lists(st.integers(0, 2), min_size=len(sizes), max_size=len(sizes)))
    nodes = view(sizes, kinds)
    requests = []
    for i in range(data.draw(st.integers(0, 10))):
        kind, gpus = data.draw(st.integers(0, 2)), data.draw(st.integers(1, 6))
        previous = {f"n{data.draw(st.integers(0, len(sizes) - 1))}": gpus} if data.draw(st.booleans()) else None
        requests.append(Request(f"j{i}", kind, gpus, previous))
    style = data.draw(st.sampled_from(STYLES))
    first = data.draw(st.booleans())
    placed = place(requests, FreeGpus(nodes), style, keep_first=first)  # type: ignore[arg-type]
    assert placed == place(requests, FreeGpus(nodes), style, keep_first=first)  # type: ignore[arg-type]
    used = dict.fromkeys(nodes.names, 0)
    for request in requests:
        for node, count in placed.get(request.unit, {}).items():
            used[node] += count
            assert kinds[int(node[1:])] == request.kind and count > 0
        assert sum(placed.get(request.unit, {}).values()) in (0, request.gpus)
    assert all(used[node] <= size for node, size in zip(nodes.names, sizes, strict=True))
    for request in requests:  # who waits would not have fitted
        if request.unit not in placed:
            free = sum(s - used[f"n{i}"] for i, s in enumerate(sizes) if kinds[i] == request.kind)
            assert free < request.gpus
