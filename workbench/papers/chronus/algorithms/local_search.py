"""Local search placement of small best-effort gangs (section 3.4.2, Algorithm 1), and quasi-consolidation.

(7)  RW(j, A) = G_j x RTS(j, A) / RTS(j, A*): the gang's GPUs times its speed over that of the consolidated gang.
(8)  pot(j) = max_A RW(j, A) - min_A RW(j, A): what a bad placement would cost.

Gangs are sorted by potential. For the first K all combinations of placements are looked at, where K is the largest
number with which the product of the numbers of placements is at most |S|; the others follow by quasi-consolidation: on
the fewest nodes. The best sum of RW wins, of equal ones the first.

Placements count up to nodes that are alike (ours; the paper lists those it has profiled), and combinations that take
the same GPUs twice do not occur. Combinations that leave the same free GPUs are one state, of which the best is kept,
so that the search is exhaustive without visiting each.

Placements of one gang up to nodes that are alike take GPUs from nodes by how many of theirs are free. A state is the
free GPUs of the nodes that have some, the most first. A way is what is taken from nodes with so many free GPUs; its
shape is what is taken from each node, whatever was free there, and decides how fast a gang runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from workbench.base.errors import InputError, counted

_State = tuple[int, ...]
"""Free GPUs of each node that has some, falling."""
Shape = tuple[int, ...]
"""GPUs on each node of a gang, falling."""
Way = tuple[tuple[int, int], ...]
"""`(free GPUs, GPUs taken)` of each node of a gang."""


def state_of(free: Iterable[int]) -> _State:
    """The state of nodes with these free GPUs."""
    return tuple(sorted((gpus for gpus in free if gpus > 0), reverse=True))


def shape_of(way: Way) -> Shape:
    """What a way takes from each node."""
    return tuple(sorted((taken for _, taken in way), reverse=True))


def after(state: _State, way: Way) -> _State:
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


def shapes(gpus: int, state: _State) -> Iterator[Shape]:
    """Every shape that a gang can have there: its parts, falling, are no larger than the nodes' free GPUs, falling."""

    def split(missing: int, largest: int, spot: int) -> Iterator[Shape]:
        if missing == 0:
            yield ()
        elif spot < len(state):
            for part in range(min(missing, largest, state[spot]), 0, -1):
                for rest in split(missing - part, part, spot + 1):
                    yield (part, *rest)

    return split(gpus, gpus, 0)


def ways(gpus: int, state: _State) -> Iterator[Way]:
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


def fewest(gpus: int, state: _State) -> Way | None:
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


TOLERANCE = 1e-9
"""Rewards that differ by no more, relative to their size, are equal."""
SpeedOf = Callable[[str, Shape], float]
"""RTS: steps/s of a gang with so many GPUs on each of its nodes, falling."""


@dataclass(frozen=True)
class PlacedGangs:
    """gpus: `{job: {node: GPUs}}`; reward: the sum of RW; searched: K, the gangs whose placements were searched."""

    gpus: Mapping[str, Mapping[str, int]]
    reward: float
    searched: int


class _Gangs:
    """The gangs with what they earn, sorted by potential."""

    def __init__(self, gangs: Mapping[str, int], state: _State, node_gpus: int, speed: SpeedOf) -> None:
        self.size = dict(gangs)
        self._speed, self._kept = speed, dict[tuple[str, Shape], float]()
        self._best: dict[str, float] = {}
        for name, gpus in gangs.items():
            self._best[name] = speed(name, most_consolidated(gpus, node_gpus))
            if not self._best[name] > 0:
                raise InputError(f"job {name}, consolidated steps/s", self._best[name], "a number above 0")
        worth = {name: [self.reward(name, shape) for shape in shapes(gpus, state)] for name, gpus in gangs.items()}
        self.most = {name: max(own) for name, own in worth.items()}
        self.potential = {name: self.most[name] - min(own) for name, own in worth.items()}
        self.order = sorted(gangs, key=lambda name: -self.potential[name])

    def reward(self, name: str, shape: Shape) -> float:
        """(7)."""
        key = (name, shape)
        if key not in self._kept:
            self._kept[key] = self.size[name] * self._speed(name, shape) / self._best[name]
        return self._kept[key]


def local_search(
    gangs: Mapping[str, int], free: Mapping[str, int], node_gpus: int, speed: SpeedOf, most: int = 100_000
) -> PlacedGangs:
    """GPUs for every gang on nodes with these free GPUs; speed: RTS; most: |S|.

    Raises InputError for gangs that ask for more GPUs in all than are free, or for none, and for one that does not run
    even consolidated.
    """
    for name, gpus in gangs.items():
        if gpus < 1:
            raise InputError(f"job {name}, GPUs", gpus, "a whole number >= 1")
    if sum(gangs.values()) > sum(free.values()):
        expected = f"at most the {counted(sum(free.values()), 'free GPU')}"
        raise InputError("GPUs of the gangs to place", sum(gangs.values()), expected)
    state = state_of(free.values())
    own = _Gangs(gangs, state, node_gpus, speed)
    bound = sum(own.most.values())
    reward, chosen = _quasi(own, own.order, state)
    searched = 0
    if reward < bound - TOLERANCE * max(1.0, bound):
        searched = _how_many(own, state, most)
        reward, chosen = _searched(own, searched, state)
    return PlacedGangs(_on_nodes(dict(zip(own.order, chosen, strict=True)), free, gangs), reward, searched)


def quasi_consolidate(gangs: Mapping[str, int], free: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """`{node: GPUs}` for gangs in their order, each on the fewest nodes; who has no room is missing."""
    state, chosen = state_of(free.values()), dict[str, Way]()
    for name, gpus in gangs.items():
        way = fewest(gpus, state)
        if way is not None:
            chosen[name] = way
            state = after(state, way)
    return _on_nodes(chosen, free, gangs)


def _how_many(own: _Gangs, state: _State, most: int) -> int:
    """K."""
    product, number = 1, 0
    for name in own.order:
        product *= sum(1 for _ in islice(ways(own.size[name], state), most // product + 1))
        if product > most:
            break
        number += 1
    return number


def _quasi(own: _Gangs, names: Sequence[str], state: _State) -> tuple[float, list[Way]]:
    """The sum of RW and the ways of gangs placed one after the other on the fewest nodes."""
    total, chosen = 0.0, []
    for name in names:
        way = fewest(own.size[name], state)
        assert way is not None  # there are enough free GPUs for all
        total += own.reward(name, shape_of(way))
        state = after(state, way)
        chosen.append(way)
    return total, chosen


def _searched(own: _Gangs, number: int, state: _State) -> tuple[float, list[Way]]:
    """The best sum of RW and its ways, in the order of the gangs: states one gang after the other, then the rest."""
    levels: list[dict[_State, tuple[float, _State, Way]]] = []
    front: dict[_State, float] = {state: 0.0}
    for name in own.order[:number]:
        found: dict[_State, tuple[float, _State, Way]] = {}
        for before, earned in front.items():
            for way in ways(own.size[name], before):
                then, total = after(before, way), earned + own.reward(name, shape_of(way))
                if then not in found or total > found[then][0]:
                    found[then] = (total, before, way)
        levels.append(found)
        front = {then: total for then, (total, _, _) in found.items()}
    best, best_state, rest = -1.0, state, list[Way]()
    for final, earned in front.items():
        more, chosen = _quasi(own, own.order[number:], final)
        if earned + more > best + TOLERANCE * max(1.0, best):
            best, best_state, rest = earned + more, final, chosen
    chosen = []
    for found in reversed(levels):
        _, before, way = found[best_state]
        chosen.append(way)
        best_state = before
    return best, [*reversed(chosen), *rest]


def _on_nodes(
    chosen: Mapping[str, Way], free: Mapping[str, int], order: Mapping[str, int]
) -> dict[str, dict[str, int]]:
    """Ways on nodes: of those that have as many free GPUs as a way says, the first."""
    left, placed = dict(free), dict[str, dict[str, int]]()
    for name, way in chosen.items():
        mine: dict[str, int] = {}
        for level, taken in way:
            node = next(node for node, gpus in left.items() if gpus == level and node not in mine)
            mine[node] = taken
        for node, taken in mine.items():
            left[node] -= taken
        placed[name] = mine
    return {name: placed[name] for name in order if name in placed}
