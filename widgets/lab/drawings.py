"""The charts of a run that a lab shows, each drawn when it is looked at.

Imported when the first of them is: Altair alone takes as long as the rest of a lab.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from widgets.lab.trials import TriedRun, names
from workbench.analysis import charts, metrics
from workbench.analysis.charts import Drawing
from workbench.analysis.charts.gantt_data import MANY_JOBS, MANY_ROWS, By, Colour
from workbench.base.errors import counted
from workbench.base.units import format_duration
from workbench.scenario.cluster import Cluster
from workbench.scenario.rewards import LOWEST
from workbench.scheduling.decision import in_sequences
from workbench.scheduling.estimators.by_name import DEFAULT, maker
from workbench.simulation.run import Run
from workbench.simulation.task_sequences import switch_table

TAB_PX = 18.0
"""A tab's border, padding and margin: its charts are so much narrower than the Gantt chart, on each side."""


HOUR_S = 3600.0
ALIKE = 20.0
"""Signals of which one is larger by more are not drawn on one axis, unless that is asked for."""
CLUSTERS = {"profiling": "profiling_gpus", "guaranteed": "guaranteed_gpus", "spot": "spot_gpus"}
"""Logical clusters, and the signals with their sizes."""
OF_CLUSTER = (*CLUSTERS.values(), "plan_gpus", "plan_gpus_later", "profiling_waiting", "profiling_held")
"""Signals that are not of the job that they are recorded with."""


class ChartContext(NamedTuple):
    """What a chart shows: a run, the selected job (None: all), the time that playback has come to (None: the end).

    signal: the one to be drawn (None: all of them on one axis); tried: all runs on this scenario, this one last;
    belief: the estimator that the run was told its speeds by; errors: of it, as it learnt (None: it did not); axis_s:
    seconds of the unit of the axis of time (None: what reads best); before: the same picture of the run that this one
    is compared with.
    """

    run: Run
    job: str | None = None
    at_s: float | None = None
    signal: str | None = None
    tried: tuple[TriedRun, ...] = ()
    belief: str = DEFAULT
    errors: pd.DataFrame | None = None
    axis_s: float | None = None
    before: Drawing | None = None


READABLE = (2.5, 400.0)
"""From how many units to how many an axis of time keeps the one that it has."""


def kept_axis_s(before: Drawing | None, end_s: float) -> float | None:
    """The unit of the axis of the picture before, where it still reads well: it does not change as a knob turns."""
    if before is None or before.axis_s is None:
        return None
    return before.axis_s if READABLE[0] <= end_s / before.axis_s <= READABLE[1] else None


LOW_PX, HIGH_PX, PLAN_PX = 130.0, 150.0, 100.0
"""The most height of a Gantt chart, with an overview and without: its axis is in sight in a lab 600 pixels high, and
the page below it. PLAN_PX: of one that stands in that page."""


def gantt(
    run: Run,
    by: By,
    colour: Colour | None = None,
    end_s: float | None = None,
    before: Drawing | None = None,
    axis_s: float | None = None,
) -> Drawing:
    """The schedule, by GPU or by job; before: such a drawing, of which what differs is shown as outlines; axis_s: as
    in `ChartContext`."""
    many = len(run.jobs) > MANY_JOBS or (by == "slot" and run.scenario.cluster.gpus > MANY_ROWS)
    high = LOW_PX if many else HIGH_PX
    return charts.run_gantt(run, by=by, end_s=end_s, before=before, colour=colour, max_height=high, axis_s=axis_s)


def gpu_at(run: Run, row: float) -> str:
    """The GPU, as `node/slot`, at a place of the axis of rows by GPU; empty beside them."""
    found = charts.gantt_slot(run.scenario.cluster, row)
    return "" if found is None else f"{found[0]}/{found[1]}"


def _allocation(look: ChartContext) -> Drawing:
    """The shares in force at the time; of the whole run those of the first decision that has most jobs and pairs."""
    run = look.run
    at_s = _fullest_s(run.shares) if look.at_s is None else look.at_s
    title = f"Share of time on each type, at {format_duration(at_s, parts=2)}"
    found = charts.shares_at(run.shares, at_s=at_s)
    return charts.allocation(found, accelerators=run.scenario.cluster.types, title=title)


def _fullest_s(shares: pd.DataFrame) -> float:
    """The time of the first decision with as many units as any has."""
    units = shares.groupby("time_s")["unit"].nunique()
    return float(units.index.to_numpy(float)[int(units.to_numpy().argmax())])


def _tasks(look: ChartContext) -> Drawing:
    """Tasks with the barriers of their rounds."""
    run = look.run
    rows, gpus = charts.task_rows(run.timeline, run.scenario.cluster)
    return charts.tasks(
        rows, run.jobs["job"], gpus, end_s=run.end_s, switches=switch_table(run.events), axis_s=look.axis_s,
        before=look.before, types=_types(run.scenario.cluster),
    )  # fmt: skip


def _types(cluster: Cluster) -> dict[str, str]:
    """The type of each GPU by its name, as tasks have it; empty where there is only one."""
    nodes = cluster.each_node if len(cluster.types) > 1 else ()
    return {f"{node.name}/{slot}": node.accelerator for node in nodes for slot in range(node.gpus)}


def _received(look: ChartContext) -> Drawing:
    """Time received against the target, of the selected job or of all."""
    run, shares, timeline = look.run, look.run.shares, look.run.timeline
    if look.job is not None:  # as `received` does, but before the work; every decision keeps a row
        shares = shares[_of(shares, look.job) | ~shares["decision"].duplicated()]
        timeline = timeline[_of(timeline, look.job)]
    table = charts.received_table(shares, timeline, run.decisions, end_s=run.end_s)
    return charts.received(table, look.job)


def _of(table: pd.DataFrame, job: str) -> pd.Series[bool]:
    """Which rows are of a job, alone or in a pair."""
    units = {unit: job in unit.split(" + ") for unit in table["unit"].unique()}
    return table["unit"].map(units).astype(bool)


def _prices(look: ChartContext) -> Drawing:
    """What a GPU of each type costs, under the Gantt chart."""
    run = look.run
    return charts.prices(run.signals, cluster=run.scenario.cluster, end_s=run.end_s, inset_px=TAB_PX)


def _signals(look: ChartContext) -> Drawing:
    """What the scheduler went by, besides what has a chart of its own."""
    run = look.run
    table = run.signals[_by_job(run)]
    if look.signal is not None:
        table = table[table["signal"] == look.signal]
    return charts.signals(table, run.jobs, end_s=run.end_s)


def _by_job(run: Run) -> pd.Series[bool]:
    """Which signals are neither priorities nor prices, nor part of the queue or of the gains of configurations."""
    elsewhere = run.signals["signal"].isin(["priority", *charts.QUEUE_SIGNALS, *OF_CLUSTER])
    return ~elsewhere & ~charts.is_price(run.signals) & ~charts.is_gain(run.signals)


def signal_names(run: Run) -> list[str]:
    """The signals that the chart Signals can show, as they were first recorded."""
    return list(run.signals["signal"][_by_job(run)].unique())


def signals_alike(run: Run) -> bool:
    """Whether they can be read on one axis: the largest of none is more than `ALIKE` times that of another."""
    values = run.signals.loc[_by_job(run) & np.isfinite(run.signals["value"])]
    most = values["value"].abs().groupby(values["signal"]).max()
    return bool(most.max() <= ALIKE * most[most > 0].min()) if (most > 0).any() else True


def _window(look: ChartContext) -> Drawing:
    """The queue at the time; of the whole run when it was longest."""
    run = look.run
    at_s = charts.longest_queue_s(run.signals) if look.at_s is None else look.at_s
    least = {job.name: job.sizes[0] for job in run.scenario.jobs}
    table = charts.queue_at(run.signals, least, float(run.knobs.get("sigma", math.inf)), at_s)
    title = f"Service window of the queue, at {format_duration(at_s, parts=2)}"
    return charts.service_window(table, gpus=run.scenario.cluster.gpus, title=title)


def _plan(look: ChartContext) -> Drawing:
    """Who has what at the time; of the whole run when the queue was longest."""
    run = look.run
    at_s = charts.longest_queue_s(run.signals) if look.at_s is None else look.at_s
    table = charts.gangs_at(run.timeline, run.signals, at_s)
    title = f"Plan at {format_duration(at_s, parts=2)}: GPUs of each job"
    return charts.gangs(table, cluster=run.scenario.cluster, title=title)


def _gains(look: ChartContext) -> Drawing:
    """The gain matrix, or the configurations of the selected job."""
    run = look.run
    had = charts.configurations_had(run.timeline)
    return charts.gain_matrix(charts.gains_table(run.signals), selected=look.job, had=had)


def _leases(look: ChartContext) -> Drawing:
    """What was done for each job with a deadline, and what came of its deadlines."""
    run = look.run
    rewards = {job.name: job.rewards for job in run.scenario.jobs}
    miss = float(run.knobs.get("miss_reward", LOWEST))
    broken_s = metrics.broken_s(run)
    table = charts.run_leases(run.timeline, run.jobs, rewards, end_s=run.end_s, broken_s=broken_s, miss_reward=miss)
    without = sum(not each for each in rewards.values())
    lease = run.knobs.get("slo_lease_s")
    notes = ["spot: best effort, on what guaranteed jobs leave"] if lease else []
    notes += [f"{counted(without, 'job')} without deadline: By job"] if without else []
    several = any(len(each or ()) > 1 for each in rewards.values())
    notes += ["each deadline has its own reward"] if several else []
    said = "; ".join(notes)
    return charts.lease_gantt(table, lease=lease, end=run.end_s, axis_s=look.axis_s, subtitle=said, before=look.before)


def _rewards(look: ChartContext) -> Drawing:
    """What completing in time is worth, and what each job got."""
    run = look.run
    rewards = {job.name: job.rewards for job in run.scenario.jobs}
    done_s = dict(zip(run.jobs["job"], run.jobs["finish_s"] - run.jobs["arrival_s"], strict=True))
    return charts.reward_classes(rewards, done_s=done_s)


def _clusters(look: ChartContext) -> Drawing:
    """The sizes of the logical clusters, which belong to the cluster whatever job they are recorded with."""
    run = look.run
    named = {signal: name for name, signal in CLUSTERS.items()}
    rows = run.signals[run.signals["signal"].isin(CLUSTERS.values())]
    sizes = pd.DataFrame({"time_s": rows["time_s"], "cluster": rows["signal"].map(named), "gpus": rows["value"]})
    said = "guaranteed: in SLO leases now; spot: for best effort, all that the others do not have"
    return charts.logical_clusters(sizes, gpus=run.scenario.cluster.gpus, end_s=run.end_s, subtitle=said)


def _fairness(look: ChartContext) -> Drawing:
    jobs = metrics.per_job(look.run)
    values = {
        "latency ratio": jobs["latency_ratio"].to_numpy(),
        "finish-time fairness (rho)": jobs["finish_time_fairness"].to_numpy(),
    }
    return charts.cdf(values, title="Fairness: how the jobs fared", x_title="Ratio (the lower, the better)")


def _latency(look: ChartContext) -> Drawing:
    """Hops's (7) over time: of the jobs that ended in the hour before, held on where none did."""
    table = metrics.latency_ratio_over_time(look.run, HOUR_S)
    title = "Latency ratio of the past hour's jobs"  # a title wider than the plot would make the plot narrow
    return charts.over_time(table, "value", "", end_s=look.run.end_s, y_title="Mean latency ratio", title=title)


def _fragments(look: ChartContext) -> Drawing:
    run = look.run
    return charts.fragments_by_round(run.decisions, round_s=run.knobs.get("round_s"), end_s=run.end_s)


def _trade_off(look: ChartContext) -> Drawing:
    """Every run on this scenario: how soon jobs are done on average, against how the worst-off one fares."""
    by_wait = bool((look.run.signals["signal"] == "latency_ratio").any())
    worst = "max_latency_ratio" if by_wait else "max_finish_time_fairness"
    frame = pd.DataFrame(
        {
            "name": names(look.tried),
            "x": [float(one.measures["mean_jct_s"]) / HOUR_S for one in look.tried],
            "y": [float(one.measures[worst]) for one in look.tried],
            "now": [one is look.tried[-1] for one in look.tried],
        }
    )
    return charts.frontier(
        frame,
        title="Efficiency against fairness: your runs",
        x_title="Mean JCT (h)",
        y_title="Worst latency ratio" if by_wait else "Worst rho",
    )


def _estimator(look: ChartContext) -> Drawing:
    """How the estimator's speeds come nearer to the true ones (Hops's Fig. 7b)."""
    assert look.errors is not None  # else the chart is not there
    learns = maker(look.belief).estimator.learns
    return charts.speed_errors({look.belief: look.errors}, title=f"Error of believed {learns}")


def _entities(look: ChartContext) -> Drawing:
    """The GPUs that each entity has."""
    run = look.run
    return charts.entities(run.timeline, run.jobs, end_s=run.end_s)


def _utilisation(look: ChartContext) -> Drawing:
    run = look.run
    return charts.utilisation(run.timeline, cluster=run.scenario.cluster, end_s=run.end_s)


def exact_plan(run: Run, rows: Sequence[Mapping[str, Any]]) -> Drawing:
    """A plan beside a run of the same jobs, to its end at least: rows as those of `ExactAnswer.schedule`, one or more,
    of tasks, of GPUs by type, or of leases."""
    jobs, cluster, title = run.jobs, run.scenario.cluster, "Plan of the exact problem"
    end_s = max(run.end_s, *(float(row["end_s"]) for row in rows))
    if "task" in rows[0]:
        gpus = [f"{node.name}/{slot}" for node in cluster.each_node for slot in range(node.gpus)]
        return charts.tasks(
            rows, jobs["job"], gpus, end_s=end_s, title=title, compact=True, legend=False, types=_types(cluster)
        )
    if isinstance(rows[0]["gpus"], Mapping):
        return charts.plan(rows, jobs["job"], cluster, end_s=end_s, max_height=PLAN_PX, title=title)
    held = pd.DataFrame(rows).assign(kind="run")
    done_s = jobs["job"].map(held.groupby("job")["end_s"].max())
    planned = jobs.assign(finish_s=done_s, verdict="")
    rewards = {job.name: job.rewards for job in run.scenario.jobs}
    miss = float(run.knobs.get("miss_reward", LOWEST))
    table = charts.run_leases(held, planned, rewards, end_s=end_s, miss_reward=miss)
    return charts.lease_gantt(table, lease=run.knobs.get("slo_lease_s"), end=end_s, title=title)


PAGES: Mapping[str, Callable[[ChartContext], Drawing]] = {
    "Tasks": _tasks,
    "Leases": _leases,
    "Rewards": _rewards,
    "Clusters": _clusters,
    "Plan": _plan,
    "Window": _window,
    "Gains": _gains,
    "Allocation": _allocation,
    "Received": _received,
    "JCT": lambda look: charts.jct_cdf(look.run.jobs),
    "Fairness": _fairness,
    "Latency": _latency,
    "GPUs in use": _utilisation,
    "Queue": lambda look: charts.queue(look.run.decisions, end_s=look.run.end_s),
    "Fragments": _fragments,
    "Prices": _prices,
    "Signals": _signals,
    "Entities": _entities,
    "Estimator": _estimator,
    "Trade-off": _trade_off,
}
"""Each chart, and the main pictures besides the Gantt chart."""


def _recorded(*signals: str) -> Callable[[ChartContext], bool]:
    """Whether a run has recorded all of these signals."""
    return lambda look: set(signals) <= set(look.run.signals["signal"])


def _with_deadlines(look: ChartContext) -> bool:
    """Whether some job has a deadline."""
    return any(job.rewards for job in look.run.scenario.jobs)


ONLY_WITH: Mapping[str, Callable[[ChartContext], bool]] = {
    "Leases": _with_deadlines,
    "Rewards": _with_deadlines,
    "Clusters": _recorded(*CLUSTERS.values()),
    "Tasks": lambda look: in_sequences(look.run.timeline),
    "Plan": _recorded("priority", "place", "gain"),
    "Window": _recorded(*charts.QUEUE_SIGNALS[:2]),
    "Gains": lambda look: bool(charts.is_gain(look.run.signals).any()),
    "Allocation": lambda look: not look.run.shares.empty,
    "Received": lambda look: not look.run.shares.empty,
    "Latency": _recorded("latency_ratio"),
    "Fragments": lambda look: bool((charts.idle_while_waiting(look.run.decisions) > 0).any()),
    "Prices": lambda look: bool(charts.is_price(look.run.signals).any()),
    "Signals": lambda look: bool(_by_job(look.run).any()),
    "Entities": lambda look: bool((look.run.jobs["entity"] != "").any()),
    "Estimator": lambda look: look.errors is not None,
    "Trade-off": lambda look: len(look.tried) > 1,
}
"""The charts that are there only for runs with something to show in them."""
