"""What the charts of elastic jobs make of their tables, by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd
import pytest

from workbench.charts import Drawing, elastic, to_svg

WEIGHTS = pd.DataFrame(
    {"priority": [4.0, 2.0, 1.0], 0.0: [1.0, 1.0, 1.0], 2.0: [1.0, 0.25, 0.0625]},
    index=pd.Index(list("abc"), name="job"),
)
QUEUE = pd.DataFrame(
    {
        "place": [1, 2, 3, 4],
        "summed_gpus": [2, 4, 5, 9],
        "window": [True, True, False, False],
        "adjusted": [True, True, True, False],
    }
)
OFFERS = pd.DataFrame(
    {
        "accelerator": ["v100"] * 3 + ["k80"],
        "kind": ["aggregated", "aggregated", "distributed", "aggregated"],
        "gpus": [1, 1, 2, 1],
        "steps_per_s": [3.0, 4.0, 6.0, 1.0],
    }
)
MEASURES = pd.DataFrame({"jct": [10.0, 12.0], "worst": [4.0, 2.0], "other": [0.0, 0.0]}, index=[0.0, 2.0])
DECISIONS = pd.DataFrame(
    {"time_s": [0.0, 60.0, 120.0], "up_gpus": 4, "busy_gpus": [1, 3, 2], "waiting_jobs": [0, 2, 1]}
)
LOG = pd.DataFrame({"measured_s": [0.0, 7200.0], "error": [0.2, 0.05]})
DRAWINGS: Mapping[str, Callable[[], Drawing]] = {
    "weights": lambda: elastic.weights(WEIGHTS, ["c", "a"]),
    "window": lambda: elastic.service_window(QUEUE),
    "configurations": lambda: elastic.configurations(OFFERS, "job a"),
    "tradeoff": lambda: elastic.tradeoff(MEASURES, {"jct": "mean JCT", "worst": "worst ratio"}),
    "fragments": lambda: elastic.fragments({"hops": DECISIONS}, 100.0),
    "errors": lambda: elastic.speed_errors({"layers": LOG}),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_valid_vega_lite_and_can_be_drawn(name: str) -> None:
    drawing = DRAWINGS[name]()
    assert drawing.named() == drawing.chart.to_dict(validate=True)
    assert to_svg(drawing).startswith("<svg")


def points(name: str) -> list[list[object]]:
    found: list[list[object]] = DRAWINGS[name]().data["points"][["line", "x", "y"]].to_numpy().tolist()
    return found


def test_weights_of_the_jobs_asked_for() -> None:
    assert points("weights") == [["c", 0.0, 1.0], ["a", 0.0, 1.0], ["c", 2.0, 0.0625], ["a", 2.0, 1.0]]


def test_the_window_comes_before_what_the_adjustment_says() -> None:
    lines = [line for line, _, _ in points("window")]
    assert lines == ["service window", "service window", "let in onto fragments", "outside"]
    assert [y for _, _, y in points("window")] == [2, 4, 5, 9]


def test_of_several_servers_the_fastest_counts() -> None:
    expected = [["v100, aggregated", 1, 4.0], ["v100, distributed", 2, 6.0], ["k80, aggregated", 1, 1.0]]
    assert points("configurations") == expected


def test_measures_are_over_those_of_the_first_lambda() -> None:
    expected = [["mean JCT", 0.0, 1.0], ["mean JCT", 2.0, 1.2], ["worst ratio", 0.0, 1.0], ["worst ratio", 2.0, 0.5]]
    assert points("tradeoff") == expected


def test_idle_gpus_count_while_jobs_wait_and_up_to_the_time() -> None:
    lines = DRAWINGS["fragments"]().data["lines"]
    values = lines["value"].tolist()
    assert values[0] == 0.0 and 1.0 in values and 2.0 not in values and max(values) == 1.0


def test_errors_are_per_cent_over_measured_hours() -> None:
    assert points("errors") == [["layers", 0.0, 20.0], ["layers", 2.0, 5.0]]
