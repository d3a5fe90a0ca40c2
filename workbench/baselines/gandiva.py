"""Gandiva's ad-hoc packing, as Gavel compares itself with it (Gavel, sections 7.3 and 8; Xiao et al., OSDI 2018).

While the jobs want more GPUs than there are, jobs of equally many GPUs are paired at random and share them. A pair that
gains, its members doing together more than one of them alone (their speeds over those alone sum to more than 1), stays
together until one is done; any other is split, and its members try others. If all jobs fit, none share. Pairs and
single jobs divide all types' time equally, like heterogeneity-agnostic least attained service, by Gavel's mechanism.

Source: the policy `gandiva` of Gavel's authors (policies/gandiva.py). (ours): a pair is tried by running it, and judged
by what is then measured, on whichever type it ran, beside what jobs alone do on the same nodes
(`workbench.scheduling.estimators.node_speeds`); jobs that did not gain together are not paired again, unless a node
turns out to be slow on which they were tried; who cannot share at all on a type where both run (memory) is known and
not paired. Where a scenario lets nobody share (`core.space_sharing`), the scheduler only divides time.

With the preset `authors` (knob `pairing`) pairs are drawn as in that code, when shares are computed: two jobs at a time
out of those in no pair, as often as there are such jobs, kept if they have equally many GPUs. At the next computation a
pair's normalised speeds are looked up: it is split if they are 0 on some type, or less than 1 in sum over all types and
both members, which is rare. GPUs without a taker may go to any two jobs, whoever they are paired with.
"""

from __future__ import annotations

import random
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from workbench.baselines.mechanisms import priority, rounds
from workbench.baselines.mechanisms.priority import PolicyAnswer
from workbench.baselines.mechanisms.priority.explain import explain
from workbench.baselines.mechanisms.share_scheduler import PRESET
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Scheduler, Timing
from workbench.scheduling.decision import Decision, Shares, Unit
from workbench.scheduling.declared_room import Room
from workbench.scheduling.estimators.node_speeds import NodeNames, NodeSpeeds, nodes_of
from workbench.scheduling.knob import Knob
from workbench.scheduling.reference_shares import isolated_share
from workbench.scheduling.snapshot import Observation, Snapshot

Pair = tuple[str, str]

PAIRING = Knob(
    "pairing",
    "tried",
    "Pairs are tried by running them and kept if they gain, or drawn and looked up as in the authors' code",
    source="code",
    choices=("tried", "looked_up"),
)
PAIR_SEED = Knob(
    "pair_seed",
    None,
    "Seed of Python's generator for drawing pairs to be looked up (that of the authors' run); none: the run's own",
    source="code",
    kind="int",
    minimum=0,
    optional=True,
)
GAIN = 1e-9
"""How far the sum of normalised speeds must exceed 1: below that it is rounding."""


class TriedPair(NamedTuple):
    """What was measured of a pair: the sum of its members' steps/s over those believed of them alone, and the nodes."""

    together: float
    nodes: NodeNames

    def gains(self, speeds: NodeSpeeds) -> bool:
        """Whether the two do more together than one alone, as far as the speeds of the nodes are known."""
        return self.together > speeds.of(self.nodes) * (1.0 + GAIN)


@dataclass(frozen=True)
class Packing:
    """Pairs that run together, in job order within each: kept ones gained, the others are on trial; split: in vain."""

    kept: tuple[Pair, ...] = ()
    trial: tuple[Pair, ...] = ()
    split: Mapping[Pair, TriedPair] = field(default_factory=dict)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """All of them."""
        return (*self.kept, *self.trial)


@dataclass(frozen=True, eq=False)
class GandivaMemory:
    """Who is packed, how fast nodes are, the mechanism's memory, and whether GPUs may be shared at all."""

    packing: Packing
    speeds: NodeSpeeds
    rounds: priority.PriorityMemory
    sharing: bool


class Gandiva(Scheduler):
    """Random pairs while jobs want more GPUs than there are."""

    name = "gandiva"
    title = "Gandiva: ad-hoc packing, time divided equally"
    knobs = (PRESET, PAIRING, PAIR_SEED, *priority.KNOBS)
    presets = {
        "defaults": {},
        "authors": {**priority.AUTHORS, "shuffle_types": "never", "pairing": "looked_up", "pair_seed": 0},
    }
    packs = True

    def timing(self, knobs: Knobs) -> Timing:
        return rounds.timing(knobs)

    def start(self, scenario: Scenario, knobs: Knobs) -> GandivaMemory:
        return GandivaMemory(
            Packing(), NodeSpeeds(), priority.start(scenario.cluster.types), scenario.core.space_sharing
        )

    def decide(
        self, snapshot: Snapshot, memory: GandivaMemory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, GandivaMemory]:
        if knobs["pairing"] == "looked_up":
            sharing = memory.sharing

            def drawn(snapshot: Snapshot, knobs: Mapping[str, Any], memory: Any) -> PolicyAnswer:
                return looked_up(snapshot, knobs, memory, rng, sharing)

            decision, after = priority.decide(snapshot, memory.rounds, knobs, rng, drawn)
            return decision, replace(memory, rounds=after)
        speeds = memory.speeds.learnt(snapshot.observations, lambda seen: _believed(seen, snapshot))
        packing = judged(without(memory.packing, snapshot), snapshot, speeds)
        crowded = memory.sharing and overloaded(snapshot)
        packing = explored(packing, snapshot, rng) if crowded else unpacked(packing)

        def policy(snapshot: Snapshot, knobs: Mapping[str, Any], memory: Any) -> PolicyAnswer:
            return PolicyAnswer(divided(packing, snapshot))

        before = memory.rounds
        if packing.pairs != memory.packing.pairs:
            before = replace(before, changed=True)
        decision, after = priority.decide(snapshot, before, knobs, rng, policy)
        if packing.trial and knobs["round_end"] == "fixed":
            decision = replace(decision, next_s=None)  # a trial lasts a round, however steady the rounds are
        return decision, replace(memory, packing=packing, speeds=speeds, rounds=after)


def overloaded(snapshot: Snapshot) -> bool:
    """Whether the jobs want more GPUs than are up."""
    return bool(snapshot.jobs.gpus.sum() > snapshot.capacity.sum())


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


def _measured(packing: Packing, snapshot: Snapshot) -> dict[Pair, TriedPair]:
    """What was last measured of the pairs of which both members were."""
    pairs, found = set(packing.pairs), dict[Pair, dict[str, tuple[float, NodeNames]]]()
    for seen in snapshot.observations:
        if seen.unit in pairs:
            part = seen.steps_per_s / _believed(seen, snapshot)
            found.setdefault(seen.unit, {})[seen.job] = (part, nodes_of(seen.gpus))
    return {
        pair: TriedPair(sum(part for part, _ in members.values()), members[pair[0]][1])
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
    """Every pair and every single job has the same part of each type's GPUs
    (`workbench.scheduling.reference_shares.isolated_share`)."""
    jobs = snapshot.jobs
    taken = {name for pair in packing.pairs for name in pair}
    units: tuple[Unit, ...] = (*packing.pairs, *(name for name in jobs.names if name not in taken))
    gangs = [jobs.gpus[jobs.at[unit if isinstance(unit, str) else unit[0]]] for unit in units]
    return Shares(units, snapshot.types, isolated_share(snapshot.capacity, gangs))


class DrawnPairs(NamedTuple):
    """Pairs drawn so far that are together, and the state of Python's generator."""

    pairs: tuple[Pair, ...]
    state: Any


def looked_up(
    snapshot: Snapshot, knobs: Mapping[str, Any], before: DrawnPairs | None, rng: np.random.Generator, sharing: bool
) -> PolicyAnswer:
    """Equal shares for pairs as the authors' code draws them; those of all other pairs that could share are 0."""
    jobs, generator = snapshot.jobs, random.Random()
    if before is None:
        seed = knobs["pair_seed"]
        generator.seed(int(rng.integers(2**32)) if seed is None else int(seed))
    else:
        generator.setstate(before.state)
    together = _Together(snapshot)
    pairs = [pair for pair in (before.pairs if before else ()) if together.stay(*pair)]
    crowded = sharing and overloaded(snapshot)
    if crowded:
        taken = {name for pair in pairs for name in pair}
        single = [row for row, name in enumerate(jobs.names) if name not in taken]
        for _ in range(len(single)):
            if len(single) < 2:
                break
            one, two = generator.sample(single, 2)
            if jobs.gpus[one] == jobs.gpus[two]:
                single = [row for row in single if row not in (one, two)]
                pairs.append(_pair(snapshot, one, two))
    found = divided(Packing(kept=tuple(pairs) if crowded else ()), snapshot)
    share = dict(zip(found.units, found.values, strict=True))
    units = tuple(_all_units(snapshot, together) if sharing else jobs.names)
    values = np.array([share.get(unit, np.zeros(len(snapshot.types))) for unit in units])
    return PolicyAnswer(Shares(units, snapshot.types, values), memory=DrawnPairs(tuple(pairs), generator.getstate()))


class _Together:
    """Normalised speeds of pairs, looked up once for each two models."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._found: dict[tuple[str, str, int], list[float]] = {}

    def stay(self, one: str, two: str) -> bool:
        """Whether both are there, can share on every type, and their normalised speeds sum to 1 over all types."""
        at = self._snapshot.jobs.at
        if one not in at or two not in at:
            return False
        sums = self.sums(at[one], at[two])
        return min(sums) > 0 and sum(sums) >= 1

    def sums(self, one: int, two: int) -> list[float]:
        """By type, the sum of both members' normalised speeds; 0 where one of them does not run."""
        jobs, belief = self._snapshot.jobs.jobs, self._snapshot.belief
        a, b = jobs[one], jobs[two]
        key = (a.model, b.model, a.gpus)
        if key not in self._found:
            self._found[key] = []
            for kind in self._snapshot.types:
                rates = belief.pair(a, b, kind) or (0.0, 0.0)
                alone = (belief.steps_per_s(job, kind, job.gpus) for job in (a, b))
                part = [rate / speed if speed > 0 else 0.0 for rate, speed in zip(rates, alone, strict=True)]
                self._found[key].append(sum(part) if min(part) > 0 else 0.0)
        return self._found[key]


def _all_units(snapshot: Snapshot, together: _Together) -> Iterator[Unit]:
    """Each job, and then its pairs with earlier ones that can share somewhere: the order in the authors' code."""
    names, gangs = snapshot.jobs.names, snapshot.jobs.gpus.tolist()
    for row, name in enumerate(names):
        yield name
        for other in range(row):
            if gangs[other] == gangs[row] and any(together.sums(other, row)):
                yield names[other], name


ROOM = Room(
    name="gandiva",
    title="Gandiva",
    schedulers=(Gandiva(),),
    explanations={"gandiva": explain},
)
