"""Gandiva's ad-hoc packing, as Gavel compares itself with it (Gavel, sections 7.3 and 8; Xiao et al., OSDI 2018).

While the jobs want more GPUs than there are, jobs of equally many GPUs are paired at random and share them. A pair that
gains, its members doing together more than one of them alone (their speeds over those alone sum to more than 1), stays
together until one is done; any other is split, and its members try others. If all jobs fit, none share. Pairs and
single jobs divide all types' time equally, like heterogeneity-agnostic least attained service, by Gavel's mechanism.

Source: the policy `gandiva` of Gavel's authors (policies/gandiva.py). (ours): a pair is tried by running it, and judged
by what is then measured, on whichever type it ran (the authors look its speeds up, summed over all types); jobs that
did not gain together are not paired again; who cannot share at all on a type where both run (memory) is known and not
paired.
Where a scenario lets nobody share (`core.space_sharing`), the scheduler only divides time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workbench.contract import Knobs, Scheduler, Timing
from workbench.decision import Decision, Observation, Shares, Snapshot, Unit
from workbench.mechanisms import priority, rounds
from workbench.mechanisms.priority import Allocated
from workbench.mechanisms.share_scheduler import PRESET
from workbench.scenario import Scenario
from workbench.shares import isolated_share

Pair = tuple[str, str]

GAIN = 1e-9
"""How far the sum of normalised speeds must exceed 1: below that it is rounding."""


@dataclass(frozen=True)
class Packing:
    """Pairs that run together, in job order within each: kept ones gained, the others are on trial; split: in vain."""

    kept: tuple[Pair, ...] = ()
    trial: tuple[Pair, ...] = ()
    split: frozenset[Pair] = frozenset()

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """All of them."""
        return (*self.kept, *self.trial)


@dataclass(frozen=True, eq=False)
class Memory:
    """Who is packed, the mechanism's memory, and whether GPUs may be shared at all."""

    packing: Packing
    rounds: priority.Memory
    sharing: bool


class Gandiva(Scheduler):
    """Random pairs while jobs want more GPUs than there are."""

    name = "gandiva"
    title = "Gandiva: ad-hoc packing, time divided equally"
    knobs = (PRESET, *priority.KNOBS)
    presets = {"paper": {}, "authors": priority.AUTHORS}
    views = ("shares", "priority")

    def timing(self, knobs: Knobs) -> Timing:
        return rounds.timing(knobs)

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        return Memory(Packing(), priority.start(scenario.cluster.types), scenario.core.space_sharing)

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        packing = judged(without(memory.packing, snapshot), snapshot)
        crowded = memory.sharing and overloaded(snapshot)
        packing = explored(packing, snapshot, rng) if crowded else unpacked(packing)

        def policy(snapshot: Snapshot, knobs: Mapping[str, Any], memory: Any) -> Allocated:
            return Allocated(divided(packing, snapshot))

        before = memory.rounds
        if packing.pairs != memory.packing.pairs:
            before = replace(before, changed=True)
        decision, after = priority.decide(snapshot, before, knobs, rng, policy)
        if packing.trial and knobs["round_end"] == "fixed":
            decision = replace(decision, next_s=None)  # a trial lasts a round, however steady the rounds are
        return decision, replace(memory, packing=packing, rounds=after)


def overloaded(snapshot: Snapshot) -> bool:
    """Whether the jobs want more GPUs than are up."""
    return bool(snapshot.jobs.gpus.sum() > snapshot.workers.sum())


def unpacked(packing: Packing) -> Packing:
    """Nobody shares; what was learnt of pairs is kept."""
    return Packing(split=packing.split)


def without(packing: Packing, snapshot: Snapshot) -> Packing:
    """The packing of the jobs that are still there."""
    at = snapshot.jobs.at

    def there(pair: Pair) -> bool:
        return pair[0] in at and pair[1] in at

    return Packing(
        tuple(filter(there, packing.kept)), tuple(filter(there, packing.trial)), frozenset(filter(there, packing.split))
    )


def judged(packing: Packing, snapshot: Snapshot) -> Packing:
    """Pairs that were measured since the last call are kept or split; those that did not run stay on trial."""
    gains: dict[Pair, float] = {}
    for pair, member in _measured(packing, snapshot).items():
        if len(member) == 2:
            gains[pair] = sum(member.values())
    lost = {pair for pair, gain in gains.items() if gain <= 1.0 + GAIN}
    won = [pair for pair in packing.trial if pair in gains and pair not in lost]
    return Packing(
        tuple(pair for pair in (*packing.kept, *won) if pair not in lost),
        tuple(pair for pair in packing.trial if pair not in gains),
        packing.split | lost,
    )


def _measured(packing: Packing, snapshot: Snapshot) -> dict[Pair, dict[str, float]]:
    """Last measured speed of each member of the pairs, over its speed alone on those GPUs."""
    pairs, found = set(packing.pairs), dict[Pair, dict[str, float]]()
    for seen in snapshot.observations:
        if seen.unit in pairs:
            found.setdefault(seen.unit, {})[seen.job] = _normalised(seen, snapshot)
    return found


def _normalised(seen: Observation, snapshot: Snapshot) -> float:
    job = snapshot.jobs.jobs[snapshot.jobs.at[seen.job]]
    return seen.steps_per_s / snapshot.belief.on_nodes(job, seen.gpus)


def explored(packing: Packing, snapshot: Snapshot, rng: np.random.Generator) -> Packing:
    """Jobs that are in no pair try one at random: in random order, each with the first other that it may share with."""
    jobs = snapshot.jobs
    taken = {name for pair in packing.pairs for name in pair}
    single = [row for row, name in enumerate(jobs.names) if name not in taken]
    single = [single[spot] for spot in rng.permutation(len(single)).tolist()]
    trial = list(packing.trial)
    while single:
        row = single.pop(0)
        other = next((other for other in single if _may_share(snapshot, row, other, packing.split)), None)
        if other is not None:
            single.remove(other)
            trial.append(_pair(snapshot, row, other))
    return replace(packing, trial=tuple(trial))


def _pair(snapshot: Snapshot, row: int, other: int) -> Pair:
    first, last = sorted((row, other))
    return snapshot.jobs.names[first], snapshot.jobs.names[last]


def _may_share(snapshot: Snapshot, row: int, other: int, split: frozenset[Pair]) -> bool:
    """Whether two jobs want equally many GPUs, fit together wherever both run, and have not been tried."""
    jobs, belief = snapshot.jobs, snapshot.belief
    one, two, gpus = jobs.jobs[row], jobs.jobs[other], int(jobs.gpus[row])
    if jobs.gpus[other] != gpus or _pair(snapshot, row, other) in split:
        return False
    both = [
        name
        for name in snapshot.types
        if belief.steps_per_s(one, name, gpus) > 0 and belief.steps_per_s(two, name, gpus) > 0
    ]
    return bool(both) and all(min(belief.pair(one, two, name) or (0.0, 0.0)) > 0 for name in both)


def divided(packing: Packing, snapshot: Snapshot) -> Shares:
    """Every pair and every single job has the same part of each type's GPUs (`workbench.shares.isolated_share`)."""
    jobs = snapshot.jobs
    taken = {name for pair in packing.pairs for name in pair}
    units: tuple[Unit, ...] = (*packing.pairs, *(name for name in jobs.names if name not in taken))
    gangs = [jobs.gpus[jobs.at[unit if isinstance(unit, str) else unit[0]]] for unit in units]
    return Shares(units, snapshot.types, isolated_share(snapshot.workers, gangs))


TITLE = "Gandiva"
SCHEDULERS = (Gandiva(),)
