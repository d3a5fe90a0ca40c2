"""Schedulers side by side: every metric as a ratio to the first scheduler."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import Drawing, drawn, marks, message, message_layer
from workbench.analysis.metrics.declared import METRICS
from workbench.analysis.metrics.summary import shown
from workbench.base.labels import with_unit

BAR_PX, GAP_PX = 24.0, 16.0


def comparison_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean, least and greatest ratio of each (metric, scheduler) to the first scheduler.

    frame: columns scheduler, metric, value, and if there are any unit and seed. A run is divided by the first
    scheduler's run of the same seed, or by its mean where there is none. Columns: metric, scheduler, unit, runs, mean,
    low, high (of the value), ratio, ratio_low, ratio_high; the ratio is missing where the first scheduler has 0 or
    nothing.
    """
    frame = frame.assign(unit=frame.get("unit", ""), seed=frame.get("seed", 0))
    order = list(dict.fromkeys(frame["scheduler"]))
    first = frame[frame["scheduler"] == order[0]] if order else frame
    base = first.groupby(["metric", "seed"])["value"].mean().rename("base")
    joined = frame.join(base, on=["metric", "seed"])
    missing = joined["base"].isna()
    joined.loc[missing, "base"] = joined["metric"].map(first.groupby("metric")["value"].mean())[missing]
    joined["ratio"] = joined["value"] / joined["base"].where(joined["base"] != 0)
    grouped = joined.groupby(["metric", "scheduler"], sort=False)
    table = grouped.agg(
        unit=("unit", "first"),
        runs=("value", "count"),
        mean=("value", "mean"),
        low=("value", "min"),
        high=("value", "max"),
        ratio=("ratio", "mean"),
        ratio_low=("ratio", "min"),
        ratio_high=("ratio", "max"),
    ).reset_index()
    metrics = {name: i for i, name in enumerate(dict.fromkeys(frame["metric"]))}
    schedulers = {name: i for i, name in enumerate(order)}
    keys = [table["scheduler"].map(schedulers), table["metric"].map(metrics)]
    sorted_by = pd.DataFrame({"s": keys[0], "m": keys[1]}).sort_values(["m", "s"]).index
    return table.loc[sorted_by].reset_index(drop=True)


def _by_label(frame: pd.DataFrame) -> pd.DataFrame:
    """Measures by their labels; others stay as they are called."""
    known = {found.name: found for found in METRICS}
    units = frame["metric"].map(lambda name: known[name].unit if name in known else "")
    labels = frame["metric"].map(lambda name: known[name].label if name in known else name)
    return frame.assign(unit=frame.get("unit", units), metric=labels)


def comparison(frame: pd.DataFrame, *, title: str = "Schedulers compared") -> Drawing:
    """Draw a bar for each metric and scheduler: its ratio to the first scheduler, with the value in words.

    frame as in `comparison_table`; a metric of `workbench.analysis.metrics.METRICS` by name is shown by its label, with
    its unit where the frame has none. Seconds are written as durations. With several seeds a line spans from the least
    to the greatest ratio.
    """
    table = comparison_table(_by_label(frame))
    schedulers = list(dict.fromkeys(table["scheduler"]))
    metrics = list(dict.fromkeys(table["metric"]))
    per_metric = max(len(schedulers), 1) * BAR_PX + GAP_PX
    place = {name: i for i, name in enumerate(schedulers)}
    group = {name: i for i, name in enumerate(metrics)}
    top = table["metric"].map(group) * per_metric + GAP_PX / 2 + table["scheduler"].map(place) * BAR_PX
    height = max(len(metrics), 1) * per_metric
    colours, _ = theme.series_look(schedulers)
    bars = table.assign(y0=top, y1=top + BAR_PX - 3, spread=table["runs"] > 1)
    said = zip(*(table[name].tolist() for name in ("scheduler", "ratio", "mean", "unit")), strict=True)
    bars["text"] = pd.Series([_text(*parts) for parts in said], dtype="str")
    heads = pd.DataFrame({"metric": metrics, "y": [group[m] * per_metric + per_metric / 2 for m in metrics]})
    dividers = pd.DataFrame({"y": [i * per_metric for i in range(1, len(metrics))]})
    base = marks("bars")
    x = alt.X("ratio:Q", title=f"Ratio to {schedulers[0] if schedulers else 'the first'} (1 = equal)",
              scale=alt.Scale(zero=True, padding=0), axis=alt.Axis(grid=True, tickCount=6))  # fmt: skip
    layers = [
        base.mark_rect(stroke=theme.INK, strokeWidth=0.5).encode(
            x=x,
            x2=alt.value(alt.ExprRef("scale('x', 0)")),
            y=alt.value(alt.ExprRef("datum.y0")),
            y2=alt.value(alt.ExprRef("datum.y1")),
            fill=alt.Fill(
                "scheduler:N",
                legend=None,
                scale=alt.Scale(domain=schedulers, range=colours) if schedulers else alt.Undefined,
            ),
            tooltip=[
                alt.Tooltip("scheduler:N", title="Scheduler"),
                alt.Tooltip("metric:N", title="Metric"),
                alt.Tooltip("text:N", title="Ratio (value)"),
                alt.Tooltip("runs:Q", title="Runs"),
                alt.Tooltip("ratio_low:Q", title="Least ratio", format=".3~f"),
                alt.Tooltip("ratio_high:Q", title="Greatest ratio", format=".3~f"),
            ],
        ),
        base.transform_filter("datum.spread")
        .mark_rule(strokeWidth=2, color=theme.INK)
        .encode(x="ratio_low:Q", x2="ratio_high:Q", y=_middle()),
        marks("heads")
        .mark_text(align="right", baseline="middle", fontWeight=600, limit=240)
        .encode(x=alt.value(-10), y=alt.value(alt.ExprRef("datum.y")), text="metric:N"),
        marks("dividers")
        .mark_rule(color=theme.GRID)
        .encode(x=alt.value(0), x2=alt.value(alt.ExprRef("width")), y=alt.value(alt.ExprRef("datum.y"))),
        marks("one").mark_rule(color=theme.INK, strokeDash=[5, 4]).encode(x="ratio:Q"),
        *(
            base.mark_text(
                align="left", baseline="middle", dx=6, clip=False, stroke=theme.PAPER, strokeWidth=halo_px
            ).encode(
                x=alt.value(alt.ExprRef("scale('x', isValid(datum.ratio_high) ? datum.ratio_high : 0)")),
                y=_middle(),
                text="text:N",
            )
            for halo_px in (5, 0)
        ),
        message_layer(),
    ]
    return drawn(
        *layers,
        data={
            "bars": bars,
            "heads": heads,
            "dividers": dividers,
            "one": pd.DataFrame({"ratio": [1.0]}),
            "message": message("" if len(table) else "Nothing to compare"),
        },
        table=table,
        label=f"{title}: every metric as a ratio to {schedulers[0] if schedulers else 'the first scheduler'}.",
        title=title,
        subtitle="bars: mean over seeds; lines: least to greatest" if bool((table["runs"] > 1).any()) else "",
        height=height,
    )


def _middle() -> Any:
    return alt.value(alt.ExprRef("(datum.y0 + datum.y1) / 2"))


def _text(scheduler: str, ratio: float, value: float, unit: str) -> str:
    if math.isnan(value):
        return f"{scheduler}: no value"
    said = with_unit(*shown(value, unit))
    return f"{scheduler}: {said}" if math.isnan(ratio) else f"{scheduler}: {ratio:.2f}× ({said})"
