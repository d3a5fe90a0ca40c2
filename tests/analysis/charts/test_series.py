"""Over time: idle GPUs while jobs wait, prices and where their plot stands, recorded signals, the parts of entities."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from chart_tables import CLUSTER, decisions, everything, interval, jobs_named, timeline

from workbench.analysis import charts
from workbench.analysis.charts import (
    Drawing,
    entities,
    fragments_by_round,
    gantt,
    idle_while_waiting,
    price_course,
    price_curve,
    prices,
    signals,
    to_svg,
)
from workbench.analysis.charts.series import round_means
from workbench.analysis.charts.theme import type_colours

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


END_S = 400.0
SIGNALS = pd.DataFrame(
    [
        ("payoff", "x", 0.0, 5.0),
        ("price of k80", "x", 0.0, 0.1),
        ("price of v100", "x", 0.0, 2.0),
        ("price of k80", "y", 100.0, 0.5),
        ("price of v100", "y", 100.0, 2.0),
    ],
    columns=["signal", "job", "time_s", "value"],
)
CURVE = pd.DataFrame({"type": ["v100"] * 3 + ["k80"] * 2, "held": [0, 1, 2, 0, 1], "price": [1.0, 2.0, 4.0, 1.0, 4.0]})


def left_of_plot(drawing: Drawing) -> int:
    found = re.search(r"translate\((\d+),", to_svg(drawing))
    assert found is not None
    return int(found[1])


def test_a_price_belongs_to_its_type_whatever_job_it_was_recorded_with() -> None:
    course = price_course(SIGNALS)
    assert course.to_dict("list") == {
        "time_s": [0.0, 0.0, 100.0, 100.0],
        "type": ["k80", "v100", "k80", "v100"],
        "price": [0.1, 2.0, 0.5, 2.0],
    }


def test_a_price_holds_until_the_next_decision_and_the_last_to_the_end() -> None:
    drawing = prices(SIGNALS, cluster=CLUSTER, end_s=END_S)
    assert drawing.named() == drawing.chart.to_dict(validate=True)
    lines = drawing.data["lines"]
    assert lines["series"].tolist() == ["v100"] * 3 + ["k80"] * 3, "in the order of the cluster"
    of_k80 = lines[lines["series"] == "k80"]
    assert of_k80["time_s"].tolist() == [0.0, 100.0, END_S] and of_k80["value"].tolist() == [0.1, 0.5, 0.5]


def test_a_type_has_the_colour_that_it_has_in_the_gantt_chart() -> None:
    colours = type_colours(CLUSTER.types)
    for drawing in (prices(SIGNALS, cluster=CLUSTER, end_s=END_S), price_curve(CURVE)):
        scale = next(
            layer["encoding"]["color"]["scale"]
            for layer in drawing.named()["layer"]
            if "scale" in layer.get("encoding", {}).get("color", {})
        )
        assert dict(zip(scale["domain"], scale["range"], strict=True)) == colours


def test_the_plot_stands_under_that_of_the_gantt_chart() -> None:
    table, jobs, _ = everything()
    above = gantt(table, jobs, decisions(0, 100), cluster=CLUSTER, end_s=END_S)
    under = prices(SIGNALS, cluster=CLUSTER, end_s=END_S)
    assert left_of_plot(under) == pytest.approx(left_of_plot(above), abs=2), "names are measured, not drawn"
    other = left_of_plot(charts.queue(decisions(0, 100), end_s=END_S))
    assert abs(other - left_of_plot(above)) > 20, "what a chart does by itself"


def test_in_a_narrower_place_the_plot_still_ends_where_the_gantt_chart_does() -> None:
    wide, narrow = (prices(SIGNALS, cluster=CLUSTER, end_s=END_S, inset_px=px) for px in (0.0, 18.0))
    assert left_of_plot(wide) - left_of_plot(narrow) == pytest.approx(18, abs=1)
    assert wide.named()["padding"]["right"] - narrow.named()["padding"]["right"] == 18


def test_prices_need_a_logarithmic_axis() -> None:
    """The price (5) is geometric: on such an axis it is a straight line."""
    for drawing in (prices(SIGNALS, cluster=CLUSTER, end_s=END_S), price_curve(CURVE)):
        assert "'type': 'log'" in str(drawing.named())


def test_a_curve_counts_gpus_one_by_one() -> None:
    drawing = price_curve(CURVE)
    assert drawing.named() == drawing.chart.to_dict(validate=True)
    assert drawing.data["points"][["line", "x", "y"]].to_numpy().tolist() == CURVE.to_numpy().tolist()
    assert '"tickMinStep":1' in str(drawing.named()).replace("'", '"').replace(" ", "")


@pytest.mark.parametrize("signals", [SIGNALS.head(0), SIGNALS.head(1)])
def test_without_prices_the_chart_says_so(signals: pd.DataFrame) -> None:
    drawing = prices(signals, cluster=CLUSTER, end_s=END_S)
    assert drawing.data["message"]["text"].tolist() == ["No values"] and to_svg(drawing).startswith("<svg")


def recorded(*rows: tuple[str, str, float, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["signal", "job", "time_s", "value"])


def test_each_line_ends_with_its_job() -> None:
    table = recorded(("rho", "a", 0.0, 1.0), ("rho", "b", 0.0, 2.0), ("rho", "a", 100.0, 1.5))
    drawing = signals(table, jobs_named({"a": 150.0, "b": None}), end_s=200.0)
    drawing.chart.to_dict(validate=True)
    lines = drawing.data["lines"]
    ends = lines.groupby("job").agg(end=("time_s", "max"), value=("value", "last"))
    assert ends["end"].to_dict() == {"a": 150.0, "b": 200.0}
    assert ends["value"].to_dict() == {"a": 1.5, "b": 2.0}
    assert drawing.table.equals(table)


def test_tiny_weights_are_labelled_in_scientific_notation() -> None:
    table = recorded(("weight", "a", 0.0, 0.0), ("weight", "a", 50.0, 4e-8))
    svg = to_svg(signals(table, jobs_named({"a": 100.0}), end_s=100.0))
    assert ">1e-8<" in svg and ">0<" in svg and "0.0000" not in svg
    assert ">1,000<" in to_svg(signals(table.assign(value=[0.0, 4e3]), jobs_named({"a": 100.0}), end_s=100.0))


def test_several_signals_differ_by_pattern_and_many_jobs_have_no_legend() -> None:
    names = {f"j{i}": 10.0 for i in range(30)}
    rows = [(signal, job, 0.0, 1.0) for signal in ("rho", "level") for job in names]
    spec = signals(recorded(*rows), jobs_named(names), end_s=10.0).chart.to_dict(validate=True)
    found = next(layer["encoding"] for layer in spec["layer"] if "strokeDash" in layer["encoding"])
    assert found["strokeDash"]["scale"]["domain"] == ["rho", "level"]
    assert found["color"]["legend"] is None


def test_more_decisions_than_can_be_drawn_are_thinned() -> None:
    table = recorded(*(("rho", "a", float(t), 1.0) for t in range(5000)))
    drawing = signals(table, jobs_named({"a": 5000.0}), end_s=5000.0)
    assert len(drawing.data["lines"]) <= 401
    assert len(drawing.table) == 5000


def test_parts_of_entities_by_hand() -> None:
    """Two GPUs to x's job, then one to each, then one GPU shared by a pair of both."""
    table = timeline(
        interval("a", 0, "p", 0, 100),
        interval("a", 1, "p", 0, 100),
        interval("a", 0, "p", 100, 200),
        interval("a", 1, "q", 100, 200),
        interval("a", 0, "p + q", 200, 300),
    )
    given = jobs_named({"p": 300.0, "q": 300.0}).assign(entity=["x", ""])
    drawing = entities(table, given, end_s=300.0)
    drawing.chart.to_dict(validate=True)
    wide = drawing.table.pivot(index="x", columns="group", values="value")
    assert list(wide.columns) == ["q", "x"]
    assert wide["x"].tolist() == pytest.approx([2, 1, 0.5, 0])
    assert wide["q"].tolist() == pytest.approx([0, 1, 0.5, 0])
