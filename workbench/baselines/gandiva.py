"""Gandiva's ad-hoc packing, as Gavel compares itself with it (Gavel, sections 7.3 and 8; Xiao et al., OSDI 2018).

While the jobs want more GPUs than there are, jobs of equally many GPUs are paired at random and share them. A pair that
gains, its members doing together more than one of them alone (their speeds over those alone sum to more than 1), stays
together until one is done; any other is split, and its members try others. If all jobs fit, none share. Pairs and
single jobs divide all types' time equally, like heterogeneity-agnostic least attained service, by Gavel's mechanism.

Source: the policy `gandiva` of Gavel's authors (policies/gandiva.py). (ours): a pair is tried by running it, and judged
by what is then measured, on whichever type it ran (the authors look its speeds up, summed over all types), beside what
jobs alone do on the same nodes (`workbench.estimators.node_speeds`); jobs that did not gain together are not paired
again, unless a node turns out to be slow on which they were tried; who cannot share at all on a type where both run
(memory) is known and not paired.
Where a scenario lets nobody share (`core.space_sharing`), the scheduler only divides time.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from workbench.contract import Knobs, Scheduler, Timing
from workbench.decision import Decision, Observation, Shares, Snapshot, Unit
from workbench.estimators.node_speeds import Nodes, NodeSpeeds, nodes_of
from workbench.mechanisms import priority, rounds
from workbench.mechanisms.priority import Allocated
from workbench.mechanisms.priority.telling import tell
from workbench.mechanisms.share_scheduler import PRESET
from workbench.scenario import Scenario
from workbench.shares import isolated_share

Pair = tuple[str, str]

GAIN = 1e-9
"""How far the sum of normalised speeds must exceed 1: below that it is rounding."""


class Tried(NamedTuple):
    """What was measured of a pair: the sum of its members' steps/s over those believed of them alone, and the nodes."""

    together: float
    nodes: Nodes

    def gains(self, speeds: NodeSpeeds) -> bool:
        """Whether the two do more together than one alone, as far as the speeds of the nodes are known."""
        return self.together > speeds.of(self.nodes) * (1.0 + GAIN)


@dataclass(frozen=True)
class Packing:
    """Pairs that run together, in job order within each: kept ones gained, the others are on trial; split: in vain."""

    kept: tuple[Pair, ...] = ()
    trial: tuple[Pair, ...] = ()
    split: Mapping[Pair, Tried] = field(default_factory=dict)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """All of them."""
        return (*self.kept, *self.trial)


@dataclass(frozen=True, eq=False)
class Memory:
    """Who is packed, how fast nodes are, the mechanism's memory, and whether GPUs may be shared at all."""

    packing: Packing
    speeds: NodeSpeeds
    rounds: priority.Memory
    sharing: bool


class Gandiva(Scheduler):
    """Random pairs while jobs want more GPUs than there are."""

    name = "gandiva"
    title = "Gandiva: ad-hoc packing, time divided equally"
    knobs = (PRESET, *priority.KNOBS)
    presets = {"paper": {}, "authors": priority.AUTHORS}
    packs = True

    def timing(self, knobs: Knobs) -> Timing:
        return rounds.timing(knobs)

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        return Memory(Packing(), NodeSpeeds(), priority.start(scenario.cluster.types), scenario.core.space_sharing)

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        speeds = memory.speeds.learnt(snapshot.observations, lambda seen: _believed(seen, snapshot))
        packing = judged(without(memory.packing, snapshot), snapshot, speeds)
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
        return decision, replace(memory, packing=packing, speeds=speeds, rounds=after)


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
        tuple(filter(there, packing.kept)),
        tuple(filter(there, packing.trial)),
        {pair: tried for pair, tried in packing.split.items() if there(pair)},
    )


def judged(packing: Packing, snapshot: Snapshot, speeds: NodeSpeeds) -> Packing:
    """Pairs that were measured since the last call are kept or split; those that did not run stay on trial.

    Pairs that would have been kept, had the speeds of their nodes been known, may be tried again.
    """
    seen = _measured(packing, snapshot)
    won = {pair for pair, tried in seen.items() if tried.gains(speeds)}
    lost = {pair: tried for pair, tried in {**packing.split, **seen}.items() if not tried.gains(speeds)}
    return Packing(
        (
            *(pair for pair in packing.kept if pair not in lost),
            *(pair for pair in packing.trial if pair in won),
        ),
        tuple(pair for pair in packing.trial if pair not in seen),
        lost,
    )


def _measured(packing: Packing, snapshot: Snapshot) -> dict[Pair, Tried]:
    """What was last measured of the pairs of which both members were."""
    pairs, found = set(packing.pairs), dict[Pair, dict[str, tuple[float, Nodes]]]()
    for seen in snapshot.observations:
        if seen.unit in pairs:
            part = seen.steps_per_s / _believed(seen, snapshot)
            found.setdefault(seen.unit, {})[seen.job] = (part, nodes_of(seen.gpus))
    return {
        pair: Tried(sum(part for part, _ in members.values()), members[pair[0]][1])
        for pair, members in found.items()
        if len(members) == 2
    }


def _believed(seen: Observation, snapshot: Snapshot) -> float:
    """Steps/s believed of the job alone on those GPUs; 0 for one that has gone."""
    jobs = snapshot.jobs
    return snapshot.belief.on_nodes(jobs.jobs[jobs.at[seen.job]], seen.gpus) if seen.job in jobs.at else 0.0


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


def _may_share(snapshot: Snapshot, row: int, other: int, split: Container[Pair]) -> bool:
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
EXPLAIN = {"gandiva": tell}
