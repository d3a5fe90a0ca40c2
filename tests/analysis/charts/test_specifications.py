"""Every chart, held against Vega-Lite's schema: what is drawn is not checked again each time that it is drawn."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
import pytest
from chart_tables import CLUSTER, decisions, everything, interval, jobs, shares, timeline

import workbench
from tests.calls import calls_at_most
from workbench.analysis import charts
from workbench.analysis.charts import Drawing, gantt
from workbench.analysis.charts.drawing import marks

TABLE, JOBS, ASKED = everything()
HELD = timeline(interval("a-0", 0, "x", 0, 90), interval("a-0", 1, "y", 30, 200))
GIVEN = shares((0, 0.0, "x", "v100", 0.5), (1, 100.0, "x", "v100", 0.2), (1, 100.0, "y", "v100", 0.8))


def crowd() -> pd.DataFrame:
    """Received time of so many units that it is drawn as percentiles."""
    count = 4000
    given = shares(*((0, 0.0, f"j{i}", "v100", i / count) for i in range(count)))
    return charts.received_table(given, timeline(), decisions(0, 100, 200), end_s=300.0)


RECEIVED = charts.received_table(GIVEN, HELD, decisions(0, 100, 150), end_s=200.0)
SWEPT = pd.DataFrame(
    [
        ("s", name, 60.0 * i, seed, "done", "", 1.0 + seed, 100.0 * i)
        for name in "ab"
        for i in (1, 2)
        for seed in (0, 1)
    ],
    columns=["scenario", "scheduler", "round_s", "seed", "status", "error", "wall_s", "mean_jct_s"],
)
CHANGED = pd.DataFrame(
    [("a", "JCT", 2.0, 1.0, -1.5, -0.5, "1 s", "2 s"), ("b", "JCT", 2.0, 3.0, np.nan, np.nan, "3 s", "2 s")],
    columns=["change", "label", "before", "after", "low", "high", "text", "today_text"],
)
JOB_CHANGES = pd.DataFrame(
    {"job": ["x", "y"], "before_s": [5.0, 5.0], "after_s": [9.0, 1.0], "difference_s": [4.0, -4.0]}
)
AGREED = pd.DataFrame(
    {"job": ["x", "y"], "partition": ["a", "b"], "quantile": 0.5, "recorded_s": [60.0, 0.0], "simulated_s": [90.0, 5.0]}
)
DEADLINES = ((1800.0, 100.0), (2520.0, 50.0))
TASKS = pd.DataFrame(
    [("x", 0, 0, "g0", 0.0, 1.0, 1.5), ("y", 0, 0, "g0", 1.2, 2.0, 2.0), ("x", 1, 0, "g1", 1.5, 2.5, 3.0)],
    columns=["job", "round", "task", "gpu", "start_s", "end_s", "synchronised_s"],
)
SWITCHED = pd.DataFrame({"job": ["y"], "round": 0, "task": 0, "gpu": "g0", "load": "miss", "switch_s": 0.2})
SIGNALS = pd.DataFrame(
    [
        (0, 0.0, "place", "x", 1.0),
        (0, 0.0, "place", "y", 2.0),
        (0, 0.0, "window", "x", 1.0),
        (0, 0.0, "window", "y", 0.0),
        (0, 0.0, "sensitivity", "x", 1.5),
        (0, 0.0, "latency_ratio", "x", 0.25),
        (0, 0.0, "latency_ratio", "y", 0.5),
        (0, 0.0, "priority", "x", 1.0),
        (0, 0.0, "gain of 1 x v100 on 1", "x", 1.0),
        (0, 0.0, "gain of 2 x v100 on 2", "x", 1.5),
        (0, 0.0, "price of v100", "x", 2.0),
        (1, 50.0, "price of k80", "x", 0.5),
    ],
    columns=["decision", "time_s", "signal", "job", "value"],
)
"""What Hops and Hadar record, of one decision and a price more."""
QUEUE = charts.queue_at(SIGNALS, {"x": 1, "y": 4}, 1.4, 60.0)
HOLDING = timeline(interval("a-0", 0, "x", 0, 90, gpus=2), interval("a-0", 1, "x", 0, 90, gpus=2))
WAITING = pd.DataFrame({"time_s": [0.0, 100.0], "up_gpus": 8, "busy_gpus": [8, 6], "waiting_jobs": [0, 1]})
POINTS = pd.DataFrame(
    {"name": ["a", "b", "c"], "x": [1.0, 2.0, 2.0], "y": [2.0, 1.0, 2.0], "now": [True, False, False]}
)
GROUPS = pd.DataFrame(
    {"group": ["g", "g"], "series": ["a", "b"], "value": [1.0, 2.0], "low": [0.5, np.nan], "high": 2.5}
)
DRAWINGS: Mapping[str, Callable[[], Drawing]] = {
    "gantt by slot": lambda: gantt(TABLE, JOBS, ASKED, cluster=CLUSTER),
    "gantt by job": lambda: gantt(TABLE, JOBS, ASKED, by="job"),
    "allocation": lambda: charts.allocation(GIVEN),
    "received by one": lambda: charts.received(RECEIVED, "x"),
    "received by all": lambda: charts.received(RECEIVED),
    "received by many": lambda: charts.received(crowd()),
    "completion times": lambda: charts.jct_cdf(JOBS),
    "GPUs in use": lambda: charts.utilisation(TABLE, cluster=CLUSTER, end_s=1200.0),
    "queue": lambda: charts.queue(ASKED),
    "before and after": lambda: charts.before_after(CHANGED),
    "before and after, nothing": lambda: charts.before_after(CHANGED.head(0)),
    "jobs before and after": lambda: charts.job_changes(JOB_CHANGES),
    "jobs before and after, none": lambda: charts.job_changes(JOB_CHANGES.head(0)),
    "tasks of a schedule": lambda: charts.tasks(TASKS, ["x", "y"], ["g0", "g1"]),
    "tasks with switches": lambda: charts.tasks(TASKS, ["x", "y"], ["g0", "g1"], switches=SWITCHED, compact=True),
    "tasks, none": lambda: charts.tasks([], ["x"], ["g0"]),
    "schedules against bounds": lambda: charts.bound({"LP": 3.0}, {"Hare": 4.0, "SRTF": 5.0}),
    "schedules without a bound": lambda: charts.bound({}, {"Hare": 4.0}),
    "a measure over a setting": lambda: charts.curve(
        pd.DataFrame({"line": ["a", "a", "b"], "x": [1.0, 2.0, 1.0], "y": [3.0, 4.0, 5.0]}),
        title="By GPUs",
        x_title="GPUs",
        y_title="Weighted JCT (h)",
    ),
    "leases of a plan": lambda: charts.lease_gantt(
        charts.planned_leases({"a": [1, 2], "b": None}, {"a": [2], "b": [1]}, reward={"a": 1, "b": 2}), in_leases=True
    ),
    "leases of a run": lambda: charts.lease_gantt(
        charts.run_leases(TABLE, JOBS, dict.fromkeys(JOBS["job"], DEADLINES), end_s=2520.0), lease=360.0
    ),
    "admission of a job": lambda: charts.admission(
        TABLE,
        JOBS,
        dict.fromkeys(JOBS["job"], DEADLINES),
        job="j0",
        in_the_way=["j1"],
        verdict_s=300.0,
        earliest_s=2700.0,
        lease_s=360.0,
        end_s=2520.0,
        title="j0: best effort",
    ),
    "a plan": lambda: charts.plan([{"job": "x", "start_s": 0.0, "end_s": 60.0, "gpus": {"v100": 2}}], ["x"], CLUSTER),
    "rewards of jobs": lambda: charts.reward_curves({"a": DEADLINES, "b": None}, done_s={"a": 2000.0}),
    "rewards of classes": lambda: charts.reward_classes({"a": DEADLINES, "b": None}, done_s={"a": 2000.0}),
    "logical clusters": lambda: charts.logical_clusters(
        pd.DataFrame({"time_s": [0.0, 60.0], "cluster": "spot", "gpus": [1.0, 2.0]}), gpus=CLUSTER.gpus, end_s=2520.0
    ),
    "schedulers in a plane": lambda: charts.scatter(
        pd.DataFrame({"name": ["a", "b"], "x": [1.0, 2.0], "y": [2.0, 1.0], "x_spread": 0.1, "y_spread": 0.2}),
        title="t",
        x_title="Mean JCT (h)",
        y_title="Largest rho",
    ),
    "a sweep over numbers": lambda: charts.sweep(SWEPT, x="round_s"),
    "a sweep over words": lambda: charts.sweep(SWEPT, x="scheduler", y="wall_s"),
    "a knob varied": lambda: charts.variants(
        pd.DataFrame({"value": ["1", "2"], "mean_jct_s": [1.0, 2.0]}), title="t", x_title="x", now="1"
    ),
    "service window": lambda: charts.service_window(QUEUE, gpus=4),
    "service window, nobody waits": lambda: charts.service_window(QUEUE.head(0), gpus=4),
    "gangs of a plan": lambda: charts.gangs(charts.gangs_at(HOLDING, SIGNALS, 50.0), cluster=CLUSTER),
    "gangs, none": lambda: charts.gangs(charts.gangs_at(HOLDING, SIGNALS, -1.0), cluster=CLUSTER),
    "gains": lambda: charts.gain_matrix(charts.gains_table(SIGNALS)),
    "gains of a job": lambda: charts.gain_matrix(
        charts.gains_table(SIGNALS), selected="x", had=charts.configurations_had(HOLDING)
    ),
    "prices": lambda: charts.prices(SIGNALS, cluster=CLUSTER, end_s=100.0),
    "prices, none": lambda: charts.prices(SIGNALS.head(0), cluster=CLUSTER, end_s=100.0),
    "price of a cluster": lambda: charts.price_curve(
        pd.DataFrame({"type": ["v100", "v100", "k80"], "held": [0, 1, 0], "price": [1.0, 4.0, 1.0]})
    ),
    "signals": lambda: charts.signals(SIGNALS, jobs(x=90.0, y=None), end_s=100.0),
    "parts of entities": lambda: charts.entities(
        HOLDING, jobs(x=90.0, y=None).assign(entity=["one", "two"]), end_s=100.0
    ),
    "fragments by round": lambda: charts.fragments_by_round(WAITING, round_s=50.0, end_s=200.0),
    "fragments without rounds": lambda: charts.fragments_by_round(WAITING, round_s=None, end_s=200.0),
    "simulated against recorded waits": lambda: charts.agreement(AGREED, AGREED, title="t", said="lines: quantiles"),
    "a frontier": lambda: charts.frontier(POINTS, title="t", x_title="Mean JCT (h)", y_title="Worst rho"),
    "errors of believed speeds": lambda: charts.speed_errors(
        {"layers": pd.DataFrame({"measured_s": [0.0, 7200.0], "error": [0.2, 0.05]})}
    ),
    "a measure of jobs": lambda: charts.cdf({"a": [1.0, np.nan], "b": [2.0, 3.0]}, title="rho", x_title="rho"),
    "a number over time": lambda: charts.over_time(WAITING, "waiting_jobs", "jobs", title="Waiting"),
    "bars in groups": lambda: charts.grouped_bars(GROUPS, title="Miss rates", x_title="Trace", y_title="wDMR"),
    "gantt of a run": lambda: charts.run_gantt(workbench.simulate("preset:gavel_example", "fifo")),
}


def test_every_chart_is_drawn_here() -> None:
    known = {
        name for name, thing in vars(charts).items() if getattr(thing, "__annotations__", {}).get("return") == "Drawing"
    }
    calls = [node.func for node in ast.walk(ast.parse(Path(__file__).read_text())) if isinstance(node, ast.Call)]
    here = {func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in calls}
    assert len(known) > 25 and known - here == set()


@cache
def drawn(name: str) -> Drawing:
    return DRAWINGS[name]()


@pytest.mark.parametrize("name", DRAWINGS)
def test_what_is_sent_to_the_page_is_valid_vega_lite(name: str) -> None:
    drawing = drawn(name)
    assert drawing.named() == drawing.chart.to_dict(validate=True)
    assert "'Accelerator'" not in str(drawing.named()), "GPU type, as in the tables beside it"


PLAYED = {
    "gantt by slot": [360.0, 720.0],
    "gantt by job": [360.0, 720.0],
    "gantt of a run": [7200.0, 14400.0],
    "a plan": [60.0],
    "tasks of a schedule": [1.0, 1.2, 1.5, 2.0, 2.5, 3.0],
    "tasks with switches": [1.0, 1.2, 1.5, 2.0, 2.5, 3.0],
    "leases of a plan": [1.0, 2.0],
    "leases of a run": [720.0],
    "admission of a job": [720.0],
    "tasks, none": [],
}
"""The charts that play, and some of the times that they play through."""


def test_what_plays_says_through_which_times() -> None:
    assert {name for name in DRAWINGS if "until" in drawn(name).params} == set(PLAYED)
    for name in DRAWINGS:
        stops = list(drawn(name).stops)
        assert stops == sorted(set(stops)) and set(PLAYED.get(name, ())) <= set(stops), name
        assert bool(stops) == bool(PLAYED.get(name)) and min(stops, default=1.0) > 0, name


def test_constants_of_every_channel_are_what_altair_makes_of_them() -> None:
    given = {
        "x": alt.value(3),
        "y2": alt.value(alt.ExprRef("height")),
        "strokeWidth": alt.value(2),
        "opacity": alt.condition("datum.a > 1", alt.value(1), alt.value(0.2)),
        "color": alt.condition("datum.a > 1", alt.value("#fff"), alt.value("#000")),
        "text": "b:N",
    }
    ours = marks("rows").mark_text().encode(**given).to_dict()
    assert ours == alt.Chart(alt.NamedData("rows")).mark_text().encode(**given).to_dict()


def test_a_redraw_costs_no_altair() -> None:
    """What a knob waits for; the first of a layout builds the specification, the others find it."""
    gantt(TABLE, JOBS, ASKED, cluster=CLUSTER)
    with calls_at_most(450_000):  # five times as many when Altair built and checked it each time
        for _ in range(5):
            gantt(TABLE, JOBS, ASKED, cluster=CLUSTER).named()
    assert gantt(TABLE, JOBS, ASKED, cluster=CLUSTER).chart is gantt(TABLE, JOBS, None, cluster=CLUSTER).chart


def test_the_legend_of_an_allocation_is_no_higher_than_one_row() -> None:
    legend = charts.allocation(GIVEN.head(1)).named()["layer"][0]["encoding"]["fill"]["legend"]
    assert (legend["orient"], legend["direction"]) == ("bottom", "horizontal")


def test_many_jobs_are_percentiles_and_one_is_itself() -> None:
    table = crowd()
    drawing = charts.received(table)
    found = drawing.data["received"].sort_values("t")
    short = -np.arange(4000) / 4000
    assert found[["low", "middle", "high"]].iloc[0].tolist() == pytest.approx(np.percentile(short, [5, 50, 95]))
    assert "percentile" in drawing.named()["title"]["subtitle"] and len(drawing.table) == len(table)
    assert set(charts.received(table, "j7").data["received"]["unit"]) == {"j7"}


def test_received_time_agrees_with_counting_seconds() -> None:
    """Random whole seconds, counted one by one."""
    random = np.random.default_rng(5)
    units, kinds, end = [f"u{i}" for i in range(5)], {"a-0": "v100", "b-0": "k80"}, 60
    rows, asked = [], sorted({0, *random.integers(1, end, 12).tolist()})
    for slot in range(3):
        for node in kinds:
            now = 0
            while now < end - 1:
                now, until = now + int(random.integers(0, 4)), 0
                until = min(end, now + int(random.integers(1, 9)))
                if now < until:
                    rows.append(interval(node, slot, str(random.choice(units)), now, until))
                now = until
    changes = asked[::3]
    given = [(asked.index(t), float(t), u, "v100", 0.1 * (i + 1)) for t in changes for i, u in enumerate(units[:4])]
    held = timeline(*rows)
    found = charts.received_table(shares(*given), held, decisions(*asked), end_s=float(end))
    moments, seen = [*asked[1:], end], {}
    for at in moments:
        since = max(t for t in changes if t < at)
        for unit in units:
            for kind in kinds.values():
                part = held[(held["unit"] == unit) & (held["accelerator"] == kind)]
                busy = sum(((part["start_s"] <= s) & (part["end_s"] > s)).any() for s in range(since, at))
                target = 0.1 * (units.index(unit) + 1) if kind == "v100" and unit in units[:4] else 0.0
                seen[at, unit, kind] = (since, target, busy / (at - since))
    for row in found.itertuples():
        assert (row.since_s, row.target, row.received) == pytest.approx(
            seen.pop((row.time_s, row.unit, row.accelerator))
        )
    left = {(at, unit, kind): found for (at, unit, kind), found in seen.items() if found[1] > 0}
    assert not left, "whatever has a target appears"


def test_four_hundred_jobs_are_taken_at_once() -> None:
    count, periods = 400, 500
    given = [(p, 10.0 * p, f"j{i}", "v100", 0.1) for p in range(periods) for i in range(p % 7, count, 7)]
    held = [interval("a-0", 0, f"j{(p * 3) % count}", 10.0 * p, 10.0 * p + 8) for p in range(periods)]
    table, asked = timeline(*held), decisions(*(5.0 * p for p in range(2 * periods)))
    targets = shares(*given)
    with calls_at_most(400_000):  # eight times the time one by one
        found = charts.received_table(targets, table, asked, end_s=10.0 * periods)
    assert len(found) > 50_000
