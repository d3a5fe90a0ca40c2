"""Who is guaranteed, with which leases: what the selector promises and keeps (sections 3.3.2 and 3.3.4).

Each accelerator type has a plan of its own, with the jobs that are guaranteed on it (a homogeneous cluster has the one
of the paper). On several types (ours) a job is tried on its fastest first, then on the others it runs on; then
all of them are looked at together.

A plan begins at a boundary of SLO leases and is told in leases from there. As time goes on it is carried on; a job that
is new is added only if everybody guaranteed before still is. If overhead, errors of the profiled runtime or faults make
it impossible to keep every promise, as few as a simple search finds are broken, those with the last deadlines first
among the ones that have lost their leases.

Each type keeps the promises of the jobs that are on it. One plan over all types lets the programme choose what each
guaranteed job runs on (section 7, ours): `pooled`. Two questions look at all types: a
job that is refused on each of them by itself is guaranteed if all that are guaranteed, who may change their type for
it, can be so together; and a plan of leases may move jobs to other types where that earns more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.base.errors import counted
from workbench.papers.chronus.algorithms.admission import Admission, admit, feasible
from workbench.papers.chronus.algorithms.lease_plan import carried_on, kept_of, leases_in, of_leases, still_holds
from workbench.papers.chronus.algorithms.terms import (
    ROUNDING_S,
    AskedJob,
    AskedRun,
    Choice,
    NodePool,
    offered,
    seconds_up,
    taken_in,
)
from workbench.papers.chronus.formulations.leases_with_options import variables
from workbench.papers.chronus.instance import ChronusInstance, Leases
from workbench.scenario.rewards import Steps
from workbench.scheduling.contract import Formulation, Knobs
from workbench.scheduling.decision import Reason
from workbench.scheduling.solvers import Solver


@dataclass(frozen=True)
class Promises:
    """The guaranteed jobs of one type and their plan, a part of a scheduler's memory.

    leases: of each guaranteed job, from 1 at start_s on; ending: guaranteed jobs that the lease in force before start_s
    is to finish; gpus: in the first lease and in each later one, for which the plan was made; objective, bound: of the
    plan when it was last made; changed: jobs were added or broken since.
    """

    leases: Leases = field(default_factory=dict)
    ending: tuple[str, ...] = ()
    start_s: float = 0.0
    gpus: tuple[int, ...] = ()
    objective: float | None = None
    bound: float | None = None
    changed: bool = False

    def at(self, start_s: float, lease_s: int) -> Promises:
        """The same plan told from a later boundary on; jobs whose leases are over have none, and none is ending."""
        passed = round((start_s - self.start_s) / lease_s)
        if passed == 0:
            return self
        later = carried_on(self.leases, passed)
        leases = {name: later.get(name, ()) for name in self.names}
        return replace(self, leases=leases, ending=(), start_s=start_s)

    @property
    def names(self) -> tuple[str, ...]:
        """Everybody who is guaranteed, those who are ending last."""
        return (*self.leases, *self.ending)


@dataclass(frozen=True, eq=False)
class Claims:
    """Jobs that have or want a guarantee on one type, in leases from a boundary on.

    names, gpus, left_s (seconds left to run at start_s, estimated), steps (deadlines from start_s): of each.
    """

    names: tuple[str, ...]
    gpus: tuple[int, ...]
    left_s: tuple[float, ...]
    steps: tuple[Steps, ...]

    def instance(
        self,
        gpus: int | Sequence[int],
        node_gpus: int | None,
        start_s: float,
        knobs: Knobs,
        sure: BoolArray,
        previous: Leases,
    ) -> ChronusInstance:
        """The plan's instance; gpus: of the type outside the profiling cluster, in each lease or lease by lease, the
        last for all later ones; node_gpus: round up for such nodes."""
        gangs, free = np.array(self.gpus, dtype=np.int64), np.atleast_1d(np.asarray(gpus, dtype=np.int64))
        sizes, capacity = offered(node_gpus, free)
        return ChronusInstance(
            self.names,
            int(knobs["slo_lease_s"]),
            sizes,
            capacity,
            gangs,
            taken_in(node_gpus, gangs, sizes),
            seconds_up(self.left_s).clip(1),
            np.zeros(len(gangs), dtype=np.int64),
            self.steps,
            sure,
            float(knobs["miss_reward"]),
            int(knobs["reserve_overhead"]),
            start_s,
            previous,
            (NodePool("", node_gpus),),
        )


def worth_meeting(rewards: Steps | None, miss_reward: float) -> Steps:
    """The deadlines of a job that are worth more than a miss; none for best effort."""
    if rewards and rewards[-1][1] > miss_reward:  # rewards do not rise
        return rewards
    return tuple((deadline_s, reward) for deadline_s, reward in rewards or () if reward > miss_reward)


def steps_from(rewards: Steps, arrival_s: float, start_s: float) -> Steps:
    """Rewards with deadlines in whole seconds from the start of a plan; of equal ones the first, worth most."""
    first: dict[float, float] = {}
    for deadline_s, reward in rewards:  # whose deadlines rise
        first.setdefault(float(math.floor(arrival_s + deadline_s - start_s + ROUNDING_S)), reward)
    return tuple(first.items())


def keep(data: ChronusInstance, solver: Solver) -> tuple[Leases, dict[str, str]]:
    """Leases with which everybody keeps the promise, and why for those with whom that cannot be.

    data: the jobs that have been guaranteed, all of them marked so, and the last plan.
    """
    held = still_holds(data, data.previous) if data.possible.all() else None
    if held is not None:
        return held.leases, {}
    broken = {data.jobs[row]: data.why_not(row) for row in np.flatnonzero(~data.possible).tolist()}
    data = data.with_jobs(data.possible)
    answer = feasible(data, solver)
    if answer.plan is not None:
        return answer.plan.leases, broken
    kept, lost = _kept_alone(data)
    broken.update(dict.fromkeys(lost, "the others' guarantees leave too few leases before its last deadline"))
    return kept, broken


def _kept_alone(data: ChronusInstance) -> tuple[Leases, tuple[str, ...]]:
    """The jobs that keep their leases, and of the others, the most pressing first, those for whom there is room."""
    has, left, others = kept_of(data, data.previous)
    lost: list[int] = []
    for row in sorted(others, key=lambda other: int(data.last[other])):
        early = np.flatnonzero((left[: data.last[row]] >= data.held[row]).all(axis=1))[: data.needed[row]]
        if len(early) < data.needed[row]:
            lost.append(row)
            continue
        has[row, early] = True
        left[early] -= data.held[row]
    return leases_in(data.jobs, has), tuple(data.jobs[row] for row in lost)


class Admissions:
    """Verdicts on jobs one after the other, beside those that are guaranteed already.

    data: of both, the guaranteed ones marked and with their leases as the last plan. In the order of cost: a job cannot
    alone; what has to run in the first leases is too much; there is room beside the plan; there is if jobs that can
    wait give it leases and take later ones. Only then the whole question is asked (`admission.admit`). Without
    plan_again (greedy) nobody's leases change.
    """

    def __init__(self, data: ChronusInstance, solver: Solver, *, plan_again: bool) -> None:
        self._data, self._solver, self._plan_again = data, solver, plan_again
        self._row = {name: row for row, name in enumerate(data.jobs)}
        self._sure = np.array(data.guaranteed)
        self._supply = np.cumsum(data.free, axis=0)
        self._pressing = self._needs(self._sure.nonzero()[0])
        self._take(data, data.previous)

    def _take(self, data: ChronusInstance, leases: Leases) -> None:
        plan = of_leases(data, leases)
        self._has, self._left = np.array(plan.has), np.array(plan.left)

    def _needs(self, rows: IntArray) -> IntArray:
        """(leases x sizes) what of some jobs has to run in the first leases, if they meet their last deadlines."""
        data, first = self._data, np.arange(1.0, self._data.leases + 1)
        last, before, needed = (each[rows, None].astype(float) for each in (data.last, data.first - 1, data.needed))
        inside = np.maximum(0.0, needed - np.maximum(0.0, last - np.maximum(first, before)))
        found: FloatArray = inside.T @ data.held[rows].astype(float)  # whole numbers, which multiply faster as floats
        return found.astype(np.int64)

    @property
    def has_admitted(self) -> bool:
        """Whether somebody is guaranteed who was not before."""
        return bool((self._sure != self._data.guaranteed).any())

    def leases_of(self, job: str) -> tuple[int, ...]:
        """The leases of a job, from 1."""
        return tuple((self._has[self._row[job]].nonzero()[0] + 1).tolist())

    @property
    def leases(self) -> Leases:
        """The leases of everybody who is guaranteed by now."""
        return leases_in(self._data.jobs, self._has & self._sure[:, None])

    def admit(self, job: str) -> Admission:
        """The verdict on a job."""
        data, row = self._data, self._row[job]
        if not data.possible[row]:
            return Admission(job, None, "alone", data.why_not(row))
        if (self._pressing + self._needs(np.array([row])) > self._supply).any():
            return Admission(
                job, None, "demand", "the guaranteed jobs and it need more GPUs than there are by a deadline"
            )
        if self._fits_beside(row):
            return self._accepted(row, "there is room beside the leases of the guaranteed jobs")
        if not self._plan_again:
            return Admission(job, None, "room", "too little room is left beside the leases of the guaranteed jobs")
        if self._fits_by_moves(row):
            return self._accepted(row, "there is room if guaranteed jobs that can wait take later leases")
        found = admit(replace(data, guaranteed=self._sure, previous=self.leases), job, self._solver, explain=False)
        if found.leases is not None:
            self._sure[row] = True
            self._pressing += self._needs(np.array([row]))
            self._take(replace(data, guaranteed=self._sure), found.leases)
        return found

    def _accepted(self, row: int, why: str) -> Admission:
        self._sure[row] = True
        self._pressing += self._needs(np.array([row]))
        job = self._data.jobs[row]
        return Admission(job, {job: self.leases_of(job)}, "room", why)

    def _fits_beside(self, row: int) -> bool:
        """Give a job the earliest leases that are free, if these are enough."""
        data = self._data
        leases = (self._left[: data.last[row]] >= data.held[row]).all(axis=1).nonzero()[0][: data.needed[row]]
        if len(leases) < data.needed[row]:
            return False
        self._has[row, leases] = True
        self._left[leases] -= data.held[row]
        return True

    def _fits_by_moves(self, row: int) -> bool:
        """Give a job leases that are free, and those of others who can do with later ones; False: nothing changed."""
        data, by = self._data, int(self._data.last[row])
        has, left = self._has.copy(), self._left.copy()
        leases = (left[:by] >= data.held[row]).all(axis=1).nonzero()[0].tolist()
        for lease in sorted(set(range(by)) - set(leases)):
            if len(leases) >= data.needed[row]:
                break
            if _vacated(data, has, left, lease, by, data.held[row]):
                leases.append(lease)
        if len(leases) < data.needed[row]:
            return False
        own = np.array(sorted(leases)[: data.needed[row]], dtype=np.int64)
        has[row, own] = True
        left[own] -= data.held[row]
        self._has, self._left = has, left
        return True


class AdmissionsBy(Admissions):
    """The same by an own formulation: guaranteed is with whom it has a plan for all that are."""

    def __init__(self, data: ChronusInstance, solver: Solver, formulation: Formulation[Any], knobs: Knobs) -> None:
        super().__init__(data, solver, plan_again=True)
        self._formulation, self._knobs = formulation, formulation.settle({}) | knobs

    def admit(self, job: str) -> Admission:
        data, row = self._data, self._row[job]
        if not data.possible[row]:
            return Admission(job, None, "alone", data.why_not(row))
        sure = self._sure.copy()
        sure[row] = True
        asked = replace(data, guaranteed=sure, previous=self.leases).with_jobs(sure)
        found = self._formulation.attempt(asked, self._knobs, self._solver)
        if found is None:
            return Admission(
                job, None, "model", f"{self._formulation.name} has no plan with it and the guaranteed jobs"
            )
        self._sure = sure
        self._take(replace(data, guaranteed=sure), leases_of(found.values["leases"]))
        return Admission(job, self.leases, "model", f"{self._formulation.name} has a plan with it")


def _vacated(data: ChronusInstance, has: BoolArray, left: IntArray, lease: int, by: int, wanted: IntArray) -> bool:
    """Whether jobs leave a lease for later ones, from `by` on, so that what is wanted is free there.

    has and left are changed then, and only then.
    """
    rows = (has[:, lease] & (data.last > by)).nonzero()[0]
    later = (left[by:, None, :] >= data.held[rows][None, :, :]).all(axis=2) & ~has[rows, by:].T
    later &= np.arange(by, data.leases)[:, None] < data.last[rows][None, :]
    able = np.flatnonzero(later.any(axis=0))
    moves: list[tuple[int, int]] = []
    for spot in able[np.argsort(-data.held[rows[able], 0], kind="stable")].tolist():
        if (left[lease] >= wanted).all():
            break
        other = int(rows[spot])
        open_ones = by + later[:, spot].nonzero()[0]
        open_ones = open_ones[(left[open_ones] >= data.held[other]).all(axis=1)]
        if len(open_ones):
            _move(data, has, left, other, lease, int(open_ones[-1]))
            moves.append((other, int(open_ones[-1])))
    if (left[lease] >= wanted).all():
        return True
    for other, late in moves:
        _move(data, has, left, other, late, lease)
    return False


def _move(data: ChronusInstance, has: BoolArray, left: IntArray, row: int, start: int, end: int) -> None:
    has[row, start], has[row, end] = False, True
    left[start] += data.held[row]
    left[end] -= data.held[row]


def refusal(found: Sequence[Admission]) -> Reason:
    """Why a job is best effort although it has deadlines.

    found: the verdicts of the types it was tried on, the fastest first, and of all together, if any. The last counts
    that others had a part in: what does not do for it alone on one type says nothing of the others.
    """
    why, how = "its gang has no speed on any type", "alone"
    if found:
        trial = next((one for one in reversed(found) if one.how != "alone"), found[0])
        where = ", where it is fastest" if trial.how == "alone" and len(found) > 1 else ""
        why, how = f"{trial.why}{where}", trial.how
    text = f"its deadlines cannot be guaranteed: {why}; it is treated as best effort"
    code = "refused_alone" if how == "alone" else "refused"
    return Reason(code, text, {"how": how, "tried": float(len(found))})


def acceptance(found: Admission, leases: Sequence[int]) -> Reason:
    """Why a job is guaranteed."""
    text = f"guaranteed with {counted(len(leases), 'lease')}: {found.why}"
    return Reason("guaranteed", text, {"how": found.how, "leases": float(len(leases))})


def total_best(data: ChronusInstance) -> float:
    """What the jobs would earn if each could have the best deadline that it could meet alone: a bound."""
    fewest = np.full(len(data.jobs), np.iinfo(np.int64).max)
    np.minimum.at(fewest, data.every.job, data.needed_as)
    job = data.step_job
    able = np.flatnonzero((data.step_by - data.first[job] + 1 >= fewest[job]) & data.possible[job])
    best = np.full(len(data.jobs), data.miss_reward, dtype=float)
    best[job[able][::-1]] = data.step_numbers[able[::-1], 1]  # the first one stays
    return float(sum(best.tolist()))


def leases_of(values: Mapping[str, Sequence[int] | None]) -> Leases:
    """The leases of the jobs that have some, from what a formulation reports."""
    return {name: tuple(own) for name, own in values.items() if own is not None}


MOST_VARIABLES = 3000
"""Variables of `leases_with_options` up to which all types are planned together, else each by itself."""


def pooled(
    pools: Sequence[NodePool],
    promises: Sequence[Promises],
    claims: Sequence[Claims | None],
    start_s: float,
    knobs: Knobs,
    sure: Sequence[str],
) -> ChronusInstance:
    """The plan's instance over all types, with what has been promised as the last plan.

    pools, promises, claims: of each type; claims: of the jobs that run there, None where none does; sure: who is
    guaranteed. A job has the types it runs on as its options.
    """
    runs: dict[str, list[AskedRun]] = {}
    steps: dict[str, Sequence[Sequence[float]]] = {}
    for kind, own in enumerate(claims):
        if own is None:
            continue
        left_s = seconds_up(own.left_s).clip(1).tolist()
        for name, gpus, seconds, deadlines in zip(own.names, own.gpus, left_s, own.steps, strict=True):
            runs.setdefault(name, []).append(AskedRun(kind, gpus, seconds))
            steps[name] = deadlines
    certain = set(sure)
    asked = [
        AskedJob(own[0].gpus, own[0].runtime_s, steps[name], 0, name in certain, own) for name, own in runs.items()
    ]
    running = {
        name: Choice(*pools[kind], run.gpus)
        for kind, promised in enumerate(promises)
        for name in promised.leases
        for run in runs.get(name, ())
        if run.pool == kind
    }
    return ChronusInstance.pooled(
        {pool: promised.gpus for pool, promised in zip(pools, promises, strict=True)},
        int(knobs["slo_lease_s"]),
        asked,
        names=tuple(runs),
        miss_reward=float(knobs["miss_reward"]),
        reserved_s=int(knobs["reserve_overhead"]),
        start_s=start_s,
        previous={name: own for promised in promises for name, own in promised.leases.items() if name in runs},
        running=running,
    )


def small_enough(data: ChronusInstance) -> bool:
    """Whether all types are looked at together."""
    return variables(data) <= MOST_VARIABLES


def parted(
    pools: Sequence[NodePool], promises: Sequence[Promises], leases: Leases, choices: Mapping[str, Choice]
) -> list[Promises]:
    """The promises of each type in a plan over all of them, jobs in their order; changed where they are others."""
    found = []
    for pool, promised in zip(pools, promises, strict=True):
        own = {name: at for name, at in leases.items() if choices[name][:2] == pool}
        found.append(replace(promised, leases=own, changed=promised.changed or own != promised.leases))
    return found
