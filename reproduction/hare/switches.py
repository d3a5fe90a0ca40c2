"""Section 2.2 and Table 3, run by the core: a job whose tasks wait for each other on GPUs of several types (Figs. 5 and
6), and two jobs that take turns on one V100 (Figs. 7 and 8, Table 3)."""

from __future__ import annotations

from functools import cache

import pandas as pd

from reproduction.figure import Entry, PaperFigure, chart_of
from reproduction.hare.settings import HareSize
from workbench.papers.hare.algorithms.switching import TABLE_3, SwitchCost
from workbench.scenario.presets.hare import CLASSES
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import builtin
from workbench.session.api import simulate
from workbench.simulation.run import Run
from workbench.simulation.task_sequences import task_table

STEPS = 50
TYPE = "v100"
DESIGNS = {"default": "Default", "pipeswitch": "PipeSwitch", "hare": "Hare"}
PAIRED = ("ResNet50 (Cifar100)", "GraphSAGE (Cora)")
"""2.2.4: the first of Fig. 7's three settings, and the two of Fig. 8."""
OMEGA = 9.0
"""2.2.4: the switching cost is about 9 times the training time of the two batches."""
HALF = 50.0
"""2.2.4: GPU utilisation is no more than 50 % when they alternate."""

MIXES = (("k80", "k80"), ("k80", "t4"), ("k80", "v100"), ("t4", "t4"), ("v100", "v100"))
"""ours: the paper's text names a pure K80 cluster, and ones with faster GPUs added."""


@cache
def mixed(kinds: tuple[str, ...]) -> Run:
    """ResNet50 with a task of each round on each GPU, all of which begin together."""
    model = PAIRED[0]
    rows = builtin.throughputs("hare", list(dict.fromkeys(kinds)))
    data = {
        "cluster": {
            "accelerators": [builtin.accelerator(kind) for kind in dict.fromkeys(kinds)],
            "nodes": [{"name": f"node-{i}", "accelerator": kind, "gpus": 1} for i, kind in enumerate(kinds)],
        },
        "jobs": [{"name": "job", "model": model, "steps": STEPS * len(kinds), "tasks_per_round": len(kinds)}],
        "throughputs": [row for row in rows if row["model"] == model and row["gpus"] == 1],
        "models": builtin.models("hare", (model,)),
    }
    return simulate(Scenario.from_dict(data), "hare", synchronisation="scale_fixed", steps_per_round=1)


INSTEAD = "The paper trains ResNet152, without times; here it is ResNet50, with those of its Table 3."


def figure_5(size: HareSize) -> PaperFigure:
    """The time of an epoch on two GPUs, over that on two K80."""
    ends = {kinds: float(mixed(kinds).jobs["finish_s"].max()) for kinds in MIXES}
    rows = tuple(
        Entry(f"time of an epoch, {' and '.join(kinds)} / two K80", "1", None, end_s / ends[MIXES[0]], INSTEAD, "2.2.2")
        for kinds, end_s in ends.items()
    )
    return PaperFigure("Fig. 5", "Epochs on mixed GPUs", rows)


def figure_6(size: HareSize) -> PaperFigure:
    """How long a K80 and a V100 compute that share the tasks of each round."""
    run = mixed(("k80", "v100"))
    ran = run.timeline[run.timeline["kind"] == "run"]
    busy_s = (ran["end_s"] - ran["start_s"]).groupby(ran["accelerator"].astype(str)).sum()
    rows = tuple(
        Entry(f"time in which the {kind} computes", "%", None, 100 * float(seconds) / run.end_s, INSTEAD, "2.2.2")
        for kind, seconds in busy_s.items()
    )
    return PaperFigure("Fig. 6", "A K80 and a V100 that wait for each other", rows)


def taking_turns(first: str, second: str) -> Scenario:
    """Two jobs of one task a round on one GPU; each synchronises for as long as the other computes. Steps are as
    long as the built-in speeds say, which are of Table 3's Hare column."""
    speed = {row["model"]: row["steps_per_s"] for row in builtin.throughputs("hare", [TYPE]) if row["gpus"] == 1}
    pair = (first, second)
    return Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [builtin.accelerator(TYPE)],
                "nodes": [{"name": "node", "accelerator": TYPE, "gpus": 1}],
            },
            "jobs": [{"name": name, "model": name, "steps": STEPS, "gpus": 1, "tasks_per_round": 1} for name in pair],
            "throughputs": [
                {"model": own, "accelerator": TYPE, "gpus": 1, "steps_per_s": speed[own], "sync_s": 1 / speed[other]}
                for own, other in (pair, pair[::-1])
            ],
            "models": builtin.models("hare", pair),
        }
    )


@cache
def turns(first: str, second: str, design: str) -> Run:
    """The run of two jobs that take turns, each step a round."""
    return simulate(taking_turns(first, second), "hare", switching=design, steps_per_round=1)


def switching_share(run: Run) -> pd.Series:
    """By model, the part of the time that its tasks held GPUs in which these switched."""
    tasks, model = task_table(run), {job.name: job.model for job in run.scenario.jobs}
    switch_s = tasks["switch_s"].groupby(tasks["job"].map(model)).sum()
    return switch_s / (switch_s + (tasks["end_s"] - tasks["start_s"]).groupby(tasks["job"].map(model)).sum())


def omega(run: Run) -> float:
    """Time of all switches over that of all computing (2.2.4)."""
    tasks = task_table(run)
    return float(tasks["switch_s"].sum() / (tasks["end_s"] - tasks["start_s"]).sum())


def table_3(size: HareSize) -> PaperFigure:
    """The part of a task's time in which its GPU switches to it, by model and design; milliseconds are Table 3's."""
    models = [model for kind in CLASSES for model in kind]
    rows, bars = [], []
    for design, title in DESIGNS.items():
        found = pd.concat(
            [
                switching_share(turns(first, second, design))
                for first, second in zip(models[::2], models[1::2], strict=True)
            ]
        )
        for model in models:
            name = model.split(" (")[0]
            percent = float(found[model])
            other = "" if design == "hare" else "; this column of the paper is of another"
            why = f"A step's time is that of the Hare column{other}."
            rows.append(Entry(f"switch / task, {name}, {title}", "%", _percent(TABLE_3[name], design), 100 * percent,
                              why, "Table 3"))  # fmt: skip
            bars.append((name, title, 100 * percent))
    frame = pd.DataFrame(bars, columns=["group", "series", "value"])
    panel = chart_of(frame, "Switching in turns on a V100", "Model", "Part of a task's time (%)")
    return PaperFigure("Table 3", "Switching between tasks", tuple(rows), {"a": panel})


def _percent(cost: SwitchCost, design: str) -> float:
    """Part of a task's time in a column of Table 3."""
    columns = {"default": cost.default_percent, "pipeswitch": cost.pipeswitch_percent, "hare": cost.hare_percent}
    return columns[design]


def figure_7(size: HareSize) -> PaperFigure:
    """Switching over training time, where ResNet50 and GraphSAGE take turns; Fig. 8, how busy the GPU is then."""
    names = [name.split(" (")[0] for name in PAIRED]
    least, most = sorted(TABLE_3[name].default_percent / (100 - TABLE_3[name].default_percent) for name in names)
    rows = []
    for design, title in DESIGNS.items():
        found = omega(turns(*PAIRED, design))
        why = (
            f"About 9 in Fig. 7; by the shares in the paper's own Table 3 it is {least:.0f} to {most:.0f}, and the "
            "step times of its Hare column are shorter still."
            if design == "default"
            else "The paper does not print it."
        )
        rows.append(Entry(f"switching / training, {title}", "1", OMEGA if design == "default" else None, found, why,
                        "Fig. 7"))  # fmt: skip
    mean = "Read as the mean of one switch; the row above has both."
    rows.insert(1, Entry("one switch / training of both, Default", "1", OMEGA, rows[0].ours / 2, mean, "Fig. 7"))
    for design, title in DESIGNS.items():
        busy = 100 / (1 + omega(turns(*PAIRED, design)))
        why = "The paper: no more than 50." if design == "default" else "The paper shows no such run."
        rows.append(Entry(f"time in which the GPU computes, {title}", "%", HALF if design == "default" else None, busy,
                        f"{why} What a step leaves of the GPU idle is not counted.", "Fig. 8"))  # fmt: skip
    return PaperFigure("Figs. 7, 8", "Two jobs that take turns on a GPU", tuple(rows))
