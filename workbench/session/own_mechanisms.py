"""The mechanisms that carry out an own model: what it is built from, what its variables say, what is done.

    @workbench.formulation("mine", mechanism="shares")
    def mine(snapshot):
        m = pyo.ConcreteModel()
        ...
        return m

Above a class (a `workbench.Formulation`) with a mechanism, its `Result.values` say the same under the name that each
mechanism gives. In a run the model is solved for the jobs that are there then, and what does not keep a limit is
refused, by the mechanism in one sentence or by the core (`InvalidDecision`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from workbench.base.errors import InputError, Words, counted
from workbench.base.round_times import boundary_after
from workbench.base.units import moment
from workbench.baselines.mechanisms.priority import PolicyAnswer
from workbench.baselines.mechanisms.priority.explain import explain
from workbench.baselines.mechanisms.rounds import ROUND_S
from workbench.baselines.mechanisms.share_scheduler import ShareScheduler
from workbench.scheduling import declared_room
from workbench.scheduling.contract import SLIPS, Formulation, Knobs, Mechanism, Memory, Result, Scheduler, Timing
from workbench.scheduling.decision import Assignment, Decision, Reason, Shares
from workbench.scheduling.placement import FreeGpus
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import KEPT
from workbench.simulation.job_at_time import Explainer

HALF = 0.5
"""A whole variable above it is 1."""
TOLERANCE = 1e-6


class SharesMechanism(Mechanism):
    """`shares`: a variable `share[job, type]`, the part of its time, 0 to 1, that a job is to have its GPUs of a type.

    The function gets the `Snapshot`: names `snapshot.jobs.names` and `snapshot.types`, steps/s of whole gangs (jobs x
    types) `snapshot.belief.speeds(snapshot.jobs)`, GPUs of a gang `snapshot.jobs.gpus`, of a type `snapshot.capacity`.
    A job's shares add up to at most 1, and gang times share over the jobs to at most the GPUs of a type; where a type
    has fewer GPUs than its gang, a share is of no use, though its speed is not 0. Values:
    `allocation {job: {type: share}}`. `mechanisms.priority` makes rounds of them, with its knobs.
    """

    variables = {"share": 2}
    form = "allocation {job: {type: share}}"

    @staticmethod
    def values(model: Any, data: Any, name: str) -> dict[str, Any]:
        found: dict[Any, dict[str, float]] = {job: dict.fromkeys(data.types, 0.0) for job in data.jobs.names}
        for (job, kind), variable in model.share.items():
            found.setdefault(job, {})[kind] = float(variable.value) + 0.0  # no -0.0
        _shares(name, data, found)
        return {"allocation": found}

    @staticmethod
    def scheduler(formulation: Formulation[Any]) -> Scheduler:
        def policy(snapshot: Snapshot, knobs: Mapping[str, Any], memory: Any) -> PolicyAnswer:
            found = _solved(formulation, snapshot, knobs)
            with SharesMechanism.reading(formulation.name, found.values):
                return PolicyAnswer(_shares(formulation.name, snapshot, found.values["allocation"]), found)

        made = ShareScheduler(formulation.name, formulation.title, policy, knobs=formulation.knobs)
        made.instead, made.carried_by = formulation, "shares"
        return made

    @staticmethod
    def explainer() -> Explainer:
        return explain


def _shares(name: str, snapshot: Snapshot, allocation: Mapping[str, Mapping[str, float]]) -> Shares:
    """(jobs x types), what rounding left outside [0, 1] cut off; raises InputError for a limit that is broken."""
    for job, own in allocation.items():
        _require(name, "allocation", job, own or job in snapshot.jobs.at, "jobs that are there")
        for kind in own:
            there = job in snapshot.jobs.at and kind in snapshot.types
            _require(name, f"share of {job}", kind, there, "a job and a type that are there")
    rows = [[float(own.get(kind, 0.0)) for kind in snapshot.types] for own in allocation.values()]
    values = np.array(rows, dtype=float).reshape(len(allocation), len(snapshot.types))
    gang = np.array([snapshot.jobs.gpus[snapshot.jobs.at[job]] for job in allocation], dtype=float)
    used = gang @ values / np.maximum(snapshot.capacity, 1)
    for job, row in zip(allocation, values, strict=True):
        least, total = float(row.min(initial=0.0)), float(row.sum())
        _require(name, f"a share of {job}", least, least >= -TOLERANCE, "at least 0")
        _require(name, f"the time of {job}", total, total <= 1.0 + TOLERANCE, "at most 1")
    said, jobs, up = SLIPS.get(), tuple(allocation), snapshot.capacity
    useless = np.argwhere((values > TOLERANCE) & (up > 0) & (up < gang[:, None]))
    if said is not None and len(useless):
        at, kind = useless[0].tolist()
        few = f"its gang of {gang[at]:g} has no room on {counted(int(up[kind]), 'GPU')}."
        share = f"{jobs[at]} has a share of {values[at, kind]:.3g} of {snapshot.types[kind]}, of no use"
        said.setdefault(f"{name}, gang", f"{name}: {share}: {few}")
    most = float(used.max(initial=0.0))
    _require(name, "the GPUs of a type in use, of all of them", most, most <= 1.0 + TOLERANCE, "at most 1")
    return Shares(jobs, snapshot.types, np.clip(values, 0.0, 1.0))


class PlanMechanism(Mechanism):
    """`plan`: a variable `gpus[job, node]`, how many GPUs of a node a job has until the round ends, whole numbers.

    The function gets the `Snapshot`: `snapshot.jobs.names`, `snapshot.jobs.gpus` (the gang: a job has all of it or
    nothing), `snapshot.nodes.names`, `.free` and `.up`, and `.kind`, the position of a node's type in `snapshot.types`.
    All leases end with the round (knob `round_s`), so every GPU of a node that is up is free then. Values: `plan {job:
    {node: GPUs}}`, without jobs that wait.
    """

    variables = {"gpus": 2}
    form = "plan {job: {node: GPUs}}"

    @staticmethod
    def values(model: Any, data: Any, name: str) -> dict[str, Any]:
        found: dict[str, dict[str, int]] = {}
        for (job, node), variable in model.gpus.items():
            count, there = round(variable.value), job in data.jobs.at and node in data.nodes.at
            _require(name, f"GPUs of {job}", node, there, "a job and a node that are there")
            whole = abs(count - variable.value) <= TOLERANCE and count >= 0
            _require(name, f"GPUs of {job}", variable.value, whole, "a whole number from 0")
            if count:
                found.setdefault(job, {})[node] = count
        for job, held in found.items():
            gang, count = int(data.jobs.gpus[data.jobs.at[job]]), sum(held.values())
            _require(name, f"GPUs of {job}", count, count == gang, f"its gang of {gang}, or none")
        for node, free, up in zip(data.nodes.names, data.nodes.free.tolist(), data.nodes.up.tolist(), strict=True):
            count = sum(held.get(node, 0) for held in found.values())
            _require(name, f"GPUs of {node} in use", count, count <= free * up, f"at most {int(free * up)}")
        return {"plan": found}

    @staticmethod
    def scheduler(formulation: Formulation[Any]) -> Scheduler:
        return PlanScheduler(formulation)


class LeasesMechanism(Mechanism):
    """`leases`: a variable `lease[job, start_s, length_s]`, 1 where a job has its gang for length_s seconds, from
    start_s on, counted from now (0: at once).

    The function gets the `Snapshot`: jobs with a lease in force are in `snapshot.leases` and keep it, whatever the
    model says; `snapshot.nodes.free` are the GPUs that nobody has. Leases that start at once are carried out, each on
    the job's fastest type that has room, on the fewest nodes; later ones are an intention: the model is asked again at
    every multiple of `round_s`, when a job comes or ends, a node changes, and when the next of them is to start.
    Values: `leases`, a list of [job, start_s, length_s].
    """

    variables = {"lease": 3}
    form = "leases, a list of [job, start_s, length_s]"

    @staticmethod
    def values(model: Any, data: Any, name: str) -> dict[str, Any]:
        chosen = [index for index, variable in model.lease.items() if variable.value > HALF]
        for job, *times in chosen:
            _require(name, f"a lease of {job}", times, all(isinstance(s, Real) for s in times), "two numbers, s")
        leases = [[job, float(start_s), float(length_s)] for job, start_s, length_s in chosen]
        _placed_now(name, data, leases)
        return {"leases": leases}

    @staticmethod
    def scheduler(formulation: Formulation[Any]) -> Scheduler:
        return LeasesScheduler(formulation)


def _placed_now(name: str, snapshot: Snapshot, leases: Sequence[Sequence[Any]]) -> tuple[Assignment, ...]:
    """Where the leases [job, start_s, length_s] that start at once have their gangs, those in force aside; raises
    InputError for one that cannot be carried out, now or later."""
    free_gpus, speeds, found = FreeGpus(snapshot.nodes), snapshot.belief.speeds(snapshot.jobs), dict[str, Assignment]()
    for job, start_s, length_s in leases:
        _require(name, "lease", job, job in snapshot.jobs.at, "a job that is there")
        ahead = -TOLERANCE <= start_s < math.inf  # a solver's rounding is now
        _require(name, f"start of a lease of {job}", start_s, ahead, "seconds from 0, from now on")
        _require(name, f"length of a lease of {job}", length_s, length_s > 0, "seconds > 0")
        if start_s > 0 or job in snapshot.leases:
            continue
        _require(name, f"leases of {job} that start at once", 2, job not in found, "one")
        row = snapshot.jobs.at[job]
        count = int(snapshot.jobs.gpus[row])
        kinds = [kind for kind in np.argsort(-speeds[row], kind="stable").tolist() if speeds[row, kind] > 0]
        gpus = next(filter(None, (free_gpus.consolidate(kind, count) for kind in kinds)), None)
        now = Words(f"now, for {counted(count, 'GPU')}")
        if gpus is None:
            raise InputError(f"formulation {name}, a lease of {job}", now, "one for which GPUs are free")
        found[job] = Assignment(job, gpus, snapshot.now_s + length_s)
    return tuple(found.values())


MECHANISMS: Mapping[str, type[Mechanism]] = dict(
    zip(declared_room.MECHANISMS, (SharesMechanism, PlanMechanism, LeasesMechanism), strict=True)
)
"""Those of no paper; `workbench.session.registry.mechanisms` adds what rooms declare, as Hare's does `order`."""


def _require(name: str, what: str, value: Any, holds: object, expected: str) -> None:
    if not holds:
        raise InputError(f"formulation {name}, {what}", value, expected)


def _solved(formulation: Formulation[Any], snapshot: Snapshot, knobs: Knobs) -> Result:
    own = formulation.settle({}) | {knob.name: knobs[knob.name] for knob in formulation.knobs}
    return formulation.run(formulation.data(snapshot, own), own)


class _ByRounds(Scheduler):
    """What plans and leases have in common."""

    def __init__(self, formulation: Formulation[Any]) -> None:
        self.name, self.title, self.instead = formulation.name, formulation.title, formulation
        self.knobs = (ROUND_S, *formulation.knobs)

    def solved(self, snapshot: Snapshot, knobs: Knobs) -> Result:
        """What the model says now."""
        assert self.instead is not None
        return _solved(self.instead, snapshot, knobs)


class PlanScheduler(_ByRounds):
    """See `PlanMechanism`."""

    carried_by = "plan"

    def timing(self, knobs: Knobs) -> Timing:
        return Timing(float(knobs["round_s"]))

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        if not len(snapshot.jobs):
            return Decision(), memory
        found, end_s = self.solved(snapshot, knobs), boundary_after(snapshot.now_s, float(knobs["round_s"]))
        waits = Reason("not_planned", f"{self.name} has no GPUs for it in this round")
        with PlanMechanism.reading(self.name, found.values):
            plan: Mapping[str, Mapping[str, int]] = found.values["plan"]
            why = {job: waits for job in snapshot.jobs.names if job not in plan}
            assign = tuple(Assignment(job, dict(gpus), end_s) for job, gpus in plan.items())
        return Decision(assign, solved=found, why=why), memory


class LeasesScheduler(_ByRounds):
    """See `LeasesMechanism`."""

    carried_by = "leases"

    def timing(self, knobs: Knobs) -> Timing:
        return Timing(float(knobs["round_s"]), frozenset({"arrival", "completion", "lease_end", "fault", "repair"}))

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        if all(job in snapshot.leases for job in snapshot.jobs.names):
            return Decision(solved=KEPT), memory
        found = self.solved(snapshot, knobs)
        with LeasesMechanism.reading(self.name, found.values):
            leases = [own for own in found.values["leases"] if own[0] not in snapshot.leases]
            assign = _placed_now(self.name, snapshot, leases)
        later = [start_s for _, start_s, _ in leases if start_s > 0]
        next_s = snapshot.now_s + min(later) if later else None
        first = {job: start_s for job, start_s, _ in sorted(leases, key=lambda own: -own[1])}
        why = {job: self._waits(snapshot, first.get(job, math.inf)) for job in snapshot.jobs.names}
        why = {job: said for job, said in why.items() if first.get(job, math.inf) > 0 and job not in snapshot.leases}
        return Decision(assign, solved=found, why=why, next_s=next_s), memory

    def _waits(self, snapshot: Snapshot, start_s: float) -> Reason:
        if start_s == math.inf:
            return Reason("no_lease", f"{self.name} has no lease for it")
        return Reason("later", f"its lease is to start at {moment(snapshot.now_s + start_s)}")
