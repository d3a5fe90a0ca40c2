"""One cycle of the selector and the allocator: promises kept and given, leases given out, and what is said of it.

Beside best-effort leases, SLO leases are given out where they end too; else those of guaranteed jobs go on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import counted
from workbench.base.round_times import boundary_after, boundary_from
from workbench.base.units import clock, moment
from workbench.papers.chronus.algorithms import guarantees, slo_plan, spot
from workbench.papers.chronus.algorithms.admission import Admission, admit, feasible
from workbench.papers.chronus.algorithms.clusters import FreeByCluster, NodesUp, held_by
from workbench.papers.chronus.algorithms.consolidation import place_guaranteed
from workbench.papers.chronus.algorithms.guarantees import (
    Admissions,
    AdmissionsBy,
    Claims,
    Promises,
    acceptance,
    keep,
    refusal,
    steps_from,
    worth_meeting,
)
from workbench.papers.chronus.algorithms.local_search import Shape
from workbench.papers.chronus.algorithms.profiling import ProfiledSpeeds, Profiler
from workbench.papers.chronus.algorithms.terms import NodePool, leases_needed, next_boundary, seconds_up
from workbench.papers.chronus.instance import ChronusInstance, Leases
from workbench.scenario.rewards import Steps
from workbench.scenario.throughput import Placement
from workbench.scheduling.contract import Formulation, Knobs
from workbench.scheduling.decision import Assignment, PerJob, Reason, Verdict
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers.solve_report import SolveReport

PROFILER, GUARANTEED, BEST_EFFORT = 0.0, 1.0, 2.0
"""Values of the signal `queue`."""


@dataclass(frozen=True)
class CycleOutcome:
    """What a cycle decides, profiles aside."""

    assign: tuple[Assignment, ...]
    promises: tuple[Promises, ...]
    verdicts: Mapping[str, Verdict]
    why: Mapping[str, Reason]
    signals: Mapping[str, Mapping[str, float]]
    solution: SolveReport


class Cycle:
    """One cycle; `promise`, `lease_guaranteed`, `lease_spot`, in that order, then `outcome`."""

    def __init__(
        self,
        snapshot: Snapshot,
        knobs: Knobs,
        known: Mapping[str, ProfiledSpeeds],
        promises: Sequence[Promises],
        profiler: Profiler,
        instead: Formulation[Any] | None = None,
    ) -> None:
        self._instead = instead
        self._snapshot, self._knobs, self._known, self.profiler = snapshot, knobs, known, profiler
        self._now_s, self._at = snapshot.now_s, snapshot.jobs.at
        self._slo_s, self._be_s = int(knobs["slo_lease_s"]), int(knobs["be_lease_s"])
        self._slo = boundary_from(self._now_s, float(self._slo_s)) == self._now_s
        self._start_s = next_boundary(self._now_s, self._slo_s)
        self.nodes = NodesUp.of(snapshot)
        self._before = tuple(promises)
        self._promises = [own.at(self._start_s, self._slo_s) for own in promises]
        self._left = self._steps_ahead()
        self._left_on: dict[int, dict[str, float]] = {}  # seconds, by type
        self._solver = slo_plan.solver_of(knobs)
        self._solutions: list[SolveReport] = []
        self._verdicts: dict[str, Verdict] = {}
        self._why: dict[str, Reason] = {}
        self._broken: dict[str, float] = {}
        self._assign: list[Assignment] = []
        self._steps: dict[str, Steps] = {}
        self._placed: dict[str, Mapping[str, int]] = {}
        if self._slo:
            self._resize()
        else:
            self._give_back()

    def _steps_ahead(self) -> list[float]:
        """Of each job the steps left when the next SLO lease begins, as estimated for guaranteed jobs."""
        left: list[float] = self._snapshot.jobs.steps_left.tolist()
        if self._start_s > self._now_s:
            nodes, leases = self._snapshot.nodes, self._snapshot.leases
            for name in chain.from_iterable(promises.names for promises in self._promises):
                if name in leases and name in self._at:
                    lease = leases[name]
                    kind = nodes.kind.item(nodes.at[next(iter(lease.gpus))]) if len(self._promises) > 1 else 0
                    more_s = min(lease.until_s, self._start_s) - self._now_s
                    left[self._at[name]] -= more_s * self._known[name].speeds[kind]
        return left

    def _node_gpus(self, kind: int) -> int | None:
        """The size of nodes for which gangs of a type are rounded up, None if they are not."""
        return self.nodes.size(kind) if self._knobs["round_up"] else None

    def _left_s(self, names: Sequence[str], kind: int) -> tuple[float, ...]:
        """Seconds left on a type when the next SLO lease begins, as estimated."""
        found = self._left_on.setdefault(kind, {})
        for name in names:
            if name not in found:
                found[name] = self._left[self._at[name]] / self._known[name].speeds[kind]
        return tuple(map(found.__getitem__, names))

    def _claims(self, names: Sequence[str], kind: int) -> Claims:
        gpus = self._snapshot.jobs.gpus[[self._at[name] for name in names]].tolist()
        return Claims(tuple(names), tuple(gpus), self._left_s(names, kind), tuple(map(self._steps_of, names)))

    def _steps_of(self, name: str) -> Steps:
        """A job's deadlines from the next SLO lease on."""
        if name not in self._steps:
            jobs, row = self._snapshot.jobs, self._at[name]
            worth = worth_meeting(jobs.jobs[row].rewards, float(self._knobs["miss_reward"]))
            self._steps[name] = steps_from(worth, jobs.arrival_s.item(row), self._start_s)
        return self._steps[name]

    def _instance(
        self, names: Sequence[str], kind: int, gpus: Sequence[int], previous: Leases, sure: int | None = None
    ) -> ChronusInstance:
        """The plan's instance of some jobs; sure: the first so many are guaranteed, None: all."""
        certain = np.arange(len(names)) < (len(names) if sure is None else sure)
        claims = self._claims(names, kind)
        return claims.instance(gpus, self._node_gpus(kind), self._start_s, self._knobs, certain, previous)

    # The profiling cluster -------------------------------------------------------------------------------------------

    def _resize(self) -> None:
        """Estimate it again where that is due, and let it grow for who is in line, as far as all promises are kept.

        Running profiles stay in it.
        """
        profiler, kinds = self.profiler, range(len(self._promises))
        if profiler.is_due(self._now_s, self._knobs):
            held = held_by(self._snapshot, profiler.own_jobs)
            bound = profiler.wanted(self._now_s, self._knobs)
            wanted = [self.nodes.at_least(kind, gpus) for kind, gpus in enumerate(bound)]
            regular = [max(self.nodes.covering(kind, held), self._affordable(kind, wanted[kind])) for kind in kinds]
            profiler = self.profiler = profiler.resized(tuple(regular), self._now_s)
        self.profiler = profiler.grown(tuple(self._grown(kind) for kind in kinds))

    def _give_back(self) -> None:
        """Let it shrink to its regular size again where nobody is in line any more, running profiles aside."""
        profiler = self.profiler
        if profiler.capacity == profiler.regular:
            return
        held, found = held_by(self._snapshot, profiler.own_jobs), list(profiler.capacity)
        for kind, regular in enumerate(profiler.regular):
            if not profiler.largest(kind):
                found[kind] = max(regular, self.nodes.covering(kind, held))
        self.profiler = profiler.grown(tuple(found))

    def _affordable(self, kind: int, wanted: int) -> int:
        """GPUs of the largest profiling cluster, as wanted at most, beside which all promises can be kept."""
        had = self.profiler.regular[kind]
        if wanted <= had:
            return wanted
        sizes = [size for size in self.nodes.whole(kind) or range(wanted + 1) if had < size <= wanted]
        kept = bisect_left(sizes, True, key=lambda size: not self._can_keep(kind, size, size))
        return sizes[kept - 1] if kept else had

    def _grown(self, kind: int) -> int:
        """GPUs of the profiling cluster in this SLO lease."""
        regular = self.profiler.regular[kind]
        enough = self.nodes.enough(kind, self.profiler.largest(kind))
        return enough if enough > regular and self._can_keep(kind, enough, regular) else regular

    def _can_keep(self, kind: int, now: int, later: int) -> bool:
        """Whether there is a plan that keeps all promises beside a profiling cluster of so many GPUs."""
        promises = self._promises[kind]
        names, gpus = self._unfinished(promises, kind), self.nodes.beside(kind, now, later)
        return not names or feasible(self._instance(names, kind, gpus, promises.leases), self._solver).plan is not None

    # The selector ----------------------------------------------------------------------------------------------------

    def _unfinished(self, promises: Promises, kind: int) -> list[str]:
        """The guaranteed jobs that will not be done when the next SLO lease begins: there, whoever is left.

        Before it, a job that its lease finishes to the second is done, whatever rounding of numbers leaves of it.
        """
        there = [name for name in promises.names if name in self._at]
        if self._slo:
            return there
        left_s = seconds_up(self._left_s(there, kind)).tolist()
        return [name for name, seconds in zip(there, left_s, strict=True) if seconds > 0]

    def promise(self, new: Sequence[str]) -> None:
        """Keep the promises, give verdicts on the jobs that are new, and in a cycle of SLO leases plan."""
        miss = float(self._knobs["miss_reward"])
        there = [name for name in new if name in self._at]
        wanting = [name for name in there if worth_meeting(self._snapshot.jobs.jobs[self._at[name]].rewards, miss)]
        for name in there:
            if name not in wanting:
                self._verdicts[name] = "best_effort"
                self._why[name] = Reason("best_effort", "has no deadline: best effort")
        kinds = range(len(self._promises))
        for kind in kinds:
            if self._slo or (wanting and self._together) or any(self._known[n].speeds[kind] > 0 for n in wanting):
                self._keep(kind)
        self._admit(wanting)
        if not self._planned_together():
            self._solutions += [self._planned(kind) for kind in kinds]

    def _keep(self, kind: int) -> None:
        """Carry the promises on; those that cannot be kept any longer are broken."""
        promises, profiler = self._promises[kind], self.profiler
        profiling = profiler.capacity[kind] if self._slo else profiler.regular[kind]
        gpus = self.nodes.beside(kind, profiling, profiler.regular[kind])
        names = self._unfinished(promises, kind)
        early = any(own and name not in self._at for name, own in promises.leases.items())
        now, later = gpus  # a plan reckons with nodes that are back: it has to be looked at while they are not
        changed = promises.changed or early or gpus != promises.gpus or now != later
        if changed or not self._as_planned(names, kind):
            data = self._instance(names, kind, gpus, promises.leases)
            leases, broken = keep(data, self._solver)
            for name, why in broken.items():
                self._verdicts[name] = "best_effort"
                self._why[name] = Reason("guarantee_broken", f"its guarantee is broken: {why}; best effort from now on")
                self._broken[name] = 1.0
            changed = True
        else:
            leases = {name: promises.leases.get(name, ()) for name in names}
        left = set(names)
        ending = tuple(name for name in promises.names if name in self._at and name not in left)
        self._promises[kind] = replace(promises, leases=leases, ending=ending, gpus=gpus, changed=changed)

    def _as_planned(self, names: Sequence[str], kind: int) -> bool:
        """Whether every guaranteed job needs just the leases that it has."""
        promises = self._promises[kind]
        if not names:
            return True
        left_s = seconds_up(self._left_s(names, kind)).clip(1)
        needed = leases_needed(left_s, self._slo_s - int(self._knobs["reserve_overhead"]))
        return list(needed.tolist()) == [len(promises.leases.get(name, ())) for name in names]

    def _admit(self, wanting: Sequence[str]) -> None:
        """Verdicts on jobs with deadlines, in the order in which they were profiled; on types the fastest first."""
        if not wanting:
            return
        desks = self._desks(wanting)
        for place, name in enumerate(wanting):
            tried: list[Admission] = []
            for kind in _fastest_first(self._known[name].speeds):
                tried.append(desks[kind].admit(name))
                if tried[-1].guaranteed:
                    self._verdicts[name] = "guaranteed"
                    self._why[name] = acceptance(tried[-1], desks[kind].leases_of(name))
                    break
            else:
                self._promise_as(desks)
                tried += self._admit_together(name, tried)
                if tried and tried[-1].leases is not None:
                    self._verdicts[name] = "guaranteed"
                    self._why[name] = acceptance(tried[-1], tried[-1].leases[name])
                    desks = self._desks(wanting[place + 1 :])
                else:
                    self._verdicts[name] = "best_effort"
                    self._why[name] = refusal(tried)
        self._promise_as(desks)

    def _desks(self, wanting: Sequence[str]) -> dict[int, Admissions]:
        """Of each type that one of these jobs runs on: where its verdicts are given."""
        again, desks = self._knobs.get("plan_by") != "greedy", dict[int, Admissions]()
        for kind, promises in enumerate(self._promises):
            able = [name for name in wanting if self._known[name].speeds[kind] > 0]
            if able:
                data = self._instance(
                    [*promises.leases, *able], kind, promises.gpus, promises.leases, len(promises.leases)
                )
                desks[kind] = (
                    Admissions(data, self._solver, plan_again=again)
                    if self._instead is None
                    else AdmissionsBy(data, self._solver, self._instead, self._knobs)
                )
        return desks

    def _promise_as(self, desks: Mapping[int, Admissions]) -> None:
        """Take over what has been promised there."""
        for kind, desk in desks.items():
            if desk.has_admitted:
                self._promises[kind] = replace(self._promises[kind], leases=desk.leases, changed=True)

    # All types together ----------------------------------------------------------------------------------------------

    @property
    def _together(self) -> bool:
        """Whether a programme chooses the types of jobs."""
        one_by_one = self._instead is not None or self._knobs["types"] != "programme"
        return len(self._promises) > 1 and not one_by_one and self._knobs["plan_by"] != "greedy"

    @property
    def _pools(self) -> list[NodePool]:
        return [NodePool(name, self._node_gpus(kind)) for kind, name in enumerate(self._snapshot.types)]

    def _pooled(self, also: Sequence[str] = ()) -> ChronusInstance:
        """The plan's instance over all types of the guaranteed jobs and others."""
        sure = [name for promises in self._promises for name in promises.leases]
        claims = []
        for kind in range(len(self._promises)):
            able = [name for name in (*sure, *also) if self._known[name].speeds[kind] > 0]
            claims.append(self._claims(able, kind) if able else None)
        return guarantees.pooled(self._pools, self._promises, claims, self._start_s, self._knobs, sure)

    def _admit_together(self, name: str, tried: Sequence[Admission]) -> list[Admission]:
        """The verdict on a job that every type refused by itself, where others may change their type for it."""
        if not self._together or all(one.how == "alone" for one in tried):
            return []
        data = self._pooled([name])
        if not guarantees.small_enough(data):
            return []
        found = admit(data, name, self._solver, explain=False)
        if found.leases is not None:
            self._take_over(found.leases, found.choices or {})
        return [found]

    def _take_over(self, leases: Leases, choices: slo_plan.JobChoices) -> None:
        self._promises = guarantees.parted(self._pools, self._promises, leases, choices)

    def _planned_together(self) -> bool:
        """Plan the leases of all types in one, where they are given out and something has changed; whether it did."""
        if not self._together or not self._slo or not any(map(self._plans_anew, self._promises)):
            return False
        data = self._pooled()
        if not guarantees.small_enough(data):
            return False
        leases, choices, solution = slo_plan.plan(data, self._knobs)
        self._take_over(leases, choices)
        # Objective and bound are those of all types; they are remembered with the first.
        objectives = [(solution.objective, solution.bound), *[(0.0, 0.0)] * (len(self._promises) - 1)]
        self._promises = [
            replace(promises, objective=objective, bound=bound, changed=False)
            for promises, (objective, bound) in zip(self._promises, objectives, strict=True)
        ]
        self._solutions.append(solution)
        return True

    # One type by itself ----------------------------------------------------------------------------------------------

    def _planned(self, kind: int) -> SolveReport:
        """Plan the leases of a type where they are given out and something has changed."""
        promises = self._promises[kind]
        if not self._slo or not self._plans_anew(promises):
            return slo_plan.kept(promises)
        data = self._instance(list(promises.leases), kind, promises.gpus, promises.leases)
        leases, _, solution = slo_plan.plan(data, self._knobs, self._instead)
        self._promises[kind] = replace(
            promises, leases=leases, objective=solution.objective, bound=solution.bound, changed=False
        )
        return solution

    def _plans_anew(self, promises: Promises) -> bool:
        """Whether a plan is more than carried on: with late leases each cycle asks who needs the one that begins."""
        return promises.changed or (bool(promises.leases) and self._knobs["first_lease"] == "late")

    # The allocator ---------------------------------------------------------------------------------------------------

    def lease_guaranteed(self, free: Sequence[FreeByCluster]) -> None:
        """Give out SLO leases where they end now."""
        if not self._slo:
            return
        until_s = boundary_after(self._now_s, float(self._slo_s))
        for kind, promises in enumerate(self._promises):
            now = {name: self._gang(name) for name, own in promises.leases.items() if 1 in own}
            placed = place_guaranteed(
                now,
                {name: gpus for name, gpus in free[kind].others.items() if gpus > 0},
                self.nodes.size(kind),
                self._previous(now, kind),
                rounded=bool(self._knobs["round_up"]),
            )
            for name, at in placed.items():
                if self._runs(name, at):
                    free[kind].take(at)
                    self._assign.append(Assignment(name, at, until_s))
                    self._placed[name] = at

    def lease_spot(self, free: Sequence[FreeByCluster], profiler: Profiler) -> None:
        """Give out best-effort leases on what is left; profiler: after the profiles that begin now."""
        sure = {name: kind for kind, promises in enumerate(self._promises) for name in promises.leases}
        held = self._snapshot.leases
        there = [name for name in self._known if name in self._at and name not in held and name not in self._placed]
        names = [name for name in there if name not in sure]
        if names:
            rows = np.array([self._at[name] for name in names], dtype=np.int64)
            speed = np.array([self._known[name].speeds for name in names])
            steps, gpus = self._snapshot.jobs.steps_left[rows], self._snapshot.jobs.gpus[rows]
            order = spot.in_order(spot.remaining_s(steps, speed), gpus, str(self._knobs["be_order"])).tolist()
            line = [names[row] for row in order]
            placed = self._serve(line, [_fastest_first(own) for own in speed[order].tolist()], free, profiler)
            self._placed.update(placed)
            self._tell_spot(line, placed)
        waiting = [name for name in there if name in sure] if self._knobs["spare"] == "everyone" else []
        if waiting:
            line = sorted(waiting, key=lambda name: self._slack_s(name, sure[name]))
            for name in self._serve(line, [[sure[name]] for name in line], free, profiler):
                text = "guaranteed: between its leases it has GPUs that nobody else has"
                self._why[name] = Reason("spare_lease", text)

    def _slack_s(self, name: str, kind: int) -> float:
        """Seconds that a guaranteed job could still wait on a type, for its last deadline."""
        return max((by_s for by_s, _ in self._steps_of(name)), default=0.0) - self._left_s([name], kind)[0]

    def _serve(
        self, line: Sequence[str], kinds: Sequence[Sequence[int]], free: Sequence[FreeByCluster], profiler: Profiler
    ) -> dict[str, dict[str, int]]:
        """Best-effort leases of a line, taken from what is free; kinds: of each job the types, the best first."""
        placed = spot.serve(
            line,
            [self._gang(name) for name in line],
            kinds,
            [self._pool(kind, free, profiler) for kind in range(len(free))],
            {name: lease.gpus for name, lease in self._snapshot.ended.items() if isinstance(name, str)},
            spot.SpotRules(
                str(self._knobs["be_placement"]),
                int(self._knobs["search"]),
                int(self._knobs["large"]),
            ),
        )
        until_s = boundary_after(self._now_s, float(self._be_s))
        own = [set(names) for names in self.nodes.names]
        for name, at in placed.items():
            free[next(kind for kind, names in enumerate(own) if names.issuperset(at))].take(at)
            self._assign.append(Assignment(name, at, until_s))
        return placed

    def _pool(self, kind: int, free: Sequence[FreeByCluster], profiler: Profiler) -> spot.SpotGpus:
        nodes, accelerator = self.nodes, self._snapshot.types[kind]
        reserved = nodes.reserved(kind, profiler.capacity[kind])
        sizes = zip(nodes.names[kind], nodes.gpus[kind], strict=True)
        sizes_left = sorted((size - reserved.get(name, 0) for name, size in sizes), reverse=True)

        def speed(name: str, shape: Shape) -> float:
            job, gpus = self._snapshot.jobs.jobs[self._at[name]], sum(shape)
            few = self._snapshot.cluster.fewest_nodes(accelerator, gpus)
            word: Placement = "consolidated" if few is None or len(shape) <= few else "unconsolidated"
            return self._snapshot.belief.steps_per_s(job, accelerator, gpus, word, len(shape))

        return spot.SpotGpus(
            {name: gpus for name, gpus in free[kind].others.items() if gpus > 0},
            {name: gpus for name, gpus in free[kind].own.items() if gpus > 0},
            tuple(sizes_left),
            nodes.size(kind),
            speed,
            self._runs,
        )

    def _gang(self, name: str) -> int:
        return self._snapshot.jobs.gpus.item(self._at[name])

    def _previous(self, names: Mapping[str, int], kind: int) -> dict[str, Mapping[str, int]]:
        """Where jobs have been until now, on nodes of a type; not those that were profiled on a part of their gang."""
        own, ended = set(self.nodes.names[kind]), self._snapshot.ended
        had = {name: ended[name].gpus for name in names if name in ended}
        return {
            name: gpus for name, gpus in had.items() if own.issuperset(gpus) and sum(gpus.values()) == self._gang(name)
        }

    def _runs(self, name: str, at: Mapping[str, int]) -> bool:
        """Whether a job is believed to run on these nodes."""
        job = self._snapshot.jobs.jobs[self._at[name]]
        return self._snapshot.belief.on_nodes(job, at) > 0

    # What is said of it ----------------------------------------------------------------------------------------------

    def _tell_spot(self, line: Sequence[str], placed: Mapping[str, Mapping[str, int]]) -> None:
        """Why jobs of the spot cluster got leases or not; a verdict given now stays the reason."""
        by = spot.BY[str(self._knobs["be_order"])]
        for place, name in enumerate(line, start=1):
            if name in self._why:
                continue
            if name in placed:
                text = f"a best-effort lease: number {place} of {len(line)} by {by}"
                self._why[name] = Reason("spot_lease", text, {"place": float(place)})
            elif self._is_told(name):
                text = f"number {place} of {len(line)} by {by}: too few GPUs are left for it"
                self._why[name] = Reason("spot_waits", text, {"place": float(place)})

    def _tell_guaranteed(self) -> None:
        for promises in self._promises:
            for name in promises.names:
                if name not in self._why and self._is_told(name):
                    self._why[name] = self._lease_reason(name, promises.leases.get(name, ()))

    def _is_told(self, name: str) -> bool:
        """Whether a job's reason is recorded: in detail, or with an event, of who starts, stops or has a verdict."""
        seen = self._snapshot
        return seen.in_detail or name in self._placed or name in seen.ended or name in self._verdicts

    def _lease_reason(self, name: str, own: Sequence[int]) -> Reason:
        """Why a guaranteed job has its lease now, or not; own: its leases from the next boundary on."""
        if name in self._placed:
            return _has_lease(len(own))
        if name in self._snapshot.leases:
            return _runs_on(len(own), self._snapshot.leases[name].until_s)
        if self._slo and own and own[0] == 1:
            return Reason("lease_lost", "its SLO lease is lost: no nodes hold its gang as it has to be placed")
        if own:
            return _has_next(own[0], self._start_s + (own[0] - 1) * self._slo_s - self._now_s)
        return Reason("lease_later", f"its SLO lease is lost: it is planned again at {moment(self._start_s)}")

    def _tell_profiler(self, profiler: Profiler) -> None:
        for place, one in enumerate(profiler.line, start=1):
            text = f"waits to be profiled on {counted(one.gpus, 'GPU')}: number {place}, first come first served"
            self._why[one.job] = Reason("profile_waits", text, {"place": float(place)})
        for running in profiler.running:
            self._why[running.waiting.job] = Reason("profiled", f"new: is profiled until {moment(running.until_s)}")
        for one in profiler.held:
            text = "submission control: its user's jobs have had their GPUs in this interval"
            self._why[one.job] = Reason("held_back", text)

    def outcome(self, profiler: Profiler) -> CycleOutcome:
        """What the cycle decides; profiler: after the profiles that begin now."""
        self._tell_guaranteed()
        self._tell_profiler(profiler)
        found = slo_plan.together(self._solutions)
        asked = self._instead and any(self._why[name].facts.get("how") == "model" for name in self._verdicts)
        return CycleOutcome(
            tuple(self._assign),
            tuple(self._promises),
            self._verdicts,
            self._why,
            self._signals(profiler) if self._snapshot.in_detail else {},
            replace(found, made_by="model") if asked else found,
        )

    def _signals(self, profiler: Profiler) -> dict[str, Mapping[str, float]]:
        jobs = self._snapshot.jobs
        sure = {name: own for promises in self._promises for name, own in promises.leases.items() if own}
        # Beside the promised ones: best-effort leases are over now, so that whoever runs on is in its last SLO lease.
        leased = {str(name) for name, lease in self._snapshot.leases.items() if lease.kind == "run"}
        mine = {*sure, *leased}
        names = [name for name in jobs.names if self._slo or name in mine or name in self._verdicts]
        queue = [GUARANTEED if name in mine else BEST_EFFORT if name in self._known else PROFILER for name in names]
        shift = self._start_s - self._now_s
        running = [*leased, *(name for name in sure if name in self._placed and name not in leased)]
        guaranteed = sum(self._gang(name) for name in running)
        profiling = sum(profiler.capacity)
        total = sum(map(sum, self.nodes.gpus))
        first = jobs.names[0]
        found: dict[str, Mapping[str, float]] = {
            "queue": PerJob(names, np.array(queue)),
            "remaining_s": PerJob(names, self._remaining_s(names)),
            "leases_planned": {name: float(len(own)) for name, own in sure.items()},
            "next_lease_s": {name: shift + (own[0] - 1) * self._slo_s for name, own in sure.items()},
            "profiling_gpus": {first: float(profiling)},
            "guaranteed_gpus": {first: float(guaranteed)},
            "spot_gpus": {first: float(max(0, total - profiling - guaranteed))},
            "plan_gpus": {first: float(sum(sum(promises.gpus[:1]) for promises in self._promises))},
            "plan_gpus_later": {first: float(sum(sum(promises.gpus[-1:]) for promises in self._promises))},
            "profiling_waiting": {first: float(len(profiler.line))},
            "profiling_held": {first: float(len(profiler.held))},
        }
        return {**found, "guarantee_broken": self._broken} if self._broken else found

    def _remaining_s(self, names: Sequence[str]) -> FloatArray:
        """(names,) seconds left on the fastest type as estimated; nan for jobs that are not profiled yet."""
        left = self._snapshot.jobs.steps_left[[self._at[name] for name in names]].tolist()
        best = [max(self._known[name].speeds) if name in self._known else 0.0 for name in names]
        return np.array([steps / speed if speed > 0 else np.nan for steps, speed in zip(left, best, strict=True)])


@lru_cache(10_000)
def _has_lease(leases: int) -> Reason:
    text = f"an SLO lease, and {counted(leases - 1, 'lease')} to come: the plan meets a deadline"
    return Reason("slo_lease", text, {"leases": float(leases)})


@lru_cache(10_000)
def _runs_on(leases: int, until_s: float) -> Reason:
    last = "" if leases else "last "
    return Reason("slo_lease", f"runs on its {last}SLO lease until {moment(until_s)}", {"leases": float(leases)})


@lru_cache(10_000)
def _has_next(lease: int, wait_s: float) -> Reason:
    text = f"guaranteed: the plan has its next lease in {clock(wait_s)}"
    return Reason("first_lease" if lease == 1 else "later_lease", text, {"lease": float(lease)})


def _fastest_first(speeds: Sequence[float]) -> list[int]:
    """Types on which a job runs, the fastest first; of equal ones the first."""
    return sorted((kind for kind, speed in enumerate(speeds) if speed > 0), key=lambda kind: -speeds[kind])
