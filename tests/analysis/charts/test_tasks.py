"""Tasks by GPU: barriers and who waits for whom by hand, what a run's timeline says, and what cannot be drawn."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
import vl_convert
from chart_tables import CLUSTER, interval, timeline

from workbench.analysis import charts
from workbench.analysis.charts.drawing import Drawing
from workbench.analysis.charts.theme import job_colours
from workbench.base.errors import InputError
from workbench.papers.hare.algorithms.studies import dedicated
from workbench.papers.hare.lessons.three_jobs import three_jobs
from workbench.scenario.presets import preset
from workbench.scheduling.decision import in_sequences
from workbench.session.api import simulate
from workbench.simulation.task_sequences import switch_table, task_table

GPUS = ["G1", "G2", "G3"]


def task(
    job: str, number: int, one: int, gpu: str, start_s: float, end_s: float, sync_s: float = 0.5
) -> dict[str, Any]:
    times = {"start_s": start_s, "end_s": end_s, "synchronised_s": end_s + sync_s}
    return {"job": job, "round": number, "task": one, "gpu": gpu, **times}


ROWS = [
    task("a", 0, 0, "G1", 0.0, 1.0),
    task("a", 0, 1, "G1", 1.0, 2.0),
    task("a", 1, 0, "G3", 2.5, 4.0),
    task("b", 0, 0, "G2", 0.0, 3.0, 0.0),
]


def draw(rows: list[dict[str, Any]] = ROWS, **options: Any) -> Drawing:
    drawing = charts.tasks(rows, ["a", "b"], GPUS, **options)
    spec = drawing.named()
    if spec not in VALID:
        assert spec == drawing.chart.to_dict(validate=True)
        VALID.append(spec)
    return drawing


def said(drawing: Drawing) -> str:
    """The lines above the plot."""
    return "\n".join(drawing.data["note"]["text"])


VALID: list[dict[str, Any]] = []
"""The specifications that have been held against Vega-Lite's schema already."""


def test_a_barrier_is_where_the_last_task_of_a_round_has_synchronised() -> None:
    ends = draw().data["barriers"].set_index(["job", "round"])
    assert ends["time_s"].to_dict() == {("a", 0): 2.5, ("a", 1): 4.5, ("b", 0): 3.0}
    assert ends["last"].to_dict() == {("a", 0): False, ("a", 1): True, ("b", 0): True}
    spans = {key: [low, high] for key, low, high in zip(ends.index, ends["low"], ends["high"], strict=True)}
    assert spans[("a", 0)] == [0, 3], "from its own GPU to that of the next round"
    assert spans[("b", 0)] == [1, 2]


def test_every_task_of_a_round_is_waited_for_by_every_task_of_the_next() -> None:
    lines = draw().data["links"]
    at_next = lines[lines["id"] == "a #1.0"][["t0", "row0", "t1", "row1"]].to_numpy().tolist()
    assert at_next == [[1.5, 0, 2.5, 2], [2.5, 0, 2.5, 2]]
    assert lines["id"].value_counts().to_dict() == {"a #1.0": 2, "a #0.0": 1, "a #0.1": 1}
    told = draw().data["bars"].set_index("id")["waits_for"]
    assert told["a #1.0"] == "round 0, until 2.5 s" and told["a #0.0"] == told["b #0.0"] == "-"


def test_pointing_at_a_task_chooses_the_lines_by_its_id() -> None:
    layers = draw().named()["layer"]
    (waits,) = [layer for layer in layers if layer["data"]["name"] == "links"]
    assert waits["transform"][0]["filter"] == {"param": "hover", "empty": False}
    (hover,) = [param for param in draw().named()["params"] if param["name"] == "hover"]
    assert hover["select"]["fields"] == ["id"] and "on" in hover["select"]


def test_without_tasks_a_sentence_stands_in_the_chart() -> None:
    assert draw([]).data["message"]["text"].tolist() == ["No tasks"]


def test_colours_are_those_of_the_jobs_places_and_the_axis_ends_where_it_is_told() -> None:
    drawing = draw(end_s=20.0)
    fills = drawing.data["bars"].drop_duplicates("job").set_index("job")["fill"].to_dict()
    assert fills == job_colours(["a", "b"]) and drawing.data["span"]["t"].tolist() == [0.0, 20.0]


@pytest.mark.parametrize(("field", "value"), [("gpu", "G4"), ("job", "c")])
def test_a_task_of_an_unknown_gpu_or_job_is_an_error(field: str, value: str) -> None:
    with pytest.raises(InputError, match=f"tasks, {field}"):
        draw([{**ROWS[0], field: value}])


def test_of_many_tasks_the_first_are_drawn_and_the_table_has_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MOST_TASKS", "MOST_LINKS", "MOST_BARRIERS"):
        monkeypatch.setitem(inspect.unwrap(charts.tasks).__globals__, limit, 3 if limit == "MOST_TASKS" else 1)
    drawing = draw()
    assert len(drawing.data["bars"]) == 3 and len(drawing.table) == 4 and drawing.data["links"].empty is True
    ends = drawing.data["barriers"].set_index(["job", "round"])["last"]
    assert ends.to_dict() == {("a", 0): False, ("b", 0): True}, "a's last round is not drawn, and none is taken for it"
    notes = said(drawing)
    assert "first 3 of 4" in notes and "barriers of its job" in notes


def test_another_schedule_of_the_same_jobs_is_drawn_in_the_same_chart() -> None:
    later = [{**row, "synchronised_s": float(row["synchronised_s"]) + 1.0} for row in ROWS]
    one, other = draw(switches=SWITCHES), draw(later, switches=SWITCHES.assign(load="hit"), note="later")
    assert one.chart is other.chart and said(one) != said(other)


# ---- of a run ----


def test_the_tasks_of_a_run_begin_compute_and_synchronise_as_its_timeline_says() -> None:
    ran = timeline(
        interval("a-0", 0, "x #0.0", 0, 3),
        interval("a-0", 0, "x #0.0", 3, 4, "sync"),
        interval("a-0", 1, "y y #2.11", 1, 5),
        interval("b-0", 0, "x #1.0", 4, 4.5, "switch"),
        interval("b-0", 0, "x #1.0", 4.5, 6),
    )
    ran["job"] = ["x", "x", "y y", "x", "x"]
    rows, gpus = charts.task_rows(ran, CLUSTER)
    assert gpus == ["a-0/0", "a-0/1", "b-0/0", "b-0/1"] and in_sequences(ran)
    assert rows.to_numpy().tolist() == [
        ["x", 0, 0, "a-0/0", 0, 3, 4],
        ["y y", 2, 11, "a-0/1", 1, 5, 5],
        ["x", 1, 0, "b-0/0", 4.5, 6, 6],
    ]


def test_a_task_that_a_failure_broke_off_is_drawn_once_where_it_was_done() -> None:
    """It began again elsewhere: no GPU has two tasks at a time."""
    outages = [{"node": "node1-0", "from_s": 1.7, "to_s": 20.0}, {"node": "node2-0", "from_s": 3.0, "to_s": 5.0}]
    scenario = preset("hare_example").replace(core={"faults": {"list": outages}})
    run = simulate(scenario, "hare", switching="free")
    attempts = run.timeline.loc[run.timeline["kind"] == "run", "unit"].value_counts()
    assert attempts.max() > 1, "a task has been broken off"
    rows, _ = charts.task_rows(run.timeline, scenario.cluster)
    assert len(rows) == len(attempts)
    for _, row in rows.groupby("gpu"):
        row = row.sort_values("start_s")
        assert (row["start_s"].to_numpy()[1:] >= row["end_s"].to_numpy()[:-1] - 1e-9).all()
    own = task_table(run).sort_values(["job", "round", "task"]).reset_index(drop=True)
    drawn = rows.sort_values(["job", "round", "task"]).reset_index(drop=True)
    times = ["start_s", "end_s", "synchronised_s"]
    pd.testing.assert_frame_equal(drawn[times], own[times])


def test_a_run_in_rounds_has_no_tasks() -> None:
    ran = timeline(interval("a-0", 0, "x", 0, 3))
    assert not in_sequences(ran) and not in_sequences(ran.head(0))
    with pytest.raises(InputError, match="a run in sequences"):
        charts.task_rows(ran, CLUSTER)


def starts_after_barriers(rows: pd.DataFrame) -> Iterator[float]:
    """Seconds from the end of a round to the start of each task of the next."""
    ends = rows.groupby(["job", "round"])["synchronised_s"].max().to_dict()
    for job, number, start_s in zip(rows["job"], rows["round"].astype(int), rows["start_s"].astype(float), strict=True):
        if number:
            yield start_s - float(ends[job, number - 1])


def test_a_run_of_hare_is_drawn_whole_with_no_task_before_its_barrier() -> None:
    scenario = preset("hare_testbed")
    run = simulate(scenario, "hare", switching="free")
    rows, gpus = charts.task_rows(run.timeline, scenario.cluster)
    wide = [job.tasks_per_round or job.gpus for job in scenario.jobs]
    asked = sum(-(-job.steps // tasks) * tasks for job, tasks in zip(scenario.jobs, wide, strict=True))
    assert run.timeline["steps"].sum() == pytest.approx(asked) and min(starts_after_barriers(rows)) >= -1e-9
    assert len(rows) == run.timeline.loc[run.timeline["kind"] == "run", "unit"].nunique()
    drawing = charts.tasks(rows, run.jobs["job"], gpus)
    assert drawing.named() == drawing.chart.to_dict(validate=True) and len(drawing.data["bars"]) == len(rows)


# ---- switches ----

SWITCHES = pd.DataFrame(
    [("a", 0, 1, "G1", "hit", 0.25), ("a", 1, 0, "G3", "miss", 0.5), ("b", 0, 0, "G1", "unknown", 9.0)],
    columns=["job", "round", "task", "gpu", "load", "switch_s"],
)


def test_a_switch_is_drawn_at_the_task_that_it_is_for() -> None:
    drawing = draw(switches=SWITCHES)
    bars = drawing.data["bars"].set_index("id")
    assert bars["load"].to_dict() == {"a #0.0": "", "b #0.0": "", "a #0.1": "hit", "a #1.0": "miss"}, "b's is elsewhere"
    assert bars["switch_s"].to_dict() == {"a #0.0": 0.0, "b #0.0": 0.0, "a #0.1": 0.25, "a #1.0": 0.5}
    assert bars["found"]["a #0.1"] == "0.25 s, model in memory" and bars["found"]["a #0.0"] == "-"
    words = said(drawing)
    lines, black = words.split("\n")
    assert lines == "dashed: end of a round; solid: of a job", "what stands in the plot is named above it"
    found = "model in memory (circle) 1, model loaded (cross) 1"
    assert black == f"\u25a0 switched to another job 2 times, 0.75 s in all: {found}"
    unknown = said(draw(switches=SWITCHES.assign(load="unknown")))
    assert unknown.endswith(" 2 times, 0.75 s in all"), "what is known of none is not said"
    beside = said(draw(switches=SWITCHES, note="the schedule of the optimum"))
    assert beside == f"the schedule of the optimum\n{words}", "a line each where one would be too long"
    added = len(drawing.named()["layer"]) - len(draw().named()["layer"])
    assert added == 2, "a strip and a mark"


def test_without_switches_there_is_nothing_to_mark() -> None:
    for drawing in (draw(), draw(switches=SWITCHES.head(0))):
        assert (drawing.table["load"] == "").all() and "switch" not in said(drawing)
        assert "load" not in str(drawing.named()["layer"][-2:])


def test_a_switch_that_found_something_else_is_an_error() -> None:
    with pytest.raises(InputError, match="hit, miss, unknown"):
        draw(switches=SWITCHES.assign(load="lost"))


def test_the_switches_of_a_run_are_those_of_its_timeline() -> None:
    scenario = preset("hare_testbed")
    run = simulate(scenario, "hare", switching="default")
    rows, gpus = charts.task_rows(run.timeline, scenario.cluster)
    table = charts.tasks(rows, run.jobs["job"], gpus, switches=switch_table(run.events)).table
    spent = run.timeline.loc[run.timeline["kind"] == "switch", ["start_s", "end_s"]]
    assert table["switch_s"].sum() == pytest.approx((spent["end_s"] - spent["start_s"]).sum())
    assert (table["load"] != "").sum() == len(spent) > 100


def test_one_of_several_charts_is_lower_and_may_leave_out_the_legend() -> None:
    low = draw(compact=True, legend=False, note="ends after 4 s")
    usual, compact = draw().named(), low.named()
    assert compact["height"] < usual["height"] and said(low) == "ends after 4 s"
    assert "'legend': None" in str(compact["layer"][1]) and "'legend': None" not in str(usual["layer"][1])


def test_a_schedule_of_hare_is_drawn_as_it_is() -> None:
    schedule = dedicated(three_jobs())
    rows = schedule.values()["tasks"]
    drawing = charts.tasks(rows, schedule.instance.jobs, [gpu.name for gpu in schedule.instance.gpus])
    last = drawing.data["barriers"].query("last").set_index("job")["time_s"].to_dict()
    assert last == dict(zip(schedule.instance.jobs, schedule.completion_s.tolist(), strict=True))


def test_playback_shows_what_has_begun_as_far_as_it_has_come() -> None:
    """At 2.6 s a's first round has synchronised, its second one has computed for 0.1 s, and b for 2.6 of its 3 s."""
    spec = draw().spec()
    (until,) = [param for param in spec["params"] if param["name"] == "until"]

    def seen(time_s: float | None, px_per_s: float) -> tuple[list[list[float]], int]:
        """The rectangles that compute and those that synchronise, in s; and how many barriers."""
        until["value"] = time_s
        svg = vl_convert.vegalite_to_svg(spec)
        number = r"[\d.]+(?:e-?\d+)?"
        wide = []
        for group in re.findall(r'<g class="mark-rect[^>]*>(.*?)</g>', svg)[:2]:
            found = re.findall(rf'd="M{number},{number}h({number})v', group)
            wide.append([round(float(width) / px_per_s, 2) for width in found])
        (lines,) = re.findall(r'<g class="mark-rule role-mark[^>]*>(.*?)</g>', svg)[:1]
        return wide, lines.count("<line")

    px_per_s = seen(None, 1.0)[0][0][1] / 3.0  # b computes for 3 s
    everything = [[1.0, 3.0, 1.0, 1.5], [0.5, 0.5, 0.5]], 3
    assert seen(None, px_per_s) == seen(100.0, px_per_s) == everything
    assert seen(2.6, px_per_s) == ([[1.0, 2.6, 1.0, 0.1], [0.5, 0.5]], 1)
    assert seen(1.25, px_per_s) == ([[1.0, 1.25, 0.25], [0.25]], 0)
