"""Idle GPUs while jobs wait, after decisions and on average over rounds, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from workbench.analysis.charts import Drawing, fragments, fragments_by_round, idle_while_waiting, to_svg
from workbench.analysis.charts.series import round_means

DECISIONS = pd.DataFrame(
    {"time_s": [0.0, 60.0, 120.0], "up_gpus": 4, "busy_gpus": [1, 3, 2], "waiting_jobs": [0, 2, 1]}
)


def valid(drawing: Drawing) -> Drawing:
    assert drawing.named() == drawing.chart.to_dict(validate=True) and to_svg(drawing).startswith("<svg")
    return drawing


def test_idle_gpus_count_while_jobs_wait_only() -> None:
    assert idle_while_waiting(DECISIONS).tolist() == [0.0, 1.0, 2.0]
    down = DECISIONS.assign(busy_gpus=5)
    assert idle_while_waiting(down).tolist() == [0.0, 0.0, 0.0], "of GPUs that are down none is idle"


def test_of_several_runs_up_to_a_time() -> None:
    lines = valid(fragments({"one": DECISIONS, "two": DECISIONS.assign(busy_gpus=4)}, 100.0)).data["lines"]
    one, two = (lines[lines["series"] == name] for name in ("one", "two"))
    assert one["value"].max() == 1.0 and two["value"].max() == 0.0 and lines["time_s"].max() == 100.0


def test_the_mean_of_a_round_is_over_its_time() -> None:
    """Rounds of 100 s: 40 s of 1; then 20 s of 1 and 80 s of 2; 50 s of 2."""
    means = round_means(DECISIONS, round_s=100.0, end_s=250.0)
    assert means["time_s"].tolist() == [0.0, 100.0, 200.0]
    assert means["idle"].tolist() == pytest.approx([0.4, 1.8, 2.0])


def test_of_decisions_at_one_time_the_last_one_counts() -> None:
    twice = pd.concat([DECISIONS, DECISIONS.tail(1).assign(busy_gpus=4)], ignore_index=True)
    assert round_means(twice, round_s=100.0, end_s=250.0)["idle"].tolist() == pytest.approx([0.4, 0.2, 0.0])


def test_means_have_the_area_of_the_steps_for_any_rounds() -> None:
    rng = np.random.default_rng(3)
    times = np.concatenate([[0.0], np.sort(rng.uniform(0, 900, 40))])
    some = pd.DataFrame(
        {"time_s": times, "up_gpus": 8, "busy_gpus": rng.integers(0, 9, 41), "waiting_jobs": rng.integers(0, 3, 41)}
    )
    values = [8 - b if w else 0 for b, w in zip(some["busy_gpus"], some["waiting_jobs"], strict=True)]
    area = sum(v * (b - a) for v, a, b in zip(values, times, [*times[1:], 1000.0], strict=True))
    for round_s in (7.0, 100.0, 333.0, 1000.0):
        means = round_means(some, round_s=round_s, end_s=1000.0)
        widths = np.diff([*means["time_s"], 1000.0])
        assert float((means["idle"] * widths).sum()) == pytest.approx(area)


def test_rounds_have_a_line_and_a_scheduler_without_rounds_has_none() -> None:
    with_rounds = valid(fragments_by_round(DECISIONS, round_s=100.0, end_s=250.0)).data["lines"]
    assert list(with_rounds["series"].unique()) == ["after each decision", "mean of the round"]
    without = valid(fragments_by_round(DECISIONS, round_s=None, end_s=250.0)).data["lines"]
    assert list(without["series"].unique()) == ["after each decision"]
    valid(fragments_by_round(DECISIONS.head(0), round_s=100.0, end_s=0.0))
