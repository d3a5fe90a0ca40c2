"""From a timeline to bars: what is merged, split, stacked, marked as preempted, put together where there are many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from chart_tables import CLUSTER, decisions, everything, interval, jobs, jobs_named, timeline
from hypothesis import given
from hypothesis import strategies as st

from tests.calls import calls_at_most
from workbench.analysis.charts import gantt, theme
from workbench.analysis.charts.gantt_bars import (
    GREY,
    MOST_BARS,
    SEVERAL,
    WIDEST_PX,
    blocks,
    job_bars,
    lanes,
    merged,
    natural_order,
    preemptions,
    thinned,
    thinned_bars,
    thinned_marks,
)
from workbench.simulation.schema import EVENTS, TIMELINE


def test_adjacent_intervals_of_the_same_unit_and_kind_are_one() -> None:
    table = timeline(
        interval("a-0", 0, "x", 10, 20, steps=3),
        interval("a-0", 0, "x", 0, 10, steps=4),
        interval("a-0", 0, "x", 25, 30),
        interval("a-0", 0, "y", 30, 40),
        interval("a-0", 1, "x", 20, 25),
        interval("a-0", 0, "x", 20, 25, "hold"),
    )
    found = merged(table)
    bars = sorted(zip(found["slot"], found["kind"], found["start_s"], found["end_s"], found["steps"], strict=True))
    assert bars == [
        (0, "hold", 20, 25, 10),
        (0, "run", 0, 20, 7),
        (0, "run", 25, 30, 10),
        (0, "run", 30, 40, 10),
        (1, "run", 20, 25, 10),
    ]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("xyz"), st.integers(1, 9)), max_size=30))
def test_merging_keeps_time_and_steps(pieces: list[tuple[int, str, int]]) -> None:
    clock = dict.fromkeys(range(4), 0.0)
    rows = []
    for slot, unit, length in pieces:
        rows.append(interval("a-0", slot, unit, clock[slot], clock[slot] + length))
        clock[slot] += length
    before = timeline(*rows)
    after = merged(before)
    for table in (before, after):
        table["length"] = table["end_s"] - table["start_s"]
    for column in ("length", "steps"):
        sums = [table.groupby(["slot", "unit"])[column].sum().to_dict() for table in (before, after)]
        assert sums[0] == sums[1]
    neighbours = after.sort_values(["slot", "start_s"])
    same = (neighbours["slot"].diff() == 0) & (neighbours["unit"] == neighbours["unit"].shift())
    assert not same.any()


def test_a_gang_on_neighbouring_slots_is_one_block_and_a_pair_is_not() -> None:
    table = timeline(
        *(interval("a-0", slot, "gang", 0, 10, gpus=4) for slot in (0, 1)),
        *(interval("b-0", slot, "gang", 0, 10, gpus=4) for slot in (0, 1)),
        *(interval("a-0", slot, "p + q", 10, 20, gpus=2) for slot in (0, 1)),
    )
    found = blocks(merged(table), lanes(table, CLUSTER))
    assert sorted(zip(found["unit"], found["row"], found["last_row"], found["slots"], found["steps"], strict=True)) == [
        ("gang", 0, 1, "0–1", 20),
        ("gang", 2, 3, "0–1", 20),
        ("p + q", 0, 0, "0", 10),
        ("p + q", 1, 1, "1", 10),
    ]


def test_lanes_are_the_cluster_or_what_the_timeline_knows() -> None:
    table = timeline(interval("b-10", 1, "x", 0, 1), interval("b-2", 0, "x", 0, 1), interval("a-0", 0, "x", 0, 1))
    assert lanes(table, CLUSTER)["node"].tolist() == ["a-0", "a-0", "b-0", "b-0"]
    seen = lanes(table)
    assert list(zip(seen["node"], seen["slot"], strict=True)) == [("b-2", 0), ("b-10", 0), ("b-10", 1), ("a-0", 0)]
    assert lanes(table.head(0)).empty
    assert sorted(["a-10", "a-2", "9", "a"], key=natural_order) == ["9", "a", "a-2", "a-10"]


def test_job_bars_join_slots_and_stack_what_overlaps() -> None:
    table = timeline(
        *(interval("a-0", slot, "x", 0, 10, gpus=2) for slot in (0, 1)),
        *(interval("a-0", slot, "x", 10, 20, gpus=2) for slot in (0, 1)),
        interval("b-0", 0, "y #0", 0, 10),
        interval("b-0", 1, "y #1", 5, 15),
        interval("a-0", 0, "y", 20, 30),
    )
    found = job_bars(table, ["x", "y"]).set_index(["unit", "start_s"])
    x = found.loc[("x", 0.0)]
    assert (x["end_s"], x["held"], x["where"], x["steps"], x["parts"]) == (20, 2, "a-0 × 2", 40, 1)
    assert found.loc[("y #0", 0.0), ["part", "parts"]].tolist() == [0, 2]
    assert found.loc[("y #1", 5.0), ["part", "parts"]].tolist() == [1, 2]
    assert found.loc[("y", 20.0), ["part", "parts"]].tolist() == [0, 1]


def test_a_pair_gives_each_job_its_own_bar_and_steps() -> None:
    found = job_bars(timeline(interval("a-0", 0, "p + q", 0, 10, steps=10)), ["q", "p"])
    assert found[["job", "with_job", "row", "part", "parts", "steps"]].values.tolist() == [
        ["q", "p", 0, 1, 2, 20.0],
        ["p", "q", 1, 0, 2, 10.0],
    ]


def test_preemptions_are_ends_that_nothing_follows() -> None:
    table = timeline(
        interval("a-0", 0, "x", 0, 10),  # goes on elsewhere: a move
        interval("b-0", 0, "x", 10, 20),  # then waits: preempted at 20
        interval("a-0", 0, "x", 30, 40),  # finishes
        interval("a-0", 1, "y", 0, 50),  # still runs at the end
        interval("b-0", 1, "z", 0, 15),  # never again: preempted at 15
    )
    found = preemptions(table, jobs(x=40.0, y=None, z=None))
    assert sorted(zip(found["job"], found["time_s"], strict=True)) == [("x", 20.0), ("z", 15.0)]


def test_events_say_who_was_preempted_if_there_are_any() -> None:
    table = timeline(interval("a-0", 0, "x", 0, 10))
    events = EVENTS.frame([(10.0, "preempt", "x", "x", "", "a shorter job came"), (0.0, "start", "x", "x", "", "")])
    found = preemptions(table, jobs(x=None), events)
    assert found.to_dict("records") == [{"job": "x", "time_s": 10.0, "reason": "a shorter job came"}]


def test_empty_tables_give_empty_tables() -> None:
    empty = timeline()
    assert merged(empty).empty
    assert blocks(merged(empty), lanes(empty, CLUSTER)).empty
    assert job_bars(empty, ["x"]).empty
    assert preemptions(empty, jobs()).empty


def test_thinning_keeps_every_kth() -> None:
    assert thinned([3.0, 1.0, 2.0, 2.0], 10) == ([1.0, 2.0, 3.0], 1)
    times, every = thinned(np.arange(1000.0).tolist(), 200)
    assert (len(times), every, times[1]) == (200, 5, 5.0)
    assert thinned([], 5) == ([], 1)


def test_bars_come_from_frames_that_pandas_wrote_and_read() -> None:
    table = timeline(interval("a-0", 0, "x", 0, 10), interval("a-0", 0, "x", 10, 20))
    objects = table.astype(dict.fromkeys(("node", "unit", "job", "with_job", "kind", "accelerator"), object))
    pd.testing.assert_frame_equal(merged(objects), merged(table), check_dtype=False)


def bars(*rows: tuple[float, float, float, str, str]) -> pd.DataFrame:
    """Bars of (row, start, end, job, kind)."""
    found = pd.DataFrame(rows, columns=["y0", "start_s", "end_s", "job", "kind"])
    same = {"unit": found["job"], "with_job": "", "where": "a", "accelerator": "v100", "gpus": 1}
    colour = {"fill": "#" + found["job"], "stroke": "#fff", "steps": 1.0, "with_steps": 0.0}
    return found.assign(y1=found["y0"] + 1, **same, **colour)


def test_a_few_bars_are_left_alone() -> None:
    few = bars((0, 0, 1, "a", "run"), (0, 1, 2, "b", "run"))
    assert thinned_bars(few, 2.0, 28.0) == (few, "")
    assert "subtitle" not in gantt(*everything(), cluster=CLUSTER).named()["title"]


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
    lanes, starts, ends, jobs = (found[column].to_numpy() for column in ("y0", "start_s", "end_s", "job"))
    for bar in many.itertuples():
        over = jobs[(lanes == bar.y0) & (starts <= bar.start_s) & (ends >= bar.end_s)]
        assert len(over) == 1 and over[0] in (bar.job, "")
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
def test_more_intervals_than_bars_are_drawn_with_a_note(by: Any) -> None:
    slots, jobs, count = 64, 12_000, 30_000
    slot, turn = np.arange(count) % slots, np.arange(count) // slots
    job = pd.Series((turn * 31 + slot * 17) % jobs).map("job {}".format)
    columns = {"node": "a-0", "slot": slot, "accelerator": "v100", "unit": job, "job": job, "with_job": ""}
    columns |= {"kind": "run", "start_s": turn * 360.0, "end_s": turn * 360.0 + 350, "steps": 1.0, "with_steps": 0.0}
    table = pd.DataFrame({**columns, "gpus": 1}, columns=TIMELINE.names)
    named: dict[str, float | None] = {f"job {i}": None for i in range(jobs)}
    with calls_at_most(3_000_000):
        drawing = gantt(table, jobs_named(named), by=by)
    drawn = drawing.data["bars"]
    assert 1000 < len(drawn) <= MOST_BARS and sum(map(len, drawing.data.values())) < 2 * MOST_BARS
    assert f"{count:,} bars drawn as" in drawing.named()["title"]["subtitle"]
    assert len(drawing.table) == len(table), "the numbers have all"
    assert drawing.closer is not None
    stretch = drawing.closer(0.0, 7200.0)
    assert list(stretch) == list(drawn) and len(stretch) == (table["start_s"] < 7200).sum(), "apart, when zoomed"
    if by == "slot":
        assert "several short bars" in set(drawing.data["key"]["text"])


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
    assert "500000000 rounds each" in set(drawing.data["key"]["text"])
