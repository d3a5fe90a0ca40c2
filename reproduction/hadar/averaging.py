"""Does averaging forked copies still train? A small experiment that anybody can repeat (section V).

A small neural network learns to read digits in two ways, on *one node* and *forked*. Two comparisons, both fair in
their way: after equally many steps in all (forking is then sooner done), and at equal time (forking has then done more
steps). What comes out depends on the learning rate: an average of copies has gone less far than one node would have in
as many steps, but is less noisy, so it may bear a larger one: compare each way at its best.

The digits are scikit-learn's `load_digits`: 1,797 images of 8 x 8 pixels. On one node, mini-batch gradient steps follow
one another at the speed of the fastest node. Forked, in every round all nodes start from the same parameters, each does
its part of the round's steps on mini-batches of its own, split by throughput in whole steps (`split`), and the
parameters are averaged, weighted by steps.

Gradients are real, time is simulated: a node does `speeds` steps/s, a round of forked copies also costs `overhead_s`.
Plain gradient descent: a copy is nothing but its parameters, so averaging them loses no other state.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.papers.hadar.algorithms.tracker import split

PIXEL = 16.0
"""Largest value of a pixel in the data set."""
TEST_SHARE = 0.3
AT_ONCE = 256
"""Steps whose images are drawn together."""
DECAY = 1e-4
"""Weight of the L2 penalty."""
Parameters = tuple[FloatArray, ...]
"""Weights of each layer, then biases of each layer."""


@dataclass(frozen=True)
class TrainingSetting:
    """One experiment. All numbers are ours: small enough for seconds on a CPU.

    speeds: steps/s of each node, of which the fastest trains alone; steps in all; slot_s: length of a round;
    overhead_s: of aggregation and consolidation in every round; batch: images of a step; learning_rate; hidden: neurons
    of the hidden layer.
    """

    speeds: tuple[float, ...] = (0.4, 0.2, 0.2, 0.1, 0.1)
    steps: int = 1800
    slot_s: float = 360.0
    overhead_s: float = 10.0
    batch: int = 32
    learning_rate: float = 0.3
    hidden: int = 32

    @property
    def round_steps(self) -> int:
        """Steps that all nodes together do in a round of `slot_s`."""
        return math.floor(sum(self.speeds) * (self.slot_s - self.overhead_s) + 1e-9)


class Images(NamedTuple):
    """Images (rows of pixels from 0 to 1) and the digits on them, to learn from and to test with."""

    learn: FloatArray
    digits: IntArray
    test: FloatArray
    test_digits: IntArray


def images(seed: int) -> Images:
    """The data set, split into images to learn from and to test with, digits alike in both."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pixels, digits = load_digits(return_X_y=True)
    parts = train_test_split(pixels / PIXEL, digits, test_size=TEST_SHARE, random_state=seed, stratify=digits)
    return Images(parts[0], parts[2], parts[1], parts[3])


def average(copies: Sequence[Parameters], weights: Sequence[float]) -> Parameters:
    """The mean of the copies' parameters by weight; weights >= 0, not all 0."""
    shares = np.asarray(weights, dtype=float) / sum(weights)
    return tuple(
        np.asarray(sum(share * part for share, part in zip(shares, parts, strict=True)))
        for parts in zip(*copies, strict=True)
    )


class Network:
    """One hidden layer (ReLU, then softmax), trained by plain gradient descent on the cross-entropy; holds the images,
    and no state but the parameters it is given."""

    def __init__(self, data: Images, setting: TrainingSetting) -> None:
        self.data, self.batch, self.rate, self.hidden = data, setting.batch, setting.learning_rate, setting.hidden
        self._wanted = np.eye(int(data.digits.max()) + 1)[data.digits]

    def first(self, rng: np.random.Generator) -> Parameters:
        """Untrained parameters: weights drawn evenly within Glorot's bound, biases 0."""
        sizes = [self.data.learn.shape[1], self.hidden, self._wanted.shape[1]]
        shapes = list(itertools.pairwise(sizes))
        bounds = [math.sqrt(6.0 / sum(shape)) for shape in shapes]
        weights = [rng.uniform(-bound, bound, shape) for bound, shape in zip(bounds, shapes, strict=True)]
        return (*weights, *(np.zeros(size) for size in sizes[1:]))

    def train(self, start: Parameters, steps: int, rng: np.random.Generator) -> Parameters:
        """The parameters after `steps` steps on mini-batches drawn evenly with replacement."""
        parameters = tuple(part.copy() for part in start)
        for done in range(0, steps, AT_ONCE):
            drawn = rng.integers(len(self.data.digits), size=min(AT_ONCE, steps - done) * self.batch)
            for rows in drawn.reshape(-1, self.batch):
                self._step(parameters, rows)
        return parameters

    def _step(self, parameters: Parameters, rows: IntArray) -> None:
        """One gradient step, in place, on the mean loss of a mini-batch and an L2 penalty of `DECAY` / 2."""
        first, last, first_bias, last_bias = parameters
        pixels = self.data.learn[rows]
        hidden = np.maximum(pixels @ first + first_bias, 0.0)
        wrong = hidden @ last + last_bias
        np.exp(wrong - wrong.max(axis=1, keepdims=True), out=wrong)
        wrong /= wrong.sum(axis=1, keepdims=True)
        wrong -= self._wanted[rows]
        back = (wrong @ last.T) * (hidden > 0)
        rate = self.rate / len(rows)
        last -= rate * (hidden.T @ wrong + DECAY * last)
        first -= rate * (pixels.T @ back + DECAY * first)
        last_bias -= rate * wrong.sum(axis=0)
        first_bias -= rate * back.sum(axis=0)

    def accuracy(self, parameters: Parameters) -> float:
        """Share of the test images that are read correctly."""
        first, last, first_bias, last_bias = parameters
        scores = np.maximum(self.data.test @ first + first_bias, 0.0) @ last + last_bias
        return float((scores.argmax(axis=1) == self.data.test_digits).mean())


class TrainingPoint(NamedTuple):
    """Where training is at the end of a round (alone: when it is looked at)."""

    round: int
    time_s: float
    steps: int
    parameters: Parameters


def train_alone(
    network: Network, start: Parameters, setting: TrainingSetting, rng: np.random.Generator, also_s: float = math.inf
) -> Iterator[TrainingPoint]:
    """Training on the fastest node, looked at once a slot and at `also_s`; no overhead."""
    speed, done, parameters = max(setting.speeds), 0, start
    end_s = setting.steps / speed
    slots = np.arange(1, math.ceil(end_s / setting.slot_s)) * setting.slot_s
    looks_s = sorted({*slots.tolist(), min(also_s, end_s), end_s})
    yield TrainingPoint(0, 0.0, 0, parameters)
    for number, time_s in enumerate(looks_s, start=1):
        target = math.floor(time_s * speed + 1e-9)
        parameters = network.train(parameters, target - done, rng)
        done = target
        yield TrainingPoint(number, time_s, done, parameters)


def train_forked(
    network: Network, start: Parameters, setting: TrainingSetting, rngs: Sequence[np.random.Generator]
) -> Iterator[TrainingPoint]:
    """Training by a copy on every node, averaged at the end of each round; rngs: one for each node."""
    speeds, done, time_s, parameters = np.array(setting.speeds), 0, 0.0, start
    yield TrainingPoint(0, 0.0, 0, parameters)
    for number in range(1, math.ceil(setting.steps / setting.round_steps) + 1):
        parts = split(min(setting.steps - done, setting.round_steps), speeds)
        copies = [network.train(parameters, int(part), rng) for part, rng in zip(parts, rngs, strict=True)]
        parameters = average(copies, parts.tolist())
        done += int(parts.sum())
        time_s += float((parts / speeds).max()) + setting.overhead_s
        yield TrainingPoint(number, time_s, done, parameters)


if TYPE_CHECKING:
    import pandas as pd

SEEDS = range(5)
ALONE, FORKED = "one node", "forked"


@dataclass(frozen=True)
class AveragingOutcome:
    """What came out.

    course: a row for each seed, way and round (`seed, way, round, time_s, steps, accuracy`), from round 0, untrained;
    ends: for each seed and comparison (`equal steps`, `equal time`) the `time_s`, `steps` and `accuracy` of each way.
    """

    course: pd.DataFrame
    ends: pd.DataFrame


def experiment(setting: TrainingSetting | None = None, seeds: Iterable[int] = SEEDS) -> AveragingOutcome:
    """Train in both ways for every seed: another split of the images, other first parameters, other mini-batches.

    Both ways of a seed share images and first parameters. Equal seeds give equal outcomes.
    """
    import pandas as pd
    from threadpoolctl import threadpool_limits

    setting = setting or TrainingSetting()
    with threadpool_limits(limits=1):  # matrices this small take longer on several threads
        rows = [row for seed in seeds for row in _both_ways(setting, seed)]
    course = pd.DataFrame(rows, columns=list(CourseRow._fields))
    ends = pd.concat([_ends(part) for _, part in course.groupby("seed", sort=False)], ignore_index=True)
    return AveragingOutcome(course, ends)


class CourseRow(NamedTuple):
    """A row of `Outcome.course`: how well a way of training reads at the end of a round."""

    seed: int
    way: str
    round: int
    time_s: float
    steps: int
    accuracy: float


def _both_ways(setting: TrainingSetting, seed: int) -> Iterator[CourseRow]:
    network = Network(images(seed), setting)
    first, alone, *nodes = [
        np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(2 + len(setting.speeds))
    ]
    start = network.first(first)
    forked = [_row(seed, FORKED, network, point) for point in train_forked(network, start, setting, nodes)]
    forked_s = forked[-1].time_s
    yield from (_row(seed, ALONE, network, point) for point in train_alone(network, start, setting, alone, forked_s))
    yield from forked


def _row(seed: int, way: str, network: Network, point: TrainingPoint) -> CourseRow:
    return CourseRow(seed, way, point.round, point.time_s, point.steps, network.accuracy(point.parameters))


def _ends(course: pd.DataFrame) -> pd.DataFrame:
    """One seed's last rounds: of both ways (equal steps), and the last that both have ended by the time that the
    quicker one was done (equal time)."""
    import pandas as pd

    ways = {way: course[course["way"] == way] for way in (ALONE, FORKED)}
    until_s = min(float(part["time_s"].iloc[-1]) for part in ways.values())
    found = []
    for comparison, limit_s in (("equal steps", math.inf), ("equal time", until_s)):
        for part in ways.values():
            last = part[part["time_s"] <= limit_s + 1e-9].iloc[[-1]].drop(columns="round")
            found.append(last.assign(comparison=comparison))
    columns = ["seed", "comparison", "way", "time_s", "steps", "accuracy"]
    return pd.concat(found, ignore_index=True)[columns]
