"""Charts of numbers: allocation, time received, completion times, utilisation, queue."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from chart_tables import CLUSTER, HOSTILE, decisions, everything, interval, jobs, shares, timeline

from workbench.analysis.charts import (
    Drawing,
    allocation,
    cdf,
    jct_cdf,
    over_time,
    queue,
    received,
    received_table,
    shares_at,
    to_svg,
    utilisation,
)
from workbench.analysis.metrics.over_time import MOST_POINTS, at_change, held_gpus
from workbench.simulation.schema import SHARES


def titles(drawing: Drawing) -> set[str]:
    found = set()
    for part in drawing.named()["layer"]:
        for channel in ("x", "y"):
            title = part.get("encoding", {}).get(channel, {}).get("title")
            if isinstance(title, str):
                found.add(title)
    return found


# Allocation


def test_allocation_fills_in_zeros_and_keeps_the_order() -> None:
    table = shares((0, 0.0, "b", "k80", 0.25), (0, 0.0, "a", "v100", 1.0), (0, 0.0, "a + b", "v100", 0.001))
    drawing = allocation(table, accelerators=["v100", "k80"])
    cells = drawing.data["cells"]
    assert cells["unit"].drop_duplicates().tolist() == ["b", "a", "a + b"]
    assert cells.pivot(index="row", columns="column", values="share").values.tolist() == [
        [0, 0.25],
        [1, 0],
        [0.001, 0],
    ]
    assert cells["text"].tolist() == ["", "0.25", "1.00", "", "~0", ""]
    fill = drawing.named()["layer"][0]["encoding"]["fill"]
    assert fill["scale"]["domain"] == [0, 1]
    assert cells[["job", "with_job"]].iloc[-1].tolist() == ["a", "b"]


def test_both_placements_of_a_type_are_columns_and_one_target() -> None:
    """A fifth of the time together and a fifth spread, of which it had half: 40 s of 100 s promised, 20 s given."""
    rows = [(0, 0.0, "x", "v100", "consolidated", 0.2), (0, 0.0, "x", "v100", "unconsolidated", 0.2)]
    table = SHARES.frame(rows)
    assert allocation(table).data["heads"]["text"].tolist() == ["v100", "v100 spread"]
    held = timeline(interval("a-0", 0, "x", 0, 20))
    [row] = received_table(table, held, decisions(0), end_s=100.0).itertuples(index=False)
    assert (row.accelerator, row.target, row.received) == ("v100", 0.4, 0.2)


def test_shares_in_force() -> None:
    table = shares((0, 0.0, "a", "v100", 1.0), (5, 60.0, "a", "v100", 0.5), (5, 60.0, "b", "v100", 0.5))
    assert len(shares_at(table)) == 2
    assert shares_at(table, at_s=59)["share"].tolist() == [1.0]
    assert shares_at(table.head(0)).empty


# Time received


def test_time_received_by_hand() -> None:
    """Two rounds of 100 s under one set of shares, then one under another: the count starts anew."""
    table = shares((0, 0.0, "x", "v100", 0.5), (0, 0.0, "x", "k80", 0.5), (2, 200.0, "x", "v100", 1.0))
    held = timeline(
        *(interval("a-0", slot, "x", 0, 100, gpus=2) for slot in (0, 1)),  # a gang counts once
        *(interval("b-0", slot, "x", 100, 110, "restart", gpus=2) for slot in (0, 1)),
        *(interval("b-0", slot, "x", 110, 150, gpus=2) for slot in (0, 1)),
        interval("a-0", 0, "x", 250, 300),
    )
    found = received_table(table, held, decisions(0, 100, 200), end_s=300.0)
    rows = {(r.time_s, r.accelerator): (r.since_s, r.target, r.received) for r in found.itertuples()}
    assert rows == {
        (100.0, "v100"): (0.0, 0.5, 1.0),
        (100.0, "k80"): (0.0, 0.5, 0.0),
        (200.0, "v100"): (0.0, 0.5, 0.5),
        (200.0, "k80"): (0.0, 0.5, 0.25),
        (300.0, "v100"): (200.0, 1.0, 0.5),
    }


def test_time_received_without_a_target_is_shown_and_other_units_are_not() -> None:
    held = timeline(interval("a-0", 0, "y", 0, 50), interval("a-0", 1, "y", 0, 50, "sync"))
    found = received_table(shares((0, 0.0, "x", "v100", 1.0)), held, decisions(0), end_s=100.0)
    assert {(r.unit, r.target, r.received) for r in found.itertuples()} == {("x", 1.0, 0.0), ("y", 0.0, 0.5)}


def test_time_received_drawn() -> None:
    table = received_table(
        shares((0, 0.0, "x", "v100", 0.5), (0, 0.0, "x + y", "v100", 0.5)),
        timeline(interval("a-0", 0, "x", 0, 50), interval("a-0", 0, "x + y", 50, 100)),
        decisions(0, 50),
        end_s=100.0,
    )
    one = received(table, "y")
    assert set(one.data["received"]["unit"]) == {"x + y"}
    assert titles(one) == {"Time (s)", "Share of time since the last change"}
    assert set(one.data["received"]["what"]) == {"received", "target"}
    everyone = received(table)
    lines = everyone.data["received"][["unit", "time_s", "short"]]
    assert sorted(map(tuple, lines.values.tolist())) == [
        ("x", 0, 0.5),
        ("x", 50, 0.5),
        ("x", 100, 0),
        ("x + y", 0, -0.5),
        ("x + y", 50, -0.5),
        ("x + y", 100, 0),
    ]
    assert received(table, "nobody").data["message"]["text"].tolist() == ["No shares of nobody"]
    empty = received_table(shares(), timeline(), decisions())
    assert received(empty).data["message"]["text"].tolist() == ["No shares"]


# Completion times


def test_jct_cdf_of_several_runs() -> None:
    drawing = jct_cdf({"fifo": jobs(a=100.0, b=200.0), "las": jobs(a=50.0, b=None)})
    assert titles(drawing) == {"Job completion time (s)", "Share of jobs (%)"}
    lines = drawing.data["lines"]
    assert lines[lines["run"] == "fifo"][["jct_s", "share"]].values.tolist() == [[0, 0], [100, 0.5], [200, 1], [200, 1]]
    assert drawing.table.values.tolist() == [["fifo", 100.0, 0.5], ["fifo", 200.0, 1.0], ["las", 50.0, 0.5]]
    assert drawing.named()["title"]["subtitle"] == "jobs not finished: las: 1"
    encoding = drawing.named()["layer"][0]["encoding"]
    assert encoding["color"]["scale"]["domain"] == encoding["strokeDash"]["scale"]["domain"] == ["fifo", "las"]
    assert jct_cdf(jobs(a=None)).data["message"]["text"].tolist() == ["No job finished"]
    assert jct_cdf({}).data["message"]["text"].tolist() == ["No job finished"]


# Over time


def test_held_gpus_are_exact() -> None:
    held = timeline(
        interval("a-0", 0, "x", 0, 10),
        interval("a-0", 1, "x + y", 5, 20),  # a pair holds its slot once
        interval("b-0", 0, "z", 10, 15, "hold"),
        interval("b-0", 0, "z", 10, 12, "sync"),  # overlaps: not again
        interval("b-0", 1, "", 0, 20, "down"),
    )
    table, width = held_gpus(held)
    wide = table.pivot(index="time_s", columns="accelerator", values="gpus")
    assert width == 0
    assert wide["v100"].to_dict() == {0: 1, 5: 2, 10: 1, 15: 1, 20: 0}
    assert wide["k80"].to_dict() == {0: 0, 5: 0, 10: 1, 15: 0, 20: 0}


def test_thinning_a_step_function_keeps_its_area() -> None:
    rng = np.random.default_rng(1)
    times = np.concatenate(([0.0], np.cumsum(rng.random(5000))))
    values = rng.integers(0, 9, 5001).astype(float)
    end = float(times[-1]) + 1.0
    at, means, width = at_change(times, values, end, most=100)
    assert len(at) == 100 and width == pytest.approx(end / 100)
    assert np.sum(means * width) == pytest.approx(np.sum(values * np.diff(np.append(times, end))))
    same, kept, zero = at_change(times, values, end, most=6000)
    assert zero == 0 and same is times and kept is values


def test_utilisation_stacks_types_and_says_its_bins() -> None:
    table, _, _ = everything()
    drawing = utilisation(table, cluster=CLUSTER, end_s=1200.0)
    assert titles(drawing) >= {"Time (min)", "GPUs in use"}
    held = drawing.data["held"]
    assert (held["high"] - held["low"] == held["gpus"]).all() and held["high"].max() <= 4
    assert drawing.data["capacity"]["gpus"].tolist() == [4]
    assert "subtitle" not in drawing.named()["title"]
    many = timeline(*(interval("a-0", 0, f"j{i}", i, i + 0.5) for i in range(MOST_POINTS)))
    coarse = utilisation(many, cluster=CLUSTER, end_s=MOST_POINTS * 10.0)
    assert coarse.named()["title"]["subtitle"] == "means over bins of 10 s"
    assert utilisation(timeline(), cluster=CLUSTER, end_s=0.0).data["message"]["text"].tolist() == ["Nothing ran"]


def test_over_time_and_queue() -> None:
    frame = pd.DataFrame({"time_s": [0.0, 3600.0, 7200.0], "rate": [1.0, np.nan, 3.0]})
    drawing = over_time(frame, "rate", "steps/s", y_title="Throughput", end_s=14400.0)
    assert titles(drawing) == {"Time (h)", "Throughput (steps/s)"}
    assert drawing.data["lines"][["t", "value"]].values.tolist() == [[0, 1], [2, 3], [4, 3]]
    waiting = queue(decisions(0, 60, 120))
    assert set(waiting.data["lines"]["series"]) == {"waiting for GPUs", "arrived and unfinished"}
    assert titles(waiting) == {"Time (s)", "Jobs"}
    assert queue(decisions()).data["message"]["text"].tolist() == ["No values"]


# Names


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_can_be_drawn(name: str) -> None:
    held = timeline(interval("a-0", 0, name, 0, 60))
    given = shares((0, 0.0, name, "v100", 1.0))
    drawings: list[Any] = [
        allocation(given),
        received(received_table(given, held, decisions(0)), name),
        cdf({name: [60.0], "other": [50.0]}, title=name, x_title=name),
    ]
    for drawing in drawings:
        assert drawing.data["message"].empty
        assert to_svg(drawing).startswith("<svg")
