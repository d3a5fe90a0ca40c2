"""Schedules in a cell: which runs and charts play together, and the picture that stays without a kernel."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import ipywidgets
import numpy as np
import pytest

import workbench
from widgets import GanttView
from widgets.parts.playback import rounds_of
from workbench.analysis import charts
from workbench.base.errors import InputError
from workbench.simulation.run import Run

pytestmark = pytest.mark.usefixtures("heard")

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def fresh_kernel() -> Iterator[None]:
    yield
    ipywidgets.Widget.close_all()


@pytest.fixture(scope="module")
def runs() -> tuple[Run, Run]:
    return workbench.simulate("preset:start_here", "gavel.max_min_fairness"), workbench.simulate(
        "preset:start_here", "fifo"
    )


def test_runs_play_together_on_one_axis_with_one_selection(runs: tuple[Run, Run]) -> None:
    shown = GanttView(*runs, titles=["shares", "fifo"])
    assert [drawing.data["span"]["t"].iloc[1] for drawing in shown.drawings] == [max(r.end_s for r in runs) / 60] * 2
    times_s = rounds_of(*runs)
    assert shown.playback.last == len(times_s) - 1 and shown.playback.until_s is None
    shown.playback.number = 2
    assert [view.params for view in shown.views] == [{"until": times_s[2]}] * 2
    shown.views[1].picked = {"job": "game"}
    assert [view.selected for view in shown.views] == ["game", "game"]
    shown.views[1].picked = {}
    assert [view.selected for view in shown.views] == [None, None]
    assert [view.spec["title"]["text"] for view in shown.views] == ["shares", "fifo"]


def test_a_schedule_of_tasks_plays_task_by_task_though_one_decision_planned_it() -> None:
    run = workbench.simulate("preset:hare_example", "hare")
    assert len(run.decisions) == 1
    ends = {*run.timeline["start_s"], *run.timeline["end_s"]} - {0.0}
    assert rounds_of(run) == sorted(ends) and GanttView(run).playback.last == len(ends) - 1 > 3


def test_a_plan_of_leases_plays_in_leases() -> None:
    plan = charts.planned_leases({"a": [1, 2], "b": [4]}, {"a": [3], "b": [3]})
    shown = GanttView(charts.lease_gantt(plan, in_leases=True))
    assert shown.playback.label == "up to 4 leases"
    shown.playback.number = 0
    assert shown.views[0].params == {"until": 2.0} and shown.playback.label == "up to 2 leases"
    whole = GanttView(charts.lease_gantt(charts.planned_leases({"a": [1]}, {"a": [1]}), in_leases=True))
    assert [len(each.widget.children) for each in (shown, whole)] == [2, 1], "with nothing to play there is no player"


def test_without_a_kernel_a_picture_of_the_whole_stays(runs: tuple[Run, Run], monkeypatch: pytest.MonkeyPatch) -> None:
    displayed: list[dict[str, Any]] = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: displayed.append(data))
    shown = GanttView(*runs)
    shown._ipython_display_()
    picture, live = displayed
    assert list(picture) == ["text/html"], "what every export shows"
    for view, drawing in zip(shown.views, shown.drawings, strict=True):
        assert f'class="wb-still {view.still}" alt="{drawing.label}"' in picture["text/html"], (
            "the page finds it by that"
        )
    codes = [part.split('"')[0] for part in picture["text/html"].split("base64,")[1:]]
    assert [base64.b64decode(code)[:8] for code in codes] == [PNG, PNG]
    assert live["application/vnd.jupyter.widget-view+json"]["model_id"] == shown.widget.model_id
    assert live["text/plain"] == "\n".join(drawing.label for drawing in shown.drawings)


def test_what_cannot_be_shown_is_said(runs: tuple[Run, Run]) -> None:
    still = charts.jct_cdf(runs[0].jobs)
    plan = charts.lease_gantt(charts.planned_leases({"a": [1]}, {"a": [1]}), in_leases=True)
    for shown, titles, said in (
        ((), None, "at least one run"),
        ((np.zeros(3),), None, "a run or a drawing"),
        ((still,), None, "a chart that plays"),
        ((runs[0], plan), None, "times in s, as in the first"),
        ((runs[0],), ["a", "b"], "1, one for each run"),
    ):
        with pytest.raises(InputError, match=said):
            GanttView(*shown, titles=titles)  # type: ignore[arg-type]
