"""Charts of elastic jobs and their queue (Hops): weights, service window, configurations, lambda, fragments, estimator.

Each takes a table as `workbench.papers.hops.tables`, a run or an estimator's log makes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from workbench.charts.curves import curve
from workbench.charts.drawing import Drawing
from workbench.charts.series import over_time

HOUR_S = 3600.0
WORST = {"mean_jct_s": "mean JCT", "max_latency_ratio": "worst latency ratio", "max_finish_time_fairness": "worst rho"}
"""Efficiency, and how the worst-off job fares, of `workbench.metrics`."""


def weights(table: pd.DataFrame, jobs: Iterable[str]) -> Drawing:
    """Draw the weight of some jobs over lambda.

    table: one row for each job, a column priority (not drawn), and one for each lambda with its number as name.
    """
    some = table.drop(columns="priority").loc[list(jobs)].rename_axis("line").reset_index()
    return curve(
        some.melt("line", var_name="x", value_name="y").astype({"x": float}),
        title="Weight of a job by lambda",
        x_title="lambda",
        y_title="Weight over the largest",
        log_y=True,
        dots=False,
    )


def service_window(queue: pd.DataFrame) -> Drawing:
    """Draw the smallest requests of a queue, summed from its head, and who is inside the window.

    queue: the columns place, summed_gpus, window, adjusted (let in behind the window, onto fragments).
    """
    behind = queue["adjusted"].map({True: "let in onto fragments", False: "outside"})
    return curve(
        queue.assign(line=behind.where(~queue["window"], "service window"))[["line", "place", "summed_gpus"]].rename(
            columns={"place": "x", "summed_gpus": "y"}
        ),
        title="Service window of the queue",
        x_title="Place in the queue",
        y_title="Smallest requests, summed (GPUs)",
        whole_x=True,
    )


def configurations(offers: pd.DataFrame, job: str) -> Drawing:
    """Draw the best speed of a job by its number of GPUs, a line for each type and kind.

    offers: the columns accelerator, kind (aggregated, distributed), gpus, steps_per_s; job: its name, for the title.
    """
    best = offers.groupby(["accelerator", "kind", "gpus"], as_index=False, sort=False)["steps_per_s"].max()
    return curve(
        best.assign(line=best["accelerator"] + ", " + best["kind"], x=best["gpus"], y=best["steps_per_s"]),
        title=f"Configurations of {job}",
        x_title="GPUs",
        y_title="Speed (steps/s)",
        whole_x=True,
    )


def tradeoff(measures: pd.DataFrame, names: Mapping[str, str] = WORST) -> Drawing:
    """Draw measures over lambda, each over its value in the first row.

    measures: one row for each lambda, which is the index; names: of their lines, by the column to draw.
    """
    chosen = measures[list(names)].rename(columns=names)
    return curve(
        (chosen / chosen.iloc[0]).rename_axis("x").reset_index().melt("x", var_name="line", value_name="y"),
        title="Efficiency against fairness",
        x_title="lambda",
        y_title=f"Over that of lambda = {measures.index[0]:g}",
    )


def fragments(decisions: Mapping[str, pd.DataFrame], until_s: float) -> Drawing:
    """Draw the idle GPUs while jobs wait, after each decision up to a time, a line for each run."""
    parts = [
        table.assign(run=name, idle=(table["up_gpus"] - table["busy_gpus"]).where(table["waiting_jobs"] > 0, 0))
        for name, table in decisions.items()
    ]
    every = pd.concat(parts, ignore_index=True)
    return over_time(
        every[every["time_s"] <= until_s],
        "idle",
        "GPUs",
        series="run",
        end_s=until_s,
        y_title="Fragments",
        whole=True,
        title="Fragments: idle GPUs while jobs wait",
    )


def speed_errors(logs: Mapping[str, pd.DataFrame]) -> Drawing:
    """Draw the mean error of believed speeds over what has been measured, a line for each estimator.

    logs: the columns measured_s, error (a share), by the estimator's name.
    """
    parts = [
        pd.DataFrame({"line": name, "x": log["measured_s"] / HOUR_S, "y": 100 * log["error"]})
        for name, log in logs.items()
    ]
    return curve(
        pd.concat(parts, ignore_index=True),
        title="Error of believed speeds",
        x_title="Measured (h, all jobs together)",
        y_title="Mean error (%)",
        dots=False,
    )
