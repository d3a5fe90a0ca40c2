"""The Gantt chart: what is data, what is specification, where things lie; plans by GPU, and plans that ask too much."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pandas as pd
import pytest
from chart_tables import CLUSTER, HOSTILE, ROUND_S, decisions, everything, interval, jobs, jobs_named, timeline

from tests.calls import calls_at_most
from workbench import preset, simulate
from workbench.analysis.charts import Drawing, gantt, plan, run_gantt, theme, to_png, to_svg
from workbench.analysis.charts.drawing import SELECTED, records
from workbench.analysis.charts.gantt import left_px as gantt_left_px
from workbench.analysis.charts.gantt import plan_timeline
from workbench.analysis.charts.gantt_data import Colours
from workbench.analysis.charts.theme import job_colours
from workbench.base.errors import InputError
from workbench.scenario.cluster import Cluster
from workbench.simulation.schema import KINDS


def layers(drawing: Drawing) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = drawing.named()["layer"]
    return found


def layer(drawing: Drawing, data: str, mark: str) -> dict[str, Any]:
    return next(part for part in layers(drawing) if part["data"]["name"] == data and part["mark"]["type"] == mark)


@pytest.mark.parametrize("by", ["slot", "job"])
def test_data_are_named_and_the_specification_holds_none(by: Any) -> None:
    drawing = gantt(*everything(), cluster=CLUSTER, by=by)
    spec = drawing.named()
    assert {part["data"]["name"] for part in spec["layer"]} == set(drawing.data)
    assert "datasets" not in spec and "values" not in json.dumps([part["data"] for part in spec["layer"]])
    assert spec["width"] == "container"
    assert drawing.spec(700)["width"] == 700
    assert drawing.spec()["datasets"] == {name: records(table) for name, table in drawing.data.items()}
    assert drawing.inline(500).to_dict() == drawing.spec(500)


@pytest.mark.parametrize("by", ["slot", "job"])
def test_the_same_scenario_has_the_same_specification_whatever_was_decided(by: Any) -> None:
    table, rows, asked = everything()
    one = gantt(table, rows, asked, cluster=CLUSTER, by=by, end_s=7 * ROUND_S).named()
    assert gantt(table.head(4), rows, None, cluster=CLUSTER, by=by, end_s=6 * ROUND_S).named() == one
    assert gantt(table.head(0), rows, None, cluster=CLUSTER, by=by, end_s=6 * ROUND_S).named() == one


def test_a_drawing_says_in_words_when_its_own_schedule_ends() -> None:
    """Also on an axis that is longer, as it has another schedule beside it."""
    one, done = timeline(interval("a", 0, "j0", 0, 9720)), jobs(j0=9720)
    assert gantt(one, done, cluster=CLUSTER, end_s=10080).label.endswith(" GPUs, until 2 h 42 min.")
    assert gantt(one.head(0), done, cluster=CLUSTER, end_s=10080).label.endswith(" GPUs, until 0 s.")


def test_parameters_select_a_job_and_play_back() -> None:
    drawing = gantt(*everything(), cluster=CLUSTER)
    values = {param["name"]: param.get("value") for param in drawing.named()["params"]}
    assert values.items() >= drawing.params.items() and drawing.params.keys() >= {"selected", "until"}
    bars = layer(drawing, "bars", "rect")
    assert bars["encoding"]["opacity"] == {
        "condition": {"test": SELECTED, "value": 1},
        "value": theme.FADED,
    }
    assert {"filter": "isValid(until) ? datum.start_s < until : true"} in bars["transform"]
    assert "min(datum.end_s, until)" in json.dumps(bars["transform"])


def test_bars_are_merged_and_carry_what_the_tooltip_says() -> None:
    drawing = gantt(*everything(), cluster=CLUSTER)
    bars = drawing.data["bars"]
    j2 = bars[(bars["job"] == "j2") & (bars["start_s"] == 0)]
    assert j2["end_s"].tolist() == [2 * ROUND_S]
    tips = {tip["field"]: tip["title"] for tip in layer(drawing, "bars", "rect")["encoding"]["tooltip"]}
    assert tips["unit"] == "Job" and "job" not in tips, "a unit says its job"
    assert set(tips) >= {"model", "where", "accelerator", "kind", "when", "lasts", "steps", "gpus"}
    assert bars.loc[bars["job"] == "j0", "where"].iloc[0] == "a-0 slot 0–1"
    assert bars["model"][bars["job"] != ""].unique().tolist() == ["resnet50"]


def test_a_pair_splits_its_slot_into_two_halves() -> None:
    table = timeline(*(interval("a-0", slot, "p + q", 0, 60, steps=5) for slot in (0, 1)))
    bars = gantt(table, jobs(p=60.0, q=60.0), cluster=CLUSTER).data["bars"]
    halves = bars[["job", "with_job", "y0", "y1", "steps"]].sort_values(["y0"]).values.tolist()
    assert halves == [
        ["p", "q", 0.06, 0.5, 5.0],
        ["q", "p", 0.5, 0.94, 10.0],
        ["p", "q", 1.06, 1.5, 5.0],
        ["q", "p", 1.5, 1.94, 10.0],
    ]


def test_every_kind_looks_different_and_is_in_the_key() -> None:
    drawing = gantt(*everything(), cluster=CLUSTER)
    bars = drawing.data["bars"]
    assert set(bars["kind"]) == set(KINDS)
    of_j2 = bars[(bars["job"] == "j2") | (bars["kind"] == "restart")]
    looks = of_j2.groupby("kind").agg(fill=("fill", "first"), stroke=("stroke", "first"))
    assert not looks.duplicated().any()
    key = drawing.data["key"]
    assert {"restart", "profiling", "held idle", "node down", "preempted", "round"} <= set(key["text"])
    assert {"j0", "j1", "j2"} <= set(key["text"])
    sync = bars[bars["kind"] == "sync"].iloc[0]
    assert sync["y1"] - sync["y0"] < 0.3, "synchronisation overlaps the next task, so it is thin"


def test_the_key_begins_where_the_names_do_and_fits_a_narrow_lab() -> None:
    """In a lab 1280 px wide beside JupyterLab's files a chart has about 415 pixels, names included."""
    key = gantt(*everything(), cluster=CLUSTER).data["key"]
    assert key["px"].max() > 400 and key["to_px"].iat[-1] == math.inf  # one line where there is room
    key = key[key["from_px"] == 0]
    left_px = gantt_left_px(CLUSTER)
    assert key["px"].min() == -left_px
    assert (key["px"] + 20 + key["text"].map(theme.text_px)).max() <= 400 - left_px


def test_preemption_is_marked_at_the_end_of_every_block() -> None:
    marks = gantt(*everything(), cluster=CLUSTER).data["marks"]
    found = {(m.job, m.time_s) for m in marks.itertuples()}
    assert found == {("j0", 3 * ROUND_S), ("j1", 2 * ROUND_S), ("j2", 2 * ROUND_S)}
    gang = marks[marks["job"] == "j0"].iloc[0]
    assert (gang["y0"], gang["y1"]) == (0.06, 1.94)


def test_the_view_by_job_shows_arrival_completion_and_types() -> None:
    drawing = gantt(*everything(), cluster=CLUSTER, by="job")
    marks = drawing.data["marks"]
    assert (marks["mark"] == "arrived").sum() == 3
    assert marks[marks["mark"] == "finished"]["job"].tolist() == ["j0", "j1"]
    bars = drawing.data["bars"]
    colours = theme.type_colours(["v100", "k80"])
    assert bars.loc[bars["job"] == "j0", "fill"].iloc[0] == colours["v100"]
    assert bars.loc[bars["job"] == "j0", "label"].iloc[0] == "v100 × 2"
    assert drawing.data["rows"]["text"].tolist() == ["j0", "j1", "j2"]
    assert "shares its GPUs" in set(drawing.data["key"]["text"])


def test_lanes_name_type_node_and_slot() -> None:
    rows = gantt(*everything(), cluster=CLUSTER).data["rows"]
    texts = {column: part["text"].tolist() for column, part in rows.groupby("column")}
    assert texts == {"node": ["a-0", "b-0"], "slot": ["0", "1", "0", "1"], "type": ["v100", "k80"]}
    kinds = rows[rows["column"] == "type"]
    assert kinds[["y0", "y1"]].values.tolist() == [[0, 2], [2, 4]]


@pytest.mark.parametrize(
    ("end_s", "title"),
    [(200.0, "Time (s)"), (3600.0, "Time (min)"), (86400.0, "Time (h)"), (30 * 86400.0, "Time (days)")],
)
def test_the_axis_states_a_unit_that_fits(end_s: float, title: str) -> None:
    drawing = gantt(timeline(interval("a-0", 0, "x", 0, end_s)), jobs(x=end_s), cluster=CLUSTER)
    assert layer(drawing, "span", "point")["encoding"]["x"]["title"] == title
    last = drawing.data["span"]["t"].iloc[1]
    assert 1 < last <= 300


def test_many_rounds_are_thinned_and_the_key_says_so() -> None:
    table = timeline(interval("a-0", 0, "x", 0, 1000))
    drawing = gantt(table, jobs(x=1000.0), decisions(*range(1000)), cluster=CLUSTER)
    assert len(drawing.data["rounds"]) == 200
    assert "5 rounds each" in set(drawing.data["key"]["text"])
    assert gantt(table, jobs(x=1000.0), decisions(*range(1000)), rounds=False).data["rounds"].empty


def test_many_rows_stay_within_the_height_and_labels_do_not_overlap() -> None:
    names: dict[str, float | None] = {f"job {i}": 100.0 for i in range(300)}
    drawing = gantt(timeline(interval("a-0", 0, "job 3", 0, 100)), jobs_named(names), by="job", max_height=600)
    height = drawing.named()["height"]
    assert height == pytest.approx(600)
    every = -(-(theme.LABEL_PX + 1) // (height / 300))
    rows = drawing.data["rows"]
    assert rows["place"].tolist() == list(range(300)) and not rows["text"].eq("").any()
    names = [tag for tag in re.findall(r"<text[^>]*>job ", to_svg(drawing)) if "0px" not in tag]
    assert len(names) == len(range(0, 300, int(every))), "as many names as fit"
    assert drawing.overview is not None and drawing.overview.named()["height"] < 60
    assert drawing.overview.named() == drawing.overview.chart.to_dict(validate=True)
    assert plot_left(drawing.overview) == pytest.approx(plot_left(drawing), abs=0.5), "one stands under the other"


def plot_left(drawing: Drawing) -> float:
    """Pixels from a picture's left edge to its plot."""
    moved = re.search(r'<g transform="translate\(([\d.]+),', to_svg(drawing))
    assert moved is not None
    return float(moved[1])


def test_colours_by_meaning_are_in_the_key_and_names_too_long_for_it_are_put_together() -> None:
    table = timeline(*(interval("a-0", i, f"j{i}", 0, 60) for i in (0, 1)))
    known = jobs(j0=60.0, j1=None)
    known = known.assign(entity=["", "lab"], gpus=[2, 1], verdict="", preemptions=[1, 0], model=["net (1)", "net (2)"])
    said = {
        "model": ["net (1)", "net (2)"],
        "entity": ["no entity", "lab"],
        "size": ["1 GPU", "2 GPUs"],
        "outcome": ["finished, preempted bef…", "not finished"],
        "type": ["v100"],
        "job": ["j0", "j1"],
    }
    for colour, names in said.items():
        drawing = gantt(table, known, cluster=CLUSTER, colour=colour, by="slot")
        key = drawing.data["key"].query("sign == 'box'")
        assert key["text"].tolist() == names
        assert set(drawing.data["bars"]["fill"]) == set(key["fill"]) and drawing.overview is None
    many = pd.concat([known.assign(job=f"x{i}", model=f"net ({i})") for i in range(20)], ignore_index=True)
    assert Colours.by("model", many, {}).fill.keys() == {"net"}


def test_labels_only_where_they_can_fit() -> None:
    table = timeline(interval("a-0", 0, "long", 0, 1000), interval("a-0", 1, "a short bar of a long name", 0, 2))
    bars = gantt(table, jobs_named({"long": 1000.0, "a short bar of a long name": 2.0}), cluster=CLUSTER).data["bars"]
    assert dict(zip(bars["job"], bars["label"], strict=True)) == {"long": "long", "a short bar of a long name": ""}


@pytest.mark.parametrize("by", ["slot", "job"])
def test_nothing_to_draw_is_a_message(by: Any) -> None:
    rows = jobs(x=None)
    for cluster in (CLUSTER, None):
        drawing = gantt(timeline(), rows, decisions(), cluster=cluster, by=by)
        assert drawing.data["message"]["text"].tolist() == ["Nothing ran"]
        assert "Nothing ran" in to_svg(drawing)
    nobody = gantt(timeline(), jobs(), None, by=by)
    assert nobody.data["message"]["text"].iloc[0] in ("No jobs", "Nothing ran")
    assert to_svg(nobody).startswith("<svg")
    assert gantt(*everything(), by=by).data["message"].empty


@pytest.mark.parametrize("by", ["slot", "job"])
def test_any_name_is_only_data(by: Any) -> None:
    finish: dict[str, float | None] = {name: 60.0 * (i + 1) for i, name in enumerate(HOSTILE)}
    table = timeline(*(interval("a-0", i % 2, name, 60 * i, 60 * i + 60) for i, name in enumerate(HOSTILE)))
    drawing = gantt(table, jobs_named(finish), cluster=CLUSTER, by=by)
    spec = drawing.named()
    assert not any(name in json.dumps(spec["layer"], ensure_ascii=False) for name in HOSTILE)
    assert set(drawing.data["bars"]["job"]) == set(HOSTILE)
    if by == "slot":
        assert "x.y[0]" in to_svg(drawing)
    else:
        assert to_png(drawing, scale=1).startswith(b"\x89PNG")


def test_twenty_thousand_bars_are_usable() -> None:
    rows = [
        interval(node, slot, f"job {(s * 7 + k * 11) % 200}", k * 360.0, k * 360.0 + 350)
        for s, (node, slot) in enumerate((f"{'ab'[n % 2]}-{n}", slot) for n in range(12) for slot in range(4))
        for k in range(417)
    ]
    table = timeline(*rows)
    names: dict[str, float | None] = {f"job {i}": None for i in range(200)}
    with calls_at_most(1_500_000):
        drawing = gantt(table, jobs_named(names), decisions(*(360.0 * k for k in range(417))))
        drawing.named()
    assert len(drawing.data["bars"]) == len(table) > 20_000
    assert (drawing.data["bars"]["label"] != "").sum() <= 4000


def test_the_table_behind_is_in_seconds_and_in_order() -> None:
    table = gantt(*everything(), cluster=CLUSTER).table
    assert list(table.columns[:3]) == ["where", "accelerator", "unit"]
    assert table["start_s"].is_monotonic_increasing
    assert isinstance(table, pd.DataFrame)


def slot(job: str, number: int, **gpus: int) -> dict[str, Any]:
    return {"job": job, "start_s": 10.0 * number, "end_s": 10.0 * number + 10, "gpus": gpus, "steps": 6.0}


def test_a_gang_of_two_types_holds_a_gpu_of_each_and_shares_out_its_steps() -> None:
    rows = plan_timeline([slot("x", 0, v100=2, k80=1)], CLUSTER)
    assert rows[["node", "slot", "accelerator"]].to_numpy().tolist() == [
        ["a-0", 0, "v100"],
        ["a-0", 1, "v100"],
        ["b-0", 0, "k80"],
    ]
    assert rows["steps"].tolist() == [2.0] * 3 and set(rows["gpus"]) == {3}


def test_a_job_keeps_its_gpu_from_slot_to_slot() -> None:
    rows = plan_timeline([slot("x", 0, v100=1), slot("y", 0, v100=1), slot("y", 1, v100=1)], CLUSTER)
    assert rows[rows["job"] == "y"]["slot"].tolist() == [1, 1]


def test_a_gpu_that_another_job_leaves_is_free() -> None:
    rows = plan_timeline([slot("x", 0, v100=2), slot("y", 1, v100=2)], CLUSTER)
    assert rows["slot"].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("rows", [[slot("x", 0, v100=3)], [slot("x", 0, v100=2), slot("y", 0, v100=1)]])
def test_more_gpus_than_there_are_is_an_error(rows: list[dict[str, Any]]) -> None:
    with pytest.raises(InputError, match=r"plan, job \w at 0 s"):
        plan_timeline(rows, CLUSTER)


def test_a_pause_is_marked_where_it_begins_and_the_end_of_a_job_is_not() -> None:
    drawing = plan([slot("y", 0, v100=1), slot("y", 2, v100=1)], ["x", "y"], CLUSTER, end_s=50.0)
    assert drawing.named() == drawing.chart.to_dict(validate=True)
    assert drawing.data["marks"][["mark", "time_s"]].to_numpy().tolist() == [["preempted", 10.0]]
    assert drawing.data["span"]["t"].max() == 50.0


def test_a_job_has_the_colour_of_its_place_in_the_scenario() -> None:
    bars = plan([slot("y", 0, v100=1)], ["x", "y"], CLUSTER).data["bars"]
    assert set(bars["fill"]) == {job_colours(["x", "y"])["y"]}


def test_an_empty_plan_can_be_drawn() -> None:
    assert plan([], ["x"], CLUSTER).data["message"]["text"].tolist() == ["Nothing ran"]


def test_outlines_of_another_cluster_stand_at_their_nodes() -> None:
    """With one more node of two V100 the K80 is two rows lower: its bars before are outlined there."""
    scenario = preset("start_here")
    fast, slow = scenario.cluster.nodes
    more = Cluster(accelerators=scenario.cluster.accelerators, nodes=(fast.model_copy(update={"count": 2}), slow))
    before, after = (simulate(each, "gavel.max_min_fairness") for each in (scenario, scenario.replace(cluster=more)))
    drawn = run_gantt(before, by="slot")
    against = run_gantt(after, by="slot", before=drawn)
    outlined = against.data["before"]
    sizes = [re.findall(r'font-size="(\d+)px"[^>]* stroke=', to_svg(each)) for each in (drawn, against)]
    assert set(sizes[0]) == {"0"} and "14" in sizes[1], "over outlines a name stands on its bar's colour"
    old = drawn.data["bars"].query("kind == 'run'")
    assert set(outlined["y0"]) == {0.06, 1.06, 4.06} and (outlined["y1"] <= 5).all()
    k80 = old[old["accelerator"] == "k80"]
    assert outlined["y0"].eq(4.06).sum() == len(k80), "nobody runs there now as before"
    assert run_gantt(before, by="slot", before=drawn).data["before"].empty
