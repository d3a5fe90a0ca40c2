"""Placements of one gang up to nodes that are alike: GPUs taken from nodes by how many of theirs are free.

A state is the free GPUs of the nodes that have some, the most first. A way is what is taken from nodes with so many
free GPUs; its shape is what is taken from each node, whatever was free there, and decides how fast a gang runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

State = tuple[int, ...]
"""Free GPUs of each node that has some, falling."""
Shape = tuple[int, ...]
"""GPUs on each node of a gang, falling."""
Way = tuple[tuple[int, int], ...]
"""`(free GPUs, GPUs taken)` of each node of a gang."""


def state_of(free: Iterable[int]) -> State:
    """The state of nodes with these free GPUs."""
    return tuple(sorted((gpus for gpus in free if gpus > 0), reverse=True))


def shape_of(way: Way) -> Shape:
    """What a way takes from each node."""
    return tuple(sorted((taken for _, taken in way), reverse=True))


def after(state: State, way: Way) -> State:
    """The state when a way is taken."""
    left = Counter(state)
    for free, taken in way:
        left[free] -= 1
        left[free - taken] += 1
    return state_of(left.elements())


def most_consolidated(gpus: int, node_gpus: int) -> Shape:
    """The shape on the fewest nodes of that size."""
    whole, rest = divmod(gpus, node_gpus)
    return (*(node_gpus,) * whole, *((rest,) if rest else ()))


def shapes(gpus: int, state: State) -> Iterator[Shape]:
    """Every shape that a gang can have there: its parts, falling, are no larger than the nodes' free GPUs, falling."""

    def split(missing: int, largest: int, spot: int) -> Iterator[Shape]:
        if missing == 0:
            yield ()
        elif spot < len(state):
            for part in range(min(missing, largest, state[spot]), 0, -1):
                for rest in split(missing - part, part, spot + 1):
                    yield (part, *rest)

    return split(gpus, gpus, 0)


def ways(gpus: int, state: State) -> Iterator[Way]:
    """Every way to place a gang, each once."""
    levels = sorted(Counter(state).items(), reverse=True)

    def choose(missing: int, spot: int, number: int, largest: int) -> Iterator[Way]:
        """Ways for what is missing: from `number` more nodes of this level, none more than `largest`, or from later
        levels."""
        if missing == 0:
            yield ()
            return
        if spot == len(levels):
            return
        free = levels[spot][0]
        if number:
            for taken in range(min(missing, largest), 0, -1):
                for rest in choose(missing - taken, spot, number - 1, taken):
                    yield ((free, taken), *rest)
        if spot + 1 < len(levels):
            yield from choose(missing, spot + 1, levels[spot + 1][1], levels[spot + 1][0])

    return choose(gpus, 0, levels[0][1], levels[0][0]) if levels else iter(())


def fewest(gpus: int, state: State) -> Way | None:
    """The way on the fewest nodes; None if there are too few GPUs.

    One node: the one with the fewest free GPUs that are enough. Else those with the most, and for the last piece the
    one with the fewest that are enough.
    """
    found: list[tuple[int, int]] = []
    for spot, free in enumerate(state):
        if free >= gpus:
            snug = min(level for level in state[spot:] if level >= gpus)
            return (*found, (snug, gpus))
        found.append((free, free))
        gpus -= free
    return None
