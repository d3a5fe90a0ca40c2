"""Charts: pure functions from a run's tables to a `Drawing`, and files made of them."""

from workbench.charts import elastic
from workbench.charts.allocation import allocation, shares_at
from workbench.charts.cdf import cdf, cdf_table, jct_cdf, jct_table
from workbench.charts.comparison import comparison, comparison_table
from workbench.charts.drawing import Drawing
from workbench.charts.export import save, to_csv, to_html, to_png, to_svg
from workbench.charts.gantt import gantt
from workbench.charts.plan import plan
from workbench.charts.prices import is_price, price_course, price_curve, prices
from workbench.charts.received import received, received_table
from workbench.charts.series import over_time, queue
from workbench.charts.signals import entities, signals
from workbench.charts.steps import held_gpus
from workbench.charts.utilisation import utilisation

__all__ = [
    "Drawing",
    "allocation",
    "cdf",
    "cdf_table",
    "comparison",
    "comparison_table",
    "elastic",
    "entities",
    "gantt",
    "held_gpus",
    "is_price",
    "jct_cdf",
    "jct_table",
    "over_time",
    "plan",
    "price_course",
    "price_curve",
    "prices",
    "queue",
    "received",
    "received_table",
    "save",
    "shares_at",
    "signals",
    "to_csv",
    "to_html",
    "to_png",
    "to_svg",
    "utilisation",
]
