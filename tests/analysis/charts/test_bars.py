"""From a timeline to bars: what is merged, split, stacked and marked as preempted."""

from __future__ import annotations

import numpy as np
import pandas as pd
from chart_tables import CLUSTER, interval, jobs, timeline
from hypothesis import given
from hypothesis import strategies as st

from workbench.analysis.charts.bars import blocks, job_bars, lanes, merged, natural_order, preemptions, thinned
from workbench.simulation.schema import EVENTS


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
