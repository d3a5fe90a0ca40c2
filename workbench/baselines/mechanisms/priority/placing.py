"""Nodes for the chosen units: each where its worker type says, or, if there is no such room, on its GPUs otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workbench.baselines.mechanisms.priority.memory import SharePlan
from workbench.baselines.mechanisms.priority.picking import Picked
from workbench.scheduling.decision import Snapshot, Unit
from workbench.scheduling.placement import FreeGpus, Gpus, Request, Style, place, runs_spread


class Placing:
    """Nodes for the units of one round. gpus: what each has found; had: GPUs that units hold until now."""

    def __init__(self, snapshot: Snapshot, plan: SharePlan, style: Style, had: Mapping[Unit, Gpus]) -> None:
        self.gpus: dict[Unit, Gpus] = {}
        self._snapshot, self._plan, self._style, self._had = snapshot, plan, style, had
        self._room = FreeGpus(snapshot.nodes, (lease.gpus for lease in snapshot.leases.values()))
        self._accept = runs_spread(snapshot)

    def place(self, picked: Picked) -> Picked:
        """Those of the chosen units that find GPUs, with the worker types they really get; who can stay does.

        Where placement counts: of equal gangs those that are to be spread come first, since gangs that are together
        fill up node by node; who finds no room of its kind takes the other placement of the type, if it runs there.
        """
        units = self._plan.units
        requests = self._requests(picked)
        self._place(requests)
        if len(self.gpus) == len(requests):
            return picked
        got = [
            (unit, kind if units[unit] in self.gpus else self.find(unit, kind))
            for unit, kind in zip(*picked, strict=True)
        ]
        placed = [(unit, kind) for unit, kind in got if kind is not None]
        return Picked([unit for unit, _ in placed], [kind for _, kind in placed])

    def find(self, unit: int, kind: int) -> int | None:
        """Place one more unit on a worker type, or in its other placement; returns where, None without room."""
        for each in (kind, _other(self._plan, unit, kind)):
            if each is not None:
                self._place(self._requests(Picked([unit], [each])))
                if self._plan.units[unit] in self.gpus:
                    return each
        return None

    def _place(self, requests: Sequence[Request]) -> None:
        self.gpus.update(place(requests, self._room, self._style, accept=self._accept))

    def _requests(self, picked: Picked) -> list[Request]:
        units, gangs, pools, had = self._plan.units, self._plan.gangs, self._plan.pools, self._had.get
        requests = [
            Request(units[unit], pools[kind], gangs[unit], had(units[unit])) for unit, kind in zip(*picked, strict=True)
        ]
        if not self._plan.placed:
            return requests
        limited = [self._limited(request, kind) for request, kind in zip(requests, picked.kinds, strict=True)]
        return sorted(limited, key=lambda request: request.least == 1)

    def _limited(self, request: Request, kind: int) -> Request:
        """The request, on as many nodes as the worker type says."""
        worker = self._plan.kinds[kind]
        fewest = self._snapshot.cluster.fewest_nodes(worker.accelerator, request.gpus) or request.gpus
        if worker.placement == "unconsolidated":
            return request._replace(least=fewest + 1)
        return request._replace(most=None if worker.placement is None else fewest)


def _other(plan: SharePlan, unit: int, kind: int) -> int | None:
    """The other placement of an accelerator type, if the unit runs there."""
    found = np.flatnonzero((plan.pool == plan.pool[kind]) & plan.fits[unit])
    return next((other for other in found.tolist() if other != kind), None)
