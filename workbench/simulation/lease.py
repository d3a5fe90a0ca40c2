"""GPUs that a unit holds, and the phases it goes through while it holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.scheduling.decision import Assignment
from workbench.simulation.free_slots import SlotSet
from workbench.simulation.progress import TIE
from workbench.simulation.recorder import Nothing


@dataclass(slots=True, eq=False)
class Lease:
    """One assignment in force.

    names, jobs: of the unit's jobs, and their ranks; from mark_s on nothing is recorded yet: restart until ready_s,
    running until stop_s, holding until tail_from_s, consolidating from then on. For each job: rates, its true steps/s;
    runners, its number in `Runners` while it has one; caps, the steps that it does from ready_s on, and stops, when it
    has done them; over the whole time from began_s on: done, the steps that are booked, and saved, those of them that
    the last checkpoint holds.
    """

    assignment: Assignment
    names: tuple[str, ...]
    jobs: tuple[int, ...]
    slots: SlotSet
    rates: tuple[float, ...]
    done: list[float]
    saved: list[float]
    until_s: float
    mark_s: float
    ready_s: float
    began_s: float
    runners: Sequence[int] = ()
    caps: Sequence[float] = ()
    stops: Sequence[float] = ()
    stop_s: float = 0.0
    tail_from_s: float = float("inf")
    segment: int = Nothing

    @property
    def plain(self) -> bool:
        """Whether it simply runs to its end: such a lease is renewed by moving its end."""
        return self.assignment.steps is None and self.assignment.tail_s == 0.0

    def steps(self, spot: int, now_s: float) -> float:
        """Steps that one of the unit's jobs has done by now since it was last set going."""
        if now_s >= self.stops[spot] * (1 - TIE):
            return self.caps[spot]
        return max(0.0, self.rates[spot] * (now_s - self.ready_s))

    def phases(self, now_s: float) -> Sequence[tuple[str, float, float]]:
        """(kind, start, end) of each phase between mark_s and now, in order."""
        kind = self.assignment.kind
        stop_s = self.tail_from_s if kind == "profile" else min(self.stop_s, self.tail_from_s)
        if self.ready_s <= self.mark_s < now_s <= stop_s:  # as nearly always: it has only been running
            return ((kind, self.mark_s, now_s),)
        edges = (
            ("restart", self.mark_s, self.ready_s),
            (kind, self.ready_s, stop_s),
            ("hold", stop_s, self.tail_from_s),
            ("consolidate", self.tail_from_s, float("inf")),
        )
        cut = [(name, max(start, self.mark_s), min(end, now_s)) for name, start, end in edges]
        return [phase for phase in cut if phase[2] > phase[1]]
