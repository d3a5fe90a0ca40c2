"""An empty Cluster box is an error; convert's notes stay with the scenario and stand on every page made from it."""

from __future__ import annotations

import json
import math
import re
from copy import copy
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest

import workbench
from tests.analysis.what_if.test_site_changes import after, site
from widgets import WhatIfLab
from widgets.what_if_lab.trace import TraceChoice
from workbench.analysis.calibration.waits import eligible_in, held_s, simulated_waits
from workbench.analysis.charts import before_after, job_changes
from workbench.analysis.charts.export import to_svg
from workbench.analysis.metrics.summary import amount
from workbench.analysis.run_report import run_report
from workbench.analysis.what_if import parse_change, what_if
from workbench.analysis.what_if.report import what_if_report
from workbench.analysis.what_if.tables import wait_table
from workbench.analysis.what_if.words import waited
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.slurm.limits import beyond
from workbench.baselines.mechanisms.slurm.site import read_site
from workbench.cli import main
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import convert, parse_cluster
from workbench.simulation.run import Run

LOG = """JobID|User|Submit|Elapsed|State|AllocTRES
1|ada|2024-03-01T08:00:00|01:00:00|COMPLETED|gres/gpu:a100=1
2|<b>ada</b>|2024-03-01T08:00:00|01:00:00|TIMEOUT|gres/gpu:a100=1
3|ada|2024-03-01T08:00:00|01:00:00|PENDING|gres/gpu:a100=1
4|ada|2024-03-01T08:00:00|01:00:00|COMPLETED|gres/gpu:1g.5gb=1
"""


def test_an_empty_cluster_box_is_an_error_beside_it_and_nothing_is_read() -> None:
    opened: list[Any] = []
    trace = TraceChoice(lambda *told: opened.append(told))
    trace.format.value, trace.cluster.value = "helios", "  "
    log = {"name": "log", "content": memoryview(LOG.encode())}
    trace.open([log])
    assert (trace.said.tone, opened) == ("bad", [])
    assert trace.said.text.startswith("Cluster: got nothing; expected which GPUs the cluster has")
    trace.open([log, log | {"name": "nodes"}])
    assert trace.said.text == "Open: got 2 files; expected one: only a log of sacct has others beside it"


def test_what_convert_says_stays_and_stands_on_every_page(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "log").write_text(LOG)
    given, report = convert("sacct", tmp_path / "log", cluster=parse_cluster("a100=1x2"))
    assert given.notes == ("log (sacct): 4 rows read, 2 kept", *map(str, report.dropped), *report.notes)
    assert len(report.dropped) == 2 and len(report.notes) >= 3
    given.save(tmp_path / "s.json")
    scenario = workbench.load(tmp_path / "s.json")
    assert scenario.notes == given.notes and scenario.key() == given.replace(notes=()).key()
    run = workbench.simulate(scenario, "fifo")
    found = what_if(scenario, "fifo", "scheduler srtf")
    lab = WhatIfLab(scenario)
    for page in (run_report(run), what_if_report(found), lab._about.value):
        assert [note for note in scenario.notes if note not in unescape(page)] == []
    comparison = workbench.compare(scenario, ["fifo", "srtf"])
    for card in (run._repr_html_(), comparison._repr_html_()):
        assert "Note: log (sacct): 4 rows read, 2 kept" in str(card)
    for command in (["simulate", "--scheduler", "fifo"], ["compare", "--schedulers", "fifo"]):
        assert main([command[0], str(tmp_path / "s.json"), *command[1:], "--json"]) == 0
        told = capsys.readouterr()
        assert json.loads(told.out)["notes"] == list(scenario.notes)
        assert "note: log (sacct): 4 rows read, 2 kept" in told.err


def test_a_report_says_how_long_jobs_wait() -> None:
    """Two jobs of two hours, one GPU: one waits, the other does not."""
    speeds = [{"model": "m", "accelerator": "v100", "steps_per_s": 1}]
    jobs = [{"name": name, "model": "m", "steps": 7200} for name in "ab"]
    data = {"cluster": parse_cluster("v100=1x1"), "jobs": jobs, "throughputs": speeds}
    text = run_report(workbench.simulate(workbench.Scenario.from_dict(data), "fifo"))
    said = re.search(r"Jobs wait ([^<]*)", text)
    assert said and "1 h on average" in said[1] and "half of them at most 1 h" in said[1]
    assert "95 % at most 1 h 54 min" in said[1]


def test_jobs_that_are_not_drawn_are_counted_in_words() -> None:
    jobs = pd.DataFrame({"job": [f"j{i}" for i in range(2357)], "before_s": 1.0, "after_s": 2.0, "difference_s": 1.0})
    subtitle = json.dumps(job_changes(jobs).named())
    assert "1,179 of 2,357 jobs drawn" in subtitle and "2th" not in subtitle


def test_few_jobs_are_named_below_their_bars() -> None:
    jobs = ["vision", '"] <b>', *(f"elastic-{number}" for number in range(18))]
    drawing = job_changes(pd.DataFrame({"job": jobs, "before_s": 1.0, "after_s": 2.0, "difference_s": 1.0}))
    texts = {unescape(text) for text in re.findall(r">([^<>]+)</text>", to_svg(drawing, width=400))}
    assert {*jobs} <= texts, "each, not every second one"


def test_the_names_of_measures_have_room_in_a_wider_font_than_the_picture_was_made_with() -> None:
    """The plot begins behind 22 bold letters of DejaVu Sans at 14 px: 172 px as Chromium draws them, and 10 more."""
    row = ("c", "99th percentile of JCT", 1.0, 2.0, 0.5, 1.5, "2", "1")
    columns = ["change", "label", "before", "after", "low", "high", "text", "today_text"]
    svg = to_svg(before_after(pd.DataFrame([row], columns=columns)), width=400)
    left = float(re.findall(r"translate\(([\d.]+),", svg)[0])
    assert left >= 172 + 10, left


def test_a_wait_behind_a_throttle_begins_when_the_run_lets_the_task() -> None:
    """One of four tasks of 100 s runs at a time: they come at once and start when the one before has ended, both in the
    log and without rack r1; from its arrival the last one takes 300 s to its start, of which it waits none."""
    jobs = [dict(job) for job in site().to_dict()["jobs"]]
    for number, job in enumerate(jobs[:4]):
        more = {"eligible_s": 100.0 * number, "array": "7", "array_most": 1.0}
        job |= {"arrival_s": 0.0, "attributes": {**job["attributes"], **more}}
    found = workbench.what_if(site(jobs=jobs), "slurm", "without rack=r1", seeds=[0])
    today = found.runs[0][0]
    assert today.jobs["waited_s"].sum() == 600
    never = [{"name": "qos odd", "attributes": {"kind": "qos", "name": "odd", "MaxWall": "soon"}}]
    fifo = workbench.simulate(site(jobs=jobs, entities=never), "fifo")
    assert held_s(fifo)["p3"] == 100, "fifo reads no site"
    recorded = pd.DataFrame({"job": [f"p{i}" for i in range(4)], "eligible_s": [100.0 * i for i in range(4)]})
    assert simulated_waits(fifo, read_site(today.scenario), recorded) == [0, 0, 0, 260]
    by = wait_table([fifo], [[fifo]], ["none"], 0.95).set_index(["by", "name"])["before_total_s"]
    assert by["partition", "p"] == 260, "p3 alone; p1 and p2, which began before they were eligible, wait 0 s"
    asks = {name: replace(ask, array_most=2) for name, ask in read_site(today.scenario).asks.items()}
    times_s = {"first_start_s": [0.0, 0.0, 50.0, math.nan, 0.0], "finish_s": [50.0, math.nan, 90.0, math.nan, 9.0]}
    still = cast(Run, SimpleNamespace(jobs=today.jobs.assign(**times_s)))
    assert eligible_in(still, asks, {f"p{i}": 50.0 * i for i in range(3)})["p2"] == 50, "p1 runs on"
    waits = found.waits.set_index(["by", "name"]).loc[("partition", "p")]
    assert waits["before_total_s"] < 60 and waits["before_p95_s"] < 30, waits


def test_what_goes_is_counted_an_outage_beyond_the_log_told_and_a_limit_that_is_set_holds() -> None:
    """Slurm leaves who asks for more than MaxTime pending (PartitionTimeLimit), whatever ran in the log."""
    changes = ["without a-0", "outage a-0 from 60 s to 1 h", "set partition p MaxTime=1"]
    of_partition = [{"name": "partition p", "attributes": {"kind": "partition", "name": "p"}}]
    data = site(entities=of_partition).to_dict()
    data["cluster"]["accelerators"].append({"name": "cpu"})
    group = {"name": "a-0/cpu", "accelerator": "cpu", "gpus": 64, "hosts": ["a-0/cpu"]}
    data["cluster"]["nodes"].append({**data["cluster"]["nodes"][0], **group, "count": 1})
    found = "\n".join(workbench.what_if(Scenario.from_dict(data), "slurm", changes, seeds=[0]).conclusions)
    assert "With a-0 gone: 1 node with 4 GPUs less: 1 of 3 of partition p." in found
    assert " after today's last job: who comes then is not known." in found
    assert "4 jobs can start no more: its limit is beyond 1 min, partition p's MaxTime." in found
    of_partition[0]["attributes"] |= {"MaxTime": "00:00:50"}  # another one when they ran
    for texts, holds in (("0:01:20", False), ("0:00:40", True), ("0:00:40 and set partition p MaxTime=0:00:45", True)):
        asks = read_site(after(f"set partition p MaxTime={texts}", site(entities=of_partition))).asks
        assert {ask.beyond for ask in asks.values() if ask.partition == "p"} == {"MaxTime" if holds else ""}, texts
    for most, code in ((2, "PartitionNodeLimit"), (0, "")):
        of_partition[0]["attributes"] = {"kind": "partition", "name": "p", "MaxNodes": most}
        found = read_site(after("set partition p MaxNodes=0", site(entities=of_partition)))
        asks = [ask for ask in found.asks.values() if ask.partition == "p"]
        assert {ask.beyond and beyond(ask, found.partitions["p"]).code for ask in asks} == {code}, most


def test_another_policy_for_one_partition() -> None:
    """On b-0, kept busy by q0 until 100 s, q1 (limit 300 s) came before q2 (200 s) and q3 (200 s, 1 GPU); p's order
    stays."""
    base = site()
    jobs = [job.model_dump() for job in base.jobs if job.name != "p2" and job.name != "p3"]
    more = [("q1", 300.0, 4), ("q2", 200.0, 4), ("q3", 200.0, 1)]
    for i, (name, limit_s, gpus) in enumerate(more):
        facts = {**jobs[-1]["attributes"], "partition": "q", "limit_s": limit_s, "eligible_s": 10.0 + i}
        jobs.append({**jobs[2], "name": name, "arrival_s": 10.0 + i, "gpus": gpus, "attributes": facts})
    entities = [each.model_dump() for each in base.entities]
    entities.append({"name": "partition q", "attributes": {"kind": "partition", "name": "q"}})
    speeds = [{"model": "m", "accelerator": "x", "gpus": gpus, "steps_per_s": 1.0} for gpus in (1, 4)]
    scenario = site(jobs=jobs, entities=entities, throughputs=speeds)
    for policy, order in (("fifo", "q1 q2 q3"), ("shortest", "q2 q3 q1"), ("smallest", "q3 q1 q2")):
        run = workbench.simulate(after(f"set partition q Policy={policy}", scenario), "slurm")
        began = run.jobs.set_index("job")["first_start_s"]
        assert " ".join(began[["q1", "q2", "q3"]].sort_values().index) == order, policy
        assert began["p0"] == 0
    with pytest.raises(InputError, match="one of fifo, shortest, smallest, or none"):
        parse_change("set partition q Policy=srtf")


def test_users_beyond_the_first_dozen_are_one_row_and_of_partitions_three_are_told() -> None:
    base, jobs = site(), []
    for number in range(15):
        job = base.jobs[number % 4].model_dump()
        jobs.append({**job, "name": f"j{number}", "user": f"u{number:02}", "arrival_s": float(number)})
    found = workbench.what_if(site(jobs=jobs), "slurm", "without a-0", seeds=[0])
    rows = waited(found, found.question.changes[0])
    users = found.waits[found.waits["by"] == "user"]
    shown = [row[0].removeprefix("user ") for row in rows if row[0].startswith("user ")]
    rest = users[~users["name"].isin(shown)]
    sums = [rest[f"{side}_total_s"].sum() for side in ("before", "after")]
    assert len(shown) == 12 and rows[-1] == ("3 more users", "3", "", "", "", "", *(amount(s, "s") for s in sums))
    other = copy(found)
    object.__setattr__(other, "waits", found.waits[~found.waits["name"].isin(["u13", "u14"])])
    assert len([row for row in waited(other, other.question.changes[0]) if row[0].startswith("user ")]) == 13
    one = found.waits[found.waits["name"] == "p"].assign(low_s=1.0, high_s=9.0)
    for count in (1, 2, 5):
        rows = [one.assign(name=f"p{i}", low_s=1.0 + i) for i in range(count)]
        object.__setattr__(other, "waits", pd.concat(rows))
        told = [text for text in other.conclusions if " waits " in text and " in all, today " in text]
        assert [text.split()[4] for text in told] == [f"p{i}" for i in range(count)][:-4:-1] * (count > 1), told
