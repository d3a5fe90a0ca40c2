"""The schedulers that are compared, and what is measured of their runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from reproduction.figure import Plot, chart_of
from reproduction.hops.queued_gavel import QueuedGavel
from reproduction.hops.settings import HOUR, ROUND_S, HopsSize
from reproduction.line import Line, rivalled
from workbench.analysis.metrics import per_job, summary
from workbench.base.arrays import FloatArray
from workbench.papers.hops.scheduler import decision_s
from workbench.scenario.scenario import Scenario
from workbench.simulation.run import Run

HOPS, SIA, GAVEL = "Hops", "Sia", "Gavel"
QUEUE = {"queue": "latency_ratio"}


def three(size: HopsSize) -> tuple[Line, ...]:
    """As in section 4.2: same queue, same rounds; Sia chooses among all sizes of a job, Gavel has the median. Hops is
    told how fast each single server is, Sia and Gavel the speeds of GPU types (section 2.1: they "can only detect GPU
    type"), unless the size says otherwise."""
    sia = {**QUEUE, "round_s": ROUND_S, **({"split": True} if size.split else {})}
    lines = (
        Line(HOPS, "hops", {"round_s": ROUND_S}, size.hops_belief),
        Line(SIA, "sia", sia, size.sia_belief),
        Line(GAVEL, QueuedGavel(), {"round_s": ROUND_S}),
    )
    return rivalled(lines, size.rivals)


MEASURES = ("makespan", "JCT", "wait", "max LR", "fragments")
UNITS = {"makespan": "h", "JCT": "h", "wait": "h", "max LR": "1", "fragments": "GPUs"}


def measured(run: Run) -> dict[str, float]:
    """`MEASURES` of a run, restarts (share of the GPU time held) and allocated (share of all GPU time)."""
    found, jobs = summary(run), run.jobs
    length_s = run.timeline["end_s"] - run.timeline["start_s"]
    return {
        "makespan": found["makespan_s"] / HOUR,
        "JCT": found["mean_jct_s"] / HOUR,
        "wait": float(jobs["waited_s"].mean()) / HOUR,
        "max LR": found["max_latency_ratio"],
        "fragments": fragments(run),
        "restarts": float(length_s[run.timeline["kind"] == "restart"].sum() / length_s.sum()),
        "allocated": found["allocated"],
    }


def over(found: pd.DataFrame, measure: str, above: str, below: str) -> float:
    """A measure of one line over another's, NaN where that is 0."""
    numbers = found[measure].to_dict()
    return float(numbers[above] / numbers[below]) if numbers[below] else math.nan


def table(runs: Mapping[str, Run]) -> pd.DataFrame:
    """`measured` by line."""
    return pd.DataFrame.from_dict({name: measured(run) for name, run in runs.items()}, orient="index")


def fragments(run: Run) -> float:
    """Idle GPUs after a round has been planned, if jobs wait; the mean over rounds (section 4.2).

    Like `fragments_gpus` of a summary, but for Hops a round counts once its plan, charged from its beginning on, is
    carried out. Rounds are those in which there was a decision.
    """
    charge_s = decision_s(run.scenario.cluster.gpus, float(run.knobs.get("decision_s", 0.0)))
    time, gpus = run.decisions["time_s"], run.decisions["up_gpus"] - run.decisions["busy_gpus"]
    idle = gpus.where(run.decisions["waiting_jobs"] > 0, 0)
    round_s = float(run.knobs["round_s"])
    number = np.floor(time / round_s + 1e-9)
    planned = idle[time <= number * round_s + charge_s + 1e-6].groupby(number).last()
    return float(planned.mean())


def busy_share(run: Run, from_s: float, to_s: float) -> float:
    """Share of the cluster's GPU time between two times in which GPUs were held."""
    held = run.timeline
    inside_s = held["end_s"].clip(upper=to_s) - held["start_s"].clip(lower=from_s)
    return float(inside_s.clip(lower=0).sum() / (run.scenario.cluster.gpus * (to_s - from_s)))


def share_panel(values: Mapping[str, npt.ArrayLike], title: str, x_title: str) -> Plot:
    """Share of the jobs up to a value, as the corners of a staircase."""
    parts = []
    for name, given in values.items():
        found = np.sort(np.asarray(given, dtype=float))
        share = np.arange(len(found) + 1) / len(found)
        parts.append(pd.DataFrame({"line": name, "x": np.repeat(found, 2), "y": np.repeat(share, 2)[1:-1]}))
    return chart_of(pd.concat(parts, ignore_index=True), title, x_title, "Share of jobs", dots=False)


def of_jobs(runs: Mapping[str, Run], column: str, scale: float = 1.0) -> dict[str, FloatArray]:
    """A column of `per_job` of each run, over `scale`."""
    return {name: per_job(run)[column].to_numpy(dtype=float) / scale for name, run in runs.items()}


def runs_of(scenario: Scenario, lines: Iterable[Line]) -> dict[str, Run]:
    """A run of each line."""
    return {line.name: line.run(scenario) for line in lines}
