"""Nodes for the chosen units: each where its worker type says, or, if there is no such room, on its GPUs otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from workbench.decision import Snapshot, Unit
from workbench.mechanisms.priority.memory import Plan
from workbench.mechanisms.priority.picking import Picked
from workbench.placement import Gpus, Request, Room, Style, place, runs_spread


class Placed(NamedTuple):
    """Units that have GPUs, with the worker types that they really got, and the GPUs."""

    running: Picked
    gpus: dict[Unit, Gpus]


def place_units(snapshot: Snapshot, plan: Plan, picked: Picked, style: Style, had: Mapping[Unit, Gpus]) -> Placed:
    """GPUs for the chosen units, those they had where they can stay; had: of those who hold GPUs until now.

    Where placement counts: of equal gangs those that are to be spread come first, since gangs that are together fill up
    node by node; who finds no room of its kind takes the other placement of the type, if it runs there.
    """
    room = Room(snapshot.nodes, (lease.gpus for lease in snapshot.leases.values()))
    accept = runs_spread(snapshot)
    want = [_request(snapshot, plan, unit, kind, had) for unit, kind in zip(*picked, strict=True)]
    gpus = place(sorted(want, key=lambda request: request.least == 1), room, style, accept=accept)
    if len(gpus) == len(want):
        return Placed(picked, gpus)
    kinds = list(picked.kinds)
    for spot, unit in enumerate(picked.units):
        other = _other(plan, unit, kinds[spot]) if plan.units[unit] not in gpus else None
        if other is not None:
            request = _request(snapshot, plan, unit, other, had)
            gpus.update(place([request], room, style, accept=accept))
            kinds[spot] = other
    return Placed(Picked(picked.units, kinds).only([plan.units[unit] in gpus for unit in picked.units]), gpus)


def _request(snapshot: Snapshot, plan: Plan, unit: int, kind: int, had: Mapping[Unit, Gpus]) -> Request:
    gang, worker = plan.gangs[unit], plan.kinds[kind]
    request = Request(plan.units[unit], int(plan.pool[kind]), gang, had.get(plan.units[unit]))
    if worker.placement is None:
        return request
    fewest = snapshot.cluster.fewest_nodes(worker.accelerator, gang) or gang
    return request._replace(most=fewest) if worker.placement == "consolidated" else request._replace(least=fewest + 1)


def _other(plan: Plan, unit: int, kind: int) -> int | None:
    """The other placement of an accelerator type, if the unit runs there."""
    found = np.flatnonzero((plan.pool == plan.pool[kind]) & plan.fits[unit])
    return next((other for other in found.tolist() if other != kind), None)
