"""Many bars: what is put together, what stays, and that the chart says so."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from chart_tables import CLUSTER, decisions, everything, interval, jobs_named, timeline

from workbench.analysis.charts import gantt, theme
from workbench.analysis.charts.bars import GREY, MOST_BARS, SEVERAL, WIDEST_PX, thinned_bars, thinned_marks
from workbench.simulation.schema import TIMELINE


def bars(*rows: tuple[float, float, float, str, str]) -> pd.DataFrame:
    """Bars of (row, start, end, job, kind)."""
    found = pd.DataFrame(rows, columns=["y0", "start_s", "end_s", "job", "kind"])
    same = {"unit": found["job"], "with_job": "", "where": "a", "accelerator": "v100", "gpus": 1}
    colour = {"fill": "#" + found["job"], "stroke": "#fff", "steps": 1.0, "with_steps": 0.0}
    return found.assign(y1=found["y0"] + 1, **same, **colour)


def test_a_few_bars_are_left_alone() -> None:
    few = bars((0, 0, 1, "a", "run"), (0, 1, 2, "b", "run"))
    assert thinned_bars(few, 2.0, 28.0) == (few, "")
    assert "subtitle" not in gantt(*everything(), cluster=CLUSTER).chart.to_dict()["title"]


def test_short_neighbours_become_one_and_long_bars_stay() -> None:
    span_s = WIDEST_PX * 10  # a pixel is 10 s
    many = bars(
        (0, 0, 2, "a", "run"),
        (0, 2, 4, "a", "restart"),
        (0, 5, 9, "b", "run"),
        (0, 9, 60, "a", "run"),
        (0, 60, 61, "a", "run"),
        (0, 62, 64, "a", "run"),
        (1, 2, 4, "b", "run"),
    )
    found, note = thinned_bars(many, span_s, 28.0, most=4)
    columns = ["y0", "start_s", "end_s", "unit", "job", "kind", "fill", "steps"]
    assert found.sort_values(["y0", "start_s"])[columns].values.tolist() == [
        [0, 0, 9, "3 bars", "", SEVERAL, GREY, 3.0],
        [0, 9, 60, "a", "a", "run", "#a", 1.0],
        [0, 60, 64, "2 bars", "a", "run", "#a", 2.0],
        [1, 2, 4, "b", "b", "run", "#b", 1.0],
    ]
    assert note == "7 bars drawn as 4: neighbours shorter than 10 s are one, grey if of different jobs"


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_invented_and_nothing_is_lost(seed: int) -> None:
    """Against each bar by hand: it lies inside one that is drawn; busy time grows by less than a piece for each."""
    random = np.random.default_rng(seed)
    rows = []
    for lane in range(7):
        now = 0.0
        for _ in range(300):
            now += float(random.exponential(3.0))
            end = now + float(random.choice([0.5, 2.0, 300.0], p=[0.6, 0.39, 0.01]))
            rows.append((float(lane), now, end, str(random.integers(9)), "run"))
            now = end
    many = bars(*rows)
    span_s = float(many["end_s"].max())
    found, note = thinned_bars(many, span_s, 28.0, most=500)
    assert len(found) <= 500 and note and found["steps"].sum() == len(many)
    for bar in many.itertuples():
        over = found[(found["y0"] == bar.y0) & (found["start_s"] <= bar.start_s) & (found["end_s"] >= bar.end_s)]
        assert len(over) == 1 and over["job"].iloc[0] in (bar.job, "")
    ordered = found.sort_values(["y0", "start_s"])
    same = ordered["y0"].diff() == 0
    assert (ordered["start_s"].to_numpy()[1:] >= ordered["end_s"].to_numpy()[:-1])[same.to_numpy()[1:]].all()


def test_rows_that_share_a_pixel_share_a_bar() -> None:
    many = bars(*((float(row), 0.0, 1.0, str(row), "run") for row in range(1000)))
    found, _ = thinned_bars(many, 100.0, 0.1, most=100)
    assert len(found) == 100 and (found["y1"] - found["y0"]).to_numpy() == pytest.approx(10.0)


def test_marks_on_one_pixel_are_one_and_lives_stay_whole() -> None:
    time_s = np.arange(10_000) / 100.0
    marks = pd.DataFrame({"mark": "preempted", "job": "a", "time_s": time_s, "y0": 0.0, "y1": 1.0})
    lives = marks.head(2).assign(mark="arrived")
    found = thinned_marks(pd.concat([marks, lives]), WIDEST_PX, 28.0)
    assert (found["mark"] == "preempted").sum() == 100 and (found["mark"] == "arrived").sum() == 2
    assert thinned_marks(marks.head(50), WIDEST_PX, 28.0).equals(marks.head(50))


@pytest.mark.parametrize("by", ["slot", "job"])
def test_a_hundred_and_fifty_thousand_intervals_are_drawn_with_a_note(by: Any) -> None:
    count, slots, jobs = 150_000, 64, 20_000
    slot, turn = np.arange(count) % slots, np.arange(count) // slots
    job = pd.Series((turn * 31 + slot * 17) % jobs).map("job {}".format)
    columns = {"node": "a-0", "slot": slot, "accelerator": "v100", "unit": job, "job": job, "with_job": ""}
    columns |= {"kind": "run", "start_s": turn * 360.0, "end_s": turn * 360.0 + 350, "steps": 1.0, "with_steps": 0.0}
    table = pd.DataFrame({**columns, "gpus": 1}, columns=TIMELINE.names)
    named: dict[str, float | None] = {f"job {i}": None for i in range(jobs)}
    began = time.process_time()
    drawing = gantt(table, jobs_named(named), by=by)
    took_s = time.process_time() - began
    drawn = drawing.data["bars"]
    assert 1000 < len(drawn) <= MOST_BARS and sum(map(len, drawing.data.values())) < 2 * MOST_BARS
    assert "150,000 bars drawn as" in drawing.chart.to_dict()["title"]["subtitle"]
    assert len(drawing.table) == len(table), "the numbers have all"
    if by == "slot":
        assert "several short bars" in set(drawing.data["key"]["text"])
    assert took_s < 20, "measured 2 s"


def test_a_bar_of_several_jobs_is_no_job_and_has_no_label() -> None:
    names = [f"j{i}" for i in range(MOST_BARS + 1)]
    table = timeline(*(interval("a-0", 0, name, 2.0 * i, 2.0 * i + 1) for i, name in enumerate(names)))
    drawing = gantt(table, jobs_named(dict.fromkeys(names)), cluster=CLUSTER)
    several = drawing.data["bars"].query("kind == @SEVERAL")
    assert len(several) > 0 and set(several["job"]) == {""} and set(several["label"]) == {""}
    assert set(several["fill"]) == {GREY} and theme.contrast(GREY, theme.PAPER) > 3


def test_rounds_that_a_scheduler_was_left_out_of_are_in_the_grid() -> None:
    table = timeline(interval("a-0", 0, "x", 0, 100))
    asked = [0.0, 10.0, 20.0, 50.0]
    grid = gantt(table, jobs_named({"x": 100.0}), decisions(*asked), cluster=CLUSTER).data["rounds"]["time_s"]
    assert grid.tolist() == [10.0 * i for i in range(10)]
    uneven = gantt(table, jobs_named({"x": 100.0}), decisions(0, 10, 25), cluster=CLUSTER).data["rounds"]["time_s"]
    assert uneven.tolist() == [0, 10, 25], "no common length: what there is"


def test_millions_of_rounds_that_a_scheduler_was_left_out_of_are_never_listed() -> None:
    """1e12 s in rounds of 10 s: each line of the grid stands for so many of them, and there are at most 200."""
    table = timeline(interval("a-0", 0, "x", 0, 1e12))
    drawing = gantt(table, jobs_named({"x": 1e12}), decisions(0, 10), cluster=CLUSTER)
    grid = drawing.data["rounds"]["time_s"]
    assert len(grid) == 200 and grid.tolist() == [i * 5e9 for i in range(200)]
    assert "every 500000000 rounds" in set(drawing.data["key"]["text"])
