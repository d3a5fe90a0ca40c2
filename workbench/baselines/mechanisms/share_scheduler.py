"""A policy that divides time, made a scheduler by Gavel's mechanism."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.base.errors import InputError
from workbench.baselines.mechanisms import priority, rounds
from workbench.baselines.mechanisms.placed_types import placed_types
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Route, Scheduler, StatedAnswer, StatedProblem, Timing
from workbench.scheduling.decision import Decision
from workbench.scheduling.declared_room import checked_uses
from workbench.scheduling.knob import Knob, Value, checked_knobs
from workbench.scheduling.snapshot import Snapshot

PRESET = Knob(
    "preset",
    "defaults",
    "Knobs of the mechanism as they are by default (the paper's), or as in the authors' simulator",
    choices=("defaults", "authors"),
    main=True,
)


def require_sharing(scenario: Scenario, knobs: Knobs) -> None:
    """Raise InputError if the knob `space_sharing` is on in a scenario in which no two jobs may share their GPUs."""
    if not knobs.get("space_sharing", False):
        return
    if not scenario.core.space_sharing:
        raise InputError("core.space_sharing", False, "true, since the knob space_sharing is on")
    if not scenario.colocated:
        raise InputError("colocated", [], "speeds of pairs of models, since the knob space_sharing is on")


class ShareScheduler(Scheduler):
    """`policy` says who gets which share of which type, `mechanisms.priority` who runs in the next round.

    knobs: the policy's own, those of the mechanism follow; authors: knobs that the preset `authors` sets besides the
    mechanism's; defaults: of knobs whose default differs from theirs; route: how the policy comes to its shares.
    """

    uses = frozenset({"arrival_s", "steps", "gpus"})

    def __init__(
        self,
        name: str,
        title: str,
        policy: priority.SharePolicy,
        knobs: tuple[Knob, ...] = (),
        uses: Iterable[str] = (),
        authors: Mapping[str, Value] | None = None,
        defaults: Mapping[str, Value] | None = None,
        route: Callable[[Knobs], Route] = lambda knobs: Route(),
    ) -> None:
        self.name = name
        self.title = title
        self.policy = policy
        self._route = route
        all_knobs = (PRESET, *checked_knobs(f"scheduler {name}", knobs), *priority.KNOBS)
        self.knobs = tuple(replace(knob, default=(defaults or {}).get(knob.name, knob.default)) for knob in all_knobs)
        self.presets = {"defaults": {}, "authors": {**priority.AUTHORS, **(authors or {})}}
        self.uses = type(self).uses | checked_uses(f"scheduler {name}", uses)

    def route(self, knobs: Knobs) -> Route:
        return self._route(knobs) if self.instead is None else super().route(knobs)

    def timing(self, knobs: Knobs) -> Timing:
        return rounds.timing(knobs)

    def start(self, scenario: Scenario, knobs: Knobs) -> priority.PriorityMemory:
        require_sharing(scenario, knobs)
        return priority.start(scenario.cluster.types, placed_types(scenario.cluster, knobs))

    def stated(self, snapshot: Snapshot, memory: priority.PriorityMemory, knobs: Knobs) -> StatedProblem | None:
        """The policy's problem, where the policy is a formulation."""
        stated = getattr(self.policy, "stated", None)
        return None if stated is None else stated(snapshot, knobs, memory.policy)

    def answered_by(self, answer: StatedAnswer) -> Scheduler | None:
        """With the policy's own way to do so, if it has one."""
        policy = getattr(self.policy, "answered_by", lambda answer: None)(answer)
        if policy is None:
            return None
        found = copy.copy(self)
        found.policy = policy
        return found

    def decide(
        self, snapshot: Snapshot, memory: Any, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, priority.PriorityMemory]:
        return priority.decide(snapshot, memory, knobs, rng, self.policy)
