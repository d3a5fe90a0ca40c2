"""Prices over time and against the pool: what a run recorded, where the plot stands, whose colour is whose."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from chart_tables import CLUSTER, decisions, everything

from workbench.analysis import charts
from workbench.analysis.charts import Drawing, gantt, price_course, price_curve, prices, to_svg
from workbench.analysis.charts.theme import type_colours

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
