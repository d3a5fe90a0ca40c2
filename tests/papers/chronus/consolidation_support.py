"""Consolidated placement by trying every way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workbench.base.errors import InputError

MOST_STATES = 2_000_000
"""Different sets of free GPUs that may be looked at."""


def consolidated(gangs: Mapping[str, int], free: Mapping[str, int], node_gpus: int) -> dict[str, dict[str, int]] | None:
    """`{node: GPUs}` for every gang, each on ceil(g / node_gpus) nodes, on nodes with these free GPUs; None if there
    is no way.

    Raises InputError for gangs of less than a GPU, and where the ways are too many to try.
    """
    for name, gpus in gangs.items():
        if gpus < 1:
            raise InputError(f"job {name}, GPUs", gpus, "a whole number >= 1")
    order = sorted(gangs, key=lambda name: -gangs[name])
    dead: set[tuple[int, tuple[int, ...]]] = set()
    placed: dict[str, dict[str, int]] = {}

    def fits(spot: int, left: dict[str, int]) -> bool:
        if spot == len(order):
            return True
        state = (spot, tuple(sorted(left.values())))
        if state in dead:
            return False
        if len(dead) >= MOST_STATES:
            raise InputError("consolidated placement", f"{len(gangs)} gangs on {len(free)} nodes", "fewer of them")
        name = order[spot]
        for way in _ways(gangs[name], -(-gangs[name] // node_gpus), left):
            after = {node: gpus - way.get(node, 0) for node, gpus in left.items()}
            if fits(spot + 1, after):
                placed[name] = way
                return True
        dead.add(state)
        return False

    return {name: placed[name] for name in gangs} if fits(0, dict(free)) else None


def _ways(gpus: int, count: int, left: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Ways to take GPUs from exactly `count` nodes, one for each set of ways that differ only in alike nodes."""
    nodes = sorted((node for node in left if left[node] > 0), key=lambda node: -left[node])

    def take(start: int, missing: int, more: int, before: tuple[int, int]) -> Iterator[dict[str, int]]:
        if more == 0:
            if missing == 0:
                yield {}
            return
        seen: set[tuple[int, int]] = set()
        for spot in range(start, len(nodes)):
            there = left[nodes[spot]]
            for taken in range(min(there, missing - more + 1), 0, -1):
                # Of alike nodes, the earlier one gives no less than the later.
                if (there, taken) in seen or (there == before[0] and taken > before[1]):
                    continue
                seen.add((there, taken))
                for rest in take(spot + 1, missing - taken, more - 1, (there, taken)):
                    yield {nodes[spot]: taken, **rest}

    yield from take(0, gpus, count, (0, 0))
