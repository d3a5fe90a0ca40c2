"""From shapes back to servers: which server each piece of an aggregated plan is on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from workbench.papers.hops.aggregation import Aggregate
from workbench.papers.hops.configurations import Layout
from workbench.papers.hops.instance import Placed, RoundPlan, shape_of
from workbench.scheduling.solvers import SolverFailedError

NO_LAYOUTS: Mapping[int, Layout] = {}


def lift(
    data: Aggregate, taken: Mapping[int, int], cut: Sequence[int], previous: Mapping[int, Layout] = NO_LAYOUTS
) -> RoundPlan:
    """Servers for each job (row) that gets a choice (position); cut: how often each pattern is used.

    A job stays where it was (`previous`) if its shape is the same, as long as the other pieces then fit in somewhere;
    otherwise servers are cut as the plan says, in their order. Pieces of a job are on different servers where that can
    be done, also by exchanging equal pieces with another job. Else two of them are one larger piece: fewer servers than
    planned, and the gain counted is that of the plan.
    """
    wanted = {row: data.shapes[data.shape[choice]] for row, choice in taken.items()}
    kept = {row: at for row, at in previous.items() if row in wanted and shape_of(at, data.pools) == wanted[row]}
    packed = _packed(data, wanted, kept) if kept else None
    pieces = packed if packed is not None else _Cut(data, wanted, cut).at
    return {row: Placed(_merged(found), float(data.gain[taken[row]])) for row, found in sorted(pieces.items())}


Pieces = dict[int, list[tuple[int, int]]]
"""The (server, GPUs) pieces of each job."""
Wanted = Mapping[int, Sequence[tuple[int, int]]]
"""The (pool, GPUs) pieces that each job is to get."""


def _merged(pieces: Sequence[tuple[int, int]]) -> Layout:
    total: Counter[int] = Counter()
    for server, gpus in pieces:
        total[server] += gpus
    return tuple(sorted(total.items()))


def _largest_first(wanted: Wanted) -> Iterator[tuple[int, int, int]]:
    """(job, pool, GPUs) of every piece, the largest first."""
    pieces = [(row, pool, gpus) for row, shape in wanted.items() for pool, gpus in shape]
    return iter(sorted(pieces, key=lambda piece: (-piece[2], piece[0])))


def _packed(data: Aggregate, wanted: Wanted, kept: Mapping[int, Layout]) -> Pieces | None:
    """Those that stay, then the largest pieces first, each on the fullest server that holds it; None if that fails."""
    free = data.data.idle.tolist()
    at: Pieces = {row: [] for row in wanted}
    for row, layout in kept.items():
        if all(free[server] >= gpus for server, gpus in layout):
            at[row] = list(layout)
            for server, gpus in layout:
                free[server] -= gpus
    for row, pool, gpus in _largest_first({row: shape for row, shape in wanted.items() if not at[row]}):
        taken = {server for server, _ in at[row]}
        fits = [server for server in data.members[pool] if free[server] >= gpus and server not in taken]
        if not fits:
            return None
        server = min(fits, key=lambda server: (free[server], server))
        free[server] -= gpus
        at[row].append((server, gpus))
    return at


class _Cut:
    """Pieces dealt out from servers that are cut as the plan says."""

    def __init__(self, data: Aggregate, wanted: Wanted, cut: Sequence[int]) -> None:
        self._data = data
        self._left = self._supply(cut)
        self.at: Pieces = {row: [] for row in wanted}
        # Jobs on many servers first: they are the hardest to keep apart.
        for row in sorted(wanted, key=lambda row: (-len(wanted[row]), row)):
            for pool, gpus in sorted(wanted[row], key=lambda piece: -piece[1]):
                self._place(row, pool, gpus)

    def _supply(self, cut: Sequence[int]) -> dict[tuple[int, int], Counter[int]]:
        """{(pool, GPUs): how many such pieces each server still has}."""
        data = self._data
        members: dict[tuple[int, int], list[int]] = {}
        for server, group in enumerate(zip(data.pools, data.data.idle.tolist(), strict=True)):
            members.setdefault(group, []).append(server)
        unused = {group: iter(servers) for group, servers in members.items()}
        found: dict[tuple[int, int], Counter[int]] = {}
        for (spot, pattern), times in zip(data.cuts, cut, strict=True):
            pool = data.groups[spot][0]
            for _ in range(times):
                server = next(unused[data.groups[spot]])
                for gpus in pattern:
                    found.setdefault((pool, gpus), Counter())[server] += 1
        return found

    def _place(self, row: int, pool: int, gpus: int) -> None:
        left = self._left.get((pool, gpus), Counter())
        free = [server for server, number in left.items() if number > 0]
        if not free:
            raise SolverFailedError("hops.round", f"no piece of {gpus} GPUs left", "as many as the plan takes")
        taken = {server for server, _ in self.at[row]}
        apart = [server for server in free if server not in taken]
        server = min(apart or free)
        left[server] -= 1
        self.at[row].append((server if apart else self._exchanged(row, pool, gpus, server, taken), gpus))

    def _exchanged(self, row: int, pool: int, gpus: int, server: int, taken: set[int]) -> int:
        """The server of another job's equal piece, which moves to `server`; without one, `server` itself."""
        for other, pieces in self.at.items():
            if other == row or any(place == server for place, _ in pieces):
                continue
            for spot, (place, size) in enumerate(pieces):
                if size == gpus and place not in taken and self._data.pools[place] == pool:
                    pieces[spot] = (server, gpus)
                    return place
        return server
