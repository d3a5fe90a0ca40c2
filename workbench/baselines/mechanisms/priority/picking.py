"""Algorithm 1: who runs in this round, and on which type."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.priority.knobs import AUTHORS_ORDER
from workbench.baselines.mechanisms.priority.memory import PriorityMemory, SharePlan


class PickedUnits(NamedTuple):
    """Chosen units in the order of choice: rows of the plan and their types."""

    units: list[int]
    kinds: list[int]

    def only(self, wanted: Sequence[bool]) -> PickedUnits:
        """Those that are wanted."""
        return PickedUnits(list(compress(self.units, wanted)), list(compress(self.kinds, wanted)))


def priorities(memory: PriorityMemory, knobs: Mapping[str, Any]) -> FloatArray:
    """(units x types) `X / f`; infinite where a unit with a share has not run, 0 without a share or a speed.

    f: the unit's part of the time given out on the type, or its own rounds there (the knob `priority_over`).
    """
    plan, never = memory.plan, np.full(memory.time_s.shape, np.inf)
    unit_s = knobs["round_s"] if knobs["priority_over"] == "rounds_of_job" else memory.total_s
    value = np.divide(plan.share * unit_s, memory.time_s, out=never, where=memory.time_s > 0)
    return np.where(plan.entitled, value, 0.0)


class DrawnOrders:
    """Orders of so many things, drawn one after the other by Python's generator; what has been drawn stays."""

    def __init__(self, seed: int, count: int) -> None:
        self._generator, self._count = random.Random(seed), count
        self._drawn: list[list[int]] = []

    def number(self, n: int) -> list[int]:
        """The n-th order, from 0."""
        while len(self._drawn) <= n:
            self._drawn.append(list(range(self._count)))
            self._generator.shuffle(self._drawn[-1])
        return self._drawn[n]


_orders = lru_cache(maxsize=16)(DrawnOrders)


def type_order(types: Sequence[str], knobs: Mapping[str, Any], rng: np.random.Generator, number: int) -> list[int]:
    """Positions of the types in the order in which they are filled in round `number` (from 0).

    Types of the authors' that the cluster lacks are passed over; InputError for other names, and for one that is twice.
    """
    wanted = [name.strip() for name in str(knobs["type_order"]).split(",") if name.strip()]
    for name in wanted:
        if wanted.count(name) > 1 or (name not in types and name not in AUTHORS_ORDER):
            raise InputError("knob type_order", name, "types of the cluster, each once: " + ", ".join(types))
    agnostic = not knobs.get("heterogeneity_aware", False)
    first = [types.index(name) for name in wanted if name in types]
    order = [*first, *(i for i in range(len(types)) if i not in first)]
    if knobs["shuffle_types"] == "always" or (knobs["shuffle_types"] == "agnostic" and agnostic):
        if knobs["shuffle_seed"] is not None:
            return [order[i] for i in _orders(int(knobs["shuffle_seed"]), len(types)).number(number)]
        return [int(i) for i in rng.permutation(len(types))]
    return order


def pick(memory: PriorityMemory, priority: FloatArray, order: Sequence[int], knobs: Mapping[str, Any]) -> PickedUnits:
    """Units and types for this round, in the order of choice.

    priority: (units x types); order: positions of the types.
    """
    return _who_may(memory.plan, _take(memory.plan, _in_order(memory, priority, order, knobs)), knobs)


def pick_in_turn(
    memory: PriorityMemory,
    priority: FloatArray,
    order: Sequence[int],
    knobs: Mapping[str, Any],
    find: Callable[[int, int], int | None],
) -> PickedUnits:
    """Units and types for this round, each of which finds its nodes before the next one is looked at.

    find: gives a unit nodes of a type, and tells which type it really gets, None without room.
    """
    plan = memory.plan

    def found(unit: int, kind: int) -> int | None:
        keeps_off = knobs["leftovers"] == "known" and not plan.known[unit]
        return kind if keeps_off else find(unit, kind)

    return _who_may(plan, _take(plan, _in_order(memory, priority, order, knobs), found), knobs)


def _who_may(plan: SharePlan, picked: PickedUnits, knobs: Mapping[str, Any]) -> PickedUnits:
    """The units picked but for those that only keep others off (the knob `leftovers`)."""
    return picked.only(plan.known[picked.units].tolist()) if knobs["leftovers"] == "known" else picked


def _in_order(
    memory: PriorityMemory, priority: FloatArray, order: Sequence[int], knobs: Mapping[str, Any]
) -> PickedUnits:
    """All that may run somewhere, in the order of choice."""
    unit, kind = memory.plan.ties(tuple(order))
    value = priority[unit, kind]
    if knobs["leftovers"] == "none":
        allowed = value > 0
        unit, kind, value = unit[allowed], kind[allowed], value[allowed]
    first = np.argsort(-coarse(value), kind="stable")
    if knobs["pick"] == "by_type":
        turn = np.argsort(order)  # of each type
        first = first[np.argsort(turn[kind[first]], kind="stable")]
    return PickedUnits(unit[first].tolist(), kind[first].tolist())


def coarse(values: FloatArray) -> FloatArray:
    """Values to 30 binary digits (1e-9 relative), so that rounding errors do not decide between equals."""
    fraction, exponent = np.frexp(values)
    return np.ldexp(np.rint(fraction * 2.0**30), exponent)


def _take(plan: SharePlan, queue: PickedUnits, find: Callable[[int, int], int | None] | None = None) -> PickedUnits:
    """Go through the queue: take what fits, each job once, until no GPU or no unit is left.

    find: see `pick_in_turn`.
    """
    left: list[int] = plan.capacity.tolist()
    total, gangs, accelerator_list = sum(left), plan.gangs, plan.accelerator_list
    picked = PickedUnits([], [])
    taken: set[int] = set()  # units with a job that is in a chosen one
    for unit, kind in zip(*queue, strict=True):
        gang = gangs[unit]
        accelerator_of = accelerator_list[kind]
        if unit in taken or gang > left[accelerator_of]:
            continue
        got = kind if find is None else find(unit, kind)
        if got is None:
            continue
        for name in plan.members[unit]:
            taken.update(plan.rows_with[name])
        left[accelerator_of] -= gang
        picked.units.append(unit)
        picked.kinds.append(got)
        total -= gang
        if total == 0 or len(picked.units) == plan.runnable:
            break
    return picked
