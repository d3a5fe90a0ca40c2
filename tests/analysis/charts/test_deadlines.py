"""Leases with deadlines: stretches of a plan, intervals of a run, and what came of each deadline, by hand."""

from __future__ import annotations

import json
import re

import pandas as pd
import vl_convert
from chart_tables import interval, jobs_named, timeline

from workbench.analysis.charts import Drawing, admission, lease_gantt, planned_leases, run_leases, to_svg
from workbench.analysis.charts.deadlines import MARKS, MOST_ROWS, LeaseTables

STEPS = ((100.0, 100.0), (200.0, 50.0), (300.0, 20.0))


def rows(frame: pd.DataFrame) -> list[tuple[object, ...]]:
    return [tuple(row) for row in frame.itertuples(index=False)]


def outcomes(table: LeaseTables) -> dict[str, list[str]]:
    return {str(job): part["outcome"].tolist() for job, part in table.deadlines.groupby("job", sort=False)}


def test_neighbouring_leases_of_a_plan_are_one_bar_from_the_end_of_the_one_before() -> None:
    plan = planned_leases({"a": [1, 2, 4], "b": None}, {"a": [3, 5], "b": [2]})
    assert rows(plan.bars) == [("a", 0.0, 2.0, "runs"), ("a", 3.0, 4.0, "runs")]
    assert outcomes(plan) == {
        "a": ["deadline missed", "deadline met"],
        "b": ["deadline missed"],
    }


def test_a_plan_that_ends_with_the_lease_of_a_deadline_meets_it() -> None:
    plan = planned_leases({"a": [2]}, {"a": [2, 4]}, reward={"a": 80.0})
    assert outcomes(plan) == {"a": ["deadline met", "later deadline"]}
    assert plan.texts == {"Reward": ["80"]}
    drawing = lease_gantt(plan, in_leases=True)
    assert drawing.data["boundaries"]["x"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert drawing.table["end_leases"].tolist() == [2.0, 2.0, 4.0]
    assert drawing.data["deadlines"]["at"].tolist() == [4.0, 2.0], "what was met is drawn in front"


def test_a_job_without_a_row_that_is_selected_fades_none() -> None:
    jobs = jobs_named({"a": 400.0, "b": 400.0, "free": 50.0})
    drawing = lease_gantt(run_leases(timeline(), jobs, {"a": STEPS, "b": STEPS, "free": None}, end_s=400.0))
    faded = {}
    for job in ("a", "free"):
        spec = drawing.spec(960.0)
        spec["params"] = [each | {"value": job} if each["name"] == "selected" else each for each in spec["params"]]
        faded[job] = vl_convert.vegalite_to_svg(json.dumps(spec)).count('opacity="0.2"')
    assert faded["a"] > faded["free"] == 0


def test_where_the_run_before_differed_its_bars_are_outlines_and_the_key_names_what_is_there() -> None:
    def drawn(leases: dict[str, list[int] | None], before: Drawing | None = None) -> Drawing:
        return lease_gantt(planned_leases(leases, {"a": [2, 4], "b": [3]}), in_leases=True, before=before)

    first = drawn({"a": [1, 2], "b": [1]})
    then = drawn({"a": [1, 2], "b": [2, 3]}, first)
    assert first.data["before"].empty
    assert rows(then.data["before"][["job", "row", "start_s", "end_s"]]) == [("b", 1, 0.0, 1.0)]
    late = drawn({"a": [4], "b": [1]}, first)
    assert then.chart is late.chart, "it is not built anew"
    assert "later deadline" in to_svg(then) and "later deadline" not in to_svg(late)


def test_of_a_run_deadlines_are_met_missed_later_or_still_to_come() -> None:
    jobs = jobs_named({"on_time": 110.0, "late": 190.0, "never": None, "out": 500.0, "free": 50.0}, arrival_s=10.0)
    rewards = {**dict.fromkeys(("on_time", "late", "never", "out"), STEPS), "free": None}
    table = run_leases(timeline(), jobs, rewards, end_s=150.0)
    assert table.jobs == ("on_time", "late", "never", "out"), "a job without a deadline has no row"
    assert outcomes(table) == {
        "on_time": ["deadline met", "later deadline", "later deadline"],
        "late": ["deadline missed", "deadline met", "later deadline"],
        "never": ["deadline missed", "not reached yet", "not reached yet"],
        "out": ["deadline missed"] * 3,
    }
    assert table.texts["Reward"] == ["100", "50", "", "1"], "a miss is worth what metrics count"
    assert table.deadlines["at"].tolist()[:3] == [110.0, 210.0, 310.0], "deadlines count from the arrival"


def test_bars_say_what_gpus_were_for_and_a_gang_is_one_bar() -> None:
    jobs = jobs_named({"a": 400.0, "b": 400.0})
    jobs["verdict"] = ["guaranteed", "best_effort"]
    held = timeline(
        interval("a-0", 0, "a", 0, 60, "profile"),
        interval("a-0", 0, "a", 60, 70, "restart"),
        *(interval("a-0", slot, "a", 70, 200) for slot in (0, 1)),
        interval("a-0", 0, "a", 200, 300),
        interval("b-0", 0, "b", 0, 100),
        interval("b-0", 0, "b", 150, 400),
    )
    table = run_leases(held, jobs, {"a": STEPS, "b": STEPS}, end_s=400.0)
    assert rows(table.bars) == [
        ("a", 0.0, 60.0, "profiling"),
        ("a", 60.0, 70.0, "restart"),
        ("a", 70.0, 300.0, "guaranteed"),
        ("b", 0.0, 100.0, "spot"),
        ("b", 150.0, 400.0, "spot"),
    ]
    assert rows(table.lives) == [("a", 0.0, 400.0), ("b", 0.0, 400.0)]


def test_leases_before_a_guarantee_was_broken_were_guaranteed() -> None:
    jobs = jobs_named({"a": 400.0, "b": 400.0})
    jobs["verdict"] = ["best_effort", "best_effort"]
    held = timeline(
        interval("a-0", 0, "a", 0, 60, "profile"),
        interval("a-0", 0, "a", 60, 100),
        interval("a-0", 0, "a", 120, 200),
        interval("a-0", 0, "a", 300, 400),
        interval("b-0", 0, "b", 0, 100),
    )
    table = run_leases(held, jobs, {"a": STEPS, "b": STEPS}, end_s=400.0, broken_s={"a": 150.0})
    assert rows(table.bars) == [
        ("a", 0.0, 60.0, "profiling"),
        ("a", 60.0, 100.0, "guaranteed"),
        ("a", 120.0, 150.0, "guaranteed"),
        ("a", 150.0, 200.0, "spot"),
        ("a", 300.0, 400.0, "spot"),
        ("b", 0.0, 100.0, "spot"),
    ]


def test_boundaries_are_left_out_where_they_would_be_a_grey_area() -> None:
    table = run_leases(timeline(), jobs_named({"a": 400.0}), {"a": STEPS}, end_s=400.0)
    assert len(lease_gantt(table, lease=100.0).data["boundaries"]) == 5
    assert lease_gantt(table, lease=1.0).data["boundaries"].empty
    assert lease_gantt(table).data["boundaries"].empty
    assert "best effort (spot)" in str(lease_gantt(table).spec()), "a name here, another in the column of verdicts"


def test_a_knob_that_moves_leases_leaves_the_specification_and_the_unit_of_the_axis_as_they_were() -> None:
    """So the page draws new data in the chart that is there, and the key does not jump."""
    jobs = jobs_named({"a": 400.0})
    met, missed = (run_leases(timeline(), jobs, {"a": [(by, 100.0)]}, end_s=400.0) for by in (500.0, 100.0))
    assert {*met.deadlines["outcome"], *missed.deadlines["outcome"]} == {"deadline met", "deadline missed"}
    assert lease_gantt(met, lease=100.0).chart is lease_gantt(missed, lease=200.0).chart
    assert (lease_gantt(met).axis_s, lease_gantt(met, axis_s=3600.0).axis_s) == (60.0, 3600.0)


def test_a_verdict_and_what_would_have_been_accepted_are_marked_and_time_begins_at_the_arrival() -> None:
    jobs = jobs_named({"a": 900.0, "b": 700.0}, arrival_s=400.0)
    drawing = admission(
        timeline(),
        jobs,
        {"a": STEPS, "b": STEPS},
        job="b",
        in_the_way=["a"],
        verdict_s=450.0,
        earliest_s=1000.0,
        lease_s=200.0,
        end_s=900.0,
        title="b: best effort",
    )
    marks = drawing.data["deadlines"].set_index("outcome")
    assert marks.loc["verdict", "at"] == 450.0 and marks.loc["earliest that would do", "at"] == 1000.0
    assert drawing.data["names"]["job"].tolist() == ["b", "a"]
    unit_s = 60.0
    assert drawing.data["span"]["x"].tolist() == [400.0 / unit_s, 1000.0 / unit_s]
    assert drawing.data["boundaries"]["x"].tolist() == [at / unit_s for at in (400.0, 600.0, 800.0, 1000.0)]
    assert "in the way: a" in drawing.named()["title"]["subtitle"]


def shown(drawing: Drawing, until: float | None) -> tuple[list[float], list[str], str]:
    """Widths of the bars in parts of the plot's width, the colours of the marks in the order drawn, all texts."""
    spec = drawing.spec(width=1000)
    (parameter,) = [param for param in spec["params"] if param["name"] == "until"]
    parameter["value"] = until
    svg = vl_convert.vegalite_to_svg(spec)
    bars, *_ = re.findall(r'<g class="mark-rect role-mark[^>]*>(.*?)</g>', svg)
    (points,) = re.findall(r'<g class="mark-symbol role-mark layer_\d+_marks[^>]*>(.*?)</g>', svg)[1:]
    wide = [round(float(px) / 1000, 3) for px in re.findall(r'd="M[\d.]+,[\d.]+h([\d.]+)v', bars)]
    names = {colour: name for name, (_, colour) in MARKS.items()}
    return wide, [names[fill] for fill in re.findall(r'fill="(#\w+)"', points)], svg


def test_playback_tells_what_comes_of_a_deadline_when_it_is_known() -> None:
    """a is done at 150 s: its deadline at 100 s is missed then, that at 200 s met at 150 s."""
    held = timeline(interval("a-0", 0, "a", 0, 50), interval("a-0", 0, "a", 75, 150))
    jobs = jobs_named({"a": 150.0, "late": 300.0})
    jobs["arrival_s"] = [0.0, 60.0]
    drawing = lease_gantt(run_leases(held, jobs, {"a": STEPS, "late": ((400.0, 7.0),)}, end_s=400.0), end=500.0)
    assert drawing.stops == [50.0, 75.0, 100.0, 150.0, 200.0, 300.0, 460.0, 500.0] and drawing.clock == "s"
    tips = [tip["field"] for part in drawing.named()["layer"] for tip in part["encoding"].get("tooltip", [])]
    assert "when" in tips and not {"start", "end", "at"} & set(tips), "times as people read them, not seconds"
    known = ["later deadline", "deadline missed", "deadline met", "deadline met"]
    for until in (None, 500.0):
        wide, marks, svg = shown(drawing, until)
        assert wide == [0.1, 0.15] and marks == known and ">50<" in svg
        assert (">not reached yet<" in svg) == (until is not None), "in the legend only while it plays"
        assert ">deadline missed<" in svg
    wide, marks, svg = shown(drawing, 100.0)
    assert wide == [0.1, 0.05] and set(marks) == {"not reached yet", "deadline missed"} and ">50<" not in svg
    assert len(shown(drawing, 30.0)[1]) == 3, "the other job has not arrived"
    assert shown(drawing, 30.0)[0] == [0.06]


def test_a_plan_plays_lease_by_lease() -> None:
    plan = planned_leases({"a": [1, 2], "b": [4]}, {"a": [3], "b": [3]}, reward={"a": 5.0, "b": 2.0})
    drawing = lease_gantt(plan, in_leases=True)
    assert (drawing.stops, drawing.clock) == ([2.0, 3.0, 4.0], "leases")
    wide, marks, _ = shown(drawing, 2.0)
    assert wide == [0.5] and sorted(marks) == ["deadline met", "not reached yet"]


def test_a_verdict_is_shown_when_it_is_given() -> None:
    drawing = admission(timeline(), jobs_named({"b": 700.0}, arrival_s=400.0), {"b": STEPS}, job="b", verdict_s=450.0,
                        earliest_s=1000.0, lease_s=200.0, end_s=900.0, title="b")  # fmt: skip
    assert len(shown(drawing, 420.0)[1]) == 3 and len(shown(drawing, 450.0)[1]) == 5


def test_of_many_jobs_the_first_are_drawn_and_the_subtitle_says_so() -> None:
    jobs = jobs_named({f"j{i}": 50.0 for i in range(MOST_ROWS + 30)})
    table = run_leases(timeline(), jobs, dict.fromkeys(jobs["job"], STEPS), end_s=400.0)
    drawing = lease_gantt(table)
    assert drawing.data["deadlines"]["job"].nunique() == MOST_ROWS
    assert f"the first {MOST_ROWS} of {MOST_ROWS + 30} jobs" in drawing.named()["title"]["subtitle"]


def test_without_jobs_a_sentence_stands_in_the_chart() -> None:
    assert "No job has a deadline" in to_svg(lease_gantt(planned_leases({}, {})))
