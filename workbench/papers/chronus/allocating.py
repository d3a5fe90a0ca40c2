"""Where guaranteed jobs run in a lease (section 3.4.1), and the knobs of placement.

Rounded up, the gangs of a lease can all be consolidated where the nodes of a type have one size that is a power of two;
gangs that have leases again stay where they are if that is still so. As in the paper they do not spare the nodes of
best-effort jobs, who are placed anew where theirs are taken. Not rounded up, a gang that cannot be consolidated
waits, as in the paper's comparison (Fig. 8a), and may miss. (ours): where nodes differ in size gangs are counted as
asked for and go to the fewest nodes, where they may be slower than a guarantee reckons with. With `topology` off
everybody takes the first free GPUs in the cluster's order.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.papers.chronus.patterns import after, fewest, state_of
from workbench.papers.chronus.placement_friendly import place_friendly
from workbench.papers.chronus.placement_search import quasi_consolidate
from workbench.papers.chronus.round_up import round_up
from workbench.scheduling.knob import Knob

Gpus = Mapping[str, int]

TOPOLOGY = Knob(
    "topology",
    True,
    "Look at nodes when GPUs are given out; off: the first free GPUs in the cluster's order, gangs as asked for",
    kind="bool",
)


def place_guaranteed(
    gangs: Mapping[str, int],
    free: Mapping[str, int],
    node_gpus: int | None,
    previous: Mapping[str, Gpus],
    *,
    rounded: bool,
    topology: bool,
) -> dict[str, dict[str, int]]:
    """`{node: GPUs}` of the gangs that have room; who has none waits.

    node_gpus: of every node, None if they differ; previous: where gangs are now.
    """
    if not topology:
        return place_in_order(gangs, free, previous)
    if rounded and node_gpus is not None:
        found = _rounded(gangs, free, node_gpus, previous)
        if found is not None:
            return found
    kept, left = keep_places(gangs, free, previous)
    order = sorted((name for name in gangs if name not in kept), key=lambda name: -gangs[name])
    others = {name: gangs[name] for name in order}
    if node_gpus is None or rounded:
        placed = quasi_consolidate(others, left)
    else:
        placed = place_consolidated(others, left, node_gpus)
    every = {**kept, **placed}
    return {name: every[name] for name in gangs if name in every}


def _rounded(
    gangs: Mapping[str, int], free: Mapping[str, int], node_gpus: int, previous: Mapping[str, Gpus]
) -> dict[str, dict[str, int]] | None:
    """The construction of Proposition 1; a gang then holds the GPUs that it asked for."""
    up = {name: round_up(gpus, node_gpus) for name, gpus in gangs.items()}
    before: dict[str, Gpus] = {}
    for name, at in previous.items():
        if name in up and len(at) == -(-up[name] // node_gpus):
            before[name] = {node: min(up[name], node_gpus) for node in at}
    whole = [node for node, gpus in free.items() if gpus == node_gpus]
    part = {node: gpus for node, gpus in free.items() if 0 < gpus < node_gpus}
    placed = place_friendly(up, whole, node_gpus, before, part)
    if placed is None:
        return None
    return {name: trimmed(at, gangs[name], previous.get(name)) for name, at in placed.items()}


def trimmed(at: Gpus, gpus: int, previous: Gpus | None) -> dict[str, int]:
    """So many GPUs of a rounded gang: those it had if it stays, else all but the last ones."""
    if previous is not None and previous.keys() == at.keys():
        return dict(previous)
    found: dict[str, int] = {}
    for node, count in at.items():
        if gpus <= 0:
            break
        found[node] = min(count, gpus)
        gpus -= count
    return found


def keep_places(
    gangs: Mapping[str, int], free: Mapping[str, int], previous: Mapping[str, Gpus]
) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """The gangs that can stay where they are, and what is free then."""
    kept, left = dict[str, dict[str, int]](), dict(free)
    for name, gpus in gangs.items():
        at = previous.get(name)
        if at is not None and sum(at.values()) == gpus and all(left.get(node, 0) >= n for node, n in at.items()):
            kept[name] = dict(at)
            for node, count in at.items():
                left[node] -= count
    return kept, left


def place_consolidated(gangs: Mapping[str, int], free: Mapping[str, int], node_gpus: int) -> dict[str, dict[str, int]]:
    """Gangs in their order, each on as few nodes as hold it empty, or not at all."""
    state, few = state_of(free.values()), dict[str, int]()
    for name, gpus in gangs.items():
        way = fewest(gpus, state)
        if way is not None and len(way) == -(-gpus // node_gpus):
            few[name] = gpus
            state = after(state, way)
    return quasi_consolidate(few, free)


def place_in_order(
    gangs: Mapping[str, int], free: Mapping[str, int], previous: Mapping[str, Gpus]
) -> dict[str, dict[str, int]]:
    """Gangs stay where they are, the others take the first free GPUs in the cluster's order."""
    placed, left = keep_places(gangs, free, previous)
    room = sum(left.values())
    for name, gpus in gangs.items():
        if name in placed or gpus > room:
            continue
        room -= gpus
        own: dict[str, int] = {}
        for node, count in left.items():
            if gpus and count:
                own[node] = min(count, gpus)
                gpus -= own[node]
        for node, count in own.items():
            left[node] -= count
        placed[name] = own
    return {name: placed[name] for name in gangs if name in placed}
