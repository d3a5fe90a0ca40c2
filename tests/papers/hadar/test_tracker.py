"""What the tracker hears, how steps are split in whole numbers, and who finishes up in the last round."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import InputError
from workbench.papers.hadar.algorithms.tracker import (
    MOST_STEPS,
    Candidate,
    CopyReport,
    CopyWork,
    Tracker,
    aggregate,
    finishing,
    split,
    whole_steps,
)
from workbench.scheduling.snapshot import Observation


def test_by_hand() -> None:
    assert split(101, [4, 2, 1]).tolist() == [58, 29, 14]  # 57.71, 28.86, 14.43
    assert split(5, [1, 1]).tolist() == [3, 2]  # a tie goes to the first
    assert split(10, [0.1, 0.2, 0.7]).tolist() == [1, 2, 7]
    assert split(1, [1, 5, 1]).tolist() == [0, 1, 0]
    assert split(0, [1, 5]).tolist() == [0, 0]
    assert split(7, [0, 2, 0]).tolist() == [0, 7, 0]


@given(
    st.integers(0, 10**7),
    st.lists(st.integers(0, 10**4), min_size=1, max_size=12).filter(lambda weights: sum(weights) > 0),
)
def test_everything_is_split_and_nobody_is_a_step_off_its_share(steps: int, weights: list[int]) -> None:
    parts = split(steps, weights)
    assert parts.sum() == steps and (parts >= 0).all()
    exact = [Fraction(steps * weight, sum(weights)) for weight in weights]
    assert all(abs(int(part) - share) < 1 for part, share in zip(parts, exact, strict=True))
    gone_up = [share % 1 for part, share in zip(parts, exact, strict=True) if part > share]
    gone_down = [share % 1 for part, share in zip(parts, exact, strict=True) if part < share]
    if gone_up and gone_down:  # the largest fractions are rounded up, up to the tolerance of ties
        assert min(gone_up) >= max(gone_down) - Fraction(1, 10**8)


@given(st.integers(10**9, MOST_STEPS), st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12))
def test_nothing_is_lost_of_many_steps(steps: int, weights: list[float]) -> None:
    parts = split(steps, weights)
    assert parts.sum() == steps
    assert np.abs(parts - steps * np.array(weights) / sum(weights)).max() < 1.01


def test_a_step_that_was_begun_counts_but_rounding_does_not() -> None:
    assert [whole_steps(left) for left in (3.0, 2.5, 3 + 1e-12, 1e6 + 1e-5, 0.2)] == [3, 3, 3, 1000000, 1]


@pytest.mark.parametrize(
    ("steps", "rates", "what"),
    [
        (-1, [1.0], "steps to split: got -1"),
        (1.5, [1.0], "steps to split: got 1.5"),
        (10 * MOST_STEPS, [1.0], "steps to split"),
        (3, [], "throughputs of copies"),
        (3, [0.0, 0.0], "at least one of them above 0"),
        (3, [1.0, -1.0], "throughputs of copies"),
        (3, [1.0, float("nan")], "throughputs of copies"),
    ],
)
def test_bad_input_is_refused(steps: float, rates: list[float], what: str) -> None:
    with pytest.raises(InputError, match=what):
        split(steps, rates)  # type: ignore[arg-type]


def test_reports_are_summed_by_job() -> None:
    tracker = Tracker({"a": 0, "b": 1}, 2).give(
        [CopyWork("a", 1, "x", 1, 100), CopyWork("a", 2, "y", 1, 50), CopyWork("b", 1, "z", 1, 7)], [], ["a", "b", "c"]
    )
    assert tracker.started == ("a", "b")
    heard = tracker.hear(
        [
            Observation("a", ("a", 1), {"x": 1}, 2.0, 50.0),
            Observation("a", ("a", 2), {"y": 1}, 0.5, 40.0),
            Observation("a", ("a", 2), {"y": 1}, 0.5, 10.0),
            Observation("c", "c", {"w": 1}, 3.0, 10.0),
        ]
    )
    assert heard.reports == (
        CopyReport("a", 1, "x", 100.0, 50.0, True),
        CopyReport("a", 2, "y", 25.0, 50.0, False),
        CopyReport("b", 1, "z", 0.0, 0.0, False),
    )
    assert aggregate(heard.reports) == {"a": 125.0, "b": 0.0}
    assert heard.first_done("a") == ["x"]


def test_the_quickest_of_the_last_round_finishes_up_alone_where_that_is_sooner() -> None:
    quick, slow, new = Candidate(0, 2.0, 0.0, 1), Candidate(1, 2.0, 0.0, 0), Candidate(2, 9.0, 30.0, None)
    # 4 steps: 2 s on the one that was done first; together 1 s, but 10 s of consolidation.
    assert finishing([quick, slow, new], 4.0, 10.0) == [1]
    assert finishing([quick, slow, new], 4.0, 0.0) == [1, 0]
    # 4000 steps: 2000 s alone, 1000 s with both, 307.7 s and a restart with all.
    assert finishing([quick, slow, new], 4000.0, 10.0) == [1, 0, 2]


def test_those_who_were_not_there_come_by_throughput_and_only_as_far_as_it_helps() -> None:
    line = [Candidate(0, 1.0, 0.0, None), Candidate(1, 4.0, 0.0, None), Candidate(2, 2.0, 0.0, None)]
    assert finishing(line, 100.0, 0.0) == [1, 2, 0]
    assert finishing(line, 100.0, 5.0) == [1, 2, 0]  # 25; 21.67; 19.29 s
    assert finishing(line, 100.0, 12.0) == [1]  # 25; 28.67; 26.29 s
    assert finishing(line[:1] * 3, 0.0, 0.0) == [0]  # equals: the fewest
