"""A run's decisions made again: the same simulation up to a time, with an eye on what its scheduler was shown.

Equal inputs give equal runs, so a run keeps nothing of how a decision was made: whoever asks simulates it again.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from workbench.base.errors import InputError, Words
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import MODEL, Knobs, Scheduler, StatedProblem, Timing
from workbench.scheduling.decision import Decision
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import ConflictError, SolvedModel, Stand, answered_by, watched
from workbench.scheduling.solvers.solve_report import MadeBy
from workbench.session.api import Beliefs, simulate
from workbench.session.registry import scheduler_of
from workbench.simulation.run import OWN, Run

BEYOND = 1e-6
"""Part of a time by which a replay goes beyond it, so that what is decided then can be seen."""


@dataclass(frozen=True, eq=False)
class RecordedCall:
    """One call of a scheduler: its number, from 0, what it was shown, the generator then, and what it answered."""

    number: int
    snapshot: Snapshot
    memory: Any
    rng: np.random.Generator
    decision: Decision


_Choose = Callable[[int], Scheduler]
"""Who is asked at a call, by its number."""
See = Callable[[int, Snapshot], Snapshot]
"""What is shown at a call."""


class _Replayed(Scheduler):
    """A scheduler that hands each call on, and keeps the latest that gave GPUs, other than by what was kept, and the
    latest that solved: where a programme decides a programme, else also what an algorithm reports."""

    def __init__(self, owner: Scheduler, knobs: Knobs, choose: _Choose, see: See) -> None:
        self._owner, self._choose, self._see = owner, choose, see
        self._without: set[MadeBy] = {"kept"} if owner.route(knobs).kind == "algorithm" else {"kept", "algorithm"}
        self.name, self.title, self.knobs, self.presets = owner.name, owner.title, owner.knobs, owner.presets
        self.uses, self.offline, self.packs, self.belief = owner.uses, owner.offline, owner.packs, owner.belief
        self.calls = 0
        self.acted: RecordedCall | None = None
        self.solved: RecordedCall | None = None

    def timing(self, knobs: Knobs) -> Timing:
        return self._owner.timing(knobs)

    def start(self, scenario: Scenario, knobs: Knobs) -> Any:
        return self._owner.start(scenario, knobs)

    def settle(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return self._owner.settle(given)

    def decide(self, snapshot: Snapshot, memory: Any, knobs: Knobs, rng: np.random.Generator) -> tuple[Decision, Any]:
        number, self.calls = self.calls, self.calls + 1
        snapshot, then = self._see(number, snapshot), copy.deepcopy(rng)
        decision, after = self._choose(number).decide(snapshot, memory, knobs, rng)
        by = None if decision.solved is None else decision.solved.made_by
        acted = bool(decision.assign or decision.sequences) and by != "kept"
        solved = by is not None and by not in self._without
        if acted or solved:
            asked = RecordedCall(number, snapshot.keep(), memory, then, decision)
            self.acted, self.solved = asked if acted else self.acted, asked if solved else self.solved
        return decision, after


@dataclass(frozen=True, eq=False)
class Replay:
    """A run made again up to a time, and the latest calls by then that gave GPUs, and that solved something."""

    run: Run
    acted: RecordedCall | None
    solved: RecordedCall | None

    @property
    def decided(self) -> RecordedCall | None:
        """The call at which what is in force now was decided; None before any."""
        return self.solved or self.acted

    @property
    def since(self) -> int:
        """Its number."""
        return 0 if self.decided is None else self.decided.number


def replay(
    run: Run,
    at_s: float,
    *,
    belief: Beliefs | None = None,
    choose: _Choose | None = None,
    see: See | None = None,
) -> Replay:
    """Simulate a run again up to a time; what is decided at that time is in it.

    belief: the object of a run that was shown speeds by one (its name alone is kept). choose, see: another scheduler,
    and another snapshot, at some calls (numbers from 0), to ask what would have been. It costs as long as the run did
    up to then. Raises InputError for such a run without the object, and for a scheduler that is not there; what
    `simulate` raises.
    """
    if (belief is not None) != (run.belief == OWN):
        raise InputError("belief", belief, "the object that the run was made with, and only if it was one")
    owner = scheduler_of(run)
    watched = _Replayed(owner, run.knobs, choose or (lambda number: owner), see or (lambda number, snapshot: snapshot))
    until_s = at_s + BEYOND * max(1.0, at_s)
    again = simulate(
        run.scenario,
        watched,
        run.knobs,
        seed=run.seed,
        until_s=until_s,
        belief=belief or run.belief,
        detail=run.detail,
        charge_decisions=repeatable(run),
    )
    return Replay(again, watched.acted, watched.solved)


def repeatable(run: Run) -> float | None:
    """What each of its decisions is charged when a run is made again; raises InputError where that was measured."""
    charge = run.charge_decisions
    if isinstance(charge, str):
        raise InputError(
            "run", Words(f"decisions of {charge} length"), "one that can be made again: seconds of its own"
        )
    return charge


class StatedDecision(NamedTuple):
    """The programme that decided: as stated, and what the run says of its best value, None where it does not."""

    problem: StatedProblem
    objective: float | None
    gap: float | None


def stated_in(run: Run, again: Replay) -> StatedDecision | None:
    """The programme behind what is in force in a run made again; None where none is stated for it."""
    owner, asked = scheduler_of(run), again.decided
    if asked is None or owner.route(run.knobs).kind == "algorithm":
        return None
    problem, solved = owner.stated(asked.snapshot, asked.memory, run.knobs), asked.decision.solved
    if problem is None:
        return None
    objective, gap = (None, None) if solved is None else (solved.objective, solved.gap)
    return StatedDecision(problem, objective, gap)


def solved_in(run: Run, again: Replay) -> tuple[SolvedModel, ...]:
    """The models that are solved in turn when what is in force in a run made again is decided once more, as stated.

    Raises ConflictError, the first one's, where an own model was asked for a plan and never had one.
    """
    owner, asked = scheduler_of(run), again.solved
    if asked is None:
        return ()
    with watched() as found:
        owner.decide(asked.snapshot, asked.memory, _as_stated(owner, run.knobs), copy.deepcopy(asked.rng))
    if not found and owner.instead is not None:
        strict, own = copy.copy(owner), copy.copy(owner.instead)
        strict.instead, own.attempt = own, own.run  # type: ignore[method-assign]
        try:
            strict.decide(asked.snapshot, asked.memory, run.knobs, copy.deepcopy(asked.rng))
        except ConflictError as error:
            error.at_s = asked.snapshot.now_s
            raise
    return tuple(found)


def with_stand(owner: Scheduler, stand: Stand) -> Scheduler:
    """The scheduler, but that `stand` answers for the models that it solves."""

    def decide(snapshot: Snapshot, memory: Any, knobs: Knobs, rng: np.random.Generator) -> tuple[Decision, Any]:
        with answered_by(stand):
            return owner.decide(snapshot, memory, _as_stated(owner, knobs), rng)

    found = copy.copy(owner)
    found.decide = decide  # type: ignore[method-assign]
    return found


def _as_stated(owner: Scheduler, knobs: Knobs) -> Knobs:
    """The knobs with which it solves its stated model, where it has a choice."""
    choice = any(knob.name == MODEL.name and knob.choices == MODEL.choices for knob in owner.knobs)
    return {**knobs, MODEL.name: "pyomo"} if choice else knobs


def shown_with(since: int, job: str, name: str, factor: float) -> Callable[[int, Snapshot], Snapshot]:
    """From a call on, a snapshot in which a parameter of the job is another."""
    of_view = {"weight": "weight", "steps": "steps_left", "wait": "waited_s"}

    def see(number: int, snapshot: Snapshot) -> Snapshot:
        row = snapshot.jobs.at.get(job)
        if number < since or row is None:
            return snapshot
        jobs, changed = list(snapshot.jobs.jobs), {}
        if name in of_view:
            changed = {of_view[name]: getattr(snapshot.jobs, of_view[name]).copy()}
            changed[of_view[name]][row] *= factor
        if name == "weight":
            jobs[row] = jobs[row].model_copy(update={"weight": jobs[row].weight * factor})
        if name in ("reward", "deadline"):
            late, more = (factor, 1.0) if name == "deadline" else (1.0, factor)
            steps = tuple((deadline_s * late, reward * more) for deadline_s, reward in jobs[row].rewards or ())
            jobs[row] = jobs[row].model_copy(update={"rewards": steps})
        return replace(snapshot, jobs=replace(snapshot.jobs, jobs=tuple(jobs), **changed))

    return see
