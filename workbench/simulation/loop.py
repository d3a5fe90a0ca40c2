"""The round loop: ask the scheduler, carry out its decision, go to the next moment it wants to be asked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Set
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from workbench.base.collector import seldom_collected
from workbench.base.errors import InputError, WorkbenchError, counted
from workbench.base.round_times import boundary_after, boundary_from, is_tie
from workbench.base.units import clock
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Timing, slips
from workbench.scheduling.decision import BLOCKED, GOES_ON, Cause, Decision, InvalidDecision
from workbench.scheduling.estimators.oracle import Oracle
from workbench.scheduling.knob import Settled
from workbench.scheduling.snapshot import Belief, LearningBelief, Snapshot
from workbench.simulation.run import Run
from workbench.simulation.schema import Cells
from workbench.simulation.state import State
from workbench.simulation.stop import AllFinished, StallWatch, Stop, stuck

ORDER: tuple[Cause, ...] = ("round", "fault", "repair", "completion", "arrival", "lease_end", "idle", "timer")


class RunProgress(NamedTuple):
    """Where a simulation stands."""

    now_s: float
    decisions: int
    finished: int
    jobs: int
    running: int
    waiting: int


class Observer(Protocol):
    """Something that wants to know."""

    def on_decision(self, progress: RunProgress) -> None:
        """Called after each decision has been applied."""
        ...


class ProgressReport:
    """Hands on the progress at most every `every_s` seconds of wall time."""

    def __init__(self, tell: Callable[[RunProgress], None], every_s: float = 0.1) -> None:
        self._tell, self._every_s, self._last = tell, every_s, -float("inf")

    def on_decision(self, progress: RunProgress) -> None:
        """Pass it on if enough time has gone by."""
        now = time.monotonic()
        if now - self._last >= self._every_s:
            self._last = now
            self._tell(progress)


class CoreScheduler(Protocol):
    """What the core needs of a scheduler (`workbench.scheduling.contract.Scheduler`)."""

    name: str
    offline: bool

    def about(self, knobs: Mapping[str, Any]) -> frozenset[str]: ...

    def timing(self, knobs: Mapping[str, Any]) -> Timing: ...

    def start(self, scenario: Scenario, knobs: Mapping[str, Any]) -> Any: ...

    def decide(
        self, snapshot: Snapshot, memory: Any, knobs: Mapping[str, Any], rng: np.random.Generator
    ) -> tuple[Decision, Any]: ...

    def settle(self, given: Mapping[str, Any]) -> dict[str, Any]: ...


@seldom_collected()
def run_loop(
    scenario: Scenario,
    scheduler: CoreScheduler,
    knobs: Mapping[str, Any] | None = None,
    *,
    seed: int | None = None,
    stop: Stop | None = None,
    observers: Iterable[Observer] = (),
    belief: Belief | None = None,
    detail: int | None = None,
) -> Run:
    """Run a scheduler on a scenario until `stop` (default: all jobs finished).

    seed defaults to the scenario's; belief to the oracle (one that learns is told what was measured); detail: how many
    decisions are recorded with their shares, signals, reasons and renewals (None: all). Equal inputs give equal runs.

    Raises ScenarioError (jobs that can run nowhere), InputError (knobs), InvalidDecision, Stalled, and what the
    scheduler's solver raises; a note of it says at what time of the run.
    """
    scenario.require_runnable()
    settled = scheduler.settle(knobs or {})
    seed = scenario.seed if seed is None else seed
    stop = stop or AllFinished()
    observers = tuple(observers)
    shown = settled if isinstance(settled, Settled) else MappingProxyType(settled)  # neither is written into
    timing = scheduler.timing(shown)
    if not isinstance(timing, Timing):
        raise InputError(f"scheduler {scheduler.name}, timing", timing, "a Timing(round_s=seconds > 0, or None)")
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0]))
    unused = rng.bit_generator.state
    seen = scenario.seen_by(scheduler.about(shown))
    state = State(seen, scheduler.name, belief or Oracle(scenario), seed, detail)
    try:
        with slips() as said:
            _play(state, Clock(timing, stop.latest_s()), scheduler, (seen, shown, rng), stop, belief, observers)
    except WorkbenchError as error:
        at = "" if isinstance(error, InvalidDecision) else f"at {clock(state.now_s)}, "  # which says when itself
        error.add_note(f"{at}with {counted(state.book.present, 'job')} there")
        raise
    state.close()
    head: dict[str, Any] = {"scheduler": scheduler.name, "knobs": settled, "seed": seed, "end_s": state.now_s}
    head["drew"] = state.faults.draws or rng.bit_generator.state != unused
    cells = Cells({"jobs": state.book.columns, **state.recorder.tables()})
    return Run(scenario=scenario, **head, cells=cells, detail=detail, slips=tuple(filter(None, said.values())))


def _play(
    state: State,
    clock: Clock,
    scheduler: CoreScheduler,
    given: tuple[Scenario, Mapping[str, Any], np.random.Generator],
    stop: Stop,
    belief: Belief | None,
    observers: tuple[Observer, ...],
) -> None:
    """Ask and carry out, until nothing is to be asked any more; given: the scenario as it is seen, knobs, rng."""
    seen, knobs, rng = given
    memory, book, leasing = scheduler.start(seen, knobs), state.book, state.leasing
    cause = clock.begin(state)
    learner = belief if isinstance(belief, LearningBelief) else None  # asked once: the question is slow
    only_waiting, decision = clock.only_waiting and learner is None, GOES_ON
    while True:  # a loop with a condition stays slow until it has been begun eight times
        if cause is None or stop(state):
            return
        behind = decision is BLOCKED and cause == "arrival" and not leasing.ended
        if only_waiting and (behind or not (book.present > book.holding or leasing.ended)):
            decision = BLOCKED if behind else GOES_ON
            state.go_on(decision, cause)
        else:
            snapshot = state.snapshot(cause, future=scheduler.offline)
            if learner is not None:
                learner.learn(snapshot.observations)
            decision, memory = state.checker.answer(scheduler.decide(snapshot, memory, knobs, rng), state.now_s)
            state.apply(decision, cause)
        for observer in observers:
            observer.on_decision(_progress(state))
        cause = clock.advance(state, decision)


def _progress(state: State) -> RunProgress:
    finished = len(state.book.jobs) - state.book.unfinished
    running, waiting = state.book.holding, state.book.present - state.book.holding
    return RunProgress(state.now_s, state.recorder.decisions, finished, len(state.book.jobs), running, waiting)


class Clock:
    """Finds the next moment at which the scheduler is asked."""

    def __init__(self, timing: Timing, latest_s: float) -> None:
        self._round_s, self.only_waiting = timing.round_s, timing.only_waiting
        self._idle = "idle" in timing.causes
        self._arrivals = "arrival" in timing.causes
        self._completions = self._idle or "completion" in timing.causes
        self._lease_ends = self._idle or "lease_end" in timing.causes
        self._faults = bool(timing.causes & {"fault", "repair", "idle"})
        self._causes = tuple([cause for cause in ORDER if cause in timing.causes])
        self._latest_s = latest_s
        self._stall = StallWatch(without_end=latest_s == math.inf)

    def begin(self, state: State) -> Cause | None:
        """Go to the first moment at which there is a job."""
        if state.book.unfinished == 0:
            return None
        if state.book.present:
            return "round" if self._round_s is not None else "arrival"
        return self._wait_for_arrival(state)

    def advance(self, state: State, decision: Decision) -> Cause | None:
        """Go to the next moment; None when the run's latest time is reached or every job has finished."""
        wanted_s, book, leasing, round_s = decision.next_s, state.book, state.leasing, self._round_s
        ask_s = math.inf if wanted_s is None else wanted_s
        if leasing.leases:
            self._stall.holding(state)
        elif self._stall.has_idled(state, decision):
            wanted_s, ask_s = math.inf, math.inf if round_s is not None else state.next_change_s()
        while book.present:
            next_s = book.next_arrival_s if self._arrivals else math.inf
            if self._completions:
                done_s = state.next_completion_s() if state.sequences.used else book.next_done_s
                if done_s < next_s:
                    next_s = done_s
            if next_s < decision.quiet_s:
                next_s = decision.quiet_s
            if ask_s < next_s:
                next_s = ask_s
            if self._lease_ends and leasing.next_end_s < next_s:
                next_s = leasing.next_end_s
            if self._faults and state.faults.next_s < next_s:
                next_s = state.faults.next_s
            if round_s is not None:
                boundary_s = self._next_boundary(state, wanted_s, round_s)
                next_s = min(boundary_s, next_s)
                if boundary_s < math.inf and is_tie(next_s, boundary_s):
                    next_s = boundary_s
            if next_s == math.inf:
                next_s = min(book.next_arrival_s, state.next_completion_s(), leasing.next_end_s)
                if next_s == math.inf:
                    stuck(state, decision)
            if next_s > self._latest_s:
                state.advance(self._latest_s)
                return None
            cause = self._cause(state, state.advance(next_s), ask_s)
            if cause is not None and book.present:
                return cause
            state.release_ended()
        return self._wait_for_arrival(state) if book.unfinished else None

    def _next_boundary(self, state: State, ask_s: float | None, round_s: float) -> float:
        """The next round boundary, or with `ask_s` the first one by which something may have changed."""
        boundary = boundary_after(state.now_s, round_s)
        if ask_s is None or ask_s <= boundary:
            return boundary
        change_s = min(state.next_change_s(), ask_s)
        return math.inf if change_s == math.inf else max(boundary, boundary_from(change_s, round_s))

    def _cause(self, state: State, happened: Set[Cause], ask_s: float) -> Cause | None:
        """The first in ORDER of what has happened and the scheduler is asked at."""
        if self._round_s is not None and self._at_boundary(state.now_s):
            return "round"
        for cause in happened if len(happened) == 1 else self._causes:
            if cause in happened and cause in self._causes:
                return cause
        if self._idle and happened & {"completion", "lease_end", "repair"} and state.has_idle_and_waiting():
            return "idle"
        return "timer" if state.now_s >= ask_s else None

    def _wait_for_arrival(self, state: State) -> Cause | None:
        """Nothing to schedule: go to the next arrival, or to the boundary from it on if only rounds are asked for."""
        next_s = state.book.next_arrival_s
        if self._round_s is not None and not self._arrivals:
            next_s = boundary_from(next_s, self._round_s)
        if next_s > self._latest_s:
            state.advance(self._latest_s)
            return None
        state.advance(next_s)
        state.release_ended()
        return "round" if self._at_boundary(next_s) else "arrival"

    def _at_boundary(self, now_s: float) -> bool:
        return self._round_s is not None and boundary_from(now_s, self._round_s) == now_s
