"""A run in task sequences as one row per task: where and when it switched, computed and synchronised.

What the Gantt chart of tasks, its barriers, the hits and misses of speculative memory and the switching times of
Table 3 are drawn from.
"""

from __future__ import annotations

import math

import pandas as pd

from workbench.base.errors import InputError
from workbench.papers.hare.switching import NOTE
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import task_parts


def task_table(timeline: pd.DataFrame) -> pd.DataFrame:
    """The tasks of a run's timeline, in order of start.

    Columns job, round, task (from 0), node, slot, accelerator, switch_s (seconds), start_s, end_s (of computing),
    synchronised_s, steps.

    A task that a node's failure broke off has one row, of its last attempt; one that the run's end broke off ends
    there, and one that had not begun to compute by then is left out. Raises InputError for a run without tasks.
    """
    timeline = timeline[timeline["job"] != ""]
    parts = task_parts(timeline["unit"])
    if parts["job"].isna().any():
        expected = "a run in task sequences, with units `job #round.task`"
        raise InputError("timeline", str(timeline["unit"][parts["job"].isna()].iloc[0]), expected)
    rows = timeline.assign(round=parts["round"].astype("int64"), task=parts["task"].astype("int64"))
    key = ["job", "round", "task"]
    rows = rows.sort_values("start_s", kind="stable")
    ran = rows[rows["kind"] == "run"].drop_duplicates(key, keep="last")
    ran = ran[[*key, "node", "slot", "accelerator", "start_s", "end_s", "steps"]]
    switched = rows[rows["kind"] == "switch"].rename(columns={"end_s": "computes_s", "start_s": "switches_s"})
    switched = switched[[*key, "node", "slot", "computes_s", "switches_s"]]
    synchronised = rows[rows["kind"] == "sync"].drop_duplicates(key, keep="last")
    synchronised = synchronised[[*key, "end_s"]].rename(columns={"end_s": "synchronised_s"})
    found = ran.merge(
        switched,
        "left",
        left_on=[*key, "node", "slot", "start_s"],
        right_on=[*key, "node", "slot", "computes_s"],
    ).merge(synchronised, "left", on=key)
    found["switch_s"] = (found["start_s"] - found["switches_s"]).fillna(0.0)
    found["synchronised_s"] = found["synchronised_s"].fillna(found["end_s"])
    columns = [*key, "node", "slot", "accelerator", "switch_s", "start_s", "end_s", "synchronised_s", "steps"]
    return found[columns].sort_values(["start_s", *key], kind="stable").reset_index(drop=True)


SWITCHES = ("job", "round", "task", "gpu", "time_s", "load", "switch_s", "sooner_s")


def switch_table(events: pd.DataFrame) -> pd.DataFrame:
    """The switches of a run that took time, in their order, from its events `switch`.

    Columns job, round, task, gpu (`node/slot`), time_s (when the switch begins), load (hit, miss or unknown), switch_s,
    sooner_s (the model's loading began so much before time_s, beside the task before: early cleaning). No rows for
    a run without switches. Raises InputError for events `switch` that are not Hare's.
    """
    rows = events[events["event"] == "switch"]
    parts = task_parts(rows["unit"])
    found = rows["reason"].astype(str).str.extract(NOTE)
    bad = parts["job"].isna() | found["load"].isna()
    if bad.any():
        raise InputError("events, switch", str(rows["reason"][bad].iloc[0]), "`load: seconds s`, as Hare records it")
    table = rows.assign(
        round=parts["round"].astype("int64"),
        task=parts["task"].astype("int64"),
        gpu=rows["where"],
        load=found["load"],
        switch_s=found["switch_s"].astype(float),
        sooner_s=found["sooner_s"].astype(float).fillna(0.0),
    )
    return table[list(SWITCHES)].reset_index(drop=True)


def hit_rate(switches: pd.DataFrame) -> float:
    """Hits among the switches of a table whose memory is known; nan without any."""
    known = switches["load"].isin(["hit", "miss"])
    return float((switches["load"][known] == "hit").mean()) if known.any() else math.nan


def switching_table(scenario: Scenario, timeline: pd.DataFrame) -> pd.DataFrame:
    """Table 3 of a run: model, switches, mean_switch_s of those that took time, and share, the part of the time that
    its tasks held GPUs in which these switched. Models in the order in which they appear."""
    tasks, model = task_table(timeline), {job.name: job.model for job in scenario.jobs}
    tasks = tasks.assign(model=tasks["job"].map(model), run_s=tasks["end_s"] - tasks["start_s"])
    grouped = tasks.groupby("model", sort=False)
    switched = tasks[tasks["switch_s"] > 0].groupby("model", sort=False)["switch_s"]
    found = pd.DataFrame(
        {
            "switches": switched.count().reindex(list(grouped.groups), fill_value=0),
            "mean_switch_s": switched.mean(),
            "share": grouped["switch_s"].sum() / (grouped["switch_s"].sum() + grouped["run_s"].sum()),
        }
    )
    return found.reindex(tasks["model"].drop_duplicates()).rename_axis("model").reset_index()
