"""GPUs that a unit holds, and the phases it goes through while it holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from workbench.decision import Assignment
from workbench.simulation.pool import SlotSet
from workbench.simulation.recorder import Nothing


@dataclass(slots=True, eq=False)
class Lease:
    """One assignment in force.

    jobs: ranks of the unit's jobs; runners: one for each; from mark_s on nothing is recorded yet: restart until
    ready_s, running until stop_s, holding until tail_from_s, consolidating from then on. For each job, over the whole
    time from began_s on: done, the steps that are booked; saved, those of them that the last checkpoint holds.
    """

    assignment: Assignment
    jobs: tuple[int, ...]
    slots: SlotSet
    until_s: float
    mark_s: float
    ready_s: float
    runners: tuple[int, ...] = ()
    rates: tuple[float, ...] = ()
    stop_s: float = 0.0
    tail_from_s: float = float("inf")
    began_s: float = 0.0
    done: list[float] = field(default_factory=list)
    saved: list[float] = field(default_factory=list)
    segment: int = Nothing

    @property
    def plain(self) -> bool:
        """Whether it simply runs to its end: such a lease is renewed by moving its end."""
        return self.assignment.steps is None and self.assignment.tail_s == 0.0

    def phases(self, now_s: float) -> Iterator[tuple[str, float, float]]:
        """(kind, start, end) of each phase between mark_s and now, in order."""
        kind = self.assignment.kind
        stop_s = self.tail_from_s if kind == "profile" else min(self.stop_s, self.tail_from_s)
        edges = (
            ("restart", self.mark_s, self.ready_s),
            (kind, self.ready_s, stop_s),
            ("hold", stop_s, self.tail_from_s),
            ("consolidate", self.tail_from_s, float("inf")),
        )
        for name, start, end in edges:
            start, end = max(start, self.mark_s), min(end, now_s)
            if end > start:
                yield name, start, end
