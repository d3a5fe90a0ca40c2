"""Jobs move to faster accelerator types on which GPUs are left over; nobody makes room for them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.baselines.mechanisms.line import Keys, in_line
from workbench.scheduling import queues
from workbench.scheduling.decision import Snapshot, Unit
from workbench.scheduling.placement import FreeGpus, Gpus, Request, place, runs_spread


def move_up(
    snapshot: Snapshot, keys: Keys, held: dict[Unit, Gpus], room: FreeGpus, restart_s: Mapping[int, float]
) -> bool:
    """Move jobs to free GPUs of types on which they are done sooner; returns whether anybody moved.

    Down the line each job takes the type on which its believed remaining time is shortest, the `restart_s` of its gang
    included if it runs already; and again, since movers leave GPUs to others, until nobody gains. `held` and `room`
    change. This ends: a move makes one job sooner and none later.
    """
    moved = False
    while len(snapshot.types) > 1 and any(room.free) and _Offer(snapshot, held, room, restart_s).down_the_line(keys):
        moved = True
    return moved


class _Offer:
    """The GPUs left over, offered once to everybody who holds some.

    rows: of the jobs, ascending; left: free GPUs per type. By job: most_s, seconds in which it must be done elsewhere
    to gain; restart_s that it loses by moving; go_s (jobs x types), believed seconds until it is done if it moves, as
    if on the fewest nodes.
    """

    def __init__(
        self, snapshot: Snapshot, held: dict[Unit, Gpus], room: FreeGpus, restart_s: Mapping[int, float]
    ) -> None:
        self.snapshot, self.held, self.room = snapshot, held, room
        self.left = room.left(len(snapshot.types))
        self.rows = np.array(sorted(snapshot.jobs.at[str(unit)] for unit in held), dtype=np.int64)
        self.jobs = jobs = queues.take(snapshot.jobs, self.rows)
        gpus = [held[name] for name in jobs.names]
        speed = snapshot.belief.speeds(jobs)
        here = speed[np.arange(len(gpus)), [room.kind_of(those) for those in gpus]]
        for spot, those in enumerate(gpus):
            if len(those) > 1:
                here[spot] = snapshot.belief.on_nodes(jobs.jobs[spot], those)
        has = {**snapshot.leases, **snapshot.ended}
        runs = [name in has and has[name].gpus == those for name, those in zip(jobs.names, gpus, strict=True)]
        costs = [restart_s[gang] if on else 0.0 for gang, on in zip(jobs.gpus.tolist(), runs, strict=True)]
        stay_s = queues.seconds(jobs.steps_left, here)
        self.restart_s = np.array(costs)
        self.most_s = stay_s - queues.TOLERANCE * np.where(stay_s < np.inf, np.maximum(1.0, stay_s), 0.0)
        self.go_s = queues.seconds(jobs.steps_left[:, None], speed) + self.restart_s[:, None]

    def down_the_line(self, keys: Keys) -> bool:
        """Let everybody take what suits best; returns whether anybody took something."""
        gains = (self.jobs.gpus[:, None] <= np.array(self.left)) & (self.go_s < self.most_s[:, None])
        gainers = np.flatnonzero(gains.any(axis=1))
        spot_of = dict(zip(self.rows[gainers].tolist(), gainers.tolist(), strict=True))
        ranked = dict(zip(spot_of, np.argsort(self.go_s[gainers], axis=1, kind="stable").tolist(), strict=True))
        moved = False
        for row in in_line(list(spot_of), keys):
            spot = spot_of[row]
            moved |= any(gains[spot, kind] and self._move(spot, kind) for kind in ranked[row])
        return moved

    def _move(self, spot: int, kind: int) -> bool:
        """Move a job to a type, unless too few GPUs are left or it does not gain on those nodes that have them."""
        name, gang = self.jobs.names[spot], int(self.jobs.gpus[spot])
        if self.left[kind] < gang:
            return False
        found = place([Request(name, kind, gang)], self.room, accept=runs_spread(self.snapshot)).get(name)
        if found is None:
            return False
        if len(found) > 1:
            speed = self.snapshot.belief.on_nodes(self.jobs.jobs[spot], found)
            if self.restart_s[spot] + self.jobs.steps_left[spot] / speed >= self.most_s[spot]:
                self.room.give_back(kind, found)
                return False
        before, self.held[name] = self.held[name], found
        self.room.lend(before)
        self.left[self.room.kind_of(before)] += gang
        self.left[kind] -= gang
        return True
