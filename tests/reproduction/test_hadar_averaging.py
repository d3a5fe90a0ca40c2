"""Averaging forked copies: the average itself, training against gradient steps by hand, time by hand, fairness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.neural_network import MLPClassifier

from reproduction.hadar.averaging import (
    ALONE,
    FORKED,
    Images,
    Network,
    Parameters,
    TrainingSetting,
    average,
    experiment,
    images,
    train_alone,
    train_forked,
)

SMALL = TrainingSetting(steps=300, slot_s=100.0, overhead_s=10.0)


@pytest.fixture(scope="module")
def data() -> Images:
    return images(0)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def same(one: Parameters, other: Parameters) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


# ---- the average ----


def test_average_by_hand() -> None:
    copies = [(np.array([1.0, 2.0]), np.array([[0.0]])), (np.array([5.0, 4.0]), np.array([[8.0]]))]
    plain, weighted = average(copies, [1, 1]), average(copies, [3, 1])
    assert [part.tolist() for part in plain] == [[3.0, 3.0], [[4.0]]]
    assert [part.tolist() for part in weighted] == [[2.0, 2.5], [[2.0]]]
    assert same(average(copies, [0, 2]), copies[1])


def test_average_of_one_copy_and_of_equal_copies_is_that_copy(data: Images) -> None:
    copy = Network(data, SMALL).first(rng())
    assert same(average([copy], [7.0]), copy)
    assert same(average([copy, copy], [1.0, 1.0]), copy)


# ---- training ----


@pytest.mark.parametrize("steps", [1, 3])
def test_training_is_so_many_plain_gradient_steps(data: Images, steps: int) -> None:
    """As scikit-learn's own network takes them, from the same start on the same mini-batches."""
    network = Network(data, SMALL)
    start = network.first(rng(1))
    rows = rng(2).integers(len(data.digits), size=steps * SMALL.batch)
    theirs = MLPClassifier(
        (SMALL.hidden,),
        solver="sgd",
        momentum=0.0,
        learning_rate_init=SMALL.learning_rate,
        alpha=1e-4,
        batch_size=SMALL.batch,
        shuffle=False,
    ).partial_fit(data.learn, data.digits, classes=range(10))  # gives the layers their shapes
    theirs.coefs_, theirs.intercepts_ = [part.copy() for part in start[:2]], [part.copy() for part in start[2:]]
    theirs.partial_fit(data.learn[rows], data.digits[rows])
    trained = network.train(start, steps, rng(2))
    for part, expected in zip(trained, (*theirs.coefs_, *theirs.intercepts_), strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-9, atol=1e-12)
    assert network.accuracy(trained) == theirs.score(data.test, data.test_digits)


def test_training_has_no_memory_but_the_parameters(data: Images) -> None:
    """The same from the same start, whatever was trained before, and the start stays as it was."""
    network = Network(data, SMALL)
    start = network.first(rng(1))
    kept = tuple(part.copy() for part in start)
    once = network.train(start, 20, rng(2))
    network.train(once, 50, rng(3))
    assert same(network.train(start, 20, rng(2)), once) and same(start, kept)
    assert same(network.train(start, 0, rng(2)), start)
    assert not same(once, start)


def test_many_steps_are_trained_in_pieces(data: Images) -> None:
    setting = TrainingSetting(steps=700, slot_s=5000.0)
    network = Network(data, setting)
    assert network.accuracy(network.train(network.first(rng()), 700, rng())) > 0.85


def test_the_data_set_is_split_as_said(data: Images) -> None:
    assert len(data.digits) + len(data.test_digits) == 1797
    assert data.learn.shape[1] == 64 and data.learn.min() >= 0 and data.learn.max() == 1
    for digit in range(10):
        assert (data.test_digits == digit).mean() == pytest.approx((data.digits == digit).mean(), abs=0.002)
    assert not np.array_equal(images(1).learn, data.learn) and np.array_equal(images(0).learn, data.learn)


# ---- time and steps ----


def test_forked_time_and_steps_by_hand(data: Images) -> None:
    """Speeds 0.4 + 0.2 + 0.2 + 0.1 + 0.1 = 1 step/s: 90 steps in the 90 s of a slot of 100 s with 10 s overhead."""
    network = Network(data, SMALL)
    points = list(train_forked(network, network.first(rng()), SMALL, [rng(i) for i in range(5)]))
    assert [point.steps for point in points] == [0, 90, 180, 270, 300]
    # the last 30 steps split 12, 6, 6, 3, 3 take 30 s
    assert [point.time_s for point in points] == pytest.approx([0.0, 100.0, 200.0, 300.0, 340.0])


def test_time_alone_by_hand(data: Images) -> None:
    network = Network(data, SMALL)
    points = list(train_alone(network, network.first(rng()), SMALL, rng(), also_s=340.0))
    assert [point.time_s for point in points] == [0.0, 100.0, 200.0, 300.0, 340.0, 400.0, 500.0, 600.0, 700.0, 750.0]
    assert [point.steps for point in points] == [0, 40, 80, 120, 136, 160, 200, 240, 280, 300]


def test_one_fork_is_plain_training_in_pieces(data: Images) -> None:
    """With one node nothing is averaged: the same steps on the same mini-batches, round after round."""
    setting = TrainingSetting(speeds=(1.0,), steps=200, slot_s=60.0, overhead_s=0.0)
    network = Network(data, setting)
    start = expected = network.first(rng(1))
    forked = list(train_forked(network, start, setting, [rng(4)]))
    again = rng(4)
    for done, point in zip([60, 60, 60, 20], forked[1:], strict=True):
        expected = network.train(expected, done, again)
        assert same(point.parameters, expected)


def test_a_round_is_the_weighted_mean_of_its_copies(data: Images) -> None:
    setting = TrainingSetting(speeds=(0.3, 0.1), steps=40, slot_s=110.0)
    network = Network(data, setting)
    start = network.first(rng(1))
    copies = [network.train(start, 30, rng(5)), network.train(start, 10, rng(6))]
    (_, weighted) = train_forked(network, start, setting, [rng(5), rng(6)])
    assert same(weighted.parameters, average(copies, [30, 10]))


def test_copies_without_a_step_do_not_count(data: Images) -> None:
    """One step for two nodes: the second does nothing, and the average is the first."""
    setting = TrainingSetting(speeds=(1.0, 0.01), steps=1)
    network = Network(data, setting)
    start = network.first(rng(1))
    (_, point) = train_forked(network, start, setting, [rng(5), rng(6)])
    assert same(point.parameters, network.train(start, 1, rng(5)))


# ---- the experiment ----


@pytest.fixture(scope="module")
def outcome() -> Any:
    return experiment(SMALL, seeds=[0, 1, 2])


def test_the_experiment_is_a_function_of_setting_and_seed(outcome: Any) -> None:
    again = experiment(SMALL, seeds=[1])
    mine = outcome.course[outcome.course["seed"] == 1].reset_index(drop=True)
    pd.testing.assert_frame_equal(again.course, mine)
    assert outcome.course["accuracy"].between(0, 1).all()


def test_both_ways_start_from_the_same_parameters(outcome: Any) -> None:
    start = outcome.course[outcome.course["round"] == 0]
    assert (start.groupby("seed")["accuracy"].nunique() == 1).all() and len(start) == 6
    assert start["accuracy"].max() < 0.3


def test_both_ways_learn(outcome: Any) -> None:
    assert outcome.ends["accuracy"].min() > 0.6


def test_the_comparisons_are_fair(outcome: Any) -> None:
    ends = outcome.ends.set_index(["comparison", "way", "seed"]).sort_index()
    assert (ends.loc["equal steps", "steps"] == SMALL.steps).all()
    assert ends.loc[("equal steps", ALONE), "time_s"].tolist() == [750.0] * 3
    assert ends.loc["equal time", "time_s"].to_numpy() == pytest.approx(340.0)
    assert ends.loc[("equal time", ALONE), "steps"].tolist() == [136] * 3
    assert ends.loc[("equal time", FORKED), "steps"].tolist() == [300] * 3
