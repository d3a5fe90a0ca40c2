"""The scheduler of Hops (section 3.6, Fig. 5): rounds of several plans that end together.

New jobs are profiled first, in a queue of their own: at the start of a round, and (ours) on idle GPUs within it, as
later plans are made there too. A round's first plan takes the service
window of the queue and may move every job. As long as GPUs are idle then, and again when jobs end, arrive or lose their
server, further plans place waiting jobs on what is idle until the round ends; they are for fragments, so the window is
adjusted to sensitivity first.

What a first plan is charged (`charge`) passes before it is carried out: until then jobs go on as in the round before.
Two fallbacks for plans that take too long (section 4.7). With `overlap` a round carries out what was planned when the
one before it began, while its own plan is made for the next, and nothing is charged. If a solver's time runs out before
there is any plan, the assignments of the last round go on, and the decision says so. (ours): what a job that goes on
like this would have to give up is not weighed; the length of a round is not printed; a problem that is the same as a
round ago is not solved again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from workbench.base.boundaries import LONGEST_ROUND_S, boundary_after
from workbench.papers.hops.charge import DECISION_S, decision_s
from workbench.papers.hops.knobs import PLAN
from workbench.papers.hops.learning_rate import RULE
from workbench.papers.hops.moment import Due, Moment, Past, Placements
from workbench.papers.hops.profiler import ITERATIONS, START_S, ProfileQueue, probes, start_profiles
from workbench.papers.hops.queue import PRIORITY, REFRESH_S, queue, remembered_ages
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Scheduler, Timing
from workbench.scheduling.decision import Assignment, Cause, Decision, Snapshot
from workbench.scheduling.knob import Knob

REPLAN_ON: frozenset[Cause] = frozenset({"idle", "arrival", "fault", "repair"})
ROUND_S = Knob("round_s", 300.0, "Length of a round", "s", minimum=1.0, maximum=LONGEST_ROUND_S, main=True)
REPLAN = Knob("replan", True, "Plan again within a round while GPUs are idle", source="paper", kind="bool")
ADJUST = Knob(
    "adjust", True, "Let less sensitive jobs into the window of later plans of a round", source="paper", kind="bool"
)
OVERLAP = Knob(
    "overlap", False, "A round carries out what was planned when the one before it began", source="paper", kind="bool"
)
TIME_LIMIT_S = Knob(
    "time_limit_s",
    None,
    "Wall time of one plan, after which the best found so far counts (runs may then differ); none: no limit",
    "s",
    minimum=0.001,
    optional=True,
)
PLANS = (REPLAN, ADJUST, OVERLAP, DECISION_S, TIME_LIMIT_S)


@dataclass(frozen=True)
class Memory:
    """Ages of jobs as first estimated; the queue of the profiler; past: what was planned last.

    waiting: the plan that is being charged, None without one; coming: the plan of the next round (knob `overlap`);
    listed: unfinished jobs whose gains have been recorded when a round began.
    """

    ages: dict[str, float] = field(default_factory=dict)
    profiles: ProfileQueue = field(default_factory=ProfileQueue)
    past: Past | None = None
    waiting: Due | None = None
    coming: Placements | None = None
    listed: tuple[str, ...] = ()


class Hops(Scheduler):
    """Prior-weighted plans of specific servers, several in a round."""

    name = "hops"
    title = "Hops: prior-weighted plans, latency ratio fairness"
    knobs = (ROUND_S, *PLAN, PRIORITY, REFRESH_S, *PLANS, ITERATIONS, START_S, RULE)
    uses = frozenset({"arrival_s", "steps", "gpus", "gpu_choices"})
    belief = "servers"

    def timing(self, knobs: Knobs) -> Timing:
        return Timing(float(knobs["round_s"]), REPLAN_ON if knobs["replan"] else frozenset())

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        return Memory()

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        ages = remembered_ages(snapshot, memory.ages)
        turn = _Turn(snapshot, memory, knobs, ages)
        decision = turn.decide()
        return decision, Memory(ages, turn.profiles, turn.past, turn.waiting, turn.coming, turn.listed)


class _Turn:
    """One decision; after `decide` its fields are those of the next memory."""

    def __init__(self, snapshot: Snapshot, memory: Memory, knobs: Knobs, ages: dict[str, float]) -> None:
        self._snapshot, self._knobs = snapshot, knobs
        self.past, self.waiting, self.coming = memory.past, memory.waiting, memory.coming
        self.listed = tuple(name for name in memory.listed if name in snapshot.jobs.at)
        self.profiles = _profiles(snapshot, memory, knobs)
        self._started: tuple[Assignment, ...] = ()
        self._line = queue(snapshot, ages, knobs["priority"], float(knobs["refresh_s"]))
        self._end_s = boundary_after(snapshot.now_s, float(knobs["round_s"]))

    def decide(self) -> Decision:
        now_s, due = self._snapshot.now_s, self.waiting
        moment = Moment(self._snapshot, self._line, self._knobs, self.profiles.jobs, self.listed)
        if due is not None and now_s < due.due_s:
            return self._decision(moment, self._end_s)
        if due is not None:
            self.waiting = None
            moment.carry_out(due.placed)
        self._profile(moment)
        if due is None and not any(lease.kind == "run" for lease in self._snapshot.leases.values()):
            self._begin(moment)
            if self.waiting is not None:
                return self._decision(moment, self.waiting.due_s)
        if self._knobs["replan"]:
            moment.fill(adjust=bool(self._knobs["adjust"]))
        return self._decision(moment, self._end_s)

    def _profile(self, moment: Moment) -> None:
        """Begin profiles, before any plan of this decision."""
        self._started, self.profiles = start_profiles(self.profiles, self._snapshot, moment.taken)
        for started in self._started:
            moment.take(started.gpus)

    def _begin(self, moment: Moment) -> None:
        """The first plan of a round: carried out now, when it has been charged, or in the next round."""
        found, self.past = moment.begin(self.past)
        self.listed = tuple(name for name in self._snapshot.jobs.names if name in moment.listed)
        if self._knobs["overlap"]:
            coming, self.coming = self.coming, found
            moment.carry_out(found if coming is None else coming)
            return
        charged_s = decision_s(moment.planned_gpus, float(self._knobs["decision_s"])) if moment.solved else 0.0
        if charged_s > 0:
            due_s = min(self._snapshot.now_s + charged_s, self._end_s)
            self.waiting = Due(found, due_s)
            moment.carry_out(moment.before)
        else:
            moment.carry_out(found)

    def _decision(self, moment: Moment, end_s: float) -> Decision:
        return Decision(
            (*self._started, *(Assignment(name, gpus, end_s) for name, gpus in moment.placed.items())),
            signals=moment.signals(),
            solved=moment.solution(),
            why=moment.why(self._due()),
            next_s=self._next_s(),
        )

    def _due(self) -> Due | None:
        """The plan that is not carried out yet: the one that is charged, or with `overlap` that of the next round."""
        if self.waiting is not None or self.coming is None:
            return self.waiting
        return Due(self.coming, self._end_s)

    def _next_s(self) -> float | None:
        """When a plan is due, or within a round a job has been profiled."""
        if self.waiting is not None:
            return self.waiting.due_s
        return self.profiles.next_s if self._knobs["replan"] else None


def _profiles(snapshot: Snapshot, memory: Memory, knobs: Knobs) -> ProfileQueue:
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


SCHEDULERS = (Hops(),)
