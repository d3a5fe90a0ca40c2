"""Rewards as step lines: what each step says, which jobs are of a class, and what a completion earns."""

from __future__ import annotations

import math

import pytest

from workbench.analysis.charts import reward_classes, reward_curves, to_svg

SOFT = ((3600.0, 100.0), (3960.0, 80.0), (4320.0, 50.0), (5400.0, 20.0))
STRICT = ((3600.0, 100.0),)


def test_a_curve_falls_at_each_deadline_and_ends_with_the_reward_of_a_miss() -> None:
    table = reward_curves({"soft": SOFT, "strict": STRICT, "free": None}).table
    soft = table[table["line"] == "soft"]
    assert soft["time_s"].tolist()[:5] == [0.0, 3600.0, 3960.0, 4320.0, 5400.0]
    assert soft["reward"].tolist() == [100.0, 80.0, 50.0, 20.0, 1.0, 1.0]
    assert table[table["line"] == "free"]["reward"].tolist() == [1.0, 1.0]
    assert table.groupby("line")["time_s"].max().nunique() == 1, "all are drawn to the same end"


@pytest.mark.parametrize(
    ("done_s", "reward", "outcome"),
    [
        (3600.0, 100.0, "first deadline met"),
        (3600.1, 80.0, "a later one met"),
        (5400.0, 20.0, "a later one met"),
        (5401.0, 1.0, "missed"),
    ],
)
def test_a_completion_at_a_deadline_meets_it_and_just_after_does_not(
    done_s: float, reward: float, outcome: str
) -> None:
    point = reward_curves({"job": SOFT}, done_s={"job": done_s}).data["points"].iloc[0]
    assert (point["reward"], point["outcome"]) == (reward, outcome)


def test_jobs_whose_rewards_fall_alike_are_a_class_whatever_their_deadlines() -> None:
    twice = tuple((2 * at, worth) for at, worth in SOFT)
    jobs = {"a": SOFT, "b": twice, "c": STRICT, "d": None}
    drawing = reward_classes(jobs, done_s={"a": 3600.0, "b": 3 * 3600.0, "c": math.nan})
    lines = drawing.data["lines"]
    assert set(lines["line"]) == {"soft, 2 jobs", "strict, 1 job"}
    assert lines[lines["line"] == "soft, 2 jobs"]["x"].tolist()[:5] == [0.0, 1.0, 1.1, 1.2, 1.5]
    points = drawing.data["points"].set_index("job")
    assert points["x"].to_dict() == {"a": 1.0, "b": 1.5} and points["reward"].to_dict() == {"a": 100.0, "b": 20.0}
    assert "1 best-effort job without" in drawing.named()["title"]["subtitle"]


@pytest.mark.parametrize(("done_s", "reward"), [(4800.0, 50.0), (4800.0 + 1e-9, 50.0), (4800.1, 1.0)])
def test_a_job_of_a_class_that_is_done_at_a_deadline_meets_it_where_the_multiple_is_no_round_number(
    done_s: float, reward: float
) -> None:
    steps = {"job": ((3600.0, 100.0), (4800.0, 50.0))}
    assert reward_classes(steps, done_s={"job": done_s}).data["points"]["reward"].tolist() == [reward]
    assert reward_curves(steps, done_s={"job": done_s}).data["points"]["reward"].tolist() == [reward]


def test_classes_of_one_kind_are_told_apart_by_their_rewards() -> None:
    other = ((100.0, 70.0), (200.0, 10.0))
    longer = ((100.0, 70.0), (300.0, 10.0))
    lines = reward_classes({"a": SOFT, "b": other, "c": longer}).data["lines"]["line"]
    assert list(dict.fromkeys(lines)) == ["soft (70, 10), 1 job", "soft (70, 10), 1 job #2",
                                          "soft (100, 80, 50, 20), 1 job"]  # fmt: skip


def test_a_job_done_long_after_its_deadlines_stands_at_the_edge_and_the_subtitle_says_so() -> None:
    drawing = reward_classes({"a": STRICT}, done_s={"a": 36000.0})
    point = drawing.data["points"].iloc[0]
    assert point["time"] == 10.0 and point["x"] == drawing.data["lines"]["x"].max()
    assert "at the right edge: 1 job" in drawing.named()["title"]["subtitle"]


def test_without_deadlines_a_sentence_stands_in_the_chart() -> None:
    assert "No job has a deadline" in to_svg(reward_classes({"a": None}))
    assert "No job has a deadline" in to_svg(reward_curves({}))
