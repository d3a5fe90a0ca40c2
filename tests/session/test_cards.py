"""A notebook shows of an object briefly what it is; a mistyped name is answered with the near ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape

import pytest

import workbench
from workbench.analysis.charts import Drawing
from workbench.analysis.metrics import metric
from workbench.base.errors import InputError

SCENARIO = workbench.preset("start_here")
RUN = workbench.simulate(SCENARIO, "las")
OBJECTS = {
    "preset": workbench.preset("gavel_physical"),
    "result": workbench.solve(workbench.preset("gavel_physical"), "gavel.max_min_fairness"),
    "summary": workbench.summary(RUN),
    "snapshot": workbench.snapshot_at(workbench.preset("gavel_physical")),
    "knob": workbench.find_scheduler("las").knobs[0],
    "scheduler": workbench.find_scheduler("hops"),
    "formulation": workbench.find_formulation("hare.relaxation"),
    "jobs": workbench.snapshot_at(workbench.preset("gavel_physical")).jobs,
}


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_is_told_in_a_line_and_a_card(name: str) -> None:
    found = OBJECTS[name]
    assert len(repr(found)) < 300 and " at 0x" not in repr(found)
    if name == "jobs":
        return
    page = found._repr_html_()
    shown = unescape(re.sub(r"<[^>]*>", " ", page))
    assert len(shown) < 4000 and "object at" not in page
    assert "color" not in page and "background" not in page, "the notebook's theme decides, light or dark"


def test_cards_say_what_the_object_holds() -> None:
    told = repr(OBJECTS["preset"]) + OBJECTS["preset"]._repr_html_()
    assert all(text in told for text in ("gavel_physical", "50 jobs", "24 k80", "seed 1", "ResNet-50"))
    noted = SCENARIO.replace(name="<b>", notes=["made <i>up</i>"])._repr_html_()
    assert "&lt;b&gt;" in noted and "Note: made &lt;i&gt;up&lt;/i&gt;" in noted and "<i>" not in noted
    assert all(f"{each.name}: {each.title}" in repr(workbench.schedulers()) for each in workbench.schedulers())
    public = [name for name in dir(SCENARIO) if not name.startswith("_")]
    assert "jobs" in public and not [name for name in public if name.startswith("model_")]


def test_a_summary_is_a_mapping() -> None:
    found = OBJECTS["summary"]
    assert isinstance(found, Mapping) and len(found) == len(dict(found)) > 40
    assert dict(found)["mean_jct_s"] == found["mean_jct_s"] and "mean_jct" not in found
    assert found.get("mean_jct") is None


def test_a_comparison_gives_its_runs_and_a_run_its_chart() -> None:
    one = workbench.compare(SCENARIO, ["las", "fifo"])
    assert one["las"] == RUN and list(one) == ["las", "fifo"]
    several = workbench.compare(SCENARIO, {"a": "las"}, seeds=[0, 1])
    assert several["a", 1].seed == 1
    for key, expected in (("las", "one of a"), ("a", r"comparison\['a', 0\]"), (("a", 7), "a seed of a: 0, 1")):
        with pytest.raises(InputError, match=expected):
            several[key]  # type: ignore[index]
    chart = RUN.gantt(by="job")
    assert isinstance(chart, Drawing) and "3 jobs" in chart.label


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        (lambda: workbench.simulate(SCENARIO, "fiffo"), "fifo"),
        (lambda: workbench.simulate(SCENARIO, "Max_Min_Fairness"), "gavel.max_min_fairness"),
        (lambda: workbench.preset("gavel_phisical"), "gavel_physical"),
        (lambda: workbench.solve(SCENARIO, "gavel.makspan"), "gavel.makespan"),
        (lambda: workbench.simulate(SCENARIO, "las", rounds=3), "round_s"),
        (lambda: metric("mean_jct"), "mean_jct_s"),
        (lambda: OBJECTS["summary"]["makespan"], "makespan_s"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_near_ones(wrong: object, meant: str) -> None:
    with pytest.raises(InputError, match=rf"did you mean .*\b{re.escape(meant)}") as found:
        wrong()  # type: ignore[operator]
    assert len(str(found.value)) < 200
