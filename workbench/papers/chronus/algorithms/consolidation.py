"""Consolidated gangs: rounding up to friendly ones (section 3.4.1), and where gangs go.

A node of n GPUs splits into pieces of powers of two (8 = 8, 6 = 4 + 2). A gang is friendly if it is a power of two of
at most the largest piece, or whole nodes. On nodes of 8 GPUs these are the paper's {1, 2, 4, 8n}.

(erratum) The paper has it that splitting nodes into pieces is enough for other sizes of nodes. It is not: two nodes of
6 GPUs have 12, but do not hold three gangs of 4 whole. What is enough is one limit for each power of two h: the GPUs of
gangs in pieces of h or larger are at most those that the nodes have in such pieces. A gang of whole nodes takes the
pieces of its nodes. Where nodes are a power of two, the limit of h = 1 implies the others and is (6).

`place_friendly` is the construction of Proposition 1: gangs of whole nodes first. Then the other nodes are split into
pieces of powers of two, and the gangs placed from the largest on, each in the smallest piece that holds it, of which
the rest goes back as smaller pieces. If the gangs keep the limits of `round_up`, there is always a piece: the pieces of
at least a gang's size add up to a multiple of it.

`consolidated` says whether gangs of any size can all be placed consolidated, of which rounding up makes sure. A gang of
g GPUs is consolidated on ceil(g / n) nodes of n GPUs. Deciding this for gangs that are not friendly is a
packing problem; this tries all ways, up to nodes that are alike, for few gangs and nodes.

`place_guaranteed` says where guaranteed jobs run in a lease (section 3.4.1). Rounded up, the gangs of a lease can all
be consolidated where the nodes of a type have one size that is a power of two; gangs that have leases again stay where
they are if that is still so. As in the paper they do not spare the nodes of best-effort jobs, who are placed anew where
theirs are taken. Not rounded up, a gang that cannot be consolidated waits, as in the paper's comparison (Fig. 8a), and
may miss. (ours): where nodes differ in size gangs are counted as asked for and go to the fewest nodes, where they may
be slower than a guarantee reckons with.

`place_best_effort` has large best-effort and unguaranteed gangs on whole nodes, small ones by local search (section
3.4.2). Gangs of 16 GPUs or more that round up to whole nodes get nodes that are entirely free, in the order of the
list; one for which there are too few waits. Then the others are placed, those first in the list as long as there are
GPUs for them, also on what a large gang leaves of its last node (ours: rounded up, it would hold that too).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import IntArray
from workbench.base.errors import InputError
from workbench.papers.chronus.algorithms.local_search import (
    PlacedGangs,
    SpeedOf,
    after,
    fewest,
    local_search,
    quasi_consolidate,
    state_of,
)
from workbench.scheduling.placement import Gpus

WHOLE = "a whole number >= 1"


def pieces(node_gpus: int) -> tuple[int, ...]:
    """The powers of two that add up to a node's GPUs, the largest first; raises InputError for what is no number."""
    try:
        return _pieces(node_gpus)
    except TypeError:  # a list or an array, which nothing can be kept for
        raise InputError("GPUs of a node", node_gpus, WHOLE) from None


@lru_cache(typed=True)  # True is no number of GPUs
def _pieces(node_gpus: int) -> tuple[int, ...]:
    if isinstance(node_gpus, bool) or not isinstance(node_gpus, (int, np.integer)) or node_gpus < 1:
        raise InputError("GPUs of a node", node_gpus, WHOLE)
    return tuple(1 << bit for bit in reversed(range(int(node_gpus).bit_length())) if node_gpus >> bit & 1)


def powers(node_gpus: int) -> tuple[int, ...]:
    """The sizes h of pieces that need a limit of their own, the smallest first: those at which a node loses GPUs.

    (1,) where the node is a power of two.
    """
    own = sorted(pieces(node_gpus))
    return (1, *(2 * smaller for smaller in own[:-1]))


def in_pieces(gpus: npt.ArrayLike, node_gpus: int, sizes: tuple[int, ...]) -> IntArray:
    """(gangs x sizes) GPUs that friendly gangs take in pieces of at least each size."""
    gangs = np.asarray(gpus, dtype=np.int64).reshape(-1)
    taken = np.empty((len(gangs), len(sizes)), dtype=np.int64)
    for column, size in enumerate(sizes):
        of_a_node = sum(piece for piece in pieces(node_gpus) if piece >= size)
        part = np.where(gangs >= size, gangs, 0)
        taken[:, column] = np.where(gangs % node_gpus == 0, gangs // node_gpus * of_a_node, part)
    return taken


def is_friendly(gpus: int, node_gpus: int) -> bool:
    """Whether a gang is consolidation-friendly on nodes of that size."""
    return round_up(gpus, node_gpus) == gpus


def round_up(gpus: int, node_gpus: int) -> int:
    """The smallest friendly gang of at least so many GPUs; raises InputError for what is no number of GPUs."""
    try:
        return _round_up(gpus, node_gpus)
    except TypeError:
        pieces(node_gpus)  # if it is the node's that is none
        raise InputError("GPUs of a gang", gpus, WHOLE) from None


@lru_cache(10_000, typed=True)
def _round_up(gpus: int, node_gpus: int) -> int:
    if isinstance(gpus, bool) or not isinstance(gpus, (int, np.integer)) or gpus < 1:
        raise InputError("GPUs of a gang", gpus, WHOLE)
    power = 1 << (int(gpus) - 1).bit_length()
    return power if power <= pieces(node_gpus)[0] else -(-int(gpus) // node_gpus) * node_gpus


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


def place_guaranteed(
    gangs: Mapping[str, int],
    free: Mapping[str, int],
    node_gpus: int | None,
    previous: Mapping[str, Gpus],
    *,
    rounded: bool,
) -> dict[str, dict[str, int]]:
    """`{node: GPUs}` of the gangs that have room; who has none waits.

    node_gpus: of every node, None if they differ; previous: where gangs are now.
    """
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


def place_best_effort(
    gangs: Mapping[str, int],
    free: Mapping[str, int],
    node_gpus: int,
    speed: SpeedOf,
    most: int = 100_000,
    large: int = 16,
) -> PlacedGangs:
    """`{node: GPUs}` of the gangs for which there is room, see `local_search`; the reward is that of all of them.

    gangs: in the order in which they are served, the shortest first; large: from how many GPUs on.
    """
    left, placed, reward = dict(free), dict[str, Mapping[str, int]](), 0.0
    whole = {name for name, gpus in gangs.items() if gpus >= large and round_up(gpus, node_gpus) % node_gpus == 0}
    for name in (name for name in gangs if name in whole):
        empty = [node for node, gpus in left.items() if gpus == node_gpus][: -(-gangs[name] // node_gpus)]
        if len(empty) * node_gpus >= gangs[name]:
            last = gangs[name] - (len(empty) - 1) * node_gpus
            placed[name] = {**dict.fromkeys(empty[:-1], node_gpus), empty[-1]: last}
            reward += gangs[name]
            for node, count in placed[name].items():
                left[node] -= count
    free_gpus, small = sum(left.values()), dict[str, int]()
    for name, gpus in gangs.items():
        if name not in whole and gpus <= free_gpus:
            small[name] = gpus
            free_gpus -= gpus
    found = local_search(small, left, node_gpus, speed, most)
    every = {**placed, **found.gpus}
    return PlacedGangs({name: every[name] for name in gangs if name in every}, reward + found.reward, found.searched)
