"""The core against a second simulator that is slow and obvious: exact fractions, one event after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from tests.simulation.support import Chance, Habits, row, scenarios
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Decision, Unit, members
from workbench.simulation.loop import run_loop
from workbench.simulation.stop import Until

END_S = 1500


@dataclass
class Held:
    """GPUs that a unit holds. cap: steps that each of its jobs may still do, None for no limit."""

    gpus: dict[str, int]
    until: float
    ready: Fraction
    cap: dict[str, Fraction | None]
    given: Any


class Reference:
    """Carries out decisions that are known to be legal (no faults, profiles, tails, or copies)."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario, self.now = scenario, Fraction(0)
        self.job = {job.name: job for job in scenario.jobs}
        self.left = {job.name: Fraction(job.steps) for job in scenario.jobs}
        self.attained = dict.fromkeys(self.job, Fraction(0))
        self.held_for = dict.fromkeys(self.job, Fraction(0))
        self.finish: dict[str, Fraction] = {}
        self.restarts = dict.fromkeys(self.job, 0)
        self.started: set[str] = set()
        self.held: dict[Unit, Held] = {}

    def rates(self, unit: Unit, gpus: dict[str, int]) -> dict[str, Fraction]:
        names, table = members(unit), self.scenario.table
        if len(names) == 1:
            return {names[0]: Fraction(table.on_nodes(self.job[names[0]].model, gpus))}
        pair = table.pair_on_nodes(self.job[names[0]].model, self.job[names[1]].model, gpus)
        assert pair is not None
        return {name: Fraction(rate) for name, rate in zip(names, pair, strict=True)}

    def go_to(self, time: Fraction, *, last: bool = False) -> None:
        """Events one by one; what ends exactly at `time` is left for the decision there."""
        while self.now < time:
            until = min([time, *(self._next(unit, held) for unit, held in self.held.items())])
            self._move(until - self.now)
            self.now = until
            self._finish()
            if self.now < time or last:
                self.held = {unit: held for unit, held in self.held.items() if held.until > self.now}

    def _next(self, unit: Unit, held: Held) -> Fraction:
        times = [] if math.isinf(held.until) else [Fraction(held.until)]
        if self.now < held.ready:
            times.append(held.ready)
        else:
            for name, rate in self.rates(unit, held.gpus).items():
                cap = held.cap[name]
                steps = self.left[name] if cap is None else min(cap, self.left[name])
                if steps > 0 and rate > 0:
                    times.append(self.now + steps / rate)
        return min([time for time in times if time > self.now], default=Fraction(10**9))

    def _move(self, seconds: Fraction) -> None:
        for unit, held in self.held.items():
            running = self.now >= held.ready
            for name, rate in self.rates(unit, held.gpus).items():
                self.attained[name] += sum(held.gpus.values()) * seconds
                self.held_for[name] += seconds
                cap = held.cap[name]
                if running and cap != 0:
                    self.left[name] -= rate * seconds
                    held.cap[name] = None if cap is None else cap - rate * seconds

    def _finish(self) -> None:
        for name, left in self.left.items():
            assert left >= 0
            if left < Fraction(1, 10**9) and name not in self.finish:  # the core asks at rounded times
                self.left[name] = Fraction(0)
                self.finish[name] = self.now
                for unit in [unit for unit in self.held if name in members(unit)]:
                    held = self.held.pop(unit)
                    for other in set(members(unit)) - {name}:
                        self.held[other] = Held(held.gpus, held.until, held.ready, {other: held.cap[other]}, held.given)

    def apply(self, decision: Decision) -> None:
        new = {a.unit: a for a in decision.assign}
        ending = {u for u, held in self.held.items() if held.until <= self.now or u in decision.preempt}
        before = {unit: self.held.pop(unit) for unit in ending}
        for unit, a in new.items():
            cap = {name: None if a.steps is None else Fraction(a.steps) for name in members(unit)}
            old = before.get(unit) or self.held.get(unit)
            if old is not None and old.gpus == dict(a.gpus):
                self.held[unit] = Held(old.gpus, a.until_s, old.ready, cap, a)
                continue
            law, gpus = self.scenario.core.restart, sum(a.gpus.values())
            cost = Fraction(law.restart_s * (1 + (math.log2(gpus) if law.law == "log2" else 0)))
            pays = bool(set(members(unit)) & self.started) and cost > 0
            for name in members(unit):
                self.restarts[name] += pays
            self.held[unit] = Held(dict(a.gpus), a.until_s, self.now + (cost if pays else 0), cap, a)
        self.started |= {name for unit in new for name in members(unit)}


def replay(scenario: Scenario, decisions: list[tuple[float, Decision]], end_s: float) -> Reference:
    reference = Reference(scenario)
    for time_s, decision in decisions:
        reference.go_to(Fraction(time_s))
        reference.apply(decision)
    reference.go_to(Fraction(end_s) + Fraction(1, 10**6), last=True)  # end_s is rounded
    return reference


@given(
    scenarios(sharing=True),
    st.sampled_from([60.0, 100.0, None]),
    st.sampled_from([frozenset(), frozenset({"arrival", "completion", "lease_end"}), frozenset({"idle"})]),
    st.booleans(),
)
def test_the_core_does_what_the_obvious_simulator_does(
    scenario: Scenario, round_s: float | None, causes: frozenset[str], pairs: bool
) -> None:
    habits = Habits(steps=0.2, pairs=0.5 * pairs, odd_end=0.3, round_s=round_s, causes=causes)
    if round_s is None:
        habits.causes, habits.timer = frozenset({"arrival", "completion", "lease_end"}), 1.0
    chance = Chance(habits)
    run = run_loop(scenario, chance, stop=Until(END_S))
    reference = replay(scenario, chance.decisions, run.end_s)
    for job in scenario.jobs:
        mine, name = row(run, job.name), job.name
        finish_s = float(reference.finish.get(name, math.nan))
        assert mine.finish_s == approx(finish_s, rel=1e-9, nan_ok=True)
        assert mine.steps_done == approx(float(Fraction(job.steps) - reference.left[name]), rel=1e-9, abs=1e-4)
        assert mine.attained_s == approx(float(reference.attained[name]), rel=1e-9, abs=1e-4)
        present_s = max((run.end_s if math.isnan(finish_s) else finish_s) - job.arrival_s, 0.0)
        assert mine.waited_s == approx(present_s - float(reference.held_for[name]), rel=1e-9, abs=1e-4)
        assert mine.restarts == reference.restarts[name]
