r"""The scheduler of Hops (section 3.6, Fig. 5): rounds of several plans that end together.

New jobs are profiled first, in a queue of their own: at the start of a round, and (ours) on idle GPUs within it, as
later plans are made there too. A round's first plan takes the service
window of the queue and may move every job. As long as GPUs are idle then, and again when jobs end, arrive or lose their
server, further plans place waiting jobs on what is idle until the round ends; they are for fragments, so the window is
adjusted to sensitivity first.

What a first plan is charged passes before it is carried out: until then jobs go on as in the round before.
Two fallbacks for plans that take too long (section 4.7). With `overlap` a round carries out what was planned when the
one before it began, while its own plan is made for the next, and nothing is charged. If a solver's time runs out before
there is any plan, the assignments of the last round go on, and the decision says so. (ours): what a job that goes on
like this would have to give up is not weighed; the length of a round is not printed; a problem that is the same as a
round ago is not solved again.

What the first plan of a round is charged for being made (4.2 and 4.7) is from a model, never wall time:

decision_s = c (GPUs / 512)^2 * (1 up to 1000 GPUs, 1/3 above)                                                   (ours)

GPUs are those that the plan gives out. With c = 6 s this is 0.1 s on 64 GPUs (the paper: below 1 s under 100), 6 s on
512 (within 10 s), 8 s on 1000 (6 s) and 17 s on 1500 (17 s), both at the larger gap, which is 3 times faster. Charged
in whole seconds; later plans of a round, on few GPUs, are not charged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.base.round_times import boundary_after
from workbench.papers.hops.algorithms.profiler import ProfileQueue, probes, start_profiles
from workbench.papers.hops.algorithms.queue import queue, remembered_ages
from workbench.papers.hops.algorithms.round_state import DuePlan, FirstPlan, MadePlan, Placements, RoundState
from workbench.papers.hops.formulations.round import HopsRound
from workbench.papers.hops.knobs import (
    FORM,
    ITERATIONS,
    LARGE,
    PLAN,
    PLANS,
    PRIORITY,
    REFRESH_S,
    ROUND_S,
    RULE,
    START_S,
)
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import MODEL, Formulation, Knobs, Route, Scheduler, StatedProblem, Timing
from workbench.scheduling.decision import Assignment, Cause, Decision
from workbench.scheduling.snapshot import Snapshot

REFERENCE_GPUS, FASTER = 512, 3.0


def decision_s(gpus: int, reference_s: float) -> float:
    """Whole seconds that a plan for so many GPUs takes; reference_s: for 512."""
    seconds = reference_s * (gpus / REFERENCE_GPUS) ** 2
    return float(math.floor(seconds if gpus <= LARGE else seconds / FASTER))


REPLAN_ON: frozenset[Cause] = frozenset({"idle", "arrival", "fault", "repair"})


@dataclass(frozen=True)
class HopsMemory:
    """Ages of jobs as first estimated; the queue of the profiler; past: what was planned last.

    waiting: the plan that is being charged, None without one; coming: the plan of the next round (knob `overlap`);
    listed: unfinished jobs whose gains have been recorded when a round began.
    """

    ages: dict[str, float] = field(default_factory=dict)
    profiles: ProfileQueue = field(default_factory=ProfileQueue)
    past: FirstPlan | None = None
    waiting: DuePlan | None = None
    coming: Placements | None = None
    listed: tuple[str, ...] = ()


class Hops(Scheduler):
    """Prior-weighted plans of specific servers, several in a round."""

    name = "hops"
    title = "Hops: prior-weighted plans, latency ratio fairness"
    knobs = (ROUND_S, *PLAN, MODEL, PRIORITY, REFRESH_S, *PLANS, ITERATIONS, START_S, RULE)
    uses = frozenset({"arrival_s", "steps", "gpus", "gpu_choices"})
    belief = "nodes"
    formulation = "hops.round"
    ways = frozenset({FORM.name, MODEL.name})

    def route(self, knobs: Knobs) -> Route:
        return Route("same programme", self.instead.name if self.instead else "hops.round")

    def stated(self, snapshot: Snapshot, memory: HopsMemory, knobs: Knobs) -> StatedProblem | None:
        """The decision's first plan, in the form in which it is solved; None if none is made."""
        turn = _Turn(snapshot, memory, knobs, remembered_ages(snapshot, memory.ages), self.instead)
        turn.decide()
        if turn.first is None:
            return None
        data, planned = turn.first
        return StatedProblem(self.instead or HopsRound(), data, {**knobs, "form": planned.form})

    def timing(self, knobs: Knobs) -> Timing:
        return Timing(float(knobs["round_s"]), REPLAN_ON if knobs["replan"] else frozenset())

    def start(self, scenario: Scenario, knobs: Knobs) -> HopsMemory:
        return HopsMemory()

    def decide(
        self, snapshot: Snapshot, memory: HopsMemory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, HopsMemory]:
        ages = remembered_ages(snapshot, memory.ages)
        turn = _Turn(snapshot, memory, knobs, ages, self.instead)
        decision = turn.decide()
        return decision, HopsMemory(ages, turn.profiles, turn.past, turn.waiting, turn.coming, turn.listed)


class _Turn:
    """One decision; after `decide` its fields are those of the next memory, and `first` is its first plan."""

    def __init__(
        self,
        snapshot: Snapshot,
        memory: HopsMemory,
        knobs: Knobs,
        ages: dict[str, float],
        instead: Formulation[Any] | None,
    ) -> None:
        self._snapshot, self._knobs, self._instead = snapshot, knobs, instead
        self.past, self.waiting, self.coming = memory.past, memory.waiting, memory.coming
        self.listed = tuple(name for name in memory.listed if name in snapshot.jobs.at)
        self.profiles = _profiles(snapshot, memory, knobs)
        self.first: MadePlan | None = None
        self._started: tuple[Assignment, ...] = ()
        self._line = queue(snapshot, ages, knobs["priority"], float(knobs["refresh_s"]))
        self._end_s = boundary_after(snapshot.now_s, float(knobs["round_s"]))

    def decide(self) -> Decision:
        now_s, due = self._snapshot.now_s, self.waiting
        state = RoundState(self._snapshot, self._line, self._knobs, self.profiles.jobs, self.listed, self._instead)
        if due is not None and now_s < due.due_s:
            return self._decision(state, self._end_s)
        if due is not None:
            self.waiting = None
            state.carry_out(due.placed)
        self._profile(state)
        if due is None and not any(lease.kind == "run" for lease in self._snapshot.leases.values()):
            self._begin(state)
            if self.waiting is not None:
                return self._decision(state, self.waiting.due_s)
        if self._knobs["replan"]:
            state.fill(adjust=bool(self._knobs["adjust"]))
        return self._decision(state, self._end_s)

    def _profile(self, state: RoundState) -> None:
        """Begin profiles, before any plan of this decision."""
        self._started, self.profiles = start_profiles(self.profiles, self._snapshot, state.taken)
        for started in self._started:
            state.take(started.gpus)

    def _begin(self, state: RoundState) -> None:
        """The first plan of a round: carried out now, when it has been charged, or in the next round."""
        found, self.past = state.begin(self.past)
        self.listed = tuple(name for name in self._snapshot.jobs.names if name in state.listed)
        if self._knobs["overlap"]:
            coming, self.coming = self.coming, found
            state.carry_out(found if coming is None else coming)
            return
        charged_s = decision_s(state.planned_gpus, float(self._knobs["decision_s"])) if state.solved else 0.0
        if charged_s > 0:
            due_s = min(self._snapshot.now_s + charged_s, self._end_s)
            self.waiting = DuePlan(found, due_s)
            state.carry_out(state.before)
        else:
            state.carry_out(found)

    def _decision(self, state: RoundState, end_s: float) -> Decision:
        self.first = state.first
        return Decision(
            (*self._started, *(Assignment(name, gpus, end_s) for name, gpus in state.placed.items())),
            signals=state.signals(),
            solved=state.solution(),
            why=state.why(self._due()),
            next_s=self._next_s(),
        )

    def _due(self) -> DuePlan | None:
        """The plan that is not carried out yet: the one that is charged, or with `overlap` that of the next round."""
        if self.waiting is not None or self.coming is None:
            return self.waiting
        return DuePlan(self.coming, self._end_s)

    def _next_s(self) -> float | None:
        """When a plan is due, or within a round a job has been profiled."""
        if self.waiting is not None:
            return self.waiting.due_s
        return self.profiles.next_s if self._knobs["replan"] else None


def _profiles(snapshot: Snapshot, memory: HopsMemory, knobs: Knobs) -> ProfileQueue:
    """The profiler's queue with the jobs that are new, but for those that run already."""
    held = snapshot.leases.keys() | snapshot.ended.keys()
    made = [
        probe
        for job in snapshot.jobs.jobs
        if job.name not in memory.ages and job.name not in held
        for probe in probes(
            job,
            snapshot.belief,
            snapshot.cluster,
            int(knobs["profile_iterations"]),
            float(knobs["profile_start_s"]),
        )
    ]
    return memory.profiles.at(snapshot).entered(made)
