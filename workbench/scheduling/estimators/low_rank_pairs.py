"""Gavel's throughput estimator (sections 3.3 and 6, Fig. 7): speeds of pairs from a few measurements of each job.

Speeds of single jobs are known. Of pairs this is done, for every number of GPUs by itself:

1. *Reference jobs* have been measured with one another beforehand. A pair's speeds are normalised: those of its members
   over their speeds alone.
2. A new job is *profiled* with some reference jobs on some types, drawn at random; each measures both members.
3. *Matrix completion* fills in what was not measured: the job's *fingerprint* (`factorise`).
4. The *closest* reference job is the one at the least Euclidean distance, over the pairs that the new job may be in, of
   those that were measured at all of these (or at most). (ours): the authors' code takes the angle between the rows,
   for which a job that halves the speed of all its partners is like one that leaves it alone.
5. A pair of new jobs is estimated to be as fast, in multiples of their own speeds alone, as the pair of their reference
   jobs.
6. What is measured while a pair runs replaces its estimate (`learn`), over the speed of its nodes as far as jobs that
   ran alone there have shown it (ours; `workbench.scheduling.estimators.node_speeds`).

(ours): jobs of one model and number of GPUs count as the same job submitted again, so they share a fingerprint and what
is learnt. Which pairs fit together at all (in memory) is known. No accelerator type is special.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scenario.throughput import Placement
from workbench.scheduling.estimators.node_speeds import NodeNames, NodeSpeeds, nodes_of
from workbench.scheduling.estimators.noise import check_drawn, seed_knob
from workbench.scheduling.estimators.oracle import Oracle
from workbench.scheduling.knob import Knob
from workbench.scheduling.snapshot import Observation

KNOBS = (
    Knob(
        "profiled",
        0.25,
        "Part of its pairs with reference jobs, over all types, that are measured for a new job",
        minimum=0.0,
        maximum=1.0,
    ),
    Knob("rank", 10, "Rank of the matrix that is completed", source="code", kind="int", minimum=1, maximum=100),
    Knob(
        "references",
        None,
        "How many models, drawn at random, are reference jobs (none: all)",
        source="code",
        kind="int",
        minimum=1,
        maximum=100_000,
        optional=True,
    ),
    seed_knob("reference jobs and pairs"),
)

_Place = tuple[str, Placement]
_Key = tuple[str, str, int, _Place]
"""A model beside another one, both with so many GPUs, in a place."""


class LowRank(Oracle):
    """The belief of Gavel's estimator; the keywords are its knobs. It learns, so every run takes a new one."""

    def __init__(
        self, scenario: Scenario, profiled: float = 0.25, rank: int = 10, references: int | None = None, seed: int = 0
    ) -> None:
        super().__init__(scenario)
        given = {"profiled": profiled, "rank": rank, "references": references, "seed": seed}
        check_drawn(KNOBS, given)
        self._scenario = scenario
        self._profiled, self._rank, self._references, self._seed = profiled, rank, references, seed
        self._jobs = {job.name: job for job in scenario.jobs}
        self._types = {node.name: node.accelerator for node in scenario.cluster.each_node}
        self._sizes: dict[int, _Estimates] = {}
        self._nodes = NodeSpeeds()
        self._measured: dict[_Key, dict[NodeNames, tuple[float, float]]] = {}
        self._means: dict[_Key, float] = {}

    def pair(
        self, job: Job, other: Job, accelerator: str, placement: Placement = "consolidated"
    ) -> tuple[float, float] | None:
        """Steps/s of two jobs that share their slots on one type, as estimated or measured; None if they may not."""
        true = super().pair(job, other, accelerator, placement)
        if true is None or min(true) <= 0:
            return true  # whether two jobs can run together is known
        one, two, place = job.model, other.model, self._place(job, other, accelerator, placement)
        estimated = self._size(job.gpus).pair(one, two, place)
        return (
            self._mean(one, two, job.gpus, place, estimated[0]),
            self._mean(two, one, job.gpus, place, estimated[1]),
        )

    def reference(self, model: str, gpus: int = 1) -> str:
        """The model of the reference job that is closest to a model's jobs of so many GPUs."""
        return self._size(gpus).reference(model)

    def learn(self, observations: Sequence[Observation]) -> None:
        """Put the mean of what was measured, weighted by its seconds, in place of the estimates of those pairs."""
        self._nodes = self._nodes.learnt(observations, lambda seen: self.on_nodes(self._jobs[seen.job], seen.gpus))
        self._means.clear()
        for seen in observations:
            if isinstance(seen.unit, str) or not isinstance(seen.unit[1], str):
                continue
            kinds = {self._types[node] for node in seen.gpus}
            if len(kinds) > 1:
                continue  # a gang over several types says nothing of one of them
            partner = seen.unit[1] if seen.unit[0] == seen.job else seen.unit[0]
            one, two = self._jobs[seen.job], self._jobs[partner]
            [kind], gpus = kinds, sum(seen.gpus.values())
            place = self._place(one, two, kind, self._table.word(kind, gpus, len(seen.gpus)))
            key = (one.model, two.model, gpus, place)
            here, nodes = self._measured.setdefault(key, {}), nodes_of(seen.gpus)
            steps, seconds = here.get(nodes, (0.0, 0.0))
            here[nodes] = (steps + seen.steps_per_s * seen.seconds, seconds + seen.seconds)

    def _mean(self, one: str, two: str, gpus: int, place: _Place, estimated: float) -> float:
        """Steps/s measured of `one` beside `two`, else as estimated."""
        key = (one, two, gpus, place)
        if key not in self._measured:
            return estimated
        if key not in self._means:
            parts = [(steps / self._nodes.of(nodes), s) for nodes, (steps, s) in self._measured[key].items()]
            self._means[key] = sum(steps for steps, _ in parts) / sum(seconds for _, seconds in parts)
        return self._means[key]

    def _place(self, job: Job, other: Job, accelerator: str, placement: Placement) -> _Place:
        """The type with the placement whose row holds for a pair: the consolidated one where there is no other."""
        listed = self._size(job.gpus).lists(job.model, other.model, (accelerator, placement))
        return (accelerator, placement if listed else "consolidated")

    def _size(self, gpus: int) -> _Estimates:
        if gpus not in self._sizes:
            rng = np.random.default_rng(np.random.SeedSequence([self._seed, gpus]))
            truth = _Truth.of(self._scenario, gpus)
            self._sizes[gpus] = _Estimates(truth, self._profiled, self._rank, self._references, rng)
        return self._sizes[gpus]


class _Truth(NamedTuple):
    """Normalised speeds of the pairs of `gpus` GPUs.

    models, places: their names; speeds: (models x places x partners x 2) own and partner's speed over that alone;
    known: (models x places x partners) whether the pair may share there; alone: (models x places) steps/s.
    """

    models: dict[str, int]
    places: dict[_Place, int]
    speeds: FloatArray
    known: BoolArray
    alone: FloatArray

    @classmethod
    def of(cls, scenario: Scenario, gpus: int) -> _Truth:
        column = {name: i for i, name in enumerate(scenario.cluster.types)}
        rows = [row for row in scenario.colocated if row.gpus == gpus and row.accelerator in column]
        models = {name: i for i, name in enumerate(dict.fromkeys(n for r in rows for n in (r.model, r.with_model)))}
        places: dict[_Place, int] = {}
        for row in rows:
            places.setdefault((row.accelerator, row.placement), len(places))
        table = scenario.table
        alone = np.zeros((len(models), len(places)))
        for (kind, word), spot in places.items():
            alone[:, spot] = table.matrix(list(models), [gpus] * len(models), word)[:, column[kind]]
        speeds = np.zeros((len(models), len(places), len(models), 2))
        known = np.zeros(speeds.shape[:3], dtype=bool)
        for row in rows:
            a, b, p = models[row.model], models[row.with_model], places[row.accelerator, row.placement]
            if min(row.steps_per_s, row.with_steps_per_s) <= 0:
                continue
            for name, speed in ((row.model, alone[a, p]), (row.with_model, alone[b, p])):
                if speed <= 0:
                    where = f"throughputs: {name} alone, {gpus} GPUs of {row.accelerator}"
                    raise InputError(where, 0, "a speed > 0, since it runs there beside another")
            part = (row.steps_per_s / alone[a, p], row.with_steps_per_s / alone[b, p])
            speeds[a, p, b], speeds[b, p, a] = part, part[::-1]
            known[a, p, b] = known[b, p, a] = True
        return cls(models, places, speeds, known, alone)


class _Estimates:
    """Steps 1 to 5 for one number of GPUs."""

    def __init__(
        self, truth: _Truth, profiled: float, rank: int, references: int | None, rng: np.random.Generator
    ) -> None:
        self._truth, self._profiled, self._rank = truth, profiled, rank
        count = len(truth.models)
        drawn = rng.permutation(count)[: count if references is None else references]
        self._drawn: IntArray = np.sort(drawn)
        self._order = rng.random((count, len(truth.places), len(self._drawn)))

    def lists(self, model: str, other: str, place: _Place) -> bool:
        """Whether there is a row for the pair in exactly that placement."""
        t = self._truth
        if place not in t.places:
            return False
        return bool(t.known[t.models[model], t.places[place], t.models[other]])

    def pair(self, model: str, other: str, place: _Place) -> tuple[float, float]:
        """Steps/s of both members of a pair that may share."""
        t = self._truth
        a, b, p = t.models[model], t.models[other], t.places[place]
        own, others = self._known_pairs[self._closest[a], p, self._closest[b]] * (t.alone[a, p], t.alone[b, p])
        return float(own), float(others)

    def reference(self, model: str) -> str:
        """The closest reference job's model."""
        position = int(self._drawn[self._closest[self._truth.models[model]]])
        return list(self._truth.models)[position]

    @cached_property
    def _measured(self) -> BoolArray:
        """(models x places x references) what is profiled: of each job's possible pairs the first ones of its order."""
        known = self._truth.known[:, :, self._drawn]
        order = np.where(known, self._order, np.inf).reshape(len(known), -1)
        number = order.argsort(axis=1).argsort(axis=1).reshape(known.shape)
        wanted = np.ceil(self._profiled * known.sum(axis=(1, 2)))
        measured: BoolArray = known & (number < wanted[:, None, None])
        return measured

    @cached_property
    def _completed(self) -> tuple[FloatArray, FloatArray]:
        """Completed rows of the reference jobs and fingerprints of all jobs, (rows x places * references * 2)."""
        speeds, known = self._truth.speeds[:, :, self._drawn], self._truth.known[:, :, self._drawn]
        flat = speeds.reshape(len(speeds), -1)
        all_known, measured = (np.repeat(each.reshape(len(each), -1), 2, axis=1) for each in (known, self._measured))
        factors = factorise(flat[self._drawn], all_known[self._drawn], self._rank)
        return factors.complete(flat[self._drawn], all_known[self._drawn]), factors.complete(flat, measured)

    @cached_property
    def _closest(self) -> IntArray:
        """(models,) position of the closest reference job with the fewest gaps, the first of equals."""
        references, fingerprints = self._completed
        may = self._truth.known[:, :, self._drawn].reshape(len(fingerprints), -1)
        gaps = np.count_nonzero(may[:, None, :] & ~may[None, self._drawn, :], axis=2)
        count = np.repeat(may, 2, axis=1)[:, None, :]
        apart = ((fingerprints[:, None, :] - references[None, :, :]) ** 2 * count).sum(axis=2)
        apart[gaps > gaps.min(axis=1, keepdims=True)] = np.inf
        closest: IntArray = apart.argmin(axis=1)
        return closest

    @cached_property
    def _known_pairs(self) -> FloatArray:
        """(references x places x references x 2) normalised speeds; the mean of both rows where one was completed."""
        count = len(self._drawn)
        rows = self._completed[0].reshape(count, len(self._truth.places), count, 2)
        mean: FloatArray = (rows + rows.transpose(2, 1, 0, 3)[..., ::-1]) / 2
        return mean.clip(min=0.0)


RIDGE = 0.01
"""Penalty on the vectors, in the units of the squared entries (ours: entries are near 1)."""

SWEEPS = 20
"""How often u and v are fitted in turn (ours)."""


@dataclass(frozen=True, eq=False)
class Factors:
    """What the columns of a matrix have in common: (columns,) mean and (columns x rank) vectors v.

    The model is `x_ij = mean_j + u_i . v_j` with vectors of a small rank; u, the means and v are fitted in turn, u and
    v by ridge regression (alternating least squares; Candes and Plan, 2010, on why it works with noise).
    """

    mean: FloatArray
    vectors: FloatArray

    def complete(self, values: FloatArray, known: BoolArray) -> FloatArray:
        """(rows x columns) with the known entries as they are and the others estimated.

        Each row is completed by itself; one without any known entry becomes the mean.
        """
        estimate = self.mean + _fit(np.where(known, values - self.mean, 0.0), known, self.vectors) @ self.vectors.T
        return np.where(known, values, estimate)


def factorise(values: FloatArray, known: BoolArray, rank: int) -> Factors:
    """The factors of (rows x columns) values of which those in `known` count; a column without any has the mean of all.

    The vectors begin at the leading singular vectors of the matrix with the means in its gaps, so nothing is random.
    """
    count = known.sum(axis=0)

    def mean_of(rest: FloatArray) -> FloatArray:
        total = np.where(known, rest, 0.0).sum(axis=0)
        mean: FloatArray = np.where(count > 0, total / np.maximum(count, 1), total.sum() / max(count.sum(), 1))
        return mean

    def apart_from(mean: FloatArray) -> FloatArray:
        return np.where(known, values - mean, 0.0)

    mean = mean_of(values)
    _, size, vectors = np.linalg.svd(apart_from(mean), full_matrices=False)
    v = (vectors[:rank] * np.sqrt(size[:rank, None])).T
    for _ in range(SWEEPS):
        u = _fit(apart_from(mean), known, v)
        mean = mean_of(values - u @ v.T)
        v = _fit(apart_from(mean).T, known.T, u)
    return Factors(mean, v)


def _fit(values: FloatArray, known: BoolArray, vectors: FloatArray) -> FloatArray:
    """(rows x rank) ridge regression of each row's known values on (columns x rank) vectors."""
    weight = known.astype(float)
    normal = np.einsum("ic,ck,cl->ikl", weight, vectors, vectors, optimize=True)
    normal += RIDGE * np.eye(vectors.shape[1])
    found: FloatArray = np.linalg.solve(normal, ((weight * values) @ vectors)[:, :, None])[:, :, 0]
    return found
