"""Placing consolidation-friendly gangs on free nodes: the construction of Proposition 1 (section 3.4.1).

Gangs of whole nodes first. Then the other nodes are split into pieces of powers of two, and the gangs placed from the
largest on, each in the smallest piece that holds it, of which the rest goes back as smaller pieces. If the gangs keep
the limits of `round_up`, there is always a piece: the pieces of at least a gang's size add up to a multiple of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.base.errors import InputError
from workbench.papers.chronus.round_up import is_friendly, pieces

Gpus = Mapping[str, int]


def place_friendly(
    gangs: Mapping[str, int],
    nodes: Sequence[str],
    node_gpus: int,
    previous: Mapping[str, Gpus] | None = None,
    part: Gpus | None = None,
) -> dict[str, dict[str, int]] | None:
    """`{node: GPUs}` for every gang, each on as few nodes as hold it; None if the nodes do not hold them all so.

    nodes: free ones of `node_gpus` GPUs each; previous: where gangs were, which keep their nodes if all others can
    still be placed; part: GPUs of nodes of which only a part is free. Raises InputError for a gang that is not friendly
    on such nodes.
    """
    for name, gpus in gangs.items():
        if not is_friendly(gpus, node_gpus):
            raise InputError(f"job {name}, GPUs", gpus, f"a friendly gang on nodes of {node_gpus}; round it up first")
    free = {**dict.fromkeys(nodes, node_gpus), **(part or {})}
    if previous:
        kept = _kept(gangs, free, node_gpus, previous)
        placed = _placed(gangs, free, node_gpus, kept) if kept else None
        if placed is not None:
            return placed
    return _placed(gangs, free, node_gpus, {})


def _kept(
    gangs: Mapping[str, int], free: Gpus, node_gpus: int, previous: Mapping[str, Gpus]
) -> dict[str, dict[str, int]]:
    """The gangs that can stay: the same GPUs, as few nodes as now, and room for all of them together."""
    left = dict(free)
    kept: dict[str, dict[str, int]] = {}
    for name, gpus in gangs.items():
        at = previous.get(name, {})
        few = len(at) == -(-gpus // node_gpus) and sum(at.values()) == gpus
        if few and all(left.get(node, 0) >= count for node, count in at.items()):
            kept[name] = dict(at)
            for node, count in at.items():
                left[node] -= count
    return kept


def _placed(
    gangs: Mapping[str, int], free: Gpus, node_gpus: int, kept: Mapping[str, dict[str, int]]
) -> dict[str, dict[str, int]] | None:
    left = dict(free)
    for at in kept.values():
        for node, count in at.items():
            left[node] -= count
    placed = dict(kept)
    order = sorted((name for name in gangs if name not in kept), key=lambda name: -gangs[name])
    for name in (name for name in order if gangs[name] % node_gpus == 0):
        empty = [node for node in left if left[node] == node_gpus][: gangs[name] // node_gpus]
        if len(empty) * node_gpus < gangs[name]:
            return None
        placed[name] = dict.fromkeys(empty, node_gpus)
        left.update(dict.fromkeys(empty, 0))
    supply: dict[int, list[str]] = {}
    for node in left:
        for piece in pieces(left[node]) if left[node] else ():
            supply.setdefault(piece, []).append(node)
    for name in (name for name in order if gangs[name] % node_gpus):
        large = [size for size, own in supply.items() if own and size >= gangs[name]]
        if not large:
            return None
        piece = min(large)
        node = supply[piece].pop(0)
        placed[name] = {node: gangs[name]}
        for size in pieces(piece - gangs[name]) if piece > gangs[name] else ():
            supply.setdefault(size, []).insert(0, node)
    return {name: placed[name] for name in gangs}
