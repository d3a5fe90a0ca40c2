"""A run's decisions made again: the same simulation up to a time, with an eye on what its scheduler was shown.

Equal inputs give equal runs, so a run keeps nothing of how a decision was made: whoever asks simulates it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from workbench.base.errors import InputError, Words
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Scheduler, StatedProblem, Timing
from workbench.scheduling.decision import Decision
from workbench.scheduling.snapshot import Snapshot
from workbench.session.api import Beliefs, simulate
from workbench.session.registry import find_scheduler
from workbench.simulation.job_at_time import checked_time
from workbench.simulation.run import OWN, Run

BEYOND = 1e-6
"""Part of a time by which a replay goes beyond it, so that what is decided then can be seen."""


@dataclass(frozen=True, eq=False)
class Asked:
    """One call of a scheduler: its number, from 0, what it was shown, and what it answered."""

    number: int
    snapshot: Snapshot
    memory: Any
    decision: Decision


Choose = Callable[[int], Scheduler]
"""Who is asked at a call, by its number."""
See = Callable[[int, Snapshot], Snapshot]
"""What is shown at a call."""


class _Replayed(Scheduler):
    """A scheduler that hands each call on, and keeps the latest that gave GPUs and the latest that solved."""

    def __init__(self, owner: Scheduler, choose: Choose, see: See) -> None:
        self._owner, self._choose, self._see = owner, choose, see
        self.name, self.title, self.knobs, self.presets = owner.name, owner.title, owner.knobs, owner.presets
        self.uses, self.offline, self.packs, self.belief = owner.uses, owner.offline, owner.packs, owner.belief
        self.calls = 0
        self.acted: Asked | None = None
        self.solved: Asked | None = None

    def timing(self, knobs: Knobs) -> Timing:
        return self._owner.timing(knobs)

    def start(self, scenario: Scenario, knobs: Knobs) -> Any:
        return self._owner.start(scenario, knobs)

    def settle(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return self._owner.settle(given)

    def decide(self, snapshot: Snapshot, memory: Any, knobs: Knobs, rng: np.random.Generator) -> tuple[Decision, Any]:
        number, self.calls = self.calls, self.calls + 1
        snapshot = self._see(number, snapshot)
        decision, after = self._choose(number).decide(snapshot, memory, knobs, rng)
        asked = Asked(number, snapshot, memory, decision)
        if decision.assign or decision.sequences:
            self.acted = asked
        if decision.solved is not None and decision.solved.made_by != "kept":
            self.solved = asked
        return decision, after


@dataclass(frozen=True, eq=False)
class Replay:
    """A run made again up to a time, and the latest calls by then that gave GPUs, and that solved something."""

    run: Run
    acted: Asked | None
    solved: Asked | None

    @property
    def since(self) -> int:
        """The call from which on what is in force now was decided."""
        asked = self.solved or self.acted
        return 0 if asked is None else asked.number


def replay(
    run: Run,
    at_s: float,
    *,
    belief: Beliefs | None = None,
    choose: Choose | None = None,
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
    owner = find_scheduler(run.scheduler)
    watched = _Replayed(owner, choose or (lambda number: owner), see or (lambda number, snapshot: snapshot))
    until_s = at_s + BEYOND * max(1.0, at_s)
    again = simulate(
        run.scenario, watched, run.knobs, seed=run.seed, until_s=until_s, belief=belief or run.belief, detail=run.detail
    )
    return Replay(again, watched.acted, watched.solved)


class StatedDecision(NamedTuple):
    """The programme that decided: as stated, when, at which call, and what the run says of its best value."""

    problem: StatedProblem
    at_s: float
    number: int
    objective: float | None
    gap: float | None


def stated_at(run: Run, at: float | None, *, belief: Beliefs | None = None) -> StatedDecision:
    """The programme behind what is in force at a time of a run (default: its end): the latest that was solved by then.

    Raises InputError for a time that the run does not have, one before any was solved, and where an algorithm decides;
    what `replay` raises.
    """
    at_s = checked_time(run, run.end_s if at is None else at)
    owner = find_scheduler(run.scheduler)
    if type(owner).stated is Scheduler.stated or owner.route(run.knobs).kind == "algorithm":
        raise InputError(f"rows of {run.scheduler}", *_algorithm(owner, run.knobs))
    found = stated_in(run, replay(run, at_s, belief=belief))
    if found is None:
        raise InputError("at", at_s, "a time by which a programme had been solved")
    return found


def stated_in(run: Run, again: Replay) -> StatedDecision | None:
    """The same of a run made again; None where no programme is stated for what is in force."""
    asked = again.solved
    problem = None if asked is None else find_scheduler(run.scheduler).stated(asked.snapshot, asked.memory, run.knobs)
    if asked is None or problem is None or asked.decision.solved is None:
        return None
    solved = asked.decision.solved
    return StatedDecision(problem, asked.snapshot.now_s, asked.number, solved.objective, solved.gap)


def _algorithm(owner: Scheduler, knobs: Knobs) -> tuple[Words, str]:
    """That its decisions cannot be stated again, and what to ask instead."""
    route = owner.route(knobs)
    why = route.sentence if route.kind == "algorithm" else f"{route.sentence} It does not state a decision's again."
    expected = "workbench.chain(run, gpu, at) for its steps"
    if route.formulation:
        expected += f", or workbench.rows(workbench.solve(scenario, {route.formulation!r}, at=...))"
    return Words(why), expected
