"""Putting chosen allocations, which count GPUs by type, on real servers."""

from __future__ import annotations

from workbench.scheduling.decision import IntArray
from workbench.scheduling.placement import FreeGpus, Gpus


def place(room: FreeGpus, workers: IntArray, servers: int) -> Gpus | None:
    """GPUs taken from the room, by type on the fewest servers, or on exactly `servers` if these are more.

    workers: (types,) GPUs. Returns None, and takes nothing, if a type has too few. Several types stay on the fewest.
    """
    wanted = [(kind, count) for kind, count in enumerate(workers.tolist()) if count]
    found: dict[str, int] = {}
    for kind, count in wanted:
        piece = room.consolidate(kind, count)
        if piece is None:
            give_back(room, found)
            return None
        found |= piece
    if len(wanted) == 1 and len(found) < servers:
        give_back(room, found)
        return _wider(room, *wanted[0], servers)
    return found


def keep(room: FreeGpus, gpus: Gpus) -> bool:
    """Take the same GPUs again, of one type or several; returns whether all were free."""
    taken: dict[str, int] = {}
    for node, count in gpus.items():
        if not room.keep(room.kind_of({node: count}), count, {node: count}):
            give_back(room, taken)
            return False
        taken[node] = count
    return True


def give_back(room: FreeGpus, gpus: Gpus) -> None:
    """Undo a taking of GPUs of one type or several."""
    for node, count in gpus.items():
        room.give_back(room.kind_of({node: count}), {node: count})


def _wider(room: FreeGpus, kind: int, count: int, servers: int) -> Gpus | None:
    """One GPU on each of the emptiest `servers` servers of a type, the rest on these in their order."""
    sizes = [
        (-free, at)
        for at, (free, name) in enumerate(zip(room.free, room.names, strict=True))
        if free > 0 and room.kind_of({name: 1}) == kind
    ]
    chosen = [at for _, at in sorted(sizes)[:servers]]
    if len(chosen) < servers or sum(room.free[at] for at in chosen) < count:
        return None
    spread, missing = dict.fromkeys(chosen, 1), count - servers
    for at in chosen:
        more = min(room.free[at] - 1, missing)
        spread[at] += more
        missing -= more
    gpus = {room.names[at]: n for at, n in spread.items()}
    return gpus if room.keep(kind, count, gpus) else None
