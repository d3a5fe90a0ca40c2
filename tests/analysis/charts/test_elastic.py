"""What the charts of elastic jobs make of their tables, by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd
import pytest

from workbench.analysis.charts import Drawing, speed_errors, to_svg, weight_curves

WEIGHTS = pd.DataFrame(
    {"priority": [4.0, 2.0, 1.0], 0.0: [1.0, 1.0, 1.0], 2.0: [1.0, 0.25, 0.0625]},
    index=pd.Index(list("abc"), name="job"),
)
LOG = pd.DataFrame({"measured_s": [0.0, 7200.0], "error": [0.2, 0.05]})
DRAWINGS: Mapping[str, Callable[[], Drawing]] = {
    "weights": lambda: weight_curves(WEIGHTS, ["c", "a"]),
    "errors": lambda: speed_errors({"layers": LOG}),
    "errors of pairs": lambda: speed_errors({"rank": LOG}, title="Error of believed speeds of pairs"),
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


def test_errors_are_per_cent_over_measured_hours() -> None:
    assert DRAWINGS["errors of pairs"]().label.startswith("Error of believed speeds of pairs: Mean error (%)")
    assert points("errors") == [["layers", 0.0, 20.0], ["layers", 2.0, 5.0]]
