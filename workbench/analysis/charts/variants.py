"""One setting varied, everything else the same: what each value made of a few measures."""

from __future__ import annotations

import math
from collections.abc import Mapping

import altair as alt
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import Drawing, drawn, marks, message, message_layer
from workbench.base.labels import with_unit
from workbench.base.rounding import short_number
from workbench.base.units import format_duration

PANEL_PX, HEAD_PX, TEXT_PX = 90.0, 28.0, 22.0
"""Of each measure: the longest bar, its name above, the number on top of a bar."""


def variants(
    frame: pd.DataFrame,
    *,
    title: str,
    x_title: str,
    labels: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    now: str | None = None,
) -> Drawing:
    """Draw a row of bars for each measure, one for each value of the setting, the number on top; each row from 0.

    frame: columns value (of the setting, as text, in the order wanted) and one for each measure, NaN where a run has
    none; labels, units: of the measures by column (seconds are written as durations); now: the value that is set.
    """
    measures = [name for name in frame.columns if name != "value"]
    named = {name: (labels or {}).get(name, name) for name in measures}
    values = list(dict.fromkeys(frame["value"].astype("str")))
    step = HEAD_PX + TEXT_PX + PANEL_PX
    rows: list[tuple[str, str, float, float, float, str]] = []
    for place, name in enumerate(measures):
        bottom = (place + 1) * step
        most = max([abs(number) for number in frame[name] if not math.isnan(number)], default=0.0)
        for value, number in zip(frame["value"], frame[name].astype(float), strict=True):
            high = PANEL_PX * abs(number) / most if most > 0 and not math.isnan(number) else 0.0
            text = _text(number, (units or {}).get(name, ""))
            rows.append((str(value), named[name], number, bottom - high, bottom, text))
    bars = pd.DataFrame(rows, columns=["value", "measure", "number", "y0", "y1", "text"])
    bars = bars.astype({"value": "str", "measure": "str", "text": "str", "y0": float, "y1": float}).assign(
        now=bars["value"] == now
    )
    x = alt.X(
        "value:N",
        title=x_title,
        sort=values,
        scale=alt.Scale(paddingInner=0.4, paddingOuter=0.2),
        axis=alt.Axis(labelAngle=0, grid=False, labelLimit=150),
    )
    bar = (
        marks("bars")
        .mark_bar(stroke=theme.INK, strokeWidth=0.5)
        .encode(
            x=x,
            y=alt.value(alt.ExprRef("datum.y0")),
            y2=alt.value(alt.ExprRef("datum.y1")),
            fill=alt.condition("datum.now", alt.value(theme.PALETTE[1]), alt.value(theme.PALETTE[0])),
            tooltip=[
                alt.Tooltip("value:N", title=x_title),
                alt.Tooltip("measure:N", title="Measure"),
                alt.Tooltip("text:N", title="Is"),
            ],
        )
    )
    number = (
        marks("bars")
        .mark_text(baseline="bottom", dy=-3)
        .encode(x=x, y=alt.value(alt.ExprRef("datum.y0")), text="text:N")
    )
    tops = [place * step + HEAD_PX / 2 for place in range(len(measures))]
    head = (
        marks("heads")
        .mark_text(align="left", baseline="middle", fontWeight=600)
        .encode(x=alt.value(0), y=alt.value(alt.ExprRef("datum.y")), text="text:N")
    )
    floor = (
        marks("floors")
        .mark_rule(color=theme.MUTED)
        .encode(x=alt.value(0), x2=alt.value(alt.ExprRef("width")), y=alt.value(alt.ExprRef("datum.y")))
    )
    return drawn(
        floor,
        bar,
        number,
        head,
        message_layer(),
        data={
            "bars": bars,
            "heads": pd.DataFrame({"text": list(named.values()), "y": tops}),
            "floors": pd.DataFrame({"y": [(place + 1) * step for place in range(len(measures))]}),
            "message": message("" if len(bars) else "Nothing was varied"),
        },
        table=frame.reset_index(drop=True),
        label=f"{title}: {', '.join(named.values())} for {', '.join(values)}.",
        title=title,
        subtitle=f"orange: what is set, {now}" if now in values else "",
        height=max(1, len(measures)) * step,
    )


def _text(number: float, unit: str) -> str:
    if math.isnan(number):
        return "no value"
    if unit == "s":
        return format_duration(number, parts=2)
    return with_unit(short_number(number), unit)
