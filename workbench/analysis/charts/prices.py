"""Prices of accelerator types: against the GPUs held of a pool, and over the time of a run."""

from __future__ import annotations

import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.curves import curve
from workbench.analysis.charts.drawing import PADDING_PX, Drawing
from workbench.analysis.charts.gantt import left_px
from workbench.analysis.charts.series import over_time
from workbench.scenario.cluster import Cluster
from workbench.simulation.schema import PRICE_OF


def is_price(signals: pd.DataFrame) -> pd.Series[bool]:
    """Which rows of a run's signals are prices of types."""
    return signals["signal"].str.startswith(PRICE_OF).astype(bool)


def price_course(signals: pd.DataFrame) -> pd.DataFrame:
    """Prices after each decision that set any, from the signals of a run: columns time_s, type, price."""
    rows = signals[is_price(signals)].drop_duplicates(["time_s", "signal"])
    table = rows.assign(type=rows["signal"].str.removeprefix(PRICE_OF), price=rows["value"])
    return table[["time_s", "type", "price"]].reset_index(drop=True)


def prices(
    signals: pd.DataFrame, *, cluster: Cluster, end_s: float, inset_px: float = 0.0, height: float = 220
) -> Drawing:
    """Draw what a GPU of each type costs, on a logarithmic axis: a price holds from its decision to the next one.

    signals: as a run has them; inset_px: pixels that the chart has less on each side than the Gantt chart by GPU, up to
    its right padding. The plot begins and ends where the Gantt chart's does.
    """
    course = price_course(signals)
    priced = [name for name in cluster.types if name in set(course["type"])]
    in_order = course.assign(type=pd.Categorical(course["type"], priced)).sort_values(["type", "time_s"])
    drawing = over_time(
        in_order,
        "price",
        "",
        series="type",
        end_s=end_s,
        y_title="Utility per GPU and round",
        log=True,
        colours=theme.type_colours(cluster.types),
        left_px=left_px(cluster) - inset_px,
        title="Price of a GPU",
        height=height,
    )
    drawing.chart.padding = {**PADDING_PX, "right": max(0.0, PADDING_PX["right"] - inset_px)}
    return drawing


def price_curve(table: pd.DataFrame, *, height: float = 280) -> Drawing:
    """Draw the price of each type against how many of its GPUs are held, on a logarithmic axis.

    table: columns type, held, price.
    """
    frame = table.rename(columns={"type": "line", "held": "x", "price": "y"})
    colours = theme.type_colours(frame["line"].unique())
    return curve(
        frame,
        title="Price of a GPU as its pool fills",
        x_title="GPUs held",
        y_title="Utility per GPU and slot",
        log_y=True,
        whole_x=True,
        colours=colours,
        height=height,
    )
