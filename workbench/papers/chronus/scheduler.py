"""The scheduler of Chronus (Fig. 1): profile, admit, lease, place.

One clock: best-effort leases end at every multiple of `be_lease_s`, SLO leases at every multiple of `slo_lease_s`,
which is a multiple of the other. A new job is profiled (`profiling`). In the next cycle the selector gives its verdict:
a job whose deadline can be guaranteed beside those of the others waits for its leases, any other is best effort and is
told so (`guarantees`). In every cycle of SLO leases a plan says whose lease it is (`slo_plan`); only that first lease
is carried out, placed by `consolidation`. What is left is for the spot cluster (`spot`), in every cycle of best-effort
leases; so is what a guaranteed job leaves that ends inside its lease.

A plan is made anew when something has changed: a job was guaranteed, has ended or is not where the plan had it, a node
failed or came back, the profiling cluster grew or shrank. Else the last one is carried on (`made_by` kept), as it is
when only the profiler is asked. Nodes that are down are missing from a plan's first lease; in the later ones they are
taken to be back (ours), or every fault would break promises that can still be kept.

A job runs on the GPUs it asks for. The range of section 7 (`gpu_range`) is for `chronus.leases` alone: the profiler
measures a job with its own gang, and on speeds of other sizes, which nobody measured, no promise can be given.

The profiling cluster grows only where a plan beside it keeps all promises (ours), so that it breaks no guarantee.

Recorded with every cycle: `queue` of each job (0 profiler, 1 guaranteed, 2 best effort) and `remaining_s` as estimated,
where no SLO leases end only of the guaranteed and of those with a verdict (a long run has much to record: of tens of
thousands of jobs, `simulate(..., detail=100)` keeps the signals and renewals of the first 100 decisions only);
`leases_planned` and `next_lease_s` (from now) of guaranteed jobs; `guarantee_broken` (1) for jobs whose promise could
not be kept any longer. The sizes of the clusters `profiling_gpus`, `guaranteed_gpus` (held now), `spot_gpus`, the
GPUs that plans reckon with, `plan_gpus` in the first lease and `plan_gpus_later` in all later ones, and
`profiling_waiting`, `profiling_held`, the jobs in the profiler's line and those held back by submission control, are
the cluster's, whatever job they are recorded with (the first one).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError, counted
from workbench.base.round_times import boundary_after, boundary_from
from workbench.base.units import moment
from workbench.papers.chronus import knobs
from workbench.papers.chronus.algorithms import profiling, slo_plan
from workbench.papers.chronus.algorithms.clusters import FreeByCluster, NodesUp, split
from workbench.papers.chronus.algorithms.cycle import Cycle, CycleOutcome
from workbench.papers.chronus.algorithms.guarantees import Promises
from workbench.papers.chronus.algorithms.profiling import ProfiledSpeeds, Profiler, WaitingProfile
from workbench.papers.chronus.algorithms.terms import ROUNDING_S, LeaseTerms
from workbench.papers.chronus.formulations.leases import LeaseSelection
from workbench.papers.chronus.knobs import (
    BE_LEASE_S,
    LARGE,
    MISS_REWARD,
    PLAN_BY,
    RESERVE_OVERHEAD,
    ROUND_UP,
    SEARCH,
    SLO_LEASE_S,
    TYPES,
)
from workbench.scenario.scenario import Scenario
from workbench.scheduling import job_orders
from workbench.scheduling.contract import ExactProblem, Formulation, Knobs, Result, Route, Scheduler, Timing
from workbench.scheduling.decision import Assignment, Cause, Decision, Reason
from workbench.scheduling.snapshot import Snapshot

PROFILER_ON: frozenset[Cause] = frozenset({"arrival", "completion", "fault"})


@dataclass(frozen=True)
class ChronusMemory:
    """profiler: its line; known: jobs that have been profiled; new: those of them without a verdict; promises: of each
    type."""

    profiler: Profiler
    promises: tuple[Promises, ...]
    known: Mapping[str, ProfiledSpeeds] = field(default_factory=dict)
    new: tuple[str, ...] = ()


BY_CYCLE = "its cycle admits, carries the last plan on, and asks a solver where that earns too little"


class Chronus(Scheduler):
    """Leases for jobs with deadlines, guaranteed once admitted."""

    name = "chronus"
    title = "Chronus: guaranteed deadlines by leases"
    knobs = (
        SLO_LEASE_S,
        BE_LEASE_S,
        *knobs.PLAN_KNOBS,
        knobs.FIRST_LEASE,
        TYPES,
        ROUND_UP,
        knobs.BE_PLACEMENT,
        SEARCH,
        LARGE,
        knobs.BE_ORDER,
        knobs.SPARE,
        MISS_REWARD,
        RESERVE_OVERHEAD,
        *knobs.PROFILE_KNOBS,
    )
    uses = frozenset({"arrival_s", "steps", "gpus", "user", "rewards"})
    formulation = "chronus.leases"
    ways = frozenset({PLAN_BY.name, TYPES.name})

    def route(self, knobs: Knobs) -> Route:
        """Its plan may come from a solver, whom its cycle asks only where the plan carried on earns too little."""
        if self.instead is not None:
            return Route("algorithm", self.instead.name, BY_CYCLE)
        kept = knobs["plan_by"] in ("greedy", "feasibility")
        reason = "jobs keep the leases that they were guaranteed" if kept else BY_CYCLE
        return Route("algorithm", "chronus.leases", reason)

    def exact(self, snapshot: Snapshot, knobs: Knobs, end_s: float) -> ExactProblem:
        """(1)-(6) of all jobs with deadlines, each from its arrival on, with nobody guaranteed before the others."""
        formulation = LeaseSelection()
        asked = {knob.name: knobs[knob.name] for knob in formulation.knobs if knob.name in knobs}
        settled = formulation.settle({**asked, "gap": 0.0, "form": "printed"})
        data = formulation.data(snapshot.with_future(), settled)
        gang = {job: data.choice(row).gpus for row, job in enumerate(data.jobs)}

        def worth(finish_s: FloatArray) -> float:
            """Of a job that has not ended by its last deadline, a miss; one that still may: NaN."""
            found = 0.0
            for steps, end in zip(data.steps, finish_s.tolist(), strict=True):
                still = math.isnan(end) and end_s < max((deadline_s for deadline_s, _ in steps), default=0.0)
                met = [reward for deadline_s, reward in steps if end - ROUNDING_S <= deadline_s]
                found += math.nan if still else max(met, default=data.miss_reward)
            return found

        def plan(found: Result) -> list[dict[str, Any]]:
            sizes = {job: own["gpus"] for job, own in found.values.get("choice", {}).items() if own}
            return [
                {"job": job, "slot": k, "gpus": sizes.get(job, gang[job]),
                 "start_s": data.start_s + (k - 1) * data.lease_s, "end_s": data.start_s + k * data.lease_s}
                for job, leases in found.values["leases"].items() for k in leases or ()
            ]  # fmt: skip

        without = (
            "profiling and restarts, which cost time; best-effort leases and ends within a lease, by which a run may "
            "meet a deadline that whole leases do not; its jobs are known ahead"
        )
        return ExactProblem(formulation, data, settled, worth, plan, "reward of all jobs together", without)

    def about(self, knobs: Knobs) -> frozenset[str]:
        """Users only where submission control is on."""
        controlled = knobs["profile"] and knobs["submission_gpus"] is not None
        return self.uses if controlled else self.uses - {"user"}

    def timing(self, knobs: Knobs) -> Timing:
        """Every best-effort lease; the profiler at arrivals, completions and faults too.

        Raises InputError for an SLO lease that is no multiple of the best-effort lease.
        """
        LeaseTerms(int(knobs["slo_lease_s"]), int(knobs["be_lease_s"]))
        return Timing(float(knobs["be_lease_s"]), PROFILER_ON if knobs["profile"] else frozenset())

    def start(self, scenario: Scenario, knobs: Knobs) -> ChronusMemory:
        """Nobody is known yet. Raises InputError for knobs that do not go together."""
        gpus = tuple(scenario.cluster.capacity.values())
        fixed, slo_s = knobs["profile_gpus"], int(knobs["slo_lease_s"])
        if fixed is not None and int(fixed) >= sum(gpus):
            raise InputError("knob profile_gpus", fixed, f"fewer than the {sum(gpus)} GPUs of the cluster")
        if knobs["profile"] and int(knobs["profile_s"]) > slo_s:
            raise InputError("knob profile_s", knobs["profile_s"], f"at most an SLO lease, {slo_s} s")
        if int(knobs["reserve_overhead"]) >= slo_s:
            raise InputError("knob reserve_overhead", knobs["reserve_overhead"], f"less than an SLO lease, {slo_s} s")
        return ChronusMemory(profiling.first_profiler(gpus, knobs), (Promises(),) * len(gpus))

    def decide(
        self, snapshot: Snapshot, memory: ChronusMemory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, ChronusMemory]:
        memory = _heard(snapshot, memory, knobs, rng)
        be_s = float(knobs["be_lease_s"])
        if boundary_from(snapshot.now_s, be_s) == snapshot.now_s:
            return _cycle(snapshot, memory, knobs, self.instead)
        plan = slo_plan.together([slo_plan.kept(promises) for promises in memory.promises])
        if not memory.profiler.line:
            return Decision(solved=plan, next_s=_next_s(memory.profiler, snapshot.now_s, knobs)), memory
        nodes = NodesUp.of(snapshot)
        started, profiler = _profiles(snapshot, memory.profiler, nodes, _free(snapshot, memory.profiler, nodes), knobs)
        why = {str(one.unit): _profiled(one) for one in started}
        next_s = _next_s(profiler, snapshot.now_s, knobs)
        return Decision(started, solved=plan, why=why, next_s=next_s), replace(memory, profiler=profiler)


def _cycle(
    snapshot: Snapshot, memory: ChronusMemory, knobs: Knobs, instead: Formulation[Any] | None
) -> tuple[Decision, ChronusMemory]:
    """What happens when best-effort leases end, and where SLO leases do too."""
    cycle = Cycle(snapshot, knobs, memory.known, memory.promises, memory.profiler, instead)
    cycle.promise(memory.new)
    free = _free(snapshot, cycle.profiler, cycle.nodes)
    cycle.lease_guaranteed(free)
    profiles, profiler = _profiles(snapshot, cycle.profiler, cycle.nodes, free, knobs)
    cycle.lease_spot(free, profiler)
    outcome: CycleOutcome = cycle.outcome(profiler)
    why = {**outcome.why, **{str(one.unit): _profiled(one) for one in profiles}}
    decision = Decision(
        (*outcome.assign, *profiles),
        verdicts=outcome.verdicts,
        signals=outcome.signals,
        solved=outcome.solution,
        why=why,
        next_s=_next_s(profiler, snapshot.now_s, knobs),
    )
    known = {name: own for name, own in memory.known.items() if name in snapshot.jobs.at}
    return decision, ChronusMemory(profiler, outcome.promises, known)


def _free(snapshot: Snapshot, profiler: Profiler, nodes: NodesUp) -> tuple[FreeByCluster, ...]:
    return split(snapshot, nodes, profiler.capacity, profiler.own_jobs)


def _profiles(
    snapshot: Snapshot, profiler: Profiler, nodes: NodesUp, free: tuple[FreeByCluster, ...], knobs: Knobs
) -> tuple[tuple[Assignment, ...], Profiler]:
    slo_end_s = boundary_after(snapshot.now_s, float(knobs["slo_lease_s"]))
    return profiling.start_profiles(profiler, snapshot, nodes, free, slo_end_s, knobs)


def _profiled(started: Assignment) -> Reason:
    where = counted(sum(started.gpus.values()), "GPU")
    return Reason("profiled", f"new: is profiled on {where} until {moment(started.until_s)}")


def _next_s(profiler: Profiler, now_s: float, knobs: Knobs) -> float | None:
    """When the profiler has to be asked before the next cycle; None where it need not be."""
    if not knobs["profile"]:
        return None
    next_s = profiler.next_s(now_s, knobs)
    return next_s if next_s is not None and next_s < boundary_after(now_s, float(knobs["be_lease_s"])) else None


# Who is new --------------------------------------------------------------------------------------------------------


def _heard(snapshot: Snapshot, memory: ChronusMemory, knobs: Knobs, rng: np.random.Generator) -> ChronusMemory:
    """Jobs that came enter the profiler's line; those that it is done with are known from now on.

    Jobs that hold GPUs when they are first seen are known at once (ours): they ran before the scenario began.
    """
    profiler, profiled = memory.profiler.at(snapshot)
    rows = _new_rows(snapshot, profiler.last)
    jobs, now_s = snapshot.jobs, snapshot.now_s
    held = {*snapshot.leases, *snapshot.ended} if rows else set()
    at_once = [row for row in rows if not knobs["profile"] or jobs.jobs[row].name in held]
    entering = [row for row in rows if row not in set(at_once)]
    if rows:
        profiler = replace(profiler, last=(float(jobs.arrival_s[rows[-1]]), int(jobs.position[rows[-1]])))
    if knobs["profile"]:
        new = _waiting(snapshot, entering) if entering else []
        profiler = profiler.entered(new, now_s, knobs)
    found = [jobs.at[name] for name in profiled] + at_once
    if not found:
        return memory if profiler is memory.profiler else replace(memory, profiler=profiler)
    known = {**memory.known, **_known(snapshot, found, knobs, rng)}
    names = tuple(jobs.jobs[row].name for row in found)
    return replace(memory, profiler=profiler, known=known, new=(*memory.new, *names))


def _new_rows(snapshot: Snapshot, last: tuple[float, int]) -> list[int]:
    """Rows of the jobs that have come after the last one that is known of."""
    jobs, rows = snapshot.jobs, []
    for row in range(len(jobs) - 1, -1, -1):
        if (jobs.arrival_s.item(row), jobs.position.item(row)) <= last:
            break
        rows.append(row)
    return rows[::-1]


def _believed(snapshot: Snapshot, rows: list[int]) -> FloatArray:
    """(rows x types) steps/s of whole gangs."""
    return snapshot.belief.speeds(job_orders.take(snapshot.jobs, rows))


def _waiting(snapshot: Snapshot, rows: list[int]) -> list[WaitingProfile]:
    nodes, found = NodesUp.of(snapshot), []
    for row, speeds in zip(rows, _believed(snapshot, rows).tolist(), strict=True):
        job = snapshot.jobs.jobs[row]
        kind, gpus = profiling.profiled_on(job, speeds, nodes)
        found.append(WaitingProfile(job.name, kind, gpus, job.user or ""))
    return found


def _known(snapshot: Snapshot, rows: list[int], knobs: Knobs, rng: np.random.Generator) -> dict[str, ProfiledSpeeds]:
    """What the profiler found of jobs."""
    nodes, types, found = NodesUp.of(snapshot), snapshot.types, dict[str, ProfiledSpeeds]()
    for row, speeds in zip(rows, _believed(snapshot, rows).tolist(), strict=True):
        job, factor = snapshot.jobs.jobs[row], profiling.error_factor(knobs, rng)
        if knobs["profile"]:
            speeds = [
                profiling.estimated_speed(job, types[kind], speed, nodes.size(kind), snapshot.belief)
                for kind, speed in enumerate(speeds)
            ]
        found[job.name] = ProfiledSpeeds(tuple(speed / factor for speed in speeds))
    return found
