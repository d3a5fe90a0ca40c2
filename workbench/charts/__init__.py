"""Charts: pure functions from a run's tables to a `Drawing`, and files made of them."""

from workbench.charts.allocation import allocation, shares_at
from workbench.charts.cdf import jct_cdf, jct_table
from workbench.charts.comparison import comparison, comparison_table
from workbench.charts.drawing import Drawing
from workbench.charts.export import save, to_csv, to_html, to_png, to_svg
from workbench.charts.gantt import gantt
from workbench.charts.received import received, received_table
from workbench.charts.series import over_time, queue
from workbench.charts.signals import entities, signals
from workbench.charts.steps import held_gpus
from workbench.charts.utilisation import utilisation

__all__ = [
    "Drawing",
    "allocation",
    "comparison",
    "comparison_table",
    "entities",
    "gantt",
    "held_gpus",
    "jct_cdf",
    "jct_table",
    "over_time",
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
