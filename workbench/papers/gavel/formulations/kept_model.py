"""The model of the decision before takes on the numbers of the next one: what `allocation.lay_out` states of jobs that
stay is kept, and what a formulation adds it states anew by its `restate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import compress, product
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.base.arrays import IntArray
from workbench.papers.gavel.instance import AllocationInstance
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import unit_name
from workbench.scheduling.modelling import pyo, renumber

if TYPE_CHECKING:
    from workbench.papers.gavel.formulations.allocation import ShareFormulation
    from workbench.scheduling.solvers.compile import Compiled


def stated(formulation: ShareFormulation[Any], data: Any, knobs: Knobs) -> tuple[pyo.ConcreteModel, Compiled]:
    """The formulation's model of these numbers and what it compiles to: the last one's, if it can take them on."""
    from workbench.scheduling.solvers.restating import restated

    def like(model: Any) -> bool:
        """Whether it states these numbers but for those that the formulation varies."""
        names = (each.name for each in fields(data) if each.name not in formulation.varies)
        same = bool(formulation.varies) and type(model.of) is type(data)
        same = same and all(_equal(getattr(data, name), getattr(model.of, name)) for name in names)
        model.has_other_jobs = not same
        return same

    def restate(model: Any) -> bool:
        if model.has_other_jobs and not renewed_jobs(model, formulation.laid_out(data, knobs)):
            return False
        formulation.restate(model, data, knobs)
        return True

    key = formulation, dict(knobs)
    model, compiled = restated(key, lambda: formulation.build(data, knobs), restate, rows_alone=like)
    model.of = data
    return model, compiled


def _equal(one: Any, other: Any) -> bool:
    if one is other or not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return one is other or (isinstance(one, tuple) and not hasattr(one, "_fields") and one == other)
    return np.array_equal(one, other)


def remember(m: Any, data: AllocationInstance, scales: tuple[str, ...]) -> None:
    """What is asked of a model that `lay_out` has made."""
    m.data, m.scales, m.in_capacity = data, scales, list(data.jobs)
    m.before, m.unchanged = data, np.zeros((2, 0), dtype=np.int64)  # see `unchanged`


def add_numbers(m: pyo.ConcreteModel, data: AllocationInstance, new: IntArray) -> None:
    """What the parameters are of, and the rules look up: who is in which combination, where it can run, how much of
    its time.

    new: positions of the combinations whose numbers the model does not have yet, or has others.
    """
    units = [unit_name(data.units[row]) for row in new.tolist()]
    m.kinds = {name: [] for name in data.accelerators}
    for kind, row in zip(data.types, data.accelerator_of.tolist(), strict=True):
        m.kinds[data.accelerators[row]].append(kind)
    m.most.update(zip(product(units, data.types), data.limit[new].ravel().tolist(), strict=True))
    own = new[new < len(data.jobs)].tolist()
    m.count.update((data.jobs[row], data.count.item(row)) for row in own)
    m.inside.update((data.jobs[row], []) for row in own)
    for unit, row in zip(units, new.tolist(), strict=True):
        for member in data.members[row]:
            m.inside[data.jobs[member]].append(unit)
    e, is_new = data.entries, np.zeros(len(data.units), dtype=bool)
    is_new[new] = True
    named = dict(zip(new.tolist(), units, strict=True))
    at = np.flatnonzero(is_new[e.combination[e.entry]])
    places = (e.job[at], e.combination[e.entry[at]], e.kind[e.entry[at]], e.steps_per_s[at])
    for job, row, kind, steps_per_s in zip(*(each.tolist() for each in places), strict=True):
        m.speeds[data.jobs[job], named[row], data.types[kind]] = steps_per_s
        m.can_run.add((named[row], data.types[kind]))
    m.gangs.update(zip(units, data.unit_gang[new].tolist(), strict=True))
    m.ways[:] = m.speeds


def renewed_jobs(m: Any, data: AllocationInstance) -> bool:
    """Let a model state in what `lay_out` states these numbers, without jobs that ended and with those that came; False
    if it cannot: only without pairs. A job whose numbers are others, but for its speeds, is taken out and stated anew.
    """
    from pyomo.core.expr import LinearExpression

    from workbench.scheduling.solvers.restating import linear, renewed

    old = m.data
    if old.units != old.jobs or data.units != data.jobs:
        return False
    if any(not _equal(getattr(old, name), getattr(data, name)) for name in ("types", "accelerators", "accelerator_of")):
        return False
    place = {job: row for row, job in enumerate(data.jobs)}
    at = np.array([place.get(job, -1) for job in old.jobs], dtype=np.int64)
    stay = np.flatnonzero(at >= 0)
    now = at[stay]
    anew = np.zeros(len(stay), dtype=bool)
    for each in ("limit", "count", "gang", "can_run"):
        differs = getattr(old, each)[stay] != getattr(data, each)[now]
        anew |= differs.any(axis=1) if differs.ndim > 1 else differs
    at[stay[anew]] = -1
    m.data, m.before = data, old
    new = np.flatnonzero(np.bincount(at[at >= 0], minlength=len(data.jobs)) == 0)
    out, came = list(compress(old.jobs, at < 0)), [data.jobs[row] for row in new.tolist()]
    for job in out:
        for kind in old.types:
            del m.share[job, kind], m.most[job, kind]
            m.speeds.pop((job, job, kind), None)
            m.can_run.discard((job, kind))
        del m.throughput[job], m.job_time[job], m.count[job], m.inside[job], m.gangs[job]
    in_line = [*compress(old.jobs, at >= 0), *came] == [*data.jobs]  # who stays keeps its place
    for part in (m.JOBS, m.COMBINATIONS):
        for job in out if in_line else list(part):
            part.remove(job)
        part.update(came if in_line else data.jobs)
    differs = (old.speed[stay] != data.speed[now]).any(axis=1) & ~anew
    other = now[differs]
    m.unchanged = np.array([stay, now])[:, ~(anew | differs)]
    add_numbers(m, data, new)
    each_s = data.speed / data.count[:, None]  # of each of so many equal jobs
    rows = [(data.jobs[row], each_s[row].tolist(), data.can_run[row].tolist()) for row in other.tolist()]
    ways_of = {job: dict(compress(zip(data.types, speed, strict=True), able)) for job, speed, able in rows}
    m.speeds.update(((job, job, kind), each) for job, speed in ways_of.items() for kind, each in speed.items())
    renumber(m.speed, m.speeds)
    renumber(m.gang, m.gangs)
    renumber(m.gpus, dict(zip(data.accelerators, data.capacity.tolist(), strict=True)))
    for job, speed in ways_of.items():  # as the rule does
        m.throughput[job].set_value(linear((each, m.share[job, kind]) for kind, each in speed.items()))
    whole = m.component(m.scales[-1]) if m.scales else 1
    for job in came:  # sums as the rules have them
        time = {kind: m.share[job, kind] for kind in data.types}  # Pyomo makes what is missing
        ways = ((m.speeds[job, job, kind], each) for kind, each in time.items() if (job, kind) in m.can_run)
        m.throughput.add(job, linear(ways))
        m.job_time.add(job, LinearExpression(list(time.values())) <= m.count[job] * whole)
    if len(old.jobs) < 2 or not np.array_equal(old.capacity, data.capacity):
        renewed(m.capacity)
        m.in_capacity = list(data.jobs)
    elif out or came:
        _refill(m, set(out), came)
    return True


def unchanged(m: Any, *names: str) -> set[str]:
    """Jobs in which `renewed_jobs` has changed nothing, and whose numbers of these names are the same as before: a row
    of these alone, and of nothing else that changes, stays."""
    was, now = m.unchanged
    for name in names:
        same = getattr(m.before, name)[was] == getattr(m.data, name)[now]
        was, now = was[same], now[same]
    return {m.data.jobs[row] for row in now.tolist()}


def _refill(m: Any, out: set[str], came: Sequence[str]) -> None:
    """Make `capacity` anew as its rule does, which need not be asked for the terms that stay."""
    from workbench.scheduling.solvers.restating import linear
    from workbench.scheduling.solvers.sums import Revised

    gone = [row for row, job in enumerate(m.in_capacity) if job in out]
    for name, row in m.capacity.items():
        (used, most), kinds = row.expr.args, m.kinds[name]
        more = linear((m.gangs[job], m.share[job, kind]) for job in came for kind in kinds).args
        row.set_value(Revised(used, [place * len(kinds) for place in gone], len(kinds), more) <= most)
    m.in_capacity = [*(job for job in m.in_capacity if job not in out), *came]
