"""A scheduler that fills GPUs as they become free, which may also pass through the rounds of Gavel's simulator.

There (knob `through`, set by the preset `authors`) what it chooses, for all jobs and at most every 1920 s, is shares of
0 or 1 of a type, and a running job may be moved to another type.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np

from workbench.baselines.mechanisms import line_decision, priority, rounds
from workbench.baselines.mechanisms.priority import PolicyAnswer
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Memory, Scheduler, Timing
from workbench.scheduling.decision import Decision
from workbench.scheduling.knob import Knob, Value
from workbench.scheduling.snapshot import Snapshot

PRESET = Knob(
    "preset",
    "defaults",
    "The plain queue (the defaults), or the knobs of the authors' simulator of Gavel",
    choices=("defaults", "authors"),
)
THROUGH = Knob(
    "through",
    "queue",
    "Start jobs as GPUs become free, or in the rounds of Gavel's simulator (running jobs may then move)",
    source="code",
    choices=("queue", "gavel_rounds"),
)


class LineScheduler(Scheduler):
    """`serve` as GPUs become free, `shares` through Gavel's rounds; leftovers: that mechanism's knob."""

    presets: Mapping[str, Mapping[str, Value]] = {"defaults": {}, "authors": {"through": "gavel_rounds"}}
    leftovers = "known"

    @abstractmethod
    def serve(self, snapshot: Snapshot, knobs: Knobs, rng: np.random.Generator) -> Decision:
        """Who gets which of the GPUs that are free now."""

    @abstractmethod
    def shares(self, snapshot: Snapshot, knobs: Knobs, memory: Memory, rng: np.random.Generator) -> PolicyAnswer:
        """Shares of 0 or 1, and what to remember for the next time."""

    def settle(self, given: Knobs) -> dict[str, Value]:
        knobs = super().settle(given)
        if in_rounds(knobs):
            rounds.ROUND_S.check(knobs["round_s"])
        return knobs

    def timing(self, knobs: Knobs) -> Timing:
        return rounds.timing(self._mechanism(knobs)) if in_rounds(knobs) else line_decision.timing(knobs)

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        return priority.start(scenario.cluster.types) if in_rounds(knobs) else None

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        if not in_rounds(knobs):
            return self.serve(snapshot, knobs, rng), None

        def policy(snapshot: Snapshot, knobs: Knobs, memory: Memory) -> PolicyAnswer:
            return self.shares(snapshot, knobs, memory, rng)

        return priority.decide(snapshot, memory, self._mechanism(knobs), rng, policy)

    def _mechanism(self, knobs: Knobs) -> Knobs:
        """The mechanism's knobs beside the scheduler's own."""
        return {**AUTHORS, "leftovers": self.leftovers, **knobs}


AUTHORS = {
    **{knob.name: knob.default for knob in priority.KNOBS},
    **priority.AUTHORS,
    "shuffle_types": "never",
}
"""The mechanism's knobs; the authors' code shuffles the types neither for `fifo_perf` nor for AlloX."""


def in_rounds(knobs: Knobs) -> bool:
    """Whether it goes through Gavel's rounds."""
    return bool(knobs["through"] == "gavel_rounds")
