"""What charts over time have for playback: the Vega parameter `until`, in what the data count (null: the end).

Expressions here are of Vega, on columns of the data; a chart that uses them has the parameter `until`.
"""

from __future__ import annotations

import altair as alt

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import Layer, marks

SHOWN = "isValid(until) ? datum.{0} <= until : true"
"""Whether something at a time is shown: a format that takes the column."""


def begun(column: str = "start_s") -> str:
    """Whether what begins at a time is shown; what begins just now has no length yet."""
    return f"isValid(until) ? datum.{column} < until : true"


def so_far(column: str) -> str:
    """A time, but not after the one that playback has come to."""
    return f"(isValid(until) ? min(datum.{column}, until) : datum.{column})"


def playhead(per: float) -> Layer:
    """A line at the time that playback has come to; per: of what `until` counts, to one of the axis.

    From the data set `span`, whose column `last` is true in one row.
    """
    return (
        marks("span")
        .transform_filter("isValid(until) && datum.last")
        .mark_rule(color=theme.WARN, strokeWidth=2, clip=True)
        .encode(
            x=alt.value(alt.ExprRef(f"scale('x', until / {per:g})")),
            y=alt.value(0),
            y2=alt.value(alt.ExprRef("height")),
        )
    )
