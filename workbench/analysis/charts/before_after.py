"""What a change made of a few measures, and of the completion time of each job: before and after."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import Drawing, drawn, marks, message, message_layer

BAR_PX, GAP_PX, NAME_PX = 22.0, 18.0, 220.0
TEXT_GAP_PX, LEAST_PX = 6.0, 10.0
"""From a bar to its text; and what is left for the longest bar where the plot is hardly wider than a text."""
MOST_JOBS = 1500
"""Of more jobs every k-th is drawn."""
SOONER, LATER = theme.PALETTE[0], theme.PALETTE[3]
TODAY = "today"


def before_after(
    frame: pd.DataFrame, *, title: str = "Before and after", names: Mapping[str, str] | None = None
) -> Drawing:
    """Draw for each measure a bar for today and one for each change, in % of today, with the interval of the change.

    frame: columns change, label (of the measure), before, after, low, high (of the difference; NaN: no interval) and
    text (what stands beside a change's bar) and today_text. Measures that are 0 today have no % and are left out.
    names: of the changes, by change.
    """
    known = frame[frame["before"] > 0]
    changes = list(dict.fromkeys(known["change"]))
    series = [TODAY, *((names or {}).get(change, change) for change in changes)]
    per_measure = len(series) * BAR_PX + GAP_PX
    rows: list[tuple[Any, ...]] = []
    labels = list(dict.fromkeys(known["label"]))
    for place, label in enumerate(labels):
        of = known[known["label"] == label].set_index("change")
        top = place * per_measure + GAP_PX / 2
        base = float(of["before"].iloc[0])
        rows.append((label, TODAY, 100.0, math.nan, math.nan, top, str(of["today_text"].iloc[0])))
        for number, change in enumerate(changes, start=1):
            if change in of.index:
                row = of.loc[change]
                low, high = (100.0 + 100.0 * float(row[side]) / base for side in ("low", "high"))
                at = top + number * BAR_PX
                rows.append(
                    (label, series[number], 100.0 * float(row["after"]) / base, low, high, at, str(row["text"]))
                )
    columns = ["measure", "side", "percent", "low", "high", "y0", "text"]
    bars = pd.DataFrame(rows, columns=columns).astype({"measure": "str", "side": "str", "text": "str"})
    bars = bars.assign(
        y1=bars["y0"] + BAR_PX - 3,
        begins=bars["low"].clip(lower=0.0),  # below 0 % of today there is nothing to draw; the tooltip has the bound
        ends=bars[["percent", "high"]].max(axis=1),
    )
    heads = pd.DataFrame({"text": labels, "y": [i * per_measure + per_measure / 2 for i in range(len(labels))]})
    looks = [theme.GRID, *theme.series_look(series[1:])[0]]
    # Room for the names also in a font that is wider than the one that the picture was made with.
    room = min(NAME_PX, max((theme.text_px(label) for label in labels), default=0.0))
    base_marks, middle = marks("bars"), alt.value(alt.ExprRef("(datum.y0 + datum.y1) / 2"))
    scale = alt.Scale(domainMin=0, domainMax=_end(bars), nice=False, padding=0)
    x = alt.X("percent:Q", title="In % of today", scale=scale, axis=alt.Axis(tickCount=6))
    layers = [
        base_marks.mark_rect(stroke=theme.INK, strokeWidth=0.5).encode(
            x=x,
            x2=alt.value(alt.ExprRef("scale('x', 0)")),
            y=alt.value(alt.ExprRef("datum.y0")),
            y2=alt.value(alt.ExprRef("datum.y1")),
            fill=alt.Fill(
                "side:N",
                title=None,
                scale=alt.Scale(domain=series, range=looks),
                legend=alt.Legend(orient="top", direction="horizontal", columns=2, labelLimit=500),
            ),
            tooltip=[
                alt.Tooltip("measure:N", title="Measure"),
                alt.Tooltip("side:N", title="Side"),
                alt.Tooltip("text:N", title="Value"),
                alt.Tooltip("percent:Q", title="In % of today", format=".1f"),
                alt.Tooltip("low:Q", title="Interval from, %", format=".1f"),
                alt.Tooltip("high:Q", title="to, %", format=".1f"),
            ],
        ),
        base_marks.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2.5, color=theme.INK)
        .encode(x="begins:Q", x2="high:Q", y=middle),
        marks("heads")
        .mark_rule(opacity=0)
        .encode(x=alt.value(-10 - room), x2=alt.value(-10), y=alt.value(alt.ExprRef("datum.y"))),
        marks("heads")
        .mark_text(align="right", baseline="middle", fontWeight=600, limit=NAME_PX)
        .encode(x=alt.value(-10), y=alt.value(alt.ExprRef("datum.y")), text="text:N"),
        marks("today").mark_rule(color=theme.INK, strokeDash=[5, 4]).encode(x="percent:Q"),
        *(
            base_marks.mark_text(
                align="left", baseline="middle", dx=TEXT_GAP_PX, clip=False, stroke=theme.PAPER, strokeWidth=halo_px
            ).encode(x=alt.value(alt.ExprRef("scale('x', datum.ends)")), y=middle, text="text:N")
            for halo_px in (5, 0)
        ),
        message_layer(),
    ]
    with_interval = bool(bars["low"].notna().any())
    return drawn(
        *layers,
        data={
            "bars": bars,
            "heads": heads,
            "today": pd.DataFrame({"percent": [100.0]}),
            "message": message("" if len(bars) else "Nothing to compare"),
        },
        table=frame.reset_index(drop=True),
        label=f"{title}: {', '.join(labels)} in per cent of today.",
        title=title,
        subtitle="lines: interval of the mean difference" if with_interval else "one pair of runs: no interval",
        height=max(len(labels), 1) * per_measure,
    )


def _end(bars: pd.DataFrame) -> alt.ExprRef:
    """Where the axis ends, in %, so that each text has room behind its bar: that depends on the width of the plot."""
    said = zip(bars["ends"].tolist(), bars["text"].tolist(), strict=True)
    wanted = {(end, round(theme.text_px(text) + 2 * TEXT_GAP_PX)) for end, text in said}
    ends = (f"{end:.6g} * width / max(width - {px}, {LEAST_PX:g})" for end, px in sorted(wanted))
    return alt.ExprRef(f"max({', '.join(['1', *ends])})")


def job_changes(jobs: pd.DataFrame, *, title: str = "Job by job", height: float = 240) -> Drawing:
    """Draw by how much later (above 0) or sooner each job is done, from the one that gains most to the one that loses
    most.

    jobs: columns job, before_s, after_s, difference_s. Of more than `MOST_JOBS` every k-th is drawn; the table has all.
    The parameter `selected`, the name of a job (null: none), fades all others.
    """
    ordered = jobs.sort_values("difference_s", kind="stable").reset_index(drop=True)
    every = max(1, math.ceil(len(ordered) / MOST_JOBS))
    largest = float(ordered["difference_s"].abs().max()) if len(ordered) else 0.0
    unit = theme.time_unit(largest)
    rank = np.arange(len(ordered))
    shown = pd.DataFrame(
        {
            "job": ordered["job"].astype("str"),
            "from": rank.astype(float),
            "to": rank + float(every),
            "difference": ordered["difference_s"] / unit.seconds,
            "side": np.where(ordered["difference_s"] < 0, "done sooner", "done later"),
        }
    ).astype({"side": "str"})[::every]
    sides: Sequence[str] = ("done sooner", "done later")
    bars = (
        marks("bars")
        .mark_rect()
        .encode(
            x=alt.X(
                "from:Q",
                title="Jobs, by the difference",
                scale=alt.Scale(nice=False),
                axis=alt.Axis(grid=False, tickMinStep=1, format="d"),
            ),
            x2="to:Q",
            y=alt.Y("difference:Q", title=f"Difference in JCT ({unit.name})"),
            y2=alt.value(alt.ExprRef("scale('y', 0)")),
            fill=alt.Fill(
                "side:N",
                title=None,
                scale=alt.Scale(domain=list(sides), range=[SOONER, LATER]),
                legend=alt.Legend(orient="top"),
            ),
            opacity=alt.condition("!selected || datum.job === selected", alt.value(1.0), alt.value(theme.FADED)),
            tooltip=[
                alt.Tooltip("job:N", title="Job"),
                alt.Tooltip("difference:Q", title=f"Difference ({unit.name})", format="+.3~f"),
            ],
        )
    )
    zero = marks("zero").mark_rule(color=theme.INK).encode(y="difference:Q")
    return drawn(
        bars,
        zero,
        message_layer(),
        data={
            "bars": shown,
            "zero": pd.DataFrame({"difference": [0.0]}),
            "message": message("" if len(shown) else "No job finished on both sides"),
        },
        table=ordered,
        label=f"{title}: difference in completion time of each job.",
        title=title,
        subtitle=f"{len(shown):,} of {len(ordered):,} jobs drawn, at equal steps" if every > 1 else "",
        height=height,
        params={"selected": None},
    )
